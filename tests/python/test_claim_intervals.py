"""Intervals of claims about many cells, and what stands where there is none."""

import random

import pytest

from fairway.stats import bootstrap_interval, mean_interval, statistic_interval
from fairway.study.claims import Cell, Claim, judge


def test_a_statistic_of_means_that_share_their_repetitions():
    # Two samples of three: means 2 and 5, their mean absolute distance from 3 is (1 + 2)/2.
    def away(means):
        return abs(means - 3).mean(axis=0)

    found = statistic_interval([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], away)
    assert found.mean == pytest.approx(1.5)
    # Without one repetition the means are 2.5, 2, 1.5 and 5.5, 5, 4.5, the statistic 1.5 each.
    assert (found.low, found.high) == (pytest.approx(1.5), pytest.approx(1.5))
    # Of one mean the jackknife's error is s/√n: 1/√3, times t(0.975, 2) = 4.303.
    alone = statistic_interval([[1.0, 2.0, 3.0]], lambda means: means[0])
    assert alone.mean == 2
    assert alone.high - alone.mean == pytest.approx(4.303 / 3**0.5, abs=1e-3)
    assert statistic_interval([[4.0]], lambda means: means[0]).low is None
    with pytest.raises(ValueError, match="equally many"):
        statistic_interval([], lambda means: means[0])


def test_many_repetitions_of_several_means_are_drawn_as_a_whole():
    rng = random.Random(4)
    common = [rng.gauss(0, 1) for _ in range(20)]
    # The noise is common to both, so that their difference is known to the last digit.
    pair = [[1 + x for x in common], [3 + x for x in common]]
    found = statistic_interval(pair, lambda means: means[1] - means[0])
    assert (found.low, found.high) == (pytest.approx(2), pytest.approx(2))
    one = statistic_interval(pair[:1], lambda means: means[0])
    own = bootstrap_interval(pair[0])
    assert (one.low, one.mean, one.high) == pytest.approx((own.low, own.mean, own.high))


@pytest.mark.parametrize("count", [4, 12])
def test_a_mean_of_differences_is_covered_where_they_are_beyond_noise(count):
    """5 cells 2 to 4 deviations off: 95 % intervals hold the true mean |difference| of 3."""
    rng = random.Random(9)
    truth = [2.0, -2.5, 3.0, -3.5, 4.0]
    held = 0
    for _ in range(200):
        samples = [[rng.gauss(mean, 1) for _ in range(count)] for mean in truth]
        found = statistic_interval(samples, lambda means: abs(means).mean(axis=0))
        held += found.low <= 3.0 <= found.high
    assert 0.88 <= held / 200 <= 0.99


def cell(values, published=None, **point):
    found = mean_interval(values)
    return Cell(point, "m", published, found.mean, found.low, found.high, tuple(values))


def judged(test, cells):
    return judge(Claim("c", "s", "w", ({"metric": "m", **test},)), cells, cells).to_json()


WITHIN = {"kind": "cells_within", "mean": 9, "max": 9}
ERRORS = {"kind": "errors", "median": 9}
APART = {"kind": "distance", "left": {"cc": "a"}, "right": {"cc": "b"}, "at_most": 9}
FOLLOWS = {"kind": "follows", "within": 9}


@pytest.mark.parametrize(
    ("test", "measured", "low", "high", "spread"),
    [
        # Means 2 and 5 against 1 and 1: the means without one repetition are 2.5 2 1.5 and
        # 5.5 5 4.5, the statistics 3 2.5 2, so the error is √(2/3 · .5) = .57735.
        (WITHIN, 2.5, 2.5 - 4.30265 * 0.57735, 2.5 + 4.30265 * 0.57735, [1, 4]),
        # The median of two errors is their mean.
        (ERRORS, 2.5, 2.5 - 4.30265 * 0.57735, 2.5 + 4.30265 * 0.57735, [1, 4]),
        # 3 in every repetition, at the one point that both sides have: no interval.
        (APART, 3.0, None, None, [3, 3]),
        # The cell that is farthest off: 5 ± 4.30265/√3.
        (FOLLOWS, 5.0, 5 - 4.30265 / 3**0.5, 5 + 4.30265 / 3**0.5, [2, 5]),
    ],
)
def test_intervals_by_hand(test, measured, low, high, spread):
    cells = [cell([1.0, 2.0, 3.0], 1.0, cc="a"), cell([4.0, 5.0, 6.0], 1.0, cc="b")]
    found = judged(test, cells)
    assert found["measured"] == pytest.approx(measured)
    if low is None:
        assert (found["ci_low"], found["ci_high"]) == (None, None)
    else:
        assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high), abs=1e-4)
        assert found["interval"] == "95 %, 3 repetitions"
    assert found["spread"] == pytest.approx(spread)


@pytest.mark.parametrize("test", [WITHIN, ERRORS, APART, FOLLOWS])
def test_one_repetition_has_no_interval_and_says_so(test):
    found = judged(test, [cell([2.0], 1.0, cc="a"), cell([5.0], 1.0, cc="b")])
    assert found["measured"] is not None
    assert (found["ci_low"], found["ci_high"]) == (None, None)
    assert found["interval"] == "none: one repetition"


def test_several_points_of_one_repetition_have_a_range():
    cells = [cell([2.0], cc="a"), cell([5.0], cc="b"), cell([3.0], cc="c")]
    found = judged({"kind": "range", "low": 0, "high": 9}, cells)
    assert found["spread"] == [2.0, 5.0]
    assert "3 of 3 supported, from 2 to 5" in found["reason"]


def test_what_was_not_measured_says_so():
    found = judged({"kind": "unmeasured", "reason": "no such link"}, [])
    assert (found["measured"], found["interval"]) == (None, "none: not measured")
    assert "no such link" in found["reason"]


def test_where_a_level_is_reached_has_its_own_interval():
    level = {"kind": "reaches", "axis": "n", "at_least": 4.5, "low": 2, "high": 3}
    cells = [cell([1.0, 1.1, 1.2], n=1), cell([4.0, 5.0, 6.0], n=2), cell([8.0, 8.1, 8.2], n=3)]
    found = judged(level, cells)
    # The mean is 5 at 2, and the lower end of its interval, 2.5, is not yet there.
    assert (found["measured"], found["ci_low"], found["ci_high"]) == (2, 2, 3)
    assert "where the upper and where the lower ends" in found["interval"]
    found = judged(level, cells[:2])
    assert found["ci_high"] is None
    assert found["interval"].startswith("none: the lower ends")
