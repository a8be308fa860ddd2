"""Rows of dots: measured values with their intervals, and what they are held against."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairway.plot import vega
from fairway.plot.figures import PUBLISHED, Width, group_encoding, inline, layered

#: In pixels.
_ROW_HEIGHT = 22


def dots(
    rows: pl.DataFrame,
    *,
    order: Sequence[str],
    x_title: str,
    title: str,
    log: bool,
    domain: tuple[float, float],
    width: Width = 300,
) -> vega.Chart:
    """One row for each value of an axis; the same horizontal axis for all charts of a figure.

    `rows` has columns `y` (the row), `series`, `mean`, `low`, `high` and `published`, whose numbers
    may be null. `order` is that of the rows from top to bottom; `log` and `domain` are of the
    horizontal axis.
    """
    numbers = ("mean", "low", "high", "published")
    data = rows.with_columns(pl.col(*numbers).round_sig_figs(5))
    base = vega.Chart(inline(data, **dict.fromkeys(numbers, "number")), description=title)
    # Every layer says so: one that does not would draw the axis down to zero.
    scale = vega.scale(type="log" if log else "linear", domain=list(domain), nice=False, zero=False)
    # Rates in M and k, and small numbers as they are: "~s" alone would write 0.01 as "10m".
    ticks = "abs(datum.value) < 10000 ? format(datum.value, '~g') : format(datum.value, '~s')"
    axis = vega.axis(tickCount=5, labelExpr=ticks)

    def x(field: str) -> vega.Options:
        return vega.field(f"{field}:Q", title=x_title, scale=scale, axis=axis)

    y = vega.field("y:N", title=None, sort=list(order), axis=vega.axis(grid=True, labelLimit=200))
    color, shape = group_encoding(list(dict.fromkeys(data["series"])), field="series")
    dot = base.mark("point", filled=True, size=60, opacity=1).encode(
        x=x("mean"),
        y=y,
        color=color,
        shape=shape,
        tooltip=["y:N", "series:N", "mean:Q", "published:Q"],
    )
    layers: list[vega.Chart] = [dot]
    if not data["low"].drop_nulls().is_empty():
        layers.insert(
            0, base.mark("rule", strokeWidth=2).encode(x=x("low"), x2="high:Q", y=y, color=color)
        )
    if not data["published"].drop_nulls().is_empty():
        target = base.mark("tick", thickness=2, size=16, color=PUBLISHED).encode(
            x=x("published"), y=y
        )
        layers.insert(0, target)
    return layered(layers, title, width, _ROW_HEIGHT * len(order))
