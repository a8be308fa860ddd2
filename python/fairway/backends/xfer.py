"""A real path as a backend: a generator here carries out the flows, towards a collector there."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.backends.sim import completed
from fairway.errors import FairwayError, InputError, RunFailed
from fairway.results import Run

if TYPE_CHECKING:
    import polars as pl

    from fairway.algorithm import Algorithms

#: Where the collector and its token come from if nothing else says.
PEER_VARIABLE = "FAIRWAY_PEER"
TOKEN_VARIABLE = "FAIRWAY_TOKEN"
#: What of an experiment the path and its hosts have of their own.
_OF_THE_PATH = ("topology", "stack", "linux")
#: Seconds between looks at a run: often enough for a bar that moves and for Ctrl-C.
_LOOK_S = 0.25
#: Seconds that a stopped run has to say good-bye.
_GOODBYE_S = 10.0
#: Runs take turns: two at once would share the path.
_TURN = threading.Lock()


class Control:
    """Follows one run on a real path, and stops it."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._fraction = 0.0

    @property
    def fraction(self) -> float:
        """Time passed, from 0 to 1 of the experiment's duration."""
        return self._fraction

    def cancel(self) -> None:
        """Ask for the end; `Xfer.run` then raises `Cancelled`."""
        self._cancelled.set()

    def is_cancelled(self) -> bool:
        """Whether it was asked for."""
        return self._cancelled.is_set()

    def follow(self, transfer: _core.Transfer) -> None:
        """Wait for the end of a transfer; ends it when that is asked for."""
        try:
            while not transfer.wait(_LOOK_S):
                progress = json.loads(transfer.progress())
                whole_s = progress["duration_s"] or 0.0
                if whole_s > 0.0:
                    self._fraction = min(progress["elapsed_s"] / whole_s, 1.0)
                if self.is_cancelled():
                    transfer.cancel()
                    transfer.wait(_GOODBYE_S)
                    raise _core.Cancelled("stopped")
        except BaseException:
            transfer.cancel()
            raise


class Xfer:
    """Runs the flows of experiments on a real path."""

    name = "xfer"

    def __init__(
        self, peer: str | None = None, token: str | None = None, *, plain: bool = False
    ) -> None:
        """Name the other end of the path.

        Args:
            peer: Where `fairway collect` waits, `HOST[:PORT]`; if not given, `FAIRWAY_PEER`.
            token: As it printed it; if not given, `FAIRWAY_TOKEN`.
            plain: Whether it runs with `--plain`.

        Raises:
            InputError: If one of the two is not known.
        """
        self._peer = peer or os.environ.get(PEER_VARIABLE, "")
        found = token or os.environ.get(TOKEN_VARIABLE, "")
        self._token = found.strip().removeprefix("token:").strip()
        self._plain = plain
        for value, option, variable in (
            (self._peer, "--peer HOST[:PORT]", PEER_VARIABLE),
            (self._token, "--token TOKEN", TOKEN_VARIABLE),
        ):
            if not value:
                raise InputError(
                    f"--backend xfer: give {option} or {variable}; `fairway collect` at the "
                    "other end of the path prints where it waits and the token"
                )

    def control(self) -> Control:
        """A fresh handle to follow or stop one run."""
        return Control()

    def engine(self) -> str:
        """SHA-256 of the compiled module and the other end: another path is another answer."""
        code = Path(_core.__file__ or "").read_bytes()
        return hashlib.sha256(hashlib.sha256(code).digest() + self._peer.encode()).hexdigest()

    def check(self, experiment: dict[str, Any], algorithms: Algorithms | None = None) -> None:
        """Refuse, by name, what cannot be done on a real path.

        Raises:
            fairway.ExperimentError: With every such key.
        """
        _core.xfer_layout(json.dumps(experiment), algorithms)

    def run(
        self,
        experiment: dict[str, Any],
        control: Control | None = None,
        algorithms: Algorithms | None = None,
    ) -> Run:
        """Carry out one experiment.

        Raises:
            fairway.ExperimentError: If the experiment is not valid, or a path cannot do it.
            fairway.Cancelled: If `control` was cancelled.
            InputError: If a kernel on the way has not what a flow asks for.
            RunFailed: If the collector cannot be reached, or the flows broke.
        """
        layout = json.loads(_core.xfer_layout(json.dumps(experiment), algorithms))
        options = {
            **layout["options"],
            "to": self._peer,
            "token": self._token,
            "plain": self._plain,
        }
        measure = {"title": experiment.get("title"), "interval_s": layout["interval_s"]}
        job = {"job": "generate", "options": options, "measure": measure}
        started = time.perf_counter()
        with _TURN:
            data = _carried_out(job, control or Control())
        return _run(experiment, data, time.perf_counter() - started)


def _carried_out(job: dict[str, Any], control: Control) -> _core.TransferData:
    try:
        transfer = _core.Transfer(json.dumps(job), True)
        control.follow(transfer)
        transfer.result()
    except _core.TransferError as error:
        message, kind = error.args
        kinds: dict[str, type[FairwayError]] = {"input": InputError}
        raise kinds.get(kind, RunFailed)(message) from None
    sessions = transfer.sessions()
    if not sessions:
        raise RunFailed("the generator has measured nothing")
    return sessions[-1]


def _run(experiment: dict[str, Any], data: _core.TransferData, wall_s: float) -> Run:
    taken, about = json.loads(data.taken), json.loads(data.about)
    # The applications of the file are not known to a generator, but as flows.
    measured = {**json.loads(data.summary), "applications": []}
    own = [key for key in _OF_THE_PATH if experiment.get(key)]
    remark = (
        f"{' and '.join(own)} of the file: a real path and its hosts have their own"
        if own
        else "the network is that of a real path"
    )
    return Run(
        experiment=experiment,
        summary={
            **completed(measured, wall_s, {}),
            "transfer": {**about, **taken, "failure": data.failure},
            "warnings": [remark],
        },
        series=functools.partial(_series, data),
        queues=_queues,
        version=_core.version(),
        tcp_info=functools.partial(_tcp_info, data),
    )


def _series(data: _core.TransferData) -> pl.DataFrame:
    from fairway.tables import series_frame

    return series_frame(data.series(), data.flow_ids)


def _tcp_info(data: _core.TransferData) -> pl.DataFrame:
    from fairway.tables import tcp_info_frame

    return tcp_info_frame(data.tcp_info(), data.flow_ids)


def _queues() -> pl.DataFrame:
    """No queue of a real path can be looked into."""
    import polars as pl

    from fairway.tables import QUEUE_SCHEMA

    return pl.DataFrame(schema=QUEUE_SCHEMA)
