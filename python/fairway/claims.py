"""Claims of a study and their verdicts.

A test asks one question of the measured cells. With repetitions the confidence interval decides:
*supported* if all of it agrees with the claim, *refuted* if none of it does, else *undecided*.
With one run of a point, its value decides. A claim is refuted if any of its tests is, supported
if all are, else undecided.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairway.errors import InputError
from fairway.stats import Estimate, mean_interval
from fairway.text import decimal, interval

Verdict = Literal["supported", "refuted", "undecided"]


@dataclass(frozen=True)
class Cell:
    """One metric at one point, published beside measured.

    Attributes:
        point: Axis -> value.
        metric: Name of the metric.
        published: The paper's number; none where it gives none.
        measured: Mean over repetitions; none if the point was not run or has no value.
        ci_low: Lower end of the 95 % interval; none with one repetition.
        ci_high: Upper end.
        values: The value of each repetition.
        references: Other numbers shown beside, by title.
    """

    point: Mapping[str, Any]
    metric: str
    published: float | None
    measured: float | None
    ci_low: float | None
    ci_high: float | None
    values: tuple[float, ...] = ()
    references: Mapping[str, float | None] | None = None

    @property
    def difference(self) -> float | None:
        """Measured less published."""
        if self.measured is None or self.published is None:
            return None
        return self.measured - self.published


@dataclass(frozen=True)
class Finding:
    """What a test found.

    Attributes:
        verdict: The answer.
        reason: One sentence with the numbers behind it.
        measured: The number that decided, if one did.
        ci_low: Lower end of its interval.
        ci_high: Upper end.
    """

    verdict: Verdict
    reason: str
    measured: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Attributes:
        id: Its name.
        statement: What is claimed.
        where: Section, table or figure of the paper.
        tests: Tables of `claims.toml`, all of which must hold.
    """

    id: str
    statement: str
    where: str
    tests: tuple[Mapping[str, Any], ...]


def judge(claim: Claim, cells: Sequence[Cell], expected: Sequence[Cell]) -> Finding:
    """Judge one claim.

    Args:
        claim: The claim.
        cells: What was run.
        expected: Every cell of the whole study, run or not.
    """
    findings = [_judge_test(test, cells, expected) for test in claim.tests]
    verdicts = {finding.verdict for finding in findings}
    verdict: Verdict = "supported"
    if "refuted" in verdicts:
        verdict = "refuted"
    elif "undecided" in verdicts:
        verdict = "undecided"
    number = next((f for f in findings if f.measured is not None), findings[0])
    return Finding(
        verdict,
        " ".join(finding.reason for finding in findings),
        number.measured,
        number.ci_low,
        number.ci_high,
    )


def check_test(test: Mapping[str, Any], where: str) -> None:
    """Refuse a test that names no known kind, lacks a key or has one too many."""
    kind = test.get("kind")
    if kind not in _KINDS:
        raise InputError(f"{where}.kind: {kind!r}; expected {', '.join(sorted(_KINDS))}")
    required, optional, _ = _KINDS[kind]
    for key in sorted(required - test.keys()):
        raise InputError(f'{where}: test "{kind}" needs "{key}"')
    for key in sorted(test.keys() - required - optional - {"kind"}):
        allowed = ", ".join(sorted(required | optional))
        raise InputError(f'{where}.{key}: unknown key of test "{kind}"; it has {allowed}')


def _judge_test(
    test: Mapping[str, Any], cells: Sequence[Cell], expected: Sequence[Cell]
) -> Finding:
    _, _, function = _KINDS[test["kind"]]
    chosen = [c for c in cells if c.metric == test.get("metric") and _at(c, test.get("at", {}))]
    wanted = [c for c in expected if c.metric == test.get("metric") and _at(c, test.get("at", {}))]
    if test["kind"] != "unmeasured" and not any(cell.measured is not None for cell in chosen):
        return Finding("undecided", "No point that it speaks of was run.")
    return function(test, chosen, wanted)


def _at(cell: Cell, at: Mapping[str, Any]) -> bool:
    return all(
        axis in cell.point
        and any(same(cell.point[axis], v) for v in (value if isinstance(value, list) else [value]))
        for axis, value in at.items()
    )


