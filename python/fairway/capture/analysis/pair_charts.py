"""Charts of a direction that was captured at both ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import altair as alt
import polars as pl

from fairway.plot.figures import inline, zoom

#: Okabe and Ito's colours, as in `fairway.plot.figures`.
_BLUE, _RED = "#0072B2", "#D55E00"


def delays(
    course: Sequence[Mapping[str, Any]],
    *,
    width: int | Literal["container"] = 640,
    height: int = 260,
) -> alt.LayerChart:
    """One-way delay over time: a band from least to longest, the mean, and marks at losses."""
    names = ("t_s", "least_delay_s", "mean_delay_s", "most_delay_s")
    schema = dict.fromkeys(names, pl.Float64) | {"lost_packets": pl.Int64}
    frame = pl.DataFrame([{name: row[name] for name in schema} for row in course], schema=schema)
    delays = pl.col(*names[1:]).mul(1e3).name.map(lambda name: name.removesuffix("s") + "ms")
    seen = frame.drop_nulls("mean_delay_s").select("t_s", delays)
    lost = frame.filter(pl.col("lost_packets") > 0).select("t_s", "lost_packets")
    number = dict.fromkeys(seen.columns, "number")
    time = alt.X("t_s:Q", title="Time (s)", scale=alt.Scale(nice=False))
    base = alt.Chart(inline(seen, **number)).encode(x=time)
    title = "One-way delay (ms)"
    band = base.mark_area(opacity=0.25, color=_BLUE, clip=True).encode(
        y=alt.Y("least_delay_ms:Q", title=title, scale=alt.Scale(zero=False)), y2="most_delay_ms:Q"
    )
    line = base.mark_line(color=_BLUE, strokeWidth=1.5, clip=True).encode(
        y=alt.Y("mean_delay_ms:Q", title=title)
    )
    layers: list[Any] = [band, line]
    if not lost.is_empty():
        marks = alt.Chart(inline(lost, t_s="number", lost_packets="number"))
        layers.append(
            marks.mark_tick(color=_RED, thickness=1, size=12, clip=True).encode(
                x=time,
                y=alt.value(6),
                tooltip=[alt.Tooltip("t_s:Q", title="Until (s)"),
                         alt.Tooltip("lost_packets:Q", title="Lost packets")],
            )
        )  # fmt: skip
    layered = alt.layer(*layers).add_params(zoom())
    described = layered.properties(
        width=width,
        height=height,
        description="One-way delay over time; marks at the top are lost packets",
    )
    return cast(alt.LayerChart, described)
