"""`fairway agree --first-difference`: captures made by hand, and the simulator beside a kernel."""

import gc
import json
import struct
from importlib.resources import files

import pytest

import fairway
from conftest import ScriptedBackend, run_of
from fairway.backends.linux import cache
from fairway.backends.linux.backend import Linux
from fairway.backends.sim import Simulator
from fairway.cli import main as cli
from fairway.compare.agree import parting
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml
from fairway.experiment.scenarios import merged
from fairway.results.captures import new_directory

EXPERIMENT = """
title = "one"
duration = "2 s"
seed = 1
[stack]
preset = "linux-6.1"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", limit = "20 packets" }
[[flow]]
cc = "reno"
"""
#: One packet in twenty is lost on a path of 0.4 ms: timeouts, probes, undone reductions.
LOSSY = """
title = "lossy"
duration = "2 s"
seed = 1
[stack]
preset = "linux-6.1"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "100 Mbit/s"
delay = "0.2 ms"
loss = { kind = "bernoulli", probability = 0.05 }
queue = { kind = "droptail", limit = "100 packets" }
[[flow]]
cc = "cubic"
"""
SYN, PSH, ACK = 2, 8, 16
#: What the sentence says of every comparison of TCP.
FIELDS = (
    "Compared: direction, sequence and acknowledgement numbers, length, flags but PSH, and SACK "
    "blocks. Not compared: times, windows, other TCP options, IP headers and content."
)
#: First sequence numbers of both ends; the second side's opener begins just before 2³².
FIRST = {"ours": (100, 900), "theirs": (2**32 - 1, 7)}


def packet(side, at_us, forward, seq, ack, length, flags):
    """A record of a pcap file of raw IP: numbers count from the SYNs'."""
    own, other = (0, 1) if forward else (1, 0)
    first = FIRST[side]
    ports = (50_000, 42_000) if forward else (42_000, 50_000)
    hosts = (b"\x0a\x0a\x00\x01", b"\x0a\x14\x00\x01")
    source, sink = hosts if forward else hosts[::-1]
    tcp = struct.pack(
        ">HHIIBBHHH", *ports, (first[own] + seq) % 2**32, (first[other] + ack) % 2**32, 5 << 4,
        flags, 500, 0, 0,
    )  # fmt: skip
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + length, 0, 0, 64, 6, 0, source, sink)
    data = ip + tcp + bytes(length)
    header = struct.pack("<IIII", at_us // 10**6, at_us % 10**6, len(data), len(data))
    return header + data


#: A record of an ICMP echo request.
PING = struct.pack("<IIII", 0, 1200, 28, 28) + struct.pack(
    ">BBHHHBBH4s4sBBHI", 0x45, 0, 28, 0, 0, 64, 1, 0, b"\x0a\x00\x00\x01", b"\x0a\x14\x00\x01",
    8, 0, 0, 0,
)  # fmt: skip


def scripted(name, packets, host="s0", extra=()):
    """A backend whose runs have one capture of these packets, and empty ones at more hosts."""

    def act(experiment, control):
        directory = new_directory()
        wanted = {**experiment, "flow": experiment["flow"] * 2}
        run = run_of(wanted, [1e6, 1e6], captures=directory)
        begin = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)
        (directory.path / f"{host}.pcap").write_bytes(begin + b"".join(packets))
        for other in extra:
            (directory.path / f"{other}.pcap").write_bytes(begin)
        return run

    backend = ScriptedBackend(act)
    backend.name = name
    return backend


def handshake(side, at_us=0):
    return [
        packet(side, at_us, True, 0, 0, 0, SYN),
        packet(side, at_us + 1000, False, 0, 1, 0, SYN | ACK),
        packet(side, at_us + 1000, True, 1, 1, 0, ACK),
        packet(side, at_us + 1000, True, 1, 1, 1000, ACK),
    ]


def compared(ours, theirs, extra=(), **more):
    sides = [scripted("ours", ours, extra=extra), scripted("theirs", theirs)]
    return parting.first_difference(EXPERIMENT, against=sides, **more)


