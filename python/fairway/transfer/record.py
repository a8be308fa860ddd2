"""From what a session of a transfer has measured to a `Run`, in the schema of every backend."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.backends.sim import completed
from fairway.experiment import plan
from fairway.results import Run
from fairway.transfer.path import experiment_of

if TYPE_CHECKING:
    import polars as pl

    from fairway._core import TransferData


def summary_of(data: TransferData, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The summary of a session: that of every backend, with `transfer` and `warnings` beside it.

    Args:
        data: What was measured.
        settings: Of the host, as `fairway.host.Settings.to_json` gives them.
    """
    taken, about = json.loads(data.taken), json.loads(data.about)
    said = {**(about if isinstance(about, dict) else {}), **taken}
    return {
        **completed(json.loads(data.summary), taken["duration_s"], {}),
        "transfer": {
            **said,
            "failure": data.failure,
            **({"settings": dict(settings)} if settings else {}),
        },
        "warnings": [f"the transfer did not end well: {data.failure}"] if data.failure else [],
    }


def run_of(data: TransferData, settings: Mapping[str, Any] | None = None) -> Run:
    """The run that a session was, with an experiment that stands for its path."""
    summary = summary_of(data, settings)
    experiment = experiment_of(summary, json.loads(data.taken), summary["transfer"])
    try:
        experiment = plan(experiment).points[0].experiment
    except _core.ExperimentError as error:
        remark = " ".join(str(error).split())
        summary["warnings"].append(f"the measured path cannot be simulated as it is: {remark}")
    return Run(
        experiment=experiment,
        summary=summary,
        series=functools.partial(_series, data),
        queues=_queues,
        version=_core.version(),
        tcp_info=functools.partial(_tcp_info, data),
    )


def _series(data: TransferData) -> pl.DataFrame:
    from fairway.tables import series_frame

    return series_frame(data.series(), data.flow_ids)


def _tcp_info(data: TransferData) -> pl.DataFrame:
    from fairway.tables import tcp_info_frame

    return tcp_info_frame(data.tcp_info(), data.flow_ids)


def _queues() -> pl.DataFrame:
    """No queue of a real path can be looked into."""
    import polars as pl

    from fairway.tables import QUEUE_SCHEMA

    return pl.DataFrame(schema=QUEUE_SCHEMA)
