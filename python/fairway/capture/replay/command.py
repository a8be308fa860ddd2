"""Fits, simulates, and puts what was measured beside what would have been."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairway import _core
from fairway.backends import backend as find_backend
from fairway.capture.analysis.command import STANDARD_INPUT, read, twice
from fairway.capture.analysis.series import series_frame
from fairway.capture.replay import report
from fairway.capture.replay.path import Transfer, experiment_text
from fairway.errors import InputError
from fairway.experiment.plan import plan, source_of_experiment
from fairway.ground import extras, replacing, text
from fairway.ground.columns import Columns
from fairway.ground.permission import permission, permitting
from fairway.ground.progress import reporter
from fairway.plot.page import Table
from fairway.results.run import Run
from fairway.sweep.result import Sweep
from fairway.sweep.run import run_plan

#: The experiment file beside the results.
FILE = "replay.toml"
#: A connection is large if it has this part of the data of the largest.
_LARGE = 0.1


@dataclass(frozen=True)
class Replay:
    """A transfer, and what it would have been.

    Attributes:
        same: The algorithm that the transfer had, if it is known.
    """

    transfer: Transfer
    experiment: str
    same: str | None
    sweep: Sweep

    def rows(self) -> list[dict[str, Any]]:
        """The measured transfer, and each simulated one."""
        direction = self.transfer.direction
        duration_s = self.transfer.duration_s
        rtt = direction["rtt_s"]
        measured = {
            "what": "measured",
            "cc": self.same,
            "duration_s": duration_s,
            "goodput_bps": self.transfer.bytes * 8 / duration_s if duration_s else None,
            "mean_rtt_s": rtt["mean"] if rtt else None,
            "retransmitted_segments": direction["retransmitted_segments"],
        }
        return [measured, *map(self._simulated, self.sweep.outcomes)]

    def _simulated(self, outcome: Any) -> dict[str, Any]:
        flow = outcome.summary["flows"][0]
        # As the capture shows it: until the sender knows that the last byte has arrived.
        took_s = flow["ctt_s"]
        goodput = flow["goodput_bps"] if took_s is None else self.transfer.bytes * 8 / took_s
        cc = outcome.point.axes["flow.0.cc"]
        return {
            "what": "simulated",
            "cc": cc,
            "duration_s": took_s,
            "goodput_bps": goodput,
            "mean_rtt_s": _mean_rtt_s(outcome.run, took_s),
            "retransmitted_segments": flow["retransmitted_segments"],
        }

    def table(self) -> Table:
        """The rows, for people: the table of the terminal and of the report."""
        return report.table(self.rows(), self.same)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "capture": self.transfer.name,
            "connection": self.transfer.connection["id"],
            "connections": self.transfer.connections,
            "from": self.transfer.direction["from"],
            "to": self.transfer.direction["to"],
            "bytes": self.transfer.bytes,
            "path": self.transfer.path,
            "doubts": self.transfer.doubts(),
            "congestion_control": self.same,
            "experiment": self.experiment,
            "transfers": self.rows(),
            "damaged": self.transfer.damaged,
        }


def fit(
    capture: str | Path,
    *,
    connection: int | None = None,
    overhead_bytes: int = 0,
    quiet: bool = True,
) -> Transfer:
    """Fit a path to a captured transfer."""
    source = str(capture)
    name = "standard input" if source == STANDARD_INPUT else text.of_path(Path(source).name)
    with twice(source) as again:
        found = json.loads(read(again, {"name": name}, name, quiet).report)
        chosen, others = _choose(found["connections"], connection, name)
        wanted = {"name": name, "fit": chosen, "overhead_bytes": overhead_bytes, "identify": True,
                  "follow": [chosen]}  # fmt: skip
        closer = read(again, wanted, f"{name}, closer", quiet)
    found = json.loads(closer.report)
    only = next(one for one in found["connections"] if one["id"] == chosen)
    direction = max(only["directions"], key=lambda one: one["unique_bytes"])
    if direction.get("path") is None:
        raise InputError(
            f"{name}: connection {chosen} has "
            f"{text.count(direction['unique_bytes'], 'byte')} of data, too little to fit a path to "
            "(some hundred packets, and their acknowledgements, are needed); choose another with "
            "--connection"
        )
    index = closer.directions.index((chosen, only["directions"].index(direction)))
    series = _series(closer, index, only["first_s"] - (found["capture"]["started_s"] or 0.0))
    return Transfer(
        name, only, len(found["connections"]), others, found["damaged"], direction,
        direction["path"], series,
    )  # fmt: skip


def replay(
    capture: str | Path,
    algorithms: Sequence[str],
    out: str | Path | None = None,
    *,
    connection: int | None = None,
    same: str | None = None,
    overhead_bytes: int = 0,
    threads: int | None = None,
    quiet: bool = True,
) -> Replay:
    """Fit a path to a captured transfer; simulate the same bytes under other algorithms."""
    extras.require("replay", *extras.OF_SWEEPS)
    source = source_of_experiment("replay", capture, None, connection, overhead_bytes)
    directory = None if out is None else Path(out)
    check: Callable[[], object] = replacing.nothing
    if directory is not None:
        replacing.check_writable(directory, "sweep")
        check = functools.partial(replacing.refuse_another, directory, source)
        check()
    transfer = fit(capture, connection=connection, overhead_bytes=overhead_bytes, quiet=quiet)
    same = same or transfer.algorithm
    wanted = list(dict.fromkeys([*([same] if same else []), *algorithms]))
    if not wanted:
        raise InputError("--cc: name the algorithms to simulate, such as --cc reno,cubic,bbr")
    experiment = experiment_text(transfer, wanted, overhead_bytes)
    with permitting(python=permission().python, programs=False, backend="sim"):
        planned = plan(experiment)
    sweep = run_plan(
        planned, find_backend("sim"), directory=directory, threads=threads,
        progress=reporter(planned.title, quiet=quiet), source=source, check=check,
    )  # fmt: skip
    done = Replay(transfer, experiment, same, sweep)
    if directory is not None:
        result = json.dumps(done.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
        files: dict[str, bytes | str] = {
            FILE: experiment,
            report.RESULT: result + "\n",
            report.CAPTURED: Columns.of(transfer.series).parquet(),
        }
        sweep.save_overview(
            directory, report=lambda: report.page(done.to_json(), transfer.series, sweep),
            more=files,
        )  # fmt: skip
    return done


def _mean_rtt_s(run: Run, until_s: float | None) -> float | None:
    """Mean smoothed round trip while the transfer went on."""
    series = run.series
    if until_s is not None:
        series = series.filter(series["t_s"] <= until_s)
    mean = series["srtt_s"].mean()
    return float(mean) if isinstance(mean, float) else None


def _series(data: _core.AnalysisData, index: int, first_s: float) -> pl.DataFrame:
    """Intervals of one direction, in seconds since the connection's first packet."""
    names = [str(number) for number in range(len(data.directions))]
    own = series_frame(data.series, names, {}).filter(pl.col("flow") == str(index))
    return own.with_columns(pl.col("t_s") - first_s)


def _choose(
    connections: Sequence[Mapping[str, Any]], number: int | None, name: str
) -> tuple[int, list[int]]:
    """The connection that was asked for, or the largest; and others that are large."""
    sizes = {one["id"]: max(way["unique_bytes"] for way in one["directions"])
             for one in connections}  # fmt: skip
    most = max(sizes.values(), default=0)
    if most == 0:
        raise InputError(f"{name}: no TCP connection with data in it; there is nothing to replay")
    if number is not None and number not in sizes:
        raise InputError(f"{name}: no connection {number}; it has connections 1 to {len(sizes)}")
    chosen = number or next(one for one, size in sizes.items() if size == most)
    large = (one for one, size in sizes.items() if size >= _LARGE * most)
    return chosen, [one for one in large if one != chosen]
