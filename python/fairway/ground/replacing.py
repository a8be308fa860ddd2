"""Which results may be written to a directory, and which may take the place of those in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway.errors import InputError, writing
from fairway.ground import disk, inventory, names, regular
from fairway.ground.kernels import releases
from fairway.ground.scratch import is_scratch, settle

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
#: Sub-directory of a sweep that holds one run directory a point.
POINTS = "points"
#: Kinds of results that are replaced whole; the others grow, and nothing in them is removed.
REPLACED = ("run", "golden recording", "comparison of captures")
#: How to replace the run of another experiment.
REPLACE = "give --replace (in Python, replace=True)"
#: Differences that an error message gives before it counts the rest.
_NAMED = 3
#: Values of a path that an experiment does not have.
_NOTHING: dict[str, None] = {"nothing": None}


def nothing() -> None:
    """Refuse nothing: any result of the kind may be there."""


def check_writable(directory: Path, kind: str) -> None:
    """Find out, before anything is computed, whether `directory` can be made and filled.

    A result of one kind ("run", "sweep", "study", …) does not replace one of another.
    """
    settle(directory.parent)
    settle(directory)
    with writing(directory):
        if directory.exists() and not directory.is_dir():
            raise InputError(
                f"cannot write {directory}: a file of that name exists; "
                "choose another path or remove it"
            )
        if directory.is_dir():
            refuse_others(directory, kind)
        if kind in REPLACED and _cannot_move(directory):
            raise InputError(
                f"cannot write {directory}: results are moved into place whole, which the current "
                "directory, one above it or a mount point cannot be; name a directory in it"
            )
        disk.make_directories(directory.parent)
        for place in (directory.parent, *([directory] if directory.is_dir() else [])):
            disk.try_to_write(place)


def refuse_others(directory: Path, kind: str) -> None:
    """Refuse a directory that is not empty, unless it holds a result of that kind.

    Where the result would be replaced, it may hold nothing else either.
    """
    entries = [path for path in directory.iterdir() if path.name != inventory.LOCK]
    found = sorted(path.name for path in entries if not is_scratch(path))
    if kind in REPLACED and len(found) < len(entries):
        raise InputError(
            f"cannot replace {directory}: another process is writing into it; wait until it has "
            "ended, or choose another directory"
        )
    if not found:
        return
    there = inventory.read(directory)
    if there is None:
        raise InputError(
            f"cannot write {directory}: it holds other files ({inventory.named(found)}), and no "
            f"list of Fairway's own, {inventory.NAME}; choose a new directory or empty this one"
        )
    if there.kind != kind:
        raise InputError(
            f"cannot write {directory}: it holds a {there.kind}, not a {kind}; choose a new "
            "directory or empty this one"
        )
    if kind in REPLACED and (unknown := inventory.unknown(directory)):
        raise InputError(
            f"cannot replace {directory}: it also holds {inventory.named(unknown)}, which Fairway "
            "did not write; move that away, or choose a new directory"
        )


def refuse_another(
    directory: Path,
    source: str | None,
    *,
    planned: Callable[[], Mapping[str, Mapping[str, Any]]] | None = None,
    kernel: Callable[[], str] | None = None,
    remedy: str = "remove this one",
    replace: bool = False,
) -> None:
    """Refuse to write into a directory that holds the result of another experiment.

    What the same command has left there may be replaced, and so may runs that are all asked for
    again; neither if they ran on another kernel.

    Args:
        directory: Where a result shall go, writable as such.
        source: Digest of what is asked for, as `inventory.source_of` gives it; None if unknown.
        planned: Gives each run that is asked for, if known: its `content_hash` -> its document and
            `backend`, to say how they differ.
        kernel: Gives the release of the kernel that runs are asked of, if of one.
        remedy: What to do, other than to choose a new directory.
        replace: Whether it may be replaced all the same.
    """
    there = inventory.read(directory)
    if replace or there is None:
        return
    if kernel is not None:
        _refuse_another_kernel(directory, kernel, remedy)
    if source is not None and there.source == source:
        return
    if there.kind not in REPLACED and None in (source, there.source):
        return  # it grows, and nothing is lost
    manifest = manifest_of(directory)
    different = ""
    if planned is not None:
        new = planned()
        old, is_complete = _runs_in(directory, manifest)
        if old and old.keys() <= new.keys():
            return
        found = [experiment for experiment in old.values() if experiment]
        differences = _differences(found, list(new.values()), is_complete=is_complete)
        more = [f"and {len(differences) - _NAMED} more"] if len(differences) > _NAMED else []
        if found and differences:
            different = f" ({'; '.join([*differences[:_NAMED], *more])})"
    title = manifest.get("title")
    if not different and isinstance(title, str):
        different = f", {title!r}"
    what = "results of a different experiment"
    if there.kind not in ("run", "sweep"):
        what = f"results of a different {there.kind}"
    raise InputError(
        f"cannot replace {directory}: it holds the {what}{different}; "
        f"choose another directory, or {remedy}"
    )


def refuse_another_backend(directory: Path, backend: str) -> None:
    """Refuse a sweep of which another backend has answered runs, as far as it says so."""
    manifest = manifest_of(directory)
    runs, _ = _runs_in(directory, manifest)
    said = {manifest.get("backend"), *(run.get("backend") for run in runs.values())}
    if others := sorted(one for one in said if isinstance(one, str) and one != backend):
        raise InputError(
            f"cannot replace {directory}: it holds the results of another backend (backend: "
            f"{inventory.named(others)} there, {backend} here); choose another directory with "
            "--out, or remove this one"
        )


def _refuse_another_kernel(directory: Path, kernel: Callable[[], str], remedy: str) -> None:
    """Refuse a run, or a sweep with directories of its runs, of which one ran on another kernel."""
    places = (directory, *_run_directories(directory / POINTS, SUMMARY))
    there = releases(content_of(place / SUMMARY) for place in places)
    if there and (others := set(there) - {here := kernel()}):
        raise InputError(
            f"cannot replace {directory}: it holds the results of another kernel (Linux "
            f"{inventory.named(sorted(others))} there, {here} here); choose another directory, or "
            f"{remedy}"
        )


def manifest_of(directory: Path) -> dict[str, Any]:
    """A manifest as it is, or nothing where there is none that can be read."""
    return content_of(directory / MANIFEST)


def content_of(path: Path) -> dict[str, Any]:
    """The object in a file, or nothing where there is none that can be read."""
    try:
        found = json.loads(regular.read(path).decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _runs_in(
    directory: Path, manifest: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], bool]:
    """The runs of a result, each by its hash, and whether they are all.

    A run has its document and backend; nothing if only its summary is kept. Of a sweep that was
    stopped, they are those that it finished.
    """
    if isinstance(manifest.get("experiment"), dict):
        return {str(manifest.get("content_hash")): _asked(manifest)}, True
    points = directory / POINTS
    entries = manifest.get("points")
    if isinstance(entries, list):
        return {
            str(entry.get("content_hash")): _asked(manifest_of(place_of(points, name, index)))
            if (name := entry.get("directory")) is not None
            else {}
            for index, entry in enumerate(entries)
            if isinstance(entry, dict)
        }, True
    found = [manifest_of(place) for place in _run_directories(points, MANIFEST)]
    return {str(one.get("content_hash")): _asked(one) for one in found}, False


def _run_directories(points: Path, file: str) -> list[Path]:
    """The directories in `points` that hold a file; none if `points` is missing."""
    try:
        return sorted(path for path in points.iterdir() if (path / file).exists())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise InputError(f"{points}: cannot read this directory: {error.strerror}") from error


def place_of(points: Path, name: Any, index: int) -> Path:
    """The directory of a run that the manifest of a sweep names, by the place of its entry."""
    return names.inside(
        points, str(name), f"{points.with_name(MANIFEST)}: points.{index}.directory"
    )


def _asked(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a run and its backend."""
    experiment = manifest.get("experiment")
    if not isinstance(experiment, dict):
        return {}
    return {"backend": manifest.get("backend"), **experiment}


