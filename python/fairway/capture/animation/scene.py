"""What the page plays: nodes, links, flows and packets, as one JSON object."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairway.capture.animation.crossings import Crossing, Direction, Traffic
from fairway.capture.animation.pcapng import ACK, SYN, Interface, Packet
from fairway.errors import InputError
from fairway.ground import text

if TYPE_CHECKING:
    import polars as pl

#: How often the order of the rows is improved, forth and back.
_SWEEPS = 4
#: Room between a host and its node, as a share of that for a link.
_STUB = 0.35

#: Two nodes with a link between them.
Pair = tuple[str, str]


def positions(
    links: Sequence[Pair], stubs: Sequence[Pair], sources: Sequence[str], hosts: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """A place for each node, both coordinates from 0 to 1.

    A node's column is its distance from the first source. A host with a single link stands beside
    its router: away from other routers, or where there are some on both sides or none, on the left
    if it sends and else on the right. In a column hosts stand outside, routers inside, each near
    the rows of those that it is linked to.
    """
    beside = _neighbours([*links, *stubs])
    column = _layers(beside, sources, hosts)
    first, last = min(column.values()), max(column.values())
    columns: list[list[str]] = [[] for _ in range(first, last + 1)]
    for name, at in column.items():
        columns[at - first].append(name)
    columns = [names for names in columns if names]
    _order(columns, beside, set(hosts))
    across = _across(columns, links)
    return {
        name: (at, (row + 0.5) / len(names))
        for at, names in zip(across, columns, strict=True)
        for row, name in enumerate(names)
    }


def _across(columns: Sequence[Sequence[str]], links: Sequence[Pair]) -> list[float]:
    """Where each column stands: nearer to the one before it if no link leads there."""
    number = {name: index for index, names in enumerate(columns) for name in names}
    crossed = {gap for one, other in links for gap in range(*sorted((number[one], number[other])))}
    at = [0.0]
    for gap in range(len(columns) - 1):
        at.append(at[-1] + (1.0 if gap in crossed else _STUB))
    return [place / (at[-1] or 1.0) for place in at]


def _neighbours(edges: Sequence[Pair]) -> dict[str, list[str]]:
    beside: dict[str, list[str]] = {}
    for one, other in edges:
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    return {name: list(dict.fromkeys(names)) for name, names in beside.items()}


def _layers(
    beside: Mapping[str, Sequence[str]], sources: Sequence[str], hosts: Sequence[str]
) -> dict[str, int]:
    distance: dict[str, int] = {}
    for begin in (*sources, *beside):
        if begin in distance or begin not in beside:
            continue
        distance[begin] = 0
        waiting = deque([begin])
        while waiting:
            name = waiting.popleft()
            for other in beside[name]:
                if other not in distance:
                    distance[other] = distance[name] + 1
                    waiting.append(other)
    column = dict(distance)
    leaves = {name for name in hosts if len(beside.get(name, ())) == 1}
    for name in leaves - {next(iter(distance))}:
        router = beside[name][0]
        others = [distance[one] for one in beside[router] if one not in leaves]
        is_before = name in sources
        if others and (min(others) > distance[router] or max(others) < distance[router]):
            is_before = min(others) > distance[router]
        column[name] = distance[router] + (-1 if is_before else 1)
    return column


def _order(columns: list[list[str]], beside: Mapping[str, Sequence[str]], hosts: set[str]) -> None:
    """Order the rows of each column by the means of their neighbours' rows."""
    row: dict[str, float] = {}

    def place(names: list[str]) -> None:
        row.update({name: (number + 0.5) / len(names) for number, name in enumerate(names)})

    def mean(name: str) -> float:
        known = [row[other] for other in beside[name] if other in row]
        return sum(known) / len(known) if known else 0.5

    for names in columns:
        place(names)
    for sweep in range(_SWEEPS):
        for names in columns if sweep % 2 == 0 else reversed(columns):
            names.sort(key=mean)
            outside = [name for name in names if name in hosts and len(beside[name]) == 1]
            inside = [name for name in names if name not in outside]
            half = len(outside) // 2 if inside else len(outside)
            names[:] = [*outside[:half], *inside, *outside[half:]]
            place(names)


#: Crossings of a page: some 2 MB, and as much as a phone draws without stops.
MOST_CROSSINGS = 50_000
#: Flows whose windows are shown beside each other.
MOST_SENDERS = 12
#: First ports of openers and of the other ends of TCP and UDP, and connections of a round
#: (docs/commands/analyze.md).
_OPENERS, _TCP, _UDP, _ROUND = 50_000, 42_000, 43_000, 4_000
#: A packet takes so long for the link with the longest delay, as it is played at first.
_SECONDS_FOR_A_LINK = 1.5
#: Significant digits of a sample.
_DIGITS = 6
#: Columns of `Run.series` -> their names on the page, and what they are multiplied by.
_SERIES = {
    "cwnd_segments": ("cwnd", 1.0),
    "ssthresh_segments": ("ssthresh", 1.0),
    "pipe_segments": ("flight", 1.0),
    "srtt_s": ("srtt_ms", 1e3),
}


