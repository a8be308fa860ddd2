"""Congestion windows over time: the mean of each side's seeds, and the area between two means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway.compare.agree.quantities import Verdict
from fairway.ground.result_schema import Tolerance

if TYPE_CHECKING:
    import numpy.typing as npt

    from fairway.results.run import Run

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """The windows of one flow on one side, at common times.

    Attributes:
        windows: A row for each seed: windows in segments.
    """

    t_s: Floats
    windows: Floats

    @property
    def mean(self) -> Floats:
        """Mean window at each time."""
        return np.asarray(self.windows.mean(axis=0))

    @property
    def variance_of_mean(self) -> Floats:
        """Variance of that mean at each time; zero where there is one seed."""
        count = len(self.windows)
        if count < 2:
            return np.zeros_like(self.t_s)
        return np.asarray(self.windows.var(axis=0, ddof=1) / count)


@dataclass(frozen=True)
class Area:
    """How far two mean windows are apart over time.

    Attributes:
        area: Area between the mean curves over the area under the reference's.
        noise: What of it seeds alone would make, were the expected curves the same: the mean of
            |x| for a normal x is √(2/π) deviations, here those of the difference of the means.
    """

    flow: str
    area: float
    noise: float
    tolerance: float

    @property
    def verdict(self) -> Verdict:
        """As far as one can tell without an interval.

        The area between means of few seeds is on average larger than that between the expected
        curves, and by no more than the noise (the triangle inequality).
        """
        if self.area <= self.tolerance:
            return "equivalent"
        return "different" if self.area - self.noise > self.tolerance else "undecided"

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "verdict": self.verdict}


def curves(runs: Sequence[Run], flow: str, times: Floats) -> Curves | None:
    """The windows of a flow in several runs at given times.

    Between samples windows are interpolated; before the first and after the last there is none,
    so that all runs have to reach over all times.

    None if some run has no samples of the flow there.
    """
    rows = []
    for run in runs:
        found = _samples(run, flow)
        if found is None or found[0][0] > times[0] or found[0][-1] < times[-1]:
            return None
        rows.append(np.interp(times, *found))
    return Curves(times, np.array(rows))


def common_times(runs: Sequence[Run], flow: str) -> Floats | None:
    """The times at which every run knows the window: those of the last run's samples.

    None if there are fewer than two.
    """
    found = [_samples(run, flow) for run in runs]
    known = [samples for samples in found if samples is not None]
    if not known or len(known) < len(found):
        return None
    start = max(times[0] for times, _ in known)
    end = min(times[-1] for times, _ in known)
    times = known[-1][0]
    chosen = times[(times >= start) & (times <= end)]
    return chosen if len(chosen) > 1 else None


def area_between(
    flow: str, ours: Curves, reference: Curves, tolerance: Tolerance, *, is_paired: bool = False
) -> Area | None:
    """The area between two mean curves over the area under the reference's.

    None if the reference has no area.

    Args:
        flow: The flow's id.
        ours: A window for each seed and time.
        reference: Likewise, at the same times.
        tolerance: The negligible area.
        is_paired: Whether the nth rows of both come from the same random numbers.
    """
    whole = _integral(reference.mean, reference.t_s)
    if whole <= 0:
        return None
    between = _integral(np.abs(ours.mean - reference.mean), reference.t_s)
    if is_paired:
        each = Curves(reference.t_s, ours.windows - reference.windows)
        variance = each.variance_of_mean
    else:
        variance = ours.variance_of_mean + reference.variance_of_mean
    noise = _integral(math.sqrt(2 / math.pi) * np.sqrt(variance), reference.t_s)
    return Area(flow, between / whole, noise / whole, tolerance.relative)


def _samples(run: Run, flow: str) -> tuple[Floats, Floats] | None:
    import polars as pl

    rows = run.series.filter(pl.col("flow") == flow).drop_nulls("cwnd_segments").sort("t_s")
    if rows.is_empty():
        return None
    return rows["t_s"].to_numpy(), rows["cwnd_segments"].to_numpy()


def _integral(values: Floats, times: Floats) -> float:
    """By trapezia."""
    return float(((values[1:] + values[:-1]) / 2 * np.diff(times)).sum())