def test_where_two_captures_part():
    acked = [packet("ours", 2000, False, 1, 1001, 0, ACK)]
    ours = [*handshake("ours"), *acked, packet("ours", 2000, True, 1001, 1, 1000, ACK)]
    theirs = [
        *handshake("theirs", 3),
        packet("theirs", 2003, False, 1, 1001, 0, ACK),
        packet("theirs", 2004, True, 1001, 1, 400, ACK | PSH),
    ]
    found = compared(ours, theirs)
    assert (found.host, found.packets, found.agrees) == ("s0", (6, 6), False)
    first = [side[0] for side in found.parting["after"]]
    assert [(one["at_ns"], one["seq"], one["bytes"]) for one in first] == [
        (2_000_000, 1001, 1000),
        (2_004_000, 1001, 400),
    ]
    assert found.parting["same"] == 5 and len(found.parting["before"]) == 5
    assert found.sentence() == (
        "ours and theirs part at host s0 in connection 0, after 5 packets of it that are the same, "
        f"at 2.000 ms of ours and 2.004 ms of theirs. {FIELDS}"
    )
    before, left, right = found.tables()
    assert before.rows[0] == ["0.000", "→", "SYN", "0", "0", "–", "500", ""]
    assert left.rows == [["2.000", "→", "ACK", "1001", "1000", "1", "500", ""]]
    assert right.rows == [["2.004", "→", "PSH ACK", "1001", "400", "1", "500", ""]]


def test_the_same_packets(temporary):
    found = compared(handshake("ours"), handshake("theirs", 7))
    gc.collect()
    assert list(temporary.iterdir()) == []
    assert (found.agrees, found.tables()) == (True, [])
    assert found.sentence() == (
        "ours and theirs show the same 4 TCP segments at host s0, from 0.000 to 1.007 ms. " + FIELDS
    )
    plain = found.to_json()
    assert plain["parting"] is None
    assert plain["compared"] == {
        "hosts": ("s0",), "left_out": ((), ()), "segments": 4, "datagrams": 0, "other": (0, 0),
        "alone": (0, 0), "span_ns": (0, 1_007_000),
    }  # fmt: skip


def test_what_was_left_aside_is_told():
    last = packet("ours", 1500, True, 1001, 1, 1000, ACK)
    found = compared([*handshake("ours"), PING, last], handshake("theirs"), extra=["s1", "s2"])
    assert (found.agrees, found.packets) == (True, (6, 4))
    assert found.sentence() == (
        f"ours and theirs show the same 4 TCP segments at host s0, from 0.000 to 1.500 ms. {FIELDS}"
        " Left aside: 1 packet on ours, of other protocols than TCP and UDP. Left aside: 1 packet "
        "on ours, in the last millisecond. Left aside: hosts that ours alone captured: s1, s2."
    )


def test_a_side_that_falls_silent():
    acked = [packet("ours", at, False, 1, 1001, 0, ACK) for at in (2000, 2001, 4000)]
    theirs = packet("theirs", 2000, False, 1, 1001, 0, ACK)
    found = compared([*handshake("ours"), *acked], [*handshake("theirs"), theirs])
    assert "at 2.001 ms of ours (nothing follows on theirs)." in found.sentence()


def test_what_cannot_be_compared():
    ours = scripted("ours", handshake("ours"))
    with pytest.raises(InputError, match="backends ours: expected two"):
        parting.first_difference(EXPERIMENT, against=[ours])
    elsewhere = scripted("theirs", handshake("theirs"), host="d0")
    with pytest.raises(InputError, match="captures of s0 and d0: no host is in both"):
        parting.first_difference(EXPERIMENT, against=[ours, elsewhere])
    sweep = EXPERIMENT + '[sweep]\n"flow.0.cc" = ["reno", "cubic"]\n'
    with pytest.raises(InputError, match=r"varies flow\.0\.cc; compare one point"):
        parting.first_difference(sweep, against=[ours, elsewhere])


def test_the_simulator_sends_the_same_packets_twice():
    again = Simulator()
    again.name = "again"
    found = fairway.first_difference(EXPERIMENT, against=["sim", again])
    assert found.agrees and found.packets[0] == found.packets[1] > 1000
    # Another seed of a lossy path parts, in the flow that the ports tell.
    lossy = {"topology.bottleneck.loss": {"kind": "bernoulli", "probability": 0.02}}
    run = again.run
    again.run = lambda experiment, *more: run({**experiment, "seed": 2}, *more)
    found = fairway.first_difference(EXPERIMENT, against=["sim", again], overrides=lossy)
    assert (found.agrees, found.flow) == (False, "reno#0")


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(EXPERIMENT)
    assert cli.guarded(["agree", "one.toml", "--first-difference", "--seeds", "3"]) == 2
    assert "--seeds: of no use" in capsys.readouterr().err
    assert cli.guarded(["agree", "one.toml", "--first-difference", "--against", "sim,model"]) == 2
    assert "no host is in both" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [tmp_path / "one.toml"]


