"""Charts of one flow of a capture over time: rates, round trips, windows with their phases."""

from __future__ import annotations

from typing import Any, Literal, cast

import altair as alt
import polars as pl

from fairway.capture.analysis.series import coarser
from fairway.plot.figures import TimeChart, inline, zoom

Width = int | Literal["container"]

#: Colours of the lines, Okabe and Ito's as in `fairway.plot.figures`.
_BLUE, _ORANGE, _GREEN, _YELLOW, _RED = "#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00"
#: Phases of the window: their names in reports, their names for people and their bands.
_PHASES = {
    "slow_start": ("slow start", "#009E73"),
    "congestion_avoidance": ("congestion avoidance", "#56B4E9"),
    "recovery": ("recovery", "#D55E00"),
    "limited": ("limited otherwise", "#CC79A7"),
    "idle": ("idle", "#999999"),
}
#: Room above the highest flight or window of a chart, as a share of it.
_ROOM = 1.15


def windows(series: pl.DataFrame, *, width: Width = 640, height: int = 240) -> alt.LayerChart:
    """Bytes in flight, estimated cwnd and receive window, with the phases as bands behind them."""
    named = {"flight_bytes": "in flight", "cwnd_bytes": "cwnd, estimated",
             "receive_window_bytes": "receive window"}  # fmt: skip
    top = _ROOM * max(_most(series["flight_bytes"]), _most(series["cwnd_bytes"]), 1.0)
    lines = _long(series, named, 1e-3)
    chart = _lines(lines, _time(series), "Window (kB)", [_BLUE, _RED, _ORANGE],
                   list(named.values()), "Bytes in flight and windows over time",
                   y_max=top * 1e-3)  # fmt: skip
    bands = phase_bands(series)
    shown = [one for one in _PHASES.values() if one[0] in set(bands["k"])]
    band = (
        alt.Chart(inline(bands, t="number", u="number"))
        .mark_rect(opacity=0.16, clip=True)
        .encode(
            x=alt.X("t:Q"),
            x2="u:Q",
            color=alt.Color(
                "k:N",
                title=None,
                scale=alt.Scale(domain=[n for n, _ in shown], range=[c for _, c in shown]),
                legend=alt.Legend(orient="top", symbolType="square", symbolStrokeWidth=0),
            ),
            tooltip=[alt.Tooltip("k:N", title="Phase"), alt.Tooltip("t:Q", title="From (s)"),
                     alt.Tooltip("u:Q", title="To (s)")],
        )
    )  # fmt: skip
    layers = [band, chart] if shown else [chart]
    layered = alt.layer(*layers).resolve_scale(color="independent").add_params(zoom())
    return cast(alt.LayerChart, layered.properties(width=width, height=height))


def phase_bands(series: pl.DataFrame) -> pl.DataFrame:
    """Times in which the phase is the same: columns `k`, `t` and `u` in seconds."""
    known = series.drop_nulls("phase").sort("t_s")
    names = {phase: words for phase, (words, _) in _PHASES.items()}
    run = (pl.col("phase") != pl.col("phase").shift(1)).fill_null(True).cum_sum()
    bands = (
        known.group_by(run.alias("r"), maintain_order=True)
        .agg(pl.col("phase").first(), pl.col("t_s").first().alias("t"),
             pl.col("t_s").last().alias("last"))
        .with_columns(pl.col("t").shift(-1).fill_null(pl.col("last")).alias("u"))
    )  # fmt: skip
    return bands.select(
        pl.col("phase").replace_strict(names, default=pl.col("phase")).alias("k"),
        pl.col("t", "u").round(6),
    )


def rates(series: pl.DataFrame, *, width: Width = 640, height: int = 200) -> alt.LayerChart:
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
        alt.Chart(inline(again, t="number", n="number"))
        .mark_tick(color=_RED, thickness=1.5, height=10, clip=True, orient="vertical")
        .encode(
            x="t:Q",
            y=alt.value(height - 5),
            tooltip=[alt.Tooltip("t:Q", title="Time (s)"), alt.Tooltip("n:Q", title="Sent again")],
        )
    )
    layers = [chart, ticks] if again.height else [chart]
    layered = alt.layer(*layers).add_params(zoom())
    return cast(alt.LayerChart, layered.properties(width=width, height=height))


