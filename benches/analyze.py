"""Speed and memory of analyses of captures, beside tcptrace and tshark.

    .venv/bin/python benches/analyze.py [--json] [--rounds N] [--packets N] [--connections N]
        [--file FILE]

The capture is made here: transfers side by side over paths of 20 to 100 ms, with a loss in every
twentieth round trip; headers only. Every program reads it from the page cache, in turn, and writes
what it has found to nowhere. Memory is the most that was resident.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MSS = 1448
FIN, SYN, ACK = 1, 2, 16
#: Time, whether it is the client's, sequence and acknowledgement, flags, window, data, options.
Segment = tuple[float, bool, int, int, int, int, int, bytes]

#: A frame of Ethernet without addresses that anybody has.
ETHERNET = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
SNAP = 96


def stamps(at: float, echo: float) -> bytes:
    """The timestamps option, in milliseconds."""
    return b"\x01\x01\x08\x0a" + struct.pack(">II", int(at * 1000), int(echo * 1000))


def transfer(draw: random.Random) -> Iterator[Segment]:
    """Segments of one transfer, round trip by round trip, without an end."""
    at, rtt = draw.random() * 2, 0.02 + draw.random() * 0.08
    seq, back = draw.getrandbits(32), draw.getrandbits(32)
    offer = b"\x02\x04\x05\xb4\x04\x02\x01\x03\x03\x07\x01\x01"
    yield at, True, seq, 0, SYN, 64240, 0, offer + stamps(at, 0)
    yield at + rtt, False, back, seq + 1, SYN | ACK, 65160, 0, offer + stamps(at + rtt, at)
    at, seq, back, cwnd = at + rtt, seq + 1, back + 1, 10
    yield at, True, seq, back, ACK, 502, 0, stamps(at, at)
    while True:
        loses = draw.random() < 0.05
        for index in range(cwnd):
            sent = at + index * rtt / cwnd
            yield sent, True, seq + MSS * index, back, ACK, 502, MSS, stamps(sent, at)
            end = seq + MSS * (index + 1)
            if loses and index:
                edges = struct.pack(">II", (seq + MSS) % 2**32, end % 2**32)
                options = stamps(sent + rtt, sent) + b"\x01\x01\x05\x0a" + edges
                yield sent + rtt, False, back, seq, ACK, 1024, 0, options
            elif index % 2:
                yield sent + rtt, False, back, end, ACK, 1024, 0, stamps(sent + rtt, sent)
        at += rtt
        if loses:
            yield at + rtt / 2, True, seq, back, ACK, 502, MSS, stamps(at + rtt / 2, at)
            at += 1.5 * rtt
            end = seq + MSS * cwnd
            yield at, False, back, end, ACK, 1024, 0, stamps(at, at - rtt)
        seq += MSS * cwnd
        cwnd = max(2, cwnd // 2) if loses else cwnd + 1


def in_order(segments: Iterator[Segment]) -> Iterator[Segment]:
    """By time: an acknowledgement comes after segments that were made later."""
    waiting: list[tuple[float, int, Segment]] = []
    for number, segment in enumerate(segments):
        heapq.heappush(waiting, (segment[0], number, segment))
        if len(waiting) > 400:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def write(path: Path, connections: int, packets: int) -> None:
    """A pcap with nanoseconds of so many connections and, about, packets."""
    each = packets // connections
    sources = []
    for index in range(connections):
        segments = in_order(itertools.islice(transfer(random.Random(index)), each))
        ends = (0x0A000001 + index // 50_000, 10_000 + index % 50_000), (0x0A010001, 5001)
        sources.append(zip(segments, itertools.repeat(ends)))
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, 1))
        merged = heapq.merge(*sources, key=lambda one: one[0][0])
        for number, (segment, (client, server)) in enumerate(merged):
            file.write(frame(number, segment, client, server))


def frame(number: int, segment: Segment, client: tuple[int, int], server: tuple[int, int]) -> bytes:
    """A record of the file."""
    at, is_client, seq, ack, flags, window, size, options = segment
    source, target = (client, server) if is_client else (server, client)
    length = 20 + len(options)
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], seq % 2**32, ack % 2**32,
                      length // 4 << 4, flags, window, 0, 0) + options  # fmt: skip
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + length + size, number % 2**16, 0x4000, 64, 6, 0,
                     source[0], target[0])  # fmt: skip
    whole = 14 + 20 + length + size
    kept = (ETHERNET + ip + tcp + bytes(SNAP))[: min(whole, SNAP)]
    seconds, part = divmod(at, 1)
    record = struct.pack("<IIII", 1_700_000_000 + int(seconds), int(part * 1e9), len(kept), whole)
    return record + kept


def analyzer() -> list[str]:
    """The analysis as a program of its own: without Python's start-up, as the others."""
    cargo = ["cargo", "build", "--quiet", "--release", "--locked", "--package", "fairway-analysis"]
    subprocess.run([*cargo, "--example", "analyze"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return [str(target / "release/examples/analyze")]


def measure(command: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of processors, and MB of memory."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - began, cpu_s, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--file", type=Path, help="a capture, in place of one that is made")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = options.file or Path(directory) / "capture.pcap"
        if not options.file:
            write(path, options.connections, options.packets)
        programs = {"fairway": [*analyzer(), str(path)]}
        if shutil.which("tcptrace"):
            programs["tcptrace -lr"] = ["tcptrace", "-lr", str(path)]
        if shutil.which("tshark"):
            programs["tshark conv,tcp"] = ["tshark", "-r", str(path), "-q", "-z", "conv,tcp"]
        measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, command in programs.items():
                measured[name].append(measure(command))
    rows = [
        {
            "program": name,
            "wall_s": statistics.median(seconds for seconds, _, _ in results),
            "cpu_s": statistics.median(cpu_s for _, cpu_s, _ in results),
            "memory_mb": max(memory_mb for _, _, memory_mb in results),
        }
        for name, results in measured.items()
    ]
    if options.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    for row in rows:
        times = f"{row['wall_s'] / rows[0]['wall_s']:7.1f} times" if row is not rows[0] else ""
        told = f"{row['wall_s']:8.3f} s {row['cpu_s']:8.3f} s of processors"
        sys.stdout.write(f"{row['program']:16} {told} {row['memory_mb']:6.0f} MB {times}\n")


if __name__ == "__main__":
    main()
