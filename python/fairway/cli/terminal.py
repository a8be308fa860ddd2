"""What the commands have in common: options, and how tables, JSON and remarks are printed."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
from typer import Option

from fairway.cli.layout import LEAST_WIDTH, lines
from fairway.ground import output
from fairway.ground.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairway.plot.page import Table

Json = Annotated[bool, Option("--json", help="Print JSON, and nothing else, on standard output.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show no progress.")]
Out = Annotated[Path | None, Option("--out", "-o", help="Directory for the results.")]
AllowPython = Annotated[
    bool, Option("--allow-python", help="Let experiments run the modules that python:… names.")
]
AllowPrograms = Annotated[
    bool, Option("--allow-programs", help="Let experiments start programs, on a kernel.")
]
Replace = Annotated[
    bool, Option("--replace", help="Replace results of another experiment in --out.")
]
Assignments = Annotated[
    list[str] | None,
    Option("--set", metavar="PATH=VALUE", help="Set a value first; may be repeated."),
]
Seed = Annotated[
    int | None, Option(min=0, max=2**63 - 1, help="Seed instead of the experiment's own.")
]
Threads = Annotated[
    int | None, Option("--threads", "-j", min=1, max=1024, help="Threads.  [default: cores]")
]

KernelChoice = Annotated[
    str | None,
    Option(
        "--kernel",
        metavar="RELEASE",
        help="Of --backend linux: another kernel that was built, such as 6.12.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    Option("--metric", metavar="NAME", help="Show this metric instead; may be repeated."),
]
Dask = Annotated[
    str | None,
    Option(metavar="ADDRESS", help="Dask scheduler whose workers run it; local: start them here."),
]


#: Every other function here prints by these two or by `output.print_error`.
print_text, print_json = output.print_text, output.print_json


def listed(text: str) -> list[str]:
    """The names in a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def overrides(assignments: list[str] | None, seed: int | None = None) -> dict[str, Any]:
    """The values that `--set` and `--seed` give: path -> value."""
    from fairway.experiment.plan import parse_override

    changes = dict(parse_override(one) for one in assignments or [])
    return changes if seed is None else {**changes, "seed": seed}


def size(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """What reads a number of bytes, alone or with its unit: 1000, "1000 bytes", "64 KiB"."""

    def parse(text: str) -> int:
        from fairway import _core

        try:
            value = int(text) if str(text).isdecimal() else _core.quantity(text, "size")
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if value < least or (most is not None and value > most):
            bounds = f"{least:,}" + ("" if most is None else f" to {most:,}")
            raise typer.BadParameter(f"expected {bounds} bytes, got {value:,}")
        return value

    return parse


@contextlib.contextmanager
def _printable_errors() -> Iterator[None]:
    """Make the words of Typer's errors printable, as it prints them itself."""
    try:
        yield
    except Exception as error:
        # Of Click, which some versions of Typer depend on, and others have inside.
        if hasattr(error, "format_message"):
            vars(error)["message"] = printable(str(getattr(error, "message", "")))
        raise


class _Group(typer.core.TyperGroup):
    """Commands that are listed with the whole first sentence of each."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """As Typer does it; errors are told in words that control no terminal."""
        with _printable_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Likewise; it reads the arguments of a command."""
        with _printable_errors():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        # Typer's own cuts sentences to a line.
        rows = [
            (name, command.get_short_help_str(limit=formatter.width * 4))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name)) is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def commands(name: str | None = None) -> typer.Typer:
    """A group of commands, whose help is alike in all."""
    return typer.Typer(
        name=name,
        cls=_Group,
        no_args_is_help=True,
        # Plain help: it keeps the examples' line breaks, and starts twice as fast.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )


#: More columns than a screen has: rich fills each line of a table up to them.
_MOST_WIDTH = 10_000


def width() -> int | None:
    """The columns of the terminal, or those that COLUMNS says; none in a pipe or a file."""
    said = os.environ.get("COLUMNS", "")
    if sys.stdout.isatty() or (said.isdecimal() and int(said) > 0):
        return min(max(shutil.get_terminal_size().columns, LEAST_WIDTH), _MOST_WIDTH)
    return None


def columns() -> int:
    """The columns that sentences have: those of the terminal, or 80 where there is none."""
    return width() or 80


#: Columns that a paragraph has beside its label, or else it begins below it.
_LEAST_TEXT = 16


def wrapped(text: str, label: str = "", after: str | None = None) -> str:
    """A paragraph in lines that fit the terminal; commands and paths in it stay whole."""
    room = max(columns(), LEAST_WIDTH)
    if after is None and label.strip() and room - len(label) < _LEAST_TEXT:
        return f"{label.rstrip()}\n{wrapped(text, '    ')}"
    return textwrap.fill(
        printable(text), room, initial_indent=label,
        subsequent_indent=" " * len(label) if after is None else after,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def say(text: str, label: str = "") -> None:
    """Print a paragraph."""
    print_text(wrapped(text, label))


def show_table(*tables: Table) -> None:
    """Print tables, those with equal columns one under the other alike: see `layout.lines`."""
    filled = (table for table in tables if table.rows)
    for _, alike in itertools.groupby(filled, lambda table: tuple(table.columns)):
        group = list(alike)
        for table, drawn in zip(group, lines(group, width()), strict=True):
            if table.caption:
                print_text(wrapped(table.caption), bold=True)
            print_text("\n".join(drawn) + "\n")


def show_rows(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], **more: Any
) -> None:
    """Print one table; more arguments are `Table`'s."""
    from fairway.plot.page import Table

    show_table(Table(caption, columns, rows, **more))


def note(message: str) -> None:
    """Print a remark on standard error."""
    output.print_error(message)


def discard_output() -> None:
    """Drop what standard output still holds: its reader has gone."""
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def note_report(path: Path) -> None:
    """Say where a report is, or the one of a directory, if it could be drawn."""
    from fairway.plot.drawing import REPORT

    file = path / REPORT if path.is_dir() else path
    if file.is_file():
        note(f"Report: {file}")


#: Warnings that were printed: each is printed once.
_warned: set[str] = set()


def warn(message: str) -> None:
    """Print a warning on standard error, if it was not printed before."""
    if message not in _warned:
        _warned.add(message)
        note(f"Warning: {message}")
