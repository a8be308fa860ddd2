"""The command `fairway script`."""

import json
from pathlib import Path
from typing import Any

import typer
from typer import Argument, Option

from fairway.cli.terminal import Json, note, print_json, print_text
from fairway.errors import InputError, read_text
from fairway.ground import disk
from fairway.ground.text import of_path

#: Largest script in bytes, as the reader has it.
_LARGEST = 1 << 20


def script(
    files: list[Path] = Argument(
        ...,
        help="Scripts, as packetdrill's, or directories with *.pkt in them.",
        show_default=False,
    ),
    preset: str | None = Option(
        None, metavar="NAME", help="Stack instead of the script's.  [default: linux-6.1]"
    ),
    trace: bool = Option(False, "--trace", help="Show all segments and calls, with their times."),
    as_json: Json = False,
) -> None:
    """Test the TCP endpoint with scripts of segments, calls and assertions.

    \b
    Examples:
      fairway script fast-retransmit.pkt
      fairway script tests/scripts
      fairway script prr.pkt --preset rfc5681 --trace

    Exits with 1 if a script does not pass, and with 2 if one cannot be run.
    """
    scripts = [script for path in files for script in _scripts(path)]
    outcomes = [_run(script, preset) for script in scripts]
    if as_json:
        print_json([{k: v for k, v in one.items() if k != "text"} for one in outcomes])
    else:
        for outcome in outcomes:
            _show(outcome, trace)
        if len(scripts) > 1:
            print_text(_count(outcomes))
    for outcome in outcomes:
        if "error" in outcome:
            note(f"fairway: {outcome['error']}")
    if any("error" in outcome for outcome in outcomes):
        raise typer.Exit(InputError.exit_code)
    if not all(outcome["passed"] for outcome in outcomes):
        raise typer.Exit(1)


def _scripts(path: Path) -> list[Path]:
    """The scripts in a directory and those below it, or the file itself."""
    if not path.is_dir():
        return [path]
    try:
        files = [folder / name for folder, _, names in disk.walk(path) for name in names]
    except OSError as error:
        raise InputError(f"{path}: cannot read this directory: {error.strerror}") from error
    found = sorted(file for file in files if file.suffix == ".pkt")
    if not found:
        raise InputError(f"{path}: no script in this directory; their names end in .pkt")
    return found


def _run(file: Path, preset: str | None) -> dict[str, Any]:
    from fairway._core import ScriptError, run_script

    try:
        text = read_text(file, "script", _LARGEST)
        verdict: dict[str, Any] = json.loads(run_script(text, of_path(file), preset))
    except (ScriptError, InputError) as error:
        return {"name": str(file), "passed": False, "error": str(error)}
    return verdict


def _show(outcome: dict[str, Any], trace: bool) -> None:
    if "error" in outcome:
        return
    print_text(outcome["text"], end="")
    for line in outcome["printed"]:
        print_text(f"  printed: {line}")
    for warning in outcome["warnings"]:
        note(f"Warning: {outcome['name']}:{warning}")
    if trace:
        print_text("  line  time in s    what")
        for entry in outcome["trace"]:
            print_text(f"{entry['line'] or '-':>6}  {entry['t_s']:>11.6f}  {entry['text']}")


def _count(outcomes: list[dict[str, Any]]) -> str:
    passed = sum(outcome["passed"] for outcome in outcomes)
    unusable = sum("error" in outcome for outcome in outcomes)
    failed = len(outcomes) - passed - unusable
    text = f"{passed} passed, {failed} failed"
    return f"{text}, {unusable} cannot be run" if unusable else text
