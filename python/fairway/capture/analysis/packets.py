"""Single packets of a direction: the table that diagrams and exports are drawn from."""

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
