"""What the report of a capture has beyond that of any run: its connections, one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairway.capture.analysis import charts
from fairway.capture.analysis.charts import shares
from fairway.capture.analysis.flows import Flow, flows, largest
from fairway.capture.analysis.sequence import MOST_MARKS, between, time_sequence
from fairway.capture.analysis.story import overview, story
from fairway.capture.analysis.tables import (
    connection_table,
    datagram_table,
    direction_table,
    episode_table,
    group_tables,
    identification_table,
    retransmission_table,
    round_trip_table,
    share_tables,
)
from fairway.ground import text
from fairway.plot import vega
from fairway.plot.page import FILL, Figure, Section, Table
from fairway.results.run import Run

#: Flows that have charts of their own in a report; with --connection, any has.
MOST_FLOWS = 6
#: Connections in a report's table.
_MOST_LINES = 1000
#: A closer look is at so many round trips on either side of the first retransmission.
_AROUND_RTTS = 4
#: Round trip that is taken where there is no sample, in seconds.
_NO_RTT_S = 0.1


def capture_tables(run: Run) -> list[Table]:
    """Connections and datagrams, for the report's beginning."""
    report = run.summary["capture"]
    return [
        connection_table(report, _MOST_LINES),
        *group_tables(report, _MOST_LINES),
        *datagram_table(report, _MOST_LINES),
    ]


def capture_lead(run: Run) -> str:
    """What the capture is, in a sentence."""
    return overview(run.summary["capture"], run.title) + "."


def capture_sections(run: Run) -> list[Section]:
    """How connections share, and a section for each flow whose packets are known."""
    sections = []
    report = run.summary["capture"]
    if report.get("group"):
        caption = "Parts of what all of them deliver."
        figure = Figure("Shares of the connections.", shares(report, width=FILL), caption)
        sections.append(Section("Side by side", figures=[figure]))
    for flow in charted(run):
        started_s = report["capture"]["started_s"]
        is_reverse = flow.id.endswith("/reverse")
        paragraphs = [] if is_reverse else story(flow.connection, started_s)
        tables = connection_tables(flow, started_s)
        figures = [
            Figure(title, chart, caption)
            for title, chart, caption in flow_charts(run, flow, width=FILL)
        ]
        title = f"Connection {flow.id}"
        sections.append(Section(title, " ".join(paragraphs), tables=tables, figures=figures))
    return sections


def connection_tables(flow: Flow, started_s: float) -> list[Table]:
    """All tables of one flow, and those of its connection with its main one."""
    is_reverse = flow.id.endswith("/reverse")
    common = [] if is_reverse else [direction_table(flow.connection),
                                    *round_trip_table(flow.connection)]  # fmt: skip
    return [
        *common,
        *retransmission_table(flow),
        *episode_table(flow, started_s),
        *share_tables(flow),
        *identification_table(flow),
    ]


def charted(run: Run) -> list[Flow]:
    """Flows that have charts: those with most data of those whose intervals are known."""
    report = run.summary["capture"]
    known = set(run.capture_series["flow"].unique()) if run.capture_series is not None else set()
    found = [
        flow
        for flow in flows(largest(report["connections"], len(report["connections"])))
        if flow.id in known and flow.direction["data_bytes"]
    ]
    return found[:MOST_FLOWS]


def flow_charts(run: Run, flow: Flow, **size: Any) -> list[tuple[str, vega.Chart, str]]:
    """Charts of one flow: title, chart and caption."""
    found: list[tuple[str, vega.Chart, str]] = []
    packets = _of(run.packets, flow)
    series = _of(run.capture_series, flow)
    if not packets.is_empty():
        found.append(("Time–sequence diagram.", time_sequence(packets, **size), _thinned(packets)))
        near = first_repair(packets, flow)
        if near is not None:
            start_s, end_s = near
            chart = time_sequence(packets, start_s=start_s, end_s=end_s, **size)
            found.append(("The first retransmission, close.", chart, ""))
    if not series.is_empty():
        found.append(("Windows.", charts.windows(series, **size), _above(series)))
        found.append(("Throughput and goodput.", charts.rates(series, **size), ""))
        if not series["least_rtt_s"].drop_nulls().is_empty():
            caption = "The range of each interval, and the smoothed one as a line."
            found.append(("Round-trip time.", charts.round_trips(series, **size), caption))
    return found


def first_repair(packets: pl.DataFrame, flow: Flow) -> tuple[float, float] | None:
    """The time around the first retransmission, where the diagram of all shows it too small."""
    again = packets.filter(pl.col("what") == "retransmission")
    if again.is_empty():
        return None
    at_s = float(again["t_s"].min())  # type: ignore[arg-type]
    rtt = flow.direction["rtt_s"] or flow.direction.get("timestamp_rtt_s")
    around_s = _AROUND_RTTS * (rtt["mean"] if rtt and rtt["mean"] else _NO_RTT_S)
    whole = between(packets, at_s - around_s, at_s + around_s)
    return (at_s - around_s, at_s + around_s) if whole.height < packets.height / 2 else None


def _of(frame: pl.DataFrame | None, flow: Flow) -> pl.DataFrame:
    if frame is None:
        return pl.DataFrame()
    return frame.filter(pl.col("flow") == flow.id)


def _thinned(packets: pl.DataFrame) -> str:
    if packets.filter(pl.col("what") == "data").height <= MOST_MARKS:
        return "Every packet; Shift and wheel show each by itself."
    return (
        "Segments that follow each other are drawn as one, and what was sent again, dropped or "
        "lost is drawn by itself; --from and --to show a shorter time packet by packet."
    )


def _above(series: pl.DataFrame) -> str:
    """A remark where the receive window is not in the picture."""
    least: Any = series["receive_window_bytes"].min()
    highest = max(charts._most(series["flight_bytes"]), charts._most(series["cwnd_bytes"]))
    if least is None or float(least) <= charts._ROOM * highest:
        return ""
    return f"The receive window is above the picture, at {text.size(int(least))} or more."


def figure_charts(run: Run) -> Mapping[str, vega.Chart]:
    """Charts for files, by the names of the files."""
    names = {
        "Time–sequence diagram.": "time-sequence",
        "The first retransmission, close.": "first-retransmission",
        "Windows.": "windows",
        "Throughput and goodput.": "rates",
        "Round-trip time.": "rtt",
    }
    report = run.summary["capture"]
    together = {"shares": shares(report)} if report.get("group") else {}
    return together | {
        f"{flow.id}-{names[title]}": chart
        for flow in charted(run)
        for title, chart, _ in flow_charts(run, flow)
    }
