"""Many comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted so that any false rejection among them has a probability below α.

    Of m in rising order, the i-th becomes the largest so far of min(1, (m − i + 1) · p_i) (Holm,
    "A simple sequentially rejective multiple test procedure", Scandinavian J. of Statistics 6,
    1979). It asks nothing of how they depend on each other.

    Args:
        p_values: In any order; the answer has the same.

    Raises:
        ValueError: If one is not between 0 and 1.
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"p-value {p}: expected a number from 0 to 1")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