def same(left: Any, right: Any) -> bool:
    """Whether two axis values are equal; numbers within rounding, also when written as text."""
    if left == right:
        return True
    try:
        return math.isclose(float(left), float(right), rel_tol=1e-9)
    except (TypeError, ValueError):
        return False


def _unmeasured(test: Mapping[str, Any], _: Sequence[Cell], __: Sequence[Cell]) -> Finding:
    return Finding("undecided", f"Not measured: {test['reason']}.")


def _cells_within(
    test: Mapping[str, Any], cells: Sequence[Cell], expected: Sequence[Cell]
) -> Finding:
    """Mean and largest |measured − published| within bounds."""
    differences = [(abs(c.difference), c) for c in cells if c.difference is not None]
    total = sum(cell.published is not None for cell in expected)
    if not differences:
        return Finding("undecided", "No cell has both a published and a measured value.")
    mean = math.fsum(d for d, _ in differences) / len(differences)
    largest, worst = max(differences, key=lambda pair: pair[0])
    place = ", ".join(str(value) for value in worst.point.values())
    reason = (
        f"Mean |difference| {decimal(mean, 4)} (at most {test['mean']}), "
        f"largest {decimal(largest, 4)} at {place} (at most {test['max']})"
    )
    complete = len(differences) == total
    if largest > test["max"] or (complete and mean > test["mean"]):
        return Finding("refuted", reason + ".", mean)
    if not complete:
        reason += f"; only {len(differences)} of {total} cells were run"
        return Finding("undecided", reason + ".", mean)
    return Finding("supported", reason + ".", mean)


def _errors(test: Mapping[str, Any], cells: Sequence[Cell], expected: Sequence[Cell]) -> Finding:
    """Median and largest share that cells are off the published number or a reference's."""
    errors = []
    for cell in cells:
        number = _held_against(test, cell)
        if number and cell.measured is not None:
            errors.append((abs(cell.measured / number - 1), cell))
    if not errors:
        return Finding("undecided", "No cell has both numbers.")
    total = sum(bool(_held_against(test, cell)) for cell in expected)
    median = statistics.median(error for error, _ in errors)
    largest, worst = max(errors, key=lambda pair: pair[0])
    place = ", ".join(str(value) for value in worst.point.values())
    reason = (
        f"Of {len(errors)} cells the median is {100 * median:.2f} % off (at most "
        f"{100 * test['median']:g} %), the worst {100 * largest:.2f} % at {place} (at most "
        f"{100 * test['max']:g} %)"
    )
    complete = len(errors) >= total
    if largest > test["max"] or (complete and median > test["median"]):
        return Finding("refuted", reason + ".", median)
    if not complete:
        return Finding("undecided", f"{reason}; {total} are to be run.", median)
    return Finding("supported", reason + ".", median)


def _held_against(test: Mapping[str, Any], cell: Cell) -> float | None:
    if "reference" in test:
        return (cell.references or {}).get(test["reference"])
    return cell.published


def _follows(test: Mapping[str, Any], cells: Sequence[Cell], expected: Sequence[Cell]) -> Finding:
    """Every chosen cell within a share of a number, or that number within its interval."""
    ratios, off = [], []
    for cell in cells:
        number = _held_against(test, cell)
        if number is None or cell.measured is None:
            continue
        place = ", ".join(
            str(value) for axis, value in cell.point.items() if axis not in test.get("at", {})
        )
        ratios.append(f"{decimal(cell.measured / number, 3)} at {place}")
        within = abs(cell.measured / number - 1) <= test["within"]
        covered = cell.ci_low is not None and cell.ci_high is not None and (
            cell.ci_low <= number <= cell.ci_high
        )  # fmt: skip
        if not (within or covered):
            off.append(place)
    if not ratios:
        return Finding("undecided", "No cell has both numbers.")
    reason = f"Measured / expected: {'; '.join(ratios)}."
    if off:
        return Finding("refuted", f"{reason} Off: {', '.join(off)}.")
    if len(ratios) < len(expected):
        reason += f" Only {len(ratios)} of {len(expected)} cells were run."
        return Finding("undecided", reason)
    return Finding("supported", reason)


def _value(test: Mapping[str, Any], cells: Sequence[Cell], _: Sequence[Cell]) -> Finding:
    """Every chosen cell within `tolerance` of `expected`."""
    low, high = test["expected"] - test["tolerance"], test["expected"] + test["tolerance"]
    return _all_between(cells, low, high, f"{test['expected']} ± {test['tolerance']}")


