"""A capture made by hand: one connection, packet by packet, so that every figure is known."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

#: Microseconds since 1970 of the first packet.
BEGIN_US = 1_700_000_000_000_000
CLIENT, SERVER = ("192.0.2.1", 40000), ("198.51.100.7", 80)
MSS = 1000
FIN, SYN, PSH, ACK = 1, 2, 8, 16


def capture() -> bytes:
    """The whole file.

    The client opens, sends ten segments of 1000 bytes at 0.1 s, of which the fourth (bytes 3000 to
    4000) is lost, and sends that again at 0.2 s after selective acknowledgements. Every segment is
    acknowledged 50 ms after it was sent; both close.
    """
    packets = [
        (0, segment(CLIENT, SERVER, 0, 0, SYN, options=syn_options())),
        (50_000, segment(SERVER, CLIENT, 0, 1, SYN | ACK, options=syn_options())),
        (50_100, segment(CLIENT, SERVER, 1, 1, ACK)),
    ]
    for index in range(10):
        at_us = 100_000 + index * 1000
        packets.append((at_us, segment(CLIENT, SERVER, 1 + index * MSS, 1, ACK, MSS)))
    for index in (0, 1, 2):
        at_us = 150_000 + index * 1000
        packets.append((at_us, segment(SERVER, CLIENT, 1, 1 + (index + 1) * MSS, ACK)))
    for index in range(4, 10):
        block = sack(1 + 4 * MSS, 1 + (index + 1) * MSS)
        at_us = 150_000 + index * 1000
        packets.append((at_us, segment(SERVER, CLIENT, 1, 1 + 3 * MSS, ACK, options=block)))
    packets += [
        (200_000, segment(CLIENT, SERVER, 1 + 3 * MSS, 1, ACK, MSS)),
        (250_000, segment(SERVER, CLIENT, 1, 1 + 10 * MSS, ACK)),
        (300_000, segment(CLIENT, SERVER, 1 + 10 * MSS, 1, FIN | ACK)),
        (350_000, segment(SERVER, CLIENT, 1, 2 + 10 * MSS, FIN | ACK)),
        (350_100, segment(CLIENT, SERVER, 2 + 10 * MSS, 2, ACK)),
    ]
    return pcap(packets)


def pcap(packets: list[tuple[int, bytes]]) -> bytes:
    """A classic file of raw IP with microseconds (link type 101)."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    records = []
    for number, (at_us, whole) in enumerate(packets, start=1):
        packet = numbered(whole, number)
        seconds, micros = divmod(BEGIN_US + at_us, 1_000_000)
        records.append(struct.pack("<IIII", seconds, micros, len(packet), len(packet)) + packet)
    return header + b"".join(records)


def segment(
    source: tuple[str, int],
    destination: tuple[str, int],
    sequence: int,
    ack: int,
    flags: int,
    payload: int = 0,
    options: bytes = b"",
) -> bytes:
    """An IPv4 packet with a TCP segment; numbers count from 1000 and 5000."""
    own, other = (1000, 5000) if source == CLIENT else (5000, 1000)
    ack_number = other + ack if flags & ACK else 0
    length = 20 + len(options)
    tcp = struct.pack(
        ">HHIIBBHHH", source[1], destination[1], own + sequence, ack_number, length // 4 << 4,
        flags, 60000, 0, 0,
    )  # fmt: skip
    body = tcp + options + bytes(payload)
    addresses = b"".join(bytes(map(int, end[0].split("."))) for end in (source, destination))
    pseudo = addresses + struct.pack(">BBH", 0, 6, len(body))
    body = body[:16] + struct.pack(">H", checksum(pseudo + body)) + body[18:]
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 6, 0) + addresses + body


def numbered(packet: bytes, number: int) -> bytes:
    """The packet with an identification, which tells a retransmission from a copy."""
    header = packet[:4] + struct.pack(">H", number) + packet[6:20]
    return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + packet[20:]


def syn_options() -> bytes:
    """MSS of 1000, SACK permitted, no timestamps, no scale."""
    return struct.pack(">BBH", 2, 4, MSS) + bytes([4, 2, 1, 1])


def sack(low: int, high: int) -> bytes:
    """One block, in the client's numbers."""
    return bytes([1, 1, 5, 10]) + struct.pack(">II", 1000 + low, 1000 + high)


def checksum(data: bytes) -> int:
    """RFC 1071."""
    padded = data + b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def write(path: Path, data: bytes | None = None, *, packed: bool = False) -> Path:
    """The capture, or other bytes, as a file."""
    content = capture() if data is None else data
    path.write_bytes(gzip.compress(content) if packed else content)
    return path
