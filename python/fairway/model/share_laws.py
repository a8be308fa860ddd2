"""Laws of streams that keep a queue, share a path or fill a line: see `fairway.model.laws`."""

from __future__ import annotations

from math import inf

from numpy.typing import ArrayLike

from fairway.model.answer import Answer, ask


def hybla_growth(
    time_s: ArrayLike,
    rtt_s: ArrayLike,
    threshold_packets: ArrayLike,
    reference_rtt_s: ArrayLike = 0.025,
) -> Answer:
    """Hybla's window over time while nothing is lost.

    Args:
        time_s: Time since it began.
        rtt_s: Round-trip time.
        threshold_packets: Slow start threshold of the reference connection; Hybla's own is ρ
            times that.
        reference_rtt_s: Round-trip time of the connection that it wants to be as fast as.

    Results: `window_packets`, `rate_pps`, `slow_start_s`.
    Source: Caini, Firrincieli, IJSCN 22, 2004; Khader 2020, equations 3.6 to 3.13.
    """
    return ask(
        "hybla-growth",
        time_s=time_s,
        rtt_s=rtt_s,
        threshold_packets=threshold_packets,
        reference_rtt_s=reference_rtt_s,
    )


def vegas(
    flows: ArrayLike,
    alpha_packets: ArrayLike,
    capacity_pps: ArrayLike,
    rtt_s: ArrayLike,
    buffer_packets: ArrayLike = inf,
) -> Answer:
    """Vegas, and FAST with equal alphas: streams that keep packets queued.

    Args:
        flows: Streams.
        alpha_packets: Packets that each keeps queued: between Vegas's alpha and its beta.
        capacity_pps: What the bottleneck carries.
        rtt_s: Round-trip time without a queue.
        buffer_packets: Buffer of the bottleneck.

    Results: `window_packets`, `rate_pps`, `queue_packets`, `rtt_with_queue_s`.
    Source: Brakmo, Peterson, IEEE JSAC 13(8), 1995; Low, Peterson, Wang, J. ACM 49(2), 2002.
    """
    return ask(
        "vegas",
        flows=flows,
        alpha_packets=alpha_packets,
        capacity_pps=capacity_pps,
        rtt_s=rtt_s,
        buffer_packets=buffer_packets,
    )


def fast(
    alpha_packets: ArrayLike,
    sum_of_alphas_packets: ArrayLike,
    capacity_pps: ArrayLike,
    rtt_s: ArrayLike,
    buffer_packets: ArrayLike = inf,
) -> Answer:
    """FAST: rates in proportion to alphas, whatever the round-trip times.

    Args:
        alpha_packets: Packets that it keeps queued.
        sum_of_alphas_packets: Packets that all streams, this one too, keep queued.
        capacity_pps: What the bottleneck carries.
        rtt_s: Round-trip time of this stream without a queue.
        buffer_packets: Buffer of the bottleneck.

    Results: `window_packets`, `rate_pps`, `queue_packets`, `rtt_with_queue_s`.
    Source: Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006, section III.
    """
    return ask(
        "fast",
        alpha_packets=alpha_packets,
        sum_of_alphas_packets=sum_of_alphas_packets,
        capacity_pps=capacity_pps,
        rtt_s=rtt_s,
        buffer_packets=buffer_packets,
    )


def late_joiner(
    earlier_flows: ArrayLike,
    alpha_packets: ArrayLike,
    capacity_pps: ArrayLike,
    rtt_s: ArrayLike,
    buffer_packets: ArrayLike = inf,
) -> Answer:
    """Vegas or FAST that takes the others' queue for propagation.

    Args:
        earlier_flows: Streams that were there before, which know the round-trip time without a
            queue.
        alpha_packets: Packets that each stream wants to keep queued.
        capacity_pps: What the bottleneck carries.
        rtt_s: Round-trip time without a queue.
        buffer_packets: Buffer of the bottleneck.

    Results: `late_share`, `earlier_share`, `late_pps`, `earlier_pps`, `queue_packets`,
    `rtt_with_queue_s`.
    Source: derived from the equilibrium of Vegas.
    """
    return ask(
        "late-joiner",
        earlier_flows=earlier_flows,
        alpha_packets=alpha_packets,
        capacity_pps=capacity_pps,
        rtt_s=rtt_s,
        buffer_packets=buffer_packets,
    )


