"""What a search is for, and what it has to respect: sums of metrics, and bounds of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from fairway import metrics
from fairway.errors import InputError
from fairway.sweep.outcome import Outcome

#: A factor before a metric: "0.5*jain_index". Metrics begin with a letter.
_FACTOR = re.compile(r"(?P<factor>[0-9.]+(?:[eE][+-]?[0-9]+)?)\*(?P<metric>.+)")


@dataclass(frozen=True)
class Formula:
    """A metric, or a sum of some, each times a factor.

    Attributes:
        terms: Factor and metric of each.
    """

    name: str
    terms: tuple[tuple[float, str], ...]

    def measure(self, outcome: Outcome) -> float | None:
        """Its value in one run; none where a metric has none there."""
        total = []
        for factor, metric in self.terms:
            value = metrics.of_outcome(outcome, metric)
            if value is None or not math.isfinite(value):
                return None
            total.append(factor * value)
        return math.fsum(total)


@dataclass(frozen=True)
class Objective:
    """What shall be as large, or as small, as it can be."""

    formula: Formula
    minimise: bool

    @property
    def name(self) -> str:
        """The metric, without the sign that says which way is good."""
        return self.formula.name

    @property
    def direction(self) -> str:
        """What Optuna calls it."""
        return "minimize" if self.minimise else "maximize"

    def gain(self, difference: float) -> float:
        """A difference, positive where it is for the better."""
        return -difference if self.minimise else difference

    def __str__(self) -> str:
        return f"{'least' if self.minimise else 'most'} {self.name}"


@dataclass(frozen=True)
class Constraint:
    """A bound that a metric shall keep."""

    formula: Formula
    bound: float
    at_least: bool

    def violation(self, value: float) -> float:
        """How far on the wrong side, as a share of the bound (plain if it is 0); ≤ 0 keeps it."""
        excess = self.bound - value if self.at_least else value - self.bound
        return excess / (abs(self.bound) or 1.0)

    def __str__(self) -> str:
        return f"{self.formula.name} {'>=' if self.at_least else '<='} {self.bound:g}"


def parse_objective(text: str) -> Objective:
    """Read `metric`, `-metric`, or a sum such as `link.bottleneck.utilisation - 2*loss_ratio`.

    A single metric behind a minus is minimised; a sum is maximised, as its signs say.

    >>> parse_objective("-flow.0.fct_s").minimise, str(parse_objective("jain_index"))
    (True, 'most jain_index')
    """
    stripped = text.strip()
    if stripped.startswith("-") and len(stripped.split()) == 1:
        return Objective(_formula(stripped[1:], f"--objective {text}"), minimise=True)
    return Objective(_formula(stripped, f"--objective {text}"), minimise=False)


def parse_constraint(text: str) -> Constraint:
    """Read `metric >= number` or `metric <= number`.

    >>> str(parse_constraint("jain_index>=0.9"))
    'jain_index >= 0.9'
    """
    where = f"--subject-to {text}"
    found = re.search(">=|<=", text)
    metric, number = (text[: found.start()], text[found.end() :].strip()) if found else (text, "")
    if found is None or not metric.strip() or len(number.split()) != 1:
        raise InputError(f'{where}: expected METRIC >= NUMBER or <=, such as "jain_index >= 0.9"')
    return Constraint(_formula(metric, where), _finite(number, where), found[0] == ">=")


def _formula(text: str, where: str) -> Formula:
    words = text.split()
    terms = []
    sign = 1.0
    expects_metric = True
    for word in words:
        if not expects_metric:
            if word not in ("+", "-"):
                raise InputError(f"{where}: expected + or - instead of {word!r}")
            sign = -1.0 if word == "-" else 1.0
        else:
            terms.append(_term(word, sign, where))
        expects_metric = not expects_metric
    if not words or expects_metric:
        raise InputError(f"{where}: expected a metric, or a sum such as jain_index - 2*loss_ratio")
    return Formula(" ".join(words), tuple(terms))


def _term(word: str, sign: float, where: str) -> tuple[float, str]:
    if word.startswith("-"):
        sign, word = -sign, word[1:]
    factor = 1.0
    if found := _FACTOR.fullmatch(word):
        factor, word = _finite(found["factor"], where), found["metric"]
    if not re.match(r"[A-Za-z]", word):
        raise InputError(f"{where}: {word!r} is no metric; see `fairway run FILE --json`")
    return sign * factor, word


def _finite(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{where}: {text!r} is not a number")
    return number
