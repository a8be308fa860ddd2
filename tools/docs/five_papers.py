"""Draws the figures of the page about the five papers, from what their studies measured.

    fairway reproduce all --out runs/all
    .venv/bin/python tools/docs/five_papers.py runs/all

A study that was run into a directory of its own is given as NAME=DIRECTORY. The figure of
siddiqui2012 is drawn by tools/docs/siddiqui2012_figure.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from figures import digest, shortened
from reference import DOCS

from fairway.plot import vega
from fairway.plot.figures import drawn, print_config

Row = dict[str, Any]

ERROR_RATE = "topology.bottleneck.loss.probability"
#: The reading of DCM+ that the published row probably is of, and that of the thesis' equations.
FROZEN, EQUATIONS = "frozen window", "equations"


class Study:
    """The cells that a reproduction measured.

    Args:
        directory: Where it was run.
    """

    def __init__(self, directory: Path) -> None:
        answer = json.loads((directory / "reproduction.json").read_text(encoding="utf-8"))
        self._cells: list[Row] = answer["cells"]

    def cells(self, part: str, metric: str) -> Iterator[Row]:
        """The axes of each measured cell of a metric, with `measured` and `published`."""
        for cell in self._cells:
            if cell["part"] == part and cell["metric"] == metric and cell["measured"] is not None:
                yield {**cell["point"], **{key: cell[key] for key in ("measured", "published")}}


def khader2020(study: Study) -> vega.Chart:
    """Table C-1: published as points, ns-3's run 0 as lines."""
    names = {"newreno": "NewReno", "bic": "BIC", "ledbat": "LEDBAT", "hybla": "Hybla"}
    rows = []
    for cell in study.cells("tables", "flow.0.flow_monitor.tx_kbps"):
        of = names.get(cell["flow.0.cc"], f"DCM+, {cell['scenario']}")
        if of.startswith("DCM+") and cell["scenario"] not in (FROZEN, EQUATIONS):
            continue
        published = cell["published"] if cell["scenario"] != EQUATIONS else None
        rows.append(
            {
                "of": of,
                "rate": cell[ERROR_RATE],
                "measured": cell["measured"] / 1000,
                "published": None if published is None else published / 1000,
            }
        )
    chart = vega.Chart({"values": rows}).encode(
        x=vega.field(
            "rate:Q",
            scale=vega.scale(type="log"),
            title="packet error rate",
            axis=vega.axis(values=[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 5e-2], format="~e"),
        ),
        color=vega.field("of:N", title=None),
    )
    throughput = vega.scale(type="log")
    lines = chart.mark("line").encode(
        y=vega.field("measured:Q", scale=throughput, title="throughput (Mbit/s)"),
        strokeDash=vega.condition(
            f"datum.of == 'DCM+, {EQUATIONS}'", vega.value([4, 3]), vega.value([1, 0])
        ),
    )
    points = chart.transform(filter="datum.published != null").mark("point", filled=True, size=40)
    return (lines + points.encode(y="published:Q")).properties(width=520, height=300)


def gelle2008(study: Study) -> vega.Chart:
    """Asymmetry of every pair: measured over published."""
    names = {"ns2-tcp-linux": "TCP-Linux", "ns2-sack1": "ns-2's default agent"}
    rows = [
        {
            "agent": names[cell["stack.preset"]],
            "pair": f"{cell['flow.0.cc']}, {cell['flow.1.cc']}",
            "measured": cell["measured"],
            "published": cell["published"],
        }
        for cell in study.cells("pairs", "asymmetry")
    ]
    scale = vega.scale(domain=[-1, 1])
    ends = vega.Chart({"values": [{"at": -1}, {"at": 1}]})
    line = ends.mark("line", color="#999", strokeDash=[4, 3]).encode(x="at:Q", y="at:Q")
    pairs = vega.Chart({"values": rows}).encode(
        x=vega.field("published:Q", scale=scale, title="asymmetry, table 1"),
        y=vega.field("measured:Q", scale=scale, title="asymmetry, measured"),
    )
    marks = pairs.mark("point", filled=True, size=45).encode(
        color=vega.field("agent:N", title=None), shape=vega.field("agent:N", title=None)
    )
    far = pairs.transform(filter="abs(datum.measured - datum.published) > 0.15")
    names_of = far.mark("text", align="left", dx=8).encode(text="pair:N")
    return (line + marks + names_of).properties(width=360, height=360)


