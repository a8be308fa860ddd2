"""`fairway generate` and `fairway collect` with a stock iperf3 at the other end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairway.results.run import load
from waiting import PATIENCE_S, free_port, until

WAYS = {"forward": [], "reverse": ["-R"], "both": ["--bidir"]}
UDP_RATE = {"fairway": ["--udp", "--rate", "8 Mbit/s", "--message", "1000 bytes"],
            "iperf3": ["-u", "-b", "8M", "-l", "1000"]}  # fmt: skip

pytestmark = pytest.mark.skipif(
    shutil.which("iperf3") is None, reason="iperf3 is not installed (apt-get install iperf3)"
)


def fairway(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fairway", *arguments]


def start(arguments: list[str], **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **options)  # fmt: skip


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def report(text: str, said: str = "") -> dict[str, Any]:
    assert text.strip().startswith("{"), text + said
    found = json.loads(text)
    assert "error" not in found, found["error"]
    return dict(found)


@contextmanager
def collector(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of Fairway; its address."""
    arguments = ("collect", "--iperf3", "--bind", "127.0.0.1:0", *options)
    with start(fairway(*arguments)) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            found = re.search(r"listening at (\S+)", line)
            assert found, line + server.stderr.read()
            yield found[1], server
        finally:
            server.kill()


