"""From what a session of a transfer has measured to a `Run`, in the schema of every backend."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.backends.sim import completed
from fairway.backends.transfer.path import experiment_of
from fairway.backends.transfer.tables import natural
from fairway.experiment.plan import plan
from fairway.results.run import Run

if TYPE_CHECKING:
    import polars as pl

    from fairway._core import TransferData


def summary_of(data: TransferData, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The summary of a session: that of every backend, with `transfer` and `warnings` beside it."""
    measured, said = json.loads(data.summary), told(data)
    # In the order of their numbers, and not in that in which they were opened.
    for flows in (measured["flows"], said["flows"]):
        flows.sort(key=lambda flow: natural(flow["id"]))
    return {
        **completed(measured, said["duration_s"], {}),
        "transfer": {**said, **({"settings": dict(settings)} if settings else {})},
        "warnings": [f"the transfer did not end well: {data.failure}"] if data.failure else [],
    }


def told(data: TransferData) -> dict[str, Any]:
    """What a job says of a session, and how it was measured: `transfer` of a summary."""
    return {**json.loads(data.about), **json.loads(data.taken), "failure": data.failure}


def run_of(data: TransferData, settings: Mapping[str, Any] | None = None) -> Run:
    """The run that a session was, with an experiment that stands for its path."""
    summary = summary_of(data, settings)
    experiment = experiment_of(summary, summary["transfer"])
    try:
        experiment = plan(experiment).points[0].experiment
    except _core.ExperimentError as error:
        remark = " ".join(str(error).split())
        summary["warnings"].append(f"the measured path cannot be simulated as it is: {remark}")
    return Run(
        experiment=experiment,
        summary=summary,
        series=lambda: _in_order(series(data)),
        version=_core.version(),
        tcp_info=lambda: _in_order(tcp_info(data)),
    )


def series(data: TransferData) -> pl.DataFrame:
    """The time series of its flows, as they were sampled."""
    from fairway.results.tables import series_frame

    return series_frame(data.series(), data.flow_ids)


def tcp_info(data: TransferData) -> pl.DataFrame:
    """What the kernel said of its flows, as they were sampled."""
    from fairway.results.tables import tcp_info_frame

    return tcp_info_frame(data.tcp_info(), data.flow_ids)


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Flows that were sampled together in the order of their numbers, as legends have them."""
    import polars as pl

    names = sorted(frame["flow"].unique(), key=natural)
    number = pl.col("flow").replace_strict(names, range(len(names)), return_dtype=pl.UInt32)
    return frame.sort("t_s", number, maintain_order=True)
