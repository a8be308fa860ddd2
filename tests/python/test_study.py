"""Studies as data: read, run, and judged."""

import csv
import json
import subprocess
import sys
import weakref
from importlib.resources import files
from pathlib import Path

import pytest

import fairway
from conftest import command, summary_of
from fairway.errors import InputError
from fairway.experiment.plan import Point
from fairway.study.data import cells_of, measured_cells
from fairway.study.files import find, keys, load_study
from fairway.study.reproduce import findings
from fairway.sweep import outcome
from fairway.sweep.outcome import Outcome
from small_studies import claim, compare, in_range, study_of, write

STUDY = (
    study_of("Tiny", compare(), keys='question = "Which of two takes more?"\nrepetitions = 1')
    + """
[names]
"flow.0.cc" = "first"

[quick]
note = "half as long"
set = { duration = "2 s", "measure.window" = ["1 s", "2 s"] }
axes = { "flow.0.cc" = ["bic"] }

[[figure]]
kind = "heat_map"
metric = "asymmetry"
x = "flow.0.cc"
y = "flow.0.cc"

[[figure]]
kind = "over_axis"
metric = "asymmetry"
axis = "flow.0.cc"

[[figure]]
kind = "small_multiples"
quantity = "cwnd"
title = "cwnd"
"""
)
CLAIMS = claim("c1", 'kind = "cells_within"\nmetric = "asymmetry"\nmean = 0.05\nmax = 0.15')


@pytest.fixture
def study_dir(tmp_path: Path) -> Path:
    # The scripted runs below measure 0.5 and 0.0: differences .01 and .03, mean .02.
    return write(tmp_path / "tiny", STUDY, CLAIMS, "cc,a\nbic,0.51\nhtcp,-0.03\n")


def scripted_outcomes(study, repetitions=1):
    for point in study.part.plan(quick=False).points:
        goodputs = [3.0, 1.0] if point.axes["flow.0.cc"] == "bic" else [1.0, 1.0]
        for repetition in range(repetitions):
            repeated = Point(point.axes, repetition, point.experiment)
            goodputs[0] += 0.01 * repetition
            yield Outcome(repeated, summary_of(point.experiment, list(goodputs)), None)


def judged(study):
    cells = list(measured_cells(study.part, list(scripted_outcomes(study))))
    return cells, findings(study, cells)


def test_cells_and_verdict_by_hand(study_dir):
    cells, found = judged(find(str(study_dir)))
    assert [(c.published, c.measured) for c in cells] == [(0.51, 0.5), (-0.03, 0.0)]
    assert [c.difference for c in cells] == [pytest.approx(-0.01), pytest.approx(0.03)]
    assert found[0].verdict == "supported"
    assert found[0].measured == pytest.approx(0.02)


def test_another_published_value_turns_the_verdict(study_dir):
    (study_dir / "published" / "t.csv").write_text("cc,a\nbic,0.51\nhtcp,-0.10\n")
    # Differences .01 and .10: the mean .055 is above .05.
    assert judged(find(str(study_dir)))[1][0].verdict == "refuted"


def test_repetitions_give_intervals(study_dir):
    study = find(str(study_dir))
    cells = list(measured_cells(study.part, list(scripted_outcomes(study, repetitions=3))))
    assert all(c.ci_low < c.measured < c.ci_high for c in cells)
    assert all(len(c.values) == 3 for c in cells)


def test_a_run_is_read_once_for_all_metrics_and_let_go_before_the_next(
    study_dir, tmp_path, monkeypatch
):
    (study_dir / "study.toml").write_text(
        STUDY
        + compare("phases.0.epoch_count")
        + compare("buffer_delay_percent", match="", more='mean_over = "flow.0.cc"')
    )
    made = fairway.reproduce(str(study_dir), tmp_path / "out")
    load, alive, most = outcome.load, weakref.WeakSet(), []

    def counted(directory):
        run = load(directory)
        alive.add(run)
        most.append(len(alive))
        return run

    monkeypatch.setattr(outcome, "load", counted)
    cells = list(measured_cells(made.study.part, made.sweep.outcomes))
    # Two metrics need the tables of the two runs, the asymmetry does not.
    assert most == [1, 1]
    assert [(cell.metric, cell.measured is not None) for cell in cells] == [
        ("asymmetry", True), ("phases.0.epoch_count", True),
        ("asymmetry", True), ("phases.0.epoch_count", True),
        ("mean buffer_delay_percent", True),
    ]  # fmt: skip


