"""How far measurements are from what they are held against: points around a line at zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairway.ground import text
from fairway.plot import vega
from fairway.plot.figures import Width, group_encoding, inline, layered
from fairway.plot.page import FILL, Figure, Section
from fairway.study.cells import Column
from fairway.study.claims import Cell
from fairway.study.data import PartResult


def residual_section(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """Measured over expected for every cell, a chart for each combination of some axes."""
    charts = residual_charts(result, figure, width=FILL)
    metrics = metrics_of(figure)
    compared = [c.title for c in result.part.compared if c.metric in metrics]
    if not charts:
        return Section(figure["title"], "No cell has both numbers.")
    lead = f"Points are cells: measured over {compared[0]}, less one; the same axes in every chart."
    figures = [Figure(title, chart) for title, chart in charts.items()]
    return Section(figure["title"], lead, figures=figures, grid=330)


def metrics_of(figure: Mapping[str, Any]) -> list[str]:
    """The metrics that a figure shows, which names one or a list."""
    found = figure["metric"]
    return list(found) if isinstance(found, list) else [found]


def residual_charts(
    result: PartResult, figure: Mapping[str, Any], **size: Any
) -> dict[str, vega.Chart]:
    """The charts of a figure by their titles."""
    rows = _rows(result, figure)
    if not rows:
        return {}
    frame = pl.DataFrame(rows, infer_schema_length=None)
    limit = 1.1 * max(1.0, *(abs(row["residual"]) for row in rows))
    ends = (min(row["x"] for row in rows), max(row["x"] for row in rows))
    is_log = figure.get("log", False)
    room = (ends[1] - ends[0]) * 0.04 or 1.0
    domain = (ends[0] / 1.2, ends[1] * 1.2) if is_log else (ends[0] - room, ends[1] + room)
    return {
        str(name): residuals(
            frame.filter(pl.col("panel") == name).drop("panel"),
            series=list(dict.fromkeys(frame["series"])),
            x_title=result.part.name(figure["x"]),
            title=f"{figure['title']}, {name}",
            domain=domain,
            limit=limit,
            log=is_log,
            **size,
        )
        for name in dict.fromkeys(frame["panel"])
    }


def _rows(result: PartResult, figure: Mapping[str, Any]) -> list[dict[str, Any]]:
    study, metrics = result.part, metrics_of(figure)
    columns = {column.metric: column for column in study.compared}
    panel = figure["panel"] if isinstance(figure["panel"], list) else [figure["panel"]]
    rows = []
    for cell in result.cells:
        if cell.metric not in metrics or cell.measured is None or not cell.published:
            continue
        x = _value(cell, columns[cell.metric], figure["x"])
        if x is None:
            continue
        series = study.name(cell.metric)
        if len(metrics) == 1:
            series = str(_value(cell, columns[cell.metric], figure.get("color", "")) or "measured")
        rows.append(
            {
                "panel": ", ".join(_label(study.name(axis), cell.point[axis]) for axis in panel),
                "cell": ", ".join(text.label(value) for value in cell.point.values()),
                "x": float(x),
                "residual": 100 * (cell.measured / cell.published - 1),
                "series": series,
            }
        )
    return rows


def _label(axis: str, value: Any) -> str:
    """A value as it is, or with the name of its axis if it would not say what it is."""
    if isinstance(value, bool):
        return axis if value else f"no {axis}"
    return text.label(value) if isinstance(value, str) else f"{axis} {text.label(value)}"


def _value(cell: Cell, column: Column, name: str) -> Any:
    """Of an axis, or of another column of the file that has the numbers."""
    return cell.point.get(name) if name in cell.point else column.row(cell.point).get(name)


def residuals(
    rows: pl.DataFrame,
    *,
    series: Sequence[str],
    x_title: str,
    title: str,
    domain: tuple[float, float],
    limit: float,
    log: bool,
    width: Width = 300,
    height: int = 200,
) -> vega.Chart:
    """Points around a line at zero, up to ± `limit` in percent.

    `rows` has columns `cell` (what the point is), `x`, `residual` in percent and `series`; `series`
    lists those of the whole figure, so that colours are the same in its charts.
    """
    data = rows.with_columns(pl.col("x", "residual").round_sig_figs(4))
    base = vega.Chart(inline(data, x="number", residual="number"), description=title)
    color, shape = group_encoding(series, field="series")
    points = base.mark("point", filled=True, size=36, opacity=0.75).encode(
        x=vega.field(
            "x:Q",
            title=x_title,
            scale=vega.scale(type="log" if log else "linear", domain=list(domain), nice=False),
            axis=vega.axis(tickCount=5, format="~g", grid=False),
        ),
        y=vega.field(
            "residual:Q",
            title="residual (%)",
            scale=vega.scale(domain=[-limit, limit], nice=False),
        ),
        color=color,
        shape=shape,
        tooltip=["cell:N", "series:N", "x:Q", "residual:Q"],
    )
    zero = vega.Chart({"values": [{"y": 0}]}).mark("rule", color="#666").encode(y="y:Q")
    return layered([zero, points], title, width, height)
