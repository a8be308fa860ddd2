"""Pictures of algorithms: one in the scenario that shows it best, and all side by side."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairway import _core
from fairway.compare.gallery.data import GalleryData, PortraitData
from fairway.experiment.scenarios import Scenario, is_own, variant
from fairway.ground import text
from fairway.plot import vega
from fairway.plot.figures import PALETTE, inline
from fairway.plot.over_time import thin
from fairway.plot.quantities import Keep

#: Lines of flows that are there for an algorithm to meet, and of queues.
_GREYS = ["#777777", "#AAAAAA"]
#: Width of a portrait in pixels.
_WIDTH = 560
#: Height of a line of text in the gallery, in rows.
_LINE = 0.42
#: Width of a cell of the gallery in pixels; and on a page, where those of one path, with the names
#: (110) and the gaps, have to fit into the 360 of a phone.
_CELL, _CELL_ON_PAGE = 84, 70


def portrait(of: PortraitData) -> vega.Chart:
    """Windows over time, and the queue under them, on the same axis of time."""
    colours = [*_cycle(PALETTE, len(of.flows)), *_cycle(_GREYS, len(of.others))]
    colour = vega.field(
        "id:N",
        scale=vega.scale(domain=[*of.flows, *of.others], range=colours),
        legend=None
        if len(colours) == 1
        else vega.legend(orient="top", title=None, symbolType="stroke", offset=4),
    )
    windows = _line(_while_busy(of.run.series), "flow", "cwnd_segments", points=400)
    layers = [_panel(windows, "cwnd (segments)", colour, "Congestion window over time", last=False)]
    bdp = bdp_segments(of.run.experiment)
    if len(colours) == 1 and bdp is not None:
        layers = [*_marked(bdp, "BDP"), *layers]
    shown = vega.layer(*layers)
    queues = of.run.queues.filter(pl.col("link") == of.run.queues["link"][0])
    queue = _panel(
        _line(queues, "link", "backlog_packets", points=400),
        "Queue (packets)", vega.value("#555555"), "Queue length over time", last=True,
    )  # fmt: skip
    name = f"{of.algorithm['title']}, {variant(of.algorithm)}"
    subtitle = text.capital(of.scenario.title)
    title = vega.title(name, subtitle=subtitle, anchor="start", frame="group", offset=12)
    panels = (shown.properties(width=_WIDTH, height=190), queue.properties(width=_WIDTH, height=80))
    both = vega.vconcat(*panels, title=title, spacing=14)
    return both.resolve_scale(color="independent", y="independent")


def _panel(
    data: pl.DataFrame, title: str, colour: vega.Options | Any, told: str, *, last: bool
) -> vega.Chart:
    x = vega.field(
        "t:Q",
        title="Time (s)" if last else None,
        scale=vega.scale(domain=[0, _end(data)], nice=False),
        axis=vega.axis(labels=last, ticks=last, tickCount=7, labelFlush=False),
    )
    y = vega.field("v:Q", title=title, axis=vega.axis(tickCount=4 if not last else 3, minExtent=34))
    chart = vega.Chart(inline(data, t="number", v="number"), description=told).mark(
        "line", strokeWidth=1.3, strokeJoin="round", clip=True
    )
    return chart.encode(x=x, y=y, color=colour)


def _marked(value: float, name: str) -> list[vega.Chart]:
    """A level that is worth knowing, with its name."""
    data = inline(pl.DataFrame({"v": [round(value, 1)], "name": [name]}), v="number")
    base = vega.Chart(data).encode(y="v:Q")
    rule = base.mark("rule", color="#999", strokeDash=[4, 3])
    label = base.mark("text", color="#666", align="left", fontSize=10)
    return [rule, label.encode(x=vega.value(_WIDTH + 5), text="name:N")]


def gallery_figure(of: GalleryData) -> vega.Chart:
    """Every algorithm in a row; window, queue and goodput on every path in columns.

    All rows of a column have the same scale. Its top is what the heading says.
    """
    rows = _Rows.of(of.algorithms)
    groups = []
    for path in of.paths:
        cells = [_column(of, path, rows, *column) for column in _COLUMNS]
        title = textwrap.wrap(text.capital(path.title), 40)
        heading = vega.title(title, anchor="start", fontSize=12, offset=10)
        groups.append(vega.hconcat(*cells, spacing=10, title=heading))
    return vega.hconcat(_labels(rows), *groups, spacing=22)


def walls(of: GalleryData) -> dict[str, vega.Chart]:
    """The same, a chart for each path by its title: for a page, on which they stand in a grid."""
    rows = _Rows.of(of.algorithms)
    return {
        text.capital(path.title): vega.hconcat(
            _labels(rows),
            *(_column(of, path, rows, *column, width=_CELL_ON_PAGE) for column in _COLUMNS),
            spacing=8,
        )
        for path in of.paths
    }


@dataclass(frozen=True)
class _Rows:
    """Where each row of the gallery is, in heights of a row from the top.

    Attributes:
        base: Algorithm -> its base line.
        heading: Family -> the base line of its name, above its first row.
    """

    base: Mapping[str, float]
    heading: Mapping[str, float]
    colour: Mapping[str, str]
    height: float

    @classmethod
    def of(cls, algorithms: Sequence[Mapping[str, Any]]) -> _Rows:
        base, heading, down = {}, {}, 0.0
        for entry in algorithms:
            if entry["family"] not in heading:
                down += 0.3 + _LINE * len(_family_lines(entry["family"]))
                heading[entry["family"]] = down
            down += 1.0
            base[entry["name"]] = down
        colour = dict(zip(heading, _cycle(PALETTE, len(heading)), strict=True))
        return cls(base, heading, colour, down)

    @property
    def scale(self) -> vega.Options:
        return vega.scale(domain=[self.height, 0], nice=False, zero=False)

    @property
    def size(self) -> int:
        """Height in pixels."""
        return round(self.height * 34)


#: Table, column, factor, what is kept in thinning, heading, unit.
_COLUMNS: list[tuple[str, str, float, Keep, str, str]] = [
    ("series", "cwnd_segments", 1.0, "extremes", "cwnd", "segments"),
    ("queues", "backlog_packets", 1.0, "extremes", "Queue", "packets"),
    ("series", "goodput_bps", 1e-6, "mean", "Goodput", "Mbit/s"),
]


def _column(
    of: GalleryData, path: Scenario, rows: _Rows,
    table: str, column: str, scale: float, keep: Keep, name: str, unit: str,
    *, width: int = _CELL,
) -> vega.Chart:  # fmt: skip
    """One quantity on one path, for every algorithm."""
    key = "flow" if table == "series" else "link"
    frames = []
    for entry in of.algorithms:
        frame = getattr(of.outcome(entry["name"], path.key).run, table)
        if key == "link":
            frame = frame.filter(pl.col("link") == frame["link"][0])
        line = _line(frame, key, column, points=90, scale=scale, keep=keep)
        own = pl.col("id").is_in([name for name in frame[key].unique() if is_own(name, entry)])
        coloured = pl.when(own | (key == "link")).then(pl.lit(rows.colour[entry["family"]]))
        colour = coloured.otherwise(pl.lit("#B4B4B4")).alias("colour")
        frames.append(line.with_columns(pl.lit(entry["name"]).alias("row"), colour))
    data = pl.concat(frames)
    end = _end(data)
    # Slow start overshoots far, and some few peaks would flatten all that is below them.
    settled = data.filter(pl.col("t") > end / 4)["v"]
    top = _round_up(settled.quantile(0.99, "higher") or 1.0)
    base = pl.col("row").replace_strict(rows.base, return_dtype=pl.Float64)
    height = (base - pl.min_horizontal("v", top) / top * 0.86).round(3).alias("y")
    drawn = data.select("t", "row", "id", "colour", height)
    drawn = drawn.sort("colour", descending=True, maintain_order=True)
    axis = vega.axis(values=[0, end], labelExpr="datum.value + ' s'", grid=False, domain=False,
                    ticks=False, labelFontSize=10, labelFlush=True)  # fmt: skip
    x = vega.field("t:Q", title=None, scale=vega.scale(domain=[0, end], nice=False), axis=axis)
    y = vega.field("y:Q", title=None, scale=rows.scale, axis=None)
    ground = pl.DataFrame({"y": list(rows.base.values())})
    rules = vega.Chart(inline(ground, y="number")).mark("rule", color="#CFCFCF", strokeWidth=0.6)
    lines = (
        vega.Chart(inline(drawn, t="number", y="number"), description=f"{name} over time")
        .mark("line", strokeWidth=0.8, strokeJoin="round")
        .encode(x=x, y=y, color=vega.field("colour:N", scale=None), detail=["row:N", "id:N"])
    )
    span = f"0–{top:,g}"
    said = [name, f"{span} {unit}"] if width == _CELL else [name, span, unit]
    heading = vega.title(said, anchor="start", fontSize=10, fontWeight="normal", offset=0)
    layers = vega.layer(rules.encode(y=y), lines)
    return layers.properties(width=width, height=rows.size, title=heading)


def _labels(rows: _Rows) -> vega.Chart:
    """Names of algorithms and families, left of their rows."""
    families = [
        (line, base - _LINE * above, rows.colour[family])
        for family, base in rows.heading.items()
        for above, line in enumerate(reversed(_family_lines(family)))
    ]
    headings = _texts(families, fontSize=12, fontWeight="bold")
    # Names have the colour of all text, which is another one on a dark page.
    names = _texts([(name, base, "") for name, base in rows.base.items()], fontSize=13, dy=-4)
    y = vega.field("y:Q", scale=rows.scale, axis=None)
    coloured = headings.encode(y=y, color=vega.field("colour:N", scale=None))
    layers = vega.layer(names.encode(y=y), coloured)
    return layers.properties(width=110, height=rows.size)


def _texts(lines: Sequence[tuple[str, float, str]], **style: Any) -> vega.Chart:
    data = pl.DataFrame(lines, schema=["name", "y", "colour"], orient="row")
    chart = vega.Chart(inline(data, y="number"))
    drawn = chart.mark("text", align="left", baseline="bottom", **style)
    return drawn.encode(x=vega.value(0), text="name:N")


def _family_lines(family: str) -> list[str]:
    return textwrap.wrap(family, 19, break_on_hyphens=False)


def _round_up(value: float) -> float:
    """The next number of two digits: 43.2 becomes 44, and 1234 becomes 1300."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1.0
    return math.ceil(round(value / step, 6)) * step


