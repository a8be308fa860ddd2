"""Quantities as users write and read them: "10 Mbit/s", "100 ms", "0.01 %", "6 MiB"."""

from __future__ import annotations

from fairway import _core
from fairway.errors import InputError
from fairway.ground.text import number


def share(text: str, option: str) -> float:
    """A share of at least 0 and below 1, written so or in per cent.

    >>> share("0.01 %", "--loss"), share("0.0001", "--loss")
    (0.0001, 0.0001)
    """
    value = _core.ratio(text)
    if value is None or value >= 1:
        raise InputError(
            f'{option}: expected a share from 0 to below 1, got "{text[:40]}"; '
            'write "0.01 %" or 0.0001'
        )
    return value


def binary(size: float) -> str:
    """A number of bytes as buffers are counted, in powers of 1024.

    >>> binary(6291456), binary(212992), binary(1000)
    ('6 MiB', '208 KiB', '1,000 bytes')
    """
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= factor:
            return f"{number(size / factor, 3)} {unit}"
    return f"{number(size)} bytes"


def rate_bps(text: str | None, option: str) -> int | None:
    """A rate as users write it ("10 Mbit/s"), in bit/s."""
    return _quantity(text, "rate", option)


def size_bytes(text: str | None, option: str) -> int | None:
    """A size as users write it ("8 MiB"), in bytes."""
    return _quantity(text, "size", option)


def seconds(text: str | float | None, option: str) -> float | None:
    """A duration as users write it ("100 ms"), in seconds; a number is in seconds already."""
    if isinstance(text, int | float):
        return text
    nanos = _quantity(text, "duration", option)
    return None if nanos is None else nanos / 1e9


def _quantity(text: str | None, kind: str, option: str) -> int | None:
    if text is None:
        return None
    try:
        return _core.quantity(text, kind)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None
