"""One finished run of a sweep."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.experiment.plan import Point
from fairway.ground import store
from fairway.results.run import Run, load
from fairway.sweep.packed_run import compact

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Outcome:
    """One finished point of a sweep.

    Attributes:
        point: What was run.
        recorded: Its summary; as JSON where there are many, which takes a tenth of the memory.
        directory: Where the run is kept, if it is kept whole.
        in_memory: The run itself, if it was not written.
        again: Computes the run of a point once more, if its summary alone is kept.
        content_hash: SHA-256 over everything that has decided it, if that has been worked out.
    """

    point: Point
    recorded: dict[str, Any] | bytes = field(repr=False)
    directory: Path | None = None
    in_memory: Run | None = field(default=None, repr=False)
    again: Callable[[Point], Run] | None = field(default=None, repr=False)
    content_hash: str | None = field(default=None, repr=False)

    @property
    def summary(self) -> dict[str, Any]:
        """Its summary, as in `summary.json`, without the time that the run took."""
        if isinstance(self.recorded, dict):
            return self.recorded
        summary: dict[str, Any] = json.loads(self.recorded)
        return summary

    @property
    def line(self) -> bytes:
        """Its summary as JSON on one line."""
        return compact(self.recorded) if isinstance(self.recorded, dict) else self.recorded

    def hash_by(self, version: str) -> str:
        """SHA-256 over everything that has decided it, by a version of Fairway."""
        if self.content_hash is not None:
            return self.content_hash
        backend, own = self.summary["backend"], self.summary.get("algorithms")
        return store.content_hash(self.point.asked, backend, version, own)

    @property
    def experiment(self) -> dict[str, Any]:
        """What was run."""
        return self.point.experiment

    @property
    def run(self) -> Run:
        """The whole run: from memory or its directory, or else computed again."""
        if self.in_memory is not None:
            return self.in_memory
        if self.directory is not None:
            return load(self.directory)
        assert self.again is not None
        return self.again(self.point)

    def series(self) -> pl.DataFrame:
        """The run's time series."""
        return self.run.series
