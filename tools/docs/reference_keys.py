"""The keys of experiment files: what each takes, what holds without it, and who answers it.

All of it is the program's: forms, defaults and meanings from its schema, and of the kernel and the
models what they say to a small experiment that has the key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from markdown_text import code, table, toml

from fairway import _core

#: Where the tables of the page stand in an experiment.
PLACES = {
    "experiment": "",
    "stack": "stack",
    "topology": "topology",
    "wlan": "topology",
    "station": "topology.station",
    "link": "topology.link",
    "queue": "topology.bottleneck.queue",
    "loss": "topology.bottleneck.loss",
    "corruption": "topology.bottleneck.corruption",
    "duplication": "topology.bottleneck.duplication",
    "reordering": "topology.bottleneck.reordering",
    "jitter": "topology.bottleneck.jitter",
    "change": "topology.bottleneck.change",
    "on-off": "topology.bottleneck.on_off",
    "state": "topology.bottleneck.state",
    "flow": "flow",
    "sizes": "flow.size",
    "times": "flow.think",
    "measure": "measure",
    "capture": "capture",
    "linux": "linux",
}


def key_tables() -> dict[str, str]:
    """Every table of keys by its name."""
    schema = json.loads(_core.schema())
    stack = schema["properties"]["stack"]["properties"]
    preset = json.loads(_core.presets())[0]["switches"]
    # Those of a WLAN come last, and have a page of their own.
    topology = list(schema["properties"]["topology"]["properties"])
    wlan = topology.index("standard")
    skipped = {
        "topology": topology[wlan:],
        "wlan": topology[:wlan],
        # A flow has every switch of the stack too; its table would repeat them.
        "flow": [key for key in stack if key not in ("preset", "cc_variant")],
    }
    return {
        name: keys(below(schema, path), path, skipped.get(name, ()), preset)
        for name, path in PLACES.items()
    }


def queue_keys() -> str:
    """The keys of each queue discipline, with its defaults."""
    section = below(json.loads(_core.schema()), PLACES["queue"])["properties"]
    rows = []
    for kind in section["kind"]["enum"]:
        cells = []
        for name, key in section.items():
            if name != "limit" and kind not in key.get("x-kinds", []):
                continue
            value = key.get("x-defaults", {}).get(kind, key.get("default"))
            cells.append(f"`{name}`" if value is None else f"`{name} = {toml(value)}`")
        rows.append([f"`{kind}`", ", ".join(cells)])
    return table(["`kind`", "keys, with their defaults"], rows)


def below(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The schema of the table at a path."""
    for name in filter(None, path.split(".")):
        entry = schema["properties"][name]
        schema = entry.get("items") or (entry["anyOf"][1] if "anyOf" in entry else entry)
    return schema


def keys(
    section: Mapping[str, Any], path: str, skip: Iterable[str], preset: Mapping[str, Any]
) -> str:
    """The table of a section's keys. Without a default, switches of the stack have the preset's."""
    rows = []
    for name, key in section["properties"].items():
        if name in skip:
            continue
        absent = default(key, "required" if name in section["required"] else "")
        if path == "stack" and name in preset:
            absent = code(preset[name])
        where = f"{path}.{name}".lstrip(".")
        cells = [takes(key), code(key["examples"][0]), absent, key["description"]]
        backends = (_core.linux_layout, _core.model_answer)
        said = [answered(where, key, section, ask) for ask in backends]
        rows.append([f"`{name}`", *cells, *said])
    return table(["key", "takes", "example", "default", "meaning", "kernel", "models"], rows)


def takes(key: Mapping[str, Any]) -> str:
    """What may be written."""
    if "enum" in key:
        return ", ".join(code(choice) for choice in key["enum"])
    return str(key["x-takes"])


