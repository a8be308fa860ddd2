"""Tests that hold numbers against published ones, and the one that measures nothing."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairway.stats import Estimate, statistic_interval
from fairway.study.claims import units
from fairway.study.claims.cells import Cell, NotComparable, NotRun, is_at, place
from fairway.study.claims.verdicts import (
    NOTHING_RANDOM,
    SAME,
    Answer,
    Number,
    Verdict,
    basis_of,
    weakest,
)

_Test = Mapping[str, Any]

#: Why a count of cells has no interval.
_COUNT = "none: a count of cells"


def unmeasured(test: _Test, _: Sequence[Cell], __: Sequence[Cell]) -> Answer:
    """Says why there is no measurement."""
    return Answer(f"Not measured: {test['reason']}.", limit="undecided")


def cells_within(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Mean and largest |measured − published| within bounds."""
    found = [(c, c.published) for c in cells if c.published is not None]
    differences = [(abs(c.difference), c) for c, _ in found if c.difference is not None]
    total, metric = sum(cell.published is not None for cell in expected), test["metric"]
    if not differences:
        raise NotComparable("No cell has both a published and a measured value")
    mean = math.fsum(d for d, _ in differences) / len(differences)
    largest, worst = max(differences, key=lambda pair: pair[0])
    reason = (
        f"Mean |difference| {units.measured(metric, mean)} "
        f"(at most {units.bound(metric, test['mean'])}), "
        f"largest {units.measured(metric, largest)} at {place(worst.point)} "
        f"(at most {units.bound(metric, test['max'])})"
    )
    complete = len(differences) == total
    verdict: Verdict = "supported"
    if largest > test["max"] or (complete and mean > test["mean"]):
        verdict = "refuted"
    elif not complete:
        reason += f"; only {len(differences)} of {total} cells were run"
        verdict = "not run"
    return _with_interval(
        Answer(
            reason + ".",
            limit=verdict,
            found=Number(mean, spread=_spread(differences), unit_of=metric),
        ),
        found,
        lambda means, wanted: abs(means - wanted).mean(axis=0),
    )


