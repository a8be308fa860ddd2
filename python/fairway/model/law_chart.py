"""Windows of throughput laws over loss, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairway.model.answer import Answer
from fairway.model.laws import ask
from fairway.plot import vega
from fairway.plot.figures import inline

#: Losses that are drawn, as powers of ten, and points from one to the next.
POWERS, POINTS = (-7, -1), 40


def windows_over_loss(
    laws: Mapping[str, Mapping[str, float]], width: int = 460, height: int = 300
) -> vega.Chart:
    """Mean window over loss, a line for each law; dotted where the law leaves its range."""
    first, last = POWERS
    loss = np.logspace(first, last, (last - first) * POINTS + 1)
    table = pl.concat(
        _parts(name, loss, ask(name, loss=loss, **given)) for name, given in laws.items()
    ).with_columns(pl.col("loss", "window").round_sig_figs(6))
    decades = [10.0**power for power in range(first, last + 1)]
    x = vega.field(
        "loss:Q",
        title="loss probability",
        scale=vega.scale(type="log", domain=[decades[0], decades[-1]], nice=False),
        axis=vega.axis(format="~e", values=decades),
    )
    y = vega.field(
        "window:Q",
        title="mean window (packets)",
        scale=vega.scale(type="log"),
        axis=vega.axis(format="~g", values=[10.0**power for power in range(-2, 13)]),
    )
    color = vega.field(
        "law:N", title=None, scale=vega.scale(domain=list(laws)), legend=vega.legend(orient="top")
    )
    title = "Mean window over loss probability by throughput laws"
    layers = [
        vega.Chart(
            inline(table.filter(kept), loss="number", window="number", part="number"),
            description=title,
        )
        .mark("line", strokeWidth=1.6, strokeDash=dash)
        .encode(x=x, y=y, color=color, detail="part:N")
        for kept, dash in ((~pl.col("outside"), [1, 0]), (pl.col("outside"), [2, 3]))
    ]
    return vega.layer(*layers).properties(width=width, height=height, description=title)


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
