"""The functions of the package: what a notebook calls and the command line wraps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.algorithm import permitting
from fairway.backends import backend as find_backend
from fairway.errors import InputError
from fairway.experiment.plan import MAX_SEED, Plan, plan, source_of_experiment
from fairway.ground import store
from fairway.ground.progress import reporter
from fairway.plot.drawing import draw_figures
from fairway.plot.formats import check_formats
from fairway.results.repeat import repeated
from fairway.results.run import Run
from fairway.results.run import load as load_run
from fairway.sweep import Keep, Sweep, load_sweep, run_plan, warm_up

if TYPE_CHECKING:
    from fairway.algorithm import Maker
    from fairway.backends import Backend
    from fairway.capture.analysis.result import Analysis
    from fairway.compare.agree.result import Agreement
    from fairway.compare.fidelity.result import Fidelity
    from fairway.compare.gallery.run import Gallery, Portrait
    from fairway.study.all import All
    from fairway.study.parts import WholeReproduction
    from fairway.study.reproduce import Reproduction


def run(
    experiment: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    algorithms: Mapping[str, Maker] | None = None,
    backend: str | Backend = "sim",
    threads: int | None = None,
    repeat: int = 0,
    figures: Sequence[str] = (),
    capture: str | Sequence[str] | None = None,
    dask: str | None = None,
    keep: Keep | None = None,
    replace: bool = False,
    allow_python: bool = False,
    metrics: Sequence[str] = (),
    source: str | None = None,
    quiet: bool = True,
) -> Run | Sweep:
    """Run an experiment.

    Args:
        experiment: A path, the text of an experiment file, or its content as a mapping.
        out: Directory for the results; without it they stay in memory. A sweep given the same
            directory again goes on where it stopped.
        seed: Seed instead of the experiment's own.
        overrides: Values to set first: path -> value, such as `{"flow.0.cc": "cubic"}`.
        algorithms: Congestion controls of your own: name -> class, so that `cc = "mine"` is
            `{"mine": MyCC}`. Classes in modules need no name here, but `allow_python`:
            `cc = "python:module.MyCC"`.
        backend: What answers: "sim", "linux" for a real kernel in virtual time, or
            `fairway.backends.xfer.Xfer(peer, token)` for a real path.
        threads: Runs of a sweep at the same time; as many as there are cores if not given.
        repeat: How many more times to run it with the same seed; the summary's `repeated` then
            says how far the figures differ. Not for sweeps.
        figures: Formats of figures to write beside the tables: "pdf", "png", "svg".
        capture: Where to capture packets, instead of the experiment's own `capture.at`: "hosts",
            "links", "everything", or names of places.
        dask: Address of a Dask scheduler whose workers do the runs of a sweep, such as
            "tcp://node1:8786", or "local" for processes on this machine. Needs `out`.
        keep: What of each run of a sweep is kept: "runs", a directory each with its tables, or
            "summaries". If not given, "summaries" of more than a thousand.
        replace: Whether results of another experiment in `out` are replaced. Those of the same
            experiment, or of the same file with the same `overrides`, are in any case.
        allow_python: Whether the experiment may name modules, which are imported and run.
        metrics: Metrics of the table, report and figures of a sweep, by the names of
            `fairway.metrics.measure`, instead of those that they have else.
        source: Digest of what is asked for, by which `out` tells whether it is asked for again; of
            the experiment, `overrides` and the backend if not given.
        quiet: Whether to show no progress on standard error.

    Returns:
        A `Run`, or a `Sweep` if the experiment asks for several runs.

    Raises:
        fairway.ExperimentError: If the experiment is not valid.
        fairway.InputError: If a file cannot be read or written.
        fairway.RunFailed: If the simulation found itself in error.
        fairway.AlgorithmError: If an algorithm of your own does not answer as one has to. An
            exception that it raises stops the run and is raised as it is.
    """
    check_formats(figures)
    if metrics:
        from fairway.metrics.reading import check_names

        check_names(metrics)
    changes = dict(overrides or {})
    if seed is not None:
        if not 0 <= seed <= MAX_SEED:
            raise InputError(f"seed: {seed}; expected a whole number from 0 to {MAX_SEED}")
        changes["seed"] = seed
    if capture is not None:
        changes["capture.at"] = capture if isinstance(capture, str) else list(capture)
    chosen = find_backend(backend)
    with permitting(python=allow_python, backend=chosen.name if dask is None else "--dask"):
        planned = plan(experiment, overrides=changes, algorithms=algorithms)
    directory = None if out is None else Path(out)
    source = source or source_of_experiment("run", experiment, changes, chosen.name)
    if directory is not None:
        store.check_writable(directory, "sweep" if planned.is_sweep else "run")
        _refuse_another(directory, source, planned, chosen, replace=replace)
    progress = reporter(planned.title, quiet=quiet)
    if planned.is_sweep:
        if repeat:
            raise InputError("repeat: one experiment is repeated at a time, not a sweep")
        sweep = run_plan(
            planned, chosen, directory=directory, threads=threads, progress=progress,
            dask=dask, keep=keep, source=source,
        )  # fmt: skip
        shown = sweep.with_metrics(metrics) if metrics else sweep
        if directory is not None:
            sweep.save_overview(directory, report=shown.report)
            draw_figures(directory, lambda place: shown.figures.save(place, figures), figures)
        return shown

    if metrics:
        raise InputError(
            "--metric: chooses what the table of a sweep shows, and this experiment is one run; "
            "`fairway report DIR --metric NAME` shows metrics of a run"
        )
    if dask is not None:
        raise InputError("--dask: for the runs of a sweep; this experiment is one run")

    def once() -> Run:
        found = run_plan(planned, chosen, progress=progress)
        run = found.outcomes[0].run
        warm_up.tell(run, found.warm_up)
        return run

    only = once()
    if repeat:
        only.summary["repeated"] = repeated(only, once, repeat)
    if directory is not None:
        only.save(
            directory, figures=figures, engine=chosen.engine(), source=source, replace=replace
        )
    return only


def _refuse_another(
    directory: Path, source: str, planned: Plan, chosen: Backend, *, replace: bool
) -> None:
    """Refuse a directory with the result of another experiment, in words that say how it differs.

    A sweep may go on where all runs are its own.
    """
    from fairway import _core

    def runs() -> dict[str, dict[str, Any]]:
        return {
            store.content_hash(
                point.experiment, chosen.name, _core.version(),
                planned.algorithms.used(point.experiment),
            ): {"backend": chosen.name, **point.experiment}
            for point in planned.points
        }  # fmt: skip

    store.refuse_another(directory, source, planned=runs, remedy=store.REPLACE, replace=replace)


def load(directory: str | Path) -> Run | Sweep:
    """Read the results in a directory back.

    Raises:
        fairway.InputError: If it holds no complete results.
    """
    path = Path(directory)
    if (path / store.POINTS).is_dir():
        return load_sweep(path)
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
) -> Reproduction | WholeReproduction:
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

    Raises:
        fairway.InputError: If there is no such study, or its files are not as they should be.
    """
    from fairway.study.model import Whole
    from fairway.study.parts import reproduce_whole
    from fairway.study.reproduce import find, reproduce_study

    with permitting(python=allow_python, backend=None if dask is None else "--dask"):
        study = find(key)
        if isinstance(study, Whole):
            return reproduce_whole(
                study, out, only=parts, quick=quick, threads=threads, dask=dask, quiet=quiet
            )
        if parts:
            raise InputError(f"{key}: has no parts; leave out --part")
        return reproduce_study(study, out, quick=quick, threads=threads, dask=dask, quiet=quiet)


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

    def one(key: str, directory: Path) -> Reproduction | WholeReproduction:
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


