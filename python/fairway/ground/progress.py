"""Progress of long commands on standard error: a bar for people, lines for log files."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

from fairway.ground import output
from fairway.ground.text import printable

#: How often one long job is told of in lines, in seconds.
_EVERY_S = 10

#: After that many seconds the time left is told of a job of which less than a hundredth is done.
_LONG_S = 5


@dataclass(frozen=True)
class State:
    """How far a command is.

    Attributes:
        done: Runs finished, those included that were there before.
        total: Runs asked for.
        found: Runs that were there before.
        under_way: Runs done of those that are being computed, as a number of runs.
        simulated_s: Simulated time of the runs that were computed, in seconds, and of a single run
            as far as it is; 0 if unknown.
        duration_s: Simulated time of a single run, in seconds; 0 of several, or if unknown.
    """

    done: int = 0
    total: int = 1
    found: int = 0
    under_way: float = 0.0
    simulated_s: float = 0.0
    duration_s: float = 0.0

    @property
    def fraction(self) -> float:
        """Part of the whole work done, 0 to 1."""
        return (self.done + self.under_way) / self.total if self.total else 1.0

    def remaining_s(self, elapsed_s: float) -> float | None:
        """Time left if the rest goes as the part done went; none while too little is known."""
        left = self.total - self.found
        if left <= 0:
            return None
        return remaining_s(elapsed_s, (self.done - self.found + self.under_way) / left)

    def speed(self, elapsed_s: float) -> str:
        """Throughput: runs, and simulated seconds, in a second; nothing while too few are done.

        Of a single run also how much of its time is simulated.
        """
        computed = self.done - self.found
        if self.duration_s and elapsed_s >= 0.5:
            reached = f"{readable(self.simulated_s)} of {readable(self.duration_s)} simulated"
            return f"{reached}, {_short(self.simulated_s / elapsed_s)} simulated s/s"
        if elapsed_s < 0.5 or computed < 2:
            return ""
        runs = f"{_short(computed / elapsed_s)} runs/s"
        if not self.simulated_s:
            return runs
        return f"{runs}, {_short(self.simulated_s / elapsed_s)} simulated s/s"


def _short(number: float) -> str:
    """Two digits, or all of a number above 100.

    >>> _short(0.0123), _short(3.14159), _short(99.7), _short(1234.5)
    ('0.012', '3.1', '100', '1,234')
    """
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, state: State) -> None:
        """Take note of nothing."""


class Lines(Silent):
    """One line on standard error whenever a run of several has finished.

    There is at most one every two seconds; of a single run one every ten.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = self._printed_at = time.monotonic()
        self._done = 0

    def __enter__(self) -> Lines:
        self._started = time.monotonic()
        return self

    def update(self, state: State) -> None:
        """Print a line if there is news."""
        now = time.monotonic()
        done, total = state.done, state.total
        is_last = done == total
        if total == 1 and (is_last or now - self._printed_at < _EVERY_S):
            return
        if total > 1 and (done == self._done or (not is_last and now - self._printed_at < 2)):
            return
        self._done, self._printed_at = done, now
        elapsed_s = now - self._started
        speed, left = state.speed(elapsed_s), state.remaining_s(elapsed_s)
        how_far = f"{state.fraction:.0%} done" if total == 1 else f"{done} of {total} runs done"
        parts = [f"{self._label}: {how_far}"]
        parts += [speed] if speed else []
        parts += [] if left is None or is_last else [f"about {readable(left)} left"]
        self._print(", ".join(parts))

    def _print(self, line: str) -> None:
        output.print_error(line)


class Parts(Lines):
    """One line on standard error every ten seconds: how much of one long job is done."""

    def update(self, state: State) -> None:
        """Print a line if the last one is old."""
        now = time.monotonic()
        if now - self._printed_at < _EVERY_S:
            return
        self._printed_at = now
        left = remaining_s(now - self._started, state.fraction)
        tail = "" if left is None else f", about {readable(left)} left"
        self._print(f"{self._label}: {state.fraction * 100:.0f} % done{tail}")


class Bar(Silent):
    """A bar that is redrawn on a terminal."""

    def __init__(self, label: str) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self._started = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[runs]}"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[left]}"),
            console=output.bar_console(),
            transient=True,
        )
        self._task: Any = self._bar.add_task(
            printable(label), total=1.0, runs="", speed="", left=""
        )

    def __enter__(self) -> Bar:
        self._started = time.monotonic()
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, state: State) -> None:
        """Redraw."""
        elapsed_s = time.monotonic() - self._started
        left = state.remaining_s(elapsed_s)
        self._bar.update(
            self._task,
            completed=state.fraction,
            runs=f"{state.done}/{state.total}" if state.total > 1 else "",
            speed=state.speed(elapsed_s),
            left="" if left is None else f"{readable(left)} left",
        )


def reporter(label: str, *, quiet: bool, single: bool = False) -> Silent:
    """The reporter for where standard error goes; `single` is one long job, not many runs."""
    if quiet:
        return Silent()
    if sys.stderr.isatty():
        return Bar(label)
    return Parts(label) if single else Lines(label)


def remaining_s(elapsed_s: float, fraction: float) -> float | None:
    """Time left if the rest goes as the part done went; none while too little is known."""
    if fraction <= 0 or elapsed_s < (0.5 if fraction >= 0.01 else _LONG_S):
        return None
    return elapsed_s * (1 - fraction) / fraction


def readable(seconds: float) -> str:
    """A duration for people.

    >>> readable(42.4), readable(130), readable(7300), readable(200_000), readable(3.2e8)
    ('42 s', '2 min 10 s', '2 h 1 min', '2 d 7 h', '10 y 53 d')
    """
    left = round(seconds)
    # A year of 365 days: this is how long something takes, not a date.
    for large, unit, small, part in _UNITS:
        if left >= large:
            return f"{left // large:,} {unit} {left % large // small} {part}"
    return f"{left} s"


_UNITS = (
    (365 * 86_400, "y", 86_400, "d"),
    (86_400, "d", 3600, "h"),
    (3600, "h", 60, "min"),
    (60, "min", 1, "s"),
)
