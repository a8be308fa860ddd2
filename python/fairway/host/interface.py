"""A network interface, as far as it bounds or shapes what a connection sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairway.host import ethtool, netlink
from fairway.host.files import integer, read


@dataclass(frozen=True)
class Interface:
    """An interface; None is what the system does not tell.

    Attributes:
        name: As `ip link` has it.
        state: "up", "down" or another of RFC 2863's states; "unknown" is usual for virtual ones.
        mtu_bytes: Largest IP packet.
        speed_bps: Of the line in bit/s. Virtual interfaces have none, or name one without meaning.
        tx_queue_packets: `txqueuelen`.
        queue: Kind of the root queue discipline, then those below it: ("mq", "fq_codel").
        driver: Name of the driver.
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
            queue=netlink.queues(index) if live and index is not None else (),
            driver=_driver(place) or (ethtool.driver(name) if live else None),
            offloads=ethtool.offloads(name) if live else None,
            rings=ethtool.rings(name) if live else None,
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
