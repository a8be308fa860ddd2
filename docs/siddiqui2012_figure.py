"""Draws the figure of the study siddiqui2012: three windows with their phases.

    .venv/bin/python docs/siddiqui2012_figure.py

It runs the part "lte" in its shortened form, some seconds.
"""

from __future__ import annotations

import tempfile

import altair as alt
import polars as pl
from figures import digest, shortened
from tables import DOCS

from fairway.figures import drawn, print_config
from fairway.phase_charts import phase_chart
from fairway.study import find, reproduce_study
from fairway.window_phases import of_series

FIGURE = DOCS / "siddiqui2012.svg"
#: What is shown of 50 seconds.
UNTIL_S = 12.0


def main() -> None:
    """Run, and draw each sender of the scenario "as plotted"."""
    with tempfile.TemporaryDirectory() as directory:
        result = reproduce_study(find("siddiqui2012").parts["lte"], directory, quick=True)
        charts = []
        for outcome in result.sweep.outcomes:
            if outcome.point.axes["scenario"] != "as plotted":
                continue
            sender = outcome.point.axes["flow.0.id"]
            rows = outcome.series().filter(pl.col("t_s") <= UNTIL_S)
            found = of_series(rows, str(outcome.summary["flows"][0]["id"]))
            chart = phase_chart(rows, found, y_max=105, width=640, height=120)
            charts.append(chart.properties(title=f"{sender}: cwnd (packets) over time (s)"))
        figure = alt.vconcat(*charts)
        svg = shortened(drawn(figure, "svg").decode())
        shown = digest(figure.properties(config=print_config()))
        FIGURE.write_text(svg + shown, encoding="utf-8")


if __name__ == "__main__":
    main()
