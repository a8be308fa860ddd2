"""Tests that hold numbers against published ones, and the one that measures nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from fairway.claims.cells import Cell, is_at, place
from fairway.claims.verdicts import Answer, Verdict, number

_Test = Mapping[str, Any]


def unmeasured(test: _Test, _: Sequence[Cell], __: Sequence[Cell]) -> Answer:
    """Says why there is no measurement."""
    return Answer(f"Not measured: {test['reason']}.", limit="undecided")


def cells_within(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Mean and largest |measured − published| within bounds."""
    differences = [(abs(c.difference), c) for c in cells if c.difference is not None]
    total = sum(cell.published is not None for cell in expected)
    if not differences:
        return Answer("No cell has both a published and a measured value.", limit="undecided")
    mean = math.fsum(d for d, _ in differences) / len(differences)
    largest, worst = max(differences, key=lambda pair: pair[0])
    reason = (
        f"Mean |difference| {number(mean)} (at most {test['mean']}), "
        f"largest {number(largest)} at {place(worst.point)} (at most {test['max']})"
    )
    complete = len(differences) == total
    verdict: Verdict = "supported"
    if largest > test["max"] or (complete and mean > test["mean"]):
        verdict = "refuted"
    elif not complete:
        reason += f"; only {len(differences)} of {total} cells were run"
        verdict = "undecided"
    return Answer(reason + ".", limit=verdict, measured=mean)


def errors(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Median and largest share that cells are off the published number or a reference's."""
    found = []
    for cell in cells:
        wanted = _held_against(test, cell)
        if wanted and cell.measured is not None:
            found.append((abs(cell.measured / wanted - 1), cell))
    if not found:
        return Answer("No cell has both numbers.", limit="undecided")
    total = sum(bool(_held_against(test, cell)) for cell in expected)
    median = statistics.median(error for error, _ in found)
    largest, worst = max(found, key=lambda pair: pair[0])
    reason = (
        f"Of {len(found)} cells the median is {100 * median:.2f} % off (at most "
        f"{100 * test['median']:g} %), the worst {100 * largest:.2f} % at {place(worst.point)}"
    )
    if "max" in test:
        reason += f" (at most {100 * test['max']:g} %)"
    complete = len(found) >= total
    if largest > test.get("max", math.inf) or (complete and median > test["median"]):
        return Answer(reason + ".", limit="refuted", measured=median)
    if not complete:
        return Answer(f"{reason}; {total} are to be run.", limit="undecided", measured=median)
    return Answer(reason + ".", measured=median)


def _held_against(test: _Test, cell: Cell) -> float | None:
    if "reference" in test:
        return (cell.references or {}).get(test["reference"])
    return cell.published


def _fixed(test: _Test) -> list[str]:
    """Axes of which a test chooses one value, which need not be said of each cell."""
    return [axis for axis, value in test.get("at", {}).items() if not isinstance(value, list)]


def follows(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Every chosen cell within a share of a number, or that number within its interval."""
    ratios, off = [], []
    for cell in cells:
        wanted = _held_against(test, cell)
        if not wanted or cell.measured is None:
            continue
        where = place(cell.point, _fixed(test))
        share = cell.measured / wanted
        ratios.append(f"{share:.3f} at {where}")
        covered = cell.ci_low is not None and cell.ci_high is not None and (
            cell.ci_low <= wanted <= cell.ci_high
        )  # fmt: skip
        if not (abs(share - 1) <= test["within"] or covered):
            off.append(where)
    if not ratios:
        return Answer("No cell has both numbers.", limit="undecided")
    reason = f"Measured / expected: {'; '.join(ratios)}."
    if off:
        return Answer(f"{reason} Off: {', '.join(off)}.", limit="refuted")
    if len(ratios) < len(expected):
        reason += f" Only {len(ratios)} of {len(expected)} cells were run."
        return Answer(reason, limit="undecided")
    return Answer(reason)


def among_runs(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """The number of every chosen cell lies between the least and the largest of its runs.

    A single further run of the same experiment would, of n runs, with probability (n − 1)/(n + 1).
    """
    inside, outside, fewest = 0, [], math.inf
    for cell in cells:
        wanted = _held_against(test, cell)
        if wanted is None or len(cell.values) < 2:
            continue
        low, high = min(cell.values), max(cell.values)
        fewest = min(fewest, len(cell.values))
        if low <= wanted <= high:
            inside += 1
        else:
            where = place(cell.point, _fixed(test))
            outside.append(f"{number(wanted)} at {where} ({number(low)} to {number(high)})")
    found = inside + len(outside)
    if not found:
        return Answer("No cell has both a number and several runs.", limit="undecided")
    reason = (
        f"{inside} of {found} numbers are among at least {fewest} runs; a further run would be "
        f"with a probability of {100 * (fewest - 1) / (fewest + 1):.3g} %"
    )
    if outside:
        return Answer(f"{reason}. Outside: {', '.join(outside)}.", limit="refuted")
    total = sum(_held_against(test, cell) is not None for cell in expected)
    if found < total:
        return Answer(f"{reason}; only {found} of {total} cells were run.", limit="undecided")
    return Answer(f"{reason}.")


def distance(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Mean |difference| between cells that differ in an axis, within bounds."""
    left, right = _samples(cells, test["left"]), _samples(cells, test["right"])
    apart = {key: abs(left[key] - right[key]) for key in left if key in right}
    total = sum(is_at(cell, test["left"]) for cell in expected)
    run = len({key[0] for key in apart})
    low, high = test.get("at_least", -math.inf), test.get("at_most", math.inf)
    if not apart:
        return Answer("One side of the comparison was not run.", limit="undecided")
    mean = math.fsum(value / len(apart) for value in apart.values())
    (where, _), largest = max(apart.items(), key=lambda item: item[1])
    shown = ", ".join(value for _, value in where)
    reason = (
        f"Mean |difference| {number(mean)}, claimed {_bounds(low, high)}; "
        f"largest {number(largest)} at {shown}"
    )
    if run < total:
        reason += f"; only {run} of {total} cells were run"
        return Answer(reason + ".", limit="undecided", measured=mean)
    verdict: Verdict = "supported" if low <= mean <= high else "refuted"
    return Answer(reason + ".", limit=verdict, measured=mean)


#: What identifies one sample: the other axes and the repetition.
_Key = tuple[tuple[tuple[str, str], ...], int]


def _samples(cells: Sequence[Cell], at: Mapping[str, Any]) -> dict[_Key, float]:
    return {
        (tuple((k, str(v)) for k, v in cell.point.items() if k not in at), repetition): value
        for cell in cells
        if is_at(cell, at)
        for repetition, value in cell.by_repetition.items()
    }


def _bounds(low: float, high: float) -> str:
    if math.isinf(high):
        return f"at least {low}"
    return f"at most {high}" if math.isinf(low) else f"{low} to {high}"
