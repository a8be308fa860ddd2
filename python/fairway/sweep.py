"""Many experiments at once: spread over threads, kept as they finish, resumed by content."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import html
import io
import os
import re
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import repetitions, store, text
from fairway._core import Cancelled, ExperimentError, SimulationError
from fairway.backends import Backend, Progress
from fairway.errors import InputError, Interrupted, RunFailed
from fairway.experiment import Plan, Point, Until
from fairway.progress import Silent
from fairway.repetitions import Stop
from fairway.results import MANIFEST_SHAPE, Run, load, shape_of

if TYPE_CHECKING:
    import polars as pl

_MANIFEST_SHAPE = {
    "title": str,
    "version": str,
    "axes": [str],
    "points": [{"axes": dict, "repetition": int, "directory": str}],
}

#: How often progress is shown and Ctrl-C looked at, in seconds.
_TICK_S = 0.1

#: How long a run that was asked to stop may take to do so, in seconds.
_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Outcome:
    """One finished point of a sweep.

    Attributes:
        point: What was run.
        summary: Its summary.
        directory: Where it is kept, if anywhere.
        kept: The run itself, if it is in memory.
    """

    point: Point
    summary: dict[str, Any]
    directory: Path | None
    kept: Run | None = field(default=None, repr=False)

    @property
    def run(self) -> Run:
        """The whole run, read from its directory if it is not in memory."""
        if self.kept is not None:
            return self.kept
        assert self.directory is not None
        return load(self.directory)

    def series(self) -> pl.DataFrame:
        """The run's time series."""
        return self.run.series