@pytest.fixture
def kernel():
    """A kernel with Fairway's network."""
    found = cache.find()
    if found is None or not found.virtual_time or not found.has_network:
        pytest.skip("no kernel with Fairway's network: `fairway linux build` makes one")
    return found


def test_a_preset_of_another_release_is_told(kernel, tmp_path):
    other = "linux-6.12" if kernel.release.startswith("6.1.") else "linux-6.1"
    changes = {"duration": "1 s", "stack.preset": other}
    found = fairway.first_difference(EXPERIMENT, overrides=changes)
    assert f"The preset is {other}, the kernel is Linux {kernel.release}: " in found.sentence()
    assert found.to_json()["caution"] == found.caution
    agreement = fairway.agree(EXPERIMENT, tmp_path / "out", overrides=changes, seeds=2)
    assert found.caution in agreement.remarks()
    assert agreement.to_json()["points"][0]["caution"] == found.caution


def test_packets_of_one_instant(kernel):
    document = parse_toml(EXPERIMENT, "experiment")
    document["duration"] = "240 ms"
    document["topology"]["bottleneck"] = {
        "trace": "opportunities 20x20 30x20",
        "delay": "25 ms",
        "queue": {"kind": "droptail", "limit": "100 packets"},
    }
    found = fairway.first_difference(document)
    assert found.agrees, found.sentence()
    assert found.packets[0] > 90


@pytest.mark.parametrize(
    ("network", "cc", "packets"),
    [
        *(("drophead", cc, 70_000) for cc in ("scalable", "yeah", "illinois", "bic")),
        # Packets of one instant: RACK's search, a writer held, short segments in the window.
        *(("trace", cc, 30_000) for cc in ("reno", "scalable", "vegas", "illinois")),
        # A slot of a radio depends on nanoseconds.
        *(("wlan", cc, 180_000) for cc in ("reno", "hybla", "yeah")),
        # Three sources; what they know of time is in microseconds.
        *(("bottlenecks", cc, 110_000) for cc in ("cubic", "dctcp")),
        # A path that reorders lets SACKed data grow the window.
        *(("reordering", cc, 70_000) for cc in ("reno", "westwood+")),
        # Marks: the end of an episode, what confirms it, and what it does not measure.
        *(("ecn", cc, 60_000) for cc in ("scalable", "bic", "illinois")),
        # Memory of a sender that waits, and of packets out of order; windows in packets.
        *((network, "hybla", 50_000) for network in ("trace", "codel", "pie")),
        # How modules begin, and what they make of a recovery's end.
        ("codel", "htcp", 70_000),
        ("policer", "veno", 45_000),
    ],
)
def test_the_same_packets_for_thirty_seconds(kernel, network, cc, packets):
    sets = parse_toml((files("fairway.compare.agree") / "networks.toml").read_text("utf-8"), "set")
    document = merged(sets["base"], sets["scenario"][network])
    found = fairway.first_difference(document, overrides={"flow.0.cc": cc})
    assert found.agrees, found.sentence()
    assert found.packets[0] > packets


def test_a_flow_is_named_behind_one_of_datagrams(kernel):
    document = parse_toml(EXPERIMENT, "experiment")
    datagrams = {"id": "udp", "kind": "cbr", "rate": "1 Mbit/s"}
    document["flow"] = [datagrams, {"id": "tcp", "cc": "reno"}]

    class Another(Linux):
        """A kernel that is asked for another algorithm, so that TCP parts."""

        def run(self, experiment, *rest):
            changed = {**experiment, "flow": [datagrams, {"id": "tcp", "cc": "cubic"}]}
            return super().run(changed, *rest)

    found = fairway.first_difference(document, against=["sim", Another()])
    assert found.flow == "tcp"


def test_dctcp_asks_for_marks_by_itself(kernel):
    changes = {"flow.0.cc": "dctcp", "topology.bottleneck.queue": {"kind": "fq_codel"}}
    ours, real = (
        fairway.run(parse_toml(EXPERIMENT, "experiment"), overrides=changes, backend=name)
        for name in ("sim", "linux")
    )
    for run in (ours, real):
        flow = run.summary["flows"][0]
        assert flow["lost_segments"] == 0
        assert flow["window_reductions"] > 10


def test_a_kernel_sends_what_the_simulator_sends(kernel, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lossy.toml").write_text(LOSSY)
    command = ["agree", "lossy.toml", "--first-difference", "--check", "--json", "--quiet"]
    assert cli.guarded(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parting"] is None and found["assumed"] == {"stack.header_room": "192 bytes"}
    assert found["packets"][0] == found["packets"][1] > 5_000
