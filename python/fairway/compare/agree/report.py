"""The report of a comparison: what differs, both windows, and how it was judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairway.compare.agree import charts
from fairway.compare.agree.tables import IN_LINES, different, point_tables, remarks, sweep_tables
from fairway.ground import text
from fairway.plot.page import FILL, Figure, Section, Table, render

if TYPE_CHECKING:
    from fairway.compare.agree.data import AgreementData, PointAgreement


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
    "A quantity is equivalent if the 90 % interval of the difference of means (Welch) lies within "
    "± its tolerance, different if all of it lies outside, and undecided otherwise; this is two "
    "one-sided tests at 5 % each (Schuirmann 1987). Where every seed of both sides gave the same, "
    "there is no interval, and the values are compared."
)


def _of_one(result: AgreementData) -> list[Section]:
    sections = []
    for side in result.sides:
        for point in result.of(side):
            windows = [
                Figure(flow, charts.windows(point, flow, width=FILL)) for flow in point.curves
            ]
            about = "Thick lines are means over the seeds, thin ones each seed."
            sections.append(Section(f"Windows: {side} and {result.reference}", about,
                                    figures=windows))  # fmt: skip
            drawn = charts.all_differences(point, width=FILL)
            caption = "Shaded is what is of no account. What is further off is at the edge."
            figure = Figure("Differences", drawn, caption)
            sections.append(
                Section("Differences", figures=[figure], tables=point_tables(result, side))
            )
    return sections


def _of_sweep(result: AgreementData) -> list[Section]:
    sections = []
    by_name = charts.blocks(result)
    shown = [table for side in result.sides for table in sweep_tables(result, side)]
    for (name, points), table in zip(by_name, shown, strict=True):
        figures = [
            Figure(quantity, chart)
            for quantity in IN_LINES
            if (chart := charts.differences(points, quantity, width=FILL))
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
            charts.windows(point, flow, width=FILL, height=110, points=250, small=True),
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
