"""Result directories: written whole or not at all, and found again by content."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.errors import InputError, writing
from fairway.ground import disk, inventory, names, regular, replacing, shape
from fairway.ground.scratch import (
    ASIDE,
    FILLING,
    WHOLE,
    Scratch,
    aside_of,
    discard,
    locked,
    move_whole,
)

MANIFEST, SUMMARY, POINTS = replacing.MANIFEST, replacing.SUMMARY, replacing.POINTS
#: What runs held against golden traces are called.
FIDELITY_KIND = "comparison with golden traces"
#: File of a golden recording that says what recorded it.
RECORDED = "recorded.json"
#: Digest of the program that computed a result; only `reusable` reads it.
ENGINE = ".engine"
#: Files that are flushed one by one: of more, the whole file system is.
_FEW = 8
#: What is copied at a time.
_BUFFER_BYTES = 1 << 20


def content_hash(
    experiment: _core.Planned | Mapping[str, Any],
    backend: str,
    version: str,
    algorithms: Mapping[str, Mapping[str, str | None]] | None = None,
) -> str:
    """SHA-256 over everything that decides a result, the same on every machine."""
    import hashlib

    own = {name: code["sha256"] for name, code in (algorithms or {}).items()}
    known = f'"algorithms":{_canonical(own)},' if own else ""
    if isinstance(experiment, _core.Planned):
        document = experiment.canonical()
    else:
        document = _canonical(experiment)
    text = f'{{{known}"backend":"{backend}","experiment":{document},"version":"{version}"}}'
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: object) -> str:
    """A value as JSON that is the same for all that are equal."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def study_directory(out: str | Path | None, key: str, *, quick: bool) -> Path:
    """Where the results of a study go: `runs/<key>` if nothing else is wanted."""
    return Path(out) if out else Path("runs") / (f"{key}-quick" if quick else key)


def mark(
    directory: Path,
    kind: str,
    source: str | None = None,
    check: Callable[[], object] = replacing.nothing,
) -> None:
    """Make a directory one of a kind that grows; it has to be writable as such.

    `check` is what refused another result there before: of two processes that begin in one
    directory at the same time, the second is refused.
    """
    with writing(directory):
        disk.make_directories(directory)
        with locked(directory):
            replacing.refuse_others(directory, kind)
            check()
            there = inventory.read(directory)
            wanted = inventory.Inventory(kind, source or (there.source if there else None))
            if there != wanted:
                write_file(directory / inventory.NAME, wanted.to_bytes())


def add(directory: Path, files: Mapping[str, bytes]) -> None:
    """Add files to a result, or replace them, and put them on its list if it has one.

    Names have "/" between their parts. Something of somebody else that has the name of one is
    replaced, and never listed.
    """
    with writing(directory):
        disk.make_directories(directory)
        with locked(directory):
            write_together(directory, {**_listed(directory, files), **files})


def add_to_runs(points: Path, files: Mapping[str, Mapping[str, bytes]]) -> None:
    """Add files to several runs of a sweep at once: of each its directory's name and its files."""
    with writing(points), locked(points):
        changed = {
            f"{run}/{name}": content
            for run, own in files.items()
            for name, content in {**_listed(points / run, own), **own}.items()
        }
        write_together(points, changed)


def _listed(directory: Path, files: Iterable[str]) -> dict[str, bytes]:
    """The list of a result with these files on it, by its name; nothing if it is to stay."""
    there = inventory.read(directory)
    if there is None or there.kind not in replacing.REPLACED:
        return {}
    listed = {*there.files, *files}.difference(inventory.unknown(directory))
    if listed == set(there.files):
        return {}
    return {inventory.NAME: replace(there, files=tuple(listed)).to_bytes()}


def write_together(
    directory: Path,
    files: Mapping[str, bytes | str | Iterable[bytes]],
    *,
    remove: Iterable[str] = (),
) -> None:
    """Write files into a directory, all or none: whoever comes after a crash moves the rest.

    `remove` names files there that say something of older ones.
    """
    with Scratch(directory) as scratch, writing(directory):
        for name in files:
            names.inside(directory, name, str(directory))
        filling = scratch.path / FILLING
        disk.make_directory(filling)
        few = len(files) <= _FEW
        for name, content in files.items():
            disk.make_directories((filling / name).parent)
            data = content.encode() if isinstance(content, str) else content
            disk.write_new(filling / name, data, flush=few)
        if few:
            for folder in sorted({(filling / name).parent for name in [*files, "-"]}):
                disk.sync_directory(folder)
        else:
            flush_file_system(filling)
        for name in remove:
            with contextlib.suppress(FileNotFoundError):
                disk.remove_file(directory / name)
        disk.rename(filling, scratch.path / WHOLE)
        disk.sync_directory(scratch.path)
        move_whole(scratch.path, directory)


def write_directory(
    directory: Path,
    fill: Callable[[Path], object],
    kind: str = "run",
    source: str | None = None,
    check: Callable[[], object] = replacing.nothing,
) -> None:
    """Make a result directory that appears under its name only when it is complete.

    `fill` writes into a hidden directory beside it, which is flushed to disk and exchanged with an
    older result of that name and kind; whatever goes wrong before leaves that as it was. `check`
    refuses what may not be replaced, when nobody else can put anything there.
    """
    replacing.check_writable(directory, kind)
    check()
    directory = names.real(directory)  # what a link leads to is replaced, and the link stays
    with Scratch(directory.parent, directory.name) as scratch, writing(directory):
        staged = scratch.path / directory.name
        disk.make_directory(staged)
        fill(staged)
        if kind in replacing.REPLACED:
            write_inventory(staged, kind, source)
        _flush_tree(staged)
        disk.sync_directory(scratch.path)
        with locked(directory.parent):
            put_in_place(scratch, staged, directory, kind, check)
        disk.sync_directory(directory.parent)


