"""Where a kernel's source comes from, and the tree that is made of it.

A tarball is not trusted: nothing in it may lead outside of the tree.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from fairway.errors import InputError, writing
from fairway.ground import digest

#: Where Debian's packages `linux-source-…` put their tarballs.
DEBIAN = Path("/usr/src")
#: The package that is meant where none is named: the kernel of the preset `linux-6.1`.
PACKAGE = "linux-source-6.1"
#: Endings of tarballs that can be read, and the program that unpacks each.
DECOMPRESSORS = {".tar": "", ".xz": "xz", ".gz": "gzip", ".tgz": "gzip", ".bz2": "bzip2",
                 ".zst": "zstd"}  # fmt: skip


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
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(set(folders) - {".git"})
        for name in sorted(files):
            path = Path(folder) / name
            state = path.lstat()
            line = f"{path.relative_to(tree)}\0{state.st_size}\0{state.st_mtime_ns}\n"
            found.update(line.encode("utf-8", "surrogateescape"))
    return f"tree:{found.hexdigest()}"


#: Bounds of what a tarball may hold. Linux 6.12 has 1.6 GB in 87,000 files.
MAX_BYTES = 8 << 30
MAX_MEMBERS = 1_000_000
_MAX_LINK = 4096

Progress = Callable[[float], None]


def unpack(source: Source, into: Path, progress: Progress) -> Path:
    """Make a tree of a source inside an empty directory, and tell where it begins."""
    with writing(into):
        if source.is_tree:
            tree = into / "tree"
            _copy_tree(source.path, tree)
        else:
            _extract(source.path, into, progress)
            tree = _only_tree(source.path, into)
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


def _extract(tarball: Path, into: Path, progress: Progress) -> None:
    with tarball.open("rb") as packed:
        total = os.fstat(packed.fileno()).st_size or 1
        program = DECOMPRESSORS[tarball.suffix]
        if not program:
            _write_members(tarball, packed, into, lambda: progress(packed.tell() / total))
            return
        with subprocess.Popen(
            [program, "-dc"], stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as unpacker:
            assert unpacker.stdout is not None
            try:
                # The program shares the position in the file that it reads.
                def report() -> None:
                    progress(os.lseek(packed.fileno(), 0, os.SEEK_CUR) / total)

                _write_members(tarball, unpacker.stdout, into, report)
                _drain(unpacker.stdout)
            except BaseException:
                unpacker.kill()
                raise
            complaint = unpacker.stderr.read() if unpacker.stderr else b""
        if unpacker.returncode:
            reason = complaint.decode("utf-8", "replace").strip()
            raise _damaged(tarball, f"{program} says: {reason}")


def _write_members(
    tarball: Path, stream: IO[bytes], into: Path, progress: Callable[[], None]
) -> None:
    """Write files and directories as they come, and links when no file can follow them any more."""
    links: list[tuple[Path, str]] = []
    known = {into}
    size = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for number, member in enumerate(archive):
                archive.members = []  # type: ignore[attr-defined]  # else it keeps them all
                size += max(member.size, 0)
                if size > MAX_BYTES or number >= MAX_MEMBERS:
                    raise InputError(
                        f"{tarball}: unpacks to more than {MAX_BYTES >> 30} GiB or "
                        f"{MAX_MEMBERS:,} files; is this really a kernel's source?"
                    )
                if number % 500 == 0:
                    progress()
                path = into / _inside(tarball, member.name)
                if member.isdir():
                    _make_directory(path, known)
                elif member.issym():
                    links.append((path, _harmless(tarball, member)))
                elif member.isreg():
                    _make_directory(path.parent, known)
                    _write(archive, member, path)
                else:
                    raise _refused(tarball, member.name, "neither a file, a directory nor a link")
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(tarball, str(error)) from None
    for path, target in links:
        _make_directory(path.parent, known)
        path.symlink_to(target)


def _inside(tarball: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise _refused(tarball, name, "its path leads outside of the tree")
    return path


def _harmless(tarball: Path, member: tarfile.TarInfo) -> str:
    """The target of a symbolic link, if by its text it stays below the top of the tarball."""
    target = member.linkname
    depth = len(PurePosixPath(member.name).parent.parts)
    for part in PurePosixPath(target).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            break
    if depth < 0 or target.startswith("/") or not 0 < len(target) <= _MAX_LINK:
        raise _refused(tarball, member.name, f"a link to {target[:80]!r}, outside of the tree")
    return target


def _make_directory(path: Path, known: set[Path]) -> None:
    if path not in known:
        path.mkdir(parents=True, exist_ok=True)
        known.add(path)


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = archive.extractfile(member)
    assert content is not None
    mode = 0o755 if member.mode & 0o111 else 0o644
    # A name that comes twice replaces the first, and is never followed if something else is there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        shutil.copyfileobj(content, file, 1 << 20)


def _drain(stream: IO[bytes]) -> None:
    """Read on to the end: what follows the archive's end mark is padding."""
    while stream.read(1 << 20):
        pass


def _only_tree(tarball: Path, into: Path) -> Path:
    for tree in (into, *sorted(into.iterdir())):
        if (tree / "Kbuild").is_file() and (tree / "arch" / "um").is_dir():
            return tree
    raise InputError(
        f"{tarball}: holds no Linux source tree: no Kbuild and arch/um at its top; "
        "name a tarball of a whole kernel"
    )


def _refused(tarball: Path, name: str, reason: str) -> InputError:
    return InputError(f"{tarball}: not unpacked: {name[:200]!r} in it is refused: {reason}")


def _damaged(tarball: Path, reason: str) -> InputError:
    return InputError(f"{tarball}: damaged tarball: {reason}; get it again")
