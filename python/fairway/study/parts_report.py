"""The report of a study of parts: verdicts first, then each part with its cells and figures."""

from __future__ import annotations

from dataclasses import replace

from fairway.ground import text
from fairway.plot.page import Section, Table
from fairway.study.claim_sections import Place
from fairway.study.data import WholeData
from fairway.study.report import body_sections, claim_sections, page_of


def whole_report(result: WholeData) -> str:
    """The whole report as HTML."""
    study = result.study
    sections = list(claim_sections(result))
    warnings = [f"not run: {why}" for why in result.skipped.values()]
    sections.append(Section("Parts", study.summary, warnings=warnings, tables=[part_table(result)]))
    for name, part in result.parts.items():
        sections.append(
            Section(f"Part {name}: {part.study.title}", part.study.question, id=f"part-{name}")
        )
        sections += [
            replace(section, level=3)
            for section in body_sections(part, Place(result.directory, study.claims, name))
        ]
    return page_of(result, sections)


def part_table(result: WholeData) -> Table:
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
