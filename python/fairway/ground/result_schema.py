"""Columns of results, as the compiled module declares them: type, unit, meaning and tolerance."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.ground.shape import (
    COUNT,
    COUNT_OR_NONE,
    INTEGER,
    INTEGER_OR_NONE,
    NUMBER,
    NUMBER_OR_NONE,
    TEXT_OR_NONE,
    Distinct,
    Each,
    Maybe,
)

if TYPE_CHECKING:
    import polars as pl

#: Kind of a column -> what JSON has of it, without and with null.
_SHAPES = {
    "text": (str, TEXT_OR_NONE),
    "count": (COUNT, COUNT_OR_NONE),
    "integer": (INTEGER, INTEGER_OR_NONE),
    "number": (NUMBER, NUMBER_OR_NONE),
    "flag": (bool, (bool, type(None))),
    "figures": (Each(NUMBER_OR_NONE), Each(NUMBER_OR_NONE)),
}


@dataclass(frozen=True)
class Tolerance:
    """What difference is of no account.

    Attributes:
        relative: As a share of the reference's mean.
        floor: At least this much, in the unit of the column: a share of next to nothing is nothing.
    """

    relative: float
    floor: float = 0.0

    def of(self, reference: float) -> float:
        """The largest difference from that mean, in its unit."""
        return max(self.relative * abs(reference), self.floor)

    def to_json(self) -> dict[str, float]:
        """As plain data."""
        return {"relative": self.relative, "floor": self.floor}


@dataclass(frozen=True)
class Column:
    """A column of a table, or a key of a summary.

    Attributes:
        name: Its name.
        kind: "text", "count", "integer", "number", "flag", "figures", "record" or "records".
        nullable: Whether a value may be missing.
        optional: Whether the column is absent where it does not apply.
        unit: Unit of its values; empty without one.
        meaning: What it says, in the words of the reference.
        source: What defines it; of a field of the kernel's, the first version of Linux that has it.
        tolerance: What difference between two backends is of no account, where it is compared.
        columns: Columns of its values, if these are objects.
    """

    name: str
    kind: str
    nullable: bool
    optional: bool
    unit: str
    meaning: str
    source: str
    tolerance: Tolerance | None
    columns: Mapping[str, Column]


@functools.cache
def _declared() -> dict[str, Any]:
    return dict(json.loads(_core.result_schema()))


def _columns(declared: list[dict[str, Any]]) -> dict[str, Column]:
    return {
        one["name"]: Column(
            **{
                **one,
                "tolerance": one["tolerance"] and Tolerance(**one["tolerance"]),
                "columns": _columns(one["columns"]),
            }
        )
        for one in declared
    }


@functools.cache
def columns(table: str) -> Mapping[str, Column]:
    """The columns of a table by their names.

    Args:
        table: "series", "queues", "losses", "tcp_info", "intervals" or "packets"; "datagrams" for
            what datagram flows have besides; "summary", or a key of it that holds objects, such as
            "flows", or "flows.flow_monitor".
    """
    first, *rest = table.split(".")
    tables = _declared()["tables"]
    if first not in tables:
        first, rest = "summary", [first, *rest]
    found: Mapping[str, Column] = _columns(tables[first])
    for key in rest:
        found = found[key].columns
    return found


def unit(name: str) -> str:
    """The unit that a name ends in; empty without one.

    >>> unit("goodput_bps"), unit("mean_srtt_s"), unit("nai_per_s"), unit("jain_index")
    ('bit/s', 's', '1/s', '')
    """
    return next((unit for end, unit in _declared()["units"] if name.endswith(end)), "")


def without_unit(name: str) -> str:
    """A name without the unit that it ends in.

    >>> without_unit("goodput_bps"), without_unit("jain_index")
    ('goodput', 'jain_index')
    """
    ends = (end for end, _ in _declared()["units"])
    return next((name.removesuffix(end) for end in ends if name.endswith(end)), name)


def shape(table: str) -> dict[str, Any]:
    """What objects of a table are like, as `fairway.ground.shape.problem` takes it."""
    return {column.name: _shape(column) for column in columns(table).values()}


def shape_of(kind: str) -> Any:
    """The shape of a value of a kind, or null, as `fairway.ground.shape.problem` takes it."""
    return _SHAPES[kind][1]


def _shape(column: Column) -> Any:
    if column.columns:
        of: Any = {inner.name: _shape(inner) for inner in column.columns.values()}
        if column.kind == "records":
            of = Distinct(of, "id") if "id" in column.columns else [of]
    else:
        of = _SHAPES[column.kind][column.nullable]
    return Maybe(of) if column.optional else of


def kinds(table: str, *, optional: bool = False) -> dict[str, str]:
    """What each column of a table over time holds: of those it always has, or the optional ones.

    "text", "count", "integer", "flag" or "number".
    """
    found = columns(table).values()
    return {one.name: one.kind for one in found if one.optional == optional}


def frame(table: str, *, optional: bool = False) -> dict[str, type[pl.DataType]]:
    """The same as types of a data frame's columns."""
    return {name: data_type(kind) for name, kind in kinds(table, optional=optional).items()}


def data_type(kind: str) -> type[pl.DataType]:
    """The type of a data frame's column of that kind."""
    import polars as pl

    types: dict[str, type[pl.DataType]] = {
        "text": pl.String, "count": pl.UInt64, "integer": pl.Int64, "flag": pl.Boolean,
    }  # fmt: skip
    return types.get(kind, pl.Float64)
