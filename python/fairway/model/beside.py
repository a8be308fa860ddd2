"""What models say beside what was measured: prediction, measurement and what is left."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

#: Figures of flows, links and runs that models predict.
OF_FLOWS = (
    "goodput_bps",
    "mean_cwnd_segments",
    "mean_srtt_s",
    "mean_one_way_delay_s",
    "fct_s",
    "loss_ratio",
)
OF_LINKS = ("utilisation", "mean_backlog_packets", "mean_sojourn_s")
OF_RUNS = ("goodput_bps", "jain_index", "asymmetry", "unfairness", "utilisation", "loss_ratio")


def beside(answer: str, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What models say of a run, for its `summary["model"]`.

    Args:
        answer: What they say, as the compiled module gives it.
        summary: What was measured.

    Returns:
        `{"refused": [sentence, …]}` where no model covers the experiment. Otherwise `sources`, the
        source of each model by its name, and `flows`, `links` and `metrics` with what models say
        and its `residual`, measured / predicted - 1 by figure.
    """
    found = json.loads(answer)
    if "refused" in found:
        return {"refused": found["refused"]}
    flows = {flow["id"]: flow for flow in summary["flows"]}
    links = {link["id"]: link for link in summary["links"]}
    entries = (*found["flows"], *found["links"])
    return {
        "sources": {entry["model"]["name"]: entry["model"]["source"] for entry in entries},
        "flows": [_entry(flow, flows.get(flow["id"]), OF_FLOWS) for flow in found["flows"]],
        "links": [_entry(link, links.get(link["id"]), OF_LINKS) for link in found["links"]],
        "metrics": _figures(found["metrics"], summary["metrics"], OF_RUNS),
    }


def measured(entry: Mapping[str, Any], name: str) -> float | None:
    """A figure of a flow, a link or a run, as it was measured."""
    if name == "loss_ratio" and "lost_segments" in entry:
        sent = entry["sent_segments"]
        return entry["lost_segments"] / sent if sent else None
    value = entry.get(name)
    return None if value is None else float(value)


def residual(predicted: float | None, found: float | None) -> float | None:
    """Measured / predicted - 1; None where one of them is missing, or the prediction is zero."""
    if predicted is None or found is None or predicted == 0:
        return None
    left = found / predicted - 1
    return left if math.isfinite(left) else None


def reasons(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each model that is outside of its range, and why."""
    said = {
        (entry["model"], entry["outside"]): None
        for entry in (*model["flows"], *model["links"])
        if not entry["in_range"]
    }
    yield from said


def _entry(
    predicted: Mapping[str, Any], found: Mapping[str, Any] | None, names: tuple[str, ...]
) -> dict[str, Any]:
    basis = predicted["model"]
    return {
        "id": predicted["id"],
        "model": basis["name"],
        "in_range": basis["in_range"],
        "outside": basis["outside"],
        **_figures(predicted, found or {}, names),
    }


def _figures(
    predicted: Mapping[str, Any], found: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, Any]:
    return {
        **{name: predicted[name] for name in names},
        "residual": {name: residual(predicted[name], measured(found, name)) for name in names},
    }