def errors(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Median and largest share that cells are off the published number or a reference's."""
    held = [(c, wanted) for c in cells if (wanted := _held_against(test, c))]
    found = [(abs(c.measured / wanted - 1), c) for c, wanted in held if c.measured is not None]
    if not found:
        raise NotComparable("No cell has both numbers")
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
    verdict: Verdict = "supported" if complete else "not run"
    if largest > test.get("max", math.inf) or (complete and median > test["median"]):
        verdict = "refuted"
    elif not complete:
        reason += f"; {total} are to be run"
    return _with_interval(
        Answer(
            reason + ".",
            limit=verdict,
            found=Number(median, spread=_spread(found), unit_of=units.SHARE),
        ),
        held,
        lambda means, wanted: _median(abs(means / wanted - 1)),
    )


def _median(values: Any) -> Any:
    import numpy as np

    return np.median(values, axis=0)


def _spread(found: Sequence[tuple[float, Cell]]) -> tuple[float, float] | None:
    """Least and largest of some numbers of cells, where there are several."""
    numbers = [number for number, _ in found]
    return (min(numbers), max(numbers)) if len(numbers) > 1 else None


def _with_interval(
    answer: Answer,
    held: Sequence[tuple[Cell, float]],
    statistic: Callable[[Any, Any], Any],
) -> Answer:
    """The answer with an interval over the repetitions that all its cells have.

    `held` are cells with the numbers that they are held against; `statistic` is of means along the
    first axis and of these numbers in the same order.
    """
    import numpy as np

    measured = [(cell.by_repetition, wanted) for cell, wanted in held if cell.measured is not None]
    common = [r for r in measured[0][0] if all(r in values for values, _ in measured)]
    if len(common) < 2:
        return replace(answer, found=replace(answer.found, basis=basis_of(1)))
    if all(len(set(values.values())) == 1 for values, _ in measured):
        answer = replace(answer, found=replace(answer.found, basis=SAME))
        if not any(cell.unsettled for cell, _ in held):
            return answer
        lead = f"{answer.lead} Undecided: {NOTHING_RANDOM}."
        return replace(answer, lead=lead, limit=weakest([answer.limit, "undecided"]))
    wanted = np.array([number for _, number in measured])

    def of_means(means: Any) -> Any:
        return statistic(means, wanted.reshape(-1, *[1] * (means.ndim - 1)))

    found = statistic_interval([[values[r] for r in common] for values, _ in measured], of_means)
    number = replace(answer.found, interval=_ends(found), basis=basis_of(len(common)))
    return replace(answer, found=number)


def _ends(found: Estimate | None) -> tuple[float, float] | None:
    if found is None or found.low is None or found.high is None:
        return None
    return found.low, found.high


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
    shares: list[tuple[float, Cell, float]] = []
    for cell in cells:
        wanted = _held_against(test, cell)
        if not wanted or cell.measured is None:
            continue
        where = place(cell.point, _fixed(test))
        share = cell.measured / wanted
        shares.append((share, cell, wanted))
        ratios.append(f"{share:.3f} at {where}")
        covered = cell.ci_low is not None and cell.ci_high is not None and (
            cell.ci_low <= wanted <= cell.ci_high
        )  # fmt: skip
        if not (abs(share - 1) <= test["within"] or covered):
            off.append(where)
    if not ratios:
        raise NotComparable("No cell has both numbers")
    reason = f"Measured / expected: {'; '.join(ratios)}."
    verdict: Verdict = "supported"
    if off:
        reason, verdict = f"{reason} Off: {', '.join(off)}.", "refuted"
    elif len(ratios) < (total := sum(bool(_held_against(test, cell)) for cell in expected)):
        reason += f" Only {len(ratios)} of {total} cells were run."
        verdict = "not run"
    # The cell that is farthest off stands for all.
    share, worst, wanted = max(shares, key=lambda found: abs(found[0] - 1))
    ends = None
    if worst.ci_low is not None and worst.ci_high is not None:
        low, high = sorted((worst.ci_low / wanted, worst.ci_high / wanted))
        ends = (low, high)
    basis = basis_of(1 if ends is None else len(worst.values))
    spread = _spread([(found, cell) for found, cell, _ in shares])
    return Answer(reason, limit=verdict, found=Number(share, ends, basis, spread))


def among_runs(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """The number of every chosen cell lies between the least and the largest of its runs.

    A single further run of the same experiment would, of n runs, with probability (n − 1)/(n + 1).
    """
    inside, outside, fewest = 0, [], sys.maxsize
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
            published = units.measured(test["metric"], wanted)
            outside.append(f"{published} at {where} ({units.span(test['metric'], (low, high))})")
    found = inside + len(outside)
    if not found:
        raise NotComparable("No cell has both a number and several runs")
    reason = (
        f"{inside} of {found} numbers are among at least {fewest} runs; a further run would be "
        f"with a probability of {100 * (fewest - 1) / (fewest + 1):.3g} %"
    )
    total = sum(_held_against(test, cell) is not None for cell in expected)
    verdict: Verdict = "supported"
    if outside:
        reason, verdict = f"{reason}. Outside: {', '.join(outside)}", "refuted"
    elif found < total:
        reason, verdict = f"{reason}; only {found} of {total} cells were run", "not run"
    number = Number(inside / found, basis=_COUNT, unit_of=units.SHARE)
    return Answer(f"{reason}.", limit=verdict, found=number)


def printed(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """At least so many cells are the published number to the last digit that is printed of it.

    `share` is allowed beside that: of a number that was worked out from a rounded one.
    """
    known = [(c, c.measured, c.published) for c in cells if None not in (c.measured, c.published)]
    off = [
        f"{wanted:.10g} at {place(cell.point, _fixed(test))}, measured {found:.7g}"
        for cell, found, wanted in known
        if found is not None and wanted is not None and not _is_printed(test, cell, found, wanted)
    ]
    total = sum(cell.published is not None for cell in expected)
    met, least = len(known) - len(off), test["at_least"]
    reason = f"{met} of {len(known)} numbers are met to the printed digit (at least {least:g})"
    verdict: Verdict = "supported"
    if met + total - len(known) < least:
        verdict = "refuted"
    elif met < least:
        verdict = "not run"
    listed = f". Not met: {'; '.join(off)}" if off else ""
    return Answer(f"{reason}{listed}.", limit=verdict, found=Number(float(met), basis=_COUNT))


def _is_printed(test: _Test, cell: Cell, found: float, wanted: float) -> bool:
    # A number half-way between two digits may be rounded either way.
    share: float = test.get("share", 0.0)
    slack = (cell.half_digit or 0.0) * (1 + 1e-9) + abs(wanted) * (share + 1e-12)
    return abs(found - wanted) <= slack


def distance(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Mean |difference| between cells that differ in an axis, within bounds."""
    left, right = _samples(cells, test["left"]), _samples(cells, test["right"])
    apart = {key: abs(left[key] - right[key]) for key in left if key in right}
    total = sum(is_at(cell, test["left"]) for cell in expected)
    by_cell: dict[tuple[tuple[str, str], ...], list[float]] = {}
    for (where, _), value in apart.items():
        by_cell.setdefault(where, []).append(value)
    run = len(by_cell)
    low, high = test.get("at_least", -math.inf), test.get("at_most", math.inf)
    metric = test["metric"]
    if not apart:
        raise NotRun("One side of the comparison was not run")
    # Of cells: one that was repeated more often counts no more.
    mean = statistics.fmean(map(statistics.fmean, by_cell.values()))
    (where, _), largest = max(apart.items(), key=lambda item: item[1])
    shown = ", ".join(value for _, value in where)
    reason = (
        f"Mean |difference| {units.measured(metric, mean)}, "
        f"claimed {_bounds(metric, low, high)}; "
        f"largest {units.measured(metric, largest)} at {shown}"
    )
    verdict: Verdict = "supported" if low <= mean <= high else "refuted"
    if run < total:
        reason += f"; only {run} of {total} cells were run"
        verdict = "not run"
    by_repetition: dict[int, list[float]] = {}
    for (_, repetition), value in apart.items():
        by_repetition.setdefault(repetition, []).append(value)
    means = [math.fsum(v) / len(v) for v in by_repetition.values() if len(v) == run]
    found = statistic_interval([means], lambda mean: mean[0]) if means else None
    basis = basis_of(1 if found is None else found.count)
    spread = (min(apart.values()), largest) if len(apart) > 1 else None
    number = Number(mean, _ends(found), basis, spread, unit_of=metric)
    return Answer(reason + ".", limit=verdict, found=number)


#: What identifies one sample: the other axes and the repetition.
_Key = tuple[tuple[tuple[str, str], ...], int]


def _samples(cells: Sequence[Cell], at: Mapping[str, Any]) -> dict[_Key, float]:
    return {
        (tuple((k, str(v)) for k, v in cell.point.items() if k not in at), repetition): value
        for cell in cells
        if is_at(cell, at)
        for repetition, value in cell.by_repetition.items()
    }


def _bounds(metric: str, low: float, high: float) -> str:
    if math.isinf(high):
        return f"at least {units.bound(metric, low)}"
    if math.isinf(low):
        return f"at most {units.bound(metric, high)}"
    return units.bound(metric, low, high)
