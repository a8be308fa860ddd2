"""Small files of /proc and /sys, read so that none of them can stop or fill the program."""

from __future__ import annotations

from pathlib import Path

#: Most bytes that are read of one file: a sysctl is at most a page (Linux, fs/proc/proc_sysctl.c).
PAGE = 4096

#: Most bytes of a table, as mountinfo or modules.dep: some thousand lines.
TABLE = 1 << 20


def read(path: Path, limit: int = PAGE) -> str | None:
    """The text of a file without the white space around it, or None if it cannot be had.

    Some files of /sys exist and yet fail to be read, as `speed` of an interface that is down.
    """
    try:
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None


def integer(text: str | None) -> int | None:
    """The integer that a text is, if it fits 64 bits; else None.

    >>> integer("212992"), integer("-1"), integer("many"), integer("9" * 30)
    (212992, -1, None, None)
    """
    if text is None or len(text) > 20 or not text.isascii():
        return None
    try:
        value = int(text)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**64 else None


def integers(text: str | None) -> tuple[int, ...] | None:
    r"""The integers of a text, separated by white space; None if one of them is not an integer.

    >>> integers("4096 131072\t6291456"), integers(""), integers("4096 x")
    ((4096, 131072, 6291456), None, None)
    """
    values = [integer(part) for part in (text or "").split()]
    known = tuple(value for value in values if value is not None)
    return known if known and len(known) == len(values) else None
