"""Experiments that nobody thought of: plain ones, as people write them first, and any others."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from walker import keys

#: What most people compare first; half of the flows have one of these.
COMMON = ("reno", "cubic", "bbr")
#: Most that a link carries and a source sends, so that a run is a second's work.
MOST_BPS = 20e6
#: Most runs of a sweep.
MOST_POINTS = 8
#: Keys that say how much there is of something, and the most that is drawn.
_COUNTS = {
    "count": 3, "connections": 4, "servers": 4, "objects": 4, "transfers": 12, "hosts": 6,
    "arity": 4, "cells": 3, "stations": 4, "flow_rate": 20,
}  # fmt: skip
#: Tables that are swept over whole; and keys that would make another experiment, or a long one.
_TABLE_AXES = ("queue", "loss")
_NO_AXES = ("duration", "id", "from", "to", "kind", "window", "title", "at")
#: Keys that need another file, a kernel, or lines of text.
_NEVER = ("trace", "program", "cdf", "linux_socket")
#: Tries to make a document valid by removing or adding what its errors name.
_REPAIRS = 30

_RATE = re.compile(r"^(\d+(?:\.\d+)?) ([kMGT]?)bit/s$")
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

Document = dict[str, Any]


def experiment(rng: Random) -> Document:
    """A valid experiment, small enough to run in a second."""
    while True:
        document = _plain(rng) if rng.random() < 0.45 else _any(rng)
        document = {name: value for name, value in document.items() if value}
        if rng.random() < 0.55:
            document["sweep"] = _sweep(rng, document)
        if (found := repaired(rng, document)) is not None:
            return found


def changed(rng: Random, document: Document) -> Document:
    """A valid experiment that differs from another in one key."""
    while True:
        other = copy.deepcopy(document)
        path = rng.choice(list(_paths(other)))
        node, name = _find(other, path.split("."))
        node[int(name) if isinstance(node, list) else name] = _axis_value(rng, path)
        if (found := repaired(rng, other)) is not None:
            return found


def setting(rng: Random, document: Document) -> tuple[str, str]:
    """A path of a document and another value for it, as `--set` takes them."""
    path = rng.choice(
        [one for one in _paths(document) if one.rpartition(".")[2] not in _TABLE_AXES]
    )
    return path, json.dumps(_axis_value(rng, path))


def plan_errors(document: Document) -> list[str]:
    """What the product says against an experiment; nothing if it is valid."""
    from fairway import _core
    from fairway.errors import FairwayError

    try:
        found = _core.plan(document, "a.toml")
        experiments = found["points"][2]
        for experiment in experiments:
            _core.check_for_simulator(experiment)
    except (_core.ExperimentError, FairwayError) as error:
        return [line.removeprefix("a.toml: ") for line in str(error).splitlines()]
    if len(experiments) > MOST_POINTS:
        return ["sweep.repetitions: too many points for a walk"]
    return []


def repaired(rng: Random, document: Document) -> Document | None:
    """The document without, or with, what its errors name; None where that leads nowhere."""
    document = copy.deepcopy(document)
    for _ in range(_REPAIRS):
        _bound(document)
        if not (errors := plan_errors(document)):
            return document
        for error in errors:
            if not _mend(rng, document, error):
                return None
    return None


def _mend(rng: Random, document: Document, error: str) -> bool:
    """Add a key that is missing, or remove the one that cannot be; false if neither works."""
    path, _, said = error.partition(": ")
    if path.startswith("sweep"):
        sweep = document.get("sweep", {})
        named = [name for name in sweep if name in path] or list(sweep)
        if not named:
            return False
        del sweep[rng.choice(named)]
        if not sweep:
            del document["sweep"]
        return True
    node, name = _find(document, path.split("."))
    if node is None:
        return False
    if said.startswith("missing") and isinstance(node, dict):
        written = re.search(rf'write {re.escape(name)} = ("[^"]*"|[0-9.]+)', said)
        if written:
            node[name] = json.loads(written[1].rstrip("."))
            return True
        if keys.key(path) is None:
            return False
        node[name] = keys.draw(rng, path, 0.0)
        return True
    if isinstance(node, dict) and name in node:
        del node[name]
        return True
    return False


def _find(document: Any, parts: list[str]) -> tuple[Any, str]:
    """The table or list that holds a path's last part; lists go by index or by id."""
    node = document
    for part in parts[:-1]:
        if isinstance(node, list):
            named = [one for one in node if isinstance(one, dict) and one.get("id") == part]
            index = int(part) if part.isdigit() and int(part) < len(node) else None
            node = named[0] if named else None if index is None else node[index]
        elif isinstance(node, dict):
            node = node.get(part)
        if node is None:
            return None, parts[-1]
    return node, parts[-1]


