"""What Khader 2020 makes of the figures of ns-3's FlowMonitor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairway.metrics import losses, rates
from fairway.metrics.transfer import error_rate

#: Bytes of a packet in the index: Khader 2020 takes an MTU of 1500 in all tables, also in case 2 of
#: table C-8, where the number of lost packets is that of an MTU of 1000.
MTU_BYTES = 1500


@dataclass(frozen=True)
class Monitored:
    """What the figures are made of.

    Attributes:
        tx_kbps: Bit rate sent.
        lost: Packets lost.
        sent: Packets sent.
        experiment: Calls for the experiment.
    """

    tx_kbps: float | None
    lost: int
    sent: int
    experiment: Callable[[], Mapping[str, Any]]


def _index(of: Monitored, kbit: float) -> float | None:
    rate = error_rate(of.experiment())
    if rate is None or of.tx_kbps is None:
        return None
    return rates.nai_per_s(of.tx_kbps * kbit, of.lost, MTU_BYTES, rate)


#: Name -> how it is worked out: table C-3 in parts of 1, C-2 in parts of 1, C-8, and C-4 and C-7.
FIGURES: Mapping[str, Callable[[Monitored], float | None]] = {
    "lost_of_sent": lambda of: losses.loss_of_sent(of.sent, of.lost),
    "packet_delivery_ratio": lambda of: losses.packet_delivery_ratio(of.sent, of.lost),
    "nai_per_s": lambda of: _index(of, 1000),
    "nai_1024_per_s": lambda of: _index(of, 1024),
}


def figure(
    monitor: Mapping[str, Any], name: str, experiment: Callable[[], Mapping[str, Any]]
) -> float | None:
    """One of `FIGURES`.

    Args:
        monitor: `flow_monitor` of a flow's row.
        name: Its name.
        experiment: Calls for the experiment, which the index needs.
    """
    of = Monitored(monitor["tx_kbps"], monitor["lost"], monitor["tx_packets"], experiment)
    return FIGURES[name](of)
