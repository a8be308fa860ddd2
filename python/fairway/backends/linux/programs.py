"""Programs of this machine on the hosts of a kernel: their environment, and what became of them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.errors import InputError
from fairway.ground.permission import Command, KeptPath

if TYPE_CHECKING:
    from fairway import _core

#: The date on all hosts when a run begins, in seconds from the start of 1970: 2026-01-01, 0:00 UTC.
#: Servers' certificates and caches look at it, and it is the same in every run.
DATE_S = 1_767_225_600
#: The first day that it may be, and the first that it may not. A kernel's clock cannot be behind
#: its uptime (kernel/time/timekeeping.c, `do_settimeofday64`), nor be set to the 30 years before
#: its end (include/linux/time64.h, `TIME_SETTOD_SEC_MAX`, 2232-04-18).
DATES = (date(1970, 1, 2), date(2232, 4, 18))
#: What stands in the directories of programs where PATH is not set.
_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: Directories that each host has for itself (crates/guest/src/hosts.rs).
_OWN = ("/proc", "/sys", "/run", "/dev")

#: Beside the message of a run that stood still.
HINT = (
    ". Virtual time passes while all programs wait: one that computes without end, or reads the "
    "clock until its time has come, keeps it from passing"
)


def environment() -> dict[str, str]:
    """The variables that programs have: few, so that a run is the same for everybody."""
    return {
        "PATH": os.environ.get("PATH") or _USUAL_PATH,
        "HOME": os.environ.get("HOME") or "/",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


def directory() -> Path:
    """The working directory of programs: this one, if they can have it."""
    try:
        found = Path.cwd()
        str(found).encode("utf-8")
    except FileNotFoundError:
        raise InputError(
            "programs: the current directory was removed; change to another one"
        ) from None
    except UnicodeEncodeError:
        raise InputError(
            f"programs: the current directory, {str(found)!r}, is not UTF-8; start from another one"
        ) from None
    for own in map(Path, _OWN):
        if own in (found, *found.parents):
            raise InputError(
                f"programs: each host has a {own} of its own, without {found}; start from another "
                "directory"
            )
    return found


def equip(plan: dict[str, Any]) -> None:
    """Complete the programs of a plan with what this machine decides."""
    if not plan.get("programs"):
        return
    plan["date_s"] = DATE_S
    for program in plan["programs"]:
        program["environment"] = list(environment().items())
        program["directory"] = str(directory())


def commands(plan: dict[str, Any], named: Sequence[dict[str, Any]]) -> list[Command]:
    """The commands of some programs of a plan."""
    return [Command(plan["hosts"][one["host"]]["name"], tuple(one["command"])) for one in named]


def kept_paths(plan: dict[str, Any]) -> list[KeptPath]:
    """The files that the experiment of a plan keeps."""
    return [
        KeptPath(plan["hosts"][one["host"]]["name"], one["path"]) for one in plan.get("keep", ())
    ]


def ran(data: _core.LinuxData) -> dict[str, Any]:
    """What programs did, for a summary."""
    programs: list[dict[str, Any]] = json.loads(data.programs)
    ended = {} if data.ended_s is None else {"ended_s": data.ended_s}
    return {"programs": programs, **ended} if programs else {}


def cautions(data: _core.LinuxData) -> list[str]:
    """One sentence for each program that failed."""
    said = []
    for program in json.loads(data.programs):
        what = f"{program['id']}: {program['command'][0]} on {program['host']}"
        if program["failure"] is not None:
            said.append(f"{what} could not be started: {program['failure']}")
        elif program["signal"] is not None:
            said.append(f"{what} was ended by signal {program['signal']}")
        elif program["exit_code"]:
            said.append(f"{what} ended with exit code {program['exit_code']}")
    return said
