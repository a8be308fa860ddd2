"""Transfers by Fairway's own sender and receiver over an experiment's network in a kernel."""

from __future__ import annotations

from typing import Any

import pytest

import fairway
from fairway.backends.linux import cache
from fairway.errors import ExperimentError
from fairway.results.run import Run

#: Payload over frame: 1448 of 1538 bytes.
PAYLOAD = 1448 / 1538

EXPERIMENT = """
title = "A transfer by a program"
duration = "{duration} s"
seed = 1

[stack]
{stack}

[topology]
kind = "dumbbell"
frame_overhead = "38 bytes"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "{delay}"
queue = {{ kind = "droptail", limit = "300 packets" }}

[[flow]]
id = "transfer"
cc = "cubic"
{flow}

[measure]
window = ["{start} s", "{duration} s"]
sample = "500 ms"
"""
#: A window of 32 KiB: 1.31 Mbit/s in 200 ms.
WINDOW = 'receive_buffer = "64 KiB"'


@pytest.fixture(scope="module")
def kernel() -> None:
    found = cache.find()
    if found is None or not found.virtual_time:
        pytest.skip("no kernel with virtual time: `fairway linux build` makes one")


def transferred(flow: str, **other: Any) -> Run:
    given = {"duration": 20, "start": 8, "delay": "100 ms", "stack": WINDOW, "flow": flow, **other}
    run = fairway.run(EXPERIMENT.format(**given), backend="linux")
    assert isinstance(run, Run)
    return run


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("connections", "least", "most"), [(1, 0.10, 0.14), (10, 0.95, 1.01)])
def test_ten_connections_fill_what_one_does_not(connections, least, most):
    run = transferred(f'connections = {connections}\nprogram = "fairway-plain"')
    [application] = run.summary["applications"]
    assert (application["id"], application["connections"]) == ("transfer", connections)
    share = application["goodput_bps"] / (10e6 * PAYLOAD)
    assert least < share < most
    assert [flow["id"] for flow in run.summary["flows"]] == [
        f"transfer/{number}" for number in range(connections)
    ]
    assert run.series["flow"].n_unique() == connections
    [transfer] = run.summary["transfers"]
    assert transfer["confirmed_s"] is None and transfer["streams"] == connections


@pytest.mark.usefixtures("kernel")
def test_a_whole_file_is_confirmed_encrypted():
    flow = 'connections = 3\nprogram = "fairway"\nbytes = "5 MB"\nstart = "1 s"'
    run = transferred(flow, stack="", delay="10 ms", start=0)
    [transfer] = run.summary["transfers"]
    assert transfer["payload_bytes"] == 5_000_000
    # 5 MB are 4.25 s at 10 Mbit/s, with headers; some round trips before and behind.
    assert 5.2 < transfer["confirmed_s"] < 7.0
    [application] = run.summary["applications"]
    assert application["fct_s"] == pytest.approx(transfer["confirmed_s"] - 1, abs=1e-6)


@pytest.mark.usefixtures("kernel")
def test_streams_are_chosen_with_reasons():
    flow = 'connections = "auto"\nprogram = "fairway-plain"'
    run = transferred(flow, duration=150, start=120)
    [transfer] = run.summary["transfers"]
    assert 7 <= transfer["streams"] <= 20
    [application] = run.summary["applications"]
    # Within a fifth of what fills the path.
    assert application["goodput_bps"] > 0.8 * 10e6 * PAYLOAD
    said = [line["text"] for line in transfer["log"] if line["text"].startswith("streams: ")]
    assert "windows hold" in said[0] and said[-1].split("; ")[-1].split()[-1].isdigit()


def test_the_simulator_refuses_what_only_a_program_chooses():
    flow = 'connections = "auto"\nprogram = "fairway"'
    given = {"duration": 20, "start": 8, "delay": "100 ms", "stack": "", "flow": flow}
    with pytest.raises(ExperimentError, match=r"flow\.transfer\.connections: \"auto\""):
        fairway.run(EXPERIMENT.format(**given))


@pytest.mark.usefixtures("kernel")
def test_connections_of_a_program_take_the_routes_of_the_simulators():
    text = """
duration = "10 s"
[topology]
kind      = "parallel"
multipath = "in-turn"
[[topology.link]]
id    = "north"
rate  = "10 Mbit/s"
delay = "20 ms"
[[topology.link]]
id    = "south"
rate  = "10 Mbit/s"
delay = "20 ms"
[[flow]]
id          = "transfer"
cc          = "cubic"
connections = 2
program     = "fairway-plain"
"""
    found, simulated = (fairway.run(text, backend=name) for name in ("linux", "sim"))
    for run in (found, simulated):
        used = {link["id"]: link["utilisation"] for link in run.summary["links"]}
        assert min(used["north"], used["south"]) > 0.9
