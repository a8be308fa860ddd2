"""`fairway linux status`: which kernel answers, and what is missing for a better one."""

from __future__ import annotations

from typing import Any

from fairway.backends.linux import cache, packaged, source, tools
from fairway.backends.linux.kernel import Kernel
from fairway.backends.linux.tools import Tool

BUILD_COMMAND = "fairway linux build"


class Status:
    """What was found, when it was made."""

    def __init__(self) -> None:
        self.kernel = cache.find()
        self.kernels = cache.kernels()
        #: Digest of the kernel that would be built by default; none without a source.
        self.wanted = cache.default_digest()
        self.place = cache.root()
        #: Debian's packages of sources, the newest first.
        self.sources = [found.path for found in source.packaged()]
        self.build_tools = tools.missing(tools.BUILD)
        self.run_tools = tools.missing(tools.RUN)
        #: Why Debian's packaged kernel cannot be used; none if it can.
        self.packaged_obstacle = packaged.obstacle()

    @property
    def is_current(self) -> bool:
        """Whether the kernel that answers is what would be built now."""
        return self.kernel is not None and self.kernel.digest == (self.wanted or "")

    @property
    def remark(self) -> str | None:
        """Why the packaged kernel is not the one that answers where it alone is there."""
        return packaged.remark() if self.kernel is None else None

    @property
    def is_ready(self) -> bool:
        """Whether experiments can be run."""
        return self.kernel is not None and not self.run_tools

    def advice(self) -> list[str]:
        """What to do next, one command or sentence each."""
        packages = [tool.package for tool in self.run_tools]
        virtual = self.kernel is not None and self.kernel.virtual_time
        if not virtual:
            packages += [tool.package for tool in self.build_tools]
            packages += [] if self.sources else [source.PACKAGE, tools.UNPACK["xz"].package]
        steps = [f"as root: {tools.install_command(packages)}"] if packages else []
        if not virtual:
            steps.append(BUILD_COMMAND)
        elif not self.is_current and self.wanted and self.kernel and self.kernel.digest:
            steps.append(f"{BUILD_COMMAND}  (source or Fairway have changed since the last build)")
        return steps

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "ready": self.is_ready,
            "current": self.is_current,
            "kernel": None if self.kernel is None else self.kernel.to_json(),
            "kernels": [kernel.to_json() for kernel in self.kernels],
            "cache": str(self.place),
            "sources": [str(path) for path in self.sources],
            "build_tools_missing": list(map(_plain, self.build_tools)),
            "run_tools_missing": list(map(_plain, self.run_tools)),
            "packaged": {
                "path": str(packaged.EXECUTABLE),
                "usable": self.packaged_obstacle is None,
                "obstacle": self.packaged_obstacle,
            },
            "next": self.advice(),
        }

    def lines(self) -> list[str]:
        """Everything for people."""
        shown = [f"Experiments run on: {_answer(self.kernel)}"]
        if self.kernel is not None:
            shown += [f"  lacks: {warning}" for warning in self.kernel.warnings]
        shown.append(f"Kernels built, in {self.place}:")
        shown += [f"  {_line(kernel, self.wanted)}" for kernel in self.kernels] or ["  none"]
        shown.append(f"Source packages: {', '.join(map(str, self.sources)) or 'none'}")
        shown.append(f"Build tools missing: {_names(self.build_tools)}")
        shown.append(f"Run-time tools missing: {_names(self.run_tools)}")
        shown.append(
            "Debian's package user-mode-linux (real time, timers of 10 ms): "
            f"{self.packaged_obstacle or 'usable'}"
        )
        steps = self.advice()
        return shown + (["Next:", *(f"  {step}" for step in steps)] if steps else [])


def _plain(tool: Tool) -> dict[str, str]:
    return {"name": tool.name, "package": tool.package}


def _names(absent: list[Tool]) -> str:
    return ", ".join(f"{tool.name} ({tool.package})" for tool in absent) or "none"


def _answer(kernel: Kernel | None) -> str:
    if kernel is None:
        return "no kernel; --backend linux does not work"
    time = "virtual time" if kernel.virtual_time else "REAL TIME"
    runs = "repeatable" if kernel.repeatable else "not repeatable"
    return f"Linux {kernel.release}, {time}, {runs}\n  {kernel.path}"


def _line(kernel: Kernel, wanted: str | None) -> str:
    size = kernel.path.stat().st_size / 1e6
    ours = ", ".join((*kernel.modules, *kernel.extras)) or "no congestion control of ours"
    mark = "default: " if kernel.digest == wanted else ""
    return (
        f"{mark}{kernel.release}, built {kernel.built} from {kernel.source}; {ours}; {size:.1f} MB"
    )
