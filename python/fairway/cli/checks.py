"""What is installed, what is missing, and how to get it."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Status = Literal["ok", "optional", "missing"]

_LIBRARIES = {
    "altair": "altair",
    "jinja2": "jinja2",
    "numpy": "numpy",
    "polars": "polars",
    "rich": "rich",
    "scipy": "scipy",
    "tomli-w": "tomli_w",
    "typer": "typer",
    "vl-convert-python": "vl_convert",
}


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        status: "ok", "optional" if something that is not needed is absent, "missing" if needed.
        found: What was found.
        remedy: What to do, if something is absent.
    """

    name: str
    status: Status
    found: str
    remedy: str = ""


def examine() -> list[Check]:
    """Look at everything Fairway uses."""
    return [
        _python(),
        _core(),
        *map(_library, _LIBRARIES),
        _studies(),
        _cores(),
        _disk(),
        _linux_kernel(),
        _iproute2(),
        _ns2(),
        _iperf3(),
    ]


def to_json(checks: list[Check]) -> dict[str, Any]:
    """The checks as plain data."""
    healthy = all(check.status != "missing" for check in checks)
    return {"healthy": healthy, "checks": [asdict(check) for check in checks]}


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("Python", "ok", found)


def _core() -> Check:
    try:
        core = importlib.import_module("fairway._core")
        algorithms = importlib.import_module("fairway.ground.registry").algorithms()
    except ImportError as error:
        return Check("simulator", "missing", str(error), "install Fairway again: make build")
    return Check("simulator", "ok", f"version {core.version()}, {len(algorithms)} algorithms")


def _library(name: str) -> Check:
    try:
        importlib.import_module(_LIBRARIES[name])
        return Check(name, "ok", importlib.metadata.version(name))
    except ImportError as error:
        return Check(name, "missing", str(error), f"python -m pip install {name}")


def _studies() -> Check:
    from fairway.study.reproduce import keys

    found = keys()
    if not found:
        return Check("studies", "missing", "none", "install Fairway again: make build")
    return Check("studies", "ok", ", ".join(found))


def _cores() -> Check:
    from fairway.sweep.threads import available_cores

    return Check("cores", "ok", str(available_cores()))


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    if free < 0.5:
        return Check("disk here", "optional", f"{free:.1f} GB free", "results may not fit here")
    return Check("disk here", "ok", f"{free:.1f} GB free")


def _linux_kernel() -> Check:
    from fairway.backends.linux.status import status
    from fairway.errors import InputError

    try:
        found = status()
    except InputError as error:
        return Check("linux kernel", "optional", str(error), "correct or unset FAIRWAY_KERNEL")
    remedy = "; then: ".join(found.advice())
    if found.kernel is None:
        what = "none, so no --backend linux" + (f"; {found.remark}" if found.remark else "")
        return Check("linux kernel", "optional", what, remedy)
    if not found.kernel.virtual_time:
        what = f"{found.kernel.release} in real time: slow and imprecise ({found.kernel.path})"
        return Check("linux kernel", "optional", what, remedy)
    what = f"{found.kernel.release} in virtual time ({found.kernel.path})"
    return Check("linux kernel", "ok", what, remedy)


def _iproute2() -> Check:
    from fairway.backends.linux import tools

    if absent := tools.missing(tools.RUN):
        names = ", ".join(tool.name for tool in absent)
        remedy = f"{tools.install_command([tool.package for tool in absent])} (for --backend linux)"
        return Check("iproute2", "optional", f"not found: {names}", remedy)
    return Check("iproute2", "ok", ", ".join(tool.path() or "" for tool in tools.RUN))


def _ns2() -> Check:
    found = shutil.which("ns") or shutil.which("ns2")
    if found is None:
        remedy = "apt-get install ns2 (only to compare speed and results with ns-2)"
        return Check("ns-2", "optional", "not installed", remedy)
    return Check("ns-2", "ok", found)


def _iperf3() -> Check:
    found = shutil.which("iperf3")
    if found is None:
        remedy = "apt-get install iperf3 (only to measure with a stock iperf3 at one end)"
        return Check("iperf3", "optional", "not installed", remedy)
    return Check("iperf3", "ok", found)
