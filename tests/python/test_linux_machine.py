"""Kernels that fail in every way: each is ended, explained, and leaves nothing."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import fairway
from fairway import _core
from fairway.backends.linux import machine, memory_file
from fairway.backends.linux.backend import Control, Linux
from fairway.errors import InputError, RunFailed
from fairway.experiment.plan import plan
from fake_kernels import assert_nothing_left, fake_kernel, processes_with
from waiting import PATIENCE_S, until

EXPERIMENT = """
title = "On a script"
duration = "2 s"
seed = 5

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "5 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "20 packets" }

[[flow]]
cc = "cubic"

[measure]
sample = "1 s"
"""


def failure(place: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> str:
    fake_kernel(place, script, monkeypatch)
    with pytest.raises(RunFailed) as caught:
        fairway.run(EXPERIMENT, backend="linux")
    return str(caught.value)


def test_a_panic_is_told_with_the_last_lines_of_the_console(tmp_path, temporary, monkeypatch):
    script = 'seq 1 100\necho "Kernel panic - not syncing: Oops"\nkill -TERM 0; kill -ABRT $$\n'
    message = failure(tmp_path / "k", script, monkeypatch)
    lines = message.splitlines()
    assert "failed: Kernel panic - not syncing: Oops; it was ended by SIG" in lines[0]
    assert lines[-1] == "  Kernel panic - not syncing: Oops"
    assert lines[-2] == "  100"
    assert "  80" not in lines  # only the last lines
    assert_nothing_left(temporary)


@pytest.mark.parametrize(
    "said",
    [
        "Kernel panic - not syncing: System is deadlocked on memory",
        "Out of memory: Killed process 29 (head) total-vm:2900kB",
    ],
)
def test_a_lack_of_memory_is_told_first(tmp_path, temporary, monkeypatch, said):
    script = f'echo "{said}"\nseq 1 100\nkill -ABRT $$\n'
    message = failure(tmp_path / "k", script, monkeypatch)
    head, *rest = message.splitlines()
    assert 'failed: it ran out of memory (1 GiB; [linux] memory = "2 GiB" gives it more): ' in head
    assert head.endswith("it was ended by SIGABRT without results")
    assert ("deadlocked on memory; it was" in head) == said.startswith("Kernel")
    assert not any(said in line for line in rest)
    assert_nothing_left(temporary)


def test_a_silent_end_is_told(tmp_path, temporary, monkeypatch):
    message = failure(tmp_path / "k", "exit 3\n", monkeypatch)
    assert "exit code 3 and without results" in message
    assert "Linux version of a shell script" in message
    assert_nothing_left(temporary)


def test_what_the_guest_says_is_told(tmp_path, temporary, monkeypatch):
    script = 'printf "tc -batch in r1: line 2 is wrong" > "$dir/error"\n'
    message = failure(tmp_path / "k", script, monkeypatch)
    assert "its guest gave up: tc -batch in r1: line 2 is wrong" in message
    assert_nothing_left(temporary)


READY = 'touch "$dir/ready"\n'


@pytest.fixture
def clock(temporary, monkeypatch):
    """The clock of the patience: it stands until a kernel is `ready`, and then jumps by minutes."""
    jumps = itertools.count(0, 240)

    def now() -> float:
        return next(jumps) if list(temporary.glob("*/ready")) else 0

    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=now))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"{READY}while :; do :; done\n", "it did not start for 60 s"),
        (
            f'printf "%20d\\n" 1500000000 > "$dir/progress"\n{READY}sleep 1000\n',
            "stood still at 1.500 s",
        ),
        (f"{READY}sleep 1000 & setsid sleep 1000 & kill -STOP $!; wait\n", "it did not start"),
        (
            f"{READY}trap '' TERM INT HUP; (trap '' TERM; sleep 1000) & sleep 1000\n",
            "it did not start",
        ),
    ],
    ids=["spinning", "standing still", "with processes of its own", "deaf"],
)
def test_a_kernel_that_hangs_is_ended(tmp_path, temporary, monkeypatch, clock, script, expected):
    message = failure(tmp_path / "k", script, monkeypatch)
    assert expected in message
    assert machine.PATIENCE in message
    assert_nothing_left(temporary)


def test_a_kernel_that_moves_is_waited_for(tmp_path, temporary, monkeypatch):
    # Each step that is seen takes two thirds of the patience.
    seen = []
    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: 40 * len(seen)))
    script = """for i in 1 2 3 4; do printf "%20d\\n" $((i * 500000000)) > "$dir/progress"
    while [ ! -e "$dir/$i" ]; do sleep 0.01; done
