"""What a flow looked like, sampled: the same columns of a recording and of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairway.compare.fidelity.kernel_traces import SETTLED_S
from fairway.metrics.episodes import Trace
from fairway.results.run import Run

#: The kernel's infinite ssthresh, `TCP_INFINITE_SSTHRESH` of include/net/tcp.h.
_KERNEL_INFINITY = 0x7FFF_FFFF
#: Times of samples are compared with so much room: a microsecond, which recordings may round to.
_ROUNDING_S = 1e-6


def settled(trace: Trace) -> npt.NDArray[np.bool_]:
    """Which samples are taken from `SETTLED_S` on, after the first slow start."""
    return np.asarray(trace.t_s >= SETTLED_S - _ROUNDING_S)


def of_samples(frame: pl.DataFrame) -> Trace:
    """The trace of a recorded flow, columns as `kernel_traces.TRACE_COLUMNS`."""
    columns = {name: frame[name].cast(pl.Float64).to_numpy() for name in frame.columns}
    ssthresh = columns["ssthresh_segments"]
    settled = columns["t_s"] >= SETTLED_S - _ROUNDING_S
    sent_again = columns["total_retrans"][settled]
    return Trace(
        t_s=columns["t_s"],
        cwnd=columns["cwnd_segments"],
        ssthresh=np.where(ssthresh >= _KERNEL_INFINITY, np.nan, ssthresh),
        srtt_s=columns["srtt_us"] / 1e6,
        delivered_bytes=columns["bytes_acked"],
        retransmitted=int(sent_again[-1] - sent_again[0]),
    )


def of_run(run: Run, index: int) -> Trace:
    """The trace of a run's flow, by its place in the experiment."""
    flow: dict[str, Any] = run.summary["flows"][index]
    rows = run.series.filter(pl.col("flow") == flow["id"]).sort("t_s")
    t_s = rows["t_s"].to_numpy()
    goodput = rows["goodput_bps"].fill_null(0).to_numpy()
    # Of the first sample it is not known what time it covers, and nothing is taken from there.
    return Trace(
        t_s=t_s,
        cwnd=rows["cwnd_segments"].to_numpy(),
        ssthresh=rows["ssthresh_segments"].to_numpy(),
        srtt_s=rows["srtt_s"].to_numpy(),
        delivered_bytes=np.cumsum(goodput * np.diff(t_s, prepend=t_s[:1])) / 8,
        retransmitted=int(flow["retransmitted_segments"]),
    )
