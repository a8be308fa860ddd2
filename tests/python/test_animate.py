"""Animations: the data that a page plays, worked out by hand, and what cannot be played."""

import contextlib
import itertools
import json
import os
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

import fairway
from conftest import SMALL, command
from fairway.capture.animation.crossings import Fate, Kind, traffic
from fairway.capture.animation.pcapng import Interface, Packet
from fairway.capture.animation.scene import MOST_CROSSINGS, positions
from fairway.errors import InputError

MS = 1_000_000
#: One flow, nothing but a link: at 1 Mbit/s a byte takes 8 µs.
ONE = """\
title    = "One link"
duration = "1 s"
seed     = 1

[stack]
preset = "linux-6.1"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "1 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "4 packets" }

[[flow]]
id = "only"
cc = "reno"
"""
TWO_WAYS = """
[[flow]]
kind      = "cbr"
id        = "back"
rate      = "100 kbit/s"
direction = "reverse"
"""


def scene_of(page):
    found = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def rows(scene):
    """The packets on links as mappings, in the order in which they are offered."""
    columns = scene["packets"]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


@pytest.fixture(scope="module")
def one():
    return scene_of(fairway.animate(ONE, end=0.1))


def test_the_first_packets_are_where_arithmetic_has_them(one):
    # SYN and SYN-ACK have 60 bytes (20 of IP, 20 of TCP, 20 of options), which take 0.48 ms; the
    # ACK has 52, 0.416 ms; a full segment 1500, 12 ms. Then everything travels for 10 ms.
    forward, back = [d[1:3] for d in one["directions"]]
    assert (forward, back) == (["left", "right"], ["right", "left"])
    syn, answer, ack, *data = rows(one)[:6]
    assert [syn["kind"], answer["kind"], ack["kind"]] == [Kind.CONTROL, Kind.CONTROL, Kind.ACK]
    assert [p["bytes"] for p in (syn, answer, ack)] == [60, 60, 52]
    assert (syn["offered"], syn["wait"], syn["travel"]) == (0, 0, 10.48 * MS)
    assert (answer["offered"], answer["wait"], answer["travel"]) == (10.48 * MS, 0, 10.48 * MS)
    assert (ack["offered"], ack["wait"], ack["travel"]) == (20.96 * MS, 0, 10.416 * MS)
    # The first segments follow at once, each after the transmission of those before it.
    assert [p["offered"] for p in data] == [20.96 * MS] * 3
    assert [p["wait"] for p in data] == [0.416 * MS, 12.416 * MS, 24.416 * MS]
    assert [p["travel"] for p in data] == [22 * MS] * 3
    assert [p["number"] for p in data] == [0, 1448, 2896]
    assert [p["direction"] for p in (syn, answer, ack)] == [0, 1, 0]


def test_what_the_queue_has_no_room_for_is_dropped(one):
    # The initial window is 10 segments (RFC 6928). The ACK and three segments fill the queue.
    at_once = [p for p in rows(one) if p["offered"] == 20.96 * MS and p["bytes"] == 1500]
    assert [p["fate"] for p in at_once] == [Fate.ARRIVED] * 3 + [Fate.DROPPED] * 7
    assert all(p["wait"] == p["travel"] == 0 for p in at_once[3:])


def test_data_sent_again_is_told_from_new_data():
    sent = [p for p in rows(scene_of(fairway.animate(ONE, end=0.8))) if p["direction"] == 0]
    seen = set()
    for packet in sent:
        if packet["kind"] in (Kind.DATA, Kind.RETRANSMISSION):
            is_again = packet["number"] in seen
            assert (packet["kind"] == Kind.RETRANSMISSION) == is_again
            seen.add(packet["number"])
    assert Counter(p["kind"] for p in sent)[Kind.RETRANSMISSION] >= 7


def test_every_drop_and_loss_of_the_run_is_there(tmp_path):
    text = ONE.replace(
        'limit = "4 packets" }', 'limit = "4 packets" }\nloss = { probability = 0.02 }'
    )
    text = text.replace('"1 s"', '"20 s"')
    run = fairway.run(text)
    shown = scene_of(fairway.animate(text, end=20))
    link = next(link for link in run.summary["links"] if link["id"] == "bottleneck")
    fates = Counter(p["fate"] for p in rows(shown) if p["direction"] == 0)
    assert link["losses"] > 0
    assert (fates[Fate.DROPPED], fates[Fate.LOST]) == (link["drops"], link["losses"])


