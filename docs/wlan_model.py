"""Runs the study "wlan", draws its residuals, and writes its errors into the page.

    .venv/bin/python docs/wlan_model.py [DIRECTORY]

It takes some minutes; with the directory of a run, what is there is taken from it.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import altair as alt
from figures import digest, shortened
from tables import DOCS, table

import fairway
from fairway.claims import Cell
from fairway.figures import drawn, print_config
from fairway.residuals import residual_charts
from fairway.study import Reproduction

PAGE, FIGURE = DOCS / "wlan-model.md", DOCS / "wlan-model.svg"
ERRORS = re.compile(r"(<!-- errors -->\n).*?(<!-- end -->)", re.DOTALL)
STANDARDS = ("802.11b", "802.11g")
METRICS = {
    "goodput_bps": "all flows",
    "flow.down-*.goodput_bps": "downloads",
    "flow.up-*.goodput_bps": "uploads",
}


def errors(cells: Iterable[Cell], chosen: Callable[[Cell], bool]) -> list[str]:
    """Number of cells, median and worst error, mean residual, and where the worst is."""
    found = [
        (cell.measured / cell.published - 1, cell)
        for cell in cells
        if chosen(cell) and cell.published and cell.measured
    ]
    worst, cell = max(found, key=lambda pair: abs(pair[0]))
    return [
        f"{len(found)}",
        f"{100 * statistics.median(abs(error) for error, _ in found):.2f} %",
        f"{100 * abs(worst):.2f} %",
        f"{100 * statistics.fmean(error for error, _ in found):+.2f} %".replace("-", "−"),
        str(cell.point["scenario"]),
    ]


def rows(result: Reproduction) -> list[list[str]]:
    """Errors by metric, standard and delayed acknowledgements."""
    found = [
        ["all flows", "both", "both", *errors(result.cells, lambda c: c.metric == "goodput_bps")]
    ]
    for metric, name in METRICS.items():
        for standard in STANDARDS:
            for delayed in (False, True):
                at = (metric, standard, delayed)
                found.append(
                    [
                        name,
                        standard,
                        "yes" if delayed else "no",
                        *errors(result.cells, lambda c, at=at: _place(c) == at),  # type: ignore[misc]
                    ]
                )
    return found


def _place(cell: Cell) -> tuple[str, str, bool]:
    point = cell.point
    return cell.metric, point["topology.standard"], point["stack.delayed_ack"]


def figure(result: Reproduction) -> alt.ConcatChart:
    """Residuals of the goodput of all flows, a chart for each standard and kind of ACKs."""
    charts = residual_charts(result, result.study.figures[0], width=270, height=170)
    titled = [chart.properties(title=name) for name, chart in charts.items()]
    return alt.concat(*titled, columns=2)


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
