"""Verdicts on cells whose answer is known."""

import dataclasses
import json

import pytest

from fairway.errors import InputError
from fairway.stats import mean_interval
from fairway.study.cells import Column
from fairway.study.claims import Cell, Claim, check_test, judge, judge_all, readable


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
    # A change of one published value turns it: |.44 − .35| = .09, and the mean is .055.
    turned = [cells[0], cell([0.44], 0.35, cc="b")]
    assert verdict(turned, WITHIN).verdict == "refuted"
    # Largest .16 refutes although the mean of five is .032.
    outlier = [cell([0.5], 0.5, cc=str(i)) for i in range(4)] + [cell([0.66], 0.5, cc="x")]
    assert verdict(outlier, WITHIN).verdict == "refuted"


def test_cells_that_were_not_run_leave_it_open_unless_one_refutes():
    run = [cell([0.5], 0.5, cc="a")]
    both = [*run, cell([], 0.5, cc="b")]
    assert verdict(run, WITHIN, expected=both).verdict == "not run"
    far = [cell([0.9], 0.5, cc="a")]
    assert verdict(far, WITHIN, expected=both).verdict == "refuted"
    assert verdict([], WITHIN, expected=both).verdict == "not run"


def test_half_of_the_last_printed_digit():
    rows = [{"cc": "a", "n": "0.7711632"}, {"cc": "b", "n": "7.29E+09"}, {"cc": "c", "n": ""}]
    column = Column("m", "table", rows, {"cc": "cc"}, "n", None, {}, 0.01, {})
    halves = [column.half_digit({"cc": cc}) for cc in "abcd"]
    assert halves == [pytest.approx(5e-10), pytest.approx(5e4), None, None]


def test_numbers_to_the_printed_digit_by_hand():
    def printed(measured, text, half_digit, cc):
        return dataclasses.replace(cell([measured], float(text), cc=cc), half_digit=half_digit)

    # 45.2035 is 45.203 or 45.204; 45.2036 is 45.204.
    cells = [
        printed(45.2035, "45.203", 0.0005, "a"),
        printed(45.2036, "45.203", 0.0005, "b"),
        printed(7.291e9, "7.29E+09", 0.005e9, "c"),
    ]
    test = {"kind": "printed", "metric": "m", "at_least": 2}
    found = verdict(cells, test)
    assert (found.verdict, found.measured) == ("supported", 2)
    assert "Not met: 45.203 at b, measured 45.2036." in found.reason
    assert verdict(cells, {**test, "at_least": 3}).verdict == "refuted"
    # A share of 1e-5 beside the digit: 45.203 * 1e-5 is 0.00045.
    assert verdict(cells, {**test, "at_least": 3, "share": 1e-5}).verdict == "supported"
    # Two of three can still be met by one that was not run.
    more = [*cells, cell([], 1.0, cc="d")]
    assert verdict(cells, {**test, "at_least": 3}, expected=more).verdict == "not run"
    assert verdict(cells, {**test, "at_least": 4}, expected=more).verdict == "refuted"


VALUE = {"kind": "value", "metric": "m", "at": {"cc": "bic"}, "expected": 1.0, "tolerance": 0.1}


def test_value_uses_the_interval_when_there_is_one():
    assert verdict([cell([1.05])], VALUE).verdict == "supported"
    assert verdict([cell([1.2])], VALUE).verdict == "refuted"
    # 1.0 ± 12.7 × .05 straddles both ends; four close values do not.
    assert verdict([cell([0.95, 1.05])], VALUE).verdict == "undecided"
    assert verdict([cell([1.0, 1.01, 0.99, 1.0])], VALUE).verdict == "supported"
    assert verdict([cell([2.0, 2.01, 1.99, 2.0])], VALUE).verdict == "refuted"
    assert verdict([cell([1.0], cc="cubic")], VALUE).verdict == "not run"


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
    assert verdict(order_cells([3], [2], []), ORDER).verdict == "not run"
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
    assert verdict(cells[:1], rising).verdict == "not run"


def test_compare():
    ratio = {
        "kind": "compare", "metric": "m", "how": "ratio",
        "left": {"cc": "a"}, "right": {"cc": "b"}, "at_least": 4.5,
    }  # fmt: skip
    # 9 / 2 = 4.5; 8 / 2 = 4.
    assert verdict([cell([9], cc="a"), cell([2], cc="b")], ratio).verdict == "supported"
    assert verdict([cell([8], cc="a"), cell([2], cc="b")], ratio).verdict == "refuted"
    assert verdict([cell([8], cc="a")], ratio).verdict == "not run"
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
    assert verdict(cells, {**near, "at_least": 3, "at_most": 9}).verdict == "refuted"
    assert verdict(cells[:2], near, expected=cells).verdict == "not run"
    assert verdict(cells[::2], near).verdict == "not run"
    # Three repetitions of the first cell, 3 apart each, weigh as one: (3 + 1)/2.
    often = [cell([1, 1, 1], cc="a", loss=1), cell([4, 4, 4], cc="b", loss=1), *cells[2:]]
    assert verdict(often, near).measured == 2.0


