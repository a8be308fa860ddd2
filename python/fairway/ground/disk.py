"""System calls on the files of results, one function each.

Whatever writes a result calls them as `disk.rename(…)`, never the system itself: tests let each
call fail, or be the last one, in turn.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

#: Flags of renameat2(2), include/uapi/linux/fs.h.
_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2
#: Stands for the current directory, include/uapi/linux/fcntl.h.
_AT_FDCWD = -100
#: Errors of a kernel, C library or file system that lacks a flag of renameat2(2).
LACKING = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
#: What is written at a time of a file of many pieces.
_BUFFER_BYTES = 1 << 20


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Make a directory, mkdir(2)."""
    path.mkdir(mode)


def create(path: Path, mode: int = 0o666) -> int:
    """A descriptor of a new file, open(2) with `O_EXCL`."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)


def open_lock(path: Path, *, make: bool) -> int:
    """A descriptor of a lock file; for writing, as NFS has no exclusive locks of others.

    A lock file of another user, in a directory that both write to, may be readable alone. It is
    never created over: Linux refuses that in /tmp (fs.protected_regular).
    """
    how = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, how | os.O_RDWR)
    except PermissionError:
        return os.open(path, how | os.O_RDONLY)
    except FileNotFoundError:
        if not make:
            raise
    return os.open(path, how | os.O_RDWR | os.O_CREAT, 0o644)


def open_directory(path: Path) -> int:
    """A descriptor of a directory, to flush its names."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def write(descriptor: int, data: bytes | memoryview) -> int:
    """Some of the data is written; how many bytes."""
    return os.write(descriptor, data)


def set_mode(descriptor: int, mode: int) -> None:
    """Change who may do what with a file, fchmod(2)."""
    os.fchmod(descriptor, mode)


def sync(descriptor: int) -> None:
    """Flush the content of a file or the names in a directory with fsync(2)."""
    os.fsync(descriptor)


def sync_file_system(descriptor: int) -> None:
    """Flush a whole file system, syncfs(2) of Linux."""
    if (syncfs := getattr(_libc(), "syncfs", None)) is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    _check(syncfs(descriptor))


def close(descriptor: int) -> None:
    """Close a descriptor, where network file systems report failed writes."""
    os.close(descriptor)


def release(descriptor: int) -> None:
    """Close a lock, or a file that was only read; an error there loses no data."""
    with contextlib.suppress(OSError):
        os.close(descriptor)


def lock(descriptor: int, how: int) -> None:
    """Hold a file alone until its descriptor is closed."""
    fcntl.flock(descriptor, how)


def rename(source: Path, target: Path) -> None:
    """Give a file or directory another name."""
    source.rename(target)


def rename_new(source: Path, target: Path) -> None:
    """Rename to a name that nothing has, in one step."""
    _rename_with(source, target, _RENAME_NOREPLACE)


def exchange(source: Path, target: Path) -> None:
    """Exchange the names of two directories, in one step."""
    _rename_with(source, target, _RENAME_EXCHANGE)


def link(source: Path, target: Path) -> None:
    """Give a file one more name."""
    target.hardlink_to(source)


def remove_file(path: Path) -> None:
    """Remove a file's name, unlink(2)."""
    path.unlink()


def remove_directory(path: Path) -> None:
    """Remove an empty directory, rmdir(2)."""
    path.rmdir()


def remove_tree(path: Path) -> None:
    """Remove a file or a directory with all that is in it; links are not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        remove_file(path)


def walk(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield each directory of a tree, with the names of its directories and of its other files.

    `os.walk` and `Path.rglob` leave out a directory that they cannot read; this raises. A missing
    root yields nothing.

    Raises:
        OSError: A directory cannot be read.
    """
    for folder, folders, files in os.walk(root, onerror=_refuse):
        yield Path(folder), folders, files


def _refuse(error: OSError) -> None:
    """A directory that cannot be read may hold anything, unless it has gone meanwhile."""
    if not isinstance(error, FileNotFoundError):
        raise error


def try_to_write(directory: Path) -> None:
    """Find out whether files can be made in a directory.

    Without a name, where the system can: another process may look into it.
    """
    import tempfile

    with tempfile.TemporaryFile(dir=directory):
        pass


def make_directories(path: Path) -> None:
    """Make a directory and those above it, as far as they are not there."""
    if path.is_dir():
        return
    make_directories(path.parent)
    try:
        make_directory(path)
    except FileExistsError:
        if not path.is_dir():
            raise


def write_new(path: Path, data: bytes | Iterable[bytes], *, flush: bool, mode: int = 0) -> None:
    """Write a new file, whole or in pieces; with a mode of its own if one is given."""
    pieces = [data] if isinstance(data, bytes) else data
    descriptor = create(path)
    try:
        if mode:
            set_mode(descriptor, mode)
        waiting = bytearray()
        for piece in pieces:
            waiting += piece
            if len(waiting) >= _BUFFER_BYTES:
                write_all(descriptor, waiting)
                waiting = bytearray()
        write_all(descriptor, waiting)
        if flush:
            sync(descriptor)
    finally:
        close(descriptor)


def write_all(descriptor: int, data: bytes | bytearray) -> None:
    """Write all of the data: a disk that becomes full takes a part at first."""
    rest = memoryview(data)
    while rest:
        rest = rest[write(descriptor, rest) :]


def sync_directory(path: Path) -> None:
    """Flush the names in a directory."""
    descriptor = open_directory(path)
    try:
        sync(descriptor)
    finally:
        close(descriptor)


def _rename_with(source: Path, target: Path, flags: int) -> None:
    """Raises `OSError` with an error of `LACKING` where the system or file system has it not."""
    if (renameat2 := getattr(_libc(), "renameat2", None)) is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    names = os.fsencode(source), os.fsencode(target)
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(flags)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fspath(source), None, os.fspath(target))


def _check(returned: int) -> None:
    if returned != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)
