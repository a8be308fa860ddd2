"""Hidden directories in which a process puts what is not finished, and their removal after it died.

A scratch directory lies beside what will be made of it and is called `.NAME-partial-…`. Its file
`.lock` is locked as long as its process lives: the system lets go of the lock however the process
ends. Whoever writes beside it next finds those of dead processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from fairway.errors import InputError, writing
from fairway.ground import disk, inventory, names

#: File in a scratch directory that is locked as long as its process lives. Network file systems
#: lock files between machines, and directories on one alone.
_LOCK = ".lock"
#: File of a scratch directory with the summaries that have finished, for a sweep that goes on.
JOURNAL = "journal.jsonl"
#: Directory in a scratch directory with whole results, of which one may have lost its name.
ASIDE = ".aside"
#: Directory in a scratch directory with files that are complete, each to be moved to its place.
WHOLE = ".whole"
#: Directory in a scratch directory with files that are not all complete.
FILLING = ".filling"
NAME = re.compile(r"\.(?:.*-)?partial-[a-z0-9_]+", re.DOTALL)
#: Longest wait in seconds for who exchanges names in a directory, which takes a flush of the disk.
_PATIENCE_S = 60.0
_TICK_S = 0.02
#: Bytes that a name leaves for the rest of the hidden one, of 255 (NAME_MAX of limits.h).
_LONGEST = 200


class Leftover(UserWarning):
    """A process was killed while it wrote, and what it left behind was dealt with."""


class Scratch:
    """A hidden directory that is this process's own as long as it lives."""

    def __init__(self, parent: Path, name: str = "") -> None:
        """Make one in `parent` for what will be called `name`, if it is for one thing alone."""
        if name:
            settle(parent)
        begin = os.fsdecode(os.fsencode(f"{name}-")[:_LONGEST]) if name else ""
        with writing(parent / name if name else parent):
            disk.make_directories(parent)
            while True:
                self.path = parent / f".{begin}partial-{os.urandom(8).hex()}"
                disk.make_directory(self.path, 0o700)
                try:
                    # Another process may be faster, and take it for left behind.
                    with contextlib.suppress(FileNotFoundError):
                        lock = _taken(self.path / _LOCK, fcntl.LOCK_EX, make=True)
                        if lock is not None:
                            self._lock = lock
                            return
                except BaseException:
                    _empty(self.path)
                    raise

    def __enter__(self) -> Scratch:
        """The directory; it is removed at the end, unless files in it are still to be moved."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        # Files that are complete are moved by whoever comes next.
        self.let_go(keep=kind is not None and (self.path / WHOLE).exists())

    def clear(self, take: Callable[[Path], bool]) -> None:
        """Deal with directories of dead processes beside this one, as `settle` does."""
        settle(self.path.parent, take)

    def let_go(self, *, keep: bool = False) -> None:
        """Remove it, unless what is in it is for the next process."""
        try:
            if not keep:
                _empty(self.path)
        finally:
            disk.release(self._lock)


def settle(parent: Path, take: Callable[[Path], bool] | None = None) -> None:
    """Put right what processes that died have left in a directory, as far as it can be written.

    A result that had stepped aside comes back if nothing has taken its name, files that were
    complete move into place, and all else in a scratch directory is removed. Each is told in a
    warning, `Leftover`, but for what `take` takes over.

    Args:
        parent: Where; it need not be there.
        take: Takes over what is of use in a scratch directory, and says whether the rest may go;
            a journal is left to sweeps unless one is given.
    """
    _remove_stale(parent / inventory.LOCK)
    for path in leftovers(parent):
        with contextlib.suppress(OSError):
            disk.remove_directory(path)  # of one that died before it made a lock file
            continue
        try:
            # Without a lock file it is nobody's scratch directory.
            lock = _taken(path / _LOCK)
        except OSError:
            continue  # its process lives, it has gone, or it is somebody else's
        if lock is None:
            continue
        try:
            if take is not None:
                if take(path):
                    _empty(path)
            elif not (path / JOURNAL).exists():
                _settle(path)
        except (OSError, InputError):
            continue  # on a full or broken disk it waits for the next one
        finally:
            disk.release(lock)


def leftovers(parent: Path) -> list[Path]:
    """Everything in a directory that is called as scratch directories are, of the living too.

    In a directory of several users, such as /tmp, it is this user's alone: files of another one's
    would move into results of this one.
    """
    try:
        found = [path for path in sorted(parent.iterdir()) if NAME.fullmatch(path.name)]
    except OSError:
        return []
    return [path for path in found if _is_private(path)]


def _is_private(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False  # it has gone
    is_own = found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and is_own


def is_scratch(path: Path) -> bool:
    """Whether this is a scratch directory, of a process that lives or not."""
    return bool(NAME.fullmatch(path.name)) and (path / _LOCK).is_file()


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Be the only process that exchanges names in a directory, or changes a list in it."""
    path = directory / inventory.LOCK
    end = time.monotonic() + _PATIENCE_S
    while True:
        with contextlib.suppress(BlockingIOError):
            lock = _taken(path, make=True)
            if lock is not None:
                break
            continue
        if time.monotonic() > end:
            raise InputError(
                f"{path}: another process has held this lock for {_PATIENCE_S:g} s; end it, or "
                "choose another directory"
            )
        time.sleep(_TICK_S)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            disk.remove_file(path)
        disk.release(lock)