@dataclass(frozen=True)
class Recorded:
    """What a run has left."""

    interfaces: Sequence[Interface]
    packets: Sequence[Packet]
    traffic: Traffic
    flows: Sequence[Mapping[str, Any]]
    series: pl.DataFrame


#: A link as it is drawn: its name, empty between a host and its router, and its two nodes.
Edge = tuple[str, str, str]
#: Addresses and ports of packets -> a sequence number.
_Seqs = Mapping[tuple[int, ...], int]


def scene(run: Recorded, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """What happens between two times."""
    directions = run.traffic.directions
    shown = [
        (number, crossing)
        for number, direction in enumerate(directions)
        for crossing in direction.crossings
        if crossing.offered_ns < end_ns and _end(crossing) >= begin_ns
    ]
    shown.sort(key=lambda one: one[1].offered_ns)
    _refuse(shown, begin_ns, end_ns)
    edges = _edges(run.interfaces, run.traffic)
    openers = _openers(run.packets)
    names = [_name(run.flows, opener) for opener in openers]
    return {
        "begin_ns": begin_ns,
        "end_ns": end_ns,
        "speed": _speed(directions),
        "nodes": _nodes(run, edges, [opener.ends[0] for opener in openers]),
        "edges": edges,
        "directions": [
            [direction.link, direction.source, direction.target, _edge_of(edges, direction)]
            for direction in directions
        ],
        "flows": [_flow(run, name, begin_ns, end_ns) for name in names],
        "packets": {
            "direction": [number for number, _ in shown],
            **_columns(
                [crossing for _, crossing in shown], openers, _first_seqs(run.packets), begin_ns
            ),
        },
    }


def _end(crossing: Crossing) -> int:
    assert crossing.arrived_ns is not None
    return crossing.arrived_ns


def _refuse(shown: Sequence[tuple[int, Crossing]], begin_ns: int, end_ns: int) -> None:
    """Refuse a time in which there is nothing to see, or more than a page holds."""
    begin, end = (f"{text.exact(at / 1e9)} s" for at in (begin_ns, end_ns))
    if not shown:
        raise InputError(f"no packet crosses a link from {begin} to {end}; choose another time")
    if len(shown) > MOST_CROSSINGS:
        room_ns = max(shown[MOST_CROSSINGS][1].offered_ns - begin_ns, 0)
        until = f"{text.number((begin_ns + room_ns * 0.9) / 1e9, 3)} s"
        raise InputError(
            f"{len(shown):,} packets cross links from {begin} to {end}, and a page holds "
            f'{MOST_CROSSINGS:,}; show a shorter time, such as --from "{begin}" --to "{until}"'
        )


def _edges(interfaces: Iterable[Interface], traffic: Traffic) -> list[Edge]:
    """All links; of a medium that more than two nodes share, what packets crossed."""
    ends: dict[str, list[str]] = defaultdict(list)
    for interface in interfaces:
        link, at, node = interface.name.rpartition("@")
        if at:
            ends[link].append(node)
    found = [(link, *nodes) for link, nodes in ends.items() if len(nodes) == 2]
    edges: list[Edge] = [(link, one, other) for link, one, other in found]
    for direction in traffic.directions:
        edge = (direction.link, direction.source, direction.target)
        if edge not in edges and (edge[0], edge[2], edge[1]) not in edges:
            edges.append(edge)
    return [*edges, *(("", host, node) for host, node in traffic.hosts.items() if host != node)]


def _edge_of(edges: Sequence[Edge], direction: Direction) -> int:
    ends = {direction.source, direction.target}
    return next(
        number
        for number, (link, one, other) in enumerate(edges)
        if link == direction.link and {one, other} == ends
    )


def _nodes(run: Recorded, edges: Sequence[Edge], sources: Sequence[int]) -> list[list[Any]]:
    """Name, place and whether it is a host, of each node."""
    hosts = [place.name for place in run.interfaces if "@" not in place.name]
    addresses = {
        packet.ends[0]: packet.place.name
        for packet in run.packets
        if "@" not in packet.place.name and not packet.is_inbound
    }
    senders = [addresses[source] for source in dict.fromkeys(sources)]
    links = [(one, other) for name, one, other in edges if name]
    stubs = [(one, other) for name, one, other in edges if not name]
    places = positions(links, stubs, senders, hosts)
    return [[name, round(x, 4), round(y, 4), int(name in hosts)] for name, (x, y) in places.items()]


def _speed(directions: Sequence[Direction]) -> float:
    """Seconds of the run in a second at first: 1, 2 or 5 times a power of ten."""
    longest_s = max(
        min(_end(one) - one.sent_ns for one in direction.crossings) for direction in directions
    ) / 1e9  # fmt: skip
    wanted = max(longest_s, 1e-9) / _SECONDS_FOR_A_LINK
    steps = [factor * 10.0**power for power in range(-9, 2) for factor in (1, 2, 5)]
    return max(step for step in steps if step <= wanted or step == steps[0])


def _openers(packets: Iterable[Packet]) -> list[Packet]:
    """The first packet of each connection and datagram flow, in their order."""
    found: dict[frozenset[tuple[int, int]], Packet] = {}
    for packet in packets:
        source, port, target, other = packet.ends
        if "@" in packet.place.name or packet.is_inbound:
            continue
        if not packet.is_tcp or packet.flags & (SYN | ACK) == SYN:
            found.setdefault(frozenset(((source, port), (target, other))), packet)
    return sorted(found.values(), key=lambda packet: (not packet.is_tcp, _index(packet)))


def _index(opener: Packet) -> int:
    """The index of a connection among all connections, or of a datagram flow among those."""
    own, other = opener.ends[1], opener.ends[3]
    return own - _OPENERS + _ROUND * (other - (_TCP if opener.is_tcp else _UDP))


def _name(flows: Sequence[Mapping[str, Any]], opener: Packet) -> str:
    """The flow's id in results."""
    ids = [
        str(flow["id"])
        for flow in flows
        if (flow["cc"] is not None) == opener.is_tcp and not str(flow["id"]).endswith("/reverse")
    ]
    index = _index(opener)
    return ids[index] if index < len(ids) else f"connection {index}"


def _columns(
    shown: Sequence[Crossing], openers: Sequence[Packet], first_seqs: _Seqs, begin_ns: int
) -> dict[str, list[int]]:
    """A column for each number of a packet on a link; times in nanoseconds.

    `offered` counts from the beginning of the animation; `wait` and `travel` follow each other.
    `number` is the place of the first byte in the stream of data, how many bytes are acknowledged,
    or a datagram's identification.
    """
    flows: dict[tuple[int, ...], int] = {}
    for number, opener in enumerate(openers):
        flows[opener.ends] = flows[_turned(opener.ends)] = number
    return {
        "flow": [flows[one.packet.ends] for one in shown],
        "kind": [int(one.kind) for one in shown],
        "fate": [int(one.fate) for one in shown],
        "offered": [one.offered_ns - begin_ns for one in shown],
        "wait": [one.sent_ns - one.offered_ns for one in shown],
        "travel": [_end(one) - one.sent_ns for one in shown],
        "bytes": [one.packet.ip_bytes for one in shown],
        "number": [_number(one.packet, first_seqs) for one in shown],
    }


def _turned(ends: tuple[int, ...]) -> tuple[int, ...]:
    return (*ends[2:], *ends[:2])


def _first_seqs(packets: Iterable[Packet]) -> _Seqs:
    """The first sequence number of each direction of a connection, that of its SYN."""
    found: dict[tuple[int, ...], int] = {}
    for packet in packets:
        found.setdefault(packet.ends, packet.seq)
    return found


def _number(packet: Packet, first_seqs: _Seqs) -> int:
    if not packet.is_tcp:
        return packet.ip_id
    if packet.payload_bytes or not packet.flags & ACK:
        seq, first = packet.seq, first_seqs[packet.ends]
    else:
        seq, first = packet.ack, first_seqs.get(_turned(packet.ends), packet.ack)
    # The SYN takes the first number (RFC 9293 section 3.4).
    return max((seq - first) % (1 << 32) - 1, 0)


def _flow(run: Recorded, name: str, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """A flow with its samples, from the last one before the beginning on."""
    import polars as pl

    found = next((flow for flow in run.flows if flow["id"] == name), None)
    own = run.series.filter(pl.col("flow") == name)
    before = own.filter(pl.col("t_s") <= begin_ns / 1e9).tail(1)
    inside = own.filter((pl.col("t_s") > begin_ns / 1e9) & (pl.col("t_s") <= end_ns / 1e9))
    samples = pl.concat([before, inside])
    columns = {
        named: [_rounded(value, factor) for value in samples[column]]
        for column, (named, factor) in _SERIES.items()
        if column in samples.columns
    }
    cc = None if found is None else found["cc"]
    return {"id": name, "cc": cc, "t_s": [_rounded(t, 1) for t in samples["t_s"]], **columns}


def _rounded(value: float | None, factor: float) -> float | None:
    return None if value is None else float(f"{value * factor:.{_DIGITS}g}")
