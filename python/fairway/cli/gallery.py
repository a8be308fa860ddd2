"""The command `fairway gallery`."""

from __future__ import annotations

from pathlib import Path

from typer import Argument, Option

from fairway.cli.terminal import (
    Json,
    Out,
    Quiet,
    Threads,
    listed,
    note,
    note_report,
    print_json,
    show_table,
)


def gallery(
    names: list[str] | None = Argument(
        None, help="Algorithms.  [default: all]", show_default=False
    ),
    out: Out = Path("runs/gallery"),
    figures: str = Option(
        "pdf,png,svg", metavar="FORMATS", help="Formats of the figure: pdf,png,svg."
    ),
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show every congestion control on the same three paths.

    \b
    Examples:
      fairway gallery
      fairway gallery reno cubic bbr --out runs/three --figures svg

    Window, queue and goodput of each, one figure and one report, all kept in runs/gallery (or
    --out); the same command goes on where it was stopped.
    """
    from fairway import api

    assert out is not None
    formats = listed(figures)
    result = api.gallery(names or (), out, figures=formats, threads=threads, quiet=quiet)
    if as_json:
        print_json(result.to_json())
    else:
        show_table(result.table())
    if not quiet:
        for kind in formats:
            note(f"Figure: {out / f'gallery.{kind}'}")
        note_report(out)