class Sweep:
    """The results of a sweep, in the order of the experiment file.

    Attributes:
        title: The experiment's title.
        axes: Paths that vary.
        outcomes: One per point.
        version: Version of Fairway.
        directory: Where it is kept, if anywhere.
        until: What repeating ended at, if the experiment says so.
        stops: Where each combination's repeating ended then.
    """

    def __init__(
        self,
        title: str,
        axes: Sequence[str],
        outcomes: Sequence[Outcome],
        version: str,
        directory: Path | None = None,
        until: Until | None = None,
        stops: Sequence[Stop] = (),
    ) -> None:
        self.title = title
        self.axes = tuple(axes)
        self.outcomes = tuple(outcomes)
        self.version = version
        self.directory = directory
        self.until = until
        self.stops = tuple(stops)

    def __len__(self) -> int:
        return len(self.outcomes)

    def __repr__(self) -> str:
        over = ", ".join(self.axes) or "seeds"
        return f"<Sweep {self.title!r}: {text.count(len(self), 'run')} over {over}>"

    def _repr_html_(self) -> str:
        from fairway.page import plain_html
        from fairway.report import sweep_table

        return f"<h3>{html.escape(self.title)}</h3>" + plain_html(sweep_table(self))

    @functools.cached_property
    def table(self) -> pl.DataFrame:
        """One row per point: its axes, repetition, seed and metrics."""
        import polars as pl

        rows = [
            {
                **outcome.point.axes,
                "repetition": outcome.point.repetition,
                "seed": outcome.summary["seed"],
                **outcome.summary["metrics"],
            }
            for outcome in self.outcomes
        ]
        columns = list(rows[0]) if rows else []
        return pl.DataFrame(
            [_column(name, [row.get(name) for row in rows], name in self.axes) for name in columns]
        )

    @functools.cached_property
    def predicted(self) -> pl.DataFrame:
        """What models say of the metrics, as `table`: of points that one of them covers."""
        import polars as pl

        rows = [
            {
                **axes,
                **{name: value for name, value in model["metrics"].items() if name != "residual"},
            }
            for axes, model in zip(
                self.table.select(self.axes).iter_rows(named=True),
                (outcome.summary.get("model", {}) for outcome in self.outcomes),
                strict=True,
            )
            if "metrics" in model
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def warnings(self) -> list[str]:
        """What has to be known before its figures are trusted, and of how many of its runs."""
        counted = Counter(
            warning for outcome in self.outcomes for warning in outcome.summary.get("warnings", [])
        )
        found = [
            warning
            if count == len(self)
            else f"in {count} of {text.count(len(self), 'run')}: {warning}"
            for warning, count in counted.items()
        ]
        return found + (repetitions.warnings(self.until, self.stops) if self.until else [])

    @property
    def summary(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "title": self.title,
            "axes": list(self.axes),
            "points": [
                {
                    "axes": outcome.point.axes,
                    "repetition": outcome.point.repetition,
                    "summary": outcome.summary,
                }
                for outcome in self.outcomes
            ],
            **self._repeated(),
        }

    def _repeated(self) -> dict[str, Any]:
        """What repeating ended at and where, as plain data; nothing of a plain number."""
        if self.until is None:
            return {}
        return {
            "until": {**vars(self.until), "metrics": list(self.until.metrics)},
            "stops": [stop.to_json() for stop in self.stops],
        }

    def save_overview(self, directory: Path, *, report: str | None = None) -> None:
        """Write what stands above the points; the manifest comes last, when all is there."""
        self._write_table(directory / "sweep.parquet")
        store.write_file(directory / "summary.json", store.to_json(self.summary))
        if report is None:
            from fairway.report import sweep_report

            report = sweep_report(self)
        store.write_file(directory / "report.html", report)
        store.write_file(directory / store.MANIFEST, store.to_json(self._manifest()))

    def _write_table(self, path: Path) -> None:
        buffer = io.BytesIO()
        self.table.write_parquet(buffer, compression="zstd", compression_level=3)
        store.write_file(path, buffer.getvalue())

    def _manifest(self) -> dict[str, Any]:
        points = [
            {
                "axes": outcome.point.axes,
                "repetition": outcome.point.repetition,
                "seed": outcome.summary["seed"],
                "directory": outcome.directory.name if outcome.directory else None,
                "content_hash": store.content_hash(
                    outcome.point.experiment,
                    outcome.summary["backend"],
                    self.version,
                    outcome.summary.get("algorithms"),
                ),
            }
            for outcome in self.outcomes
        ]
        joined = "\n".join(str(point["content_hash"]) for point in points)
        return {
            "title": self.title,
            "version": self.version,
            "content_hash": hashlib.sha256(joined.encode()).hexdigest(),
            "axes": list(self.axes),
            "points": points,
            **self._repeated(),
        }


def _column(name: str, values: list[Any], is_axis: bool) -> pl.Series:
    import polars as pl

    if not is_axis:
        dtype = pl.UInt64 if name == "seed" else pl.UInt32 if name == "repetition" else pl.Float64
        return pl.Series(name, values, dtype=dtype)
    kinds = {type(value) for value in values}
    if kinds <= {int, float}:
        return pl.Series(name, [float(value) for value in values])
    if len(kinds) == 1 and kinds <= {str, bool}:
        return pl.Series(name, values)
    return pl.Series(name, [text.label(value) for value in values])


def load_sweep(directory: str | Path) -> Sweep:
    """Read a finished sweep's directory back.

    Raises:
        InputError: If it is not one.
    """
    path = Path(directory)
    if not (path / store.MANIFEST).is_file():
        raise InputError(f"{path}: holds no finished sweep; run it to its end first")
    manifest = store.read_json(path / store.MANIFEST, "manifest", _MANIFEST_SHAPE)
    outcomes = []
    for entry in manifest["points"]:
        place = path / store.POINTS / entry["directory"]
        manifest_of_point = store.read_json(place / store.MANIFEST, "manifest", MANIFEST_SHAPE)
        outcomes.append(
            Outcome(
                Point(entry["axes"], entry["repetition"], manifest_of_point["experiment"]),
                store.read_json(
                    place / "summary.json", "summary", shape_of(manifest_of_point.get("backend"))
                ),
                place,
            )
        )
    until = manifest.get("until")
    return Sweep(
        manifest["title"],
        manifest["axes"],
        outcomes,
        manifest["version"],
        path,
        until and Until(until["share"], until["at_most"], tuple(until["metrics"])),
        repetitions.stops_of(manifest.get("stops", [])),
    )


def run_plan(
    plan: Plan,
    backend: Backend,
    *,
    directory: Path | None = None,
    threads: int | None = None,
    progress: Silent | None = None,
) -> Sweep:
    """Run every point of a plan, or as many as it takes until intervals are narrow enough.

    Points whose results `directory` already holds (same experiment, version and program) are
    not run again.

    Args:
        plan: What to run.
        backend: What answers.
        directory: Where each point is kept as soon as it is finished.
        threads: Runs at the same time; as many as there are cores if not given.
        progress: Where progress is shown.

    Raises:
        ExperimentError: If the backend cannot answer a point; nothing has been run then.
        Interrupted: On Ctrl-C, after the running simulations have stopped.
        RunFailed: If simulations failed; every other point has been run and kept.
        InputError: If something cannot be written.
    """
    from fairway._core import version

    if directory is not None:
        store.check_writable(directory, "sweep")
    for point in plan.points:
        backend.check(point.experiment, plan.algorithms)

    def run(part: Plan) -> list[Outcome]:
        crew = _Crew(part, backend, directory, version())
        return crew.work(threads or available_cores(), progress or Silent())

    if plan.until is None:
        return Sweep(plan.title, plan.axes, run(plan), version(), directory)
    outcomes, stops = repetitions.run_until(plan, plan.until, run)
    return Sweep(plan.title, plan.axes, outcomes, version(), directory, plan.until, stops)


def _interrupt(thread: int) -> None:
    """Raise KeyboardInterrupt in a thread, as Ctrl-C does in the main one alone."""
    ident, error = ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Crew:
    """Worker threads and what they have in common."""

    def __init__(self, plan: Plan, backend: Backend, directory: Path | None, version: str) -> None:
        self._points = plan.points
        self._algorithms = plan.algorithms
        self._backend = backend
        self._directory = directory
        self._version = version
        self._engine = backend.engine()
        self._stop = threading.Event()
        self._controls: dict[int, Progress] = {}
        #: Runs that are being computed, and the threads they are in.
        self._threads: dict[int, int] = {}
        self._lock = threading.Lock()

    def work(self, threads: int, progress: Silent) -> list[Outcome]:
        """Run all points and return their outcomes in order."""
        total = len(self._points)
        futures: list[Future[Outcome]] = []
        with progress, ThreadPoolExecutor(max_workers=min(threads, total)) as pool:
            try:
                futures = [pool.submit(self._one, index) for index in range(total)]
                pending = set(futures)
                while pending:
                    finished, pending = wait(pending, _TICK_S, FIRST_COMPLETED)
                    _raise_fatal(finished)
                    done = sum(f.done() and not f.exception() for f in futures)
                    progress.update(done, total, self._fraction(futures))
            except BaseException as error:
                self._abandon(futures)
                if isinstance(error, KeyboardInterrupt):
                    raise Interrupted(self._how_to_go_on(futures)) from None
                raise
        failures = [(i, f.exception()) for i, f in enumerate(futures) if f.exception()]
        if failures:
            raise RunFailed(self._describe(failures))
        return [future.result() for future in futures]

    def _one(self, index: int) -> Outcome:
        point = self._points[index]
        place = self._place(point)
        if place is not None:
            expected = self._content_hash(point)
            shape = shape_of(self._backend.name)
            summary = _kept_summary(place, expected, self._engine_of(point), shape)
            if summary is not None:
                return Outcome(point, summary, place)
        control = self._backend.control()
        with self._lock:
            if self._stop.is_set():
                raise Cancelled
            self._controls[index] = control
            self._threads[index] = threading.get_ident()
        try:
            run = self._backend.run(point.experiment, control, self._algorithms)
        finally:
            with self._lock:
                del self._threads[index]
        if place is None:
            return Outcome(point, run.summary, None, run)
        run.save(place, report=False, engine=self._engine_of(point))
        return Outcome(point, run.summary, place)

    def _place(self, point: Point) -> Path | None:
        if self._directory is None:
            return None
        digest = self._content_hash(point)
        return self._directory / store.POINTS / f"{_slug(point)}-{digest[:10]}"

    def _content_hash(self, point: Point) -> str:
        own = self._algorithms.used(point.experiment)
        return store.content_hash(point.experiment, self._backend.name, self._version, own)

    def _engine_of(self, point: Point) -> str:
        """Digest of the program; unknown if the code of an algorithm of the user's own is."""
        own = self._algorithms.used(point.experiment).values()
        return "unknown" if any(code["sha256"] is None for code in own) else self._engine

    def _fraction(self, futures: Sequence[Future[Outcome]]) -> float:
        done = 0.0
        for index, future in enumerate(futures):
            if future.done():
                done += 1
            elif index in self._controls:
                done += self._controls[index].fraction
        return done / len(futures)

    def _abandon(self, futures: Sequence[Future[Outcome]]) -> None:
        with self._lock:
            self._stop.set()
            for control in self._controls.values():
                control.cancel()
        for future in futures:
            future.cancel()
        wait(futures, _PATIENCE_S)
        # What still runs is in an algorithm of the user's own that does not come back.
        with self._lock:
            for index, thread in self._threads.items():
                if self._algorithms.used(self._points[index].experiment):
                    _interrupt(thread)

    def _how_to_go_on(self, futures: Sequence[Future[Outcome]]) -> str:
        finished = sum(f.done() and not f.cancelled() and not f.exception() for f in futures)
        if self._directory is None:
            return "stopped; nothing was written"
        return (
            f"stopped with {finished} of {len(futures)} runs finished and kept in "
            f"{self._directory}; give the same command again to go on from there"
        )

    def _describe(self, failures: Sequence[tuple[int, BaseException | None]]) -> str:
        if len(self._points) == 1:
            return f"{failures[0][1]}"
        lines = [f"{len(failures)} of {len(self._points)} runs failed"]
        for index, error in failures[:5]:
            lines.append(f"{_label(self._points[index])}: {error}")
        if len(failures) > 5:
            lines.append(f"… and {len(failures) - 5} more")
        return "\n".join(lines)


def _kept_summary(
    place: Path, expected_hash: str, engine: str, shape: dict[str, Any]
) -> dict[str, Any] | None:
    """The summary of an earlier run of the same content, if it is there and whole."""
    if not store.reusable(place, expected_hash, engine):
        return None
    try:
        kept: dict[str, Any] = store.read_json(place / "summary.json", "summary", shape)
    except InputError:
        return None
    return kept


def _raise_fatal(finished: set[Future[Outcome]]) -> None:
    """Stop on errors that every further point would meet too, or that are ours."""
    for future in finished:
        error = future.exception()
        if error is not None and not isinstance(error, (SimulationError, RunFailed)):
            if isinstance(error, ExperimentError):
                raise InputError(str(error)) from error
            raise error


def _label(point: Point) -> str:
    parts = [f"{path} = {value}" for path, value in point.axes.items()]
    return ", ".join([*parts, f"repetition {point.repetition}"])


def _slug(point: Point) -> str:
    parts = [str(value) for value in point.axes.values()] + [f"r{point.repetition}"]
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", "-".join(parts))[:60].strip(".")
