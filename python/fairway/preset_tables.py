"""Stack presets as tables: all side by side, or one with the source of every value."""

from __future__ import annotations

import difflib
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairway.errors import InputError
from fairway.page import Table

#: Spaces between two columns of a table of fewer than seven; of more, one less.
_GAP = 3
#: What stands in a comparison for the value of the first preset.
_SAME = "="


def select(known: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """The preset of that name.

    Raises:
        InputError: If there is none.
    """
    by_name = {preset["name"]: preset for preset in known}
    if name not in by_name:
        near = difflib.get_close_matches(name, list(by_name), n=2)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise InputError(f"no preset named {name!r}; {meant}there is {', '.join(by_name)}")
    return dict(by_name[name])


def differing(known: Sequence[Mapping[str, Any]]) -> list[str]:
    """The switches in which presets differ."""
    first = known[0]["switches"]
    return [s for s in first if any(preset["switches"][s] != first[s] for preset in known)]


def literal(value: Any) -> str:
    """The value of a switch as an experiment file has it; `not set` for a key to leave out."""
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)


def plain(value: Any) -> str:
    """The same without quotes."""
    return value if isinstance(value, str) else literal(value)


def comparison(known: Sequence[Mapping[str, Any]], width: int) -> Iterator[Table]:
    """Where presets differ: as many tables as it takes to be no wider than `width`.

    Each has the first preset, the default, and others beside it, in which `=` stands for the
    value of the first.
    """
    switches = differing(known)
    first, *others = known
    left = [switches, [plain(first["switches"][switch]) for switch in switches]]
    heads = ["switch", first["name"]]
    room = width - sum(map(_width, heads, left)) - _GAP
    while others:
        columns: list[list[str]] = []
        used = 0
        for preset in others:
            column = [_beside(preset["switches"][s], first["switches"][s]) for s in switches]
            used += _GAP + _width(preset["name"], column)
            if columns and used > room:
                break
            columns.append(column)
        names = [preset["name"] for preset in others[: len(columns)]]
        rows = [list(row) for row in zip(*left, *columns, strict=True)]
        caption = f"Where presets differ ({_SAME} as in {first['name']})"
        yield Table(caption, [*heads, *names], rows, labels=len(heads) + len(names))
        others = others[len(names) :]


def _beside(value: Any, first: Any) -> str:
    return _SAME if value == first else plain(value)


def _width(head: str, column: Sequence[str]) -> int:
    return max(map(len, [head, *column]))


def common(known: Sequence[Mapping[str, Any]], width: int) -> str:
    """The switches that are alike in every preset, as text."""
    different = differing(known)
    alike = [
        f"{switch} {plain(value)}".replace(" ", "\xa0")  # not broken between lines
        for switch, value in known[0]["switches"].items()
        if switch not in different
    ]
    text = f"The same in all: {', '.join(alike)}."
    return textwrap.fill(text, width, break_on_hyphens=False).replace("\xa0", " ")


def summaries(known: Sequence[Mapping[str, Any]]) -> Table:
    """What each preset is."""
    rows = [[preset["name"], preset["summary"]] for preset in known]
    return Table("Presets", ["name", "what it is"], rows, labels=2)


def in_full(preset: Mapping[str, Any]) -> Table:
    """One preset: every switch with its value and where that is from."""
    rows = [
        [switch, literal(value), preset["sources"][switch]]
        for switch, value in preset["switches"].items()
    ]
    caption = f"{preset['name']}: {preset['summary']}"
    return Table(caption, ["switch", "value", "source"], rows, labels=3)
