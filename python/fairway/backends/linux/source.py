"""Where a kernel's source comes from, and the tree that is made of it."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from fairway.backends.linux import tarball
from fairway.backends.linux.tarball import DECOMPRESSORS, Progress
from fairway.errors import InputError, writing
from fairway.ground import digest, disk

#: Where Debian's packages `linux-source-…` put their tarballs.
DEBIAN = Path("/usr/src")
#: The package that is meant where none is named: the kernel of the preset `linux-6.1`.
PACKAGE = "linux-source-6.1"


@dataclass(frozen=True)
class Source:
    """A source tree or a tarball of one."""

    path: Path
    is_tree: bool

    def identity(self) -> str:
        """Digest that changes with the source.

        Of a tarball it is the SHA-256 of its bytes. Of a tree it is that of all names, sizes and
        times of change, which are enough to see an edit and read in a second.
        """
        return _tree_identity(self.path) if self.is_tree else f"sha256:{digest.of_file(self.path)}"


def packaged(directory: Path = DEBIAN) -> list[Source]:
    """The tarballs of Debian's packages: the default's first, then the newest version."""
    found = [
        (_package(path.name) == PACKAGE, version, path)
        for path in directory.glob("linux-source-*.tar.*")
        if path.suffix in DECOMPRESSORS and (version := _version(path.name))
    ]
    return [Source(path, is_tree=False) for *_, path in sorted(found, reverse=True)]


def of_release(release: str) -> Source:
    """The tarball of Debian's package for a release such as "6.12"."""
    wanted = f"linux-source-{release}"
    sources = packaged()
    for found in sources:
        if _package(found.path.name) == wanted:
            return found
    names = ", ".join(_package(found.path.name) for found in sources) or "none"
    raise InputError(
        f"--kernel {release}: package {wanted} is not installed (installed: {names}); as root: "
        f"apt-get install {wanted}, or name a source with --source"
    )


def _package(name: str) -> str:
    return name.partition(".tar.")[0]


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
    for folder, folders, files in disk.walk(tree):
        folders[:] = sorted(set(folders) - {".git"})
        for name in sorted(files):
            path = folder / name
            state = path.lstat()
            line = f"{path.relative_to(tree)}\0{state.st_size}\0{state.st_mtime_ns}\n"
            found.update(line.encode("utf-8", "surrogateescape"))
    return f"tree:{found.hexdigest()}"


def unpack(source: Source, into: Path, progress: Progress) -> Path:
    """Make a tree of a source inside an empty directory, and tell where it begins."""
    with writing(into):
        if source.is_tree:
            tree = into / "tree"
            _copy_tree(source.path, tree)
        else:
            tree = tarball.unpack(source.path, into, progress)
    return tree


def _copy_tree(source: Path, tree: Path) -> None:
    try:
        shutil.copytree(source, tree, symlinks=True, ignore=_made_by_a_build)
    except shutil.Error as error:
        _, _, reason = error.args[0][0]
        raise InputError(f"--source {source}: cannot copy this tree: {reason}") from None


def _made_by_a_build(folder: str, names: list[str]) -> set[str]:
    """What an earlier build, perhaps for another architecture, left in the user's tree."""
    left = shutil.ignore_patterns("*.o", "*.a", "*.ko", "*.cmd", ".git", ".config")(folder, names)
    if Path(folder).name == "include":
        left |= {"generated", "config"} & set(names)
    return left
