"""One act, done three times: as JSON, on a wide terminal, and on a narrow one or in a pipe."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from walker import pages, process
from walker.acts import Act
from walker.process import Ran

#: A terminal on which no table has to do without anything.
WIDE = 1000
#: Commands that have no `--json`.
_WITHOUT_JSON = ("report", "animate", "study")


@dataclass
class Trio:
    """What an act did.

    Attributes:
        act: The act.
        place: The working directory.
        ran: All commands that were run, in order.
        json_ran: The one that printed JSON, if it can.
        wide: The one on a wide terminal.
        narrow: The one on a narrow terminal or in a pipe.
        before: Reports that were there already, by their paths.
    """

    act: Act
    place: Path
    ran: list[Ran]
    json_ran: Ran | None
    wide: Ran
    narrow: Ran
    before: dict[str, bytes] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The name of the command."""
        return self.act.words[0]

    @property
    def results(self) -> list[Path]:
        """What was written, once and again."""
        if not self.act.out:
            return [self.place / self.act.words[1]] if self.command == "report" else []
        return [self.place / name for name in (self.act.out, again(self.act.out))]

    @cached_property
    def json(self) -> Any:
        """What was printed as JSON; None if it is none."""
        try:
            return json.loads(self.json_ran.out) if self.json_ran else None
        except ValueError:
            return None

    @cached_property
    def pages(self) -> dict[str, pages.Page]:
        """Every page that was written, by its path."""
        found = {}
        for result in self.results[:1]:
            files = [result] if result.is_file() else sorted(result.glob("*.html"))
            for file in files:
                found[str(file.relative_to(self.place))] = pages.read(file.read_text("utf-8"))
        return found


def again(out: str) -> str:
    """Where results go the second time."""
    stem, dot, suffix = out.partition(".")
    return f"{stem}-again{dot}{suffix}"


def do(act: Act, place: Path) -> Trio:
    """Do an act three times."""
    words = act.resolved(place)
    ran: list[Ran] = []
    before = {}
    if act.words[0] == "report" and (place / words[1] / "report.html").is_file():
        before = {f"{words[1]}/report.html": (place / words[1] / "report.html").read_bytes()}

    def run(*more: str, width: int | None = None, in_pipe: bool = False) -> Ran:
        ran.append(process.fairway([*words, *more], place, width=width, in_pipe=in_pipe))
        return ran[-1]

    as_json = None if act.words[0] in _WITHOUT_JSON else run("--json")
    out = ("--out", act.out, *act.options) if act.out else ()
    if act.interrupt is not None and as_json is not None:
        ran.append(
            process.fairway(
                [*words, *out], place,
                interrupt_s=act.interrupt * as_json.took_s, as_program=act.as_program,
            )
        )  # fmt: skip
    wide = run(*out, width=WIDE)
    out = ("--out", again(act.out), *act.options) if act.out else ()
    narrow = run(*out, width=act.width, in_pipe=act.in_pipe)
    return Trio(act, place, ran, as_json, wide, narrow, before)
