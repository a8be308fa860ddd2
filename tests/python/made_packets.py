"""Packets of a transfer that nobody has captured, for diagrams."""

from __future__ import annotations

import polars as pl

from fairway.capture.analysis.series import PACKET_SCHEMA

MSS = 1000
RTT_S = 0.05
WINDOW = 60


def transfer(rounds=10, window=WINDOW, lost=(), flow="1"):
    """Rounds of a window of segments, of which `lost` (by their numbers, from 0) are sent again.

    A segment is acknowledged half a round later; the acknowledgement of one behind a loss is a
    selective one, and the loss is sent again a round later, as a SACK retransmission.
    """
    rows = []
    number = 0

    def row(t, what, low, high, **rest):
        nonlocal number
        number += what not in ("sack", "dsack")
        known = {"t_s": t, "flow": flow, "packet": number, "what": what, "from_byte": low,
                 "to_byte": high, **rest}  # fmt: skip
        rows.append({name: known.get(name) for name in PACKET_SCHEMA})

    gap = RTT_S / 2 / window
    events = []
    for index in range(rounds * window):
        t = index // window * RTT_S + index % window * gap
        events.append((t, 0, index, "data"))
        if index in lost:
            events.append((t + RTT_S, 0, index, "again"))
            events.append((t + 1.5 * RTT_S, 1, index, "arrived"))
        else:
            events.append((t + RTT_S / 2, 1, index, "arrived"))
    have, next_expected = set(), 0
    for t, _, index, what in sorted(events):
        low, high = index * MSS, index * MSS + MSS
        if what == "data":
            row(t, "data", low, high, flight_bytes=MSS,
                fate="dropped" if index in lost else None)  # fmt: skip
        elif what == "again":
            row(t, "retransmission", low, high, cause="sack", is_spurious=False)
        else:
            have.add(index)
            while next_expected in have:
                next_expected += 1
            edge = next_expected * MSS
            row(t, "ack", edge, edge, window_end_byte=edge + 100 * MSS, rtt_s=RTT_S / 2)
            if high > edge:
                first = index
                while first - 1 in have:
                    first -= 1
                row(t, "sack", first * MSS, high)
    return pl.DataFrame(rows, schema=PACKET_SCHEMA, orient="row")