def _range(test: Mapping[str, Any], cells: Sequence[Cell], _: Sequence[Cell]) -> Finding:
    """Every chosen cell between `low` and `high`."""
    return _all_between(cells, test["low"], test["high"], f"{test['low']} to {test['high']}")


def _all_between(cells: Sequence[Cell], low: float, high: float, claimed: str) -> Finding:
    known = [cell for cell in cells if cell.measured is not None]
    answers = [_between(_estimate(cell), low, high) for cell in known]
    verdict = _weakest(answers)
    # The cell that decides: the first that is not supported, or the first of all.
    shown = next((c for c, a in zip(known, answers, strict=True) if a == verdict), known[0])
    found = decimal(shown.measured, 4) + _interval_text(_estimate(shown))
    return Finding(verdict, f"Measured {found}, claimed {claimed}.",
                   shown.measured, shown.ci_low, shown.ci_high)  # fmt: skip


def _order(test: Mapping[str, Any], cells: Sequence[Cell], _: Sequence[Cell]) -> Finding:
    """Groups of one axis in falling order: every member of one above every one of the next."""
    axis, groups = test["axis"], test["order"]
    pooled = {value: _pooled(cells, axis, value) for group in groups for value in group}
    missing = [value for value, points in pooled.items() if not points]
    if missing:
        return Finding("undecided", f"Not run: {', '.join(map(str, missing))}.")
    answers: list[Verdict] = []
    notes = []
    for upper, lower in itertools.pairwise(groups):
        for high in upper:
            for low in lower:
                found = _paired_difference(pooled[high], pooled[low])
                answers.append(_between(found, 0, math.inf) if found.mean else "refuted")
                if answers[-1] != "supported":
                    size = f"{decimal(found.mean, 4)}{_interval_text(found)}"
                    notes.append(f"{high} − {low} = {size}")
    shown = "; ".join(notes) if notes else "every step is as claimed"
    ranked = sorted(pooled, key=lambda v: -math.fsum(pooled[v].values()) / len(pooled[v]))
    return Finding(_weakest(answers), f"Measured order {' > '.join(map(str, ranked))}: {shown}.")


def _trend(test: Mapping[str, Any], cells: Sequence[Cell], _: Sequence[Cell]) -> Finding:
    """Means along one axis rise (or fall) from each value to the next."""
    axis, sign = test["axis"], 1 if test["direction"] == "increasing" else -1
    values = sorted({cell.point[axis] for cell in cells}, key=float)
    pooled = {value: _pooled(cells, axis, value) for value in values}
    pooled = {value: points for value, points in pooled.items() if points}
    if len(pooled) < 2:
        return Finding("undecided", "Fewer than two values of the axis were run.")
    steps = list(pooled)
    answers: list[Verdict] = []
    against = []
    for first, second in itertools.pairwise(steps):
        found = _paired_difference(pooled[second], pooled[first])
        answers.append(_between(found, 0, math.inf) if sign > 0 else _between(found, -math.inf, 0))
        if answers[-1] != "supported":
            against.append(f"{first} to {second}: {decimal(found.mean, 4)}{_interval_text(found)}")
    shown = "; ".join(against) if against else "every step is as claimed"
    return Finding(_weakest(answers), f"Claimed {test['direction']} in {axis}: {shown}.")


def _compare(test: Mapping[str, Any], cells: Sequence[Cell], _: Sequence[Cell]) -> Finding:
    """Ratio or difference of two means within bounds."""
    left = _pooled_at(cells, test["left"])
    right = _pooled_at(cells, test["right"])
    if not left or not right:
        return Finding("undecided", "One side of the comparison was not run.")
    low, high = test.get("at_least", -math.inf), test.get("at_most", math.inf)
    if test["how"] == "difference":
        found = _paired_difference(left, right)
    else:
        keys = [key for key in left if key in right and right[key] != 0]
        if not keys:
            return Finding("undecided", "The divisor of the ratio is zero or was not run.")
        found = mean_interval([left[key] / right[key] for key in keys])
    text = f"{test['how'].capitalize()} {decimal(found.mean, 4)}{_interval_text(found)}"
    return Finding(_between(found, low, high), f"{text}, claimed {_bounds(low, high)}.",
                   found.mean, found.low, found.high)  # fmt: skip


