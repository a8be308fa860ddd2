"""Temporary directories: gone with their object, their process, and after failures."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time

import pytest

from fairway.backends.linux import programs, saved_files
from fairway.backends.linux.shell import Shell, with_command
from fairway.errors import InputError, RunFailed
from fairway.experiment.plan import plan
from fairway.ground.temporary import Temporary, remove_tree, sweep
from test_shell import CLEAN, kernel, shell
from waiting import PATIENCE_S

__all__ = ["kernel", "shell"]  # fixtures


def test_a_directory_goes_with_its_object(temporary):
    first, second = Temporary("fairway-a-"), Temporary("fairway-a-")
    assert {first.path, second.path} == set(temporary.iterdir())
    assert first.path.stat().st_mode & 0o777 == 0o700
    (first.path / "file").touch()
    first.remove()
    first.remove()
    assert list(temporary.iterdir()) == [second.path]
    del second
    assert list(temporary.iterdir()) == []
    temporary.rmdir()
    with pytest.raises(InputError, match=f"cannot write {temporary}"):
        Temporary("fairway-a-")


@pytest.mark.parametrize("end", ["sys.exit(3)", "main._end(3)", "raise KeyboardInterrupt"])
def test_a_directory_goes_with_its_process(temporary, end):
    script = (
        "import sys, threading, time\n"
        "from fairway.cli import main\n"
        "from fairway.ground.temporary import Temporary\n"
        "place = Temporary('fairway-a-')\n"
        "print(place.path.is_dir(), flush=True)\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script + end],
        capture_output=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (done.stdout, done.returncode != 0) == (b"True\n", True)
    assert list(temporary.iterdir()) == []


def test_kept_files_and_captures_go_when_a_run_fails(temporary, tmp_path, monkeypatch):
    def fails(*_):
        held.update(path.name.rpartition("-")[0] for path in temporary.iterdir())
        raise RunFailed("nothing to be read")

    held: set[str] = set()
    (tmp_path / "path.toml").write_text(CLEAN)
    document = plan(tmp_path / "path.toml", overrides={"capture.at": "hosts"}).points[0].experiment
    monkeypatch.setattr(programs, "ran", fails)
    backend = Shell(keeps=[saved_files.Keep.parse("one")], keeps_input=False)
    with pytest.raises(RunFailed, match="nothing to be read"):
        backend.run(with_command(document, ["touch", "one"], alone=True))
    del backend
    gc.collect()
    assert held == {"fairway-captures", "fairway-files"}
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_stays_after_a_signal(temporary, tmp_path, number):
    (tmp_path / "path.toml").write_text(CLEAN)
    words = ["shell", "path.toml", "--alone", "--out", "out", "--keep", "one", "--capture", "hosts"]
    script = "echo x > one; echo started; while true; do sleep 0.001; done"
    process = subprocess.Popen(
        [sys.executable, "-m", "fairway", *words, "--time-limit", "10 h", "--", "sh", "-c", script],
        cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == b"started\n"
        time.sleep(0.5)
        assert [path.name[:12] for path in temporary.iterdir()] == ["fairway-run-"]
        os.kill(process.pid, number)
        assert process.wait(PATIENCE_S) == 128 + number
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "out").exists()


def test_nothing_stays_after_a_run_with_files_and_captures(temporary, shell, tmp_path):
    words = ("--out", "out", "--keep", "one", "--capture", "hosts", "--alone", "--", "touch", "one")
    done = shell(CLEAN, *words, given=b"input")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "out" / "files" / "s0" / "one").is_file()
    assert (tmp_path / "out" / "captures" / "s0.pcapng").is_file()
    # Results of another experiment are not replaced: a failure after the run.
    done = shell(CLEAN, "--seed", "2", *words)
    assert done.returncode == 125, done.stderr
    assert list(temporary.iterdir()) == []


def test_a_directory_of_a_killed_process_is_removed_by_the_next_one(temporary):
    script = (
        "import os, signal\n"
        "from fairway.ground.temporary import Temporary\n"
        "place = Temporary('fairway-a-')\n"
        "(place.path / 'file').touch()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    alive = Temporary("fairway-a-")
    subprocess.run([sys.executable, "-c", script], check=False, timeout=PATIENCE_S)
    (left,) = [path for path in temporary.iterdir() if path != alive.path]
    others = [temporary / "fairway-a-0123", temporary / "mine", temporary / f"x{left.name}"]
    for other in others:
        other.mkdir(mode=0o700)
    (temporary / f"fairway-a-{'0' * 20}").symlink_to(others[0])
    before = {*temporary.iterdir()}
    assert sweep(temporary) == [left]
    assert {*temporary.iterdir()} == before - {left}


def test_directories_of_any_depth_without_rights_are_removed(tmp_path):
    place = tmp_path / "deep"
    place.mkdir()
    folder = os.open(place, os.O_RDONLY)
    for number in range(1500):  # a path of them is longer than PATH_MAX, a call each than the stack
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o400, dir_fd=folder))
        os.symlink("..", "link", dir_fd=folder)
        os.mkdir("inner", 0o700, dir_fd=folder)
        inner = os.open("inner", os.O_RDONLY, dir_fd=folder)
        if number % 3 == 0:
            os.chmod("inner", 0o000, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    remove_tree(place)
    assert list(tmp_path.iterdir()) == []
