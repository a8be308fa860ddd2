"""Verdicts on cells whose answer is known."""

import pytest

from fairway.claims import Cell, Claim, check_test, judge
from fairway.errors import InputError
from fairway.stats import mean_interval


def cell(values, published=None, **point):
    found = mean_interval(values) if values else None
    return Cell(
        point or {"cc": "bic"}, "m", published,
        found and found.mean, found and found.low, found and found.high, tuple(values),
    )  # fmt: skip


def verdict(cells, *tests, expected=None):
    for test in tests:
        check_test(test, "test")
    return judge(Claim("c", "s", "w", tests), cells, cells if expected is None else expected)


WITHIN = {"kind": "cells_within", "metric": "m", "mean": 0.05, "max": 0.15}


def test_cells_within_by_hand():
    # |differences| .02 and .06: mean .04, largest .06.
    cells = [cell([0.52], 0.5, cc="a"), cell([0.44], 0.5, cc="b")]
    found = verdict(cells, WITHIN)
    assert found.verdict == "supported"
    assert found.measured == pytest.approx(0.04)
    # A change of one published value turns it: |.44 − .36| = .08, mean .05 + … > .05.
    turned = [cells[0], cell([0.44], 0.35, cc="b")]
    assert verdict(turned, WITHIN).verdict == "refuted"
    # Largest .16 refutes although the mean of five is .032.
    outlier = [cell([0.5], 0.5, cc=str(i)) for i in range(4)] + [cell([0.66], 0.5, cc="x")]
    assert verdict(outlier, WITHIN).verdict == "refuted"


def test_cells_that_were_not_run_leave_it_open_unless_one_refutes():
    run = [cell([0.5], 0.5, cc="a")]
    both = [*run, cell([], 0.5, cc="b")]
    assert verdict(run, WITHIN, expected=both).verdict == "undecided"
    far = [cell([0.9], 0.5, cc="a")]
    assert verdict(far, WITHIN, expected=both).verdict == "refuted"
    assert verdict([], WITHIN, expected=both).verdict == "undecided"


VALUE = {"kind": "value", "metric": "m", "at": {"cc": "bic"}, "expected": 1.0, "tolerance": 0.1}


def test_value_uses_the_interval_when_there_is_one():
    assert verdict([cell([1.05])], VALUE).verdict == "supported"
    assert verdict([cell([1.2])], VALUE).verdict == "refuted"
    # 1.0 ± 12.7 × .05 straddles both ends; four close values do not.
    assert verdict([cell([0.95, 1.05])], VALUE).verdict == "undecided"
    assert verdict([cell([1.0, 1.01, 0.99, 1.0])], VALUE).verdict == "supported"
    assert verdict([cell([2.0, 2.01, 1.99, 2.0])], VALUE).verdict == "refuted"
    assert verdict([cell([1.0], cc="cubic")], VALUE).verdict == "undecided"


def test_range_asks_every_cell():
    test = {"kind": "range", "metric": "m", "low": 0.9, "high": 1.0}
    assert verdict([cell([0.95], n=1), cell([0.99], n=2)], test).verdict == "supported"
    assert verdict([cell([0.95], n=1), cell([0.5], n=2)], test).verdict == "refuted"


def order_cells(a, b, c):
    return [cell(a, cc="a"), cell(b, cc="b"), cell(c, cc="c")]


ORDER = {"kind": "order", "metric": "m", "axis": "cc", "order": [["a"], ["b", "c"]]}


def test_order():
    assert verdict(order_cells([3], [2], [1]), ORDER).verdict == "supported"
    assert verdict(order_cells([3], [2], [4]), ORDER).verdict == "refuted"
    assert verdict(order_cells([3], [2], []), ORDER).verdict == "undecided"
    # Values scatter by 10 from seed to seed, but a is above b and c by 1 with every seed.
    paired = order_cells([11, 21, 31], [10.1, 20, 29.9], [10, 19.9, 30.1])
    assert verdict(paired, ORDER).verdict == "supported"
    noisy = order_cells([1.0, 3.0], [2.0, 1.0], [0.0, 0.0])
    assert verdict(noisy, ORDER).verdict == "undecided"


def test_trend():
    rising = {"kind": "trend", "metric": "m", "axis": "n", "direction": "increasing"}
    falling = {**rising, "direction": "decreasing"}
    cells = [cell([0.1], n=1), cell([0.2], n=5), cell([0.4], n=10)]
    assert verdict(cells, rising).verdict == "supported"
    assert verdict(cells, falling).verdict == "refuted"
    assert verdict(cells[:1], rising).verdict == "undecided"


def test_compare():
    ratio = {
        "kind": "compare", "metric": "m", "how": "ratio",
        "left": {"cc": "a"}, "right": {"cc": "b"}, "at_least": 4.5,
    }  # fmt: skip
    # 9 / 2 = 4.5; 8 / 2 = 4.
    assert verdict([cell([9], cc="a"), cell([2], cc="b")], ratio).verdict == "supported"
    assert verdict([cell([8], cc="a"), cell([2], cc="b")], ratio).verdict == "refuted"
    assert verdict([cell([8], cc="a")], ratio).verdict == "undecided"
    assert verdict([cell([8], cc="a"), cell([0], cc="b")], ratio).verdict == "undecided"
    gap = {**ratio, "how": "difference", "at_least": 6.5}
    assert verdict([cell([9], cc="a"), cell([2], cc="b")], gap).verdict == "supported"


def test_distance():
    near = {
        "kind": "distance", "metric": "m", "left": {"cc": "a"}, "right": {"cc": "b"},
        "at_most": 2.0,
    }  # fmt: skip
    # |1 − 4| = 3 and |5 − 4| = 1: 2 on average, where the signs would give −1.
    cells = [
        cell([1], cc="a", loss=1), cell([4], cc="b", loss=1),
        cell([5], cc="a", loss=2), cell([4], cc="b", loss=2),
    ]  # fmt: skip
    found = verdict(cells, near)
    assert (found.verdict, found.measured) == ("supported", 2.0)
    assert "largest 3" in found.reason
    assert verdict(cells, {**near, "at_most": 1.9}).verdict == "refuted"
    assert verdict(cells, {**near, "at_least": 3}).verdict == "refuted"
    assert verdict(cells[:2], near, expected=cells).verdict == "undecided"
    assert verdict(cells[::2], near).verdict == "undecided"


def test_several_tests_of_one_claim():
    open_end = {"kind": "unmeasured", "reason": "no such backend"}
    good, bad = [cell([1.0])], [cell([5.0])]
    found = verdict(good, VALUE, open_end)
    assert found.verdict == "undecided"
    assert found.measured == 1.0
    assert "no such backend" in found.reason
    assert verdict(bad, VALUE, open_end).verdict == "refuted"
    assert verdict(good, VALUE, VALUE).verdict == "supported"


def test_unknown_tests_are_refused():
    with pytest.raises(InputError, match="expected cells_within"):
        check_test({"kind": "guess"}, "claims.toml")
    with pytest.raises(InputError, match='needs "tolerance"'):
        check_test({"kind": "value", "metric": "m", "expected": 1}, "claims.toml")
    with pytest.raises(InputError, match="mena: unknown"):
        check_test({**WITHIN, "mena": 1}, "claims.toml")
