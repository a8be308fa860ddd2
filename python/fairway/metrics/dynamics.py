"""How rates change over time, and how long packets take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def mean_one_way_delay_s(
    sent_s: Sequence[float], arrived_s: Sequence[float | None]
) -> float | None:
    """Mean of arrival − departure over packets that arrived, in seconds.

    A packet that is lost has no delay and is not in the mean, so losses make it smaller
    (survivorship). With each packet's own departure, a retransmission counts from when it was sent
    again: the column `mean_one_way_delay_s` of a flow is that. With the departure of the first copy
    of its bytes it is the time that data takes, repair included; a run does not keep that, give the
    times of a capture. Of several flows it is over the packets of all. None where nothing arrived.

    Args:
        sent_s: When each packet left, itself or the first copy of its bytes.
        arrived_s: When it arrived; None if it did not.

    Source: RFC 7679 section 3; Khader 2020, section 5.3.2.
    """
    delays = [
        arrived - sent
        for sent, arrived in zip(sent_s, arrived_s, strict=True)
        if arrived is not None
    ]
    return math.fsum(delays) / len(delays) if delays else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The smallest value that at least so many percent of all are not above; in their unit.

    Over packets' sojourns it weighs by packet (`p50_sojourn_s`, `p95_sojourn_s`, `p99_sojourn_s` of
    a link, to 1.6 %); over samples at even times of backlog ÷ rate it weighs by time
    (`p50_queue_delay_s`, …): what a packet would wait that came at any time. They differ where
    packets come in bursts, which meet the queue that they make. Dropped packets have no sojourn.
    None without values.

    Source: RFC 2330 section 11.3, of the empirical distribution: the nearest rank.

    Raises:
        ValueError: If the percentage is not from 0 to 100.
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"percentile {percent}: expected 0 to 100")
    if not values:
        return None
    # Multiplied first: 7/100 · 100 is more than 7.
    rank = max(1, math.ceil(percent * len(values) / 100))
    return sorted(values)[rank - 1]


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Standard deviation ÷ mean of a rate over bins, without a unit: 0 is steady.

    It falls with the length of the bins: say how long they are (`measure.sample` of a run). The
    deviation is that of all bins, divided by n. None without values, or where the mean is zero.

    Source: RFC 5166 section 2.2.2; Floyd, Handley, Padhye and Widmer, "Equation-based congestion
    control for unicast applications", SIGCOMM 2000, section 4.1.1.
    """
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if mean == 0:
        return None
    return math.sqrt(math.fsum((x - mean) ** 2 for x in values) / len(values)) / mean


def largest_reduction(values: Sequence[float]) -> float | None:
    """Smoothness: the largest part that a rate loses from one bin to the next, without a unit.

    It is defined for bins of one round-trip time, under losses that come every 1/p packets: 0 is
    smooth, Reno has ½. From a run the bins are those of `measure.sample`. None without two bins, or
    where all but the last are zero.

    Source: RFC 5166 section 2.2.2.
    """
    parts = [(a - b) / a for a, b in itertools.pairwise(values) if a > 0]
    return max(0.0, *parts) if parts else None


def largest_increase_bps(values_bps: Sequence[float]) -> float | None:
    """Aggressiveness: the most that a rate gains from one bin to the next, in the unit of the rate.

    It is defined for bins of one round-trip time without congestion. From a run the bins are those
    of `measure.sample`. None without two bins.

    Source: RFC 5166 section 2.2.1.
    """
    gains = [b - a for a, b in itertools.pairwise(values_bps)]
    return max(0.0, *gains) if gains else None


def responsiveness_bins(values: Sequence[float], congested_from: int) -> int | None:
    """Bins of persistent congestion after which a rate is down to its half.

    It is defined for bins of one round-trip time. None if it never is, or was zero before.

    Args:
        values: The rate, bin by bin.
        congested_from: Index of the first bin with congestion; the one before is what is halved.

    Source: RFC 5166 section 2.2.1.

    Raises:
        ValueError: If there is no such bin, or none before it.
    """
    if not 0 < congested_from < len(values):
        raise ValueError(f"bin {congested_from}: expected 1 to {len(values) - 1}")
    before = values[congested_from - 1]
    halved = (
        count
        for count, value in enumerate(values[congested_from:], start=1)
        if before > 0 and value <= before / 2
    )
    return next(halved, None)


#: Share of the one that has nearly all when convergence begins (Bansal et al., section 4.2).
_ALL = 100 / 101


def delta_fair_time_s(
    t_s: Sequence[float],
    first: Sequence[float],
    second: Sequence[float],
    delta: float = 0.1,
) -> float | None:
    """How long two flows take from shares 100/101 and 1/101 to (1 + δ)/2 and (1 − δ)/2, in seconds.

    Counted from the last bin in which one has at least 100/101 before neither has more than
    (1 + δ)/2, to that bin; so exact to a bin. None if one never has nearly all, or the shares are
    never so close: then it is longer than the run (censored, not missing).

    Args:
        t_s: Ends of the bins.
        first: Rate of one flow in each bin.
        second: Rate of the other.
        delta: How far from equal is fair enough.

    Source: Bansal, Balakrishnan, Floyd and Shenker, "Dynamic behavior of slowly-responsive
    congestion control algorithms", SIGCOMM 2001, section 4.2; RFC 5166 section 2.3.

    Raises:
        ValueError: If δ is not between 0 and 1.
    """
    _check_delta(delta)
    begins: float | None = None
    for time_s, x, y in zip(t_s, first, second, strict=True):
        total = x + y
        if total <= 0:
            continue
        share = max(x, y) / total
        if share >= _ALL:
            begins = time_s
        elif begins is not None and share <= (1 + delta) / 2:
            return time_s - begins
    return None


def delta_fair_acks(decrease: float, mark_probability: float, delta: float = 0.1) -> float | None:
    """Acknowledgements that AIMD takes to be δ-fair, by theory: ln δ ÷ ln(1 − b·p).

    b is the part of the window that a reduction takes, p the probability that a packet is marked.
    b = 0.5, p = 0.01, δ = 0.1 gives 459. None where nothing is ever reduced (b·p = 0).

    Source: Bansal, Balakrishnan, Floyd and Shenker, SIGCOMM 2001, section 4.2.2.

    Raises:
        ValueError: If δ is not between 0 and 1.
    """
    _check_delta(delta)
    reduced = decrease * mark_probability
    return math.log(delta) / math.log1p(-reduced) if 0 < reduced < 1 else None


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta {delta}: expected more than 0 and less than 1")
