"""Models as a backend, and beside measurements."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import fairway
from conftest import SMALL, SWEEP
from fairway.backends.model import Models
from fairway.cli.main import guarded
from fairway.model.beside import residual
from fairway.results.model_sections import model_sections, sentences

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Windows of ten packets on a path of 51.04 ms: 40 bytes of headers, 1 ms for 1000 bytes on the way
#: there, 40 µs for 40 on the way back.
LIMITED = """\
title    = "Ten packets a round trip"
duration = "30 s"

[stack]
preset      = "rfc5681"
timestamps  = false
mss         = "960 bytes"
delayed_ack = false

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "8 Mbit/s"
delay = "25 ms"
queue = { kind = "droptail", limit = "50 packets" }

[[flow]]
cc             = "cubic"
receive_buffer = "9600 bytes"

[measure]
window = ["10 s", "30 s"]
"""
EXPECTED_BPS = 10 * 7680 / 0.05104


def test_models_answer_in_the_words_of_a_summary():
    run = fairway.run(LIMITED, backend="model")
    assert (run.backend, run.title) == ("model", "Ten packets a round trip")
    (flow,) = run.summary["flows"]
    assert flow["goodput_bps"] == pytest.approx(EXPECTED_BPS)
    measured = fairway.run(LIMITED)
    assert set(measured.summary["flows"][0]) <= set(flow)
    assert set(measured.summary["links"][0]) <= set(run.summary["links"][0])
    assert set(measured.metrics) == set(run.metrics)
    # What no model says is null, not zero.
    assert flow["sent_segments"] is None and run.summary["packets"] is None
    assert flow["model"]["name"] == "window limit" and flow["model"]["in_range"]
    assert run.series.is_empty() and run.queues.is_empty()
    assert run.flows["model"].to_list() == ["window limit"]


def test_the_measurement_has_the_prediction_beside_it():
    run = fairway.run(LIMITED)
    model = run.summary["model"]
    (flow,) = model["flows"]
    assert flow["goodput_bps"] == pytest.approx(EXPECTED_BPS)
    measured = run.summary["flows"][0]["goodput_bps"]
    assert flow["residual"]["goodput_bps"] == pytest.approx(measured / EXPECTED_BPS - 1)
    # A window each round trip is not hard to predict.
    assert abs(flow["residual"]["goodput_bps"]) < 0.01
    assert abs(model["links"][0]["residual"]["utilisation"]) < 0.01
    assert set(model["sources"]) == {"window limit"}
    (section,) = model_sections(run)
    assert section.tables[0].rows[0][0] == "cubic#0: goodput"
    (line,) = sentences(run)
    assert line.startswith("Model window limit: goodput 1.505 Mbit/s, measured 1.5")


def test_residuals():
    assert residual(2.0, 3.0) == 0.5
    assert residual(0.0, 3.0) is None
    assert residual(None, 3.0) is None
    assert residual(2.0, None) is None


def test_what_no_model_covers_is_refused_with_who_does():
    web = LIMITED.replace('receive_buffer = "9600 bytes"', 'kind = "web"\nsize = "10 kB"')
    with pytest.raises(fairway.ExperimentError, match=r"flow\.0\.kind: .*web.*--backend sim"):
        fairway.run(web, backend="model")
    run = fairway.run(web)
    refused = run.summary["model"]["refused"]
    assert refused[0].startswith("flow.0.kind")
    (section,) = model_sections(run)
    assert "No model covers this experiment" in section.text
    # Not on the terminal.
    assert sentences(run) == []


def test_the_user_s_own_algorithm_is_refused():
    own = EXAMPLES / "own.toml"
    with pytest.raises(fairway.ExperimentError, match=r"cc: .*MyReno|flow\.mine\.cc"):
        fairway.run(own, backend="model")


def test_a_result_is_kept_and_read_back(tmp_path):
    run = fairway.run(LIMITED, tmp_path / "model", backend="model")
    kept = fairway.load(tmp_path / "model")
    assert kept.summary == run.summary
    report = (tmp_path / "model" / "report.html").read_text("utf-8")
    assert "nothing was run" in report and "window limit" in report
    fairway.run(LIMITED, tmp_path / "sim")
    report = (tmp_path / "sim" / "report.html").read_text("utf-8")
    assert "Model beside measurement" in report
    assert guarded(["compare", str(tmp_path / "model"), str(tmp_path / "sim")]) == 0
    assert guarded(["report", str(tmp_path / "model")]) == 0


def test_sweeps(tmp_path):
    text = LIMITED + '\n[sweep]\n"flow.0.receive_buffer" = ["9600 bytes", "19200 bytes"]\n'
    sweep = fairway.run(text, tmp_path / "sweep", backend="model")
    goodputs = sweep.table["goodput_bps"].to_list()
    assert goodputs == pytest.approx([EXPECTED_BPS, 2 * EXPECTED_BPS])
    again = fairway.load(tmp_path / "sweep")
    assert again.table.equals(sweep.table)
    # One point that no model covers refuses the sweep, before anything is answered.
    other = LIMITED + '\n[sweep]\n"flow.0.kind" = ["bulk", "telnet"]\n'
    with pytest.raises(fairway.ExperimentError, match="kind"):
        fairway.run(other.replace('receive_buffer = "9600 bytes"', ""), backend="model")


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "limited.toml"
    path.write_text(LIMITED + '\n[sweep]\n"flow.0.cc" = ["reno", "cubic"]\n')
    assert guarded(["run", str(path), "--backend", "model", "--json", "--quiet"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["summary"]["flows"][0]["cc"] for point in points] == ["reno", "cubic"]
    # Nothing is kept: models say it again in a moment.
    assert [entry.name for entry in tmp_path.iterdir()] == ["limited.toml"]
    path.write_text(LIMITED)
    assert guarded(["run", str(path), "--backend", "model"]) == 0
    out = capsys.readouterr().out
    assert "From the model window limit" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_model_outside_of_its_range_says_so():
    text = SMALL.replace('cc = "bic"', 'cc = "cubic"').replace('start = "0.5 s"', "")
    run = fairway.run(text, backend="model")
    assert any("outside of its range" in warning for warning in run.warnings)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_is_answered_or_refused_by_name(path):
    try:
        found = fairway.run(path, backend="model")
    except fairway.ExperimentError as error:
        for line in str(error).splitlines():
            assert line.removeprefix(f"{path}: ").startswith(("flow", "topology", "stack")), line
            assert re.search("--backend (sim|linux)", line)
    else:
        runs = [found] if isinstance(found, fairway.Run) else found.outcomes
        assert all(run.summary["flows"] for run in runs)


def test_a_sweep_of_sim_is_as_it_was():
    sweep = fairway.run(SWEEP)
    assert all("model" in outcome.summary for outcome in sweep.outcomes)
    assert Models().engine()
