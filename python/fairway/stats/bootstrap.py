"""Intervals that ask nothing of a distribution, for many repetitions and for quantiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fairway.stats.means import Estimate
from fairway.stats.samples import checked, checked_confidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Samples drawn. Ends of a 95 % interval then scatter by about 2 % of its width.
DRAWS = 5000
#: Where the drawing of samples starts, always.
_SEED = 1


def bootstrap_interval(
    values: Sequence[float],
    confidence: float = 0.95,
    statistic: Callable[..., Any] | None = None,
    draws: int = DRAWS,
) -> Estimate:
    """A statistic of repetitions with its BCa bootstrap interval: SciPy's, always drawn alike.

    Whole repetitions are drawn with replacement; the percentiles of their statistic are corrected
    for bias and for skewness (Efron, "Better bootstrap confidence intervals", J. American
    Statistical Association 82, 1987). It follows skewed values better than Student's interval once
    there are many; with few it is too narrow, as nothing in it makes up for a deviation known from
    few values. Of normal values it covers 90 % with n = 10 and 94 % with n = 30 (simulated): below
    ten repetitions prefer `mean_interval`.

    Args:
        values: Of each repetition; one alone has no interval.
        confidence: Coverage, between 0 and 1.
        statistic: Of an array along `axis`, such as `numpy.median`; the mean if not given.
        draws: Samples drawn, at least 100.

    Raises:
        ValueError: Without values, with one that is not finite, with a confidence outside (0, 1)
            or too few draws.
    """
    import numpy as np

    checked(values)
    checked_confidence(confidence)
    if draws < 100:
        raise ValueError(f"{draws} draws: expected at least 100, better 2000")
    of = np.mean if statistic is None else statistic
    sample = np.asarray(values, dtype=float)
    found = float(of(sample, axis=0))
    if len(values) == 1:
        return Estimate(found, None, None, 1)
    if sample.min() == sample.max():
        return Estimate(found, found, found, len(values))
    low, high = _interval(sample, of, confidence, draws, "BCa")
    if not (np.isfinite(low) and np.isfinite(high)):
        # Where leaving one value out never changes the statistic, skewness is undefined.
        low, high = _interval(sample, of, confidence, draws, "percentile")
    return Estimate(found, low, high, len(values))


def _interval(
    sample: NDArray[np.float64],
    statistic: Callable[..., Any],
    confidence: float,
    draws: int,
    method: str,
) -> tuple[float, float]:
    import numpy as np
    from scipy.stats import bootstrap

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = bootstrap(
            (sample,),
            statistic,
            n_resamples=draws,
            confidence_level=confidence,
            method=method,
            vectorized=True,
            random_state=np.random.Generator(np.random.PCG64(_SEED)),
        ).confidence_interval
    return float(found.low), float(found.high)