def test_published_numbers_by_equivalence():
    test = {"kind": "published", "metric": "m", "margin": 0.5}
    # Published 2: means 2.1 with s = 0.1, so ± t(.95, 2) · 0.1/√3 = 2.92 · 0.0577 = 0.1686.
    good = cell([2.0, 2.1, 2.2], published=2.0, cc="a")
    found = verdict([good], test)
    assert found.verdict == "supported"
    assert found.comparisons[0].interval[1] == pytest.approx(2.1 + 0.1686, abs=1e-4)
    assert verdict([good], {**test, "margin": 0.2}).verdict == "undecided"
    off = cell([3.0, 3.1, 3.2], published=2.0, cc="b")
    assert verdict([good, off], test).verdict == "refuted"
    # A share of the published number: 5 % of 2 is 0.1.
    once = {"kind": "published", "metric": "m", "share": 0.05}
    assert verdict([cell([2.09], published=2.0)], once).verdict == "supported"
    assert verdict([cell([2.11], published=2.0)], once).verdict == "refuted"
    assert verdict([cell([1.0])], test).verdict == "undecided"
    assert "Only 1 of 2" in verdict([good], test, expected=[good, off]).reason


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
    with pytest.raises(InputError, match="expected among_runs, cells_within"):
        check_test({"kind": "guess"}, "claims.toml")
    with pytest.raises(InputError, match='needs "tolerance"'):
        check_test({"kind": "value", "metric": "m", "expected": 1}, "claims.toml")
    with pytest.raises(InputError, match="mena: unknown"):
        check_test({**WITHIN, "mena": 1}, "claims.toml")


def test_wrong_values_of_tests_are_refused():
    compare = {"kind": "compare", "metric": "m", "how": "ratio", "left": {}, "right": {}}
    same = {"kind": "no_difference", "metric": "m"}
    for test, says in (
        ({**VALUE, "expected": "1"}, r"test\.expected: expected a finite number, got '1'"),
        ({**VALUE, "expected": float("nan")}, "expected a finite number, got nan"),
        ({**VALUE, "tolerance": 0}, "a number above zero"),
        ({**VALUE, "share": 0.1}, 'either "tolerance" or "share"'),
        ({**VALUE, "at": "bic"}, r"test\.at: expected a table"),
        ({"kind": "value", "metric": "m", "expected": 1}, "m has no default"),
        ({"kind": "range", "metric": "m", "low": 2, "high": 1}, "low 2 is above high 1"),
        ({**compare}, 'needs "at_least" or "at_most"'),
        ({**compare, "how": "sum", "at_most": 1}, 'expected "ratio" or "difference"'),
        ({**ORDER, "order": [["a"]]}, "a list of two or more lists"),
        ({**ORDER, "for_each": "n"}, "a list of axes"),
        ({**same, "margin": 1}, 'either "axis", or "left" and "right"'),
        ({**same, "axis": "cc", "left": {}, "right": {}}, 'either "axis"'),
        ({**same, "axis": "cc"}, 'needs "margin" or "share"'),
        ({"kind": ["value"]}, "expected among_runs, cells_within"),
    ):
        with pytest.raises(InputError, match=says):
            check_test(test, "test")


# Five repetitions of three variants whose noise is common. b − a: .11 .07 .12 .09 .11, mean .1,
# s .02; c − b: twice that.
NOISE = [9.30, 9.31, 9.40, 9.35, 9.36]
STEP = [0.11, 0.07, 0.12, 0.09, 0.11]
VARIANTS = [
    cell(NOISE, cc="a"),
    cell([n + s for n, s in zip(NOISE, STEP, strict=True)], cc="b"),
    cell([n + 3 * s for n, s in zip(NOISE, STEP, strict=True)], cc="c"),
]
ALIKE = {"kind": "no_difference", "metric": "m", "left": {"cc": "b"}, "right": {"cc": "a"}}


