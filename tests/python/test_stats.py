"""Statistics against values worked out by hand and against SciPy."""

import math

import numpy as np
import pytest
import scipy.stats

from fairway.stats import (
    Stopping,
    batch_means,
    bootstrap_interval,
    equivalence,
    holm,
    mean_effect,
    mean_interval,
    mser,
    mser5,
    paired_difference,
    paired_ratio,
    tost_paired,
    tost_welch,
    welch_effect,
    welch_interval,
)

A = [9.41, 9.38, 9.52, 9.44, 9.47]
B = [9.30, 9.31, 9.40, 9.35, 9.36]


def test_mean_by_hand():
    # Mean 47.22/5; deviations −.034 −.064 .076 −.004 .026, squares .011720, s = √(.01172/4) =
    # .054129; t(4, .975) = 2.776445: 2.776445 × .054129/√5 = .06721.
    found = mean_interval(A)
    assert found.mean == pytest.approx(9.444)
    assert found.high - found.mean == pytest.approx(0.06721, abs=1e-5)
    assert found.mean - found.low == pytest.approx(0.06721, abs=1e-5)
    assert (found.low, found.high) == pytest.approx(
        scipy.stats.t.interval(0.95, 4, np.mean(A), scipy.stats.sem(A))
    )


def test_paired_difference_by_hand():
    # Differences .11 .07 .12 .09 .11: mean .1; squares .0001 .0009 .0004 .0001 .0001, s = .02;
    # 2.776445 × .02/√5 = .024833.
    found = paired_difference(A, B)
    assert found.mean == pytest.approx(0.1)
    assert (found.high - found.low) / 2 == pytest.approx(0.024833, abs=1e-6)
    # s_A² = .00293, s_B² = .00163: √(.00456/5) = .0302 is 3.38 times .02/√5.
    unpaired = welch_effect(A, B).error
    assert unpaired / (0.02 / math.sqrt(5)) == pytest.approx(3.376, abs=1e-3)


def test_equivalence_by_hand():
    # t(4, .95) = 2.131847: half of the 90 % interval is .01907.
    found = tost_paired(A, B, 0.15)
    assert (found.low, found.high) == pytest.approx((0.08093, 0.11907), abs=1e-5)
    assert found.equivalent is True
    assert tost_paired(A, B, 0.1).equivalent is False
    # The larger of two one-sided p-values: SciPy's of a mean below .15.
    differences = np.subtract(A, B)
    one_sided = scipy.stats.ttest_1samp(differences, 0.15, alternative="less").pvalue
    assert found.p == pytest.approx(one_sided)
    # On the margin itself nothing is known: ½.
    assert tost_paired(A, B, 0.1).p == pytest.approx(0.5, abs=1e-3)
    # Outside, the one test that fails has p above ½: .1 against 0.05.
    beyond = scipy.stats.ttest_1samp(differences, 0.05, alternative="less").pvalue
    assert tost_paired(A, B, 0.05).p == pytest.approx(beyond)


def test_equivalence_of_independent_samples():
    found = tost_welch(A, B, 0.2)
    limits = (
        scipy.stats.ttest_ind(A, np.add(B, 0.2), equal_var=False, alternative="less").pvalue,
        scipy.stats.ttest_ind(
            A, np.subtract(B, 0.2), equal_var=False, alternative="greater"
        ).pvalue,
    )
    assert found.p == pytest.approx(max(limits))
    assert found.equivalent is True
    assert (found.low, found.high) == pytest.approx(
        (welch_interval(A, B).low, welch_interval(A, B).high)
    )
    # The wide error of unpaired samples: 90 % of 7.4 degrees of freedom is .1 ± .0567.
    assert tost_welch(A, B, 0.15).equivalent is False


def test_p_value_and_interval_say_the_same():
    effect = mean_effect(A)
    for confidence in (0.5, 0.9, 0.95, 0.999):
        for end in effect.interval(confidence):
            assert effect.p_at(end) == pytest.approx((1 - confidence) / 2)


