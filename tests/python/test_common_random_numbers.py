"""Compared variants share their randomness at the same repetition, whatever their algorithm."""

import json
import statistics
import struct
from pathlib import Path

import pytest

import fairway
from fairway.experiment.plan import plan
from fairway.stats import paired_effect, welch_effect

ALGORITHMS = ["reno", "cubic", "vegas", "bbr"]

PATH = """
duration = "20 s"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "50 packets" }
"""

LOSSY = (
    PATH
    + """
loss = { probability = 0.01 }

[[flow]]
cc = "reno"
"""
)

#: A flow of each algorithm beside traffic that arrives, pauses and varies by chance.
BUSY = (
    PATH
    + """
[[flow]]
cc = "reno"

[[flow]]
id = "files"
kind = "arrivals"
cc = "newreno"
flow_rate = 2
size = { distribution = "exponential", mean = "20 kB" }

[[flow]]
id = "gaps"
kind = "poisson"
rate = "500 kbit/s"

[[flow]]
id = "pauses"
kind = "onoff"
rate = "1 Mbit/s"
on_time = "200 ms"
off_time = "500 ms"

[[flow]]
id = "film"
kind = "vbr"
rate = "500 kbit/s"
rate_deviation = "200 kbit/s"
"""
)


def packets(path: Path):
    """Interface, time in nanoseconds, bytes and comment of each packet of a pcapng.

    Section 4.3 of draft-ietf-opsawg-pcapng: an enhanced packet block has the type 6; option 1 is
    the comment.
    """
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            interface, high, low, kept, whole = struct.unpack_from("<IIIII", data, at + 8)
            frame = data[at + 28 : at + 28 + kept]
            options, comment = at + 28 + (kept + 3) // 4 * 4, ""
            while options < at + size - 4:
                code, length = struct.unpack_from("<HH", data, options)
                if code == 0:
                    break
                if code == 1:
                    comment = data[options + 4 : options + 4 + length].decode()
                options += 4 + (length + 3) // 4 * 4
            yield interface, high << 32 | low, whole, comment, frame
        at += size


def captured(text, tmp_path, cc, place, seed=1):
    out = tmp_path / f"{cc}-{seed}"
    fairway.run(text, out=out, capture=[place], seed=seed, overrides={"flow.0.cc": cc})
    (file,) = (out / "captures").iterdir()
    return list(packets(file))


def losses(text, tmp_path, cc, seed=1):
    """Of the packets that enter the bottleneck's wire one after the other: which are lost."""
    found = captured(text, tmp_path, cc, "bottleneck@left", seed)
    # Ethernet, then the source address of IPv4. This end sees acknowledgements too, of the other.
    (sender,) = {frame[26:30] for *_, comment, frame in found if "lost on" in comment}
    # What the queue drops never gets to the wire.
    return [
        "lost on" in comment
        for *_, comment, frame in found
        if frame[26:30] == sender and "dropped by" not in comment
    ]


def test_the_same_packets_of_a_link_are_lost_whatever_sends_them(tmp_path):
    patterns = {cc: losses(LOSSY, tmp_path, cc) for cc in ALGORITHMS}
    reference = patterns["reno"]
    for cc, pattern in patterns.items():
        both = min(len(pattern), len(reference))
        # 1 % of thousands of packets.
        assert sum(pattern[:both]) >= 10, cc
        assert pattern[:both] == reference[:both], cc
    # They do not send alike, and another seed loses others.
    assert len({len(pattern) for pattern in patterns.values()}) > 1
    other = losses(LOSSY, tmp_path, "reno", seed=2)
    both = min(len(other), len(reference))
    assert other[:both] != reference[:both]


def test_traffic_is_the_same_whatever_shares_the_path(tmp_path):
    def seen(cc):
        """When each source of datagrams sent what; when each file began, and its size."""
        run = fairway.run(BUSY, overrides={"flow.0.cc": cc, "seed": 7})
        flows = [f for f in run.summary["flows"] if f["id"].split("/")[0] != "reno#0"]
        return [
            (flow["id"], flow["sent_segments"])
            for flow in flows
            if flow["id"].split("/")[0] in ("gaps", "pauses", "film")
        ], sorted(f["id"] for f in flows if f["id"].startswith("files"))

    first = seen("reno")
    assert len(first[0]) == 3
    assert len(first[1]) > 20  # 2 a second for 20 s
    for cc in ALGORITHMS[1:]:
        assert seen(cc) == first, cc


def test_points_of_a_sweep_share_the_seed_of_a_repetition():
    swept = LOSSY + f'\n[sweep]\nrepetitions = 3\n"flow.0.cc" = {json.dumps(ALGORITHMS)}\n'
    seeds: dict[int, set[int]] = {}
    for point in plan(swept).points:
        seeds.setdefault(point.repetition, set()).add(point.experiment["seed"])
    assert [len(found) for found in seeds.values()] == [1, 1, 1]
    assert len(set.union(*seeds.values())) == 3


def test_pairs_of_one_seed_differ_less_than_others():
    text = LOSSY.replace("0.01", "0.002")
    swept = text + '\n[sweep]\nrepetitions = 20\n"flow.0.cc" = ["reno", "cubic"]\n'
    found: dict[str, list[float]] = {}
    for outcome in fairway.run(swept).outcomes:
        goodput = outcome.summary["flows"][0]["goodput_bps"]
        found.setdefault(outcome.point.axes["flow.0.cc"], []).append(goodput)
    first, second = found.values()
    paired, unpaired = paired_effect(first, second), welch_effect(first, second)
    assert paired.mean == pytest.approx(unpaired.mean)
    # Which packets are lost decides most of a repetition's goodput, and is the same for both.
    assert 0 < paired.error < unpaired.error / 2
    assert statistics.correlation(first, second) > 0.5
