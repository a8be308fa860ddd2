"""Where a process puts what is not finished, and what others that died have left there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from fairway.errors import writing

_PREFIX = ".partial-"

#: File in a scratch directory that is locked as long as its process lives. Network file systems
#: lock files between machines, and directories on one alone.
_LOCK = ".lock"


class Scratch:
    """A hidden directory that is this process's own as long as it lives.

    It is locked, and the system lets go of the lock however the process ends: what can be locked
    by another one is of a process that has died.
    """

    def __init__(self, parent: Path) -> None:
        """Make one in `parent`."""
        import tempfile

        with writing(parent):
            parent.mkdir(parents=True, exist_ok=True)
            while True:
                self.path = Path(tempfile.mkdtemp(dir=parent, prefix=_PREFIX))
                # Another process may be faster, and take it for left behind.
                with contextlib.suppress(FileNotFoundError):
                    self._lock = _lock(self.path, fcntl.LOCK_EX, os.O_CREAT)
                    if _is_there(self.path, self._lock):
                        return
                    os.close(self._lock)

    def clear(self, take: Callable[[Path], bool]) -> None:
        """Remove directories of dead processes; `take` takes over what is of use, and allows it."""
        for path in sorted(self.path.parent.glob(f"{_PREFIX}*")):
            if path == self.path or path.is_symlink():
                continue
            with contextlib.suppress(OSError):
                path.rmdir()  # of one that died before it made a lock file
            try:
                # Without a lock file it is nobody's scratch directory.
                lock = _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue  # its process lives, it has gone, or it is somebody else's
            try:
                if _is_there(path, lock) and take(path):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)

    def let_go(self, *, keep: bool = False) -> None:
        """Remove it, unless what is in it is for the next process."""
        os.close(self._lock)
        if not keep:
            shutil.rmtree(self.path, ignore_errors=True)


def _lock(scratch: Path, how: int, make: int = 0) -> int:
    """The descriptor of its lock file, locked; `os.O_CREAT` makes the file."""
    # For writing, as NFS has no exclusive locks of others.
    lock = os.open(scratch / _LOCK, make | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, how)
    except OSError:
        os.close(lock)
        raise
    return lock


def _is_there(scratch: Path, lock: int) -> bool:
    """Whether what was locked is still its lock file, and was not removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), (scratch / _LOCK).stat())
    return False