def test_wide_tables_other_units_and_numbers_as_text(study_dir):
    text = (study_dir / "study.toml").read_text()
    text = text.replace('column = "a"', 'column_axis = "flow.0.cc"\nscale = 1000')
    text = text.replace('match = { "flow.0.cc" = "cc" }', 'match = { "error" = "rate" }')
    (study_dir / "study.toml").write_text(text)
    (study_dir / "published" / "t.csv").write_text("rate,bic,htcp\n1.00E-03,2,3\n0.01,4,\n")
    column = find(str(study_dir)).part.compared[0]
    assert column.at({"error": 1e-3, "flow.0.cc": "htcp"}) == 3000
    assert column.at({"error": 0.01, "flow.0.cc": "bic"}) == 4000
    assert column.at({"error": 0.01, "flow.0.cc": "htcp"}) is None
    assert column.at({"error": 0.5, "flow.0.cc": "bic"}) is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "Tiny"', "", 'needs "title"'),
        ("repetitions = 1", "repetitons = 1", "repetitons: unknown"),
        ('"small.toml"', '"../small.toml"', "outside the study"),
        ('"small.toml"', '"none.toml"', "does not exist"),
        ('column = "a"', 'column = "b"', "no column b"),
        ('column = "a"', "", "column_axis"),
        ('kind = "heat_map"', 'kind = "pie"', "pie"),
        ('title = "Tiny"', 'title = "Tiny', "not valid TOML"),
    ],
)
def test_a_wrong_study_says_where(study_dir, old, new, says):
    path = study_dir / "study.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=says):
        load_study(study_dir)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('unknown = ["flow.0.rtt"]', "'flow.0.rtt' is no axis of the study; it has flow.0.cc"),
        ('unknown = "flow.0.cc"', "expected a list of axes, got 'flow.0.cc'"),
        ('famly = "f"', "famly: unknown; there is family, id"),
        ('[[claim.test]]\nkind = "range"\nmetric = "asymmetry"\nlow = 0\nhigh = 1\nat = { cc = 1 }',
         r"claim.0.test.0: 'cc' is no axis"),
    ],
)  # fmt: skip
def test_a_wrong_claim_says_where(study_dir, more, says):
    path = study_dir / "claims.toml"
    path.write_text(path.read_text().replace('where = "page 1"', f'where = "page 1"\n{more}'))
    with pytest.raises(InputError, match=says):
        load_study(study_dir)


def test_each_claim_has_an_id_of_its_own(study_dir):
    path = study_dir / "claims.toml"
    path.write_text(2 * path.read_text())
    with pytest.raises(InputError, match=r"claim\.1\.id: 'c1' is the id of a claim before it"):
        load_study(study_dir)


def test_a_word_among_published_numbers(study_dir):
    (study_dir / "published" / "t.csv").write_text("cc,a\nbic,many\n")
    with pytest.raises(InputError, match="'many' is not a number"):
        load_study(study_dir)


def test_unknown_keys(tmp_path):
    with pytest.raises(InputError, match="gelle2008"):
        find("gele2008")
    with pytest.raises(InputError, match=r"without study\.toml"):
        find(str(tmp_path))


