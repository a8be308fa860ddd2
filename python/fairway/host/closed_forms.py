"""The throughput laws that advice compares algorithms with, by the algorithm's name.

Windows are in segments, `loss` is the probability that a packet is lost, and `rtt_s` the
round-trip time in seconds. Each law takes losses to be periodic, one in every 1/loss packets, to
cost nothing but the back-off, and nothing to queue.
"""

from __future__ import annotations

from collections.abc import Callable

from fairway.model import laws


def _window(law: str, **given: float) -> Callable[[float, float], float]:
    def window(loss: float, rtt_s: float = 0.1) -> float:
        return float(laws.ask(law, loss=loss, rtt_s=rtt_s, **given).window_packets)

    return window


#: Algorithm -> its law on a path without a queue. There H-TCP's adaptive back-off keeps its most.
CLOSED_FORMS: dict[str, Callable[[float, float], float]] = {
    "reno": _window("mathis"),
    "scalable": _window("scalable"),
    "highspeed": _window("highspeed"),
    "bic": _window("bic"),
    "cubic": _window("cubic"),
    "htcp": _window("htcp", retention=0.8),
    "hybla": _window("hybla"),
}
