"""Flows of datagrams on a real kernel, where one was built: beside the simulator's, and by hand."""

from __future__ import annotations

import pytest

import fairway
from fairway.backends.linux import cache

#: A packet of 1498 bytes has 1536 on the link, 1470 of which are payload.
EXPERIMENT = """
title = "Datagrams on a kernel"
duration = "3 s"
seed = 3

[topology]
kind = "dumbbell"
frame_overhead = "38 bytes"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", limit = "100 packets" }

[[flow]]
id = "udp"
kind = "cbr"
rate = "5 Mbit/s"

[measure]
window = ["1 s", "3 s"]
"""
PACKET_S = 1536 * 8 / 10e6


@pytest.fixture(scope="module", autouse=True)
def kernel():
    found = cache.find()
    if found is None or not found.virtual_time:
        pytest.skip("no kernel with virtual time: `fairway linux build` makes one")
    return found


def on_both(**changes):
    """The flows of a run of the simulator, and those of a kernel's."""
    runs = [fairway.run(EXPERIMENT, backend=name, overrides=changes) for name in ("sim", "linux")]
    return [run.summary["flows"] for run in runs]


def test_a_constant_rate_arrives_as_it_was_sent():
    run = fairway.run(EXPERIMENT, backend="linux")
    (flow,) = run.summary["flows"]
    assert (flow["kind"], flow["cc"], flow["timeouts"]) == ("cbr", None, None)
    # Packets leave every 2.352 ms: 850 or 851 of them in 2 s.
    assert flow["sent_segments"] in (850, 851) and flow["received_packets"] in (850, 851)
    assert flow["goodput_bps"] == pytest.approx(5e6, rel=0.002)
    assert (flow["lost_segments"], flow["loss_ratio"], flow["duplicated_packets"]) == (0, 0, 0)
    # Its own transmission and the delay; a kernel's timers may be microseconds late.
    assert flow["mean_one_way_delay_s"] == pytest.approx(0.005 + PACKET_S, abs=2e-5)
    assert flow["p99_one_way_delay_s"] == pytest.approx(0.005 + PACKET_S, rel=0.04)
    assert flow["jitter_s"] < 1e-5
    bottleneck = run.summary["links"][0]
    assert bottleneck["utilisation"] == pytest.approx(5e6 / 10e6 * 1536 / 1470, rel=0.005)
    assert bottleneck["mean_sojourn_s"] < 2e-5
    # A time series of goodput, and none of a window.
    assert run.series["goodput_bps"].mean() == pytest.approx(5e6, rel=0.02)
    assert run.series["cwnd_segments"].is_nan().all() and run.tcp_info.is_empty()


KINDS = {
    "cbr": {"flow.udp.count": 2},
    "vbr": {"flow.udp.rate_deviation": "2 Mbit/s"},
    "poisson": {},
    "onoff": {"flow.udp.on_time": "50 ms", "flow.udp.off_time": "50 ms"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_packets_leave_when_the_simulators_do(kind):
    """The same random numbers: what is sent is the same, but for one at the edge of the window."""
    simulated, found = on_both(**{"flow.udp.kind": kind, **KINDS[kind]})
    assert [flow["id"] for flow in found] == [flow["id"] for flow in simulated]
    for ours, theirs in zip(simulated, found, strict=True):
        assert ours.keys() == theirs.keys()
        assert theirs["sent_segments"] == pytest.approx(ours["sent_segments"], abs=1)
        assert theirs["goodput_bps"] == pytest.approx(ours["goodput_bps"], rel=0.01)


def test_losses_are_counted_and_repeat():
    loss = {"topology.bottleneck.loss": {"kind": "bernoulli", "probability": 0.15}}
    first, again = (fairway.run(EXPERIMENT, backend="linux", overrides=loss) for _ in range(2))
    assert first.summary["flows"] == again.summary["flows"]
    assert first.series.equals(again.series) and first.queues.equals(again.queues)
    (flow,) = first.summary["flows"]
    # Of 850 packets 127.5 with a deviation of 10.4.
    assert 127.5 - 3 * 10.4 < flow["lost_segments"] < 127.5 + 3 * 10.4
    assert flow["goodput_bps"] == pytest.approx(5e6 * (1 - flow["loss_ratio"]), rel=0.005)
    assert first.summary["links"][0]["losses"] == pytest.approx(flow["lost_segments"], abs=2)


BUFFER = {"flow.udp.rate": "20 Mbit/s", "flow.udp.send_buffer": "46080 bytes"}  # 20 packets


def test_a_full_socket_holds_its_application_back():
    simulated, found = on_both(**BUFFER)
    assert found[0]["lost_segments"] == 0
    # The link is never idle: packets leave it 1.2288 ms apart.
    assert found[0]["goodput_bps"] == pytest.approx(1470 * 8 / PACKET_S, rel=0.002)
    # 11 to 20 packets are in the buffer, half of which has to be free before it goes on.
    for key in ("mean_one_way_delay_s", "p99_one_way_delay_s"):
        assert 0.005 + 10 * PACKET_S < found[0][key] < 0.005 + 22 * PACKET_S
        assert found[0][key] == pytest.approx(simulated[0][key], rel=0.08)


def test_without_one_the_queue_drops_what_the_link_cannot_carry():
    simulated, found = on_both(**{"flow.udp.rate": "20 Mbit/s"})
    assert found[0]["goodput_bps"] == pytest.approx(1470 * 8 / PACKET_S, rel=0.002)
    assert found[0]["lost_segments"] == pytest.approx(simulated[0]["lost_segments"], rel=0.02)
    assert found[0]["mean_one_way_delay_s"] == pytest.approx(0.005 + 100 * PACKET_S, rel=0.03)


def test_a_flow_with_an_end_beside_tcp():
    """400 kB and 1 byte: 273 packets, the last of 161 bytes, and 8 Mbit/s in all."""
    flows = [
        {"id": "udp", "kind": "cbr", "rate": "4 Mbit/s", "bytes": "400001 bytes", "start": "1 s"},
        {"id": "tcp", "cc": "reno", "app_rate": "3 Mbit/s"},
        {"id": "stopped", "kind": "cbr", "rate": "1 Mbit/s", "stop": "2 s"},
    ]
    simulated, found = on_both(flow=flows, stack={"preset": "linux-6.1"})
    assert [flow["id"] for flow in found] == ["udp", "tcp", "stopped"]
    assert found[0]["received_packets"] == found[0]["sent_segments"] == 273
    assert found[0]["goodput_bps"] == 400001 * 8 / 2
    # The last leaves 272 gaps of 2.94 ms after the first.
    assert 272 * 1470 * 8 / 4e6 + 0.005 < found[0]["fct_s"] < 0.82
    assert found[0]["fct_s"] == pytest.approx(simulated[0]["fct_s"], abs=0.005)
    assert found[1]["goodput_bps"] == pytest.approx(3e6, rel=0.02)
    # Of two seconds in the window it sends in one.
    assert found[2]["sent_segments"] == pytest.approx(1e6 / 8 / 1470, abs=1)


def test_what_a_kernel_cannot_do_is_refused_by_its_key():
    with pytest.raises(fairway.ExperimentError, match=r"flow\.udp\.packet: 40 bytes have no room"):
        fairway.run(EXPERIMENT, backend="linux", overrides={"flow.udp.packet": "40 bytes"})
