"""Debian's package `user-mode-linux`: a kernel without virtual time, for where none was built."""

from __future__ import annotations

from pathlib import Path

from fairway.errors import InputError
from fairway.linux.kernel import Kernel, examined

EXECUTABLE = Path("/usr/bin/linux.uml")
MODULES = Path("/usr/lib/uml/modules")
_CPUINFO = Path("/proc/cpuinfo")
#: Modules that are loaded: links, queue disciplines, classifiers, congestion controls.
_WANTED = ("veth.", "ifb.", "dummy.", "sch_", "cls_", "act_mirred.", "act_police.", "tcp_")


def kernel(executable: Path = EXECUTABLE, modules: Path = MODULES) -> Kernel | None:
    """The packaged kernel, if it is installed and can run on this processor."""
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
        load=load_order(modules / found.release),
    )


def obstacle(executable: Path = EXECUTABLE) -> str | None:
    """Why the packaged kernel cannot be used here; none if it can."""
    if not executable.is_file():
        return "not installed"
    # Its arch/x86/um/user-offsets.c has room for 2696 bytes of registers, AMX has 11,008.
    if _has_amx():
        return "cannot run on this processor, which has AMX: it would not start a single program"
    return None


def load_order(modules: Path) -> tuple[Path, ...]:
    """The modules that experiments may need, each after those that it depends on.

    Args:
        modules: The directory of one release, with `modules.dep` as `depmod` writes it.
    """
    try:
        lines = (modules / "modules.dep").read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return ()
    order: dict[Path, None] = {}
    for line in lines:
        file, _, needs = line.partition(":")
        if Path(file).name.startswith(_WANTED):
            # modules.dep names what a module needs with the deepest last.
            for name in (*reversed(needs.split()), file):
                order.setdefault(modules / name)
    return tuple(order)


def _has_amx() -> bool:
    try:
        return " amx_tile" in _CPUINFO.read_text("utf-8", "replace")
    except OSError:
        return False
