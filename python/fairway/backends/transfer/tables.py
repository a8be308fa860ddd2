"""The last words of a transfer on a terminal: a line for each stream, and one for all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fairway.ground import text
from fairway.plot import columns
from fairway.plot.page import Table
from fairway.results.report import datagram_table, folded


def stream_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Streams of TCP, and flows of datagrams, those that there are."""
    flows = summary["flows"]
    payload = {of["id"]: of["payload_bytes"] for of in summary["transfer"]["flows"]}
    connections = [flow for flow in flows if flow["cc"] is not None]
    tables = [datagram_table(own)] if (own := [f for f in flows if f["cc"] is None]) else []
    if not connections:
        return tables
    if not (whole_bytes := sum(payload[flow["id"]] for flow in connections)):
        return tables  # nothing went over them
    lines = folded(connections)
    payloads = [_payload_of(flow["id"], payload) for flow in lines]
    if len(lines) > 1:
        payloads.append(whole_bytes)
        lines.append({
            "id": "all",
            "cc": "",
            "goodput_bps": sum(flow["goodput_bps"] for flow in connections),
            "retransmitted_segments": sum(f["retransmitted_segments"] for f in connections),
            "mean_cwnd_segments": summary["applications"][0]["mean_cwnd_segments"],
            "mean_srtt_s": None,
        })  # fmt: skip
    shown = [
        columns.words("stream", [flow["id"] for flow in lines]),
        columns.words("cc", [flow["cc"] for flow in lines]),
        columns.words("payload", map(text.size, payloads)),
        *columns.of_rows(lines, "goodput_bps"),
        columns.numbers("retrans. segments", [flow["retransmitted_segments"] for flow in lines]),
        *columns.of_rows(lines, "mean_cwnd_segments", "mean_srtt_s"),
    ]
    return [columns.table("Streams", shown, labels=2), *tables]


def _payload_of(name: str, payload: Mapping[str, int]) -> int:
    """Payload of a flow, or of those that share a line (`fairway.results.report.folded`)."""
    if name in payload:
        return payload[name]
    origin, is_back = name.partition("/")[0], "/reverse" in name
    return sum(
        count
        for flow, count in payload.items()
        if flow.partition("/")[0] == origin and flow.endswith("/reverse") == is_back
    )


def closing_line(summary: Mapping[str, Any]) -> str:
    """What went over in how long, in one sentence.

    >>> closing_line({"transfer": {"payload_bytes": 10_000_000, "duration_s": 8.0,
    ...     "flows": [1, 2]}})
    '10 MB in 8 s over 2 streams: 10 Mbit/s'
    >>> closing_line({"transfer": {"payload_bytes": 0, "duration_s": 0.2275,
    ...     "flows": [1], "counts": {"held_bytes": 5_000_000}}})
    'Nothing had to be sent: the receiver had all 5 MB already (checked in 0.2275 s)'
    """
    said = summary["transfer"]
    seconds, payload_bytes = said["duration_s"], said["payload_bytes"]
    held_bytes = (said.get("counts") or {}).get("held_bytes", 0)
    time, held = text.number(seconds), text.size(held_bytes)
    if held_bytes and not payload_bytes:
        return f"Nothing had to be sent: the receiver had all {held} already (checked in {time} s)"
    line = f"{text.size(payload_bytes)} in {time} s over {text.count(len(said['flows']), 'stream')}"
    if payload_bytes and seconds:
        line += f": {text.bit_rate(payload_bytes * 8 / seconds)}"
    return line + (f"; the receiver had {held} already" if held_bytes else "")


def natural(name: str) -> list[tuple[int, str]]:
    """What sorts `transfer/2` before `transfer/10`, and as a text what has too many digits.

    >>> sorted(["a/10", "a/2", "a/²", "b"], key=natural)
    ['a/2', 'a/10', 'a/²', 'b']
    """
    parts = re.split(r"([0-9]{1,18})", name)
    return [(int(part), "") if number % 2 else (-1, part) for number, part in enumerate(parts)]
