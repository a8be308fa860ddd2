"""What came of a study: its cells, the verdicts, and the answer as plain data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from fairway.ground import text
from fairway.study import cells as study_cells
from fairway.study.claims import Cell, Claim, Finding
from fairway.study.model import Study, Whole
from fairway.sweep.outcome import Outcome
from fairway.sweep.repetitions import Stop
from fairway.sweep.result import Sweep


@dataclass(frozen=True)
class ReproductionData:
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


@dataclass(frozen=True)
class WholeData:
    """A study of parts run again.

    Attributes:
        study: The study.
        parts: Name -> what came of it, of every part that was run.
        skipped: Name -> why not, of every other part.
        findings: The verdict of each claim, in the study's order.
        quick: How it was shortened; none if it was not.
        directory: Where everything is kept, each part in a directory of its name.
    """

    study: Whole
    parts: Mapping[str, ReproductionData]
    skipped: Mapping[str, str]
    findings: tuple[Finding, ...]
    quick: str | None
    directory: Path

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Published beside measured, one per point and metric, of all parts that were run."""
        return cells_of({name: part.cells for name, part in self.parts.items()})

    def to_json(self) -> dict[str, Any]:
        """The machine-readable answer: every part, every cell and every claim."""
        answer: dict[str, Any] = {
            "study": self.study.key,
            "parts": [
                {
                    "part": name,
                    "title": part.title,
                    "backend": part.backend,
                    "skipped": self.skipped.get(name),
                }
                for name, part in self.study.parts.items()
            ],
            "cells": [
                {"part": name, **cell_json(cell)}
                for name, part in self.study.parts.items()
                for cell in every_cell(part, self.parts[name].cells if name in self.parts else ())
            ],
            "claims": claims_json(self.study.claims, self.findings),
        }
        if self.study.question:
            answer["question"] = self.study.question
        if self.quick is not None:
            answer["quick"] = self.quick
        return answer

    def __repr__(self) -> str:
        found = verdicts(self.study.claims, self.findings)
        return (
            f"<Reproduction of {self.study.key}: {len(self.parts)} of {len(self.study.parts)} "
            f"parts, {len(self.cells)} cells; {found}>"
        )


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


def cells_of(parts: Mapping[str, Sequence[Cell]]) -> tuple[Cell, ...]:
    """The cells of all parts, each with the name of its part."""
    return tuple(replace(cell, part=name) for name, cells in parts.items() for cell in cells)


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
