"""A short walk over the whole product finds nothing, and each of its laws can be broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from walker import acts, draw, laws, numbers, pages, process, shrink
from walker.process import Ran
from walker.trio import Trio

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and terminals")

#: Walks of `make test`; `make soak` goes on with others.
WALKS = 10

SUMMARY = {"flows": [{"id": "reno#0", "goodput_bps": 4172556.8, "mean_srtt_s": 0.03947}]}
TABLE = """\
Flows
flow         goodput  mean srtt
────────────────────────────────
reno#0  4.173 Mbit/s   39.47 ms
"""


def test_a_short_walk_finds_nothing():
    words = [sys.executable, "-m", "walker", "--seed", "24", "--walks", str(WALKS)]
    done = subprocess.run(
        [*words, "--no-shrink", "--product", str(ROOT)], cwd=ROOT / "tests" / "python",
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"{WALKS} walks, nothing found" in done.stdout, done.stdout[-6000:] + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(("frame", "before"), [
    ('File "<frozen site>", line 517, in venv', True),
    ('File "/fairway/python/fairway/__main__.py", line 3, in <module>', True),
    ('File "/fairway/python/fairway/__main__.py", line 23, in main', False),
    ('File "/x/site-packages/fairway/cli/main.py", line 1, in <module>', False),
])  # fmt: skip
def test_an_interrupt_before_main_is_no_fault(frame, before):
    said = f"Traceback (most recent call last):\n  {frame}\nKeyboardInterrupt\n"
    assert laws._is_before(said) is before


def trio(tmp_path, *, narrow=TABLE, wide=TABLE, summary=SUMMARY, out="", err="", code=0):
    (tmp_path / "a.toml").write_text('duration = "3 s"\n', "utf-8")
    words = ("run", "a.toml")
    return Trio(
        acts.Act(words, out=out), tmp_path, [Ran(words, 1000, code, wide, err, 1.0)],
        Ran(words, None, 0, json.dumps(summary), "", 1.0),
        Ran(words, 1000, code, wide, err, 1.0), Ran(words, 80, code, narrow, err, 1.0),
    )  # fmt: skip


def found(one):
    return {find.law for find in laws.broken_laws(one)}


def test_an_act_that_keeps_the_laws_breaks_none(tmp_path):
    assert found(trio(tmp_path)) == set()


@pytest.mark.parametrize(
    "narrow",
    [
        TABLE.replace("39.47 ms", "39.4 ms"),
        TABLE.replace("4.173 Mbit/s", "4.173 Mbit/"),
        TABLE.replace("reno#0", "reno"),
        TABLE.replace("mean srtt", "mean srt"),
    ],
)
def test_a_cell_that_is_cropped_is_found(tmp_path, narrow):
    assert found(trio(tmp_path, narrow=narrow)) == {"cells are whole"}


def test_a_name_that_is_folded_is_not_cropped(tmp_path):
    wide = TABLE.replace("reno#0", "bottleneck/reverse")
    narrow = TABLE.replace("reno#0", "bottle").rstrip() + "\nneck/r\neverse\n"
    assert found(trio(tmp_path, wide=wide, narrow=narrow)) == set()


def test_a_number_that_is_not_in_the_json_is_found(tmp_path):
    wrong = TABLE.replace("39.47", "39.48")
    assert found(trio(tmp_path, wide=wrong, narrow=wrong)) == {"terminal = JSON"}


@pytest.mark.parametrize(
    ("code", "err", "law"),
    [
        (1, "Traceback (most recent call last):\nKeyError: 'mean'\n", "no fault of its own"),
        (1, "fairway: internal error; please report it\n", "no fault of its own"),
        (0, "x.py:1: RuntimeWarning: mean of empty slice\n", "no fault of its own"),
        (2, "fairway: a: not found\n", "it works"),
        (139, "", "documented exit codes"),
        (None, "", "it ends"),
    ],
)
def test_a_bad_end_is_found(tmp_path, code, err, law):
    assert found(trio(tmp_path, code=code, err=err)) == {law}


@pytest.mark.parametrize(
    ("values", "is_blank"),
    [
        ([{"x": 1, "y": 2}, {"x": 2, "y": 3}], False),
        ([{"x": 1, "y": 2}], True),
        ([{"x": 1, "y": None}, {"x": 2, "y": None}], True),
        ([], True),
    ],
)
def test_a_chart_without_a_mark_is_found(values, is_blank):
    place = {"type": "quantitative"}
    spec = {"title": "Window", "data": {"values": values}, "mark": {"type": "line"},
            "encoding": {"x": {"field": "x", **place}, "y": {"field": "y", **place}}}  # fmt: skip
    assert list(pages.blank(spec)) == (["Window"] if is_blank else [])


def test_what_the_report_lacks_is_found(tmp_path):
    (tmp_path / "out").mkdir()
    cells = "<tr><td>reno#0</td><td>2.090 Mbit/s</td><td>39.47 ms</td></tr>"
    (tmp_path / "out" / "report.html").write_text(f"<table>{cells}</table>", "utf-8")
    broken = list(laws._terminal_is_report(trio(tmp_path, out="out")))
    assert [find.said for find in broken] == ["not in out/report.html: 4.173 Mbit/s"]


def test_a_file_that_differs_is_found(tmp_path):
    for name in ("out", "out-again"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flows.parquet").write_text(name, "utf-8")
    broken = list(laws._same_bytes(trio(tmp_path, out="out")))
    assert [find.said for find in broken] == []
    (tmp_path / "out" / "flows.parquet").write_text("other", "utf-8")
    broken = list(laws._same_bytes(trio(tmp_path, out="out")))
    assert [find.said for find in broken] == ["flows.parquet differs"]


@pytest.mark.parametrize(
    ("printed", "is_there"),
    [("4.173 Mbit/s", True), ("4.172 Mbit/s", False), ("39.47 ms", True), ("39.4 ms", False),
     ("39.5 ms", True), ("0.03947", True), ("4 %", True), ("3 %", False)],
)  # fmt: skip
def test_numbers_are_compared_as_they_are_rounded(printed, is_there):
    assert (numbers.Measured(SUMMARY).missing(printed) == []) == is_there


def test_what_never_ends_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(process, "TIMEOUT_S", 0.3)
    ran = process.python(lambda: "".join(iter(lambda: "", None)), tmp_path)
    assert ran.code is None


def test_the_same_seed_draws_the_same_walk_and_every_walk_is_valid():
    for seed in range(20):
        walk = acts.walk(Random(seed))
        assert walk == acts.walk(Random(seed))
        for name, document in walk.documents.items():
            assert (draw.plan_errors(document) == []) == (name != "broken.toml")


def test_a_find_is_made_smaller():
    walk = next(walk for walk in (acts.walk(Random(seed)) for seed in range(100))
                if len(walk.documents["a.toml"]["flow"]) > 1 and len(walk.acts) > 2
                and any(act.words[:2] == ("run", "a.toml") for act in walk.acts))  # fmt: skip

    def still_fails(one):
        return any(act.words[:2] == ("run", "a.toml") for act in one.acts)

    small = shrink.smaller(walk, still_fails, 600)
    assert len(small.acts) == 1
    document = small.documents["a.toml"]
    assert sorted(document) == ["duration", "flow", "topology"]
    assert len(document["flow"]) == 1
