"""The command `fairway agree`."""

from pathlib import Path

import typer
from typer import Argument, Option

from fairway.cli import terminal


def agree(
    experiment: str = Argument(
        ..., help="Experiment file, or the name of a set: kernel.", show_default=False
    ),
    out: terminal.Out = None,
    against: str = Option(
        "sim,linux", metavar="NAMES", help="Backends; the last is what others are held against."
    ),
    seeds: int | None = Option(
        None, min=2, max=10_000, help="Seeds on each side.  [default: the file's, or 4]"
    ),
    tolerance: list[str] | None = Option(
        None, metavar="METRIC=SHARE", help="Change a tolerance; may be repeated."
    ),
    assignments: terminal.Assignments = None,
    threads: terminal.Threads = None,
    figures: str = Option("", metavar="FORMATS", help="Also write figures: pdf,png,svg."),
    check: bool = Option(False, "--check", help="Exit with 1 if any metric is different."),
    allow_python: terminal.AllowPython = False,
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Run an experiment on two backends; say where they differ.

    \b
    Examples:
      fairway agree single.toml
      fairway agree single.toml --seeds 8 --tolerance goodput=0.5% --check
      fairway agree kernel     (the 17 algorithms of Linux on three paths)

    Each metric is equivalent, different or undecided at its tolerance, by the 90 % interval of
    the difference of means over several seeds. A sweep is compared point by point.

    Everything is kept in runs/agree/<name> (or --out); the same command goes on where it was
    stopped.
    """
    from fairway.compare.agree import run
    from fairway.compare.agree.quantities import parse_tolerance

    place = out or Path("runs") / "agree" / run.stem(experiment)
    result = run.agree(
        experiment, place, against=terminal.listed(against), seeds=seeds,
        tolerances=dict(parse_tolerance(one) for one in tolerance or []),
        overrides=terminal.overrides(assignments), threads=threads,
        figures=terminal.listed(figures), allow_python=allow_python, quiet=quiet,
    )  # fmt: skip
    if as_json:
        terminal.print_json(result.to_json())
    else:
        typer.echo(f"{result.title}\n")
        terminal.show_table(*result.tables())
        for remark in result.remarks():
            terminal.say(remark)
    if not quiet:
        terminal.note_report(place)
    if check and not result.agrees:
        raise typer.Exit(1)
