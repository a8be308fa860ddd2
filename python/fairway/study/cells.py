"""What a study measured, cell by cell, beside what was published."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from fairway import metrics
from fairway.stats import mean_interval
from fairway.study.claims import Cell, point_is_at, same
from fairway.sweep import repetitions
from fairway.sweep.outcome import Outcome
from fairway.sweep.repetitions import Stop

#: Identity of an outcome -> metric -> its value.
_Values = Mapping[int, Mapping[str, float | None]]

#: The value of an axis in a cell that is a mean over it.
MEAN = "mean"


@dataclass(frozen=True)
class Column:
    """Published numbers of one metric.

    Attributes:
        metric: The metric they are held against.
        title: Whose numbers they are.
        match: Axis -> column of the file that holds its values.
        column: Column of the numbers, if it is always the same.
        column_axis: Axis whose value names the column, if not.
        columns: Value of that axis -> column, where they are not called alike.
        scale: What a published number is multiplied by to be in the metric's unit.
        where: Axis -> values of the points that it is for; all points if empty.
        mean_over: Axis over whose values the published number is a mean, if it is one.
    """

    metric: str
    title: str
    rows: Sequence[Mapping[str, str]]
    match: Mapping[str, str]
    column: str | None
    column_axis: str | None
    columns: Mapping[str, str]
    scale: float
    where: Mapping[str, Any]
    mean_over: str | None = None
    path: Path = Path()

    @property
    def name(self) -> str:
        """The metric by which claims and figures know its cells."""
        return f"mean {self.metric}" if self.mean_over else self.metric

    def covers(self, point: Mapping[str, Any]) -> bool:
        """Whether it is for that point."""
        return point_is_at(point, self.where)

    def at(self, point: Mapping[str, Any]) -> float | None:
        """The published number of a point; none if there is none."""
        printed = self._text(point)
        return float(printed) * self.scale if printed else None

    def half_digit(self, point: Mapping[str, Any]) -> float | None:
        """Half of the last digit that is printed of a point's number, in the metric's unit."""
        printed = self._text(point)
        exponent = Decimal(printed).as_tuple().exponent if printed else None
        return 0.5 * 10.0**exponent * self.scale if isinstance(exponent, int) else None

    def _text(self, point: Mapping[str, Any]) -> str:
        return (self.row(point).get(self.column_of(point)) or "").strip()

    def column_of(self, point: Mapping[str, Any]) -> str:
        """The column of the file that has the number of a point."""
        value = str(point.get(self.column_axis or ""))
        return self.column or self.columns.get(value, value)

    def row(self, point: Mapping[str, Any]) -> Mapping[str, str]:
        """The line of the file that is of a point; empty if there is none."""
        index = self.index(point)
        return {} if index is None else self.rows[index]

    def index(self, point: Mapping[str, Any]) -> int | None:
        """Which of the lines is of a point; none if there is none."""
        for index, row in enumerate(self.rows):
            if all(same(point.get(axis), row[name]) for axis, name in self.match.items()):
                return index
        return None


def expected_cells(
    points: Iterable[Mapping[str, Any]],
    compared: Sequence[Column],
    references: Sequence[Column] = (),
) -> Iterator[Cell]:
    """Every cell of a whole study, run or not, as published."""
    every = list(points)
    for mean_over, columns in _by_mean(compared):
        for point in _unique(averaged(point, mean_over) for point in every):
            for column in (c for c in columns if c.covers(point)):
                beside = _beside(column, references, point)
                yield Cell(
                    point, column.name, column.at(point), None, None, None, references=beside
                )


def measured_cells(
    outcomes: Sequence[Outcome],
    compared: Sequence[Column],
    references: Sequence[Column],
    stops: Sequence[Stop] = (),
) -> Iterator[Cell]:
    """One cell per point that was run and metric, over its repetitions; then those of means."""
    unsettled = {repr(stop.axes): stop.unsettled for stop in stops}
    same = {repr(outcomes[0].point.axes) for outcomes in repetitions.alike(outcomes)}
    groups = [
        (group, [column for column in columns if column.covers(group[0].point.axes)])
        for mean_over, columns in _by_mean(compared)
        for group in _grouped(outcomes, mean_over)
    ]
    values = _values(groups)
    for group, columns in groups:
        keys = {repr(outcome.point.axes) for outcome in group}
        open_ones = keys & unsettled.keys()
        for column in columns:
            yield replace(
                _cell(group, column, references, values),
                unsettled=keys <= same or any(column.metric in unsettled[key] for key in open_ones),
            )


def _values(groups: Sequence[tuple[Sequence[Outcome], Sequence[Column]]]) -> _Values:
    """What was measured in each run, all of it read before the next run is opened."""
    metrics_of: dict[int, tuple[Outcome, dict[str, None]]] = {}
    for group, columns in groups:
        for outcome in group:
            wanted = metrics_of.setdefault(id(outcome), (outcome, {}))[1]
            wanted.update(dict.fromkeys(column.metric for column in columns))
    return {
        key: metrics.all_of_outcome(outcome, wanted)
        for key, (outcome, wanted) in metrics_of.items()
    }


def _by_mean(compared: Sequence[Column]) -> Iterable[tuple[str | None, list[Column]]]:
    """Columns by the axis that they are means over, those of single points first."""
    groups: dict[str | None, list[Column]] = {None: []}
    for column in compared:
        groups.setdefault(column.mean_over, []).append(column)
    return groups.items()


def _grouped(outcomes: Sequence[Outcome], mean_over: str | None) -> Iterable[list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(repr(averaged(outcome.point.axes, mean_over)), []).append(outcome)
    return groups.values()


def averaged(point: Mapping[str, Any], mean_over: str | None) -> dict[str, Any]:
    """A point with the axis that its cell is a mean over, if it is one, said to be that."""
    return {axis: MEAN if axis == mean_over else value for axis, value in point.items()}


def _unique(points: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    return {repr(point): point for point in points}.values()


def _cell(
    group: Sequence[Outcome], column: Column, references: Sequence[Column], values_of: _Values
) -> Cell:
    point = averaged(group[0].point.axes, column.mean_over)
    found = _by_repetition(group, column.metric, values_of)
    values = tuple(found.values())
    estimate = mean_interval(values) if values else None
    return Cell(
        point=point,
        metric=column.name,
        published=column.at(point),
        half_digit=column.half_digit(point),
        measured=estimate.mean if estimate else None,
        ci_low=estimate.low if estimate else None,
        ci_high=estimate.high if estimate else None,
        values=values,
        repetitions=tuple(found),
        references=_beside(column, references, point),
    )


def _beside(
    column: Column, references: Sequence[Column], point: Mapping[str, Any]
) -> dict[str, float | None]:
    """Other numbers of the metric at a point, by title."""
    return {other.title: other.at(point) for other in references if other.name == column.name}


def _by_repetition(group: Sequence[Outcome], metric: str, values_of: _Values) -> dict[int, float]:
    """Repetition -> value, its mean where the group has several points.

    A repetition that a point lacks, or in which it has no value, has no mean.
    """
    points = len({repr(outcome.point.axes) for outcome in group})
    found: dict[int, list[float | None]] = {}
    for outcome in group:
        value = values_of[id(outcome)][metric]
        known = value is not None and math.isfinite(value)
        found.setdefault(outcome.point.repetition, []).append(value if known else None)
    return {
        repetition: math.fsum(values) / len(values)  # type: ignore[arg-type]
        for repetition, values in found.items()
        if None not in values and len(values) == points
    }
