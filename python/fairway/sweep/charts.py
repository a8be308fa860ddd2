"""Charts of sweeps: each metric over what varies, as lines, marks or a heat map."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fairway.ground import text
from fairway.plot import vega
from fairway.plot.columns import charted
from fairway.plot.figures import heat_map, metric_over_axis, save_charts
from fairway.stats import mean_interval
from fairway.sweep.axes import Axis, headings

if TYPE_CHECKING:
    from fairway.sweep.data import SweepData

#: Column that tells the lines of a chart apart.
_GROUP = "group"
#: Height of a row of a heat map, and of what stands around its rows, in pixels.
_ROW, _AROUND = 30, 60
#: Metrics from −1 to 1, with opposite meanings below and above zero.
_SIGNED = ("asymmetry",)
#: Columns of a heat map whose cells have room for their numbers.
_NUMBERS = 8


class SweepFigures:
    """Charts of one sweep by the names of its metrics: `sweep.figures.goodput_bps()`."""

    def __init__(self, sweep: SweepData) -> None:
        self._sweep = sweep

    @functools.cached_property
    def names(self) -> list[str]:
        """The metrics that have a chart: those with a value somewhere."""
        if not self._sweep.axes:
            return []
        table = self._sweep.table
        known = {"repetition", "seed", *(axis.column for axis in self._sweep.columns)}
        metrics = [name for name in table.columns if name not in known]
        return [name for name in metrics if table[name].drop_nulls().is_finite().any()]

    @property
    def is_heat_map(self) -> bool:
        """Whether the charts are heat maps, over two axes of numbers."""
        return bool(self._sweep.axes) and _layout(self._sweep.columns).y is not None

    def draw(self, name: str, **size: Any) -> vega.Chart:
        """The chart of a metric; `size` is `width` and `height` in pixels."""
        if name not in self.names:
            raise KeyError(f"{name}: expected one of {', '.join(self.names)}")
        return _chart(self._sweep, name, **size)

    def save(self, directory: str | Path, formats: Sequence[str] = ("pdf", "png")) -> list[Path]:
        """Write every chart in every format and return the files."""
        charts = {name: self.draw(name, width=640) for name in self.names}
        return save_charts(charts, Path(directory), formats)

    def __getattr__(self, name: str) -> Callable[..., vega.Chart]:
        if name.startswith("_") or name not in self.names:
            raise AttributeError(f"this sweep has no chart {name!r}")
        return functools.partial(self.draw, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self.names if name.isidentifier())]

    def __repr__(self) -> str:
        return f"<Figures of {self._sweep.title!r}: {', '.join(self.names)}>"


@dataclass(frozen=True)
class _Layout:
    """What is drawn along what.

    Attributes:
        x: The horizontal axis.
        y: The vertical one of a heat map; None for a chart of lines or marks.
        groups: What tells its lines apart.
    """

    x: Axis
    y: Axis | None
    groups: tuple[Axis, ...]


def _layout(axes: Sequence[Axis]) -> _Layout:
    """Two numeric axes span a heat map; else the longest numeric one is the horizontal axis.

    An axis of a single value is left out where another one varies.
    """
    varying = [axis for axis in axes if len(set(axis.values)) > 1] or list(axes[:1])
    numeric = [axis for axis in varying if axis.is_numeric]
    if len(varying) == 2 and len(numeric) == 2:
        first, second = varying
        return _Layout(first, second, ())
    x = max(numeric, key=lambda axis: len(set(axis.values))) if numeric else varying[0]
    return _Layout(x, None, tuple(axis for axis in varying if axis is not x))


def _chart(sweep: SweepData, metric: str, **size: Any) -> vega.Chart:
    layout = _layout(sweep.columns)
    names = dict(zip((axis.path for axis in sweep.columns), headings(sweep.columns), strict=True))
    title, factor = charted(metric)
    rows = _estimated(sweep.table, sweep.columns, layout, metric, factor)
    x_title = names[layout.x.path]
    if layout.y is not None:
        y_title = names[layout.y.path]
        height = _ROW * len(set(layout.y.values)) + _AROUND
        return heat_map(
            _grid(rows), x="x", y="y", value="mean", x_title=x_title, y_title=y_title,
            title=title, numbers=len(set(layout.x.values)) <= _NUMBERS,
            limit=1 if metric.rpartition(".")[2] in _SIGNED else None,
            **{"height": height, **size},
        )  # fmt: skip
    predicted = None
    if metric in sweep.predicted:
        predicted = _estimated(sweep.predicted, sweep.columns, layout, metric, factor)
        predicted = predicted.rename({"x": x_title})
    return metric_over_axis(
        rows.rename({"x": x_title}), axis=x_title, metric=title,
        group=_GROUP if layout.groups else None, predicted=predicted, **size,
    )  # fmt: skip


def _estimated(
    table: pl.DataFrame, axes: Sequence[Axis], layout: _Layout, metric: str, factor: float
) -> pl.DataFrame:
    """Mean and interval of a metric, with columns `x`, `y` or `group` as people read them."""
    shown = {axis.path: dict(zip(axis.values, axis.shown, strict=True)) for axis in axes}

    def read(axis: Axis, name: str) -> pl.Series:
        values = [shown[axis.path][value] for value in table[axis.column]]
        return pl.Series(name, values)

    columns = [read(layout.x, "x")]
    if layout.y is not None:
        columns.append(read(layout.y, "y"))
    if layout.groups:
        # An axis has few values, and a table many rows.
        words = {
            axis.path: {
                value: f"{text.label(own)} {axis.unit}".strip()
                for value, own in shown[axis.path].items()
            }
            for axis in layout.groups
        }
        parts = [map(words[axis.path].__getitem__, table[axis.column]) for axis in layout.groups]
        labels = [", ".join(row) for row in zip(*parts, strict=True)]
        columns.append(pl.Series(_GROUP, labels, dtype=pl.String))
    frame = pl.DataFrame(columns).with_columns(table[metric])
    found = estimates(frame, [series.name for series in columns], metric)
    return found.with_columns(pl.col("mean", "low", "high") * factor)


def _grid(rows: pl.DataFrame) -> pl.DataFrame:
    """All cells of a heat map, the largest `y` first; cells without a value are null."""
    xs, ys = rows.select("x").unique().sort("x"), rows.select("y").unique()
    cells = ys.sort("y", descending=True).join(xs, how="cross")
    labels = pl.col("x", "y").map_elements(text.label, return_dtype=pl.String)
    return cells.join(rows, on=["x", "y"], how="left", maintain_order="left").with_columns(labels)


def estimates(table: pl.DataFrame, by: Sequence[str], metric: str) -> pl.DataFrame:
    """Mean and 95 % interval of a metric for each combination of `by`."""
    rows = []
    for key, group in table.drop_nulls(metric).group_by(by, maintain_order=True):
        values = [value for value in group[metric].to_list() if math.isfinite(value)]
        if values:
            found = mean_interval(values)
            rows.append((*key, found.mean, found.low, found.high))
    # Written out, since a table of no rows would have no columns.
    schema = table.select(by).schema
    schema.update(dict.fromkeys(("mean", "low", "high"), pl.Float64()))
    return pl.DataFrame(rows, schema, orient="row")
