"""Quantities of models, as people write them in experiment files, or as plain numbers."""

from __future__ import annotations

import math

from fairway import _core
from fairway.errors import InputError
from fairway.ground import quantities


def rate(value: str | float, name: str) -> float:
    """A rate in bit/s: a number, or a text such as "10 Mbit/s".

    >>> rate("10 Mbit/s", "rate"), rate(5e6, "rate")
    (10000000.0, 5000000.0)
    """
    return number(quantities.rate_bps(value, name) if isinstance(value, str) else value, name)


def seconds(value: str | float, name: str) -> float:
    """A time in seconds: a number, or a text such as "400 ms".

    >>> seconds("400 ms", "rtt")
    0.4
    """
    return number(quantities.seconds(value, name), name)


def share(value: str | float, name: str) -> float:
    """A share: a number, or a text such as "0.1 %".

    >>> share("0.1 %", "loss"), share(0.001, "loss")
    (0.001, 0.001)
    """
    return quantities.share(value, name) if isinstance(value, str) else number(value, name)


def ratio(value: str | float, name: str) -> float:
    """A ratio, which may be above 1: a number, or a text such as "0.8" or "120 %".

    >>> ratio("120 %", "load"), ratio(0.8, "load")
    (1.2, 0.8)
    """
    if not isinstance(value, str):
        return number(value, name)
    found = _core.ratio(value)
    if found is None:
        raise InputError(f'{name}: expected a ratio, got "{value[:40]}"; write "0.8" or "80 %"')
    return found


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

    >>> packets("64 kB", "buffer", packet_bytes=1000)
    64.0
    >>> packets("0.5 bdp", "buffer", packet_bytes=1000, capacity_pps=1250, rtt_s=0.2)
    125.0
    """
    if not isinstance(value, str):
        return number(value, name)
    count, unit, _, _ = _core.measured(value) or (0.0, "", "", 0.0)
    if unit == "packets":
        return count
    if unit == "bytes":
        return count / packet_bytes
    if unit == "s" and capacity_pps is not None:
        return count * capacity_pps
    if unit == "bdp" and capacity_pps is not None and rtt_s is not None:
        return count * capacity_pps * rtt_s
    more = ', "0.5 bdp", "50 ms"' if capacity_pps is not None else ""
    raise InputError(
        f'{name}: expected packets or bytes, got "{value[:40]}"; '
        f'write "300 packets", "64 KiB"{more}'
    )


def number(value: float | None, name: str) -> float:
    """A finite number; what it may be is the model's to say."""
    if value is None or isinstance(value, bool) or not math.isfinite(value):
        raise InputError(f"{name}: expected a finite number, got {value}")
    return float(value)
