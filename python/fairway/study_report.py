"""The report of a study: verdicts first, then published beside measured, then the figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from fairway import text
from fairway.claims import Cell, Comparison, Finding
from fairway.claims.verdicts import number
from fairway.dots import dots
from fairway.figures import (
    QUANTITIES,
    AnyChart,
    heat_map,
    metric_over_axis,
    over_time,
    response,
    thin,
)
from fairway.page import FILL, Figure, Section, Table, render
from fairway.phase_charts import phase_section
from fairway.ratios import ratio_charts
from fairway.repetitions import sentence
from fairway.report import experiment_section, window_sentence
from fairway.residuals import residual_section
from fairway.study import Reproduction, cell_columns, cell_row

if TYPE_CHECKING:
    from fairway.study_parts import WholeReproduction

#: Points along one line of a small multiple.
_SMALL_POINTS = 250

_WHY = (
    "Every effect that a claim speaks of, with its 95 % interval over n repetitions, or its 90 % "
    "interval where the claim is that there is no difference. p is corrected for the number of "
    "comparisons that the claim makes: at most 0.05 decides, by where the effect is."
)


def study_report(result: Reproduction) -> str:
    """The whole report as HTML."""
    lead = result.study.source + "."
    if result.quick:
        lead += f" Shortened: {result.quick}."
    return render(result.study.title, lead, [*claim_sections(result), *body_sections(result)])


def claim_sections(result: Reproduction | WholeReproduction) -> Iterator[Section]:
    """The verdicts, and what decided them."""
    if result.study.claims:
        yield Section("Claims", verdicts=_verdicts(result))
    if any(finding.comparisons for finding in result.findings):
        yield Section("Why", _WHY, tables=[comparison_table(result)])


def body_sections(result: Reproduction) -> Iterator[Section]:
    """Cells, figures and the experiment."""
    study = result.study
    first = result.sweep.outcomes[0].point.experiment
    until = result.sweep.until
    repeated = sentence(until, result.sweep.stops) if until else ""
    yield Section(
        "Published beside measured",
        " ".join([study.summary, window_sentence(first), repeated]).strip(),
        warnings=result.sweep.warnings if until else (),
        tables=[cell_table(result)],
    )
    for figure in study.figures:
        yield _DRAW[figure["kind"]](result, figure)
    yield experiment_section(first, "Experiment of the first point")


def cell_table(result: Reproduction) -> Table:
    """Published beside measured."""
    study = result.study
    rows = [cell_row(study, cell) for cell in result.cells]
    labels = len(study.axes) + (len(study.compared) > 1)
    name = study.name(study.compared[0].metric) if len(study.compared) == 1 else "every metric"
    caption = f"{_sentence(name)}, {len(rows)} cells"
    return Table(caption, cell_columns(study), rows, labels)


def _sentence(name: str) -> str:
    return name[:1].upper() + name[1:]


def verdict_table(result: Reproduction | WholeReproduction) -> Table:
    """Claims and verdicts."""
    rows = [[v["verdict"], v["id"], v["statement"], v["finding"]] for v in _verdicts(result)]
    return Table("Claims", ["verdict", "claim", "statement", "finding"], rows, labels=4)


def comparison_table(result: Reproduction | WholeReproduction) -> Table:
    """What decided: every effect with its interval, beside what is claimed of it."""
    rows = []
    for claim, finding in zip(result.study.claims, result.findings, strict=True):
        parts = finding.by_value or (({}, finding),)
        for at, part in parts:
            own = [text.label(value) for value in at.values()]
            rows += [
                [claim.id, ", ".join([*own, *([c.label] if c.label else [])]), *_comparison_row(c)]
                for c in part.comparisons
            ]
    columns = ["claim", "of", "verdict", "claimed", "effect", "interval", "n", "p"]
    return Table("Effects beside what is claimed of them", columns, rows, labels=4)


def _comparison_row(comparison: Comparison) -> list[str]:
    ends = comparison.interval
    shown = text.ABSENT if ends is None else f"[{number(ends[0])}, {number(ends[1])}]"
    p = comparison.adjusted
    return [
        comparison.verdict,
        ("ratio " if comparison.logarithmic else "") + comparison.claimed,
        number(comparison.mean),
        shown,
        str(comparison.effect.count),
        text.ABSENT if p is None else "< 0.0001" if p < 1e-4 else f"{p:.2g}",
    ]


def _verdicts(result: Reproduction | WholeReproduction) -> list[dict[str, Any]]:
    return [
        {
            "verdict": finding.verdict,
            "id": claim.id,
            "statement": claim.statement,
            "where": claim.where,
            "finding": finding.reason,
            "values": _by_value(finding),
        }
        for claim, finding in zip(result.study.claims, result.findings, strict=True)
    ]


def _by_value(finding: Finding) -> list[dict[str, str]]:
    """What was found for each plausible value; values with the same answer share a line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for at, part in finding.by_value:
        # The same sentence of several tests is said once.
        sentences = dict.fromkeys(re.split(r"(?<=\.) ", part.reason))
        place = ", ".join(text.label(value) for value in at.values())
        lines.setdefault((part.verdict, " ".join(sentences)), []).append(place)
    return [
        {"verdict": verdict, "finding": reason, "of": "; ".join(places)}
        for (verdict, reason), places in lines.items()
    ]


