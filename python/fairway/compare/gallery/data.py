"""Algorithms on show: each in the scenario that shows it best, and all on the same paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.experiment import scenarios
from fairway.ground import text
from fairway.results.run import Run
from fairway.sweep.outcome import Outcome
from fairway.sweep.result import Sweep

#: What is shown of a run in numbers: name -> where it stands in a summary.
_FLOW_COLUMNS = (
    "goodput_bps",
    "mean_cwnd_segments",
    "mean_srtt_s",
    "retransmitted_segments",
    "window_reductions",
    "timeouts",
)
_LINK_COLUMNS = ("utilisation", "mean_backlog_packets", "p99_sojourn_s")


@dataclass(frozen=True)
class PortraitData:
    """An algorithm in its canonical scenario.

    Attributes:
        algorithm: Its entry in `registry.algorithms()`.
    """

    algorithm: Mapping[str, Any]
    scenario: scenarios.Scenario
    run: Run

    @property
    def flows(self) -> list[str]:
        """Names of the algorithm's own flows."""
        return [flow["id"] for flow in self.run.summary["flows"] if self._is_own(flow["id"])]

    @property
    def others(self) -> list[str]:
        """Names of the flows that it meets."""
        return [flow["id"] for flow in self.run.summary["flows"] if not self._is_own(flow["id"])]

    def _is_own(self, flow: str) -> bool:
        return scenarios.is_own(flow, self.algorithm)

    def __repr__(self) -> str:
        return f"<Portrait of {self.algorithm['title']}: {self.scenario.title}>"


class GalleryData:
    """Every algorithm on the same paths.

    Attributes:
        algorithms: Entries of `registry.algorithms()`, one row each.
        sweep: Every run: the algorithms on the first path, then on the second, …
    """

    def __init__(
        self,
        algorithms: Sequence[Mapping[str, Any]],
        paths: Sequence[scenarios.Scenario],
        sweep: Sweep,
    ) -> None:
        self.algorithms = algorithms
        self.paths = paths
        self.sweep = sweep
        self._outcomes = {
            (outcome.point.axes["cc"], outcome.point.axes["path"]): outcome
            for outcome in sweep.outcomes
        }

    def outcome(self, name: str, path: str) -> Outcome:
        """What came of an algorithm on a path, by their names."""
        return self._outcomes[name, path]

    def to_json(self) -> dict[str, Any]:
        """The numbers, as plain data."""
        return {
            "paths": {path.key: path.title for path in self.paths},
            "algorithms": [
                {
                    "name": entry["name"],
                    "family": entry["family"],
                    "variant": scenarios.variant(entry),
                    "paths": {path.key: self.numbers(entry, path) for path in self.paths},
                }
                for entry in self.algorithms
            ],
        }

    def numbers(self, entry: Mapping[str, Any], path: scenarios.Scenario) -> dict[str, Any]:
        """The algorithm's flow and its link; `share` is of the goodput of all flows."""
        summary = self.outcome(entry["name"], path.key).summary
        own, link = summary["flows"][0], summary["links"][0]
        together = sum(flow["goodput_bps"] for flow in summary["flows"])
        return {
            **{name: own[name] for name in _FLOW_COLUMNS},
            "share": own["goodput_bps"] / together if together else None,
            **{name: link[name] for name in _LINK_COLUMNS},
        }

    def __repr__(self) -> str:
        paths = ", ".join(path.key for path in self.paths)
        return f"<Gallery of {text.count(len(self.algorithms), 'algorithm')} on {paths}>"
