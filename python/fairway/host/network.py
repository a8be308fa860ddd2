"""Where packets to a host leave this one."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import asdict, dataclass
from typing import Any

from fairway.errors import InputError
from fairway.host import netlink


@dataclass(frozen=True)
class Route:
    """The route to an address; None is what the system does not tell.

    Attributes:
        interface: Name of the interface that packets leave by.
        source: This host's address on it.
        gateway: The next router, if there is one.
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

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


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
    told = netlink.route(bare) or {}
    source, mtu = _connected(address)
    index = told.get("index")
    return Route(
        address=address,
        interface=_name(index) if isinstance(index, int) else None,
        source=_text(told.get("source")) or source,
        gateway=_text(told.get("gateway")),
        mtu_bytes=mtu or _number(told.get("mtu")),
        window_bytes=_number(told.get("window_bytes")),
        cwnd_segments=_number(told.get("cwnd_segments")),
    )


def default_interface() -> str | None:
    """The interface that packets to most of the Internet leave by, if there is one."""
    # An address that stands for any other in documentation (RFC 5737); nothing is sent to it.
    found = netlink.route(ipaddress.ip_address("203.0.113.1")) or {}
    index = found.get("index")
    return _name(index) if isinstance(index, int) else None


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
                return own, probe.getsockopt(level, option) if _is_linux() else None
            except OSError:
                return own, None
    except OSError:
        return None, None


def _is_linux() -> bool:
    return hasattr(socket, "AF_NETLINK")


def _name(index: int) -> str | None:
    try:
        return socket.if_indextoname(index)
    except OSError:
        return None


def _text(value: int | str | None) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: int | str | None) -> int | None:
    return value if isinstance(value, int) else None
