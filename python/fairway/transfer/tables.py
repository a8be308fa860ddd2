"""The last words of a transfer on a terminal: a line for each stream, and one for all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fairway import text
from fairway.page import Table
from fairway.report import datagram_table, folded


def stream_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Streams of TCP, and flows of datagrams, those that there are.

    Args:
        summary: As `fairway.transfer.record.summary_of` makes it.
    """
    flows = summary["flows"]
    payload = {of["id"]: of["payload_bytes"] for of in summary["transfer"]["flows"]}
    connections = [flow for flow in flows if flow["cc"] is not None]
    tables = [datagram_table(own)] if (own := [f for f in flows if f["cc"] is None]) else []
    if not connections:
        return tables
    whole_bytes = sum(payload[flow["id"]] for flow in connections)
    lines = folded(connections)
    rows = [_row(flow, _payload_of(flow["id"], payload)) for flow in lines]
    if len(lines) > 1:
        whole = summary["applications"][0]
        total = {
            "id": "all",
            "cc": "",
            "goodput_bps": sum(flow["goodput_bps"] for flow in connections),
            "retransmitted_segments": sum(f["retransmitted_segments"] for f in connections),
            "mean_cwnd_segments": whole["mean_cwnd_segments"],
            "mean_srtt_s": None,
        }
        rows.append(_row(total, whole_bytes))
    names = ["stream", "cc", "payload", "goodput", "retrans. segments", "mean cwnd", "mean srtt"]
    return [Table("Streams", names, rows, labels=2), *tables]


def _payload_of(name: str, payload: Mapping[str, int]) -> int:
    """Payload of a flow, or of those that share a line (`fairway.report.folded`)."""
    if name in payload:
        return payload[name]
    origin, is_back = name.partition("/")[0], "/reverse" in name
    return sum(
        count
        for flow, count in payload.items()
        if flow.partition("/")[0] == origin and flow.endswith("/reverse") == is_back
    )


def _row(flow: Mapping[str, Any], payload_bytes: int) -> list[str]:
    return [
        str(flow["id"]),
        str(flow["cc"]),
        text.size(payload_bytes),
        text.bit_rate(flow["goodput_bps"]),
        text.number(flow["retransmitted_segments"]),
        text.number(flow["mean_cwnd_segments"]),
        text.milliseconds(flow["mean_srtt_s"]),
    ]


def closing_line(summary: Mapping[str, Any]) -> str:
    """What went over in how long, in one sentence.

    >>> closing_line({"transfer": {"payload_bytes": 10_000_000, "duration_s": 8.0,
    ...     "flows": [1, 2]}})
    '10 MB in 8 s over 2 streams: 10 Mbit/s'
    """
    said = summary["transfer"]
    seconds = said["duration_s"]
    payload, time = text.size(said["payload_bytes"]), text.number(seconds)
    rate = text.bit_rate(said["payload_bytes"] * 8 / seconds if seconds else None)
    streams = text.count(len(said["flows"]), "stream")
    return f"{payload} in {time} s over {streams}: {rate}"


def natural(name: str) -> list[tuple[int, str]]:
    """What sorts `transfer/2` before `transfer/10`."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
