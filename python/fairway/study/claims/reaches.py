"""The test that asks where along an axis a metric first reaches a level."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairway.study.claims.cells import Cell
from fairway.study.claims.verdicts import Answer, Number, Verdict


def reaches(test: Mapping[str, Any], cells: Sequence[Cell], _: Sequence[Cell]) -> Answer:
    """The smallest value of an axis at which the metric is at a level lies between two others.

    Its interval is from where the upper ends of the metric's 95 % intervals reach the level to
    where the lower ends do. It decides: supported if all of it agrees, refuted if none of it does.
    """
    goal, low, high = test["at_least"], test["low"], test["high"]
    try:
        row = sorted(
            (
                (float(cell.point[test["axis"]]), cell)
                for cell in cells
                if cell.measured is not None
            ),
            key=lambda pair: pair[0],
        )
    except (KeyError, TypeError, ValueError):
        return Answer(f"{test['axis']} has values that are no numbers.", limit="undecided")

    def first(end: Callable[[Cell], float | None]) -> float:
        found = ((at, cell.measured if end(cell) is None else end(cell)) for at, cell in row)
        return next((at for at, value in found if value is not None and value >= goal), math.inf)

    mean, least, most = (
        first(lambda cell: cell.measured),
        first(lambda cell: cell.ci_high),
        first(lambda cell: cell.ci_low),
    )
    last, claimed = row[-1][0], f"claimed {low:g} to {high:g}"
    if math.isinf(mean):
        # Beyond what was run, wherever that is.
        beyond: Verdict = "refuted" if last >= high and math.isinf(least) else "undecided"
        return Answer(f"Not reached up to {last:g}, {claimed}.", limit=beyond)
    to = f"more than {last:g}" if math.isinf(most) else f"{most:g}"
    ends = "" if least == most else f" [{least:g}, {to}]"
    reason = f"Reached at {mean:g}{ends}, {claimed}."
    has_ends = any(cell.ci_low is not None for _, cell in row)
    interval = (least, most) if has_ends and math.isfinite(most) else None
    basis = _basis(row, has_ends=has_ends, reached=math.isfinite(most))
    return Answer(
        reason, limit=_between(least, most, low, high), found=Number(mean, interval, basis)
    )


def _basis(row: Sequence[tuple[float, Cell]], *, has_ends: bool, reached: bool) -> str:
    if not has_ends:
        return "none: one repetition"
    if not reached:
        return (
            f"none: the lower ends of the metric's intervals do not reach it up to {row[-1][0]:g}"
        )
    return "where the upper and where the lower ends of the metric's 95 % intervals reach it"


def _between(least: float, most: float, low: float, high: float) -> Verdict:
    if low <= least and most <= high:
        return "supported"
    return "refuted" if most < low or least > high else "undecided"
