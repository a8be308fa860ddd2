"""What Khader 2020 makes of the figures of ns-3's FlowMonitor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairway.metrics import losses, rates
from fairway.metrics.transfer import error_rate

#: Bytes of a packet in the index: Khader 2020 takes an MTU of 1500 in all tables, also in case 2 of
#: table C-8, where the number of lost packets is that of an MTU of 1000.
MTU_BYTES = 1500

#: `flow_monitor` of a flow's row.
Monitor = Mapping[str, Any]
#: Reads the experiment, which the index alone needs.
Experiment = Callable[[], Mapping[str, Any]]


def _index(of: Monitor, experiment: Experiment, kbit: float) -> float | None:
    rate = error_rate(experiment())
    if rate is None or of["tx_kbps"] is None:
        return None
    return rates.nai_per_s(of["tx_kbps"] * kbit, of["lost"], MTU_BYTES, rate)


#: Name -> how it is worked out: table C-3 in parts of 1, C-2 in parts of 1, C-8, and C-4 and C-7.
FIGURES: Mapping[str, Callable[[Monitor, Experiment], float | None]] = {
    "lost_of_sent": lambda of, _: losses.loss_of_sent(of["tx_packets"], of["lost"]),
    "packet_delivery_ratio": lambda of, _: losses.packet_delivery_ratio(
        of["tx_packets"], of["lost"]
    ),
    "nai_per_s": lambda of, experiment: _index(of, experiment, 1000),
    "nai_1024_per_s": lambda of, experiment: _index(of, experiment, 1024),
}