def put_in_place(
    scratch: Scratch,
    staged: Path,
    directory: Path,
    kind: str,
    check: Callable[[], object] = replacing.nothing,
) -> None:
    """Give a complete directory its name, in exchange for an older result; its parent is locked.

    What somebody has put into the older result meanwhile stays beside it, with a warning.
    """
    if directory.is_dir():
        replacing.refuse_others(directory, kind)
        check()
        if inventory.read(directory) is None:
            disk.remove_directory(directory)  # an empty one
    if not directory.is_dir():
        _give_new_name(staged, directory)
        return
    waiting = scratch.path / ASIDE / directory.name
    disk.make_directories(waiting.parent)
    disk.rename(staged, waiting)
    try:
        disk.exchange(waiting, directory)
    except OSError as error:
        if error.errno not in disk.LACKING:
            raise
        # Between the last two, nothing has that name: after a crash, `settle` gives it back.
        disk.rename(waiting, staged)
        disk.rename(directory, waiting)
        disk.rename(staged, directory)
    # Otherwise a power cut might undo the exchange after files of the older one have gone.
    disk.sync_directory(directory.parent)
    # If this fails, it is removed with the scratch directory.
    with contextlib.suppress(OSError, InputError):
        discard(waiting, aside_of(scratch.path, directory.name))


def _give_new_name(staged: Path, directory: Path) -> None:
    try:
        disk.rename_new(staged, directory)
    except OSError as error:
        if error.errno not in disk.LACKING:
            raise
        disk.rename(staged, directory)  # refused by the system if it is not an empty directory


def write_inventory(directory: Path, kind: str, source: str | None = None) -> None:
    """List everything that is in a new directory, not yet flushed to disk."""
    found = inventory.of(directory, kind, source)
    disk.write_new(directory / inventory.NAME, found.to_bytes(), flush=False)


def write_file(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """Write one file, whole or in pieces, that appears under its name only when it is complete."""
    whole = data.encode() if isinstance(data, str) else data
    with Scratch(path.parent, path.name) as scratch, writing(path):
        staged = scratch.path / path.name
        disk.write_new(staged, whole, flush=True)
        disk.rename(staged, path)
        disk.sync_directory(path.parent)


def read_json(path: Path, what: str, expected: Any) -> Any:
    """Read a JSON file of a result directory that has a shape; messages call it `what`."""
    if not path.exists():
        raise InputError(f"{path}: missing; run the experiment again")
    try:
        value = json.loads(
            regular.read(path).decode(), parse_constant=_refuse, object_pairs_hook=_distinct
        )
    except OSError as error:
        raise InputError(f"{path}: cannot read this {what}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged {what}: {error}; run the experiment again") from None
    if wrong := shape.problem(value, expected):
        raise InputError(f"{path}: damaged {what}: {wrong}; run the experiment again")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"key {key!r} stands twice in one object")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def to_json(value: Any) -> str:
    """Readable JSON with a line break at the end; refuses NaN, which JSON cannot hold."""
    # `json` has its indentation in Python alone, which takes twenty times as long.
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _core.indented(compact) + "\n"


def reusable(directory: Path, expected_hash: str, engine: str) -> bool:
    """Whether `directory` holds the complete result of that content, computed by that program."""
    try:
        found = regular.read(directory / ENGINE).decode().strip()
    except (OSError, ValueError):
        return False
    is_same = replacing.manifest_of(directory).get("content_hash") == expected_hash
    return is_same and found == engine != "unknown"


def _flush_tree(root: Path) -> None:
    for folder, _, files in disk.walk(root):
        for name in files:
            descriptor = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                disk.sync(descriptor)
            finally:
                disk.close(descriptor)
        disk.sync_directory(folder)


def flush_file_system(root: Path) -> None:
    """Flush everything below `root` to disk, in one go where the system can (`syncfs` of Linux)."""
    descriptor = disk.open_directory(root)
    try:
        disk.sync_file_system(descriptor)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        _flush_tree(root)
    finally:
        disk.close(descriptor)


def write_files(directory: Path, files: Mapping[str, bytes | str]) -> None:
    """Write files of these names and contents to a new directory, not yet flushed to disk."""
    disk.make_directories(directory)
    for name, content in files.items():
        if "/" in name:
            disk.make_directories((directory / name).parent)
        data = content.encode() if isinstance(content, str) else content
        disk.write_new(directory / name, data, flush=False)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a directory of files and directories, into another that may be there.

    Raises:
        OSError: What befell the first file that could not be copied; `shutil.copytree` goes on, and
            raises a list of texts without a number.
    """
    disk.make_directories(target)
    for entry in sorted(source.iterdir()):
        if entry.is_dir():
            copy_tree(entry, target / entry.name)
        else:
            copy_file(entry, target / entry.name)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file with its permissions, not yet flushed to disk."""
    with regular.opened(source) as file:
        pieces = iter(lambda: file.read(_BUFFER_BYTES), b"")
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        disk.write_new(target, pieces, flush=False, mode=mode)
