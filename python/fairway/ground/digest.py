"""Digests of files: what tells two builds of one version apart."""

from __future__ import annotations

import functools
from pathlib import Path

from fairway import _core

#: The compiled module.
MODULE = Path(_core.__file__)


def of_file(path: Path) -> str:
    """SHA-256 of a file in hexadecimal digits, or "missing"; read again when it has changed."""
    try:
        state = path.stat()
    except OSError:
        return "missing"
    return _digest_of(path, state.st_mtime_ns, state.st_size)


@functools.cache
def _digest_of(path: Path, _changed_ns: int, _size: int) -> str:
    import hashlib

    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()
