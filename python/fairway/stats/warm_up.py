"""How much of a run's beginning to leave out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.stats.samples import checked

#: Samples of a batch of MSER-5.
BATCH = 5


@dataclass(frozen=True)
class WarmUp:
    """Where the beginning ends.

    Attributes:
        batches: Batches to leave out.
        samples: Samples to leave out.
        too_short: Whether the run is too short to tell: what is to be left out reaches the half of
            it, or there is no whole batch on either side.
    """

    batches: int
    samples: int
    too_short: bool


def mser(values: Sequence[float]) -> WarmUp:
    """Leave out the d first values, for the smallest d ≤ m/2 at which z(d) is least.

    z(d) = Σ_{j>d} (Z_j − mean_d)² / (m − d)², the squared standard error of the mean of what is
    kept, as if it were independent (White, "An effective truncation heuristic for bias reduction in
    simulation output", Simulation 69, 1997). A least value at the limit says that it would go on
    beyond: the run is too short.

    Args:
        values: In order of time; batch means, for `mser5`.

    Raises:
        ValueError: Without values, or with one that is not finite.
    """
    checked(values)
    count, limit = len(values), len(values) // 2
    _, exponent = math.frexp(max(abs(value) for value in values))
    # From the end, so that each value is added once (Welford 1962); equal values add exactly 0.
    mean = squares = 0.0
    best, least = 0, math.inf
    for d in range(count - 1, -1, -1):
        kept = count - d
        value = math.ldexp(values[d], -exponent)
        change = value - mean
        mean += change / kept
        squares += change * (value - mean)
        if d <= limit and squares / kept**2 <= least:
            best, least = d, squares / kept**2
    return WarmUp(best, best, best >= limit)


def mser5(values: Sequence[float], batch: int = BATCH) -> WarmUp:
    """As `mser`, of means of five values at a time, which smooths noise.

    White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for
    simulation", Winter Simulation Conference 2000. What is left over at the end is not looked at.

    It finds an end of the beginning for numbers that then fluctuate about one level. It cannot know
    of a level that is first reached after the end of the run, and it takes a long sawtooth for a
    beginning if only a few teeth fit: give it series of many congestion epochs.

    Raises:
        ValueError: Without values, with one that is not finite, or with a batch below 1.
    """
    checked(values)
    if batch < 1:
        raise ValueError(f"batches of {batch}: expected at least 1")
    whole = range(len(values) // batch)
    means = [math.fsum(v / batch for v in values[i * batch : (i + 1) * batch]) for i in whole]
    if len(means) < 2:
        return WarmUp(0, 0, True)
    found = mser(means)
    return WarmUp(found.batches, found.batches * batch, found.too_short)
