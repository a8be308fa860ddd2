"""Quantities of models, as people write them in experiment files, or as plain numbers."""

from __future__ import annotations

import math
import re

from fairway.errors import InputError
from fairway.ground import quantities
from fairway.ground.quantities import share as written_share

#: A number, and what it counts that is no quantity of its own.
_COUNTED = re.compile(r"\s*(\d{1,15}(?:\.\d{1,12})?)\s*(packets?|bdp)\s*")


def rate(value: str | float, name: str) -> float:
    """A rate in bit/s: a number, or a text such as "10 Mbit/s".

    Raises:
        InputError: If it is none.

    >>> rate("10 Mbit/s", "rate"), rate(5e6, "rate")
    (10000000.0, 5000000.0)
    """
    return number(quantities.rate_bps(value, name) if isinstance(value, str) else value, name)


def seconds(value: str | float, name: str) -> float:
    """A time in seconds: a number, or a text such as "400 ms".

    Raises:
        InputError: If it is none.

    >>> seconds("400 ms", "rtt")
    0.4
    """
    return number(quantities.seconds(value, name) if isinstance(value, str) else value, name)


def share(value: str | float, name: str) -> float:
    """A share: a number, or a text such as "0.1 %".

    Raises:
        InputError: If it is none.

    >>> share("0.1 %", "loss"), share(0.001, "loss")
    (0.001, 0.001)
    """
    return written_share(value, name) if isinstance(value, str) else number(value, name)


def ratio(value: str | float, name: str) -> float:
    """A ratio, which may be above 1: a number, or a text such as "0.8" or "120 %".

    Raises:
        InputError: If it is none.

    >>> ratio("120 %", "load"), ratio(0.8, "load")
    (1.2, 0.8)
    """
    if not isinstance(value, str):
        return number(value, name)
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,15})?)\s*(%?)\s*", value)
    if match is None:
        raise InputError(f'{name}: expected a ratio, got "{value[:40]}"; write "0.8" or "80 %"')
    return float(match[1]) / (100 if match[2] else 1)


def packets(
    value: str | float,
    name: str,
    *,
    packet_bytes: float,
    capacity_pps: float | None = None,
    rtt_s: float | None = None,
) -> float:
    """A number of packets: a number, or a text such as "300 packets", "64 KiB" or "0.5 bdp".

    Times and bandwidth-delay products need the capacity, and the latter the round-trip time.

    Raises:
        InputError: If it is none.

    >>> packets("64 kB", "buffer", packet_bytes=1000)
    64.0
    >>> packets("0.5 bdp", "buffer", packet_bytes=1000, capacity_pps=1250, rtt_s=0.2)
    125.0
    """
    if not isinstance(value, str):
        return number(value, name)
    match = _COUNTED.fullmatch(value)
    if match and match[2] == "bdp" and capacity_pps is not None and rtt_s is not None:
        return float(match[1]) * capacity_pps * rtt_s
    if match and match[2] != "bdp":
        return float(match[1])
    if capacity_pps is not None and re.fullmatch(r"\s*[\d.]+\s*[mun]?s\s*", value):
        return seconds(value, name) * capacity_pps
    try:
        found = quantities.size_bytes(value, name)
    except InputError:
        found = None
    if found is None:
        more = ', "0.5 bdp", "50 ms"' if capacity_pps is not None else ""
        raise InputError(
            f'{name}: expected packets or bytes, got "{value[:40]}"; '
            f'write "300 packets", "64 KiB"{more}'
        )
    return found / packet_bytes


def number(value: float | None, name: str) -> float:
    """A finite number; what it may be is the model's to say.

    Raises:
        InputError: If it is none.
    """
    if value is None or isinstance(value, bool) or not math.isfinite(value):
        raise InputError(f"{name}: expected a finite number, got {value}")
    return float(value)
