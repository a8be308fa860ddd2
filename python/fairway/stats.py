"""Estimates from repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval.

    Attributes:
        mean: Arithmetic mean of the values.
        low: Lower end of the interval; none with fewer than two values.
        high: Upper end of the interval; none with fewer than two values.
        count: How many values stand behind it.
    """

    mean: float
    low: float | None
    high: float | None
    count: int


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Mean with Student's t interval: mean ± t(1 − (1 − c)/2, n − 1) · s / √n.

    The values are taken as independent and roughly normal (Student, "The probable error of a
    mean", Biometrika 6, 1908). s is the sample standard deviation, with n − 1.

    Args:
        values: At least one; one alone has no interval.
        confidence: Coverage, between 0 and 1.

    Raises:
        ValueError: Without values, or with a confidence outside (0, 1).
    """
    if not values:
        raise ValueError("no values to average")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: expected a number between 0 and 1")
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, None, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    if variance == 0:
        return Estimate(mean, mean, mean, count)
    from scipy.special import stdtrit

    quantile = float(stdtrit(count - 1, 1 - (1 - confidence) / 2))
    half = quantile * math.sqrt(variance / count)
    return Estimate(mean, mean - half, mean + half, count)


@dataclass(frozen=True)
class Difference:
    """The difference of two means with its confidence interval.

    Attributes:
        mean: First mean less second.
        low: Lower end of the interval; none where nothing is known of the variance.
        high: Upper end of the interval.
    """

    mean: float
    low: float | None
    high: float | None


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (n − 1), which one value alone does not have.

    Values that are all the same have exactly that mean and no deviation, whatever rounding does.

    Raises:
        ValueError: Without values.
    """
    if not values:
        raise ValueError("no values to average")
    if min(values) == max(values):
        return values[0], 0.0 if len(values) > 1 else None
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance)


def welch_half_width(
    first: tuple[float, int], second: tuple[float, int], confidence: float
) -> float:
    """Half of Welch's interval of a difference of means: t · √(s₁²/n₁ + s₂²/n₂).

    The variances need not be alike. t has the degrees of freedom of Welch and Satterthwaite,
    (s₁²/n₁ + s₂²/n₂)² / ((s₁²/n₁)²/(n₁ − 1) + (s₂²/n₂)²/(n₂ − 1)) (Welch, "The generalization of
    'Student's' problem when several different population variances are involved", Biometrika 34,
    1947).

    Args:
        first: Sample standard deviation and number of values, at least two.
        second: Likewise.
        confidence: Coverage, between 0 and 1.
    """
    parts = [deviation**2 / count for deviation, count in (first, second)]
    variance = sum(parts)
    if variance == 0:
        return 0.0
    counts = (first[1], second[1])
    # As shares, which do not underflow where deviations are tiny.
    freedom = 1 / sum(
        (part / variance) ** 2 / (count - 1) for part, count in zip(parts, counts, strict=True)
    )
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - (1 - confidence) / 2)) * math.sqrt(variance)


def welch_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.9
) -> Difference:
    """The difference of the means of two independent samples, with Welch's interval.

    An interval of 90 % that lies within ± a margin is the same as two one-sided tests at 5 % that
    both refuse a difference as large as the margin (Schuirmann, "A comparison of the two one-sided
    tests procedure and the power approach for assessing the equivalence of average
    bioavailability", J. Pharmacokinetics and Biopharmaceutics 15, 1987).

    Where one of the samples has a single value, nothing is known of its variance: no interval.

    Raises:
        ValueError: If a sample is empty, or with a confidence outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: expected a number between 0 and 1")
    (one, deviation), (other, other_deviation) = map(mean_and_deviation, (first, second))
    difference = one - other
    if deviation is None or other_deviation is None:
        return Difference(difference, None, None)
    half = welch_half_width((deviation, len(first)), (other_deviation, len(second)), confidence)
    return Difference(difference, difference - half, difference + half)
