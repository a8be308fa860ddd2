"""The report of a comparison: what differs, both windows, and how it was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from fairway.compare.agree.curves import Curves
from fairway.compare.agree.data import AgreementData, Finding, PointAgreement
from fairway.compare.agree.tables import IN_LINES, different, point_tables, remarks, sweep_tables
from fairway.ground import text
from fairway.plot import vega
from fairway.plot.figures import PALETTE, Width, inline, layered
from fairway.plot.over_time import thin
from fairway.plot.page import FILL, Figure, Section, Table, render

#: Okabe and Ito's green, vermilion, and grey.
_COLOURS = {"equivalent": "#009E73", "different": "#D55E00", "undecided": "#777777"}
#: Differences that are larger are drawn at the edge: in per cent, and in tolerances.
_FAR_PERCENT, _FAR_MARGINS = 60.0, 5.0
#: Charts side by side on paper.
_COLUMNS = 4


def windows(
    point: PointAgreement,
    flow: str,
    *,
    width: Width = 640,
    height: int = 240,
    small: bool = False,
) -> vega.Chart:
    """The mean window of both sides over time; behind them each seed's, unless it is small."""
    both, points = point.curves[flow], 250 if small else 800
    order = [point.reference, point.side]
    means = pl.concat(_line(both[side].mean, both[side], side, side, points) for side in order)
    color = vega.field(
        "side:N",
        title=None,
        scale=vega.scale(domain=order, range=PALETTE[: len(order)]),
        legend=vega.legend(orient="top", symbolType="stroke", symbolOpacity=1),
    )
    x = vega.field(
        "t:Q",
        title=None if small else "Time (s)",
        scale=vega.scale(domain=[0, float(both[point.side].t_s[-1])], nice=False),
        axis=vega.axis(tickCount=4 if small else 10),
    )
    y = vega.field("v:Q", title=None if small else "cwnd (segments)", axis=vega.axis(tickCount=4))
    layers = []
    if not small:
        each = pl.concat(
            _line(row, both[side], side, f"{side} {seed}", points // 2)
            for side in order
            for seed, row in enumerate(both[side].windows)
        )
        faint = vega.Chart(inline(each, t="number", v="number"))
        faint = faint.mark("line", strokeWidth=0.6, opacity=0.35, strokeJoin="round")
        layers.append(faint.encode(x=x, y=y, color=color, detail="line:N"))
    tooltip = [vega.field("side:N"), vega.field("t:Q", title="Time (s)"),
               vega.field("v:Q", title="cwnd")]  # fmt: skip
    # The reference is wider, so that it is seen on both sides where the two are the same.
    widths = vega.scale(domain=order, range=[2.2, 1.0])
    stroke = vega.field("side:N", scale=widths, legend=None)
    lines = vega.Chart(inline(means, t="number", v="number")).mark("line", strokeJoin="round")
    layers.append(
        lines.encode(x=x, y=y, color=color, strokeWidth=stroke, order="t:Q", tooltip=tooltip)
    )
    told = f"Mean congestion window of {flow} over time on {' and '.join(order)}"
    return layered(layers, told, width, height)


def _line(values: Any, of: Curves, side: str, name: str, points: int) -> pl.DataFrame:
    frame = pl.DataFrame({"t_s": of.t_s, "line": [name] * len(of.t_s), "v": values})
    return (
        thin(frame, "line", "v", points, "extremes")
        .frame()
        .select(
            pl.col("t_s").round(2).alias("t"),
            pl.lit(side).alias("side"),
            "line",
            pl.col("v").round_sig_figs(4),
        )
    )


def all_differences(point: PointAgreement, *, width: Width = 480) -> vega.Chart:
    """Every difference of a point in units of its tolerance."""
    rows = []
    for finding in point.findings:
        found = finding.judgement
        if found.method == "zero":
            continue
        apart = found.difference
        unit = found.margin or abs(apart.mean) / _FAR_MARGINS or 1.0
        label = f"{finding.owner}: {finding.quantity.name}"
        rows.append(_differing(label, finding, [apart.mean, apart.low, apart.high], 1 / unit))
    title = f"Difference from {point.reference} in tolerances"
    return _differences(rows, 1.0, _FAR_MARGINS, title, width)


def differences(
    points: Sequence[PointAgreement], quantity: str, *, width: Width = 220
) -> vega.Chart | None:
    """The relative difference of a quantity of each point's first flow, in per cent."""
    rows = []
    band = 0.0
    for point in points:
        finding = point.finding(quantity, point.flows[0])
        if finding is None or finding.judgement.reference.mean == 0:
            continue
        found = finding.judgement
        apart = found.difference
        numbers = [found.relative(value) for value in (apart.mean, apart.low, apart.high)]
        label = text.label(list(point.axes.values())[-1])
        rows.append(_differing(label, finding, numbers, 100))
        band = 100 * found.margin / abs(found.reference.mean)
    if not rows:
        return None
    title = f"{quantity}: difference from {points[0].reference} (%)"
    return _differences(rows, band, _FAR_PERCENT, title, width)


def _differing(
    label: str, finding: Finding, numbers: Sequence[float | None], scale: float
) -> dict[str, Any]:
    value, low, high = (None if number is None else number * scale for number in numbers)
    verdict = finding.judgement.verdict
    return {"label": label, "verdict": verdict, "value": value, "low": low, "high": high}


def _differences(
    rows: Sequence[dict[str, Any]], band: float, far: float, title: str, width: Width
) -> vega.Chart:
    kinds = dict.fromkeys(("value", "low", "high"), pl.Float64)
    frame = pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)
    ends = frame.select(pl.max_horizontal(pl.col("value", "low", "high").abs()))
    largest = float(ends.to_series().max() or 0.0)  # type: ignore[arg-type]
    reach = min(max(1.1 * largest, 2 * band), far)
    data = inline(frame.with_columns(pl.col(list(kinds)).round_sig_figs(4)),
                  **dict.fromkeys(kinds, "number"))  # fmt: skip
    scale = vega.scale(domain=[-reach, reach], clamp=True, nice=False)
    y = vega.field("label:N", sort=list(dict.fromkeys(row["label"] for row in rows)), title=None,
              axis=vega.axis(grid=False, labelLimit=240))  # fmt: skip
    colours = vega.scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    color = vega.field("verdict:N", title=None, legend=vega.legend(orient="top"), scale=colours)
    ground = inline(pl.DataFrame({"low": [-band], "high": [band]}), low="number", high="number")
    accepted = vega.Chart(ground).mark("rect", color=_COLOURS["equivalent"], opacity=0.12)
    ends_of = {"x": vega.field("low:Q", scale=scale, title=title), "x2": "high:Q"}
    base = vega.Chart(data, description=title).encode(y=y, color=color)
    x = vega.field("value:Q", scale=scale, title=title, axis=vega.axis(tickCount=5))
    layers: list[vega.Chart] = [accepted.encode(**ends_of)]
    if not frame["low"].drop_nulls().is_empty():
        layers.append(base.mark("rule", strokeWidth=1.5).encode(**ends_of))
    marks = base.mark("point", filled=True, size=36, opacity=1)
    layers.append(marks.encode(x=x, tooltip=["label:N", "verdict:N", "value:Q", "low:Q", "high:Q"]))
    return layered(layers, title, width, {"step": 15})


