"""The command `fairway fidelity`."""

from pathlib import Path

import typer
from typer import Option

from fairway.cli import terminal


def fidelity(
    golden: Path | None = Option(
        None, metavar="DIR", help="Golden traces.  [default: Fairway's own, of Linux 6.1]"
    ),
    kernel: str | None = Option(
        None, metavar="RELEASE", help="Fairway's own of another kernel: 6.1 or 6.12."
    ),
    out: terminal.Out = None,
    threads: terminal.Threads = None,
    figures: str = Option("", metavar="FORMATS", help="Also write both windows: pdf,png,svg."),
    check: bool = Option(False, "--check", help="Exit with 1 if any cell is out of tolerance."),
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Simulate what a real kernel did; say how closely it is followed.

    \b
    Examples:
      fairway fidelity
      fairway fidelity --kernel 6.12
      fairway fidelity --figures pdf,png --check
      fairway linux record-golden traces && fairway fidelity --golden traces

    Each algorithm on each path is a cell, which is within tolerance if goodput, mean window,
    mean smoothed round-trip time, the interval between reductions and the exit from slow start
    are.

    Everything is kept in runs/fidelity/<name of DIR> (or --out); the same command goes on where
    it was stopped.
    """
    from fairway.compare.fidelity.data import FEWEST_REDUCTIONS, what_is_taken
    from fairway.compare.fidelity.recording import DEFAULT, packed
    from fairway.compare.fidelity.run import fidelity as compare_with_golden
    from fairway.ground.names import real

    name = real(golden or packed(kernel or DEFAULT)).name
    place = out or Path("runs") / "fidelity" / name
    result = compare_with_golden(
        golden, place, kernel=kernel, threads=threads, figures=terminal.listed(figures), quiet=quiet
    )
    if as_json:
        terminal.print_json(result.to_json())
    else:
        terminal.print_text(f"{result.title}\n")
        terminal.show_table(*result.tables())
        about = (
            f"{what_is_taken()} Each value is the simulator's, and beside it the real one; * is "
            f"out of tolerance. An interval counts from {FEWEST_REDUCTIONS} reductions on."
        )
        terminal.say(about)
        terminal.print_text(f"{result.sentence}.")
    if not quiet:
        terminal.note_report(place)
    if check and not result.holds:
        raise typer.Exit(1)
