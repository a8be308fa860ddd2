"""Numbers with units in text, and whether each is a rounding of a number that was measured."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

#: What a number of each unit is in the unit that results have it in (bit/s, s, bytes, a ratio).
UNITS = {
    "Tbit/s": 1e12, "Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0,
    "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "s": 1.0,
    "%": 1e-2,
    "GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "GB": 1e9, "MB": 1e6, "kB": 1e3, "bytes": 1.0,
}  # fmt: skip

_UNIT = "|".join(map(re.escape, UNITS))
#: Not the 1 of `cubic#1`, the 6.1 of `linux-6.1`, the 11 of `802.11b` or the 2 of `10.0.0.2:80`.
_TOKEN = re.compile(
    rf"(?<![\w.,#/:@\-])(?P<number>[+\-−]?\d[\d,]*(?:\.\d+)?(?:e[+\-]?\d+)?)"
    rf"(?:\s(?P<unit>{_UNIT})|(?P<percent>%))?(?![\w/#]|[.:\-]\w)"
)


@dataclass(frozen=True)
class Number:
    """A number as it was printed.

    Attributes:
        text: Its digits, without sign and commas.
        unit: Its unit, or nothing.
    """

    text: str
    unit: str

    def __str__(self) -> str:
        return f"{self.text} {self.unit}".strip()

    def bounds(self) -> tuple[float, float]:
        """The smallest and largest value, in base units, that is written like this."""
        mantissa, _, exponent = self.text.partition("e")
        step = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        value, factor = float(self.text), UNITS.get(self.unit, 1.0)
        # A little more than half a step: a tie is rounded either way.
        reach = 0.5000001 * step
        return (value - reach) * factor, (value + reach) * factor


def numbers(text: str) -> Iterator[Number]:
    """Every number in a text."""
    for found in _TOKEN.finditer(text):
        digits = found["number"].lstrip("+-−").replace(",", "")
        yield Number(digits, found["unit"] or found["percent"] or "")


#: Percentiles, and levels of intervals: they are in headings, and no results.
_LEVELS = ("50 %", "90 %", "95 %", "99 %")


class Measured:
    """All numbers of results, by size, however they are written there."""

    def __init__(self, *documents: Any) -> None:
        found = {abs(value) for one in documents for value in _values(one)}
        self._sorted = sorted(found | {abs(value) for one in documents for value in _folded(one)})
        self._shares = sorted({abs(value) for one in documents for value in _ratios(one)})

    def has(self, number: Number, factors: Iterable[float] = (1.0,)) -> bool:
        """Whether some number is this one when it is rounded to these digits.

        Args:
            number: As it was printed.
            factors: Of the units that it may have, if it has none beside it.
        """
        low, high = number.bounds()
        if number.unit == "%" and _is_between(self._shares, low, high):
            return True
        found = (1.0,) if number.unit else factors
        return any(_is_between(self._sorted, low * factor, high * factor) for factor in found)

    def missing(self, text: str, headings: str = "") -> list[str]:
        """The numbers of a text that are none of these.

        Args:
            text: The text.
            headings: What stands above its columns; units in brackets there are of the numbers.
        """
        headings += text
        headed = set(re.findall(rf"\(({_UNIT})\)", headings)) | set("%" if "%" in headings else "")
        factors = [1.0, *(UNITS[unit] for unit in sorted(headed))]
        every = dict.fromkeys(one for one in numbers(text) if str(one) not in _LEVELS)
        return [str(one) for one in every if not self.has(one, factors)]


def _is_between(values: list[float], low: float, high: float) -> bool:
    at = bisect.bisect_left(values, low)
    return at < len(values) and values[at] <= high


def _values(document: Any) -> Iterable[float]:
    """Numbers of a document: of its values, of what its texts say, and of how many there are."""
    if isinstance(document, bool) or document is None:
        return
    if isinstance(document, int | float):
        yield float(document)
    elif isinstance(document, str):
        for one in numbers(document):
            yield float(one.text) * UNITS.get(one.unit, 1.0)
    elif isinstance(document, dict):
        yield len(document)
        for key, value in document.items():
            yield from _values(key)
            yield from _values(value)
    elif isinstance(document, list):
        yield len(document)
        for value in document:
            yield from _values(value)


def _folded(document: Any) -> Iterator[float]:
    """Sums and means over entries of one origin, or of all, which a table shows in one line."""
    if isinstance(document, dict):
        for value in document.values():
            yield from _folded(value)
    if not isinstance(document, list):
        return
    columns: dict[tuple[str, str], list[float]] = {}
    for entry in document:
        yield from _folded(entry)
        fields = entry if isinstance(entry, dict) else {"": entry}
        origin = str(fields.get("id")).partition("/")[0]
        for key, value in fields.items():
            if isinstance(value, int | float):
                columns.setdefault((key, ""), []).append(float(value))
                columns.setdefault((key, origin), []).append(float(value))
    for values in columns.values():
        yield sum(values)
        yield sum(values) / len(values)


def _ratios(document: Any) -> Iterator[float]:
    """Shares of one number in another of the same entry, which sentences have."""
    if isinstance(document, list):
        for entry in document:
            yield from _ratios(entry)
    elif isinstance(document, dict):
        known = [value for value in document.values() if isinstance(value, float) and value]
        if len(known) < 12:
            yield from (one / other for one in known for other in known)
        for value in document.values():
            yield from _ratios(value)
