"""One finished run of a sweep."""

from __future__ import annotations

import json
import re
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

#: Where a summary names its backend; in text a quotation mark would have a backslash before it.
_BACKEND = re.compile(rb'"backend":"([a-z]+)"')


@dataclass(frozen=True)
class Outcome:
    """One finished point of a sweep.

    Attributes:
        point: What was run.
        recorded: Its summary; as JSON where there are many, which takes a tenth of the memory.
        directory: Where the run is kept, if it is kept whole.
        in_memory: The run itself, if it was not written.
        again: Computes the run once more, if its summary alone is kept.
    """

    point: Point
    recorded: dict[str, Any] | bytes = field(repr=False)
    directory: Path | None = None
    in_memory: Run | None = field(default=None, repr=False)
    again: Callable[[], Run] | None = field(default=None, repr=False)

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

    def content_hash(self, version: str) -> str:
        """SHA-256 over everything that has decided it, by a version of Fairway."""
        backend, own = self._answered_by
        return store.content_hash(self.point.asked, backend, version, own)

    @property
    def _answered_by(self) -> tuple[str, dict[str, Any] | None]:
        """Its backend, and the user's own algorithms."""
        if isinstance(self.recorded, dict) or b'"algorithms":' in self.recorded:
            return self.summary["backend"], self.summary.get("algorithms")
        found = _BACKEND.search(self.recorded)
        return (found[1].decode() if found else self.summary["backend"]), None

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
        return self.again()

    def series(self) -> pl.DataFrame:
        """The run's time series."""
        return self.run.series
