"""The functions of the package: what a notebook calls and the command line wraps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.algorithm import permitting
from fairway.backends import backend as find_backend
from fairway.errors import InputError
from fairway.ground import store
from fairway.ground.registry import algorithms
from fairway.plot.formats import check_formats
from fairway.results.run import Run
from fairway.sweep.result import Sweep, load_sweep

if TYPE_CHECKING:
    from fairway.backends import Backend
    from fairway.compare.agree.run import Agreement
    from fairway.compare.fidelity.run import Fidelity
    from fairway.compare.gallery.run import Gallery, Portrait
    from fairway.study.all import All
    from fairway.study.reproduce import Reproduction


def load(directory: str | Path) -> Run | Sweep:
    """Read the results in a directory back."""
    path = Path(directory)
    if (path / store.POINTS).is_dir():
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
        quiet: Whether to show no progress on standard error.
    """
    from fairway.study.files import find
    from fairway.study.reproduce import reproduce_study

    with permitting(python=allow_python, backend=None if dask is None else "--dask"):
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


def agree(
    experiment: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    against: Sequence[str | Backend] = ("sim", "linux"),
    seeds: int | None = None,
    tolerances: Mapping[str, float] | None = None,
    overrides: Mapping[str, Any] | None = None,
    threads: int | None = None,
    figures: Sequence[str] = (),
    allow_python: bool = False,
    quiet: bool = True,
) -> Agreement:
    """Run an experiment on two or more backends and say where they differ.

    Args:
        experiment: A path, the text of an experiment file, its content as a mapping, or "kernel",
            which is every congestion control of Linux on three paths. A sweep is compared point
            by point.
        out: Directory for the results; without it they stay in memory. Given the same directory
            again it goes on where it stopped.
        against: Backends, by their names or as they are; the last is what the others are held
            against.
        seeds: Seeds of each point on each side; if not given, what the file says, or else 4.
        tolerances: What differences are of no account: metric -> share of the reference's mean,
            such as `{"goodput": 0.02}`.
        overrides: Values to set first: path -> value.
        threads: Runs at the same time; as many as there are cores if not given.
        figures: Formats of figures to write there: "pdf", "png", "svg".
        allow_python: Whether the experiment may name modules, which are imported and run.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.ExperimentError: If the experiment is not valid.
        fairway.InputError: If something given cannot be used, or a backend is not there.
        fairway.RunFailed: If runs failed.
    """
    from fairway.compare.agree.run import compare_backends

    directory = None if out is None else Path(out)
    with permitting(python=allow_python):
        return compare_backends(
            experiment, directory, against=against, seeds=seeds, changes=tolerances,
            overrides=overrides, threads=threads, figures=figures, quiet=quiet,
        )  # fmt: skip


def fidelity(
    golden: str | Path | None = None,
    out: str | Path | None = None,
    *,
    threads: int | None = None,
    figures: Sequence[str] = (),
    quiet: bool = True,
) -> Fidelity:
    """Simulate every golden trace of a directory and say how closely the simulator follows it.

    Args:
        golden: Directory of golden traces, as `fairway linux record-golden` makes it; if not
            given, the recording of Linux 6.1 that comes with Fairway.
        out: Directory for the results; without it they stay in memory. Given the same directory
            again it goes on where it stopped.
        threads: Runs at the same time; as many as there are cores if not given.
        figures: Formats of the figure to write there: "pdf", "png", "svg".
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If there is no recording, or something in it cannot be used.
        fairway.RunFailed: If runs failed.
    """
    from fairway.compare.fidelity.run import compare_with_golden

    return compare_with_golden(
        None if golden is None else Path(golden), find_backend("sim"),
        None if out is None else Path(out), threads=threads, figures=figures, quiet=quiet,
    )  # fmt: skip


def portrait(name: str) -> Portrait:
    """Run an algorithm in the scenario that shows it best."""
    from fairway.compare.gallery.run import portraits
    from fairway.experiment.scenarios import select

    return portraits(select(algorithms(), [name]))[0]


def gallery(
    names: Sequence[str] = (),
    out: str | Path | None = None,
    *,
    figures: Sequence[str] = (),
    threads: int | None = None,
    quiet: bool = True,
) -> Gallery:
    """Run every algorithm on the same three paths.

    Args:
        names: The algorithms; all if none is named.
        out: Directory for runs, numbers, figure and report; without it they stay in memory. Given
            the same directory again it goes on where it stopped.
        figures: Formats of the figure to write there: "pdf", "png", "svg".
        threads: Runs at the same time; as many as there are cores if not given.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If there is no such algorithm, or a file cannot be written.
    """
    from fairway.compare.gallery.run import run_gallery
    from fairway.experiment.scenarios import select

    check_formats(figures)
    known = algorithms()
    chosen = select(known, names) if names else known
    directory = None if out is None else Path(out)
    return run_gallery(chosen, directory, formats=figures, threads=threads, quiet=quiet)
