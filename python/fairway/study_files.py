"""Files of a study: found, read and checked."""

from __future__ import annotations

import csv
import importlib.resources
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway.claims import Claim, axes_of, check_test
from fairway.errors import InputError, read_text
from fairway.experiment import MAX_BYTES, parse_toml
from fairway.study_cells import Column
from fairway.study_model import SCENARIO, Quick, Study
from fairway.study_points import read_points

STUDY_FILE = "study.toml"
CLAIMS_FILE = "claims.toml"

#: What may answer a study.
BACKENDS = ("sim", "linux")

#: Kinds of figures.
FIGURES = (
    "dots", "heat_map", "over_axis", "ratio", "residuals", "response", "small_multiples",
)  # fmt: skip

#: Table of `study.toml` -> keys it needs, keys it may have.
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "": (
        {"title", "source", "experiment"},
        {
            "question",
            "summary",
            "backend",
            "repetitions",
            "axes",
            "scenarios",
            "names",
            "set",
            "quick",
        }
        | {"points", "compare", "reference", "figure"},
    ),
    "points": ({"file", "match"}, set()),
    "quick": ({"note"}, {"axes", "repetitions", "set"}),
    "compare": (
        {"metric", "title", "file", "match"},
        {"at", "column", "column_axis", "columns", "scale", "mean_over"},
    ),
    "reference": (
        {"metric", "title", "file", "match"},
        {"column", "column_axis", "columns", "scale"},
    ),
    "claim": ({"id", "statement", "where", "test"}, {"family", "unknown"}),
    "heat_map": ({"kind", "metric", "x", "y"}, {"limit", "panel"}),
    "dots": ({"kind", "metric", "axis", "panel", "title"}, {"excess", "log"}),
    "over_axis": ({"kind", "metric", "axis"}, {"group", "panel", "title"}),
    "ratio": ({"kind", "axis", "panel", "group"}, {"within", "reference", "limit"}),
    "residuals": ({"kind", "metric", "title", "x", "panel"}, {"color", "log"}),
    "response": ({"kind", "metric", "axis", "panel"}, set()),
    "small_multiples": ({"kind", "quantity", "title"}, set()),
}


def library() -> Path:
    """The directory of the studies that come with Fairway."""
    return Path(str(importlib.resources.files("fairway") / "studies"))


def keys() -> list[str]:
    """Keys of the studies that come with Fairway."""
    return sorted(path.parent.name for path in library().glob(f"*/{STUDY_FILE}"))


def find(key: str) -> Study:
    """The study of that key, or in that directory.

    Raises:
        InputError: If there is none, or its files are not as they should be.
    """
    if key in keys():
        return load_study(library() / key)
    directory = Path(key)
    if (directory / STUDY_FILE).is_file():
        return load_study(directory)
    if directory.is_dir():
        raise InputError(f"{key}: a directory without {STUDY_FILE}, so not a study")
    raise InputError(f"{key}: no such study or directory; there is {', '.join(keys())}")


def load_study(directory: Path) -> Study:
    """Read a study's files.

    Raises:
        InputError: If a file is missing or holds something other than it should.
    """
    path = directory / STUDY_FILE
    raw = parse_toml(read_text(path, "study", MAX_BYTES), str(path))
    check_keys(raw, "", str(path))
    quick = raw.get("quick")
    if quick is not None:
        check_keys(quick, "quick", f"{path}: quick")
    for index, figure in enumerate(raw.get("figure", [])):
        where = f"{path}: figure.{index}"
        kind = figure.get("kind")
        if kind not in FIGURES:
            raise InputError(f"{where}.kind: {kind!r}; expected {', '.join(FIGURES)}")
        check_keys(figure, kind, where)
    if raw.get("backend", "sim") not in BACKENDS:
        raise InputError(f"{path}: backend: {raw['backend']!r}; expected {' or '.join(BACKENDS)}")
    scenarios = raw.get("scenarios", {})
    axes = {SCENARIO: list(scenarios)} if scenarios else {}
    axes.update(raw.get("axes", {}))
    for name in (quick or {}).get("axes", {}).get(SCENARIO, []):
        if name not in scenarios:
            raise InputError(f"{path}: quick.axes: no scenario {name}; {', '.join(scenarios)}")
    table = None
    if "points" in raw:
        where = f"{path}: points"
        check_keys(raw["points"], "points", where)
        if any(isinstance(part.get("repetitions"), Mapping) for part in (raw, quick or {})):
            raise InputError(f"{path}: repetitions: with a table of points, write a number")
        file = inside(directory, raw["points"]["file"], f"{where}.file")
        table = read_points(file, raw["points"]["match"], list(axes), where)
    compared = tuple(_columns(raw, "compare", directory))
    names = [column.name for column in compared]
    if len(set(names)) < len(names):
        raise InputError(f"{path}: compare: each metric once; further columns go under reference")
    for column in compared:
        if column.mean_over is not None and column.mean_over not in axes:
            known = ", ".join(axes) or "none"
            raise InputError(
                f"{path}: compare: mean_over: {column.mean_over!r} is no axis; there is {known}"
            )
    references = tuple(_columns(raw, "reference", directory))
    return Study(
        key=directory.resolve().name,
        directory=directory,
        title=raw["title"],
        source=raw["source"],
        question=str(raw.get("question", "")),
        summary=raw.get("summary", ""),
        experiment=inside(directory, raw["experiment"], f"{path}: experiment"),
        repetitions=raw.get("repetitions", 1),
        axes=axes,
        scenarios=scenarios,
        names=raw.get("names", {}),
        set=raw.get("set", {}),
        quick=None if quick is None else Quick(
            quick["note"], quick.get("axes", {}), quick.get("repetitions"), quick.get("set", {})
        ),
        table=table,
        compared=compared,
        references=references,
        figures=tuple(raw.get("figure", [])),
        claims=tuple(_claims(directory, axes, [column.title for column in references])),
        backend=raw.get("backend", "sim"),
    )  # fmt: skip