def test_a_study_of_ones_own_from_end_to_end(study_dir, tmp_path):
    done = command("reproduce", study_dir, "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert set(answer) == {"study", "question", "cells", "claims"}
    assert answer["question"] == "Which of two takes more?"
    assert answer["study"] == "tiny"
    assert [c["point"] for c in answer["cells"]] == [{"flow.0.cc": "bic"}, {"flow.0.cc": "htcp"}]
    for cell in answer["cells"]:
        assert set(cell) == {
            "point", "metric", "published", "measured", "ci_low", "ci_high", "references",
        }  # fmt: skip
        assert -1 <= cell["measured"] <= 1
        assert cell["ci_low"] is None
        assert cell["ci_high"] is None
    assert {"id", "verdict", "measured", "ci_low", "ci_high"} <= set(answer["claims"][0])
    report = (tmp_path / "out" / "report.html").read_text()
    assert "As published" in report
    assert report.index("As published") < report.index("Published beside measured</h2>")


# Names what of the package is opened after the first run began.
LATE = """
import sys
from pathlib import Path
from fairway import _core, __file__ as here
from fairway.cli.main import guarded

package, began, run = str(Path(here).parent), [], _core.run

def watch(event, arguments):
    if began and event == "open" and str(arguments[0]).startswith(package):
        print("late:", arguments[0])

def begin(*arguments):
    began.append(True)
    return run(*arguments)

sys.addaudithook(watch)
_core.run = begin
guarded(sys.argv[1:])
print("began:", bool(began))
"""


def test_another_version_may_be_installed_while_it_runs(study_dir, tmp_path):
    path = study_dir / "study.toml"
    path.write_text(path.read_text() + '[[figure]]\nkind = "phases"\ntitle = "What they do"\n')
    done = subprocess.run(
        [sys.executable, "-c", LATE, "reproduce", study_dir, "--out", tmp_path / "out"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (tmp_path / "out" / "report.html").is_file()
    assert "began: True" in done.stdout
    assert "late:" not in done.stdout


def test_the_quick_form_says_so(study_dir, tmp_path):
    quick = fairway.reproduce(str(study_dir), tmp_path / "out", quick=True)
    assert quick.to_json()["quick"] == "half as long"
    assert len(quick.cells) == 1
    # What was not run is there as published.
    rest = quick.to_json()["cells"][1]
    assert (rest["point"], rest["published"], rest["measured"]) == (
        {"flow.0.cc": "htcp"}, -0.03, None,
    )  # fmt: skip
    assert quick.sweep.outcomes[0].point.experiment["duration"] == "2 s"
    # One of two cells cannot support a claim about both.
    assert quick.findings[0].verdict in ("not run", "refuted")


def test_values_that_were_not_run_are_counted_in_the_terminal_and_named_in_the_json(
    study_dir, tmp_path
):
    # No asymmetry is above two: refuted wherever it was run.
    claims = claim("c", in_range("asymmetry", 2, 3), more='unknown = ["flow.0.cc"]')
    (study_dir / "claims.toml").write_text(claims)
    done = command("reproduce", study_dir, "--quick", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "By first: refuted for “bic”; 1 value was not run." in done.stdout
    assert done.stdout.count("without --quick") == 1
    page = (tmp_path / "out" / "report.html").read_text()
    assert '<span class="measured">1 refuted, 1 not run</span>' in page
    assert "By first: refuted for 1 value, not run for 1 value." in page
    answer = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    assert answer["claims"][0]["reason"] == ("By first: refuted for “bic”; not run for “htcp”.")


def test_gelle2008_is_the_published_experiment():
    whole = find("gelle2008")
    study = whole.parts["pairs"]
    assert "gelle2008" in keys()
    runs = study.plan(quick=False).points
    points = [point for point in runs if point.repetition == 0]
    assert len(points) == 50
    assert len(runs) == 4 * 50
    # Variants of one repetition share their seed.
    assert len({point.experiment["seed"] for point in runs}) == 4
    assert len(study.plan(quick=True).points) == 8
    assert [point.axes["stack.preset"] for point in points[::25]] == ["ns2-tcp-linux", "ns2-sack1"]
    experiment = points[1].experiment
    assert [flow["cc"] for flow in experiment["flow"]] == ["bic", "cubic"]
    assert [flow["start"] for flow in experiment["flow"]] == ["0.1 s", "50 s"]
    assert experiment["topology"]["bottleneck"]["rate"] == "622 Mbit/s"
    # Three cells of table 1 in each column, read from the paper.
    column = study.compared[0]
    for first, second, default, linux in [
        ("bic", "cubic", 0.76, 0.815),
        ("highspeed", "bic", 0.425, -0.065),
        ("scalable", "scalable", 0.975, 0.878),
    ]:
        pair = {"flow.0.cc": first, "flow.1.cc": second}
        assert column.at({"stack.preset": "ns2-tcp-linux", **pair}) == linux
        assert column.at({"stack.preset": "ns2-sack1", **pair}) == default
    assert all(column.at(point) is not None for point in study.points())
    assert [claim.id for claim in whole.claims] == ["g1", "g2", "g3", "g4", "g5", "f1", "f2"]


def test_a_patch_of_gelle2008_changes_the_pairs_of_its_algorithm_alone():
    points = find("gelle2008").parts["patches"].plan(quick=False).points
    base = {tuple(p.axes.values())[1:]: p.experiment for p in points[:50]}
    patched = {"no limited slow start": {"bic", "cubic", "scalable"}}
    patched |= {"no limited slow start of CUBIC": {"cubic"}}
    patched |= {"BIC without a slow end": {"bic"}, "BIC keeps 0.875": {"bic"}}
    patched |= {"H-TCP without bandwidth switch": {"htcp"}}
    for point in points[50:]:
        scenario, agent, *flows = point.axes.values()
        changed = point.experiment != base[(agent, *flows)]
        assert changed == (agent == "ns2-sack1" and bool(patched[scenario] & set(flows)))
    # FAST meets each of the five both ways, and itself; CUBIC with another α too.
    assert len(find("gelle2008").parts["fast"].plan(quick=False).points) == 11 + 2


def pair_of(point):
    """The agent and both algorithms of a run."""
    document = point.experiment
    return (document["stack"]["preset"], *(flow["cc"] for flow in document["flow"]))


def gelle2008_verdicts(measured):
    """Claim -> its verdict if these throughputs were measured, by agent and algorithms."""
    study = find("gelle2008")
    cells = {}
    for name in ("pairs", "patches", "bic"):
        part = study.parts[name]
        # Runs with other seeds differ in something.
        outcomes = [
            Outcome(
                p,
                {**summary_of(p.experiment, list(measured[pair])), "packets": p.repetition},
                None,
            )
            for p in part.plan(quick=False).points
            if (pair := pair_of(p)) in measured
        ]
        cells[name] = list(measured_cells(part, outcomes))
    skipped = {"fast": "not asked here", "single": "not asked here"}
    found = findings(study, cells_of(cells), skipped)
    return {claim.id: finding for claim, finding in zip(study.claims, found, strict=True)}


def published_rows(name):
    path = files("fairway") / "studies" / "gelle2008" / "published" / name
    return list(csv.DictReader(path.read_text().splitlines()))


def test_gelle2008_verdicts_if_the_ns2_rerun_were_measured():
    # The rerun's throughputs give the published column again, so g1 must be supported.
    found = gelle2008_verdicts({
        (row["preset"], row["flow1"], row["flow2"]): [
            float(row[f"throughput{i}_mbps"]) for i in (1, 2)
        ]
        for row in published_rows("ns2_rerun.csv")
    })  # fmt: skip
    # Of the default agent it has the pairs of HighSpeed and Scalable, which decide nothing.
    assert [found[claim].verdict for claim in ("g1", "g2", "g3", "g5")] == [
        "supported", "not run", "not run", "supported",
    ]  # fmt: skip
    # The mean difference that a spreadsheet finds between the two files is 0.0025.
    assert found["g1"].measured == pytest.approx(0.0025, abs=0.0005)
    assert found["g3"].measured == pytest.approx(0.001, abs=0.0005)


def test_gelle2008_verdicts_if_table_1_were_measured():
    columns = {"ns2-tcp-linux": "asymmetry_ns2_tcp_linux", "ns2-sack1": "asymmetry_ns2_default"}
    found = gelle2008_verdicts({
        (preset, row["flow1"], row["flow2"]): [1 + float(row[column]), 1 - float(row[column])]
        for preset, column in columns.items()
        for row in published_rows("table1.csv")
    })  # fmt: skip
    assert [found[claim].verdict for claim in ("g1", "g2", "g3", "g5")] == ["supported"] * 4
    # Table 1's fourth column without its signs: 0.323 over the sixteen pairs without BIC.
    assert found["g2"].measured == pytest.approx(0.0202, abs=0.0005)
