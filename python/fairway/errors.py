"""Errors of Fairway's own: each message says what was tried, what was found and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FairwayError(Exception):
    """An error with a complete message and the exit code a command ends with."""

    exit_code = 1


class InputError(FairwayError):
    """Something given by the user cannot be used: a file, a value, a directory."""

    exit_code = 2


class ExperimentError(FairwayError, ValueError):
    """An experiment that cannot be run; one line per error: path, value, remedy."""

    exit_code = 2


class SimulationError(FairwayError, RuntimeError):
    """A run that broke a law of conservation or a limit; names the first offending event."""


class AlgorithmError(FairwayError, RuntimeError):
    """A congestion control written in Python that does not answer as one has to."""

    exit_code = 3


class RunFailed(FairwayError):  # noqa: N818
    """A simulation that was valid to start did not end well."""


class NotEnoughMemory(FairwayError, MemoryError):  # noqa: N818
    """Memory that a limit or the system does not give."""


class OutputLost(FairwayError):  # noqa: N818
    """Standard output cannot be written to, as on a disk that is full."""


class ReaderGone(FairwayError):  # noqa: N818
    """Whoever read standard output wants no more of it, as `head` does: no error of a command."""

    exit_code = 0


class Interrupted(FairwayError):  # noqa: N818
    """The user stopped a command; what was finished is kept."""

    exit_code = 130


class NotDrawn(UserWarning):
    """A report or a figure was not written; the results are complete all the same."""

    exit_code = 4


_REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space or choose another directory with --out",
    errno.EDQUOT: "your disk quota is used up; free some space or choose another directory",
    errno.EACCES: "permission denied; choose a directory that you may write to",
    errno.EPERM: "not permitted; choose a directory that you may write to",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.ENOENT: "no such directory, and it cannot be made; choose another path",
    errno.ENOTDIR: "a part of the path is a file, not a directory; choose another path",
    errno.EEXIST: "a file of that name exists; choose another path or remove it",
    errno.EIO: "the disk has failed to read or write; choose another one",
    errno.EMFILE: "too many open files; raise the limit with ulimit -n",
    errno.ENFILE: "too many open files on this machine; close some programs",
    errno.ENOMEM: "not enough memory; free some, or raise the limit (ulimit -v)",
    errno.ENOSYS: "the file system has no locks; choose a directory on another one",
    errno.ENOLCK: "the file system has no locks; choose a directory on another one",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


def told(error: OSError) -> str:
    """An error of the operating system in words: with its path, if it has one, and a remedy."""
    path = error.filename2 if error.filename2 is not None else error.filename
    reason = _REMEDIES.get(error.errno or 0, error.strerror or str(error))
    return reason if path is None else f"{os.fsdecode(path)}: {reason}"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an operating-system error met while writing `path` into an `InputError`."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, f"{error.strerror or error}")
        raise InputError(f"cannot write {path}: {remedy}") from error


def read_text(path: Path, what: str, limit: int) -> str:
    """Read a UTF-8 text file of at most `limit` bytes; messages call it `what`."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such {what}; check the name") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name the {what} in it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot read this {what}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise InputError(f"{path!s}: not a file name: {error}") from error
    if len(data) > limit:
        raise InputError(f"{path}: larger than {limit} bytes; is this really the {what} you mean?")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8 text; save the {what} as UTF-8"
        ) from None
