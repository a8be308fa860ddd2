"""Data frames of a run, and the Parquet files that they are kept in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairway import _core
from fairway.errors import InputError

#: Columns of `Run.series`; a null is "no value yet" (ssthresh is infinite, no sample of the RTT).
SERIES_SCHEMA = {
    "t_s": pl.Float64,
    "flow": pl.String,
    "cwnd_segments": pl.Float64,
    "ssthresh_segments": pl.Float64,
    "srtt_s": pl.Float64,
    "flight_size_segments": pl.Float64,
    "goodput_bps": pl.Float64,
}
#: A column more where the stack of a flow inflates its window while it repairs losses.
INFLATED = "inflated_cwnd_segments"
#: Columns of `Run.queues`; `drops` (by the queue) and `losses` (on the link) are cumulative.
QUEUE_SCHEMA = {
    "t_s": pl.Float64,
    "link": pl.String,
    "backlog_packets": pl.Float64,
    "backlog_bytes": pl.Float64,
    "drops": pl.UInt64,
    "losses": pl.UInt64,
    "throughput_bps": pl.Float64,
}
#: Columns of `Run.losses`; `link` is a direction, `cause` is "dropped", "lost" or "damaged".
LOSS_SCHEMA = {"t_s": pl.Float64, "flow": pl.String, "link": pl.String, "cause": pl.String}
#: Columns of `Run.tcp_info`; a null is "none yet", "no limit", or a field that the kernel lacks.
TCP_INFO_SCHEMA = {
    "t_s": pl.Float64,
    "flow": pl.String,
    **{
        field["name"]: pl.UInt64 if field["whole"] else pl.Float64
        for field in json.loads(_core.tcp_info_fields())
    },
}
_TEXT_COLUMNS = ("id", "cc", "kind", "route", "model", "outside")
_COUNT_COLUMNS = (
    "sent_segments",
    "retransmitted_segments",
    "lost_segments",
    "dropped_segments",
    "duplicate_segments",
    "window_reductions",
    "timeouts",
    "received_packets",
    "reordered_packets",
    "duplicated_packets",
    "flow_monitor.lost",
    "flow_monitor.tx_packets",
    "drops",
    "losses",
    "marks",
)


def series_frame(columns: Mapping[str, Any], flow_ids: Sequence[str]) -> pl.DataFrame:
    """Turn the simulator's flow columns into a table with flow names and nulls for NaN."""
    more = {INFLATED: pl.Float64} if INFLATED in columns else {}
    return _named_frame(columns, "flow", flow_ids, SERIES_SCHEMA | more)


def queue_frame(columns: Mapping[str, Any], link_ids: Sequence[str]) -> pl.DataFrame:
    """Turn the simulator's queue columns into a table with link names."""
    return _named_frame(columns, "link", link_ids, QUEUE_SCHEMA)


def loss_frame(
    columns: Mapping[str, Any], flow_ids: Sequence[str], link_ids: Sequence[str]
) -> pl.DataFrame:
    """Turn the simulator's losses into a table with names."""

    def named(key: str, names: Sequence[str]) -> pl.Series:
        return pl.Series(names, dtype=pl.String).gather(columns[key]).alias(key)

    return pl.DataFrame(
        [
            pl.Series("t_s", columns["t_s"], dtype=pl.Float64),
            named("flow", flow_ids),
            named("link", link_ids),
            named("cause", _core.loss_causes()),
        ]
    )


def tcp_info_frame(columns: Mapping[str, Any], flow_ids: Sequence[str]) -> pl.DataFrame:
    """Turn the kernel's fields into a table with flow names; a column without values is null."""
    rows = len(columns["t_s"])
    filled = {name: v if len(v) == rows else [None] * rows for name, v in columns.items()}
    return _named_frame(filled, "flow", flow_ids, TCP_INFO_SCHEMA)


def _named_frame(
    columns: Mapping[str, Any],
    key: str,
    names: Sequence[str],
    schema: Mapping[str, type[pl.DataType]],
) -> pl.DataFrame:
    frame = pl.DataFrame({name: columns[name] for name in schema})
    lookup = pl.Series(list(names), dtype=pl.String)
    index = frame[key].cast(pl.Int64)
    return frame.with_columns(lookup.gather(index).alias(key)).select(
        pl.col(name).cast(dtype).fill_nan(None) if dtype == pl.Float64 else pl.col(name).cast(dtype)
        for name, dtype in schema.items()
    )


def summary_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """The flows or links of a summary as a table; of a model its name, and why it is outside."""
    frame = pl.DataFrame([_flat(row) for row in rows], infer_schema_length=None)
    return frame.select(pl.col(name).cast(_table_type(name)) for name in frame.columns)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without tables in it; what FlowMonitor says has the names that metrics have."""
    flat = dict(row)
    if "model" in row:
        flat |= {"model": row["model"]["name"], "outside": row["model"]["outside"]}
    monitor = flat.pop("flow_monitor", {})
    return flat | {f"flow_monitor.{name}": value for name, value in monitor.items()}


def _table_type(column: str) -> type[pl.DataType]:
    if column in _TEXT_COLUMNS:
        return pl.String
    return pl.UInt64 if column in _COUNT_COLUMNS else pl.Float64


def parquet(frame: pl.DataFrame) -> bytes:
    """A table as a Parquet file; the same table gives the same bytes."""
    # Through memory, so that a full disk is an OSError when it is written, and no error in here.
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 20
    )
    return buffer.getvalue()


def read_series(path: Path) -> pl.DataFrame:
    """Read the time series of flows back."""
    return read_parquet(path, SERIES_SCHEMA, {INFLATED: pl.Float64})


def read_parquet(
    path: Path,
    schema: Mapping[str, type[pl.DataType]],
    optional: Mapping[str, type[pl.DataType]] | None = None,
) -> pl.DataFrame:
    """Read a table back and check its columns; those that are `optional` come last."""
    try:
        frame = pl.read_parquet(path, memory_map=False)
    except FileNotFoundError:
        raise InputError(f"{path}: missing; run the experiment again") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: damaged table: {error}; run the experiment again") from None
    present = {name: kind for name, kind in (optional or {}).items() if name in frame.columns}
    if frame.schema != pl.Schema({**schema, **present}):
        raise InputError(f"{path}: columns {frame.columns}, expected {list(schema)}")
    return frame
