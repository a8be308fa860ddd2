"""Files of hosts that are kept after a run: which, where they go, and what became of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fairway.errors import InputError, writing
from fairway.ground import text
from fairway.ground.temporary import Temporary

#: Names in the run directory (`crates/guest/src/record.rs`).
_SAVED, _LIST = "saved", "saved.json"
#: Longest path that a kernel takes (`PATH_MAX` of linux/limits.h, with its end).
_MOST_BYTES = 4095


@dataclass(frozen=True)
class Keep:
    """A file of a host, or a directory of which the files are kept that were written in it.

    Attributes:
        host: Name of the host; None for that of the command.
        path: Its path, from the working directory or the root.
    """

    host: str | None
    path: PurePosixPath

    @staticmethod
    def parse(words: str) -> Keep:
        """Read "copy", "/var/log/nginx" or "s0:/var/log/nginx"."""
        host: str | None
        host, colon, path = words.partition(":")
        if not colon or "/" in host:
            host, path = None, words
        if host == "" or not path:
            raise InputError(
                f"--keep: expected PATH or HOST:PATH, got {words!r}; write s0:/var/log"
            )
        found = PurePosixPath(path)
        if ".." in found.parts:
            raise InputError(f"--keep: {words!r}: has a .. in it; write the whole path")
        if found.is_absolute() and len(found.parts) == 1:
            raise InputError(f"--keep: {words!r}: all files of a host; name some of them")
        if len(path.encode("utf-8", "surrogateescape")) > _MOST_BYTES:
            raise InputError(f"--keep: a path of more than {_MOST_BYTES} bytes")
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"--keep: {words!r}: is not UTF-8; name its directory") from None
        return Keep(host, found)

    def place(self, host: str) -> PurePosixPath:
        """Where it goes below the directory of all files that are kept."""
        return PurePosixPath(host.translate(str.maketrans("./", "__")), *self._parts)

    @property
    def _parts(self) -> tuple[str, ...]:
        return self.path.parts[1:] if self.path.is_absolute() else self.path.parts


def ask(plan: dict[str, Any], keeps: Sequence[Keep], host: int) -> None:
    """Have a plan keep files, beside those that its experiment keeps.

    Args:
        plan: It is changed.
        keeps: What is to be kept.
        host: Index of the command's host.
    """
    names = [one["name"] for one in plan["hosts"]]
    for keep in keeps:
        name = names[host] if keep.host is None else keep.host
        if name not in names:
            raise InputError(
                f"--keep: no program reaches a host {name!r}; a path with a colon begins with ./"
            )
        plan.setdefault("keep", []).append({"host": names.index(name), "path": str(keep.path)})


def equip(plan: dict[str, Any], directory: Path) -> list[Path]:
    """Complete what a plan keeps with the working directory of all programs.

    Returns:
        Where each goes below the directory of all files that are kept.
    """
    places: list[Path] = []
    for one in plan.get("keep", []):
        keep = Keep(plan["hosts"][one["host"]]["name"], PurePosixPath(one["path"]))
        place = Path(keep.place(keep.host or ""))
        for other in places:
            if place == other or place in other.parents or other in place.parents:
                raise InputError(f"keep: {place} and {other} would be at the same place")
        places.append(place)
        one["path"] = str(directory / keep.path)
    return places


@dataclass
class SavedFiles:
    """Files that were kept, in a temporary directory.

    Attributes:
        directory: It holds them at their places, and goes with the object.
        said: A sentence for each path that was not kept whole.
        failed: Whether one was not kept at all.
    """

    directory: Temporary
    said: list[str]
    failed: bool


def collect(run_directory: Path, places: Sequence[Path]) -> SavedFiles | None:
    """Take the files out of a run directory; None if nothing was to be kept."""
    if not (run_directory / _LIST).is_file():
        return None
    found = json.loads((run_directory / _LIST).read_text("utf-8"))
    saved = SavedFiles(Temporary("fairway-files-"), [], failed=False)
    with writing(saved.directory.path):
        for index, (place, one) in enumerate(zip(places, found, strict=True)):
            if one["failure"] is not None:
                saved.said.append(f"keep: {_shown(place)}: not kept: {one['failure']}")
                saved.failed = True
                continue
            if one["left_out"]:
                others = text.count(one["left_out"], "special file")
                saved.said.append(f"keep: {_shown(place)}: left out {others}")
            target = saved.directory.path / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(run_directory / _SAVED / str(index), target)
    return saved


def _shown(place: Path) -> str:
    """A place as it was asked for."""
    host, *parts = place.parts
    return f"{host}:{'/'.join(parts)}"
