"""Runs of a sweep in threads of the compiled simulator, without the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairway import _core
from fairway.backends.sim import Simulator
from fairway.experiment.plan import Point
from fairway.results.captures import are_wanted
from fairway.sweep.executor import Finished
from fairway.sweep.outcome import Outcome
from fairway.sweep.packed_run import PackedRun
from fairway.sweep.rows import Rows
from fairway.sweep.storage import Answer, Storage


class Pool:
    """Threads that simulate, and whose summaries are written down here."""

    def __init__(self, answer: Answer, storage: Storage, count: int) -> None:
        self._answer = answer
        self._storage = storage
        self._count = count
        self._points: Mapping[int, Point] = {}
        self._indices: list[int] = []
        self._runs = _core.Pool([], count)

    def start(self, points: Mapping[int, Point]) -> None:
        """Begin with all runs, in their order."""
        self._points, self._indices = points, list(points)
        self._runs = _core.Pool([point.asked for point in points.values()], self._count)
        # What the tables and the report of a sweep need is loaded while the threads simulate.
        import jinja2  # noqa: F401
        import polars  # noqa: F401

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has finished since it was last asked, written down; waits for more so long."""
        return [
            (self._indices[place], self._received(self._indices[place], result))
            for place, result in self._runs.finished(timeout_s)
        ]

    def fraction(self) -> float:
        """Runs done of those that are under way, as a number of runs."""
        return self._runs.fraction()

    def abandon(self) -> None:
        """Stop all runs."""
        self._runs.stop()

    def close(self) -> None:
        """Forget the runs."""
        self._runs.stop()

    def _received(self, index: int, result: bytes | Exception) -> Outcome | Exception:
        if isinstance(result, bytes):
            return self._storage.stage(self._points[index], PackedRun(result, {}))
        return result


def suits(answer: Answer, storage: Storage, points: Sequence[Point]) -> bool:
    """Whether runs need nothing of Python: summaries of the simulator, with its own algorithms."""
    return (
        type(answer.backend) is Simulator
        and isinstance(storage, Rows)
        and not any(
            are_wanted(point.asked) or answer.algorithms.used(point.asked) for point in points
        )
    )
