"""Where captures of a run lie, until they are saved with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.errors import InputError
from fairway.ground import disk, store
from fairway.ground.temporary import Temporary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairway import _core

#: What to do where there is no room for them.
ELSEWHERE = "captures are written to a temporary directory first: set TMPDIR to one with room"

#: What `capture.at` is where nothing is captured, and where packets are captured at many places.
NOTHING = "nothing"
_MANY = (NOTHING, "hosts", "links", "everything")


def are_wanted(experiment: _core.Planned | Mapping[str, Any]) -> bool:
    """Whether an experiment's document asks for captures."""
    return bool(experiment.get("capture", {}).get("at", NOTHING) != NOTHING)


def new_directory() -> Temporary:
    """A temporary directory for captures."""
    return Temporary("fairway-captures-")


def copy(captures: Path, target: Path) -> None:
    """Copy a directory of captures, which takes no time and no room on the same file system."""
    disk.make_directories(target)
    for source in sorted(captures.iterdir()):
        try:
            disk.link(source, target / source.name)
        except OSError:
            store.copy_file(source, target / source.name)


def places(text: str) -> str | list[str]:
    """`capture.at` of the command line: "hosts" or the like, or names with commas between."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError('--capture: expected a place, such as "hosts" or "bottleneck,s0"')
    return names[0] if names[0] in _MANY and len(names) == 1 else names
