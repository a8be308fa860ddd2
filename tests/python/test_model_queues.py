"""Models of queues: the function and the command."""

import json

import pytest
from typer.testing import CliRunner

from fairway.cli.main import program
from fairway.errors import InputError
from fairway.model.queues import queue
from fairway.model.streams import RedQueue


def asked(*options):
    return CliRunner().invoke(program(), ["model", "queue", *options])


def test_buffers():
    # 1 Gbit/s, 100 ms, 1500 bytes: 8333 packets; a tenth for 100 flows; 3/7 of it for CUBIC.
    found = queue(rate="1 Gbit/s", rtt="100 ms", flows=100, cc="cubic")["buffers"]
    assert found["bdp_packets"] == pytest.approx(8333.333)
    assert found["desynchronised_packets"] == pytest.approx(833.3333)
    assert found["single_stream_packets"] == pytest.approx(3571.43)
    assert queue(rate=1e9, rtt=0.1, cc="bbr")["buffers"]["single_stream_packets"] == 0


def test_waiting():
    # 100 packets/s at a load of 0.8: 0.8 + 0.64/0.4 = 2.4 and 0.8/0.2 = 4 packets.
    found = queue(rate=1.2e6, load="80 %", room=10**18)["waiting"]
    assert found["md1"]["packets"] == pytest.approx(2.4)
    assert found["mm1"]["delay_s"] == pytest.approx(0.05)
    assert found["mm1k"]["packets"] == pytest.approx(4)
    full = queue(rate=1.2e6, load=1, room=10)["waiting"]
    assert (full["mm1"]["packets"], full["mm1"]["in_range"]) == (None, False)
    assert full["mm1k"]["packets"] == pytest.approx(5)
    assert full["mm1k"]["blocked"] == pytest.approx(1 / 11)


def test_red_and_codel():
    # 10 Mbit/s of 1000 bytes, 200 ms: 10.9 packets with ten Renos, 17.5 with thirty.
    for flows, packets in ((10, 10.9), (30, 17.5)):
        red = RedQueue(10, 50, 0.1)
        found = queue(rate="10 Mbit/s", packet=1000, rtt="200 ms", flows=flows, red=red)["red"]
        assert found["queue_packets"] == pytest.approx(packets, abs=0.05)
    found = queue(rate="10 Mbit/s", packet=1000, target="20 ms", interval="100 ms")
    assert found["adaptive_red"]["weight"] == pytest.approx(7.997e-4, rel=1e-4)
    assert found["codel"]["drops_s"][:4] == pytest.approx([0, 0.1, 0.17071, 0.22845], abs=1e-5)


def test_the_command():
    every = ("--rate", "10 Mbit/s", "--rtt", "200 ms", "--load", "1.2", "--room", "50", "--red",
             "10:50:0.1", "--target", "20 ms", "--interval", "100 ms")  # fmt: skip
    done = asked(*every)
    assert done.exit_code == 0
    assert all(len(line) <= 80 for line in done.output.splitlines())
    assert "M/M/1/K" in done.output
    assert set(json.loads(asked(*every, "--json").output)) == {
        "buffers", "waiting", "red", "adaptive_red", "codel"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "nothing is asked"),
        (("--rtt", "0 ms"), "round-trip time"),
        (("--load", "-1"), "load: expected"),
        (("--load", "0"), "arrivals"),
        (("--load", "nan"), "load: expected"),
        (("--room", "3", "--rtt", "1 s"), "--room: needs a load"),
        (("--load", "1", "--room", "0"), "room: expected"),
        (("--red", "1:2:0.1", "--load", "1"), "--red: needs"),
        (("--rtt", "1 s", "--flows", "0"), "flows: expected"),
        (("--rtt", "1 s", "--packet", "0"), "packet: expected"),
        (("--rtt", "1 s", "--cc", "mine"), "cc: no model"),
        (("--target", "0 s"), "target of the delay"),
        (("--interval", "0 s"), "interval in seconds"),
    ],
)
def test_mistakes_are_told(options, expected):
    done = asked("--rate", "1 Mbit/s", *options)
    assert isinstance(done.exception, InputError)
    assert expected in str(done.exception)
