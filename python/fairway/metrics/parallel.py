"""Figures of several flows together, such as the parallel connections of one transfer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from fairway.ground.columns import Columns


def aggregate_reduction(series: Columns | pl.DataFrame, flows: Collection[str]) -> float | None:
    """By how much one connection's back-off lowers the windows of all, as a part of their sum.

    Mean over all samples in which the slow-start threshold of one flow changed and that of no
    other did: (W − W') / W, where W is the sum of all congestion windows in the sample before, and
    in W' the one that backs off has its new threshold for a window. To be exact it needs samples a
    round-trip time apart or less. For N equal windows of which one falls to a share r it is
    (1 − r)/N. None without such a sample, or with unequal numbers of samples.

    Source: Alrshah 2009, equations 2.1 and 2.2.

    Args:
        series: As in `series.parquet`: `t_s`, `flow`, `cwnd_segments`, `ssthresh_segments`.
        flows: Ids of flows.
    """
    import numpy as np

    from fairway.ground.columns import Columns

    table = Columns.of(series)
    windows, thresholds = [], []
    for flow in table.text("flow").present:
        if flow in flows:
            own = table.text("flow").equals(flow)
            windows.append(table.numbers("cwnd_segments")[own])
            thresholds.append(table.numbers("ssthresh_segments")[own])
    if not windows or len({len(column) for column in windows}) > 1 or len(windows[0]) < 2:
        return None
    window = np.array(windows, dtype=float)
    threshold = np.array(thresholds, dtype=float)
    # Without a threshold yet (null) it is infinite.
    threshold = np.where(np.isnan(threshold), np.inf, threshold)
    before, after = threshold[:, :-1], threshold[:, 1:]
    backs_off = (after != before) & np.isfinite(after) & (after < window[:, :-1])
    alone = (backs_off.sum(axis=0) == 1) & (window[:, :-1].sum(axis=0) > 0)
    if not alone.any():
        return None
    fall = np.where(backs_off, window[:, :-1] - np.where(backs_off, after, 0.0), 0.0).sum(axis=0)
    reductions = fall[alone] / window[:, :-1].sum(axis=0)[alone]
    return float(reductions.mean())
