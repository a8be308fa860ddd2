"""Experiment files on their way to the simulator, which alone judges what they say."""

from __future__ import annotations

import copy
import difflib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fairway.errors import InputError, read_text
from fairway.ground.inventory import source_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from fairway.algorithm import Algorithms, Maker

#: Largest experiment file in bytes; the simulator has the same bound.
MAX_BYTES = 1 << 20

#: Largest seed: a whole number of TOML has 64 bits with its sign (TOML 1.0, "Integer").
MAX_SEED = 2**63 - 1

#: Ids that a message lists at most.
_LISTED = 8

Document = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One experiment of a sweep.

    Attributes:
        axes: What this point sets: path in the experiment file -> value.
        repetition: 0, 1, … of the same values with other seeds.
        experiment: The whole experiment, without the sweep.
    """

    axes: dict[str, Any]
    repetition: int
    experiment: Document


@dataclass(frozen=True)
class Until:
    """What repeating ends at.

    Attributes:
        share: Half of the 95 % interval as a share of the mean: 0.02 for "±2 %".
        at_most: Repetitions at which it ends in any case.
        metrics: The metrics whose intervals are looked at.
    """

    share: float
    at_most: int
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Every run an experiment file asks for.

    Attributes:
        title: The experiment's title.
        axes: Paths that vary, in the order of the file.
        points: The experiments; exactly one if nothing varies and nothing repeats.
        algorithms: The user's own congestion controls that they may name.
        until: What repeating ends at before all points are run, if at anything.
    """

    title: str
    axes: tuple[str, ...]
    points: tuple[Point, ...]
    algorithms: Algorithms
    until: Until | None = None

    @property
    def is_sweep(self) -> bool:
        """Whether there is more than one experiment, or a named axis."""
        return bool(self.axes) or len(self.points) > 1


def plan(
    experiment: str | Path | Mapping[str, Any],
    *,
    overrides: Mapping[str, Any] | None = None,
    algorithms: Mapping[str, Maker] | None = None,
) -> Plan:
    """Read and validate an experiment.

    Args:
        experiment: A path, the text of an experiment file (recognised by its line breaks), or
            the same content as a mapping.
        overrides: Values to set in it first: path -> value, such as `{"flow.0.cc": "cubic"}`.
        algorithms: Congestion controls of your own: name in the experiment -> class.

    Raises:
        InputError: If the file cannot be read, an override addresses nothing, or `algorithms`
            holds what is no class.
        fairway.ExperimentError: If the experiment is not valid.
    """
    from fairway import _core
    from fairway.algorithm import Algorithms

    beside = None
    if isinstance(experiment, Mapping):
        document: Document | None = cast(Document, json_copy(experiment))
        text, source = "", "experiment"
    elif isinstance(experiment, str) and "\n" in experiment:
        document, text, source = None, experiment, "experiment"
    else:
        path = Path(experiment)
        beside = path.parent
        document, text, source = None, read_text(path, "experiment file", MAX_BYTES), str(path)
    if overrides:
        document = document if document is not None else parse_toml(text, source)
        for key, value in overrides.items():
            set_path(document, key, value)
    if document is not None:
        import tomli_w

        try:
            text = tomli_w.dumps(document)
        except (TypeError, ValueError) as error:
            raise InputError(f"{source}: cannot be written as TOML: {error}") from error
    own = Algorithms(algorithms, beside)
    raw = json.loads(_core.plan(text, source, own))
    until = raw["until"]
    return Plan(
        title=raw["title"],
        axes=tuple(raw["axes"]),
        points=tuple(Point(p["axes"], p["repetition"], p["experiment"]) for p in raw["points"]),
        algorithms=own,
        until=until and Until(until["share"], until["at_most"], tuple(until["metrics"])),
    )


def source_of_experiment(
    command: str,
    experiment: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | None,
    *more: Any,
) -> str:
    """Digest of what is asked for: its results may be replaced when it is asked for again.

    Args:
        command: Which command asks.
        experiment: A file by its path, or an experiment as it is.
        overrides: Values set in it first. Captures come on top of the same result.
        more: What else changes the result, such as the backend.
    """
    what = (
        experiment
        if isinstance(experiment, Mapping) or "\n" in str(experiment)
        else source_of(command, str(Path(experiment).resolve()))
    )
    changed = {key: value for key, value in (overrides or {}).items() if key != "capture.at"}
    return source_of(command, what, changed, *more)


