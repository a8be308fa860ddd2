"""Curves of a fluid model, alone or over those of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from fairway.plot import vega
from fairway.plot.figures import PALETTE, inline
from fairway.plot.over_time import MAX_POINTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairway.model.fluid import Curves, Fluid

#: A line: times in seconds, and values.
Line = tuple[Any, Any]


def chart(asked: Fluid, curves: Curves) -> vega.Chart:
    """Mean windows of all classes, and the queue with its average."""
    windows = {
        _name(asked, index): (curves.time_s, window) for index, window in enumerate(curves.windows)
    }
    queue: dict[str, Line] = {"queue": (curves.time_s, curves.queue_packets)}
    if hasattr(asked.queue, "weight"):
        queue["average"] = (curves.time_s, curves.average_packets)
    return stacked(
        panel(windows, "Mean window (packets)", "Mean window of each class of flows over time"),
        panel(queue, "Queue (packets)", "Queue over time, and its average"),
    )


def _name(asked: Fluid, index: int) -> str:
    flows = asked.classes[index]
    return f"{flows.flows:g} {flows.cc}, {flows.rtt_s * 1e3:g} ms"


def stacked(*panels: vega.Chart) -> vega.Chart:
    """Panels below each other, each with its own colours."""
    column: vega.Chart = vega.vconcat(*panels).resolve_scale(color="independent")
    return column


def panel(
    lines: Mapping[str, Line], title: str, told: str, *, width: int = 640, height: int = 180
) -> vega.Chart:
    """Lines over time, the first below the others; `told` describes the chart."""
    frame = pl.concat(
        pl.DataFrame({"t": list(times), "v": list(values)})
        .gather_every(max(1, len(times) // MAX_POINTS))
        .select(pl.lit(name).alias("id"), pl.col("t").round(3), pl.col("v").round_sig_figs(5))
        for name, (times, values) in lines.items()
    )
    end = float(frame["t"].max() or 0.0)  # type: ignore[arg-type]
    drawn: vega.Chart = (
        vega.Chart(inline(frame, t="number", v="number"), description=told)
        .mark("line", strokeWidth=1.4, strokeJoin="round", clip=True)
        .encode(
            x=vega.field("t:Q", title="Time (s)", scale=vega.scale(domain=[0, end], nice=False)),
            y=vega.field("v:Q", title=title, axis=vega.axis(tickCount=5)),
            color=vega.field(
                "id:N",
                scale=vega.scale(domain=list(lines), range=PALETTE),
                legend=vega.legend(orient="top", title=None, symbolType="stroke", labelLimit=240)
                if len(lines) > 1
                else None,
            ),
        )
        .properties(width=width, height=height)
    )
    return drawn
