"""Analytic models as a backend: an answer without a run."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.backends.control import Control
from fairway.backends.sim import completed
from fairway.ground import digest
from fairway.results.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairway.algorithm import Algorithms

#: What summaries have of every flow, and models do not say.
_UNKNOWN_OF_FLOWS = (
    "sent_segments",
    "retransmitted_segments",
    "lost_segments",
    "dropped_segments",
    "duplicate_segments",
    "window_reductions",
    "timeouts",
    "ctt_s",
    "route",
)
#: The same of datagram flows besides.
_UNKNOWN_OF_DATAGRAMS = (
    "received_packets",
    "reordered_packets",
    "duplicated_packets",
    "jitter_s",
    "p50_one_way_delay_s",
    "p95_one_way_delay_s",
    "p99_one_way_delay_s",
)
_UNKNOWN_OF_LINKS = (
    "drops",
    "losses",
    "marks",
    "p50_sojourn_s",
    "p95_sojourn_s",
    "p99_sojourn_s",
)


class Models:
    """Answers experiments from closed forms and fixed points."""

    name = "model"

    def control(self) -> Control:
        """A fresh handle; there is nothing to follow or stop."""
        return Control()

    def engine(self) -> str:
        """SHA-256 of the compiled module."""
        return digest.of_file(digest.MODULE)

    def check(self, experiment: dict[str, Any], algorithms: Algorithms | None = None) -> None:
        """Refuse, by name, what no model covers.

        Raises:
            fairway.ExperimentError: With every such key, and the backends that do answer.
        """
        _core.model_answer(json.dumps(experiment), algorithms)

    def run(
        self,
        experiment: dict[str, Any],
        control: Control | None = None,
        algorithms: Algorithms | None = None,
    ) -> Run:
        """Answer one experiment.

        Raises:
            fairway.ExperimentError: If the experiment is not valid, or no model covers it.
        """
        del control
        started = time.perf_counter()
        found = json.loads(_core.model_answer(json.dumps(experiment), algorithms))
        summary = _summary(experiment, found)
        own = {} if algorithms is None else algorithms.used(experiment)
        return Run(
            experiment=experiment,
            summary=completed(summary, time.perf_counter() - started, own),
            version=_core.version(),
        )


def _summary(experiment: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What models say, with everything else that a summary has."""
    flows = [_flow(flow) for flow in found["flows"]]
    links = [{**dict.fromkeys(_UNKNOWN_OF_LINKS), **link} for link in found["links"]]
    applications = [{**entry, "figures": {}} for entry in found.get("applications", [])]
    outside = dict.fromkeys(
        f"{entry['model']['name']} is outside of its range: {entry['model']['outside']}"
        for entry in (*flows, *links)
        if not entry["model"]["in_range"]
    )
    return {
        "title": experiment.get("title", "untitled"),
        "backend": "model",
        "seed": experiment.get("seed", 1),
        "packets": None,
        "flows": flows,
        **({"applications": applications} if applications else {}),
        "links": links,
        "metrics": found["metrics"],
        **({"warnings": list(outside)} if outside else {}),
    }


def _flow(flow: dict[str, Any]) -> dict[str, Any]:
    names = (*_UNKNOWN_OF_FLOWS, *(_UNKNOWN_OF_DATAGRAMS if flow["cc"] is None else ()))
    return {**dict.fromkeys(names), **flow}
