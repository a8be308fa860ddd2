"""The proof: what a search chose is run again on seeds that it has not seen, beside the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairway.compare.tune.bench import Goal, Score
from fairway.compare.tune.objective import Constraint, Objective
from fairway.compare.tune.search import Trial
from fairway.stats import Effect, Estimate, holm, mean_interval, paired_effect

Verdict = Literal["better", "worse", "not shown"]
Kept = Literal["kept", "not kept", "undecided"]

#: Error rate of a verdict, over all comparisons of a search together.
_ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """Chosen values against the default in one objective, on fresh seeds.

    Attributes:
        effect: The mean difference chosen − default, seed by seed.
        low: Lower end of its 95 % interval; none with one seed.
        p: Two-sided, after Holm's correction for all comparisons; none with one seed.
        verdict: Whether it is better or worse, or neither could be shown.
        in_search: The difference on the seeds of the search, by which the values were chosen.
        by_case: Case -> the same difference there, with its interval.
    """

    objective: Objective
    chosen: float
    default: float
    effect: Effect
    low: float | None
    high: float | None
    p: float | None
    verdict: Verdict
    in_search: float | None
    by_case: dict[str, tuple[float, float | None, float | None]]


@dataclass(frozen=True)
class Check:
    """A constraint on fresh seeds.

    Attributes:
        chosen: Mean of the chosen values, with its 95 % interval.
        kept: Whether the whole interval keeps it, or none of it does.
    """

    constraint: Constraint
    chosen: Estimate
    kept: Kept
    default: Estimate
    default_kept: Kept


@dataclass(frozen=True)
class Finalist:
    """Values that a search chose, and what became of them on fresh seeds.

    Attributes:
        fresh: What they measure there; `fresh.refused` says why if nothing.
        comparisons: One for each objective.
        checks: One for each constraint.
    """

    trial: Trial
    fresh: Score
    comparisons: tuple[Comparison, ...]
    checks: tuple[Check, ...]


def judge(
    goal: Goal, chosen: Sequence[tuple[Trial, Score]], default: Score, default_in_search: Score
) -> list[Finalist]:
    """Compare chosen values with the default, seed by seed.

    The p-values of all comparisons, of every objective of every finalist, are corrected together by
    Holm's method.
    """
    effects = {
        (trial.number, index): paired_effect(fresh.means[index], default.means[index])
        for trial, fresh in chosen
        for index in range(len(goal.objectives))
        if fresh.refused is None
    }
    known = {key: _two_sided(effect) for key, effect in effects.items()}
    tested = {key: p for key, p in known.items() if p is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    finalists = []
    for trial, fresh in chosen:
        if fresh.refused is not None:
            finalists.append(Finalist(trial, fresh, (), ()))
            continue
        comparisons = []
        for index, objective in enumerate(goal.objectives):
            effect, p = effects[trial.number, index], adjusted.get((trial.number, index))
            low, high = effect.interval() or (None, None)
            searched = None
            if not default_in_search.refused:
                searched = trial.score.mean(index) - default_in_search.mean(index)
            comparisons.append(
                Comparison(
                    objective, fresh.mean(index), default.mean(index), effect, low, high, p,
                    _verdict(objective, effect, p), searched, _by_case(index, fresh, default),
                )
            )  # fmt: skip
        checks = tuple(_checks(goal, fresh, default))
        finalists.append(Finalist(trial, fresh, tuple(comparisons), checks))
    return finalists


def _two_sided(effect: Effect) -> float | None:
    one_sided = effect.p_at(0.0)
    return None if one_sided is None else min(1.0, 2 * one_sided)


def _verdict(objective: Objective, effect: Effect, p: float | None) -> Verdict:
    if p is None or p >= _ALPHA or effect.mean == 0:
        return "not shown"
    return "better" if objective.gain(effect.mean) > 0 else "worse"


def _by_case(
    index: int, fresh: Score, default: Score
) -> dict[str, tuple[float, float | None, float | None]]:
    found = {}
    for case, rows in fresh.cases.items():
        effect = paired_effect(rows[index], default.cases[case][index])
        low, high = effect.interval() or (None, None)
        found[case] = (effect.mean, low, high)
    return found


def _checks(goal: Goal, fresh: Score, default: Score) -> Iterator[Check]:
    for index, constraint in enumerate(goal.constraints, start=len(goal.objectives)):
        chosen, usual = mean_interval(fresh.means[index]), mean_interval(default.means[index])
        yield Check(constraint, chosen, _kept(constraint, chosen), usual, _kept(constraint, usual))


def _kept(constraint: Constraint, found: Estimate) -> Kept:
    ends = [found.mean if end is None else end for end in (found.low, found.high)]
    kept = [constraint.violation(end) <= 0 for end in ends]
    return "kept" if all(kept) else "undecided" if any(kept) else "not kept"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "objective": comparison.objective.name,
        "verdict": comparison.verdict,
        "chosen": comparison.chosen,
        "default": comparison.default,
        "difference": comparison.effect.mean,
        "ci_low": comparison.low,
        "ci_high": comparison.high,
        "p_adjusted": comparison.p,
        "difference_in_search": comparison.in_search,
        "cases": [
            {"case": case, "difference": mean, "ci_low": low, "ci_high": high}
            for case, (mean, low, high) in comparison.by_case.items()
        ],
    }


def check_json(check: Check) -> dict[str, Any]:
    """A constraint as plain data."""
    return {
        "constraint": str(check.constraint),
        "verdict": check.kept,
        "chosen": check.chosen.mean,
        "ci_low": check.chosen.low,
        "ci_high": check.chosen.high,
        "default": check.default.mean,
        "default_verdict": check.default_kept,
    }
