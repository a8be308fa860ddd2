"""Windows of throughput laws over loss, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairway.model.answer import Answer
from fairway.model.laws import ask
from fairway.plot.figures import inline

#: Losses that are drawn, as powers of ten, and points from one to the next.
POWERS, POINTS = (-7, -1), 40


def windows_over_loss(
    laws: Mapping[str, Mapping[str, float]], width: int = 460, height: int = 300
) -> alt.LayerChart:
    """Mean window over loss, a line for each law; dotted where the law leaves its range."""
    first, last = POWERS
    loss = np.logspace(first, last, (last - first) * POINTS + 1)
    table = pl.concat(
        _parts(name, loss, ask(name, loss=loss, **given)) for name, given in laws.items()
    ).with_columns(pl.col("loss", "window").round_sig_figs(6))
    decades = [10.0**power for power in range(first, last + 1)]
    x = alt.X(
        "loss:Q",
        title="loss probability",
        scale=alt.Scale(type="log", domain=[decades[0], decades[-1]], nice=False),
        axis=alt.Axis(format="~e", values=decades),
    )
    y = alt.Y(
        "window:Q",
        title="mean window (packets)",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~g", values=[10.0**power for power in range(-2, 13)]),
    )
    color = alt.Color(
        "law:N", title=None, scale=alt.Scale(domain=list(laws)), legend=alt.Legend(orient="top")
    )
    title = "Mean window over loss probability by throughput laws"
    layers = [
        alt.Chart(
            inline(table.filter(kept), loss="number", window="number", part="number"),
            description=title,
        )
        .mark_line(strokeWidth=1.6, strokeDash=dash)
        .encode(x=x, y=y, color=color, detail="part:N")
        for kept, dash in ((~pl.col("outside"), [1, 0]), (pl.col("outside"), [2, 3]))
    ]
    layered = alt.layer(*layers).properties(width=width, height=height, description=title)
    return cast(alt.LayerChart, layered)


def _parts(law: str, loss: NDArray[Any], answer: Answer) -> pl.DataFrame:
    """Points of a line, cut where the law leaves its range; each part goes on to the next one."""
    outside = ~answer.in_range
    part = np.cumsum(np.diff(outside, prepend=outside[0]))
    frame = pl.DataFrame(
        {"law": law, "loss": loss, "window": answer.window_packets, "part": part,
         "outside": outside}
    )  # fmt: skip
    ends = frame.with_columns(pl.col("part", "outside").shift(1)).filter(
        pl.col("outside") != pl.Series(outside)
    )
    return pl.concat([frame, ends]).sort("part", "loss")
