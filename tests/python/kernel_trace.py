"""What two window rules make of the acknowledgements in a sampled trace of `TCP_INFO`.

In floating point and from the papers' equations, with nothing of the kernel's modules. The trace
has to be sampled more often than acknowledgements come: then a row in which something was
delivered is one acknowledgement, late by less than a sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

#: States of the stack (`tcpi_ca_state`).
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)


class Pairs:
    """What the rule gives, and what the kernel had."""

    def __init__(self) -> None:
        self._pairs: list[tuple[float, float]] = []

    def add(self, rule: float, kernel: float) -> None:
        self._pairs.append((rule, kernel))

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def rule(self) -> np.ndarray:
        return np.array(self._pairs)[:, 0]

    @property
    def kernel(self) -> np.ndarray:
        return np.array(self._pairs)[:, 1]


@dataclass
class Verdict:
    """A trace beside its rule.

    Attributes:
        thresholds: At every reduction, the threshold, segments; the rule's is a real number.
        windows: At the end of every recovery, the window, segments.
        growth: Before every reduction, the window after all growth since the one before; the
            rule's is a real number where its window is one.
        timeouts: At every round-trip sample up to the first timeout, the smallest and the actual
            one, seconds.
        timed_out: How often the timer expired.
    """

    thresholds: Pairs = field(default_factory=Pairs)
    windows: Pairs = field(default_factory=Pairs)
    growth: Pairs = field(default_factory=Pairs)
    timeouts: Pairs = field(default_factory=Pairs)
    timed_out: int = 0


class Row(NamedTuple):
    """One sample, in seconds, bytes and segments."""

    t_s: float
    ca_state: float
    rto_s: float
    snd_mss_bytes: float
    rtt_s: float
    min_rtt_s: float
    snd_ssthresh_segments: float
    snd_cwnd_segments: float
    bytes_acked: float
    delivered_segments: float


class Estimate:
    """A sample of the bandwidth per smoothed round trip, filtered; the first loads (bytes/s)."""

    def __init__(self, memory: float) -> None:
        self.memory = memory
        self.value: float | None = None
        self._start: float | None = None
        self._bytes = 0.0
        self._ahead = 0.0

    def _counted(self, acked: float, sacked: float, mss: float, is_open: bool) -> float:
        if acked == 0:
            self._ahead += sacked
            return sacked
        if acked <= mss or is_open:
            return acked
        if self._ahead >= acked:
            self._ahead -= acked
            return mss
        ahead, self._ahead = self._ahead, 0.0
        return acked - ahead

    def on_ack(self, row: Row, acked: float, delivered: float, is_open: bool) -> None:
        mss = row.snd_mss_bytes
        counted = self._counted(acked, delivered * mss, mss, is_open)
        if self._start is None:
            self._start = row.t_s
            return
        self._bytes += counted
        elapsed = row.t_s - self._start
        if elapsed >= row.rtt_s:
            sample = self._bytes / elapsed
            old = sample if self.value is None else self.value
            self.value = self.memory * old + (1 - self.memory) * sample
            self._start, self._bytes = row.t_s, 0.0


class WestwoodPlus:
    """Grieco and Mascolo 2004: Reno's growth, and the estimate with 0.9."""

    memory = 0.9

    def __init__(self) -> None:
        self.credit = 0.0
        self.min_rtt = np.inf

    def on_rtt(self, rtt: float, row: Row, is_open: bool) -> None:
        self.min_rtt = row.min_rtt_s

    def increment(self, cwnd: float, ssthresh: float, delivered: float) -> float:
        if cwnd < ssthresh:
            return min(delivered, ssthresh - cwnd)
        self.credit += delivered
        if self.credit < cwnd:
            return 0.0
        self.credit -= cwnd
        return 1.0

    def on_reduction(self) -> None:
        self.credit = 0.0

    def smallest_timeout(self, srtt: float) -> float | None:
        return None


