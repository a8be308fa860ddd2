"""Progress of long commands on standard error: a bar for people, lines for log files."""

from __future__ import annotations

import sys
import time
from typing import Any


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, done: int, total: int, fraction: float) -> None:
        """Take note of nothing."""


class Lines(Silent):
    """One line on standard error whenever a run of several has finished.

    There is at most one every two seconds.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = self._printed_at = time.monotonic()
        self._done = 0

    def update(self, done: int, total: int, fraction: float) -> None:
        """Print a line if there is news.

        Args:
            done: Runs finished.
            total: Runs asked for.
            fraction: Part of the whole work done, 0 to 1.
        """
        now = time.monotonic()
        if total == 1 or done == self._done or (done < total and now - self._printed_at < 2):
            return
        self._done, self._printed_at = done, now
        left = remaining_s(now - self._started, fraction)
        tail = "" if left is None or done == total else f", about {readable(left)} left"
        sys.stderr.write(f"{self._label}: {done} of {total} runs done{tail}\n")
        sys.stderr.flush()


class Parts(Silent):
    """One line on standard error every ten seconds: how much of one long job is done."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = self._printed_at = time.monotonic()

    def update(self, _done: int, _total: int, fraction: float) -> None:
        """Print a line if the last one is old."""
        now = time.monotonic()
        if now - self._printed_at < 10:
            return
        self._printed_at = now
        left = remaining_s(now - self._started, fraction)
        tail = "" if left is None else f", about {readable(left)} left"
        sys.stderr.write(f"{self._label}: {fraction * 100:.0f} % done{tail}\n")
        sys.stderr.flush()


class Bar(Silent):
    """A bar that is redrawn on a terminal."""

    def __init__(self, label: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._started = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[runs]}"),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task: Any = self._bar.add_task(label, total=1.0, runs="", left="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, done: int, total: int, fraction: float) -> None:
        """Redraw."""
        left = remaining_s(time.monotonic() - self._started, fraction)
        self._bar.update(
            self._task,
            completed=fraction,
            runs=f"{done}/{total}" if total > 1 else "",
            left="" if left is None else f"{readable(left)} left",
        )


def reporter(label: str, *, quiet: bool, single: bool = False) -> Silent:
    """The right reporter for where standard error goes.

    Args:
        label: What is done, for people.
        quiet: Show nothing.
        single: One long job, and not several runs.
    """
    if quiet:
        return Silent()
    if sys.stderr.isatty():
        return Bar(label)
    return Parts(label) if single else Lines(label)


def remaining_s(elapsed_s: float, fraction: float) -> float | None:
    """Time left if the rest goes as the part done went; none while too little is known."""
    if fraction < 0.01 or elapsed_s < 0.5:
        return None
    return elapsed_s * (1 - fraction) / fraction


def readable(seconds: float) -> str:
    """A duration for people.

    >>> readable(42.4), readable(130), readable(7300)
    ('42 s', '2 min 10 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
