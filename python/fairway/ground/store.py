"""Result directories: written whole or not at all, and found again by content."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.errors import InputError, read_text, writing
from fairway.ground import inventory, shape

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
#: Sub-directory of a sweep that holds one run directory a point.
POINTS = "points"
#: What runs held against golden traces are called.
FIDELITY_KIND = "comparison with golden traces"
#: Kinds of results that are replaced whole; the others grow, and nothing in them is removed.
_REPLACED = ("run", "golden recording", "comparison of captures")
#: File of a golden recording that says what recorded it.
RECORDED = "recorded.json"
#: Digest of the program that computed a result; only `reusable` reads it.
ENGINE = ".engine"
#: How to replace the run of another experiment.
REPLACE = "give --replace (in Python, replace=True)"
#: Differences that an error message gives before it counts the rest.
_NAMED = 3
#: Values of a path that an experiment does not have.
_NOTHING: dict[str, None] = {"nothing": None}
_MAX_JSON_BYTES = 64 << 20
#: What is written at a time of a file of many pieces.
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


def check_writable(directory: Path, kind: str) -> None:
    """Find out, before anything is computed, whether `directory` can be made and filled.

    A result of one kind ("run", "sweep", "study", …) does not replace one of another.
    """
    import tempfile

    with writing(directory):
        if directory.exists() and not directory.is_dir():
            raise InputError(
                f"cannot write {directory}: a file of that name exists; "
                "choose another path or remove it"
            )
        if directory.is_dir():
            _refuse_others(directory, kind)
        if kind in _REPLACED and _cannot_move(directory):
            raise InputError(
                f"cannot write {directory}: results are moved into place whole, which the current "
                "directory, one above it or a mount point cannot be; name a directory in it"
            )
        directory.parent.mkdir(parents=True, exist_ok=True)
        # Without a name, where the system can: another process may look into the directory.
        for place in (directory.parent, *([directory] if directory.is_dir() else [])):
            with tempfile.TemporaryFile(dir=place):
                pass


def _refuse_others(directory: Path, kind: str) -> None:
    """Refuse a directory that is not empty, unless it holds a result of that kind.

    Where the result would be replaced, it may hold nothing else either.
    """
    names = sorted(path.name for path in directory.iterdir())
    if not names:
        return
    there = inventory.read(directory)
    if there is None:
        raise InputError(
            f"cannot write {directory}: it holds other files ({inventory.named(names)}), and no "
            f"list of Fairway's own, {inventory.NAME}; choose a new directory or empty this one"
        )
    if there.kind != kind:
        raise InputError(
            f"cannot write {directory}: it holds a {there.kind}, not a {kind}; choose a new "
            "directory or empty this one"
        )
    if kind in _REPLACED and (unknown := inventory.unknown(directory)):
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
    if there.kind not in _REPLACED and None in (source, there.source):
        return  # it grows, and nothing is lost
    manifest = _manifest_of(directory)
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


def _refuse_another_kernel(directory: Path, kernel: Callable[[], str], remedy: str) -> None:
    """Refuse a run, or a sweep with directories of its runs, of which one ran on another kernel."""
    runs = (path.parent for path in sorted((directory / POINTS).glob(f"*/{SUMMARY}")))
    summaries = (_content_of(place / SUMMARY) for place in (directory, *runs))
    kernels = [of for summary in summaries if isinstance(of := summary.get("kernel"), dict)]
    there = {str(of["release"]) for of in kernels if "release" in of}
    if there and (others := there - {here := kernel()}):
        raise InputError(
            f"cannot replace {directory}: it holds the results of another kernel (Linux "
            f"{inventory.named(sorted(others))} there, {here} here); choose another directory, or "
            f"{remedy}"
        )


def _manifest_of(directory: Path) -> dict[str, Any]:
    """A manifest as it is, or nothing where there is none that can be read."""
    return _content_of(directory / MANIFEST)


def _content_of(path: Path) -> dict[str, Any]:
    """The object in a file, or nothing where there is none that can be read."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


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
            str(entry.get("content_hash")): _asked(_manifest_of(points / str(entry["directory"])))
            if entry.get("directory")
            else {}
            for entry in entries
            if isinstance(entry, dict)
        }, True
    found = [_manifest_of(path.parent) for path in sorted(points.glob(f"*/{MANIFEST}"))]
    return {str(one.get("content_hash")): _asked(one) for one in found}, False


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


def mark(directory: Path, kind: str, source: str | None = None) -> None:
    """Make a directory one of a kind that grows; it has to be writable as such."""
    there = inventory.read(directory)
    wanted = inventory.Inventory(kind, source or (there.source if there else None))
    if there != wanted:
        write_file(directory / inventory.NAME, wanted.to_bytes())


