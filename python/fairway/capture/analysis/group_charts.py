"""The chart of how connections side by side share what all of them deliver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import altair as alt
import polars as pl

from fairway.plot.figures import PALETTE, inline, zoom

#: Members with a colour of their own; the others are one area.
_COLOURED = len(PALETTE)
_OTHERS = ("the others", "#999999")
#: Steps of the chart at the most: shares of short times only say whose burst came first.
_STEPS = 100


def shares_over_time(report: Mapping[str, Any]) -> pl.DataFrame:
    """Each member's part of what all deliver: columns `t`, `u` in seconds, `k` its name, `v`.

    Members beyond those that have a colour are taken together.
    """
    group = report["group"]
    series = group["series"]
    started_s = report["capture"]["started_s"] or 0.0
    names = _names(group)
    parts = [
        pl.DataFrame({"t": series["t_s"], "all": series["goodput_bps"], "part": parts},
                     schema=dict.fromkeys(("t", "all", "part"), pl.Float64))
        .with_columns(pl.lit(names[one["connection"]]).alias("k"),
                      (pl.col("part") * pl.col("all")).alias("own"))
        for one, parts in zip(group["members"], series["shares"], strict=True)
    ]  # fmt: skip
    count = len(series["t_s"])
    if not count:
        return pl.DataFrame(schema={"t": pl.Float64, "u": pl.Float64, "k": pl.String,
                                    "v": pl.Float64})  # fmt: skip
    step_s = series["interval_s"] * -(-count // _STEPS)
    step = ((pl.col("t") - series["t_s"][0]) / step_s + 1e-6).floor().alias("step")
    added = pl.concat(parts).group_by(step, "k", maintain_order=True).agg(pl.col("own").sum())
    sums = added.group_by("step", maintain_order=True).agg(pl.col("own").sum().alias("sum"))
    begin = pl.col("step") * step_s + (series["t_s"][0] - started_s)
    return (
        added.join(sums, on="step", maintain_order="left")
        .filter(pl.col("sum") > 0)
        .select(begin.round(6).alias("t"), (begin + step_s).round(6).alias("u"), "k",
                (100 * pl.col("own") / pl.col("sum")).round_sig_figs(5).alias("v"))
    )  # fmt: skip


def shares(
    report: Mapping[str, Any], *, width: int | Literal["container"] = 640, height: int = 200
) -> alt.Chart:
    """Shares of the connections over time, one above the other."""
    data = shares_over_time(report)
    order = list(dict.fromkeys(_names(report["group"]).values()))
    if _OTHERS[0] in order:
        order.remove(_OTHERS[0])
        order.append(_OTHERS[0])
    colours = [_OTHERS[1] if name == _OTHERS[0] else PALETTE[i] for i, name in enumerate(order)]
    rank = pl.col("k").replace_strict({name: index for index, name in enumerate(order)},
                                      return_dtype=pl.Int64)  # fmt: skip
    # Vega does not stack what has a beginning and an end in time.
    data = data.sort("t", rank).with_columns(pl.col("v").cum_sum().over("t").alias("b"))
    data = data.with_columns((pl.col("b") - pl.col("v")).alias("a"))
    chart = (
        alt.Chart(
            inline(data, t="number", u="number", v="number", a="number", b="number"),
            description="Share of each connection in what all of them deliver, over time",
        )
        .mark_rect(clip=True)
        .encode(
            x=alt.X("t:Q", title="Time (s)", scale=alt.Scale(zero=False, nice=False),
                    axis=alt.Axis(tickCount=10)),
            x2="u:Q",
            y=alt.Y("a:Q", title="Share (%)", scale=alt.Scale(domain=[0, 100]),
                    axis=alt.Axis(tickCount=5)),
            y2="b:Q",
            color=alt.Color("k:N", title="Connection",
                            scale=alt.Scale(domain=order, range=colours),
                            legend=alt.Legend(orient="top", symbolType="square")),
            tooltip=[
                alt.Tooltip("k:N", title="Connection"),
                alt.Tooltip("t:Q", title="From (s)"),
                alt.Tooltip("v:Q", title="Share (%)"),
            ],
        )
        .properties(width=width, height=height)
        .add_params(
            zoom()
        )
    )  # fmt: skip
    return cast(alt.Chart, chart)


def _names(group: Mapping[str, Any]) -> dict[int, str]:
    """What each member is called in the chart: its number, or one of the others."""
    largest = sorted(group["members"], key=lambda one: -one["goodput_bps"])
    room = _COLOURED if len(largest) <= _COLOURED else _COLOURED - 1
    own = {one["connection"] for one in largest[:room]}
    return {
        one["connection"]: str(one["connection"]) if one["connection"] in own else _OTHERS[0]
        for one in group["members"]
    }
