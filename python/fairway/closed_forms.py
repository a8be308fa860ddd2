"""Mean windows in closed form, as the sources of the algorithms give them or as their laws imply.

Windows are in segments, `loss` is the probability that a packet is lost, and `rtt_s` the
round-trip time in seconds. Each form takes losses to be periodic, one in every 1/loss packets, to
cost nothing but the back-off, and nothing to queue but in `westwood_plus`.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def reno(loss: float, rtt_s: float = 0.1) -> float:
    """√(3/2p): Mathis et al., ACM CCR 27(3), 1997; RFC 3649 section 4 rounds it to 1.2/√p."""
    del rtt_s
    return math.sqrt(1.5 / loss)


def scalable(loss: float, rtt_s: float = 0.1) -> float:
    """a/(bp) with a = 0.01 and b = 1/8; Reno where that is not above the low window of 16.

    Source: Kelly, ACM CCR 33(2), 2003.
    """
    window = 0.01 / (0.125 * loss)
    return window if window > 16 else reno(loss, rtt_s)


def highspeed(loss: float, rtt_s: float = 0.1) -> float:
    """RFC 3649 section 5: the line from 38 at 10⁻³ to 83000 at 10⁻⁷ in logarithms; Reno before."""
    if loss > 1e-3:
        return reno(loss, rtt_s)
    slope = math.log(83_000 / 38) / math.log(1e-7 / 1e-3)
    return 38 * math.pow(loss / 1e-3, slope)


def bic(loss: float, rtt_s: float = 0.1) -> float:
    """An epoch of the binary search that carries 1/p packets; Reno where it is below 14.

    The epoch is followed from 7/8 of its maximum until it is back there, with Smax = 32 and
    Smin = 0.01 (Xu, Harfoush and Rhee, INFOCOM 2004, section III; there in two limits).
    """
    low, high = 1.0, 10 / loss
    for _ in range(200):
        w_max = (low + high) / 2
        packets, rounds = _bic_epoch(w_max)
        low, high = (w_max, high) if packets < 1 / loss else (low, w_max)
    return packets / rounds if w_max >= 14 else reno(loss, rtt_s)


def _bic_epoch(w_max: float) -> tuple[float, float]:
    """Packets and round trips of an epoch that ends at `w_max`."""
    w = 0.875 * w_max
    packets, rounds = 0.0, 0
    while True:
        half = (w_max - w) / 2
        after = w_max if half < 0.01 else w + min(half, 32)
        packets += w
        rounds += 1
        if after == w_max:
            return packets, rounds
        w = after


def cubic(loss: float, rtt_s: float = 0.1) -> float:
    """RFC 9438 section 5.1, C = 0.4 and 0.7 kept: (C·3.7/1.2)^¼ · (RTT/p)^¾, at least Reno's."""
    window = math.pow(0.4 * 3.7 / 1.2, 0.25) * math.pow(rtt_s / loss, 0.75)
    return max(window, reno(loss, rtt_s))


def htcp(loss: float, rtt_s: float = 0.1, keep: float = 0.8) -> float:
    """An epoch of α(Δ) that carries 1/p packets (Leith and Shorten, PFLDnet 2004).

    With an epoch of D seconds, x = max(0, D − 1), A = ∫α and A₂ = ∫∫α over it, the window grows by
    2(1 − keep)·A/RTT from keep·Wmax to Wmax. With periodic losses and no queue, the adaptive
    back-off keeps its most, 0.8.
    """
    gain = 2 * (1 - keep)

    def packets(span: float) -> float:
        beyond = max(0.0, span - 1)
        area = span + 5 * beyond**2 + beyond**3 / 12
        area_2 = span**2 / 2 + 5 * beyond**3 / 3 + beyond**4 / 48
        w_max = gain * area / (rtt_s * (1 - keep))
        return (keep * w_max * span + gain * area_2 / rtt_s) / rtt_s

    low, high = 0.0, 1e6
    for _ in range(200):
        span = (low + high) / 2
        low, high = (span, high) if packets(span) < 1 / loss else (low, span)
    return rtt_s / (loss * span)


def hybla(loss: float, rtt_s: float = 0.1) -> float:
    """ρ·√(3/2p), ρ = RTT / 25 ms: Reno at 25 ms (Caini and Firrincieli, IJSCN 22, 2004)."""
    return max(1.0, rtt_s / 0.025) * reno(loss)


def westwood_plus(loss: float, pipe: float) -> float:
    """The window w at which w² − P·w = (1 − p)/p, on a path that holds P packets without a queue.

    The balance of Grieco and Mascolo (ACM CCR 34(2), 2004), rate √((1 − p)/p)/√(T·Tq): a packet
    adds 1/w, a loss takes w·Tq/T = w − P. With nothing queueing, Tq = 0 and it has no solution.
    """
    return (pipe + math.sqrt(pipe**2 + 4 * (1 - loss) / loss)) / 2


#: Algorithm -> its form on a path without a queue.
CLOSED_FORMS: dict[str, Callable[[float, float], float]] = {
    "reno": reno,
    "scalable": scalable,
    "highspeed": highspeed,
    "bic": bic,
    "cubic": cubic,
    "htcp": htcp,
    "hybla": hybla,
}