def test_a_link_never_sends_two_packets_at_once():
    text = ONE.replace(
        'limit = "4 packets" }', 'limit = "4 packets" }\nloss = { probability = 0.02 }'
    )
    shown = scene_of(fairway.animate(text + TWO_WAYS, end=1))
    for direction in (0, 1):
        free = 0
        for packet in rows(shown):
            if packet["direction"] != direction or packet["fate"] == Fate.DROPPED:
                continue
            begins = packet["offered"] + packet["wait"]
            # Times are whole nanoseconds, and what rounding leaves is carried on.
            assert begins >= free - 1
            free = begins + packet["bytes"] * 8_000


def test_flows_have_their_names_and_samples(one):
    scene = scene_of(fairway.animate(ONE + TWO_WAYS, start="0.2 s", end="0.4 s"))
    assert [(flow["id"], flow["cc"]) for flow in scene["flows"]] == [
        ("only", "reno"),
        ("back", None),
    ]
    only = scene["flows"][0]
    assert only["t_s"][0] <= 0.2 < only["t_s"][1]
    assert only["t_s"][-1] <= 0.4
    assert len({len(only[name]) for name in ("t_s", "cwnd", "ssthresh", "flight", "srtt_ms")}) == 1
    # The window that is shown is that of the run at that time.
    sampled = fairway.run(ONE + TWO_WAYS, overrides={"measure.sample": "100 ms"}).series
    at = sampled.filter((sampled["t_s"] == 0.3) & (sampled["flow"] == "only"))
    shown = max(k for k, t in enumerate(only["t_s"]) if t <= 0.3)
    assert only["cwnd"][shown] == at["cwnd_segments"][0]
    datagrams = [p for p in rows(scene) if p["kind"] == Kind.DATAGRAM]
    assert {p["flow"] for p in datagrams} == {1}
    assert {p["direction"] for p in datagrams} == {
        k for k, d in enumerate(scene["directions"]) if d[1] == "right"
    }


def place(name, speed=None):
    return Interface(name, "", speed)


def test_a_lost_packet_is_sent_after_the_one_before_it_and_a_copy_follows_its_original():
    # 1000 bytes at 8 Mbit/s take 1 ms, and the link 5 ms.
    host, enters, leaves = place("a"), place("ab@a", 8_000_000), place("ab@b")
    comments = {1: "fairway: lost on ab"}

    def packet(number, at_ms, where, *, is_inbound=False, comment=""):
        ends = (1, 50_000, 2, 43_000)
        return Packet(
            int(at_ms * MS), where, is_inbound, ends, number, 1000, 972, False, 0, 0, 0, comment
        )

    packets = [packet(number, 0, host) for number in range(3)]
    packets += [packet(number, 0, enters, comment=comments.get(number, "")) for number in range(3)]
    packets += [packet(0, 6, leaves, is_inbound=True), packet(2, 8, leaves, is_inbound=True)]
    packets += [packet(2, 9, leaves, is_inbound=True)]
    (direction,) = traffic(packets).directions
    assert (direction.source, direction.target, direction.delay_ns) == ("a", "b", 5 * MS)
    found = [
        (c.packet.ip_id, c.fate, c.sent_ns / MS, c.arrived_ns / MS) for c in direction.crossings
    ]
    assert found == [
        (0, Fate.ARRIVED, 0, 6),
        (1, Fate.LOST, 1, 7),
        (2, Fate.ARRIVED, 2, 8),
        (2, Fate.ARRIVED, 3, 9),
    ]


def test_senders_stand_on_the_left_and_receivers_on_the_right():
    stubs = [("s0", "left"), ("s1", "left"), ("d0", "right"), ("d1", "right")]
    hosts = [host for host, _ in stubs]
    at = positions([("left", "right")], stubs, ["s0", "s1"], hosts)
    across = [at[name][0] for name in ("s0", "left", "right", "d0")]
    assert across == sorted(set(across))
    assert (across[0], across[-1]) == (0, 1)
    assert (at["s1"][0], at["d1"][0]) == (0, 1)
    assert {at["s0"][1], at["s1"][1]} == {0.25, 0.75}
    assert at["left"][1] == at["right"][1] == 0.5


