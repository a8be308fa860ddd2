"""The experiments that algorithms are shown in: data, kept in `scenarios.toml`."""

from __future__ import annotations

import copy
import difflib
import functools
import importlib.resources
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.errors import InputError
from fairway.experiment.plan import Document, parse_toml
from fairway.ground import registry


@dataclass(frozen=True)
class Scenario:
    """An experiment with a place for an algorithm.

    Attributes:
        title: What it is, beginning with a small letter.
    """

    key: str
    title: str
    _experiment: Mapping[str, Any]

    def of(self, algorithm: Mapping[str, Any]) -> Document:
        """The experiment with that algorithm, whose flow or flows have its name."""
        document = copy.deepcopy(dict(self._experiment))
        first = {"id": algorithm["name"], **document["flow"][0], "cc": algorithm["name"]}
        if algorithm["name"] in raw()["variant"]:
            first["cc_variant"] = variant(algorithm)
        document["flow"][0] = first
        return {"title": f"{algorithm['title']}: {self.title}", **document}


def canonical(algorithm: Mapping[str, Any]) -> Scenario:
    """The scenario that shows an algorithm, given as its entry in `registry.algorithms()`, best."""
    file = raw()
    by_family = file["family"].get(algorithm["family"], file["canonical"])
    return scenario(file["algorithm"].get(algorithm["name"], by_family))


def variant(algorithm: Mapping[str, Any]) -> str:
    """Whose version runs in a scenario: the file's choice, the preset's, or else the first."""
    file = raw()
    preset = preferred(file["base"]["stack"]["preset"])
    named: str = file["variant"].get(algorithm["name"], preset)
    variants: Sequence[str] = algorithm["variants"]
    return named if named in variants else variants[0]


@functools.cache
def preferred(preset: str) -> str:
    """The variant that a preset chooses where the algorithm has it."""
    found = next(entry for entry in registry.presets() if entry["name"] == preset)
    return str(found["switches"]["cc_variant"])


def is_own(flow: str, algorithm: Mapping[str, Any]) -> bool:
    """Whether a flow of that name is the algorithm's own in a scenario, or a copy of it."""
    return flow.partition("/")[0] == str(algorithm["name"])


def gallery_paths() -> list[Scenario]:
    """The scenarios of the gallery, on which every algorithm is shown."""
    return [scenario(key) for key in raw()["gallery"]]


def scenario(key: str) -> Scenario:
    """The scenario of that key."""
    file = raw()
    changes = dict(file["scenario"][key])
    return Scenario(key, changes.pop("title"), merged(file["base"], changes))


def select(known: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The entries of those names, in the order of `known`."""
    by_name = {entry["name"]: entry for entry in known}
    for name in names:
        if name not in by_name:
            near = near_matches(known, name)
            meant = f"did you mean {' or '.join(near)}? " if near else ""
            raise InputError(
                f"no congestion control named {name!r}; {meant}there is {', '.join(by_name)}"
            )
    return [dict(entry) for entry in known if entry["name"] in names]


def near_matches(known: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Names that may have been meant: written alike, or known by such a title."""
    written = {key: entry["name"] for entry in known
               for key in (_plain(entry["title"]), _plain(entry["name"]))}  # fmt: skip
    found = difflib.get_close_matches(_plain(name), list(written), n=3, cutoff=0.6)
    return list(dict.fromkeys(written[key] for key in found))


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter == "+")


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with tables changed key by key, and anything else replaced."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


@functools.cache
def raw() -> dict[str, Any]:
    """The content of `scenarios.toml`."""
    path = importlib.resources.files("fairway.experiment") / "scenarios.toml"
    return parse_toml(path.read_text("utf-8"), str(path))
