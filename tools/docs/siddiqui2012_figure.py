"""Draws the figure of the study siddiqui2012: three windows with their phases, and ns-2's.

    .venv/bin/python tools/docs/siddiqui2012_figure.py

It runs the part "lte", some seconds. ns-2's windows are those that
`tests/python/ns2_lte.py` recorded.
"""

from __future__ import annotations

import tempfile

import polars as pl
from figures import digest, shortened
from reference import DOCS

from fairway.metrics.phases import of_series
from fairway.plot import vega
from fairway.plot.figures import drawn, inline, print_config
from fairway.results.phase_charts import phase_chart
from fairway.results.tables import INFLATED
from fairway.study.files import find
from fairway.study.model import Study
from fairway.study.reproduce import reproduce_study

FIGURE = DOCS / "siddiqui2012.svg"
RECORDED = DOCS.parent / "tests" / "python" / "ns2_lte_windows.csv"
#: What is shown of 50 seconds.
UNTIL_S = 12.0


def as_recorded(sender: str) -> vega.Chart:
    """ns-2's window of a sender."""
    rows = pl.read_csv(RECORDED).filter(pl.col("sender") == sender)
    shown = rows.select(pl.col("t_s").alias("t"), "cwnd")
    return (
        vega.Chart(inline(shown, t="number", cwnd="number"))
        .mark("line", interpolate="step-after", strokeDash=[3, 3], strokeWidth=1.5, color="#c2410c")
        .encode(x="t:Q", y="cwnd:Q")
    )


def main() -> None:
    """Run, and draw each sender of the scenario "as plotted"."""
    with tempfile.TemporaryDirectory() as directory:
        result = reproduce_study(Study.of(find("siddiqui2012").parts["lte"]), directory)
        charts = []
        for outcome in result.sweep.outcomes:
            if outcome.point.axes["scenario"] != "as plotted":
                continue
            sender = outcome.point.axes["flow.0.id"]
            rows = outcome.series().filter(pl.col("t_s") <= UNTIL_S)
            found = of_series(rows, str(outcome.summary["flows"][0]["id"]))
            if INFLATED in rows.columns:
                rows = rows.with_columns(pl.col(INFLATED).alias("cwnd_segments"))
            chart = phase_chart(rows, found, y_max=105, width=640, height=120)
            chart = vega.layer(chart, as_recorded(sender))
            title = f"{sender}: cwnd (packets) over time (s); dashed: ns-2.35"
            charts.append(chart.properties(title=title))
        figure = vega.vconcat(*charts)
        svg = shortened(drawn(figure, "svg").decode())
        shown = digest(figure.properties(config=print_config()))
        FIGURE.write_text(svg + shown, encoding="utf-8")


if __name__ == "__main__":
    main()
