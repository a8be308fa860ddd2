"""Files, directories and links made below one directory, which no name or link leads out of."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from fairway.ground import disk

#: Longest name and path in bytes (`NAME_MAX`, and `PATH_MAX` with its end, of linux/limits.h).
_MAX_NAME, _MAX_PATH = 255, 4095
#: Most directories around a file. Linux 6.12 has 11; removing a tree takes a call for each.
_MAX_DEPTH = 64

_TOP = "it has the name of the tree itself"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(ValueError):  # noqa: N818
    """A name that cannot be made below the directory, and why."""


def parts(name: str) -> tuple[str, ...]:
    """A relative path of an archive as the names that it is made of, "." left out.

    >>> parts("./linux-6/Kbuild"), parts("./")
    (('linux-6', 'Kbuild'), ())
    """
    _check(name, "its path")
    if name.startswith("/"):
        raise Refused("its path leads outside of the tree")
    found = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in found:
        raise Refused("its path leads outside of the tree")
    if len(found) > _MAX_DEPTH:
        raise Refused(f"its path has more than {_MAX_DEPTH} parts")
    return found


def _check(path: str, what: str) -> None:
    try:
        encoded = path.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(f"{what} is not UTF-8") from None
    if not path.isprintable():
        raise Refused(f"{what} has a character that cannot be printed")
    if not encoded:
        raise Refused(f"{what} is empty")
    if len(encoded) > _MAX_PATH or max(map(len, encoded.split(b"/"))) > _MAX_NAME:
        raise Refused(f"{what} is longer than a file system allows")


class Beneath:
    """One directory, opened once; each part of a path is opened from its parent's descriptor.

    Nothing is replaced and no link is followed, wherever it came from, so that nothing outside
    changes.
    """

    def __init__(self, top: Path) -> None:
        self._top = os.open(top, _FOLDER)
        # The directory of the last file: its neighbours follow it.
        self._last: tuple[tuple[str, ...], int] = ((), os.dup(self._top))

    def __enter__(self) -> Beneath:
        return self

    def __exit__(self, *_: object) -> None:
        disk.release(self._last[1])
        disk.release(self._top)

    def directory(self, path: tuple[str, ...]) -> None:
        """Make a directory and those around it, unless they are there."""
        self._open(path)

    def file(self, path: tuple[str, ...], *, is_executable: bool) -> IO[bytes]:
        """Make a file, open for writing; its mode has no other bits."""
        with self._making(path) as (folder, name):
            mode = 0o755 if is_executable else 0o644
            return os.fdopen(os.open(name, _FRESH, mode, dir_fd=folder), "wb")

    def link(self, path: tuple[str, ...], target: str) -> None:
        """Make a symbolic link to a place below the directory.

        A target is any number of ".." and names behind them. As the directories around the link are
        none themselves, its ".." can be counted; one behind a name could lead anywhere, if a link
        has that name.
        """
        if not path:
            raise Refused(_TOP)
        _check(target, "its target")
        names = [part for part in target.split("/") if part not in ("", ".")]
        upward = next((n for n, part in enumerate(names) if part != ".."), len(names))
        if target.startswith("/") or ".." in names[upward:] or upward > len(path) - 1:
            raise Refused(f"a link to {target[:80]!r}, outside of the tree")
        with self._making(path) as (folder, name):
            os.symlink(target, name, dir_fd=folder)

    @contextmanager
    def _making(self, path: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        if not path:
            raise Refused(_TOP)
        folder = self._open(path[:-1])
        try:
            yield folder, path[-1]
        except FileExistsError:
            raise Refused("something of this name came before it") from None

    def _open(self, path: tuple[str, ...]) -> int:
        if self._last[0] == path:
            return self._last[1]
        folder = os.dup(self._top)
        try:
            for name in path:
                inner = _enter(folder, name)
                disk.release(folder)
                folder = inner
        except BaseException:
            disk.release(folder)
            raise
        disk.release(self._last[1])
        self._last = (path, folder)
        return folder


def _enter(folder: int, name: str) -> int:
    """A directory in a directory, which is made if there is none."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        # Of a file, and of a link for O_NOFOLLOW: open(2).
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise Refused(f"its path goes through {name!r}, which is no directory") from None
        raise
