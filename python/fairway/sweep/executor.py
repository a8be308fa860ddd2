"""The loop that hands out the runs of a sweep, keeps what comes back and shows how far it is."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol

from fairway._core import ExperimentError, SimulationError
from fairway.errors import InputError, Interrupted, RunFailed
from fairway.experiment.plan import Point
from fairway.ground.progress import Silent, State
from fairway.sweep.outcome import Outcome
from fairway.sweep.storage import Answer, Storage

#: How often progress is shown and Ctrl-C looked at, in seconds.
_TICK_S = 0.1

#: How often what has finished is flushed to disk, in seconds: flushing takes 10 ms and more, and
#: what is lost when the process is killed is computed again.
_COMMIT_S = 1.0

#: Points that are looked for before the first of them begin.
_AT_ONCE = 500

#: A run's index, and its outcome or what went wrong.
Finished = tuple[int, Outcome | BaseException]


class Workers(Protocol):
    """Who does the runs."""

    def start(self, parts: Iterable[Mapping[int, Point]]) -> None:
        """Begin with all runs, of which finding each part takes time."""

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has finished since it was last asked; waits for a first one so long."""

    def fraction(self) -> float:
        """Runs done of those that are under way, as a number of runs."""

    def abandon(self) -> None:
        """Stop all runs."""

    def close(self) -> None:
        """End, when nothing is under way."""


