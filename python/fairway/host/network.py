"""Where packets to a host leave this one: two questions to the kernel over rtnetlink.

Neither needs privilege, nor the programs of iproute2, which small containers lack. Formats: Linux,
include/uapi/linux/netlink.h, rtnetlink.h and pkt_sched.h.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairway.errors import InputError

_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_RTM_NEWROUTE, _RTM_GETROUTE, _RTM_NEWQDISC, _RTM_GETQDISC = 24, 26, 36, 38
_NLM_F_REQUEST, _NLM_F_DUMP = 0x001, 0x300
_NETLINK_ROUTE = 0
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PREFSRC, _RTA_METRICS = 1, 4, 5, 7, 8
_TCA_KIND = 1
_TC_H_ROOT = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_TCMSG = struct.Struct("=BxxxiIII")

#: Metrics of a route that bound a connection (RTAX_*), by what they are called here.
_METRICS = {2: "mtu", 3: "window_bytes", 7: "cwnd_segments", 8: "advmss", 11: "initcwnd",
            14: "initrwnd"}  # fmt: skip

#: Most datagrams of an answer: a dump of some thousand queues.
_MOST_DATAGRAMS = 1000

#: Seconds to wait for the kernel's answer, which it gives at once.
_PATIENCE_S = 2.0

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def route(address: Address) -> dict[str, Any] | None:
    """The kernel's route, as `ip route get` has it: `index`, `gateway`, `source` and metrics."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    body = struct.pack("=BBBBBBBBI", family, len(address.packed) * 8, 0, 0, 0, 0, 0, 0, 0)
    body += _ATTRIBUTE.pack(4 + len(address.packed), _RTA_DST) + address.packed
    for kind, payload in _ask(_RTM_GETROUTE, _NLM_F_REQUEST, body):
        if kind == _RTM_NEWROUTE:
            return _route(payload[12:])
    return None


def queues(index: int) -> tuple[str, ...]:
    """The kinds of an interface's queue disciplines, the root's first; empty if not to be had."""
    roots: list[str] = []
    others: list[str] = []
    for kind, payload in _ask(
        _RTM_GETQDISC, _NLM_F_REQUEST | _NLM_F_DUMP, _TCMSG.pack(0, 0, 0, 0, 0)
    ):
        if kind != _RTM_NEWQDISC or len(payload) < _TCMSG.size:
            continue
        _family, its_index, _handle, parent, _info = _TCMSG.unpack_from(payload)
        if its_index != index:
            continue
        for attribute, value in attributes(payload[_TCMSG.size :]):
            if attribute == _TCA_KIND:
                name = value.rstrip(b"\0").decode("ascii", "replace")
                (roots if parent == _TC_H_ROOT else others).append(name)
    return tuple(dict.fromkeys([*roots, *others]))


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes in a message: kind and value; stops at the first that is malformed."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if not _ATTRIBUTE.size <= length <= len(data):
            return
        yield kind & 0x3FFF, data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages in a datagram: kind and payload; stops at the first that is malformed."""
    while len(data) >= _HEADER.size:
        length, kind, _flags, _sequence, _port = _HEADER.unpack_from(data)
        if not _HEADER.size <= length <= len(data):
            return
        yield kind, data[_HEADER.size : length]
        data = data[(length + 3) & ~3 :]


def _route(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind, value in attributes(data):
        if kind == _RTA_OIF and len(value) == 4:
            found["index"] = struct.unpack("=I", value)[0]
        elif kind in {_RTA_GATEWAY, _RTA_PREFSRC} and len(value) in {4, 16}:
            name = "gateway" if kind == _RTA_GATEWAY else "source"
            found[name] = str(ipaddress.ip_address(value))
        elif kind == _RTA_METRICS:
            for metric, number in attributes(value):
                if metric in _METRICS and len(number) == 4:
                    found[_METRICS[metric]] = struct.unpack("=I", number)[0]
    return found


def _ask(kind: int, flags: int, body: bytes) -> Iterator[tuple[int, bytes]]:
    """Send one request; yields the messages of the answer, none if the system has no rtnetlink."""
    if not hasattr(socket, "AF_NETLINK"):
        return
    dump = flags & _NLM_F_DUMP
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as link:
            link.settimeout(_PATIENCE_S)
            link.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
            for _ in range(_MOST_DATAGRAMS):
                for its_kind, payload in messages(link.recv(1 << 16)):
                    if its_kind in {_NLMSG_DONE, _NLMSG_ERROR}:
                        return
                    yield its_kind, payload
                if not dump:
                    return
    except OSError:
        return


@dataclass(frozen=True)
class Route:
    """The route to an address; None is what the system does not tell.

    Attributes:
        mtu_bytes: Largest packet to that address, as far as the kernel knows the path.
        window_bytes: Largest window that the route allows (`ip route … window`), if it is bounded.
        cwnd_segments: Bound of cwnd (`ip route … cwnd`), if there is one.
    """

    address: str
    interface: str | None = None
    source: str | None = None
    gateway: str | None = None
    mtu_bytes: int | None = None
    window_bytes: int | None = None
    cwnd_segments: int | None = None


def resolve(host: str) -> str:
    """The address that a connection to `host` would try first."""
    try:
        found = socket.getaddrinfo(host, 9, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{host}: no address is known for this name ({why}); check it") from error
    return str(found[0][4][0])


def route_to(address: str) -> Route:
    """The route to an address, from what the kernel answers and a connected UDP socket."""
    bare = ipaddress.ip_address(address.partition("%")[0])
    told = route(bare) or {}
    source, mtu = _connected(address)
    return Route(
        address=address,
        interface=_name(told.get("index")),
        source=told.get("source") or source,
        gateway=told.get("gateway"),
        mtu_bytes=mtu or told.get("mtu"),
        window_bytes=told.get("window_bytes"),
        cwnd_segments=told.get("cwnd_segments"),
    )


def default_interface() -> str | None:
    """The interface that packets to most of the Internet leave by, if there is one."""
    # An address that stands for any other in documentation (RFC 5737); nothing is sent to it.
    found = route(ipaddress.ip_address("203.0.113.1")) or {}
    return _name(found.get("index"))


def _connected(address: str) -> tuple[str | None, int | None]:
    """Own address and path MTU of a UDP socket that is connected there; no packet is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # Linux, include/uapi/linux/in.h and in6.h: IP_MTU and IPV6_MTU.
    level, option = (
        (socket.IPPROTO_IPV6, 24) if family == socket.AF_INET6 else (socket.IPPROTO_IP, 14)
    )
    try:
        where = socket.getaddrinfo(address, 9, family, socket.SOCK_DGRAM)[0][4]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(where)
            own = str(probe.getsockname()[0])
            try:
                is_linux = hasattr(socket, "AF_NETLINK")
                return own, probe.getsockopt(level, option) if is_linux else None
            except OSError:
                return own, None
    except OSError:
        return None, None


def _name(index: int | None) -> str | None:
    try:
        return None if index is None else socket.if_indextoname(index)
    except OSError:
        return None
