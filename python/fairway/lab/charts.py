"""The charts, scripts and style sheet of reports, for the laboratory's page."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from fairway.plot import over_time, page
from fairway.plot.quantities import IN_ORDER, QUANTITIES
from fairway.results import report
from fairway.sweep import start

#: Quantities that the page shows, in the order of its charts.
SHOWN = ("cwnd", "srtt", "goodput", "backlog")

#: A run whose charts have every part: a shaded measuring window, a legend, and flows and links of
#: one sample, drawn as points.
_WHOLE = """\
duration = "1 s"

[topology]
kind = "dumbbell"
bottleneck = { rate = "5 Mbit/s", delay = "10 ms", queue = { limit = "20 packets" } }

[[flow]]
cc = "reno"
count = 2

[measure]
window = ["0.5 s", "1 s"]
sample = "1 s"
"""

#: Height of a chart of a sweep, in pixels.
_SMALL = 150


def definitions() -> dict[str, Any]:
    """`charts.json`: how a report draws each quantity, without data.

    The page fills in the data of a run and leaves out the parts of a chart that the run lacks.
    """
    run = start.run(_WHOLE)
    drawn = {}
    for name in SHOWN:
        quantity = QUANTITIES[name]
        whole = run.figures.draw(name, width=page.FILL).to_dict()
        small = run.figures.draw(name, width=page.FILL, height=_SMALL, titles=False).to_dict()
        drawn[name] = {
            "table": quantity.table,
            "key": quantity.key,
            "column": quantity.column,
            "keep": quantity.keep,
            "scale": quantity.scale,
            "from_zero": quantity.from_zero,
            "title": quantity.alt.partition(",")[0],
            "axis": quantity.title,
            "note": IN_ORDER if name == "goodput" else "",
            "whole": _emptied(whole),
            "small": _emptied(small),
        }
    return {
        "quantities": drawn,
        "points": over_time.MAX_POINTS,
        "legend": {"names": over_time.MAX_LEGEND, "width": over_time.LEGEND_WIDTH},
        "meanings": report.MEANINGS,
        "comparing": list(report.COMPARING),
    }


def _emptied(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart without the data of the run that it was drawn from."""
    spec = copy.deepcopy(spec)
    del spec["datasets"]
    for part, data in zip(spec["layer"], ("window", "lines", "alone"), strict=True):
        part["data"]["name"] = data
    return spec


def write(directory: Path) -> None:
    """Write `charts.json`, and the scripts and style sheet of reports."""
    directory.mkdir(parents=True, exist_ok=True)
    written = json.dumps(definitions(), separators=(",", ":"), ensure_ascii=False)
    (directory / "charts.json").write_text(written, encoding="utf-8")
    for name in ("charts.js", "theme.js", "report.css"):
        (directory / name).write_text(page.filled(name), encoding="utf-8")