class Executor:
    """Points, who runs them, and where they are kept."""

    def __init__(
        self,
        points: tuple[Point, ...],
        workers: Workers,
        answer: Answer,
        storage: Storage,
        directory: Path | None,
        progress: Silent,
    ) -> None:
        self._points = points
        self._workers = workers
        self._answer = answer
        self._storage = storage
        self._directory = directory
        self._progress = progress
        self._outcomes: dict[int, Outcome] = {}
        #: Content -> the first point that has it.
        self._firsts: dict[str, int] = {}
        #: Points that are computed -> further points of the same content.
        self._alike: dict[int, list[int]] = {}
        self._failures: dict[int, BaseException] = {}
        self._staged: list[int] = []
        self._committed_at = time.monotonic()
        self._found = 0
        self._simulated_s = 0.0
        #: Durations as experiments write them -> seconds.
        self._durations: dict[object, float] = {}

    def work(self) -> list[Outcome]:
        """Run all points that are not kept already, and return all outcomes in order."""
        try:
            with self._progress:
                try:
                    with _ctrl_c_between_steps() as ctrl_c:
                        self._run(ctrl_c)
                except BaseException as error:
                    self._workers.abandon()
                    self._take(self._workers.finished(0.0), fatal=False)
                    self._commit()
                    if isinstance(error, KeyboardInterrupt):
                        raise Interrupted(self._how_to_go_on()) from None
                    raise
        finally:
            self._workers.close()
        if self._failures:
            raise RunFailed(self._describe())
        return [self._outcomes[index] for index in range(len(self._points))]

    def _run(self, look_at_ctrl_c: Callable[[], None]) -> None:
        begins = range(0, len(self._points), _AT_ONCE)
        self._workers.start(
            self._missing(begin, self._points[begin : begin + _AT_ONCE]) for begin in begins
        )
        while len(self._outcomes) + len(self._failures) < len(self._points):
            self._take(self._workers.finished(_TICK_S))
            if time.monotonic() - self._committed_at >= _COMMIT_S:
                self._commit()
            self._show()
            look_at_ctrl_c()
        self._commit()
        self._show()

    def _missing(self, begin: int, points: Sequence[Point]) -> dict[int, Point]:
        """Which of some points are to be computed: of several of the same content, the first."""
        missing: dict[int, Point] = {}
        for index, point in enumerate(points, begin):
            if (outcome := self._storage.find(point)) is not None:
                self._outcomes[index] = outcome
                self._firsts[self._answer.content_hash(point)] = index
                self._found += 1
            else:
                missing[index] = point
        if len(self._points) == 1:  # and none is like it
            return missing
        for index, point in list(missing.items()):
            first = self._firsts.setdefault(self._answer.content_hash(point), index)
            if first == index or self._answer.engine_of(point) == "unknown":
                continue
            del missing[index]
            if first in self._outcomes:
                self._give_alike(first, index)
            else:
                self._alike.setdefault(first, []).append(index)
        return missing

    def _give_alike(self, first: int, index: int) -> None:
        """Give the result of a point to another of the same content."""
        self._outcomes[index] = self._storage.copy(self._outcomes[first], self._points[index])
        self._staged.append(index)

    def _take(self, finished: list[Finished], *, fatal: bool = True) -> None:
        worst: BaseException | None = None
        for index, result in finished:
            if isinstance(result, Outcome):
                self._outcomes[index] = result
                self._staged.append(index)
                self._simulated_s += self._duration_s(self._points[index])
                for alike in self._alike.get(index, ()):
                    self._give_alike(index, alike)
            elif fatal:
                self._failures.update(dict.fromkeys([index, *self._alike.get(index, ())], result))
                worst = worst or _fatal(result)
        if worst is not None:
            raise worst

    def _duration_s(self, point: Point) -> float:
        written = point.asked.get("duration")
        if written not in self._durations:
            self._durations[written] = point.resolved.duration_ns / 1e9
        return self._durations[written]

    def _commit(self) -> None:
        staged, self._staged = self._staged, []
        try:
            self._storage.commit([self._outcomes[index] for index in staged])
        except BaseException:
            for index in staged:
                del self._outcomes[index]
            raise
        self._committed_at = time.monotonic()

    def _show(self) -> None:
        under_way = self._workers.fraction()
        duration_s = self._duration_s(self._points[0]) if len(self._points) == 1 else 0.0
        self._progress.update(
            State(
                done=len(self._outcomes),
                total=len(self._points),
                found=self._found,
                under_way=under_way,
                simulated_s=self._simulated_s + under_way * duration_s,
                duration_s=duration_s,
            )
        )

    def _how_to_go_on(self) -> str:
        if self._directory is None:
            return "stopped; nothing was written"
        return (
            f"stopped with {len(self._outcomes)} of {len(self._points)} runs finished and kept in "
            f"{self._directory}; give the same command again to go on from there"
        )

    def _describe(self) -> str:
        failures = sorted(self._failures.items())
        if len(self._points) == 1:
            return f"{failures[0][1]}"
        lines = [f"{len(failures)} of {len(self._points)} runs failed"]
        for index, error in failures[:5]:
            lines.append(f"{_label(self._points[index])}: {error}")
        if len(failures) > 5:
            lines.append(f"… and {len(failures) - 5} more")
        return "\n".join(lines)


@contextlib.contextmanager
def _ctrl_c_between_steps() -> Iterator[Callable[[], None]]:
    """Have Ctrl-C, or to be ended from outside, wait until it is asked for.

    An exception between any two instructions would lose what has just finished on its way. The
    yielded function asks, and then does what the signal would have done.
    """
    pending: list[int] = []
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(number)):
                handlers[number] = handler
                signal.signal(number, lambda number, _: pending.append(number))

    def look() -> None:
        if pending:
            number = pending.pop()
            handlers[number](number, None)

    try:
        yield look
    finally:
        for caught, handler in handlers.items():
            signal.signal(caught, handler)
    look()


def _fatal(error: BaseException) -> BaseException | None:
    """The error, if every further point would meet it too, or it is ours."""
    if isinstance(error, (SimulationError, RunFailed)):
        return None
    return InputError(str(error)) if isinstance(error, ExperimentError) else error


def _label(point: Point) -> str:
    parts = [f"{path} = {value}" for path, value in point.axes.items()]
    return ", ".join([*parts, f"repetition {point.repetition}"])
