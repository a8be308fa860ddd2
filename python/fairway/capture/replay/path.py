"""The path that a captured transfer took, as an experiment file that says where it comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairway.ground import text

if TYPE_CHECKING:
    import polars as pl

#: The file allows a transfer this many times what it took, so that slower algorithms end too.
_PATIENCE = 3.0
#: And no less than this, in seconds.
_LEAST_S = 10.0
#: Samples of the time series during a transfer that takes as long as the captured one.
_SAMPLES = 250
#: The shortest time between two, in seconds: ten thousand of a run of `_LEAST_S`.
_SHORTEST_S = 1e-3
#: A part of what was delivered at one rate that leaves no doubt about it.
_SURE_SHARE = 0.8
#: A part of the bytes that left with a full receive window which says that it held the sender back.
_WINDOW_SHARE = 0.1
#: Losses that make a probability.
_FEW_LOSSES = 10
#: A part of the transfer in pauses that changes what it means.
_PAUSED_SHARE = 0.05
#: A part of the round trip on the sender's side of the capture that may hide a queue.
_SENDER_SHARE = 0.1


@dataclass(frozen=True)
class Transfer:
    """A captured transfer, and the path that was fitted to it.

    Attributes:
        connection: The connection, as `fairway analyze --json` has it.
        connections: How many the capture has.
        others: Numbers of others with much data.
        series: Its intervals, `t_s` since its first packet, columns as
            `fairway.capture.analysis.series.CAPTURE_SERIES_SCHEMA`.
    """

    name: str
    connection: Mapping[str, Any]
    connections: int
    others: Sequence[int]
    damaged: Sequence[Mapping[str, Any]]
    direction: Mapping[str, Any]
    path: Mapping[str, Any]
    series: pl.DataFrame

    @property
    def duration_s(self) -> float:
        """From the first packet to the acknowledgement of the last data, as far as is known."""
        handshake_s = self.direction["handshake_rtt_s"] or 0.0
        rtt_s = self.direction["rtt_s"]["p50"] if self.direction["rtt_s"] else 0.0
        together = handshake_s + float(self.direction["data_s"]) + rtt_s
        return min(together, float(self.connection["duration_s"])) or together

    @property
    def bytes(self) -> int:
        """Bytes of the transfer, each once."""
        return int(self.direction["unique_bytes"])

    @property
    def algorithm(self) -> str | None:
        """Its congestion control, if its window shows one."""
        found = self.direction.get("congestion_control")
        if not found or not found["is_explained"] or not found["ranked"]:
            return None
        return str(found["ranked"][0]["algorithm"])

    def doubts(self) -> list[str]:
        """What is not sure about the path, in words."""
        return [*_of_rate(self.path), *_of_rtt(self.path), *_of_queue(self.path),
                *_of_traffic(self)]  # fmt: skip


def _of_rate(path: Mapping[str, Any]) -> list[str]:
    if path["rate_source"] == "at_least":
        return ["no queue was ever seen, so the rate is only what was delivered at most: the "
                "bottleneck may be faster"]  # fmt: skip
    doubts = []
    if path["rate_source"] == "packet_trains":
        doubts.append("queues were short, so the rate is from trains of packets")
    if path["rate_share"] < _SURE_SHARE:
        share = text.percent(path["rate_share"], signed=False)
        doubts.append(
            f"only {share} of what was delivered while a queue stood was delivered at this rate: "
            "others may have shared the path, or its rate changes"
        )
    return doubts


def _of_rtt(path: Mapping[str, Any]) -> list[str]:
    doubts = []
    if not path["has_handshake"]:
        doubts.append("the capture has no handshake: the base round trip may have a queue in it")
    sender_s = path["sender_rtt_s"] or 0.0
    if sender_s > _SENDER_SHARE * path["base_rtt"]["s"]:
        doubts.append(
            f"the capture is {text.milliseconds(sender_s)} from the sender: a queue in front of "
            "it does not show, and round trips by data are those behind it"
        )
    return doubts


def _of_queue(path: Mapping[str, Any]) -> list[str]:
    doubts = []
    buffer, loss = path["buffer"], path["random_loss"]
    if buffer["source"] == "at_least":
        doubts.append(
            f"the queue never dropped anything that shows its end: it holds {buffer['packets']} "
            "packets at least; the file assumes that, or one bandwidth-delay product if that is "
            "more"
        )
    elif buffer["full_episodes"] == 1:
        doubts.append("the queue has dropped packets once only, so its limit rests on that")
    if 0 < loss["losses"] < _FEW_LOSSES:
        packets = text.count(loss["losses"], "lost packet")
        doubts.append(f"the probability of a loss rests on {packets}")
    if loss["losses"] and buffer["packets"] <= 3:
        doubts.append("a queue of one or two packets would look like random losses")
    if path["has_marks"]:
        doubts.append("packets were marked (ECN): the queue is not drop-tail, which the file has")
    return doubts


def _of_traffic(transfer: Transfer) -> list[str]:
    path, doubts = transfer.path, []
    if path["window_limited_share"] >= _WINDOW_SHARE:
        share = text.percent(path["window_limited_share"], signed=False)
        doubts.append(f"{share} of the bytes left with the receive window full: the file has that "
                      "window, and an algorithm cannot go beyond it")  # fmt: skip
    if path["paused_s"] > _PAUSED_SHARE * transfer.duration_s:
        doubts.append(
            f"the application paused {text.count(path['pauses'], 'time')}, "
            f"{path['paused_s']:.3g} s in all; the file sends without pauses"
        )
    others = transfer.others
    if others:
        numbers = ", ".join(map(str, others[:5])) + (", …" if len(others) > 5 else "")
        doubts.append(
            f"other connections with much data are not in the file (connection {numbers}): if "
            "they shared the bottleneck, the rate is what they have left"
        )
    return doubts


def experiment_text(transfer: Transfer, algorithms: Sequence[str], overhead_bytes: int = 0) -> str:
    """The experiment file: the path, the bytes, and the algorithms in turn."""
    return "\n".join(
        [*_head(transfer), *_stack(transfer), *_topology(transfer.path, overhead_bytes),
         *_flow(transfer, algorithms)]
    ) + "\n"  # fmt: skip


def _head(transfer: Transfer) -> list[str]:
    number = transfer.connection["id"]
    ends = f"{transfer.direction['from']} to {transfer.direction['to']}"
    duration_s = max(_PATIENCE * transfer.duration_s, _LEAST_S)
    lines = [
        f"# The path that connection {number} of {_plain(transfer.name)} took, {ends},",
        "# as fairway replay has fitted it. Change what you know better; fairway run takes it.",
    ]
    doubts = transfer.doubts()
    if doubts:
        lines += ["#", "# Not sure:", *(f"# - {doubt}." for doubt in doubts)]
    return [
        *lines,
        "",
        f"title    = {json.dumps(f'Replay of {_plain(transfer.name)}, connection {number}')}",
        f"# The transfer took {transfer.duration_s:.4g} s. There is time for slower ones.",
        f'duration = "{duration_s:.4g} s"',
        "",
        "[measure]",
        f'sample = "{max(transfer.duration_s / _SAMPLES, _SHORTEST_S) * 1e3:.4g} ms"',
    ]


def _stack(transfer: Transfer) -> list[str]:
    path, connection = transfer.path, transfer.connection
    lines = ["", "[stack]", "# From the handshake, or from the longest segment without one.",
             f'mss = "{path["mss_bytes"]} bytes"']  # fmt: skip
    for key, what in (("sack", "uses_sack"), ("timestamps", "uses_timestamps"),
                      ("window_scaling", "uses_window_scale")):  # fmt: skip
        if connection[what] is not None:
            lines.append(f"{key} = {str(connection[what]).lower()}")
    if connection["uses_sack"] is False:
        # What the preset builds on SACK.
        lines += ["rack = false", "tail_loss_probe = false", "frto = false", "dsack = false"]
    first = transfer.direction["initial_window_segments"]
    if path["has_handshake"] and 1 <= first <= 100:
        lines += ["# Segments before the first acknowledgement of data.",
                  f'initial_window = "{first} segments"']  # fmt: skip
    if path["window_limited_share"] >= _WINDOW_SHARE:
        lines += ["# The largest window that the receiver announced, which held the sender back.",
                  f'receive_buffer = "{path["receive_window_bytes"]} bytes"']  # fmt: skip
    return lines


def _topology(path: Mapping[str, Any], overhead_bytes: int) -> list[str]:
    lines = ["", "[topology]", 'kind = "dumbbell"']
    if overhead_bytes:
        lines.append(f'frame_overhead = "{overhead_bytes} bytes"')
    share = text.percent(path["rate_share"], signed=False)
    rate = {
        "standing_queue": f"{share} of what was delivered while a queue stood came at this rate",
        "packet_trains": f"{share} of what trains of packets delivered came at this rate",
        "at_least": "The most that was delivered: a lower bound",
    }[path["rate_source"]]
    base = path["base_rtt"]
    source = {"handshake": "the handshake", "data": "the shortest round trip of data"}
    delay_ms = max(base["s"] / 2, 1e-6) * 1e3
    lines += [
        "",
        "[topology.bottleneck]",
        f"# {rate},",
        f"# in {text.count(path['rate_windows'], 'window')} of time. It counts "
        + (f"IP packets and {overhead_bytes} bytes each." if overhead_bytes else "IP packets."),
        f'rate  = "{path["rate_bps"]:.0f} bit/s"',
        f"# Half of {text.milliseconds(base['s'])}, from {source[base['source']]}, less the time "
        "of transmission.",
        f"# Round trips went from {text.milliseconds(base['least_measured_s'])} to "
        f"{text.milliseconds(base['most_measured_s'])}.",
        f'delay = "{delay_ms:.6g} ms"',
        *_queue(path),
        *_loss(path),
    ]
    return lines


def _queue(path: Mapping[str, Any]) -> list[str]:
    buffer = path["buffer"]
    wait = text.milliseconds(buffer["longest_wait_s"])
    if buffer["source"] == "drops":
        times = text.count(buffer["full_episodes"], "time")
        drops = text.count(buffer["drops"], "packet")
        why = [f"# Full {times}, when it dropped {drops}; the longest wait was {wait}."]
        packets = buffer["packets"]
    else:
        bdp = path["rate_bps"] * path["base_rtt"]["s"] / 8 / path["packet_bytes"]
        packets = max(buffer["packets"], round(bdp), 2)
        why = [f"# A guess: the longest wait was {wait}, which takes {buffer['packets']} packets,",
               f"# and one bandwidth-delay product is {round(bdp)}."]  # fmt: skip
    return [*why, f'queue = {{ kind = "droptail", limit = "{packets} packets" }}']


def _loss(path: Mapping[str, Any]) -> list[str]:
    loss = path["random_loss"]
    if not loss["losses"]:
        return []
    return [
        f"# {loss['losses']:,} of {text.count(path['segments'], 'packet')} were lost in "
        f"{text.count(loss['episodes'], 'episode')} without a full queue.",
        f'loss  = {{ kind = "bernoulli", probability = {min(loss["probability"], 0.999):.6f} }}',
    ]


def _flow(transfer: Transfer, algorithms: Sequence[str]) -> list[str]:
    return [
        "",
        "[[flow]]",
        f"cc    = {json.dumps(algorithms[0])}",
        "# Payload, each byte once.",
        f'bytes = "{transfer.bytes} bytes"',
        "",
        "[sweep]",
        f'"flow.0.cc" = {json.dumps(list(algorithms))}',
    ]


def _plain(name: str) -> str:
    """A file's name on one line of a comment."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