def test_ratios_by_logarithms():
    # Ratios 2, 4 and 8: ln 2 × (1, 2, 3), mean 2 ln 2, s = ln 2; t(2, .975) = 4.302653, so the
    # ends are 4 × 2^(±4.302653/√3) = 4 × 2^±2.484138.
    found = paired_ratio([2, 8, 24], [1, 2, 3])
    assert found.mean == pytest.approx(4)
    assert (found.low, found.high) == pytest.approx((4 / 2**2.484138, 4 * 2**2.484138), rel=1e-6)
    # Upside down it says the same.
    other = paired_ratio([1, 2, 3], [2, 8, 24])
    assert (1 / other.high, 1 / other.mean, 1 / other.low) == pytest.approx(
        (found.low, found.mean, found.high)
    )
    with pytest.raises(ValueError, match="above zero"):
        paired_ratio([1, 0], [1, 1])


def test_holm_by_hand():
    # .001 × 5; .011 × 4; .02 × 3; .04 × 2; .3 × 1.
    found = holm([0.04, 0.001, 0.3, 0.02, 0.011])
    assert found == pytest.approx([0.08, 0.005, 0.3, 0.06, 0.044])
    # A smaller product after a larger one is raised to it: .02 × 2 = .04, then .03 × 1.
    assert holm([0.03, 0.02]) == pytest.approx([0.04, 0.04])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm([0.1, math.nan])


def test_warm_up_by_hand():
    # d = 0: mean 8.7, 6.7² + 1.1² + 6 × 1.3² = 56.24, /64 = .87875. d = 1: mean 67.6/7 = 9.657143,
    # 4.231837 + 6 × .117551 = 4.937143, /49 = .100758. d = 2: 0, and so on: the smallest d counts.
    found = mser([2, 7.6, 10, 10, 10, 10, 10, 10])
    assert (found.batches, found.too_short) == (2, False)
    # The same in samples, each batch of five about its mean.
    samples = [mean + step for mean in (2, 7.6, *[10] * 6) for step in (-1, -0.5, 0, 0.5, 1)]
    found = mser5([*samples, 99, 99])
    assert (found.batches, found.samples, found.too_short) == (2, 10, False)


def test_a_run_that_is_too_short_for_its_warm_up():
    # A straight line has its least at the limit: leaving out more always helps.
    found = mser(list(range(20)))
    assert (found.batches, found.too_short) == (10, True)
    assert mser5([1.0] * 9).too_short
    assert not mser5([1.0] * 100).too_short
    assert mser5([1.0] * 100).samples == 0


def test_warm_up_is_the_definition():
    values = np.random.default_rng(5).normal(0, 1, 61) + 8 * np.exp(-np.arange(61) / 4)
    by_definition = [values[d:].var() / (61 - d) for d in range(31)]
    assert mser(values.tolist()).batches == int(np.argmin(by_definition))


def test_batch_means_by_hand():
    # Of 1 … 9 in three batches of three: 2, 5, 8; mean 5, s = 3, t(2, .975) = 4.302653:
    # ± 7.4524. Neighbours: (−3 × 0 + 0 × 3)/18 = 0.
    found = batch_means(list(range(1, 10)), batches=3)
    assert (found.estimate.mean, found.size, found.estimate.count) == (5, 3, 3)
    assert found.estimate.high - 5 == pytest.approx(4.302653 * math.sqrt(3))
    assert (found.autocorrelation, found.independent) == (0, True)
    # One left over goes from the beginning.
    assert batch_means([1000, *range(1, 10)], batches=3).estimate.mean == 5
    # 1, 2, …, 20 in 20 batches: Σ(i − 10.5)(i − 9.5) over 19 pairs is 565.25, of 665.
    rising = batch_means(list(range(1, 21)), batches=20)
    assert rising.autocorrelation == pytest.approx(565.25 / 665)
    assert not rising.independent
    assert batch_means([3.0] * 40).independent


