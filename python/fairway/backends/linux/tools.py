"""What building a kernel needs, and the command that installs it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from fairway.errors import FairwayError


class ToolsMissing(FairwayError):  # noqa: N818
    """Something that has to be installed is not."""

    exit_code = 2


@dataclass(frozen=True)
class Tool:
    """A program or a header file, and the package of Debian and Ubuntu that has it."""

    name: str
    package: str
    is_header: bool = False

    def is_there(self) -> bool:
        """Whether it is installed."""
        if self.is_header:
            return any((place / self.name).is_file() for place in HEADERS)
        return self.path() is not None

    def path(self) -> str | None:
        """Where the program is; system programs may not be on the path of a user."""
        places = os.environ.get("PATH", os.defpath).split(os.pathsep)
        places += SYSTEM if self in RUN else ()
        return shutil.which(self.name, path=os.pathsep.join(places))


#: Where programs for administrators are, among them those that runs need.
SYSTEM = ("/usr/sbin", "/sbin")
#: Where the compiler looks for header files.
HEADERS = (Path("/usr/include"), Path("/usr/local/include"))

# Found out by building Linux 6.1 with nothing else on the path, and without the header files of
# libelf and OpenSSL, which other configurations need.
BUILD = (
    Tool("gcc", "gcc"),
    Tool("ld", "binutils"),
    Tool("stdlib.h", "libc6-dev", is_header=True),
    Tool("make", "make"),
    Tool("flex", "flex"),
    Tool("bison", "bison"),
    Tool("bc", "bc"),
)
#: What unpacks a tarball with that ending.
UNPACK = {
    "xz": Tool("xz", "xz-utils"),
    "gzip": Tool("gzip", "gzip"),
    "bzip2": Tool("bzip2", "bzip2"),
    "zstd": Tool("zstd", "zstd"),
}
#: What a run needs besides the kernel; the kernel uses the host's own.
RUN = (Tool("ip", "iproute2"), Tool("tc", "iproute2"))


def missing(tools: tuple[Tool, ...]) -> list[Tool]:
    """Those of the tools that are not installed."""
    return [tool for tool in tools if not tool.is_there()]


def install_command(packages: list[str]) -> str:
    """The command that installs packages."""
    return f"apt-get install {' '.join(dict.fromkeys(packages))}"


def require(tools: tuple[Tool, ...], purpose: str, also: tuple[str, ...] = ()) -> None:
    """Make sure that tools are installed."""
    absent = missing(tools)
    if not absent and not also:
        return
    names = ", ".join([*(tool.name for tool in absent), *also])
    command = install_command([*also, *(tool.package for tool in absent)])
    raise ToolsMissing(
        f"{purpose}, these are needed and were not found: {names}\n"
        f"On Debian and Ubuntu, this installs them (as root): {command}"
    )
