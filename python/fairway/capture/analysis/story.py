"""A connection told in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairway.capture.analysis.flows import Flow, flows
from fairway.ground import text

#: How a connection ended, in words.
_STATES = {
    "complete": "closed by both ends",
    "closed": "closed by both ends; its beginning is not in the capture",
    "reset": "reset",
    "open": "still open at the end of the capture",
}
#: Damages that are told one by one.
_DAMAGES = 5


def story(connection: Mapping[str, Any], started_s: float) -> list[str]:
    """What happened, a paragraph each: the connection, its handshake, and each way with data."""
    return [
        _beginning(connection, started_s),
        _handshake(connection),
        *(_way(flow) for flow in flows([connection])),
    ]


def _beginning(connection: Mapping[str, Any], started_s: float) -> str:
    first, _ = connection["directions"]
    opener = connection["opened_by"]
    ends = (first["from"], first["to"])
    if opener is not None and opener != ends[0]:
        ends = (ends[1], ends[0])
    begin = connection["first_s"] - started_s
    opened = "opened by the first" if opener is not None else "opened before the capture began"
    return (
        f"Connection {connection['id']}, between {ends[0]} and {ends[1]}, {opened}: from "
        f"{begin:.3f} s on for {connection['duration_s']:.3f} s; {_STATES[connection['state']]}."
    )


def _handshake(connection: Mapping[str, Any]) -> str:
    offers = [way["offered"] for way in connection["directions"]]
    if not any(offers):
        return "Its handshake is not in the capture: windows may be scaled by more than is shown."
    sentences = []
    for way in connection["directions"]:
        if way["handshake_rtt_s"] is not None:
            rtt = text.milliseconds(way["handshake_rtt_s"])
            sentences.append(f"The SYN of {way['from']} is acknowledged after {rtt}")
    for way in connection["directions"]:
        if (offer := way["offered"]) is not None:
            sentences.append(f"{way['from']} offers {_offered(offer)}")
        else:
            sentences.append(f"the SYN of {way['from']} is missing")
    again = sum(way["retransmitted_syns"] for way in connection["directions"])
    if again:
        sentences.append(f"{text.count(again, 'SYN')} had to be sent again")
    used = {"SACK": "uses_sack", "timestamps": "uses_timestamps",
            "scaled windows": "uses_window_scale", "ECN": "uses_ecn"}  # fmt: skip
    if all(offers):
        agreed = [words for words, key in used.items() if connection[key]]
        missing = [words for words, key in used.items() if not connection[key]]
        sentences.append(
            f"In use: {_listed(agreed) or 'nothing'}; not: {_listed(missing) or 'nothing'}"
        )
    return ". ".join(one[:1].upper() + one[1:] for one in sentences) + "."


def _offered(offer: Mapping[str, Any]) -> str:
    parts = []
    if offer["mss_bytes"] is not None:
        parts.append(f"an MSS of {text.number(offer['mss_bytes'])} bytes")
    if offer["window_scale"] is not None:
        parts.append(f"a window scale of {offer['window_scale']}")
    parts += [
        words for words, key in (("SACK", "sack"), ("timestamps", "timestamps")) if offer[key]
    ]
    return _listed(parts) or "no options"


def _way(flow: Flow) -> str:
    of = flow.direction
    sentences = [_data(of)]
    if of["retransmitted_segments"]:
        again = of["retransmitted_segments"]
        share = text.percent(again / max(of["data_segments"], 1), signed=False)
        sentences.append(f"{text.count(again, 'segment')} ({share}) {_were(again)} sent again")
    if of["missed_bytes"]:
        sentences.append(f"{text.size(of['missed_bytes'])} of the stream are not in the capture")
    lost = of.get("lost_packets")
    if lost:
        sentences.append(
            f"By the capture, {text.count(lost, 'packet')} {_were(lost)} dropped or lost"
        )
    rtt = of["rtt_s"] or of.get("timestamp_rtt_s")
    if rtt is not None:
        least, mean, late = (text.milliseconds(rtt[key]) for key in ("min", "mean", "p99"))
        sentences.append(
            f"Its round-trip time is {least} at the least, {mean} in the mean and {late} at 99 %"
        )
    if limit := flow.window.get("limited_by"):
        sentences.append(f"What limited it: {limit}")
    if named := (of.get("congestion_control") or {}).get("words"):
        sentences.append(f"Its congestion control: {named}")
    return ". ".join(sentences) + "."


def _data(of: Mapping[str, Any]) -> str:
    if not of["data_bytes"]:
        return f"{of['from']} sends no data"
    size = of["segment_bytes"]
    longest = f" of at most {text.number(size['max'])} bytes" if size else ""
    return (
        f"{of['from']} sends {text.size(of['unique_bytes'])} of data to {of['to']} in "
        f"{text.count(of['data_segments'], 'segment')}{longest}, at "
        f"{text.bit_rate(of['goodput_bps'])}"
    )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _listed(parts: Sequence[str]) -> str:
    """Words in a row: "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def overview(report: Mapping[str, Any], name: str) -> str:
    """What the capture is, in one sentence."""
    capture = report["capture"]
    parts = [f"{name}: {text.count(capture['frames'], 'packet')}"]
    if capture["duration_s"] is not None:
        parts[0] += f" in {capture['duration_s']:.3f} s"
    for key, words in _PASSED_OVER.items():
        if capture[key]:
            parts.append(f"{capture[key]:,} {words}")
    return ", ".join(parts)


#: Packets that take no part, in words.
_PASSED_OVER = {
    "not_ip": "without IP",
    "fragments": "fragments",
    "incomplete": "in pieces of which some are missing",
    "cut": "cut in their headers",
    "malformed": "that contradict themselves",
    "unknown_link": "of unknown link types",
    "without_time": "without a time",
}


def warnings(report: Mapping[str, Any]) -> list[str]:
    """What has to be known before the figures are trusted, in sentences without full stops."""
    damaged, capture = report["damaged"], report["capture"]
    count = max(capture["damages"], len(damaged))
    said = [
        f"byte {one['offset_bytes']:,}"
        + (f", packet {one['packet']:,}" if one["packet"] else "")
        + f": {one['what']}"
        for one in damaged[:_DAMAGES]
    ]
    if count > len(said):
        said.append(f"the capture is damaged in {text.count(count - len(said), 'more place')}")
    for one in capture["interfaces"]:
        if one["missed_packets"]:
            missed = text.count(one["missed_packets"], "packet")
            said.append(f"{missed} of interface {one['name'] or '?'} were not captured in time")
    if capture["rows_left_out"]:
        said.append(
            f"{capture['rows_left_out']:,} rows of single packets found no room; name a time "
            "with --from and --to"
        )
    if left_out := report.get("left_out"):
        said.append(_left_out_sentence(left_out))
    return said


def _left_out_sentence(left_out: Mapping[str, int]) -> str:
    """What a capture with more connections than are listed holds besides."""
    kinds = [text.count(left_out["connections"], "TCP connection")]
    if single := left_out["single_packet"]:
        kinds[0] += f" ({single:,} of a single packet)"
    if left_out["datagram_flows"]:
        kinds.append(text.count(left_out["datagram_flows"], "flow") + " of datagrams")
    packets = text.count(left_out["packets"], "packet")
    return f"not listed: {' and '.join(kinds)}, with {packets}; filter the capture to see them"