def test_a_flow_against_the_others_does_not_move_its_hosts():
    stubs = [("s0", "left"), ("s1", "left"), ("d0", "right"), ("d1", "right")]
    at = positions([("left", "right")], stubs, ["s0", "d1"], [host for host, _ in stubs])
    assert (at["s0"][0], at["s1"][0], at["d0"][0], at["d1"][0]) == (0, 0, 1, 1)


def test_around_one_router_senders_stand_on_the_left():
    links = [("h0", "switch"), ("h1", "switch"), ("h2", "switch")]
    at = positions(links, [], ["h0", "h2"], ["h0", "h1", "h2"])
    assert [at[name][0] for name in ("h0", "h2", "switch", "h1")] == [0, 0, 0.5, 1]


def test_the_links_of_a_chain_are_in_a_row():
    links = "".join(
        f"""
[[topology.link]]
rate  = "{rate} Mbit/s"
delay = "10 ms"
"""
        for rate in (3, 2, 1)
    )
    head, flow = ONE.partition("[topology]")[0], ONE.partition("[[flow]]")[2]
    scene = scene_of(
        fairway.animate(f'{head}[topology]\nkind = "chain"\n{links}[[flow]]{flow}', end=0.3)
    )
    row = ["s0", "left", "n1", "n2", "right", "d0"]
    assert sorted(scene["nodes"], key=lambda node: node[1]) == scene["nodes"]
    assert [node[0] for node in scene["nodes"]] == row
    assert {tuple(edge[1:]) for edge in scene["edges"] if edge[0]} == set(
        itertools.pairwise(row[1:-1])
    )


@pytest.mark.parametrize("name", ["parking-lot", "routes", "wlan", "lte", "impairments", "trace"])
def test_every_kind_of_network_is_played(name):
    path = Path(__file__).parents[2] / "examples" / f"{name}.toml"
    if not path.is_file():
        pytest.skip("this is not a source tree")
    scene = scene_of(fairway.animate(path, end="0.5 s"))
    names = {node[0] for node in scene["nodes"]}
    assert {end for _, *ends in scene["edges"] for end in ends} == names
    assert len({tuple(node[1:3]) for node in scene["nodes"]}) == len(names)
    for _, source, target, edge in scene["directions"]:
        assert set(scene["edges"][edge][1:]) == {source, target}
    assert all(p["wait"] >= 0 and p["travel"] >= 0 for p in rows(scene))
    assert len(scene["packets"]["flow"]) > 50


def test_the_same_run_gives_the_same_bytes_and_its_directory_the_same_packets(tmp_path):
    first, again = (fairway.animate(ONE, end="0.5 s") for _ in range(2))
    assert first == again
    fairway.run(ONE, tmp_path / "run", capture="everything")
    kept = scene_of(fairway.animate(tmp_path / "run", end="0.5 s"))
    made = scene_of(first)

    def fields(scene):
        # What is on its way at the end of a run, nobody has seen arrive.
        return [r for r in rows(scene) if r["offered"] + r["wait"] + r["travel"] < 0.5e9]

    assert fields(kept) == fields(made)
    assert kept["nodes"] == made["nodes"]


def test_a_flow_that_starts_later_is_no_obstacle():
    late = '\n[[flow]]\ncc = "cubic"\nstart = "0.9 s"\n'
    alone = scene_of(fairway.animate(ONE, end="0.2 s"))["packets"]
    assert scene_of(fairway.animate(ONE + late, end="0.2 s"))["packets"] == alone
    soon = late + '\n[[flow]]\ncc = "reno"\n'
    both = scene_of(fairway.animate(ONE + soon, end="0.2 s"))["packets"]
    assert set(both["flow"]) == {0, 2}


