"""The command `fairway exercise`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from fairway.cli import terminal

if TYPE_CHECKING:
    from fairway.exercises import Exercise, Verdict


def exercise(
    key: str | None = Argument(None, help="Show this exercise.", show_default=False),
    answer: Path | None = Argument(
        None, metavar="[ANSWER]", help="Experiment file to check.", show_default=False
    ),
    out: Path | None = Option(
        None, "--out", "-o", metavar="FILE", help="Write the first experiment to this file."
    ),
    hints: int = Option(0, "--hints", min=0, help="Show so many hints."),
    as_json: terminal.Json = False,
) -> None:
    """List the exercises, pose one, or check an answer to it.

    \b
    Examples:
      fairway exercise
      fairway exercise bufferbloat --out answer.toml
      fairway exercise bufferbloat --hints 1
      fairway exercise bufferbloat answer.toml

    An answer is the first experiment, changed. Each claim is shown as held or not; the exit
    code is 1 if one is not.
    """
    from fairway.exercises import check, exercises, find

    if key is None and (out is not None or hints):
        raise typer.BadParameter(
            "--out and --hints need an exercise; name one: fairway exercise aqm"
        )
    if answer is not None and (out is not None or hints):
        raise typer.BadParameter("an answer is checked without --out and --hints; leave them out")
    if key is None:
        known = exercises()
        if as_json:
            terminal.print_json([one.to_json() for one in known])
        else:
            rows = [[one.key, one.title, str(one.minutes)] for one in known]
            terminal.show_rows("Exercises", ["key", "title", "minutes"], rows, labels=2)
        return
    asked = find(key)
    if answer is not None:
        _show_verdicts(check(asked, answer), as_json=as_json)
        return
    if out is not None:
        _write(asked.start, out)
    if as_json:
        terminal.print_json(asked.to_json())
    else:
        _pose(asked, hints)


def _write(text: str, out: Path) -> None:
    """Write an experiment, over no file that may be an answer."""
    from fairway.errors import writing

    with writing(out), out.open("x", encoding="utf-8") as file:
        file.write(text)


def _pose(exercise: Exercise, hints: int) -> None:
    title = terminal.wrapped(f"{exercise.title} ({exercise.minutes} minutes)")
    terminal.print_text(title, bold=True)
    for paragraph in exercise.question.split("\n\n"):
        terminal.print_text()
        terminal.say(" ".join(paragraph.split()))
    for number, hint in enumerate(exercise.hints[:hints], 1):
        terminal.print_text()
        terminal.say(" ".join(hint.split()), f"Hint {number}: ")
    terminal.print_text("\nAn answer is right if")
    for claim in exercise.claims:
        terminal.say(claim["text"], "  - ")
    terminal.say(f"and these keys are as they were: {', '.join(exercise.keep)}.")
    terminal.print_text()
    terminal.say("fairway run FILE shows what happens; with --json, every figure by its name.")


def _show_verdicts(verdicts: list[Verdict], *, as_json: bool) -> None:
    """Show each claim with both numbers, and the keys that changed and must not."""
    right = all(verdict.held for verdict in verdicts)
    if as_json:
        terminal.print_json({"right": right, "claims": [vars(verdict) for verdict in verdicts]})
    else:
        rows = [
            ["yes" if one.held else "NO", one.text, one.figure, *_numbers(one)]
            for one in verdicts
            if one.test
        ]
        heads = ["held", "claim", "figure", "measured", "required"]
        terminal.show_rows("Claims", heads, rows, labels=3)
        for verdict in verdicts:
            if not verdict.test and not verdict.held:
                terminal.say(f"Changed, and must not be: {verdict.text.partition(' ')[0]}.")
        terminal.say("Right." if right else "Not yet.")
    if not right:
        raise typer.Exit(1)


def _numbers(verdict: Verdict) -> list[str]:
    """What was measured and what is required, with units."""
    from fairway.plot.columns import value_with_unit

    name = verdict.figure.rpartition(".")[2]
    left, right = (value_with_unit(name, side) for side in (verdict.left, verdict.right))
    within = " of" if verdict.test.startswith("within") else ""
    return [left, f"{verdict.test}{within} {right}"]
