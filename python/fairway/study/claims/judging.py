"""Claims and their verdicts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from fairway.ground import text
from fairway.study.claims.cells import Cell, NotComparable, NotRun, is_at, place, split
from fairway.study.claims.reading import KINDS, Claim
from fairway.study.claims.verdicts import (
    NOT_MEASURED,
    Answer,
    Comparison,
    Number,
    Verdict,
    corrected,
    weakest,
)


@dataclass(frozen=True)
class Finding:
    """What came of a claim.

    Attributes:
        verdict: The answer.
        reason: The numbers behind it, in a sentence or more; those of plausible values stay with
            them.
        number: The number that decided, if one did.
        comparisons: Every effect that was held against what is claimed of it.
        by_value: For each plausible value of what the source leaves open, the finding there.
        was_run: Whether any point that the claim speaks of was run.
        short: The reason, of many comparisons with the one that decides alone.
    """

    verdict: Verdict
    reason: str
    number: Number = NOT_MEASURED
    comparisons: tuple[Comparison, ...] = ()
    by_value: tuple[tuple[Mapping[str, Any], Finding], ...] = ()
    was_run: bool = True
    short: str = ""

    @property
    def measured(self) -> float | None:
        """The number that decided, if one did."""
        return self.number.value

    @property
    def ci_low(self) -> float | None:
        """Lower end of its interval."""
        return self.number.interval[0] if self.number.interval else None

    @property
    def ci_high(self) -> float | None:
        """Upper end."""
        return self.number.interval[1] if self.number.interval else None

    @property
    def brief(self) -> str:
        """The reason, with plausible values at which nothing was run counted and not listed."""
        ran = [(at, part) for at, part in self.by_value if part.was_run]
        idle = len(self.by_value) - len(ran)
        if not idle:
            return self.short
        head, depends, _ = self.reason.removesuffix(".").partition(": ")
        known = f"{head}: {_by_verdict(ran)}" if depends else head
        return f"{known}; {text.count(idle, 'value')} {'was' if idle == 1 else 'were'} not run."

    def to_json(self) -> dict[str, Any]:
        """The verdict with its numbers as plain data."""
        answer: dict[str, Any] = {
            "verdict": self.verdict,
            "measured": self.measured,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "interval": self.number.basis,
            "spread": None if self.number.spread is None else list(self.number.spread),
            "reason": self.reason,
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
        }
        if self.by_value:
            answer["by_value"] = [
                {"at": dict(at), **finding.to_json()} for at, finding in self.by_value
            ]
        return answer


#: The unit of a name before a number with a unit of its own: "end (s): measured 490 ms".
_UNIT_TWICE = re.compile(r" \((?:s|bit/s)\)(: measured [^\s,]+(?: \[[^]]*\])? \w*(?:s|bit/s)\b)")


def readable(finding: Finding, names: Mapping[str, str]) -> Finding:
    """A finding whose sentences call axes and metrics what people call them, by `names`."""
    paths = sorted(names, key=len, reverse=True)
    if not paths:
        return finding
    # Whole paths alone: "flow.1" is no part of "flow.12", nor of "subflow.1".
    known = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, paths))})(?![\w*]|\.\w)")

    def named(sentences: str) -> str:
        return _UNIT_TWICE.sub(r"\1", known.sub(lambda found: names[found[0]], sentences))

    return replace(
        finding,
        reason=named(finding.reason),
        short=named(finding.short),
        by_value=tuple((at, readable(inner, names)) for at, inner in finding.by_value),
    )


def judge(claim: Claim, cells: Sequence[Cell], expected: Sequence[Cell]) -> Finding:
    """Judge one claim, as a family of its own."""
    return judge_all([claim], cells, expected)[0]


def judge_all(
    claims: Sequence[Claim],
    cells: Sequence[Cell],
    expected: Sequence[Cell],
    skipped: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Judge claims; the p-values of each family's comparisons are corrected together.

    Each plausible value of what a source leaves open makes a family of its own: a verdict over all
    of them asks for the same answer at each, which needs no correction. `cells` were run;
    `expected` are those of the whole study, run or not; `skipped` says why parts were not run.
    """
    parts = [_parts(claim, cells, expected, skipped or {}) for claim in claims]
    families: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for index, (claim, found) in enumerate(zip(claims, parts, strict=True)):
        for number, (at, _) in enumerate(found):
            name = f"family {claim.family}" if claim.family else f"claim {index}"
            families.setdefault((name, repr(dict(at))), []).append((index, number))
    answers = [[answers for _, answers in found] for found in parts]
    for members in families.values():
        together = corrected([answers[index][number] for index, number in members])
        for (index, number), own in zip(members, together, strict=True):
            answers[index][number] = own
    return [
        _over_values([(at, _finding(own)) for (at, _), own in zip(found, answered, strict=True)])
        for found, answered in zip(parts, answers, strict=True)
    ]


def _parts(
    claim: Claim,
    cells: Sequence[Cell],
    expected: Sequence[Cell],
    skipped: Mapping[str, str],
) -> list[tuple[Mapping[str, Any], list[Answer]]]:
    """The answers of the claim's tests, for each plausible value of what is unknown."""
    expected = [cell for cell in expected if cell.part in claim.parts]
    if not claim.unknown:
        return [({}, _answers(claim, claim.tests, cells, expected, skipped))]
    varied = {cell.part for cell in expected if _varies(cell, claim)}
    # What is unknown changes nothing in a part without these axes: it is asked at every value.
    fixed, fixed_wanted = (
        [cell for cell in some if cell.part not in varied] for some in (cells, expected)
    )
    found: list[tuple[Mapping[str, Any], list[Answer]]] = []
    for at, of_value in split([c for c in expected if c.part in varied], claim.unknown):
        wanted = [*of_value, *fixed_wanted]
        # A part that varies otherwise says nothing of the value.
        tests = [test for test in claim.tests if _knows(test, wanted)]
        if any(_speaks_of(test, of_value) for test in tests):
            here = [cell for cell in cells if is_at(cell, at)] + fixed
            found.append((at, _answers(claim, tests, here, wanted, skipped)))
    return found