class DcmPlus:
    """Khader 2020, equations 4.2, 4.3 and 4.5, windows in segments; the estimate with 19/21."""

    memory = 19 / 21

    def __init__(self) -> None:
        self.old = self.new = np.nan
        self.min_rtt = np.inf
        self.timeout = 1.0
        self._handshake = np.nan

    def on_rtt(self, rtt: float, row: Row, is_open: bool) -> None:
        if np.isnan(self.new):
            self.new, self._handshake = rtt, row.min_rtt_s
        self.old, self.new = self.new, rtt
        # The stack's smallest knows the handshake, which came before the module: it is the
        # module's as soon as it is smaller. Outside of Open, two acknowledgements may share a row.
        if row.min_rtt_s < self._handshake:
            self.min_rtt = row.min_rtt_s
        elif is_open or np.isinf(self.min_rtt):
            self.min_rtt = min(self.min_rtt, rtt)
        self.timeout /= self.old / self.min_rtt

    def increment(self, cwnd: float, ssthresh: float, delivered: float) -> float:
        ratio = self.old / self.min_rtt
        return 2 * ratio if cwnd < ssthresh else 2 / (ratio * cwnd)

    def on_reduction(self) -> None:
        pass

    def smallest_timeout(self, srtt: float) -> float | None:
        # Linux adds its smallest timeout to the smoothed round trip.
        return srtt + self.timeout


class Replay:
    """One flow's samples, one after the other, through a rule."""

    def __init__(self, rule: WestwoodPlus | DcmPlus) -> None:
        self.rule = rule
        self.estimate = Estimate(rule.memory)
        self.verdict = Verdict()
        #: The window as the rule grows it from where it was last known.
        self._window = 0.0
        #: The window before the last reduction.
        self._before = 0.0

    def run(self, table: Mapping[str, Any]) -> Verdict:
        columns = [
            np.nan_to_num(np.asarray(table[name], float), nan=np.inf) for name in Row._fields
        ]
        rows = [Row(*values) for values in zip(*columns, strict=True)]
        # A connection has one byte acknowledged, its SYN, when its handshake is over.
        rows = [row for row in rows if row.bytes_acked >= 1 and row.rtt_s > 0]
        self._window = rows[0].snd_cwnd_segments
        for last, row in pairwise(rows):
            self._acknowledged(last, row)
            self._changed(int(last.ca_state), last, row)
        return self.verdict

    def _acknowledged(self, last: Row, row: Row) -> None:
        """Everything that a rule measures is measured before the stack looks for losses."""
        delivered = row.delivered_segments - last.delivered_segments
        if delivered <= 0:
            return
        # `srtt += (rtt - srtt)/8` solved for the sample; two samples in one row give too little.
        rtt = last.rtt_s + 8 * (row.rtt_s - last.rtt_s)
        is_open = last.ca_state == OPEN
        self.rule.on_rtt(max(rtt, row.min_rtt_s), row, is_open and row.ca_state == OPEN)
        acked = row.bytes_acked - last.bytes_acked
        self.estimate.on_ack(row, acked, delivered, is_open)
        smallest = self.rule.smallest_timeout(row.rtt_s)
        if smallest is not None and not self.verdict.timed_out:
            self.verdict.timeouts.add(smallest, row.rto_s)
        may_grow = {last.ca_state, row.ca_state} <= {OPEN, DISORDER, LOSS}
        if may_grow and acked > 0:
            self._window += self.rule.increment(self._window, row.snd_ssthresh_segments, delivered)

    def _changed(self, was: int, last: Row, row: Row) -> None:
        """What the stack found in the acknowledgement, or that the timer expired."""
        now = int(row.ca_state)
        if now == LOSS and was != LOSS:
            self.verdict.timed_out += 1
        if now in (CWR, RECOVERY, LOSS) and was in (OPEN, DISORDER):
            self._before = last.snd_cwnd_segments
            self.verdict.growth.add(self._window, self._before)
            if self.estimate.value is not None:
                pipe = self.estimate.value * self.rule.min_rtt / row.snd_mss_bytes
                self.verdict.thresholds.add(max(2.0, pipe), row.snd_ssthresh_segments)
            self.rule.on_reduction()
        if was in (CWR, RECOVERY) and now in (OPEN, DISORDER):
            end = min(self._before, row.snd_ssthresh_segments)
            self.verdict.windows.add(end, row.snd_cwnd_segments)
        if now in (CWR, RECOVERY) or was in (CWR, RECOVERY) or (now == LOSS and was != LOSS):
            self._window = row.snd_cwnd_segments
