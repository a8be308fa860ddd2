"""Runs an experiment, or all experiments of a sweep, and writes what is asked for beside it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.backends import OnKernel
from fairway.backends import backend as find_backend
from fairway.errors import InputError
from fairway.experiment.plan import MAX_SEED, Plan, plan, source_of_experiment
from fairway.ground import extras, replacing, store
from fairway.ground.permission import permitting
from fairway.ground.progress import reporter
from fairway.plot.drawing import draw_figures
from fairway.plot.formats import check_formats
from fairway.results.repeat import repeated
from fairway.results.run import Run
from fairway.sweep import warm_up
from fairway.sweep.run import Keep, check_points, run_plan

if TYPE_CHECKING:
    from fairway.algorithm import Maker
    from fairway.backends import Backend
    from fairway.sweep.result import Sweep


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
    allow_programs: bool = False,
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
        threads: Runs of a sweep at the same time; as many as there are cores if not given. A
            simulation of a large network may use as many itself.
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
        allow_programs: Whether it may start programs of this machine, on a kernel.
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
    with permitting(
        python=allow_python, programs=allow_programs,
        backend=chosen.name if dask is None else "--dask",
    ):  # fmt: skip
        planned = plan(experiment, overrides=changes, algorithms=algorithms)
    extras.require("a sweep", *(extras.OF_SWEEPS if planned.is_sweep else ()))
    directory = None if out is None else Path(out)
    check: Callable[[], object] = replacing.nothing
    if directory is not None:
        source = source or source_of_experiment("run", experiment, changes, chosen.name)
        replacing.check_writable(directory, "sweep" if planned.is_sweep else "run")
        check = functools.partial(
            _refuse_another, directory, source, planned, chosen, replace=replace
        )
        check()
    progress = reporter(planned.title, quiet=quiet)
    if planned.is_sweep:
        if repeat:
            raise InputError("repeat: one experiment is repeated at a time, not a sweep")
        sweep = run_plan(
            planned, chosen, directory=directory, threads=threads, progress=progress,
            dask=dask, keep=keep, source=source, check=check,
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
        found = run_plan(planned, chosen, threads=threads, progress=progress)
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

    A sweep may go on where all runs are its own, on the same kernel.
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

    def kernel() -> str:
        assert isinstance(chosen, OnKernel)
        # Which kernel answers depends on the congestion controls that it has to have.
        check_points(planned, chosen)
        return chosen.release()

    replacing.refuse_another(
        directory, source, planned=runs, kernel=kernel if isinstance(chosen, OnKernel) else None,
        remedy=replacing.REPLACE, replace=replace,
    )  # fmt: skip
