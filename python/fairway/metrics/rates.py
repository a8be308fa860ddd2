"""How much is carried, and what it takes: rates, shares of a link, times of transfers."""

from __future__ import annotations


def rate_bps(bits: float, interval_s: float) -> float | None:
    """Bits ÷ interval, in bit/s: a throughput or a goodput, by what the bits are.

    Throughput counts the bits of data packets that arrived, IP headers included, what is sent again
    each time. Goodput counts payload that the application gets, in order and once (RFC 5166,
    section 2.1.1). None where the interval is 0.

    Source: RFC 5166 section 2.1.1; Khader 2020, equation 5.1 (transmitted data ÷ time); Alrshah
    2009, section 4.6.1 (delivered data ÷ time).
    """
    return bits / interval_s if interval_s > 0 else None


def throughput_ratio(throughput_bps: float, bottleneck_bps: float) -> float | None:
    """Delivered rate ÷ rate of the bottleneck, without a unit.

    Below 1 where the link has framing or acknowledgements to carry too. None where the bottleneck
    has no rate.

    Source: Alrshah 2009, figure 5.1.
    """
    return throughput_bps / bottleneck_bps if bottleneck_bps > 0 else None


def payload_utilisation(
    payload_bits: float, bandwidth_bps: float, interval_s: float
) -> float | None:
    """Payload ÷ (bandwidth · interval), without a unit.

    It counts payload, so it stays below 1: headers and what is sent again are no use of the link in
    this sense, as they are in a link's `utilisation`. None where bandwidth or interval is 0.

    Source: Khader 2020, equations 3.20 and 5.2: 800/T % for "100 MB" at 100 Mbit/s.
    """
    carried = bandwidth_bps * interval_s
    return payload_bits / carried if carried > 0 else None


def completion_s(started_s: float, last_ack_s: float | None) -> float | None:
    """Complete transmission time: from the start of a flow to its last acknowledgement, in seconds.

    The handshake is in it: the start is when the application opens the connection. `fct_s` ends
    at the receiver instead, with the delivery of the last byte. Of several flows it is the longest.
    None for flows without an end or that did not reach it (censored: they take longer than the
    run), and where nobody looked at the sender (a kernel).

    Source: Khader 2020, section 5.3.5.
    """
    return None if last_ack_s is None else last_ack_s - started_s


def nai_per_s(
    throughput_bps: float, lost_packets: float, mtu_bytes: float, error_rate: float
) -> float | None:
    """Normalised advancing index: throughput in byte/s ÷ (lost packets · MTU · error rate), in 1/s.

    None without a lost packet or with an error rate of 0: nothing to be robust against was met.
    Khader's tables C-4 and C-7 take a kbit for 1024 bits, C-8 takes it for 1000: multiply by 1.024
    to compare with C-4 and C-7 (`nai_1024_per_s`).

    Source: Khader 2020, equation 5.4.
    """
    lost = lost_packets * mtu_bytes * error_rate
    return throughput_bps / 8 / lost if lost > 0 else None


def transfer_time_ratio(actual_s: float, ideal_s: float) -> float | None:
    """Actual ÷ ideal transfer time, without a unit: 1 is as good as can be.

    The ideal is the payload at the rate that the bottleneck leaves to payload. None where the ideal
    is 0.

    Source: RFC 6349 section 4.1.
    """
    return actual_s / ideal_s if ideal_s > 0 else None


def tcp_efficiency_percent(sent: float, retransmitted: float) -> float | None:
    """100 · (sent − retransmitted) ÷ sent, in percent; sent counts retransmissions.

    None where nothing was sent. Equal segments serve as well as bytes.

    Source: RFC 6349 section 4.2.
    """
    return 100 * (sent - retransmitted) / sent if sent > 0 else None


def buffer_delay_percent(mean_rtt_s: float, base_rtt_s: float) -> float | None:
    """100 · (mean round-trip time − base) ÷ base, in percent: what buffers add to the path.

    From a run, the base is the shortest smoothed round-trip time that was sampled, also before the
    measuring window; of several flows it is the mean of theirs. None where the base is 0.

    Source: RFC 6349 section 4.3.
    """
    return 100 * (mean_rtt_s - base_rtt_s) / base_rtt_s if base_rtt_s > 0 else None


def slowdown(completion_s: float, ideal_s: float) -> float | None:
    """Completion time ÷ what the idle path alone takes, without a unit; at least 1.

    A transfer that is not finished has none, so count how many there are: leaving the slowest ones
    out flatters. None where the ideal is 0.

    Source: Dukkipati and McKeown, "Why flow-completion time is the right metric for congestion
    control", CCR 36(1), 2006; as slowdown in Alizadeh et al., "pFabric", SIGCOMM 2013.
    """
    return completion_s / ideal_s if ideal_s > 0 else None


def power(throughput_bps: float, delay_s: float, exponent: float = 1.0) -> float | None:
    """Throughputᵃ ÷ delay, in bit/s² for a = 1: it rewards much of the one and little of the other.

    None where the delay is 0.

    Source: Giessler, Haenle, König and Pade, "Free buffer allocation", Computer Networks 2, 1978;
    Kleinrock, "Power and deterministic rules of thumb", ICC 1979.
    """
    return throughput_bps**exponent / delay_s if delay_s > 0 else None
