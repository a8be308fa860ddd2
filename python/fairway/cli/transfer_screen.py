"""How a transfer is shown while it goes on: a bar with the rate, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway.backends.transfer.tables import natural
from fairway.cli.terminal import note, warn
from fairway.ground import text
from fairway.ground.output import bar_console, print_json, print_text
from fairway.ground.progress import readable
from fairway.ground.text import printable

if TYPE_CHECKING:
    from fairway._core import TransferData

#: Streams that have a line each; there is no room for more above a bar.
_MOST_LINES = 32


class Screen:
    """Tells a user of a transfer: a bar where there is a terminal, otherwise only what matters."""

    def __init__(
        self,
        label: str,
        *,
        quiet: bool = False,
        per_stream: bool = False,
        json_lines: bool = False,
        ended: Callable[[TransferData], None] | None = None,
    ) -> None:
        self._quiet = quiet
        self._ended = ended
        self._json_lines = json_lines
        self._bar = None if quiet or not sys.stderr.isatty() else _Bar(label, per_stream=per_stream)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def event(self, event: Mapping[str, Any]) -> None:
        """Show an event."""
        kind = event["event"]
        if self._json_lines:
            self._clear()
            print_json(event, indent=None)
            return
        if kind == "token":
            # On standard output at once: whoever starts the other end waits for it.
            self.say(f"token: {event['token']}")
        elif kind == "warning":
            self._clear()
            warn(event["text"])
        elif not self._quiet:
            self._clear()
            note(f"listening at {event['address']}" if kind == "listening" else event["text"])

    def say(self, line: str) -> None:
        """Print a line on standard output, now."""
        self._clear()
        print_text(line)

    def progress(self, progress: Mapping[str, Any]) -> None:
        """Redraw the bar."""
        if self._bar is not None and (progress["streams"] or progress["done_bytes"]):
            self._bar.show(progress)

    def session(self, session: TransferData) -> None:
        """Hand a session on."""
        self._clear()
        if self._ended is not None:
            self._ended(session)

    def _clear(self) -> None:
        if self._bar is not None:
            self._bar.clear()


class _Bar:
    """A bar that is redrawn, with lines of streams above it."""

    def __init__(self, label: str, *, per_stream: bool) -> None:
        self._label = label
        self._per_stream = per_stream
        self._live: Any = None

    def show(self, progress: Mapping[str, Any]) -> None:
        from rich.console import Group
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        if self._live is None:
            self._live = Live(console=bar_console(), transient=True, auto_refresh=False)
            self._live.start()
        fraction = fraction_of(progress)
        line = Table.grid(padding=(0, 1), expand=True)
        line.add_column(no_wrap=True)
        line.add_column(ratio=1)
        for _ in range(3):
            line.add_column(justify="right", no_wrap=True)
        line.add_row(
            Text(printable(self._label)),
            ProgressBar(total=1.0, completed=fraction or 0.0, pulse=fraction is None),
            *map(Text, figures(progress, fraction)),
        )
        streams = stream_lines(progress["streams"]) if self._per_stream else []
        self._live.update(Group(*(Text(printable(one)) for one in streams), line), refresh=True)

    def clear(self) -> None:
        """Take the bar away, so that a line can be printed."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def fraction_of(progress: Mapping[str, Any]) -> float | None:
    """Part of the transfer done, 0 to 1; none if nobody knows how much there is.

    >>> fraction_of({"done_bytes": 5, "total_bytes": 20, "duration_s": None, "elapsed_s": 1.0})
    0.25
    >>> fraction_of({"done_bytes": 5, "total_bytes": None, "duration_s": 4.0, "elapsed_s": 1.0})
    0.25
    """
    total, duration_s = progress["total_bytes"], progress["duration_s"]
    if total is None:
        return min(float(progress["elapsed_s"] / duration_s), 1.0) if duration_s else None
    return min(float(progress["done_bytes"] / total), 1.0) if total else 1.0


def figures(progress: Mapping[str, Any], fraction: float | None) -> list[str]:
    """How much, how fast and how long still."""
    done = text.size(progress["done_bytes"])
    if progress["total_bytes"] is not None:
        done = f"{fraction or 0.0:.0%} of {text.size(progress['total_bytes'])}"
    left_s = _left_s(progress)
    left = "" if left_s is None else f"{readable(left_s)} left"
    return [done, text.bit_rate(progress["goodput_bps"]), left]


def _left_s(progress: Mapping[str, Any]) -> float | None:
    """Time left; none if nobody knows."""
    total, duration_s = progress["total_bytes"], progress["duration_s"]
    if total is None:
        return None if duration_s is None else max(0.0, duration_s - progress["elapsed_s"])
    # From its own rate, and not from the part done: that was there before where it was resumed.
    rest_bytes = max(total - progress["done_bytes"], 0)
    goodput_bps = float(progress["goodput_bps"])
    return rest_bytes * 8 / goodput_bps if goodput_bps > 0 else None


def stream_lines(streams: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each of the streams, as far as there is room."""
    lines = [
        f"  {stream['id']:16} {text.bit_rate(stream['goodput_bps']):>14}"
        f"  cwnd {text.number(_rounded(stream['cwnd_segments'])):>7}"
        f"  srtt {text.milliseconds(stream['srtt_s']):>9}"
        f"  {stream['retransmitted_segments']:>6} retrans."
        for stream in sorted(streams, key=lambda of: natural(of["id"]))[:_MOST_LINES]
    ]
    if len(streams) > _MOST_LINES:
        lines.append(f"  … and {text.count(len(streams) - _MOST_LINES, 'stream')} more")
    return lines


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value)
