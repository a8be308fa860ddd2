"""Fairway's transfers beside iperf3, over loopback and between two network namespaces.

    .venv/bin/python benches/xfer.py [--json] [--rounds N] [--quick]

iperf3 moves the same memory again and again and looks at none of it; `fairway send` reads a file,
`fairway recv` writes another, and both sum every byte. So this tells what a whole transfer costs
beside what the network alone does, and not which program is better. With `-F`, iperf3 reads and
writes files too, but sums nothing. The last rows are of the veth pair behind a token bucket: a path
that has a rate.

The runs alternate (plain, iperf3, encrypted, iperf3, ...), so that whatever else the machine does
falls on all of them; a ratio is that of two neighbours. Files are in /dev/shm where there is one,
so that no disk is measured. Between namespaces (`ip netns`, a veth pair) it runs where the user may
make them, which is root. Nothing is asserted: it prints what it found.

The rate of a transfer is the size of its file by the time from the first connection to the
receiver's confirmation. Processor time is that of both ends meanwhile, for each gigabyte.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parent
FAIRWAY = (sys.executable, "-m", "fairway")

STREAMS = (1, 4, 16)
PORT = 5391
#: A subnet of RFC 2544's block for benchmarks, which no network uses.
NEAR, FAR = "198.18.77.1", "198.18.77.2"
#: What the shaped pair carries.
SHAPED_GBPS = 5
#: What any run is waited for, and the end of a listening program after it.
RUN_S, END_S = 300, 10


@dataclass(frozen=True)
class HostPair:
    """Where the two ends are.

    Attributes:
        name: As it is printed.
        address: Of the receiving end.
        sender: What a command of the sending end begins with.
        receiver: What one of the receiving end begins with.
        device: The device that it sends through, if it is one of its own.
    """

    name: str
    address: str
    sender: tuple[str, ...] = ()
    receiver: tuple[str, ...] = ()
    device: str = ""

    def shaped(self) -> HostPair | None:
        """The same path with a rate from now on; none if it cannot be given one."""
        shape = f"tc qdisc replace dev {self.device} root tbf rate {SHAPED_GBPS}gbit"
        command = [*self.sender, *shape.split(), "burst", "2mb", "latency", "20ms"]
        done = subprocess.run(command, capture_output=True, check=False)
        return replace(self, name=f"{SHAPED_GBPS} Gbit/s") if done.returncode == 0 else None


@dataclass(frozen=True)
class Moved:
    """One run.

    Attributes:
        gbps: Payload, in Gbit/s.
        cpu_s_per_gb: Processor time of both ends for each gigabyte.
    """

    gbps: float
    cpu_s_per_gb: float


@dataclass(frozen=True)
class Row:
    """Runs of one kind, beside the runs of iperf3 that they alternated with."""

    pair: str
    streams: int
    kind: str
    gbps: list[float]
    cpu_s_per_gb: list[float]
    ratio: list[float]


@contextlib.contextmanager
def namespaces() -> Iterator[HostPair | None]:
    """Two network namespaces joined by a veth pair; none if they cannot be made."""
    names = [f"fairway-bench-{end}-{os.getpid()}" for end in ("near", "far")]
    devices = [f"fw{end}{os.getpid()}" for end in ("n", "f")]
    steps = [["ip", "netns", "add", name] for name in names]
    steps.append(["ip", "link", "add", devices[0], "type", "veth", "peer", "name", devices[1]])
    for name, device, address in zip(names, devices, (NEAR, FAR), strict=True):
        inside = ["ip", "-n", name]
        steps.append(["ip", "link", "set", device, "netns", name])
        steps.append([*inside, "address", "add", f"{address}/24", "dev", device])
        steps.append([*inside, "link", "set", device, "up"])
        steps.append([*inside, "link", "set", "lo", "up"])
    try:
        made = shutil.which("ip") is not None and all(
            subprocess.run(step, capture_output=True, check=False).returncode == 0 for step in steps
        )
        within = [("ip", "netns", "exec", name) for name in names]
        yield HostPair("veth", FAR, within[0], within[1], devices[0]) if made else None
    finally:
        if shutil.which("ip"):
            for name in names:
                subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def bench(rounds: int, seconds: int, megabytes: int, say: Callable[[str], None]) -> list[Row]:
    """Run everything, and return what was measured."""
    rows: list[Row] = []
    shm = Path("/dev/shm")
    place = shm if shm.is_dir() and shutil.disk_usage(shm).free > 4 * megabytes * 10**6 else None
    with tempfile.TemporaryDirectory(dir=place) as room, namespaces() as veth:
        source = Path(room) / "source"
        with source.open("wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(10**6))
        if veth is None:
            say("no network namespaces: only root may make them; veth is left out")
        for prepare in (
            lambda: HostPair("loopback", "127.0.0.1"),
            lambda: veth,
            lambda: veth and veth.shaped(),
        ):
            if (pair := prepare()) is None:
                continue
            for streams in STREAMS:
                for row in compare(pair, streams, source, rounds, seconds):
                    rows.append(row)
                    say(line(row))
    return rows


def compare(pair: HostPair, streams: int, source: Path, rounds: int, seconds: int) -> list[Row]:
    """Runs of each kind, in turn with iperf3."""
    kinds: dict[str, Callable[[], Moved]] = {
        "plain": lambda: transfer(pair, streams, source, plain=True),
        "encrypted": lambda: transfer(pair, streams, source, plain=False),
    }
    if streams == 1:
        kinds["iperf3 -F"] = lambda: iperf3(pair, streams, seconds, source)
    runs: dict[str, list[tuple[Moved, Moved]]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, run in kinds.items():
            runs[kind].append((run(), iperf3(pair, streams, seconds)))
    runs["iperf3"] = [(theirs, theirs) for pairs in runs.values() for _, theirs in pairs]
    return [
        Row(
            pair=pair.name,
            streams=streams,
            kind=kind,
            gbps=[ours.gbps for ours, _ in pairs],
            cpu_s_per_gb=[ours.cpu_s_per_gb for ours, _ in pairs],
            ratio=[ours.gbps / theirs.gbps for ours, theirs in pairs],
        )
        for kind, pairs in runs.items()
    ]


def iperf3(pair: HostPair, streams: int, seconds: int, source: Path | None = None) -> Moved:
    """Let iperf3 send for so long, or a file, to one."""
    port = ["-p", str(PORT)]
    into = [] if source is None else ["-F", str(source.with_name("iperf3"))]
    amount = ["-t", str(seconds)] if source is None else ["-F", str(source), "-t", "60"]
    server = subprocess.Popen(
        [*pair.receiver, "iperf3", "-s", "-1", "--forceflush", *port, *into],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        if not any("listening" in said for said in server.stdout):
            raise SystemExit("iperf3 -s did not start")
        command = [*pair.sender, "iperf3", "-J", "-c", pair.address, "-P", str(streams)]
        done = subprocess.run(
            [*command, *port, *amount], capture_output=True, text=True, check=False, timeout=RUN_S
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(timeout=END_S)
    finally:
        server.kill()
        server.wait()
    end = json.loads(done.stdout)["end"]
    received, load = end["sum_received"], end["cpu_utilization_percent"]
    cpu_s = (load["host_total"] + load["remote_total"]) / 100 * received["seconds"]
    return Moved(received["bits_per_second"] / 1e9, cpu_s / (received["bytes"] / 1e9))


def transfer(pair: HostPair, streams: int, source: Path, *, plain: bool) -> Moved:
    """Send a file with Fairway."""
    out = source.with_name("received")
    where = f"{pair.address}:{PORT}"
    mode = ["--plain"] if plain else []
    receiver = subprocess.Popen(
        [
            *pair.receiver,
            *FAIRWAY,
            "recv",
            "--once",
            "--bind",
            where,
            "--out",
            str(out),
            "--json",
            *mode,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert receiver.stdout is not None
        events = (json.loads(said) for said in receiver.stdout)
        token = next((event["token"] for event in events if event["event"] == "token"), None)
        if token is None:
            raise SystemExit("fairway recv did not start")
        command = [*pair.sender, *FAIRWAY, "send", str(source), where, "--json", *mode]
        done = subprocess.run(
            [*command, "--streams", str(streams), "--token", token],
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_S,
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {done.stderr[-1000:]}")
        ended = next(event["summary"] for event in events if event["event"] == "session")
        receiver.wait(timeout=END_S)
    finally:
        receiver.kill()
        receiver.wait()
        shutil.rmtree(out, ignore_errors=True)
    sent, received = json.loads(done.stdout)["transfer"], ended["transfer"]
    cpu_s = sum(time_s for end in (sent, received) for time_s in end["cpu"].values())
    gigabytes = source.stat().st_size / 1e9
    return Moved(8 * gigabytes / sent["duration_s"], cpu_s / gigabytes)


def spread(values: list[float]) -> str:
    """A median and the range."""
    median = f"{statistics.median(values):.2f}"
    return median if len(values) == 1 else f"{median} ({min(values):.2f} to {max(values):.2f})"


def line(row: Row) -> str:
    """A row for people."""
    return (
        f"{row.pair:8}  {row.streams:2} streams  {row.kind:9}  {spread(row.gbps):22} Gbit/s  "
        f"{spread(row.ratio):22} of iperf3  {statistics.median(row.cpu_s_per_gb):.2f} s/GB"
    )


def main() -> None:
    """Print what was measured, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    parser.add_argument("--quick", action="store_true", help="short runs, of 200 MB")
    options = parser.parse_args()
    # So that namespaces and files are removed, whatever ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if shutil.which("iperf3") is None:
        sys.stderr.write("iperf3 is not installed: transfers have nothing to stand beside\n")
        return
    seconds, megabytes = (1, 200) if options.quick else (3, 2000)

    def say(text: str) -> None:
        (sys.stderr if options.json else sys.stdout).write(text + "\n")
        (sys.stderr if options.json else sys.stdout).flush()

    rows = bench(max(1, options.rounds), seconds, megabytes, say)
    if options.json:
        sys.stdout.write(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
