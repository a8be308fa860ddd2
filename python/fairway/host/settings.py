"""A snapshot of the settings a transfer runs under."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairway.ground.names import real
from fairway.host.files import TABLE, read
from fairway.host.interface import Interface
from fairway.host.network import Route, resolve, route_to
from fairway.host.sysctls import Sysctls


@dataclass(frozen=True)
class FileSystem:
    """Where a directory's files are kept.

    Attributes:
        kind: As `mount` has it: "ext4", "tmpfs", "nfs4" ….
        free_bytes: What an ordinary user may still write.
    """

    mount_point: str
    kind: str
    source: str
    free_bytes: int | None = None


@dataclass(frozen=True)
class Settings:
    """What a transfer runs under; None is what this system does not tell.

    Attributes:
        system: "Linux", "Darwin" ….
        cores: Cores that this process may use.
        governor: Of the cores' frequency; several, if they differ, separated by commas.
        open_files: Most files and sockets of this process (RLIMIT_NOFILE), soft and hard; None in
            it is without limit.
    """

    system: str
    kernel: str | None = None
    cores: int | None = None
    governor: str | None = None
    memory_bytes: int | None = None
    open_files: tuple[int | None, int | None] | None = None
    sysctls: Sysctls = field(default_factory=Sysctls)
    route: Route | None = None
    interface: Interface | None = None
    file_system: FileSystem | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data, as a run's record holds it."""
        return {
            "system": self.system,
            "kernel": self.kernel,
            "cores": self.cores,
            "governor": self.governor,
            "memory_bytes": self.memory_bytes,
            "open_files": None if self.open_files is None else list(self.open_files),
            "sysctls": self.sysctls.to_json(),
            "route": self.route and asdict(self.route),
            "interface": self.interface and self.interface.to_json(),
            "file_system": self.file_system and asdict(self.file_system),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` wrote, here or on another host."""
        plain = ("system", "kernel", "cores", "governor", "memory_bytes")
        files = data.get("open_files")
        return cls(
            **{name: data.get(name) for name in plain},  # type: ignore[arg-type]
            open_files=None if files is None else (files[0], files[1]),
            sysctls=Sysctls.from_json(data.get("sysctls") or {}),
            route=Route(**data["route"]) if data.get("route") else None,
            interface=Interface.from_json(data["interface"]) if data.get("interface") else None,
            file_system=FileSystem(**data["file_system"]) if data.get("file_system") else None,
        )


def settings(
    host: str | None = None,
    *,
    directory: str | os.PathLike[str] | None = None,
    interface: str | None = None,
    root: str | os.PathLike[str] = "/",
) -> Settings:
    """Read the settings that a transfer on this host runs under. Nothing is changed or sent.

    What a system does not have (a container, a sandbox, another system than Linux) is None.

    Args:
        host: The other side, by name or address: adds the route to it and its interface.
        directory: Where files are read or written: adds its file system.
        interface: The interface, instead of the one that the route leaves by.
        root: Directory in which `proc` and `sys` are; another than "/" only for tests. Then the
            kernel, the drivers and this process are not asked.

    Raises:
        InputError: If `host` has no known address.
    """
    place = Path(root)
    live = place == Path("/")
    route = route_to(resolve(host)) if host is not None and live else None
    name = interface or (route.interface if route else None)
    return Settings(
        system=platform.system() if live else "Linux",
        kernel=read(place / "proc/sys/kernel/osrelease") or (platform.release() if live else None),
        cores=_cores() if live else None,
        governor=_governor(place),
        memory_bytes=_memory_bytes(place),
        open_files=_open_files() if live else None,
        sysctls=Sysctls.read(place),
        route=route,
        interface=Interface.read(name, place) if name else None,
        file_system=_file_system(Path(directory), place) if directory is not None else None,
    )


def _cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _governor(root: Path) -> str | None:
    places = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    # A host has one governor, or one for each kind of core: 4096 cores are more than enough.
    found = {governor for governor in map(read, places[:4096]) if governor}
    return ", ".join(sorted(found)) or None


def _memory_bytes(root: Path) -> int | None:
    match = re.search(r"^MemTotal:\s+(\d{1,15}) kB", read(root / "proc/meminfo") or "", re.M)
    return int(match[1]) * 1024 if match else None


def _open_files() -> tuple[int | None, int | None] | None:
    if sys.platform == "win32":
        return None
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (None if value == resource.RLIM_INFINITY else value for value in limits)
    return soft, hard


def _file_system(directory: Path, root: Path) -> FileSystem | None:
    """The mount below which the directory is: proc(5), /proc/pid/mountinfo."""
    place = real(directory)
    best: FileSystem | None = None
    for line in (read(root / "proc/self/mountinfo", TABLE) or "").splitlines():
        before, separator, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if not separator or len(left) < 5 or len(right) < 2:
            continue
        point = _unescaped(left[4])
        # The last of several mounts on one place is the one to be seen.
        if place.is_relative_to(point) and (best is None or len(point) >= len(best.mount_point)):
            best = FileSystem(point, right[0], _unescaped(right[1]))
    if best is None or root != Path("/"):
        return best
    return FileSystem(best.mount_point, best.kind, best.source, _free_bytes(place))


def _unescaped(text: str) -> str:
    r"""The text as it was: mountinfo writes blanks and backslashes in octal, as \040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _free_bytes(directory: Path) -> int | None:
    # A directory that is yet to be made is measured where it will be.
    for place in (directory, *directory.parents):
        try:
            found = os.statvfs(place)
        except OSError:
            continue
        return found.f_bavail * found.f_frsize
    return None
