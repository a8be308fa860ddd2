"""The tables of a capture: single packets, intervals of time, estimates of windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairway import _core
from fairway.ground import result_schema

#: Columns of `packets.parquet`: one row for each segment with data, each acknowledgement and each
#: block that it selectively acknowledges. `flow` is the direction that the data goes; times are
#: since the capture's first packet, and bytes are offsets in the stream of data.
PACKET_SCHEMA = result_schema.frame("packets")

#: Kinds of rows that are sent towards the receiver.
SENT = ("data", "retransmission", "fills hole", "window probe", "keep-alive")


def packet_frame(columns: Mapping[str, Any], flows: Sequence[str]) -> pl.DataFrame:
    """Turn the compiled module's columns into a table with names and nulls."""
    frame = pl.DataFrame(dict(columns))
    known = {"flow": flows, "what": _core.packet_kinds(), "fate": _core.packet_fates()}

    def named(column: str) -> pl.Series:
        index = frame[column].cast(pl.Int64)
        names = pl.Series(list(known[column]), dtype=pl.String)
        return names.gather(index.set(index < 0, None)).alias(column)

    def from_zero(column: str) -> pl.Expr:
        return pl.when(pl.col(column) >= 0).then(pl.col(column)).alias(column)

    return frame.with_columns(
        *(named(column) for column in known),
        from_zero("window_end_byte"),
        from_zero("flight_bytes"),
        pl.col("rtt_s").fill_nan(None),
        pl.lit(None).alias("cause"),
        pl.lit(None).alias("is_spurious"),
    ).select(pl.col(name).cast(dtype) for name, dtype in PACKET_SCHEMA.items())


def with_causes(
    packets: pl.DataFrame, causes: Sequence[tuple[str, Mapping[str, Any]]]
) -> pl.DataFrame:
    """The table with the causes of retransmissions: (flow, entry of the report's list)."""
    if not causes:
        return packets
    found = pl.DataFrame(
        {
            "flow": [flow for flow, _ in causes],
            "packet": [one["packet"] for _, one in causes],
            "cause": [one["cause"] for _, one in causes],
            "is_spurious": [one["spurious"] is not None for _, one in causes],
        },
        schema={name: PACKET_SCHEMA[name] for name in ("flow", "packet", "cause", "is_spurious")},
    )
    is_sent = pl.col("what").is_in(SENT)
    joined = packets.drop("cause", "is_spurious").join(
        found, on=["flow", "packet"], how="left", maintain_order="left"
    )
    return joined.with_columns(
        pl.when(is_sent).then(pl.col(name)).alias(name) for name in ("cause", "is_spurious")
    ).select(*PACKET_SCHEMA)


#: Samples of a flow in the series that every run has.
_SAMPLES = 200
#: Columns of `capture.parquet`: one row for each interval of a flow.
CAPTURE_SERIES_SCHEMA = result_schema.frame("intervals")


def series_frame(
    columns: Mapping[str, Any], flows: Sequence[str], windows: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """Turn the compiled module's columns into a table."""
    frame = pl.DataFrame(dict(columns))
    names = pl.Series(list(flows), dtype=pl.String)
    frame = frame.with_columns(names.gather(frame["flow"].cast(pl.Int64)).alias("flow"))
    parts = []
    for flow in dict.fromkeys(frame["flow"]):
        own = frame.filter(pl.col("flow") == flow)
        known = windows.get(flow)
        if known is None or known.is_empty():
            own = own.with_columns(
                pl.lit(None, dtype=pl.UInt64).alias("cwnd_bytes"),
                pl.lit(None, dtype=pl.String).alias("phase"),
            )
        else:
            # An interval ends with the window that was known last before its end.
            own = own.sort("t_s").join_asof(known, on="t_s", strategy="backward")
        parts.append(own)
    whole = pl.concat(parts) if parts else pl.DataFrame(schema=CAPTURE_SERIES_SCHEMA)
    return whole.select(_cast(name, dtype) for name, dtype in CAPTURE_SERIES_SCHEMA.items())


def _cast(name: str, dtype: type[pl.DataType]) -> pl.Expr:
    column = pl.col(name)
    if dtype == pl.Float64:
        return column.cast(dtype).fill_nan(None)
    if dtype == pl.UInt64:
        return pl.when(column >= 0).then(column).cast(dtype).alias(name)
    return column.cast(dtype)


def window_frame(window: Mapping[str, Any], started_s: float) -> pl.DataFrame:
    """The estimate of a window over time, as a report has it: `t_s`, `cwnd_bytes`, `phase`."""
    series = window.get("series") or {"t_s": [], "cwnd_bytes": [], "phase": []}
    return pl.DataFrame(
        {
            "t_s": [t - started_s for t in series["t_s"]],
            "cwnd_bytes": series["cwnd_bytes"],
            "phase": series["phase"],
        },
        schema={"t_s": pl.Float64, "cwnd_bytes": pl.UInt64, "phase": pl.String},
    ).sort("t_s")


def coarser(series: pl.DataFrame, points: int) -> pl.DataFrame:
    """The same with at most `points` intervals of each flow.

    Between two acknowledgements nothing is delivered: by the millisecond, rates are a comb.
    """
    number = pl.int_range(pl.len()).over("flow")
    group = number * points // pl.len().over("flow")
    return (
        series.sort("flow", "t_s")
        .group_by("flow", group.alias("g"), maintain_order=True)
        .agg(
            pl.col("t_s").last(),
            pl.col("throughput_bps", "goodput_bps").mean(),
            pl.col("retransmitted_segments").sum(),
            pl.col("flight_bytes").max(),
            pl.col("receive_window_bytes").min(),
            pl.col("cwnd_bytes", "phase").drop_nulls().last(),
            pl.col("least_rtt_s").min(),
            pl.col("most_rtt_s").max(),
            pl.col("srtt_s").drop_nulls().last(),
        )
        .select(*CAPTURE_SERIES_SCHEMA)
    )


def as_run(series: pl.DataFrame, mss_bytes: Mapping[str, float]) -> pl.DataFrame:
    """The same in the schema of every run's series, windows in segments of each flow's size."""
    if series.is_empty():
        return pl.DataFrame(schema=result_schema.frame("series"))
    mss = pl.col("flow").replace_strict(
        {flow: max(size, 1.0) for flow, size in mss_bytes.items()}, return_dtype=pl.Float64
    )
    return coarser(series, _SAMPLES).select(
        "t_s",
        "flow",
        (pl.col("cwnd_bytes") / mss).alias("cwnd_segments"),
        pl.lit(None, dtype=pl.Float64).alias("ssthresh_segments"),
        "srtt_s",
        (pl.col("flight_bytes") / mss).alias("pipe_segments"),
        "goodput_bps",
    )
