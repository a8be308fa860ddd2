"""Measured over expected along an axis: how far models are off, and where they say they hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairway.ground import text
from fairway.plot import vega
from fairway.plot.figures import SHAPES, Width, inline, layered
from fairway.study.claims import Cell, point_is_at
from fairway.study.data import PartResult

#: Ratios that get a tick, as far as they are on the axis.
_TICKS = (0.125, 0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8)
#: Points of one x of several groups stand side by side, as much apart in logarithms.
_APART = 0.09

#: A row: where, how large, and whether a claim speaks of it.
_KINDS = {"x": pl.Float64, "group": pl.String, "ratio": pl.Float64, "low": pl.Float64,
          "high": pl.Float64, "reference": pl.Float64, "inside": pl.Boolean}  # fmt: skip


def ratio_charts(
    result: PartResult, figure: Mapping[str, Any], **size: Any
) -> dict[str, vega.Chart]:
    """Measured over expected along one axis, a chart for each value of another.

    `figure` is its table of `study.toml`; `size` is `width` and `height` of a chart.
    """
    study, axis, panel, group = result.part, figure["axis"], figure["panel"], figure["group"]
    cells = [cell for cell in result.cells if cell.measured is not None and cell.published]
    groups = list(dict.fromkeys(text.label(cell.point[group]) for cell in cells))
    panels: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        own = text.label(cell.point[group])
        row = {
            "x": _beside(float(cell.point[axis]), groups.index(own), len(groups)),
            "group": own,
            **_ratios(cell, figure.get("reference")),
            "inside": _is_claimed(result, cell),
        }
        panels.setdefault(str(cell.point[panel]), []).append(row)
    rows = [row for found in panels.values() for row in found]
    if not rows:
        return {}
    found = [row["ratio"] for row in rows if row["ratio"] > 0]
    # An interval may reach far; the measurements decide.
    domain = (min(*found, 0.7) / 1.1, max(*found, 1.4) * 1.1)
    if "limit" in figure:
        domain = (max(domain[0], 1 / figure["limit"]), min(domain[1], figure["limit"]))
    xs = [row["x"] for row in rows]
    return {
        name: ratios(
            pl.DataFrame(shown, schema=_KINDS),
            groups=groups,
            x_title=study.name(axis),
            group_title=study.name(group),
            title=f"Measured over expected of {name} against {study.name(axis)}",
            x_domain=(min(xs) / 1.3, max(xs) * 1.3),
            domain=domain,
            within=figure.get("within"),
            **size,
        )
        for name, shown in panels.items()
    }


def _beside(x: float, index: int, count: int) -> float:
    return x * math.exp(_APART * 2 * (index - (count - 1) / 2))


def _ratios(cell: Cell, reference: str | None) -> dict[str, float | None]:
    """A cell's numbers, and a reference's, over what it is held against."""
    expected = cell.published or 1.0
    other = (cell.references or {}).get(reference or "")
    values = {"ratio": cell.measured, "low": cell.ci_low, "high": cell.ci_high, "reference": other}
    found = {name: None if value is None else value / expected for name, value in values.items()}
    if found["low"] is not None and found["low"] <= 0:
        found["low"] = 1e-3
    return found


def _is_claimed(result: PartResult, cell: Cell) -> bool:
    """Whether a claim holds the cell against its published number."""
    return any(
        test.get("metric") == cell.metric
        and "reference" not in test
        and point_is_at(cell.point, test.get("at", {}))
        for claim in result.claims
        for test in claim.tests
    )


def ratios(
    rows: pl.DataFrame,
    *,
    groups: Sequence[str],
    x_title: str,
    group_title: str,
    title: str,
    x_domain: tuple[float, float],
    domain: tuple[float, float],
    within: float | None = None,
    width: Width = 300,
    height: int = 200,
) -> vega.Chart:
    """Ratios as points with intervals, filled where a claim speaks of them, on logarithmic axes.

    `rows` are as `_KINDS`; the reference is a line. What is beyond `domain` stands at its end, and
    `within` is half the width of a band around 1, as a share.
    """
    numbers = ("x", "ratio", "low", "high", "reference")
    data = rows.with_columns(pl.col(*numbers).round_sig_figs(5))

    def chart(frame: pl.DataFrame) -> vega.Chart:
        return vega.Chart(inline(frame, **dict.fromkeys(numbers, "number")), description=title)

    first, last = math.ceil(math.log10(x_domain[0])), math.floor(math.log10(x_domain[1]))
    decades = [10.0**power for power in range(first, last + 1)]
    x = vega.field(
        "x:Q",
        title=x_title,
        scale=vega.scale(type="log", domain=list(x_domain), nice=False),
        axis=vega.axis(format="~e", values=decades),
    )
    ticks = [tick for tick in _TICKS if domain[0] <= tick <= domain[1]]
    y = vega.field(
        "ratio:Q",
        title="measured / expected",
        scale=vega.scale(type="log", domain=list(domain), nice=False, clamp=True),
        axis=vega.axis(format="~g", values=ticks),
    )
    legend = vega.legend(orient="top", symbolOpacity=1)
    color = vega.field(
        "group:N", title=group_title, scale=vega.scale(domain=list(groups)), legend=legend
    )
    shapes = vega.scale(
        domain=list(groups), range=[SHAPES[index % len(SHAPES)] for index in range(len(groups))]
    )
    shape = vega.field("group:N", title=group_title, legend=legend, scale=shapes)
    layers: list[vega.Chart] = []
    if within is not None:
        ends = pl.DataFrame({"low": [1 - within], "high": [1 + within]})
        band = vega.Chart(inline(ends, low="number", high="number"))
        layers.append(
            band.mark("rect", color="#999", opacity=0.22).encode(y=vega.field("low:Q"), y2="high:Q")
        )
    one = vega.Chart(inline(pl.DataFrame({"one": [1.0]}), one="number"))
    layers.append(one.mark("rule", color="#444", strokeWidth=1).encode(y=vega.field("one:Q")))
    reference = data.filter(pl.col("reference").is_not_null())
    if not reference.is_empty():
        line = chart(reference).mark("line", strokeWidth=1.2, strokeDash=[4, 2], opacity=0.9)
        layers.append(line.encode(x=x, y=vega.field("reference:Q"), color=color))
    intervals = data.filter(pl.col("low").is_not_null())
    if not intervals.is_empty():
        rule = chart(intervals).mark("rule", strokeWidth=1.2)
        layers.append(rule.encode(x=x, y=vega.field("low:Q"), y2="high:Q", color=color))
    tips = ["group:N", "x:Q", "ratio:Q", "low:Q", "high:Q"]
    for filled in (True, False):
        chosen = data.filter(pl.col("inside") == filled)
        if chosen.is_empty():
            continue
        mark = chart(chosen).mark("point", filled=filled, fill=vega.UNSET if filled else "white",
            size=44 if filled else 28, opacity=1, strokeWidth=1.2,
        )  # fmt: skip
        layers.append(mark.encode(x=x, y=y, color=color, shape=shape, tooltip=tips))
    return layered(layers, title, width, height)
