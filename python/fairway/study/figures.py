"""The figures of a study's report, drawn from its cells as `study.toml` asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from fairway.ground import text
from fairway.plot import vega
from fairway.plot.dots import dots
from fairway.plot.figures import heat_map, metric_over_axis, response
from fairway.plot.page import FILL, Figure, Section
from fairway.study.claims import Cell, point_is_at
from fairway.study.data import PartResult
from fairway.study.model import Part
from fairway.study.ratios import ratio_charts
from fairway.study.residuals import metrics_of, residual_section
from fairway.study.time_charts import phase_section, small_multiples, time_section


def figure_section(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """One figure of a study, an entry of its `study.toml`."""
    return _DRAW[figure["kind"]](result, figure)


def cells_csv(study: Part, cells: Iterable[Cell]) -> str:
    """The numbers behind a figure, to be read by other programs: one line per cell."""
    rows = [
        {
            **{study.name(axis): text.label(value) for axis, value in cell.point.items()},
            "metric": study.name(cell.metric),
            "published": cell.published,
            "measured": cell.measured,
            "ci_low": cell.ci_low,
            "ci_high": cell.ci_high,
            **(cell.references or {}),
        }
        for cell in cells
    ]
    return pl.DataFrame(rows, infer_schema_length=None).write_csv()


def _heat_maps(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """The same matrix as published, as measured, and their difference, for each panel."""
    study, panel = result.part, figure.get("panel")
    of_metric = [cell for cell in result.cells if cell.metric == figure["metric"]]
    panels: dict[str, list[Cell]] = {}
    for cell in of_metric:
        panels.setdefault(f"{cell.point[panel]}: " if panel else "", []).append(cell)

    def chart(name: str, title: str, value: str, limit: float | None) -> Figure:
        title = name + (title[0].lower() + title[1:] if name else title)
        values = ("published", "measured", "difference")
        rows = [
            {axis: str(cell.point[figure[axis]]) for axis in "xy"}
            | {value: getattr(cell, value) for value in values}
            for cell in panels[name]
        ]
        compared = [number for cell in panels[name] for number in (cell.published, cell.measured)]
        known = [number for number in compared if number is not None]
        is_compared = value != "difference" and known
        drawn = heat_map(
            _frame(rows, ["x", "y"], values),
            x="x",
            y="y",
            value=value,
            x_title=study.name(figure["x"]),
            y_title=study.name(figure["y"]),
            title=f"{title} {figure['metric']}",
            limit=limit,
            span=(min(known), max(known)) if is_compared else None,
            width=FILL,
        )
        return Figure(title, drawn, data=cells_csv(study, panels[name]))

    limit = figure.get("limit")
    # Differences a fifth of the scale large already have the strongest colour.
    charts = [
        drawn
        for name in panels
        for drawn in (
            chart(name, "Published", "published", limit),
            chart(name, "Measured", "measured", limit),
            chart(name, "Measured − published", "difference", None if limit is None else limit / 5),
        )
    ]
    return Section(f"{figure['metric'].capitalize()} as a matrix", figures=charts, grid=330)


def _over_axis(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """A metric along one axis, measured and published; a chart for each value of a panel."""
    study, metric, panel = result.part, figure["metric"], figure.get("panel")
    label, group = study.name(figure["axis"]), figure.get("group")
    name, factor = shown_as(study.name(metric))
    panels: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if cell.metric == metric and point_is_at(cell.point, figure.get("at", {})):
            panels.setdefault(text.label(cell.point[panel]) if panel else "", []).append(cell)
    charts = []
    for title, cells in panels.items():
        measured, published = _along(cells, figure["axis"], group)
        frame = measured if published.is_empty() else published
        # Of several charts, one with a single value along the axis shows no course.
        if not frame.is_empty() and (len(panels) == 1 or frame["axis"].n_unique() > 1):
            chart = metric_over_axis(
                _scaled(measured, factor).rename({"axis": label}),
                axis=label,
                metric=name,
                group="group" if group else None,
                published=_scaled(published, factor).rename({"axis": label}),
                log=figure.get("log", False),
                trend=figure.get("trend"),
                width=FILL,
            )
            shown = f"{name}: {title}" if title else name
            charts.append(Figure(shown, chart, data=cells_csv(study, cells)))
    heading = figure.get("title", f"{text.capital(name)} over {label}")
    if not charts:
        return Section(heading, "No cell has a value.")
    said = "Means, with 95 % intervals where there are several repetitions"
    titles = [column.title for column in study.compared if column.name == metric]
    if any(cell.published is not None for cells in panels.values() for cell in cells):
        said += f"; hollow diamonds: published ({', '.join(titles)})"
    if "trend" in figure:
        said += f"; dotted: polynomial of degree {figure['trend']} by least squares"
    return Section(heading, f"{said}.", figures=charts, grid=330 if panel else None)


def shown_as(name: str) -> tuple[str, float]:
    """What a chart calls a metric, and what its values are multiplied by: Mbit/s, and no 4.43M."""
    in_bits = name.removesuffix("(bit/s)").removesuffix("_bps")
    return (name, 1.0) if in_bits == name else (f"{in_bits.strip()} (Mbit/s)", 1e-6)


def _scaled(frame: pl.DataFrame, factor: float) -> pl.DataFrame:
    """The numbers of a frame in another unit."""
    numbers = pl.col("^(mean|low|high|published|y)$")
    return frame.with_columns(numbers * factor) if factor != 1 else frame


def _along(cells: list[Cell], axis: str, group: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cells along an axis: means with intervals, and published numbers, by group if they differ."""
    given = {(cell.point[axis], cell.published) for cell in cells if cell.published is not None}
    # One line of published numbers where they are the same for every group.
    common = len(given) == len({value for value, _ in given})
    measured: list[dict[str, Any]] = []
    published: dict[tuple[Any, str], dict[str, Any]] = {}
    for cell in cells:
        at = {"axis": cell.point[axis]}
        own = {"group": text.label(cell.point[group])} if group else {}
        if cell.measured is not None:
            measured.append(
                {**at, **own, "mean": cell.measured, "low": cell.ci_low, "high": cell.ci_high}
            )
        if cell.published is not None:
            own = {} if common else own
            published[cell.point[axis], own.get("group", "")] = {
                **at, **own, "mean": cell.published,
            }  # fmt: skip
    names = ["group"] if group else []
    return (
        _frame(measured, ["axis", *names], ("mean", "low", "high")),
        _frame(list(published.values()), ["axis", *(names if not common else [])], ("mean",)),
    )


