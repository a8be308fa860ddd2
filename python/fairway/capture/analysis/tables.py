"""Tables of what was found in a capture, for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairway.capture.analysis.flows import Flow, data_bytes, flows, largest
from fairway.ground import text
from fairway.plot.page import Table

#: Causes of retransmissions in words, in the order in which they are told.
CAUSES = {
    "fast": "fast retransmission",
    "partial_ack": "partial acknowledgement",
    "sack": "selective acknowledgements",
    "timeout": "timeout",
    "after_timeout": "slow start after a timeout",
    "tail_loss_probe": "tail probe",
    "unknown": "nothing that the capture shows",
}
#: What shows that one was needless.
EVIDENCE = {
    "by_dsack": "D-SACK",
    "by_timestamps": "timestamps",
    "by_frto": "F-RTO",
    "by_early_ack": "an early acknowledgement",
    "already_acked": "acknowledged before",
}
LIMITS = {
    "congestion_window": "congestion window",
    "receive_window": "receive window",
    "constant_window": "constant window",
    "application": "application",
    "pacing": "pacing",
    "timeout": "waiting for a timer",
}
PHASES = {
    "slow_start": "slow start",
    "congestion_avoidance": "congestion avoidance",
    "recovery": "recovery",
    "limited": "limited otherwise",
    "idle": "idle",
}
#: Algorithms that are shown.
_RANKED = 5
#: Episodes of repair that are shown.
_EPISODES = 12


def connection_table(report: Mapping[str, Any], top: int) -> Table:
    """One line for each connection: the direction with most data. Those with most data first."""
    connections = report["connections"]
    chosen = largest(connections, top)
    rows = [_line(flow) for flow in flows(chosen) if not flow.id.endswith("/reverse")]
    caption = text.count(len(connections), "TCP connection")
    if len(chosen) < len(connections):
        rest = sum(map(data_bytes, connections)) - sum(map(data_bytes, chosen))
        caption = f"{caption}; the {len(chosen):,} with most data, without {text.size(rest)}"
    names = ["id", "from", "to", "data", "goodput", "sent again", "mean RTT"]
    return Table(caption, names, rows, labels=3)


def _line(flow: Flow) -> list[str]:
    of = flow.direction
    rtt = of["rtt_s"] or of.get("timestamp_rtt_s")
    return [
        flow.id,
        of["from"],
        of["to"],
        text.size(of["unique_bytes"]),
        text.bit_rate(of["goodput_bps"]),
        text.number(of["retransmitted_segments"]),
        text.milliseconds(rtt["mean"] if rtt else None),
    ]


def datagram_table(report: Mapping[str, Any], top: int) -> list[Table]:
    """One line for each flow of datagrams, if there are any."""
    found = report.get("datagram_flows", [])
    chosen = largest(found, top)
    rows = []
    for one in chosen:
        way = max(one["directions"], key=lambda way: way["data_bytes"])
        rate = text.bit_rate(way["throughput_bps"])
        rows.append([str(one["id"]), way["from"], way["to"], text.number(way["packets"]),
                     text.size(way["data_bytes"]), rate])  # fmt: skip
    caption = text.count(len(found), "flow") + " of UDP"
    if len(chosen) < len(found):
        caption = f"{caption}; the {len(chosen):,} with most data"
    names = ["id", "from", "to", "packets", "data", "throughput"]
    return [Table(caption, names, rows, labels=3)] if rows else []


def direction_table(connection: Mapping[str, Any]) -> Table:
    """What each end has sent, side by side."""
    ways: Sequence[Mapping[str, Any]] = connection["directions"]
    named = {
        "packets": "packets",
        "segments with data": "data_segments",
        "segments sent again": "retransmitted_segments",
        "segments out of order": "out_of_order_segments",
        "duplicate acknowledgements": "duplicate_acks",
        "acknowledgements with SACK": "sack_packets",
        "of them with D-SACK": "dsack_packets",
        "window probes": "window_probes",
        "keep-alives": "keep_alives",
        "closed windows": "zero_windows",
        "packets with congestion mark": "marked_packets",
        "packets that echo one": "echo_packets",
        "packets dropped or lost, by the capture": "lost_packets",
        "wrong checksums": "wrong_checksums",
    }
    always = ("packets", "data_segments", "retransmitted_segments")
    rows = [
        ["data", *(text.size(way["data_bytes"]) for way in ways)],
        ["data, each byte once", *(text.size(way["unique_bytes"]) for way in ways)],
        ["goodput", *(text.bit_rate(way["goodput_bps"]) for way in ways)],
        ["throughput with headers", *(text.bit_rate(way["throughput_bps"]) for way in ways)],
        *(
            [words, *(text.number(way.get(key)) for way in ways)]
            for words, key in named.items()
            if key in always or any(way.get(key) for way in ways)
        ),
        ["first window", *(_initial(way) for way in ways)],
        ["receive window that it announces", *(_announced(way) for way in ways)],
    ]
    names = ["", *(f"from {way['from']}" for way in ways)]
    return Table("What each end sends", names, rows)


def _initial(way: Mapping[str, Any]) -> str:
    count = way["initial_window_segments"]
    return text.count(count, "segment") if count else text.ABSENT


def _announced(way: Mapping[str, Any]) -> str:
    spread = way["advertised_window_bytes"]
    if spread is None:
        return text.ABSENT
    low, high = (text.size(round(spread[end])) for end in ("min", "max"))
    return low if low == high else f"{low} to {high}"


def round_trip_table(connection: Mapping[str, Any]) -> list[Table]:
    """Round-trip times, by sequence numbers and by timestamps."""
    kinds = {"rtt_s": "sequence numbers", "timestamp_rtt_s": "timestamps"}
    rows = [
        [way["from"], words, text.number(way[key]["count"])]
        + [text.in_ms(way[key][name]) for name in ("min", "p50", "mean", "p90", "p99", "max")]
        for way in connection["directions"]
        for key, words in kinds.items()
        if way.get(key) and way["data_bytes"]
    ]
    names = ["data from", "by", "samples", "min", "median", "mean", "90 %", "99 %", "max"]
    return [Table("Round-trip time in ms", names, rows, labels=2)] if rows else []


def retransmission_table(flow: Flow) -> list[Table]:
    """Segments that were sent again, by cause."""
    losses = flow.window.get("losses") or {}
    causes: Mapping[str, int] = losses.get("causes", {})
    spurious: Mapping[str, int] = losses.get("spurious", {})
    if not causes.get("segments"):
        return []
    rows = [[words, text.number(causes[key])] for key, words in CAUSES.items() if causes.get(key)]
    if spurious.get("segments"):
        shown = [words for key, words in EVIDENCE.items() if spurious.get(key)]
        rows.append([f"needless, by {', '.join(shown)}", text.number(spurious["segments"])])
    return [Table("Sent again because of", ["", "segments"], rows)]


def identification_table(flow: Flow) -> list[Table]:
    """The congestion controls that explain the window best, if that was asked."""
    found = flow.direction.get("congestion_control") or {}
    rows = [
        [one["algorithm"], share(one["confidence"]), share(one["matched"])]
        for one in found.get("ranked", [])[:_RANKED]
    ]
    names = ["algorithm", "confidence", "explains"]
    return [Table("Which congestion control is it", names, rows)] if rows else []


def share(part: float) -> str:
    """A share in per cent.

    >>> share(0.9986), share(0.074), share(1.0), share(0.0001)
    ('99.9 %', '7.4 %', '100 %', '< 0.1 %')
    """
    return "< 0.1 %" if 0 < part < 0.0005 else f"{100 * part:.3g} %"


def share_tables(flow: Flow) -> list[Table]:
    """What the sender waited for, and the phases of its window, in shares of the time."""
    tables = []
    for key, caption, named in (
        ("limits", "What the sender waited for", LIMITS),
        ("phases", "Phases of the window", PHASES),
    ):
        shares = flow.window.get(key) or {}
        rows = [[words, share(shares[name])] for name, words in named.items() if shares.get(name)]
        if rows:
            tables.append(Table(caption, ["", "time"], rows))
    return tables


def episode_table(flow: Flow, started_s: float) -> list[Table]:
    """The first times in which losses were repaired."""
    episodes = (flow.window.get("losses") or {}).get("episodes", [])
    rows = [
        [
            f"{one['begin_s'] - started_s:.3f}",
            one["kind"],
            text.number(one["retransmitted_segments"]),
            text.number(one["flight_before_bytes"]),
            text.number(one["cwnd_before_bytes"]),
            text.number(one["cwnd_after_bytes"]),
            text.decimal(one["backoff_ratio"], 2),
        ]
        for one in episodes[:_EPISODES]
    ]
    count = len(episodes) + (flow.window.get("losses") or {}).get("episodes_not_listed", 0)
    caption = "Times of repair" + (
        f", the first {_EPISODES} of {count:,}" if count > len(rows) else ""
    )
    names = ["at (s)", "by", "sent again", "flight before (bytes)", "cwnd before", "cwnd after",
             "ratio"]  # fmt: skip
    return [Table(caption, names, rows, labels=2)] if rows else []


def group_tables(report: Mapping[str, Any], top: int) -> list[Table]:
    """The members with their shares, largest first, and the group; nothing if there is none."""
    group = report.get("group")
    if not group:
        return []
    started_s = report["capture"]["started_s"] or 0.0
    begin, end = (group[key] - started_s for key in ("from_s", "until_s"))
    when = "" if group["is_together"] else "; never all at once"
    count = text.count(len(group["members"]), "connection")
    caption = f"{count} side by side, {begin:.3f} s to {end:.3f} s{when}"
    chosen = sorted(group["members"], key=lambda one: -one["goodput_bps"])[:top]
    if len(chosen) < len(group["members"]):
        caption += f"; the {len(chosen)} with the highest goodput"
    rows = [
        [str(one["connection"]), one["from"], one["to"], text.bit_rate(one["goodput_bps"]),
         text.ABSENT if one["share"] is None else share(one["share"])]
        for one in chosen
    ]  # fmt: skip
    names = ["id", "from", "to", "goodput", "share"]
    return [Table(caption, names, rows, labels=3), _whole(group)]


def _whole(group: Mapping[str, Any]) -> Table:
    ids = " against ".join(str(one["connection"]) for one in group["members"])
    rows = [
        ["goodput", text.bit_rate(group["goodput_bps"])],
    ]
    compared = {"jain_index": "Jain's index", "asymmetry": f"asymmetry, {ids}",
                "unfairness": "unfairness"}  # fmt: skip
    rows += [
        [words, text.number(group[k])] for k, words in compared.items() if group[k] is not None
    ]
    sums = {"cwnd_bytes": "windows, mean of the sum", "flight_bytes": "in flight, mean of the sum"}
    means = ((words, _mean(group, key)) for key, words in sums.items())
    rows += [[words, text.size(round(mean))] for words, mean in means if mean is not None]
    return Table("All of them together", ["", "value"], rows)


def _mean(group: Mapping[str, Any], key: str) -> float | None:
    """The mean of a column of the series over the time that the group is compared in."""
    both = zip(group["series"]["t_s"], group["series"][key], strict=True)
    inside = [value for t_s, value in both if group["from_s"] <= t_s < group["until_s"]]
    return sum(inside) / len(inside) if inside else None
