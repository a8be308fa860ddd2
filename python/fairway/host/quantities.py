"""Rates, times and sizes as users write and read them: "10 Gbit/s", "200 ms", "6 MiB"."""

from __future__ import annotations

import re
from fractions import Fraction

from fairway.errors import InputError
from fairway.text import number

_RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}
_TIMES = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
}
_SIZES = {"bytes": 1, "B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20}
_WRITTEN = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?|\.\d{1,15})\s*([^\d\s.].{0,15}?)?\s*")


def rate_bps(text: str, option: str) -> float:
    """A rate in bit/s.

    Args:
        text: What was written.
        option: Where, for the message.

    Raises:
        InputError: If it is not a rate above zero.

    >>> rate_bps("2.5 Gbit/s", "--rate")
    2500000000.0
    """
    return _quantity(text, option, _RATES, "a rate", "10 Gbit/s")


def seconds(text: str, option: str) -> float:
    """A time in seconds, of at most an hour.

    Raises:
        InputError: If it is not a time above zero.

    >>> seconds("200ms", "--rtt")
    0.2
    """
    value = _quantity(text, option, _TIMES, "a time", "200 ms")
    if value > 3600:
        raise InputError(f'{option}: expected a time of at most 3600 s, got "{text[:40]}"')
    return value


def size_bytes(text: str, option: str) -> int:
    """A size in whole bytes.

    Raises:
        InputError: If it is not a size above zero.

    >>> size_bytes("1448 bytes", "--mss"), size_bytes("9 kB", "--mss")
    (1448, 9000)
    """
    return int(_quantity(text, option, _SIZES, "a size", "1448 bytes"))


def share(text: str, option: str) -> float:
    """A share of at least 0 and below 1, written so or in per cent.

    Raises:
        InputError: If it is not such a share.

    >>> share("0.01 %", "--loss"), share("0.0001", "--loss")
    (0.0001, 0.0001)
    """
    match = re.fullmatch(
        r"\s*(\d{1,3}(?:\.\d{1,15})?|\d(?:\.\d{1,15})?[eE]-\d{1,2})\s*(%?)\s*", text
    )
    value = float(Fraction(match[1]) / (100 if match[2] else 1)) if match else 1.0
    if not 0 <= value < 1:
        raise InputError(
            f'{option}: expected a share from 0 to below 1, got "{text[:40]}"; '
            'write "0.01 %" or 0.0001'
        )
    return value


def _quantity(
    text: str, option: str, units: dict[str, int] | dict[str, Fraction], what: str, example: str
) -> float:
    match = _WRITTEN.fullmatch(text)
    if match is None or match[2] not in units or Fraction(match[1]) == 0:
        known = ", ".join(name for name in units if name != "μs")
        raise InputError(
            f'{option}: expected {what} above zero, got "{text[:40]}"; write "{example}" ({known})'
        )
    return float(Fraction(match[1]) * units[match[2]])


def binary(size: float) -> str:
    """A number of bytes as buffers are counted, in powers of 1024.

    >>> binary(6291456), binary(212992), binary(1000)
    ('6 MiB', '208 KiB', '1,000 bytes')
    """
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= factor:
            return f"{number(size / factor, 3)} {unit}"
    return f"{number(size)} bytes"
