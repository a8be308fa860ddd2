"""The kinds of tests whose comparisons have intervals: what each makes of the cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairway.ground import text
from fairway.study.claims.cells import (
    Between,
    Cell,
    NotComparable,
    NotRun,
    difference,
    is_at,
    of_cell,
    ordered,
    place,
    ratio,
    split,
    value_pairs,
)
from fairway.study.claims.margins import Margin, default_margin
from fairway.study.claims.verdicts import Answer, Comparison

_Test = Mapping[str, Any]


def value(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Every chosen cell within a tolerance of a number."""
    number, margin = test["expected"], _margin(test, "tolerance")
    apart = margin.value if margin.kind == "margin" else abs(number) * margin.value
    return _all_between(cells, expected, number - apart, number + apart)


def within_range(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Every chosen cell between two numbers."""
    return _all_between(cells, expected, test["low"], test["high"])


def published(test: _Test, cells: Sequence[Cell], expected: Sequence[Cell]) -> Answer:
    """Every chosen cell equivalent to its published number: two one-sided tests of each."""
    margin = _margin(test, "margin")
    found = []
    for cell in cells:
        if cell.published is None or cell.measured is None:
            continue
        share = abs(cell.published) * margin.value
        apart = margin.value if margin.kind == "margin" else share
        low, high = cell.published - apart, cell.published + apart
        found.append(
            Comparison(
                place(cell.point), of_cell(cell), low, high, equivalence=True,
                unsettled=cell.unsettled,
            )
        )  # fmt: skip
    if not found:
        raise NotComparable("No cell has both a published and a measured value")
    total = sum(cell.published is not None for cell in expected)
    return Answer("Measured", tuple(found), note=_domain(len(found), total))


def _all_between(
    cells: Sequence[Cell], expected: Sequence[Cell], low: float, high: float
) -> Answer:
    known = [cell for cell in cells if cell.measured is not None]
    found = tuple(
        Comparison(place(cell.point), of_cell(cell), low, high, unsettled=cell.unsettled)
        for cell in known
    )
    return Answer("Measured", found, note=_domain(len(known), len(expected)))


def order(test: _Test, cells: Sequence[Cell], _: Sequence[Cell]) -> Answer:
    """Groups of one axis in falling order: every member of one above every one of the next."""
    axis, groups = test["axis"], test["order"]
    found: list[Comparison] = []
    leads = []
    for values, chosen in _each(test, cells):
        missing = [v for group in groups for v in group if not _was_run(chosen, axis, v)]
        if missing:
            raise NotRun(f"Not run{_where(values)}: {', '.join(map(text.label, missing))}")
        for upper, lower in itertools.pairwise(groups):
            for high, low in itertools.product(upper, lower):
                label = f"{text.label(high)} − {text.label(low)}{_where(values)}"
                effect = _effect(difference, chosen, {axis: high}, {axis: low}, values)
                found.append(_compared(label, effect, 0.0, math.inf, strict=True))
        ranked = _ranked(chosen, axis, [v for group in groups for v in group])
        leads.append(f"{' > '.join(map(text.label, ranked))}{_where(values)}")
    return Answer(f"Measured order {'; '.join(leads)}", tuple(found), every=True)


def trend(test: _Test, cells: Sequence[Cell], _: Sequence[Cell]) -> Answer:
    """Means along one axis rise (or fall) from each value to the next."""
    axis, rising = test["axis"], test["direction"] == "increasing"
    low, high = (0.0, math.inf) if rising else (-math.inf, 0.0)
    found: list[Comparison] = []
    for values, chosen in _each(test, cells):
        steps = ordered([c.point[axis] for c in chosen if c.values and axis in c.point])
        if len(steps) < 2:
            raise NotRun(f"Fewer than two values of the axis were run{_where(values)}")
        for first, second in itertools.pairwise(steps):
            label = f"{text.label(first)} to {text.label(second)}{_where(values)}"
            effect = _effect(difference, chosen, {axis: second}, {axis: first}, values)
            found.append(_compared(label, effect, low, high))
    return Answer(f"Claimed {test['direction']} in {axis}", tuple(found), every=True)


def compare(test: _Test, cells: Sequence[Cell], _: Sequence[Cell]) -> Answer:
    """Ratio or difference of two means within bounds."""
    low, high = test.get("at_least", -math.inf), test.get("at_most", math.inf)
    between = difference if test["how"] == "difference" else ratio
    found: list[Comparison] = []
    for values, chosen in _each(test, cells):
        effect = _effect(between, chosen, test["left"], test["right"], values)
        compared = _compared(place(values), effect, low, high, is_ratio=test["how"] == "ratio")
        found.append(replace(compared, between=_sides(test)))
    return Answer(test["how"].capitalize(), tuple(found))


def _sides(test: _Test) -> str:
    """Both sides of a comparison, less what they have in common."""
    left, right, sign = test["left"], test["right"], {"ratio": "÷", "difference": "−"}[test["how"]]
    same = [axis for axis in left if axis in right and left[axis] == right[axis]]
    one, other = place(left, same), place(right, same)
    return f"{one} {sign} {other}" if one and other else ""


def no_difference(test: _Test, cells: Sequence[Cell], _: Sequence[Cell]) -> Answer:
    """Two variants, or all of an axis two by two, the same within a margin."""
    margin = _margin(test, "margin")
    is_ratio = margin.kind == "share"
    most = math.log1p(margin.value) if is_ratio else margin.value
    found: list[Comparison] = []
    for values, chosen in _each(test, cells):
        sides = list(_two_by_two(test, chosen))
        if not sides:
            raise NotRun(f"Fewer than two values of the axis were run{_where(values)}")
        for left, right in sides:
            label = f"{place(left)} and {place(right)}{_where(values)}"
            effect = _effect(ratio if is_ratio else difference, chosen, left, right, values)
            if is_ratio and not effect.logarithmic:
                where = _where(values)
                raise NotComparable(f"A share needs values above zero: give a margin{where}")
            found.append(_compared(label, effect, -most, most, equivalence=True, is_ratio=is_ratio))
    return Answer("Ratio" if is_ratio else "Difference", tuple(found))


def _two_by_two(
    test: _Test, cells: Sequence[Cell]
) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    if "axis" not in test:
        return [(test["left"], test["right"])]
    axis = test["axis"]
    values = ordered([cell.point[axis] for cell in cells if cell.values and axis in cell.point])
    return [({axis: one}, {axis: other}) for one, other in value_pairs(values)]


def _margin(test: _Test, key: str) -> Margin:
    if key in test:
        return Margin("margin", test[key])
    if "share" in test:
        return Margin("share", test["share"])
    found = default_margin(test["metric"])
    assert found is not None, "refused by check_test"
    return found


def _each(test: _Test, cells: Sequence[Cell]) -> Iterator[tuple[dict[str, Any], Sequence[Cell]]]:
    """The cells, or those of each value of the axes for which the test is to hold by itself."""
    if "for_each" not in test:
        yield {}, cells
        return
    # What was not run at all has no value that it could be for.
    yield from split([cell for cell in cells if cell.values], test["for_each"])


def _compared(
    label: str,
    found: Between,
    low: float,
    high: float,
    *,
    strict: bool = False,
    equivalence: bool = False,
    is_ratio: bool = False,
) -> Comparison:
    """A comparison with bounds as they are written: for a ratio, those of logarithms follow.

    Bounds of a share are of logarithms already: they are symmetric about no difference.
    """
    if found.logarithmic and not equivalence:
        low, high = _log(low), _log(high)
    return Comparison(
        label,
        found.effect,
        low,
        high,
        logarithmic=found.logarithmic,
        unsettled=found.unsettled,
        strict=strict,
        equivalence=equivalence,
        is_ratio=is_ratio,
    )


def _log(bound: float) -> float:
    if bound <= 0:
        return -math.inf
    return math.log(bound)


def _effect(
    between: Callable[..., Between],
    cells: Sequence[Cell],
    left: Mapping[str, Any],
    right: Mapping[str, Any],
    values: Mapping[str, Any],
) -> Between:
    """The effect between two sides, at these values of the axes of `for_each`."""
    try:
        return between(cells, left, right)
    except NotComparable as why:
        raise type(why)(f"{why}{_where(values)}") from None


def _where(values: Mapping[str, Any]) -> str:
    return f" at {place(values)}" if values else ""


def _was_run(cells: Sequence[Cell], axis: str, number: Any) -> bool:
    return any(cell.values and is_at(cell, {axis: number}) for cell in cells)


def _ranked(cells: Sequence[Cell], axis: str, values: Sequence[Any]) -> list[Any]:
    def mean(number: Any) -> float:
        found = [v for cell in cells if is_at(cell, {axis: number}) for v in cell.values]
        return math.fsum(v / len(found) for v in found)

    return sorted(values, key=mean, reverse=True)


def _domain(run: int, wanted: int) -> str:
    """What was swept: a claim for all is supported over that alone."""
    if wanted <= run:
        return ""
    return f"Only {run} of {wanted} cells were run: it holds for these."