def ledbat(
    capacity_pps: ArrayLike,
    rtt_s: ArrayLike,
    target_s: ArrayLike = 0.1,
    buffer_packets: ArrayLike = inf,
) -> Answer:
    """LEDBAT alone: it keeps the queueing delay that it aims at.

    Args:
        capacity_pps: What the bottleneck carries.
        rtt_s: Round-trip time without a queue.
        target_s: Queueing delay that it aims at: at most 100 ms (RFC 6817, section 3.3).
        buffer_packets: Buffer of the bottleneck.

    Results: `window_packets`, `rate_pps`, `queue_packets`.
    Source: RFC 6817, section 2.4.2; equilibrium derived.
    """
    return ask(
        "ledbat",
        capacity_pps=capacity_pps,
        rtt_s=rtt_s,
        target_s=target_s,
        buffer_packets=buffer_packets,
    )


def bbr_share(
    capacity_pps: ArrayLike, rtt_s: ArrayLike, buffer_bdp: ArrayLike, bbr_flows: ArrayLike = 1.0
) -> Answer:
    """BBR, version 1, beside streams that only losses stop.

    Args:
        capacity_pps: What the bottleneck carries.
        rtt_s: Round-trip time without a queue.
        buffer_bdp: Buffer in bandwidth-delay products.
        bbr_flows: Streams of BBR; how many others there are does not matter.

    Results: `bbr_share`, `bbr_pps`, `loss_based_share`, `probing_share`.
    Source: Ware, Mukerjee, Seshan, Sherry, IMC 2019, equations 9 to 11.
    """
    return ask(
        "bbr-share",
        capacity_pps=capacity_pps,
        rtt_s=rtt_s,
        buffer_bdp=buffer_bdp,
        bbr_flows=bbr_flows,
    )


def dctcp(
    capacity_pps: ArrayLike, rtt_s: ArrayLike, threshold_packets: ArrayLike, flows: ArrayLike = 1.0
) -> Answer:
    """DCTCP in step before a marking threshold: the sawtooth of its queue.

    Args:
        capacity_pps: What the bottleneck carries.
        rtt_s: Round-trip time without a queue.
        threshold_packets: Queue from which packets are marked, K.
        flows: Streams.

    Results: `window_packets`, `alpha`, `amplitude_packets`, `max_queue_packets`,
    `min_queue_packets`.
    Source: Alizadeh et al., SIGCOMM 2010, section 3.3; RFC 8257.
    """
    return ask(
        "dctcp",
        capacity_pps=capacity_pps,
        rtt_s=rtt_s,
        threshold_packets=threshold_packets,
        flows=flows,
    )


def dctcp_marks(mark_probability: ArrayLike, rtt_s: ArrayLike) -> Answer:
    """DCTCP where each packet is marked by itself.

    Args:
        mark_probability: Probability that a packet is marked.
        rtt_s: Round-trip time.

    Results: `window_packets`, `rate_pps`.
    Source: derived from RFC 8257, section 3.3.
    """
    return ask("dctcp-marks", mark_probability=mark_probability, rtt_s=rtt_s)


def udp(
    offered_bps: ArrayLike,
    line_bps: ArrayLike,
    payload_bytes: ArrayLike = 1470.0,
    loss: ArrayLike = 0.0,
) -> Answer:
    """Datagrams over Ethernet, some of which are lost.

    Args:
        offered_bps: Payload that is offered; infinite for as much as the line takes.
        line_bps: Bits that the line carries.
        payload_bytes: Payload of a datagram.
        loss: Share of the datagrams that are lost beyond the line.

    Results: `goodput_bps`, `rate_pps`, `line_payload_bps`.
    Source: IEEE 802.3; RFC 791; RFC 768.
    """
    return ask(
        "udp", offered_bps=offered_bps, line_bps=line_bps, payload_bytes=payload_bytes, loss=loss
    )


def tcp_ceiling(
    line_bps: ArrayLike,
    payload_bytes: ArrayLike = 1448.0,
    option_bytes: ArrayLike = 12.0,
    loss: ArrayLike = 0.0,
) -> Answer:
    """The most that TCP can carry over Ethernet.

    Args:
        line_bps: Bits that the line carries.
        payload_bytes: Payload of a packet: 1460 bytes, or 1448 with timestamps.
        option_bytes: Options in each header: 12 bytes for timestamps.
        loss: Share of the packets that are lost beyond the line, and sent again.

    Results: `goodput_bps`, `rate_pps`, `line_payload_bps`.
    Source: IEEE 802.3; RFC 791; RFC 9293; RFC 7323.
    """
    return ask(
        "tcp-ceiling",
        line_bps=line_bps,
        payload_bytes=payload_bytes,
        option_bytes=option_bytes,
        loss=loss,
    )
