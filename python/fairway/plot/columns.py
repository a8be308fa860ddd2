"""Columns of tables: numbers in one format, with the unit of all of them in the heading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.ground import text
from fairway.plot.page import Table

Values = Iterable[float | None]


@dataclass(frozen=True)
class Column:
    """A heading and the text below it."""

    heading: str
    cells: Sequence[str]


def table(caption: str, columns: Sequence[Column], **more: Any) -> Table:
    """A table of columns; more arguments are `Table`'s."""
    rows = zip(*(column.cells for column in columns), strict=True)
    return Table(caption, [column.heading for column in columns], list(map(list, rows)), **more)


def words(heading: str, values: Iterable[Any]) -> Column:
    """Text, or a dash where there is none."""
    return Column(heading, [text.ABSENT if value is None else str(value) for value in values])


def numbers(heading: str, values: Values) -> Column:
    """Numbers whose unit, if they have one, the heading says already."""
    return Column(heading, text.column(list(values)))


def rates(heading: str, values: Values) -> Column:
    """Rates of bit/s in the unit that suits all."""
    unit, cells = text.bit_rates(list(values))
    return Column(f"{heading} ({unit})", cells)


def milliseconds(heading: str, values: Values) -> Column:
    """Times of s, in ms."""
    # To the nanosecond: 0.057 s is 57 ms, and not 57.00000000000001.
    scaled = [None if value is None else round(value * 1e3, 6) for value in values]
    return numbers(f"{heading} (ms)", scaled)


def percent(heading: str, values: Values) -> Column:
    """Shares, in per cent."""
    # To 15 digits: 0.07 is 7 %, and not 7.000000000000001 %.
    scaled = [None if value is None else float(f"{100 * value:.15g}") for value in values]
    return numbers(f"{heading} (%)", scaled)


def figures(name: str, values: Values) -> Column:
    """A figure of a run under its name in words, in the unit that the name ends in."""
    heading = "unfairness (max − min) ÷ min" if name == "unfairness" else in_words(name)
    # The column is as wide as its longest word.
    heading = heading.replace("retransmission", "retrans.")
    if name.endswith("_bps"):
        return rates(heading, values)
    if is_short_time(name):
        return milliseconds(heading, values)
    for suffix in _UNITS:
        if name.endswith(f"_{suffix}"):
            return numbers(f"{heading.removesuffix(' ' + suffix)} ({suffix})", values)
    return numbers(heading, values)


def in_words(name: str) -> str:
    """A figure's name in words; without a unit that its values are shown with."""
    words = name.removesuffix("_bps").removesuffix("_s")
    return words.replace("_", " ").replace(".", " ").replace("one way", "one-way")


def is_short_time(name: str) -> bool:
    """Whether a figure is a time that is read in milliseconds."""
    return name.endswith("_s") and any(part in name for part in _SHORT_TIMES)


#: Parts of the names of times that are milliseconds rather than seconds.
_SHORT_TIMES = ("delay", "rtt", "sojourn", "jitter")


#: Units that names end in.
_UNITS = ("s", "bytes", "packets", "segments", "percent")
