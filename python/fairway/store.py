"""Result directories: written whole or not at all, and found again by content."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fairway import shape
from fairway.errors import InputError, read_text, writing

MANIFEST = "manifest.json"
#: Sub-directory of a sweep that holds one run directory a point.
POINTS = "points"
#: File that marks a directory as one of a comparison of backends, each of which has a sweep in it.
COMPARISON = ".comparison"
#: File that marks a directory as one of a study of parts, each of which has a sweep in it.
PARTS = ".parts"
#: File that marks a directory as one of several studies, each of which has a directory in it.
STUDIES = ".studies"
#: File that marks a directory as one of runs held against golden traces, and what that is called.
FIDELITY = ".fidelity"
FIDELITY_KIND = "comparison with golden traces"
#: File of a golden recording that says what recorded it.
RECORDED = "recorded.json"
#: Digest of the program that computed a result; only `reusable` reads it.
ENGINE = ".engine"
_MAX_JSON_BYTES = 64 << 20


def content_hash(
    experiment: dict[str, Any],
    backend: str,
    version: str,
    algorithms: Mapping[str, Mapping[str, str | None]] | None = None,
) -> str:
    """SHA-256 over everything that decides a result, the same on every machine.

    Args:
        experiment: The experiment's document, its seed included.
        backend: Name of the backend.
        version: Version of Fairway.
        algorithms: The user's own, as `fairway.algorithm.Algorithms.used` describes them.
    """
    content: dict[str, Any] = {"backend": backend, "experiment": experiment, "version": version}
    if algorithms:
        content["algorithms"] = {name: code["sha256"] for name, code in algorithms.items()}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def study_directory(out: str | Path | None, key: str, *, quick: bool) -> Path:
    """Where the results of a study go.

    Args:
        out: Where they are wanted; `runs/<key>` if not given.
        key: Key of the study, or "all".
        quick: Whether it is the shortened form, which has a directory of its own.
    """
    return Path(out) if out else Path("runs") / (f"{key}-quick" if quick else key)


def check_writable(directory: Path, kind: str) -> None:
    """Find out, before anything is computed, whether `directory` can be made and filled.

    Args:
        directory: Where a result shall go.
        kind: "run", "sweep", "comparison", "study of parts", "set of studies", "comparison with
            golden traces" or "golden recording"; one does not replace another.

    Raises:
        InputError: If not, or if it holds something other than results of that kind.
    """
    with writing(directory):
        if directory.exists() and not directory.is_dir():
            raise InputError(
                f"cannot write {directory}: a file of that name exists; "
                "choose another path or remove it"
            )
        if directory.is_dir() and (found := _kind(directory)) not in (f"a {kind}", "nothing"):
            raise InputError(
                f"cannot write {directory}: it holds {found}, which would be "
                "replaced; choose a new directory or empty this one"
            )
        if kind in ("run", "golden recording") and _cannot_move(directory):
            raise InputError(
                f"cannot write {directory}: results are moved into place whole, which the current "
                "directory, one above it or a mount point cannot be; name a directory in it"
            )
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory.parent, prefix=".fairway-probe-"):
            pass
        if directory.is_dir():
            with tempfile.NamedTemporaryFile(dir=directory, prefix=".fairway-probe-"):
                pass


def write_directory(directory: Path, fill: Callable[[Path], None], kind: str = "run") -> None:
    """Make a result directory that appears under its name only when it is complete.

    `fill` writes into a temporary sibling, which is flushed to disk and renamed. An older result
    of that name and kind is replaced; whatever goes wrong before the rename leaves it as it was.

    Raises:
        InputError: If anything cannot be written; nothing is left behind.
    """
    check_writable(directory, kind)
    directory = directory.resolve()  # what a link leads to is replaced, and the link stays
    temporary = _temporary_sibling(directory)
    try:
        with writing(directory):
            fill(temporary)
            _flush_tree(temporary)
            move_into_place(temporary, directory)
            flush_directory(directory.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def write_file(path: Path, data: bytes | str | Iterable[str], *, flush: bool = True) -> None:
    """Write one file, whole or in pieces, that appears under its name only when it is complete.

    Args:
        path: The file.
        data: What is in it.
        flush: Whether it shall outlast a power cut; what is made again from other files need not.
    """
    pieces = [data] if isinstance(data, bytes | str) else data
    temporary: str | None = None
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
            with os.fdopen(descriptor, "wb") as file:
                for piece in pieces:
                    file.write(piece.encode() if isinstance(piece, str) else piece)
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
    """Read a JSON file of a result directory.

    Args:
        path: The file.
        what: What it is, for messages: "summary".
        expected: Its shape, as `fairway.shape.problem` takes it.

    Raises:
        InputError: If it is missing, unreadable or damaged.
    """
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
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def reusable(directory: Path, expected_hash: str, engine: str) -> bool:
    """Whether `directory` holds the complete result of that content, computed by that program."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text("utf-8"))
        found = (directory / ENGINE).read_text("utf-8").strip()
    except (OSError, ValueError):
        return False
    return (
        isinstance(manifest, dict)
        and manifest.get("content_hash") == expected_hash
        and found == engine
        and engine != "unknown"
    )


def _kind(directory: Path) -> str:
    names = {entry.name for entry in directory.iterdir()}
    if not names:
        return "nothing"
    if POINTS in names:
        return "a sweep"
    if COMPARISON in names:
        return "a comparison"
    if PARTS in names:
        return "a study of parts"
    if STUDIES in names:
        return "a set of studies"
    if FIDELITY in names:
        return f"a {FIDELITY_KIND}"
    if RECORDED in names:
        return "a golden recording"
    return "a run" if MANIFEST in names else "other files"


def _temporary_sibling(directory: Path) -> Path:
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
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(content)


def flush_file_system(root: Path) -> None:
    """Flush everything below `root` to disk, in one go where the system can (`syncfs` of Linux)."""
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
    aside = directory.with_name(f"{temporary.name}-old")
    while True:
        try:
            temporary.rename(directory)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                if aside.exists() and not directory.exists():
                    aside.rename(directory)
                raise
        shutil.rmtree(aside, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            directory.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
