"""What the commands have in common: options, and how tables, JSON and remarks are printed."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairway.report import Table

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Directory for the results.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", "-j", min=1, max=1024, help="Runs at a time.  [default: cores]"),
]


def columns() -> int:
    """The columns of the terminal, or 80 where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 80


def show_table(table: Table, widths: Sequence[int] = ()) -> None:
    """Print a table that fits the terminal, or 80 columns where there is none.

    Args:
        table: The table.
        widths: Of each column, where tables under each other shall be alike; the last is for the
            last column of a terminal of 80 columns.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    if not table.rows:
        return
    console = Console(width=None if sys.stdout.isatty() else 80, highlight=False)
    drawn = RichTable(
        box=box.SIMPLE_HEAD, title=Text(table.caption), title_justify="left", title_style="bold",
        pad_edge=False,
        show_edge=False, padding=(0, 1) if len(table.columns) < 7 else (0, 0, 0, 1),
    )  # fmt: skip
    for index, column in enumerate(table.columns):
        is_label = index < table.labels
        # Numbers stay whole, so headings above them are broken between words.
        longest = max(map(len, [*(row[index] for row in table.rows), *column.split()]))
        room = max(longest, widths[index] if widths else 0)
        heading = column if is_label else "\n".join(textwrap.wrap(column, room))
        drawn.add_column(
            Text(heading),
            justify="left" if is_label else "right",
            overflow="fold",
            no_wrap=not is_label and longest < 20,
            width=widths[index] if widths else None,
        )
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    console.print(drawn)
    console.print()


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def note(message: str) -> None:
    """Print a remark on standard error."""
    typer.echo(message, err=True)


#: Warnings that were printed: each is printed once.
_warned: set[str] = set()


def warn(message: str) -> None:
    """Print a warning on standard error, if it was not printed before."""
    if message not in _warned:
        _warned.add(message)
        note(f"Warning: {message}")