def _varies(cell: Cell, claim: Claim) -> bool:
    return any(axis in cell.point for axis in claim.unknown)


def _knows(test: Mapping[str, Any], expected: Sequence[Cell]) -> bool:
    part = test.get("part", "")
    return test["kind"] == "unmeasured" or any(cell.part == part for cell in expected)


def _speaks_of(test: Mapping[str, Any], expected: Sequence[Cell]) -> bool:
    """Whether a test is about any of these cells: `at` may leave a value out."""
    return test["kind"] == "unmeasured" or bool(_chosen(test, expected))


def _answers(
    claim: Claim,
    tests: Sequence[Mapping[str, Any]],
    cells: Sequence[Cell],
    expected: Sequence[Cell],
    skipped: Mapping[str, str],
) -> list[Answer]:
    """The answer of each test; of what it is, is said where the claim is about several things."""
    parts = claim.parts if len(claim.parts) > 1 else []
    metrics = {test["metric"] for test in claim.tests if "metric" in test}
    return [
        _told(
            test,
            _answer(test, cells, expected, skipped),
            part=test.get("part", "") if parts else "",
            metric=test.get("metric", "") if len(metrics) > 1 else "",
        )
        for test in tests
    ]


def _told(test: Mapping[str, Any], answer: Answer, *, part: str, metric: str) -> Answer:
    """An answer that says of which part and of which metric it is, where these are given."""
    comparisons = tuple(
        replace(
            comparison,
            label=", ".join(filter(None, (part, comparison.label))),
            metric=test.get("metric", ""),
            part=test.get("part", ""),
        )
        for comparison in answer.comparisons
    )
    place = ", ".join(filter(None, (part, metric)))
    lead = f"{place}: {answer.lead[:1].lower()}{answer.lead[1:]}" if place else answer.lead
    return replace(answer, lead=lead, comparisons=comparisons, of=metric)


def _chosen(test: Mapping[str, Any], cells: Sequence[Cell]) -> list[Cell]:
    """The cells that a test speaks of."""
    part, at = test.get("part", ""), test.get("at", {})
    return [c for c in cells if c.part == part and c.metric == test["metric"] and is_at(c, at)]


def _answer(
    test: Mapping[str, Any],
    cells: Sequence[Cell],
    expected: Sequence[Cell],
    skipped: Mapping[str, str],
) -> Answer:
    if test["kind"] == "unmeasured":
        return KINDS[test["kind"]][2](test, cells, expected)
    chosen, wanted = _chosen(test, cells), _chosen(test, expected)
    why = skipped.get(test.get("part", ""))
    if why is not None:
        return Answer(f"Not run: {why}.", limit="not run", was_run=False)
    if not any(cell.measured is not None for cell in chosen):
        return Answer("No point that it speaks of was run.", limit="not run", was_run=False)
    try:
        return KINDS[test["kind"]][2](test, chosen, wanted)
    except NotComparable as why:
        return Answer(f"{why}.", limit="not run" if isinstance(why, NotRun) else "undecided")


def _finding(answers: Sequence[Answer]) -> Finding:
    verdict = weakest([answer.verdict for answer in answers])
    reason = " ".join(answer.reason for answer in answers)
    short = " ".join(answer.short for answer in answers)
    comparisons = tuple(c for answer in answers for c in answer.comparisons)
    # The number of the test that decides, or of the first that has one.
    ranked = sorted(answers, key=lambda answer: answer.verdict != verdict)
    was_run = any(answer.was_run for answer in answers)
    known = (found for answer in ranked if (found := answer.number).value is not None)
    number = next(known, NOT_MEASURED)
    return Finding(verdict, reason, number, comparisons, was_run=was_run, short=short)


def _over_values(found: Sequence[tuple[Mapping[str, Any], Finding]]) -> Finding:
    """Supported or refuted only if it is so at every plausible value of the unknowns."""
    if len(found) == 1 and not found[0][0]:
        return found[0][1]
    if not found:
        nothing = "No point that it speaks of is in the study."
        return Finding("undecided", nothing, short=nothing)
    verdicts = {finding.verdict for _, finding in found}
    axes = ", ".join(found[0][0])
    comparisons = tuple(c for _, finding in found for c in finding.comparisons)
    verdict = _together(verdicts)
    head = (
        f"{verdict.capitalize()} for every plausible value of {axes}."
        if len(verdicts) == 1
        else f"{'It depends on' if verdict == 'depends' else 'By'} {axes}: {_by_verdict(found)}."
    )
    decided = next((f for _, f in found if f.measured is not None), found[0][1])
    was_run = any(finding.was_run for _, finding in found)
    return Finding(verdict, head, decided.number, comparisons, tuple(found), was_run, short=head)


def _together(verdicts: Collection[Verdict]) -> Verdict:
    """The verdict over all plausible values, from those at each."""
    if {"supported", "refuted"} <= set(verdicts):
        return "depends"
    if len(verdicts) == 1:
        return next(iter(verdicts))
    return "undecided" if "undecided" in verdicts else "not run"


def _by_verdict(found: Sequence[tuple[Mapping[str, Any], Finding]]) -> str:
    """Plausible values by the verdict at each."""
    places = {v: [f"“{place(at)}”" for at, f in found if f.verdict == v] for v in get_args(Verdict)}
    return "; ".join(f"{v} for {', '.join(of)}" for v, of in places.items() if of)
