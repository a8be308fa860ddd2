"""Where a process puts what is not finished, and what others that died have left there."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from fairway.errors import writing

_PREFIX = ".partial-"


class Scratch:
    """A hidden directory that is this process's own as long as it lives.

    It is locked, and the system lets go of the lock however the process ends: what can be locked
    by another one is of a process that has died.
    """

    def __init__(self, parent: Path) -> None:
        """Make one in `parent`."""
        with writing(parent):
            parent.mkdir(parents=True, exist_ok=True)
            while True:
                self.path = Path(tempfile.mkdtemp(dir=parent, prefix=_PREFIX))
                self._lock = os.open(self.path, os.O_RDONLY)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                if self.path.exists():
                    return
                os.close(self._lock)  # another process was faster, and took it for left behind

    def clear(self, take: Callable[[Path], bool]) -> None:
        """Remove directories of processes that died.

        Args:
            take: Takes what is of use in one; says whether it may be removed.
        """
        for path in sorted(self.path.parent.glob(f"{_PREFIX}*")):
            if path == self.path:
                continue
            try:
                lock = os.open(path, os.O_RDONLY)
            except OSError:
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue  # its process lives
            else:
                if take(path):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)

    def let_go(self, *, keep: bool = False) -> None:
        """Remove it, unless what is in it is for the next process."""
        os.close(self._lock)
        if not keep:
            shutil.rmtree(self.path, ignore_errors=True)
