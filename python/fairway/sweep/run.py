"""From a plan to the outcomes of all its points."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from fairway.backends import Backend
from fairway.errors import InputError
from fairway.experiment.plan import Plan
from fairway.ground import replacing, store
from fairway.ground.permission import PermissionNeededError
from fairway.ground.progress import Silent
from fairway.sweep import repetitions, warm_up
from fairway.sweep.executor import Executor, Workers
from fairway.sweep.outcome import Outcome
from fairway.sweep.pool import Pool, suits
from fairway.sweep.result import Sweep
from fairway.sweep.rows import Rows
from fairway.sweep.storage import Answer, Directories, InMemory, Storage
from fairway.sweep.threads import Threads, available_cores

#: Runs of a sweep that have a directory each, unless it is said otherwise: more would be more
#: files than people look at and cluster file systems like, and writing would take longer than
#: small runs do.
MAX_DIRECTORIES = 1000

#: What is kept of each run: a directory with its tables, or its summary.
Keep = Literal["runs", "summaries"]


def run_plan(
    plan: Plan,
    backend: Backend,
    *,
    directory: Path | None = None,
    threads: int | None = None,
    progress: Silent | None = None,
    dask: str | None = None,
    keep: Keep | None = None,
    source: str | None = None,
    check: Callable[[], object] = replacing.nothing,
) -> Sweep:
    """Run every point of a plan, or as many as it takes until intervals are narrow enough.

    Points whose results `directory` already holds (same experiment, version and program) are
    not run again, and of points that are the same experiment one is run. Arguments are those of
    `fairway.sweep.start.run`; `check` refuses another result in `directory`.

    Raises:
        ExperimentError: If the backend cannot answer a point; nothing has been run then.
        Interrupted: On Ctrl-C, after the running simulations have stopped.
        RunFailed: If simulations failed; every other point has been run and kept.
    """
    from fairway._core import version

    if dask is not None and directory is None:
        raise InputError("--dask: results of a cluster are kept in a directory; name one")
    if directory is not None:
        replacing.check_writable(directory, "sweep")
    check_points(plan, backend)
    plan, found = warm_up.settle(
        plan,
        backend,
        lambda part: run_plan(part, backend, threads=threads, progress=progress).outcomes,
    )
    answer = Answer(backend, plan.algorithms, version())
    if directory is not None:
        store.mark(directory, "sweep", source, check)
    storage = _storage(directory, answer, keep, len(plan.points))
    finished = None
    try:
        with _worker_factory(answer, storage, threads or available_cores(), dask) as new_workers:

            def run(part: Plan) -> list[Outcome]:
                return Executor(
                    part.points, new_workers(part), answer, storage, directory,
                    progress or Silent(),
                ).work()  # fmt: skip

            stops: list[repetitions.Stop] = []
            if plan.until is None:
                outcomes = run(plan)
            else:
                outcomes, stops = repetitions.run_until(plan, plan.until, run)
        finished = [outcome.point for outcome in outcomes]
    finally:
        storage.close(finished)
    window = None if found is None else found.to_json()
    return Sweep(plan.title, plan.axes, outcomes, version(), directory, plan.until, stops, window)


def check_points(plan: Plan, backend: Backend) -> None:
    """Refuse a plan that a backend cannot answer whole, before anything is run.

    Raises:
        ExperimentError: If the backend cannot answer a point.
        PermissionNeededError: With the programs of all points, if nobody has permitted them.
    """
    refused = []
    for point in plan.points:
        try:
            backend.check(point.asked, plan.algorithms)
        except PermissionNeededError as refusal:
            refused.append(refusal)
    if refused:
        raise PermissionNeededError.together(refused)


def _storage(directory: Path | None, answer: Answer, keep: Keep | None, points: int) -> Storage:
    if directory is None:
        return InMemory()
    if keep is None:
        keep = "runs" if points <= MAX_DIRECTORIES else "summaries"
    return Directories(directory, answer) if keep == "runs" else Rows(directory, answer)


@contextlib.contextmanager
def _worker_factory(
    answer: Answer, storage: Storage, threads: int, dask: str | None
) -> Iterator[Callable[[Plan], Workers]]:
    """What gives workers, for one part of a plan after the other."""
    if dask is None:
        yield (
            lambda part: (
                Pool(storage, threads)
                if isinstance(storage, Rows) and suits(answer, part.points)
                else Threads(answer, storage, threads, max(1, threads // len(part.points)))
            )
        )
        return
    from fairway.sweep.cluster import connect

    with connect(dask, answer, threads) as new_workers:
        yield lambda _: new_workers(storage)
