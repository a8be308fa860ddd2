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
from fairway.study.model import Part, Study
from fairway.sweep.outcome import Outcome
from fairway.sweep.repetitions import Stop
from fairway.sweep.result import Sweep


@dataclass(frozen=True)
class PartResult:
    """A part of a study, run again.

    Attributes:
        cells: Published beside measured, one per point and metric.
        quick: How it was shortened; none if it was not.
        directory: Where its runs are kept.
        claims: Claims of the study that it is all of.
    """

    part: Part
    sweep: Sweep
    cells: tuple[Cell, ...]
    quick: str | None
    directory: Path
    claims: tuple[Claim, ...] = ()

    @functools.cached_property
    def table(self) -> pl.DataFrame:
        """One row per cell: the axes, then published, measured, interval and difference."""
        rows = [
            {
                **{self.part.name(axis): value for axis, value in cell.point.items()},
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


@dataclass(frozen=True)
class ReproductionData:
    """A study run again.

    Attributes:
        parts: Name -> what came of it, of every part that was run.
        skipped: Name -> why not, of every other part.
        findings: The verdict of each claim, in the study's order.
        quick: How it was shortened; none if it was not.
        directory: Where everything is kept, each named part in a directory of its name.
    """

    study: Study
    parts: Mapping[str, PartResult]
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

    @property
    def sweep(self) -> Sweep:
        """Every run of a study that is not divided."""
        return self.parts[""].sweep

    @property
    def table(self) -> pl.DataFrame:
        """One row per cell of a study that is not divided, as `PartResult.table`."""
        return self.parts[""].table

    def to_json(self) -> dict[str, Any]:
        """The machine-readable answer: every part that has a name, every cell and every claim."""
        answer: dict[str, Any] = {"study": self.study.key}
        if self.study.is_divided:
            answer["parts"] = [
                {
                    "part": name,
                    "title": part.title,
                    "backend": part.backend,
                    "skipped": self.skipped.get(name),
                }
                for name, part in self.study.parts.items()
            ]
        answer["cells"] = [
            ({"part": name} if name else {}) | cell_json(cell)
            for name, part in self.study.parts.items()
            for cell in every_cell(part, self.parts[name].cells if name in self.parts else ())
        ]
        answer["claims"] = claims_json(self.study.claims, self.findings)
        if self.study.question:
            answer["question"] = self.study.question
        if self.quick is not None:
            answer["quick"] = self.quick
        return answer

    def __repr__(self) -> str:
        study = self.study
        counts = [f"{len(self.cells)} cells"]
        if study.is_divided:
            counts.insert(0, f"{len(self.parts)} of {len(study.parts)} parts")
        found = verdicts(study.claims, self.findings)
        return f"<Reproduction of {study.key}: {', '.join(counts)}; {found}>"


def expected_cells(part: Part) -> list[Cell]:
    """Every cell of the part, run or not, as published."""
    return list(study_cells.expected_cells(part.points(), part.compared, part.references))


def every_cell(part: Part, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that were measured, and those of the part that were not run."""
    measured = {(repr(cell.point), cell.metric) for cell in cells}
    rest = [c for c in expected_cells(part) if (repr(c.point), c.metric) not in measured]
    return [*cells, *rest]


def measured_cells(
    part: Part, outcomes: Sequence[Outcome], stops: Sequence[Stop] = ()
) -> Iterator[Cell]:
    """One cell per point that was run and metric, over its repetitions; then those of means."""
    return study_cells.measured_cells(outcomes, part.compared, part.references, stops)


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


def cell_columns(part: Part) -> list[str]:
    """Headings of the table of cells."""
    axes = [part.name(axis) for axis in part.axes]
    metric = ["metric"] if len(part.compared) > 1 else []
    interval = ["95 % interval"] if part.repeats else []
    references = _reference_titles(part)
    return [*axes, *metric, "published", "measured", *interval, "difference", *references]


def label_count(part: Part) -> int:
    """How many of those columns are text."""
    return len(part.axes) + (len(part.compared) > 1)


def _interval(cell: Cell, show: Callable[[float], str]) -> str:
    """The interval of a cell, its ends as `show` writes them, but for thousands."""
    if cell.ci_low is None or cell.ci_high is None:
        return text.ABSENT
    return "[" + ", ".join(show(end).replace(",", "") for end in (cell.ci_low, cell.ci_high)) + "]"


def cell_row(part: Part, cell: Cell) -> list[str]:
    """One line of the table of cells."""
    many = len(part.compared) > 1
    references = cell.references or {}
    show = text.number if many else text.decimal
    published = text.exact(cell.published, 4) if many else show(cell.published)
    measured = show(cell.measured)
    return [
        *(text.label(value) for value in cell.point.values()),
        *([part.name(cell.metric)] if many else []),
        published,
        measured,
        *([_interval(cell, show)] if part.repeats else []),
        text.beside(cell.difference, published, measured) if many else show(cell.difference),
        *(show(references.get(title)) for title in _reference_titles(part)),
    ]


def _reference_titles(part: Part) -> list[str]:
    """Each once, though several metrics may have numbers of the same title."""
    return list(dict.fromkeys(column.title for column in part.references))
