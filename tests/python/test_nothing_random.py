"""Repetitions of an experiment without randomness prove nothing, and nothing says that they do."""

import json
import re

import fairway
from conftest import SMALL, command
from fairway.study.cells import measured_cells
from fairway.sweep import repetitions

#: Of the preset, each departure is delayed by up to 8 us.
FIXED = SMALL.replace("[stack]\n", '[stack]\nsend_jitter = "0 s"\n')
TWICE = FIXED + "\n[sweep]\nrepetitions = 3\n"


def test_a_sweep_says_so_and_gives_the_line_that_helps(tmp_path):
    file = tmp_path / "twice.toml"
    file.write_text(TWICE)
    done = command("run", file, "--out", tmp_path / "out", "-q")
    assert done.returncode == 0
    said = " ".join(done.stderr.split())
    assert "every repetition is the same run: nothing in this experiment is random" in said
    assert "nothing in this experiment is random" in (tmp_path / "out" / "report.html").read_text()
    option = re.search(r"--set '([^']+)'", said)[1]
    done = command("run", file, "--set", option, "--out", tmp_path / "random", "-q")
    assert done.returncode == 0
    assert "random" not in done.stderr
    found = fairway.load(tmp_path / "random")
    assert len({run.summary["flows"][0]["goodput_bps"] for run in found.outcomes}) == 3


def test_only_the_combinations_without_randomness_are_meant():
    both = TWICE + '"stack.send_jitter" = ["0 s", "100 us"]\n'
    sweep = fairway.run(both)
    assert [group[0].point.axes for group in repetitions.alike(sweep.outcomes)] == [
        {"stack.send_jitter": "0 s"}
    ]
    (warning,) = sweep.warnings
    assert warning.startswith("1 of 2 combinations: every repetition is the same run")
    assert fairway.run(FIXED).warnings == []


def test_a_study_s_claims_stay_open(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    made = command("study", "new", "mine", "--experiment", "small.toml", "--metric", "jain_index")
    assert made.returncode == 0, made.stderr
    for jitter in ("0 s", "100 us"):
        study = (tmp_path / "mine" / "experiment.toml").read_text()
        text = re.sub(r"send_jitter = .*\n", "", study)
        text = text.replace("[stack]\n", f'[stack]\nsend_jitter = "{jitter}"\n')
        (tmp_path / "mine" / "experiment.toml").write_text(text)
        out = f"out-{jitter[0]}"
        done = command("reproduce", "mine", "-q", "--out", out)
        assert done.returncode == 0, done.stderr
        found = json.loads((tmp_path / out / "reproduction.json").read_text())
        verdicts = [claim["verdict"] for claim in found["claims"]]
        assert (verdicts == ["undecided"]) == (jitter == "0 s"), found["claims"]
        says = "nothing in this experiment is random"
        assert (says in " ".join(done.stderr.split())) == (jitter == "0 s")


def test_cells_of_identical_runs_have_no_interval():
    class Column:
        metric = name = "jain_index"
        mean_over = None
        title = ""

        def covers(self, _):
            return True

        def at(self, _):
            return None

        half_digit = at

    sweep = fairway.run(TWICE)
    (cell,) = measured_cells(sweep.outcomes, [Column()], [])
    assert (cell.ci_low, cell.ci_high, cell.unsettled) == (None, None, True)