def _differences(
    there: Sequence[Mapping[str, Any]], here: Sequence[Mapping[str, Any]], *, is_complete: bool
) -> list[str]:
    """Where the runs of two experiments differ, each path in words.

    What runs that are not all of theirs lack is no difference.
    """
    old, new = _values_of(there), _values_of(here)
    return [
        f"{path}: {inventory.named(list(was))} there, {inventory.named(list(now))} here"
        for path in {**old, **new}
        for was, now in [(old.get(path, _NOTHING), new.get(path, _NOTHING))]
        if not (was.keys() <= now.keys() and (now.keys() <= was.keys() or not is_complete))
    ]


def _values_of(experiments: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, None]]:
    """Every path of experiments with its values as they are shown, each once and in order."""
    found: dict[str, dict[str, None]] = {}
    for path, value in (pair for experiment in experiments for pair in _values(experiment)):
        found.setdefault(path, {})[_shown(value)] = None
    return found


def _values(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of an experiment with its path."""
    if not isinstance(value, Mapping | list):
        yield path, value
        return
    for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _values(inner, f"{path}.{key}" if path else str(key))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return (text[1:-1] or text) if isinstance(value, str) else text


def _cannot_move(directory: Path) -> bool:
    place, here = names.real(directory), names.real(Path.cwd())
    return place in (here, *here.parents) or place.is_mount()
