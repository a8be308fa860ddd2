"""The path that is judged: what a user says or what was measured of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fairway.host.windows import SCALED, bandwidth_delay_bytes

#: Payload of a packet of 1500 bytes with IPv4 and TCP headers and the timestamp option.
USUAL_MSS = 1448


@dataclass(frozen=True)
class Path:
    """A path.

    Attributes:
        rtt_s: Round-trip time in seconds.
        rate_bps: What it shall carry in bit/s, if that is known.
        loss: Share of packets that it loses at random.
        streams: Connections that are to share the work.
        cc: Congestion control of the sender; None is the host's own.
        mss_bytes: Payload of a packet.
    """

    rtt_s: float
    rate_bps: float | None = None
    loss: float | None = None
    streams: int = 1
    cc: str | None = None
    mss_bytes: int = USUAL_MSS

    @property
    def need(self) -> Need | None:
        """What fills it, if its rate is known."""
        if self.rate_bps is None:
            return None
        bdp = bandwidth_delay_bytes(self.rate_bps, self.rtt_s)
        return Need(self.rate_bps, self.rtt_s, self.streams, bdp)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "bdp_bytes": self.need and self.need.bdp_bytes}


@dataclass(frozen=True)
class Need:
    """What fills a path.

    Attributes:
        streams: Connections that are to fill it together.
        bdp_bytes: Bytes on their way when it is full.
    """

    rate_bps: float
    rtt_s: float
    streams: int
    bdp_bytes: int

    @property
    def window_bytes(self) -> float:
        """What each stream must have on its way."""
        return self.bdp_bytes / self.streams

    @property
    def possible_window_bytes(self) -> float:
        """The same, but no more than TCP can have on its way."""
        return min(self.window_bytes, float(SCALED))
