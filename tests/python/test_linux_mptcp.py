"""MPTCP connections of a kernel over two routes."""

from __future__ import annotations

import pytest

import fairway
from fairway.backends.linux import cache
from fairway.errors import ExperimentError
from test_captures import tshark

EXPERIMENT = """
title = "Two paths"
duration = "8 s"

[topology]
kind = "parallel"
multipath = "in-turn"

[[topology.link]]
id = "north"
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "1 bdp" }

[[topology.link]]
id = "south"
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "1 bdp" }

[[flow]]
id = "multi"
cc = "reno"
connections = 2
mptcp = true

[measure]
window = ["2 s", "8 s"]
"""


def test_each_subflow_fills_its_own_route():
    kernel = cache.find()
    if kernel is None or not kernel.has_network:
        pytest.skip("no kernel with Fairway's network: `fairway linux build` makes one")
    run = fairway.run(EXPERIMENT, backend="linux")
    north, south = run.summary["flows"]
    assert (north["id"], north["route"]) == ("multi/0", "north")
    assert (south["id"], south["route"]) == ("multi/1", "south")
    # 1448 of 1514 bytes at most are data, less up to 28 of MPTCP's option in each.
    for flow in (north, south):
        assert 8.5e6 < flow["goodput_bps"] < 9.57e6
        assert flow["window_reductions"] > 0
    assert fairway.run(EXPERIMENT, backend="linux").series.equals(run.series)


def test_captures_have_the_options_of_mptcp(tmp_path):
    kernel = cache.find()
    if kernel is None or not kernel.has_network:
        pytest.skip("no kernel with Fairway's network: `fairway linux build` makes one")
    changes = {"capture.at": ["left"], "duration": "2 s", "measure.window": ["0 s", "2 s"]}
    fairway.run(EXPERIMENT, out=tmp_path / "out", overrides=changes, backend="linux")
    fields = ("frame.len", "tcp.len", "tcp.flags.syn", "tcp.options.mptcp.subtype")
    packets = tshark(tmp_path / "out" / "captures" / "left.pcapng", *fields)
    # RFC 8684: MP_CAPABLE is subtype 0, MP_JOIN 1, DSS 2; a SYN of Linux with MSS, SACK permitted,
    # timestamps and window scale has 74 bytes, and 78 with MP_CAPABLE.
    assert packets[0] == ["78", "0", "1", "0"]
    assert {"0", "1", "2"} <= {subtype for *_, subtype in packets}
    # A full segment fills 1500 bytes of IP.
    assert max(int(length) for length, *_ in packets) == 1514


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"flow.multi.connections": 9}, "flow.multi.connections: .*2 to 8 subflows"),
        ({"flow.multi.bytes": "1 MB"}, "flow.multi.mptcp: .*without end"),
        ({"flow.multi.cc": "lia"}, 'flow.multi.cc: "lia" is in no kernel'),
    ],
)
def test_what_a_kernel_cannot_do_is_refused(change, refused):
    with pytest.raises(ExperimentError, match=refused):
        fairway.run(EXPERIMENT, overrides=change, backend="linux")


def test_the_simulator_keeps_connections_apart():
    one, other = fairway.run(EXPERIMENT).summary["flows"]
    assert (one["route"], other["route"]) == ("north", "south")
