"""Which path a scenario of a recording is: what the recording says of it, or its name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.errors import InputError, read_text
from fairway.experiment.plan import MAX_BYTES, parse_toml
from fairway.ground import shape, store

#: A file in a recording's directory in the form of `golden.toml`, for recordings of others.
DECLARED = "golden.toml"
#: A file there, or in the directory above, with a table of scenarios.
DESCRIBED = "README.md"

_ENTRY = {"name": str, "rate": str, "delay": str, "limit": str}
#: Headings of the table in a README -> what the column says.
_HEADINGS = {
    "r": "rate", "rate": "rate",
    "d": "delay", "delay": "delay", "one-way delay": "delay",
    "rtt": "rtt",
    "q": "limit", "queue": "limit", "limit": "limit", "buffer": "limit",
    "duration": "duration",
    "loss": "loss", "random loss": "loss", "p": "loss",
}  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """One path.

    Attributes:
        delay: One way.
        duration: Of the experiment; none if only the traces tell.
        loss: Probability of a random loss.
    """

    name: str
    rate: str
    delay: str
    limit: str
    duration: str | None = None
    loss: float = 0.0

    @property
    def rtt_s(self) -> float:
        """Round-trip time without a queue, in seconds."""
        measured = _core.measured(self.delay)
        return 2 * measured[0] if measured and measured[1] == "s" else math.nan


def declared(directory: Path) -> dict[str, Scenario]:
    """The scenarios that a recording's files name.

    `recorded.json` goes before `golden.toml`, and that before a table in a README.
    """
    found: dict[str, Scenario] = {}
    for readme in (directory.parent / DESCRIBED, directory / DESCRIBED):
        if readme.is_file():
            found |= {one.name: one for one in _table(read_text(readme, "README", MAX_BYTES))}
    path = directory / DECLARED
    if path.is_file():
        content = parse_toml(read_text(path, "list of scenarios", MAX_BYTES), str(path))
        found |= _entries(content.get("scenario"), path)
    path = directory / store.RECORDED
    if path.is_file():
        content = store.read_json(path, "recording", {"scenarios": [(str, dict)]})
        # An older form has the names alone.
        tables = [one for one in content["scenarios"] if isinstance(one, Mapping)]
        found |= _entries(tables, path)
    return found


def by_name(name: str, source: str) -> Scenario:
    """The scenario that a name such as `10mbit-50ms-42p` says: rate, round-trip time, queue.

    A random loss is written with its unit: `20mbit-80ms-133p-0.1pct`.
    """
    said: dict[str, Any] = {}
    for part in re.split(r"[-_]", name.lower()):
        key, value = _part(part)
        if key is None or key in said:
            raise InputError(
                f"{source}: no path is known for the scenario {name}: nothing names it, and "
                f'"{part}" in it is not understood (10mbit-50ms-42p would be: rate, round-trip '
                f"time, queue; and 0.1pct a random loss); name it in {DECLARED} beside the "
                f"traces:\n{_example(name)}"
            )
        said[key] = value
    lacking = [key for key in ("rate", "delay", "limit") if key not in said]
    if lacking:
        raise InputError(
            f"{source}: no path is known for the scenario {name}: nothing names it, and the name "
            f"does not say its {' and '.join(lacking)}; name it in {DECLARED} beside the traces:\n"
            f"{_example(name)}"
        )
    said.pop("flows", None)
    return Scenario(name, **said)


def _part(part: str) -> tuple[str | None, Any]:
    """What a part of a scenario's name says."""
    number = r"(\d+(?:\.\d+)?)"
    if found := re.fullmatch(number + r"([kmg])bit(?:ps)?", part):
        return "rate", f"{found[1]} {found[2].replace('m', 'M').replace('g', 'G')}bit/s"
    if found := re.fullmatch(number + "ms", part):
        return "delay", _half(f"{found[1]} ms")
    if found := re.fullmatch(r"(\d+)p(?:kts?|ackets?)?", part):
        return "limit", f"{found[1]} packets"
    if found := re.fullmatch("(?:loss)?" + number + "(pct|percent|%|permille)(?:loss)?", part):
        return "loss", _probability(f"{found[1]}%", part) / (10 if found[2] == "permille" else 1)
    if re.fullmatch(r"\d+flows?", part):  # the traces themselves tell
        return "flows", part
    return None, None


def _half(rtt: str) -> str:
    """The one-way delay of a round-trip time, in milliseconds."""
    return f"{_core.quantity(rtt, 'duration') / 2e6:g} ms"


def _entries(value: Any, path: Path) -> dict[str, Scenario]:
    """Scenarios in the form of golden.toml."""
    if wrong := shape.problem(value or [], [_ENTRY], "scenario"):
        raise InputError(f"{path}: {wrong}; a scenario is written\n{_example('10mbit-50ms-42p')}")
    return {
        entry["name"]: Scenario(
            **{key: entry[key] for key in _ENTRY},
            duration=_text(entry.get("duration"), path),
            loss=_probability(entry.get("loss", 0.0), str(path)),
        )
        for entry in value or []
    }


def _text(value: Any, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InputError(f'{path}: duration = {value}: expected a time such as "100 s"')


def _probability(value: Any, source: str) -> float:
    """A probability, as a number or in per cent."""
    written = str(value).strip()
    number = _core.ratio(written)
    if number is None or number >= 1:
        raise InputError(f'{source}: loss {written}: expected a probability: 0.001, or "0.1 %"')
    return number


def _table(text: str) -> Iterator[Scenario]:
    """The scenarios of a Markdown table whose first heading is "scenario"."""
    headings: list[str | None] = []
    for line in text.splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|"):
            headings = []
        elif cells[0].lower() == "scenario":
            headings = [None, *(_HEADINGS.get(cell.lower()) for cell in cells[1:])]
        elif headings and (found := _row(headings, cells)):
            yield found


def _row(headings: list[str | None], cells: list[str]) -> Scenario | None:
    """A scenario in a line of a table; none if it does not say enough, or is not one."""
    said = {key: cell for key, cell in zip(headings, cells, strict=False) if key}
    if "delay" not in said and (found := re.match(r"[\d.]+ ?ms\b", said.get("rtt", ""))):
        said["delay"] = _half(found[0])
    limit = re.match(r"(\d+) ?p", said.get("limit", ""))
    rate = re.match(r"[\d.]+ ?[kMG]bit/s", said.get("rate", ""))
    delay = re.match(r"[\d.]+ ?[mµu]?s\b", said.get("delay", ""))
    if not (limit and rate and delay):
        return None
    duration = re.match(r"[\d.]+ ?m?s\b", said.get("duration", ""))
    loss = re.match(r"[\d.]+ ?%?", said.get("loss", ""))
    return Scenario(
        cells[0], rate[0], delay[0], f"{limit[1]} packets", duration and duration[0],
        _probability(loss[0], DESCRIBED) if loss else 0.0,
    )  # fmt: skip


def _example(name: str) -> str:
    """An entry as it would be written."""
    return (
        f"[[scenario]]\nname     = {json.dumps(name)}\n"
        'rate     = "10 Mbit/s"\ndelay    = "25 ms"       # one way\nlimit    = "42 packets"\n'
        'duration = "100 s"\nloss     = 0.001         # only if packets are lost at random'
    )