def _end(data: pl.DataFrame) -> int:
    """The whole second after the last sample."""
    return math.ceil(float(data["t"].max() or 1.0))  # type: ignore[arg-type]


def _while_busy(series: pl.DataFrame) -> pl.DataFrame:
    """Each flow from its first data to its last."""
    busy = pl.col("t_s").filter(pl.col("pipe_segments") > 0)
    first, last = busy.min().over("flow"), busy.max().over("flow")
    return series.filter(pl.col("t_s").is_between(first, last))


def _line(
    frame: pl.DataFrame,
    key: str,
    column: str,
    *,
    points: int,
    scale: float = 1.0,
    keep: Keep = "extremes",
) -> pl.DataFrame:
    """A time series as it is drawn: time `t`, value `v` and the name of the line `id`."""
    return (
        thin(frame, key, column, points, keep)
        .frame()
        .select(
            pl.col("t_s").round(2).alias("t"),
            pl.col(key).alias("id"),
            (pl.col(column) * scale).round_sig_figs(4).alias("v"),
        )
    )


def bdp_segments(experiment: Mapping[str, Any]) -> float | None:
    """Bandwidth-delay product of a dumbbell in full packets; none if it is written otherwise."""
    resolved = _core.Experiment(experiment)
    bdp = resolved.bdp_bytes
    return None if bdp is None else bdp / resolved.frame_bytes


def _cycle(colours: Sequence[str], length: int) -> list[str]:
    return [colours[index % len(colours)] for index in range(length)]