def json_copy(value: Mapping[str, Any]) -> Any:
    """Copy a tree of plain values, refusing anything else."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"experiment: holds something that is not plain data: {error}") from error


def parse_toml(text: str, source: str) -> Document:
    """Parse TOML, or say where it is wrong."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not valid TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{source}: not valid TOML: nested too deeply") from None


def parse_override(assignment: str) -> tuple[str, Any]:
    """Split `path=value`; the value is read as TOML, or else taken as a string.

    >>> parse_override("flow.0.cc=cubic")
    ('flow.0.cc', 'cubic')
    >>> parse_override('measure.window=["1 s", "2 s"]')
    ('measure.window', ['1 s', '2 s'])
    """
    path, equals, value = assignment.partition("=")
    path, value = path.strip(), value.strip()
    if not equals or not path:
        raise InputError(f'--set {assignment}: expected path=value, such as "flow.0.cc=cubic"')
    try:
        return path, tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError, KeyError):
        return path, value


def set_path(document: Document, path: str, value: Any) -> None:
    """Set one value, addressed as a sweep axis is: through tables, by index or by `id`.

    Tables that are not there are created on the way; whether an experiment may have them is for its
    reader to say. Entries of lists have to be there. Setting a path that the experiment sweeps
    replaces the whole axis. A part with dots in it is quoted as in TOML: `sweep."flow.0.cc"`.
    """
    sweep = document.get("sweep")
    if isinstance(sweep, dict) and _take_out(sweep, path):
        sweep[path] = value if isinstance(value, list) else [value]
        return
    *parents, last = _parts(path)
    node: Any = document
    for depth, part in enumerate(parents):
        node = _child(node, part, ".".join(parents[: depth + 1]))
    if isinstance(node, dict):
        node[last] = copy.deepcopy(value)
    elif isinstance(node, list) and last.isdecimal() and int(last) < len(node):
        node[int(last)] = copy.deepcopy(value)
    else:
        raise InputError(f"{path}: nothing of that name can be set here")


def _parts(path: str) -> list[str]:
    """The parts of a path; where one is quoted, all are read as a dotted key of TOML is."""
    if not {'"', "'"} & set(path):
        return path.split(".")
    parts = []
    try:
        node: Any = tomllib.loads(f"{path} = 0")
        while isinstance(node, dict):
            ((part, node),) = node.items()
            parts.append(part)
    except (ValueError, RecursionError):
        raise InputError(
            f"{path}: not a path; quotes stand around a whole part, as in 'sweep.\"flow.0.cc\"'"
        ) from None
    return parts


def _take_out(sweep: Document, path: str) -> bool:
    """Take a path out of those that change together; whether the sweep has it at all."""
    if path in sweep:
        return True
    found = False
    for key in ("list", "random", "latin_hypercube"):
        group = sweep.get(key)
        tables = [t for t in (group if isinstance(group, list) else [group]) if isinstance(t, dict)]
        if not any(path in table for table in tables):
            continue
        found = True
        for table in tables:
            table.pop(path, None)
        if not any(name != "points" for table in tables for name in table):
            del sweep[key]
    return found


def _child(node: Any, part: str, path: str) -> Any:
    if isinstance(node, dict):
        return node.setdefault(part, {})
    if isinstance(node, list):
        if part.isdecimal() and int(part) < len(node):
            return node[int(part)]
        for entry in node:
            if isinstance(entry, dict) and entry.get("id") == part:
                return entry
        raise _no_entry(node, part, path)
    raise InputError(f"{path}: is not a table or a list, so nothing in it can be set")


def _no_entry(entries: list[Any], part: str, path: str) -> InputError:
    """What a path should have named in place of an entry that is not there."""
    ids = [str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry]
    by_id = f" or by id: {', '.join(ids[:_LISTED])}" if ids else ""
    # Results name an entry without an id by its kind and its index.
    index = re.fullmatch(r"[^#]*#(\d{1,6})(/.*)?", part)
    near = difflib.get_close_matches(part, ids, n=1)
    meant = index[1] if index and int(index[1]) < len(entries) else near[0] if near else None
    hint = f"; write {path.removesuffix(part)}{meant}" if meant else ""
    return InputError(
        f"{path}: no such entry; there are {len(entries)}, addressed by index from 0{by_id}{hint}"
    )