def test_no_difference_by_hand():
    # The 90 % interval is .1 ± .01907.
    found = verdict(VARIANTS, {**ALIKE, "margin": 0.15})
    assert found.verdict == "supported"
    assert (found.ci_low, found.ci_high) == pytest.approx((0.08093, 0.11907), abs=1e-5)
    assert "claimed -0.15 to 0.15" in found.reason
    assert verdict(VARIANTS, {**ALIKE, "margin": 0.1}).verdict == "undecided"
    assert verdict(VARIANTS, {**ALIKE, "margin": 0.05}).verdict == "refuted"
    # A share is of the ratio: 9.444/9.344 = 1.0107 is within 2 % and beyond 0.5 %.
    assert verdict(VARIANTS, {**ALIKE, "share": 0.02}).verdict == "supported"
    assert verdict(VARIANTS, {**ALIKE, "share": 0.005}).verdict == "refuted"
    below = [cell([-1.0, -1.1], cc="a"), cell([1.0, 1.1], cc="b")]
    assert "give a margin" in verdict(below, {**ALIKE, "share": 0.02}).reason


def test_no_difference_of_all_two_by_two_is_one_family():
    every = {"kind": "no_difference", "metric": "m", "axis": "cc", "margin": 0.35}
    found = verdict(VARIANTS, every)
    # a and b, a and c, b and c.
    assert [c.label for c in found.comparisons] == ["a and b", "a and c", "b and c"]
    assert {c.family for c in found.comparisons} == {3}
    # c − a is .3 ± 2.131847 × .06/√5 = .0572: [.2428, .3572] is not within .35.
    assert found.verdict == "undecided"
    assert verdict(VARIANTS, {**every, "margin": 0.5}).verdict == "supported"
    assert verdict(VARIANTS[:1], every).verdict == "not run"


def test_margins_that_go_without_saying():
    def like(metric, left, right):
        cells = [
            Cell({"cc": cc}, metric, None, value, None, None, (value,))
            for cc, value in (("a", left), ("b", right))
        ]
        return verdict(cells, {**ALIKE, "metric": metric}).verdict

    # .02 of a Jain index, .05 of asymmetry, 5 % of a rate, a factor of 2 of losses.
    assert like("jain_index", 0.95, 0.969) == "supported"
    assert like("jain_index", 0.95, 0.971) == "refuted"
    assert like("asymmetry", 0.0, 0.049) == "supported"
    assert like("flow.0.goodput_bps", 1e6, 1.049e6) == "supported"
    assert like("flow.0.goodput_bps", 1e6, 1.051e6) == "refuted"
    assert like("loss_ratio", 0.01, 0.0199) == "supported"
    assert like("loss_ratio", 0.01, 0.0201) == "refuted"


def test_a_value_within_a_share():
    test = {"kind": "value", "metric": "m", "expected": -4.0, "share": 0.05}
    # −4 ± .2.
    assert verdict([cell([-4.19])], test).verdict == "supported"
    assert verdict([cell([-4.21])], test).verdict == "refuted"


def test_comparisons_pair_the_repetitions_that_both_sides_have():
    order = {"kind": "order", "metric": "m", "axis": "cc", "order": [["b"], ["a"]]}
    # Repetition 1 of a has no value: 0, 2 and 3 are compared, not the first three with each other.
    a = Cell({"cc": "a"}, "m", None, 30.0, None, None, (10.0, 30.0, 40.0), repetitions=(0, 2, 3))
    b = cell([10.1, 20.1, 30.12, 40.1], cc="b")
    found = verdict([a, b], order)
    assert found.verdict == "supported"
    assert found.comparisons[0].mean == pytest.approx(0.32 / 3)
    assert found.comparisons[0].effect.count == 3
    apart = Cell({"cc": "a"}, "m", None, 1.0, None, None, (1.0,), repetitions=(9,))
    assert "No repetition" in verdict([apart, b], order).reason


def test_a_repetition_counts_once_over_all_its_points():
    # Differences 1 and 3 at two points, 3 and 5 in the next repetition: means 2 and 4. As four
    # samples the interval would be narrower, and one repetition alone would have one.
    cells = [
        cell([1, 3], cc="a", n=1), cell([0, 0], cc="b", n=1),
        cell([3, 5], cc="a", n=2), cell([0, 0], cc="b", n=2),
    ]  # fmt: skip
    gap = {
        "kind": "compare", "metric": "m", "how": "difference",
        "left": {"cc": "a"}, "right": {"cc": "b"}, "at_least": 2.5,
    }  # fmt: skip
    found = verdict(cells, gap)
    # 3 ± 12.7062 × √2/√2.
    assert (found.measured, found.ci_low) == pytest.approx((3, 3 - 12.7062), abs=1e-4)
    assert found.verdict == "undecided"
    once = [cell([c.values[0]], **c.point) for c in cells]
    assert (verdict(once, gap).verdict, verdict(once, gap).ci_low) == ("refuted", None)
    # For each value by itself: 1 is not 2.5, with one repetition; 3 is.
    each = verdict(once, {**gap, "for_each": ["n"]})
    assert each.verdict == "refuted"
    assert [(c.label, c.verdict) for c in each.comparisons] == [
        ("1", "refuted"),
        ("2", "supported"),
    ]