def _frame(
    rows: list[dict[str, Any]], names: Sequence[str], numbers: Sequence[str]
) -> pl.DataFrame:
    """Rows as a table that has its columns even if there are none."""
    kinds: dict[str, Any] = dict.fromkeys(numbers, pl.Float64)
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String) | kinds)
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def response_charts(
    result: PartResult, figure: Mapping[str, Any], **size: Any
) -> dict[str, vega.Chart]:
    """Models beside measurements along one axis, a chart for each value of another."""
    study, axis, panel, metric = result.part, figure["axis"], figure["panel"], figure["metric"]
    cells = [c for c in result.cells if c.metric == metric and c.measured is not None]
    numbers = [
        number
        for cell in cells
        for number in (cell.measured, cell.published, *(cell.references or {}).values())
        if number
    ]
    if not numbers:
        return {}
    name_of_metric, factor = shown_as(study.name(metric))
    domain = (factor * min(numbers) / 1.5, factor * max(numbers) * 1.5)
    compared = next(column.title for column in study.compared if column.name == metric)
    charts: dict[str, vega.Chart] = {}
    for name in dict.fromkeys(str(cell.point[panel]) for cell in cells):
        chosen = [cell for cell in cells if str(cell.point[panel]) == name]
        models = [
            {"model": model, "x": float(cell.point[axis]), "y": number}
            for cell in chosen
            for model, number in {compared: cell.published, **(cell.references or {})}.items()
            if number is not None
        ]
        measured = [{"x": float(cell.point[axis]), **dot_values(cell)} for cell in chosen]
        charts[name] = response(
            _scaled(pl.DataFrame(models), factor),
            _scaled(_frame(measured, [], ("x", *_SHOWN)), factor),
            x_title=study.name(axis),
            y_title=name_of_metric,
            title=f"{name_of_metric} of {name} against {study.name(axis)}",
            domain=domain,
            **size,
        )
    return charts


def _response(result: PartResult, figure: Mapping[str, Any]) -> Section:
    name, _ = shown_as(result.part.name(figure["metric"]))
    lead = "Lines are models, points are measurements with their 95 % intervals"
    charts = response_charts(result, figure, width=FILL)
    return _panels(result, figure, text.capital(name), lead, charts)


