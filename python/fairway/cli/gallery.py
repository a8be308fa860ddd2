"""The command `fairway gallery`."""

from pathlib import Path

from typer import Argument, Option

from fairway.cli import terminal


def gallery(
    names: list[str] | None = Argument(
        None, help="Algorithms.  [default: all]", show_default=False
    ),
    out: terminal.Out = Path("runs/gallery"),
    figures: str = Option(
        "pdf,png,svg", metavar="FORMATS", help="Formats of the figure: pdf,png,svg."
    ),
    threads: terminal.Threads = None,
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Show every congestion control on the same three paths.

    \b
    Examples:
      fairway gallery
      fairway gallery reno cubic bbr --out runs/three --figures svg

    Window, queue and goodput of each, one figure and one report, all kept in runs/gallery (or
    --out); the same command goes on where it was stopped.
    """
    from fairway.compare.gallery.run import gallery as run_gallery

    assert out is not None
    formats = terminal.listed(figures)
    result = run_gallery(names or (), out, figures=formats, threads=threads, quiet=quiet)
    if as_json:
        terminal.print_json(result.to_json())
    else:
        terminal.show_table(result.table())
    if not quiet:
        for kind in formats:
            terminal.note(f"Figure: {out / f'gallery.{kind}'}")
        terminal.note_report(out)
