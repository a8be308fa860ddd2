"""Estimates, fairness measures and how numbers are written, against arithmetic by hand."""

import doctest

import pytest

from fairway import stats
from fairway.errors import InputError
from fairway.experiment import plan as experiment
from fairway.ground import progress, text
from fairway.metrics import asymmetry, jain_index, measure
from fairway.study.claims import units


def test_jain_index_by_hand():
    # (1+2+3+4)² / (4 · (1+4+9+16)) = 100 / 120
    assert jain_index([1, 2, 3, 4]) == pytest.approx(100 / 120)
    assert jain_index([5, 5, 5]) == pytest.approx(1)
    # One of four takes all: 1/4.
    assert jain_index([8, 0, 0, 0]) == pytest.approx(0.25)
    assert jain_index([0, 0]) is None
    # (1e200)² overflows a float; the index of equals is still 1.
    assert jain_index([1e200, 1e200]) == pytest.approx(1)


@pytest.mark.parametrize("values", [[], [1, -1], [float("nan")], [float("inf")]])
def test_jain_index_refuses(values):
    with pytest.raises(ValueError, match="Jain"):
        jain_index(values)


def test_asymmetry_by_hand():
    # The ns-2 rerun's BIC–CUBIC pair: (536.579 − 55.190) / (536.579 + 55.190) = 481.389 / 591.769.
    assert asymmetry(536.579, 55.190) == pytest.approx(0.813474, abs=1e-6)
    assert asymmetry(0, 3) == -1
    assert asymmetry(0, 0) is None


def test_t_interval_by_hand():
    # Sum 47.22, mean 9.444. Deviations −.034, −.064, .076, −.004, .026; their squares sum to
    # .001156 + .004096 + .005776 + .000016 + .000676 = .01172, so s² = .00293 and
    # s / √5 = √.000586 = .02420744. t(.975, 4) = 2.776445, so the half width is .0672106.
    found = stats.mean_interval([9.41, 9.38, 9.52, 9.44, 9.47])
    assert found.mean == pytest.approx(9.444, abs=1e-12)
    assert found.high - found.mean == pytest.approx(0.0672106, abs=1e-6)
    assert found.mean - found.low == pytest.approx(0.0672106, abs=1e-6)
    assert found.count == 5


def test_t_interval_of_one_and_of_equal_values():
    assert stats.mean_interval([3.0]) == stats.Estimate(3.0, None, None, 1)
    assert stats.mean_interval([2.0, 2.0]) == stats.Estimate(2.0, None, None, 2)
    with pytest.raises(ValueError, match="no values"):
        stats.mean_interval([])
    with pytest.raises(ValueError, match="confidence"):
        stats.mean_interval([1.0, 2.0], confidence=1.0)


def test_two_values_against_the_cauchy_quantile():
    # t with one degree of freedom is Cauchy: its .975 quantile is tan(.475 π) = 12.7062047.
    # Values 1 and 3: mean 2, s² = 2, s/√2 = 1.
    found = stats.mean_interval([1.0, 3.0])
    assert found.high == pytest.approx(14.7062047, abs=1e-6)


def test_measure_reads_every_table():
    summary = {
        "metrics": {"asymmetry": 0.5, "jain_index": None},
        "flows": [{"id": "a.b", "goodput_bps": 10.0}, {"id": "x", "goodput_bps": 20.0}],
        "links": [{"id": "bottleneck", "drops": 3}],
    }
    assert measure(summary, "asymmetry") == 0.5
    assert measure(summary, "jain_index") is None
    assert measure(summary, "flow.1.goodput_bps") == 20.0
    assert measure(summary, "flow.a.b.goodput_bps") == 10.0
    assert measure(summary, "link.bottleneck.drops") == 3
    for name in ("nothing", "flow.9.goodput_bps", "flow.x.nothing", "flow.x.id", "host.0.x"):
        with pytest.raises(InputError):
            measure(summary, name)


@pytest.mark.parametrize("module", [text, progress, experiment, units])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_numbers_as_text():
    assert text.decimal(-0.0004) == "0.000"
    assert text.decimal(-0.9966) == "-0.997"
    assert text.number(0.00012345) == "0.0001234"
    assert text.number(float("inf")) == "–"
    assert text.milliseconds(0.0123456) == "12.35 ms"
    assert text.interval(None, None) == "–"


def test_time_left():
    # A quarter took 10 s, so three quarters take 30 s.
    assert progress.remaining_s(10, 0.25) == pytest.approx(30)
    assert progress.remaining_s(10, 0) is None


def test_a_long_run_tells_how_far_it_is_and_what_is_left():
    # A thousandth of ten years in 20 s: 315,360 s, 15,768 of them a second, and 19,980 s to go.
    years = progress.State(under_way=0.001, simulated_s=315_360, duration_s=315_360_000)
    assert years.speed(20.0) == "3 d 15 h of 10 y 0 d simulated, 15,768 simulated s/s"
    assert progress.readable(years.remaining_s(20.0)) == "5 h 33 min"
    assert years.remaining_s(2.0) is None, "too early to tell"
