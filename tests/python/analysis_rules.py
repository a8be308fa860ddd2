"""What an analysis says beside what tcptrace and tshark say, and where it says something else.

Every difference that is meant has its reason here, and a rule that says when it may be, and how
large: what no rule allows is an error. The page about captures has the same list.
"""

# Every rule is asked the same, and few need all of it.
# ruff: noqa: ARG005

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Direction = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A direction of a connection, as an analysis reports it."""

    connection: dict[str, Any]
    #: Of the data that the numbers are about, and the other one.
    this: Direction
    other: Direction

    def of(self, name: str, key: str) -> float:
        return (self.this[name] or {}).get(key) or 0.0

    def ms(self, name: str, key: str) -> float:
        return self.of(name, key) * 1e3


@dataclass(frozen=True)
class Field:
    """A number of another program, and where an analysis has it."""

    name: str
    ours: Callable[[Case], float | str]
    #: What rounding of the other program explains.
    absolute: float = 0.0
    relative: float = 0.0

    def agrees(self, theirs: str, ours: float | str) -> bool:
        if isinstance(ours, str) or not is_number(theirs):
            return theirs == ours
        difference = abs(float(theirs) - ours)
        return difference <= self.absolute + self.relative * abs(ours) + 1e-9


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def count(name: str, key: str) -> Field:
    return Field(name, lambda case: case.this[key] or 0)


def spread(name: str, key: str, part: str, **rounding: float) -> Field:
    return Field(name, lambda case: case.of(key, part), **rounding)


def time(name: str, key: str, part: str, **rounding: float) -> Field:
    return Field(name, lambda case: case.ms(key, part), **rounding)


def again(case: Case) -> int:
    this = case.this
    return this["retransmitted_syns"] + this["retransmitted_fins"]


#: Milliseconds with one place. The mean is that of one ten-thousandth of a value more.
MS = {"absolute": 0.051}
MEAN = {"absolute": 0.051, "relative": 1.1e-4}


def times(name: str, key: str, least: str, most: str, mean: str) -> list[Field]:
    return [
        time(f"{name}{least}", key, "min", **MS),
        time(f"{name}{most}", key, "max", **MS),
        time(f"{name}{mean}", key, "mean", **MEAN),
    ]


def or_not_known(value: int | None) -> int | str:
    return "NA" if value is None else value


def idle_ms(case: Case) -> float | str:
    return case.this["longest_idle_s"] * 1e3 if case.this["packets"] else "NA"


def goodput(case: Case) -> float | str:
    """In bytes per second."""
    bps = case.this["goodput_bps"]
    return "NA" if bps is None else bps / 8


def sent_again(case: Case) -> int:
    """Retransmissions and segments out of order: tshark tells them apart by a guess at time."""
    this = case.this
    return this["retransmitted_segments"] + this["out_of_order_segments"] + again(case)


def acknowledged(case: Case) -> int:
    """Acknowledgements of a whole segment; those that are no clear round trip included."""
    this = case.this
    return int(case.of("rtt_s", "count")) + this["ambiguous_acks"] + this["post_loss_acks"]


def initial_rtt_ms(case: Case) -> float:
    parts = [one["handshake_rtt_s"] for one in (case.this, case.other)]
    return sum(parts) * 1e3 if None not in parts else 0.0


#: Fields of `tcptrace -lrW --csv`.
TCPTRACE = [
    count("total_packets", "packets"),
    count("resets_sent", "resets"),
    count("ack_pkts_sent", "acks"),
    count("pure_acks_sent", "pure_acks"),
    count("sack_pkts_sent", "sack_packets"),
    count("sacks_sent", "sack_packets"),
    count("dsack_pkts_sent", "dsack_packets"),
    count("max_sack_blks/ack", "max_sack_blocks"),
    count("unique_bytes_sent", "unique_bytes"),
    count("actual_data_pkts", "data_segments"),
    count("actual_data_bytes", "data_bytes"),
    Field("rexmt_data_pkts", lambda case: case.this["retransmitted_segments"]),
    Field("rexmt_data_bytes", lambda case: case.this["retransmitted_bytes"]),
    count("zwnd_probe_pkts", "window_probes"),
    count("zwnd_probe_bytes", "window_probe_bytes"),
    count("outoforder_pkts", "out_of_order_segments"),
    count("pushed_data_pkts", "pushed_segments"),
    Field("SYN/FIN_pkts_sent", lambda case: f"{case.this['syns']}/{case.this['fins']}"),
    spread("mss_requested", "offered", "mss_bytes"),
    spread("adv_wind_scale", "offered", "window_scale"),
    spread("max_segm_size", "segment_bytes", "max"),
    spread("min_segm_size", "segment_bytes", "min"),
    # Divided by a thousandth of a segment more, and cut off.
    spread("avg_segm_size", "segment_bytes", "mean", absolute=1.0, relative=1e-3),
    spread("max_win_adv", "advertised_window_bytes", "max"),
    spread("min_win_adv", "advertised_window_bytes", "min"),
    spread("avg_win_adv", "advertised_window_bytes", "mean", absolute=1.0),
    count("zero_win_adv", "zero_windows"),
    count("initial_window_bytes", "initial_window_bytes"),
    count("initial_window_pkts", "initial_window_segments"),
    Field("ttl_stream_length", lambda case: or_not_known(case.this["stream_bytes"])),
    Field("missed_data", lambda case: or_not_known(case.this["missed_bytes"])),
    Field("data_xmit_time", lambda case: case.this["data_s"], absolute=0.00051),
    Field("idletime_max", idle_ms, **MS),
    Field("throughput", goodput, absolute=1.0),
    spread("RTT_samples", "rtt_s", "count"),
    *times("RTT_", "rtt_s", "min", "max", "avg"),
    time("RTT_stdev", "rtt_s", "stdev", **MEAN),
    Field("RTT_from_3WHS", lambda case: (case.this["handshake_rtt_s"] or 0) * 1e3, **MS),
    spread("RTT_full_sz_smpls", "full_size_rtt_s", "count"),
    *times("RTT_full_sz_", "full_size_rtt_s", "min", "max", "avg"),
    count("post-loss_acks", "post_loss_acks"),
    count("ambiguous_acks", "ambiguous_acks"),
    *times("RTT_", "ambiguous_rtt_s", "min_(last)", "max_(last)", "avg_(last)"),
    count("segs_cum_acked", "cumulatively_acked_segments"),
    count("duplicate_acks", "duplicate_acks"),
    count("triple_dupacks", "triple_duplicate_acks"),
    count("max_#_retrans", "max_retransmissions"),
    *times("", "retransmission_s", "min_retr_time", "max_retr_time", "avg_retr_time"),
]

#: Of what tshark says of packets, summed up by direction. Round trips are of the data of a
#: direction, as ours; tshark writes them to the packet that acknowledges.
TSHARK = [
    count("packets", "packets"),
    count("frame_bytes", "wire_bytes"),
    count("data_bytes", "data_bytes"),
    Field("sent_again", sent_again),
    Field("duplicate_acks", lambda case: case.this["duplicate_acks"]),
    Field("zero_windows", lambda case: case.this["zero_windows"]),
    Field("ack_rtts", acknowledged),
    time("ack_rtt_min_ms", "rtt_s", "min", absolute=0.001),
    Field("initial_rtt_ms", initial_rtt_ms, absolute=0.001),
]


@dataclass(frozen=True)
class Difference:
    """A difference that is meant."""

    fields: tuple[str, ...]
    reason: str
    #: Whether it explains these values of the other program and of ours.
    explains: Callable[[Case, float, float], bool]


def is_open(case: Case) -> bool:
    return case.connection["state"] == "open"


def begins_at_zero(case: Case) -> bool:
    return case.connection["first_s"] == 0.0


def has_control_sample(case: Case) -> bool:
    """Whether a SYN or FIN was acknowledged by itself: one number, and no byte."""
    return case.this["syns"] > 0 or case.this["fins"] > 0


def quarters_begun(case: Case) -> int:
    """Multiples of 2^30 inside of the data's sequence numbers, SYN and FIN included."""
    if case.this["offered"] is None:
        return 0
    first = case.this["offered"]["sequence"]
    last = first + case.this["unique_bytes"] + (case.this["missed_bytes"] or 0) + 1
    return last // 2**30 - first // 2**30


