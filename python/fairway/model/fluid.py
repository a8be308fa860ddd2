"""Fluid models: mean windows, queue and loss over time, for any number of flows.

V. Misra, W.-B. Gong, D. Towsley, "Fluid-based Analysis of a Network of AQM Routers Supporting TCP
Flows with an Application to RED", SIGCOMM 2000; what the refined equations add is told in the
documentation of models.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from fairway import _core
from fairway.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

Equations = Literal["refined", "published"]


@dataclass(frozen=True)
class Flows:
    """Flows that are alike.

    Attributes:
        flows: How many; need not be whole.
        rtt_s: Round-trip time without queues, in seconds.
        cc: Congestion control, one of `rules()`.
        start_s: When they begin, in seconds.
        first_window: Window that they begin with, in packets; congestion avoidance from there.
        window_limit: Largest window, in packets.
        packets_per_ack: Packets for each acknowledgement, 2 where they are delayed; the published
            equations know of none.
    """

    flows: float
    rtt_s: float
    cc: str = "reno"
    start_s: float = 0.0
    first_window: float = 1.0
    window_limit: float | None = None
    packets_per_ack: float = 2.0


@dataclass(frozen=True)
class Red:
    """Random early detection (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993).

    Attributes:
        min_packets: Average queue below which nothing is dropped.
        max_packets: Average queue at which the probability is at its maximum.
        max_probability: That maximum.
        weight: Weight of a packet's sample in the average.
        gentle: Whether the probability rises to 1 between one and two `max_packets`.
        marks: Whether it marks instead of dropping.
        limit_packets: Packets that fit; None for no limit.
    """

    min_packets: float = 5.0
    max_packets: float = 15.0
    max_probability: float = 0.1
    weight: float = 0.002
    gentle: bool = True
    marks: bool = False
    limit_packets: float | None = None


@dataclass(frozen=True)
class DropTail:
    """A queue that drops what does not fit."""

    limit_packets: float


@dataclass(frozen=True)
class Curves:
    """Windows and queue over time; arrays of equal length.

    Attributes:
        average_packets: RED's average of that.
        dropped: Share of packets that is dropped.
        signalled: Share of packets whose sender is told of congestion, by a drop or a mark.
        windows: Mean window of each class in packets, 0 before it begins.
        goodputs_bps: Goodput of each class, over all its flows, in bit/s.
        means: Means from a given time on, by the same names, and `queue_range`.
        outside: Why it may not be believed; None inside the model's range.
        steps: Steps that the integration took.
    """

    time_s: NDArray[np.float64]
    queue_packets: NDArray[np.float64]
    average_packets: NDArray[np.float64]
    dropped: NDArray[np.float64]
    signalled: NDArray[np.float64]
    windows: list[NDArray[np.float64]]
    goodputs_bps: list[NDArray[np.float64]]
    means: dict[str, Any]
    outside: str | None
    steps: int


@dataclass(frozen=True)
class FixedPoint:
    """A state that does not move, though windows and queue may swing around it.

    Attributes:
        signalled: Share of packets whose sender is told of congestion.
        windows: Mean window of each class in packets.
        rtts_s: Round-trip time of each class in seconds.
        goodputs_bps: Goodput of each class, over all its flows, in bit/s.
        outside: Why it may not be believed; None inside the model's range.
    """

    queue_packets: float
    dropped: float
    signalled: float
    windows: list[float]
    rtts_s: list[float]
    goodputs_bps: list[float]
    outside: str | None


@dataclass(frozen=True)
class Fluid:
    """Flows that share a bottleneck.

    Attributes:
        rate_bps: What the bottleneck passes on, headers included, in bit/s.
        classes: Flows of every kind.
        queue: Its queue; None for one that holds whatever comes.
        packet_bytes: Size of a packet on the bottleneck.
        mss_bytes: Payload of a packet.
        equations: "refined", or "published" for those of the paper alone.
    """

    rate_bps: float
    classes: Sequence[Flows]
    queue: Red | DropTail | None = None
    packet_bytes: float = 1500.0
    mss_bytes: float = 1448.0
    equations: Equations = "refined"

    def run(self, duration_s: float, points: int = 1001, since_s: float | None = None) -> Curves:
        """Integrate from an empty queue.

        Args:
            duration_s: For so long, in seconds.
            points: Of the curves, evenly from zero to the end.
            since_s: Where the means begin; the second half if not given.
        """
        since_s = duration_s / 2 if since_s is None else since_s
        document = self._document()
        try:
            found = _core.fluid_run(document, duration_s, points, since_s)
        except (ValueError, OverflowError, TypeError) as error:
            raise InputError(f"fluid model: {error}") from None
        means = json.loads(found.pop("means"))
        bits = 8.0 * self.mss_bytes
        means["goodputs_bps"] = [bits * pps for pps in means.pop("goodputs_pps")]
        goodputs_bps = [bits * pps for pps in found.pop("goodputs_pps")]
        return Curves(**found, means=means, goodputs_bps=goodputs_bps)

    def fixed_point(self) -> FixedPoint | None:
        """Where windows, queue and loss balance each other; None if nothing stops the windows."""
        try:
            found = json.loads(_core.fluid_fixed_point(self._document()))
        except ValueError as error:
            raise InputError(f"fluid model: {error}") from None
        value = found["value"]
        if value is None:
            return None
        bits = 8.0 * self.mss_bytes
        goodputs_bps = [bits * pps for pps in value.pop("goodputs_pps")]
        return FixedPoint(**value, goodputs_bps=goodputs_bps, outside=found["outside"])

    def _document(self) -> str:
        kinds = {Red: "red", DropTail: "droptail"}
        queue = {"kind": "unlimited"}
        if self.queue is not None:
            queue = {"kind": kinds[type(self.queue)], **asdict(self.queue)}
        if not self.packet_bytes > 0 or not self.mss_bytes > 0:
            sizes = f"{self.packet_bytes} and {self.mss_bytes}"
            raise InputError(f"fluid model: expected packets of more than 0 bytes, got {sizes}")
        document = {
            "capacity_pps": self.rate_bps / (8.0 * self.packet_bytes),
            "queue": queue,
            "classes": [asdict(flows) for flows in self.classes],
            "equations": self.equations,
        }
        try:
            return json.dumps(document, allow_nan=False)
        except ValueError:
            raise InputError("fluid model: expected finite numbers, got nan or inf") from None


def rules() -> list[str]:
    """Names of the congestion controls that have a fluid model."""
    return _core.fluid_rules()
