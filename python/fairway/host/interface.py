"""A network interface, as far as it bounds or shapes what a connection sends.

Drivers are asked by ioctl(SIOCETHTOOL), which needs neither privilege nor ethtool; formats are of
Linux, include/uapi/linux/ethtool.h and sockios.h.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairway.host import network
from fairway.host.files import integer, read

_SIOCETHTOOL = 0x8946
_GDRVINFO, _GRINGPARAM, _GFLAGS = 0x03, 0x10, 0x25
_FLAG_LRO = 1 << 15

#: Commands that answer one 32-bit switch, by what they ask for.
_SWITCHES = {
    "rx_checksum": 0x14,
    "tx_checksum": 0x16,
    "scatter_gather": 0x18,
    "tso": 0x1E,
    "gso": 0x23,
    "gro": 0x2B,
}


def _offloads(name: str) -> dict[str, bool] | None:
    """Offloads of the interface or the kernel's batching: tso, gso, gro, lro, checksums."""
    found: dict[str, bool] = {}
    for what, command in _SWITCHES.items():
        answer = _ask_driver(name, struct.pack("=II", command, 0))
        if answer is not None:
            found[what] = bool(struct.unpack_from("=I", answer, 4)[0])
    flags = _ask_driver(name, struct.pack("=II", _GFLAGS, 0))
    if flags is not None:
        found["lro"] = bool(struct.unpack_from("=I", flags, 4)[0] & _FLAG_LRO)
    return found or None


def _driver_name(name: str) -> str | None:
    """The name of the interface's _driver_name."""
    # struct ethtool_drvinfo: cmd, then 32 bytes of _driver_name, 196 bytes in all.
    answer = _ask_driver(name, struct.pack("=I192x", _GDRVINFO))
    if answer is None:
        return None
    return answer[4:36].split(b"\0")[0].decode("ascii", "replace") or None


def _rings(name: str) -> dict[str, int] | None:
    """Packets that the interface's _rings hold, and the most they can be set to: rx, tx, *_max."""
    # struct ethtool_ringparam: cmd, then the most of rx, mini, jumbo, tx, and then as they are.
    answer = _ask_driver(name, struct.pack("=9I", _GRINGPARAM, *[0] * 8))
    if answer is None:
        return None
    _, rx_max, _, _, tx_max, rx, _, _, tx = struct.unpack("=9I", answer)
    return {"rx": rx, "tx": tx, "rx_max": rx_max, "tx_max": tx_max} if rx_max or tx_max else None


def _ask_driver(name: str, command: bytes) -> bytes | None:
    if not sys.platform.startswith("linux") or not 0 < len(name.encode()) < 16:
        return None
    import fcntl

    buffer = ctypes.create_string_buffer(command, len(command))
    # struct ifreq: the name in 16 bytes, then a union of 24 that has the pointer first.
    request: Any = struct.pack("16sP16x", name.encode(), ctypes.addressof(buffer))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)
    except OSError:
        return None
    return buffer.raw


@dataclass(frozen=True)
class Interface:
    """An interface; None is what the system does not tell.

    Attributes:
        state: "up", "down" or another of RFC 2863's states; "unknown" is usual for virtual ones.
        mtu_bytes: Largest IP packet.
        speed_bps: Of the line in bit/s. Virtual interfaces have none, or name one without meaning.
        tx_queue_packets: `txqueuelen`.
        queue: Kind of the root queue discipline, then those below it: ("mq", "fq_codel").
        offloads: Whether tso, gso, gro, lro, scatter_gather, rx_checksum, tx_checksum are on.
        rings: Packets in the driver's rings: rx, tx, and the most they can be: rx_max, tx_max.
        send_queues: Hardware queues to send from.
    """

    name: str
    state: str | None = None
    mtu_bytes: int | None = None
    speed_bps: int | None = None
    tx_queue_packets: int | None = None
    queue: tuple[str, ...] = ()
    driver: str | None = None
    offloads: dict[str, bool] | None = field(default=None, hash=False)
    rings: dict[str, int] | None = field(default=None, hash=False)
    send_queues: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "queue": list(self.queue)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Interface:
        """The interface that `to_json` wrote."""
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**{**known, "queue": tuple(known.get("queue") or ())})

    @classmethod
    def read(cls, name: str, root: Path = Path("/")) -> Interface | None:
        """An interface of this host, or None if it has none of that name."""
        # The name becomes a part of a path.
        if "/" in name or name in {"", ".", ".."}:
            return None
        place = root / "sys/class/net" / name
        if not place.is_dir():
            return None
        live = root == Path("/")
        index = integer(read(place / "ifindex"))
        return cls(
            name=name,
            state=read(place / "operstate"),
            mtu_bytes=_positive(place / "mtu"),
            speed_bps=_speed_bps(place),
            tx_queue_packets=integer(read(place / "tx_queue_len")),
            queue=network.queues(index) if live and index is not None else (),
            driver=_driver(place) or (_driver_name(name) if live else None),
            offloads=_offloads(name) if live else None,
            rings=_rings(name) if live else None,
            send_queues=_send_queues(place),
        )


def _positive(path: Path) -> int | None:
    value = integer(read(path))
    return value if value is not None and value > 0 else None


def _speed_bps(place: Path) -> int | None:
    megabits = _positive(place / "speed")
    # The kernel shows an unknown speed as -1, some drivers as 2^32 - 1 (SPEED_UNKNOWN).
    return megabits * 1_000_000 if megabits is not None and megabits < 2**31 else None


def _driver(place: Path) -> str | None:
    try:
        return (place / "device/driver").readlink().name
    except OSError:
        return None


def _send_queues(place: Path) -> int | None:
    try:
        return sum(entry.name.startswith("tx-") for entry in (place / "queues").iterdir()) or None
    except OSError:
        return None
