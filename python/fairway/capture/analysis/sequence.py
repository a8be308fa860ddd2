"""The time–sequence diagram: each segment where it stands in the stream, and what came back.

Stevens, "TCP/IP Illustrated", volume 1 (1994), section 20.6 draws data over time; tcptrace
(Ostermann, 1994–2004) added the two lines between which a sender moves, what is acknowledged and
where the receive window ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from fairway.capture.analysis.series import SENT
from fairway.plot import vega
from fairway.plot.figures import inline

#: Marks of one kind that a diagram has room for, as many as two for each pixel of a wide screen;
#: beyond it, neighbours are drawn as one. What was sent again, dropped or lost is never thinned.
MOST_MARKS = 4000


@dataclass(frozen=True)
class Look:
    """How something is drawn.

    Attributes:
        colour: One that differs from the others for any colour vision, or by its shape.
    """

    name: str
    colour: str
    shape: str | None = None


#: Okabe and Ito's colours, as in `fairway.plot.figures`.
_DATA = Look("data", "#0072B2")
_ACKED = Look("acknowledged", "#009E73")
_WINDOW = Look("receive window", "#E69F00")
_SACK = Look("SACK", "#CC79A7")
_DSACK = Look("D-SACK", "#8A4B75")
_HOLE = Look("fills a hole", "#56B4E9", "circle")
_PROBE = Look("window probe", "#888888", "circle")
_ALIVE = Look("keep-alive", "#888888", "square")
_AGAIN = Look("sent again", "#D55E00", "circle")
_DROPPED = Look("dropped or lost", "#D62728", "M-.9,-.9L.9,.9M-.9,.9L.9,-.9")
#: Retransmissions by cause.
_BY_CAUSE = {
    "fast": Look("fast retransmission", "#D55E00", "triangle-up"),
    "partial_ack": Look("partial ACK", "#D55E00", "triangle-left"),
    "sack": Look("SACK retransmission", "#D55E00", "diamond"),
    "timeout": Look("timeout", "#B3001B", "square"),
    "after_timeout": Look("after a timeout", "#B3001B", "circle"),
    "tail_loss_probe": Look("tail probe", "#7A5195", "triangle-down"),
}
_SPURIOUS = Look("needless", "#888888", "triangle-right")
_BY_KIND = {
    "data": _DATA,
    "fills hole": _HOLE,
    "window probe": _PROBE,
    "keep-alive": _ALIVE,
    "sack": _SACK,
    "dsack": _DSACK,
}
_LOOKS = (
    _DATA, _ACKED, _WINDOW, _SACK, _DSACK, _AGAIN, *_BY_CAUSE.values(), _SPURIOUS, _HOLE, _PROBE,
    _ALIVE, _DROPPED,
)  # fmt: skip


def time_sequence(
    packets: pl.DataFrame,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    width: int | Literal["container"] = 640,
    height: int = 420,
    most: int = MOST_MARKS,
) -> vega.Chart:
    """The diagram of one direction."""
    shown = between(packets, start_s, end_s)
    spans, lines = marks(shown, most), ack_lines(shown, most)
    present = {*spans["k"], *lines["k"]}
    looks = [look for look in _LOOKS if look.name in present]
    x = vega.field("t:Q", title="Time (s)", scale=vega.scale(zero=False, nice=False))
    y = vega.field("a:Q", title="Position in the stream (bytes)", axis=vega.axis(format="~s"),
              scale=vega.scale(zero=False))  # fmt: skip
    # One legend with both, which it is if both are alike.
    legend = vega.legend(orient="top", columns=6, labelLimit=240, symbolSize=120)
    colour = vega.field(
        "k:N",
        title=None,
        scale=vega.scale(domain=[one.name for one in looks], range=[one.colour for one in looks]),
        legend=legend,
    )
    shape = vega.field(
        "k:N",
        title=None,
        scale=vega.scale(domain=[one.name for one in looks],
                        range=[one.shape or "stroke" for one in looks]),
        legend=legend,
    )  # fmt: skip
    lit = vega.parameter("shown", "point", bind="legend", fields=["k"])
    opacity = vega.condition(lit, vega.value(1), vega.value(0.06))
    tooltip = [
        vega.field("k:N", title="What"),
        vega.field("n:Q", title="Packet"),
        vega.field("c:Q", title="Packets drawn as one"),
        vega.field("t:Q", title="Time (s)", format=".6f"),
        vega.field("a:Q", title="From byte", format=",d"),
        vega.field("b:Q", title="To byte", format=",d"),
        vega.field("f:N", title="Became of it"),
    ]
    description = "Time–sequence diagram: position in the stream of each segment over time"
    line = (
        vega.Chart(inline(lines, t="number", a="number", n="number"), description=description)
        .mark("line", strokeWidth=1.2, interpolate="step-after", clip=True)
        .encode(x=x, y=y, color=colour, opacity=opacity)
    )
    kinds = dict.fromkeys(("t", "u", "a", "b", "n", "c"), "number")
    bars = (
        vega.Chart(inline(spans, **kinds))
        .mark("rule", strokeWidth=1.8, strokeCap="square", clip=True)
        .encode(x=x, x2="u:Q", y=y, y2="b:Q", color=colour, opacity=opacity, tooltip=tooltip)
    )
    shaped = [look for look in looks if look.shape]
    layers: list[vega.Chart] = [line, bars]
    if shaped:
        pointed = spans.filter(pl.col("k").is_in([look.name for look in shaped]))
        layers.append(
            vega.Chart(inline(pointed, **kinds))
            .mark("point", size=46, strokeWidth=1.6, clip=True)
            .encode(x=x, y=y, color=colour, shape=shape, opacity=opacity, tooltip=tooltip)
        )
    zoom = vega.parameter("zoom", "interval", bind="scales", zoom="wheel![event.shiftKey]")
    chart = vega.layer(*layers).add_params(zoom, lit)
    return chart.properties(
        width=width,
        height=height,
        description=description,
        # Thousands of marks: as pixels, not as elements of the page.
        usermeta={"renderer": "canvas"},
    )


def between(packets: pl.DataFrame, start_s: float | None, end_s: float | None) -> pl.DataFrame:
    """The rows of a time, ends included."""
    wanted: list[Any] = [pl.lit(True)]
    if start_s is not None:
        wanted.append(pl.col("t_s") >= start_s)
    if end_s is not None:
        wanted.append(pl.col("t_s") <= end_s)
    return packets.filter(*wanted)


def marks(packets: pl.DataFrame, most: int) -> pl.DataFrame:
    """Everything that stands over a part of the stream, one row for each mark.

    Columns: `k` what it is called, `t` and `u` the times and `a` and `b` the bytes that it spans,
    `n` the number of its first packet, `c` how many packets it is, `f` what became of it.
    """
    sacks = _news(packets.filter(pl.col("what") == "sack"))
    rows = pl.concat([packets.filter(pl.col("what").is_in([*SENT, "dsack"])), sacks])
    rows = rows.with_columns(_called().alias("k"))
    is_common = pl.col("k").is_in([_DATA.name, _SACK.name, _DSACK.name, _HOLE.name])
    common, rare = rows.filter(is_common), rows.filter(~is_common)
    parts = [_merged(one, most) for one in common.partition_by("k", maintain_order=True)]
    gone = rows.filter(pl.col("fate").is_not_null()).with_columns(pl.lit(_DROPPED.name).alias("k"))
    parts += [_single(rare), _single(gone)]
    return pl.concat(parts).select(
        "k", pl.col("t", "u").round(6), "a", "b", "n", "c", "f"
    )  # fmt: skip


def ack_lines(packets: pl.DataFrame, most: int) -> pl.DataFrame:
    """What is acknowledged and where the window ends, over time: columns `k`, `t`, `a`."""
    acks = packets.filter(pl.col("what") == "ack")
    line = acks.select("t_s", pl.col("to_byte").alias("a"))
    edge = acks.select("t_s", pl.col("window_end_byte").alias("a")).drop_nulls()
    parts = [
        # Neither goes back as a rule: of neighbours, the last says where they have come.
        _steps(column, most).with_columns(pl.lit(look.name).alias("k"))
        for column, look in ((line, _ACKED), (edge, _WINDOW))
    ]
    return pl.concat(parts).select("k", pl.col("t_s").round(6).alias("t"), "a")


def _called() -> pl.Expr:
    """What the legend calls a row."""
    what = pl.col("what")
    again = (
        pl.when(pl.col("is_spurious"))
        .then(pl.lit(_SPURIOUS.name))
        .otherwise(
            pl.col("cause").replace_strict(
                {cause: look.name for cause, look in _BY_CAUSE.items()},
                default=_AGAIN.name,
                return_dtype=pl.String,
            )
        )
    )
    known = {kind: look.name for kind, look in _BY_KIND.items()}
    named = what.replace_strict(known, default=None, return_dtype=pl.String)
    return pl.when(what == "retransmission").then(again).otherwise(named)


def _news(sacks: pl.DataFrame) -> pl.DataFrame:
    """What each selective acknowledgement says for the first time, as far as neighbours tell.

    The first block of a header has the segment that arrived (RFC 2018 section 4): of a block that
    has grown since the acknowledgement before, the part by which it has grown.
    """
    first = sacks.filter((pl.col("packet") != pl.col("packet").shift(1)).fill_null(True))
    low, high = pl.col("from_byte"), pl.col("to_byte")
    before_low, before_high = low.shift(1), high.shift(1)
    is_old = ((low >= before_low) & (high <= before_high)).fill_null(False)
    has_grown_up = (low == before_low) & (high > before_high)
    has_grown_down = (high == before_high) & (low < before_low)
    return first.filter(~is_old).with_columns(
        pl.when(has_grown_up).then(before_high).otherwise(low).alias("from_byte"),
        pl.when(has_grown_down).then(before_low).otherwise(high).alias("to_byte"),
    )


def _single(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        "k",
        pl.col("t_s").alias("t"),
        pl.col("t_s").alias("u"),
        pl.col("from_byte").alias("a"),
        pl.col("to_byte").alias("b"),
        pl.col("packet").alias("n"),
        pl.lit(1, dtype=pl.UInt32).alias("c"),
        pl.col("fate").alias("f"),
    )


def _merged(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Rows of one kind, neighbours as one where there are more than `most`."""
    if rows.height <= most:
        return _single(rows)
    ordered = rows.sort("t_s", maintain_order=True)
    place = _places(ordered["t_s"], most)
    follows = pl.col("from_byte") == pl.col("to_byte").shift(1)
    run = ((place != place.shift(1)) | ~follows).fill_null(True).cum_sum()
    if ordered.select(run.alias("r"))["r"].n_unique() > 4 * most:
        run = place
    return (
        ordered.group_by(run.alias("r"), maintain_order=True)
        .agg(
            pl.col("k").first(),
            pl.col("t_s").min().alias("t"),
            pl.col("t_s").max().alias("u"),
            pl.col("from_byte").min().alias("a"),
            pl.col("to_byte").max().alias("b"),
            pl.col("packet").first().alias("n"),
            pl.len().cast(pl.UInt32).alias("c"),
            pl.lit(None, dtype=pl.String).alias("f"),
        )
        .drop("r")
    )


def _steps(line: pl.DataFrame, most: int) -> pl.DataFrame:
    """A line of steps, of which only the last of each group of neighbours is kept."""
    moved = line.filter((pl.col("a") != pl.col("a").shift(1)).fill_null(True))
    moved = pl.concat([moved, line.tail(1)]).unique(maintain_order=True)
    if moved.height <= most:
        return moved
    return (
        moved.group_by(_places(moved["t_s"], most).alias("p"), maintain_order=True).last().drop("p")
    )


def _places(times: pl.Series, most: int) -> pl.Expr:
    """In which of `most` equal parts of the time a row is."""
    first, last = float(times.min() or 0.0), float(times.max() or 0.0)  # type: ignore[arg-type]
    step = (last - first) / most or 1.0
    return ((pl.col("t_s") - first) / step).floor().clip(0, most - 1).cast(pl.Int64)
