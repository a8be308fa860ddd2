"""What models say beside what was measured: prediction, measurement and what is left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

#: Figures of flows and links that models predict.
OF_FLOWS = (
    "goodput_bps",
    "mean_cwnd_segments",
    "mean_srtt_s",
    "mean_one_way_delay_s",
    "fct_s",
    "loss_ratio",
)
OF_LINKS = ("utilisation", "mean_backlog_packets", "mean_sojourn_s")


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
