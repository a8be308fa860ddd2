"""Names of files that a result gives: they lead to files in its directory and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

from fairway.errors import InputError

#: NAME_MAX of limits.h, and PATH_MAX without the end of the text.
_LONGEST_PART, _LONGEST = 255, 4095
#: Characters of a wrong name that an error message shows.
_SHOWN = 60


def real(path: Path) -> Path:
    """Where a path leads through all links; itself where they lead in a circle.

    Of such a link `Path.resolve` raises `RuntimeError` before Python 3.13; whoever opens this one
    is told by the system.
    """
    return Path(os.path.realpath(path))


def inside(directory: Path, name: str, where: str) -> Path:
    """The file or directory in `directory` that a result names.

    Args:
        directory: What it may not lead out of; it need not be there.
        name: Parts with "/" between, as a result has them.
        where: What names it, for the message: a file and the place in it.

    Raises:
        InputError: If it is absolute, has a part "", "." or "..", a NUL or too long a part, or
            leads through a link.
    """
    parts = name.split("/")
    wrong = None
    if any(part in ("", ".", "..") for part in parts):
        wrong = "expected names of files in that directory, without . and .."
    elif (size := _size(name)) is None:
        wrong = "no file can have that name"
    elif size > _LONGEST or any((_size(part) or 0) > _LONGEST_PART for part in parts):
        wrong = f"a name has at most {_LONGEST_PART} bytes"
    else:
        place = directory
        for part in parts:
            place = place / part
            if place.is_symlink():
                wrong = f"{part} is a link"
                break
    if wrong:
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
        raise InputError(
            f"{where}: leads out of {directory}: {shown!r}: {wrong}; this result was changed or "
            "damaged; run it again"
        )
    return directory.joinpath(*parts)


def _size(name: str) -> int | None:
    """Bytes of a name; None with a NUL, or a character that no name has."""
    try:
        encoded = os.fsencode(name)
    except ValueError:
        return None
    return None if b"\0" in encoded else len(encoded)
