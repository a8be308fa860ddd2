"""Reports and figures that cannot be drawn take no results with them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import jinja2
import pytest

import fairway
import golden_made
from conftest import SMALL, SWEEP
from fairway.cli import terminal
from fairway.cli.main import guarded
from fairway.plot import figures
from small_studies import compare, study_of, write

#: Flows that models, too, answer for.
ALIKE = SMALL.replace('"bic"', '"cubic"').replace('start = "0.5 s"', "")
STUDY = study_of("A study", compare(match='"flow.0.cc" = "cc"'))
PUBLISHED = "cc,a\nbic,0.51\nhtcp,-0.03\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with something for every command to work on."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    Path("sweep.toml").write_text(SWEEP)
    Path("alike.toml").write_text(ALIKE)
    Path("ends.toml").write_text(SMALL + '\n[capture]\nat = ["s0", "d0"]\n')
    write(Path("study"), STUDY, published=PUBLISHED)
    write(Path("parts") / "one", STUDY, published=PUBLISHED)
    Path("parts/study.toml").write_text('title = "P"\nsource = "Nobody, 2026"\nparts = ["one"]\n')
    return tmp_path


@pytest.fixture
def no_ink(monkeypatch):
    """Lets nothing be drawn from `start` to `stop`."""

    def fail(*_, **__):
        raise RuntimeError("no ink\nleft")

    def start():
        patches.setattr(jinja2.Environment, "get_template", fail)
        patches.setattr(figures, "drawn", fail)

    monkeypatch.setattr(terminal, "_warned", set())
    with pytest.MonkeyPatch.context() as patches:
        yield start, patches.undo


def prepared(kind):
    """Arguments of a command that draws, after what it needs was made."""
    if kind in ("analyze", "pair", "replay"):
        fairway.run("ends.toml", "ends")
    if kind in ("compare", "report"):
        fairway.run("small.toml", "a")
        fairway.run("small.toml", "b", seed=2)
    if kind == "fidelity":
        golden_made.recording_at(Path("golden"))
    sender, receiver = "ends/captures/s0.pcapng", "ends/captures/d0.pcapng"
    return {
        "run": ["run", "small.toml", "--out", "out", "--figures", "svg"],
        "sweep": ["run", "sweep.toml", "--out", "out"],
        "report": ["report", "a", "--figures", "svg"],
        "compare": ["compare", "a", "b", "--out", "out.html"],
        "study": ["reproduce", "study", "--out", "out"],
        "parts": ["reproduce", "parts", "--out", "out"],
        "tune": ["tune", "small.toml", "--objective", "flow.0.goodput_bps", "--algorithm", "bic",
                 "--param", "beta", "--trials", "1", "--repetitions", "1", "--fresh", "2",
                 "--out", "out"],
        "replay": ["replay", sender, "--cc", "reno", "--out", "out"],
        "agree": ["agree", "alike.toml", "--against", "model,sim", "--out", "out",
                  "--figures", "svg"],
        "analyze": ["analyze", sender, "--out", "out", "--figures", "svg"],
        "pair": ["analyze", sender, receiver, "--out", "out", "--figures", "svg"],
        "fidelity": ["fidelity", "--golden", "golden", "--out", "out", "--figures", "svg"],
        "gallery": ["gallery", "reno", "--out", "out", "--figures", "svg"],
    }[kind]  # fmt: skip


KINDS = ["run", "sweep", "report", "compare", "study", "parts", "tune", "replay", "agree",
         "analyze", "pair", "fidelity", "gallery"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_drawn_is_said_and_can_be_drawn_later(kind, place, no_ink, capsys):
    start, stop = no_ink
    arguments = prepared(kind)
    capsys.readouterr()
    start()
    assert guarded([*arguments, *(["--quiet"] if kind not in ("report", "compare") else [])]) == 4
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert "Report:" not in err
    said = re.findall(r"Warning: (.*) not written: RuntimeError: no ink left; the results are "
                      r"complete: (.*) draws? (?:it|them) again", err)  # fmt: skip
    assert said, err
    stop()
    for advice in {advice for _, advice in said}:
        again = arguments if advice == "the same command" else shlex.split(advice.strip("`"))[1:]
        assert guarded(again) == 0
    written = {"compare": "out.html", "report": "a/report.html"}.get(kind, "out/report.html")
    assert "<html" in Path(written).read_text("utf-8")


@pytest.mark.parametrize("kind", ["run", "sweep", "analyze"])
def test_results_without_a_report_are_opened_and_compared(kind, place, no_ink):
    start, _ = no_ink
    arguments = prepared(kind)
    start()
    assert guarded([*arguments, "--quiet"]) == 4
    found = fairway.load("out")
    assert not Path("out/report.html").exists()
    if kind == "sweep":
        one, other = found.outcomes[0].directory, found.outcomes[1].directory
        assert found.table.height == 4
    else:
        one = other = Path("out")
        assert found.series.height > 0
    assert guarded(["compare", str(one), str(other)]) == 0


def test_in_python_it_is_a_warning_and_the_results_are_returned(place, no_ink):
    start, _ = no_ink
    start()
    with pytest.warns(fairway.NotDrawn, match="report not written: RuntimeError: no ink left"):
        sweep = fairway.run("sweep.toml", "out")
    assert sweep.table.height == 4


def test_an_older_report_does_not_stand_beside_newer_results(place, no_ink):
    fairway.run("sweep.toml", "out")
    assert Path("out/report.html").exists()
    start, _ = no_ink
    start()
    with pytest.warns(fairway.NotDrawn):
        fairway.run("sweep.toml", "out", overrides={"sweep.repetitions": 3})
    assert fairway.load("out").table.height == 6
    assert not Path("out/report.html").exists()


def test_results_are_there_before_the_report(place, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(jinja2.Environment, "get_template", stopped)
    assert guarded(["run", "small.toml", "--out", "out", "--quiet"]) == 130
    assert fairway.load("out").series.height > 0


def test_ctrl_c_while_the_report_is_drawn_says_what_draws_it(place, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr(jinja2.Environment, "get_template", stopped)
        assert guarded(["run", "sweep.toml", "--out", "out", "-q"]) == 130
    said = capsys.readouterr().err
    assert "stopped while drawing the report; the results are complete: " in said
    assert "`fairway report out` draws it again" in said
    assert guarded(["report", "out"]) == 0
    assert "<html" in Path("out/report.html").read_text("utf-8")
