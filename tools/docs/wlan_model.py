"""Runs the study "wlan", draws its residuals, and writes its errors into the page.

    .venv/bin/python tools/docs/wlan_model.py [DIRECTORY]

It takes some minutes; with the directory of a run, what is there is taken from it.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from figures import digest, shortened
from reference import DOCS, table

import fairway
from fairway.model.wlan import Access, wlan
from fairway.plot import vega
from fairway.plot.figures import drawn, print_config
from fairway.study.reproduce import Reproduction
from fairway.study.residuals import residual_charts

sys.path.insert(0, str(DOCS.parent / "tools"))
from wlan_study import ATTEMPTS, cells

PAGE, FIGURE = DOCS / "wlan-model.md", DOCS / "wlan-model.svg"
ERRORS = re.compile(r"(<!-- errors -->\n).*?(<!-- end -->)", re.DOTALL)
STANDARDS = ("802.11b", "802.11g")
METRICS = {
    "goodput_bps": "all flows",
    "flow.down-*.goodput_bps": "downloads",
    "flow.up-*.goodput_bps": "uploads",
}


#: An error, and where it is; a standard, and whether acknowledgements are delayed.
Error = tuple[float, str]
Point = tuple[str, bool]


def errors(found: list[Error]) -> list[str]:
    """Number of cells, median and worst error, mean residual, and where the worst is."""
    worst, place = max(found, key=lambda pair: abs(pair[0]))
    return [
        f"{len(found):,}",
        f"{100 * statistics.median(abs(error) for error, _ in found):.2f} %",
        f"{100 * abs(worst):.2f} %",
        f"{100 * statistics.fmean(error for error, _ in found):+.2f} %".replace("-", "−"),
        place,
    ]


def of_metric(result: Reproduction, metric: str, at: Point | None = None) -> list[Error]:
    """Of a metric, with a standard and a kind of acknowledgements, or with all."""
    return [
        (cell.measured / cell.published - 1, str(cell.point["scenario"]))
        for cell in result.cells
        if cell.metric == metric and cell.published and cell.measured
        if at is None or _place(cell.point) == at
    ]


def of_flows(result: Reproduction, at: Point) -> list[Error]:
    """Of every single flow."""
    flows = {cell.name: cell.flows for cell in cells()}
    found = []
    for outcome in result.sweep.outcomes:
        point = outcome.point.axes
        if _place(point) != at:
            continue
        standard, delayed = at
        asked = flows[point["scenario"]]
        packets_per_ack = 2 if delayed else 1
        model = wlan(asked, Access(standard, attempts=ATTEMPTS), packets_per_ack=packets_per_ack)
        measured = [flow["goodput_bps"] for flow in outcome.run.summary["flows"]]
        for flow, expected, goodput in zip(asked, model.flow_bps, measured, strict=True):
            place = f"{point['scenario']}: {flow.direction}, {flow.window_packets}"
            found.append((goodput / expected - 1, place))
    return found


def rows(result: Reproduction) -> list[list[str]]:
    """Errors by metric, standard and delayed acknowledgements."""
    found = [["all flows", "both", "both", *errors(of_metric(result, "goodput_bps"))]]
    points = [(standard, delayed) for standard in STANDARDS for delayed in (False, True)]
    for metric, name in METRICS.items():
        found += [[name, *_words(at), *errors(of_metric(result, metric, at))] for at in points]
    return found + [["each flow", *_words(at), *errors(of_flows(result, at))] for at in points]


def _words(at: Point) -> list[str]:
    return [at[0], "yes" if at[1] else "no"]


def _place(point: Mapping[str, Any]) -> Point:
    return point["topology.standard"], point["stack.delayed_ack"]


def figure(result: Reproduction) -> vega.Chart:
    """Residuals of the goodput of all flows, a chart for each standard and kind of ACKs."""
    charts = residual_charts(result.parts[""], result.study.part.figures[0], width=270, height=170)
    titled = [chart.properties(title=name) for name, chart in charts.items()]
    return vega.concat(*titled, columns=2)


def main() -> int:
    """Write the table and draw the figure."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    result = fairway.reproduce("wlan", directory, quiet=False)
    header = ["", "standard", "delayed", "cells", "median", "worst", "mean residual", "worst at"]
    written = table(header, rows(result))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(ERRORS.sub(lambda m: f"{m[1]}\n{written}\n{m[2]}", page), encoding="utf-8")
    chart = figure(result)
    svg = shortened(drawn(chart, "svg").decode())
    FIGURE.write_text(svg + digest(chart.properties(config=print_config())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