def test_ratios_are_of_logarithms():
    cells = [cell([2, 8, 24], cc="a"), cell([1, 2, 3], cc="b")]
    twice = {
        "kind": "compare", "metric": "m", "how": "ratio",
        "left": {"cc": "a"}, "right": {"cc": "b"}, "at_least": 2, "at_most": 8,
    }  # fmt: skip
    found = verdict(cells, twice)
    # 2, 4 and 8: 4 × 2^±2.484138.
    assert found.measured == pytest.approx(4)
    assert (found.ci_low, found.ci_high) == pytest.approx((4 / 2**2.484138, 4 * 2**2.484138))
    assert "claimed 2 to 8" in found.reason
    # Nothing has a logarithm of zero: 0, 4 and 8, mean 4.
    zero = [cell([0, 8, 24], cc="a"), cells[1]]
    assert verdict(zero, twice).measured == pytest.approx(4)


def ranking(values):
    return [cell(sample, cc=name) for name, sample in values.items()]


def test_a_family_is_corrected_and_says_so():
    # d with s: p of mean d of n = 10 is that of t = d√10/s.
    base = [0.0] * 10
    wobble = [1.0, -1.0] * 5  # s = √(10/9) = 1.0541, error .33333
    # t = 2.4 with 9 degrees of freedom: two-sided p = .0399, alone enough.
    weak = [0.8 + w for w in wobble]
    order = {"kind": "order", "metric": "m", "axis": "cc", "order": [["x"], ["o"]]}
    alone = verdict(ranking({"x": weak, "o": base}), order)
    assert alone.verdict == "supported"
    assert alone.comparisons[0].p == pytest.approx(0.0399, abs=1e-4)
    both = {**order, "order": [["x", "y"], ["o"]]}
    found = verdict(ranking({"x": weak, "y": weak, "o": base}), both)
    assert found.verdict == "undecided"
    assert "p = 0.08 after correction for 2 comparisons" in found.reason
    # The claims of one family are corrected together, others not.
    tests = (order, {**order, "order": [["y"], ["o"]]})
    for test in tests:
        check_test(test, "test")
    cells = ranking({"x": weak, "y": weak, "o": base})
    apart = judge_all([Claim("c", "s", "w", (t,)) for t in tests], cells, cells)
    assert [f.verdict for f in apart] == ["supported", "supported"]
    together = judge_all([Claim("c", "s", "w", (t,), "f") for t in tests], cells, cells)
    assert [f.verdict for f in together] == ["undecided", "undecided"]


def test_what_the_source_leaves_open():
    more = {"kind": "range", "metric": "m", "low": 2, "high": 9}
    cells = [cell([1.0], queue="short"), cell([3.0], queue="long")]

    def judged(run, expected=cells):
        return judge(Claim("c", "s", "w", (more,), unknown=("queue",)), run, expected)

    found = judged(cells)
    assert found.verdict == "depends"
    assert found.reason == "It depends on queue: supported for “long”; refuted for “short”."
    assert [(at["queue"], f.verdict) for at, f in found.by_value] == [
        ("short", "refuted"),
        ("long", "supported"),
    ]
    assert judged([cells[1]], [cells[1]]).verdict == "supported"
    assert judged([cells[0]], [cells[0]]).verdict == "refuted"
    # A plausible value that was not run is not known.
    assert judged([cells[1]]).verdict == "not run"
    assert judged([cells[0]]).verdict == "not run"
    # Without `unknown`, every cell has to be within.
    assert judge(Claim("c", "s", "w", (more,)), cells, cells).verdict == "refuted"


def test_too_few_repetitions_decide_nothing():
    settled = cell([5.0, 5.1, 4.9])
    unsettled = dataclasses.replace(settled, unsettled=True)
    five = {"kind": "range", "metric": "m", "low": 4, "high": 6}
    assert verdict([settled], five).verdict == "supported"
    found = verdict([unsettled], five)
    assert found.verdict == "undecided"
    assert "3 repetitions did not make the interval as narrow as was asked for" in found.reason


