"""Where a kernel's source comes from: Debian's package, or what the user names."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from fairway.errors import InputError
from fairway.ground import digest

#: Where Debian's packages `linux-source-…` put their tarballs.
DEBIAN = Path("/usr/src")
#: The package that is meant where there is none: the kernel of the golden traces.
PACKAGE = "linux-source-6.1"
#: Endings of tarballs that can be read, and the program that unpacks each.
DECOMPRESSORS = {".tar": "", ".xz": "xz", ".gz": "gzip", ".tgz": "gzip", ".bz2": "bzip2",
                 ".zst": "zstd"}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A source tree or a tarball of one.

    Attributes:
        path: Where it is.
        is_tree: Whether it is a directory.
    """

    path: Path
    is_tree: bool

    def identity(self) -> str:
        """Digest that changes with the source.

        Of a tarball it is the SHA-256 of its bytes. Of a tree it is that of all names, sizes and
        times of change, which are enough to see an edit and read in a second.
        """
        return _tree_identity(self.path) if self.is_tree else f"sha256:{digest.of_file(self.path)}"


def packaged(directory: Path = DEBIAN) -> list[Source]:
    """The tarballs of Debian's packages, newest version first."""
    found = [
        (version, path)
        for path in directory.glob("linux-source-*.tar.*")
        if path.suffix in DECOMPRESSORS and (version := _version(path.name))
    ]
    return [Source(path, is_tree=False) for _, path in sorted(found, reverse=True)]


def named(path: Path) -> Source:
    """The source that a user names."""
    path = path.expanduser().absolute()
    if path.is_dir():
        if not (path / "Kbuild").is_file() or not (path / "arch" / "um").is_dir():
            raise InputError(
                f"--source {path}: not a Linux source tree: it has no Kbuild or no arch/um; "
                "name the directory that holds them"
            )
        return Source(path, is_tree=True)
    if not path.is_file():
        raise InputError(f"--source {path}: no such directory or tarball; check the name")
    if path.suffix not in DECOMPRESSORS:
        raise InputError(
            f"--source {path}: neither a directory nor a tarball ({', '.join(DECOMPRESSORS)}); "
            "name a Linux source tree or a tarball of one"
        )
    return Source(path, is_tree=False)


def _version(name: str) -> tuple[int, ...]:
    digits = re.match(r"linux-source-(\d+(?:\.\d+)*)\.tar\.", name)
    return tuple(map(int, digits[1].split("."))) if digits else ()


def _tree_identity(tree: Path) -> str:
    found = hashlib.sha256()
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(set(folders) - {".git"})
        for name in sorted(files):
            path = Path(folder) / name
            state = path.lstat()
            line = f"{path.relative_to(tree)}\0{state.st_size}\0{state.st_mtime_ns}\n"
            found.update(line.encode("utf-8", "surrogateescape"))
    return f"tree:{found.hexdigest()}"
