"""The round-trip time to a host, measured without privilege."""

from __future__ import annotations

import os
import socket
import struct
import time
from dataclasses import dataclass

from fairway.errors import InputError, RunFailed

#: Where Fairway's receiver listens.
DEFAULT_PORT = 5311

#: Round trips that are measured; the least is taken, as queues only add to it.
PROBES = 5

#: Seconds to wait for one answer.
PATIENCE_S = 2.0


@dataclass(frozen=True)
class RoundTrip:
    """A measured round-trip time.

    Attributes:
        least_s: Seconds.
        how: "icmp", "tcp connect" or "tcp refused".
    """

    least_s: float
    how: str
    port: int | None = None


def split(text: str) -> tuple[str, int | None]:
    """Host and port of "host", "host:port", "[::1]:port" or "::1".

    >>> split("example.org:22"), split("::1"), split("[::1]:22")
    (('example.org', 22), ('::1', None), ('::1', 22))
    """
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
        if "]" not in text or (rest and not rest.startswith(":")):
            host = ""
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    valid = port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 2**16
    if not host or (port and not valid) or (text.endswith(":") and not text.endswith("::")):
        raise InputError(
            f'HOST "{text[:80]}": expected a name or an address, and a port from 1 to 65535 after '
            "a colon; write host, host:22 or [::1]:22"
        )
    return host, int(port) if port else None


def measure(address: str, port: int | None = None) -> RoundTrip:
    """Measure the round-trip time to an address.

    A named port is tried by TCP: that it answers, or refuses, takes one round trip. Otherwise ICMP
    is tried first, where the system lets users send it (ping_group_range), then Fairway's port.
    """
    if port is None:
        found = _icmp(address)
        if found is not None:
            return RoundTrip(found, "icmp")
    return _tcp(address, port or DEFAULT_PORT)


def _tcp(address: str, port: int) -> RoundTrip:
    times: list[float] = []
    how = "tcp connect"
    for _ in range(PROBES):
        began = time.perf_counter()
        try:
            with socket.create_connection((address, port), timeout=PATIENCE_S):
                times.append(time.perf_counter() - began)
        except ConnectionRefusedError:
            times.append(time.perf_counter() - began)
            how = "tcp refused"
        except OSError as error:
            if not times:
                why = "no answer" if isinstance(error, TimeoutError) else error.strerror or error
                raise RunFailed(
                    f"{address}, port {port}: cannot measure the round-trip time: {why}; name a "
                    'port that answers (HOST:PORT), or say it with --rtt "200 ms"'
                ) from error
            break
    return RoundTrip(min(times), how, port)


def _icmp(address: str) -> float | None:
    """The least time of some echoes, or None if they are not allowed or not answered."""
    version6 = ":" in address
    family = socket.AF_INET6 if version6 else socket.AF_INET
    protocol = socket.IPPROTO_ICMPV6 if version6 else socket.IPPROTO_ICMP
    kind = 128 if version6 else 8  # echo request: RFC 4443, RFC 792
    times: list[float] = []
    try:
        where = socket.getaddrinfo(address, None, family, socket.SOCK_DGRAM)[0][4]
        with socket.socket(family, socket.SOCK_DGRAM, protocol) as probe:
            probe.connect(where)
            probe.settimeout(PATIENCE_S)
            for sequence in range(PROBES):
                data = os.urandom(16)
                # The kernel puts in the identifier, and the checksum for IPv6.
                packet = struct.pack("!BBHHH", kind, 0, 0, 0, sequence) + data
                if not version6:
                    packet = packet[:2] + struct.pack("!H", _checksum(packet)) + packet[4:]
                began = time.perf_counter()
                probe.send(packet)
                if not _answered(probe, data):
                    break
                times.append(time.perf_counter() - began)
    except OSError:
        pass
    return min(times, default=None)


def _answered(probe: socket.socket, data: bytes) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if probe.recv(2048).endswith(data):
            return True
    return False


def _checksum(packet: bytes) -> int:
    """RFC 1071; the identifier that the kernel puts in later, it counts itself."""
    total: int = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