def test_what_cannot_be_played_says_what_to_do(tmp_path):
    with pytest.raises(fairway.InputError, match="is not after --from"):
        fairway.animate(ONE, start="2 s", end="1 s")
    with pytest.raises(fairway.InputError, match="is not before the run's end, 1 s"):
        fairway.animate(ONE, start="2 s")
    with pytest.raises(fairway.InputError, match="no packet crosses a link"):
        fairway.animate(ONE.replace('"reno"', '"reno"\nbytes = "5 kB"'), start="0.9 s")
    fairway.run(SMALL, tmp_path / "bare")
    with pytest.raises(fairway.InputError, match="--capture everything"):
        fairway.animate(tmp_path / "bare")
    with pytest.raises(fairway.InputError, match="--set and --seed go with experiment files"):
        fairway.animate(tmp_path / "bare", overrides={"seed": 2})
    fairway.run(SMALL, tmp_path / "old", capture="everything", overrides={"capture.format": "pcap"})
    with pytest.raises(fairway.InputError, match="classic pcap does not say"):
        fairway.animate(tmp_path / "old")


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """The directory of a run that can be played."""
    place = tmp_path_factory.mktemp("played") / "run"
    fairway.run(ONE, place, overrides={"capture.at": "everything"})
    return place


def block(kind, length):
    return kind.to_bytes(4, "little") + length.to_bytes(4, "little") + bytes(4)


#: What a capture of somebody else may be.
DAMAGES = {
    "nothing": lambda _: b"",
    "a block without end": lambda content: content + block(99, 0),
    "places without end": lambda content: content + block(1, 0),
    "a block of four bytes": lambda content: content + block(99, 4),
    "a block beyond the file": lambda content: content + block(99, 1 << 31),
    "half": lambda content: content[: len(content) // 2 + 3],
    "a name that is no text": lambda content: content.replace(b"s0", b"\xff\xfe"),
    "no directions": lambda content: content.replace(bytes((2, 0, 4, 0)), bytes((9, 0, 4, 0))),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_captures_are_refused(captured, tmp_path, name):
    place = tmp_path / "run"
    shutil.copytree(captured, place)
    changed = 0
    for path in (place / "captures").iterdir():
        content = path.read_bytes()
        path.write_bytes(DAMAGES[name](content))
        changed += path.read_bytes() != content
    assert changed
    with pytest.raises(InputError, match="the capture is damaged or cut; capture again"):
        fairway.animate(place)


@pytest.mark.parametrize("how", ["gone", "pipe"])
def test_captures_without_that_of_a_host_are_refused(captured, tmp_path, how):
    place = tmp_path / "run"
    shutil.copytree(captured, place)
    path = place / "captures" / "s0.pcapng"
    path.unlink()
    if how == "pipe":
        os.mkfifo(path)
    says = "not a regular file" if how == "pipe" else "ns that no host has sent"
    with pytest.raises(InputError, match=says):
        fairway.animate(place)


@pytest.mark.parametrize("seed", range(30))
def test_captures_with_other_bytes_are_played_or_refused(captured, tmp_path, seed):
    draw = random.Random(seed)
    place = tmp_path / "run"
    shutil.copytree(captured, place)
    path = draw.choice(sorted((place / "captures").iterdir()))
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 3, 20])):
        content[draw.randrange(min(len(content), 4000))] = draw.choice([0, 1, 127, 255])
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        assert scene_of(fairway.animate(place))["packets"]


def test_too_many_packets_are_refused_with_a_time_that_fits():
    fast = ONE.replace('"1 Mbit/s"', '"1 Gbit/s"').replace('"4 packets"', '"1.0 bdp"')
    with pytest.raises(fairway.InputError, match=f"a page holds {MOST_CROSSINGS:,}") as refused:
        fairway.animate(fast, end="1 s")
    until = re.search(r'--to "(.+?)"', str(refused.value))[1]
    shown = len(scene_of(fairway.animate(fast, end=until))["packets"]["flow"])
    assert MOST_CROSSINGS / 2 < shown <= MOST_CROSSINGS


def test_the_command_writes_a_page(tmp_path):
    (tmp_path / "one.toml").write_text(ONE)
    done = command("animate", "one.toml", "--to", "0.2 s", "--set", "flow.0.cc=cubic",
                   "--out", "page.html", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.strip() == "Animation: page.html"
    page = (tmp_path / "page.html").read_text()
    assert scene_of(page)["flows"][0]["cc"] == "cubic"
    assert "http" not in re.sub(r"<meta http-equiv", "", page)
