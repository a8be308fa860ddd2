"""An estimated effect, whose distribution is Student's: its intervals and its p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.stats.samples import checked_confidence, mean_and_deviation, paired


@dataclass(frozen=True)
class Effect:
    """A number estimated from repetitions, and how well it is known.

    Attributes:
        mean: The estimate.
        error: Its standard error, above zero; none where nothing is known of it: of one value
            alone, and of values that are all the same, whose next one may be any other.
        freedom: Degrees of freedom of that error; none without one.
        deviation: Standard deviation of what was averaged, if that is one sample.
        count: Repetitions behind it.
    """

    mean: float
    error: float | None
    freedom: float | None
    deviation: float | None
    count: int

    @property
    def standardised(self) -> float | None:
        """The effect in standard deviations (of the differences: Cohen's d_z)."""
        return self.mean / self.deviation if self.deviation else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Mean ± t(1 − (1 − c)/2, freedom) · error; none without an error.

        Raises:
            ValueError: With a confidence outside (0, 1).
        """
        checked_confidence(confidence)
        if self.error is None or self.freedom is None:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(self.freedom, 1 - (1 - confidence) / 2)) * self.error
        return self.mean - half, self.mean + half

    def p_at(self, bound: float) -> float | None:
        """Probability of an estimate this far on its side of `bound`, were that the true value.

        One-sided: an interval of confidence 1 − 2p just touches the bound. None without an error;
        ½ on the bound itself.
        """
        if self.error is None or self.freedom is None:
            return None
        distance = abs(self.mean - bound)
        if math.isinf(distance):
            return 0.0
        from scipy.special import stdtr

        return float(stdtr(self.freedom, -distance / self.error))


def mean_effect(values: Sequence[float]) -> Effect:
    """The mean of one sample, with s/√n and n − 1 degrees of freedom.

    Raises:
        ValueError: Without values, or with one that is not finite.
    """
    mean, deviation = mean_and_deviation(values)
    count = len(values)
    if not deviation:
        return Effect(mean, None, None, deviation, count)
    return Effect(mean, deviation / math.sqrt(count), count - 1, deviation, count)


def paired_effect(first: Sequence[float], second: Sequence[float]) -> Effect:
    """The mean of first − second, repetition by repetition.

    With the same seeds much of the noise is common to both and drops out.

    Raises:
        ValueError: If they are not equally many, empty, or not finite.
    """
    return mean_effect(paired(first, second))


def log_ratio_effect(first: Sequence[float], second: Sequence[float]) -> Effect:
    """The mean of ln(first / second), repetition by repetition: exp of it is their ratio.

    Logarithms make a ratio and its inverse the same statement, which a mean of ratios does not.

    Raises:
        ValueError: As `paired_effect`, and if a value is not above zero.
    """
    for value in (*first, *second):
        if not value > 0:
            raise ValueError(f"value {value}: a ratio needs numbers above zero; use a difference")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}: pairs need equally many")
    return mean_effect([_log_ratio(*pair) for pair in zip(first, second, strict=True)])


def _log_ratio(one: float, other: float) -> float:
    """ln(one / other), to the last digit where the quotient is exact."""
    ratio = one / other
    if 0 < ratio < math.inf:
        return math.log(ratio)
    return math.log(one) - math.log(other)


def welch_effect(first: Sequence[float], second: Sequence[float]) -> Effect:
    """The difference of the means of two independent samples, whose variances may differ.

    Its error is √(s₁²/n₁ + s₂²/n₂), with the degrees of freedom of Welch and Satterthwaite:
    (s₁²/n₁ + s₂²/n₂)² / ((s₁²/n₁)²/(n₁ − 1) + (s₂²/n₂)²/(n₂ − 1)) (Welch, "The generalization of
    'Student's' problem when several different population variances are involved", Biometrika 34,
    1947). Where one of the samples has a single value, nothing is known of its variance.

    Raises:
        ValueError: If a sample is empty or not finite.
    """
    one, deviation = mean_and_deviation(first)
    other, other_deviation = mean_and_deviation(second)
    count = min(len(first), len(second))
    if deviation is None or other_deviation is None or deviation == other_deviation == 0:
        return Effect(one - other, None, None, None, count)
    error, freedom = welch_error((deviation, len(first)), (other_deviation, len(second)))
    return Effect(one - other, error, freedom, None, count)


def welch_error(first: tuple[float, int], second: tuple[float, int]) -> tuple[float, float]:
    """Standard error and degrees of freedom from deviations and counts (at least two each)."""
    sides = (first, second)
    errors = [deviation / math.sqrt(count) for deviation, count in sides]
    error = math.hypot(*errors)
    if error == 0:
        return 0.0, float(first[1] + second[1] - 2)
    # As shares, which do not underflow where deviations are tiny.
    freedom = 1 / sum(
        (own / error) ** 4 / (count - 1) for own, (_, count) in zip(errors, sides, strict=True)
    )
    return error, freedom
