"""Where the memory of a kernel fits: it is a file, and a kernel that finds no room for it dies."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fairway.errors import InputError

#: Memory first: a file on a disk is written to the disk again and again.
_MEMORY = Path("/dev/shm")
_DISK = Path("/var/tmp")


def place_for(memory_bytes: int) -> Path:
    """A directory with room for a machine's memory, in memory itself if it fits there."""
    tried = []
    for place in dict.fromkeys((_MEMORY, Path(tempfile.gettempdir()), _DISK)):
        problem = _problem(place, memory_bytes)
        if problem is None:
            return place
        tried.append(f"{place} {problem}")
    raise InputError(
        f"no room for the {memory_bytes >> 20} MB of memory that the kernel shall have: "
        f"{'; '.join(tried)}. Free some space, or set TMPDIR to a directory that has it"
    )


def _problem(place: Path, memory_bytes: int) -> str | None:
    """Why a directory will not do; none if it will."""
    try:
        state = os.statvfs(place)
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    if state.f_flag & os.ST_NOEXEC:
        return "is mounted noexec"
    if not os.access(place, os.W_OK | os.X_OK):
        return "is not writable"
    free = state.f_bavail * state.f_frsize
    if place == _MEMORY:
        free = min(free, _available_memory())
    return f"has {free >> 20} MB" if free < memory_bytes else None


def _available_memory() -> int:
    """Bytes that programs can have without others being pushed out; no limit if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(found.split()[1]) << 10
    except (OSError, ValueError, IndexError, StopIteration):
        return 1 << 62
