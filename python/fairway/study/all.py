"""Every paper's study run again, with one index of papers, claims and verdicts."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from fairway.ground import output, replacing, store, text
from fairway.ground.progress import readable
from fairway.plot.drawing import SAME_COMMAND, drawing
from fairway.plot.page import Link, Section, Table, render
from fairway.study.claim_sections import Place, measured
from fairway.study.claims import Verdict
from fairway.study.data import PartResult, ReproductionData, cell_columns, label_count
from fairway.study.files import keys
from fairway.study.runs import linked_rows

#: The papers that Fairway's studies began with, by the year of each.
PAPERS = ("gelle2008", "alrshah2009", "prukpaiboon2012", "siddiqui2012", "khader2020")


_LEAD = (
    "What each paper claims, and what came of it when its experiments were run again. The tables "
    "below hold every published number beside ours; each study's report has the figures, and what "
    "decided each claim."
)


@dataclass(frozen=True)
class Cost:
    """The runs of studies, and the time that they took.

    Attributes:
        cpu_s: Processor time of this process and those that it started, for runs that were not
            there already.
    """

    runs: int
    cpu_s: float
    wall_s: float

    def __add__(self, other: Cost) -> Cost:
        cpu_s, wall_s = self.cpu_s + other.cpu_s, self.wall_s + other.wall_s
        return Cost(self.runs + other.runs, cpu_s, wall_s)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {name: round(value, 1) for name, value in vars(self).items()}


@dataclass(frozen=True)
class All:
    """Several studies run again, by key, each in a directory of its key."""

    results: Mapping[str, ReproductionData]
    costs: Mapping[str, Cost]
    directory: Path

    @property
    def report(self) -> Path:
        """The index."""
        return self.directory / "index.html"

    @property
    def cost(self) -> Cost:
        """What all of them took."""
        return sum(self.costs.values(), Cost(0, 0, 0))

    def to_json(self) -> dict[str, Any]:
        """The machine-readable answer: that of every study, and what it took."""
        return {
            "studies": [
                {**result.to_json(), "cost": self.costs[key].to_json()}
                for key, result in self.results.items()
            ],
            "cost": self.cost.to_json(),
        }


def by_verdict(result: ReproductionData) -> Counter[str]:
    """Verdict -> how many claims have it."""
    return Counter(finding.verdict for finding in result.findings)


def all_keys(*, every: bool) -> list[str]:
    """The studies of the papers, and with `every` the others after them."""
    there = keys()
    papers = [key for key in PAPERS if key in there]
    return papers + ([key for key in there if key not in papers] if every else [])


def reproduce_each(
    chosen: Sequence[str],
    out: str | Path | None,
    reproduce: Callable[[str, Path], ReproductionData],
    *,
    quick: bool,
    quiet: bool,
) -> All:
    """Run studies one after the other, or finish what was stopped, and write the index.

    `chosen` are keys of studies, or their directories; `reproduce` runs one into a directory.

    Raises:
        InputError: If the directory holds something else.
    """
    directory = store.study_directory(out, "all", quick=quick)
    replacing.check_writable(directory, "set of studies")
    store.mark(directory, "set of studies")
    results: dict[str, ReproductionData] = {}
    costs: dict[str, Cost] = {}
    for number, key in enumerate(chosen, start=1):
        if not quiet:
            output.print_error(f"study {number} of {len(chosen)}: {key}")
        started, busy = time.monotonic(), _cpu_s()
        name = Path(key).name
        results[name] = reproduce(key, directory / name)
        runs = sum(len(part.sweep) for part in results[name].parts.values())
        costs[name] = Cost(runs, _cpu_s() - busy, time.monotonic() - started)
    result = All(results, costs, directory)
    store.write_file(directory / "reproduction.json", store.to_json(result.to_json()))
    with drawing("index", SAME_COMMAND):
        store.write_file(result.report, index(result))
    return result


def _cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


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
    """One line per study: its verdicts, its cells, and its cost; with its question and `links`."""
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


def _claims(key: str, result: ReproductionData) -> Section:
    """What a study asked, and the verdict of each claim."""
    study = result.study
    said = f"{study.question} {study.source}.".strip()
    if result.quick:
        said += " It was run in its shortened form: what was left out is said with its numbers."
    report = Link(f"Report of {key}: figures, effects and every run", f"{key}/report.html")
    return Section(
        study.title,
        said,
        warnings=[f"not run: {why}" for why in result.skipped.values()],
        links=[report],
        tables=[_claim_table(key, result)],
        id=key,
    )


def _published(key: str, result: ReproductionData) -> Iterator[Section]:
    """Every published number of a study beside ours, part by part."""
    title = f"{key}: published beside measured"
    said = f"Shortened: {result.quick}." if result.quick else ""
    parts = result.parts
    own = [_published_table(key, name, part) for name, part in parts.items() if not name]
    yield Section(title, said, tables=own, id=f"{key}-cells-table")
    for name, part in parts.items():
        if name:
            title, table = f"Part {name}: {part.part.title}", _published_table(key, name, part)
            yield Section(title, tables=[table], id=f"{key}-{name}-table", level=3)


def _claim_table(key: str, result: ReproductionData) -> Table:
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


def _published_table(key: str, part: str, result: PartResult) -> Table:
    """Every cell that has a published number or another beside it; measured leads to its runs."""
    runs = f"{key}/report.html#{Place(result.directory, (), part).anchor('runs')}"
    shown = [
        cell
        for cell in result.cells
        if any(v is not None for v in (cell.published, *(cell.references or {}).values()))
    ]
    rows, labels = linked_rows(result, shown, runs), label_count(result.part)
    caption = text.count(len(rows), "published number")
    name = "-".join(filter(None, (key, part, "cells")))
    return Table(caption, cell_columns(result.part), rows, labels, id=name, facets=range(labels))
