"""Charts of a capture over time: rates, round trips, windows, connections together, two ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from fairway.capture.analysis.series import coarser
from fairway.capture.analysis.tables import PHASES
from fairway.plot import vega
from fairway.plot.figures import PALETTE, inline
from fairway.plot.over_time import zoom

Width = int | Literal["container"]

#: Colours of the lines, Okabe and Ito's as in `fairway.plot.figures`.
_BLUE, _ORANGE, _RED = "#0072B2", "#E69F00", "#D55E00"
#: Bands of the phases of the window, as `PHASES` names them.
_BANDS = dict(
    zip(PHASES.values(), ("#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#999999"), strict=True)
)
#: Room above the highest flight or window of a chart, as a share of it.
_ROOM = 1.15


def windows(series: pl.DataFrame, *, width: Width = 640, height: int = 240) -> vega.Chart:
    """Bytes in flight, estimated cwnd and receive window, with the phases as bands behind them."""
    named = {"flight_bytes": "in flight", "cwnd_bytes": "cwnd, estimated",
             "receive_window_bytes": "receive window"}  # fmt: skip
    top = _ROOM * max(_most(series["flight_bytes"]), _most(series["cwnd_bytes"]), 1.0)
    lines = _long(series, named, 1e-3)
    chart = _lines(lines, _time(series), "Window (kB)", [_BLUE, _RED, _ORANGE],
                   list(named.values()), "Bytes in flight and windows over time",
                   y_max=top * 1e-3)  # fmt: skip
    bands = phase_bands(series)
    shown = [one for one in _BANDS.items() if one[0] in set(bands["k"])]
    band = (
        vega.Chart(inline(bands, t="number", u="number"))
        .mark("rect", opacity=0.16, clip=True)
        .encode(
            x=vega.field("t:Q"),
            x2="u:Q",
            color=vega.field(
                "k:N",
                title=None,
                scale=vega.scale(domain=[n for n, _ in shown], range=[c for _, c in shown]),
                legend=vega.legend(orient="top", symbolType="square", symbolStrokeWidth=0),
            ),
            tooltip=[vega.field("k:N", title="Phase"), vega.field("t:Q", title="From (s)"),
                     vega.field("u:Q", title="To (s)")],
        )
    )  # fmt: skip
    layers = [band, chart] if shown else [chart]
    layered = vega.layer(*layers).resolve_scale(color="independent").add_params(zoom())
    return layered.properties(width=width, height=height)


def phase_bands(series: pl.DataFrame) -> pl.DataFrame:
    """Times in which the phase is the same: columns `k`, `t` and `u` in seconds."""
    known = series.drop_nulls("phase").sort("t_s")
    run = (pl.col("phase") != pl.col("phase").shift(1)).fill_null(True).cum_sum()
    bands = (
        known.group_by(run.alias("r"), maintain_order=True)
        .agg(pl.col("phase").first(), pl.col("t_s").first().alias("t"),
             pl.col("t_s").last().alias("last"))
        .with_columns(pl.col("t").shift(-1).fill_null(pl.col("last")).alias("u"))
    )  # fmt: skip
    return bands.select(
        pl.col("phase").replace_strict(PHASES, default=pl.col("phase")).alias("k"),
        pl.col("t", "u").round(6),
    )


def rates(series: pl.DataFrame, *, width: Width = 640, height: int = 200) -> vega.Chart:
    """Throughput and goodput; ticks below are intervals in which something was sent again."""
    # Not by the millisecond, in which a packet is there or is not.
    named = {"throughput_bps": "throughput", "goodput_bps": "goodput"}
    coarse = coarser(series, 200)
    chart = _lines(_long(coarse, named, 1e-6), _time(series), "Payload (Mbit/s)", [_ORANGE, _BLUE],
                   list(named.values()), "Throughput and goodput over time")  # fmt: skip
    again = series.filter(pl.col("retransmitted_segments") > 0).select(
        pl.col("t_s").round(6).alias("t"), pl.col("retransmitted_segments").alias("n")
    )
    ticks = (
        vega.Chart(inline(again, t="number", n="number"))
        .mark("tick", color=_RED, thickness=1.5, height=10, clip=True, orient="vertical")
        .encode(
            x="t:Q",
            y=vega.value(height - 5),
            tooltip=[vega.field("t:Q", title="Time (s)"), vega.field("n:Q", title="Sent again")],
        )
    )
    layers = [chart, ticks] if again.height else [chart]
    layered = vega.layer(*layers).add_params(zoom())
    return layered.properties(width=width, height=height)


def round_trips(series: pl.DataFrame, *, width: Width = 640, height: int = 200) -> vega.Chart:
    """The range of round trips of each interval as a band, the smoothed one as a line."""
    data = series.drop_nulls("least_rtt_s").select(
        pl.col("t_s").round(6).alias("t"),
        (pl.col("least_rtt_s") * 1e3).round_sig_figs(5).alias("a"),
        (pl.col("most_rtt_s") * 1e3).round_sig_figs(5).alias("b"),
        (pl.col("srtt_s") * 1e3).round_sig_figs(5).alias("s"),
    )
    what = "Round-trip time over time: range of each interval, and smoothed"
    base = vega.Chart(
        inline(data, t="number", a="number", b="number", s="number"), description=what
    )
    x = _time(series)
    tooltip = [
        vega.field("t:Q", title="Time (s)"),
        vega.field("a:Q", title="Smallest (ms)"),
        vega.field("b:Q", title="Largest (ms)"),
        vega.field("s:Q", title="Smoothed (ms)"),
    ]
    scale = vega.scale(zero=False)
    band = base.mark(
        "rule", color=_BLUE, opacity=0.55, strokeWidth=1.5, strokeCap="square", clip=True
    ).encode(
        x=x,
        y=vega.field("a:Q", title="Round-trip time (ms)", scale=scale),
        y2="b:Q",
        tooltip=tooltip,
    )
    line = base.mark("line", color=_RED, strokeWidth=1.2, clip=True).encode(
        x=x, y=vega.field("s:Q", scale=scale)
    )
    layered = vega.layer(band, line).add_params(zoom())
    return layered.properties(width=width, height=height, description=what)


def _long(series: pl.DataFrame, named: dict[str, str], scale: float) -> pl.DataFrame:
    """Several columns as lines of one chart: `t`, `k`, `v`."""
    parts = [
        series.select(
            pl.col("t_s").round(6).alias("t"),
            pl.lit(words).alias("k"),
            (pl.col(column) * scale).round_sig_figs(5).alias("v"),
        ).drop_nulls("v")
        for column, words in named.items()
    ]
    return pl.concat(parts)


def _lines(
    data: pl.DataFrame,
    x: vega.Options,
    title: str,
    colours: list[str],
    names: list[str],
    what: str,
    y_max: float | None = None,
) -> vega.Chart:
    """One line for each name; a point where it has one value only."""
    present = set(data["k"])
    shown = [(name, c) for name, c in zip(names, colours, strict=True) if name in present]
    scale = vega.scale(zero=True) if y_max is None else vega.scale(domain=[0, y_max])

    def base(rows: pl.DataFrame) -> vega.Chart:
        chart = vega.Chart(inline(rows, t="number", v="number"), description=what)
        return chart.encode(
            x=x,
            y=vega.field("v:Q", title=title, scale=scale, axis=vega.axis(tickCount=5)),
            color=vega.field(
                "k:N",
                title=None,
                scale=vega.scale(domain=[n for n, _ in shown], range=[c for _, c in shown]),
                legend=vega.legend(orient="top", symbolType="stroke"),
            ),
            tooltip=[
                vega.field("k:N", title="What"),
                vega.field("t:Q", title="Time (s)"),
                vega.field("v:Q", title=title),
            ],
        )

    line = base(data).mark("line", strokeWidth=1.3, strokeJoin="round", clip=True)
    alone = data.filter(pl.len().over("k") == 1)
    if alone.is_empty():
        return line
    return vega.layer(line, base(alone).mark("point", filled=True, size=40))


def _time(series: pl.DataFrame) -> vega.Options:
    """The axis of all charts of one flow: the same, so that a page zooms into them together."""
    begin: Any = series["t_s"].min()
    end: Any = series["t_s"].max()
    domain = [begin, end] if begin is not None and begin < end else vega.UNSET
    scale = vega.scale(domain=domain, zero=False, nice=False)
    return vega.field("t:Q", title="Time (s)", scale=scale, axis=vega.axis(tickCount=10))


def _most(column: pl.Series) -> float:
    most: Any = column.max()
    return float(most or 0.0)


#: Members with a colour of their own; the others are one area.
_COLOURED = len(PALETTE)
_OTHERS = ("the others", "#999999")
#: Steps of the chart at the most: shares of short times only say whose burst came first.
_STEPS = 100


def shares_over_time(report: Mapping[str, Any]) -> pl.DataFrame:
    """Each member's part of what all deliver: columns `t`, `u` in seconds, `k` its name, `v`.

    Members beyond those that have a colour are taken together.
    """
    group = report["group"]
    series = group["series"]
    started_s = report["capture"]["started_s"] or 0.0
    names = _names(group)
    parts = [
        pl.DataFrame({"t": series["t_s"], "all": series["goodput_bps"], "part": parts},
                     schema=dict.fromkeys(("t", "all", "part"), pl.Float64))
        .with_columns(pl.lit(names[one["connection"]]).alias("k"),
                      (pl.col("part") * pl.col("all")).alias("own"))
        for one, parts in zip(group["members"], series["shares"], strict=True)
    ]  # fmt: skip
    count = len(series["t_s"])
    if not count:
        return pl.DataFrame(schema={"t": pl.Float64, "u": pl.Float64, "k": pl.String,
                                    "v": pl.Float64})  # fmt: skip
    step_s = series["interval_s"] * -(-count // _STEPS)
    step = ((pl.col("t") - series["t_s"][0]) / step_s + 1e-6).floor().alias("step")
    added = pl.concat(parts).group_by(step, "k", maintain_order=True).agg(pl.col("own").sum())
    sums = added.group_by("step", maintain_order=True).agg(pl.col("own").sum().alias("sum"))
    begin = pl.col("step") * step_s + (series["t_s"][0] - started_s)
    return (
        added.join(sums, on="step", maintain_order="left")
        .filter(pl.col("sum") > 0)
        .select(begin.round(6).alias("t"), (begin + step_s).round(6).alias("u"), "k",
                (100 * pl.col("own") / pl.col("sum")).round_sig_figs(5).alias("v"))
    )  # fmt: skip


def shares(report: Mapping[str, Any], *, width: Width = 640, height: int = 200) -> vega.Chart:
    """Shares of the connections over time, one above the other."""
    data = shares_over_time(report)
    order = list(dict.fromkeys(_names(report["group"]).values()))
    if _OTHERS[0] in order:
        order.remove(_OTHERS[0])
        order.append(_OTHERS[0])
    colours = [_OTHERS[1] if name == _OTHERS[0] else PALETTE[i] for i, name in enumerate(order)]
    rank = pl.col("k").replace_strict({name: index for index, name in enumerate(order)},
                                      return_dtype=pl.Int64)  # fmt: skip
    # Vega does not stack what has a beginning and an end in time.
    data = data.sort("t", rank).with_columns(pl.col("v").cum_sum().over("t").alias("b"))
    data = data.with_columns((pl.col("b") - pl.col("v")).alias("a"))
    return (
        vega.Chart(
            inline(data, t="number", u="number", v="number", a="number", b="number"),
            description="Share of each connection in what all of them deliver, over time",
        )
        .mark("rect", clip=True)
        .encode(
            x=vega.field("t:Q", title="Time (s)", scale=vega.scale(zero=False, nice=False),
                    axis=vega.axis(tickCount=10)),
            x2="u:Q",
            y=vega.field("a:Q", title="Share (%)", scale=vega.scale(domain=[0, 100]),
                    axis=vega.axis(tickCount=5)),
            y2="b:Q",
            color=vega.field("k:N", title="Connection",
                            scale=vega.scale(domain=order, range=colours),
                            legend=vega.legend(orient="top", symbolType="square")),
            tooltip=[
                vega.field("k:N", title="Connection"),
                vega.field("t:Q", title="From (s)"),
                vega.field("v:Q", title="Share (%)"),
            ],
        )
        .properties(width=width, height=height)
        .add_params(
            zoom()
        )
    )  # fmt: skip


def _names(group: Mapping[str, Any]) -> dict[int, str]:
    """What each member is called in the chart: its number, or one of the others."""
    largest = sorted(group["members"], key=lambda one: -one["goodput_bps"])
    room = _COLOURED if len(largest) <= _COLOURED else _COLOURED - 1
    own = {one["connection"] for one in largest[:room]}
    return {
        one["connection"]: str(one["connection"]) if one["connection"] in own else _OTHERS[0]
        for one in group["members"]
    }


def delays(
    course: Sequence[Mapping[str, Any]],
    *,
    width: Width = 640,
    height: int = 260,
) -> vega.Chart:
    """One-way delay over time: a band from least to longest, the mean, and marks at losses."""
    names = ("t_s", "least_delay_s", "mean_delay_s", "most_delay_s")
    schema = dict.fromkeys(names, pl.Float64) | {"lost_packets": pl.Int64}
    frame = pl.DataFrame([{name: row[name] for name in schema} for row in course], schema=schema)
    delays = pl.col(*names[1:]).mul(1e3).name.map(lambda name: name.removesuffix("s") + "ms")
    seen = frame.drop_nulls("mean_delay_s").select("t_s", delays)
    lost = frame.filter(pl.col("lost_packets") > 0).select("t_s", "lost_packets")
    number = dict.fromkeys(seen.columns, "number")
    time = vega.field("t_s:Q", title="Time (s)", scale=vega.scale(nice=False))
    base = vega.Chart(inline(seen, **number)).encode(x=time)
    title = "One-way delay (ms)"
    band = base.mark("area", opacity=0.25, color=_BLUE, clip=True).encode(
        y=vega.field("least_delay_ms:Q", title=title, scale=vega.scale(zero=False)),
        y2="most_delay_ms:Q",
    )
    line = base.mark("line", color=_BLUE, strokeWidth=1.5, clip=True).encode(
        y=vega.field("mean_delay_ms:Q", title=title)
    )
    layers: list[Any] = [band, line]
    if not lost.is_empty():
        marks = vega.Chart(inline(lost, t_s="number", lost_packets="number"))
        layers.append(
            marks.mark("tick", color=_RED, thickness=1, size=12, clip=True).encode(
                x=time,
                y=vega.value(6),
                tooltip=[vega.field("t_s:Q", title="Until (s)"),
                         vega.field("lost_packets:Q", title="Lost packets")],
            )
        )  # fmt: skip
    layered = vega.layer(*layers).add_params(zoom())
    return layered.properties(
        width=width,
        height=height,
        description="One-way delay over time; marks at the top are lost packets",
    )
