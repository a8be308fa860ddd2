"""Experiment files on their way to the simulator, which alone judges what they say."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.errors import InputError, read_text
from fairway.ground import text
from fairway.ground.inventory import source_of
from fairway.ground.names import real

if TYPE_CHECKING:
    from fairway.algorithm import Algorithms, Maker

#: Largest experiment file in bytes; the simulator has the same bound.
MAX_BYTES = 1 << 20

#: Largest seed: a whole number of TOML has 64 bits with its sign (TOML 1.0, "Integer").
MAX_SEED = 2**63 - 1

Document = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One experiment of a sweep.

    Attributes:
        axes: What this point sets: path in the experiment file -> value.
        repetition: 0, 1, … of the same values with other seeds.
        asked: The experiment: as it was planned, or its document.
    """

    axes: dict[str, Any]
    repetition: int
    asked: _core.Planned | Document

    @functools.cached_property
    def experiment(self) -> Document:
        """The experiment's document."""
        return self.asked if isinstance(self.asked, dict) else self.asked.document

    @functools.cached_property
    def resolved(self) -> _core.Experiment:
        """What the experiment says of its times, rates and sizes."""
        return _core.Experiment(self.asked)

    @property
    def compact(self) -> bytes:
        """The experiment as JSON on one line."""
        if isinstance(self.asked, dict):
            return json.dumps(self.asked, separators=(",", ":"), ensure_ascii=False).encode()
        return self.asked.compact().encode()


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
    """
    from fairway.algorithm import Algorithms
    from fairway.ground.permission import Origin

    if isinstance(experiment, Mapping) or (isinstance(experiment, str) and "\n" in experiment):
        content, source, beside = experiment, "experiment", None
    else:
        path = Path(experiment)
        content = read_text(path, "experiment file", MAX_BYTES)
        # A path need not be UTF-8, but messages that name it are.
        source = text.of_path(path)
        beside = path.parent
    own = Algorithms(
        algorithms, beside, Origin(source, content if isinstance(content, str) else None)
    )
    found = _core.plan(content, source, own, overrides)
    return Plan(
        title=found["title"],
        axes=tuple(found["axes"]),
        points=tuple(map(Point, *found["points"])),
        algorithms=own,
        until=found["until"] and Until(**found["until"]),
    )


def source_of_experiment(
    command: str,
    experiment: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | None,
    *more: Any,
) -> str:
    """Digest of what is asked for: its results may be replaced when it is asked for again.

    Captures among the overrides come on top of the same result.
    """
    what = (
        experiment
        if isinstance(experiment, Mapping) or "\n" in str(experiment)
        else source_of(command, str(real(Path(experiment))))
    )
    changed = {key: value for key, value in (overrides or {}).items() if key != "capture.at"}
    return source_of(command, what, changed, *more)


#: Strings and comments of TOML, and a dotted key of more parts than any table has. `tomllib` takes
#: time with the square of their number, and says no more of them.
_NO_KEY = re.compile(r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*""")
_MAX_PARTS = 64
#: A larger whole number is no float, and Python writes none of 4300 digits. TOML has 64 bits.
_LARGEST = 1 << 1000
_LONG_KEY = re.compile(rf'(?<![\w-])(?:[\w-]+|"")(?:[ \t]*\.[ \t]*(?:[\w-]+|"")){{{_MAX_PARTS}}}')


def _loads(text: str) -> Document:
    """A document of TOML, which experiment files do not need.

    Raises:
        ValueError: It is none, or one of a number, a key or a depth that nobody needs.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if _LONG_KEY.search(_NO_KEY.sub('""', text)):
        raise ValueError(f"a key of more than {_MAX_PARTS} parts")
    try:
        document: Document = tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    left: list[Any] = [document]
    while left:
        value = left.pop()
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise ValueError(f"a number of more than {_LARGEST.bit_length() - 1:,} bits")
        left += (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
    return document


def parse_toml(text: str, source: str) -> Document:
    """Parse TOML, or say where it is wrong."""
    try:
        return _loads(text)
    except ValueError as error:
        raise InputError(f"{source}: not valid TOML: {error}") from None


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
        return path, _loads(f"value = {value}")["value"]
    except (ValueError, KeyError):
        return path, value