def test_bootstrap_is_always_drawn_alike_and_follows_scipy():
    values = np.random.default_rng(1).exponential(2, 40)
    found = bootstrap_interval(values.tolist())
    assert found == bootstrap_interval(values.tolist())
    other = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", random_state=np.random.default_rng(7)
    )
    width = found.high - found.low
    # Ends of 5000 draws scatter by about 2 % of the width, those of a long tail by more.
    assert found.low == pytest.approx(other.confidence_interval.low, abs=0.08 * width)
    assert found.high == pytest.approx(other.confidence_interval.high, abs=0.08 * width)
    # Skewed to the right: further up than down.
    assert found.high - found.mean > found.mean - found.low
    assert bootstrap_interval([2.0]).low is None
    assert bootstrap_interval([2.0, 2.0]).high == 2.0
    median = bootstrap_interval(values.tolist(), statistic=np.median)
    assert median.low < median.mean == np.median(values) < median.high


def test_stopping_by_hand():
    rule = Stopping(0.05, 22)
    # s = .0527 of ten values 10 ± .05; t(9, .975) = 2.262157: half .0377 of 10 is below .05/1.05.
    assert rule.precise([9.95, 10.05] * 5)
    # Half of 10 ± 1 is 2.262157 × 1.0541/√10 = .7541: 7.5 % of 10 is above 4.76 %.
    wide = [9.0, 11.0] * 5
    assert rule.half_width(wide) == pytest.approx(0.07541, abs=1e-5)
    assert not rule.precise(wide)
    assert [rule.next_look(n) for n in (0, 10, 15, 20)] == [10, 15, 20, 22]
    # Exactly e is too wide: of 2.1 %, 2 % of the true mean cannot be said.
    edge = Stopping(0.08, 50)
    assert not edge.precise(wide)
    assert Stopping(0.0816, 50).precise(wide)  # .0816/1.0816 = .07544
    assert rule.precise([3.0] * 10)
    assert not rule.precise([1.0, -1.0] * 5)
    assert not rule.precise([1.0])
    assert rule.precise([-9.95, -10.05] * 5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_are_refused(bad):
    sample = [1.0, bad, 2.0]
    for function in (mean_interval, mean_effect, bootstrap_interval, mser, mser5):
        with pytest.raises(ValueError, match="expected finite numbers"):
            function(sample)
    with pytest.raises(ValueError, match="expected finite numbers"):
        batch_means(sample, batches=2)
    for function in (paired_difference, paired_ratio, welch_interval, welch_effect):
        with pytest.raises(ValueError, match=r"finite numbers|above zero"):
            function(sample, [1.0, 2.0, 3.0])


def test_other_wrong_input_is_refused():
    for function in (mean_interval, mean_effect, bootstrap_interval, mser, mser5):
        with pytest.raises(ValueError, match="no values"):
            function([])
    with pytest.raises(ValueError, match="3 values against 2"):
        paired_difference([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="3 values: expected at least 20"):
        batch_means([1, 2, 3])
    with pytest.raises(ValueError, match="confidence 1"):
        mean_interval([1, 2], 1)
    with pytest.raises(ValueError, match="margin"):
        tost_paired(A, B, 0)
    with pytest.raises(ValueError, match="bounds"):
        equivalence(mean_effect(A), 1, 1)
    with pytest.raises(ValueError, match="alpha"):
        equivalence(mean_effect(A), 0, 1, 0.5)
    for wrong in ({"share": 0}, {"share": math.nan}, {"at_most": 0}, {"first": 1}, {"step": 0}):
        with pytest.raises(ValueError, match="expected"):
            Stopping(**{"share": 0.1, "at_most": 20, **wrong})


def test_extreme_numbers_neither_overflow_nor_vanish():
    for scale in (1e300, 1e-300):
        found = mean_interval([9 * scale, 10 * scale, 11 * scale])
        # ± 4.302653 × 1/√3.
        assert found.high / scale == pytest.approx(10 + 4.302653 / math.sqrt(3), rel=1e-6)
        assert mser([2 * scale, 7.6 * scale, *[10 * scale] * 6]).batches == 2
    assert mean_interval([1.7e308, -1.7e308]).high == math.inf
    assert mean_interval([5e-324, 0.0]).mean == 0.0  # half of the least number rounds to even
    assert mean_interval([0.1] * 3) == type(mean_interval([0.1]))(0.1, None, None, 3)
