"""Nothing leads out of a host: known ways, every file of /proc and /sys, and the second wall."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import fairway
import small_studies
import wall_ways
import ways_out
from fairway.backends.linux import cache
from fairway.backends.linux.confinement import AGENT
from fairway.backends.linux.shell import FAILED, OUT_OF_TIME

EXPERIMENT = """
duration = "10 s"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate  = "20 Mbit/s"
delay = "20 ms"
"""
FLOW = '[[flow]]\ncc = "cubic"\n'
PROBE = Path(ways_out.__file__).resolve()
#: Permits the programs of a file, on the command line and in Python.
PERMITTED = ("--allow-programs",)
PERMITTING = {"allow_programs": True}
#: What a program that leaves would write, by a helper outside of every host.
HELPER = "|/bin/sh -c mount${IFS}-o${IFS}remount,rw${IFS}/;echo${IFS}x>%s"


@pytest.fixture(scope="module")
def kernel():
    found = cache.find()
    if found is None or not found.has_network:
        pytest.skip("no kernel with Fairway's network: `fairway linux build` makes one")
    return found


@pytest.fixture(scope="module")
def place():
    """Files of this machine, in a directory that other users can enter."""
    directory = Path(tempfile.mkdtemp(prefix="fairway-walls-"))
    # Another user inside starts the setuid file.
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def outside(place, kernel):
    """What came of each way, and of this machine's files."""
    for name in ("file", "target"):
        (place / name).write_text("of this machine")
    (place / "link").symlink_to("target")
    os.mkfifo(place / "fifo")
    shutil.copy(shutil.which("id") or "/usr/bin/id", place / "setuid")
    (place / "setuid").chmod(0o4755)
    reader = os.open(place / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    name = f"fairway-walls-{os.getpid()}"
    with (
        socket.socket(socket.AF_UNIX) as path,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket() as port,
    ):
        for one, address in (
            (path, str(place / "socket")),
            (abstract, f"\0{name}"),
            (port, ("127.0.0.1", 0)),
        ):
            one.bind(address)
            one.listen()
        variables = {
            ways_out.PLACE: str(place),
            ways_out.ABSTRACT: name,
            "WAYS_PORT": str(port.getsockname()[1]),
            "WAYS_TEMPORARY": str(Path(tempfile.gettempdir()).resolve()),
        }
        words = [f"--env={key}={value}" for key, value in variables.items()]
        other = (
            f"import ctypes, time; ctypes.CDLL(None).shmget({ways_out.OTHER_KEY}, 4096, 0o1666); "
            f"time.sleep(1000) # {ways_out.OTHER_WORD}"
        )
        server = f"--background=d0: {sys.executable} -c '{other}'"
        done = shell(place, *words, server, "--", sys.executable, str(PROBE))
    os.close(reader)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def shell(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    file = place / "experiment.toml"
    file.write_text(EXPERIMENT + FLOW)
    return subprocess.run(
        [sys.executable, "-m", "fairway", "shell", file, "--alone", *words],
        cwd=place, capture_output=True, text=True, timeout=600, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize("way", ways_out.WAYS, ids=lambda way: way.name)
def test_a_way_out_is_closed(outside, way):
    assert outside[way.name] in way.expected


def test_ways_are_told_apart():
    names = [way.name for way in ways_out.WAYS]
    assert len(set(names)) == len(names) >= 60


def test_no_way_has_changed_this_machine(outside, place):
    assert [(place / name).read_text() for name in ("file", "target")] == ["of this machine"] * 2
    assert not list(place.glob("core*"))


def test_of_proc_and_sys_only_the_network_and_itself_can_be_written(place, kernel):
    before = _settings()
    done = shell(place, "--", sys.executable, str(PROBE), "walk")
    assert done.returncode == 0, done.stderr
    own = ("/proc/self/", "/proc/sys/net/", "/sys/devices/virtual/net/")
    taken = json.loads(done.stdout)
    assert [path for path in taken if not path.startswith(own)] == []
    # The walk has written: settings of the host's own network are there, and can be set.
    assert "/proc/sys/net/ipv4/tcp_sack" in taken
    after = _settings()
    steady = _settings()
    changed = [path for path in before if before[path] != after.get(path) == steady.get(path)]
    assert [path for path in changed if path in taken] == []


def _settings() -> dict[str, str]:
    """This machine's sysctls."""
    found = {}
    for directory, _, files in os.walk("/proc/sys"):
        for name in files:
            path = f"{directory}/{name}"
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if Path(path).stat().st_mode & stat.S_IRUSR:
                    found[path] = Path(path).read_text()
    return found


def _leaving(mark: Path) -> str:
    """The experiment whose program has the kernel start a helper when it crashes."""
    helper = HELPER % mark
    script = f"echo '{helper}' > /proc/sys/kernel/core_pattern; kill -SEGV $$"
    program = (
        f'kind = "program"\nfrom = "s0"\nto = "d0"\nprogram = {json.dumps(["sh", "-c", script])}\n'
    )
    return f"{EXPERIMENT}[[flow]]\n{program}"


def test_a_crash_in_an_experiment_starts_no_helper(tmp_path, kernel):
    mark = tmp_path / "written"
    file = tmp_path / "leave.toml"
    file.write_text(_leaving(mark))
    run = fairway.run(file, backend="linux", **PERMITTING)
    (program,) = run.summary["programs"]
    # The shell said that it could not write the pattern, and was killed without a dump.
    assert program["signal"] == signal.SIGSEGV
    assert "core_pattern" in program["stderr"]
    assert not mark.exists()


def test_a_crash_in_a_study_starts_no_helper(tmp_path, kernel):
    mark = tmp_path / "written"
    study = small_studies.write(
        tmp_path / "study",
        small_studies.study_of(
            "leave", keys='backend = "linux"', axes='"topology.bottleneck.delay" = ["5 ms"]'
        ),
    )
    (study / "small.toml").write_text(_leaving(mark))
    done = subprocess.run(
        [sys.executable, "-m", "fairway", "reproduce", study, *PERMITTED],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (summary,) = (tmp_path / "runs").glob("study/points/*/summary.json")
    (program,) = json.loads(summary.read_text())["programs"]
    assert program["signal"] == signal.SIGSEGV
    assert not mark.exists()


def test_memory_without_end_ends_in_words(place, kernel):
    script = "x = []\nwhile True: x.append(bytearray(1 << 20))"
    done = shell(place, "--set", 'linux.memory="256 MB"', "--", sys.executable, "-c", script)
    assert done.returncode == 128 + signal.SIGKILL
    name = Path(sys.executable).name[:15]  # TASK_COMM_LEN of Linux
    assert f"the kernel ran out of memory and killed {name}" in done.stderr


def test_processes_without_end_end_in_words(place, kernel):
    script = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    limit = ("--real-time-limit", "20")
    done = shell(place, *limit, "--", sys.executable, "-c", script)
    assert done.returncode in (OUT_OF_TIME, FAILED), done.stderr
    assert done.stderr.startswith("fairway: ")
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def behind():
    """What came of each way of a broken kernel, and whether this machine has a wall for files."""
    if not AGENT.is_file():
        pytest.skip(f"{AGENT}: missing; `make build` makes it")
    with contextlib.ExitStack() as stack:
        run, scratch, out = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairway-wall-")))
            for _ in range(3)
        )
        (out / "file").write_text("of this machine")
        foreign = stack.enter_context(subprocess.Popen(["sleep", "1000"]))
        stack.callback(foreign.kill)
        probe = Path(wall_ways.__file__).resolve()
        supervisor = subprocess.Popen(
            [AGENT, "supervise", run, sys.executable, "-B", probe],
            cwd=run,
            stdin=subprocess.PIPE,
            env={
                **os.environ,
                "TMPDIR": str(scratch),
                wall_ways.PLACE: str(out),
                wall_ways.FOREIGN: str(foreign.pid),
            },
        )
        with supervisor:
            assert supervisor.wait(600) == 0
        scratch.mkdir(exist_ok=True)
        assert foreign.poll() is None
        assert (out / "file").read_text() == "of this machine"
        assert [path.name for path in out.iterdir()] == ["file"]
        open_because = run / "unconfined"
        yield (
            json.loads((run / "results.json").read_text()),
            open_because.read_text() if open_because.exists() else None,
        )


@pytest.mark.parametrize("way", wall_ways.WAYS, ids=lambda way: way.name)
def test_a_broken_kernel_is_behind_a_wall(behind, way):
    results, open_because = behind
    if open_because is not None:
        pytest.skip(f"this machine has no wall for files: {open_because}")
    assert results[way.name] in way.expected


def test_ways_of_a_kernel_are_told_apart():
    names = [way.name for way in wall_ways.WAYS]
    assert len(set(names)) == len(names) >= 50