def round_trips(series: pl.DataFrame, *, width: Width = 640, height: int = 200) -> alt.LayerChart:
    """The range of round trips of each interval as a band, the smoothed one as a line."""
    data = series.drop_nulls("least_rtt_s").select(
        pl.col("t_s").round(6).alias("t"),
        (pl.col("least_rtt_s") * 1e3).round_sig_figs(5).alias("a"),
        (pl.col("most_rtt_s") * 1e3).round_sig_figs(5).alias("b"),
        (pl.col("srtt_s") * 1e3).round_sig_figs(5).alias("s"),
    )
    what = "Round-trip time over time: range of each interval, and smoothed"
    base = alt.Chart(inline(data, t="number", a="number", b="number", s="number"), description=what)
    x = _time(series)
    tooltip = [
        alt.Tooltip("t:Q", title="Time (s)"),
        alt.Tooltip("a:Q", title="Smallest (ms)"),
        alt.Tooltip("b:Q", title="Largest (ms)"),
        alt.Tooltip("s:Q", title="Smoothed (ms)"),
    ]
    scale = alt.Scale(zero=False)
    band = base.mark_rule(color=_BLUE, opacity=0.55, strokeWidth=1.5, strokeCap="square",
                          clip=True).encode(
        x=x, y=alt.Y("a:Q", title="Round-trip time (ms)", scale=scale), y2="b:Q", tooltip=tooltip
    )  # fmt: skip
    line = base.mark_line(color=_RED, strokeWidth=1.2, clip=True).encode(
        x=x, y=alt.Y("s:Q", scale=scale)
    )
    layered = alt.layer(band, line).add_params(zoom())
    return cast(alt.LayerChart, layered.properties(width=width, height=height, description=what))


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
    x: alt.X,
    title: str,
    colours: list[str],
    names: list[str],
    what: str,
    y_max: float | None = None,
) -> TimeChart:
    """One line for each name; a point where it has one value only."""
    present = set(data["k"])
    shown = [(name, c) for name, c in zip(names, colours, strict=True) if name in present]
    scale = alt.Scale(zero=True) if y_max is None else alt.Scale(domain=[0, y_max])

    def base(rows: pl.DataFrame) -> alt.Chart:
        chart = alt.Chart(inline(rows, t="number", v="number"), description=what)
        return chart.encode(
            x=x,
            y=alt.Y("v:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5)),
            color=alt.Color(
                "k:N",
                title=None,
                scale=alt.Scale(domain=[n for n, _ in shown], range=[c for _, c in shown]),
                legend=alt.Legend(orient="top", symbolType="stroke"),
            ),
            tooltip=[
                alt.Tooltip("k:N", title="What"),
                alt.Tooltip("t:Q", title="Time (s)"),
                alt.Tooltip("v:Q", title=title),
            ],
        )

    line = base(data).mark_line(strokeWidth=1.3, strokeJoin="round", clip=True)
    alone = data.filter(pl.len().over("k") == 1)
    if alone.is_empty():
        return cast(TimeChart, line)
    return cast(TimeChart, alt.layer(line, base(alone).mark_point(filled=True, size=40)))


def _time(series: pl.DataFrame) -> alt.X:
    """The axis of all charts of one flow: the same, so that a page zooms into them together."""
    begin: Any = series["t_s"].min()
    end: Any = series["t_s"].max()
    domain = [begin, end] if begin is not None and begin < end else alt.Undefined
    scale = alt.Scale(domain=domain, zero=False, nice=False)
    return alt.X("t:Q", title="Time (s)", scale=scale, axis=alt.Axis(tickCount=10))


def _most(column: pl.Series) -> float:
    most: Any = column.max()
    return float(most or 0.0)
