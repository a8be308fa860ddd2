"""What a driver says of its interface, by ioctl(SIOCETHTOOL): needs neither privilege nor ethtool.

Formats: Linux, include/uapi/linux/ethtool.h and sockios.h.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from typing import Any

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


def offloads(name: str) -> dict[str, bool] | None:
    """Offloads of the interface or the kernel's batching: tso, gso, gro, lro, checksums."""
    found: dict[str, bool] = {}
    for what, command in _SWITCHES.items():
        answer = _ask(name, struct.pack("=II", command, 0))
        if answer is not None:
            found[what] = bool(struct.unpack_from("=I", answer, 4)[0])
    flags = _ask(name, struct.pack("=II", _GFLAGS, 0))
    if flags is not None:
        found["lro"] = bool(struct.unpack_from("=I", flags, 4)[0] & _FLAG_LRO)
    return found or None


def driver(name: str) -> str | None:
    """The name of the interface's driver."""
    # struct ethtool_drvinfo: cmd, then 32 bytes of driver, 196 bytes in all.
    answer = _ask(name, struct.pack("=I192x", _GDRVINFO))
    if answer is None:
        return None
    return answer[4:36].split(b"\0")[0].decode("ascii", "replace") or None


def rings(name: str) -> dict[str, int] | None:
    """Packets that the interface's rings hold, and the most they can be set to: rx, tx, *_max."""
    # struct ethtool_ringparam: cmd, then the most of rx, mini, jumbo, tx, and then as they are.
    answer = _ask(name, struct.pack("=9I", _GRINGPARAM, *[0] * 8))
    if answer is None:
        return None
    _, rx_max, _, _, tx_max, rx, _, _, tx = struct.unpack("=9I", answer)
    return {"rx": rx, "tx": tx, "rx_max": rx_max, "tx_max": tx_max} if rx_max or tx_max else None


def _ask(name: str, command: bytes) -> bytes | None:
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
