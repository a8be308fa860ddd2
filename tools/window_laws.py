"""Mean windows under random losses: the window laws of algorithms by themselves, without a network.

A Monte Carlo of nothing but growth and back-off as the sources give them. A round trip is cut into
`STEPS` steps. In each, a window's share of packets is sent, and each packet is lost by itself; what
was sent a round trip ago is acknowledged. A loss is detected a round trip after it, and the window
grows meanwhile; losses among the packets that are then outstanding belong to the same episode,
which lasts until a round trip after the last of them is detected, without growth. Where
a retransmission is lost as well, a retransmission timeout follows: the window stays for `RTO_S`,
is cut once more, and begins again at 1 in slow start. What is sent, and what is left after a
back-off, are whole segments.

`python tools/response_tables.py --random` writes what they say for the study "response".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: One number for each flow.
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]

#: Steps per round trip.
STEPS = 8

#: Retransmission timeout: the lower bound of RFC 6298 section 2.4, which a path of 100 ms is below.
RTO_S = 1.0

#: Smallest window after a back-off, in segments (RFC 5681 equation 4).
MIN_WINDOW = 2.0


@dataclass(frozen=True)
class Path:
    """What a law knows of the path.

    Attributes:
        rtt_s: Round-trip time of data without a queue.
        pipe: Packets that fit without a queue; infinite if nothing ever queues.
        shortest: The smallest round-trip time ever seen, as a share of `rtt_s`: the handshake's
            packets are short.
    """

    rtt_s: float = 0.1
    pipe: float = np.inf
    shortest: float = 1.0


class _Reno:
    """RFC 5681 section 3.1, and what the other laws differ from; many flows at once."""

    #: Growth per round trip in slow start, as a factor.
    slow_start = 2.0

    def __init__(self, flows: int, path: Path, start: float) -> None:
        self.path = path
        self.w: Floats = np.full(flows, start)
        #: Seconds since the last back-off.
        self.since: Floats = np.zeros(flows)

    def growth(self) -> Floats:
        """Growth in segments per round trip."""
        return np.ones_like(self.w)

    def grown(self, part: Floats) -> Floats:
        """The windows one step on, after the acknowledgement of that part of a window."""
        return np.asarray(self.w + self.growth() * part)

    def back_off_factor(self) -> Floats:
        """The share of each window that a loss leaves."""
        return np.full_like(self.w, 0.5)

    def backed_off(self, lost: Flags) -> Floats:
        """The windows after a loss of some flows."""
        return np.where(lost, self.w * self.back_off_factor(), self.w)

    def observe(self, acknowledged: Floats) -> None:
        """Told in each step what is acknowledged, as packets per round trip."""

    def timed_out(self, expired: Flags) -> None:
        """Told whose timer has expired."""


class _Hybla(_Reno):
    """Caini and Firrincieli 2004: ρ² segments per round trip, ρ = RTT / 25 ms."""

    def __init__(self, flows: int, path: Path, start: float) -> None:
        super().__init__(flows, path, start)
        self.rho = max(1.0, path.rtt_s / 0.025)
        self.slow_start = 2**self.rho

    def growth(self) -> Floats:
        return np.full_like(self.w, self.rho**2)


class _Scalable(_Reno):
    """Kelly 2003: 0.01 per acknowledgement and 7/8 kept; Reno up to 16."""

    def growth(self) -> Floats:
        return np.where(self.w > 16, 0.01 * self.w, 1.0)

    def back_off_factor(self) -> Floats:
        return np.where(self.w > 16, 0.875, 0.5)


class _HighSpeed(_Reno):
    """RFC 3649 section 5: a(w) and b(w); Reno up to 38."""

    def decrease(self) -> Floats:
        along = np.log(np.maximum(self.w, 38) / 38) / np.log(83_000 / 38)
        return np.asarray(np.maximum(0.5 + (0.1 - 0.5) * along, 0.05))

    def growth(self) -> Floats:
        b = self.decrease()
        a = self.w**2 * (0.078 / self.w**1.2) * 2 * b / (2 - b)
        return np.where(self.w > 38, np.maximum(a, 1), 1.0)

    def back_off_factor(self) -> Floats:
        return np.asarray(1 - self.decrease())


class _HTcp(_Reno):
    """Leith and Shorten 2004: α(Δ), and half the window kept or 0.8 of it.

    Without a queue RTTmin/RTTmax is 1, so the most is kept, 0.8; but half if the throughput differs
    by more than 20 % from that before the previous loss.
    """

    def __init__(self, flows: int, path: Path, start: float) -> None:
        super().__init__(flows, path, start)
        self.beta: Floats = np.full(flows, 0.5)
        self.before: Floats = np.zeros(flows)

    def growth(self) -> Floats:
        beyond = np.maximum(self.since - 1, 0)
        return np.asarray(2 * (1 - self.beta) * (1 + 10 * beyond + (beyond / 2) ** 2))

    def backed_off(self, lost: Flags) -> Floats:
        is_uneven = np.abs(self.w - self.before) > 0.2 * self.before
        self.beta = np.where(lost, np.where(is_uneven, 0.5, 0.8), self.beta)
        self.before = np.where(lost, self.w, self.before)
        return np.where(lost, self.w * self.beta, self.w)


class _Bic(_Reno):
    """Xu, Harfoush and Rhee 2004: Smax 32, Smin 0.01, 7/8 kept; Reno below 14."""

    def __init__(self, flows: int, path: Path, start: float) -> None:
        super().__init__(flows, path, start)
        self.w_max: Floats = np.full(flows, np.nan)
        self.target: Floats = np.zeros(flows)
        self.per_segment: Floats = np.zeros(flows)
        self.probe: Floats = np.ones(flows)

    def grown(self, part: Floats) -> Floats:
        w = self.w
        is_below = w + 1e-9 < self.w_max
        half = (self.w_max - w) / 2
        search = np.where(half < 0.01, self.w_max - w, np.minimum(half, 32))
        beyond = np.where(np.isnan(self.w_max), 32, self.probe)
        step = np.where(is_below, search, beyond)
        due = (part > 0) & (w >= 14) & (w + 1e-9 >= self.target)
        self.probe = np.where(due & ~is_below, np.minimum(2 * self.probe, 32), self.probe)
        self.target = np.where(due, w + step, self.target)
        # A step takes a round trip, whatever is added to the window meanwhile.
        self.per_segment = np.where(due, step / w, self.per_segment)
        higher = np.minimum(w + self.per_segment * w * part, np.maximum(self.target, w))
        return np.where(w < 14, w + part, higher)

    def backed_off(self, lost: Flags) -> Floats:
        w = self.w
        is_low = w < 14
        w_max = np.where(w < self.w_max, w * (1 + 0.875) / 2, w)  # fast convergence
        self.w_max = np.where(lost & ~is_low, w_max, self.w_max)
        self.target = np.where(lost, 0, self.target)
        self.probe = np.where(lost, 1, self.probe)
        return np.where(lost, w * np.where(is_low, 0.5, 0.875), w)


class _Cubic(_Reno):
    """RFC 9438 section 4: C = 0.4, 0.7 kept, Reno-friendly.

    Without fast convergence, which is for links that several flows share (section 4.7).
    """

    def __init__(self, flows: int, path: Path, start: float) -> None:
        super().__init__(flows, path, start)
        self.w_max: Floats = np.full(flows, np.nan)
        self.prior: Floats = np.zeros(flows)
        self.started: Flags = np.zeros(flows, dtype=np.bool_)
        self.t: Floats = np.zeros(flows)
        self.k: Floats = np.zeros(flows)
        self.origin: Floats = np.zeros(flows)
        self.reno: Floats = np.zeros(flows)

    def grown(self, part: Floats) -> Floats:
        w = self.w
        starting = (part > 0) & ~self.started
        origin = np.fmax(self.w_max, w)
        self.origin = np.where(starting, origin, self.origin)
        self.k = np.where(starting, np.cbrt((origin - w) / 0.4), self.k)
        self.t = np.where(starting, 0, self.t + self.path.rtt_s / STEPS)
        self.reno = np.where(starting, w, self.reno)
        self.started = self.started | starting
        alpha = np.where(self.reno >= self.prior, 1.0, 3 * 0.3 / 1.7)
        self.reno = self.reno + alpha * part
        is_friendly = self._curve(self.t) < self.reno
        target = np.clip(self._curve(self.t + self.path.rtt_s), w, 1.5 * w)
        grown = np.where(is_friendly, np.maximum(w, self.reno), w + (target - w) * part)
        return np.where(part > 0, grown, w)

    def _curve(self, t: Floats) -> Floats:
        return np.asarray(0.4 * (t - self.k) ** 3 + self.origin)

    def backed_off(self, lost: Flags) -> Floats:
        w = self.w
        self.w_max = np.where(lost, w, self.w_max)
        self.prior = np.where(lost, w, self.prior)
        self.started = self.started & ~lost
        return np.where(lost, w * 0.7, w)

    def timed_out(self, expired: Flags) -> None:
        self.w_max = np.where(expired, np.nan, self.w_max)


class _WestwoodPlus(_Reno):
    """Grieco and Mascolo 2004: back to bandwidth times RTTmin; a sample per round, 0.9 kept."""

    def __init__(self, flows: int, path: Path, start: float) -> None:
        super().__init__(flows, path, start)
        #: Packets per round trip without a queue.
        self.rate: Floats = np.full(flows, np.nan)
        self.samples: list[Floats] = []

    def observe(self, acknowledged: Floats) -> None:
        # What does not fit queues, and comes no faster for it.
        self.samples.append(np.minimum(acknowledged, self.path.pipe))
        if len(self.samples) == STEPS:
            sample = np.mean(self.samples, axis=0)
            self.rate = np.where(np.isnan(self.rate), sample, 0.9 * self.rate + 0.1 * sample)
            self.samples.clear()

    def backed_off(self, lost: Flags) -> Floats:
        return np.where(lost, np.fmin(self.w, self.rate * self.path.shortest), self.w)


_LAWS: dict[str, Callable[[int, Path, float], _Reno]] = {
    "reno": _Reno,
    "scalable": _Scalable,
    "highspeed": _HighSpeed,
    "bic": _Bic,
    "cubic": _Cubic,
    "htcp": _HTcp,
    "hybla": _Hybla,
    "westwood+": _WestwoodPlus,
}


class _Timers:
    """Steps until something happens to each flow; 0 is now, and negative is never."""

    def __init__(self, flows: int) -> None:
        never = np.full(flows, -1)
        #: The first loss of a window is detected.
        self.detected: Counts = never
        #: The last loss of a window is detected.
        self.last: Counts = never
        #: Recovery ends.
        self.recovered: Counts = never
        #: The retransmission timer expires.
        self.expired: Counts = never

    def tick(self) -> None:
        # A loss that is found during recovery is kept until that ends.
        self.detected = np.where(self.detected > 0, self.detected - 1, self.detected)
        self.last = np.maximum(self.last - 1, -1)
        self.recovered = np.maximum(self.recovered - 1, -1)
        self.expired = np.maximum(self.expired - 1, -1)


class _Flows:
    """Independent flows of one algorithm, and what their losses do to them."""

    def __init__(self, law: _Reno, loss: float, seed: int, *, ideal: bool) -> None:
        self.law, self.loss, self.ideal = law, loss, ideal
        self.rng = np.random.default_rng(seed)
        flows = len(law.w)
        self.timers = _Timers(flows)
        self.ssthresh: Floats = np.zeros(flows)
        #: What was sent in each step of the last round trip.
        self.sent_in: Floats = np.tile(law.w / STEPS, (STEPS, 1))
        self.lag = 0 if ideal else STEPS
        self.timeout = round(RTO_S / law.path.rtt_s * STEPS)

    def sent(self) -> Floats:
        """Packets per round trip."""
        return self.law.w if self.ideal else np.floor(self.law.w)

    def step(self, index: int) -> None:
        law, timers = self.law, self.timers
        sent = self.sent()
        lost = self._any_lost(sent / STEPS) & (timers.expired < 0)
        timers.detected = np.where(lost & (timers.detected < 0), self.lag, timers.detected)
        timers.last = np.where(lost, self.lag, timers.last)
        acknowledged = self.sent_in[index % STEPS].copy()
        self.sent_in[index % STEPS] = sent / STEPS
        law.observe(acknowledged * STEPS * (1 - self.loss))
        waits = (timers.recovered > 0) | (timers.expired > 0)
        is_slow = law.w < self.ssthresh
        doubled = np.minimum(law.w * law.slow_start ** (1 / STEPS), self.ssthresh)
        grown = law.grown(np.where(waits | is_slow, 0, acknowledged / law.w))
        law.w = np.where(is_slow & ~waits, doubled, grown)
        law.since = law.since + law.path.rtt_s / STEPS
        found = (timers.detected == 0) & ~waits
        if found.any():
            self._recover(found)
        expired = timers.expired == 0
        if expired.any():
            self._start_over(expired)
        timers.tick()

    def _any_lost(self, packets: Any) -> Flags:
        """Whether any of so many packets is lost."""
        chance = -np.expm1(packets * np.log1p(-self.loss))
        return np.asarray(self.rng.random(len(self.law.w)) < chance)

    def _recover(self, found: Flags) -> None:
        law, timers = self.law, self.timers
        if not self.ideal:
            # The first loss, and those of the window that was sent until it was detected.
            again = found & self._any_lost(1 + self.rng.poisson(self.loss * law.w))
            timers.expired = np.where(again, self.timeout, timers.expired)
        ends = self.lag + np.maximum(timers.last, 0)
        timers.recovered = np.where(found, ends, timers.recovered)
        timers.detected = np.where(found, -1, timers.detected)
        law.w = np.where(found, self._cut(found), law.w)
        law.since = np.where(found, 0.0, law.since)
        self.ssthresh = np.where(found, 0.0, self.ssthresh)

    def _start_over(self, expired: Flags) -> None:
        law = self.law
        self.ssthresh = np.where(expired, self._cut(expired), self.ssthresh)
        law.w = np.where(expired, 1.0, law.w)
        law.since = np.where(expired, 0.0, law.since)
        law.timed_out(expired)

    def _cut(self, lost: Flags) -> Floats:
        left = self.law.backed_off(lost)
        # Products such as 0.7 · 90 fall short of the whole number that they stand for.
        return np.maximum(left if self.ideal else np.floor(left + 1e-6), MIN_WINDOW)


def mean_window(
    name: str,
    loss: float,
    path: Path = Path(),
    *,
    flows: int = 400,
    rounds: int = 8000,
    start: float = 20.0,
    seed: int = 1,
    ideal: bool = False,
) -> float:
    """Mean window over time, in segments.

    Args:
        name: Algorithm.
        loss: Probability that a packet is lost.
        path: The path.
        flows: Independent flows.
        rounds: Round trips that count; half as many before them are left out.
        start: Window at the beginning.
        seed: Seed of the losses.
        ideal: Whether a loss costs nothing but the back-off, at once, of a real-valued window.
    """
    law = _LAWS[name](flows, path, start)
    group = _Flows(law, loss, seed, ideal=ideal)
    total = duration = 0.0
    for index in range((rounds // 2 + rounds) * STEPS):
        if index >= rounds // 2 * STEPS:
            # A round trip with a queue lasts longer.
            span = np.maximum(1, group.sent() / path.pipe)
            total += float((group.sent() * span).sum())
            duration += float(span.sum())
        group.step(index)
    return total / duration
