"""A tarball of a kernel's source becomes a tree.

A tarball is not trusted: nothing in it leads outside of the tree, and a refused one leaves no file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

from fairway.errors import InputError
from fairway.ground import beneath, tar

#: Endings of tarballs that can be read, and the program that unpacks each.
DECOMPRESSORS = {".tar": "", ".xz": "xz", ".gz": "gzip", ".tgz": "gzip", ".bz2": "bzip2",
                 ".zst": "zstd"}  # fmt: skip
#: Memory of a program that takes as much as its input says: xz(1), up to 4 GiB. `xz -9` needs
#: 65 MiB; zstd has a bound of its own.
_BOUNDS = {"xz": ("--memlimit-decompress=1GiB",)}

#: Bounds of what a tarball may hold. Linux 6.12 has 1.6 GB in 87,000 files.
MAX_BYTES = 8 << 30
MAX_MEMBERS = 1_000_000

_ALLOWED = "neither a file, a directory nor a symbolic link"

Progress = Callable[[float], None]


def unpack(tarball: Path, into: Path, progress: Progress) -> Path:
    """Unpack a tarball into an empty directory, and tell where the tree begins."""
    try:
        with tarball.open("rb") as packed:
            return _unpacked(tarball, packed, into, progress)
    except BaseException:
        for left in into.iterdir():
            left.unlink() if left.is_symlink() or left.is_file() else shutil.rmtree(left)
        raise


def _unpacked(tarball: Path, packed: IO[bytes], into: Path, progress: Progress) -> Path:
    total = os.fstat(packed.fileno()).st_size or 1

    def report() -> None:
        # A program shares the position in the file that it reads.
        progress(os.lseek(packed.fileno(), 0, os.SEEK_CUR) / total)

    if not (program := DECOMPRESSORS[tarball.suffix]):
        try:
            return _write(tarball, packed, into, report)
        except tar.Damaged as error:
            raise _damaged(tarball, str(error)) from None
    with subprocess.Popen(
        [program, *_BOUNDS.get(program, ()), "-dc"],
        stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stdout is not None and running.stderr is not None
        reason = ""
        try:
            tree = _write(tarball, running.stdout, into, report)
        except tar.Damaged as error:
            reason = str(error)
        finally:
            # It has ended already, unless something is wrong.
            running.stdout.close()
        complaint = running.stderr.read().decode("utf-8", "replace").strip()
    if complaint and (reason or running.returncode):
        reason = f"{program} says: {complaint}"
    if reason or running.returncode:
        raise _damaged(tarball, reason or f"{program} ended with {running.returncode}")
    return tree


def _write(tarball: Path, stream: IO[bytes], into: Path, report: Callable[[], None]) -> Path:
    """Write files and directories as they come, and links when the tree is known and complete."""
    links = []
    archive = tar.Reader(stream, MAX_BYTES, MAX_MEMBERS)
    name = ""
    try:
        with beneath.Beneath(into) as top:
            for number, member in enumerate(archive.members()):
                if number % 500 == 0:
                    report()
                name = member.name
                path = beneath.parts(name)
                if member.kind == "directory":
                    top.directory(path)
                elif member.kind == "link":
                    links.append((path, member))
                elif member.kind == "file":
                    with top.file(path, is_executable=member.is_executable) as file:
                        file.writelines(archive.pieces())
                else:
                    raise beneath.Refused(f"it is a {member.kind}: {_ALLOWED}")
            archive.finish()
        tree = _only_tree(tarball, into)
        within = tree.relative_to(into).parts
        with beneath.Beneath(tree) as top:
            for path, member in links:
                name = member.name
                if path[: len(within)] != within:
                    raise beneath.Refused(f"a link outside of the tree {tree.name}")
                top.link(path[len(within) :], member.target)
    except beneath.Refused as error:
        raise InputError(
            f"{tarball}: not unpacked: {name[:200]!r} in it is refused: {error}; get a tarball "
            "from kernel.org or of your distribution"
        ) from None
    except tar.TooLarge as error:
        raise InputError(
            f"{tarball}: unpacks to {error}; is this really a kernel's source?"
        ) from None
    return tree


def _only_tree(tarball: Path, into: Path) -> Path:
    for tree in (into, *sorted(into.iterdir())):
        if (tree / "Kbuild").is_file() and (tree / "arch" / "um").is_dir():
            return tree
    raise InputError(
        f"{tarball}: holds no Linux source tree: no Kbuild and arch/um at its top; "
        "name a tarball of a whole kernel"
    )


def _damaged(tarball: Path, reason: str) -> InputError:
    return InputError(f"{tarball}: damaged tarball: {reason}; get it again")