def test_a_finding_as_plain_data():
    found = verdict(VARIANTS, {**ALIKE, "margin": 0.15}).to_json()
    (comparison,) = found["comparisons"]
    assert comparison["effect"] == pytest.approx(0.1)
    assert comparison["standardised"] == pytest.approx(5)  # .1/.02
    assert (comparison["confidence"], comparison["repetitions"]) == (0.9, 5)
    # One-sided t of (.15 − .1)/(.02/√5) = 5.590 with 4 degrees of freedom.
    assert comparison["p"] == comparison["p_adjusted"] == pytest.approx(0.002514, abs=1e-5)
    json.dumps(found, allow_nan=False)
    least = verdict(VARIANTS, {**ORDER, "order": [["c"], ["b"], ["a"]]}).to_json()
    assert (least["comparisons"][0]["claimed_low"], least["comparisons"][0]["claimed_high"]) == (
        0,
        None,
    )
    json.dumps(least, allow_nan=False)


def follows(value, low, high, **keys):
    test = {"kind": "follows", "metric": "m", "within": 0.1, **keys}
    check_test(test, "here")
    cells = [
        Cell({"x": 1}, "m", 100.0, 104.0, 103.0, 105.0, references={"other": 200.0}),
        Cell({"x": 2}, "m", 100.0, value, low, high, references={"other": 210.0}),
    ]
    run = [cell for cell in cells if cell.measured is not None]
    return judge(Claim("c", "s", "w", (test,)), run, cells)


def test_a_measurement_follows_a_number_within_a_share_or_within_its_interval():
    assert follows(109.0, 108.0, 110.0).verdict == "supported"
    assert follows(115.0, 99.0, 131.0).verdict == "supported"
    off = follows(115.0, 114.0, 116.0)
    assert off.verdict == "refuted"
    assert off.reason == "Measured / expected: 1.040 at 1; 1.150 at 2. Off: 2."
    assert follows(200.0, 199.0, 201.0, at={"x": 2}, reference="other").verdict == "supported"
    assert follows(None, None, None).verdict == "not run"


def test_errors_in_the_median_alone():
    # Shares of 0.02, 0.09 and 2: a bound of the worst would refute the first.
    test = {"kind": "errors", "metric": "m", "median": 0.1}
    cells = [cell([value], 100, cc=str(value)) for value in (98, 109, 300)]
    found = verdict(cells, test)
    assert (found.verdict, found.measured) == ("supported", pytest.approx(0.09))
    assert (
        found.reason
        == "Of 3 cells the median is 9.00 % off (at most 10 %), the worst 200.00 % at 300."
    )
    assert verdict(cells, {**test, "max": 1.5}).verdict == "refuted"
    cells[0] = cell([88], 100, cc="88")
    assert verdict(cells, test).verdict == "refuted"


AMONG = {"kind": "among_runs", "metric": "m"}


def test_a_published_number_is_among_the_runs_or_is_not():
    cells = [cell([1.0, 3.0, 2.0], 2.9, cc="a"), cell([1.0, 3.0, 2.0], 1.0, cc="b")]
    found = verdict(cells, AMONG)
    assert found.verdict == "supported"
    # Of three runs and one more, each is the least or the largest with 1/4: (3 − 1)/(3 + 1).
    assert "2 of 2 numbers are among at least 3 runs" in found.reason
    assert "probability of 50 %" in found.reason
    outside = verdict([*cells, cell([1.0, 3.0], 3.1, cc="c")], AMONG)
    assert outside.verdict == "refuted"
    assert "Outside: 3.1 at c (1 to 3)" in outside.reason
    assert verdict(cells, AMONG, expected=[*cells, cell([], 0.5, cc="d")]).verdict == "not run"
    # One run has no range, and a cell without a number asks nothing.
    assert verdict([cell([1.0], 1.0), cell([1.0, 2.0], cc="x")], AMONG).verdict == "undecided"


def test_reasons_say_what_was_measured_in_the_words_of_the_study():
    tests = [
        {"kind": "range", "metric": metric, "low": 0, "high": 1}
        for metric in ("flow.1.goodput_bps", "flow.1.goodput")
    ]
    cells = [
        dataclasses.replace(cell([value], cc="a"), metric=test["metric"])
        for value, test in zip((0.5, 0.25), tests, strict=True)
    ]
    found = judge(Claim("c", "s", "w", tuple(tests)), cells, cells)
    assert [c.metric for c in found.comparisons] == ["flow.1.goodput_bps", "flow.1.goodput"]
    said = readable(found, {"flow.1.goodput_bps": "goodput (bit/s)", "flow.1": "nobody"}).reason
    # A path is named as a whole, or not at all.
    assert said == (
        "goodput: measured 0.5 bit/s, claimed 0 to 1 bit/s. "
        "flow.1.goodput: measured 0.25, claimed 0 to 1."
    )
