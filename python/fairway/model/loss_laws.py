"""Throughput laws of streams that losses limit: see `fairway.model.laws`."""

from __future__ import annotations

from math import inf

from numpy.typing import ArrayLike

from fairway.model.answer import Answer, ask


def mathis(loss: ArrayLike, rtt_s: ArrayLike, packets_per_ack: ArrayLike = 1.0) -> Answer:
    """Reno without timeouts: the square-root law.

    Results: `window_packets`, `rate_pps`.
    Source: Mathis, Semke, Mahdavi, Ott, ACM CCR 27(3), 1997, equation 3.
    """
    return ask("mathis", loss=loss, rtt_s=rtt_s, packets_per_ack=packets_per_ack)


def aimd(
    loss: ArrayLike, rtt_s: ArrayLike, increase_packets: ArrayLike = 1.0, retention: ArrayLike = 0.5
) -> Answer:
    """Any additive increase and multiplicative decrease.

    Args:
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        increase_packets: What the window grows by each round trip.
        retention: Share of its window that a stream keeps at a loss.

    Results: `window_packets`, `rate_pps`.
    Source: RFC 9438, section 4.3 (AVG_AIMD).
    """
    return ask(
        "aimd", loss=loss, rtt_s=rtt_s, increase_packets=increase_packets, retention=retention
    )


def pftk(
    loss: ArrayLike,
    rtt_s: ArrayLike,
    rto_s: ArrayLike,
    packets_per_ack: ArrayLike = 1.0,
    window_limit_packets: ArrayLike = inf,
) -> Answer:
    """Reno with timeouts and a limit of the window.

    Results: `throughput_pps`, `send_pps`, `approximate_pps`, `unlimited_window_packets`,
    `window_packets`, `timeouts`.
    Source: Padhye, Firoiu, Towsley, Kurose, SIGCOMM 1998, equations 13, 24, 27, 32, 33, 38.
    """
    return ask(
        "pftk",
        loss=loss,
        rtt_s=rtt_s,
        rto_s=rto_s,
        packets_per_ack=packets_per_ack,
        window_limit_packets=window_limit_packets,
    )


def cardwell(
    data_packets: ArrayLike,
    loss: ArrayLike,
    rtt_s: ArrayLike,
    rto_s: ArrayLike,
    packets_per_ack: ArrayLike = 1.0,
    initial_window_packets: ArrayLike = 10.0,
    window_limit_packets: ArrayLike = inf,
    syn_loss: ArrayLike = 0.0,
    syn_ack_loss: ArrayLike = 0.0,
    syn_timeout_s: ArrayLike = 1.0,
    ack_delay_s: ArrayLike = 0.0,
) -> Answer:
    """How long a transfer takes: handshake, slow start, losses, the rest.

    Args:
        data_packets: What is transferred.
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        rto_s: First retransmission timeout of data.
        packets_per_ack: Packets for each acknowledgement by which the window grows.
        initial_window_packets: Initial window.
        window_limit_packets: Limit of the window: the receiver's, or the send buffer.
        syn_loss: Probability that a SYN is lost.
        syn_ack_loss: Probability that a SYN-ACK is lost.
        syn_timeout_s: First retransmission timeout of a SYN: 1 s (RFC 6298), before that 3 s
            (RFC 2988).
        ack_delay_s: What a delayed acknowledgement of the first packet adds: 0.1 s to 0.15 s on
            average where the initial window is one packet.

    Results: `latency_s`, `rate_pps`, `handshake_s`, `slow_start_packets`, `slow_start_s`,
    `first_loss_s`, `avoidance_s`.
    Source: Cardwell, Savage, Anderson, INFOCOM 2000, section II.
    """
    return ask(
        "cardwell",
        data_packets=data_packets,
        loss=loss,
        rtt_s=rtt_s,
        rto_s=rto_s,
        packets_per_ack=packets_per_ack,
        initial_window_packets=initial_window_packets,
        window_limit_packets=window_limit_packets,
        syn_loss=syn_loss,
        syn_ack_loss=syn_ack_loss,
        syn_timeout_s=syn_timeout_s,
        ack_delay_s=ack_delay_s,
    )


