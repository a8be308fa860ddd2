"""Draws the figure of the page on khader2020 over time: the transfer of figures 4-3 to 4-6.

    .venv/bin/python tools/docs/khader2020_figure.py

It runs the part "windows" in its shortened form, some seconds.
"""

from __future__ import annotations

import tempfile

from figures import digest, shortened
from reference import DOCS

from fairway.plot import vega
from fairway.plot.figures import drawn, print_config
from fairway.plot.quantities import QUANTITIES
from fairway.study.files import find
from fairway.study.model import Study
from fairway.study.reproduce import reproduce_study
from fairway.study.time_charts import time_chart

FIGURE = DOCS / "khader2020-figures.svg"
TRANSFER = "7.5e-3, MTU 1200"
#: The readings that are shown, and what of each.
PANELS = {
    "frozen window": (("cwnd", "ssthresh"), ("srtt",)),
    "equations": (("cwnd", "ssthresh"),),
    "code, segments": (("cwnd", "ssthresh"),),
}


def main() -> None:
    """Run, and draw the window of each reading."""
    with tempfile.TemporaryDirectory() as directory:
        result = reproduce_study(
            Study.of(find("khader2020").parts["windows"]), directory, quick=True
        )
        charts = []
        for outcome in result.sweep.outcomes:
            axes = outcome.point.axes
            for names in PANELS.get(axes["scenario"], ()) if axes["title"] == TRANSFER else ():
                chart = time_chart(outcome, [QUANTITIES[name] for name in names], height=110)
                charts.append(chart.properties(title=axes["scenario"]))
        figure = vega.vconcat(*charts)
        svg = shortened(drawn(figure, "svg").decode())
        shown = digest(figure.properties(config=print_config()))
        FIGURE.write_text(svg + shown, encoding="utf-8")


if __name__ == "__main__":
    main()
