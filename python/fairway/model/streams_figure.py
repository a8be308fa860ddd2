"""How the models of parallel streams are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import altair as alt
import polars as pl

from fairway.plot.figures import PALETTE, inline

if TYPE_CHECKING:
    from fairway.model.streams import Streams

#: Points along a line: more than can be told apart are thinned out.
_MOST_POINTS = 400
#: Numbers of streams up to which each is a dot.
MOST_DOTS = 60


def chart(found: Streams, *, width: int, height: int) -> alt.VConcatChart:
    """Utilisation above loss, over the number of streams, with the threshold marked."""
    table = found.table
    step = max(1, len(table) // _MOST_POINTS)
    rows = table.gather_every(step).select(
        pl.col("streams").alias("n"),
        (pl.col("utilisation") * 100).round_sig_figs(5).alias("u"),
        (pl.col("loss_ratio") * 100).round_sig_figs(4).alias("p"),
    )
    data = inline(rows, n="number", u="number", p="number")
    last = max(2, len(table))
    panels = [
        _panel(data, found, column, title, colour, last).properties(width=width, height=height)
        for column, title, colour in (
            ("u", "Utilisation (%)", PALETTE[0]),
            ("p", "Packets lost (%)", PALETTE[1]),
        )
    ]
    described = f"Utilisation and loss of {found.cc} over the number of streams. {found.reason}"
    return alt.vconcat(*panels).properties(
        title=alt.Title(found.reason, anchor="start", fontSize=12, fontWeight="normal"),
        description=described,
    )


def _panel(
    data: alt.InlineData, found: Streams, column: str, title: str, colour: str, last: int
) -> alt.LayerChart:
    x = alt.X(
        "n:Q",
        title="Streams",
        scale=alt.Scale(domain=[1, last], nice=False),
        axis=alt.Axis(tickMinStep=1, format="d"),
    )
    line = (
        alt.Chart(data)
        .mark_line(
            point=alt.OverlayMarkDef(color=colour) if last <= MOST_DOTS else False,
            color=colour,
            strokeWidth=1.4,
        )
        .encode(x=x, y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=True)),
                tooltip=["n:Q", f"{column}:Q"])
    )  # fmt: skip
    layers: list[alt.Chart] = [line]
    if column == "u":
        goal = inline(pl.DataFrame({"y": [100 * found.target]}), y="number")
        layers.append(alt.Chart(goal).mark_rule(strokeDash=[4, 3], color="#666").encode(y="y:Q"))
    if found.threshold is not None and found.threshold <= last:
        at = inline(pl.DataFrame({"x": [found.threshold]}), x="number")
        layers.append(alt.Chart(at).mark_rule(color="#666").encode(x=alt.X("x:Q")))
    return cast(alt.LayerChart, alt.layer(*layers))