def reno_balance(loss: ArrayLike, rtt_s: ArrayLike) -> Answer:
    """Reno by the balance of gains and losses of single packets.

    Results: `window_packets`, `rate_pps`.
    Source: Khader 2020, equation 3.2; Grieco, Mascolo, ACM CCR 34(2), 2004.
    """
    return ask("reno-balance", loss=loss, rtt_s=rtt_s)


def westwood_plus(
    loss: ArrayLike, rtt_s: ArrayLike, queueing_s: ArrayLike, capacity_pps: ArrayLike = inf
) -> Answer:
    """Westwood+ at a queueing delay, not above the capacity.

    Args:
        loss: Probability that a packet is lost.
        rtt_s: Mean round-trip time.
        queueing_s: How much of it is the queue's.
        capacity_pps: What the bottleneck carries.

    Results: `window_packets`, `rate_pps`.
    Source: Khader 2020, equation 3.1; Grieco, Mascolo, ACM CCR 34(2), 2004.
    """
    return ask(
        "westwood+", loss=loss, rtt_s=rtt_s, queueing_s=queueing_s, capacity_pps=capacity_pps
    )


def westwood_path(loss: ArrayLike, rtt_s: ArrayLike, capacity_pps: ArrayLike) -> Answer:
    """Westwood+ alone on a path, whose queue it makes itself.

    Results: `window_packets`, `rate_pps`.
    Source: Grieco, Mascolo, ACM CCR 34(2), 2004; solved for the queue: derived.
    """
    return ask("westwood+path", loss=loss, rtt_s=rtt_s, capacity_pps=capacity_pps)


def bic(
    loss: ArrayLike,
    rtt_s: ArrayLike,
    reduction: ArrayLike = 0.125,
    max_step_packets: ArrayLike = 32.0,
    min_step_packets: ArrayLike = 0.01,
    low_window_packets: ArrayLike = 14.0,
) -> Answer:
    """BIC: an epoch of its search that carries 1/p packets.

    Args:
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        reduction: Share of its window that it gives up at a loss; Linux has 0.2.
        max_step_packets: Largest step of a round trip, Smax; Linux has 16.
        min_step_packets: Step below which it goes to the maximum at once, Smin.
        low_window_packets: Window below which it is Reno.

    Results: `window_packets`, `rate_pps`, `peak_packets`, `epoch_s`.
    Source: Xu, Harfoush, Rhee, INFOCOM 2004, section III; epoch derived.
    """
    return ask(
        "bic",
        loss=loss,
        rtt_s=rtt_s,
        reduction=reduction,
        max_step_packets=max_step_packets,
        min_step_packets=min_step_packets,
        low_window_packets=low_window_packets,
    )


def bic_large(
    loss: ArrayLike,
    rtt_s: ArrayLike,
    reduction: ArrayLike = 0.125,
    max_step_packets: ArrayLike = 32.0,
) -> Answer:
    """BIC at large windows: additive increase by the largest step.

    Args:
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        reduction: Share of its window that it gives up at a loss, β.
        max_step_packets: Largest step of a round trip, Smax.

    Results: `window_packets`, `rate_pps`.
    Source: Khader 2020, equation 3.14; Xu, Harfoush, Rhee, INFOCOM 2004.
    """
    return ask(
        "bic-large", loss=loss, rtt_s=rtt_s, reduction=reduction, max_step_packets=max_step_packets
    )


def bic_small(
    loss: ArrayLike,
    rtt_s: ArrayLike,
    reduction: ArrayLike = 0.125,
    max_step_packets: ArrayLike = 32.0,
    min_step_packets: ArrayLike = 0.01,
) -> Answer:
    """BIC at small windows: nothing but its search by halves.

    Args:
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        reduction: Share of its window that it gives up at a loss, β.
        max_step_packets: Largest step of a round trip, Smax: the law leaves it out.
        min_step_packets: Step below which it goes to the maximum at once, Smin.

    Results: `window_packets`, `rate_pps`.
    Source: Khader 2020, equations 3.15 and 3.16.
    """
    return ask(
        "bic-small",
        loss=loss,
        rtt_s=rtt_s,
        reduction=reduction,
        max_step_packets=max_step_packets,
        min_step_packets=min_step_packets,
    )


