"""What programs on the hosts of a run did, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairway.ground import text
from fairway.plot.page import Table

if TYPE_CHECKING:
    from fairway.results.data import RunData

#: Characters that are shown of a command and of an output; summary.json has them whole.
_SHOWN = 32


def program_tables(run: RunData) -> list[Table]:
    """One line for each program; no table where none ran."""
    programs = run.summary.get("programs", [])
    columns = ["flow", "host", "command", "from (s)", "to (s)", "end", "last output"]
    rows = [
        [
            str(program["id"]),
            str(program["host"]),
            _shortened(" ".join(program["command"])),
            text.decimal(program["started_s"]),
            text.decimal(program["ended_s"]),
            _end(program),
            _shortened(_last_line(program)),
        ]
        for program in programs
    ]
    return [Table("Programs", columns, rows, labels=3, trailing=2)] if rows else []


def _end(program: Mapping[str, Any]) -> str:
    """How it ended, in a word or two."""
    if program["failure"] is not None:
        return "not started"
    if program["signal"] is not None:
        return f"signal {program['signal']}"
    return "running" if program["exit_code"] is None else f"exit {program['exit_code']}"


def _last_line(program: Mapping[str, Any]) -> str:
    """The last line of its output; of one that failed, of its errors."""
    streams = [program["stdout"], program["stderr"]]
    if program["exit_code"] != 0:
        streams.reverse()
    lines = [line for stream in streams for line in stream.strip().splitlines()[-1:]]
    return str(program["failure"] or (lines[0] if lines else ""))


def _shortened(words: str) -> str:
    """On one line, in as many characters as a table has room for."""
    shown = text.printable(" ".join(words.split()))
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
