"""Intervals of a statistic of many means that share their repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fairway.stats.bootstrap import bootstrap_interval
from fairway.stats.means import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: From so many repetitions on they are drawn anew; of fewer the bootstrap is too narrow.
ENOUGH_TO_DRAW = 10


def statistic_interval(
    samples: Sequence[Sequence[float]],
    statistic: Callable[[NDArray[np.float64]], Any],
    confidence: float = 0.95,
) -> Estimate:
    """A statistic of the means of several samples, with its interval.

    Value r of every sample is of repetition r, and a repetition is in or out as a whole: its values
    share a seed. With ten repetitions or more it is the BCa bootstrap of `bootstrap_interval`;
    with fewer, the estimate ± t(1 − (1 − c)/2, n − 1) times the jackknife's standard error
    √((n − 1)/n · Σ(S₍ᵣ₎ − S̄)²), S₍ᵣ₎ being the statistic without repetition r (Tukey, "Bias and
    confidence in not-quite large samples", Annals of Mathematical Statistics 29, 1958).

    Of a mean of |differences| it tells how far other seeds would lead, not that it is above
    zero: noise alone makes it so.

    Args:
        samples: One of each mean, equally long.
        statistic: Of an array of means along its first axis, such as their median.
        confidence: Coverage, between 0 and 1.

    Returns:
        The statistic of the means over all repetitions; without an interval if there is one, or
        if all are the same.

    Raises:
        ValueError: If samples are not equally long, empty or not finite.
    """
    import numpy as np

    matrix = np.asarray(samples, dtype=float)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise ValueError("samples: expected equally many finite values of each mean")
    count = matrix.shape[1]
    found = float(statistic(matrix.mean(axis=1)))
    if (matrix == matrix[:, :1]).all():
        return Estimate(found, None, None, count)  # one repetition, or every one the same
    if count >= ENOUGH_TO_DRAW:

        def of_drawn(drawn: NDArray[np.float64], axis: int) -> Any:
            shares = np.stack([(drawn == r).mean(axis=axis) for r in range(count)])
            return statistic(matrix @ shares)

        drawn = bootstrap_interval(list(range(count)), confidence, of_drawn)
        return Estimate(found, drawn.low, drawn.high, count)
    from scipy.special import stdtrit

    without = [float(statistic(np.delete(matrix, r, axis=1).mean(axis=1))) for r in range(count)]
    middle = math.fsum(without) / count
    error = math.sqrt((count - 1) / count * math.fsum((s - middle) ** 2 for s in without))
    half = float(stdtrit(count - 1, 1 - (1 - confidence) / 2)) * error
    return Estimate(found, found - half, found + half, count)
