"""Measures and draws goodput against the number of connections: simulator beside real stack.

    .venv/bin/python tools/docs/parallel.py

It needs the kernel that `fairway linux build` makes, and a minute.
"""

from __future__ import annotations

import sys
from typing import Any

import polars as pl
from figures import digest, shortened
from reference import DOCS, table

import fairway
from fairway.ground import text
from fairway.plot import vega
from fairway.plot.figures import drawn, inline, print_config
from fairway.sweep.result import Sweep

EXPERIMENT = DOCS.parent / "examples" / "transfers" / "windows.toml"
FIGURE = DOCS / "parallel-tcp.svg"
AXIS = "flow.transfer.connections"
#: What answers, in the words of the figure.
SIDES = {"sim": "simulator", "linux": "fairway send on Linux"}


def measured(backend: str) -> list[dict[str, Any]]:
    """Goodput and losses for every number of connections."""
    found = fairway.run(EXPERIMENT, backend=backend)
    assert isinstance(found, Sweep)
    rows = []
    for outcome in found.outcomes:
        application = outcome.run.summary["applications"][0]
        rows.append(
            {
                "connections": int(outcome.point.axes[AXIS]),
                "side": SIDES[backend],
                "goodput": application["goodput_bps"] / 1e6,
                "loss": outcome.run.summary["metrics"]["loss_ratio"],
            }
        )
    return rows


def figure(frame: pl.DataFrame) -> vega.Chart:
    """Goodput over connections, a line for each side."""
    x = vega.field("connections:Q", title="Connections")
    y = vega.field("goodput:Q", title="Goodput in Mbit/s", scale=vega.scale(domain=[0, 10]))
    colour = vega.field("side:N", title=None, legend=vega.legend(orient="bottom"))
    dash = vega.field("side:N", title=None)
    shown = inline(frame.select("connections", "side", "goodput"))
    chart = vega.Chart(shown).mark("line", point=True)
    return chart.encode(x=x, y=y, color=colour, strokeDash=dash).properties(width=420, height=260)


def main() -> int:
    """Print the table and draw the figure."""
    frame = pl.DataFrame([row for backend in SIDES for row in measured(backend)])
    rows = []
    for number in frame["connections"].unique().sort():
        of = {row["side"]: row for row in frame.filter(connections=number).to_dicts()}
        ours, real = (of[side] for side in SIDES.values())
        rows.append(
            [
                str(number),
                text.number(ours["goodput"]),
                text.number(real["goodput"]),
                text.percent(ours["loss"], signed=False),
                text.percent(real["loss"], signed=False),
            ]
        )
    heads = [
        "connections",
        *(f"{what}, {side}" for what in ("Mbit/s", "lost") for side in SIDES.values()),
    ]
    print(table(heads, rows))  # noqa: T201
    chart = figure(frame).properties(config=print_config())
    FIGURE.write_text(shortened(drawn(chart, "svg").decode()) + digest(chart), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
