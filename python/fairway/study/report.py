"""The report of a study: verdicts first, then published beside measured, figures, and the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import get_args

# A report is written hours after its study began, and another version may be installed meanwhile:
# what others load when they first need it is loaded with this module.
import fairway.metrics.episodes
import fairway.results.tables  # noqa: F401
from fairway.ground import text
from fairway.plot.citation import citation
from fairway.plot.page import Section, Table, chart_library, render
from fairway.results.report import experiment_section, window_sentence
from fairway.study.claim_sections import Place, speaks_of, verdicts
from fairway.study.claims import MEANING, Finding, Verdict
from fairway.study.data import PartResult, ReproductionData, cell_columns, cell_row, label_count
from fairway.study.figures import figure_section
from fairway.study.runs import linked_rows, run_table
from fairway.sweep.repetitions import remark_on_alike, sentence
from fairway.sweep.report import source_of

chart_library()  # which is read then, too

_WHY = (
    "Each claim opens to what decided it: every effect that it speaks of, with its 95 % interval "
    "over n repetitions, or its 90 % interval where the claim is that there is no difference. p is "
    "corrected for the number of comparisons that the claim makes: at most 0.05 decides, by where "
    "the effect is."
)
_RUNS = (
    "Every run with its files, and the command that repeats it to the same numbers. Commands are "
    "for the directory that this report is in; the experiment file that each of them names can be "
    "changed and run as any other."
)


def study_report(result: ReproductionData) -> str:
    """The whole report as HTML."""
    study = result.study
    sections = list(claim_sections(result))
    if study.is_divided:
        warnings = [f"not run: {why}" for why in result.skipped.values()]
        table = part_table(result)
        sections.append(Section("Parts", study.summary, warnings=warnings, tables=[table]))
    for name, part in result.parts.items():
        body = body_sections(part, Place(result.directory, study.claims, name))
        if name:
            title = f"Part {name}: {part.part.title}"
            sections.append(Section(title, part.part.question, id=f"part-{name}"))
            body = (replace(section, level=3) for section in body)
        sections += body
    return page_of(result, sections)


def page_of(result: ReproductionData, sections: Sequence[Section]) -> str:
    """The whole page as HTML, with what the study is above its sections."""
    study = result.study
    note = f"{text.capital(result.quick)}." if result.quick else ""
    return render(
        study.title,
        study.source + ".",
        sections,
        question=study.question,
        contents=True,
        note=("Shortened form: what was left out", note) if note else None,
        citation=citation(
            [source_of(part.sweep, name or study.key) for name, part in result.parts.items()]
        ),
    )


def claim_sections(result: ReproductionData) -> Iterator[Section]:
    """The verdicts, and what decided them."""
    if result.study.claims:
        counts = verdict_counts(result.findings)
        yield Section("Claims", counts, verdicts=verdicts(result), id="verdicts")
    if any(finding.comparisons for finding in result.findings):
        yield Section("How claims are decided", _WHY, id="why")


def part_table(result: ReproductionData) -> Table:
    """One line per part: what it is, what answered, how much was run."""
    rows = []
    for name, part in result.study.parts.items():
        found = result.parts.get(name)
        counts = ["skipped", text.ABSENT, text.ABSENT]
        if found is not None:
            published = sum(cell.published is not None for cell in found.cells)
            counts = [text.number(n) for n in (len(found.sweep), len(found.cells), published)]
        rows.append([name, part.title, part.backend, *counts])
    columns = ["part", "what", "backend", "runs", "cells", "published"]
    return Table("Parts", columns, rows, labels=3)


def body_sections(result: PartResult, on: Place) -> Iterator[Section]:
    """Cells, figures, runs and the experiment."""
    own = result.part
    first = result.sweep.outcomes[0].point.experiment
    until = result.sweep.until
    repeated = sentence(until, result.sweep.stops) if until else ""
    yield Section(
        "Published beside measured",
        " ".join([own.summary, window_sentence(first), repeated]).strip(),
        warnings=result.sweep.warnings if until else remark_on_alike(result.sweep.outcomes),
        tables=[difference_table(result), cell_table(result, on)],
        id=on.anchor("beside"),
    )
    for figure in own.figures:
        yield figure_section(result, figure)
    runs = run_table(result, anchor=on.anchor("runs"), root=on.root)
    yield Section("Runs", _RUNS, tables=[runs], id=on.anchor("every-run"))
    yield experiment_section(first, "Experiment of the first point")


def cell_table(result: PartResult, on: Place | None = None) -> Table:
    """Published beside measured; on a page with links to the runs and with claims."""
    own, labels = result.part, label_count(result.part)
    columns = cell_columns(own)
    name = own.name(own.compared[0].metric) if len(own.compared) == 1 else "every metric"
    caption = f"{text.capital(name)}, {text.count(len(result.cells), 'cell')}"
    if on is None:
        return Table(caption, columns, [cell_row(own, cell) for cell in result.cells], labels)
    rows = linked_rows(result, result.cells, "#" + on.anchor("runs"))
    tags = [
        [claim.id for claim in on.claims if speaks_of(claim, cell, on.part)]
        for cell in result.cells
    ]
    return Table(
        caption,
        columns,
        rows,
        labels,
        id=on.anchor("cells"),
        facets=range(labels),
        tags={"claim": tags} if any(tags) else {},
    )


def difference_table(result: PartResult, part: str = "") -> Table:
    """How far measured is from published: one line per metric that has published numbers."""
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
                result.part.name(metric),
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


def verdict_counts(findings: tuple[Finding, ...]) -> str:
    """How many claims have which verdict, and what those words mean that need it."""
    counts = Counter(finding.verdict for finding in findings)
    _, *others = get_args(Verdict)
    shown = [f"{counts[v]} {'depend' if v == 'depends' else v}" for v in others if counts[v]]
    of = f"{counts['supported']} of {text.count(len(findings), 'claim')} supported"
    meanings = [f"{v.capitalize()}: {why}." for v, why in MEANING.items() if counts[v]]
    return " ".join([", ".join([of, *shown]) + ".", *meanings])