def check_keys(table: Any, kind: str, where: str) -> None:
    """Refuse a table of `study.toml` that lacks a key or has one too many."""
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: expected a table")
    required, optional = _KEYS[kind]
    for key in sorted(required - table.keys()):
        raise InputError(f'{where}: needs "{key}"')
    for key in sorted(table.keys() - required - optional):
        known = ", ".join(sorted(required | optional))
        raise InputError(f"{where}: {key}: unknown; there is {known}")


def inside(directory: Path, name: str, where: str) -> Path:
    """A file of the study; a study does not reach outside its directory."""
    path = (directory / str(name)).resolve()
    if not path.is_relative_to(directory.resolve()):
        raise InputError(f"{where}: {name} is outside the study's directory; copy the file into it")
    if not path.is_file():
        raise InputError(f"{where}: {path} does not exist")
    return path


def _columns(raw: Mapping[str, Any], kind: str, directory: Path) -> Iterator[Column]:
    for index, entry in enumerate(raw.get(kind, [])):
        where = f"{directory / STUDY_FILE}: {kind}.{index}"
        check_keys(entry, kind, where)
        if ("column" in entry) == ("column_axis" in entry):
            raise InputError(f'{where}: give either "column" or "column_axis"')
        path = inside(directory, entry["file"], f"{where}.file")
        rows = list(csv.DictReader(read_text(path, "table", MAX_BYTES).splitlines()))
        found = list(rows[0]) if rows else []
        if "columns" in entry and "column_axis" not in entry:
            raise InputError(f'{where}: "columns" goes with "column_axis"')
        named = [entry["column"]] if "column" in entry else list(entry.get("columns", {}).values())
        for name in [*entry["match"].values(), *named]:
            if name not in found:
                raise InputError(f"{where}: {path} has no column {name}; it has {', '.join(found)}")
        column = Column(
            metric=entry["metric"],
            title=entry["title"],
            rows=rows,
            match=entry["match"],
            column=entry.get("column"),
            column_axis=entry.get("column_axis"),
            columns=entry.get("columns", {}),
            scale=float(entry.get("scale", 1)),
            where=entry.get("at", {}),
            mean_over=entry.get("mean_over"),
        )
        for row in rows:
            _check_numbers(column, row, path)
        yield column


def _check_numbers(column: Column, row: Mapping[str, str], path: Path) -> None:
    others = [name for name in row if name not in column.match.values()]
    names = [column.column] if column.column else list(column.columns.values()) or others
    for name in names:
        value = (row.get(name or "") or "").strip()
        try:
            float(value or 0)
        except ValueError:
            raise InputError(f"{path}: column {name}: {value!r} is not a number") from None


def _claims(directory: Path, axes: Mapping[str, Any], references: Sequence[str]) -> Iterator[Claim]:
    path = directory / CLAIMS_FILE
    if not path.exists():
        return
    raw = parse_toml(read_text(path, "claims file", MAX_BYTES), str(path))
    for index, entry in enumerate(raw.get("claim", [])):
        where = f"{path}: claim.{index}"
        for key in ("id", "statement", "where", "test"):
            if not entry.get(key):
                raise InputError(f'{where}: needs "{key}"')
        check_keys(entry, "claim", where)
        unknown = entry.get("unknown", [])
        _check_axes(unknown, axes, f"{where}.unknown")
        for number, test in enumerate(entry["test"]):
            check_test(test, f"{where}.test.{number}")
            _check_axes(axes_of(test), axes, f"{where}.test.{number}")
            reference = test.get("reference")
            if reference is not None and reference not in references:
                known = ", ".join(references) or "none"
                raise InputError(
                    f"{where}.test.{number}.reference: {reference!r}; the study has {known}"
                )
        yield Claim(
            entry["id"],
            entry["statement"],
            entry["where"],
            tuple(entry["test"]),
            entry.get("family"),
            tuple(unknown),
        )


def _check_axes(names: Any, axes: Mapping[str, Any], where: str) -> None:
    if not isinstance(names, list):
        raise InputError(f"{where}: expected a list of axes, got {names!r}")
    for name in names:
        if name not in axes:
            known = ", ".join(axes) or "none"
            raise InputError(f"{where}: {name!r} is no axis of the study; it has {known}")