def _heat_maps(result: Reproduction, figure: Mapping[str, Any]) -> Section:
    """The same matrix as published, as measured, and their difference, for each panel."""
    study, panel = result.study, figure.get("panel")
    of_metric = [cell for cell in result.cells if cell.metric == figure["metric"]]
    panels: dict[str, list[Cell]] = {}
    for cell in of_metric:
        panels.setdefault(f"{cell.point[panel]}: " if panel else "", []).append(cell)

    def chart(name: str, title: str, value: str, limit: float | None) -> Figure:
        title = name + (title[0].lower() + title[1:] if name else title)
        frame = _matrix(panels[name], figure["x"], figure["y"])
        drawn = heat_map(
            frame,
            x="x",
            y="y",
            value=value,
            x_title=study.name(figure["x"]),
            y_title=study.name(figure["y"]),
            title=f"{title} {figure['metric']}",
            limit=limit,
            width=FILL,
        )
        return Figure(title, drawn)

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


def _matrix(cells: list[Cell], x: str, y: str) -> pl.DataFrame:
    rows = [
        {
            "x": str(cell.point[x]),
            "y": str(cell.point[y]),
            "published": cell.published,
            "measured": cell.measured,
            "difference": cell.difference,
        }
        for cell in cells
    ]
    numbers = ("published", "measured", "difference")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64),
                        infer_schema_length=None)  # fmt: skip


def _over_axis(result: Reproduction, figure: Mapping[str, Any]) -> Section:
    """A metric along one axis, measured and published; a chart for each value of a panel."""
    metric, panel = figure["metric"], figure.get("panel")
    label, name = result.study.name(figure["axis"]), result.study.name(metric)
    panels: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if cell.metric == metric:
            panels.setdefault(text.label(cell.point[panel]) if panel else "", []).append(cell)
    charts = []
    for title, cells in panels.items():
        frame = _along(cells, figure["axis"], figure.get("group"))
        # Of several charts, one with a single value along the axis shows no course.
        if not frame.is_empty() and (len(panels) == 1 or frame["axis"].n_unique() > 1):
            chart = metric_over_axis(
                frame.rename({"axis": label}), axis=label, metric=name, group="group", width=FILL
            )
            charts.append(Figure(f"{name}: {title}" if title else name, chart))
    heading = figure.get("title", f"{_sentence(name)} over {label}")
    if not charts:
        return Section(heading, "No cell has a value.")
    return Section(heading, figures=charts, grid=330 if panel else None)


def _along(cells: list[Cell], axis: str, group: str | None) -> pl.DataFrame:
    """What is drawn of cells along an axis: means with intervals, and published numbers."""
    given = {(cell.point[axis], cell.published) for cell in cells if cell.published is not None}
    # One line of published numbers where they are the same for every group.
    common = len(given) == len({value for value, _ in given})
    rows: dict[tuple[Any, str], dict[str, Any]] = {}
    for cell in cells:
        name = text.label(cell.point[group]) if group else ""
        own = name if name and (common or not given) else f"{name} measured".strip()
        theirs = "published" if common else f"{name} published".strip()
        measured = {"mean": cell.measured, "low": cell.ci_low, "high": cell.ci_high}
        published = {"mean": cell.published, "low": None, "high": None}
        for label, values in ((own, measured), (theirs, published)):
            if values["mean"] is not None:
                key = (cell.point[axis], label)
                rows[key] = {"axis": cell.point[axis], "group": label, **values}
    kinds = dict.fromkeys(("mean", "low", "high"), pl.Float64)
    return pl.DataFrame(list(rows.values()), schema_overrides=kinds, infer_schema_length=None)


def response_charts(
    result: Reproduction, figure: Mapping[str, Any], **size: Any
) -> dict[str, AnyChart]:
    """Models beside measurements along one axis, a chart for each value of another."""
    study, axis, panel, metric = result.study, figure["axis"], figure["panel"], figure["metric"]
    cells = [c for c in result.cells if c.metric == metric and c.measured is not None]
    numbers = [
        number
        for cell in cells
        for number in (cell.measured, cell.published, *(cell.references or {}).values())
        if number
    ]
    if not numbers:
        return {}
    domain = (min(numbers) / 1.5, max(numbers) * 1.5)
    compared = next(column.title for column in study.compared if column.name == metric)
    charts: dict[str, AnyChart] = {}
    for name in dict.fromkeys(str(cell.point[panel]) for cell in cells):
        chosen = [cell for cell in cells if str(cell.point[panel]) == name]
        models = [
            {"model": model, "x": float(cell.point[axis]), "y": number}
            for cell in chosen
            for model, number in {compared: cell.published, **(cell.references or {})}.items()
            if number is not None
        ]
        measured = [
            {
                "x": float(cell.point[axis]),
                "mean": cell.measured,
                "low": cell.ci_low,
                "high": cell.ci_high,
            }
            for cell in chosen
        ]
        kinds = dict.fromkeys(("x", "mean", "low", "high"), pl.Float64)
        charts[name] = response(
            pl.DataFrame(models),
            pl.DataFrame(measured, schema=kinds),
            x_title=study.name(axis),
            y_title=study.name(metric),
            title=f"{study.name(metric)} of {name} against {study.name(axis)}",
            domain=domain,
            **size,
        )
    return charts


