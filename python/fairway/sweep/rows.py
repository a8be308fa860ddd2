"""Summaries of many runs in one file: a row for each, found by its content."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fairway import _core
from fairway.errors import InputError, writing
from fairway.experiment.plan import Point
from fairway.ground import disk, regular, store
from fairway.ground.scratch import JOURNAL, Scratch
from fairway.ground.shape import problem
from fairway.sweep.outcome import Outcome
from fairway.sweep.packed_run import PackedRun
from fairway.sweep.storage import Answer, found_directory

#: File in `points/` with a row for each run.
ROWS = "summaries.parquet"

#: Columns of that file; `experiment` and `summary` are JSON.
_COLUMNS = ("content_hash", "engine", "experiment", "summary")


class Row(NamedTuple):
    """One run: digest of the program that computed it, its document and its summary as JSON."""

    engine: str
    experiment: bytes
    summary: bytes


class Rows:
    """Keeps summaries in one file, from a journal of what has finished since.

    A line of the journal is a run; one that is not whole is none. The end of a sweep writes all
    runs in the order of its points, so that the file is the same whatever finished first.
    """

    whole = False

    def __init__(self, directory: Path, answer: Answer) -> None:
        self._points = directory / store.POINTS
        self._answer = answer
        self._lock = threading.Lock()
        #: Lines that are to be written to the journal.
        self._lines: list[bytes] = []
        self._added = False
        self._scratch = Scratch(self._points)
        with contextlib.ExitStack() as undone:
            # Rows that were taken over from a journal stay in this one.
            undone.callback(lambda: self._scratch.let_go(keep=self._added))
            with writing(self._points):
                self._journal = disk.create(self._scratch.path / JOURNAL)
            undone.callback(disk.release, self._journal)
            self._rows = read_rows(self._points)
            self._has_directories = any(
                path.is_dir() for path in self._points.iterdir() if not path.name.startswith(".")
            )
            self._scratch.clear(self._take)
            undone.pop_all()

    def _take(self, left: Path) -> bool:
        """Take over the journal of a process that died."""
        with writing(self._points):
            for content_hash, row in _journalled(left / JOURNAL):
                self._add({content_hash: row})
        self.commit(())
        return True

    def find(self, point: Point) -> Outcome | None:
        """A row, or a directory, of the same content."""
        _, content_hash, engine = self._answer.known(point)
        row = self._rows.get(content_hash)
        if row is not None and row.engine == engine != "unknown":
            with contextlib.suppress(InputError):
                read_summary(row, self._points / ROWS)
                return self._outcome(point, content_hash, row.summary)
        if not self._has_directories:
            return None
        return found_directory(self._points, self._answer, point)

    def _outcome(self, point: Point, content_hash: str, summary: bytes) -> Outcome:
        return Outcome(point, summary, again=self._answer.again, content_hash=content_hash)

    def stage(self, point: Point, packed: PackedRun) -> Outcome:
        """Write the run's line."""
        (outcome,) = self.stage_all([(point, point.compact, packed.summary)])
        return outcome

    def stage_all(self, runs: Iterable[tuple[Point, bytes, bytes]]) -> list[Outcome]:
        """Write the lines of runs: of each its point, and its document and summary as JSON."""
        rows: dict[str, Row] = {}
        outcomes = []
        for point, experiment, summary in runs:
            _, content_hash, engine = self._answer.known(point)
            rows[content_hash] = Row(engine, experiment, summary)
            outcomes.append(self._outcome(point, content_hash, summary))
        with writing(self._points):
            self._add(rows)
        return outcomes

    def copy(self, outcome: Outcome, point: Point) -> Outcome:
        """The same row, which is found by its content."""
        return replace(outcome, point=point)

    def _add(self, rows: Mapping[str, Row]) -> None:
        lines: list[bytes] = []
        for content_hash, row in rows.items():
            head = f'["{content_hash}","{row.engine}",'.encode()
            lines += (head, row.experiment, b",", row.summary, b"]\n")
        with self._lock:
            self._lines += lines
            self._rows.update(rows)
            self._added = True

    def commit(self, outcomes: Sequence[Outcome]) -> None:  # noqa: ARG002
        """Flush the journal."""
        with writing(self._points), self._lock:
            lines, self._lines = self._lines, []
            disk.write_all(self._journal, b"".join(lines))
            disk.sync(self._journal)

    def close(self, planned: Sequence[Point] | None) -> None:
        """Write the rows in the order of the points; rows of other points come after them."""
        keep = self._added
        try:
            if planned is not None:
                self._write(planned)
                keep = False
        finally:
            with contextlib.suppress(OSError):  # of a full disk, `commit` has told
                disk.close(self._journal)
            self._scratch.let_go(keep=keep)

    def _write(self, planned: Sequence[Point]) -> None:
        # Another process may have ended a sweep of other points there meanwhile.
        rows = {**read_rows(self._points), **self._rows}
        wanted = [self._answer.content_hash(point) for point in planned]
        order = dict.fromkeys([*wanted, *sorted(rows)])
        write_rows(self._points, {key: rows[key] for key in order if key in rows})


