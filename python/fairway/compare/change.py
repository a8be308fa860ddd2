"""What a change does: a base and a head, point by point, with intervals over their seeds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.capture.analysis.run import load
from fairway.compare.runs import asked, differing, flow_names, flow_value
from fairway.errors import InputError
from fairway.experiment.plan import Point
from fairway.ground import store, text
from fairway.metrics.reading import all_of_outcome, check_names
from fairway.stats import paired_difference, welch_interval
from fairway.sweep import repetitions
from fairway.sweep.outcome import Outcome
from fairway.sweep.result import load_sweep
from fairway.sweep.tables import COSTS

#: Coverage of the intervals, as in reports of sweeps.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Compared:
    """One figure on both sides: a value for each seed.

    Attributes:
        name: Its name in results.
        flow: The flow that has it; none if the run has.
        is_paired: Whether both sides have the same seeds, in the same order.
    """

    name: str
    flow: str | None
    base: Sequence[float | None]
    head: Sequence[float | None]
    is_paired: bool

    @functools.cached_property
    def _values(self) -> tuple[list[float], list[float]]:
        """The numbers of both sides; of pairs, those that have both."""
        if not self.is_paired:
            return _numbers(self.base), _numbers(self.head)
        pairs = zip(self.base, self.head, strict=True)
        both = [_numbers(pair) for pair in pairs if len(_numbers(pair)) == len(pair)]
        return [pair[0] for pair in both], [pair[1] for pair in both]

    @property
    def means(self) -> tuple[float | None, float | None]:
        """Mean over the seeds of the base, and of the head."""
        first, second = (_numbers(side) for side in (self.base, self.head))
        return _mean(first), _mean(second)

    @property
    def share(self) -> float | None:
        """The head's mean less the base's, as a share of the base's size."""
        base, head = map(_mean, self._values)
        return None if base is None or head is None or not base else (head - base) / abs(base)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of that difference, as shares of the base's mean, which is taken as known.

        None where a side has one seed, or where no seed changes anything.
        """
        base, head = self._values
        if min(len(base), len(head)) < 2 or not (size := abs(_mean(base) or 0.0)):
            return None
        compared = paired_difference if self.is_paired else welch_interval
        found = compared(head, base, CONFIDENCE)
        if found.low is None or found.high is None:
            return None
        return found.low / size, found.high / size


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


@dataclass(frozen=True)
class PointChange:
    """One point of both sides, its outcomes in the order of their seeds."""

    axes: dict[str, Any]
    base: Sequence[Outcome]
    head: Sequence[Outcome]

    @property
    def label(self) -> str:
        """What the point sets; empty for a run."""
        return ", ".join(f"{path} = {text.label(value)}" for path, value in self.axes.items())

    @property
    def seeds(self) -> tuple[int, int]:
        """How many seeds the base has, and how many the head."""
        return len(self.base), len(self.head)

    @property
    def is_paired(self) -> bool:
        """Whether both sides have the same seeds."""
        base, head = ([one.summary["seed"] for one in side] for side in (self.base, self.head))
        return base == head

    def metrics(self, chosen: Sequence[str] = ()) -> list[Compared]:
        """The metrics of these names, or those of the summaries, delay and retransmissions."""
        sides = [[_metrics(one, chosen) for one in side] for side in (self.base, self.head)]
        names = dict.fromkeys(name for side in sides for found in side for name in found)
        compared = []
        for name in names:
            base, head = ([one.get(name) for one in side] for side in sides)
            compared.append(Compared(name, None, base, head, self.is_paired))
        return [one for one in compared if chosen or one.means != (None, None)]

    def flows(self, column: str, most: int) -> list[Compared]:
        """A column of the first flows, matched by position."""
        sides = [[one.summary for one in side] for side in (self.base, self.head)]
        found = []
        for index, name in enumerate(flow_names([side[0] for side in sides])[:most]):
            base, head = ([flow_value(one, index, column) for one in side] for side in sides)
            found.append(Compared(column, name, base, head, self.is_paired))
        return found


def _metrics(outcome: Outcome, chosen: Sequence[str]) -> dict[str, float | None]:
    if chosen:
        return all_of_outcome(outcome, chosen)
    return {**outcome.summary["metrics"], **all_of_outcome(outcome, COSTS)}


@dataclass(frozen=True)
class Side:
    """A directory: one run, or every run of a sweep.

    Attributes:
        version: Version of Fairway that computed it.
    """

    name: str
    title: str
    version: str
    outcomes: Sequence[Outcome]

    @property
    def points(self) -> dict[str, list[Outcome]]:
        """The outcomes of each point in the order of their seeds, by the values of its axes."""
        found: dict[str, list[Outcome]] = {}
        for outcome in sorted(self.outcomes, key=lambda one: int(one.summary["seed"])):
            found.setdefault(repr(sorted(outcome.point.axes.items())), []).append(outcome)
        order = dict.fromkeys(repr(sorted(one.point.axes.items())) for one in self.outcomes)
        return {key: found[key] for key in order}


@dataclass(frozen=True)
class Change:
    """A base and a head beside each other.

    Attributes:
        chosen: Metrics to show, if not those of the summaries, delay and retransmissions.
    """

    base: Side
    head: Side
    chosen: Sequence[str] = ()

    @functools.cached_property
    def points(self) -> list[PointChange]:
        """The points that both have, in the order of the head."""
        base = self.base.points
        return [
            PointChange(dict(head[0].point.axes), base[key], head)
            for key, head in self.head.points.items()
            if key in base
        ]

    @property
    def unmatched(self) -> tuple[int, int]:
        """How many points the base has alone, and how many the head."""
        own = len(self.base.points), len(self.head.points)
        return own[0] - len(self.points), own[1] - len(self.points)

    def differences(self) -> dict[str, list[Any]]:
        """What differs between the sides besides their seeds, by the first run of each."""
        first = self.points[0]
        sides = [
            asked(outcomes[0].summary, outcomes[0].experiment, side.version)
            for side, outcomes in ((self.base, first.base), (self.head, first.head))
        ]
        return differing(sides)

    @property
    def warnings(self) -> list[str]:
        """What has to be known before the figures are trusted, in sentences without a full stop."""
        found: dict[str, list[str]] = {}
        for side, name in ((self.base, "base"), (self.head, "head")):
            said = [line for one in side.outcomes for line in one.summary.get("warnings", [])]
            for line in (*said, *repetitions.remark_on_alike(side.outcomes)):
                found.setdefault(line, []).append(name)
        return [f"{' and '.join(dict.fromkeys(of))}: {line}" for line, of in found.items()]


def change(base: str | Path, head: str | Path, metrics: Sequence[str] = ()) -> Change:
    """Read the directories of two runs or two sweeps.

    Raises:
        InputError: If one is neither, if there is no such metric, or if they have no point in
            common.
    """
    check_names(metrics)
    found = Change(_side(Path(base)), _side(Path(head)), tuple(metrics))
    if not found.points:
        raise InputError(
            f"compare {base} {head}: no point of one is a point of the other; compare results of "
            "one experiment, with the same values of its sweep"
        )
    return found


def _side(directory: Path) -> Side:
    if (directory / store.POINTS).is_dir():
        sweep = load_sweep(directory)
        return Side(str(directory), sweep.title, sweep.version, sweep.outcomes)
    run = load(directory)
    outcome = Outcome(Point({}, 0, run.experiment), run.summary, in_memory=run)
    return Side(str(directory), run.title, run.version, [outcome])