def alrshah2009(study: Study) -> vega.Chart:
    """Figure 5.3: mean share sent again, in the simulator and on a Linux kernel."""
    shown = {"9 ms, RED 10-50": "simulator", "SACK": "simulator, SACK"}
    published, kernel = "figure 5.3", "Linux 6.1"
    metric = "mean group.parallel*.retransmission_ratio"
    bench = [cell for cell in study.cells("bench", metric) if cell["scenario"] in shown]
    of = [(shown[cell["scenario"]], cell, cell["measured"]) for cell in bench]
    of += [(published, cell, cell["published"]) for cell in bench if cell["scenario"] == "SACK"]
    of += [(kernel, cell, cell["measured"]) for cell in study.cells("linux", metric)]
    rows = [
        {"of": name, "cc": cell["flow.0.cc"], "share": share}
        for name, cell, share in of
        if share is not None
    ]
    return _dots(rows, [published, *shown.values(), kernel], "mean share of packets sent again")


def prukpaiboon2012(study: Study) -> vega.Chart:
    """Figure 4, and what the fitted path predicts of figure 3."""
    shown = {"fitted": "simulator, fitted", "0.5 ms, Linux 6.1": "simulator, Linux 6.1"}
    cells = [
        cell
        for cell in study.cells("losses", "mean flow.0.goodput_bps")
        if cell["scenario"] in shown
        and cell["duration"] == "20 s"
        and cell["published"] is not None
    ]
    rows = [
        {"of": shown[cell["scenario"]], "loss": cell[ERROR_RATE], "mbps": cell["measured"] / 1e6}
        for cell in cells
    ]
    known = {cell[ERROR_RATE]: cell["published"] for cell in cells}
    rows += [{"of": "figure 4", "loss": at, "mbps": bps / 1e6} for at, bps in known.items()]
    chart = vega.Chart({"values": rows}).encode(
        x=vega.field("loss:Q", title="packet loss", axis=vega.axis(format="%")),
        y=vega.field("mbps:Q", title="mean of four algorithms (Mbit/s)"),
        color=vega.field("of:N", title=None),
    )
    lines = chart.transform(filter="datum.of != 'figure 4'").mark("line", point=True)
    points = chart.transform(filter="datum.of == 'figure 4'").mark("point", filled=True, size=70)
    return (lines + points).properties(width=460, height=260)


def _dots(rows: Sequence[Row], order: Sequence[str], title: str) -> vega.Chart:
    """A dot for each algorithm and source."""
    return (
        vega.Chart({"values": list(rows)})
        .mark("point", filled=True, size=80)
        .encode(
            x=vega.field("share:Q", title=title, axis=vega.axis(format="%")),
            y=vega.field(
                "cc:N", title=None, sort=["scalable", "reno", "highspeed", "htcp", "cubic"]
            ),
            color=vega.field("of:N", title=None, scale=vega.scale(domain=list(order))),
            shape=vega.field("of:N", title=None, scale=vega.scale(domain=list(order))),
        )
        .properties(width=460, height=150)
    )


FIGURES: Mapping[str, Callable[[Study], vega.Chart]] = {
    "alrshah2009": alrshah2009,
    "khader2020": khader2020,
    "gelle2008": gelle2008,
    "prukpaiboon2012": prukpaiboon2012,
}


def main(arguments: Sequence[str]) -> None:
    """Draw the figure of each study that is given."""
    for argument in arguments:
        name, _, directory = argument.rpartition("=")
        places = {name: Path(directory)} if name else {k: Path(directory) / k for k in FIGURES}
        for key, place in places.items():
            figure = FIGURES[key](Study(place))
            svg = shortened(drawn(figure, "svg").decode())
            shown = digest(figure.properties(config=print_config()))
            (DOCS / f"five-papers-{key}.svg").write_text(svg + shown, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
