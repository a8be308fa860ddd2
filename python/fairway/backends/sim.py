"""The deterministic packet-level simulator as a backend."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.errors import InputError
from fairway.ground import digest
from fairway.results.captures import ELSEWHERE, are_wanted, new_directory
from fairway.results.run import Run


class Simulator:
    """Runs experiments in the compiled simulator, without holding the GIL."""

    name = "sim"

    def control(self, cores: int = 1) -> _core.Control:
        """A fresh handle to follow or stop one run, which may use so many cores."""
        return _core.Control(cores)

    def engine(self) -> str:
        """SHA-256 of the compiled module: two builds of one version may differ."""
        return digest.of_file(digest.MODULE)

    def check(
        self,
        experiment: _core.Planned | dict[str, Any],
        algorithms: Algorithms | None = None,
    ) -> None:
        """Refuse what only a kernel runs, and captures at places that do not exist."""
        if are_wanted(experiment) or any(map(_may_need_a_kernel, experiment.get("flow", []))):
            _core.check_for_simulator(experiment, algorithms)

    def run(
        self,
        experiment: dict[str, Any],
        control: _core.Control | None = None,
        algorithms: Algorithms | None = None,
    ) -> Run:
        """Simulate one experiment."""
        started = time.perf_counter()
        captures = new_directory() if are_wanted(experiment) else None
        try:
            place = None if captures is None else captures.path
            data = _core.run(experiment, control, algorithms, place)
        except OSError as error:
            raise InputError(f"{error}; {ELSEWHERE}") from None
        wall_s = time.perf_counter() - started
        own = {} if algorithms is None else algorithms.used(experiment)
        return Run(
            experiment=experiment,
            summary=completed(json.loads(data.summary), wall_s, own),
            series=lambda: tables().series_of(data.series, data.flow_ids),
            queues=lambda: tables().queues_of(data.queues, data.link_ids),
            losses=None
            if data.losses is None
            else lambda: tables().losses_of(
                data.losses or {}, data.loss_flow_ids, data.loss_link_ids
            ),
            version=_core.version(),
            captures=captures,
        )


def _may_need_a_kernel(flow: Mapping[str, Any]) -> bool:
    """Whether it may be for a kernel alone: reading every experiment for that would take time."""
    commands = "program" in flow or "server" in flow or flow.get("kind") == "program"
    return commands or flow.get("connections") == "auto"


def tables() -> Any:
    """The module that makes tables, loaded for the first: most sweeps read summaries alone."""
    from fairway.results import tables

    return tables


def completed(summary: dict[str, Any], wall_s: float, own: Mapping[str, Any]) -> dict[str, Any]:
    """The summary with `wall_s` (seconds of real time) and the user's own algorithms, if any."""
    named = ("title", "backend", "seed")
    head = {key: summary[key] for key in named if key in summary}
    rest = {key: value for key, value in summary.items() if key not in named}
    code = {"algorithms": dict(own)} if own else {}
    return {**head, "wall_s": round(wall_s, 3), **code, **rest}
