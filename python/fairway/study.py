"""Published studies as data: run them again, and hold their numbers and claims against ours."""

from __future__ import annotations

import csv
import functools
import html
import importlib.resources
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from fairway import store, study_cells, text
from fairway.backends import backend as find_backend
from fairway.claims import (
    Cell,
    Claim,
    Finding,
    axes_of,
    check_test,
    judge_all,
)
from fairway.errors import InputError, read_text
from fairway.experiment import MAX_BYTES, Plan, parse_toml, plan
from fairway.progress import reporter
from fairway.repetitions import Stop
from fairway.study_cells import Column
from fairway.study_points import REPETITIONS, Points, read_points
from fairway.sweep import Outcome, Sweep, run_plan

STUDY_FILE = "study.toml"
CLAIMS_FILE = "claims.toml"
#: The axis of a study's scenarios.
SCENARIO = "scenario"

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
        {"summary", "backend", "repetitions", "axes", "scenarios", "names", "set", "quick"}
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


@dataclass(frozen=True)
class Quick:
    """The shortened form of a study.

    Attributes:
        note: How it is shortened, for people.
        axes: Axes that take fewer values.
        repetitions: Repetitions, if fewer, or a table that says when they end.
        set: Values set in the experiment, such as a shorter duration.
    """

    note: str
    axes: Mapping[str, list[Any]]
    repetitions: int | Mapping[str, Any] | None
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """A published study.

    Attributes:
        key: Its name.
        directory: Where its files are.
        title: What it is.
        source: Where it was published.
        summary: What was done, for the report.
        experiment: The experiment file.
        repetitions: Runs of each point, or a table that says when they end.
        axes: What varies: path in the experiment -> values; and `SCENARIO`, if there are several.
        scenarios: Name -> what it sets in the experiment.
        names: What people call an axis.
        set: Values set in the experiment.
        quick: Its shortened form, if it has one.
        table: Its points, if not every combination of the axes is one, or each has its own
            settings.
        compared: Published numbers that measurements are held against, one entry a metric.
        references: Other numbers shown beside.
        figures: Figures of the report, as tables of `study.toml`.
        claims: What the paper concludes.
        backend: What answers: `sim` or `linux`.
    """

    key: str
    directory: Path
    title: str
    source: str
    summary: str
    experiment: Path
    repetitions: int | Mapping[str, Any]
    axes: Mapping[str, list[Any]]
    scenarios: Mapping[str, Mapping[str, Any]]
    names: Mapping[str, str]
    set: Mapping[str, Any]
    quick: Quick | None
    table: Points | None
    compared: tuple[Column, ...]
    references: tuple[Column, ...]
    figures: tuple[Mapping[str, Any], ...]
    claims: tuple[Claim, ...]
    backend: str = "sim"

    def name(self, axis: str) -> str:
        """What people call an axis."""
        return self.names.get(axis, axis)

    @property
    def repeats(self) -> bool:
        """Whether points have several runs, and so intervals."""
        return isinstance(self.repetitions, Mapping) or self.repetitions > 1

    def points(self) -> Iterator[dict[str, Any]]:
        """Every point of the whole study."""
        return self._combinations(self.axes)

    def _combinations(self, axes: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
        for name in axes.get(SCENARIO, [None]):
            own = self.scenarios.get(name, {})
            of_scenario = {
                axis: [name] if axis == SCENARIO else own.get(axis, values)
                for axis, values in axes.items()
            }
            for values in itertools.product(*of_scenario.values()):
                point = dict(zip(axes, values, strict=True))
                if self.table is None or self.table.at(point) is not None:
                    yield point

    def plan(self, *, quick: bool) -> Plan:
        """The runs it takes.

        Raises:
            InputError: If a quick form is asked for and there is none.
        """
        axes, repetitions, changes = dict(self.axes), self.repetitions, dict(self.set)
        if quick:
            if self.quick is None:
                raise InputError(f"{self.key}: has no quick form; leave out --quick")
            axes.update(self.quick.axes)
            repetitions = self.quick.repetitions or repetitions
            changes.update(self.quick.set)
        if isinstance(repetitions, Mapping) and "metric" not in repetitions:
            repetitions = {
                **repetitions,
                "metric": list(dict.fromkeys(c.metric for c in self.compared)),
            }
        if self.table is not None:
            return self._plan_of_table(self.table, axes, repetitions, changes)
        names = axes.pop(SCENARIO, None)
        sweep = {"repetitions": repetitions, **axes}
        if names is None:
            return plan(self.experiment, overrides={**changes, "sweep": sweep})
        plans = []
        for name in names:
            scenario = self.scenarios[name]
            own = {axis: values for axis, values in scenario.items() if axis in axes}
            rest = {key: value for key, value in scenario.items() if key not in own}
            overrides = {**changes, **rest, "sweep": {**sweep, **own}}
            found = plan(self.experiment, overrides=overrides)
            points = tuple(
                replace(point, axes={SCENARIO: name, **point.axes}) for point in found.points
            )
            plans.append(replace(found, axes=(SCENARIO, *found.axes), points=points))
        return replace(plans[0], points=tuple(point for found in plans for point in found.points))

    def _plan_of_table(
        self,
        table: Points,
        axes: Mapping[str, list[Any]],
        repetitions: int | Mapping[str, Any],
        changes: Mapping[str, Any],
    ) -> Plan:
        """The runs of a study with a table of its points; none has more than `repetitions`."""
        assert isinstance(repetitions, int)
        plans = []
        for point in self._combinations(axes):
            settings = dict(table.at(point) or {})
            count = min(settings.pop(REPETITIONS, repetitions), repetitions)
            name = point.get(SCENARIO)
            values = {axis: value for axis, value in point.items() if axis != SCENARIO}
            scenario = {} if name is None else self.scenarios[name]
            scenario = {key: value for key, value in scenario.items() if key not in values}
            sweep = {"repetitions": count, **{axis: [value] for axis, value in values.items()}}
            overrides = {**changes, **scenario, **settings, "sweep": sweep}
            found = plan(self.experiment, overrides=overrides)
            plans.append((point, found))
        if not plans:
            raise InputError(f"{table.path}: no line is a point of the axes")
        points = tuple(replace(run, axes=point) for point, found in plans for run in found.points)
        return replace(plans[0][1], axes=tuple(self.axes), points=points)


@dataclass(frozen=True)
class Reproduction:
    """A study run again.

    Attributes:
        study: The study.
        sweep: Every run.
        cells: Published beside measured, one per point and metric.
        findings: The verdict of each claim, in the study's order.
        quick: How it was shortened; none if it was not.
        directory: Where everything is kept.
    """

    study: Study
    sweep: Sweep
    cells: tuple[Cell, ...]
    findings: tuple[Finding, ...]
    quick: str | None
    directory: Path

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"

    def to_json(self) -> dict[str, Any]:
        """The machine-readable answer: every cell and every claim."""
        answer: dict[str, Any] = {
            "study": self.study.key,
            "cells": [
                {
                    "point": dict(cell.point),
                    "metric": cell.metric,
                    "published": cell.published,
                    "measured": cell.measured,
                    "ci_low": cell.ci_low,
                    "ci_high": cell.ci_high,
                }
                for cell in self.cells
            ],
            "claims": [
                {"id": claim.id, **finding.to_json()}
                for claim, finding in zip(self.study.claims, self.findings, strict=True)
            ],
        }
        if self.quick is not None:
            answer["quick"] = self.quick
        return answer

    @functools.cached_property
    def table(self) -> pl.DataFrame:
        """One row per cell: the axes, then published, measured, interval and difference."""
        rows = [
            {
                **{self.study.name(axis): value for axis, value in cell.point.items()},
                "metric": cell.metric,
                "published": cell.published,
                "measured": cell.measured,
                "ci_low": cell.ci_low,
                "ci_high": cell.ci_high,
                "difference": cell.difference,
            }
            for cell in self.cells
        ]
        numbers = ("published", "measured", "ci_low", "ci_high", "difference")
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64),
                            infer_schema_length=None)  # fmt: skip

    def __repr__(self) -> str:
        verdicts = ", ".join(
            f"{claim.id} {finding.verdict}"
            for claim, finding in zip(self.study.claims, self.findings, strict=True)
        )
        return f"<Reproduction of {self.study.key}: {len(self.cells)} cells; {verdicts}>"

    def _repr_html_(self) -> str:
        from fairway.report import plain_html
        from fairway.study_report import cell_table, verdict_table

        tables = (verdict_table(self), cell_table(self))
        return f"<h3>{html.escape(self.study.title)}</h3>" + "".join(map(plain_html, tables))


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


