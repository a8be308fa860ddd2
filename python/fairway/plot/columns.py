"""Columns of tables: numbers in one format, with the unit of all of them in the heading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.ground import result_schema, text
from fairway.plot.page import Table

Values = Iterable[float | None]

#: Parts of the names of times that are milliseconds rather than seconds.
_SHORT_TIMES = ("delay", "rtt", "sojourn", "jitter")


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
    # The column is as wide as its longest word.
    heading = named(name).replace("retransmission", "retrans.")
    if name == "unfairness":
        heading = "unfairness (max − min) ÷ min"
    unit = result_schema.unit(name)
    if unit == "bit/s":
        return rates(heading, values)
    if is_short_time(name):
        return milliseconds(heading, values)
    return numbers(in_unit(heading, unit), values)


def of_rows(rows: Sequence[Mapping[str, Any]], *names: str) -> list[Column]:
    """Columns of a summary's rows, each under its own name and in its own unit."""
    return [figures(name, [row[name] for row in rows]) for name in names]


def named(name: str) -> str:
    """A figure's name in words, without its unit."""
    return _spaced(result_schema.without_unit(name))


def in_words(name: str) -> str:
    """A figure's name in words; without a unit that its values are shown with."""
    return _spaced(name.removesuffix("_bps").removesuffix("_s"))


def charted(name: str) -> tuple[str, float]:
    """What a figure is called on a chart, with its unit, and what its values are multiplied by."""
    unit, factor = shown_unit(name)
    return in_unit(named(name), unit), factor


def _spaced(name: str) -> str:
    return name.replace("_", " ").replace(".", " ").replace("one way", "one-way")


def in_unit(words: str, unit: str) -> str:
    """A heading with the unit of what is below it, if there is one."""
    return f"{words} ({unit})" if unit else words


def shown_unit(name: str) -> tuple[str, float]:
    """The unit in which charts show a figure, and what its values are multiplied by for it."""
    unit = result_schema.unit(name)
    if unit == "bit/s":
        return "Mbit/s", 1e-6
    return ("ms", 1e3) if is_short_time(name) else (unit, 1.0)


def value_with_unit(name: str, value: float | None) -> str:
    """A figure's value in the unit that its name ends in.

    >>> value_with_unit("goodput_bps", 9.563e6), value_with_unit("p99_sojourn_s", 0.02)
    ('9.563 Mbit/s', '20 ms')
    >>> value_with_unit("mean_cwnd_segments", 230.25), value_with_unit("drops", None)
    ('230.2 segments', '–')
    """
    unit = result_schema.unit(name)
    if value is None:
        return text.ABSENT
    if unit == "bit/s":
        return text.bit_rate(value)
    if is_short_time(name):
        return text.milliseconds(value)
    return f"{text.number(value)} {unit}".rstrip()


def is_short_time(name: str) -> bool:
    """Whether a figure is a time that is read in milliseconds."""
    return result_schema.unit(name) == "s" and any(part in name for part in _SHORT_TIMES)