#: Why an analysis says something else than tcptrace does.
TCPTRACE_DIFFERENCES = [
    Difference(
        ("rexmt_data_pkts", "rexmt_data_bytes"),
        "A SYN or FIN that is sent again is not data: tcptrace counts each as a segment and a byte "
        "(its own unique bytes leave them out).",
        # One with data is a segment that both count.
        lambda case, theirs, ours: 0 < theirs - ours <= again(case),
    ),
    Difference(
        ("mss_requested",),
        "tcptrace keeps the MSS as a signed number of 16 bits: beyond 32 767, as over loopback, it "
        "prints 2^32 less what is missing to 65 536.",
        lambda case, theirs, ours: ours > 32767 and theirs == 2**32 + ours - 2**16,
    ),
    Difference(
        ("RTT_full_sz_smpls", "RTT_full_sz_min", "RTT_full_sz_max", "RTT_full_sz_avg"),
        "tcptrace takes a SYN or FIN for a segment of 4 GB (first and last number are the same, "
        "which it takes for a space that has wrapped), so its full-size segments are those.",
        lambda case, theirs, ours: has_control_sample(case),
    ),
    Difference(
        ("duplicate_acks", "triple_dupacks"),
        "Without data in flight an acknowledgement that repeats the last one is no duplicate "
        "(RFC 5681 section 2): it is a keep-alive's or a probe's answer, or closes. tcptrace asks "
        "whether there ever was data.",
        lambda case, theirs, ours: theirs > ours,
    ),
    Difference(
        ("RTT_samples", "post-loss_acks"),
        "What had been acknowledged and is sent again holds nothing up: an acknowledgement that "
        "moves on after it is a round trip. For tcptrace it has waited for the retransmission.",
        lambda case, theirs, ours: abs(theirs - ours) <= case.this["retransmitted_segments"],
    ),
    Difference(
        ("RTT_min", "RTT_max", "RTT_avg", "RTT_stdev"),
        "They are of the samples that each has: see `RTT_samples`.",
        lambda case, theirs, ours: (
            case.this["retransmitted_segments"] > 0
            and abs(theirs - ours) <= 0.05 * ours + MS["absolute"]
        ),
    ),
    Difference(
        ("RTT_stdev",),
        "Of two samples tcptrace gives no deviation.",
        lambda case, theirs, ours: theirs == 0.0 and case.this["rtt_s"]["count"] == 2,
    ),
    Difference(
        ("RTT_min",),
        "A round trip of zero, by a coarse clock at the receiver, is the least. For tcptrace a "
        "least of zero is none so far, and the next sample takes its place.",
        lambda case, theirs, ours: ours == 0.0 and theirs > 0.0,
    ),
    Difference(
        ("triple_dupacks",),
        "Three duplicates count if no acknowledgement between them moves on (RFC 5681 section "
        "3.2). tcptrace begins again at a window update.",
        lambda case, theirs, ours: theirs < ours,
    ),
    Difference(
        ("avg_win_adv",),
        "RST announces no window. tcptrace divides by all packets, those with RST too.",
        lambda case, theirs, ours: case.this["resets"] > 0 and theirs < ours,
    ),
    Difference(
        ("ttl_stream_length", "missed_data"),
        "The stream ends at its FIN. Of a side that has sent a RST tcptrace takes the last number "
        "(PrintTrace in output.c): it counts the FIN as a byte, or ends the stream where a late "
        "acknowledgement had, whose number the RST has (RFC 9293 section 3.10.7.1). Bytes beyond "
        "that are missed ones less than zero, as a number of 64 bits without a sign.",
        lambda case, theirs, ours: (
            case.this["resets"] > 0
            and case.this["fins"] > 0
            and (theirs - ours == 1 or 0 < ours - theirs <= case.this["stream_bytes"])
        ),
    ),
    Difference(
        ("idletime_max",),
        "Time without a packet ends with the last packet. tcptrace counts on to the end of the "
        "capture where it has not seen both ends close.",
        lambda case, theirs, ours: is_open(case) or case.connection["state"] == "closed",
    ),
    Difference(
        ("throughput",),
        "The clock of the simulator begins at 0, which tcptrace takes for no time: the connection "
        "begins with its second packet.",
        lambda case, theirs, ours: begins_at_zero(case) and theirs > ours,
    ),
    Difference(
        ("segs_cum_acked",),
        "A segment of which a part was sent again is two here.",
        lambda case, theirs, ours: ours > theirs and case.this["retransmitted_segments"] > 0,
    ),
    Difference(
        ("segs_cum_acked",),
        "A segment on both sides of a multiple of 2^30, in sequence numbers, is two for tcptrace, "
        "which keeps each quarter of the numbers by itself.",
        lambda case, theirs, ours: 0 < theirs - ours <= quarters_begun(case),
    ),
]

