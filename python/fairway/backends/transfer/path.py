"""The experiment that stands for the path of a transfer, so that it can be simulated beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairway.ground.registry import algorithms
from fairway.host.windows import USUAL_MSS

#: What the kernel calls algorithms that have another name here.
_NAMES = {"westwood": "westwood+", "lp": "tcp-lp"}
#: Largest segment of an experiment: loopback has larger ones.
_MOST_MSS_BYTES = 32_000
#: Headers of IPv4 and UDP (RFC 791, RFC 768): an experiment's packets have them, messages not.
_DATAGRAM_HEADERS = 20 + 8
#: Slowest and shortest that an experiment is made of, for transfers of next to nothing.
_LEAST_RATE_BPS = 1_000.0
_LEAST_DURATION_S = 0.001
#: Shortest queue in packets: less than a burst of slow start is no queue of a real path.
_LEAST_QUEUE_PACKETS = 16
#: Share of the time above which a receive window is taken for a limit of the path.
_LIMITED = 0.1


def experiment_of(summary: Mapping[str, Any], taken: Mapping[str, Any]) -> dict[str, Any]:
    """A dumbbell with the rate, the delay and the connections that were measured.

    What a transfer cannot see is assumed: the queue holds one bandwidth-delay product, or what was
    seen of it if that is more; nothing is lost but by it; both ends are Linux.
    """
    seen = taken["path"]
    mss_bytes = min(seen["mss_bytes"] or USUAL_MSS, _MOST_MSS_BYTES)
    rate_bps = max(path_rate_bps(seen), _LEAST_RATE_BPS)
    duration_s = max(taken["duration_s"], _LEAST_DURATION_S)
    stack: dict[str, Any] = {"preset": "linux-6.1", "mss": f"{mss_bytes} bytes"}
    if (seen["receive_window_limited"] or 0.0) > _LIMITED and seen["most_receive_window_bytes"]:
        # Linux offers half of a buffer as a window (tcp_adv_win_scale 1).
        stack["receive_buffer"] = f"{2 * seen['most_receive_window_bytes']} bytes"
    return {
        "title": summary["title"],
        "duration": f"{duration_s:.6g} s",
        "seed": 1,
        "stack": stack,
        "topology": {
            "kind": "dumbbell",
            "bottleneck": {
                "rate": rate(rate_bps),
                "delay": delay((seen["min_rtt_s"] or 0.0) / 2),
                "queue": {
                    "kind": "droptail",
                    "limit": f"{_queue_packets(seen, rate_bps, mss_bytes)} packets",
                },
            },
        },
        "flow": _flows(summary, taken),
        "measure": {"sample": f"{min(taken['interval_s'], duration_s):.6g} s"},
    }


def path_rate_bps(seen: Mapping[str, Any]) -> float:
    """The rate of the path: as given, else the most that was carried in an interval."""
    given = seen["rate_bps"]
    return float(seen["most_throughput_bps"] if given is None else given)


def _queue_packets(seen: Mapping[str, Any], rate_bps: float, mss_bytes: int) -> int:
    """One bandwidth-delay product, or what the largest round-trip time says of the queue."""
    base_s = seen["min_rtt_s"] or 0.0
    queued_s = max((seen["most_srtt_s"] or 0.0) - base_s, 0.0)
    return max(round(max(base_s, queued_s) * rate_bps / 8 / mss_bytes), _LEAST_QUEUE_PACKETS)


def _flows(summary: Mapping[str, Any], taken: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry for the connections of one name, algorithm and direction."""
    groups: dict[tuple[str, str | None, bool], list[tuple[Any, Any]]] = {}
    for flow, of in zip(summary["flows"], taken["flows"], strict=True):
        is_back = taken["end"] == "both" and of["is_received"]
        origin = str(flow["id"]).removesuffix("/reverse").rpartition("/")[0] or str(flow["id"])
        groups.setdefault((origin, flow["cc"], is_back), []).append((flow, of))
    found: list[dict[str, Any]] = []
    for (origin, cc, is_back), members in groups.items():
        name = f"{origin}-back" if is_back else origin
        entry = _datagrams(name, members) if cc is None else _connections(name, cc, members, taken)
        start_s = min(of["start_s"] for _, of in members)
        if start_s >= _LEAST_DURATION_S:
            entry["start"] = f"{start_s:.4g} s"
        if is_back:
            entry["direction"] = "reverse"
        found.append(entry)
    return found


def _connections(
    name: str, cc: str, members: Sequence[tuple[Any, Any]], taken: Mapping[str, Any]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": name, "cc": _algorithm(cc), "connections": len(members)}
    payload_bytes = max(sum(of["payload_bytes"] for _, of in members), len(members))
    if taken.get("is_bounded", True):
        entry["bytes"] = f"{payload_bytes} bytes"
    if taken.get("striping"):
        entry["striping"] = taken["striping"]
    if taken.get("chunk_bytes"):
        # An experiment has a chunk for every connection.
        entry["chunk"] = f"{min(taken['chunk_bytes'], payload_bytes // len(members))} bytes"
    return entry


def _datagrams(name: str, members: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    sent = sum(flow["sent_segments"] for flow, _ in members)
    received = sum(flow["received_packets"] for flow, _ in members)
    payload = sum(of["payload_bytes"] for _, of in members)
    packets = received or sent
    rate_bps = sum(flow["goodput_bps"] for flow, _ in members)
    if received:
        rate_bps *= sent / received
    message_bytes = max(round(payload / packets), 1) if packets else USUAL_MSS
    return {
        "id": name,
        "kind": "cbr",
        "count": len(members),
        "rate": rate(max(rate_bps / len(members), _LEAST_RATE_BPS)),
        "packet": f"{message_bytes + _DATAGRAM_HEADERS} bytes",
    }


def _algorithm(cc: str) -> str:
    """The name of the kernel's algorithm here; the kernel's own default if there is none."""
    name = _NAMES.get(cc, cc)
    return name if any(name == known["name"] for known in algorithms()) else "cubic"


def rate(rate_bps: float) -> str:
    """A rate to four digits, as an experiment file has it.

    >>> rate(9_566_432.1), rate(25.3)
    ('9.566 Mbit/s', '25 bit/s')
    """
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if rate_bps >= size:
            return f"{float(f'{rate_bps / size:.4g}'):.12g} {unit}"
    return f"{round(rate_bps)} bit/s"


def delay(seconds: float) -> str:
    """A delay to the microsecond.

    >>> delay(0.1000204), delay(0.0000125)
    ('100.02 ms', '0.013 ms')
    """
    return f"{round(seconds * 1e3, 3):.12g} ms"
