"""Studies of parts: read, run, judged over all parts, and what is skipped."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import command, summary_of
from fairway.backends.linux import cache
from fairway.errors import InputError
from fairway.study.claims import Cell, Claim, judge
from fairway.study.data import cells_of, measured_cells
from fairway.study.files import load_study
from fairway.study.reproduce import findings, reproduce_study
from fairway.sweep.outcome import Outcome
from small_studies import claim, compare, in_range, study_of, write

WHOLE = """
title = "Twofold"
source = "Nobody, 2026"
parts = ["equal", "shared"]
"""
PART = study_of("One part", compare(file="../published/t.csv"))
QUICK = """
[quick]
note = "one algorithm"
axes = { "flow.0.cc" = ["bic"] }
"""
CLAIMS = claim(
    "both",
    'part = "equal"\nkind = "cells_within"\nmetric = "asymmetry"\nmean = 0.05\nmax = 0.15\n',
    'part = "shared"\n' + in_range("asymmetry", -0.1, 0.6),
)


@pytest.fixture
def whole_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "two"
    write(directory / "equal", PART)
    write(directory / "shared", PART + QUICK)
    (directory / "published").mkdir()
    (directory / "published" / "t.csv").write_text("cc,a\nbic,0.51\nhtcp,-0.03\n")
    (directory / "study.toml").write_text(WHOLE)
    (directory / "claims.toml").write_text(CLAIMS)
    return directory


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def judged(study, goodputs, skipped):
    """Findings if bic measured these goodputs and htcp equal ones, in every part that is run."""
    parts = {}
    for name, part in study.parts.items():
        if name not in skipped:
            outcomes = [
                Outcome(
                    p,
                    summary_of(
                        p.experiment, goodputs[name] if p.axes["flow.0.cc"] == "bic" else [1, 1]
                    ),
                    None,
                )
                for p in part.plan(quick=False).points
            ]
            parts[name] = list(measured_cells(part, outcomes))
    return findings(study, cells_of(parts), skipped)[0]


# Goodputs of 3 and 1 are an asymmetry of 0.5; of 9 and 1 one of 0.8.
@pytest.mark.parametrize(
    ("equal", "shared", "skipped", "verdict"),
    [
        ([3, 1], [3, 1], {}, "supported"),
        ([3, 1], [9, 1], {}, "refuted"),
        ([9, 1], [3, 1], {}, "refuted"),
        ([3, 1], [3, 1], {"shared": "no kernel"}, "not run"),
        # What ran is enough to refute the claim.
        ([9, 1], [3, 1], {"shared": "no kernel"}, "refuted"),
        ([3, 1], [3, 1], {"equal": "no kernel", "shared": "no kernel"}, "not run"),
    ],
)
def test_each_test_is_judged_on_the_cells_of_its_part(whole_dir, equal, shared, skipped, verdict):
    found = judged(load_study(whole_dir), {"equal": equal, "shared": shared}, skipped)
    assert found.verdict == verdict
    assert ("not run: no kernel" in found.reason) == bool(skipped)
    assert "shared: " in found.reason


def test_what_is_unknown_is_asked_in_each_part_that_knows_it(whole_dir):
    replaced(whole_dir / "claims.toml", 'where = "page 1"',
             'where = "page 1"\nunknown = ["flow.0.cc"]')  # fmt: skip
    replaced(whole_dir / "shared" / "study.toml", '["bic", "htcp"]', '["bic", "cubic"]')
    found = judged(load_study(whole_dir), {"equal": [3, 1], "shared": [9, 1]}, {})
    at = {tuple(at.values()): part.verdict for at, part in found.by_value}
    # bic is asked in both parts, the others in one; shared's asymmetry of bic is 0.8.
    assert at == {("bic",): "refuted", ("htcp",): "supported", ("cubic",): "supported"}
    assert found.verdict == "depends"


@pytest.mark.parametrize(
    ("measured", "verdict"), [([3, 1], "supported"), ([9, 1], "refuted"), ([], "not run")]
)
def test_a_part_that_knows_nothing_unknown_counts_at_every_value(measured, verdict):
    def cell(part, **point):
        value = 0.5 if part == "equal" else (measured[0] - 1) / (measured[0] + 1)
        return Cell(point, "asymmetry", None, value, None, None, (value,), part=part)

    known = [cell("equal", scenario="a"), cell("equal", scenario="b")]
    ran = [*known, cell("shared")] if measured else known
    expected = [*known, replace(known[0], point={}, part="shared")]
    test = {"kind": "range", "metric": "asymmetry", "low": 0.4, "high": 0.6}
    claim = Claim("c", "s", "w", ({**test, "part": "equal"}, {**test, "part": "shared"}),
                  unknown=("scenario",))  # fmt: skip
    found = judge(claim, ran, expected)
    assert [dict(at) for at, _ in found.by_value] == [{"scenario": "a"}, {"scenario": "b"}]
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("study.toml", '"shared"]', '"equal"]', "each once"),
        ("study.toml", '"shared"]', '"../other"]', "small letters"),
        ("study.toml", '"shared"]', '"points"]', "small letters"),
        ("study.toml", '"shared"]', '"other"]', "no such study"),
        ("study.toml", "parts", "axes = {}\nparts", "axes: unknown"),
        ("study.toml", "parts", 'quick = { leave_out = ["x"] }\nparts', "no part x"),
        ("claims.toml", 'part = "shared"\n', "", "part: ''; expected one of equal, shared"),
        ("claims.toml", 'part = "shared"', 'part = "none"', "'none'; expected one of"),
        ("claims.toml", "low = -0.1", "low = -0.1\nat = { cc = 1 }", "'cc' is no axis"),
        ("equal/study.toml", "../published", "../../published", "outside the study"),
        ("equal/study.toml", "title", "parts = []\ntitle", "parts: unknown"),
        ("equal/claims.toml", None, "", "of a part; claims stand in"),
    ],
)
def test_a_wrong_whole_says_where(whole_dir, file, old, new, says):
    path = whole_dir / file
    if old is None:
        path.write_text(new)
    else:
        replaced(path, old, new)
    with pytest.raises(InputError, match=says):
        load_study(whole_dir)


def test_a_study_without_parts_has_no_test_of_one(whole_dir):
    (whole_dir / "study.toml").unlink()
    (whole_dir / "equal" / "claims.toml").write_text(CLAIMS)
    replaced(whole_dir / "equal" / "study.toml", "../published", "published")
    (whole_dir / "published").rename(whole_dir / "equal" / "published")
    with pytest.raises(InputError, match="the study has no parts"):
        load_study(whole_dir / "equal")


def test_parts_from_end_to_end(whole_dir, tmp_path):
    out = tmp_path / "out"
    done = command("reproduce", whole_dir, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["study"] == "two"
    assert [cell["part"] for cell in answer["cells"]] == ["equal"] * 2 + ["shared"] * 2
    assert all(part["skipped"] is None for part in answer["parts"])
    assert answer["claims"][0]["id"] == "both"
    report = (out / "report.html").read_text()
    assert report.index("As published") < report.rindex("Part shared: One part")
    # One part again alone: nothing is computed twice, and the claim is open.
    kept = [path for path in out.rglob("manifest.json") if "points" in path.parts]
    times = {path: path.stat().st_mtime_ns for path in kept}
    assert len(times) == 4
    again = command("reproduce", whole_dir, "--out", out, "--part", "equal")
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == times
    assert "part shared was not asked for" in again.stdout
    for name, says in (("none", "no part none"), ("equal", "has no parts")):
        place = whole_dir if name == "none" else whole_dir / "equal"
        refused = command("reproduce", place, "--part", name, "--out", tmp_path / "x")
        assert refused.returncode == 2
        assert says in refused.stderr


def test_a_part_alone_is_an_ordinary_study(whole_dir):
    study = load_study(whole_dir / "shared")
    assert study.key == "two/shared"
    assert study.claims == ()
    assert study.part.compared[0].at({"flow.0.cc": "bic"}) == 0.51


def test_the_quick_form_is_that_of_each_part(whole_dir, tmp_path):
    result = reproduce_study(load_study(whole_dir), tmp_path / "a", quick=True)
    assert {name: len(part.cells) for name, part in result.parts.items()} == {
        "equal": 2,
        "shared": 1,
    }
    assert result.to_json()["quick"] == "equal: whole; shared: one algorithm"
    replaced(whole_dir / "study.toml", "parts", 'quick = { leave_out = ["equal"] }\nparts')
    result = reproduce_study(load_study(whole_dir), tmp_path / "a", quick=True)
    assert list(result.parts) == ["shared"]
    assert result.skipped == {"equal": "part equal is left out of the quick form"}
    replaced(whole_dir / "shared" / "study.toml", QUICK, "")
    replaced(whole_dir / "study.toml", 'quick = { leave_out = ["equal"] }\n', "")
    with pytest.raises(InputError, match="no quick form"):
        reproduce_study(load_study(whole_dir), tmp_path / "b", quick=True)


def test_without_a_kernel_its_part_is_skipped(whole_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "find", lambda: None)
    replaced(whole_dir / "shared" / "study.toml", "experiment", 'backend = "linux"\nexperiment')
    result = reproduce_study(load_study(whole_dir), tmp_path / "out")
    (entry,) = [part for part in result.to_json()["parts"] if part["part"] == "shared"]
    assert entry["backend"] == "linux"
    assert "fairway linux build" in entry["skipped"]
    assert "fairway linux build" in result.findings[0].reason
    assert "fairway linux build" in result.report.read_text()
    with pytest.raises(InputError, match="no part of it can be run"):
        reproduce_study(load_study(whole_dir), tmp_path / "out", only=["shared"])


def test_results_of_something_else_are_not_replaced(whole_dir, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        reproduce_study(load_study(whole_dir), tmp_path / "out")
