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

    from fairway.page import Table

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Directory for the results.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", "-j", min=1, max=1024, help="Runs at a time.  [default: cores]"),
]

Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Dask scheduler whose workers run it; local: start them here."
    ),
]


def columns() -> int:
    """The columns of the terminal, or 80 where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 80


#: Characters of a label that is not broken.
SHORT_LABEL = 12


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
    count = len(table.columns)
    values = [max(map(len, column)) for column in zip(*table.rows, strict=True)]
    # Numbers stay whole, so headings above them are broken between words; those of labels that are
    # short are broken in two where there is no room, and columns move together.
    longest = [max([v, *map(len, c.split())]) for v, c in zip(values, table.columns, strict=True)]
    gap = 2
    if sum(longest) + gap * count > console.width:
        gap = 1 if count > 7 else 2
        for index in range(table.labels):
            if values[index] <= SHORT_LABEL:
                longest[index] = max(values[index], (longest[index] + 1) // 2)
    drawn = RichTable(
        box=box.SIMPLE_HEAD, title=Text(table.caption), title_justify="left", title_style="bold",
        pad_edge=False, show_edge=False, padding=(0, 1) if count < 7 else (0, 0, 0, gap - 1),
    )  # fmt: skip
    for index, column in enumerate(table.columns):
        is_label = index < table.labels
        room = max(longest[index], widths[index] if widths else 0)
        folds = is_label and longest[index] > SHORT_LABEL
        drawn.add_column(
            Text(column if folds else "\n".join(textwrap.wrap(column, room))),
            justify="left" if is_label else "right",
            overflow="fold",
            no_wrap=not folds and longest[index] < 20,
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
