"""Whether this machine keeps its files from a kernel that was broken from inside: docs/walls.md."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

#: The program that runs inside of the kernel, and the supervisor.
AGENT = Path(__file__).resolve().parents[2] / "bin" / "fairway-guest"
#: How long it may take to say so, in seconds; it takes milliseconds.
_PATIENCE_S = 30.0
_REMEDY = "Linux 5.13 or later has one if Landlock is on; a container must not refuse it"


@dataclass(frozen=True)
class Confinement:
    """What keeps them, or why nothing does."""

    is_there: bool
    text: str
    remedy: str = ""


def confinement() -> Confinement:
    """Ask the supervisor, which makes the wall."""
    try:
        said = subprocess.run(
            [AGENT, "confinement"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Confinement(False, f"unknown: {error}", "install Fairway again: make build")
    if said.returncode == 0:
        return Confinement(True, said.stdout.strip())
    return Confinement(False, f"none ({said.stdout.strip()})", _REMEDY)


def missing(why: str) -> str:
    """The caution of a run without it."""
    return (
        "this machine has no wall around the kernel's process: a program that breaks the kernel "
        f"from inside could write your files ({why}); {_REMEDY}"
    )
