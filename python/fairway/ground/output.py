"""The one way to standard output and standard error: words from anyone control nothing there."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

from fairway.ground.text import json_printable, printable

if TYPE_CHECKING:
    from rich.console import Console


def print_text(words: str = "", *, end: str = "\n", bold: bool = False) -> None:
    """Print words on standard output, now; bold on a terminal alone."""
    shown = printable(words)
    if bold and sys.stdout.isatty():
        shown = f"\x1b[1m{shown}\x1b[0m"  # ECMA-48, 8.3.117
    _write(sys.stdout, shown + end)


def print_error(words: str) -> None:
    """Print a line on standard error, now."""
    _write(sys.stderr, f"{printable(words)}\n")


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON on standard output, now; without an indent on one line."""
    # An encoding that lacks a character gets JSON's own escape of it.
    is_whole = (sys.stdout.encoding or "").lower().startswith("utf")
    written = json.dumps(value, indent=indent, ensure_ascii=not is_whole, allow_nan=False)
    _write(sys.stdout, json_printable(written) + "\n")


def bar_console() -> Console:
    """Where bars are drawn, on standard error; their words are made `printable` before."""
    from rich.console import Console

    return Console(stderr=True)


def _write(stream: TextIO, shown: str) -> None:
    stream.write(shown)
    stream.flush()