def read_rows(points: Path) -> dict[str, Row]:
    """All rows of `points/` by their content, none if there is no such file."""
    path = points / ROWS
    if not path.exists():
        return {}
    import polars as pl

    try:
        with regular.opened(path) as file:
            frame = pl.read_parquet(file)
        columns = [frame[name] for name in _COLUMNS]
    except (OSError, pl.exceptions.PolarsError):
        return {}
    if any(column.dtype != pl.String or column.null_count() for column in columns):
        return {}
    return {
        content_hash: Row(engine, experiment.encode(), summary.encode())
        for content_hash, engine, experiment, summary in zip(*columns, strict=True)
    }


def write_rows(points: Path, rows: dict[str, Row]) -> None:
    """Write all rows, in their order."""
    import polars as pl

    columns: dict[str, list[str] | list[bytes]] = {
        "content_hash": list(rows),
        "engine": [row.engine for row in rows.values()],
        "experiment": [row.experiment for row in rows.values()],
        "summary": [row.summary for row in rows.values()],
    }
    buffer = io.BytesIO()
    pl.DataFrame([pl.Series(name, column) for name, column in columns.items()]).cast(
        pl.String
    ).write_parquet(buffer, compression="zstd", compression_level=3, row_group_size=1000)
    store.write_file(points / ROWS, buffer.getvalue())


def read_summary(row: Row | None, where: Path) -> tuple[Any, bytes]:
    """The experiment of a row, and its summary after a look at its shape."""
    if row is None:
        raise InputError(f"{where}: has no row of a run of this sweep; run it again")
    try:
        experiment = json.loads(row.experiment)
        # Runs of a sweep differ in their numbers, and seldom in more.
        if _wrong_with(_core.outline(row.summary)) and (wrong := _wrong_with(row.summary)):
            raise InputError(f"{where}: damaged row: {wrong}; run the sweep again")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: damaged row: {error}; run the sweep again") from None
    return experiment, row.summary


@functools.lru_cache(maxsize=256)
def _wrong_with(summary: bytes) -> str | None:
    from fairway.results.shapes import shape_of

    loaded = json.loads(summary)
    backend = loaded.get("backend") if isinstance(loaded, dict) else None
    return problem(loaded, shape_of(backend))


def _journalled(journal: Path) -> Iterator[tuple[str, Row]]:
    """The whole lines of a journal; the last one may have been cut off."""
    if not journal.exists():
        return
    with regular.opened(journal) as file:
        while line := file.readline(regular.MOST_JSON):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            match row:
                case [str(content_hash), str(engine), dict(experiment), dict(summary)]:
                    yield content_hash, Row(engine, _json(experiment), _json(summary))


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