@contextlib.contextmanager
def listing(directory: Path) -> Iterator[None]:
    """Put files that are written meanwhile into a run's directory on its list, if it has one."""
    there = inventory.read(directory)
    if there is None or there.kind not in _REPLACED:
        yield
        return
    before = inventory.unknown(directory)
    try:
        yield
    finally:
        new = {name for name in inventory.unknown(directory) if not name.endswith("/")}
        names = new.union(there.files).difference(before)
        if names != set(there.files):
            wanted = replace(there, files=tuple(names))
            write_file(directory / inventory.NAME, wanted.to_bytes(), flush=False)


def write_directory(
    directory: Path,
    fill: Callable[[Path], None],
    kind: str = "run",
    source: str | None = None,
) -> None:
    """Make a result directory that appears under its name only when it is complete.

    `fill` writes into a temporary sibling, which is flushed to disk and renamed. An older result
    of that name and kind is replaced; whatever goes wrong before the rename leaves it as it was.
    """
    check_writable(directory, kind)
    directory = directory.resolve()  # what a link leads to is replaced, and the link stays
    temporary = _temporary_sibling(directory)
    try:
        with writing(directory):
            fill(temporary)
            if kind in _REPLACED:
                write_inventory(temporary, kind, source)
            _flush_tree(temporary)
            move_into_place(temporary, directory)
            flush_directory(directory.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def write_inventory(directory: Path, kind: str, source: str | None = None) -> None:
    """List everything that is in a new directory, not yet flushed to disk."""
    found = inventory.of(directory, kind, source)
    (directory / inventory.NAME).write_bytes(found.to_bytes())


def write_file(path: Path, data: bytes | str | Iterable[bytes], *, flush: bool = True) -> None:
    """Write one file, whole or in pieces, that appears under its name only when it is complete.

    `flush` makes it outlast a power cut; what is made again from other files need not.
    """
    import tempfile

    whole = data.encode() if isinstance(data, str) else data
    pieces = [whole] if isinstance(whole, bytes) else whole
    temporary: str | None = None
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
            with os.fdopen(descriptor, "wb", buffering=_BUFFER_BYTES) as file:
                for piece in pieces:
                    file.write(piece)
                if flush:
                    file.flush()
                    os.fsync(file.fileno())
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
            if flush:
                flush_directory(path.parent)
    except BaseException:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise


def read_json(path: Path, what: str, expected: Any) -> Any:
    """Read a JSON file of a result directory that has a shape; messages call it `what`."""
    if not path.exists():
        raise InputError(f"{path}: missing; run the experiment again")
    try:
        value = json.loads(read_text(path, what, _MAX_JSON_BYTES), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged {what}: {error}; run the experiment again") from None
    if wrong := shape.problem(value, expected):
        raise InputError(f"{path}: damaged {what}: {wrong}; run the experiment again")
    return value


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
        found = (directory / ENGINE).read_text("utf-8").strip()
    except (OSError, ValueError):
        return False
    is_same = _manifest_of(directory).get("content_hash") == expected_hash
    return is_same and found == engine != "unknown"


def _temporary_sibling(directory: Path) -> Path:
    import tempfile

    with writing(directory):
        path = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}-partial-"))
        path.chmod(0o777 & ~_umask())
        return path


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _flush_tree(root: Path) -> None:
    for folder, _, files in os.walk(root):
        for name in files:
            with (Path(folder) / name).open("rb") as file:
                os.fsync(file.fileno())
        flush_directory(Path(folder))


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files of these names and contents to a new directory, not yet flushed to disk."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if "/" in name:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a directory of files and directories, into another that may be there.

    Raises:
        OSError: What befell the first file that could not be copied; `shutil.copytree` goes on, and
            raises a list of texts without a number.
    """
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.is_dir():
            copy_tree(entry, target / entry.name)
        else:
            shutil.copy2(entry, target / entry.name)


def flush_file_system(root: Path) -> None:
    """Flush everything below `root` to disk, in one go where the system can (`syncfs` of Linux)."""
    import ctypes

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        _flush_tree(root)
        return
    descriptor = os.open(root, os.O_RDONLY)
    try:
        if syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(descriptor)


def flush_directory(directory: Path) -> None:
    """Flush the names in a directory to disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_move(directory: Path) -> bool:
    place, here = directory.resolve(), Path.cwd().resolve()
    return place in (here, *here.parents) or place.is_mount()


def move_into_place(temporary: Path, directory: Path) -> None:
    """Rename a complete directory to its name, in place of an older one."""
    # A directory cannot be renamed over a full one: the old result steps aside first, and comes
    # back if the new one cannot take its place. Another process may put its own there meanwhile,
    # which then steps aside as well: the last one stays, whole.
    stepped_aside: list[Path] = []
    while True:
        try:
            temporary.rename(directory)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                if stepped_aside and not directory.exists():
                    stepped_aside[-1].rename(directory)
                raise
        aside = directory.with_name(f"{temporary.name}-old{len(stepped_aside) or ''}")
        with contextlib.suppress(FileNotFoundError):
            directory.rename(aside)
            stepped_aside.append(aside)
    for aside in stepped_aside:
        if not inventory.remove(aside):
            warnings.warn(
                f"{aside}: holds what was put into {directory} while it was replaced",
                stacklevel=2,
            )
