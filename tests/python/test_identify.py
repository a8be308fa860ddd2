"""Which congestion control a capture shows: of the simulator, and of a kernel if there is one."""

import pytest

import fairway
from conftest import command
from fairway.backends.linux import cache

EXPERIMENT = """
duration = "15 s"

[topology]
kind = "dumbbell"
frame_overhead = "14 bytes"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = {{ kind = "droptail", limit = "33 packets" }}

[[flow]]
cc = "{cc}"
"""


def captured(tmp_path, cc, backend):
    """The capture of the sender of a run."""
    file = tmp_path / f"{cc}.toml"
    file.write_text(EXPERIMENT.format(cc=cc) + '\n[capture]\nat = ["s0"]\n')
    # On Fairway's network a kernel's YeAH fits Reno in 99 % of its round trips: a near miss.
    tc = ("--set", "linux.network=tc") if backend == "linux" else ()
    done = command("run", str(file), "--backend", backend, *tc, "--out", str(tmp_path / cc))
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / cc / "captures").iterdir()
    return capture


def first(capture):
    """The algorithm that is found to be the first flow's, and all that is said of it."""
    analysis = fairway.analyze(capture, detail=False, identify=True)
    directions = analysis.connections[0]["directions"]
    found = max(directions, key=lambda one: one["data_bytes"])["congestion_control"]
    return found["ranked"][0]["algorithm"], found


@pytest.mark.parametrize("cc", ["bbr", "cubic", "htcp", "illinois", "reno", "vegas"])
def test_the_simulators_algorithms_are_found(tmp_path, cc):
    name, found = first(captured(tmp_path, cc, "sim"))
    assert name == cc, found["words"]
    assert found["is_explained"]
    assert sum(one["confidence"] for one in found["ranked"]) == pytest.approx(1)


@pytest.mark.parametrize("cc", ["bbr", "cubic", "yeah"])
def test_a_kernels_algorithms_are_found(tmp_path, cc):
    if cache.find() is None:
        pytest.skip("no kernel in the cache: fairway linux build")
    name, found = first(captured(tmp_path, cc, "linux"))
    assert name == cc, found["words"]


def test_nobody_is_asked_unless_it_is_wanted(tmp_path):
    capture = captured(tmp_path, "reno", "sim")
    directions = fairway.analyze(capture, detail=False).connections[0]["directions"]
    assert all(one["congestion_control"] is None for one in directions)
