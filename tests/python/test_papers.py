"""The five papers: every claim and number is there, and every verdict hangs on its numbers."""

import csv
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.study.cells import Column
from fairway.study.claims import Cell, Claim, check_test, judge, point_is_at, same
from fairway.study.claims.cells import split
from fairway.study.data import cells_of, expected_cells
from fairway.study.files import find, keys, load_study
from published_numbers import unused

PAPERS = ("alrshah2009", "gelle2008", "khader2020", "prukpaiboon2012", "siddiqui2012")
CLAIMS = Path(__file__).parent / "claims_of_papers.csv"

#: Columns of a published file that no cell shows, and why.
NOT_SHOWN = {
    # What the asymmetry beside them is computed from; Fairway's own rerun, not the paper's.
    ("gelle2008", "ns2_rerun.csv"): {"throughput1_mbps", "throughput2_mbps"},
    # The number of the figure; of a model, what a line is of, and that all flows are equal.
    # Shown as packets, of packets.csv.
    ("siddiqui2012", "windows.csv"): {
        "figure",
        "first_peak_kb",
        "next_ssthresh_kb",
        "second_peak_kb",
    },
    ("siddiqui2012", "model.csv"): {"delayed", "window", "jain_index"},
    # What the model says of a whole path and of the windows, for the page of the study.
    ("threshold", "model.csv"): {"threshold"},
    ("fluid", "fluid.csv"): {"window_packets", "dropped"},
}
#: Kinds of tests that hold cells against published numbers.
HELD = ("follows", "errors", "cells_within", "among_runs", "published")
NUMBERS = (
    "expected", "tolerance", "share", "margin", "low", "high", "at_least", "at_most", "mean",
    "median", "max", "within",
)  # fmt: skip

every_paper = pytest.mark.parametrize("key", [key for key in PAPERS if key in keys()])
every_study = pytest.mark.parametrize("key", keys())


def parts_of(study):
    return study.parts


def expected_of(study) -> list[Cell]:
    return list(cells_of({n: expected_cells(part) for n, part in parts_of(study).items()}))


def words(text: str) -> list[str]:
    return re.findall(r"[\w.%+/*-]+\w|\w", text.lower())


@every_paper
def test_every_claim_of_the_paper_is_judged_in_its_words(key):
    rows = [row for row in csv.DictReader(CLAIMS.read_text().splitlines()) if row["study"] == key]
    assert rows
    found = {claim.id: claim for claim in find(key).claims}
    for row in rows:
        assert row["id"] in found, f"{key}: no claim {row['id']}"
        claimed = words(row["claim"])
        # A statement may go on: what counts as "as published" is not in the paper's words.
        assert words(found[row["id"]].statement)[: len(claimed)] == claimed, row["id"]


@every_study
def test_every_published_number_is_shown(key):
    hidden = [
        place
        for place in unused(find(key))
        if place.column not in NOT_SHOWN.get((key, place.file.name), ())
    ]
    assert hidden == []


