"""The report of a comparison with golden traces."""

from __future__ import annotations

import polars as pl

from fairway.compare.fidelity.data import FEWEST_REDUCTIONS, Cell, FidelityData, what_is_taken
from fairway.compare.fidelity.tables import missed, tables, tolerances
from fairway.metrics.episodes import Trace
from fairway.plot import vega
from fairway.plot.figures import PALETTE, Width, inline
from fairway.plot.over_time import thin
from fairway.plot.page import FILL, Figure, Section, render

#: Charts side by side on paper.
_COLUMNS = 6
#: Points along one line.
_POINTS = 250
_ORDER = ("real", "simulated")


def windows(cell: Cell, *, width: Width = 150, height: int = 80) -> vega.Chart:
    """The recorded window and the simulated one over it."""
    sides = zip(_ORDER, (cell.real, cell.sim), strict=True)
    rows = pl.concat(_line(trace, side) for side, trace in sides)
    key = vega.legend(orient="top", symbolType="stroke", symbolOpacity=1)
    domain = list(_ORDER)
    x = vega.field("t:Q", title=None, axis=vega.axis(tickCount=4),
              scale=vega.scale(domain=[0, float(cell.real.t_s[-1])], nice=False))  # fmt: skip
    color = vega.field("side:N", title=None, legend=key,
                      scale=vega.scale(domain=domain, range=PALETTE[1::-1]))  # fmt: skip
    # The recording is wider, so that it is seen on both sides where the two are the same.
    widths = vega.scale(domain=domain, range=[2.2, 1.0])
    stroke = vega.field("side:N", legend=None, scale=widths)
    y = vega.field("v:Q", title=None, axis=vega.axis(tickCount=3))
    tooltip = ["side:N", vega.field("t:Q", title="Time (s)"), vega.field("v:Q", title="cwnd")]
    lines = vega.Chart(inline(rows, t="number", v="number")).mark("line", strokeJoin="round")
    chart = lines.encode(x=x, y=y, color=color, strokeWidth=stroke, order="t:Q", tooltip=tooltip)
    told = f"Congestion windows of {cell.label} in {cell.scenario}, recorded and simulated"
    return chart.properties(width=width, height=height, description=told)


def _line(trace: Trace, side: str) -> pl.DataFrame:
    frame = pl.DataFrame({"t_s": trace.t_s, "side": [side] * len(trace.t_s), "v": trace.cwnd})
    return (
        thin(frame, "side", "v", _POINTS, "extremes")
        .frame()
        .select(pl.col("t_s").round(2).alias("t"), "side", pl.col("v").round_sig_figs(4))
    )


def page(result: FidelityData) -> vega.Chart:
    """Every cell on one page, a block for each scenario; what is out of tolerance is marked."""
    blocks = []
    for name, cells in result.scenarios.items():
        panels = [windows(cell).properties(title=_title(cell)) for cell in cells]
        grid = vega.concat(*panels, columns=_COLUMNS, spacing=36, bounds="flush")
        told = f"{name}: cwnd (segments) against time (s)"
        heading = vega.title(told, fontSize=14, anchor="start")
        blocks.append(grid.resolve_scale(y="independent").properties(title=heading))
    return vega.vconcat(*blocks, spacing=30)


def _title(cell: Cell) -> vega.Options:
    return vega.title(
        title(cell), fontSize=11, anchor="start", offset=4,
        color="black" if cell.within else PALETTE[1],
    )  # fmt: skip


def title(cell: Cell) -> str:
    """What stands over a cell's chart."""
    return cell.label if cell.within else f"{cell.label} (out)"


_TOLERANCES = (
    "A cell is within tolerance if the simulated value of each of these is off the real one by no "
    "more than that share of it. The interval between reductions is judged where the recording "
    f"has at least {FEWEST_REDUCTIONS}; * marks what is out."
)


def report(result: FidelityData) -> str:
    """The whole report as HTML."""
    out = missed(result)
    sections = [
        Section("Verdict", f"{result.sentence}. {_TOLERANCES}",
                tables=[tolerances(), *([out] if out.rows else [])]),
    ]  # fmt: skip
    shown = tables(result)
    for index, (name, cells) in enumerate(result.scenarios.items()):
        figures = [Figure(title(cell), windows(cell, width=FILL, height=110)) for cell in cells]
        about = "The congestion window in segments against time in seconds."
        sections.append(Section(f"{name}: windows", about, figures=figures, grid=250))
        sections.append(Section(f"{name}: numbers", what_is_taken(),
                                tables=shown[3 * index : 3 * index + 3]))  # fmt: skip
    lead = f"Golden traces in {result.directory}, simulated beside real."
    return render(result.title, lead, sections)
