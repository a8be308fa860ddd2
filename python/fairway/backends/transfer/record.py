"""The record of a transfer: its `Run`, written to a directory by another process.

Tables and charts need more memory than a transfer may.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway._core import TransferData
from fairway.backends.sim import completed, tables
from fairway.backends.transfer.path import experiment_of
from fairway.backends.transfer.tables import natural
from fairway.errors import FairwayError, InputError, NotDrawn, RunFailed
from fairway.experiment.plan import plan
from fairway.results.run import Run

if TYPE_CHECKING:
    from fairway.ground.columns import Columns


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


def series(data: TransferData) -> Columns:
    """The time series of its flows, as they were sampled."""
    found: Columns = tables().series_of(data.series(), data.flow_ids)
    return found


def tcp_info(data: TransferData) -> Columns:
    """What the kernel said of its flows, as they were sampled."""
    found: Columns = tables().tcp_info_of(data.tcp_info(), data.flow_ids)
    return found


def _in_order(table: Columns) -> Columns:
    """Flows that were sampled together in the order of their numbers, as legends have them."""
    import numpy as np

    flows = table.text("flow")
    places = {name: place for place, name in enumerate(sorted(flows.names, key=natural))}
    numbers = np.array([places[name] for name in flows.names], dtype=np.int64)[flows.codes]
    return table.keep(np.lexsort((numbers, table.numbers("t_s"))))


#: Where modules are found is given behind directory and source, so that both processes are the
#: same program.
_CHILD = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from fairway.backends.transfer.record import main; main()"
)


def save(
    data: TransferData,
    directory: Path,
    settings: Mapping[str, Any] | None,
    source: str | None = None,
) -> None:
    """Write the record of a session to a directory, as `fairway run --out` does."""
    header = json.dumps(settings).encode()
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(directory), source or "", *sys.path],
        input=b"%d\n%b%b" % (len(header), header, data.pack()),
        stderr=subprocess.PIPE,
        check=False,
    )
    if child.returncode:
        said = child.stderr.decode(errors="replace").strip()
        kind = InputError if child.returncode == InputError.exit_code else RunFailed
        raise kind(said or f"writing the record {directory}: exit code {child.returncode}")
    for undrawn in child.stderr.decode(errors="replace").splitlines():
        warnings.warn(NotDrawn(undrawn), stacklevel=2)


def main() -> None:
    """The other process: reads from standard input what `save` writes."""
    source = sys.stdin.buffer
    settings = json.loads(source.read(int(source.readline())))
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", NotDrawn)
            run = run_of(TransferData.unpack(source.read()), settings)
            run.save(sys.argv[1], source=sys.argv[2] or None)
        sys.stderr.writelines(
            f"{one.message}\n" for one in warned if isinstance(one.message, NotDrawn)
        )
    except FairwayError as error:
        sys.stderr.write(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]}: cannot write the record: {error}")
        sys.exit(InputError.exit_code)
