"""A real path as a backend: a generator here carries out the flows, towards a collector there."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.backends.control import Control
from fairway.backends.sim import completed
from fairway.backends.transfer import jobs, record
from fairway.backends.transfer.token import TOKEN_VARIABLE, bare
from fairway.errors import InputError, RunFailed
from fairway.ground import digest
from fairway.results.run import Run

#: Where the collector is if nothing else says.
PEER_VARIABLE = "FAIRWAY_PEER"
#: What of an experiment the path and its hosts have of their own.
_OF_THE_PATH = ("topology", "stack", "linux")
#: Runs take turns: two at once would share the path.
_TURN = threading.Lock()


class Xfer:
    """Runs the flows of experiments on a real path."""

    name = "xfer"

    def __init__(
        self, peer: str | None = None, token: str | None = None, *, plain: bool = False
    ) -> None:
        """Take HOST[:PORT] and token as `fairway collect` prints them, or from the environment."""
        self._peer = peer or os.environ.get(PEER_VARIABLE, "")
        self._token = bare(token)
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

    def control(self, cores: int = 1) -> Control:  # noqa: ARG002
        """A fresh handle to follow or stop one run."""
        return Control()

    def engine(self) -> str:
        """SHA-256 of the compiled module and the other end: another path is another answer."""
        return hashlib.sha256((digest.of_file(digest.MODULE) + self._peer).encode()).hexdigest()

    def check(
        self,
        experiment: _core.Planned | dict[str, Any],
        algorithms: Algorithms | None = None,
    ) -> None:
        """Refuse, by name, what cannot be done on a real path."""
        _core.xfer_layout(experiment, algorithms)

    def run(
        self,
        experiment: dict[str, Any],
        control: Control | None = None,
        algorithms: Algorithms | None = None,
    ) -> Run:
        """Carry out one experiment."""
        layout = json.loads(_core.xfer_layout(experiment, algorithms))
        options = {
            **layout["options"],
            "to": self._peer,
            "token": self._token,
            "plain": self._plain,
        }
        measure = {"title": experiment.get("title"), "interval_s": layout["interval_s"]}
        job = {"job": "generate", "options": options, "measure": measure}
        started = time.perf_counter()
        followed = _Followed(control or Control())
        with _TURN:
            jobs.follow(job, followed, samples=True)
        return followed.run(experiment, time.perf_counter() - started)


class _Followed:
    """Hears how the flows go (`jobs.Listener`), and makes a run of it."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._warnings: list[str] = []
        self._data: _core.TransferData | None = None

    def event(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "warning":
            self._warnings.append(event["text"])

    def progress(self, progress: Mapping[str, Any]) -> None:
        if progress["duration_s"]:
            self._control.reached(progress["elapsed_s"] / progress["duration_s"])
        if self._control.is_cancelled():
            raise _core.Cancelled("stopped")

    def session(self, session: _core.TransferData) -> None:
        self._data = session

    def run(self, experiment: dict[str, Any], wall_s: float) -> Run:
        """The answer to an experiment whose flows have ended."""
        data = self._data
        if data is None:
            raise RunFailed("the generator has measured nothing")
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
                "transfer": record.told(data),
                "warnings": [remark, *self._warnings],
            },
            series=functools.partial(record.series, data),
            version=_core.version(),
            tcp_info=functools.partial(record.tcp_info, data),
        )
