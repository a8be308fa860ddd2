"""Debian's package `user-mode-linux`: a kernel without virtual time, for where none was built."""

from __future__ import annotations

from pathlib import Path

from fairway.backends.linux.kernel import Kernel, examined
from fairway.errors import InputError

EXECUTABLE = Path("/usr/bin/linux.uml")
NOT_INSTALLED = "not installed"
_CPUINFO = Path("/proc/cpuinfo")


def kernel(executable: Path | None = None) -> Kernel | None:
    """The packaged kernel, if it is installed and can run on this processor."""
    executable = executable or EXECUTABLE
    if obstacle(executable) is not None:
        return None
    try:
        found = examined(executable)
    except InputError:
        return None
    return Kernel(
        path=executable,
        release=found.release,
        virtual_time=False,
        repeatable=False,
        source="Debian's package user-mode-linux",
        warnings=("real time, and timers that tick every 10 ms",),
        modules_in=found.modules_in,
    )


def obstacle(executable: Path | None = None) -> str | None:
    """Why the packaged kernel cannot be used here; none if it can."""
    if not (executable or EXECUTABLE).is_file():
        return NOT_INSTALLED
    # Its arch/x86/um/user-offsets.c has room for 2696 bytes of registers, AMX has 11,008.
    if _has_amx():
        return "cannot run on this processor, which has AMX: it has no room for those registers"
    return None


def remark() -> str | None:
    """Why the packaged kernel cannot answer although it is installed; none if it can."""
    reason = obstacle()
    if reason is None or reason == NOT_INSTALLED:
        return None
    return f"Debian's packaged kernel {EXECUTABLE} {reason}"


def _has_amx() -> bool:
    try:
        return " amx_tile" in _CPUINFO.read_text("utf-8", "replace")
    except OSError:
        return False
