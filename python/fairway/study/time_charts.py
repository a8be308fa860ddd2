"""Time series of a study's runs: windows and round-trip times at single points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from fairway.ground import text
from fairway.metrics.phases import of_series
from fairway.plot import vega
from fairway.plot.figures import Width
from fairway.plot.over_time import over_time, thin
from fairway.plot.page import FILL, Figure, Section
from fairway.plot.quantities import QUANTITIES, Quantity
from fairway.results.phase_charts import phase_chart
from fairway.study.claims import point_is_at
from fairway.study.data import PartResult
from fairway.sweep.outcome import Outcome

#: Points along a line.
_POINTS = 600
#: Height of a chart in pixels.
_HEIGHT = 150
#: Points along a line of a small chart.
_SMALL_POINTS = 250


def _first_runs(result: PartResult, at: Mapping[str, Any]) -> list[Outcome]:
    """Repetition 0 of each point with these values of the axes."""
    outcomes = [one for one in result.sweep.outcomes if one.point.repetition == 0]
    return [one for one in outcomes if point_is_at(one.point.axes, at)]


def _title(result: PartResult, outcome: Outcome) -> str:
    return ", ".join(map(str, outcome.point.axes.values())) or result.part.key


def time_section(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """The first flow's quantities over time at every point; those of one unit in one chart."""
    at = figure.get("at", {})
    named = figure["quantity"]
    quantities = [QUANTITIES[name] for name in ([named] if isinstance(named, str) else named)]
    units: dict[str, list[Quantity]] = {}
    for quantity in quantities:
        units.setdefault(quantity.title.rpartition(" (")[2], []).append(quantity)
    charts = [
        drawn
        for outcome in _first_runs(result, at)
        for together in units.values()
        for drawn in _charts(result, figure, outcome, together)
    ]
    lead = "Against time in seconds, each chart on its own scale; repetition 0."
    return Section(figure["title"], lead, figures=charts, grid=380)


def _charts(
    result: PartResult,
    figure: Mapping[str, Any],
    outcome: Outcome,
    together: Sequence[Quantity],
) -> list[Figure]:
    """A chart of quantities with one unit; none where none of them has a value."""
    begin, end = float(figure.get("from_s", 0.0)), float(figure.get("until_s", float("inf")))
    chart = time_chart(outcome, together, begin_s=begin, end_s=end, width=FILL)
    if chart is None:
        return []
    varied = (
        text.label(value)
        for axis, value in outcome.point.axes.items()
        if axis not in figure.get("at", {}) or isinstance(figure["at"][axis], list)
    )
    title = ", ".join(varied) or result.part.key
    return [Figure(f"{title}: {', '.join(one.words for one in together)}", chart)]


def time_chart(
    outcome: Outcome,
    together: Sequence[Quantity],
    *,
    begin_s: float = 0.0,
    end_s: float = float("inf"),
    width: Width = 640,
    height: int = _HEIGHT,
) -> vega.Chart | None:
    """Quantities of the first flow over time, as long as it lasts; none without any value.

    The quantities have the same unit; the first is drawn on top.
    """
    frame = _long(outcome, together, begin_s, end_s)
    if frame.is_empty():
        return None
    names = [quantity.words for quantity in together]
    unit = together[0].shown[0]
    words, unit = (names[0], unit) if len(names) == 1 else (text.capital(unit), "")
    drawn = replace(
        together[0],
        column="value",
        words=words,
        unit=(unit, 1.0),
        alt=f"{', '.join(names)} of the first flow over time",
        from_zero=all(quantity.from_zero for quantity in together),
    )
    return over_time(
        frame, drawn, width=width, height=height, points=_POINTS, domain=names, begin_s=begin_s
    )


def _long(
    outcome: Outcome, together: Sequence[Quantity], begin_s: float, end_s: float
) -> pl.DataFrame:
    """A row for each sample of each quantity, in the unit of the axis."""
    flow = outcome.summary["flows"][0]
    end_s = min(end_s, flow["fct_s"] or end_s)
    rows = outcome.series().filter(
        pl.col("flow") == str(flow["id"]), pl.col("t_s").is_between(begin_s, end_s)
    )
    # Lines are drawn in the order of their names: the first quantity last, on top.
    order = pl.Enum([quantity.words for quantity in reversed(together)])
    frames = [
        rows.select(
            "t_s",
            pl.lit(quantity.words).cast(order).alias("flow"),
            (pl.col(quantity.column) * quantity.scale).alias("value"),
        )
        for quantity in together
    ]
    return pl.concat(frames).drop_nulls("value")


def phase_section(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """The window of the first flow at each point, its phases behind it, over the same time."""
    until = float(figure.get("until_s", float("inf")))
    shown = {}
    for outcome in _first_runs(result, figure.get("at", {})):
        flow = str(outcome.summary["flows"][0]["id"])
        rows = outcome.series().filter(pl.col("flow") == flow, pl.col("t_s") <= until)
        shown[_title(result, outcome)] = (rows, of_series(rows, flow))
    charts = [
        Figure(title, phase_chart(rows, found, width=FILL))
        for title, (rows, found) in shown.items()
        if found
    ]
    lead = "cwnd in segments, each chart on its own scale, against time in seconds."
    return Section(figure["title"], lead, figures=charts, grid=330)


def small_multiples(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """One small chart per point, all with the same axes.

    `beside` of the figure gives values of some axes whose runs stand in the charts of the others.
    """
    quantity, beside = QUANTITIES[figure["quantity"]], figure.get("beside", {})
    runs = _first_runs(result, {})
    # A run that stands beside others has no chart of its own.
    drawn = [run for run in runs if not (beside and point_is_at(run.point.axes, beside))]
    frames = [_with_beside(outcome, runs, quantity, beside) for outcome in drawn]
    # The axis is for what is drawn: single samples reach far above their neighbours' mean.
    shown = [
        thin(frame, quantity.key, quantity.column, _SMALL_POINTS, quantity.keep) for frame in frames
    ]
    tops = [float(table.numbers(quantity.column).max(initial=0.0)) for table in shown]
    y_max = max(tops, default=0.0) * quantity.scale
    charts = []
    for outcome, frame in zip(drawn, frames, strict=True):
        chart = over_time(
            frame, quantity, width=FILL, height=120, points=_SMALL_POINTS, y_max=y_max or None,
            titles=False,
        )  # fmt: skip
        charts.append(Figure(_title(result, outcome), chart))
    axes = f"{quantity.title} against time (s); the same axes in every chart."
    return Section(figure["title"], axes, figures=charts, grid=215)


def _with_beside(
    outcome: Outcome, runs: Sequence[Outcome], quantity: Quantity, beside: Mapping[str, Any]
) -> pl.DataFrame:
    """A run's time series, and that of the run that differs from it in the axes of `beside`.

    Lines are named by the values of these axes, and by their flow where a run has several.
    """
    frame: pl.DataFrame = getattr(outcome.run, quantity.table)
    point = {**outcome.point.axes, **beside}
    other = next((run for run in runs if beside and run.point.axes == point), None)
    if other is None:
        return frame

    def named(run: Outcome) -> pl.DataFrame:
        of_run: pl.DataFrame = getattr(run.run, quantity.table)
        name = ", ".join(text.label(run.point.axes[axis]) for axis in beside)
        line = pl.lit(name)
        if of_run[quantity.key].n_unique() > 1:
            line = line + ": " + pl.col(quantity.key)
        return of_run.with_columns(line.alias(quantity.key))

    return pl.concat([named(outcome), named(other)])