@contextmanager
def stock_server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of iperf3 for one test; its address."""
    port = free_port()
    with start(["iperf3", "-s", "-1", "-J", "-B", "127.0.0.1", "-p", str(port)]) as server:
        try:
            # Connecting to it would be its one test.
            until(lambda: is_listening(port), server)
            yield f"127.0.0.1:{port}", server
        finally:
            server.kill()


def is_listening(port: int) -> bool:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(f":{port:04X} " in line and " 0A " in line for line in lines)


def is_carrying(port: str) -> bool:
    """Whether there is more than a listener and both ends of a control connection."""
    return Path("/proc/net/tcp").read_text().count(f":{int(port):04X} ") > 3


def finish(server: subprocess.Popen[str]) -> dict[str, Any]:
    text, said = server.communicate(timeout=PATIENCE_S)
    return report(text, said)


def agree(client: dict[str, Any], server: dict[str, Any], ways: str, *, stock: bool) -> None:
    """Both ends report the same, as far as a stock server reports what its client measured."""
    for suffix, server_sends in (("", ways == "reverse"), ("_bidir_reverse", True)):
        if suffix and ways != "both":
            continue
        sent, received = f"sum_sent{suffix}", f"sum_received{suffix}"
        for key, is_told in ((sent, server_sends), (received, not server_sends)):
            here, there = client["end"][key], server["end"][key]
            assert here["bytes"] > 0, key
            if not stock or is_told:
                assert here["bytes"] == pytest.approx(there["bytes"], rel=0.01, abs=4000), key
            # Each end divides by its own time, which a busy machine tells them differently.
            for end in (here, there):
                bits_per_second = pytest.approx(8 * end["bytes"] / end["seconds"], rel=0.01)
                assert end["bits_per_second"] == bits_per_second, key
        assert client["end"][received]["bytes"] <= 1.01 * client["end"][sent]["bytes"] + 4000


def check_protocol(client: dict[str, Any], protocol: str, streams: int, ways: str) -> None:
    assert client["start"]["test_start"]["protocol"] == protocol.upper()
    each_way = streams * (2 if ways == "both" else 1)
    assert len(client["end"]["streams"]) == len(client["start"]["connected"]) == each_way
    assert client["intervals"]
    if protocol == "tcp":
        assert client["end"]["sum_sent"]["retransmits"] >= 0
        assert client["end"]["sender_tcp_congestion"]
    else:
        total = client["end"]["sum"]
        assert total["packets"] > 0
        assert total["jitter_ms"] >= 0
        assert 0 <= total["lost_packets"] <= total["packets"]
    assert client["end"]["cpu_utilization_percent"]["host_total"] > 0


CASES = pytest.mark.parametrize(
    ("protocol", "ways", "streams"),
    [(protocol, ways, streams)
     for protocol in ("tcp", "udp") for ways in WAYS for streams in (1, 4)],
)  # fmt: skip


@CASES
def test_a_stock_client_and_our_server(protocol: str, ways: str, streams: int) -> None:
    seconds = "2" if ways == "both" and streams == 1 else "1"
    rate = UDP_RATE["iperf3"] if protocol == "udp" else []
    with collector("--once", "--iperf3-json") as (address, server):
        port = address.rpartition(":")[2]
        done = run(["iperf3", "-c", "127.0.0.1", "-p", port, "-J", "-t", seconds, "-P",
                    str(streams), *WAYS[ways], *rate])  # fmt: skip
        client = report(done.stdout, done.stderr)
        ours = finish(server)
    check_protocol(client, protocol, streams, ways)
    check_protocol(ours, protocol, streams, ways)
    agree(client, ours, ways, stock=False)


@CASES
def test_our_client_and_a_stock_server(protocol: str, ways: str, streams: int) -> None:
    seconds = "2 s" if ways == "both" and streams == 1 else "1 s"
    rate = UDP_RATE["fairway"] if protocol == "udp" else []
    with stock_server() as (address, server):
        done = run(fairway("generate", address, "--iperf3", "--iperf3-json", "--duration", seconds,
                           "-n", str(streams), "--ways", ways, *rate))  # fmt: skip
        client = report(done.stdout, done.stderr)
        stock = finish(server)
    check_protocol(client, protocol, streams, ways)
    agree(client, stock, ways, stock=True)


def test_an_amount_is_received_as_it_was_sent() -> None:
    with collector("--once", "--iperf3-json") as (address, server):
        port = address.rpartition(":")[2]
        done = run(["iperf3", "-c", "127.0.0.1", "-p", port, "-J", "-n", "8M", "-l", "64K"])
        client = report(done.stdout, done.stderr)
        finish(server)
    sent = client["end"]["sum_sent"]["bytes"]
    assert sent >= 8 << 20
    assert client["end"]["sum_received"]["bytes"] == pytest.approx(sent, rel=0.01)
    with stock_server() as (address, _):
        done = run(fairway("generate", address, "--iperf3", "--iperf3-json", "--bytes", "8 MiB"))
        client = report(done.stdout, done.stderr)
    assert client["end"]["sum_sent"]["bytes"] == 8 << 20


def test_an_amount_that_a_stock_server_has_sent_while_it_was_omitted_is_not_waited_for() -> None:
    with stock_server() as (address, _):
        done = run(fairway("generate", address, "--iperf3", "--ways", "reverse", "--bytes",
                           "16 MiB", "--omit", "2 s", "--timeout", "10 s"))  # fmt: skip
    # A machine so slow that data is left after the omitted time may measure it.
    assert done.returncode == 0 or "no data flowed for 10 s" in done.stderr, done.stderr


def test_options_reach_a_stock_server_and_its_report_comes_back() -> None:
    with stock_server() as (address, server):
        done = run(fairway("generate", address, "--iperf3", "--iperf3-json", "--duration", "1 s",
                           "--omit", "1 s", "--message", "10 kB", "--rate", "10 Mbit/s",
                           "--cc", "reno", "--mss", "1000", "--tos", "16", "--server-output",
                           "--send-buffer", "50 kB", "--ways", "reverse"))  # fmt: skip
        client = report(done.stdout, done.stderr)
        stock = finish(server)
    asked = stock["start"]["test_start"]
    assert (asked["blksize"], asked["omit"], asked["duration"]) == (10_000, 1, 1)
    assert (asked["tos"], asked["target_bitrate"]) == (16, 10_000_000)
    assert client["end"]["sender_tcp_congestion"] == "reno"
    assert client["server_output_json"]["start"]["test_start"] == asked
    assert any(interval["sum"]["omitted"] for interval in client["intervals"])


def test_a_stock_server_is_asked_for_more_streams_than_its_client_may_ask_for() -> None:
    with stock_server() as (address, _):
        done = run(fairway("generate", address, "--iperf3", "-n", "129", "--duration", "1 s"))
    # Servers up to 3.21 do not look, later ones refuse.
    assert "128" in done.stderr
    assert done.returncode == 0 or "refuses" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_stock_client_is_refused_while_another_is_served() -> None:
    with collector() as (address, _):
        port = address.rpartition(":")[2]
        stock = ["iperf3", "-c", "127.0.0.1", "-p", port, "-J"]
        with start([*stock, "-t", "3600", "-b", "1M"]) as first:
            try:
                until(lambda: is_carrying(port), first)
                assert "busy" in run([*stock, "-t", "1"]).stdout
            finally:
                first.kill()


def test_more_streams_than_iperf3_takes_between_our_ends(tmp_path: Path) -> None:
    with collector("--once", "--iperf3-json") as (address, server):
        done = run(fairway("generate", address, "--iperf3", "-n", "150", "--duration", "1 s",
                           "--record", str(tmp_path / "run")))  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert len(finish(server)["end"]["streams"]) == 150
    kept = load(tmp_path / "run")
    assert len(kept.summary["flows"]) == 150
    assert kept.summary["backend"] == "xfer"


def test_a_server_that_is_interrupted_ends_the_test() -> None:
    with collector() as (address, server):
        port = address.rpartition(":")[2]
        with start(["iperf3", "-c", "127.0.0.1", "-p", port, "-J", "-t", "3600"]) as client:
            until(lambda: is_carrying(port), client)
            os.kill(server.pid, signal.SIGINT)
            text, _ = client.communicate(timeout=PATIENCE_S)
        assert "error" in json.loads(text)
        _, said = server.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in said


@pytest.mark.parametrize("option", [["--every", "1 ms"], ["--verify"], ["--token", "x"]])
def test_what_iperf3_does_not_know_is_refused(option: list[str]) -> None:
    done = run(fairway("generate", "127.0.0.1:1", "--iperf3", *option))
    assert (done.returncode, option[0] in done.stderr) == (2, True)


def test_options_of_iperf3_need_it() -> None:
    done = run(fairway("generate", "127.0.0.1:1", "--token", "x", "--blocks", "3"))
    assert done.returncode == 2
    assert "--blocks: only with --iperf3" in done.stderr
