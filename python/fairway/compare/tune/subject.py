"""What is tuned: experiments, the flows in them, and the parameters that are searched."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairway.compare.tune.space import Parameter, known_parameter, within
from fairway.errors import InputError, read_text
from fairway.experiment.plan import MAX_BYTES, Document, Plan, parse_toml, plan
from fairway.experiment.scenarios import select
from fairway.ground import registry, text

#: What an own algorithm's name begins with: the registry does not know its parameters.
_OWN = "python:"

#: Values of parameters, by name: one thing to try.
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """An experiment file, and the flows in it that are tuned.

    Attributes:
        changes: Values set in it first, the algorithm of the flows among them.
        flows: Indices of the flows whose parameters are searched.
        params: The parameters of the algorithm that each of these has already.
        sweep: The axes of the file's own sweep; parameters are tuned over all of it.
    """

    path: Path
    changes: Mapping[str, Any]
    flows: tuple[int, ...]
    params: tuple[Mapping[str, Any], ...]
    sweep: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.path.stem

    def overrides(self, settings: Settings) -> dict[str, Any]:
        """What is set in the experiment for some values of the parameters."""
        paths = {name: value for name, value in settings.items() if "." in name}
        own = {name: value for name, value in settings.items() if "." not in name}
        params = {
            f"flow.{index}.cc_params": {**params, **own}
            for index, params in zip(self.flows, self.params, strict=True)
            if params or own
        }
        return {**self.changes, **paths, **params}

    def plan(self, settings: Settings, first: int, count: int) -> Plan:
        """The runs of some values: repetitions `first` to `first + count − 1`.

        The seed of a repetition is the same whatever the values are.
        """
        sweep = {**self.sweep, "repetitions": first + count}
        planned = plan(self.path, overrides={**self.overrides(settings), "sweep": sweep})
        points = tuple(
            replace(point, axes={**settings, **point.axes})
            for point in planned.points
            if point.repetition >= first
        )
        return replace(planned, points=points, until=None)

    def document(self, settings: Settings) -> Document:
        """The experiment with some values in it, complete in itself, its own sweep included."""
        document: Document = dict(self.plan(settings, 0, 1).points[0].experiment)
        raw = _document(self.path)
        if "sweep" in raw:
            document["sweep"] = raw["sweep"]
        return document


def subjects(
    paths: Sequence[Path],
    algorithm: str | None,
    flows: Sequence[str],
    changes: Mapping[str, Any],
    searched: Sequence[str],
) -> list[Subject]:
    """The experiments, with the algorithm in their flows."""
    for change in changes:
        if change.partition(".")[0] == "sweep":
            raise InputError(f"--set {change}: write the sweep into the experiment file")
    return [_subject(path, algorithm, flows, changes, searched) for path in paths]


def _subject(
    path: Path,
    algorithm: str | None,
    wanted: Sequence[str],
    changes: Mapping[str, Any],
    searched: Sequence[str],
) -> Subject:
    planned = plan(path, overrides=changes)
    first = planned.points[0].experiment
    raw = _document(path)
    sweep = {axis: values for axis, values in raw.get("sweep", {}).items() if axis != "repetitions"}
    chosen = _flows(first.get("flow", []), algorithm, wanted, path) if algorithm else ()
    added: dict[str, Any] = {}
    params = []
    for index in chosen:
        flow = first["flow"][index]
        if flow["cc"] != algorithm:
            for key in ("cc_variant", "cc_params"):
                if key in flow:
                    raise InputError(
                        f"{path}: flow.{index}.{key}: is {flow['cc']}'s, but {algorithm} is to be "
                        f"tuned; take it out, or name other flows with --flow"
                    )
        added[f"flow.{index}.cc"] = algorithm
        params.append(flow.get("cc_params", {}))
    own = [f"flow.{index}.cc" for index in chosen] if any("." not in n for n in searched) else []
    for axis in _axes(sweep):
        if axis in searched or any(axis == cc or axis.startswith(f"{cc}_params") for cc in own):
            raise InputError(
                f"{path}: sweep: {axis!r} varies already what is to be tuned; take it out"
            )
    return Subject(path, {**changes, **added}, chosen, tuple(params), sweep)


def _axes(sweep: Mapping[str, Any]) -> Iterator[str]:
    """The paths that a sweep varies, together or by themselves."""
    for name, given in sweep.items():
        if "." in name or not isinstance(given, list | Mapping):
            yield name
        else:
            for together in given if isinstance(given, list) else [given]:
                yield from together if isinstance(together, Mapping) else [name]


def _flows(
    flows: Sequence[Mapping[str, Any]], algorithm: str, wanted: Sequence[str], path: Path
) -> tuple[int, ...]:
    of_tcp = [index for index, flow in enumerate(flows) if "cc" in flow]
    known = ", ".join(f"{_name(flows[i], i)} ({flows[i]['cc']})" for i in of_tcp) or "none"
    if not wanted:
        having = [index for index in of_tcp if flows[index]["cc"] == algorithm]
        if not of_tcp:
            raise InputError(f"{path}: has no flow of TCP in it, so nothing to tune")
        return tuple(having or of_tcp)
    found = []
    for name in wanted:
        index = next((i for i in of_tcp if name in (str(i), flows[i].get("id"))), None)
        if index is None:
            raise InputError(f"--flow {name}: {path} has no such flow of TCP; there is {known}")
        found.append(index)
    return tuple(dict.fromkeys(found))


def _name(flow: Mapping[str, Any], index: int) -> str:
    return str(flow.get("id", index))


def complete(
    asked: Sequence[Parameter], algorithm: str | None, first: Subject
) -> tuple[list[Parameter], list[str]]:
    """Parameters with ranges and defaults, all of the algorithm's if none is asked; and remarks."""
    known = {} if algorithm is None or algorithm.startswith(_OWN) else _registry(algorithm)
    names = [parameter.name for parameter in asked]
    if len(set(names)) < len(names):
        raise InputError("--param: each parameter once")
    if asked:
        return [_completed(parameter, algorithm, known, first) for parameter in asked], []
    if not known:
        raise InputError(
            f"{algorithm or 'no --algorithm'}: no parameters are known; say what to search with "
            "--param NAME=LOW..HIGH"
        )
    defaults = _defaults(algorithm or "", first)
    found = {n: known_parameter(known[n], value) for n, value in defaults.items()}
    left_out = [name for name, parameter in found.items() if parameter is None]
    remarks = [
        f"{name} is not searched: its default is 0 and its bounds are wide; give it a range with "
        f"--param {name}=LOW..HIGH"
        for name in left_out
    ]
    parameters = [parameter for parameter in found.values() if parameter is not None]
    if not parameters:
        raise InputError(f"{algorithm}: has no parameters to search; name paths with --param")
    return parameters, remarks


