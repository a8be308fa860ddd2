"""How often intervals hold the known truth, and how often nothing is taken for something.

The samples are NumPy's with fixed seeds: a share of N has a standard error of √(.95 × .05/N), that
is 0.35 % of 4000 and 1.1 % of 400.
"""

import math

import numpy as np
import pytest

from fairway.stats import (
    Stopping,
    batch_means,
    bootstrap_interval,
    holm,
    mean_interval,
    mser5,
    paired_difference,
    paired_effect,
    paired_ratio,
    tost_paired,
    tost_welch,
    welch_interval,
)

LOW, HIGH = 0.92, 0.98


def share(times, hit):
    return sum(hit() for _ in range(times)) / times


def covers(found, truth):
    return found.low <= truth <= found.high


def coverage(times, draw, truth, estimate):
    return share(times, lambda: covers(estimate(draw().tolist()), truth))


def test_t_intervals_of_normal_values():
    rng = np.random.default_rng(1)
    for count in (2, 5, 10, 30):
        found = coverage(4000, lambda n=count: rng.normal(10, 2, n), 10, mean_interval)
        assert LOW < found < HIGH, count


def test_t_intervals_of_moderately_skewed_values():
    # Gamma of shape 16: skewness ½.
    rng = np.random.default_rng(2)
    for count in (5, 10, 30):
        found = coverage(4000, lambda n=count: rng.gamma(16, 1, n), 16, mean_interval)
        assert LOW < found < HIGH, count
    found = coverage(4000, lambda: rng.exponential(1, 60), 1, mean_interval)
    assert LOW < found < HIGH


def test_t_intervals_of_few_skewed_values_cover_too_little_as_their_description_says():
    rng = np.random.default_rng(3)
    exponential = coverage(4000, lambda: rng.exponential(1, 5), 1, mean_interval)
    assert exponential == pytest.approx(0.88, abs=0.02)
    log_normal = coverage(4000, lambda: rng.lognormal(0, 1, 5), math.exp(0.5), mean_interval)
    assert log_normal == pytest.approx(0.82, abs=0.02)


def test_bootstrap_intervals():
    rng = np.random.default_rng(4)

    def of_mean(values):
        return bootstrap_interval(values, draws=2000)

    assert LOW < coverage(400, lambda: rng.normal(10, 2, 30), 10, of_mean) < HIGH
    assert LOW < coverage(400, lambda: rng.exponential(1, 60), 1, of_mean) < HIGH
    # Of ten values it is too narrow, as its description says.
    assert coverage(400, lambda: rng.normal(10, 2, 10), 10, of_mean) == pytest.approx(0.9, abs=0.03)


def test_bootstrap_intervals_of_a_median():
    rng = np.random.default_rng(5)
    found = coverage(
        400,
        lambda: rng.exponential(1, 40),
        math.log(2),
        lambda v: bootstrap_interval(v, statistic=np.median, draws=2000),
    )
    assert LOW < found < HIGH


def pair(rng, count, apart):
    """Two variants with noise in common and some of their own."""
    common = rng.normal(0, 5, count)
    first = 10 + apart + common + rng.normal(0, 1, count)
    return first.tolist(), (10 + common + rng.normal(0, 1, count)).tolist()


def test_differences_and_ratios():
    rng = np.random.default_rng(6)
    paired = share(4000, lambda: covers(paired_difference(*pair(rng, 10, 0.5)), 0.5))
    assert LOW < paired < HIGH

    def of_ratio():
        # exp(N) × a factor of 1.5: the ratio of medians.
        noise = rng.normal(0, 1, 10)
        first = 1.5 * np.exp(noise + rng.normal(0, 0.3, 10))
        return covers(paired_ratio(first.tolist(), np.exp(noise).tolist()), 1.5)

    assert LOW < share(4000, of_ratio) < HIGH

    def of_unequal():
        first, second = rng.normal(3, 1, 6).tolist(), rng.normal(1, 6, 15).tolist()
        return covers(welch_interval(first, second, 0.95), 2)

    assert LOW < share(4000, of_unequal) < HIGH


