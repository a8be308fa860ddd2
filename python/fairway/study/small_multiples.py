"""Time series of every point of a study, in small charts beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairway.ground import text
from fairway.plot.figures import over_time, thin
from fairway.plot.page import FILL, Figure, Section
from fairway.plot.quantities import QUANTITIES, Quantity
from fairway.study.claims import point_is_at
from fairway.study.data import PartResult
from fairway.sweep.outcome import Outcome

#: Points along one line.
_SMALL_POINTS = 250


def small_multiples(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """One small chart per point, all with the same axes.

    `beside` of the figure gives values of some axes whose runs stand in the charts of the others.
    """
    quantity, beside = QUANTITIES[figure["quantity"]], figure.get("beside", {})
    runs = [outcome for outcome in result.sweep.outcomes if outcome.point.repetition == 0]
    # A run that stands beside others has no chart of its own.
    drawn = [run for run in runs if not (beside and point_is_at(run.point.axes, beside))]
    frames = [_with_beside(outcome, runs, quantity, beside) for outcome in drawn]
    # The axis is for what is drawn: single samples reach far above their neighbours' mean.
    shown = [
        thin(frame, quantity.key, quantity.column, _SMALL_POINTS, quantity.keep) for frame in frames
    ]
    tops = [float(frame[quantity.column].max() or 0.0) for frame in shown]  # type: ignore[arg-type]
    y_max = max(tops, default=0.0) * quantity.scale
    charts = []
    for outcome, frame in zip(drawn, frames, strict=True):
        title = ", ".join(str(value) for value in outcome.point.axes.values()) or result.part.key
        chart = over_time(
            frame,
            quantity,
            width=FILL,
            height=120,
            points=_SMALL_POINTS,
            y_max=y_max or None,
            titles=False,
        )
        charts.append(Figure(title, chart))
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
