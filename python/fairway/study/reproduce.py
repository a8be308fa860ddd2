"""Published studies as data: run them again, and hold their numbers and claims against ours."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairway.algorithm import permitting
from fairway.backends import backend as find_backend
from fairway.ground import inventory, store, text
from fairway.ground.progress import reporter
from fairway.plot.drawing import SAME_COMMAND
from fairway.study import cells as study_cells
from fairway.study.claims import Cell, Claim, Finding, judge_all, readable
from fairway.study.files import find, keys, load_study
from fairway.study.model import SCENARIO, Study
from fairway.sweep.outcome import Outcome
from fairway.sweep.repetitions import Stop
from fairway.sweep.result import Sweep
from fairway.sweep.run import run_plan

__all__ = [
    "SCENARIO",
    "Reproduction",
    "Study",
    "cell_columns",
    "cell_row",
    "find",
    "findings",
    "keys",
    "load_study",
    "measured_cells",
    "reproduce_study",
]


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
            "cells": [cell_json(cell) for cell in every_cell(self.study, self.cells)],
            "claims": claims_json(self.study.claims, self.findings),
        }
        if self.study.question:
            answer["question"] = self.study.question
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
        found = verdicts(self.study.claims, self.findings)
        return f"<Reproduction of {self.study.key}: {len(self.cells)} cells; {found}>"

    def _repr_html_(self) -> str:
        from fairway.plot.page import plain_html
        from fairway.study.claim_sections import verdict_table
        from fairway.study.report import cell_table

        tables = (verdict_table(self), cell_table(self))
        return f"<h3>{html.escape(self.study.title)}</h3>" + "".join(map(plain_html, tables))


def reproduce_study(
    study: Study,
    out: str | Path | None = None,
    *,
    quick: bool = False,
    threads: int | None = None,
    dask: str | None = None,
    quiet: bool = True,
) -> Reproduction:
    """Run a study, or finish a run that was stopped, and write its report.

    Args:
        study: The study.
        out: Directory for everything; `runs/<key>` if not given.
        quick: Whether to run its shortened form.
        threads: Runs at the same time.
        dask: Address of a Dask scheduler whose workers do the runs, or "local".
        quiet: Whether to show no progress.
    """
    from fairway.study.report import study_report
    from fairway.study.runs import write_experiments

    directory = store.study_directory(out, study.key, quick=quick)
    source = inventory.source_of("study", study.key)
    store.refuse_another(directory, source)
    with permitting(backend=None if study.backend == "sim" else study.backend):
        planned = study.plan(quick=quick)
    sweep = run_plan(
        planned,
        find_backend(study.backend),
        directory=directory,
        threads=threads,
        progress=reporter(study.key, quiet=quiet),
        dask=dask,
        keep="runs",
        source=source,
    )
    cells = tuple(measured_cells(study, sweep.outcomes, sweep.stops))
    note = study.quick.note if quick and study.quick else None
    result = Reproduction(study, sweep, cells, findings(study, cells), note, directory)
    store.write_file(directory / "reproduction.json", store.to_json(result.to_json()))
    write_experiments(result)
    sweep.save_overview(directory, report=lambda: study_report(result), again=SAME_COMMAND)
    return result


def findings(study: Study, cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """The verdict of each claim."""
    found = judge_all(study.claims, cells, expected_cells(study))
    return tuple(readable(finding, study.names) for finding in found)


def expected_cells(study: Study) -> list[Cell]:
    """Every cell of the study, run or not, as published."""
    return list(study_cells.expected_cells(study.points(), study.compared, study.references))


def every_cell(study: Study, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that were measured, and those of the study that were not run."""
    measured = {(repr(cell.point), cell.metric) for cell in cells}
    rest = [c for c in expected_cells(study) if (repr(c.point), c.metric) not in measured]
    return [*cells, *rest]


def measured_cells(
    study: Study, outcomes: Sequence[Outcome], stops: Sequence[Stop] = ()
) -> Iterator[Cell]:
    """One cell per point that was run and metric, over its repetitions; then those of means."""
    return study_cells.measured_cells(outcomes, study.compared, study.references, stops)


def cell_json(cell: Cell) -> dict[str, Any]:
    """A cell as plain data."""
    return {
        "point": dict(cell.point),
        "metric": cell.metric,
        "published": cell.published,
        "measured": cell.measured,
        "ci_low": cell.ci_low,
        "ci_high": cell.ci_high,
        "references": dict(cell.references or {}),
    }


def claims_json(claims: Sequence[Claim], found: Sequence[Finding]) -> list[dict[str, Any]]:
    """Claims with what was found, as plain data."""
    return [
        {
            "id": claim.id,
            "statement": claim.statement,
            "where": claim.where,
            **finding.to_json(),
        }
        for claim, finding in zip(claims, found, strict=True)
    ]


def verdicts(claims: Sequence[Claim], found: Sequence[Finding]) -> str:
    """Every claim's verdict in a line."""
    pairs = zip(claims, found, strict=True)
    return ", ".join(f"{claim.id} {finding.verdict}" for claim, finding in pairs)


def cell_columns(study: Study) -> list[str]:
    """Headings of the table of cells."""
    axes = [study.name(axis) for axis in study.axes]
    metric = ["metric"] if len(study.compared) > 1 else []
    interval = ["95 % interval"] if study.repeats else []
    references = _reference_titles(study)
    return [*axes, *metric, "published", "measured", *interval, "difference", *references]


def _interval(cell: Cell, show: Callable[[float], str]) -> str:
    """The interval of a cell, its ends as `show` writes them, but for thousands."""
    if cell.ci_low is None or cell.ci_high is None:
        return text.ABSENT
    return "[" + ", ".join(show(end).replace(",", "") for end in (cell.ci_low, cell.ci_high)) + "]"


def cell_row(study: Study, cell: Cell) -> list[str]:
    """One line of the table of cells."""
    many = len(study.compared) > 1
    references = cell.references or {}
    show = text.number if many else text.decimal
    published = text.exact(cell.published, 4) if many else show(cell.published)
    measured = show(cell.measured)
    return [
        *(text.label(value) for value in cell.point.values()),
        *([study.name(cell.metric)] if many else []),
        published,
        measured,
        *([_interval(cell, show)] if study.repeats else []),
        text.beside(cell.difference, published, measured) if many else show(cell.difference),
        *(show(references.get(title)) for title in _reference_titles(study)),
    ]


def _reference_titles(study: Study) -> list[str]:
    """Each once, though several metrics may have numbers of the same title."""
    return list(dict.fromkeys(column.title for column in study.references))
