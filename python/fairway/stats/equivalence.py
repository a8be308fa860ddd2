"""Whether two variants are alike within a margin: two one-sided tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.stats.effect import Effect, paired_effect, welch_effect


@dataclass(frozen=True)
class Equivalence:
    """What two one-sided tests say.

    Attributes:
        mean: The difference.
        low: Lower end of its (1 − 2α) interval; none where nothing is known of the variance.
        high: Upper end.
        p: The larger of the two p-values; none without an interval.
        equivalent: Whether the interval lies within the margin; none without one.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    equivalent: bool | None


def equivalence(effect: Effect, low: float, high: float, alpha: float = 0.05) -> Equivalence:
    """Whether an effect lies between two bounds: both one-sided tests at level `alpha` say so.

    The same as an interval of confidence 1 − 2α within the bounds (Schuirmann, "A comparison of the
    two one-sided tests procedure and the power approach for assessing the equivalence of average
    bioavailability", J. Pharmacokinetics and Biopharmaceutics 15, 1987).

    Raises:
        ValueError: If the bounds are not in order, or with an alpha outside (0, ½).
    """
    if not low < high:
        raise ValueError(f"bounds {low} and {high}: the first must be below the second")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha}: expected a number between 0 and 0.5")
    interval = effect.interval(1 - 2 * alpha)
    at_low, at_high = effect.p_at(low), effect.p_at(high)
    if interval is None or at_low is None or at_high is None:
        return Equivalence(effect.mean, None, None, None, None)
    if effect.mean <= low:
        p = 1 - at_low
    elif effect.mean >= high:
        p = 1 - at_high
    else:
        p = max(at_low, at_high)
    return Equivalence(effect.mean, *interval, p, low < interval[0] and interval[1] < high)


def tost_paired(
    first: Sequence[float], second: Sequence[float], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Whether two variants with the same seeds differ by less than `margin`.

    Raises:
        ValueError: If they are not equally many, empty or not finite, or the margin is not above
            zero.
    """
    _check_margin(margin)
    return equivalence(paired_effect(first, second), -margin, margin, alpha)


def tost_welch(
    first: Sequence[float], second: Sequence[float], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Whether the means of two independent samples differ by less than `margin`.

    Raises:
        ValueError: If a sample is empty or not finite, or the margin is not above zero.
    """
    _check_margin(margin)
    return equivalence(welch_effect(first, second), -margin, margin, alpha)


def _check_margin(margin: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"margin {margin}: expected a number above zero")
