"""Captures for tests: packets by hand, and real transfers between namespaces and over loopback."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from waiting import PATIENCE_S, until

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16

CLIENT, SERVER = (0x0A000001, 4000), (0x0A000002, 80)

#: What a SYN offers: MSS 1460, SACK, shift 7.
OFFER = b"\x02\x04\x05\xb4\x04\x02\x01\x03\x03\x07\x01\x01"


def sack(*blocks: tuple[int, int]) -> bytes:
    edges = b"".join(struct.pack(">II", left % 2**32, right % 2**32) for left, right in blocks)
    return b"\x01\x01" + bytes([5, 2 + len(edges)]) + edges


@dataclass
class Pcap:
    """A pcap with headers of IPv4 and TCP; payload is cut off. Times are whole microseconds."""

    frames: list[bytes] = field(default_factory=list)
    at_us: int = 1_700_000_000_000_000
    client: tuple[int, int] = CLIENT

    def wait(self, ms: float) -> Pcap:
        self.at_us += round(ms * 1000)
        return self

    def sends(self, seq: int, ack: int, size: int = 0, flags: int = ACK, **more) -> Pcap:
        return self._tcp(self.client, SERVER, seq, ack, size, flags, **more)

    def hears(self, seq: int, ack: int, size: int = 0, flags: int = ACK, **more) -> Pcap:
        return self._tcp(SERVER, self.client, seq, ack, size, flags, **more)

    def _tcp(self, source, target, seq, ack, size, flags, window=500, options=b"") -> Pcap:
        length = 20 + len(options)
        tcp = struct.pack(">HHIIBBHHH", source[1], target[1], seq % 2**32, ack % 2**32,
                          length // 4 << 4, flags, window, 0, 0) + options  # fmt: skip
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + length + size, len(self.frames) + 1, 0x4000,
                         64, 6, 0, source[0], target[0])  # fmt: skip
        frame = b"\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0" + ip + tcp
        whole = len(frame) + size
        stamp = divmod(self.at_us, 1_000_000)
        self.frames.append(struct.pack("<IIII", *stamp, len(frame), whole) + frame)
        return self.wait(0.01)

    def open(self, seq: int = 999, back: int = 8999) -> Pcap:
        """The client's first byte is `seq` + 1, and the server's `back` + 1. 40 ms."""
        self.sends(seq, 0, flags=SYN, window=64000, options=OFFER).wait(40)
        self.hears(back, seq + 1, flags=SYN | ACK, window=64000, options=OFFER)
        return self.sends(seq + 1, back + 1)

    def write(self, path: Path) -> Path:
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
        path.write_bytes(head + b"".join(self.frames))
        return path


def by_hand(path: Path) -> Path:
    """Connections with what real ones seldom have, one after the other."""
    pcap = Pcap()

    def begin(port: int, seq: int = 999) -> None:
        pcap.wait(1000).client = (CLIENT[0], port)
        pcap.open(seq)

    # A loss, duplicates, a fast retransmission, a D-SACK for it.
    begin(4001)
    for index in range(6):
        pcap.sends(1000 + 1000 * index, 9000, 1000)
    pcap.wait(40).hears(9000, 1000, options=sack((2000, 3000)))
    pcap.hears(9000, 1000, options=sack((2000, 5000))).hears(9000, 1000, options=sack((2000, 7000)))
    pcap.sends(1000, 9000, 1000).wait(40).hears(9000, 7000)
    pcap.hears(9000, 7000, options=sack((1000, 2000)))
    # FIN, again, with its answer and the last acknowledgement.
    pcap.sends(7000, 9000, 0, FIN | ACK).wait(300).sends(7000, 9000, 0, FIN | ACK)
    pcap.wait(40).hears(9000, 7001, 0, FIN | ACK).sends(7001, 9001)

    # A closed window, a probe with a byte, and keep-alives with and without one.
    begin(4002)
    pcap.sends(1000, 9000, 1000).wait(40).hears(9000, 2000, window=0)
    pcap.wait(300).sends(2000, 9000, 1).wait(40).hears(9000, 2000, window=0)
    pcap.wait(100).hears(9000, 2000).sends(2000, 9000, 500).wait(40).hears(9000, 2500)
    for size in (0, 1):
        pcap.wait(9000).sends(2499, 9000, size).wait(40).hears(9000, 2500)
    pcap.wait(10).sends(2500, 9000, 0, RST | ACK)

    # Numbers that go around, and a segment of other length sent again.
    begin(4003, 2**32 - 3000)
    for index in range(4):
        pcap.sends(2**32 - 2999 + 1000 * index, 9000, 1000)
    pcap.wait(400).sends(2**32 - 2500, 9000, 1500).wait(40).hears(9000, 1001)

    # Reordered; a hole that is never filled.
    begin(4004)
    for index in (0, 2, 1, 4):
        pcap.sends(1000 + 1000 * index, 9000, 1000)
    pcap.wait(40).hears(9000, 4000, options=sack((5000, 6000)))

    # A SYN again, a SYN/ACK again, then the same ports for a second connection.
    pcap.wait(1000).client = (CLIENT[0], 4005)
    pcap.sends(999, 0, flags=SYN, options=OFFER).wait(1000).open()
    pcap.wait(1000).hears(8999, 1000, flags=SYN | ACK, options=OFFER).sends(1000, 9000)
    pcap.sends(1000, 9000, 300, FIN | PSH | ACK).wait(40).hears(9000, 1301, 0, FIN | ACK)
    pcap.sends(1301, 9001)
    begin(4005, 5_000_000)
    pcap.sends(5_000_001, 9000, 700, PSH | ACK).wait(40).hears(9000, 5_000_701)

    # Begun before the capture; and one of which only one end is seen.
    pcap.wait(1000).client = (CLIENT[0], 4006)
    pcap.sends(70_000, 9000, 1000).wait(40).hears(9000, 71_000).sends(71_000, 9000, 1000)
    pcap.wait(40).hears(9000, 72_000)
    pcap.wait(1000).client = (CLIENT[0], 4007)
    for index in (0, 1, 1, 2):
        pcap.sends(70_000 + 1000 * index, 9000, 1000)

    # An acknowledgement of a retransmission together with a segment that was sent just before it:
    # 30 ms, which are no clear round trip; the only clear one has 40.
    begin(4008)
    pcap.sends(1000, 9000, 1000).wait(40).hears(9000, 2000)
    pcap.sends(2000, 9000, 1000).sends(3000, 9000, 1000).wait(40)
    pcap.hears(9000, 2000, options=sack((3000, 4000)))
    pcap.sends(4000, 9000, 1000).sends(2000, 9000, 1000).wait(30).hears(9000, 5000)

    # The second of three segments is on both sides of a multiple of 2^30.
    begin(4009, 2**30 - 1501)
    for index in range(3):
        pcap.sends(2**30 - 1500 + 1000 * index, 9000, 1000)
    pcap.wait(40).hears(9000, 2**30 + 1500)

    # A RST behind the FIN.
    begin(4010)
    pcap.sends(1000, 9000, 1000, FIN | ACK).wait(40).hears(9000, 2001)
    pcap.sends(2001, 9000, 0, RST)

    # A RST with the number of a late acknowledgement, within the stream.
    begin(4011)
    pcap.sends(1000, 9000, 2000, FIN | ACK).wait(40).hears(9000, 3001).sends(2000, 0, 0, RST)
    return pcap.write(path)


def run(*arguments: str) -> str:
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    if done.returncode:
        raise OSError(f"{' '.join(arguments[:6])}: {done.stderr.strip()}")
    return done.stdout


#: Takes connections at a free port, one after the other, and sends back a little of what it has
#: heard.
SINK = """
import socket, threading
def serve(connection):
    heard = 0
    while block := connection.recv(1 << 16):
        heard += len(block)
    connection.sendall(b"x" * min(heard // 100, 100_000))
    connection.close()
server = socket.create_server(("", 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],)).start()
"""

#: Sends on several connections at a time, and reads what comes back.
SOURCE = """
import socket, sys, threading
def send(size):
    connection = socket.socket()
    connection.connect((sys.argv[1], int(sys.argv[2])))
    connection.sendall(bytes(size))
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(1 << 16):
        pass
    connection.close()
threads = [threading.Thread(target=send, args=(int(size),)) for size in sys.argv[3:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


#: What is sent as a datagram when all connections have ended: behind their last packets.
MARK = b"fairway: that was all of it"

#: Sends it.
MARKING = f"""
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.sendto({MARK!r}, (sys.argv[1], int(sys.argv[2])))
"""

#: Of tcpdump's buffer, in KiB: room for all, however late tcpdump comes to read it.
BUFFER_KIB = 65_536


def captured(path: Path, sink: list[str], source: list[str], interface: str, address: str, sizes):
    """What tcpdump sees on an interface of the sender while its bytes are sent."""
    whole = path.with_suffix(".whole")
    with subprocess.Popen(
        [*sink, sys.executable, "-c", SINK], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            port = str(int(server.stdout.readline()))
            dump = [*source, "tcpdump", "-i", interface, "-s", "120", "-B", str(BUFFER_KIB), "-U",
                    "-Z", "root", "-w", str(whole), "port", port]  # fmt: skip
            with subprocess.Popen(dump, stderr=subprocess.PIPE, text=True) as tcpdump:
                try:
                    if not any("listening" in line for line in iter(tcpdump.stderr.readline, "")):
                        raise OSError("tcpdump does not listen")
                    code = [*source, sys.executable, "-c", SOURCE, address, port]
                    run(*code, *map(str, sizes))
                    run(*source, sys.executable, "-c", MARKING, address, port)
                    until(lambda: MARK in whole.read_bytes(), tcpdump)
                finally:
                    tcpdump.send_signal(signal.SIGINT)
                    tcpdump.communicate(timeout=PATIENCE_S)
        finally:
            server.kill()
    path.write_bytes(before_the_mark(whole.read_bytes()))
    return path


def before_the_mark(pcap: bytes) -> bytes:
    """A pcap without the record that has the mark, and what follows it."""
    end = 24
    while end < len(pcap):
        (length,) = struct.unpack_from("<I", pcap, end + 8)
        if MARK in pcap[end : end + 16 + length]:
            break
        end += 16 + length
    return pcap[:end]


def needs_root(*programs: str) -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs Linux and root to capture packets")
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"needs {program}")


def over_loopback(path: Path) -> Path:
    needs_root("tcpdump")
    sizes = (60_000_000, 2_000_000, 1)
    try:
        return captured(path, [], [], "lo", "127.0.0.1", sizes)
    except OSError as error:
        pytest.skip(f"no capture over loopback: {error}")


def between_namespaces(path: Path, shaper: str) -> Path:
    """A host, a router that shapes and drops what does not fit, a host; packets as on a wire."""
    needs_root("tcpdump", "ip", "tc", "ethtool")
    names = [f"fairway-{uuid4().hex[:8]}-{part}" for part in ("one", "router", "two")]
    made = []
    try:
        for name in names:
            run("ip", "netns", "add", name)
            made.append(name)
        lay_out(*names, shaper)
        exec_in = ["ip", "netns", "exec"]
        ends = [*exec_in, names[2]], [*exec_in, names[0]]
        return captured(path, *ends, "eth", "10.99.2.2", (4_000_000, 1_500_000, 800_000))
    except OSError as error:
        pytest.skip(f"no namespaces with a shaper here: {error}")
    finally:
        for name in made:
            run("ip", "netns", "del", name)


def lay_out(one: str, router: str, two: str, shaper: str) -> None:
    for side, host, here in (("to-one", one, 1), ("to-two", two, 2)):
        run("ip", "link", "add", "eth", "netns", host, "type", "veth", "peer", "name", side,
            "netns", router)  # fmt: skip
        for name, device, last in ((host, "eth", 2), (router, side, 1)):
            run("ip", "-n", name, "addr", "add", f"10.99.{here}.{last}/24", "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
            # A card that cuts segments shows them whole to a capture.
            run("ip", "netns", "exec", name, "ethtool", "-K", device, "tso", "off", "gso", "off",
                "gro", "off")  # fmt: skip
        run("ip", "-n", host, "route", "add", f"10.99.{3 - here}.0/24", "via", f"10.99.{here}.1")
    forward = "echo 1 > /proc/sys/net/ipv4/ip_forward"
    run("ip", "netns", "exec", router, "sh", "-c", forward)
    run("tc", "-n", router, "qdisc", "add", "dev", "to-two", "root", "tbf", *shaper.split())
