"""Figures of one finished transfer, over its own time and not over the measuring window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway import _core
from fairway.errors import InputError


@dataclass(frozen=True)
class Transfer:
    """What the figures are made of.

    Attributes:
        duration_s: From its start to the delivery of its last byte.
        payload_bits: Size of the transfer; none if the experiment does not say it.
        arrived_bits: Bits of its data packets that reached the receiving host, IP headers included.
        sent: Data packets sent, retransmissions included.
        lost: Of them, those that a queue dropped or a link lost.
        error_rate: Part of the packets that the links on its way lose at random; none if they
            lose otherwise.
        rate_bps: Rate of the slowest link; none if a link has none.
    """

    duration_s: float
    payload_bits: float | None
    arrived_bits: float
    sent: int
    lost: int
    error_rate: float | None
    rate_bps: float | None


def throughput_bps(transfer: Transfer) -> float | None:
    """Bits that arrived over the time it took (Khader 2020, equation 5.1, in IP packets)."""
    return transfer.arrived_bits / transfer.duration_s


def utilisation(transfer: Transfer) -> float | None:
    """Payload over what the slowest link could carry in that time (Khader 2020, equation 3.20)."""
    if transfer.payload_bits is None or not transfer.rate_bps:
        return None
    return transfer.payload_bits / (transfer.rate_bps * transfer.duration_s)


def packet_delivery_ratio(transfer: Transfer) -> float | None:
    """Part of the data packets sent that arrived: one less the loss of what was sent."""
    return 1 - transfer.lost / transfer.sent if transfer.sent else None


def nai_per_s(transfer: Transfer) -> float | None:
    """Normalized advancing index: bytes/s over (lost packets · packet bytes · error rate).

    Source: Khader 2020, equation 5.4. Its packet bytes are here the mean size of those that
    arrived. None without a loss or an error rate.
    """
    arrived = transfer.sent - transfer.lost
    if not transfer.lost or not transfer.error_rate or not arrived:
        return None
    return arrived / transfer.duration_s / (transfer.lost * transfer.error_rate)


def nai_1024_per_s(transfer: Transfer) -> float | None:
    """The index as tables C-4 and C-7 of Khader 2020 have it: of a kbit of 1024 bits."""
    index = nai_per_s(transfer)
    return None if index is None else index * 1.024


#: Name -> figure.
FIGURES: Mapping[str, Callable[[Transfer], float | None]] = {
    one.__name__: one
    for one in (throughput_bps, utilisation, packet_delivery_ratio, nai_per_s, nai_1024_per_s)
}


def transfer_figure(
    summary: Mapping[str, Any], row: Mapping[str, Any], experiment: Mapping[str, Any], figure: str
) -> float | None:
    """One figure of one finished transfer.

    Args:
        summary: As in `summary.json`.
        row: The flow in it.
        experiment: The experiment, whose measuring window has to be the whole run.
        figure: One of `FIGURES`.

    Returns:
        The value; none if the transfer did not finish or there is no such number.

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
    run_s = _core.quantity(experiment["duration"], "duration") / 1e9
    size = _size(summary["flows"], row, experiment["flow"])
    links = list(_links(experiment))
    rates = [_core.quantity(link["rate"], "rate") if "rate" in link else None for link in links]
    known = [rate for rate in rates if rate is not None]
    transfer = Transfer(
        duration_s=row["fct_s"],
        payload_bits=None if size is None else 8 * _core.quantity(size, "size"),
        arrived_bits=row["throughput_bps"] * run_s,
        sent=row["sent_segments"],
        lost=row["lost_segments"],
        error_rate=_error_rate(links),
        rate_bps=min(known) if known and len(known) == len(rates) else None,
    )
    return FIGURES[figure](transfer)


def _size(
    rows: Sequence[Mapping[str, Any]], row: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]
) -> str | None:
    """The size of a transfer as it is written; none where flows have copies or ways back."""
    return flows[rows.index(row)].get("bytes") if len(rows) == len(flows) else None


def _links(experiment: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The links that every flow crosses, of a chain or a dumbbell; none of other topologies."""
    topology = experiment["topology"]
    if topology["kind"] == "chain":
        yield from topology["link"]
    elif topology["kind"] == "dumbbell":
        yield topology["bottleneck"]


def _error_rate(links: list[Mapping[str, Any]]) -> float | None:
    """Probability that one of the links loses a packet; none if not all losses are independent."""
    rates: list[float] = []
    for link in links:
        loss = link.get("loss")
        if loss is None or loss.get("direction", "forward") == "reverse":
            continue
        if loss.get("kind", "bernoulli") != "bernoulli" or loss.get("unit", "packet") != "packet":
            return None
        rates.append(loss["probability"])
    if len(rates) <= 1:
        return rates[0] if rates else None
    return 1 - math.prod(1 - rate for rate in rates)
