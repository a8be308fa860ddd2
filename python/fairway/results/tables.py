"""Tables of a run as columns, and the Parquet files that they are kept in."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway import _core
from fairway.errors import InputError
from fairway.ground import regular, result_schema, shape
from fairway.ground.columns import Columns, Text, column_of
from fairway.results.values import problem

if TYPE_CHECKING:
    from fairway.ground.columns import Column

#: A column more where the stack of a flow inflates its window while it repairs losses.
(INFLATED,) = result_schema.kinds("series", optional=True)


def series_of(columns: Mapping[str, Any], flow_ids: Sequence[str]) -> Columns:
    """The compiled module's columns of flows over time, with the names of the flows."""
    more = {name: "number" for name in (INFLATED,) if name in columns}
    return _named(columns, "flow", flow_ids, result_schema.kinds("series") | more)


def queues_of(columns: Mapping[str, Any], link_ids: Sequence[str]) -> Columns:
    """The compiled module's columns of queues over time, with the names of the links."""
    return _named(columns, "link", link_ids, result_schema.kinds("queues"))


def losses_of(
    columns: Mapping[str, Any], flow_ids: Sequence[str], link_ids: Sequence[str]
) -> Columns:
    """The compiled module's columns of single losses, with names."""
    names = {"flow": flow_ids, "link": link_ids, "cause": _core.loss_causes()}
    return Columns(
        {"t_s": columns["t_s"], **{key: _text(columns[key], known) for key, known in names.items()}}
    )


def tcp_info_of(columns: Mapping[str, Any], flow_ids: Sequence[str]) -> Columns:
    """The kernel's fields over time, with names of flows; nothing where it lacks a field."""
    rows = len(columns["t_s"])
    filled = {name: v if len(v) == rows else [None] * rows for name, v in columns.items()}
    return _named(filled, "flow", flow_ids, result_schema.kinds("tcp_info"))


def _named(
    columns: Mapping[str, Any], key: str, names: Sequence[str], kinds: Mapping[str, str]
) -> Columns:
    return Columns(
        {
            name: _text(columns[key], names) if name == key else _column(kind, columns[name])
            for name, kind in kinds.items()
        }
    )


def _text(codes: Any, names: Sequence[str]) -> Text:
    return Text(np.asarray(codes).astype(np.int32), names)


def _column(kind: str, values: Any) -> Column:
    if not isinstance(values, np.ndarray):
        return column_of(kind, values)
    return values.astype(np.float64, copy=False) if kind == "number" else values


def summary_rows(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """The flows or links of a summary; of a model its name, and why it is outside."""
    flat = [_flat(row) for row in rows]
    kinds = row_kinds()
    return Columns(
        {
            name: column_of(kinds.get(name, "number"), [row.get(name) for row in flat])
            for name in dict.fromkeys(name for row in flat for name in row)
        }
    )


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without tables in it; what FlowMonitor says has the names that metrics have."""
    flat = dict(row)
    if "model" in row:
        flat |= {"model": row["model"]["name"], "outside": row["model"]["outside"]}
    monitor = flat.pop("flow_monitor", {})
    return flat | {f"flow_monitor.{name}": value for name, value in monitor.items()}


def wrong_row(summary: Mapping[str, Any]) -> str | None:
    """The first value of a flow or link that its column cannot hold, whatever its name."""
    kinds = row_kinds()
    for part in ("flows", "links"):
        for index, row in enumerate(summary[part]):
            for name, value in row.items():
                if name == "model" or kinds.get(name) == "record":  # of a shape of their own
                    continue
                wanted = result_schema.shape_of(kinds.get(name, "number"))
                if wrong := shape.problem(value, wanted, f"{part}.{index}.{name}"):
                    return wrong
    return None


@functools.cache
def row_kinds() -> dict[str, str]:
    """Kinds of all columns of flows and links; what FlowMonitor says has its name before it."""
    monitor = result_schema.columns("flows.flow_monitor").items()
    found = {f"flow_monitor.{name}": column for name, column in monitor}
    for table in ("flows", "datagrams", "links"):
        found |= result_schema.columns(table)
    kinds = {name: column.kind for name, column in found.items()}
    return {**kinds, "model": "text", "outside": "text"}


def read_table(
    path: Path, name: str, known: Mapping[str, Collection[str]] | None = None
) -> Columns:
    """Read a table back and check its columns and every value; optional columns come last.

    Args:
        path: Its file.
        name: The table, as `result_schema.columns` has it.
        known: Of columns of text, all that they may have, such as the ids of flows.
    """
    try:
        table = Columns.from_parquet(regular.read(path, regular.MOST_TABLE))
    except FileNotFoundError:
        raise InputError(f"{path}: missing; run the experiment again") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: damaged table: {error}; run the experiment again") from None
    if "flight_size_segments" in table:
        message = "flight_size_segments was renamed pipe_segments (RFC 6675)"
        raise InputError(f"{path}: {message}; run the experiment again")
    kinds = result_schema.kinds(name)
    optional = result_schema.kinds(name, optional=True)
    present = {one: kind for one, kind in optional.items() if one in table}
    found, expected = table.kinds, {**kinds, **present}
    if list(found.items()) != list(expected.items()):
        raise InputError(f"{path}: columns {list(found)}, expected {list(kinds)}")
    if wrong := problem(table, result_schema.columns(name), known or {}):
        raise InputError(f"{path}: damaged table: {wrong}; run the experiment again")
    return table
