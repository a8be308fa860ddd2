"""Reads the captures that the simulator writes: pcapng with names, directions and comments.

What other programs write is read in Rust (`fairway.capture.analysis`); here is only what
captures of the simulator have, packet by packet.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairway.errors import InputError
from fairway.ground import regular

#: Types of blocks and codes of options (draft-ietf-opsawg-pcapng-02, sections 4 and 3.5).
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_COMMENT, _NAME, _DESCRIPTION, _FLAGS, _SPEED = 1, 2, 3, 2, 8
#: Bytes of a block without a body (section 3.1): its type, and its length twice.
_LEAST_BLOCK = 12
#: The byte-order magic of a section in little-endian order, the simulator's.
_LITTLE_ENDIAN = 0x1A2B3C4D
#: Lowest two bits of `epb_flags`: a packet that comes in.
_INBOUND = 1
_ETHERNET_BYTES = 14
#: Protocol numbers (IANA) and flags of TCP (RFC 9293 section 3.1).
_TCP = 6
FIN, SYN, ACK = 1, 2, 16


@dataclass(frozen=True)
class Interface:
    """A place of a capture.

    Attributes:
        name: "s0" of a host, "bottleneck@left" of a link's end.
        speed_bps: Rate at which packets leave there, if it is one and the same.
    """

    name: str
    description: str
    speed_bps: int | None


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet where it is seen.

    Attributes:
        at_ns: Time since the beginning of the run.
        is_inbound: Whether it arrives there; else it leaves, or is offered to a queue.
        ends: Addresses and ports of source and destination, four numbers.
        ip_id: Identification of IP, of which each direction of a connection has a next one.
        is_tcp: Whether it is a segment; else a datagram.
        comment: What becomes of it on the link.
    """

    at_ns: int
    place: Interface
    is_inbound: bool
    ends: tuple[int, int, int, int]
    ip_id: int
    ip_bytes: int
    payload_bytes: int
    is_tcp: bool
    flags: int
    seq: int
    ack: int
    comment: str


def read(
    directory: Path, names: Mapping[str, str] | None = None
) -> tuple[list[Interface], list[Packet]]:
    """All places of a directory of captures, and all packets, file by file."""
    files = sorted(path for path in directory.iterdir() if path.suffix in (".pcapng", ".pcap"))
    interfaces: list[Interface] = []
    packets: list[Packet] = []
    for path in files:
        if path.suffix != ".pcapng":
            raise InputError(
                f"{path}: classic pcap does not say what was dropped; capture again with "
                '--set capture.format="pcapng"'
            )
        try:
            packets += _packets(path, interfaces, names or {})
        except (OSError, struct.error, LookupError, ValueError) as error:
            reason = f" ({error.strerror})" if isinstance(error, OSError) else ""
            raise InputError(
                f"{path}: the capture is damaged or cut{reason}; capture again"
            ) from None
    return interfaces, packets


def _packets(path: Path, places: list[Interface], names: Mapping[str, str]) -> Iterator[Packet]:
    """The packets of a file, whose interfaces are added to `places`."""
    interfaces: list[Interface] = []
    with (
        regular.opened(path) as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        at = 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            if length < _LEAST_BLOCK or length > len(data) - at:
                raise ValueError(length)
            if kind == _SECTION:
                if struct.unpack_from("<I", data, at + 8)[0] != _LITTLE_ENDIAN:
                    raise InputError(f"{path}: not a capture that the simulator wrote")
                interfaces = []
            elif kind == _INTERFACE:
                interfaces.append(_interface(data, at, length, names))
                places.append(interfaces[-1])
            elif kind == _PACKET:
                yield _packet(data, at, length, interfaces)
            at += length


def _options(data: mmap.mmap, at: int, end: int) -> dict[int, bytes]:
    """The options of a block between two places of the file, each once."""
    found = {}
    while at < end:
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + _padded(length)
    return found


def _padded(length: int) -> int:
    return (length + 3) & ~3


def _interface(data: mmap.mmap, at: int, length: int, names: Mapping[str, str]) -> Interface:
    options = _options(data, at + 16, at + length - 4)
    speed, name = options.get(_SPEED), options.get(_NAME, b"").decode()
    return Interface(
        names.get(name, name),
        options.get(_DESCRIPTION, b"").decode(),
        None if speed is None else int.from_bytes(speed, "little"),
    )


def _packet(data: mmap.mmap, at: int, length: int, interfaces: list[Interface]) -> Packet:
    number, high, low, captured = struct.unpack_from("<IIII", data, at + 8)
    options = _options(data, at + 28 + _padded(captured), at + length - 4)
    ip = at + 28 + _ETHERNET_BYTES
    ip_bytes, ip_id = struct.unpack_from(">HH", data, ip + 2)
    source, destination = struct.unpack_from(">II", data, ip + 12)
    header = (data[ip] & 15) * 4
    transport = ip + header
    ports = struct.unpack_from(">HH", data, transport)
    is_tcp = data[ip + 9] == _TCP
    seq, ack, own, flags = 0, 0, 8, 0
    if is_tcp:
        seq, ack, offset, flags = struct.unpack_from(">IIBB", data, transport + 4)
        own = (offset >> 4) * 4
    return Packet(
        at_ns=high << 32 | low,
        place=interfaces[number],
        is_inbound=options[_FLAGS][0] & 3 == _INBOUND,
        ends=(source, ports[0], destination, ports[1]),
        ip_id=ip_id,
        ip_bytes=ip_bytes,
        payload_bytes=ip_bytes - header - own,
        is_tcp=is_tcp,
        flags=flags,
        seq=seq,
        ack=ack,
        comment=options.get(_COMMENT, b"").decode(),
    )
