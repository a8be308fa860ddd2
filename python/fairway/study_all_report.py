"""The index of several studies: papers, verdicts, and every published number beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from fairway import text
from fairway.claims import Finding, Verdict
from fairway.claims.verdicts import number
from fairway.page import Link, Section, Table, render
from fairway.progress import readable
from fairway.study import Reproduction, cell_columns, cell_row
from fairway.study_all import All, by_verdict, parts_of
from fairway.study_parts import WholeReproduction

_LEAD = (
    "What each paper claims, and what came of it when its experiments were run again. The tables "
    "below hold every published number beside ours; each study's report has the figures, and what "
    "decided each claim."
)


def index(result: All) -> str:
    """The whole page as HTML."""
    cost = result.cost
    took = (
        f"{text.count(cost.runs, 'run')}. It took {readable(cost.wall_s)}, and "
        f"{readable(cost.cpu_s)} of processor time; what was there already was not run again."
    )
    sections = [Section("Papers", took, tables=[study_table(result, links=True)], id="papers")]
    for key in result.results:
        sections += _study_sections(key, result.results[key])
    return render("Studies reproduced", _LEAD, sections, contents=True)


def study_table(result: All, *, links: bool = False) -> Table:
    """One line per study: its verdicts, its cells, and what it took.

    Args:
        result: The studies.
        links: Whether a study's name leads to its report.
    """
    rows = []
    for key, one in result.results.items():
        found, cost = by_verdict(one), result.costs[key]
        published = sum(cell.published is not None for cell in one.cells)
        rows.append(
            [
                Link(key, f"{key}/report.html") if links else key,
                *(str(found[verdict]) for verdict in get_args(Verdict)),
                text.number(published),
                text.number(cost.runs),
                readable(cost.cpu_s),
                readable(cost.wall_s),
            ]
        )
    columns = ["study", *get_args(Verdict), "published", "runs", "processor", "time"]
    return Table("Studies, claims by verdict, cells with a published number", columns, rows)


def _study_sections(key: str, result: Reproduction | WholeReproduction) -> Iterator[Section]:
    study = result.study
    said = f"{study.question} {study.source}.".strip()
    if result.quick:
        said += f" Shortened: {result.quick}."
    skipped = result.skipped.values() if isinstance(result, WholeReproduction) else ()
    report = Table("Report", ["report"], [[Link(f"{key}/report.html", f"{key}/report.html")]])
    yield Section(
        study.title,
        said,
        warnings=[f"not run: {why}" for why in skipped],
        tables=[report, _claim_table(key, result)],
        id=key,
    )
    for name, part in parts_of(result).items():
        title = f"Part {name}: {part.study.title}" if name else "Published beside measured"
        table = _published_table("-".join(filter(None, (key, name, "cells"))), part)
        yield Section(title, tables=[table], id=f"{key}-{name or 'cells'}-table", level=3)


def _claim_table(key: str, result: Reproduction | WholeReproduction) -> Table:
    rows = [
        [finding.verdict, claim.id, claim.statement, _measured(finding), claim.where]
        for claim, finding in zip(result.study.claims, result.findings, strict=True)
    ]
    columns = ["verdict", "claim", "statement", "measured", "where"]
    return Table(f"Claims of {key}", columns, rows, labels=5, id=f"{key}-claims", facets=[0])


def _measured(finding: Finding) -> str:
    """The number that decided, with its interval, or else the range of the points behind it."""
    if finding.measured is None:
        return text.ABSENT
    ends, of = (finding.ci_low, finding.ci_high), ""
    if None in ends and finding.spread is not None:
        ends, of = finding.spread, "points from "
    if ends[0] is None or ends[1] is None:
        return number(finding.measured)
    return f"{number(finding.measured)} [{of}{number(ends[0])}, {number(ends[1])}]"


def _published_table(name: str, result: Reproduction) -> Table:
    """Every cell that has a published number or another beside it."""
    study = result.study
    shown = [
        cell
        for cell in result.cells
        if cell.published is not None
        or any(v is not None for v in (cell.references or {}).values())
    ]
    rows = [[str(value) for value in cell_row(study, cell)] for cell in shown]
    labels = len(study.axes) + (len(study.compared) > 1)
    caption = text.count(len(rows), "published number")
    return Table(caption, cell_columns(study), rows, labels, id=name)
