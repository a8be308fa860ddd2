"""Phases of senders as charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from fairway.ground import text
from fairway.ground.columns import Columns
from fairway.metrics.phases import Phase, epochs, phases
from fairway.plot import vega
from fairway.plot.figures import PALETTE, is_rate_based
from fairway.plot.over_time import inline, rounded, thin
from fairway.plot.page import Table
from fairway.results.data import RunData

if TYPE_CHECKING:
    import polars as pl

#: Kinds of phases in the order of their colours.
KINDS = ("slow start", "avoidance", "recovery", "timeout")
_COLOURS = [PALETTE[2], PALETTE[5], PALETTE[4], PALETTE[1]]
#: Points along a line.
_POINTS = 600
#: Flows and samples of a run's table of phases: with more it would take seconds.
_MOST_FLOWS, _MOST_SAMPLES = 8, 50_000


def phase_chart(
    rows: Columns | pl.DataFrame,
    found: Sequence[Phase],
    *,
    y_max: float | None = None,
    width: int | Literal["container"] = 640,
    height: int = 170,
) -> vega.Chart:
    """A window over time, up to `y_max` segments, with what the sender does behind it."""
    rows = Columns.of(rows)
    top = 1.05 * (y_max or max(phase.peak_segments for phase in found))
    x = vega.scale(domain=[0, rows.numbers("t_s").max(initial=0.0)], nice=False)
    y = vega.scale(domain=[0, top], nice=False)
    spans = {
        "phase": [phase.kind for phase in found],
        "from": [round(phase.start_s, 3) for phase in found],
        "to": [round(phase.end_s, 3) for phase in found],
        "peak": [round(phase.peak_segments, 1) for phase in found],
    }
    behind = (
        vega.Chart(
            inline(spans, **{"from": "number", "to": "number", "peak": "number"}),
            description="What the sender does over time, behind its congestion window",
        )
        .mark("rect", opacity=0.35, clip=True)
        .encode(
            x=vega.field("from:Q", scale=x, title=None, axis=vega.axis(tickCount=6)),
            x2="to:Q",
            color=vega.field(
                "phase:N",
                scale=vega.scale(domain=list(KINDS), range=_COLOURS),
                legend=vega.legend(orient="top", title=None, columns=4, symbolType="square"),
            ),
            tooltip=["phase:N", "from:Q", "to:Q", "peak:Q"],
        )
    )
    thinned = thin(rows, "flow", "cwnd_segments", _POINTS, "extremes")
    line = {
        "t": rounded(thinned.numbers("t_s"), 3),
        "cwnd": rounded(thinned.numbers("cwnd_segments"), 2),
    }
    window = (
        vega.Chart(inline(line, t="number", cwnd="number"))
        .mark("line", style="ink", strokeWidth=1.5, clip=True)
        .encode(
            x=vega.field("t:Q", scale=x),
            y=vega.field("cwnd:Q", scale=y, title=None, axis=vega.axis(tickCount=5)),
            tooltip=["t:Q", "cwnd:Q"],
        )
    )
    return vega.layer(behind, window).properties(width=width, height=height)


def phase_tables(run: RunData) -> list[Table]:
    """When each flow's first slow start ended, and the share of its time in each phase.

    None of runs without windows, and of those with more flows or samples than are looked through.
    None of captures: their windows are what was in flight, and the analysis tells their phases
    itself. Nor of flows that do not go by a threshold, which alone tells their phases apart.
    """
    if "capture" in run.summary:
        return []
    flows = [row for row in run.summary["flows"] if row["cc"] is not None]
    if not 0 < len(flows) <= _MOST_FLOWS or run.sampled("series").rows > _MOST_SAMPLES:
        return []
    rows = []
    for flow in flows:
        found = [] if is_rate_based(flow["cc"]) else phases(run, str(flow["id"]))
        is_reduced = any(phase.kind == "recovery" for phase in found)
        if not found or (is_reduced and all(p.ssthresh_segments is None for p in found)):
            continue
        first, total = epochs(found)[:1], found[-1].end_s - found[0].start_s
        start = found[0] if found[0].kind == "slow start" else None
        shares = [sum(p.duration_s for p in found if p.kind == kind) for kind in KINDS]
        rows.append(
            [
                str(flow["id"]),
                f"{text.number(start.end_s)} s" if start else text.ABSENT,
                text.number(first[0].peak_segments) if first else text.ABSENT,
                *(
                    text.percent(share / total, signed=False) if total else text.ABSENT
                    for share in shares
                ),
            ]
        )
    names = ["flow", "slow start until", "first peak (segments)", *KINDS]
    caption = "Phases, over the whole run; recovery lasts until the window grows"
    return [Table(caption, names, rows)] if rows else []
