"""The command `fairway agree`."""

from pathlib import Path
from typing import Any

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
    kernel: terminal.KernelChoice = None,
    assignments: terminal.Assignments = None,
    threads: terminal.Threads = None,
    figures: str = Option("", metavar="FORMATS", help="Also write figures: pdf,png,svg."),
    check: bool = Option(False, "--check", help="Exit with 1 if any metric is different."),
    first_difference: bool = Option(
        False, "--first-difference", help="Show the first packet at which two backends part."
    ),
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
      fairway agree networks --kernel 6.12     (on 23 networks)
      fairway agree single.toml --first-difference

    Each metric is equivalent, different or undecided at its tolerance, by the 90 % interval of
    the difference of means over several seeds. A sweep is compared point by point.

    Everything is kept in runs/agree/<name> (or --out); the same command goes on where it was
    stopped.

    With --first-difference the experiment runs once on each side, and the first packet that one
    sends otherwise than the other is shown; nothing is kept.
    """
    if first_difference:
        given = {"--out": out, "--seeds": seeds, "--tolerance": tolerance, "--figures": figures}
        _show_first_difference(
            experiment, [name for name, value in given.items() if value], as_json=as_json,
            check=check, against=_sides(against, kernel),
            overrides=terminal.overrides(assignments), allow_python=allow_python, quiet=quiet,
        )  # fmt: skip
        return
    from fairway.compare.agree import run
    from fairway.compare.agree.quantities import parse_tolerance

    place = out or Path("runs") / "agree" / run.stem(experiment)
    result = run.agree(
        experiment, place, against=_sides(against, kernel), seeds=seeds,
        tolerances=dict(parse_tolerance(one) for one in tolerance or []),
        overrides=terminal.overrides(assignments), threads=threads,
        figures=terminal.listed(figures), allow_python=allow_python, quiet=quiet,
    )  # fmt: skip
    if as_json:
        terminal.print_json(result.to_json())
    else:
        terminal.print_text(f"{result.title}\n")
        terminal.show_table(*result.tables())
        for remark in result.remarks():
            terminal.say(remark)
    if not quiet:
        terminal.note_report(place)
    if check and not result.agrees:
        raise typer.Exit(1)


def _sides(against: str, kernel: str | None) -> list[Any]:
    """The backends as `fairway.agree` has them."""
    names = terminal.listed(against)
    if kernel is None:
        return list(names)
    from fairway.backends.linux.backend import Linux
    from fairway.errors import InputError

    if "linux" not in names:
        raise InputError(f"--kernel: only with the backend linux, not with {', '.join(names)}")
    return [Linux(kernel) if name == "linux" else name for name in names]


def _show_first_difference(
    experiment: str, refused: list[str], *, as_json: bool, check: bool, **options: Any
) -> None:
    from fairway.compare.agree import parting
    from fairway.errors import InputError

    if refused:
        raise InputError(
            f"agree --first-difference: {', '.join(refused)}: of no use, as one run of each side "
            "is compared packet by packet and nothing is kept; leave it out"
        )
    found = parting.first_difference(experiment, **options)
    if as_json:
        terminal.print_json(found.to_json())
    else:
        terminal.print_text(f"{found.title}\n")
        terminal.show_table(*found.tables())
        for path, value in found.assumed.items():
            terminal.say(f"Assumed on both sides: {path} = {value!r}, as in the kernel.")
        terminal.say(found.sentence())
    if check and not found.agrees:
        raise typer.Exit(1)