def paper_charts(result: AgreementData) -> dict[str, vega.Chart]:
    """The figures as files: windows and differences, for each side and block of a sweep."""
    charts: dict[str, vega.Chart] = {}
    for name, points in blocks(result):
        if not result.axes:
            for flow in points[0].curves:
                charts[f"{name} windows {flow}"] = windows(points[0], flow)
            charts[f"{name} differences"] = all_differences(points[0])
            continue
        panels = [
            windows(point, flow, width=170, height=80, small=True).properties(
                title=vega.title(_panel_title(point, flow), fontSize=11, anchor="start")
            )
            for point in points
            for flow in point.curves
        ]
        if panels:
            grid = vega.concat(*panels, columns=_COLUMNS).resolve_scale(y="independent")
            charts[f"{name} windows"] = grid
        drawn = [chart for quantity in IN_LINES if (chart := differences(points, quantity))]
        if drawn:
            charts[f"{name} differences"] = vega.hconcat(*drawn)
    return charts


def blocks(result: AgreementData) -> list[tuple[str, list[PointAgreement]]]:
    """Points that are shown together, with their name: the side and all axes but the last."""
    found: dict[str, list[PointAgreement]] = {}
    for point in result.points:
        values = [text.label(value) for value in point.axes.values()][:-1]
        found.setdefault(" ".join([point.side, *values]), []).append(point)
    return list(found.items())