def _response(result: Reproduction, figure: Mapping[str, Any]) -> Section:
    charts = response_charts(result, figure, width=FILL)
    name, axis = result.study.name(figure["metric"]), result.study.name(figure["axis"])
    return Section(
        f"{_sentence(name)} over {axis}",
        "Lines are models, points are measurements with their 95 % intervals; the same axes in "
        "every chart.",
        figures=[Figure(title, chart) for title, chart in charts.items()],
        grid=330,
    )


def _ratio(result: Reproduction, figure: Mapping[str, Any]) -> Section:
    study = result.study
    charts = ratio_charts(result, figure, width=FILL)
    return Section(
        f"Measured over expected, over {study.name(figure['axis'])}",
        "Points are measurements with their 95 % intervals, filled where a claim speaks of them"
        + (f"; dashed lines: {figure['reference']}" if "reference" in figure else "")
        + "; the same axes in every chart.",
        figures=[Figure(title, chart) for title, chart in charts.items()],
        grid=330,
    )


def _dots(result: Reproduction, figure: Mapping[str, Any]) -> Section:
    """Metrics of every value of an axis, a chart for each value of another."""
    study, axis, panel = result.study, figure["axis"], figure["panel"]
    metrics = figure["metric"] if isinstance(figure["metric"], list) else [figure["metric"]]
    excess, log = figure.get("excess", False), figure.get("log", False)
    cells = [cell for cell in result.cells if cell.metric in metrics and cell.measured is not None]
    frame = pl.DataFrame(
        [
            {
                "panel": text.label(cell.point[panel]),
                "y": text.label(cell.point[axis]),
                "series": study.name(cell.metric),
                **dot_values(cell, excess=excess),
            }
            for cell in cells
        ],
        schema_overrides=dict.fromkeys(("mean", "low", "high", "published"), pl.Float64),
        infer_schema_length=None,
    )
    names = ", ".join(study.name(metric) for metric in metrics)
    if frame.is_empty():
        return Section(_sentence(names), "No cell has a value.")
    numbers = pl.concat([frame[name] for name in ("mean", "low", "high", "published")]).drop_nulls()
    if log:
        numbers = numbers.filter(numbers > 0)
    least, most = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    room = (most - least) * 0.05
    domain = (least / 1.3, most * 1.3) if log else (least - room, most + room)
    charts = [
        Figure(
            str(name),
            dots(
                frame.filter(pl.col("panel") == name).drop("panel"),
                order=list(dict.fromkeys(frame["y"])),
                x_title=figure["title"],
                title=f"{figure['title']} by {study.name(axis)}: {name}",
                log=log,
                domain=domain,
                width=FILL,
            ),
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


def dot_values(cell: Cell, *, excess: bool) -> dict[str, float | None]:
    """What a dot shows: the measurement and what it is held against, or the one less the other."""
    zero = (cell.published or 0.0) if excess else 0.0
    values = {"mean": cell.measured, "low": cell.ci_low, "high": cell.ci_high}
    shown = {name: None if value is None else value - zero for name, value in values.items()}
    return {**shown, "published": None if excess else cell.published}


def _small_multiples(result: Reproduction, figure: Mapping[str, Any]) -> Section:
    """One small chart per point, all with the same axes."""
    quantity = QUANTITIES[figure["quantity"]]
    drawn = [outcome for outcome in result.sweep.outcomes if outcome.point.repetition == 0]
    frames = [getattr(outcome.run, quantity.table) for outcome in drawn]
    # The axis is for what is drawn: single samples reach far above their neighbours' mean.
    shown = [
        thin(frame, quantity.key, quantity.column, _SMALL_POINTS, quantity.keep) for frame in frames
    ]
    tops = [float(frame[quantity.column].max() or 0.0) for frame in shown]  # type: ignore[arg-type]
    y_max = max(tops, default=0.0) * quantity.scale
    charts = []
    for outcome, frame in zip(drawn, frames, strict=True):
        title = ", ".join(str(value) for value in outcome.point.axes.values()) or result.study.key
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


_DRAW = {
    "dots": _dots,
    "heat_map": _heat_maps,
    "over_axis": _over_axis,
    "phases": phase_section,
    "ratio": _ratio,
    "residuals": residual_section,
    "response": _response,
    "small_multiples": _small_multiples,
}
