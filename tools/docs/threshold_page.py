"""Writes the tables and figures of threshold.md, from what `fairway reproduce` left.

    .venv/bin/python tools/docs/threshold_page.py RUNS

RUNS has the directories of both studies, threshold and threshold-ceiling.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
from reference import DOCS, table
from threshold import TARGET, asked, deliverable_bps

from fairway.plot import vega
from fairway.plot.figures import PALETTE, drawn, inline
from fairway.study.files import find

PAGE = DOCS / "threshold.md"
#: What the link of the study of ceilings can deliver of data, in bit/s: 948 of 1000 bytes.
LINK_BPS = 9.48e6


def write(runs: Path) -> None:
    """Replace the tables between the page's markers, and draw the figures."""
    threshold, ceiling = (
        json.loads((runs / key / "reproduction.json").read_text())
        for key in ("threshold", "threshold-ceiling")
    )
    page = PAGE.read_text()
    for name, text in (("paths", paths(threshold)), ("ceilings", ceilings(ceiling))):
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda found, text=text: found[1] + text + found[2],
            page,
            flags=re.DOTALL,
        )
    PAGE.write_text(page)
    (DOCS / "threshold.svg").write_bytes(drawn(threshold_chart(threshold), "svg"))
    (DOCS / "threshold-ceiling.svg").write_bytes(drawn(ceiling_chart(ceiling), "svg"))


def paths(result: Any) -> str:
    """Model beside simulator, path by path."""
    verdicts = {claim["id"]: claim for claim in result["claims"]}
    rows = []
    for path, (threshold, whole) in limits().items():
        measured = cells(result, scenario=path)
        shares = [
            f"{cell['measured'] / whole:.3f} / {cell['published'] / whole:.3f}"
            for cell in measured
            if cell["point"]["flow.0.count"] in (threshold - 1, threshold, threshold + 1)
        ]
        found = verdicts[path]["measured"]
        rows.append(
            [path, str(threshold), "–" if found is None else f"{found:g}",
             "; ".join(shares), verdicts[path]["verdict"]]
        )  # fmt: skip
    return table(["path", "model", "simulator", "share used: simulator / model", "verdict"], rows)


def limits() -> dict[str, tuple[int, float]]:
    """Of each path: the model's threshold, and what can be delivered, in bit/s."""
    study = find("threshold").part
    return {
        name: (asked(study, name).threshold or 0, deliverable_bps(study, name))
        for name in study.scenarios
    }


def ceilings(result: Any) -> str:
    """The share that five and ten streams use, for each ceiling, queue and algorithm."""
    rows = []
    for queue in ("droptail", "red"):
        for ceiling in dict.fromkeys(c["point"]["flow.0.app_rate"] for c in result["cells"]):
            row = [queue, "none" if ceiling == "100 Mbit/s" else ceiling]
            for cc in ("reno", "cubic", "highspeed", "scalable", "htcp"):
                point = {"scenario": queue, "flow.0.app_rate": ceiling, "flow.0.cc": cc}
                shares = {
                    cell["point"]["flow.0.count"]: cell["measured"] / LINK_BPS
                    for cell in cells(result, **point)
                }
                row.append(f"{shares[5]:.2f} → {shares[10]:.2f}")
            rows.append(row)
    return table(["queue", "ceiling", "reno", "cubic", "highspeed", "scalable", "htcp"], rows)


def cells(result: Any, **at: Any) -> list[Any]:
    """Cells of some point."""
    return [
        cell
        for cell in result["cells"]
        if all(cell["point"][axis] == value for axis, value in at.items())
    ]


def threshold_chart(result: Any) -> vega.Chart:
    """Share used over the number of streams: the model's line, the simulator's dots."""
    charts = []
    for path, (threshold, whole) in limits().items():
        rows = pl.DataFrame(
            [
                {
                    "n": cell["point"]["flow.0.count"],
                    "m": 100 * cell["measured"] / whole,
                    "p": 100 * cell["published"] / whole,
                }
                for cell in cells(result, scenario=path)
            ]
        )
        base = vega.Chart(inline(rows.with_columns(pl.col("m", "p").round(3)), n="number"))
        x = vega.field(
            "n:Q", title="Streams", axis=vega.axis(tickMinStep=1), scale=vega.scale(zero=False)
        )
        line = base.mark("line", color="#777").encode(
            x=x, y=vega.field("p:Q", title="Used (%)", scale=vega.scale(zero=False))
        )
        dots = base.mark("point", filled=True, size=40, color=PALETTE[0]).encode(x=x, y="m:Q")
        marks = inline(pl.DataFrame({"g": [100 * TARGET], "x": [threshold]}), g="number")
        goal = vega.Chart(marks).mark("rule", strokeDash=[4, 3], color="#999").encode(y="g:Q")
        at = vega.Chart(marks).mark("rule", color="#999").encode(x="x:Q")
        charts.append(
            vega.layer(goal, at, line, dots).properties(title=path, width=200, height=130)
        )
    return vega.concat(*charts, columns=3)


def ceiling_chart(result: Any) -> vega.Chart:
    """Share used over the ceiling, by five and by ten streams, a chart for each queue."""
    charts = []
    for queue in ("droptail", "red"):
        rows = [
            {
                "c": "none" if c["point"]["flow.0.app_rate"] == "100 Mbit/s"
                else c["point"]["flow.0.app_rate"].split()[0],
                "n": f"{c['point']['flow.0.count']} streams",
                "cc": c["point"]["flow.0.cc"],
                "m": round(100 * c["measured"] / LINK_BPS, 2),
            }
            for c in cells(result, scenario=queue)
            if c["point"]["flow.0.count"] in (5, 10)
        ]  # fmt: skip
        order = list(dict.fromkeys(row["c"] for row in rows))
        title = {"droptail": "Drop-tail, 300 packets", "red": "RED, 10 to 50 packets"}[queue]
        base = vega.Chart(inline(pl.DataFrame(rows), m="number"), title=title).encode(
            x=vega.field("c:N", sort=order, title="Ceiling of each stream (Mbit/s)",
                    axis=vega.axis(labelAngle=0)),
            y=vega.field("m:Q", title="Used (%)", scale=vega.scale(domain=[0, 105])),
            color=vega.field("cc:N", title=None),
        )  # fmt: skip
        dash = vega.field("n:N", title=None, sort=["10 streams", "5 streams"])
        points = base.mark("point", filled=True, size=30).encode(detail="n:N")
        chart = base.mark("line").encode(strokeDash=dash) + points
        charts.append(chart.properties(width=320, height=240))
    return vega.concat(*charts, columns=2)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