def _panel_title(point: PointAgreement, flow: str) -> str:
    last = text.label(list(point.axes.values())[-1])
    return f"{last}, {flow}" if len(point.flows) > 1 else last


def report(result: AgreementData) -> str:
    """The whole report as HTML."""
    sections = [Section("Verdicts", " ".join(remarks(result)))]
    sections += _of_sweep(result) if result.axes else _of_one(result)
    sections.append(Section("Tolerances", _METHOD, tables=[_tolerances(result)]))
    seeds = text.count(result.seeds, "seed")
    lead = f"Backend {' and '.join(result.sides)} held against {result.reference}, {seeds} each."
    return render(result.title, lead, sections)


_METHOD = (
    "A tolerance is a share of the reference's mean, or the number beside it where that is more. "
    "A quantity is equivalent if the 90 % interval of the difference of means lies within ± its "
    "tolerance, different if all of it lies outside, and undecided otherwise; this is two "
    "one-sided tests at 5 % each (Schuirmann 1987). The interval is Student's of the differences "
    "seed by seed if both sides draw the same random numbers, else Welch's. Where every seed gave "
    "the same difference, there is no interval, and the values are compared."
)


def _of_one(result: AgreementData) -> list[Section]:
    sections = []
    for side in result.sides:
        for point in result.of(side):
            over_time = [Figure(flow, windows(point, flow, width=FILL)) for flow in point.curves]
            about = "Thick lines are means over the seeds, thin ones each seed."
            sections.append(Section(f"Windows: {side} and {result.reference}", about,
                                    figures=over_time))  # fmt: skip
            drawn = all_differences(point, width=FILL)
            caption = "Shaded is what is of no account. What is further off is at the edge."
            figure = Figure("Differences", drawn, caption)
            sections.append(
                Section("Differences", figures=[figure], tables=point_tables(result, side))
            )
    return sections


def _of_sweep(result: AgreementData) -> list[Section]:
    sections = []
    by_name = blocks(result)
    shown = [table for side in result.sides for table in sweep_tables(result, side)]
    for (name, points), table in zip(by_name, shown, strict=True):
        figures = [
            Figure(quantity, chart)
            for quantity in IN_LINES
            if (chart := differences(points, quantity, width=FILL))
        ]
        plain = replace(table, caption="Means and differences")
        heading = table.caption or name
        sections.append(Section(heading, tables=[plain], figures=figures, grid=330))
        if small := _small(points):
            about = "Means over the seeds, cwnd (segments) against time (s)."
            sections.append(Section(f"Windows: {name}", about, figures=small, grid=250))
    for side in result.sides:
        if (rest := different(result, side)).rows:
            sections.append(Section(f"Not equivalent: {side}", tables=[rest]))
    return sections


def _small(points: list[PointAgreement]) -> list[Figure]:
    return [
        Figure(
            point.label if len(point.flows) == 1 else f"{point.label}: {flow}",
            windows(point, flow, width=FILL, height=110, small=True),
        )
        for point in points
        for flow in point.curves
    ]


def _tolerances(result: AgreementData) -> Table:
    rows = [
        [
            name,
            text.percent(one.relative, signed=False),
            text.number(one.floor) if one.floor else "",
        ]
        for name, one in result.tolerances.items()
    ]
    return Table("", ["metric", "share", "at least, in the summary's unit"], rows)