def _bound(document: Any) -> None:
    """Make rates and counts small enough for a run of a second."""
    for node, name, value in list(leaves(document)):
        if isinstance(value, str) and (found := _RATE.match(value)):
            bps = float(found[1]) * _FACTORS[found[2]]
            if bps > MOST_BPS:
                node[name] = "20 Mbit/s"
        elif name in _COUNTS and isinstance(value, int | float):
            node[name] = min(value, _COUNTS[name])
        elif name in _NEVER:
            del node[name]


def leaves(document: Any, *, prefix: str = "") -> Iterator[tuple[Any, Any, Any]]:
    """Every value that is no table or list of tables: what holds it, its key, and itself."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in items:
        if isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(one, dict) for one in value)
        ):
            yield from leaves(value)
        else:
            yield document, name, value


def _seconds(rng: Random) -> float:
    return rng.choice((1, 2, 3, 4))


def _plain(rng: Random) -> Document:
    """A bottleneck, a queue and a few flows: what is written first."""
    rate, delay = rng.choice((2, 5, 8, 10)), rng.choice((5, 10, 20, 40))
    seconds = _seconds(rng)
    link: Document = {"rate": f"{rate} Mbit/s", "delay": f"{delay} ms"}
    if rng.random() < 0.8:
        link["queue"] = {"limit": rng.choice(("20 packets", "50 packets", "1.0 bdp", "40 ms"))}
    if rng.random() < 0.2:
        link["loss"] = {"probability": rng.choice((0.001, 0.01, 0.05))}
    flows = [_cc(rng, {}) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    if rng.random() < 0.3:
        flows[-1]["start"] = f"{seconds / 4} s"
    document: Document = {
        "duration": f"{seconds} s",
        "topology": {"kind": "dumbbell", "bottleneck": link},
        "flow": flows,
    }
    if rng.random() < 0.3:
        document["measure"] = {"window": [f"{seconds / 2} s", f"{seconds} s"]}
    return document


def _cc(rng: Random, flow: Document) -> Document:
    """The flow with a congestion control, now and then with parameters."""
    known = keys.algorithms()
    if rng.random() < 0.5:
        return {"cc": rng.choice(COMMON), **flow}
    chosen = rng.choice(known)
    flow = {"cc": chosen["name"], **flow}
    if chosen["params"] and rng.random() < 0.2:
        one = rng.choice(chosen["params"])
        usual = next(iter(one["default"].values()))
        flow["cc_params"] = {one["name"]: min(max(usual * rng.uniform(0.7, 1.3), one["min"]),
                                              one["max"])}  # fmt: skip
    return flow


def _any(rng: Random) -> Document:
    """A topology of any kind with flows of any kind, and keys from all of the table."""
    seconds = _seconds(rng)
    document = _topology(rng)
    document["duration"] = f"{seconds} s"
    first = document["flow"][0]
    places = {name: first[name] for name in ("from", "to", "mss") if name in first}
    document["flow"] = [_flow(rng, dict(places)) for _ in range(rng.choice((1, 2, 2, 3)))]
    chance = rng.choice((0.0, 0.03, 0.1))
    for name in ("stack", "measure", "capture"):
        drawn = keys.draw_table(rng, name, chance)
        if drawn:
            document[name] = drawn
    if rng.random() < 0.4:
        document["measure"] = {"window": [f"{seconds / 4} s", f"{seconds} s"]}
    return document


def _topology(rng: Random) -> Document:
    """A small experiment with a topology of any kind, and keys on its links."""
    from fairway import _core

    entry = keys.section("topology")
    kind = rng.choice(entry["kind"]["enum"])
    own = [name for name, key in entry.items() if kind in key.get("x-kinds", ())]
    # The key that fewest other kinds have shows the kind best.
    own.sort(key=lambda name: len(entry[name]["x-kinds"]))
    document: Document = json.loads(_core.specimen(f"topology.{own[0]}", None) or "{}")
    topology = document["topology"]
    topology["kind"] = kind
    if kind == "graph":
        document["flow"] = [_graph(rng, topology)]
    elif "link" in own:
        link = {"rate": "10 Mbit/s", "delay": "10 ms"}
        topology["link"] = [{"id": f"l{n}", **link} for n in range(rng.choice((1, 2, 3)))]
    for _, table in _links(topology):
        table.pop("loss", None)
        table.update(_link_keys(rng))
    for name in own:
        if name not in topology and rng.random() < 0.15:
            topology[name] = keys.draw(rng, f"topology.{name}", 0.05)
    return document


def _graph(rng: Random, topology: Document) -> Document:
    """Links between a few nodes, with a loop, so that there are routes to choose; and a flow."""
    nodes = ["a", "b", "c", "d"][: rng.choice((2, 3, 4))]
    pairs = list(itertools.pairwise(nodes))
    if len(nodes) > 2:
        pairs.append((nodes[0], nodes[-1]))
    topology["link"] = [
        {"id": f"{one}{two}", "from": one, "to": two, "rate": "8 Mbit/s", "delay": "5 ms"}
        for one, two in pairs
    ]
    return {"cc": "reno", "from": nodes[0], "to": nodes[-1]}


def _links(topology: Document) -> Iterator[tuple[str, Document]]:
    for name, value in topology.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and "rate" in one and "delay" in one:
                yield name, one


def _link_keys(rng: Random) -> Document:
    """Rate, delay, queue, impairments and schedules of a link."""
    drawn: Document = {"rate": f"{rng.choice((1, 3, 6, 12))} Mbit/s",
                       "delay": f"{rng.choice((1, 5, 15, 40))} ms"}  # fmt: skip
    path = "topology.bottleneck"
    for name in keys.section(path):
        if name in drawn or name in _NEVER:
            continue
        if rng.random() < (0.7 if name == "queue" else 0.1):
            drawn[name] = keys.draw(rng, f"{path}.{name}", 0.1)
    return drawn


def _flow(rng: Random, flow: Document) -> Document:
    """A flow of any kind that the simulator has."""
    kinds = [kind for kind in keys.section("flow")["kind"]["enum"] if kind != "program"]
    kind = "bulk" if rng.random() < 0.5 else rng.choice(kinds)
    drawn: Document = {**flow, "kind": kind}
    switches = keys.section("stack")
    chance = rng.choice((0.0, 0.05, 0.15))
    for name, entry in keys.section("flow").items():
        is_of_kind = kind in entry.get("x-kinds", (kind,))
        # A flow takes every switch of the stack: of so many each is rare.
        rare = chance / 10 if name in switches else chance
        if name not in (*drawn, "cc", "cc_params", *_NEVER) and is_of_kind and rng.random() < rare:
            drawn[name] = keys.draw(rng, f"flow.{name}", 0.1)
    return _cc(rng, drawn)


def _sweep(rng: Random, document: Document) -> Document:
    """One to three axes over what the document has, and repetitions."""
    sweep: Document = {}
    if rng.random() < 0.4:
        sweep["repetitions"] = rng.choice((2, 2, 3))
    paths = list(_paths(document))
    weights = [4 if path.endswith((".rate", ".delay", ".cc", ".limit")) else 1 for path in paths]
    axes = rng.choice((1, 1, 1, 2, 2, 3))
    for path in rng.choices(paths, weights, k=axes):
        values: list[Any] = []
        for _ in range(2 if axes > 1 else rng.choice((1, 2, 3, 4))):
            value = _axis_value(rng, path)
            if value not in values:
                values.append(value)
        sweep[path] = values
    named = [path for path in sweep if path != "repetitions"]
    if rng.random() < 0.1 and axes > 1:
        return {"list": [{path: _axis_value(rng, path) for path in named} for _ in range(2)]}
    if rng.random() < 0.1:
        ends = {
            path: {"low": _axis_value(rng, path), "high": _axis_value(rng, path)} for path in named
        }
        return {rng.choice(("random", "latin_hypercube")): {"points": 3, **ends}}
    return sweep


def _axis_value(rng: Random, path: str) -> Any:
    if path.endswith(".cc"):
        return _cc(rng, {})["cc"]
    if path.endswith(".queue") or path.endswith(".loss"):
        return keys.draw_table(rng, keys.plain(path), 0.0)
    return keys.draw(rng, path, 0.0)


def _paths(document: Any, prefix: str = "") -> Iterator[str]:
    """Paths of the keys that a document has and that a sweep may vary."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in items:
        path = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, dict) or (
            isinstance(value, list) and value and isinstance(value[0], dict)
        ):
            yield from _paths(value, path)
            if name in _TABLE_AXES:
                yield path
        elif name not in _NO_AXES and keys.key(path) is not None:
            yield path
