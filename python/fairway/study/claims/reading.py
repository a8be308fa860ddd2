"""Claims as they are written: which keys each kind of test has, and what may be in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.errors import InputError
from fairway.study.claims import held, kinds
from fairway.study.claims.cells import Cell
from fairway.study.claims.margins import default_margin
from fairway.study.claims.reaches import reaches
from fairway.study.claims.verdicts import Answer

_Judge = Callable[[Mapping[str, Any], Sequence[Cell], Sequence[Cell]], Answer]

#: Kind of test -> keys it needs, keys it may have, what judges it.
KINDS: dict[str, tuple[set[str], set[str], _Judge]] = {
    "among_runs": ({"metric"}, {"at", "reference"}, held.among_runs),
    "cells_within": ({"metric", "mean", "max"}, {"at"}, held.cells_within),
    "errors": ({"metric", "median"}, {"at", "max", "reference"}, held.errors),
    "follows": ({"metric", "within"}, {"at", "reference"}, held.follows),
    "value": ({"metric", "expected"}, {"at", "tolerance", "share"}, kinds.value),
    "printed": ({"metric", "at_least"}, {"at", "share"}, held.printed),
    "published": ({"metric"}, {"at", "margin", "share"}, kinds.published),
    "range": ({"metric", "low", "high"}, {"at"}, kinds.within_range),
    "order": ({"metric", "axis", "order"}, {"at", "for_each"}, kinds.order),
    "reaches": ({"metric", "axis", "at_least", "low", "high"}, {"at"}, reaches),
    "trend": ({"metric", "axis", "direction"}, {"at", "for_each"}, kinds.trend),
    "compare": (
        {"metric", "how", "left", "right"},
        {"at", "at_least", "at_most", "for_each"},
        kinds.compare,
    ),
    "no_difference": (
        {"metric"},
        {"at", "axis", "left", "right", "margin", "share", "for_each"},
        kinds.no_difference,
    ),
    "distance": ({"metric", "left", "right"}, {"at", "at_least", "at_most"}, held.distance),
    "unmeasured": ({"reason"}, set(), held.unmeasured),
}

_NUMBERS = {"mean", "median", "max", "expected", "low", "high", "at_least", "at_most"}
#: Numbers above zero: how near is near enough.
_MARGINS = {"within", "tolerance", "share", "margin"}
_TABLES = {"at", "left", "right"}
_TEXTS = {"metric", "axis", "reference", "reason", "part"}
_CHOICES = {"how": ("ratio", "difference"), "direction": ("increasing", "decreasing")}


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Attributes:
        where: Section, table or figure of the paper.
        tests: Tables of `claims.toml`, all of which must hold; in a study of parts each names the
            `part` whose cells it speaks of.
        family: Claims of one family have the p-values of all their comparisons corrected together;
            none for a family of its own.
        unknown: Axes whose values are the plausible ones of something that the source leaves open:
            the claim is judged for each.
    """

    id: str
    statement: str
    where: str
    tests: tuple[Mapping[str, Any], ...]
    family: str | None = None
    unknown: tuple[str, ...] = ()

    @property
    def parts(self) -> list[str]:
        """The parts of the study that its tests speak of, each once."""
        return list(dict.fromkeys(test.get("part", "") for test in self.tests))


def check_test(test: Mapping[str, Any], where: str) -> None:
    """Refuse a test of no known kind, that lacks a key, has one too many or a wrong value.

    Raises:
        InputError: With the path of what is wrong.
    """
    kind = test.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{where}.kind: {kind!r}; expected {', '.join(sorted(KINDS))}")
    required, optional, _ = KINDS[kind]
    for key in sorted(required - test.keys()):
        raise InputError(f'{where}: test "{kind}" needs "{key}"')
    for key in sorted(test.keys() - required - optional - {"kind", "part"}):
        allowed = ", ".join(sorted(required | optional))
        raise InputError(f'{where}.{key}: unknown key of test "{kind}"; it has {allowed}')
    for key in sorted(test.keys() - {"kind"}):
        expected = _expected(key, test[key])
        if expected is not None:
            raise InputError(f"{where}.{key}: expected {expected}, got {test[key]!r}")
    _check_together(kind, test, where)


def axes_of(test: Mapping[str, Any]) -> list[str]:
    """Every axis that a test names."""
    tables = [axis for key in sorted(_TABLES) for axis in test.get(key, {})]
    return [*tables, *test.get("for_each", []), *([test["axis"]] if "axis" in test else [])]


def _expected(key: str, value: Any) -> str | None:
    """What should be there instead of a value; none if it is as it should be."""
    if key in _NUMBERS | _MARGINS:
        if not _is_number(value):
            return "a finite number"
        return "a number above zero" if key in _MARGINS and not value > 0 else None
    if key in _TABLES:
        return None if isinstance(value, Mapping) else "a table of axis = value"
    if key in _TEXTS:
        return None if isinstance(value, str) else "text"
    if key in _CHOICES:
        return None if value in _CHOICES[key] else " or ".join(f'"{c}"' for c in _CHOICES[key])
    if key == "for_each":
        fits = isinstance(value, list) and value and all(isinstance(v, str) for v in value)
        return None if fits else "a list of axes"
    groups = value if isinstance(value, list) else []
    fits = len(groups) > 1 and all(isinstance(group, list) and group for group in groups)
    return None if fits else "a list of two or more lists of values"


def _check_together(kind: str, test: Mapping[str, Any], where: str) -> None:
    if kind in ("range", "reaches") and not test["low"] <= test["high"]:
        raise InputError(f"{where}: low {test['low']} is above high {test['high']}")
    if kind in ("compare", "distance"):
        if "at_least" not in test and "at_most" not in test:
            raise InputError(f'{where}: test "{kind}" needs "at_least" or "at_most"')
        if not test.get("at_least", -math.inf) <= test.get("at_most", math.inf):
            raise InputError(
                f"{where}: at_least {test['at_least']} is above at_most {test['at_most']}"
            )
    if kind == "no_difference" and ("axis" in test) == ("left" in test and "right" in test):
        raise InputError(f'{where}: give either "axis", or "left" and "right"')
    if kind in ("value", "no_difference", "published"):
        own = "tolerance" if kind == "value" else "margin"
        if own in test and "share" in test:
            raise InputError(f'{where}: give either "{own}" or "share"')
        if own not in test and "share" not in test and default_margin(test["metric"]) is None:
            raise InputError(
                f'{where}: test "{kind}" needs "{own}" or "share"; {test["metric"]} has no default'
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