def move_whole(scratch: Path, parent: Path) -> None:
    """Move each file of `WHOLE` to its place in `parent`, over an older one."""
    whole = scratch / WHOLE
    found = (folder / name for folder, _, names in disk.walk(whole) for name in names)
    files = [path for path in sorted(found) if stat.S_ISREG(path.lstat().st_mode)]
    for source in files:
        # A directory from somebody else may have a link in the place of one of these.
        target = names.inside(parent, str(source.relative_to(whole)), str(whole))
        disk.make_directories(target.parent)
        disk.rename(source, target)
    for folder in sorted({parent / path.relative_to(whole).parent for path in files}):
        disk.sync_directory(folder)
    disk.remove_tree(whole)


def discard(path: Path, aside: Path) -> None:
    """Remove what a result left, but nothing that is not on its list: that goes to `aside`."""
    if not inventory.remove(path):
        disk.rename(path, aside)
        warnings.warn(
            f"{aside}: holds what was put into {path.name} while it was replaced", stacklevel=3
        )


def aside_of(scratch: Path, name: str) -> Path:
    """Where files of others in a replaced result go."""
    begin = os.fsdecode(os.fsencode(name)[:_LONGEST])
    token = scratch.name.rpartition("-")[2]
    return scratch.with_name(f".{begin}-partial-{token}-old")


def _remove_stale(path: Path) -> None:
    """Remove the lock file of a process that was killed while it held it."""
    with contextlib.suppress(OSError):
        lock = _taken(path)
        if lock is not None:
            try:
                disk.remove_file(path)
            finally:
                disk.release(lock)


def _settle(left: Path) -> None:
    done = "removed"
    if _is_directory(left / WHOLE):
        move_whole(left, left.parent)
        done = "its complete files were moved into place"
    if restored := _restore(left):
        done = f"{inventory.named(restored)} is there again"
    _empty(left)
    warnings.warn(f"{left}: left by a process that was killed; {done}", Leftover, stacklevel=3)


def _is_directory(path: Path) -> bool:
    """Whether a directory is there, not a link: a result from somebody else may have planted one.

    Files would move from where it leads, or results there would be removed.
    """
    return path.is_dir() and not path.is_symlink()


def _restore(scratch: Path) -> list[str]:
    """Give results that lost their name it back, or remove those that were replaced."""
    restored: list[str] = []
    aside = scratch / ASIDE
    results = sorted(aside.iterdir()) if _is_directory(aside) else []
    for path in filter(_is_directory, results):
        if os.path.lexists(scratch.with_name(path.name)):
            discard(path, aside_of(scratch, path.name))
        else:
            disk.rename(path, scratch.with_name(path.name))
            restored.append(path.name)
    return restored


def _empty(scratch: Path) -> None:
    """Remove a scratch directory, its lock file last: without it, it would be nobody's."""
    with contextlib.suppress(OSError, InputError):
        _restore(scratch)
        for path in sorted(scratch.iterdir()):
            if path.name != _LOCK:
                disk.remove_tree(path)
        with contextlib.suppress(FileNotFoundError):
            disk.remove_file(scratch / _LOCK)
        disk.remove_directory(scratch)


def _taken(
    path: Path, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB, *, make: bool = False
) -> int | None:
    """The descriptor of a lock file, locked; none if the file was removed meanwhile."""
    lock = disk.open_lock(path, make=make)
    try:
        disk.lock(lock, how)
        if os.path.samestat(os.fstat(lock), path.stat()):
            return lock
    except FileNotFoundError:
        pass
    except BaseException:
        disk.release(lock)
        raise
    disk.release(lock)
    return None
