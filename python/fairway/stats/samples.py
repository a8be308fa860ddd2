"""What every estimate begins with: samples that are numbers, their mean and their deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence


def checked(values: Sequence[float], at_least: int = 1) -> None:
    """Refuse a sample that is too small, or that has a value which is no finite number.

    Raises:
        ValueError: With what was found.
    """
    if not values:
        raise ValueError("no values to average")
    if len(values) < at_least:
        raise ValueError(f"{len(values)} values: expected at least {at_least}")
    for index, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"value {index} is {value}: expected finite numbers")


def checked_confidence(confidence: float) -> None:
    """Refuse a confidence that is none.

    Raises:
        ValueError: If it is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: expected a number between 0 and 1")


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (n − 1), which one value alone does not have.

    Values that are all the same have exactly that mean and no deviation, whatever rounding does.

    Raises:
        ValueError: Without values, or with one that is not finite.
    """
    checked(values)
    if min(values) == max(values):
        return values[0], 0.0 if len(values) > 1 else None
    # By a power of two, which is exact, so that squares neither overflow nor vanish.
    _, exponent = math.frexp(max(abs(value) for value in values))
    scaled = [math.ldexp(value, -exponent) for value in values]
    mean = math.fsum(scaled) / len(scaled)
    variance = math.fsum((value - mean) ** 2 for value in scaled) / (len(scaled) - 1)
    return math.ldexp(mean, exponent), _scaled_back(math.sqrt(variance), exponent)


def paired(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """The differences first − second.

    Raises:
        ValueError: If they are not equally many, or not finite.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}: pairs need equally many")
    checked(first)
    checked(second)
    return [one - other for one, other in zip(first, second, strict=True)]


def _scaled_back(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.inf
