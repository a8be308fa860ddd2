"""Which packet crosses which link, and when: what captures of a run's links say together.

A packet is offered to a link, waits in its queue, is transmitted and travels. A capture has the
first moment and the last. Between them lie the transmission, which follows from the link's rate,
and the propagation delay, which is what the quickest packet of the link had besides: it found the
queue empty. What is left is the wait.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from fairway.capture.animation.pcapng import FIN, SYN, Packet
from fairway.errors import InputError

#: Half of the sequence numbers: what is further ahead is behind (RFC 9293 section 3.4).
_HALF, _ALL = 1 << 31, 1 << 32


class Fate(enum.IntEnum):
    """What becomes of a packet on a link."""

    ARRIVED = 0
    DROPPED = 1
    LOST = 2
    CORRUPTED = 3


#: How comments of packets begin, as the simulator writes them (docs/commands/analyze.md).
_COMMENTS = {
    "fairway: dropped": Fate.DROPPED,
    "fairway: lost": Fate.LOST,
    "fairway: corrupted": Fate.CORRUPTED,
}


class Kind(enum.IntEnum):
    """What a packet is."""

    DATA = 0
    ACK = 1
    RETRANSMISSION = 2
    DATAGRAM = 3
    CONTROL = 4


#: Addresses and ports of a packet, and its identification.
_Key = tuple[int, int, int, int, int]


@dataclass(slots=True)
class Crossing:
    """A packet on a link.

    Attributes:
        offered_ns: When it is offered to the queue.
        sent_ns: When its transmission begins; for one that the queue drops, `offered_ns`.
        arrived_ns: When its last bit arrives, or would if the link did not lose it.
    """

    packet: Packet
    kind: Kind
    link: str
    source: str
    target: str
    offered_ns: int
    sent_ns: int
    arrived_ns: int | None
    fate: Fate


@dataclass
class Direction:
    """A link in one direction.

    Attributes:
        rate_bps: Its rate, if it is one and the same.
        delay_ns: Its propagation delay: what the quickest packet took besides its transmission.
    """

    link: str
    source: str
    target: str
    rate_bps: int | None
    delay_ns: int = 0
    crossings: list[Crossing] = field(default_factory=list)


@dataclass
class Traffic:
    """What a run's captures show.

    Attributes:
        directions: The links that packets crossed, each direction by itself.
        hosts: Name of each host -> the node at which its packets enter and leave the network; a
            host of a graph is a node itself.
    """

    directions: list[Direction]
    hosts: dict[str, str]


def traffic(packets: Sequence[Packet], overhead_bytes: int = 0) -> Traffic:
    """Find the way of each packet over each link."""
    # At the same time a packet leaves its host, then enters or leaves a link, then is received.
    packets = sorted(packets, key=lambda packet: (packet.at_ns, _turn(packet)))
    directions = _directions(_matched(packets))
    for direction in directions:
        _time(direction, overhead_bytes)
    return Traffic(directions, _attached(packets))


def _is_of_link(packet: Packet) -> bool:
    return "@" in packet.place.name


def _turn(packet: Packet) -> int:
    return 1 if _is_of_link(packet) else 2 * packet.is_inbound


def _matched(packets: Iterable[Packet]) -> list[Crossing]:
    """Each packet's entry into a link with its exit, in the order of the entries."""
    found: list[Crossing] = []
    inside: dict[tuple[str, _Key], list[Crossing]] = defaultdict(list)
    kinds: dict[_Key, Kind] = {}
    next_seq: dict[tuple[int, ...], int] = {}
    for packet in packets:
        key = _key(packet)
        if not _is_of_link(packet):
            if not packet.is_inbound:
                kinds[key] = _kind(packet, next_seq)
            continue
        link, _, node = packet.place.name.rpartition("@")
        fate, under_way = _fate(packet), inside[link, key]
        if not packet.is_inbound:
            if key not in kinds:
                raise InputError(
                    f"{packet.place.name}: captures show a packet at {packet.at_ns} ns that no "
                    "host has sent; they are damaged or of several runs; capture again"
                )
            at = packet.at_ns
            crossing = Crossing(packet, kinds[key], link, node, "", at, at, None, fate)
            found.append(crossing)
            if fate not in (Fate.DROPPED, Fate.LOST):
                under_way.append(crossing)
        elif under_way:
            # The last one stays, for a copy of it that the link has made.
            if under_way[0].arrived_ns is not None and len(under_way) > 1:
                under_way.pop(0)
            crossing = under_way[0]
            if crossing.arrived_ns is not None:
                crossing = replace(crossing)
                found.append(crossing)
            crossing.target, crossing.arrived_ns, crossing.fate = node, packet.at_ns, fate
    return found


