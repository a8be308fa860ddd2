"""From effects to verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairway.stats import Effect, holm
from fairway.study.claims.units import bound, measured, span

Verdict = Literal["supported", "refuted", "depends", "undecided", "not run"]

#: What the words mean that do not say so by themselves.
MEANING: Mapping[Verdict, str] = {
    "depends": "some plausible values of what the source leaves open support it, others refute it",
    "undecided": "the confidence interval holds both answers, or no experiment can decide",
    "not run": "some of the runs that decide it are missing",
}

#: Why there is no interval where every repetition gave the same value.
SAME = "none: the same in every repetition"
#: Why nothing is decided where repetitions do not differ in anything.
NOTHING_RANDOM = "nothing in these runs is random: each repetition is the same run"
#: Probability of a false answer in a family of comparisons.
ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """One effect held against the range that is claimed of it.

    Attributes:
        label: What it is the effect of.
        effect: The effect; of logarithms if `logarithmic`.
        low: Least that agrees with the claim, in the effect's scale; −∞ for no bound.
        high: Most that does; ∞ for no bound.
        logarithmic: Whether it is a ratio: exp leads back from the effect's scale.
        strict: Whether an effect of exactly the bound is against the claim.
        equivalence: Whether the claim is that there is no difference: two one-sided tests, whose
            interval is one of 90 %.
        unsettled: Whether repeating ended at its limit before the interval was narrow enough, or
            every repetition is the same run; such a comparison decides nothing.
        adjusted: Its p-value after Holm's correction; none before it, or without p-value.
        family: How many comparisons were corrected together; 0 before.
        between: The two sides whose effect it is, where the label does not say them.
        is_ratio: Whether the effect is one, and has no unit.
        part: The part of a study whose cells it is of.
    """

    label: str
    effect: Effect
    low: float
    high: float
    logarithmic: bool = False
    strict: bool = False
    equivalence: bool = False
    unsettled: bool = False
    adjusted: float | None = None
    family: int = 0
    metric: str = ""
    between: str = ""
    is_ratio: bool = False
    part: str = ""

    @property
    def confidence(self) -> float:
        """Of the interval that is shown."""
        return 1 - 2 * ALPHA if self.equivalence else 1 - ALPHA

    @property
    def inside(self) -> bool:
        """Whether the effect itself agrees with the claim."""
        on_bound = self.effect.mean in (self.low, self.high)
        return self.low <= self.effect.mean <= self.high and not (self.strict and on_bound)

    @property
    def p(self) -> float | None:
        """The least error rate at which the whole interval is on one side of every bound.

        At 0.05 the interval of `confidence` just touches a bound. None with one repetition, or
        where every repetition gave the same.
        """
        if self.effect.error is None:
            return None
        bounds = [bound for bound in (self.low, self.high) if math.isfinite(bound)]
        found = [p for bound in bounds if (p := self.effect.p_at(bound)) is not None]
        # Inside, the nearer bound is in doubt; outside, the bound that lies between.
        one_sided = max(found, default=0.0)
        return min(1.0, one_sided if self.equivalence else 2 * one_sided)

    @property
    def verdict(self) -> Verdict:
        """Supported or refuted if the corrected p-value is at most 0.05, by where the effect is."""
        if self.unsettled:
            return "undecided"
        p = self.p if self.adjusted is None else self.adjusted
        if p is not None and p > ALPHA:
            return "undecided"
        return "supported" if self.inside else "refuted"

    @property
    def mean(self) -> float:
        """The effect, of ratios as a ratio."""
        return self._shown(self.effect.mean)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval, not corrected; none with one repetition."""
        found = self.effect.interval(self.confidence)
        return None if found is None else (self._shown(found[0]), self._shown(found[1]))

    @property
    def basis(self) -> str:
        """What the interval is, or why there is none."""
        if self.interval is None and self.effect.count > 1:
            return SAME
        return basis_of(self.effect.count, self.confidence)

    @property
    def text(self) -> str:
        """The effect with its interval."""
        return measured(self.unit_of, self.mean, self.interval)

    @property
    def unit_of(self) -> str:
        """The metric whose unit the effect has; empty for a ratio."""
        return "" if self.is_ratio else self.metric

    @property
    def claimed(self) -> str:
        """What is claimed of it."""
        low, high = self._shown(self.low), self._shown(self.high)
        if math.isinf(self.high):
            return f"{'above' if self.strict else 'at least'} {bound(self.unit_of, low)}"
        if math.isinf(self.low):
            return f"{'below' if self.strict else 'at most'} {bound(self.unit_of, high)}"
        return bound(self.unit_of, low, high)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data; a bound that there is not is none."""
        ends = self.interval or (None, None)
        return {
            "label": self.label,
            "metric": self.metric,
            "scale": "ratio" if self.logarithmic else "difference",
            "effect": self.mean,
            "ci_low": ends[0],
            "ci_high": ends[1],
            "confidence": self.confidence,
            "claimed_low": None if math.isinf(self.low) else self._shown(self.low),
            "claimed_high": None if math.isinf(self.high) else self._shown(self.high),
            "repetitions": self.effect.count,
            "standardised": self.effect.standardised,
            "p": self.p,
            "p_adjusted": self.adjusted,
            "family": self.family,
            "verdict": self.verdict,
        }

    def _shown(self, value: float) -> float:
        if not self.logarithmic:
            return value
        try:
            return math.exp(value)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class Number:
    """A measured number.

    Attributes:
        basis: What the interval is, or why there is none.
        spread: Least and largest over the comparisons or cells of its test, if there are several.
        unit_of: The metric whose unit it has; empty if it has none.
    """

    value: float | None = None
    interval: tuple[float, float] | None = None
    basis: str = "none: not measured"
    spread: tuple[float, float] | None = None
    unit_of: str = ""

    @property
    def text(self) -> str:
        """The number with its interval, or else with the range of what it is one of."""
        if self.value is None:
            return ""
        if self.interval is not None or self.spread is None:
            return measured(self.unit_of, self.value, self.interval)
        return f"{measured(self.unit_of, self.value)}, of {span(self.unit_of, self.spread)}"


#: The number of a test that measured nothing.
NOT_MEASURED = Number()


def basis_of(repetitions: int, confidence: float = 1 - ALPHA) -> str:
    """What an interval over repetitions is, or why there is none."""
    if repetitions < 2:
        return "none: one repetition"
    return f"{100 * confidence:g} %, {repetitions} repetitions"


@dataclass(frozen=True)
class Answer:
    """What one test found, before the comparisons of its family are corrected together.

    Attributes:
        lead: What was looked at, as the beginning of a sentence.
        comparisons: What decides.
        limit: A verdict that the test does not get beyond, whatever the comparisons say.
        note: A sentence more.
        found: A number to be shown where there are no comparisons.
        of: The metric that the lead names, if it names one.
        every: Whether the sentence tells of each comparison against the claim, not of one alone.
        was_run: Whether any point that the test speaks of was run.
    """

    lead: str
    comparisons: tuple[Comparison, ...] = ()
    limit: Verdict = "supported"
    note: str = ""
    found: Number = NOT_MEASURED
    of: str = ""
    every: bool = False
    was_run: bool = True

    @property
    def number(self) -> Number:
        """The number that stands for the answer: of the comparison that decides, if any."""
        shown = self.decisive
        if shown is None:
            return self.found
        alike = [c.mean for c in self.comparisons if c.logarithmic == shown.logarithmic]
        spread = (min(alike), max(alike)) if len(alike) > 1 else None
        return Number(shown.mean, shown.interval, shown.basis, spread, shown.unit_of)

    @property
    def verdict(self) -> Verdict:
        """Refuted if anything is, supported if everything is."""
        return weakest([self.limit, *(comparison.verdict for comparison in self.comparisons)])

    @property
    def decisive(self) -> Comparison | None:
        """The first comparison that has the verdict of all, or the first."""
        alike = (c for c in self.comparisons if c.verdict == self.verdict)
        return next(alike, self.comparisons[0] if self.comparisons else None)

    @property
    def reason(self) -> str:
        """A sentence or two, with the numbers behind the verdict."""
        return " ".join(filter(None, (self._of_every or self._of_decisive, self.note)))

    @property
    def short(self) -> str:
        """The reason, of many comparisons with the one that decides alone."""
        return " ".join(filter(None, (self._of_decisive, self.note)))

    @property
    def _of_every(self) -> str:
        if not self.every or not self.comparisons:
            return ""
        against = [c for c in self.comparisons if c.verdict != "supported"]
        parts = "; ".join(f"{c.label} = {c.text}{_doubt(c)}" for c in against)
        return f"{self.lead}: {parts or 'every step is as claimed'}."

    @property
    def _of_decisive(self) -> str:
        shown = self.decisive
        if shown is None:
            return self.lead
        many = len(self.comparisons)
        label = f" at {shown.label}" if many > 1 and shown.label else ""
        alike = sum(c.verdict == shown.verdict for c in self.comparisons)
        rest = f"; {alike} of {many} {shown.verdict}" if many > 1 else ""
        spread = self.number.spread
        if spread is not None and shown.interval is None:
            rest += f", from {span(shown.unit_of, spread)}"
        lead = " ".join(filter(None, (self.lead, shown.between, shown.text + label)))
        if self.every:
            of = f"{self.of}: " if self.of else ""
            lead = f"{of}{shown.label} = {shown.text}"
        return f"{lead}, claimed {shown.claimed}{_doubt(shown)}{rest}."


def corrected(answers: Sequence[Sequence[Answer]]) -> list[list[Answer]]:
    """The answers of a family of claims, their comparisons' p-values corrected by Holm."""
    ps = [c.p for claim in answers for answer in claim for c in answer.comparisons]
    known = [p for p in ps if p is not None]
    adjusted = iter(holm(known))
    return [
        [
            replace(
                answer,
                comparisons=tuple(
                    c if c.p is None else replace(c, adjusted=next(adjusted), family=len(known))
                    for c in answer.comparisons
                ),
            )
            for answer in claim
        ]
        for claim in answers
    ]


def weakest(verdicts: Sequence[Verdict]) -> Verdict:
    """Refuted if one is, else undecided, else not run if one is that, else supported."""
    ranked: tuple[Verdict, ...] = ("refuted", "undecided", "not run")
    return next((verdict for verdict in ranked if verdict in verdicts), "supported")


def _doubt(shown: Comparison) -> str:
    """Why a comparison is open although its interval is on one side."""
    if shown.unsettled and shown.basis == SAME:
        return f" ({NOTHING_RANDOM})"
    if shown.unsettled:
        count = shown.effect.count
        return f" ({count} repetitions did not make the interval as narrow as was asked for)"
    clear = shown.p is not None and shown.p <= ALPHA
    if clear and shown.verdict == "undecided" and shown.adjusted is not None:
        return f" (p = {shown.adjusted:.2g} after correction for {shown.family} comparisons)"
    return ""