def _distance(test: Mapping[str, Any], cells: Sequence[Cell], expected: Sequence[Cell]) -> Finding:
    """Mean |difference| between cells that differ in an axis, within bounds."""
    left, right = _pooled_at(cells, test["left"]), _pooled_at(cells, test["right"])
    apart = {key: abs(left[key] - right[key]) for key in left if key in right}
    total = sum(_at(cell, test["left"]) for cell in expected)
    run = len({key[0] for key in apart})
    low, high = test.get("at_least", -math.inf), test.get("at_most", math.inf)
    if not apart:
        return Finding("undecided", "One side of the comparison was not run.")
    found = mean_interval([math.fsum(apart.values()) / len(apart)])
    key, largest = max(apart.items(), key=lambda item: item[1])
    place = ", ".join(value for axis, value in key[0] if axis not in test.get("left", {}))
    reason = (
        f"Mean |difference| {decimal(found.mean, 4)}, claimed {_bounds(low, high)}; "
        f"largest {decimal(largest, 4)} at {place}"
    )
    if run < total:
        reason += f"; only {run} of {total} cells were run"
        return Finding("undecided", reason + ".", found.mean)
    return Finding(_between(found, low, high), reason + ".", found.mean)


#: What identifies one sample when two groups are paired: the other axes and the repetition.
_Key = tuple[tuple[tuple[str, str], ...], int]


def _pooled(cells: Sequence[Cell], axis: str, value: Any) -> dict[_Key, float]:
    return _pooled_at(cells, {axis: value})


def _pooled_at(cells: Sequence[Cell], at: Mapping[str, Any]) -> dict[_Key, float]:
    """Samples at some axis values, by their other axes and repetition."""
    return {
        (tuple((k, str(v)) for k, v in cell.point.items() if k not in at), repetition): sample
        for cell in cells
        if _at(cell, at)
        for repetition, sample in enumerate(cell.values)
    }


def _paired_difference(left: Mapping[_Key, float], right: Mapping[_Key, float]) -> Estimate:
    """Mean of left − right over what both have: equal seeds make the noise common."""
    keys = [key for key in left if key in right]
    if keys:
        return mean_interval([left[key] - right[key] for key in keys])
    means = [math.fsum(side.values()) / len(side) for side in (left, right)]
    return mean_interval([means[0] - means[1]])


def _estimate(cell: Cell) -> Estimate:
    assert cell.measured is not None
    return Estimate(cell.measured, cell.ci_low, cell.ci_high, len(cell.values))


def _between(found: Estimate, low: float, high: float) -> Verdict:
    least = found.mean if found.low is None else found.low
    most = found.mean if found.high is None else found.high
    if low <= least and most <= high:
        return "supported"
    return "refuted" if most < low or least > high else "undecided"


def _weakest(answers: Sequence[Verdict]) -> Verdict:
    if "refuted" in answers:
        return "refuted"
    return "undecided" if "undecided" in answers else "supported"


def _interval_text(found: Estimate) -> str:
    return "" if found.low is None else f" {interval(found.low, found.high, 4)}"


def _bounds(low: float, high: float) -> str:
    if math.isinf(high):
        return f"at least {low}"
    return f"at most {high}" if math.isinf(low) else f"{low} to {high}"


_Test = Callable[[Mapping[str, Any], Sequence[Cell], Sequence[Cell]], Finding]

#: Kind of test -> keys it needs, keys it may have, what judges it.
_KINDS: dict[str, tuple[set[str], set[str], _Test]] = {
    "cells_within": ({"metric", "mean", "max"}, {"at"}, _cells_within),
    "errors": ({"metric", "median", "max"}, {"at", "reference"}, _errors),
    "follows": ({"metric", "within"}, {"at", "reference"}, _follows),
    "value": ({"metric", "expected", "tolerance"}, {"at"}, _value),
    "range": ({"metric", "low", "high"}, {"at"}, _range),
    "order": ({"metric", "axis", "order"}, {"at"}, _order),
    "trend": ({"metric", "axis", "direction"}, {"at"}, _trend),
    "compare": ({"metric", "how", "left", "right"}, {"at", "at_least", "at_most"}, _compare),
    "distance": ({"metric", "left", "right"}, {"at", "at_least", "at_most"}, _distance),
    "unmeasured": ({"reason"}, set(), _unmeasured),
}
