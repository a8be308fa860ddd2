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
