"""What a published study is: its parts, and of each its experiment, what varies and its runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairway.errors import InputError
from fairway.experiment.plan import Plan, plan
from fairway.study.cells import Column
from fairway.study.claims import Claim
from fairway.study.points import REPETITIONS, Points

#: The axis of a study's scenarios.
SCENARIO = "scenario"


@dataclass(frozen=True)
class Quick:
    """The shortened form of a study.

    Attributes:
        note: How it is shortened, for people.
        axes: Axes that take fewer values.
        repetitions: Repetitions, if fewer, or a table that says when they end.
        set: Values set in the experiment, such as a shorter duration.
    """

    note: str
    axes: Mapping[str, list[Any]]
    repetitions: int | Mapping[str, Any] | None
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A part of a published study, or all of it.

    Attributes:
        question: What was asked, in one sentence; empty if the study does not say.
        summary: What was done, for the report.
        repetitions: Runs of each point, or a table that says when they end.
        axes: What varies: path in the experiment -> values; and `SCENARIO`, if there are several.
        scenarios: Name -> what it sets in the experiment.
        names: What people call an axis.
        quick: Its shortened form, if it has one.
        table: Its points, if not every combination of the axes is one, or each has its own
            settings.
        compared: Published numbers that measurements are held against, one entry a metric.
        figures: Figures of the report, as tables of `study.toml`.
        backend: What answers: `sim` or `linux`.
    """

    key: str
    directory: Path
    title: str
    source: str
    question: str
    summary: str
    experiment: Path
    repetitions: int | Mapping[str, Any]
    axes: Mapping[str, list[Any]]
    scenarios: Mapping[str, Mapping[str, Any]]
    names: Mapping[str, str]
    set: Mapping[str, Any]
    quick: Quick | None
    table: Points | None
    compared: tuple[Column, ...]
    references: tuple[Column, ...]
    figures: tuple[Mapping[str, Any], ...]
    backend: str = "sim"

    def name(self, axis: str) -> str:
        """What people call an axis or a metric, or the mean of one."""
        metric = axis.removeprefix("mean ")
        return self.names.get(axis, axis.removesuffix(metric) + self.names.get(metric, metric))

    @property
    def repeats(self) -> bool:
        """Whether points have several runs, and so intervals."""
        return isinstance(self.repetitions, Mapping) or self.repetitions > 1

    def points(self) -> Iterator[dict[str, Any]]:
        """Every point of the whole study."""
        return self._combinations(self.axes)

    def _combinations(self, axes: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
        for name in axes.get(SCENARIO, [None]):
            own = self.scenarios.get(name, {})
            of_scenario = {
                axis: [name] if axis == SCENARIO else own.get(axis, values)
                for axis, values in axes.items()
            }
            for values in itertools.product(*of_scenario.values()):
                point = dict(zip(axes, values, strict=True))
                if self.table is None or self.table.at(point) is not None:
                    yield point

    def plan(self, *, quick: bool) -> Plan:
        """The runs it takes.

        Raises:
            InputError: If a quick form is asked for and there is none.
        """
        axes, repetitions, changes = dict(self.axes), self.repetitions, dict(self.set)
        if quick:
            if self.quick is None:
                raise InputError(f"{self.key}: has no quick form; leave out --quick")
            axes.update(self.quick.axes)
            repetitions = self.quick.repetitions or repetitions
            changes.update(self.quick.set)
        if isinstance(repetitions, Mapping) and "metric" not in repetitions:
            repetitions = {
                **repetitions,
                "metric": list(dict.fromkeys(c.metric for c in self.compared)),
            }
        if self.table is not None:
            return self._plan_of_table(self.table, axes, repetitions, changes)
        names = axes.pop(SCENARIO, None)
        sweep = {"repetitions": repetitions, **axes}
        if names is None:
            return plan(self.experiment, overrides={**changes, "sweep": sweep})
        plans = []
        for name in names:
            scenario = self.scenarios[name]
            own = {axis: values for axis, values in scenario.items() if axis in axes}
            rest = {key: value for key, value in scenario.items() if key not in own}
            overrides = {**changes, **rest, "sweep": {**sweep, **own}}
            found = plan(self.experiment, overrides=overrides)
            points = tuple(
                replace(point, axes={SCENARIO: name, **point.axes}) for point in found.points
            )
            plans.append(replace(found, axes=(SCENARIO, *found.axes), points=points))
        return replace(plans[0], points=tuple(point for found in plans for point in found.points))

    def _plan_of_table(
        self,
        table: Points,
        axes: Mapping[str, list[Any]],
        repetitions: int | Mapping[str, Any],
        changes: Mapping[str, Any],
    ) -> Plan:
        """The runs of a study with a table of its points; none has more than `repetitions`."""
        assert isinstance(repetitions, int)
        plans = []
        for point in self._combinations(axes):
            settings = dict(table.at(point) or {})
            count = min(settings.pop(REPETITIONS, repetitions), repetitions)
            name = point.get(SCENARIO)
            values = {axis: value for axis, value in point.items() if axis != SCENARIO}
            scenario = {} if name is None else self.scenarios[name]
            scenario = {key: value for key, value in scenario.items() if key not in values}
            sweep = {"repetitions": count, **{axis: [value] for axis, value in values.items()}}
            overrides = {**changes, **scenario, **settings, "sweep": sweep}
            found = plan(self.experiment, overrides=overrides)
            plans.append((point, found))
        if not plans:
            raise InputError(f"{table.path}: no line is a point of the axes")
        points = tuple(replace(run, axes=point) for point, found in plans for run in found.points)
        return replace(plans[0][1], axes=tuple(self.axes), points=points)


@dataclass(frozen=True)
class Study:
    """A published study.

    Attributes:
        question: What was asked, in one sentence; empty if the study does not say.
        summary: What was done, for the report.
        parts: Name -> part; of a study that is not divided, the one part has no name.
        claims: What the paper concludes; each test names the part that it speaks of.
        left_out: Parts that the shortened form does not run.
    """

    key: str
    directory: Path
    title: str
    source: str
    question: str
    summary: str
    parts: Mapping[str, Part]
    claims: tuple[Claim, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, part: Part, claims: tuple[Claim, ...] = ()) -> Study:
        """A study that is not divided."""
        return cls(
            part.key, part.directory, part.title, part.source, part.question, part.summary,
            {"": part}, claims,
        )  # fmt: skip

    @property
    def is_divided(self) -> bool:
        """Whether its parts have names, and results of their own."""
        return "" not in self.parts

    @property
    def part(self) -> Part:
        """The one part of a study that is not divided."""
        return self.parts[""]

    @property
    def names(self) -> dict[str, str]:
        """What people call an axis or a metric, in all parts."""
        return {path: name for part in self.parts.values() for path, name in part.names.items()}