def bic_linux(loss: ArrayLike, rtt_s: ArrayLike, packets_per_ack: ArrayLike = 1.0) -> Answer:
    """BIC in Linux: an epoch of its search that carries 1/p packets.

    Results: `window_packets`, `rate_pps`, `peak_packets`, `epoch_s`.
    Source: Linux 6.1, net/ipv4/tcp_bic.c; epoch derived.
    """
    return ask("bic-linux", loss=loss, rtt_s=rtt_s, packets_per_ack=packets_per_ack)


def scalable(loss: ArrayLike, rtt_s: ArrayLike, legacy_window_packets: ArrayLike = 16.0) -> Answer:
    """Scalable TCP by its paper: Reno up to 16 packets.

    Args:
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        legacy_window_packets: Window up to which it is Reno (Kelly 2003, section 2.2).

    Results: `window_packets`, `rate_pps`, `periodic_window_packets`, `periodic_peak_packets`,
    `recovery_s`.
    Source: Kelly, ACM CCR 33(2), 2003, section 2; periodic losses derived.
    """
    return ask("scalable", loss=loss, rtt_s=rtt_s, legacy_window_packets=legacy_window_packets)


def scalable_linux(loss: ArrayLike, rtt_s: ArrayLike) -> Answer:
    """Scalable TCP in Linux: AIMD(1, 7/8) up to 100 packets.

    Results: `window_packets`, `rate_pps`, `periodic_window_packets`, `periodic_peak_packets`,
    `recovery_s`.
    Source: Linux 6.1, net/ipv4/tcp_scalable.c; small windows derived.
    """
    return ask("scalable-linux", loss=loss, rtt_s=rtt_s)


def highspeed(loss: ArrayLike, rtt_s: ArrayLike) -> Answer:
    """HighSpeed TCP: a line in logarithms above 38 packets, else Reno.

    Results: `window_packets`, `rate_pps`, `increase_packets`, `reduction`.
    Source: RFC 3649, section 5, with its default parameters.
    """
    return ask("highspeed", loss=loss, rtt_s=rtt_s)


def cubic(loss: ArrayLike, rtt_s: ArrayLike) -> Answer:
    """CUBIC: the larger of its cubic and its Reno-friendly window.

    Results: `window_packets`, `rate_pps`, `cubic_packets`, `reno_packets`.
    Source: RFC 9438, sections 4.3 and 5.1, with C = 0.4 and 0.7 kept.
    """
    return ask("cubic", loss=loss, rtt_s=rtt_s)


def htcp(loss: ArrayLike, rtt_s: ArrayLike, retention: ArrayLike = 0.5) -> Answer:
    """H-TCP: an epoch of its growth that carries 1/p packets.

    Args:
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        retention: Share of its window that it keeps: the least round-trip time by the greatest,
            or half if the throughput has changed by a fifth, as among random losses.

    Results: `window_packets`, `rate_pps`, `peak_packets`, `epoch_s`.
    Source: draft-leith-tcp-htcp-06, section 2; epoch derived.
    """
    return ask("htcp", loss=loss, rtt_s=rtt_s, retention=retention)


def hybla(
    loss: ArrayLike,
    rtt_s: ArrayLike,
    reference_rtt_s: ArrayLike = 0.025,
    packets_per_ack: ArrayLike = 1.0,
) -> Answer:
    """Hybla: Reno's rate at a reference round-trip time of 25 ms.

    Args:
        loss: Probability of a loss event for a packet.
        rtt_s: Round-trip time.
        reference_rtt_s: Round-trip time of the connection that it wants to be as fast as.
        packets_per_ack: Packets for each acknowledgement by which the window grows.

    Results: `window_packets`, `rate_pps`, `rho`.
    Source: Caini, Firrincieli, IJSCN 22, 2004; periodic losses derived.
    """
    return ask(
        "hybla",
        loss=loss,
        rtt_s=rtt_s,
        reference_rtt_s=reference_rtt_s,
        packets_per_ack=packets_per_ack,
    )
