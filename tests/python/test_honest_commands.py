"""What commands say when nothing is kept, a disk is full or somebody presses Ctrl-C at once."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

import fairway
from conftest import SMALL, command
from fairway import captures
from fairway.cli import guarded
from fairway.errors import FairwayError


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

    monkeypatch.setattr(captures.os, "link", full)
    monkeypatch.setattr(captures.shutil, "copy2", full)
    assert guarded(["run", str(file), "--capture", "hosts", "--out", str(tmp_path / "r")]) == 2
    error = capsys.readouterr().err
    assert "the disk is full; free some space or choose another directory" in error
    assert "[(" not in error
    assert not (tmp_path / "r").exists()


def test_ctrl_c_at_any_time_is_no_traceback(tmp_path):
    """Over the first half second: before, while and after the program is imported."""
    file = tmp_path / "long.toml"
    file.write_text(SMALL.replace('"3 s"', '"100000 s"'))
    ends = []
    for delay_ms in range(10, 610, 25):
        process = subprocess.Popen(
            [sys.executable, "-X", "frozen_modules=on", "-m", "fairway", "run", str(file)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )  # fmt: skip
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        ends.append((delay_ms, process.returncode, errors))
    # Until Python has started it is the system that ends it, or Python's own start that says so.
    ours = [(code, errors) for _, code, errors in ends if "fairway" in errors]
    assert len(ours) > 10, ends
    for code, errors in ours:
        assert code == 130, ends
        assert "Traceback" not in errors, ends


def test_a_process_in_the_background_is_left_alone(file):
    process = subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", str(file), "-q"], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509
    )  # fmt: skip
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 0
