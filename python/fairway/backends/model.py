"""Analytic models as a backend: an answer without a run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.backends.control import Control
from fairway.backends.sim import completed
from fairway.ground import digest, result_schema
from fairway.results.run import Run


class Models:
    """Answers experiments from closed forms and fixed points."""

    name = "model"

    def control(self, cores: int = 1) -> Control:  # noqa: ARG002
        """A fresh handle; there is nothing to follow or stop."""
        return Control()

    def engine(self) -> str:
        """SHA-256 of the compiled module."""
        return digest.of_file(digest.MODULE)

    def check(
        self,
        experiment: _core.Planned | dict[str, Any],
        algorithms: Algorithms | None = None,
    ) -> None:
        """Refuse, by name, what no model covers."""
        _core.model_answer(experiment, algorithms)

    def run(
        self,
        experiment: dict[str, Any],
        control: Control | None = None,
        algorithms: Algorithms | None = None,
    ) -> Run:
        """Answer one experiment."""
        del control
        started = time.perf_counter()
        found = json.loads(_core.model_answer(experiment, algorithms))
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
    links = [_completed(link, "links") for link in found["links"]]
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
    return _completed(flow, "flows", *(["datagrams"] if flow["cc"] is None else []))


def _completed(row: dict[str, Any], *tables: str) -> dict[str, Any]:
    """A row with null for every column that the model does not give."""
    names = (
        column.name
        for table in tables
        for column in result_schema.columns(table).values()
        if column.name not in row and not column.optional
    )
    return {**dict.fromkeys(names), **row}
