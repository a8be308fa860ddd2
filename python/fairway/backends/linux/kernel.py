"""A kernel that experiments can run on."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairway.backends.linux import modules
from fairway.errors import InputError

#: What describes a built kernel, beside it.
DESCRIPTION = "kernel.json"
#: The executable of a built kernel.
EXECUTABLE = "linux"
#: Room for headers in a buffer of a kernel that Fairway builds, without wireless links and tunnels
#: (include/net/tcp.h, MAX_TCP_HEADER).
HEADER_ROOM = "192 bytes"
#: Longest time that a kernel may take to say its version, in seconds; it takes a few milliseconds.
_ANSWER_S = 10


@dataclass(frozen=True)
class Kernel:
    """An executable User-Mode Linux kernel, and what the caller has to know to boot it.

    Attributes:
        release: Its version, as `uname -r` says it: "6.1.192".
        virtual_time: Whether it has virtual time; if not, it runs in real time at 100 Hz.
        repeatable: Whether FAIRWAY_SEED in its environment decides all that chance does in it.
        has_network: Whether it has Fairway's devices; if not, only `network = "tc"` works.
        modules: Congestion controls of Fairway's that are in it, by file: "tcp_dcm_plus".
        extras: Congestion controls of others that were built in, by file: "tcp_mine".
        digest: SHA-256 of all that it was built from; empty if Fairway did not build it.
        built: When, in UTC: "2026-01-31 12:00:00"; empty if Fairway did not build it.
        compiler: First line of `gcc --version`.
        build_s: How long the build took, in seconds.
        warnings: What it lacks.
        modules_in: Directory of the modules that it can load; none if all it has is built in.
    """

    path: Path
    release: str
    virtual_time: bool
    repeatable: bool
    has_network: bool = False
    modules: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    digest: str = ""
    source: str = ""
    built: str = ""
    compiler: str = ""
    build_s: float = 0.0
    warnings: tuple[str, ...] = ()
    modules_in: Path | None = None

    @property
    def boot(self) -> tuple[str, ...]:
        """The arguments of the kernel that have to do with time.

        Time begins one second after the start of 1970, in nanoseconds.
        """
        if not self.virtual_time:
            return ()
        return ("time-travel=inf-cpu", "time-travel-start=1000000000")

    def to_json(self) -> dict[str, Any]:
        """Everything about it as plain data."""
        plain = asdict(self)
        plain["path"] = str(self.path)
        plain["modules"] = list(self.modules)
        plain["extras"] = list(self.extras)
        plain["warnings"] = list(self.warnings)
        plain["modules_in"] = None if self.modules_in is None else str(self.modules_in)
        return plain


def described(directory: Path) -> Kernel | None:
    """The kernel that lies in a directory of the cache; none if it is not whole."""
    path = directory / EXECUTABLE
    try:
        plain = json.loads((directory / DESCRIPTION).read_text("utf-8"))
        names = ("release", "digest", "source", "built", "compiler")
        texts: dict[str, Any] = {name: str(plain[name]) for name in names}
        kernel = Kernel(
            path=path,
            virtual_time=bool(plain["virtual_time"]),
            repeatable=bool(plain["repeatable"]),
            has_network=bool(plain["has_network"]),
            modules=tuple(map(str, plain["modules"])),
            extras=tuple(map(str, plain.get("extras", ()))),
            build_s=float(plain["build_s"]),
            warnings=tuple(map(str, plain["warnings"])),
            **texts,
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return kernel if path.is_file() else None


def examined(path: Path) -> Kernel:
    """The kernel that is an executable somewhere, by what it says of itself."""
    if path.is_dir():
        path = path / EXECUTABLE
    if kernel := described(path.parent) if path.name == EXECUTABLE else None:
        return kernel
    release = _answer(path, "--version").strip()
    options = _answer(path, "--showconfig")
    virtual_time = "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in options
    modules_in = modules.DEBIAN / release
    return Kernel(
        path=path,
        release=release,
        virtual_time=virtual_time,
        repeatable=virtual_time and _mentions(path, b"FAIRWAY_SEED"),
        has_network=virtual_time and _mentions(path, b"fairway.network="),
        modules_in=modules_in if modules_in.is_dir() else None,
    )


def _answer(path: Path, question: str) -> str:
    try:
        done = subprocess.run(
            [str(path), question],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_ANSWER_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(
            f"{path}: no User-Mode Linux kernel: `{path} {question}` failed: {error}; name the "
            "executable `linux` of a kernel built with ARCH=um"
        ) from None
    return done.stdout.decode("utf-8", "replace")


def _mentions(path: Path, word: bytes) -> bool:
    try:
        return word in path.read_bytes()
    except OSError:
        return False
