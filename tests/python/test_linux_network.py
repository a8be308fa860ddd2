"""Fairway's network under a real kernel, where one was built."""

from __future__ import annotations

from pathlib import Path

import pytest

import fairway
from fairway.backends.linux import cache
from fairway.backends.linux.kernel import Kernel
from fairway.errors import RunFailed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Goodput in bit/s, mean window in segments and smoothed round trip in seconds after 10 s of the
#: kernel's own trace (`tests/golden/linux-6.1/summary.csv`).
GOLDEN = (9_564_137, 74.71, 0.090694)
DATAGRAMS = """
title    = "Datagrams over a link that loses, doubles and delays"
duration = "4 s"
seed     = 2

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate        = "20 Mbit/s"
delay       = "10 ms"
loss        = { kind = "gilbert-elliott", p = 0.02, r = 0.3 }
duplication = { probability = 0.01 }
corruption  = { probability = 0.01, unit = "packet" }

[[flow]]
kind   = "cbr"
rate   = "6 Mbit/s"
packet = "1000 bytes"

[[flow]]
kind   = "poisson"
rate   = "3 Mbit/s"
packet = "400 bytes"

[measure]
window = ["0 s", "4 s"]
"""
CELL = """
title    = "Two stations"
duration = "3 s"

[topology]
kind     = "wlan"
standard = "802.11g"
stations = 2
server   = { rate = "100 Mbit/s", delay = "1 ms" }

[[flow]]
cc   = "cubic"
from = "server"
to   = "sta0"

[[flow]]
cc   = "reno"
from = "sta1"
to   = "server"

[measure]
window = ["1 s", "3 s"]
"""


#: 625,000 packets a second, each under way for 2 s: more than a small kernel has room for.
CROWDED = """
title    = "More packets than memory"
duration = "2 s"

[linux]
memory = "128 MiB"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "100 Gbit/s"
delay = "2 s"

[[flow]]
kind   = "cbr"
rate   = "500 Mbit/s"
packet = "100 bytes"
"""


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    found = cache.find()
    if found is None or not found.virtual_time or not found.has_network:
        pytest.skip("no kernel with Fairway's network: `fairway linux build` makes one")
    return found


@pytest.mark.parametrize("network", ["fairway", "tc"])
def test_the_first_example_is_the_golden_trace(kernel, network):
    overrides = {"linux.network": network}
    run = fairway.run(EXAMPLES / "single.toml", backend="linux", overrides=overrides)
    flow = run.summary["flows"][0]
    found = (flow["goodput_bps"], flow["mean_cwnd_segments"], flow["mean_srtt_s"])
    assert found == pytest.approx(GOLDEN, rel=0.001)


def test_datagrams_meet_the_same_fate_as_in_the_simulator(kernel):
    """No packet of theirs depends on the network, so every loss is that of the simulator."""
    kernels, simulated = (fairway.run(DATAGRAMS, backend=name) for name in ("linux", "sim"))
    assert kernels.summary["links"][0]["losses"] > 20
    for name in ("drops", "losses", "marks"):
        found, expected = (run.summary["links"][0][name] for run in (kernels, simulated))
        assert found == expected, name
    for found, expected in zip(kernels.summary["flows"], simulated.summary["flows"], strict=True):
        for name in ("sent_segments", "lost_segments"):
            assert found[name] == expected[name], name
        assert found["duplicated_packets"] == expected["duplicated_packets"]
        # A kernel stamps an arrival some hundred nanoseconds later.
        delays = [row["mean_one_way_delay_s"] for row in (found, expected)]
        assert delays[0] == pytest.approx(delays[1], abs=2e-6)


def test_the_list_of_losses_is_that_of_the_simulator(kernel):
    """One flow through a queue that is too small for it, on a link that loses and damages."""
    network = DATAGRAMS.partition("[[flow]]")[0].replace('"20 Mbit/s"', '"1 Mbit/s"')
    text = f"""
{network}
queue = {{ limit = "5 packets" }}
[[flow]]
kind   = "cbr"
rate   = "1.6 Mbit/s"
packet = "1000 bytes"
[measure]
losses = true
"""
    listed, expected = (fairway.run(text, backend=name).losses for name in ("linux", "sim"))
    assert set(expected["cause"]) == {"dropped", "lost", "damaged"}
    assert listed.drop("t_s").equals(expected.drop("t_s"))
    # A kernel is up to two microseconds later, so that a queue that is about to have room may drop
    # the packet before.
    is_close = (listed["t_s"] - expected["t_s"]).abs() < 3e-6
    assert is_close.mean() > 0.99
    assert fairway.run(DATAGRAMS, backend="linux").losses is None


def test_a_cell_is_captured_at_the_simulators_places(kernel, tmp_path):
    overrides = {"capture.at": "everything"}
    run = fairway.run(CELL, backend="linux", overrides=overrides)
    assert run.summary["wlan"]["busy"] > 0.5
    assert [node["id"] for node in run.summary["wlan"]["nodes"]] == ["ap", "sta0", "sta1"]
    assert all(flow["goodput_bps"] > 1e6 for flow in run.summary["flows"])
    assert run.captures is not None
    files = sorted(path.name for path in run.captures.iterdir())
    simulated = fairway.run(CELL, backend="sim", overrides=overrides)
    assert simulated.captures is not None
    assert files == sorted(path.name for path in simulated.captures.iterdir())
    for path in run.captures.iterdir():
        assert len(fairway.analyze(path).connections) in (1, 2), path


def test_the_same_seed_gives_the_same_bytes(kernel):
    runs = [fairway.run(CELL, backend="linux") for _ in range(2)]
    first, second = runs
    assert first.summary["flows"] == second.summary["flows"]
    assert first.queues.equals(second.queues)
    assert first.tcp_info.equals(second.tcp_info)


def test_packets_that_memory_has_no_room_for_end_the_run(kernel):
    with pytest.raises(RunFailed, match=r"no memory for more than \d+ packets in the network"):
        fairway.run(CROWDED, backend="linux")
