"""Congestion controls of others: directories whose sources are built into a kernel.

Fairway's kernels load no modules, so a directory of an out-of-tree module becomes a part of
`net/ipv4` of its own, with its own makefile if it has one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fairway.errors import InputError

#: What is read of a directory: sources, headers, and the makefile by which the kernel builds them.
_SOURCES = (".c", ".h", ".S")
_MAKEFILES = ("Kbuild", "Makefile")
#: Largest file, in bytes: the kernel's own tcp_input.c has 0.2 MB.
_MAX_BYTES = 4 << 20
#: Where they go in a tree, numbered.
FOLDER = "net/ipv4/fairway-modules"


@dataclass(frozen=True)
class Extra:
    """One directory.

    Attributes:
        path: Where it was.
        files: Name and text of each file.
    """

    path: Path
    files: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Its congestion controls, by file: "tcp_mine"."""
        return tuple(Path(name).stem for name, _ in self.files if _is_algorithm(name))

    def makefile(self) -> str:
        """What builds it into a kernel."""
        texts = dict(self.files)
        own = next((texts[name] for name in _MAKEFILES if name in texts), None)
        if own is None:
            own = "".join(f"obj-m += {name}.o\n" for name in self.names)
        # Headers of congestion controls lie beside them in the kernel: tcp_dctcp.h.
        return (
            f"{own.rstrip()}\n\nobj-y += $(obj-m)\nobj-m :=\nccflags-y += -I$(srctree)/net/ipv4\n"
        )

    def write(self, folder: Path) -> None:
        """Put it into a kernel's tree."""
        folder.mkdir(parents=True)
        for name, text in self.files:
            if name not in _MAKEFILES:
                (folder / name).write_text(text, "utf-8")
        (folder / "Makefile").write_text(self.makefile(), "utf-8")


def read(path: Path) -> Extra:
    """The congestion controls of a directory."""
    path = path.expanduser().absolute()
    if not path.is_dir():
        raise InputError(f"--module {path}: no such directory; name one that holds tcp_NAME.c")
    found = sorted(
        file for file in path.iterdir() if file.suffix in _SOURCES or file.name in _MAKEFILES
    )
    extra = Extra(path, tuple((file.name, _text(file)) for file in found if _is_source(file)))
    if not extra.names:
        names = ", ".join(file.name for file in found) or "no sources"
        raise InputError(
            f"--module {path}: expected tcp_NAME.c, a congestion control's source, found {names}"
        )
    return extra


def _is_source(file: Path) -> bool:
    # What kbuild has made of a module is no source of it.
    return not file.name.endswith(".mod.c")


def _is_algorithm(name: str) -> bool:
    return re.fullmatch(r"tcp_[A-Za-z0-9_+-]+\.c", name) is not None


def _text(file: Path) -> str:
    try:
        if not file.is_file():
            raise InputError(f"--module: {file}: not a file; remove it, or name another directory")
        if file.stat().st_size > _MAX_BYTES:
            raise InputError(
                f"--module: {file}: larger than {_MAX_BYTES >> 20} MiB; is it a source?"
            )
        return file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"--module: {file}: cannot read this source: {error}") from None