def algorithms() -> list[dict[str, Any]]:
    """Every congestion control.

    Each has name, title, summary, family, signal, year, source, variants, parameters, sums worked
    out by hand (`vectors`), the header of its file, which is its documentation, and the file.
    """
    from fairway import _core

    return list(json.loads(_core.algorithms()))


def presets() -> list[dict[str, Any]]:
    """Every preset of the TCP stack; the first is the default.

    Each has a name, a summary, its `switches` by name as an experiment file would write them (None
    for one to leave out), and their `sources`: where each value is from.
    """
    from fairway import _core

    return list(json.loads(_core.presets()))


def portrait(name: str) -> Portrait:
    """Run an algorithm in the scenario that shows it best.

    Raises:
        fairway.InputError: If there is no such algorithm.
    """
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


def analyze(
    capture: str | Path,
    *,
    connection: int | None = None,
    top: int = 20,
    detail: bool = True,
    identify: bool = False,
    start: float | str | None = None,
    end: float | str | None = None,
    quiet: bool = True,
) -> Analysis:
    """Explain a capture of packets.

    Args:
        capture: A file: pcap, pcapng or tcpdump's text, plain or gzip; "-" is standard input.
        connection: Follow this one packet by packet; else those with most data.
        top: How many.
        detail: Whether to follow any: without, the file is read once, and `series` and `packets`
            are empty.
        identify: Ask which congestion control the senders have, which takes longer than the rest.
        start: Single packets from then on, in seconds since the first packet or as "1.5 s".
        end: Single packets until then.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If nothing of it can be read, or there is no such connection.
        fairway.Interrupted: On Ctrl-C.
    """
    from fairway.capture.analysis.command import explain

    return explain(
        capture,
        connection=connection,
        top=top,
        detail=detail,
        identify=identify,
        start_s=_seconds(start),
        end_s=_seconds(end),
        quiet=quiet,
    )


def animate(
    experiment: str | Path | Mapping[str, Any],
    *,
    start: float | str = 0.0,
    end: float | str | None = None,
    overrides: Mapping[str, Any] | None = None,
    allow_python: bool = False,
    quiet: bool = True,
) -> str:
    """Animate a simulated run: a page that plays its packets and windows.

    Args:
        experiment: A path, the text of an experiment file, or its content as a mapping; or the
            directory of a run with captures of everything.
        start: Where the animation begins, in seconds of the run or as "1.5 s".
        end: Where it ends; 10 s later if not given, or with the run.
        overrides: Values to set first: path -> value.
        allow_python: Whether the experiment may name modules, which are imported and run.
        quiet: Whether to show no progress on standard error.

    Returns:
        HTML that needs no network.

    Raises:
        fairway.ExperimentError: If the experiment is not valid.
        fairway.InputError: If there is nothing to play, or more than a page holds.
    """
    from fairway.capture.animation import animate as animated

    return animated(
        experiment,
        begin_s=_seconds(start) or 0.0,
        end_s=_seconds(end),
        overrides=overrides,
        allow_python=allow_python,
        quiet=quiet,
    )


def _seconds(time: float | str | None) -> float | None:
    """A time in seconds, given as such or with its unit."""
    if not isinstance(time, str):
        return time
    from fairway import _core

    try:
        return _core.quantity(time, "duration") / 1e9
    except ValueError as error:
        raise InputError(f"{time}: {error}") from None


def schema() -> dict[str, Any]:
    """JSON Schema of experiment files, for editors."""
    from fairway import _core

    return dict(json.loads(_core.schema()))
