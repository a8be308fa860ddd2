"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

#: What stands for "there is no value".
ABSENT = "–"


def number(value: float | int | str | None, digits: int = 4) -> str:
    """A number with that many significant digits, thousands apart, no exponent if avoidable.

    >>> number(0.81354), number(1234567), number(1e-07), number(None), number("bic")
    ('0.8135', '1,234,567', '1e-07', '–', 'bic')
    """
    if isinstance(value, str):
        return value
    if value is None or not math.isfinite(value):
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if 1e-4 <= abs(value) < 1e15:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        return f"{value:,.{places}f}"
    return f"{value:.{digits - 1}g}"


def exact(value: float | None, digits: int = 6) -> str:
    """A number with at most that many significant digits, and none that say nothing.

    >>> exact(0.16), exact(40.0), exact(1.25), exact(0.840001, 6), exact(1234567.8), exact(None)
    ('0.16', '40', '1.25', '0.840001', '1,234,568', '–')
    """
    shown = number(value, digits)
    return shown.rstrip("0").rstrip(".") if "." in shown and "e" not in shown else shown


def beside(difference: float | None, *shown: str) -> str:
    """A difference of numbers, with no more decimals than the numbers are shown with.

    >>> beside(-2.2e-08, "1", "1.0000"), beside(-0.014949, "1", "0.9851"), beside(18.67, "52")
    ('0.0000', '-0.0149', '19')
    """
    if difference is None or any("e" in one for one in shown):
        return number(difference)
    places = max(len(one.partition(".")[2]) for one in shown)
    written = f"{difference:,.{places}f}"
    return written if float(written.replace(",", "")) else written.lstrip("-")


def label(value: Any) -> str:
    """A value that somebody chose, as it was written; a table by its kind and its other values.

    >>> label(0.0001), label(1e-07), label(10), label("cubic"), label(True)
    ('0.0001', '1e-07', '10', 'cubic', 'yes')
    >>> label({"kind": "codel", "target": "1 ms", "ecn": True}), label(["1 s", "2 s"])
    ('codel, target 1 ms, ecn yes', '1 s, 2 s')
    """
    if isinstance(value, Mapping):
        parts = (f"{name} {label(inner)}" for name, inner in value.items() if name != "kind")
        return ", ".join([*([label(value["kind"])] if "kind" in value else []), *parts])
    if isinstance(value, list | tuple):
        return ", ".join(map(label, value))
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.12g}"
    return number(value)


def short_paths(paths: Sequence[str]) -> list[str]:
    """The end of each dotted path, as long as it has to be to tell them apart.

    >>> short_paths(["flow.0.cc", "topology.bottleneck.loss.probability"])
    ['cc', 'probability']
    >>> short_paths(["flow.0.cc", "flow.1.cc"])
    ['0.cc', '1.cc']
    """
    parts = [path.split(".") for path in paths]

    def ends(length: int) -> list[str]:
        return [".".join(path[-length:]) for path in parts]

    for length in range(1, max(map(len, parts), default=1) + 1):
        if len(set(ends(length))) == len(paths):
            return ends(length)
    return list(paths)


def count(how_many: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "flow"), count(2000, "run")
    ('1 flow', '2,000 runs')
    """
    return f"{how_many:,} {noun}{'' if how_many == 1 else 's'}"


def decimal(value: float | None, places: int = 3) -> str:
    """A number with that many decimals, for columns that are compared line by line."""
    if value is None or not math.isfinite(value):
        return ABSENT
    text = f"{value:.{places}f}"
    return text.lstrip("-") if float(text) == 0 else text


def percent(share: float | None, *, signed: bool = True) -> str:
    """A share in per cent: signed with one decimal below 100 %, unsigned with two digits.

    >>> percent(0.0123), percent(-0.4), percent(2.5)
    ('+1.2 %', '-40.0 %', '+250 %')
    >>> percent(0.15, signed=False), percent(0.0667, signed=False), percent(1e-5, signed=False)
    ('15 %', '6.7 %', '< 0.01 %')
    """
    if share is None or not math.isfinite(share):
        return ABSENT
    if not signed:
        return "< 0.01 %" if 0 < share < 1e-4 else f"{100 * share:.{2 if share < 1 else 3}g} %"
    return with_sign(100 * share, 1 if abs(share) < 1 else 0) + " %"


def capital(name: str) -> str:
    """A name as the beginning of a sentence."""
    return name[:1].upper() + name[1:]


def with_sign(value: float, places: int = 1) -> str:
    """A number with its sign, unless it is zero as written.

    >>> with_sign(1.25), with_sign(-0.04), with_sign(-3, 0)
    ('+1.2', '0.0', '-3')
    """
    written = f"{value:+.{places}f}"
    return written if float(written) else written[1:]


def without_unit(name: str) -> str:
    """The name of a figure whose value is shown with its unit.

    >>> without_unit("goodput_bps"), without_unit("jain_index")
    ('goodput', 'jain_index')
    """
    return name.removesuffix("_bps")


def bit_rate(value: float | None) -> str:
    """A rate in decimal units.

    >>> bit_rate(296.239e6), bit_rate(999), bit_rate(None)
    ('296.2 Mbit/s', '999 bit/s', '–')
    """
    if value is None:
        return ABSENT
    for unit, size in (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if abs(value) >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value)} bit/s"


def in_ms(value: float | None) -> str:
    """Seconds as a number of milliseconds, for a table whose heading has the unit.

    >>> in_ms(0.0411), in_ms(0.057), in_ms(None)
    ('41.10', '57', '–')
    """
    # To the nanosecond: 0.057 s is 57 ms, and not 57.00000000000001.
    return ABSENT if value is None else number(round(value * 1e3, 6))


def milliseconds(value: float | None) -> str:
    """Seconds, shown in milliseconds."""
    return ABSENT if value is None else f"{in_ms(value)} ms"


def interval(low: float | None, high: float | None, places: int = 3) -> str:
    """A confidence interval."""
    if low is None or high is None:
        return ABSENT
    return f"[{decimal(low, places)}, {decimal(high, places)}]"


def size(number_of_bytes: int) -> str:
    """A number of bytes with the unit that makes it short.

    >>> size(512), size(10_000), size(1_500_000)
    ('512 bytes', '10 kB', '1.5 MB')
    """
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number_of_bytes >= factor:
            return f"{number_of_bytes / factor:.3g} {unit}"
    return f"{number_of_bytes} bytes"