def default(key: Mapping[str, Any], otherwise: str) -> str:
    """What holds without the key, for each kind of table if that differs."""
    if "default" in key:
        return code(key["default"])
    if "x-defaults" not in key:
        return otherwise
    kinds: dict[str, list[str]] = {}
    for kind, value in key["x-defaults"].items():
        kinds.setdefault(code(value), []).append(f"`{kind}`")
    return "; ".join(f"{value} with {', '.join(names)}" for value, names in kinds.items())


def answered(
    path: str, key: Mapping[str, Any], section: Mapping[str, Any], ask: Callable[[str], object]
) -> str:
    """With what of a key a backend answers: with all, with nothing, or with some."""
    found = {label: accepts(ask, text) for label, text in experiments(path, key, section)}
    good = [label for label, is_answered in found.items() if is_answered]
    bad = [label for label in found if label not in good]
    if not good:
        return "–"
    # Of a choice that no small experiment has, nothing is said.
    is_whole = len(found) >= len(choices(path, key) or [None])
    if is_whole and not bad:
        return "yes"
    return "not " + ", ".join(bad) if is_whole and len(bad) < len(good) else ", ".join(good)


def choices(path: str, key: Mapping[str, Any]) -> list[Any]:
    """What of a key is asked about one by one: kinds of its table, or its values."""
    # The specimen of a topology's own key has the kind that the key asks for.
    if "x-kinds" in key and not is_of_topology(path):
        return list(key["x-kinds"])
    if path.startswith("stack.") and "enum" not in key and key.get("type") != "boolean":
        preset = json.loads(_core.presets())[0]["switches"].get(path.removeprefix("stack."))
        return [key["examples"][0]] + [preset] * (preset not in (None, key["examples"][0]))
    return key.get("enum") or ([False, True] if key.get("type") == "boolean" else [])


def is_of_topology(path: str) -> bool:
    """Whether a key stands in `[topology]` itself."""
    return path.startswith("topology.") and path.count(".") == 1


def experiments(
    path: str, key: Mapping[str, Any], section: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Small valid experiments that have the key, for each of its choices that some have."""
    above, _, name = path.rpartition(".")
    asked = choices(path, key)
    if not asked and (text := specimen(path)):
        yield "", text
    for choice in asked:
        if "x-kinds" in key and not is_of_topology(path):
            label, text = f"`{choice}`", specimen(path, choice)
        elif name == "kind":
            label, text = code(choice), specimen_of_kind(above, section, choice)
        else:
            label, text = code(choice), with_value(path, choice)
        if text is not None and accepts(_core.check_for_simulator, text):
            yield label, text


def specimen(path: str, kind: str | None = None) -> str | None:
    """A small experiment that has a key; only where the key is of losses, packets are lost."""
    text = _core.specimen(path, kind)
    if text is None or ".loss" in path:
        return text
    document = json.loads(text)
    for link in document["topology"].values():
        for one in link if isinstance(link, list) else [link]:
            if isinstance(one, dict):
                one.pop("loss", None)
    return json.dumps(document)


def specimen_of_kind(path: str, section: Mapping[str, Any], kind: str) -> str | None:
    """A small experiment with a table of this kind at a path."""
    if "limit" in section["properties"]:
        return specimen(f"{path}.limit", kind)
    for name, key in section["properties"].items():
        kinds = key.get("x-kinds", [])
        if kind in (kinds[:1] if path == "topology" else kinds):
            return specimen(f"{path}.{name}", kind)
    return with_value(f"{path}.kind", kind)


def with_value(path: str, value: Any) -> str | None:
    """The specimen of a key with another value."""
    text = specimen(path)
    if text is None:
        return None
    document = json.loads(text)
    *above, name = path.split(".")
    here = document
    for step in above:
        here = here[step]
        here = here[0] if isinstance(here, list) else here
    here[name] = value
    return json.dumps(document)


def accepts(ask: Callable[[str], object], text: str) -> bool:
    """Whether an experiment is answered, or is valid."""
    try:
        ask(text)
    except _core.ExperimentError:
        return False
    return True
