"""How much of what is sent does not arrive, how it is lost, and who loses together."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def loss_of_sent(sent: int, lost: int) -> float | None:
    """L_s = (S − R) ÷ S: the part of the segments sent, S, that did not arrive; R did.

    From 0 to 1; None where nothing was sent. Retransmissions count in S, so a segment that is lost
    twice counts twice.

    Source: RFC 7680 section 4.1, of data segments alone.
    """
    return lost / sent if sent else None


def loss_of_received(sent: int, lost: int) -> float | None:
    """L_r = (S − R) ÷ R = L_s ÷ (1 − L_s): segments that did not arrive, for each that did.

    From 0, without a bound; None where nothing arrived. A loss of 16 % "from the entire
    throughput" is 13.8 % of what was sent.

    Source: Alrshah 2009, section 5.1.
    """
    received = sent - lost
    return lost / received if received > 0 else None


def retransmission_ratio(sent: int, retransmitted: int) -> float | None:
    """L_x = segments sent again ÷ all segments sent.

    From 0 to 1; None where nothing was sent. It exceeds the loss where data is sent again that had
    arrived, as after a timeout without selective acknowledgements.

    Source: Alrshah 2009, section 3.7, "the amount of retransmitted data".
    """
    return retransmitted / sent if sent else None


def duplicate_ratio(sent: int, duplicates: int) -> float | None:
    """Segments that arrived with bytes that had arrived before ÷ all segments sent.

    From 0 to 1; None where nothing was sent. It is what was sent again for nothing: with every
    retransmission of a lost segment needed, it is 0.

    Source: Alrshah 2009, section 3.7, from traces of both ends.
    """
    return duplicates / sent if sent else None


def loss_rate(sent: int, dropped: int) -> float | None:
    """Packets dropped ÷ packets sent, for one cause: congestion or corruption.

    `congestion_loss_rate` counts what queues dropped, `corruption_loss_rate` what the wire lost or
    damaged; their sum is `loss_of_sent`. None where nothing was sent, or where who counted could
    not tell one from the other (a kernel).

    Source: Khader 2020, equation 5.3; RFC 5166 section 2.1.3 asks for both apart.
    """
    return dropped / sent if sent else None


def packet_delivery_ratio(sent: int, lost: int) -> float | None:
    """Received ÷ sent packets, without a unit: what `loss_of_sent` leaves of 1.

    With the loss it is 1, always: in Khader's tables C-2 and C-3, NewReno at 0.0075 gives
    100.06 %. None where nothing was sent.

    Source: Khader 2020, section 5.3.3.
    """
    return (sent - lost) / sent if sent else None


def loss_events(times_s: Sequence[float], rtt_s: float) -> list[float]:
    """When loss events begin: each takes in all losses within a round-trip time of its first one.

    Args:
        times_s: When packets were lost, in order of time.
        rtt_s: Round-trip time.

    Source: RFC 5348 section 5.2.
    """
    begins: list[float] = []
    for time_s in times_s:
        if not begins or time_s > begins[-1] + rtt_s:
            begins.append(time_s)
    return begins


def loss_event_rate(times_s: Sequence[float], rtt_s: float, sent: int) -> float | None:
    """Loss events ÷ packets sent; an event is all losses within a round-trip time of its first.

    At most the loss ratio, and much below it where losses come in bursts. None where nothing was
    sent. From a run, the round-trip time is the flow's mean of the window.

    Source: RFC 5166 section 2.1.3; RFC 5348 section 5.2.
    """
    return len(loss_events(times_s, rtt_s)) / sent if sent else None


def loss_synchronisation(
    times_s: Sequence[float],
    flows: Sequence[str],
    rtt_s: float,
    active: Callable[[float], int],
) -> float | None:
    """Mean over congestion events of: flows that lose ÷ flows that are active, without a unit.

    An event is all losses at the queue within a round-trip time of its first one. 1/n: they take
    turns; 1: all lose at once. Events with fewer than two active flows are left out; None if there
    is no other.

    Args:
        times_s: When packets were dropped, in order of time.
        flows: Whose they were.
        rtt_s: Round-trip time.
        active: How many flows have data outstanding at a time.

    Source: RFC 7928 section 2.4, the share of flows that lose packets during a loss event;
    Appenzeller, Keslassy and McKeown, "Sizing router buffers", SIGCOMM 2004, section 3, on in-phase
    and desynchronised flows.
    """
    begins = loss_events(times_s, rtt_s)
    shares, place = [], 0
    for begin in begins:
        losers = set()
        while place < len(times_s) and times_s[place] <= begin + rtt_s:
            losers.add(flows[place])
            place += 1
        count = active(begin)
        if count > 1:
            shares.append(min(1.0, len(losers) / count))
    return sum(shares) / len(shares) if shares else None
