"""Files of a study: found, read and checked."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway.errors import InputError, read_text
from fairway.experiment.plan import MAX_BYTES, parse_toml
from fairway.ground.names import real
from fairway.ground.shape import problem
from fairway.ground.store import POINTS
from fairway.study.cells import Column
from fairway.study.claims import Claim, axes_of, check_test
from fairway.study.model import SCENARIO, Part, Quick, Study
from fairway.study.points import read_points, read_table
from fairway.study.shapes import CLAIMS, STUDY

STUDY_FILE = "study.toml"
CLAIMS_FILE = "claims.toml"

#: What may answer a study.
BACKENDS = ("sim", "linux")

#: Kinds of figures.
FIGURES = (
    "dots", "heat_map", "over_axis", "over_time", "phases", "ratio", "residuals", "response",
    "small_multiples",
)  # fmt: skip

#: Quantities of a flow over time, as `fairway.plot.figures.QUANTITIES` has them.
OVER_TIME = ("goodput", "cwnd", "ssthresh", "srtt")

#: Table of `study.toml` -> keys it needs, keys it may have.
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "": (
        {"title", "source", "experiment"},
        {"question", "summary", "backend", "repetitions", "axes", "scenarios", "names", "set",
         "quick", "points", "compare", "reference", "figure"},
    ),
    "divided": ({"title", "source", "parts"}, {"question", "summary", "quick"}),
    "quick of a divided": ({"leave_out"}, set()),
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
    "dots": ({"kind", "metric", "axis", "panel", "title"}, {"at", "excess", "log"}),
    "over_axis": ({"kind", "metric", "axis"}, {"at", "group", "log", "panel", "title", "trend"}),
    "over_time": ({"kind", "quantity", "title"}, {"at", "from_s", "until_s"}),
    "phases": ({"kind", "title"}, {"at", "until_s"}),
    "ratio": ({"kind", "axis", "panel", "group"}, {"within", "reference", "limit"}),
    "residuals": ({"kind", "metric", "title", "x", "panel"}, {"color", "log"}),
    "response": ({"kind", "metric", "axis", "panel"}, set()),
    "small_multiples": ({"kind", "quantity", "title"}, {"beside"}),
}  # fmt: skip


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
    """Read the files of a study, divided or not, or of a part as a study of its own.

    Raises:
        InputError: If a file is missing or holds something other than it should.
    """
    raw = _raw(directory)
    if "parts" in raw:
        return _divided(directory, raw)
    part = _part(directory)
    return Study.of(part, tuple(_claims(directory, {"": part})))


def _check_figure(figure: Mapping[str, Any], where: str) -> None:
    kind = figure.get("kind")
    if kind not in FIGURES:
        raise InputError(f"{where}.kind: {kind!r}; expected {', '.join(FIGURES)}")
    check_keys(figure, kind, where)
    if kind == "over_time":
        named = figure["quantity"]
        for quantity in named if isinstance(named, list) else [named]:
            if quantity not in OVER_TIME:
                known = ", ".join(OVER_TIME)
                raise InputError(f"{where}.quantity: {quantity!r}; expected {known}")


def _part(directory: Path) -> Part:
    path, top = directory / STUDY_FILE, _top(directory)
    raw = _raw(directory)
    check_keys(raw, "", str(path))
    quick = raw.get("quick")
    if quick is not None:
        check_keys(quick, "quick", f"{path}: quick")
    for index, figure in enumerate(raw.get("figure", [])):
        _check_figure(figure, f"{path}: figure.{index}")
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
        file = inside(directory, raw["points"]["file"], f"{where}.file", top)
        table = read_points(file, raw["points"]["match"], list(axes), where)
    compared = tuple(_columns(raw, "compare", directory, top))
    names = [column.name for column in compared]
    if len(set(names)) < len(names):
        raise InputError(f"{path}: compare: each metric once; further columns go under reference")
    for column in compared:
        if column.mean_over is not None and column.mean_over not in axes:
            known = ", ".join(axes) or "none"
            raise InputError(
                f"{path}: compare: mean_over: {column.mean_over!r} is no axis; there is {known}"
            )
    references = tuple(_columns(raw, "reference", directory, top))
    key = real(directory).name
    part = Part(
        key=key if top == directory else f"{real(top).name}/{key}",
        directory=directory,
        **_about(raw),
        experiment=inside(directory, raw["experiment"], f"{path}: experiment", top),
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
        backend=raw.get("backend", "sim"),
    )  # fmt: skip
    if top != directory and (directory / CLAIMS_FILE).exists():
        raise InputError(f"{directory / CLAIMS_FILE}: of a part; claims stand in {top}")
    return part


def _about(raw: Mapping[str, Any]) -> dict[str, str]:
    """What a study says of itself, or a part."""
    return {key: str(raw.get(key, "")) for key in ("title", "source", "question", "summary")}


def _raw(directory: Path) -> dict[str, Any]:
    return _read(directory / STUDY_FILE, "study", STUDY)


def _read(path: Path, what: str, expected: Any) -> dict[str, Any]:
    """A TOML file whose values have the types that they should."""
    raw: dict[str, Any] = parse_toml(read_text(path, what, MAX_BYTES), str(path))
    if wrong := problem(raw, expected):
        raise InputError(f"{path}: {wrong}; write another kind of value there, or leave it out")
    return raw


def _top(directory: Path) -> Path:
    """The directory of the study that this one is a part of, or its own."""
    parent = real(directory).parent
    if not (parent / STUDY_FILE).is_file():
        return directory
    return parent if real(directory).name in _raw(parent).get("parts", []) else directory


def _divided(directory: Path, raw: Mapping[str, Any]) -> Study:
    path = directory / STUDY_FILE
    check_keys(raw, "divided", str(path))
    names = raw["parts"]
    if not (isinstance(names, list) and names and len(set(map(str, names))) == len(names)):
        raise InputError(f"{path}: parts: expected a list of names, each once")
    for name in names:
        # A part's results stand in a directory of its name, beside the study's own files.
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", str(name)) or name == POINTS:
            raise InputError(
                f"{path}: parts: {name!r}; expected a directory with a name of small letters, "
                "digits and hyphens"
            )
    parts = {name: _part(directory / name) for name in names}
    left_out: list[str] = []
    if "quick" in raw:
        check_keys(raw["quick"], "quick of a divided", f"{path}: quick")
        left_out = raw["quick"]["leave_out"]
    for name in left_out:
        if name not in parts:
            raise InputError(f"{path}: quick.leave_out: no part {name}; {', '.join(parts)}")
    return Study(
        key=real(directory).name,
        directory=directory,
        **_about(raw),
        parts=parts,
        claims=tuple(_claims(directory, parts)),
        left_out=tuple(left_out),
    )


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


def inside(directory: Path, name: str, where: str, top: Path) -> Path:
    """A file of the study; a study does not reach outside `top`, the directory of the whole."""
    try:
        path = real(directory / str(name))
        if not path.is_relative_to(real(top)):
            raise InputError(
                f"{where}: {name} is outside the study's directory; copy the file into it"
            )
        if not path.is_file():
            raise InputError(f"{where}: {path} does not exist")
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, a link to itself
        raise InputError(
            f"{where}: {str(name)[:80]!r} is not the name of a file: {error}"
        ) from None
    return path


def _columns(raw: Mapping[str, Any], kind: str, directory: Path, top: Path) -> Iterator[Column]:
    for index, entry in enumerate(raw.get(kind, [])):
        where = f"{directory / STUDY_FILE}: {kind}.{index}"
        check_keys(entry, kind, where)
        if ("column" in entry) == ("column_axis" in entry):
            raise InputError(f'{where}: give either "column" or "column_axis"')
        path = inside(directory, entry["file"], f"{where}.file", top)
        rows = read_table(path)
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
            path=path,
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


def _claims(directory: Path, parts: Mapping[str, Part]) -> Iterator[Claim]:
    """The claims of a study; the one part of a study without parts has no name."""
    path = directory / CLAIMS_FILE
    if not path.exists():
        return
    raw = _read(path, "claims file", CLAIMS)
    known: set[str] = set()
    for index, entry in enumerate(raw.get("claim", [])):
        where = f"{path}: claim.{index}"
        for key in ("id", "statement", "where", "test"):
            if not entry.get(key):
                raise InputError(f'{where}: needs "{key}"')
        check_keys(entry, "claim", where)
        if entry["id"] in known:
            raise InputError(f"{where}.id: {entry['id']!r} is the id of a claim before it")
        known.add(entry["id"])
        for number, test in enumerate(entry["test"]):
            check_test(test, f"{where}.test.{number}")
            _check_in_part(test, parts, f"{where}.test.{number}")
        unknown = entry.get("unknown", [])
        named = [parts[name] for t in entry["test"] if (name := t.get("part", "")) in parts]
        _check_axes(unknown, [axis for part in named for axis in part.axes], f"{where}.unknown")
        yield Claim(
            entry["id"],
            entry["statement"],
            entry["where"],
            tuple(entry["test"]),
            entry.get("family"),
            tuple(unknown),
        )


def _check_in_part(test: Mapping[str, Any], parts: Mapping[str, Part], where: str) -> None:
    """Refuse a test of no part, or that names an axis or a reference that its part lacks."""
    name = test.get("part", "")
    if name not in parts:
        if test["kind"] == "unmeasured" and not name:
            return
        if "" in parts:
            raise InputError(f"{where}.part: {name!r}; the study has no parts")
        raise InputError(f"{where}.part: {name!r}; expected one of {', '.join(parts)}")
    _check_axes(axes_of(test), list(parts[name].axes), where)
    titles = [column.title for column in parts[name].references]
    if "reference" in test and test["reference"] not in titles:
        known = ", ".join(titles) or "none"
        raise InputError(f"{where}.reference: {test['reference']!r}; the study has {known}")


def _check_axes(names: Any, axes: Sequence[str], where: str) -> None:
    if not isinstance(names, list):
        raise InputError(f"{where}: expected a list of axes, got {names!r}")
    for name in names:
        if name not in axes:
            known = ", ".join(dict.fromkeys(axes)) or "none"
            raise InputError(f"{where}: {name!r} is no axis of the study; it has {known}")
