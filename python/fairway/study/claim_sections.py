"""Claims of a study on a page: each verdict in a line, and what decided it folded below."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlencode

from fairway.ground import text
from fairway.plot.page import Link, Table
from fairway.study.claims import Cell, Claim, Comparison, Finding, Verdict, point_is_at
from fairway.study.claims.units import in_columns

if TYPE_CHECKING:
    from fairway.study.data import ReproductionData


@dataclass(frozen=True)
class Place:
    """Where a study stands on a page.

    Attributes:
        root: The directory of the page.
        claims: The claims of the page.
        part: The part of a study that it is; empty if it is all of it.
    """

    root: Path
    claims: tuple[Claim, ...]
    part: str = ""

    def anchor(self, name: str) -> str:
        """An anchor that no other part of the page has."""
        return f"part-{self.part}-{name}" if self.part else name


def verdicts(result: ReproductionData) -> list[dict[str, Any]]:
    """Every claim with its verdict and what decided it, as `page.Section.verdicts` has them."""
    return [
        {
            "verdict": finding.verdict,
            "id": claim.id,
            "statement": claim.statement,
            "where": claim.where,
            "measured": measured(finding),
            "finding": short(finding),
            "values": _by_value(finding),
            "effects": effect_table(result, claim, finding) if finding.comparisons else None,
            "links": _cells(result, claim),
            **({"part": "|".join(claim.parts)} if any(claim.parts) else {}),
        }
        for claim, finding in zip(result.study.claims, result.findings, strict=True)
    ]


def verdict_table(result: ReproductionData) -> Table:
    """Claims and verdicts."""
    rows = [
        [finding.verdict, claim.id, claim.statement, short(finding)]
        for claim, finding in zip(result.study.claims, result.findings, strict=True)
    ]
    return Table("Claims", ["verdict", "claim", "statement", "finding"], rows, labels=4)


def measured(finding: Finding) -> str:
    """The number that decided with its interval; of plausible values, how many have which verdict.

    Empty if nothing was measured.
    """
    if not finding.by_value:
        return finding.number.text
    counts = _counts(finding)
    if len(counts) == 1:
        return f"at each of {text.count(len(finding.by_value), 'value')}"
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def short(finding: Finding) -> str:
    """The reason; of plausible values, which a list below it has one by one, how many."""
    if not finding.by_value or len({part.verdict for _, part in finding.by_value}) < 2:
        return once(finding.short)
    found = [f"{name} for {text.count(n, 'value')}" for name, n in _counts(finding).items()]
    return f"{finding.reason.partition(':')[0]}: {', '.join(found)}."


def _counts(finding: Finding) -> dict[str, int]:
    """Verdict -> at how many plausible values."""
    counts = Counter(part.verdict for _, part in finding.by_value)
    return {name: counts[name] for name in get_args(Verdict) if counts[name]}


def once(sentences: str) -> str:
    """Sentences without those that several tests of a claim say alike."""
    return " ".join(dict.fromkeys(re.split(r"(?<=\.) ", sentences)))


def speaks_of(claim: Claim, cell: Cell, part: str) -> bool:
    """Whether a test of the claim is about a cell of that part of the study."""
    return any(
        test.get("metric") == cell.metric
        and test.get("part", "") == part
        and point_is_at(cell.point, test.get("at", {}))
        for test in claim.tests
    )


def effect_table(result: ReproductionData, claim: Claim, finding: Finding) -> Table:
    """Every effect that a claim speaks of, with its interval, beside what is claimed of it."""
    metrics = dict.fromkeys(comparison.metric for comparison in finding.comparisons)
    rows = []
    for at, part in finding.by_value or (({}, finding),):
        for comparison in part.comparisons:
            metric = [_metric(result, comparison)] if len(metrics) > 1 else []
            of = ", ".join(filter(None, (comparison.between, comparison.label)))
            rows.append([_place(at, of), *metric, *_effect_row(comparison)])
    on = "" if len(metrics) > 1 else f" on {_metric(result, finding.comparisons[0])}"
    labels = ["of", *(["metric"] if len(metrics) > 1 else []), "verdict", "claimed"]
    return Table(
        f"{claim.id}: {text.count(len(rows), 'effect')}{on}",
        [*labels, "effect", "interval", "n", "p"],
        rows,
        labels=len(labels),
    )


def _metric(result: ReproductionData, comparison: Comparison) -> str:
    """What people call what an effect is of, without the unit that its numbers have beside them."""
    part = result.study.parts[comparison.part]
    return part.name(comparison.metric).removesuffix(" (bit/s)").removesuffix(" (s)")


def _place(at: Mapping[str, Any], label: str) -> str:
    """What an effect is of, and at which plausible values, where its label does not say these."""
    known, values = f", {label},", map(text.label, at.values())
    return ", ".join([*(v for v in values if f", {v}," not in known), *filter(None, [label])])


def _effect_row(comparison: Comparison) -> list[str]:
    effect, interval, unit = in_columns(comparison.unit_of, comparison.mean, comparison.interval)
    p = comparison.adjusted
    return [
        comparison.verdict,
        ("ratio " if comparison.is_ratio else "") + comparison.claimed,
        f"{effect} {unit}".strip(),
        interval or text.ABSENT,
        str(comparison.effect.count),
        text.ABSENT if p is None else "< 0.0001" if p < 1e-4 else f"{p:.2g}",
    ]


def _by_value(finding: Finding) -> list[dict[str, str]]:
    """What was found for each plausible value; values with the same answer share a line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for at, part in finding.by_value:
        place = ", ".join(text.label(value) for value in at.values())
        lines.setdefault((part.verdict, once(part.short)), []).append(place)
    return [
        {"verdict": verdict, "finding": reason, "of": "; ".join(places)}
        for (verdict, reason), places in lines.items()
    ]


def _cells(result: ReproductionData, claim: Claim) -> list[Link]:
    """Where the cells that a claim speaks of stand."""
    query = urlencode({"claim": claim.id})
    links = []
    parts = Counter(cell.part for cell in result.cells if speaks_of(claim, cell, cell.part))
    for part, cells in parts.items():
        on = Place(result.directory, (), part)
        of = f" of {part}" if part else ""
        links.append(Link(text.count(cells, "cell") + of, f"#{on.anchor('cells')}", rows=query))
    return links