def _completed(
    parameter: Parameter, algorithm: str | None, known: Mapping[str, Any], first: Subject
) -> Parameter:
    has_range = parameter.choices or parameter.low is not None
    if parameter.is_path:
        if not has_range:
            raise InputError(f"--param {parameter.name}: give a path a range, as NAME=LOW..HIGH")
        return replace(parameter, default=_at(first.plan({}, 0, 1).points[0].experiment, parameter))
    if algorithm is None:
        raise InputError(f"--param {parameter.name}: of which algorithm? Name it with --algorithm")
    if not known:
        if not has_range:
            raise InputError(f"--param {parameter.name}: give it a range, as NAME=LOW..HIGH")
        return replace(parameter, default=first.params[0].get(parameter.name))
    defaults = _defaults(algorithm, first)
    if parameter.name not in defaults:
        raise InputError(
            f"--param {parameter.name}: {algorithm} has no such parameter here; it has "
            f"{', '.join(defaults) or 'none'}; a path in the experiment has a dot in it"
        )
    if has_range:
        within(parameter, known[parameter.name])
        return replace(parameter, default=defaults[parameter.name])
    found = known_parameter(known[parameter.name], defaults[parameter.name])
    if found is None:
        raise InputError(
            f"--param {parameter.name}: its default is 0 and its bounds are wide; give a range"
        )
    return found


def _registry(algorithm: str) -> dict[str, Mapping[str, Any]]:

    (entry,) = select(registry.algorithms(), [algorithm])
    return {param["name"]: param for param in entry["params"]}


def _defaults(algorithm: str, first: Subject) -> dict[str, Any]:
    """What each parameter of the algorithm is in the first flow that is tuned."""
    (entry,) = select(registry.algorithms(), [algorithm])
    experiment = first.plan({}, 0, 1).points[0].experiment
    flow, stack = experiment["flow"][first.flows[0]], experiment.get("stack", {})
    presets = {preset["name"]: preset["switches"] for preset in registry.presets()}
    preset = presets[stack["preset"]] if "preset" in stack else next(iter(presets.values()))
    preferred = flow.get("cc_variant", stack.get("cc_variant", preset["cc_variant"]))
    variant = preferred if preferred in entry["variants"] else entry["variants"][0]
    of_variant = {
        p["name"]: p["default"][variant] for p in entry["params"] if variant in p["default"]
    }
    return {name: first.params[0].get(name, value) for name, value in of_variant.items()}


def _at(experiment: Document, parameter: Parameter) -> Any:
    """What stands at a path; none if nothing does."""
    node: Any = experiment
    for part in parameter.name.split("."):
        if isinstance(node, list):
            by_id = [entry for entry in node if isinstance(entry, dict) and entry.get("id") == part]
            if (place := text.whole(part)) is not None and place < len(node):
                node = node[place]
            else:
                node = by_id[0] if by_id else None
        elif isinstance(node, dict):
            node = node.get(part)
        else:
            return None
    return node


@functools.cache
def _document(path: Path) -> Document:
    return parse_toml(read_text(path, "experiment file", MAX_BYTES), str(path))
