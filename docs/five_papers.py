"""Draws the figures of the page about the five papers, from their studies' results.

    fairway reproduce all --out runs/all
    .venv/bin/python docs/five_papers.py runs/all

A study that was run into another directory is given as NAME=DIRECTORY instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from figures import digest, shortened
from tables import DOCS

from fairway.figures import AnyChart, drawn, print_config

ERROR_RATE = "topology.bottleneck.loss.probability"


class Study:
    """What a reproduction measured.

    Args:
        directory: Where it was run.
    """

    def __init__(self, directory: Path) -> None:
        answer = json.loads((directory / "reproduction.json").read_text(encoding="utf-8"))
        self._cells: list[dict[str, Any]] = answer["cells"]

    def cells(self, metric: str, part: str = "", **at: Any) -> Iterator[dict[str, Any]]:
        """The cells of a metric as rows: axes, measured and published.

        Args:
            metric: Name of the metric.
            part: The part of the study; empty if it has none.
            at: Values of axes, with "__" for the dots of a path.
        """
        wanted = {axis.replace("__", "."): value for axis, value in at.items()}
        for cell in self._cells:
            point = cell["point"]
            if cell["metric"] != metric or cell.get("part", "") != part:
                continue
            if all(point.get(axis) == value for axis, value in wanted.items()):
                yield {**point, **{key: cell[key] for key in ("measured", "published")}}


def gelle2008(study: Study) -> AnyChart:
    """Asymmetry of every pair: published over measured."""
    names = {"ns2-tcp-linux": "TCP-Linux", "ns2-sack1": "ns-2's default TCP"}
    rows = pl.DataFrame(
        {
            "agent": names[cell["stack.preset"]],
            "pair": f"{cell['flow.0.cc']}, {cell['flow.1.cc']}",
            "measured": cell["measured"],
            "published": cell["published"],
        }
        for cell in study.cells("asymmetry", "pairs")
        if cell["published"] is not None
    )
    scale = alt.Scale(domain=[-1, 1])
    line = alt.Chart(pl.DataFrame({"x": [-1, 1]})).mark_line(color="#888", strokeDash=[4, 3])
    dots = alt.Chart(rows).encode(
        x=alt.X("published:Q", scale=scale, title="asymmetry in table 1"),
        y=alt.Y("measured:Q", scale=scale, title="asymmetry measured"),
    )
    far = dots.transform_filter("abs(datum.measured - datum.published) > 0.15")
    marks = dots.mark_point(filled=True, size=45, opacity=0.85).encode(
        color=alt.Color("agent:N", title=None), shape=alt.Shape("agent:N", title=None)
    )
    layers = alt.layer(
        line.encode(x=alt.X("x:Q", title=None), y=alt.Y("x:Q", title=None)),
        marks,
        far.mark_text(align="left", dx=7).encode(text="pair:N"),
    )
    return layers.properties(width=420, height=420)


FIGURES: Mapping[str, Callable[[Study], AnyChart]] = {"gelle2008": gelle2008}


def main(arguments: list[str]) -> None:
    """Draw the figure of each study that is there."""
    for argument in arguments:
        name, _, directory = argument.rpartition("=")
        for key in [name] if name else FIGURES:
            at = Path(directory) if name else Path(directory) / key
            figure = FIGURES[key](Study(at))
            svg = shortened(drawn(figure, "svg").decode())
            shown = digest(figure.properties(config=print_config()))
            (DOCS / f"five-papers-{key}.svg").write_text(svg + shown, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
