"""The command `fairway presets`."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from typer import Argument

from fairway.cli.terminal import Json, print_json, say, show_rows
from fairway.errors import InputError

#: What stands in a comparison for the value of the first preset.
_SAME = "="


def presets(
    name: str | None = Argument(None, help="Show this preset and its sources."),
    as_json: Json = False,
) -> None:
    """List the presets of the TCP stack, or one with the source of every value.

    \b
    Examples:
      fairway presets
      fairway presets linux-6.1
      fairway presets --json
    """
    from fairway.ground import registry

    known = registry.presets()
    if name is not None:
        preset = select(known, name)
        if as_json:
            print_json(preset)
        else:
            _show_in_full(preset)
    elif as_json:
        print_json(known)
    else:
        rows = [[preset["name"], preset["summary"]] for preset in known]
        show_rows("Presets", ["name", "what it is"], rows, labels=2)
        show_comparison(known)
        say(common(known))


def select(known: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """The preset of that name."""
    by_name = {preset["name"]: dict(preset) for preset in known}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, list(by_name), n=2)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise InputError(f"no preset named {name!r}; {meant}there is {', '.join(by_name)}")


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


def show_comparison(known: Sequence[Mapping[str, Any]]) -> None:
    """Where presets differ: the first, which is the default, and others beside it.

    `=` stands for the value of the first.
    """
    first, *others = known
    rows = [
        [
            switch,
            plain(first["switches"][switch]),
            *(_beside(preset["switches"][switch], first["switches"][switch]) for preset in others),
        ]
        for switch in differing(known)
    ]
    heads = ["switch", *(preset["name"] for preset in known)]
    caption = f"Where presets differ ({_SAME} as in {first['name']})"
    show_rows(caption, heads, rows, labels=len(heads), keys=2)


def _beside(value: Any, first: Any) -> str:
    return _SAME if value == first else plain(value)


def common(known: Sequence[Mapping[str, Any]]) -> str:
    """The switches that are alike in every preset, as text."""
    different = differing(known)
    alike = [
        f"{switch} {plain(value)}"
        for switch, value in known[0]["switches"].items()
        if switch not in different
    ]
    return f"The same in all: {', '.join(alike)}."


def _show_in_full(preset: Mapping[str, Any]) -> None:
    """One preset: every switch with its value and where that is from."""
    rows = [
        [switch, literal(value), preset["sources"][switch]]
        for switch, value in preset["switches"].items()
    ]
    caption = f"{preset['name']}: {preset['summary']}"
    show_rows(caption, ["switch", "value", "source"], rows, labels=3)
