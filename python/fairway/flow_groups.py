"""Figures of several flows together, such as the parallel connections of one transfer."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway.errors import InputError

if TYPE_CHECKING:
    import polars as pl

#: Rows of a summary's flows -> a figure of all of them.
_Figure = Callable[[Sequence[Mapping[str, Any]]], float | None]

#: The one figure that is read from the time series.
REDUCTION = "aggregate_reduction"


def loss_of_sent(sent: int, lost: int) -> float | None:
    """(S − R) / S: the part of the segments sent, S, that did not arrive; R did.

    Between 0 and 1; none if nothing was sent. Retransmissions count in S, so a segment that is lost
    twice counts twice. This is the loss ratio of RFC 7680 section 4.1, of data segments alone.
    """
    return lost / sent if sent else None


def loss_of_received(sent: int, lost: int) -> float | None:
    """(S − R) / R: segments that did not arrive, for each that did.

    From 0, without a bound; none if nothing arrived. With L = (S − R)/S it is L / (1 − L): a loss
    of 16 % "from the entire throughput" (Alrshah 2009, section 5.1) is 13.8 % of what was sent.
    """
    received = sent - lost
    return lost / received if received > 0 else None


def retransmission_ratio(sent: int, retransmitted: int) -> float | None:
    """Segments sent again, over all segments sent.

    Between 0 and 1; none if nothing was sent. It exceeds the loss where data is sent again that
    had arrived, as after a timeout without selective acknowledgements. Source: Alrshah 2009,
    section 3.7, "the amount of retransmitted data".
    """
    return retransmitted / sent if sent else None


def group_figure(summary: Mapping[str, Any], pattern: str, figure: str) -> float | None:
    """One figure of all flows whose ids fit a pattern.

    Args:
        summary: As in `summary.json`.
        pattern: Ids, with `*` for anything; `parallel*` is every copy of the flow `parallel`.
        figure: `jain_index`, `loss_of_sent`, `loss_of_received` or `retransmission_ratio`.

    Returns:
        The value; none if no flow fits or the figure has no value.

    Raises:
        InputError: If there is no such figure.
    """
    if figure not in _FIGURES:
        known = ", ".join([*_FIGURES, REDUCTION])
        raise InputError(f"metric group.{pattern}.{figure}: there is {known}")
    flows = [row for row in summary["flows"] if fnmatch.fnmatchcase(row["id"], pattern)]
    return _FIGURES[figure](flows) if flows else None


def aggregate_reduction(series: pl.DataFrame, pattern: str) -> float | None:
    """By how much one connection's back-off lowers the windows of all, as a part of their sum.

    Mean over all samples in which the slow-start threshold of one flow changed and that of no
    other did: (W − W') / W, where W is the sum of all congestion windows in the sample before, and
    in W' the one that backs off has its new threshold for a window. To be exact it needs samples a
    round-trip time apart or less. For N equal windows of which one falls to a share r it is
    (1 − r)/N. None without such a sample, or with unequal numbers of samples. Source: Alrshah
    2009, equations 2.1 and 2.2.

    Args:
        series: As in `series.parquet`: `t_s`, `flow`, `cwnd_segments`, `ssthresh_segments`.
        pattern: Ids of flows, with `*` for anything.
    """
    import numpy as np

    windows, thresholds = [], []
    for (flow,), rows in series.group_by(["flow"], maintain_order=True):
        if fnmatch.fnmatchcase(str(flow), pattern):
            windows.append(rows["cwnd_segments"].to_numpy())
            thresholds.append(rows["ssthresh_segments"].to_numpy())
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


def _total(flows: Sequence[Mapping[str, Any]], column: str) -> int:
    return sum(row[column] or 0 for row in flows)


def _jain(flows: Sequence[Mapping[str, Any]]) -> float | None:
    from fairway.metrics import jain_index

    return jain_index([row["goodput_bps"] for row in flows])


_FIGURES: dict[str, _Figure] = {
    "jain_index": _jain,
    "loss_of_sent": lambda f: loss_of_sent(_total(f, "sent_segments"), _total(f, "lost_segments")),
    "loss_of_received": lambda f: loss_of_received(
        _total(f, "sent_segments"), _total(f, "lost_segments")
    ),
    "retransmission_ratio": lambda f: retransmission_ratio(
        _total(f, "sent_segments"), _total(f, "retransmitted_segments")
    ),
}
