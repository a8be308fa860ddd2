"""Where finished runs of a sweep are kept: in memory, in directories, or as rows of summaries."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from fairway.algorithm import Algorithms
from fairway.backends import Backend
from fairway.errors import InputError, writing
from fairway.experiment.plan import Point
from fairway.ground import disk, replacing, store
from fairway.ground.scratch import JOURNAL, Scratch, locked
from fairway.results.run import Run
from fairway.sweep.outcome import Outcome
from fairway.sweep.packed_run import PackedRun, without_time


class Answer:
    """What answers the points of a sweep, as far as their results depend on it."""

    def __init__(self, backend: Backend, algorithms: Algorithms, version: str) -> None:
        self.backend = backend
        self.algorithms = algorithms
        self.version = version
        #: By the identity of points, each of which is kept with what is known of it.
        self._known: dict[int, tuple[Point, str, str]] = {}

    @functools.cached_property
    def _engine(self) -> str:
        # To read the whole program takes longer than a short run, and one that is not kept does
        # without. What is kept is looked for first, and so this is the program that will run.
        return self.backend.engine()

    def content_hash(self, point: Point) -> str:
        """SHA-256 over everything that decides the point's result."""
        return self.known(point)[1]

    def engine_of(self, point: Point) -> str:
        """Digest of the program; unknown if the code of an algorithm of the user's own is."""
        return self.known(point)[2]

    def known(self, point: Point) -> tuple[Point, str, str]:
        """A point with its `content_hash` and `engine_of`."""
        known = self._known.get(id(point))
        if known is None:
            own = self.algorithms.used(point.asked)
            found = store.content_hash(point.asked, self.backend.name, self.version, own)
            is_unknown = any(code["sha256"] is None for code in own.values())
            known = (point, found, "unknown" if is_unknown else self._engine)
            self._known[id(point)] = known
        return known

    def again(self, point: Point) -> Run:
        """The point's run once more."""
        return self.backend.run(point.experiment, None, self.algorithms)


class Storage(Protocol):
    """Somewhere to keep finished runs, each whole or not at all.

    `whole` says whether the tables of runs are kept, and not their summaries alone.
    """

    whole: bool

    def find(self, point: Point) -> Outcome | None:
        """An earlier run of the same content by the same program, if it is there and whole."""

    def stage(self, point: Point, packed: PackedRun) -> Outcome:
        """Write a finished run down, not yet where it is found; from any thread."""

    def copy(self, outcome: Outcome, point: Point) -> Outcome:
        """Write a finished run down once more, for another point of the same content."""

    def commit(self, outcomes: Sequence[Outcome]) -> None:
        """Make staged runs last, and put them where they are found."""

    def close(self, planned: Sequence[Point] | None) -> None:
        """End; `planned` is the points in their order, or None if the sweep was stopped."""


class InMemory:
    """Keeps runs as long as their outcomes live."""

    whole = False

    def find(self, point: Point) -> Outcome | None:
        """Nothing is ever found."""

    def stage(self, point: Point, packed: PackedRun) -> Outcome:
        """The run as it is."""
        assert packed.run is not None
        return Outcome(point, without_time(packed.run.summary), None, packed.run)

    def copy(self, outcome: Outcome, point: Point) -> Outcome:
        """The same run."""
        return replace(outcome, point=point)

    def commit(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing is to be done."""

    def close(self, planned: Sequence[Point] | None) -> None:
        """Nothing is to be done."""


class Directories:
    """Keeps a directory for each run in `points/`."""

    whole = True

    def __init__(self, directory: Path, answer: Answer) -> None:
        self._points = directory / store.POINTS
        self._answer = answer
        self._scratch = Scratch(self._points)
        with contextlib.ExitStack() as undone:
            undone.callback(self._scratch.let_go)
            # A journal is left to those who read it.
            self._scratch.clear(lambda left: not (left / JOURNAL).exists())
            undone.pop_all()
        #: Names of directories that are written and not yet moved.
        self._staged: set[str] = set()

    def find(self, point: Point) -> Outcome | None:
        """A directory of the same content; one that is to be replaced has to be Fairway's alone."""
        outcome = found_directory(self._points, self._answer, point)
        place = place_of(self._points, self._answer, point)
        if outcome is None and place.exists():
            replacing.check_writable(place, "run")
        return outcome

    def stage(self, point: Point, packed: PackedRun) -> Outcome:
        """Write the directory under the name that it will have, in a hidden one."""
        place = place_of(self._points, self._answer, point)
        run_directory = self._scratch.path / place.name
        with writing(place):
            store.write_files(run_directory, packed.files)
            if packed.run is not None:
                packed.run.write_captures(run_directory)
                packed.run.write_kept_files(run_directory)
            store.write_inventory(run_directory, "run")
        self._staged.add(place.name)
        return Outcome(point, packed.summary, place)

    def copy(self, outcome: Outcome, point: Point) -> Outcome:
        """Copy the directory, staged or in place, under the name of the other point."""
        assert outcome.directory is not None
        place = place_of(self._points, self._answer, point)
        name = outcome.directory.name
        if place != outcome.directory:
            source = self._scratch.path / name if name in self._staged else outcome.directory
            with writing(place):
                store.copy_tree(source, self._scratch.path / place.name)
            self._staged.add(place.name)
        return replace(outcome, point=point, directory=place)

    def commit(self, outcomes: Sequence[Outcome]) -> None:
        """Flush what was staged, all at once, and move it into place."""
        if not outcomes:
            return
        with writing(self._points):
            store.flush_file_system(self._scratch.path)
            with locked(self._points):
                for outcome in outcomes:
                    self._move(outcome.directory)
            disk.sync_directory(self._points)

    def _move(self, place: Path | None) -> None:
        assert place is not None
        # A point that the sweep has twice was moved already.
        if place.name in self._staged:
            store.put_in_place(self._scratch, self._scratch.path / place.name, place, "run")
            self._staged.discard(place.name)

    def close(self, planned: Sequence[Point] | None) -> None:  # noqa: ARG002
        """Remove what is not finished."""
        self._scratch.let_go()


def found_directory(points: Path, answer: Answer, point: Point) -> Outcome | None:
    """The point's directory, if its content is the same and it is whole."""
    from fairway.results.shapes import shape_of

    place = place_of(points, answer, point)
    if not store.reusable(place, answer.content_hash(point), answer.engine_of(point)):
        return None
    try:
        shape = shape_of(answer.backend.name)
        summary: dict[str, Any] = store.read_json(place / "summary.json", "summary", shape)
    except InputError:
        return None
    return Outcome(point, summary, place)


def place_of(points: Path, answer: Answer, point: Point) -> Path:
    """The point's own directory."""
    parts = [str(value) for value in point.axes.values()] + [f"r{point.repetition}"]
    slug = re.sub(r"[^A-Za-z0-9.+-]+", "_", "-".join(parts))[:60].strip(".")
    return points / f"{slug}-{answer.content_hash(point)[:10]}"