def _key(packet: Packet) -> _Key:
    return (*packet.ends, packet.ip_id)


def _fate(packet: Packet) -> Fate:
    for start, fate in _COMMENTS.items():
        if packet.comment.startswith(start):
            return fate
    return Fate.ARRIVED


def _kind(packet: Packet, next_seq: dict[tuple[int, ...], int]) -> Kind:
    """What a packet is that leaves its host."""
    if not packet.is_tcp:
        return Kind.DATAGRAM
    if not packet.payload_bytes:
        return Kind.CONTROL if packet.flags & (SYN | FIN) else Kind.ACK
    end = packet.seq + packet.payload_bytes
    is_new = 0 < (end - next_seq.get(packet.ends, packet.seq)) % _ALL < _HALF
    if is_new:
        next_seq[packet.ends] = end % _ALL
    return Kind.DATA if is_new else Kind.RETRANSMISSION


def _directions(found: Sequence[Crossing]) -> list[Direction]:
    """The links in each direction, with their packets in the order in which they were offered."""
    targets: dict[tuple[object, ...], str] = {}
    for crossing in found:
        if crossing.target:
            of_link = (crossing.link, crossing.source)
            targets.setdefault((*of_link, crossing.packet.ends), crossing.target)
            targets.setdefault(of_link, crossing.target)
    directions: dict[tuple[str, str, str], Direction] = {}
    for crossing in found:
        # Where a packet would have come out that did not.
        of_link = (crossing.link, crossing.source)
        own = targets.get((*of_link, crossing.packet.ends)) or targets.get(of_link, "")
        crossing.target = crossing.target or own
        if not crossing.target:
            continue
        key = (crossing.link, crossing.source, crossing.target)
        speed = crossing.packet.place.speed_bps
        directions.setdefault(key, Direction(*key, speed)).crossings.append(crossing)
    for direction in directions.values():
        direction.crossings.sort(key=lambda crossing: crossing.offered_ns)
    return list(directions.values())


def _time(direction: Direction, overhead_bytes: int) -> None:
    """Find when each packet of a link began to be transmitted.

    A packet of which that is not known, because the link lost it or the run ended, is taken to
    follow the packet that was offered before it.
    """

    def transmission_ns(crossing: Crossing) -> int:
        bits = (crossing.packet.ip_bytes + overhead_bytes) * 8
        return 0 if direction.rate_bps is None else bits * 10**9 // direction.rate_bps

    direction.delay_ns = min(
        (
            max(crossing.arrived_ns - crossing.offered_ns - transmission_ns(crossing), 0)
            for crossing in direction.crossings
            if crossing.arrived_ns is not None
        ),
        default=0,
    )
    free_ns = 0
    for crossing in direction.crossings:
        if crossing.fate is Fate.DROPPED:
            crossing.arrived_ns = crossing.offered_ns
            continue
        took = transmission_ns(crossing) + direction.delay_ns
        if crossing.arrived_ns is None:
            crossing.sent_ns = max(crossing.offered_ns, free_ns)
            crossing.arrived_ns = crossing.sent_ns + took
        else:
            crossing.sent_ns = max(crossing.offered_ns, crossing.arrived_ns - took)
        free_ns = crossing.sent_ns + transmission_ns(crossing)


def _attached(packets: Iterable[Packet]) -> dict[str, str]:
    """The node at which the packets of each host enter the links, or leave them."""
    hosts: dict[int, str] = {}
    places: dict[int, str] = {}
    out_of: dict[_Key, str] = {}
    for packet in packets:
        name, source, target = packet.place.name, packet.ends[0], packet.ends[2]
        if not _is_of_link(packet):
            hosts[target if packet.is_inbound else source] = name
            if packet.is_inbound:
                places.setdefault(target, out_of.get(_key(packet), ""))
        elif packet.is_inbound:
            out_of[_key(packet)] = name.rpartition("@")[2]
        else:
            places.setdefault(source, name.rpartition("@")[2])
    return {name: places[address] for address, name in hosts.items() if places.get(address)}
