"""Draws windows and queue of the fluid model over those of the simulator.

    .venv/bin/python tools/docs/fluid.py

It takes some seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import polars as pl
from figures import digest, shortened
from reference import DOCS

import fairway
from fairway.model.fluid_figure import panel, stacked
from fairway.plot import vega
from fairway.plot.figures import drawn, print_config
from fairway.results.run import Run
from fairway.study.files import load_study

sys.path.insert(0, str(DOCS.parent / "tools"))
from fluid_study import STUDY, fluid_of

FIGURE = DOCS / "fluid.svg"
#: The points of Reno that are drawn: one whose fluid rests, and one that swings.
SCENARIOS = {"red-50": "RED, 50 flows, 50 ms", "tail-50": "drop-tail, 50 flows, 50 ms"}
SECONDS = (15.0, 21.0)


def simulated(scenario: Mapping[str, Any]) -> Run:
    """One run of a point of the study."""
    values = {**scenario, "flow.0.cc": "reno", "measure.sample": "20 ms"}
    found = fairway.run(STUDY / "path.toml", overrides=values)
    assert isinstance(found, Run)
    return found


def between(times: Any, values: Any) -> tuple[list[float], list[float]]:
    """What lies in the time that is drawn."""
    first, last = SECONDS
    kept = [(t - first, v) for t, v in zip(times, values, strict=True) if first <= t <= last]
    return [t for t, _ in kept], [v for _, v in kept]


def panels(scenario: Mapping[str, Any], name: str) -> list[Any]:
    """The mean window, and the queue, of packets and of the fluid."""
    run = simulated(scenario)
    curves = fluid_of(scenario, "reno").run(120.0, 12_001)
    windows = run.series.group_by("t_s").agg(pl.col("cwnd_segments").mean()).sort("t_s")
    queues = run.queues.filter(pl.col("link") == "bottleneck")
    # From 80 s on the fluid has reached its rhythm; where in it a simulation is, is chance.
    late = curves.time_s >= 80.0
    times = curves.time_s[late] - 80.0 + SECONDS[0]
    size: dict[str, Any] = {"width": 640, "height": 120}
    return [
        panel(
            {
                "packets": between(windows["t_s"], windows["cwnd_segments"]),
                "fluid": between(times, curves.windows[0][late]),
            },
            "Mean window",
            f"Mean window over time, {name}: packets and fluid",
            **size,
        ).properties(title=name),
        panel(
            {
                "packets": between(queues["t_s"], queues["backlog_packets"]),
                "fluid": between(times, curves.queue_packets[late]),
            },
            "Queue (packets)",
            f"Queue over time, {name}: packets and fluid",
            **size,
        ),
    ]


def figure() -> vega.Chart:
    """All of them, below each other."""
    scenarios = load_study(STUDY).part.scenarios
    return stacked(
        *(part for key, name in SCENARIOS.items() for part in panels(scenarios[key], name))
    )


def main() -> int:
    """Draw the figure."""
    chart = figure().properties(config=print_config())
    FIGURE.write_text(shortened(drawn(chart, "svg").decode()) + digest(chart), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
