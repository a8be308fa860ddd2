"""The functions of the package: what a notebook calls and the command line wraps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairway.errors import InputError
from fairway.ground import extras, store
from fairway.ground.permission import permitting
from fairway.results.run import Run
from fairway.sweep.result import Sweep, load_sweep

if TYPE_CHECKING:
    from fairway.study.all import All
    from fairway.study.reproduce import Reproduction


def load(directory: str | Path) -> Run | Sweep:
    """Read the results in a directory back."""
    path = Path(directory)
    if (path / store.POINTS).is_dir():
        extras.require("a sweep", *extras.OF_SWEEPS)
        return load_sweep(path)
    from fairway.capture.analysis.run import load as load_run

    return load_run(path)


def reproduce(
    key: str,
    out: str | Path | None = None,
    *,
    parts: Sequence[str] = (),
    quick: bool = False,
    threads: int | None = None,
    dask: str | None = None,
    allow_python: bool = False,
    allow_programs: bool = False,
    quiet: bool = True,
) -> Reproduction:
    """Run a published study again and hold its numbers and claims against ours.

    Args:
        key: Key of a study that comes with Fairway, or the path of a study's directory.
        out: Directory for the results; `runs/<key>` if not given.
        parts: Of a study of parts, those to run; all if none is named.
        quick: Whether to run the shortened form the study declares.
        threads: Runs at the same time; as many as there are cores if not given.
        dask: Address of a Dask scheduler whose workers do the runs, or "local".
        allow_python: Whether its experiments may name modules, which are imported and run.
        allow_programs: Whether they may start programs of this machine, on a kernel.
        quiet: Whether to show no progress on standard error.
    """
    from fairway.study.files import find
    from fairway.study.reproduce import reproduce_study

    with permitting(
        python=allow_python, programs=allow_programs, backend=None if dask is None else "--dask"
    ):
        study = find(key)
        if parts and not study.is_divided:
            raise InputError(f"{key}: has no parts; leave out --part")
        return reproduce_study(
            study, out, only=parts, quick=quick, threads=threads, dask=dask, quiet=quiet
        )


def reproduce_all(
    out: str | Path | None = None,
    *,
    every: bool = False,
    quick: bool = False,
    threads: int | None = None,
    dask: str | None = None,
    quiet: bool = True,
) -> All:
    """Run the studies of all papers again, into one directory with an index.

    Args:
        out: Directory for the results; `runs/all` if not given. Given the same directory again it
            goes on where it stopped.
        every: Whether to run the other studies that come with Fairway too.
        quick: Whether to run the shortened form of each.
        threads: Runs at the same time; as many as there are cores if not given.
        dask: Address of a Dask scheduler whose workers do the runs, or "local".
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If something cannot be written.
        fairway.RunFailed: If runs failed.
    """
    from fairway.study.all import all_keys, reproduce_each

    def one(key: str, directory: Path) -> Reproduction:
        return reproduce(key, directory, quick=quick, threads=threads, dask=dask, quiet=quiet)

    return reproduce_each(all_keys(every=every), out, one, quick=quick, quiet=quiet)
