"""Under any limit of memory a command does its work or says in one line that it cannot."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SMALL, SWEEP
from fairway.ground import memory
from fairway.ground.extras import is_installed
from fairway.ground.memory import NEEDS
from waiting import PATIENCE_S, until

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits of memory are known of Linux alone"
)

MIB = 1 << 20
#: A generous bound on processor time: a library that asks for memory again and again never ends.
CPU_S = 60

#: More than the simulator can hold in the limits below: four million rows of samples.
LARGE = SMALL.replace('"3 s"', '"1000 s"').replace('"100 ms"', '"1 ms"')

COMMANDS = {
    "version": ["--version"],
    "run": ["run", "small.toml"],
    "out": ["run", "small.toml", "--out", "out", "-q"],
    "figures": ["run", "small.toml", "--out", "out", "-q", "--figures", "svg"],
    "sweep": ["run", "sweep.toml", "--out", "out", "-q"],
    "analyze": ["analyze", "capture.pcap"],
    "analyze-out": ["analyze", "capture.pcap", "--out", "out", "-q"],
    "model": ["model", "law", "mathis", "--rtt", "50 ms", "--loss", "0.01"],
    "large": ["run", "large.toml", "--out", "out", "-q"],
}
#: In kB, as `ulimit -v` takes them: from where the interpreter starts to 1 GB, densest where
#: libraries used to fail.
LIMITS = (60_000, 80_000, 100_000, 112_000, 120_000, 160_000, 200_000, 240_000, 300_000, 400_000,
          500_000, 700_000, 1_000_000)  # fmt: skip
#: Each command has three of them in turn; `FAIRWAY_EVERY_LIMIT` tries all steps of 20,000 kB.
POINTS = [
    (name, limit)
    for place, name in enumerate(COMMANDS)
    for limit in (
        range(60_000, 1_040_000, 20_000)
        if "FAIRWAY_EVERY_LIMIT" in os.environ
        else LIMITS[place % 4 :: 4]
    )
]


def limited(kind, size):
    """What a child process does before it becomes the command."""

    def limit():
        resource.setrlimit(kind, (size, size))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


@pytest.fixture
def place(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "large.toml").write_text(LARGE)
    captures = Path(__file__).parents[1] / "captures"
    shutil.copy(captures / "ethernet.pcap", tmp_path / "capture.pcap")
    return tmp_path


def ends_in_words(place, arguments, kind, size):
    done = subprocess.run(
        [sys.executable, "-m", "fairway", *arguments], cwd=place, capture_output=True, text=True,
        errors="replace", timeout=PATIENCE_S, check=False, preexec_fn=limited(kind, size),
    )  # fmt: skip
    lines = done.stderr.splitlines()
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 4), (done.returncode, done.stderr)
    if done.returncode:
        assert len(lines) == 1 + (done.returncode == 4 and "Report: " in done.stderr), done.stderr
        assert "not enough memory" in done.stderr or "refused memory" in done.stderr
    return done


@pytest.mark.parametrize(("name", "limit"), POINTS)
def test_a_limit_of_address_space_ends_in_a_result_or_a_sentence(place, name, limit):
    done = ends_in_words(place, COMMANDS[name], resource.RLIMIT_AS, limit * 1024)
    out = place / "out"
    if "--out" in COMMANDS[name] and name != "sweep":
        # All of it, or nothing.
        assert (out / "summary.json").is_file() or not out.exists() or "analyze" in name
        assert (done.returncode in (0, 4)) == out.exists()


@pytest.mark.parametrize("name", ["run", "out", "sweep", "analyze"])
@pytest.mark.parametrize("limit", [20_000, 60_000, 120_000])
def test_a_limit_of_private_memory_does_too(place, name, limit):
    ends_in_words(place, COMMANDS[name], resource.RLIMIT_DATA, limit * 1024)


def test_small_limits_suffice_for_a_run(place):
    done = ends_in_words(place, COMMANDS["run"], resource.RLIMIT_AS, 80_000 * 1024)
    assert done.returncode == 0 and "goodput" in done.stdout
    done = ends_in_words(place, COMMANDS["out"], resource.RLIMIT_AS, 300_000 * 1024)
    assert done.returncode == 0


@pytest.mark.parametrize("limit", [60_000, 112_000, 200_000])
def test_it_can_be_ended_while_it_starts(place, limit):
    process = subprocess.Popen(
        [sys.executable, "-m", "fairway", *COMMANDS["out"]], cwd=place,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=limited(resource.RLIMIT_AS, limit * 1024),  # noqa: PLW1509
    )  # fmt: skip
    maps = Path(f"/proc/{process.pid}/maps")
    until(lambda: process.poll() is not None or "_core" in maps.read_text())
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in errors
    assert process.returncode in (143, 0, 1)


#: The first use of each library that counts.
USES = {
    "fairway._core": "import fairway._core",
    "numpy": "import numpy as np; a = np.eye(300) * 2; a @ a; np.linalg.solve(a, a)",
    "scipy": "import scipy.stats; scipy.stats.t.ppf(0.9, 3)",
    "polars": "import polars as pl; d = pl.DataFrame({'a': [1, 2] * 500, 'b': [1.0] * 1000});"
    "d.group_by('a').agg(pl.col('b').mean()).sort('a')",
    "vl_convert": "import vl_convert; vl_convert.vegalite_to_svg({'mark': 'point', 'data': "
    "{'values': [{'a': 1}]}, 'encoding': {'x': {'field': 'a', 'type': 'quantitative'}}})",
}

MEASURED = """
import ctypes, os, sys
ctypes.CDLL(None).mallopt(-8, 1)
def sizes():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [int(status[name].split()[0]) * 1024 for name in ("VmPeak", "VmData")]
exec(sys.argv[1])
before = sizes()
exec(sys.argv[2])
print(*(after - first for after, first in zip(sizes(), before)))
"""


@pytest.mark.parametrize("module", NEEDS)
def test_needs_are_neither_too_low_nor_too_high(module):
    if not is_installed(module):
        pytest.skip(f"{module} is not installed here")
    before = "; ".join(f"import {name}" for name in NEEDS[module].before)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, before, USES[module]], capture_output=True, text=True,
        check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
    )  # fmt: skip
    space, data = map(int, done.stdout.split())
    need = NEEDS[module]
    # What a library takes is told apart in steps of some MiB, of threads and their stacks.
    assert space <= need.space <= 1.4 * space + 4 * MIB, (space / MIB, need.space / MIB)
    assert data <= need.data <= 1.6 * data + 8 * MIB, (data / MIB, need.data / MIB)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        RuntimeError(
            "OS can't spawn worker thread: Resource temporarily unavailable (os error 11)"
        ),
    ],
)
def test_threads_that_are_refused_without_a_limit_are_told(error):
    assert "ulimit -u" in memory.explained(error)
    assert memory.explained(RuntimeError("another thread")) is None
