"""Numbers as people read them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
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


#: Decimals that a column has for the sake of its smallest value, at the most.
_FINE = 4


def column(values: Sequence[float | None], digits: int = 4) -> list[str]:
    """Numbers under each other, all with as many decimals.

    Values down to a tenth of the largest have that many significant digits, the smallest has two,
    unless it is less than the last decimal tells and is shown so.

    >>> column([10, 9.9996, 10.0004]), column([12, 1234567, None]), column([1, 0.98331])
    (['10.000', '10.000', '10.000'], ['12', '1,234,567', '–'], ['1.0000', '0.9833'])
    >>> column([31.89, 2.69e-07, 0]), column([48.76, 0.003]), column([2.5e-07, 1e-5])
    (['31.89', '<0.01', '0.00'], ['48.760', '0.003'], ['2.500e-07', '1.000e-05'])
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    sizes = [abs(value) for value in known if value]
    if not sizes or all(float(value).is_integer() for value in known):
        return [number(value) for value in values]
    largest = max(sizes)
    tenth = largest / 10
    if largest < 1e-4:
        return [
            f"{value:.{digits - 1}e}" if value and math.isfinite(value) else number(value)
            for value in values
        ]
    large = min(size for size in sizes if size >= tenth)
    order, least = (math.floor(math.log10(size)) for size in (large, min(sizes)))
    fine = min(1 - least, _FINE) if -least <= _FINE else 0
    places = max(digits - 1 - order, fine, 0)
    # Decimals that are zero in every value say nothing: 9.5 and 10 are 9.5 and 10.0.
    while places and all(math.isclose(value, round(value, places - 1)) for value in known):
        places -= 1
    write, last = f"{{:,.{places}f}}".format, 10.0**-places
    return [
        write(value)
        if value is not None and last <= abs(value) < math.inf
        else _fixed(value, places)
        for value in values
    ]


def _fixed(value: float | None, places: int) -> str:
    """A number with that many decimals; one that would be written as zero, as less than them."""
    if value is None or not math.isfinite(value):
        return ABSENT
    written = f"{value:,.{places}f}"
    if value and not float(written.replace(",", "")):
        return f"{'>-' if value < 0 else '<'}{10.0**-places:.{places}f}"
    return written


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

    >>> label(0.0001), label(1e-07), label(10), label("cubic"), label(True), label(2**53 + 1)
    ('0.0001', '1e-07', '10', 'cubic', 'yes', '9,007,199,254,740,993')
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
    if type(value) is int:
        return f"{value:,}"
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


#: What to say where runs with different seeds are the same run. Of the remedy: Floyd and Jacobson,
#: "On traffic phase effects in packet-switched gateways", Internetworking 3 (1992), section 4;
#: 100 us is what the studies that come with Fairway use.
NOTHING_RANDOM = (
    "nothing in this experiment is random, so there is no spread, no interval and no verdict; "
    'let senders vary with send_jitter = "100 us" under [stack] '
    "(--set 'stack.send_jitter=\"100 us\"')"
)


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
    >>> percent(0.994, signed=False), percent(0.9967, signed=False), percent(1, signed=False)
    ('99 %', '99.7 %', '100 %')
    """
    if share is None or not math.isfinite(share):
        return ABSENT
    if not signed:
        return "< 0.01 %" if 0 < share < 1e-4 else f"{100 * share:.{2 if share < 0.995 else 3}g} %"
    return with_sign(100 * share, 1 if abs(share) < 1 else 0) + " %"


#: Characters that control a terminal, change the order in which others are shown, or are not shown,
#: but for the line break and the tab. Unicode 15.1: general categories Cc, Zl, Zp and Cs, the
#: properties Bidi_Control (PropList.txt) and Default_Ignorable_Code_Point
#: (DerivedCoreProperties.txt), and the marks of interlinear annotation. Unicode Technical Standard
#: 55 ("Unicode source code handling") and Technical Report 36, section 2, say how they deceive.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def printable(words: str) -> str:
    r"""Words from anyone as they are shown: each hidden character as its escape sequence.

    >>> printable("\x1b[2Jgone\n"), printable("a\u202eb ü"), printable("\U000e0041")
    ('\\x1b[2Jgone\n', 'a\\u202eb ü', '\\U000e0041')
    """
    return _HIDDEN.sub(_escaped, words)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_printable(document: str) -> str:
    r"""JSON of the same value, in which hidden characters are escape sequences of JSON.

    >>> json_printable('"a\u202e\x7f\U000e0041ü"')
    '"a\\u202e\\u007f\\udb40\\udc41ü"'
    """
    # Between the strings of JSON there are none but line breaks and tabs (RFC 8259, section 2).
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], document)


def of_path(path: str | PurePath) -> str:
    r"""A path as text for messages and documents: bytes that are not UTF-8 as escape sequences.

    >>> of_path("runs/\udcff.pcap"), of_path("Größe.toml")
    ('runs/\\udcff.pcap', 'Größe.toml')
    """
    return str(path).encode("utf-8", "backslashreplace").decode()


def whole(words: str) -> int | None:
    """The number that text is, of at most 18 digits, which 64 bits hold; None if it is none.

    >>> whole("007"), whole("²"), whole("-1"), whole("9" * 5000)
    (7, None, None, None)
    """
    return int(words) if words.isdecimal() and words.isascii() and len(words) <= 18 else None


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


def bit_rate(value: float | None) -> str:
    """A rate in decimal units.

    >>> bit_rate(296.239e6), bit_rate(999), bit_rate(None)
    ('296.2 Mbit/s', '999 bit/s', '–')
    """
    if value is None:
        return ABSENT
    unit, factor = _rate_unit(abs(value))
    return f"{number(value / factor)} {unit}"


def _rate_unit(value: float) -> tuple[str, float]:
    """The largest unit of which a rate has one or more, and its bits a second."""
    for unit, factor in (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if value >= factor:
            return unit, factor
    return "bit/s", 1.0


def bit_rates(values: Sequence[float | None]) -> tuple[str, list[str]]:
    """Rates under each other, and the unit of all: that of the middle between their orders.

    >>> bit_rates([9.5e6, None]), bit_rates([1e9, 10e3])
    (('Mbit/s', ['9.5', '–']), ('Mbit/s', ['1,000.00', '0.01']))
    """
    sizes = [abs(value) for value in values if value]
    unit, factor = _rate_unit(math.sqrt(min(sizes) * max(sizes))) if sizes else ("Mbit/s", 1e6)
    return unit, column([None if value is None else value / factor for value in values])


def in_ms(value: float | None) -> str:
    """Seconds as a number of milliseconds, for a table whose heading has the unit.

    >>> in_ms(0.0411), in_ms(0.057), in_ms(5.1346e-07), in_ms(None)
    ('41.10', '57', '0.0005135', '–')
    """
    # To twelve digits: 0.057 s is 57 ms, and not 57.00000000000001.
    return ABSENT if value is None else number(float(f"{value * 1e3:.12g}"))


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
