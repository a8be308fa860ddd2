"""What commands say when nothing is kept, a disk is full or somebody presses Ctrl-C at once."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fairway
from conftest import SMALL, command
from fairway.cli.main import guarded
from fairway.errors import FairwayError
from fairway.results import captures
from waiting import PATIENCE_S, until


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_every_error_is_one_of_fairways_and_of_pythons(file):
    for kind, builtin, code in (
        (fairway.ExperimentError, ValueError, 2),
        (fairway.SimulationError, RuntimeError, 1),
        (fairway.AlgorithmError, RuntimeError, 3),
    ):
        assert issubclass(kind, FairwayError)
        assert issubclass(kind, builtin)
        assert kind.exit_code == code
    with pytest.raises(FairwayError, match="duration") as raised:
        fairway.run(file, overrides={"duration": "3 parsecs"})
    assert type(raised.value) is fairway.ExperimentError


def test_each_mistake_of_an_experiment_has_a_line(file):
    done = command("run", file, "--set", "duration=x", "--set", "flow.0.cc=y")
    assert done.returncode == 2
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["fairway"] * 2


def test_the_largest_seed_runs_and_one_more_is_refused(file):
    assert command("run", file, "-q", "--seed", str(2**63 - 1)).returncode == 0
    done = command("run", file, "-q", "--seed", str(2**63))
    assert done.returncode == 2
    assert str(2**63 - 1) in done.stderr
    with pytest.raises(FairwayError, match=f"from 0 to {2**63 - 1}"):
        fairway.run(file, seed=2**63)


def test_a_run_says_that_nothing_is_kept(file, tmp_path):
    assert "Nothing is kept: --out DIR keeps" in command("run", file).stderr
    assert command("run", file, "-q").stderr == ""
    assert "Nothing is kept" not in command("run", file, "--out", tmp_path / "r").stderr


@pytest.mark.parametrize("how", [["--set", "capture.at=hosts"], ["--capture", "hosts"], []])
def test_captures_need_a_place(file, tmp_path, how):
    if not how:
        file.write_text(SMALL + '\n[capture]\nat = "hosts"\n')
    done = command("run", file, *how)
    assert done.returncode == 2
    assert "needs --out DIR, where the captures shall go" in done.stderr
    assert command("run", file, *how, "--out", tmp_path / "r", "-q").returncode == 0
    assert list((tmp_path / "r" / "captures").iterdir())


def test_a_disk_that_captures_fill_is_named_once(file, tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(captures.disk, "link", full)
    monkeypatch.setattr(captures.store, "copy_file", full)
    assert guarded(["run", str(file), "--capture", "hosts", "--out", str(tmp_path / "r")]) == 2
    error = capsys.readouterr().err
    assert "the disk is full; free some space or choose another directory" in error
    assert "[(" not in error
    assert not (tmp_path / "r").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="copies the process with fork(2)")
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "FILE", "-q"],
        # Its arrays come from the compiled module, which imports NumPy for them.
        ["model", "fluid", "--rate", "10 Mbit/s", "--rtt", "50 ms", "--flows", "5",
         "--queue", "droptail", "--limit", "100"],
    ],
    ids=["run", "model"],
)  # fmt: skip
def test_ctrl_c_at_any_step_is_no_traceback(file, tmp_path, arguments):
    report = tmp_path / "report"
    given = [str(file) if word == "FILE" else word for word in arguments]
    # A prime, so that the steps are not always the same part of an import.
    command = [sys.executable, Path(__file__).with_name("interrupted.py"), report, "1", "61"]
    done = subprocess.run(
        [*command, *given], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(ends) > 10 and ends[-1]["event"] == "exit"
    for end in ends:
        assert end["code"] == 130, end
        assert "fairway: stopped" in end["said"] and "Traceback" not in end["said"], end


def test_ctrl_c_while_the_program_is_loaded_is_no_traceback(file):
    process = subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", str(file), "--set", "duration=100000 s"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    maps = Path(f"/proc/{process.pid}/maps")
    until(lambda: "fairway/_core" in maps.read_text(), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "stopped" in errors and "Traceback" not in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_process_in_the_background_is_left_alone(file, number):
    process = subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", str(file), "-q"], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),  # noqa: PLW1509
    )  # fmt: skip
    while process.poll() is None:
        process.send_signal(number)
        time.sleep(0.02)
    assert process.communicate()[1] == b""
    assert process.returncode == 0
