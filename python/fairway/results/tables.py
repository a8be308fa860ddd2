"""Data frames of a run, and the Parquet files that they are kept in."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairway import _core
from fairway.errors import InputError
from fairway.ground import result_schema

#: Columns of `Run.series`; a null is "no value yet" (ssthresh is infinite, no sample of the RTT).
SERIES_SCHEMA = result_schema.frame("series")
_OPTIONAL = result_schema.frame("series", optional=True)
#: A column more where the stack of a flow inflates its window while it repairs losses.
(INFLATED,) = _OPTIONAL
#: Columns of `Run.queues`; `drops` (by the queue) and `losses` (on the link) are cumulative.
QUEUE_SCHEMA = result_schema.frame("queues")
#: Columns of `Run.losses`.
LOSS_SCHEMA = result_schema.frame("losses")
#: Columns of `Run.tcp_info`; a null is "none yet", "no limit", or a field that the kernel lacks.
TCP_INFO_SCHEMA = result_schema.frame("tcp_info")


def series_frame(columns: Mapping[str, Any], flow_ids: Sequence[str]) -> pl.DataFrame:
    """Turn the simulator's flow columns into a table with flow names and nulls for NaN."""
    more = {name: kind for name, kind in _OPTIONAL.items() if name in columns}
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
    lookup = pl.Series(list(names), dtype=pl.String)
    return pl.DataFrame(
        [
            lookup.gather(pl.Series(columns[key]).cast(pl.Int64)).alias(key)
            if name == key
            else _column(name, columns[name], dtype)
            for name, dtype in schema.items()
        ]
    )


def _column(name: str, values: Any, dtype: type[pl.DataType]) -> pl.Series:
    if isinstance(values, np.ndarray):
        return pl.Series(name, values, nan_to_null=True).cast(dtype)
    series = pl.Series(name, values, strict=False).cast(dtype)
    return series.fill_nan(None) if dtype == pl.Float64 else series


def summary_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """The flows or links of a summary as a table; of a model its name, and why it is outside."""
    return _typed(pl.DataFrame([_flat(row) for row in rows], infer_schema_length=None))


def typed_rows(columns: Iterable[pl.Series]) -> pl.DataFrame:
    """The same of columns, where a table in a row stands under `table.column`."""
    frame = pl.DataFrame(list(columns)).rename(_OF_MODELS, strict=False)
    return _typed(frame.drop(name for name in frame.columns if name.startswith("model.")))


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    # Column by column: to plan a query takes longer than the columns of a short run do.
    types = _row_types()
    return pl.DataFrame([column.cast(types.get(column.name, pl.Float64)) for column in frame])


#: What is kept of the model that has answered a flow or a link.
_OF_MODELS = {"model.name": "model", "model.outside": "outside"}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without tables in it; what FlowMonitor says has the names that metrics have."""
    flat = dict(row)
    if "model" in row:
        flat |= {"model": row["model"]["name"], "outside": row["model"]["outside"]}
    monitor = flat.pop("flow_monitor", {})
    return flat | {f"flow_monitor.{name}": value for name, value in monitor.items()}


@functools.cache
def _row_types() -> dict[str, type[pl.DataType]]:
    """Types of all columns of flows and links; what FlowMonitor says has its name before it."""
    monitor = result_schema.columns("flows.flow_monitor").items()
    found = {f"flow_monitor.{name}": column for name, column in monitor}
    for table in ("flows", "datagrams", "links"):
        found |= result_schema.columns(table)
    types = {name: result_schema.data_type(column) for name, column in found.items()}
    return {**types, "model": pl.String, "outside": pl.String}


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
    return read_parquet(path, SERIES_SCHEMA, _OPTIONAL)


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
    if "flight_size_segments" in frame.columns:
        message = "flight_size_segments was renamed pipe_segments (RFC 6675)"
        raise InputError(f"{path}: {message}; run the experiment again")
    present = {name: kind for name, kind in (optional or {}).items() if name in frame.columns}
    if frame.schema != pl.Schema({**schema, **present}):
        raise InputError(f"{path}: columns {frame.columns}, expected {list(schema)}")
    return frame
