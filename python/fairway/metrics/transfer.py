"""Figures of one finished transfer, over its own time and not over the measuring window."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairway import _core
from fairway.errors import InputError
from fairway.metrics import losses, rates


@dataclass(frozen=True)
class Transfer:
    """What the figures are made of.

    Attributes:
        duration_s: From its start to the delivery of its last byte.
        payload_bits: Size of the transfer; none if the experiment does not say it.
        arrived_bits: Bits of its data packets that reached the receiving host, IP headers included.
        sent: Data packets sent, retransmissions included.
        lost: Of them, those that a queue dropped or a link lost.
        duplicates: Of those that arrived, those with bytes that had arrived before.
        error_rate: Part of the packets that the links on its way lose at random; none if they
            lose otherwise.
        rate_bps: Rate of the slowest link; none if a link has none, or not always the same.
    """

    duration_s: float
    payload_bits: float | None
    arrived_bits: float
    sent: int
    lost: int
    duplicates: int
    error_rate: float | None
    rate_bps: float | None


def _throughput(of: Transfer) -> float | None:
    return rates.rate_bps(of.arrived_bits, of.duration_s)


def _goodput(of: Transfer) -> float | None:
    if of.payload_bits is None:
        return None
    return rates.rate_bps(of.payload_bits, of.duration_s)


def _utilisation(of: Transfer) -> float | None:
    if of.payload_bits is None or of.rate_bps is None:
        return None
    return rates.payload_utilisation(of.payload_bits, of.rate_bps, of.duration_s)


def _nai(of: Transfer) -> float | None:
    """The bytes of a packet are the mean of those that arrived."""
    throughput, arrived = _throughput(of), of.sent - of.lost
    if throughput is None or of.error_rate is None or not arrived:
        return None
    return rates.nai_per_s(throughput, of.lost, of.arrived_bits / 8 / arrived, of.error_rate)


def _nai_1024(of: Transfer) -> float | None:
    index = _nai(of)
    return None if index is None else index * 1.024


def _time_ratio(of: Transfer) -> float | None:
    """The ideal is the arrived packets at the slowest rate, but each piece of payload once."""
    arrived = of.sent - of.lost - of.duplicates
    if of.rate_bps is None or arrived <= 0 or of.sent == of.lost:
        return None
    bits = of.arrived_bits * arrived / (of.sent - of.lost)
    return rates.transfer_time_ratio(of.duration_s, bits / of.rate_bps)


@dataclass(frozen=True)
class Figure:
    """A figure of a finished transfer.

    Attributes:
        function: What it is: formula, edge cases and source are in its documentation.
        read: The value.
    """

    function: Callable[..., Any]
    read: Callable[[Transfer], float | None]


#: Name -> figure.
FIGURES: Mapping[str, Figure] = {
    "throughput_bps": Figure(rates.rate_bps, _throughput),
    "goodput_bps": Figure(rates.rate_bps, _goodput),
    "utilisation": Figure(rates.payload_utilisation, _utilisation),
    "packet_delivery_ratio": Figure(
        losses.packet_delivery_ratio, lambda of: losses.packet_delivery_ratio(of.sent, of.lost)
    ),
    "nai_per_s": Figure(rates.nai_per_s, _nai),
    "nai_1024_per_s": Figure(rates.nai_per_s, _nai_1024),
    "transfer_time_ratio": Figure(rates.transfer_time_ratio, _time_ratio),
}


def transfer_figure(
    summary: Mapping[str, Any], row: Mapping[str, Any], experiment: Mapping[str, Any], figure: str
) -> float | None:
    """One of `FIGURES` for a row of the summary's flows; none if the transfer did not finish.

    Raises:
        InputError: If there is no such figure, or a part of the run is not measured.
    """
    name = f"metric transfer.{row['id']}.{figure}"
    if figure not in FIGURES:
        raise InputError(f"{name}: there is {', '.join(FIGURES)}")
    if "window" in experiment.get("measure", {}):
        raise InputError(f"{name}: is of the whole run; leave out measure.window")
    if row["fct_s"] is None:
        return None
    resolved = _core.Experiment(experiment)
    flows, size = experiment["flow"], None
    # Copies, connections and the reverse direction have ids derived from their flow's.
    if len(summary["flows"]) == len(flows) or any(flow.get("id") == row["id"] for flow in flows):
        size = resolved.transfer_bytes(row["id"])
    transfer = Transfer(
        duration_s=row["fct_s"],
        payload_bits=None if size is None else 8 * size,
        arrived_bits=row["throughput_bps"] * (resolved.duration_ns / 1e9),
        sent=row["sent_segments"],
        lost=row["lost_segments"],
        duplicates=row.get("duplicate_segments") or 0,
        error_rate=error_rate(experiment),
        rate_bps=resolved.shared_rate_bps,
    )
    return FIGURES[figure].read(transfer)


def error_rate(experiment: Mapping[str, Any]) -> float | None:
    """Probability that a link on the way of every flow loses a packet.

    None if a link loses packets otherwise than each by itself. Of other topologies than a chain and
    a dumbbell no link is known to be on the way of every flow.
    """
    topology: Mapping[str, Any] = experiment["topology"]
    lost: list[float] = []
    links: dict[str, Any] = {
        "chain": topology.get("link"),
        "dumbbell": [topology.get("bottleneck")],
    }
    for link in links.get(topology["kind"], ()):
        loss = link.get("loss")
        if loss is None or loss.get("direction", "forward") == "reverse":
            continue
        if loss.get("kind", "bernoulli") != "bernoulli" or loss.get("unit", "packet") != "packet":
            return None
        lost.append(loss["probability"])
    if len(lost) <= 1:
        return lost[0] if lost else None
    return 1 - math.prod(1 - rate for rate in lost)
