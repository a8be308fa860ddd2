"""What claims are judged on: cells, those of them that a test speaks of, and effects between them.

The observation is the repetition: where a test speaks of several points, each repetition counts
once, with its mean over the points. Its points share a seed, and so are no independent samples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.ground import text
from fairway.stats import Effect, log_ratio_effect, mean_effect, paired_effect


@dataclass(frozen=True)
class Cell:
    """One metric at one point, published beside measured.

    Attributes:
        published: The paper's number; none where it gives none.
        measured: Mean over repetitions; none if the point was not run or has no value.
        ci_low: Lower end of the 95 % interval; none with one repetition.
        values: The value of each repetition that has one.
        references: Other numbers shown beside, by title.
        repetitions: Which repetitions `values` are of; 0, 1, … if not given.
        unsettled: Whether repeating ended at its limit before the interval was as narrow as was
            asked for, or every repetition is the same run.
        part: Of which part of its study it is; empty where a study has no parts.
        half_digit: Half of the last digit that is printed of `published`.
    """

    point: Mapping[str, Any]
    metric: str
    published: float | None
    measured: float | None
    ci_low: float | None
    ci_high: float | None
    values: tuple[float, ...] = ()
    references: Mapping[str, float | None] | None = None
    repetitions: tuple[int, ...] = ()
    unsettled: bool = False
    part: str = ""
    half_digit: float | None = None

    @property
    def difference(self) -> float | None:
        """Measured less published."""
        if self.measured is None or self.published is None:
            return None
        return self.measured - self.published

    @property
    def by_repetition(self) -> dict[int, float]:
        """Repetition -> value."""
        return dict(zip(self.repetitions or range(len(self.values)), self.values, strict=True))


def same(left: Any, right: Any) -> bool:
    """Whether two axis values are equal; numbers within rounding, also when written as text."""
    if left == right:
        return True
    try:
        return math.isclose(float(left), float(right), rel_tol=1e-9)
    except (TypeError, ValueError):
        return False


def is_at(cell: Cell, at: Mapping[str, Any]) -> bool:
    """Whether a cell has these values of these axes; a list stands for any of its values."""
    return point_is_at(cell.point, at)


def point_is_at(point: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    """Whether a point has these values of these axes; a list stands for any of its values."""
    return all(
        axis in point
        and any(same(point[axis], v) for v in (value if isinstance(value, list) else [value]))
        for axis, value in at.items()
    )


def split(
    cells: Sequence[Cell], axes: Sequence[str]
) -> Iterator[tuple[dict[str, Any], list[Cell]]]:
    """The cells by their values of some axes, in the order of the cells."""
    groups: dict[str, tuple[dict[str, Any], list[Cell]]] = {}
    for cell in cells:
        values = {axis: cell.point[axis] for axis in axes if axis in cell.point}
        groups.setdefault(repr(values), (values, []))[1].append(cell)
    yield from groups.values()


def place(point: Mapping[str, Any], without: Mapping[str, Any] | Sequence[str] = ()) -> str:
    """The values of a point, for a reader, less those of some axes."""
    return ", ".join(text.label(value) for axis, value in point.items() if axis not in without)


@dataclass(frozen=True)
class Between:
    """An effect between two groups of cells.

    Attributes:
        effect: The effect, of logarithms if `logarithmic`.
        logarithmic: Whether it is a ratio.
        unsettled: Whether one of the cells is.
    """

    effect: Effect
    logarithmic: bool
    unsettled: bool


class NotComparable(Exception):  # noqa: N818
    """A test has nothing to compare; the message is a sentence without its full stop."""


class NotRun(NotComparable):
    """There is nothing because cells were not run."""


def of_cell(cell: Cell) -> Effect:
    """The mean of one cell."""
    if cell.values:
        return mean_effect(cell.values)
    assert cell.measured is not None
    return Effect(cell.measured, None, None, None, 1)


def difference(cells: Sequence[Cell], left: Mapping[str, Any], right: Mapping[str, Any]) -> Between:
    """Mean of left − right over the repetitions that both have: their noise is common.

    Raises:
        NotComparable: If one side was not run, or no repetition is on both.
    """
    pairs = _pairs(cells, left, right)
    firsts, seconds = zip(*(map(_mean, _sides(pair)) for pair in pairs.values()), strict=True)
    return Between(paired_effect(firsts, seconds), False, _unsettled(cells, left, right))


def ratio(cells: Sequence[Cell], left: Mapping[str, Any], right: Mapping[str, Any]) -> Between:
    """Ratio of left to right over the repetitions that both have, by logarithms.

    Where a value is not above zero there is no logarithm; it is then the mean of the ratios.

    Raises:
        NotComparable: As `difference`, and if what is divided by is zero.
    """
    pairs = _pairs(cells, left, right)
    unsettled = _unsettled(cells, left, right)
    if all(value > 0 for pair in pairs.values() for values in pair for value in values):
        logs = [log_ratio_effect(one, other).mean for one, other in pairs.values()
                if len(one) == len(other)]  # fmt: skip
        if len(logs) == len(pairs):
            return Between(mean_effect(logs), True, unsettled)
    means = [tuple(map(_mean, _sides(pair))) for pair in pairs.values()]
    if any(other == 0 for _, other in means):
        raise NotComparable("What is divided by is zero")
    if all(one > 0 and other > 0 for one, other in means):
        firsts, seconds = zip(*means, strict=True)
        return Between(log_ratio_effect(firsts, seconds), True, unsettled)
    return Between(mean_effect([one / other for one, other in means]), False, unsettled)


_Pair = tuple[list[float], list[float]]


def _sides(pair: _Pair) -> Iterator[list[float]]:
    yield from pair


def _pairs(
    cells: Sequence[Cell], left: Mapping[str, Any], right: Mapping[str, Any]
) -> dict[int, _Pair]:
    """Repetition -> the values of both sides, point by point where their points match.

    Only repetitions that every point has: a mean over other points would be another mean.
    """
    sides = [_by_point(cells, at) for at in (left, right)]
    for at, side in zip((left, right), sides, strict=True):
        if not side:
            raise NotRun(f"Not run: {place(at)}")
    common = [key for key in sides[0] if key in sides[1]]
    if common:
        sides = [{key: side[key] for key in common} for side in sides]
    chosen = [values for side in sides for values in side.values()]
    repetitions = [r for r in chosen[0] if all(r in values for values in chosen)]
    if not repetitions:
        raise NotComparable("No repetition has a value at every point of both sides")
    return {
        r: ([v[r] for v in sides[0].values()], [v[r] for v in sides[1].values()])
        for r in repetitions
    }


def _by_point(cells: Sequence[Cell], at: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """The other axes of each point at some axis values -> its repetitions."""
    return {
        repr([(axis, str(value)) for axis, value in cell.point.items() if axis not in at]): values
        for cell in cells
        if is_at(cell, at) and (values := cell.by_repetition)
    }


def _unsettled(cells: Sequence[Cell], *sides: Mapping[str, Any]) -> bool:
    return any(cell.unsettled for cell in cells for at in sides if is_at(cell, at))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(value / len(values) for value in values)


def ordered(values: Sequence[Any]) -> list[Any]:
    """Distinct values of an axis in rising order, or as they come if they are not all numbers."""
    distinct = list({repr(value): value for value in values}.values())
    try:
        return sorted(distinct, key=float)
    except (TypeError, ValueError):
        return distinct


def value_pairs(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Every two of some values, each pair once."""
    return itertools.combinations(values, 2)
