"""The index of several studies: papers, verdicts, and every published number beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args
from urllib.parse import quote

from fairway.ground import text
from fairway.ground.progress import readable
from fairway.plot.page import Link, Section, Table, render
from fairway.study.all import All, by_verdict, parts_of
from fairway.study.claim_sections import Place, measured
from fairway.study.claims import Verdict
from fairway.study.parts import WholeReproduction
from fairway.study.reproduce import Reproduction, cell_columns, cell_row
from fairway.study.runs import cell_names, run_link

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
    sections += [_claims(key, one) for key, one in result.results.items()]
    for key, one in result.results.items():
        sections += _published(key, one)
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
    caption = "Claims by verdict, numbers that were published, and what it took"
    if not links:
        return Table(caption, columns, rows)
    for row, one in zip(rows, result.results.values(), strict=True):
        row.insert(1, one.study.question or one.study.title)
    return Table(caption, ["study", "question", *columns[1:]], rows, labels=2)


def _claims(key: str, result: Reproduction | WholeReproduction) -> Section:
    """What a study asked, and the verdict of each claim."""
    study = result.study
    said = f"{study.question} {study.source}.".strip()
    if result.quick:
        said += " It was run in its shortened form: what was left out is said with its numbers."
    skipped = result.skipped.values() if isinstance(result, WholeReproduction) else ()
    report = Link(f"Report of {key}: figures, effects and every run", f"{key}/report.html")
    return Section(
        study.title,
        said,
        warnings=[f"not run: {why}" for why in skipped],
        links=[report],
        tables=[_claim_table(key, result)],
        id=key,
    )


def _published(key: str, result: Reproduction | WholeReproduction) -> Iterator[Section]:
    """Every published number of a study beside ours, part by part."""
    title = f"{key}: published beside measured"
    said = f"Shortened: {result.quick}." if result.quick else ""
    parts = parts_of(result)
    own = [_published_table(key, name, part) for name, part in parts.items() if not name]
    yield Section(title, said, tables=own, id=f"{key}-cells-table")
    for name, part in parts.items():
        if name:
            title, table = f"Part {name}: {part.study.title}", _published_table(key, name, part)
            yield Section(title, tables=[table], id=f"{key}-{name}-table", level=3)


def _claim_table(key: str, result: Reproduction | WholeReproduction) -> Table:
    rows = [
        [
            finding.verdict,
            Link(claim.id, f"{key}/report.html#claim-{quote(claim.id)}", label=f"{claim.id}, why"),
            claim.statement,
            measured(finding) or text.ABSENT,
            claim.where,
        ]
        for claim, finding in zip(result.study.claims, result.findings, strict=True)
    ]
    columns = ["verdict", "claim", "statement", "measured", "where"]
    return Table(f"Claims of {key}", columns, rows, labels=5, id=f"{key}-claims", facets=[0])


def _published_table(key: str, part: str, result: Reproduction) -> Table:
    """Every cell that has a published number or another beside it; measured leads to its runs."""
    study, names = result.study, cell_names(result)
    runs = f"{key}/report.html#{Place(result.directory, (), part).anchor('runs')}"
    shown = [
        cell
        for cell in result.cells
        if cell.published is not None
        or any(v is not None for v in (cell.references or {}).values())
    ]
    rows = [cell_row(study, cell) for cell in shown]
    measured = cell_columns(study).index("measured")
    for row, cell in zip(rows, shown, strict=True):
        row[measured] = run_link(row[measured], cell, names, table=runs)
    labels = len(study.axes) + (len(study.compared) > 1)
    caption = text.count(len(rows), "published number")
    name = "-".join(filter(None, (key, part, "cells")))
    return Table(caption, cell_columns(study), rows, labels, id=name, facets=range(labels))
