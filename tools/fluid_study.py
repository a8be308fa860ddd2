"""What the fluid model says of each point of the study `fluid`.

`python tools/fluid_study.py` writes it to the study's published numbers; a test holds that
they are what the model says now.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.model.fluid import DropTail, Flows, Fluid, Red
from fairway.study.files import load_study

STUDY = Path(__file__).resolve().parents[1] / "python" / "fairway" / "studies" / "fluid"
COLUMNS = ("scenario", "cc", "window_packets", "windows_packets", "queue_packets", "dropped")
#: How long the equations run, the second half of which counts.
DURATION_S = 200.0


def fluid_of(scenario: Mapping[str, Any], cc: str) -> Fluid:
    """The fluid of a scenario: its keys are those of the experiment."""
    bottleneck = "topology.bottleneck"
    rate_bps = float(_core.quantity(scenario[f"{bottleneck}.rate"], "rate"))
    one_way_s = _core.quantity(scenario[f"{bottleneck}.delay"], "duration") / 1e9
    # Ten packets are the first window of Linux.
    flows = Flows(scenario["flow.0.count"], 2.0 * one_way_s, cc, first_window=10.0)
    return Fluid(rate_bps, [flows], _queue(scenario[f"{bottleneck}.queue"]))


def _queue(keys: Mapping[str, Any]) -> Red | DropTail:
    limit = _packets(keys["limit"])
    if keys["kind"] == "droptail":
        return DropTail(limit)
    return Red(
        _packets(keys["min_threshold"]),
        _packets(keys["max_threshold"]),
        keys["max_probability"],
        keys["weight"],
        limit_packets=limit,
    )


def _packets(text: str) -> float:
    return float(text.removesuffix(" packets"))


def rows() -> list[dict[str, str]]:
    """The study's published numbers, as text with as many digits as the model is good for."""
    study = load_study(STUDY).part
    found = []
    for name, scenario in study.scenarios.items():
        for cc in study.axes["flow.0.cc"]:
            means = fluid_of(scenario, cc).run(DURATION_S).means
            window = means["windows"][0]
            all_windows = scenario["flow.0.count"] * window
            values = (window, all_windows, means["queue_packets"], means["dropped"])
            texts = (name, cc, *(f"{value:.4g}" for value in values))
            found.append(dict(zip(COLUMNS, texts, strict=True)))
    return found


def main() -> None:
    """Write them."""
    with (STUDY / "published" / "fluid.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows())


if __name__ == "__main__":
    main()