def reproduce_study(
    study: Study,
    out: str | Path | None = None,
    *,
    quick: bool = False,
    threads: int | None = None,
    quiet: bool = True,
) -> Reproduction:
    """Run a study, or finish a run that was stopped, and write its report.

    Args:
        study: The study.
        out: Directory for everything; `runs/<key>` if not given.
        quick: Whether to run its shortened form.
        threads: Runs at the same time.
        quiet: Whether to show no progress.
    """
    from fairway.study_report import study_report

    directory = Path(out) if out else Path("runs") / (study.key + ("-quick" if quick else ""))
    sweep = run_plan(
        study.plan(quick=quick),
        find_backend(study.backend),
        directory=directory,
        threads=threads,
        progress=reporter(study.key, quiet=quiet),
    )
    cells = tuple(measured_cells(study, sweep.outcomes, sweep.stops))
    note = study.quick.note if quick and study.quick else None
    result = Reproduction(study, sweep, cells, findings(study, cells), note, directory)
    store.write_file(directory / "reproduction.json", store.to_json(result.to_json()))
    sweep.save_overview(directory, report=study_report(result))
    return result


def findings(study: Study, cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """The verdict of each claim."""
    expected = list(study_cells.expected_cells(study.points(), study.compared))
    return tuple(judge_all(study.claims, cells, expected))


def measured_cells(
    study: Study, outcomes: Sequence[Outcome], stops: Sequence[Stop] = ()
) -> Iterator[Cell]:
    """One cell per point that was run and metric, over its repetitions; then those of means."""
    return study_cells.measured_cells(outcomes, study.compared, study.references, stops)


def cell_columns(study: Study) -> list[str]:
    """Headings of the table of cells."""
    axes = [study.name(axis) for axis in study.axes]
    metric = ["metric"] if len(study.compared) > 1 else []
    interval = ["95 % interval"] if study.repeats else []
    references = [column.title for column in study.references]
    return [*axes, *metric, "published", "measured", *interval, "difference", *references]


def cell_row(study: Study, cell: Cell) -> list[str]:
    """One line of the table of cells."""
    many = len(study.compared) > 1
    references = cell.references or {}
    show = text.number if many else text.decimal
    return [
        *(text.label(value) for value in cell.point.values()),
        *([study.name(cell.metric)] if many else []),
        show(cell.published),
        show(cell.measured),
        *([text.interval(cell.ci_low, cell.ci_high)] if study.repeats else []),
        show(cell.difference),
        *(show(references.get(column.title)) for column in study.references),
    ]
