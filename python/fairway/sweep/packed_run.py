"""A finished run on its way to where it is kept, which may be another machine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fairway.results.run import Run


@dataclass(frozen=True)
class PackedRun:
    """What is kept of a run.

    Attributes:
        summary: Its summary as compact JSON.
        files: Name -> content of its directory, but for captures; empty if the summary is enough.
        run: The run itself, where it was computed in this process.
    """

    summary: bytes
    files: dict[str, bytes]
    run: Run | None = field(default=None, repr=False)


def without_time(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary without the time the run took, so that it is the same wherever it ran."""
    return {name: value for name, value in summary.items() if name != "wall_s"}


def compact(summary: dict[str, Any]) -> bytes:
    """A summary as JSON on one line; refuses NaN, which JSON cannot hold."""
    return json.dumps(summary, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def pack(run: Run, engine: str, *, whole: bool) -> PackedRun:
    """What is kept of a run that a program of digest `engine` computed; its tables if `whole`."""
    summary = without_time(run.summary)
    files = run.files(engine=engine, summary=summary) if whole else {}
    return PackedRun(compact(summary), files, run)