done
exit 7
"""

    def reached(_: Control, fraction: float) -> None:
        seen.append(fraction)
        (place,) = temporary.glob("fairway-run-*")
        (place / str(round(4 * fraction))).touch()

    monkeypatch.setattr(Control, "reached", reached)
    assert "exit code 7" in failure(tmp_path / "k", script, monkeypatch)
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_a_console_without_end_is_ended(tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(machine, "_MAX_CONSOLE_BYTES", 100_000)
    message = failure(tmp_path / "k", "yes 'BUG: spinlock'\n", monkeypatch)
    assert "filled its console" in message
    assert len(message) < 6000
    assert_nothing_left(temporary)


def test_a_console_cannot_steer_the_terminal(tmp_path, temporary, monkeypatch):
    assert "\x1b" not in failure(tmp_path / "k", "printf '\\033[2Jred'\nexit 1\n", monkeypatch)


def test_cancelling_ends_it_at_once(tmp_path, temporary, monkeypatch):
    fake_kernel(tmp_path / "k", HANGING, monkeypatch)
    control, backend = Control(), Linux()

    def cancel() -> None:
        until(lambda: list(temporary.glob("*/alive")))
        control.cancel()

    # Nobody else ends it: the patience has no end.
    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: 0))
    threading.Thread(target=cancel).start()
    with pytest.raises(_core.Cancelled):
        backend.run(plan(EXPERIMENT).points[0].experiment, control)
    assert_nothing_left(temporary)


def test_progress_is_followed(tmp_path, temporary, monkeypatch):
    script = 'printf "%20d\\n" 1000000000 > "$dir/progress"\nsleep 1000\n'
    fake_kernel(tmp_path / "k", script, monkeypatch)
    control = Control()

    def look() -> None:
        until(lambda: control.fraction > 0)
        control.cancel()

    watcher = threading.Thread(target=look)
    watcher.start()
    with pytest.raises(_core.Cancelled):
        Linux().run(plan(EXPERIMENT).points[0].experiment, control)
    watcher.join()
    assert control.fraction == 0.5


#: Has processes in its group and outside of it, and then says so.
HANGING = 'sleep 1000 & setsid sleep 1000 & touch "$dir/alive"\nsleep 1000\n'
#: Has processes in its group alone, as real kernels do.
HANGING_TOGETHER = HANGING.replace("setsid ", "")


@pytest.fixture
def command(request, tmp_path, temporary, monkeypatch):
    """The real command with a kernel that hangs, once the kernel runs."""
    fake_kernel(tmp_path / "k", getattr(request, "param", HANGING), monkeypatch)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    with subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", tmp_path / "x.toml", "--backend", "linux"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        try:
            until(lambda: list(temporary.glob("*/alive")), command)
            yield command
        finally:
            command.kill()


def supervisor(temporary: Path) -> int:
    """The supervisor of the one kernel that runs there."""
    found = [
        pid
        for pid in processes_with(str(temporary))
        if b"supervise" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_a_signal_to_the_command_leaves_nothing(command, temporary, number, code):
    # The command, its supervisor, the kernel and two processes of its own.
    until(lambda: len(processes_with(str(temporary))) >= 5, command)
    command.send_signal(number)
    command.communicate(timeout=PATIENCE_S)
    assert command.returncode == code
    assert_nothing_left(temporary)


@pytest.mark.parametrize(
    ("command", "number"),
    [(HANGING_TOGETHER, signal.SIGKILL), (HANGING, signal.SIGTERM)],
    indirect=["command"],
)
def test_a_signal_to_the_supervisor_leaves_nothing(command, temporary, number):
    os.kill(supervisor(temporary), number)
    _, message = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == 1
    assert ("its supervisor was ended by SIGKILL" in message) == (number == signal.SIGKILL)
    assert_nothing_left(temporary)


def test_a_full_disk_is_told(tmp_path, temporary, monkeypatch):
    """In a mount namespace of its own, so that nothing is mounted here."""
    unshare = shutil.which("unshare")
    inside = ["-m"] if os.geteuid() == 0 else ["-r", "-m"]
    mount = f"mount -t tmpfs -o size=300k small {temporary}"
    if (
        unshare is None
        or subprocess.run([unshare, *inside, "sh", "-c", mount], check=False).returncode
    ):
        pytest.skip("cannot mount a small disk in a namespace of its own here")
    script = """head -c 1000000 /dev/zero > "$dir/flows.bin"
printf "writing flows.bin: No space left on device" > "$dir/error"
echo "fairway-guest: writing flows.bin: No space left on device"
exit 1
"""
    fake_kernel(tmp_path / "k", script, monkeypatch)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    line = f"{mount} && {sys.executable} -m fairway run {tmp_path}/x.toml --backend linux"
    line += f"; code=$?; ls -A {temporary}; exit $code"
    done = subprocess.run(
        [unshare, *inside, "sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "is full" in done.stderr
    assert "set TMPDIR" in done.stderr
    assert done.stdout == ""


def test_a_kernel_that_cannot_be_started_is_told(tmp_path, temporary, monkeypatch):
    kernel = fake_kernel(tmp_path / "k", "", monkeypatch)
    kernel.write_text("#!/nowhere/sh\n")
    with pytest.raises(RunFailed, match=r"starting .*/linux: No such file"):
        fairway.run(EXPERIMENT, backend="linux")
    assert_nothing_left(temporary)


def test_no_room_for_the_memory_is_told(tmp_path, temporary, monkeypatch):
    fake_kernel(tmp_path / "k", "", monkeypatch)
    monkeypatch.setattr(memory_file, "_problem", lambda _, need: f"has 1 MB of {need >> 20}")
    with pytest.raises(InputError, match=r"no room for the .* MB of memory.*/dev/shm has 1 MB"):
        fairway.run(EXPERIMENT, backend="linux")
    assert_nothing_left(temporary)


def test_a_place_for_memory_has_room(tmp_path):
    assert memory_file.place_for(1 << 20).is_dir()
    assert memory_file._problem(tmp_path, 1 << 62) is not None
    assert "cannot be used" in str(memory_file._problem(tmp_path / "nowhere", 1))


@pytest.mark.parametrize("given", ["soon", "-1", "0", "nan"])
def test_a_patience_that_is_no_time_is_refused(tmp_path, temporary, monkeypatch, given):
    fake_kernel(tmp_path / "k", "", monkeypatch)
    monkeypatch.setenv(machine.PATIENCE, given)
    with pytest.raises(InputError, match="not a time; write seconds"):
        fairway.run(EXPERIMENT, backend="linux")
    assert_nothing_left(temporary)
