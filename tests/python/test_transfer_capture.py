"""Captures that `fairway send` and `fairway recv` write of their own packets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import command
from transfer_ends import Waiting
from waiting import PATIENCE_S

#: So long that it is most of what its connection carries, and so short that nothing is dropped.
CONTENT_BYTES = 8_000_000

#: Bit of CAP_NET_RAW (include/uapi/linux/capability.h).
_NET_RAW = 13


def _may_capture() -> bool:
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff"))
    return bool(int(effective, 16) >> _NET_RAW & 1)


needs_capture = pytest.mark.skipif(not _may_capture(), reason="needs CAP_NET_RAW, as root has it")


def analysed(path: Path) -> list[dict]:
    done = command("analyze", str(path), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["capture"]["damages"] == 0
    return report["connections"]


@pytest.fixture
def content(tmp_path: Path) -> Path:
    path = tmp_path / "content"
    path.write_bytes(os.urandom(CONTENT_BYTES))
    return path


@pytest.fixture
def token(tmp_path: Path) -> str:
    """Of a receiver that is gone."""
    with Waiting("recv", "--out", tmp_path / "gone") as receiver:
        return receiver.token()


@needs_capture
def test_both_ends_capture_the_connections_of_a_transfer(tmp_path, content):
    ends = [tmp_path / "sent.pcapng", tmp_path / "received.pcapng"]
    receive = ["recv", "--out", tmp_path / "in", "--once", "--plain", "--capture", ends[1]]
    with Waiting(*receive) as receiver:
        token = receiver.token()
        given = ["--token", token, "--plain", "--limit", "200 Mbit/s", "--capture", str(ends[0])]
        done = command("send", str(content), receiver.address, *given)
        assert done.returncode == 0, done.stderr
        assert receiver.ended() == 0
    assert "no room" not in done.stderr
    for path in ends:
        connections = analysed(path)
        # One that controls and one that carries the data; each is seen once, from its SYN on.
        assert len(connections) == 2
        carried = []
        for connection in connections:
            assert connection["directions"][0]["to"] == receiver.address
            carried += [way["unique_bytes"] for way in connection["directions"]]
        assert max(carried) >= CONTENT_BYTES
        # And what is around it is little: no packet is counted twice.
        assert sum(carried) < 1.1 * CONTENT_BYTES
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"content", "in", "sent.pcapng", "received.pcapng"}


@needs_capture
@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_another_program_reads_it_and_finds_no_payload(tmp_path, content):
    path = tmp_path / "sent.pcapng"
    with Waiting("recv", "--out", tmp_path / "in", "--once", "--plain") as receiver:
        given = ["--token", receiver.token(), "--plain", "--capture", str(path)]
        assert command("send", str(content), receiver.address, *given).returncode == 0
        assert receiver.ended() == 0
    fields = ["_ws.malformed", "frame.cap_len", "ip.hdr_len", "tcp.hdr_len", "frame.interface_name"]
    asked = [part for field in fields for part in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-n", "-r", str(path), "-T", "fields", *asked],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) > 10
    for malformed, kept, ip, tcp, interface in rows:
        assert (malformed, interface) == ("", "lo")
        assert int(kept) == int(ip) + int(tcp)


@needs_capture
def test_a_transfer_that_fails_has_a_capture_too(tmp_path, content, token):
    path = tmp_path / "sent.pcapng"
    done = command("send", str(content), "127.0.0.1:1", "--token", token, "--capture", str(path))
    assert done.returncode == 1 and "nothing listens" in done.stderr
    [connection] = analysed(path)
    assert connection["directions"][0]["to"] == "127.0.0.1:1"


def test_places_that_cannot_be_are_refused_before_anything_is_sent(tmp_path, content, token):
    def refused(place: Path, says: str, what: Path = content) -> None:
        given = ["--token", token, "--capture", str(place)]
        done = command("send", str(what), "127.0.0.1:1", *given)
        assert done.returncode == 2 and says in done.stderr, done.stderr
        assert "Traceback" not in done.stderr

    refused(tmp_path / "sent.pcap", "give FILE.pcapng")
    refused(tmp_path / "sent.pcapng", "it would be sent itself", tmp_path)
    if _may_capture():
        refused(tmp_path / "no" / "sent.pcapng", "cannot write")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take a capability away")
@pytest.mark.parametrize("job", ["send", "recv"])
def test_who_may_not_capture_is_told_so(tmp_path, content, token, job):
    path = tmp_path / "x.pcapng"
    arguments = {
        "send": ["send", str(content), "127.0.0.1:1", "--token", token],
        "recv": ["recv", "--out", str(tmp_path / "in"), "--bind", "127.0.0.1:0"],
    }[job]
    fairway = [sys.executable, "-m", "fairway", *arguments, "--capture", str(path)]
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw", *fairway],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "needs CAP_NET_RAW" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not path.exists() and done.stdout == ""
