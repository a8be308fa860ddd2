"""The list that Fairway keeps in each result directory: what is not on it is never removed."""

from __future__ import annotations

import contextlib
import errno
import json
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fairway.errors import InputError
from fairway.ground import disk, regular, shape

#: Name of the list.
NAME = ".fairway"
#: File that a process locks while it exchanges names in a directory, or changes its list.
LOCK = ".fairway-lock"
#: Names that an error message gives before it counts the rest.
_NAMED = 3
_SHAPE = {"kind": str, "source": shape.TEXT_OR_NONE, "files": [str]}


@dataclass(frozen=True)
class Inventory:
    """What Fairway says of a directory.

    Attributes:
        kind: Kind of result: "run", "sweep" and so on.
        source: Digest of what was asked for, as `source_of` gives it; None if unknown.
        files: Files that Fairway wrote, relative to the directory; empty for kinds that grow.
    """

    kind: str
    source: str | None = None
    files: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The list as JSON."""
        plain = {"kind": self.kind, "source": self.source, "files": sorted(self.files)}
        return (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode(
            "utf-8", "surrogateescape"
        )


def source_of(*parts: Any) -> str:
    """Digest of what was asked for: a command, its file and its options, as plain data."""
    import hashlib

    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def read(directory: Path) -> Inventory | None:
    """The list of a directory; None if it has none, or one that Fairway cannot have written.

    Raises:
        InputError: If it is there and cannot be read.
    """
    path = directory / NAME
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        listed = json.loads(regular.read(path).decode("utf-8", "surrogateescape"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot read this list: {error.strerror or error}") from error
    if shape.problem(listed, _SHAPE):
        return None
    return Inventory(listed["kind"], listed["source"], tuple(listed["files"]))


def of(directory: Path, kind: str, source: str | None = None) -> Inventory:
    """The list of everything that is in a directory now, itself left out."""
    names = (name for name, _ in _entries(directory))
    return Inventory(kind, source, tuple(name for name in names if name not in (NAME, LOCK)))


def unknown(directory: Path) -> list[str]:
    """What is in a directory and not on its list: files, links, and directories without a file.

    A link in the place of a listed file is unknown: Fairway writes none.
    """
    listed = read(directory)
    known = {NAME, LOCK, *(listed.files if listed else ())}
    return sorted(
        name if is_file else f"{name}/" if not (directory / name).is_symlink() else name
        for name, is_file in _entries(directory)
        if not is_file or name not in known
    )


def remove(directory: Path) -> bool:
    """Remove what the list names, and the directory if nothing else is in it; whether it went."""
    listed = read(directory)
    wanted = set(listed.files if listed else ())
    # The names are those found here: those on the list may lead elsewhere.
    found = [name for name, is_file in _entries(directory) if is_file and name in wanted]
    for name in found:
        with contextlib.suppress(FileNotFoundError):
            disk.remove_file(directory / name)
    folders = {str(folder) for name in found for folder in PurePosixPath(name).parents} - {"."}
    try:
        for folder in sorted(folders, reverse=True):
            disk.remove_directory(directory / folder)
        rest = {path.name for path in directory.iterdir()}
        if rest <= {NAME, LOCK}:
            for name in sorted(rest, reverse=True):
                disk.remove_file(directory / name)
            disk.remove_directory(directory)
            return True
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    return False  # somebody has put something there


def named(names: Iterable[str]) -> str:
    """Some names for a message, and how many more there are."""
    found = list(names)
    rest = len(found) - _NAMED
    shown = ", ".join(found[:_NAMED])
    return f"{shown} and {rest} more" if rest > 0 else shown


def _entries(directory: Path) -> Iterator[tuple[str, bool]]:
    """Everything below a directory, and whether it is a regular file; of directories the empty."""
    for here, folders, files in disk.walk(directory):
        links = [name for name in folders if (here / name).is_symlink()]
        for name in [*files, *links]:
            path = here / name
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                yield (
                    path.relative_to(directory).as_posix(),
                    stat.S_ISREG(path.lstat().st_mode),
                )
        if not folders and not files and here != directory:
            yield here.relative_to(directory).as_posix(), False
