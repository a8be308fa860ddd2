"""TCP through a WLAN cell: what uploads and downloads with windows get of one access point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairway import _core
from fairway.errors import InputError
from fairway.ground import quantities
from fairway.model.answer import answered

Standard = Literal["802.11a", "802.11b", "802.11g"]
Direction = Literal["download", "upload"]

#: Largest count that the compiled model reads.
_LARGEST = 2**32 - 1


@dataclass(frozen=True)
class Access:
    """How stations of a cell get at the medium, and what they send.

    Attributes:
        standard: "802.11a", "802.11b" or "802.11g".
        rate: Rate of data frames, as a text or in bit/s; the standard's highest unless written.
        control_rate: Highest rate of control frames; 2 Mbit/s in 802.11b and 24 in 802.11a and g
            unless written.
        preamble: Of 802.11b: "long" or "short".
        slot: Of 802.11g: "short", or "long" among stations of 802.11b.
        protection: 802.11g: each frame goes behind a CTS for stations of 802.11b.
        packet_bytes: IP packet with data.
        ack_bytes: IP packet that is an acknowledgement.
        attempts: After which a frame is given up; None if it never is.
        times_us: Instead of what the standard says, in microseconds, as answers have them under
            `times`: `slot_us`, `data_us`, `ack_us`, `data_collision_us`, `ack_collision_us`.
        contention_windows: Instead of those of the standard: smallest and largest, in slots.
    """

    standard: str = "802.11b"
    rate: str | float | None = None
    control_rate: str | float | None = None
    preamble: str = "long"
    slot: str = "short"
    protection: bool = False
    packet_bytes: int = 1500
    ack_bytes: int = 40
    attempts: int | None = 7
    times_us: Mapping[str, float] | None = None
    contention_windows: tuple[int, int] | None = None

    def _question(self) -> dict[str, Any]:
        for name, value in (("preamble", self.preamble), ("slot", self.slot)):
            if value not in {"long", "short"}:
                raise InputError(f'{name}: expected long or short, got "{value}"')
        if self.preamble == "short" and self.standard != "802.11b":
            raise InputError("preamble: belongs to 802.11b; write that or remove it")
        if self.standard != "802.11g" and (self.slot == "long" or self.protection):
            name = "protection" if self.protection else "slot"
            raise InputError(f"{name}: belongs to 802.11g; write that or remove it")
        low, high = self.contention_windows or (None, None)
        return {
            "standard": self.standard,
            "preamble": self.preamble,
            "slot": self.slot,
            "protection": self.protection,
            "rate_bps": _bits(self.rate, "rate"),
            "control_rate_bps": _bits(self.control_rate, "control_rate"),
            "packet_bytes": _count(self.packet_bytes, "packet_bytes"),
            "ack_bytes": _count(self.ack_bytes, "ack_bytes"),
            "attempts": None if self.attempts is None else _count(self.attempts, "attempts"),
            "times": None if self.times_us is None else dict(self.times_us),
            "cw_min": None if low is None else _count(low, "contention_windows"),
            "cw_max": None if high is None else _count(high, "contention_windows"),
        }


@dataclass(frozen=True)
class Flow:
    """A flow, between a station of its own and a host behind the access point.

    Attributes:
        direction: "download" to the station, "upload" from it.
        window_packets: What is always on its way, as data or as acknowledgements.
    """

    direction: Direction
    window_packets: int


@dataclass(frozen=True)
class Prediction:
    """What the model says of a cell.

    Attributes:
        flows: The flows, as they were given.
        payload_bytes: Of a packet of data.
        answer: Everything, as JSON has it: rates in packets a second, probabilities, mean times.
    """

    flows: tuple[Flow, ...]
    payload_bytes: int
    answer: Mapping[str, Any]

    @property
    def goodput_bps(self) -> float:
        """Payload of all flows in bit/s."""
        return float(self.answer["packets_per_s"]) * self.payload_bytes * 8

    @property
    def download_bps(self) -> float:
        """Payload of the downloads in bit/s."""
        return float(self.answer["download_packets_per_s"]) * self.payload_bytes * 8

    @property
    def upload_bps(self) -> float:
        """Payload of the uploads in bit/s."""
        return float(self.answer["upload_packets_per_s"]) * self.payload_bytes * 8

    @property
    def flow_bps(self) -> list[float]:
        """Payload of each flow in bit/s."""
        return [flow["packets_per_s"] * self.payload_bytes * 8 for flow in self.answer["flows"]]

    @property
    def in_range(self) -> bool:
        """Whether the model holds there."""
        return bool(self.answer["in_range"])

    def to_json(self) -> dict[str, Any]:
        """The prediction as `fairway model wlan --json` prints it."""
        answer = dict(self.answer)
        flows = [
            {
                "direction": flow.direction,
                "window_packets": flow.window_packets,
                "goodput_bps": goodput,
                **found,
            }
            for flow, goodput, found in zip(
                self.flows, self.flow_bps, answer.pop("flows"), strict=True
            )
        ]
        return {
            "goodput_bps": self.goodput_bps,
            "download_bps": self.download_bps,
            "upload_bps": self.upload_bps,
            "model": MODEL,
            "in_range": answer.pop("in_range"),
            "outside": answer.pop("outside"),
            "payload_bytes": self.payload_bytes,
            "flows": flows,
            **answer,
        }


#: What answers say of themselves.
MODEL = "closed network of access point and stations; attempts as in saturation (Kumar et al. 2007)"


def wlan(
    flows: Sequence[Flow],
    access: Access | None = None,
    *,
    payload_bytes: int | None = None,
    packets_per_ack: int = 1,
    ack_timer: str | float = 0.2,
    wire_rtt: str | float = 0.0,
) -> Prediction:
    """What uploads and downloads with windows get through one access point.

    Args:
        flows: The flows, each of a station of its own.
        access: The cell; 802.11b unless written.
        payload_bytes: Of a packet of data; 40 less than the packet unless written.
        packets_per_ack: Packets of data for each acknowledgement: 2 where they are delayed.
        ack_timer: The longest an acknowledgement is delayed, as a text or in seconds.
        wire_rtt: From the access point to the host behind it and back.

    >>> found = wlan([Flow("download", 1), Flow("download", 2)])
    >>> round(found.goodput_bps / 1e6, 2)
    4.46
    """
    access = access or Access()
    payload = access.packet_bytes - 40 if payload_bytes is None else payload_bytes
    if not 0 < payload <= access.packet_bytes:
        raise InputError(
            f"payload_bytes: expected 1 to {access.packet_bytes}, what a packet has, got {payload}"
        )
    question = {
        "access": access._question(),
        "flows": [
            {
                "direction": _direction(flow.direction),
                "window_packets": _count(flow.window_packets, "window"),
            }
            for flow in flows
        ],
        "packets_per_ack": _count(packets_per_ack, "packets_per_ack"),
        "ack_timer_s": quantities.seconds(ack_timer, "ack_timer"),
        "wire_rtt_s": quantities.seconds(wire_rtt, "wire_rtt"),
    }
    return Prediction(tuple(flows), payload, answered(_core.model_wlan, question))


def saturation(stations: int, access: Access | None = None) -> dict[str, Any]:
    """What stations send that always have packets of data, and how often they collide.

    The model of Bianchi (IEEE JSAC 18(3), 2000), with a limit of attempts that of Kumar et al.
    (IEEE/ACM ToN 15(3), 2007).

    Args:
        stations: How many.
        access: The cell; 802.11b unless written. Only packets of data are sent.

    Returns:
        `attempt` and `collision`: probabilities in a slot; `idle` and `success`: of a slot;
        `packets_per_s` of all stations; `times`.

    >>> round(saturation(1)["attempt"], 6)  # one in (32 + 1)/2 slots
    0.060606
    """
    access = access or Access()
    question = {"access": access._question(), "stations": _count(stations, "stations")}
    return answered(_core.model_saturation, question)


def _direction(direction: str) -> str:
    if direction not in {"download", "upload"}:
        raise InputError(f'direction: expected download or upload, got "{direction}"')
    return direction


def _count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise InputError(f"{name}: expected a whole number from 0 to {_LARGEST}, got {value}")
    return value


def _bits(value: str | float | None, name: str) -> int | None:
    if value is None or isinstance(value, str):
        return quantities.rate_bps(value, name)
    if not 0 < value < 1e18:
        raise InputError(f"{name}: expected a rate in bit/s, got {value}")
    return round(value)