#: Why an analysis says something else than tshark does.
TSHARK_DIFFERENCES = [
    Difference(
        ("sent_again",),
        "A keep-alive with a byte, and a window probe, are not retransmissions for tshark; the "
        "byte of a keep-alive was sent before.",
        lambda case, theirs, ours: 0 < ours - theirs <= case.this["keep_alives"],
    ),
    Difference(
        ("sent_again",),
        "A FIN that is sent again with data is a FIN and a segment that are sent again.",
        lambda case, theirs, ours: 0 < ours - theirs <= case.this["retransmitted_fins"],
    ),
    Difference(
        ("ack_rtts", "ack_rtt_min_ms"),
        "tshark shows no round trip of zero: a receiver's capture with a coarse clock has many.",
        lambda case, theirs, ours: case.of("rtt_s", "min") == 0.0,
    ),
    Difference(
        ("ack_rtt_min_ms",),
        "An acknowledgement of a retransmission, or of data sent before one, is no clear round "
        "trip (Karn's rule, and tcptrace's post-loss ACKs). tshark takes it for one, and it can be "
        "the least.",
        lambda case, theirs, ours: (
            theirs < ours and case.this["post_loss_acks"] + case.this["ambiguous_acks"] > 0
        ),
    ),
    Difference(
        ("ack_rtts",),
        "What was sent again after it had been acknowledged, a keep-alive or a probe is answered, "
        "and the answer acknowledges nothing: for tshark it ends a round trip.",
        lambda case, theirs, ours: (
            0
            < theirs - ours
            <= case.this["keep_alives"]
            + case.this["window_probes"]
            + again(case)
            + case.this["retransmitted_segments"]
        ),
    ),
    Difference(
        ("duplicate_acks",),
        "Without data in flight an acknowledgement that repeats the last one is no duplicate "
        "(RFC 5681 section 2); tshark does not ask for any.",
        lambda case, theirs, ours: theirs > ours,
    ),
    Difference(
        ("initial_rtt_ms",),
        "The clock of the simulator begins at 0, which tshark takes for no time.",
        lambda case, theirs, ours: begins_at_zero(case) and theirs == 0.0,
    ),
    Difference(
        ("initial_rtt_ms",),
        "Karn's rule holds for SYNs as well: one that was sent twice gives no round trip.",
        lambda case, theirs, ours: (
            ours == 0.0 and (again(case) > 0 or case.other["retransmitted_syns"] > 0)
        ),
    ),
]
