"""Limits of memory: a library that needs more is refused in words before it is loaded.

Under `ulimit -v` or `-d` some libraries end the process or never end instead of raising
`MemoryError`: OpenBLAS asks again for ever, Polars and V8 abort. Without a limit nothing here does
anything.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from fairway.errors import NotEnoughMemory

_MIB = 1 << 20


class Need(NamedTuple):
    """What a library takes when it is loaded and first used.

    Attributes:
        name: What it is called.
        space: Address space, in bytes: that `ulimit -v` limits.
        data: Private memory, in bytes: that `ulimit -d` limits.
        before: Libraries that it loads first.
        aborts: Whether it ends the process when memory is refused.
    """

    name: str
    space: int
    data: int
    before: tuple[str, ...] = ()
    aborts: bool = False


#: By the names of their modules. Growth of VmPeak and VmData on Linux (x86-64, two processors), and
#: something for other versions; tests/python/test_memory_limits.py measures again.
NEEDS = {
    "fairway._core": Need("the simulator", 20 * _MIB, 8 * _MIB),
    # With the buffer of OpenBLAS for its first product of matrices.
    "numpy": Need("NumPy", 128 * _MIB, 76 * _MIB),
    "scipy": Need("SciPy", 168 * _MIB, 88 * _MIB, before=("numpy",)),
    "polars": Need("Polars", 264 * _MIB, 104 * _MIB, aborts=True),
    # V8 reserves 64 GiB for pointers of 32 bits (v8.dev/blog/pointer-compression, and its sandbox).
    "vl_convert": Need("vl-convert", 66_000 * _MIB, 640 * _MIB, aborts=True),
}

#: Left over for Fairway's own work when a library is loaded.
_OWN = 8 * _MIB

#: `M_ARENA_MAX` of mallopt(3), from malloc.h. Each arena of a thread reserves 64 MiB.
_M_ARENA_MAX = -8


class _Limit(NamedTuple):
    """A limit that is set, and the memory that counts for it, both in bytes."""

    command: str
    most: int
    used: int

    @property
    def left(self) -> int:
        return max(self.most - self.used, 0)


def _limits() -> tuple[_Limit | None, _Limit | None]:
    """Limits of address space and of private memory; None without one, or where none is known."""
    try:
        import resource

        # proc(5), statm: "size" and "data", in pages.
        pages = [int(word) for word in Path("/proc/self/statm").read_text().split()]
        page = resource.getpagesize()
        asked = ((resource.RLIMIT_AS, "-v", pages[0]), (resource.RLIMIT_DATA, "-d", pages[5]))
        found = [
            _Limit(f"ulimit {option}", most, used * page)
            if (most := resource.getrlimit(number)[0]) != resource.RLIM_INFINITY
            else None
            for number, option, used in asked
        ]
    except (ImportError, OSError, ValueError, IndexError):
        return None, None  # no Linux
    return found[0], found[1]


def is_limited() -> bool:
    """Whether this process has a limit of memory."""
    return any(_limits())


def prepare(silence: Callable[[], int]) -> None:
    """Get ready for a limit, if there is one, before anything large is loaded.

    `silence` discards lines that compiled libraries print from then on, and returns the descriptor
    of standard error for Fairway's own.
    """
    if not is_limited():
        return
    # Each thread of a library reserves a stack and an arena.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    with contextlib.suppress(ImportError, OSError, AttributeError):  # another C library than glibc
        import ctypes

        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    sys.meta_path.insert(0, _Guard(silence))


class _Guard:
    """Looks at the memory that is left before a large library is found."""

    def __init__(self, silence: Callable[[], int]) -> None:
        self._silence = silence
        self._is_silent = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise where memory is short, and leave finding to others."""
        del path, target
        if (need := NEEDS.get(fullname)) is not None:
            require(need)
            if need.aborts and not self._is_silent:
                self._is_silent = True
                from fairway import _core

                _core.before_abort(self._silence(), f"fairway: {_exhausted()}\n")
        return None


def require(need: Need) -> None:
    """Refuse a library that needs more memory than a limit leaves.

    Raises:
        fairway.errors.NotEnoughMemory: With both numbers and a remedy.
    """
    missing = [NEEDS[name] for name in need.before if name not in sys.modules]
    for limit, needed in zip(
        _limits(),
        (
            need.space + sum(one.space for one in missing),
            need.data + sum(one.data for one in missing),
        ),
        strict=True,
    ):
        if limit is not None and limit.left < needed + _OWN:
            raise NotEnoughMemory(
                f"not enough memory: {need.name} needs {_mib(needed + _OWN)} more, and "
                f"{limit.command} ({_mib(limit.most)}) leaves {_mib(limit.left)}; raise the limit"
            )


#: What Python and compiled libraries say where pthread_create(3) gives EAGAIN.
_NO_THREAD = ("can't start new thread", os.strerror(errno.EAGAIN))


def explained(error: BaseException) -> str | None:
    """Why memory is the likely reason of an error, in a sentence; None of any other error."""
    said = " ".join(str(error).split())[:200]
    if not isinstance(error, OSError) and not is_limited() and any(t in said for t in _NO_THREAD):
        return (
            f"the system starts no more threads ({said}); end other programs, or raise the limit "
            "(ulimit -u, or pids.max of a container)"
        )
    is_named = isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )
    # Under a limit a library that cannot be mapped is an ImportError, a refused thread a
    # RuntimeError, and a panic of a compiled library is no Exception.
    is_likely = (
        isinstance(error, ImportError | SystemError | OSError)
        or not isinstance(error, Exception)
        or "thread" in str(error)
    )
    if is_named or (is_likely and is_limited() and not isinstance(error, FileNotFoundError)):
        return _exhausted() + (f" ({said})" if said else "")
    return None


def _exhausted() -> str:
    """A sentence for work that memory did not suffice for."""
    limits = [f"{one.command} is {_mib(one.most)}" for one in _limits() if one is not None]
    if limits:
        return f"not enough memory: {' and '.join(limits)}; raise the limit, or ask for less"
    return "not enough memory; free some, or ask for less"


def _mib(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB"
