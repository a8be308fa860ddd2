"""A disk that fails: each call of `fairway.ground.disk` can be refused, or be the last one.

A command runs once on a healthy disk, and the directory that it writes into is copied before each
call: the copies are left when the process is killed there. With files that are not flushed emptied,
and names that are not flushed taken back, a power cut leaves them. The command then runs once more
for each call, which fails.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairway.ground import disk, inventory, scratch

#: The primitive calls of the module; all its other functions are made of them.
CALLS = (
    "make_directory", "create", "open_lock", "open_directory", "write", "set_mode", "sync",
    "sync_file_system", "close", "lock", "rename", "rename_new", "exchange", "link",
    "remove_file", "remove_directory", "remove_tree", "try_to_write",
)  # fmt: skip
#: Calls that a full disk refuses, those that need a descriptor, and those that change something.
_GROWING = ("make_directory", "create", "open_lock", "write", "sync", "sync_file_system", "link",
            "try_to_write")  # fmt: skip
_OPENING = ("create", "open_lock", "open_directory", "try_to_write", "read")
_CHANGING = tuple(name for name in CALLS if name not in ("close", "lock", "open_directory"))
#: Name of a failure -> its error, the calls that it concerns, and whether it stays.
FAILURES = {
    "broken": (errno.EIO, (*CALLS, "read"), False),
    "full": (errno.ENOSPC, _GROWING, True),
    "read-only": (errno.EROFS, _CHANGING, True),
    "forbidden": (errno.EACCES, (*_CHANGING, "read"), False),
    "descriptors": (errno.EMFILE, _OPENING, True),
}
#: Audit events (PEP 578) of calls that change a file, and of those that read.
_CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink",
            "os.truncate", "os.chmod", "shutil.rmtree", "shutil.move", "tempfile.mkstemp",
            "tempfile.mkdtemp"}  # fmt: skip
_READS = {"os.listdir", "os.scandir"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass
class Disk:
    """The calls of one command on files below a directory.

    Attributes:
        root: Only what is done below it counts.
        fail: Called with the number and the name of each call; returns the error to fail with.
        before: Called with the number of each call before it is done.
        bypassed: What changed a file below `root` without the module.
    """

    root: Path
    fail: Callable[[int, str], int | None] = lambda _number, _name: None
    before: Callable[[int], None] = lambda _number: None
    count: int = 0
    has_exchange: bool = True
    names: list[str] = field(default_factory=list)
    bypassed: list[str] = field(default_factory=list)
    dirty: set[str] = field(default_factory=set)
    undo: list[tuple[str, Path, Path, bytes | None]] = field(default_factory=list)
    _inside: threading.local = field(default_factory=threading.local)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def call(self, name: str, real: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Do one call, unless it is to fail."""
        if getattr(self._inside, "on", False):
            return real(*arguments, **named)
        self._inside.on = True
        try:
            with self._lock:
                number = self._step(name)
                if (error := self.fail(number, name)) is not None:
                    self._half(name, real, arguments)
                    raise OSError(error, os.strerror(error))
                if name in ("rename_new", "exchange") and not self.has_exchange:
                    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
                replaced = self._replaced(name, arguments)
                found = real(*arguments, **named)
                self._note(name, arguments, found, replaced)
                return found
        finally:
            self._inside.on = False

    def _step(self, name: str) -> int:
        self.before(self.count)
        self.names.append(name)
        self.count += 1
        return self.count - 1

    def _half(self, name: str, real: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Do the part of a call that comes before its failure."""
        if name == "close":
            real(*arguments)
        elif name == "write":
            real(arguments[0], arguments[1][: len(arguments[1]) // 2])

    def _replaced(self, name: str, arguments: tuple[Any, ...]) -> bytes | None:
        if name == "rename" and Path(arguments[1]).is_file():
            return Path(arguments[1]).read_bytes()
        return None

    def _note(self, name: str, arguments: Any, found: Any, replaced: bytes | None) -> None:
        """Follow what is not flushed: contents of files, and names in directories."""
        if name == "write":
            self.dirty.add(str(_path_of(arguments[0])))
        elif name == "sync":
            path = _path_of(arguments[0])
            self.dirty.discard(str(path))
            self.undo = [one for one in self.undo if path not in (one[1].parent, one[2].parent)]
        elif name == "sync_file_system":
            self.dirty.clear()
            self.undo.clear()
        elif name in ("rename", "rename_new", "exchange"):
            source, target = (Path(one).absolute() for one in arguments[:2])
            self._renamed(name, source, target, replaced)

    def _renamed(self, name: str, source: Path, target: Path, replaced: bytes | None) -> None:
        swapped = {str(source): str(target)}
        if name == "exchange":
            swapped[str(target)] = str(source)
        moved = set()
        for path in self.dirty:
            old = next((one for one in swapped if f"{path}/".startswith(f"{one}/")), None)
            moved.add(path if old is None else swapped[old] + path[len(old) :])
        self.dirty = moved
        self.undo.append((name, source, target, replaced))

    def saw(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of an audit event: it may be a call that passes the module by."""
        if getattr(self._inside, "on", False) or not arguments:
            return
        path = arguments[0]
        if not isinstance(path, str | bytes | os.PathLike):
            return
        if not Path(os.fsdecode(path)).is_relative_to(self.root):
            return
        if event in _CHANGES or (event == "open" and arguments[2] & _WRITING):
            self.bypassed.append(f"{event} {os.fsdecode(path)}")
        elif event in _READS or event == "open":
            self._inside.on = True
            try:
                number = self._step("read")
                error = self.fail(number, "read")
            finally:
                self._inside.on = False
            if error is not None:
                raise OSError(error, os.strerror(error))


def _path_of(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()


#: The disks that are watched, of which there is one or none.
_watching: list[Disk] = []


@functools.cache
def _add_hook() -> None:
    """Hear of audit events, for ever: a hook cannot be removed."""
    heard = {*_CHANGES, *_READS, "open"}

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _watching and event in heard:
            _watching[-1].saw(event, arguments)

    sys.addaudithook(hook)


@contextlib.contextmanager
def on(watched: Disk) -> Iterator[Disk]:
    """Have a disk do all calls meanwhile."""
    _add_hook()
    real = {name: getattr(disk, name) for name in CALLS}

    def watching(name: str) -> Callable[..., Any]:
        return lambda *arguments, **named: watched.call(name, real[name], *arguments, **named)

    _watching.append(watched)
    try:
        for name in CALLS:
            setattr(disk, name, watching(name))
        yield watched
    finally:
        _watching.remove(watched)
        for name, function in real.items():
            setattr(disk, name, function)


def one_call(number: int, kind: str) -> Callable[[int, str], int | None]:
    """A failure of the call of that number, and of further ones if it stays."""
    error, names, stays = FAILURES[kind]

    def fail(at: int, name: str) -> int | None:
        return error if name in names and (at >= number if stays else at == number) else None

    return fail


#: What differs between two runs of the same command in one process: the time that it took, and the
#: numbers that the library of charts counts up.
COUNTED = re.compile(rb'(?<="wall_s": )[0-9.e+-]+|(?<=clip)[0-9]+')


def tree(directory: Path) -> dict[str, bytes | None]:
    """Everything below a directory: None for directories, content without counted numbers."""
    found: dict[str, bytes | None] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        found[name] = COUNTED.sub(b"0", path.read_bytes()) if path.is_file() else None
    return found


def visible(directory: Path) -> dict[str, bytes | None]:
    """The same without scratch directories, lock files and what is in them."""
    found = tree(directory)
    hidden = [name for name in found if scratch.is_scratch(directory / name)]
    hidden += [name for name in found if name.rpartition("/")[2] == inventory.LOCK]
    return {
        name: content
        for name, content in found.items()
        if not any(f"{name}/".startswith(f"{one}/") for one in hidden)
    }


def restore(copy: Path, root: Path) -> None:
    """Make a directory, which may be the current one, what a copy of it is."""
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(copy, root, symlinks=True, dirs_exist_ok=True)


@dataclass(frozen=True)
class Unflushed:
    """Files with contents, and names, that are not on the medium."""

    dirty: tuple[str, ...]
    undo: tuple[tuple[str, Path, Path, bytes | None], ...]


def power_cut(lost: Unflushed, *, takes_names_back: bool) -> None:
    """Lose what was not flushed: contents, and the last names too if told so.

    A file system keeps changes of one directory in their order; names that are flushed, and
    removals, are taken to have come to the medium.
    """
    for path in map(Path, lost.dirty):
        if path.is_file():
            path.write_bytes(b"")

    if takes_names_back:
        for name, source, target, replaced in reversed(lost.undo):
            if not target.exists() or not source.parent.is_dir():
                continue
            if name == "exchange" and source.exists():
                disk.exchange(source, target)
            elif not source.exists():
                target.rename(source)
                if replaced is not None:
                    target.write_bytes(replaced)
