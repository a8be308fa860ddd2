"""Measured numbers in sentences: in the unit that the metric's name ends with, and short."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.ground import text

#: Stands for a metric whose numbers are shares, shown in per cent.
SHARE = "share"

#: Significant digits of what was measured in some unit.
_DIGITS = 3
#: Ending of a metric's name -> its units, largest first, and what one is in the metric's own.
_UNITS: dict[str, Sequence[tuple[str, float]]] = {
    SHARE: (("%", 0.01),),
    "_percent": (("%", 1),),
    "_per_s": (("/s", 1),),
    "_bps": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1)),
    "_bytes": (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1)),
    "_s": (("s", 1), ("ms", 1e-3), ("µs", 1e-6)),
}


def number(value: float) -> str:
    """A number without a unit, with four significant digits.

    >>> number(0.25), number(16.86178), number(84296.7), number(0.0123456), number(1e-5)
    ('0.25', '16.86', '84,297', '0.01235', '1e-05')
    """
    return text.exact(value, 4) if value == 0 or abs(value) >= 1e-4 else f"{value:.4g}"


def measured(metric: str, value: float, ends: Sequence[float] | None = None) -> str:
    """A measured number, and its interval, in the unit of the metric.

    >>> measured("flow.0.throughput_bps", 1.162e7, (-2.292e6, 2.553e7))
    '11.6 [-2.29, 25.5] Mbit/s'
    >>> measured("ctt_s", 0.0819), measured("share", 0.0625), measured("jain_index", 0.98765)
    ('81.9 ms', '6.25 %', '0.9877')
    """
    shown, interval, unit = in_columns(metric, value, ends)
    return " ".join(filter(None, (shown, interval, unit)))


def in_columns(
    metric: str, value: float, ends: Sequence[float] | None = None
) -> tuple[str, str, str]:
    """A measured number, its interval and their unit, each by itself; empty if there is none."""
    unit, size = _unit(metric, [value, *(ends or ())])

    def show(one: float) -> str:
        return text.exact(one / size, _DIGITS) if unit else number(one)

    interval = f"[{', '.join(map(show, ends))}]" if ends else ""
    return show(value), interval, unit


def bound(metric: str, *ends: float, digits: int = 6) -> str:
    """What is claimed, in the unit of the metric, as exactly as it was written.

    >>> bound("flow.0.throughput_bps", 16.25e6), bound("ctt_s", -0.01, 1.5), bound("ctt_s", 0.0)
    ('16.25 Mbit/s', '-0.01 to 1.5 s', '0')
    """
    unit, size = _unit(metric, ends)
    shown = " to ".join(text.exact(end / size, digits) if unit else number(end) for end in ends)
    return f"{shown} {unit}" if unit and any(ends) else shown


def span(metric: str, ends: Sequence[float]) -> str:
    """Least and largest of some measured numbers, in the unit of the metric."""
    return bound(metric, *ends, digits=_DIGITS)


def _unit(metric: str, values: Sequence[float]) -> tuple[str, float]:
    """The unit in which the largest of some numbers is at least 1; none if there is none."""
    largest = max(map(abs, values))
    for ending, units in _UNITS.items():
        if metric == ending or (metric.endswith(ending) and ending != SHARE):
            return next((known for known in units if largest >= known[1]), units[-1])
    return "", 1.0
