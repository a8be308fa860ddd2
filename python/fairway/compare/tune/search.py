"""The search: Optuna proposes batches of values, in an order that threads do not change."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairway.compare.tune.bench import Goal, Score
from fairway.compare.tune.objective import Objective
from fairway.compare.tune.space import Parameter
from fairway.compare.tune.subject import Settings
from fairway.errors import InputError
from fairway.ground import extras, text

if TYPE_CHECKING:
    import optuna

#: Best trials that importances look at: this share, and so many at least, as Optuna advises.
_TOP, _TOP_TRIALS = 0.1, 5
#: Trials below which there are no importances: the best would be more than a quarter of them.
_FEWEST = 20


@dataclass(frozen=True)
class Trial:
    """Values that were tried.

    Attributes:
        number: From 1, in the order they were proposed.
    """

    number: int
    score: Score


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        importances: For each objective, parameter -> its share; empty if there were too few trials.
    """

    trials: tuple[Trial, ...]
    importances: tuple[Mapping[str, float], ...]


def search(
    parameters: Sequence[Parameter],
    goal: Goal,
    default: Score,
    measure: Callable[[Sequence[Settings]], Sequence[Score]],
    *,
    trials: int,
    batch: int,
    seed: int,
) -> Found:
    """Try values with Optuna's tree-structured Parzen estimator.

    `batch` values are proposed, then measured, then told, in the order they were proposed. So what
    is tried depends on `seed`, `batch` and what was measured, and on no thread. The default is
    told first, if it is within what is searched. The estimator takes several objectives as it
    takes one (Ozaki et al., "Multiobjective tree-structured Parzen estimator", JAIR 73, 2022).
    NSGA-II needs generations; its first one alone would use up the tens of trials that runs of
    seconds or minutes allow.
    """
    optuna = require_optuna()
    study = optuna.create_study(
        directions=[objective.direction for objective in goal.objectives],
        sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True),
    )
    distributions = {parameter.name: parameter.distribution() for parameter in parameters}
    drawn = {p.name: p.drawn(p.default) for p in parameters}
    if all(value is not None for value in drawn.values()) and default.refused is None:
        study.add_trial(_told(drawn, distributions, goal, default))
    found: list[Trial] = []
    while len(found) < trials:
        asked = [study.ask(distributions) for _ in range(min(batch, trials - len(found)))]
        scores = measure([{p.name: p.setting(a.params[p.name]) for p in parameters} for a in asked])
        for one, score in zip(asked, scores, strict=True):
            found.append(Trial(len(found) + 1, score))
            if score.refused is not None:
                study.tell(one, state=optuna.trial.TrialState.FAIL)
                continue
            for name, value in _constraints(goal, score).items():
                one.set_constraint(name, value)
            study.tell(one, list(goal.values(score)))
    return Found(tuple(found), tuple(_importances(study, parameters, goal)))


def best(trials: Sequence[Trial], goal: Goal) -> list[Trial]:
    """The best trial; of several objectives all that no other is better than.

    Where no trial keeps the constraints, it is the one that is least off them.
    """
    measured = [trial for trial in trials if trial.score.refused is None]
    if not measured:
        raise InputError(
            f"none of {text.count(len(trials), 'trial')} could be measured; the first: "
            f"{trials[0].score.refused}"
        )
    kept = [trial for trial in measured if goal.is_met(trial.score)]
    if not kept:
        return [min(measured, key=lambda t: sum(max(0.0, v) for v in goal.violations(t.score)))]
    gains = {trial.number: _gains(trial, goal) for trial in kept}
    front = [
        trial
        for trial in kept
        if not any(_dominates(gains[other.number], gains[trial.number]) for other in kept)
    ]
    # Values that were tried twice, or that measure the same, stand there once.
    once = {gains[trial.number]: trial for trial in reversed(front)}
    return sorted(once.values(), key=lambda trial: gains[trial.number], reverse=True)


def spread(front: Sequence[Trial], most: int) -> list[Trial]:
    """At most so many of a front, evenly by their rank, both ends among them."""
    if len(front) <= most:
        return list(front)
    step = (len(front) - 1) / (most - 1)
    return [front[round(index * step)] for index in range(most)]


def _gains(trial: Trial, goal: Goal) -> tuple[float, ...]:
    values = goal.values(trial.score)
    return tuple(o.gain(value) for o, value in zip(goal.objectives, values, strict=True))


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _constraints(goal: Goal, score: Score) -> dict[str, float]:
    return dict(zip(map(str, goal.constraints), goal.violations(score), strict=True))


def _told(
    drawn: Mapping[str, Any], distributions: Mapping[str, Any], goal: Goal, score: Score
) -> optuna.trial.FrozenTrial:
    import optuna

    return optuna.trial.create_trial(
        params=dict(drawn),
        distributions=dict(distributions),
        values=list(goal.values(score)),
        constraints=_constraints(goal, score),
    )


def _importances(
    study: optuna.Study, parameters: Sequence[Parameter], goal: Goal
) -> Iterator[Mapping[str, float]]:
    """By PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023): what the best trials share.

    It only asks which trials are best. Those that break constraints come after all that do not, by
    how far they are off.
    """
    import optuna

    complete = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    count = len(complete)
    names = [parameter.name for parameter in parameters]
    for index, objective in enumerate(goal.objectives):
        if count < _FEWEST or len(names) == 1:
            yield {}
            continue
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(
            target_quantile=max(_TOP, _TOP_TRIALS / count)
        )
        with warnings.catch_warnings():
            # That a target is taken as one to be small, as this one is.
            warnings.simplefilter("ignore")
            yield optuna.importance.get_param_importances(
                study,
                evaluator=evaluator,
                params=names,
                target=functools.partial(_loss, objective, index, complete),
            )


def _loss(
    objective: Objective,
    index: int,
    complete: Sequence[optuna.trial.FrozenTrial],
    trial: optuna.trial.FrozenTrial,
) -> float:
    off = sum(max(0.0, violation) for violation in trial.constraints.values())
    if off > 0:
        return max(-objective.gain(other.values[index]) for other in complete) + off
    return -objective.gain(trial.values[index])


def require_optuna() -> Any:
    """The library, or what to do where it is not installed."""
    with extras.needed("fairway tune"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
