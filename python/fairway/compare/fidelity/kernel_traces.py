"""Golden traces: what a real kernel does, written down for the simulator to be held against.

A recording is a directory with all samples in `traces.csv.gz`, `summary.csv`, and `recorded.json`,
which says what recorded them over which paths. `golden.toml` lists the scenarios. The package has
recordings of Linux 6.1 and 6.12 in `linux-6.1` and `linux-6.12`.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairway.backends import Backend
from fairway.backends.linux.kernel import HEADER_ROOM
from fairway.errors import InputError
from fairway.experiment.plan import plan
from fairway.ground import replacing, store
from fairway.ground.progress import reporter
from fairway.ground.registry import DEFAULT_PRESET
from fairway.metrics.episodes import Trace
from fairway.results.run import Run
from fairway.sweep.run import run_plan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


_KIND = "golden recording"
#: All samples of a recording, and the columns before those of `TRACE_COLUMNS`.
TABLE = "traces.csv.gz"
KEY = ("scenario", "congestion_control")
#: The summary leaves out the first slow start: seconds.
SETTLED_S = 10
#: Column of a trace -> column of `Run.tcp_info` and the factor between them.
TRACE_COLUMNS = {
    "t_s": ("t_s", 1),
    "cwnd_segments": ("snd_cwnd_segments", 1),
    "ssthresh_segments": ("snd_ssthresh_segments", 1),
    "srtt_us": ("rtt_s", 1_000_000),
    "rto_us": ("rto_s", 1_000_000),
    "ca_state": ("ca_state", 1),
    "retrans_out": ("retrans_segments", 1),
    "lost_out": ("lost_segments", 1),
    "sacked_out": ("sacked_segments", 1),
    "total_retrans": ("total_retrans_segments", 1),
    "bytes_acked": ("bytes_acked", 1),
    "unacked_segments": ("unacked_segments", 1),
}


@dataclass(frozen=True)
class Scenario:
    """One path; every algorithm runs over it alone."""

    name: str
    document: dict[str, Any]


def scenarios() -> list[Scenario]:
    """The scenarios of golden.toml."""
    entries = _contents()["scenario"]
    return [Scenario(one["name"], document(**one, is_of_own_kernel=True)) for one in entries]


def algorithms() -> dict[str, str]:
    """The kernel's name of every algorithm -> its name in an experiment."""
    return dict(_contents()["algorithms"])


def record(
    directory: Path,
    backend: Backend,
    *,
    names: list[str] | None = None,
    threads: int | None = None,
    quiet: bool = True,
) -> dict[str, Any]:
    """Run every algorithm in every scenario on a kernel and write the traces."""
    known = algorithms()
    if unknown := sorted(set(names or ()) - set(known)):
        raise InputError(
            f"{unknown[0]}: no such algorithm in a golden recording; it has {', '.join(known)}"
        )
    chosen = {name: cc for name, cc in known.items() if names is None or name in names}
    replacing.check_writable(directory, _KIND)
    runs: list[tuple[str, str, Run]] = []
    for scenario in scenarios():
        # Linux's own queues are the truth that Fairway's are held against.
        on_tc = {**scenario.document, "linux": {"network": "tc"}}
        swept = {**on_tc, "sweep": {"flow.0.cc": list(chosen.values())}}
        sweep = run_plan(
            plan(swept), backend, threads=threads, progress=reporter(scenario.name, quiet=quiet)
        )
        runs += [
            (scenario.name, name, outcome.run)
            for name, outcome in zip(chosen, sweep.outcomes, strict=True)
        ]
    recorded = {
        "kernel": runs[0][2].summary["kernel"]["release"],
        "fairway": runs[0][2].version,
        "scenarios": _contents()["scenario"],
        "algorithms": list(chosen),
    }
    store.write_directory(directory, lambda place: _write(place, runs, recorded), _KIND)
    return recorded


def trace(run: Run) -> pl.DataFrame:
    """The trace of a run's first flow, columns as `TRACE_COLUMNS`."""
    info = run.tcp_info
    assert info is not None
    columns = []
    for name, (source, factor) in TRACE_COLUMNS.items():
        column = pl.col(source)
        if factor != 1:
            column = (column * factor).round().cast(pl.Int64)
        elif name == "ssthresh_segments":
            column = column.cast(pl.Int64)
        columns.append(column.alias(name))
    return info.select(columns)


def summary_row(scenario: str, name: str, frame: pl.DataFrame) -> dict[str, Any]:
    """One row of summary.csv, from `SETTLED_S` to the end of a trace."""
    settled = frame.filter(pl.col("t_s") >= SETTLED_S)
    first, last = settled.row(0, named=True), settled.row(-1, named=True)
    seconds = last["t_s"] - first["t_s"]
    return {
        "scenario": scenario,
        "congestion_control": name,
        "goodput_bps_after_10s": round((last["bytes_acked"] - first["bytes_acked"]) * 8 / seconds),
        "mean_cwnd_segments_after_10s": round(_mean(settled["cwnd_segments"]), 2),
        "mean_srtt_us_after_10s": round(_mean(settled["srtt_us"])),
        "total_retransmits": last["total_retrans"],
        "retransmits_after_10s": last["total_retrans"] - first["total_retrans"],
    }


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean())


def _contents() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "golden.toml").read_text("utf-8"))


def document(
    name: str,
    rate: str,
    delay: str,
    limit: str,
    duration: str,
    *,
    loss: float = 0.0,
    sample: str = "100 ms",
    flows: Sequence[Mapping[str, str]] = ({"cc": "cubic"},),
    is_of_own_kernel: bool = False,
    preset: str = DEFAULT_PRESET,
) -> dict[str, Any]:
    """The experiment of a scenario: one link between hosts whose buffers do not limit.

    `delay` is one way, and `loss` the probability of a random loss behind the queue.
    """
    room = {"header_room": HEADER_ROOM} if is_of_own_kernel else {}
    buffers = {"receive_buffer": "256 MiB", "send_buffer": "256 MiB"}
    queue = {"kind": "droptail", "limit": limit}
    random = {"loss": {"kind": "bernoulli", "probability": loss}} if loss else {}
    return {
        "title": name,
        "duration": duration,
        "seed": 1,
        "stack": {"preset": preset, "mtu": "1500 bytes", **buffers, **room},
        "topology": {
            "kind": "dumbbell",
            "frame_overhead": "14 bytes",
            "bottleneck": {"rate": rate, "delay": delay, "queue": queue, **random},
        },
        "flow": [dict(flow) for flow in flows],
        "measure": {"window": [f"{SETTLED_S} s", duration], "sample": sample},
    }


def _write(place: Path, runs: list[tuple[str, str, Run]], recorded: dict[str, Any]) -> None:
    frames = [(scenario, name, trace(run)) for scenario, name, run in runs]
    table = pl.concat(
        frame.select(pl.lit(scenario).alias(KEY[0]), pl.lit(name).alias(KEY[1]), pl.all())
        for scenario, name, frame in frames
    )
    # Without a time in it, the same traces are the same file.
    traces = gzip.compress(table.write_csv().encode(), mtime=0)
    rows = [summary_row(*frame) for frame in frames]
    files: dict[str, bytes | str] = {
        TABLE: traces,
        "summary.csv": pl.DataFrame(rows).write_csv(),
        store.RECORDED: store.to_json(recorded),
    }
    store.write_files(place, files)


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
