"""Queues: how large a buffer should be, how long a queue gets, and what its controllers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.errors import InputError
from fairway.model import quantities
from fairway.model.answer import answered

if TYPE_CHECKING:
    from fairway.model.streams import RedQueue

#: Flows and places in a queue beyond which a number is a mistake.
MOST_FLOWS, MOST_ROOM = 10**9, 10**18


def queue(
    *,
    rate: str | float,
    packet: int = 1500,
    rtt: str | float | None = None,
    flows: int = 1,
    cc: str = "reno",
    load: str | float | None = None,
    room: int | None = None,
    red: RedQueue | None = None,
    target: str | float | None = None,
    interval: str | float | None = None,
) -> dict[str, Any]:
    """What models say of a queue: one entry for each thing that was given enough.

    Args:
        rate: Of the link: "10 Mbit/s"; a number is in bit/s.
        packet: Bytes of a packet.
        rtt: Round-trip time without queues, for "buffers" (sizes in packets) and "red".
        flows: Flows that share the link.
        cc: Their congestion control.
        load: What comes, as a share of what the link can carry, for "waiting": queues of Poisson
            arrivals with packets of one size (md1) or of exponential sizes (mm1).
        room: Packets that find room, with the one that is sent, for mm1k.
        red: A RED queue, for its balance with the flows.
        target: Queueing delay that Adaptive RED shall hold, for its parameters.
        interval: CoDel's interval, for the times of its first ten drops.

    >>> round(queue(rate="1 Gbit/s", rtt="100 ms")["buffers"]["bdp_packets"], 1)
    8333.3
    """
    if not 1 <= packet <= 65535:
        raise InputError(f"packet: expected 1 to 65,535 bytes, got {packet}")
    if not 1 <= flows <= MOST_FLOWS:
        raise InputError(f"flows: expected 1 to {MOST_FLOWS:,}, got {flows}")
    if room is not None and not 1 <= room <= MOST_ROOM:
        raise InputError(f"room: expected 1 to {MOST_ROOM:,} packets, got {room}")

    def time(value: str | float | None, name: str) -> float | None:
        return None if value is None else quantities.seconds(value, name)

    question = {
        "capacity_pps": quantities.rate(rate, "rate") / (8 * packet),
        "rtt_s": time(rtt, "rtt"),
        "flows": flows,
        "algorithm": cc,
        "load": None if load is None else quantities.ratio(load, "load"),
        "room_packets": room,
        "red": None if red is None else red.to_json(),
        "target_s": time(target, "target"),
        "codel_interval_s": time(interval, "interval"),
    }
    return answered(_core.model_queue, question)