def autoregressive(rng, count, correlation):
    """A series with mean 5 whose neighbours are correlated, from its own steady state."""
    noise = rng.normal(0, 1, count)
    values = [rng.normal(0, 1 / math.sqrt(1 - correlation**2))]
    for step in noise[1:]:
        values.append(correlation * values[-1] + step)
    return [5 + value for value in values]


def test_batch_means_of_correlated_series():
    rng = np.random.default_rng(7)
    for correlation, count in ((0.0, 400), (0.5, 1000), (0.9, 4000)):
        found = share(
            400,
            lambda r=correlation, n=count: covers(
                batch_means(autoregressive(rng, n, r)).estimate, 5
            ),
        )
        assert LOW < found < HIGH, correlation
    # The t interval of the samples themselves would hold the truth in every third case.
    naive = share(400, lambda: covers(mean_interval(autoregressive(rng, 1000, 0.9)), 5))
    assert naive < 0.5


def test_batches_too_short_for_the_correlation_are_noticed():
    rng = np.random.default_rng(8)
    # Neighbouring batches of 50 of 0.99 correlate by about 0.6.
    noticed = share(200, lambda: not batch_means(autoregressive(rng, 1000, 0.99)).independent)
    assert noticed > 0.4
    false_alarms = share(400, lambda: not batch_means(autoregressive(rng, 1000, 0.0)).independent)
    assert false_alarms < 0.08


def test_a_mean_after_the_warm_up_that_was_found():
    rng = np.random.default_rng(9)
    start = np.exp(-np.arange(600) / 20)

    def found(leave_out):
        values = (rng.normal(5, 1, 600) - 5 * start).tolist()
        kept = values[mser5(values).samples :] if leave_out else values
        return batch_means(kept).estimate

    assert LOW < share(400, lambda: covers(found(True), 5)) < HIGH
    # Start-up and all, the mean is 5 × 20.5/600 = .17 too low, whatever its interval.
    assert np.mean([found(False).mean for _ in range(200)]) == pytest.approx(4.83, abs=0.01)
    assert np.mean([found(True).mean for _ in range(200)]) == pytest.approx(5, abs=0.02)


def stopped(rng, rule):
    values: list[float] = []
    while len(values) < rule.at_most and not rule.precise(values):
        values += rng.normal(10, 2, rule.next_look(len(values)) - len(values)).tolist()
    return values


def test_sequential_stopping():
    rng = np.random.default_rng(10)
    for wanted in (0.05, 0.1):
        runs = [stopped(rng, Stopping(wanted, 500)) for _ in range(1000)]
        # What "±5 %" promises: the mean is that near to the truth in 95 % of all cases.
        near = sum(abs(np.mean(values) - 10) <= wanted * 10 for values in runs) / len(runs)
        held = sum(covers(mean_interval(values), 10) for values in runs) / len(runs)
        assert near > LOW
        assert LOW < held < HIGH
    # 1.96 × 2/√n = .476 at n = 68, and a multiple of five.
    counts = [len(stopped(rng, Stopping(0.05, 500))) for _ in range(200)]
    assert 60 < np.mean(counts) < 80
    assert all(count % 5 == 0 for count in counts)


def test_equivalence_is_rarely_said_of_what_differs_by_the_margin():
    rng = np.random.default_rng(11)
    paired = share(4000, lambda: tost_paired(*pair(rng, 10, 2.0), 2.0).equivalent)
    assert paired == pytest.approx(0.05, abs=0.012)

    def independent():
        first, second = rng.normal(2, 1, 8).tolist(), rng.normal(0, 2, 8).tolist()
        return tost_welch(first, second, 2.0).equivalent

    assert share(4000, independent) < 0.065
    # And of what is alike it is said.
    assert share(400, lambda: tost_paired(*pair(rng, 20, 0.0), 2.0).equivalent) > 0.95


def test_holm_keeps_a_family_of_nothing_below_five_percent():
    rng = np.random.default_rng(12)

    def any_found(adjust):
        base = rng.normal(0, 1, 10)
        ps = []
        for _ in range(8):
            effect = paired_effect((base + rng.normal(0, 1, 10)).tolist(), base.tolist())
            ps.append(min(1.0, 2 * effect.p_at(0)))
        return min(adjust(ps)) < 0.05

    assert share(2000, lambda: any_found(holm)) < 0.062
    assert share(500, lambda: any_found(list)) > 0.2
