"""Temporary directories that go with the object that needs them."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import itertools
import os
import re
import stat
import weakref
from pathlib import Path

from fairway.errors import writing
from fairway.ground import disk

#: Bytes at random in a name: as many as no other program's names have digits.
_TOKEN_BYTES = 10
_NAME = re.compile(rf"fairway-[a-z]+-[0-9a-f]{{{2 * _TOKEN_BYTES}}}")


class Temporary:
    """A private directory that is there as long as this object, and at the most as its process.

    It is locked as long as its process lives. The first one that a process makes removes those that
    processes of the same user have left behind because they were killed (SIGKILL).

    Attributes:
        path: Where it is.
        remove: Removes it now; may be called again.
    """

    def __init__(self, prefix: str) -> None:
        """Make one below TMPDIR, with a name that begins so; raises `InputError` if it cannot."""
        import tempfile

        parent = Path(tempfile.gettempdir())
        _sweep_once(parent)
        lock: list[int] = []
        with writing(parent):
            while True:
                self.path = parent / f"{prefix}{os.urandom(_TOKEN_BYTES).hex()}"
                # Before it is there: an interrupt between the two would leave it behind.
                self.remove = weakref.finalize(self, _remove, self.path, lock)
                self.path.mkdir(mode=0o700)
                # Another process may be faster, and take it for left behind.
                with contextlib.suppress(FileNotFoundError):
                    lock.append(_open(self.path))
                    # A network file system may lock no directories: then nobody removes it.
                    with contextlib.suppress(OSError):
                        fcntl.flock(lock[-1], fcntl.LOCK_EX)
                    if os.path.samestat(os.fstat(lock[-1]), self.path.stat()):
                        return
                self.remove()


def sweep(parent: Path) -> list[Path]:
    """Remove what processes of this user that were killed have left in a directory.

    Returns:
        Each directory that was removed.
    """
    try:
        named = [path for path in sorted(parent.iterdir()) if _NAME.fullmatch(path.name)]
    except OSError:
        return []
    return [path for path in named if _swept(path)]


def _swept(path: Path) -> bool:
    try:
        lock = _open(path)
    except OSError:
        return False  # it has gone, or is a link, or of another user
    try:
        found = os.fstat(lock)
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) != 0o700:
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(path)
    except OSError:
        return False  # its process lives
    else:
        return True
    finally:
        disk.release(lock)


def remove_tree(place: Path) -> None:
    """Remove a directory that nobody else writes in, with all that is there.

    A program may have left directories within each other to any depth, without rights to them:
    neither calls nor open files go as deep.
    """
    place.chmod(0o700)
    lifted, token = itertools.count(), os.urandom(_TOKEN_BYTES).hex()
    while children := _children(place):
        for child, is_directory in children:
            if not is_directory:
                child.unlink()
                continue
            child.chmod(0o700)
            for inner, is_deeper in _children(child):
                if is_deeper:
                    inner.chmod(0o700)
                    inner.rename(place / f"{token}-{next(lifted)}")
                else:
                    inner.unlink()
            child.rmdir()
    place.rmdir()


def _children(place: Path) -> list[tuple[Path, bool]]:
    """List a directory: each path, and whether it is a directory itself and not a link."""
    with os.scandir(place) as entries:
        return [(place / one.name, one.is_dir(follow_symlinks=False)) for one in entries]


@functools.cache
def _sweep_once(parent: Path) -> None:
    sweep(parent)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _remove(path: Path, lock: list[int]) -> None:
    with contextlib.suppress(OSError):
        remove_tree(path)
    while lock:
        disk.release(lock.pop())
