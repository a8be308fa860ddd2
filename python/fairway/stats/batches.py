"""The mean of one long run, whose neighbouring samples are alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.stats.means import Estimate, mean_interval
from fairway.stats.samples import checked


@dataclass(frozen=True)
class BatchMeans:
    """A mean with an interval from batches.

    Attributes:
        estimate: Mean and interval; its count is that of the batches.
        size: Samples of a batch.
        autocorrelation: Of neighbouring batch means, −1 to 1.
        independent: Whether that is small enough to take them as independent. If not, the interval
            is too narrow: use a longer run.
    """

    estimate: Estimate
    size: int
    autocorrelation: float
    independent: bool


def batch_means(values: Sequence[float], batches: int = 20, confidence: float = 0.95) -> BatchMeans:
    """Mean of a correlated series, with Student's interval of the means of its batches.

    The warm-up is to be left out before. Batches of at least ten congestion epochs each, 20 to 40
    of them (Schmeiser, "Batch size effects in the analysis of simulation output", Operations
    Research 30, 1982), are nearly independent. They are taken so if the correlation of neighbours,
    r₁ = Σ (Z_i − Z̄)(Z_{i+1} − Z̄) / Σ (Z_i − Z̄)², is within ± 2/√b, which independent ones exceed
    in 5 % of all cases. What is left over is left out at the beginning.

    Several runs with different seeds say more: use them where they can be had.

    Raises:
        ValueError: If there are fewer values than batches, fewer than two batches, a value that is
            not finite, or a confidence outside (0, 1).
    """
    if batches < 2:
        raise ValueError(f"{batches} batches: expected at least 2, better 20 to 40")
    checked(values, at_least=batches)
    size = len(values) // batches
    rest = len(values) - size * batches
    starts = range(rest, len(values), size)
    means = [math.fsum(value / size for value in values[i : i + size]) for i in starts]
    found = mean_interval(means, confidence)
    correlation = _neighbours(means, found.mean)
    return BatchMeans(found, size, correlation, abs(correlation) < 2 / math.sqrt(batches))


def _neighbours(means: Sequence[float], mean: float) -> float:
    largest = max(abs(value - mean) for value in means)
    if largest == 0:
        return 0.0
    apart = [(value - mean) / largest for value in means]
    products = math.fsum(one * other for one, other in itertools.pairwise(apart))
    return products / math.fsum(value * value for value in apart)
