"""Whether every value of a table, read from a file that anyone may have edited, can be one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from fairway.ground.columns import Columns, Sparse, Text

if TYPE_CHECKING:
    from fairway.ground.columns import Column, Mask
    from fairway.ground.result_schema import Column as Declared

#: Columns that tell the rows of one table over time apart, each with the time.
_SUBJECTS = ("flow", "link")
#: Tables of events, of which several may happen at one time, have one of these.
_OF_EVENTS = ("cause", "packet")
#: Characters of a text that a message shows.
_SHOWN = 40


def problem(
    table: Columns, declared: Mapping[str, Declared], known: Mapping[str, Collection[str]]
) -> str | None:
    """The first wrong value of a table with its column and row; None if there is none.

    Args:
        table: Columns of the kinds that are declared.
        declared: What each column may hold.
        known: Of columns of text, all that they may have.
    """
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) > 1:
        return f"columns of different lengths: {lengths}"
    for name, column in table.items():
        if (row := _first(_missing(column))) is not None and not declared[name].nullable:
            return f"column {name}, row {row + 1}: no value"
        if not isinstance(column, Text):
            if (row := _first(np.isinf(table.numbers(name)))) is not None:
                return f"column {name}, row {row + 1}: an infinite number"
        elif name in known and (odd := [one for one in column.names if one not in known[name]]):
            row = _first(column.is_in(odd))
            if row is not None:
                shown = column.names[column.codes[row]][:_SHOWN]
                return f"column {name}, row {row + 1}: {shown!r}, expected a {name} of the summary"
    return _disorder(table)


def _disorder(table: Columns) -> str | None:
    """Where the times of one flow or link do not go on."""
    subject = next((name for name in _SUBJECTS if name in table), None)
    if subject is None or "t_s" not in table or not table.rows:
        return None
    t_s, codes = table.numbers("t_s"), table.text(subject).codes
    order = np.argsort(codes, kind="stable")
    step, is_same = np.diff(t_s[order]), np.diff(codes[order]) == 0
    is_wrong = is_same & (step < 0 if any(name in table for name in _OF_EVENTS) else step <= 0)
    if (place := _first(is_wrong)) is None:
        return None
    row, name = int(order[place + 1]), table.text(subject).names[codes[order[place + 1]]]
    return f"column t_s, row {row + 1}: not after the row before of {subject} {name[:_SHOWN]!r}"


def _missing(column: Column) -> Mask:
    if isinstance(column, Text):
        return np.asarray(column.codes < 0)
    if isinstance(column, Sparse):
        return ~column.present
    if column.dtype == np.float64:
        return np.asarray(np.isnan(column))
    return np.zeros(len(column), dtype=np.bool_)


def _first(rows: Mask) -> int | None:
    """The first row that is so; None if none is."""
    return int(np.argmax(rows)) if rows.any() else None
