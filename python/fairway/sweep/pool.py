"""Runs of a sweep in threads of the compiled simulator, without the interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairway import _core
from fairway.backends.sim import Simulator
from fairway.experiment.plan import Point
from fairway.results.captures import are_wanted
from fairway.sweep.executor import Finished
from fairway.sweep.rows import Rows
from fairway.sweep.storage import Answer


class Pool:
    """Threads that simulate, and whose summaries are written down here."""

    def __init__(self, storage: Rows, count: int) -> None:
        self._storage = storage
        self._points: dict[int, Point] = {}
        self._indices: list[int] = []
        self._runs = _core.Pool([], count)

    def start(self, parts: Iterable[Mapping[int, Point]]) -> None:
        """Begin with all runs, in their order: the first ones while others are looked for."""
        for part in parts:
            self._points.update(part)
            self._indices += part
            self._runs.add([point.asked for point in part.values()])
        # What the tables and the report of a sweep need is loaded while the threads simulate.
        import jinja2  # noqa: F401
        import polars  # noqa: F401

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has finished since it was last asked, written down; waits for more so long."""
        failed: list[Finished] = []
        done: dict[int, tuple[bytes, bytes]] = {}
        for place, result in self._runs.finished(timeout_s):
            if isinstance(result, tuple):
                done[self._indices[place]] = result
            else:
                failed.append((self._indices[place], result))
        outcomes = self._storage.stage_all(
            (self._points[index], *lines) for index, lines in done.items()
        )
        return [*failed, *zip(done, outcomes, strict=True)]

    def fraction(self) -> float:
        """Runs done of those that are under way, as a number of runs."""
        return self._runs.fraction()

    def abandon(self) -> None:
        """Stop all runs."""
        self._runs.stop()

    def close(self) -> None:
        """Forget the runs."""
        self._runs.stop()


def suits(answer: Answer, points: Sequence[Point]) -> bool:
    """Whether runs need nothing of Python: summaries of the simulator, with its own algorithms."""
    return type(answer.backend) is Simulator and not any(
        are_wanted(point.asked) or answer.algorithms.used(point.asked) for point in points
    )