def _ratio(result: PartResult, figure: Mapping[str, Any]) -> Section:
    lead = "Points are measurements with their 95 % intervals, filled where a claim speaks of them"
    if "reference" in figure:
        lead += f"; dashed lines: {figure['reference']}"
    charts = ratio_charts(result, figure, width=FILL)
    return _panels(result, figure, "Measured over expected,", lead, charts)


def _panels(
    result: PartResult,
    figure: Mapping[str, Any],
    what: str,
    lead: str,
    charts: Mapping[str, vega.Chart],
) -> Section:
    """Charts with the same axes, one for each value of the panel, and the cells of each."""
    metric, panel = figure.get("metric"), figure["panel"]
    of_metric = [cell for cell in result.cells if metric in (None, cell.metric)]
    figures = []
    for name, chart in charts.items():
        cells = [cell for cell in of_metric if str(cell.point[panel]) == name]
        figures.append(Figure(name, chart, data=cells_csv(result.part, cells)))
    title = f"{what} over {result.part.name(figure['axis'])}"
    return Section(title, f"{lead}; the same axes in every chart.", figures=figures, grid=330)


def _dots(result: PartResult, figure: Mapping[str, Any]) -> Section:
    """Metrics of every value of an axis, a chart for each value of another."""
    study, axis, panel = result.part, figure["axis"], figure["panel"]
    metrics = metrics_of(figure)
    excess, log = figure.get("excess", False), figure.get("log", False)
    cells = [
        cell
        for cell in result.cells
        if cell.metric in metrics and point_is_at(cell.point, figure.get("at", {}))
        and cell.measured is not None
    ]  # fmt: skip
    rows = [
        {
            "panel": text.label(cell.point[panel]),
            "y": text.label(cell.point[axis]),
            "series": shown_as(study.name(cell.metric))[0],
            **dot_values(cell, excess=excess),
        }
        for cell in cells
    ]
    frame = _frame(rows, ["panel", "y", "series"], _SHOWN)
    shown = [shown_as(study.name(metric)) for metric in metrics]
    names = ", ".join(name for name, _ in shown)
    if len({factor for _, factor in shown}) == 1:  # of one unit
        frame = _scaled(frame.rename({"y": "row"}), shown[0][1]).rename({"row": "y"})
    if frame.is_empty():
        return Section(text.capital(names), "No cell has a value.")
    numbers = pl.concat([frame[name] for name in _SHOWN]).drop_nulls()
    if log:
        numbers = numbers.filter(numbers > 0)
    least, most = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    room = (most - least) * 0.05
    x_title = figure["title"] if excess or len(metrics) > 1 else names
    domain = (least / 1.3, most * 1.3) if log else (least - room, most + room)
    charts = [
        Figure(
            str(name),
            dots(
                frame.filter(pl.col("panel") == name).drop("panel"),
                order=list(dict.fromkeys(frame["y"])),
                x_title=x_title,
                title=f"{figure['title']} by {study.name(axis)}: {name}",
                log=log,
                domain=domain,
                width=FILL,
            ),
            data=cells_csv(study, [c for c in cells if text.label(c.point[panel]) == name]),
        )
        for name in dict.fromkeys(frame["panel"])
    ]
    compared = [column.title for column in study.compared if column.name in metrics]
    lead = "Dots are measurements"
    if study.repeats:
        lead += " with their 95 % intervals"
    if excess:
        lead += f", less {compared[0]}"
    elif any(cell.published is not None for cell in cells):
        lead += f", upright lines {compared[0]}"
    lead += "; the same axis in every chart."
    return Section(figure["title"], lead, figures=charts, grid=330)


#: Columns of a chart of measurements.
_SHOWN = ("mean", "low", "high", "published")


def dot_values(cell: Cell, *, excess: bool = False) -> dict[str, float | None]:
    """What a dot shows: the measurement and what it is held against, or the one less the other."""
    zero = (cell.published or 0.0) if excess else 0.0
    values = {"mean": cell.measured, "low": cell.ci_low, "high": cell.ci_high}
    shown = {name: None if value is None else value - zero for name, value in values.items()}
    return {**shown, "published": None if excess else cell.published}


_DRAW = {
    "dots": _dots,
    "heat_map": _heat_maps,
    "over_axis": _over_axis,
    "over_time": time_section,
    "phases": phase_section,
    "ratio": _ratio,
    "residuals": residual_section,
    "response": _response,
    "small_multiples": small_multiples,
}