def test_what_is_not_shown_is_found(tmp_path):
    shutil.copytree(find("gelle2008").directory, tmp_path / "copy")
    table = tmp_path / "copy" / "published" / "table1.csv"
    lines = table.read_text().splitlines()
    lines[0] += ",note,further"
    lines[1] += ",a word,0.5"
    lines[2:] = [f"{line},," for line in lines[2:]]
    table.write_text("\n".join([*lines, "bic,vegas,0.1,0.2,,"]) + "\n")
    found = [
        (p.line, p.column)
        for p in unused(load_study(tmp_path / "copy"))
        if p.file.name == table.name
    ]
    # Vegas is no flow of the study, and nothing shows the further column.
    last = len(lines) + 1
    assert found == [
        (2, "further"), (last, "asymmetry_ns2_default"), (last, "asymmetry_ns2_tcp_linux"),
    ]  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Where a number that a cell is held against stands: a column, and the line of its file."""

    column: Column
    index: int
    name: str


def source_of(study, cell: Cell, reference: str | None) -> Source:
    part = parts_of(study)[cell.part]
    chosen = part.compared if reference is None else part.references
    column = next(
        c for c in chosen
        if c.name == cell.metric and (reference in (None, c.title)) and c.covers(cell.point)
    )  # fmt: skip
    index = column.index(cell.point)
    assert index is not None
    return Source(column, index, column.column_of(cell.point))


def rewrite(path: Path, index: int, name: str, text: str) -> None:
    rows = list(csv.DictReader(path.read_text().splitlines()))
    rows[index][name] = text
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def held_against(test, cell: Cell) -> float | None:
    return (cell.references or {}).get(test["reference"]) if "reference" in test else cell.published


def chosen(test, cells) -> list[Cell]:
    part, at = test.get("part", ""), test.get("at", {})
    return [
        c
        for c in cells
        if c.part == part and c.metric == test["metric"] and point_is_at(c.point, at)
    ]


def measured(cell: Cell, value: float) -> Cell:
    return replace(cell, measured=value, ci_low=value, ci_high=value,
                   values=(value * 0.999, value, value * 1.001))  # fmt: skip


def judged(test, cells):
    return judge(Claim("c", "s", "w", (test,)), cells, cells)


def held_tests(study) -> Iterator[tuple[str, dict]]:
    for claim in study.claims:
        for test in claim.tests:
            if test["kind"] in HELD:
                yield claim.id, test


@every_study
def test_another_published_number_turns_the_verdict_that_hangs_on_it(key, tmp_path):
    """Measured as published, every such test holds; with a number changed it does not."""
    directory = tmp_path / key
    shutil.copytree(find(key).directory, directory)
    study = load_study(directory)
    every = expected_of(study)
    tests = list(held_tests(study))
    as_published = [
        [measured(c, wanted) for c in chosen(test, every) if (wanted := held_against(test, c))]
        for _, test in tests
    ]
    before = [judged(test, cells) for (_, test), cells in zip(tests, as_published, strict=True)]
    for (name, test), cells, finding in zip(tests, as_published, before, strict=True):
        assert finding.verdict == "supported", (name, finding.reason)
        source = source_of(study, cells[0], test.get("reference"))
        old = float(source.column.rows[source.index][source.name])
        # Beyond any bound, whether of a share or of a difference.
        rewrite(source.column.path, source.index, source.name, repr(3 * old + 1e12))
    anew = {
        (cell.part, cell.metric, repr(cell.point)): cell
        for cell in expected_of(load_study(directory))
    }
    for (name, test), cells, finding in zip(tests, as_published, before, strict=True):
        beside = [anew[(cell.part, cell.metric, repr(cell.point))] for cell in cells]
        changed = [
            replace(cell, published=new.published, references=new.references)
            for cell, new in zip(cells, beside, strict=True)
        ]
        assert held_against(test, changed[0]) != held_against(test, cells[0]), name
        after = judged(test, changed)
        assert after.to_json() != finding.to_json(), name
        # One cell of many leaves a median where it is.
        if test["kind"] != "errors" or "max" in test:
            assert after.verdict == "refuted", (name, after.reason)


def synthetic(test, cells) -> Iterator[list[Cell]]:
    """Measurements of several shapes: one of them lets each number of a test decide."""
    middles = [
        test[key] for key in ("expected", "low", "high", "at_least", "at_most") if key in test
    ]
    middle = sum(middles) / len(middles) if middles else 1.0
    axis = test.get("axis")
    for level in {1.0, middle, 1.5 * middle + 0.1, 0.0}:
        yield [measured(cell, level) for cell in cells]
    for factor, offset in ((1.0, 0.0), (1.5, 0.0), (1.0, 1.0)):
        yield [measured(cell, factor * (held_against(test, cell) or 0) + offset) for cell in cells]
    places = {}
    for cell in cells:
        places.setdefault(repr(cell.point.get(axis)) if axis else repr(cell.point), len(places))
    yield [
        measured(cell, 1 + places[repr(cell.point.get(axis)) if axis else repr(cell.point)])
        for cell in cells
    ]
    if test["kind"] == "reaches":
        yield [measured(cell, 2 * test["at_least"]) for cell in cells]
        yield [
            measured(cell, test["at_least"] * (float(cell.point[axis]) >= test["low"]))
            for cell in cells
        ]
    if "left" in test:
        for one, other in ((1.0, 2.0), (2.0, 1.0), (middle, 1.0)):
            yield [measured(c, one if point_is_at(c.point, test["left"]) else other) for c in cells]


def candidates(test, key) -> Iterator[float]:
    old = test[key]
    values = [test[k] for k in ("low", "high", "at_least", "at_most") if k in test]
    for new in (1e9, -1e9, 1e-9, *values, old / 2, old * 2, old + 1, old - 1):
        changed = {**test, key: new}
        try:
            check_test(changed, "")
        except InputError:
            continue
        if not same(new, old):
            yield new


def decides(test, key, cells) -> bool:
    """Whether there are measurements whose verdict another value of a number turns."""
    for shape in synthetic(test, cells):
        before = judged(test, shape).verdict
        for new in candidates(test, key):
            if judged({**test, key: new}, shape).verdict != before:
                return True
    return False


@every_study
def test_every_number_of_a_claim_decides(key):
    study = find(key)
    every = expected_of(study)
    for claim in study.claims:
        for number, test in enumerate(claim.tests):
            for name in NUMBERS:
                if name in test:
                    cells = chosen(test, every)
                    assert cells, (claim.id, number)
                    # Judged at one plausible value at a time.
                    _, cells = next(split(cells, claim.unknown))
                    assert decides(test, name, cells), (claim.id, number, name)
