"""The report of a study: verdicts first, then published beside measured, figures, and the runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

# A report is written hours after its study began, and another version may be installed meanwhile:
# what others load when they first need it is loaded with this module.
import fairway.golden.episodes
import fairway.tables  # noqa: F401
from fairway import text
from fairway.claims import Cell, Claim, Comparison, Finding, point_is_at
from fairway.claims.verdicts import number
from fairway.page import Link, Section, Table, render
from fairway.repetitions import sentence
from fairway.report import experiment_section, window_sentence
from fairway.study import Reproduction, Study, cell_columns, cell_row
from fairway.study_figures import figure_section
from fairway.study_runs import cell_names, run_link, run_table, write_experiments

if TYPE_CHECKING:
    from fairway.study_parts import WholeReproduction

_WHY = (
    "Every effect that a claim speaks of, with its 95 % interval over n repetitions, or its 90 % "
    "interval where the claim is that there is no difference. p is corrected for the number of "
    "comparisons that the claim makes: at most 0.05 decides, by where the effect is."
)
_RUNS = (
    "Every run with its files, and the command that repeats it to the same numbers. Commands are "
    "for the directory that this report is in; the experiment file that each of them names can be "
    "changed and run as any other."
)


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


def study_report(result: Reproduction) -> str:
    """The whole report as HTML."""
    study = result.study
    lead = study.source + "."
    if result.quick:
        lead += f" Shortened: {result.quick}."
    place = Place(result.directory, study.claims)
    sections = [*claim_sections(result), *body_sections(result, place)]
    return render(study.title, lead, sections, question=study.question, contents=True)


def claim_sections(result: Reproduction | WholeReproduction) -> Iterator[Section]:
    """The verdicts, and what decided them."""
    if result.study.claims:
        counts = verdict_counts(result.findings)
        yield Section("Claims", counts, verdicts=_verdicts(result), id="verdicts")
    if any(finding.comparisons for finding in result.findings):
        yield Section("Why", _WHY, tables=[comparison_table(result)], id="why")


def body_sections(result: Reproduction, on: Place) -> Iterator[Section]:
    """Cells, figures, runs and the experiment.

    Args:
        result: The study.
        on: Where it stands on the page.
    """
    study = result.study
    write_experiments(result)
    first = result.sweep.outcomes[0].point.experiment
    until = result.sweep.until
    repeated = sentence(until, result.sweep.stops) if until else ""
    names = cell_names(result)
    yield Section(
        "Published beside measured",
        " ".join([study.summary, window_sentence(first), repeated]).strip(),
        warnings=result.sweep.warnings if until else (),
        tables=[difference_table(result), cell_table(result, on, names)],
        id=on.anchor("beside"),
    )
    for figure in study.figures:
        yield figure_section(result, figure)
    runs = run_table(result, names, anchor=on.anchor("runs"), root=on.root)
    yield Section("Runs", _RUNS, tables=[runs], id=on.anchor("every-run"))
    yield experiment_section(first, "Experiment of the first point")


def cell_table(
    result: Reproduction, on: Place | None = None, names: dict[str, str] | None = None
) -> Table:
    """Published beside measured.

    Args:
        result: The study.
        on: Where it stands on a page; without links and claims if on none.
        names: What links call the point of each cell.
    """
    study = result.study
    columns = cell_columns(study)
    rows = [cell_row(study, cell) for cell in result.cells]
    labels = len(study.axes) + (len(study.compared) > 1)
    name = study.name(study.compared[0].metric) if len(study.compared) == 1 else "every metric"
    caption = f"{text.capital(name)}, {text.count(len(rows), 'cell')}"
    if on is None or names is None:
        return Table(caption, columns, rows, labels)
    measured = columns.index("measured")
    tags = []
    for row, cell in zip(rows, result.cells, strict=True):
        row[measured] = run_link(row[measured], cell, names, table="#" + on.anchor("runs"))
        tags.append([claim.id for claim in on.claims if speaks_of(claim, cell, on.part)])
    return Table(
        caption,
        columns,
        rows,
        labels,
        id=on.anchor("cells"),
        facets=range(labels),
        tags={"claim": tags} if any(tags) else {},
    )


def difference_table(result: Reproduction, part: str = "") -> Table:
    """How far measured is from published: one line per metric that has published numbers.

    Args:
        result: The study.
        part: The part of a study that it is; empty if it is all of it.
    """
    rows = []
    metrics = dict.fromkeys(cell.metric for cell in result.cells)
    known = dict.fromkeys(cell.metric for cell in result.cells if cell.difference is not None)
    for metric in known or metrics:
        own = [cell for cell in result.cells if cell.metric == metric]
        both = [cell for cell in own if cell.difference is not None]
        off = [abs(cell.difference or 0.0) for cell in both]
        relative = [
            distance / abs(cell.published)
            for distance, cell in zip(off, both, strict=True)
            if cell.published
        ]
        rows.append(
            [
                result.study.name(metric),
                str(len(own)),
                str(len(off)),
                text.number(median(off), 3) if off else text.ABSENT,
                text.number(max(off), 3) if off else text.ABSENT,
                text.percent(median(relative), signed=False) if relative else text.ABSENT,
            ]
        )
    caption = "How far measured is from published" + (f", part {part}" if part else "")
    columns = ["metric", "cells", "published", "median", "largest", "median, relative"]
    return Table(caption, columns, rows)


def speaks_of(claim: Claim, cell: Cell, part: str) -> bool:
    """Whether a test of the claim is about a cell of that part of the study."""
    return any(
        test.get("metric") == cell.metric
        and test.get("part", "") == part
        and point_is_at(cell.point, test.get("at", {}))
        for test in claim.tests
    )


def verdict_counts(findings: tuple[Finding, ...]) -> str:
    """How many claims have which verdict, in a sentence."""
    counts = Counter(finding.verdict for finding in findings)
    others = [f"{counts[v]} {v}" for v in ("refuted", "undecided") if counts[v]]
    of = f"{counts['supported']} of {text.count(len(findings), 'claim')} supported"
    return ", ".join([of, *others]) + "."


def verdict_table(result: Reproduction | WholeReproduction) -> Table:
    """Claims and verdicts."""
    rows = [[v["verdict"], v["id"], v["statement"], v["finding"]] for v in _verdicts(result)]
    return Table("Claims", ["verdict", "claim", "statement", "finding"], rows, labels=4)


def comparison_table(result: Reproduction | WholeReproduction) -> Table:
    """What decided: every effect with its interval, beside what is claimed of it."""
    rows = []
    for claim, finding in zip(result.study.claims, result.findings, strict=True):
        parts = finding.by_value or (({}, finding),)
        for at, part in parts:
            own = [text.label(value) for value in at.values()]
            rows += [
                [claim.id, _metric(result, c), _place(own, c.label), *_comparison_row(c)]
                for c in part.comparisons
            ]
    columns = ["claim", "metric", "of", "verdict", "claimed", "effect", "interval", "n", "p"]
    caption = "Effects beside what is claimed of them"
    return Table(caption, columns, rows, labels=5, id="effects", facets=(0, 1, 3))


def _metric(result: Reproduction | WholeReproduction, comparison: Comparison) -> str:
    """What people call what an effect is of."""
    study = result.study
    part = study if isinstance(study, Study) else study.parts[comparison.part]
    return part.name(comparison.metric)


def _place(values: list[str], label: str) -> str:
    """What an effect is of, and at which plausible values, where its label does not say these."""
    known = f", {label},"
    return ", ".join([*(v for v in values if f", {v}," not in known), *filter(None, [label])])


def _comparison_row(comparison: Comparison) -> list[str]:
    ends = comparison.interval
    shown = text.ABSENT if ends is None else f"[{number(ends[0])}, {number(ends[1])}]"
    p = comparison.adjusted
    return [
        comparison.verdict,
        ("ratio " if comparison.logarithmic else "") + comparison.claimed,
        number(comparison.mean),
        shown,
        str(comparison.effect.count),
        text.ABSENT if p is None else "< 0.0001" if p < 1e-4 else f"{p:.2g}",
    ]


def _verdicts(result: Reproduction | WholeReproduction) -> list[dict[str, Any]]:
    return [
        {
            "verdict": finding.verdict,
            "id": claim.id,
            "statement": claim.statement,
            "where": claim.where,
            "measured": _measured(finding),
            "finding": _short(finding),
            "values": _by_value(finding),
            "links": _decided(result, claim, finding),
            **({"part": "|".join(claim.parts)} if any(claim.parts) else {}),
        }
        for claim, finding in zip(result.study.claims, result.findings, strict=True)
    ]


def _short(finding: Finding) -> str:
    """The reason; of plausible values, which a list below it has one by one, how many."""
    if not finding.by_value or len({part.verdict for _, part in finding.by_value}) < 2:
        return once(finding.reason)
    counts = Counter(part.verdict for _, part in finding.by_value)
    return (
        finding.reason.partition(":")[0]
        + ": "
        + ", ".join(
            f"{verdict} for {text.count(count, 'value')}" for verdict, count in counts.items()
        )
        + "."
    )


def _measured(finding: Finding) -> str:
    """The number that decided, with its interval; of several plausible values each has its own."""
    if finding.measured is None or finding.by_value:
        return ""
    if finding.ci_low is None or finding.ci_high is None:
        return number(finding.measured)
    return f"{number(finding.measured)} [{number(finding.ci_low)}, {number(finding.ci_high)}]"


def _decided(
    result: Reproduction | WholeReproduction, claim: Claim, finding: Finding
) -> list[Link]:
    """Where the effects and the cells that decided a claim stand."""
    query = urlencode({"claim": claim.id})
    links = []
    if effects := len(finding.comparisons):
        links.append(Link(text.count(effects, "effect"), "#effects", rows=query))
    parts = Counter(cell.part for cell in result.cells if speaks_of(claim, cell, cell.part))
    for part, cells in parts.items():
        on = Place(result.directory, (), part)
        of = f" of {part}" if part else ""
        links.append(Link(text.count(cells, "cell") + of, f"#{on.anchor('cells')}", rows=query))
    return links


def once(sentences: str) -> str:
    """Sentences without those that several tests of a claim say alike."""
    return " ".join(dict.fromkeys(re.split(r"(?<=\.) ", sentences)))


def _by_value(finding: Finding) -> list[dict[str, str]]:
    """What was found for each plausible value; values with the same answer share a line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for at, part in finding.by_value:
        place = ", ".join(text.label(value) for value in at.values())
        lines.setdefault((part.verdict, once(part.reason)), []).append(place)
    return [
        {"verdict": verdict, "finding": reason, "of": "; ".join(places)}
        for (verdict, reason), places in lines.items()
    ]
