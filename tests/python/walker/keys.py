"""The table of keys as the product exports it, and a value drawn for any of them.

A key that is new is drawn by itself: what it takes is read from its schema, and a small value is
one not far from its example.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any

#: Values of each dimension that a key may take in several, as a limit of a queue does: unit,
#: least and most. About a tenth to ten times the buffer of the paths that are drawn.
_DIMENSIONS = {
    "packet": ("packets", 4, 80),
    "bytes": ("bytes", 4_000, 120_000),
    "ms": ("ms", 4, 80),
    "bdp": ("bdp", 0.3, 4),
    "segment": ("segments", 2, 60),
}
#: Units that count things, of which there is no half.
_WHOLE = ("packets", "packet", "segments", "segment", "bytes", "byte", "ns")
_QUANTITY = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ/%]+)\s*$")
#: A word that a key takes instead of a quantity, as its pattern has it.
_WORD = re.compile(r"\^\\s\*([a-z]+)\\s\*\$|\^([a-z]+)\$")


@functools.cache
def schema() -> dict[str, Any]:
    """The schema of experiment files."""
    from fairway import _core

    found: dict[str, Any] = json.loads(_core.schema())
    return found


@functools.cache
def algorithms() -> tuple[dict[str, Any], ...]:
    """Every congestion control."""
    from fairway import _core

    return tuple(json.loads(_core.algorithms()))


def section(path: str) -> Mapping[str, Any]:
    """The keys of a table: of `topology.link`, or of the whole file."""
    found: Mapping[str, Any] = schema()
    for name in filter(None, path.split(".")):
        found = _table(found["properties"][name]) or {}
    properties: Mapping[str, Any] = found.get("properties", {})
    return properties


def key(path: str) -> Mapping[str, Any] | None:
    """What the schema says of a key, by its path with or without the numbers of lists."""
    above, _, name = plain(path).rpartition(".")
    try:
        return section(above).get(name)
    except KeyError:
        return None


def plain(path: str) -> str:
    """A path without the numbers of lists."""
    return ".".join(part for part in path.split(".") if not part.isdigit())


def _table(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The table that a key takes, or has a list of."""
    for one in (entry, entry.get("items", {}), *entry.get("anyOf", ())):
        if "properties" in one:
            return one
    return None


def draw(rng: Random, path: str, chance: float) -> Any:
    """A value of the key at a path.

    Args:
        rng: What is random.
        path: Where it stands.
        chance: Of each key of a table that need not be there.
    """
    path = plain(path)
    entry = key(path)
    assert entry is not None, path
    table = _table(entry)
    is_list = entry.get("type") == "array"
    if table is not None and (is_list or entry.get("type") == "object" or rng.random() < 0.5):
        if not is_list:
            return draw_table(rng, path, chance)
        return [draw_table(rng, path, chance) for _ in range(rng.choice((1, 1, 2)))]
    return _plain_value(rng, entry)


def draw_table(rng: Random, path: str, chance: float) -> dict[str, Any]:
    """A table: what it has to have, and some of its other keys."""
    keys = section(path)
    required = _required(path)
    kind = None
    if "kind" in keys:
        has_kind = rng.random() < 0.8 or "kind" in required
        kind = rng.choice(keys["kind"]["enum"]) if has_kind else keys["kind"].get("default")
    drawn: dict[str, Any] = {} if kind is None else {"kind": kind}
    for name, entry in keys.items():
        if name == "kind" or ("x-kinds" in entry and kind not in entry["x-kinds"]):
            continue
        if name in required or rng.random() < chance:
            drawn[name] = draw(rng, f"{path}.{name}", chance / 2)
    return drawn


def _required(path: str) -> list[str]:
    found: Any = schema()
    for name in filter(None, path.split(".")):
        found = _table(found["properties"][name]) or {}
    required: list[str] = found.get("required", [])
    return required


def _plain_value(rng: Random, entry: Mapping[str, Any]) -> Any:
    if "enum" in entry:
        return rng.choice(entry["enum"])
    kinds = entry.get("type", ())
    if "boolean" in kinds and (kinds == "boolean" or rng.random() < 0.5):
        return rng.random() < 0.5
    example = rng.choice(entry.get("examples") or [entry.get("default")])
    if "pattern" in entry:
        return _quantity(rng, str(example), entry["pattern"])
    if isinstance(example, int | float) and not isinstance(example, bool):
        return _number(rng, example, entry)
    return example


def _number(rng: Random, example: float, entry: Mapping[str, Any]) -> float:
    least, most = entry.get("minimum", 0), entry.get("maximum", 1e9)
    value = min(max(example * 4 ** rng.uniform(-1, 1), least), most)
    return round(value) if isinstance(example, int) else float(f"{value:.3g}")


def _quantity(rng: Random, example: str, pattern: str) -> str:
    words = [a or b for a, b in _WORD.findall(pattern)]
    if words and rng.random() < 0.2:
        return rng.choice(words)
    found = _QUANTITY.match(example)
    if found is None:
        return example
    value, unit = float(found[1]), found[2]
    several = [known for name, known in _DIMENSIONS.items() if re.search(rf"\b{name}\b", pattern)]
    if len(several) > 1:
        unit, low, high = rng.choice(several)
        value = low * (high / low) ** rng.random()
    else:
        value *= 4 ** rng.uniform(-1, 1)
    if unit in _WHOLE:
        return f"{max(1, round(value))} {unit}"
    return f"{float(f'{value:.3g}'):.12g} {unit}"
