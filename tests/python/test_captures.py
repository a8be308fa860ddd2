"""Captures of simulated runs, as other programs read them."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import fairway
from conftest import SMALL, command
from fairway import ExperimentError, InputError, _core

EXAMPLES = Path(__file__).parents[2] / "examples"

LINK = """\
title = "Captured"
duration = "3 s"
seed = 5
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "2 Mbit/s"
delay = "10 ms"
queue = {queue}
{more}
[stack]
preset = "{preset}"
{stack}
{flows}
[capture]
at = "everything"
files = "one"
snap = "65536 bytes"
"""
SHORT = '{ kind = "droptail", limit = "8 packets" }'
ONE = '[[flow]]\ncc = "reno"\n'
PRESETS = [preset["name"] for preset in json.loads(_core.presets())]


def link(
    preset: str = "linux-6.1",
    *,
    queue: str = SHORT,
    more: str = "",
    stack: str = "",
    flows: str = ONE,
) -> str:
    return LINK.format(preset=preset, queue=queue, more=more, stack=stack, flows=flows)


EVERYTHING = {"at": "everything", "files": "one", "snap": "65536 bytes"}
MARKING = '{ kind = "codel", limit = "40 packets", ecn = true }'
CASES = {
    **{f"preset {name}": link(name) for name in PRESETS},
    "access links": link(more='[topology.access]\nrate = "100 Mbit/s"\ndelay = "1 ms"'),
    "losses": link(more='loss = { probability = 0.05, direction = "both" }'),
    "damage": link(
        more="corruption = { probability = 0.05 }\nduplication = { probability = 0.05 }"
    ),
    "another order": link(more='reordering = { probability = 0.05, delay = "20 ms" }'),
    "jitter of hosts": link(queue=MARKING, stack='send_jitter = "100 us"'),
    "ECN": link(queue=MARKING, stack="ecn = true"),
    "accurate ECN": link(queue='{ kind = "dualpi2" }', stack='ecn = "accurate"'),
    "both ways": link(flows='[[flow]]\ncc = "cubic"\nboth_ways = true\nbytes = "200 kB"\n'),
    "against": link(flows=f'{ONE}[[flow]]\ncc = "cubic"\ndirection = "reverse"\n'),
    "datagrams": link(
        flows=f'{ONE}[[flow]]\nkind = "poisson"\nrate = "1 Mbit/s"\nprecedence = 5\n'
    ),
    "requests": link(
        flows='[[flow]]\nkind = "request"\ncc = "cubic"\nsize = "20 kB"\nthink = "100 ms"\n'
    ),
    "no options": link(stack="sack = false\ntimestamps = false\nwindow_scaling = false"),
    "SACK without timestamps": link(stack="timestamps = false"),
}


def tshark(file: Path, *fields: str, only: str = "") -> list[list[str]]:
    """Values of fields of every packet, checksums checked."""
    if shutil.which("tshark") is None:
        pytest.skip("no tshark here: apt-get install tshark")
    checks = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
    done = subprocess.run(
        ["tshark", "-r", file, "-n", *checks, "-Tfields", *(f"-e{field}" for field in fields),
         *(("-Y", only) if only else ())],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.split("\t") for line in done.stdout.splitlines()]


#: Severity of what is wrong in a packet, and not only remarkable (Wireshark's `proto.h`).
ERROR = 0x800000
#: What a whole packet is checked by; what it is compared with a run by.
OF_A_PACKET = ("ip.checksum.status", "tcp.checksum.status", "udp.checksum.status",
               "_ws.malformed", "_ws.expert.severity")  # fmt: skip
OF_A_RUN = ("frame.interface_name", "frame.comment", "frame.packet_flags_direction", "tcp.len",
            "tcp.flags.fin", "udp.length")  # fmt: skip


def check_whole(packets: list[list[str]], *, are_payloads_there: bool) -> None:
    """No packet is malformed, and every checksum that can be checked is right."""
    assert len(packets) > 100
    for ip, tcp, udp, malformed, severities, *_ in packets:
        assert ip == "1"  # good
        assert (tcp or udp) == "1" or (not are_payloads_there and (tcp or udp) == "2")
        assert malformed == ""
        assert all(int(severity) < ERROR for severity in severities.split(",") if severity)


def check_against(run: fairway.Run, packets: list[list[str]]) -> None:
    """Packets at hosts, drops and losses are those of the summary, over the whole run."""
    seen = [packet[-len(OF_A_RUN) :] for packet in packets]
    comments = Counter(comment for _, comment, *_ in seen if comment)
    for of in run.summary["links"]:
        assert comments.pop(f"fairway: dropped by the queue of {of['id']}", 0) == of["drops"]
        assert comments.pop(f"fairway: lost on {of['id']}", 0) == of["losses"]
    assert all(comment.startswith("fairway: corrupted on") for comment in comments)
    # 2 is outbound; interfaces without @ are hosts. A FIN alone is a segment that is sent, too.
    sent = [
        None
        for interface, _, direction, tcp, fin, udp in seen
        if int(direction, 0) == 2 and "@" not in interface and (int(tcp or 0) or is_set(fin) or udp)
    ]
    assert len(sent) == sum(flow["sent_segments"] for flow in run.summary["flows"])


def is_set(flag: str) -> bool:
    """Whether a flag is, which versions of tshark write as a number or a word."""
    return flag in ("1", "True")


#: The fat tree fills its links at once, and every switch sees every packet.
EXAMPLES_FOR = {"wlan": "1 s", "parking-lot": "500 ms", "fat-tree": "20 ms", "lte": "1 s",
                "impairments": "500 ms", "workloads": "500 ms"}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_tshark_finds_nothing_wrong(name):
    run = fairway.run(CASES[name])
    packets = tshark(run.captures / "capture.pcapng", *OF_A_PACKET, *OF_A_RUN)
    check_whole(packets, are_payloads_there=True)
    check_against(run, packets)


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="no examples here")
@pytest.mark.parametrize(("name", "duration"), EXAMPLES_FOR.items())
def test_tshark_finds_nothing_wrong_in_examples(name, duration):
    changes = {"duration": duration, "measure": {"sample": "10 ms"}, "capture": EVERYTHING}
    try:
        run = fairway.run(EXAMPLES / f"{name}.toml", overrides=changes)
    except ExperimentError as error:
        pytest.fail(str(error))
    check_whole(tshark(run.captures / "capture.pcapng", *OF_A_PACKET), are_payloads_there=True)


def test_headers_alone_are_the_default(tmp_path):
    run = fairway.run(SMALL, tmp_path / "run", capture="hosts")
    assert run.captures == tmp_path / "run" / "captures"
    files = sorted(file.name for file in run.captures.iterdir())
    assert files == ["d0.pcapng", "d1.pcapng", "s0.pcapng", "s1.pcapng"]
    check_whole(tshark(run.captures / "s0.pcapng", *OF_A_PACKET), are_payloads_there=False)
    kept = {int(bytes_) for (bytes_,) in tshark(run.captures / "s0.pcapng", "frame.cap_len")}
    # Ethernet 14, IP 20, TCP 20 and at most 40 of options.
    assert max(kept) <= 94
    loaded = fairway.load(tmp_path / "run")
    assert loaded.captures == run.captures


def test_a_packet_is_the_same_at_both_ends():
    run = fairway.run(SMALL, capture=["s0", "d0"])
    same = ("ip.src", "ip.dst", "ip.id", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.options")
    sent, received = (
        tshark(run.captures / f"{host}.pcapng", *same, only="ip.src == 10.10.0.1")
        for host in ("s0", "d0")
    )
    assert len(sent) >= len(received) > 100
    assert set(map(tuple, received)) <= set(map(tuple, sent))
    assert len(set(map(tuple, sent))) == len(sent)


def test_a_packet_has_passed_routers(tmp_path):
    text = CASES["access links"]
    run = fairway.run(text, overrides={"capture": {"at": ["s0", "bottleneck", "d0"]}})
    ttl = {
        file: {
            ttl for (ttl,) in tshark(run.captures / f"{file}.pcapng", "ip.ttl", only="tcp.len > 0")
        }
        for file in ("s0", "bottleneck@left", "bottleneck@right", "d0")
    }
    assert ttl == {
        "s0": {"64"},
        "bottleneck@left": {"63"},
        "bottleneck@right": {"63"},
        "d0": {"62"},
    }


def test_marks_are_seen_where_they_are_set():
    run = fairway.run(CASES["ECN"], overrides={"capture": {"at": ["bottleneck"]}})
    left, right = (
        Counter(ecn for (ecn,) in tshark(file, "ip.dsfield.ecn", only="tcp.len > 0"))
        for file in (run.captures / f"bottleneck@{end}.pcapng" for end in ("left", "right"))
    )
    marks = run.summary["links"][0]["marks"]
    assert (left["3"], right["3"]) == (0, marks)
    assert marks > 0


def test_classic_pcap(tmp_path):
    out = tmp_path / "run"
    fairway.run(SMALL, out, overrides={"capture": {"at": ["s0"], "format": "pcap"}})
    assert (out / "captures" / "s0.pcap").read_bytes()[:4] == bytes.fromhex("4d3cb2a1")
    check_whole(tshark(out / "captures" / "s0.pcap", *OF_A_PACKET), are_payloads_there=False)


def test_the_command_line(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    refused = command("run", file, "--capture", "hosts")
    assert refused.returncode == 2
    assert "--capture: needs --out DIR" in refused.stderr
    done = command("run", file, "--out", tmp_path / "run", "--capture", "s1,bottleneck@right")
    assert done.returncode == 0, done.stderr
    names = sorted(file.name for file in (tmp_path / "run" / "captures").iterdir())
    assert names == ["bottleneck@right.pcapng", "s1.pcapng"]
    wrong = command("run", file, "--out", tmp_path / "wrong", "--capture", "s1,bootleneck")
    assert wrong.returncode == 2
    assert 'capture.at: there is no place "bootleneck"' in wrong.stderr


def test_captures_go_with_a_run_that_is_not_saved():
    run = fairway.run(SMALL, capture="hosts")
    place = run.captures
    assert place.is_dir()
    del run
    assert not place.exists()


def test_a_failed_run_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ExperimentError, match="there is no place"):
        fairway.run(SMALL, capture=["nowhere"])
    assert list(tmp_path.iterdir()) == []
    missing = tmp_path / "missing"
    monkeypatch.setattr("tempfile.tempdir", str(missing))
    with pytest.raises(InputError, match="cannot write"):
        fairway.run(SMALL, capture="hosts")
