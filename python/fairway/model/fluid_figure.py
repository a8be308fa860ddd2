"""Curves of a fluid model, alone or over those of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from fairway.plot.figures import MAX_POINTS, PALETTE, inline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairway.model.fluid import Curves, Fluid

#: A line: times in seconds, and values.
Line = tuple[Any, Any]


def chart(asked: Fluid, curves: Curves) -> alt.VConcatChart:
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


def stacked(*panels: alt.Chart) -> alt.VConcatChart:
    """Panels below each other, each with its own colours."""
    column: alt.VConcatChart = alt.vconcat(*panels).resolve_scale(color="independent")
    return column


def panel(
    lines: Mapping[str, Line], title: str, told: str, *, width: int = 640, height: int = 180
) -> alt.Chart:
    """Lines over time, the first below the others; `told` describes the chart."""
    frame = pl.concat(
        pl.DataFrame({"t": list(times), "v": list(values)})
        .gather_every(max(1, len(times) // MAX_POINTS))
        .select(pl.lit(name).alias("id"), pl.col("t").round(3), pl.col("v").round_sig_figs(5))
        for name, (times, values) in lines.items()
    )
    end = float(frame["t"].max() or 0.0)  # type: ignore[arg-type]
    drawn: alt.Chart = (
        alt.Chart(inline(frame, t="number", v="number"), description=told)
        .mark_line(strokeWidth=1.4, strokeJoin="round", clip=True)
        .encode(
            x=alt.X("t:Q", title="Time (s)", scale=alt.Scale(domain=[0, end], nice=False)),
            y=alt.Y("v:Q", title=title, axis=alt.Axis(tickCount=5)),
            color=alt.Color(
                "id:N",
                scale=alt.Scale(domain=list(lines), range=PALETTE),
                legend=alt.Legend(orient="top", title=None, symbolType="stroke", labelLimit=240)
                if len(lines) > 1
                else None,
            ),
        )
        .properties(width=width, height=height)
    )
    return drawn
