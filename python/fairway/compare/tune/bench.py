"""Runs values of parameters and measures them: the one place where tuning meets sweeps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairway._core import ExperimentError
from fairway.backends import Backend
from fairway.compare.tune.objective import Constraint, Formula, Objective
from fairway.compare.tune.subject import Settings, Subject
from fairway.experiment.plan import Plan
from fairway.ground.progress import Silent, State
from fairway.sweep.outcome import Outcome
from fairway.sweep.run import run_plan


@dataclass(frozen=True)
class Score:
    """What some values of the parameters measure.

    A case is an experiment, or one combination of its sweep. Values are repetition by repetition,
    as they are compared.

    Attributes:
        cases: Name of each case -> one list for each formula, of a value for each repetition.
        means: One list for each formula: of each repetition the mean over the cases.
        refused: Why there are no values, if there are none.
    """

    settings: Settings
    cases: Mapping[str, tuple[tuple[float, ...], ...]]
    means: tuple[tuple[float, ...], ...]
    refused: str | None = None

    def mean(self, index: int) -> float:
        """Mean of the formula of that index over cases and repetitions."""
        return math.fsum(self.means[index]) / len(self.means[index])


@dataclass(frozen=True)
class Goal:
    """What is measured: objectives first, then constraints."""

    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Of objectives, then of constraints."""
        of_objectives = tuple(objective.formula for objective in self.objectives)
        return of_objectives + tuple(constraint.formula for constraint in self.constraints)

    def values(self, score: Score) -> tuple[float, ...]:
        """Each objective's mean."""
        return tuple(score.mean(index) for index in range(len(self.objectives)))

    def violations(self, score: Score) -> tuple[float, ...]:
        """How far each constraint's mean is on the wrong side; 0 or less keeps it."""
        first = len(self.objectives)
        return tuple(
            constraint.violation(score.mean(first + index))
            for index, constraint in enumerate(self.constraints)
        )

    def is_met(self, score: Score) -> bool:
        """Whether all constraints are, by the means."""
        return all(violation <= 0 for violation in self.violations(score))


class Bench:
    """Runs experiments with values of parameters, each once however often it is asked for."""

    def __init__(
        self,
        subjects: Sequence[Subject],
        goal: Goal,
        backend: Backend,
        directory: Path | None,
        threads: int | None,
        progress: Whole,
    ) -> None:
        self._subjects = subjects
        self._goal = goal
        self._backend = backend
        self._directory = directory
        self._threads = threads
        self._progress = progress
        self._known: dict[str, Score] = {}

    def scores(self, wanted: Sequence[Settings], first: int, count: int) -> list[Score]:
        """Measure values of parameters with repetitions `first` to `first + count − 1`.

        Values that an experiment refuses have a score that says so.
        """
        keyed = {_key(settings, first, count): settings for settings in wanted}
        new = {key: settings for key, settings in keyed.items() if key not in self._known}
        self._known.update(self._measured(new, first, count))
        return [self._known[_key(settings, first, count)] for settings in wanted]

    def _measured(self, new: Mapping[str, Settings], first: int, count: int) -> dict[str, Score]:
        found: dict[str, dict[str, list[Outcome]]] = {key: {} for key in new}
        refused: dict[str, str] = {}
        for subject in self._subjects:
            plans: dict[str, Plan] = {}
            for key, settings in new.items():
                try:
                    plans[key] = subject.plan(settings, first, count)
                except ExperimentError as error:
                    refused[key] = str(error)
            for key, outcomes in self._run(plans).items():
                for outcome in outcomes:
                    case = _case(subject, outcome.point.axes, new[key])
                    found[key].setdefault(case, []).append(outcome)
        return {
            key: Score(settings, {}, (), refused[key])
            if key in refused
            else self._score(settings, found[key])
            for key, settings in new.items()
        }

    def _run(self, plans: Mapping[str, Plan]) -> dict[str, list[Outcome]]:
        """Everything at once, so that all threads have work."""
        if not plans:
            return {}
        points = tuple(point for planned in plans.values() for point in planned.points)
        whole = replace(next(iter(plans.values())), points=points)
        sweep = run_plan(
            whole, self._backend, directory=self._directory, threads=self._threads,
            progress=self._progress.part(len(points)),
        )  # fmt: skip
        outcomes = iter(sweep.outcomes)
        return {key: [next(outcomes) for _ in planned.points] for key, planned in plans.items()}

    def _score(self, settings: Settings, cases: Mapping[str, Sequence[Outcome]]) -> Score:
        measured: dict[str, tuple[tuple[float, ...], ...]] = {}
        for case, outcomes in cases.items():
            rows = []
            for formula in self._goal.formulas:
                values = [formula.measure(outcome) for outcome in outcomes]
                numbers = tuple(value for value in values if value is not None)
                if len(numbers) < len(values):
                    why = f"{formula.name} has no value in some runs of {case}"
                    return Score(settings, {}, (), why)
                rows.append(numbers)
            measured[case] = tuple(rows)
        means = tuple(
            tuple(
                math.fsum(values) / len(values)
                for values in zip(*(rows[index] for rows in measured.values()), strict=True)
            )
            for index in range(len(self._goal.formulas))
        )
        return Score(settings, measured, means)


class Whole:
    """The progress of many parts as one: how many runs are done of about how many."""

    def __init__(self, shown: Silent, runs: int) -> None:
        self._shown = shown
        self._runs = runs
        self._done = 0

    def part(self, runs: int) -> Silent:
        """The progress of the next part, of so many runs."""
        before, self._done = self._done, self._done + runs
        return _Part(self._shown, before, max(self._runs, self._done))


class _Part(Silent):
    def __init__(self, shown: Silent, before: int, total: int) -> None:
        self._shown = shown
        self._before = before
        self._total = total

    def update(self, state: State) -> None:
        self._shown.update(replace(state, done=self._before + state.done, total=self._total))


def _key(settings: Settings, first: int, count: int) -> str:
    return repr((sorted(settings.items()), first, count))


def _case(subject: Subject, axes: Mapping[str, Any], settings: Settings) -> str:
    own = [f"{path} = {value}" for path, value in axes.items() if path not in settings]
    return ", ".join([subject.name, *own])
