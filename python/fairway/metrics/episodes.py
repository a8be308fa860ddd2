"""Where a window was reduced and slow start left, found in samples of either side alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

#: A fall by more than this share of the window is a reduction. The smallest reduction that a
#: congestion control of Linux 6.1 makes on a loss is 1/8 (Scalable; Illinois and YeAH at least
#: that), of which samples miss what the window grew between them. Half of it parts well: on
#: traces of that kernel any share between 3 and 10 % finds the same reductions, and where losses
#: decide they are as many as its entries into recovery.
REDUCTION = 1 / 16
#: From this share on it is a reduction whatever the round-trip time.
_LARGE = 1 / 4


@dataclass(frozen=True)
class Trace:
    """The samples of one flow.

    Attributes:
        t_s: Times, in seconds since the experiment began.
        cwnd: Congestion windows, in segments.
        ssthresh: Slow-start thresholds in segments; NaN while infinite.
        srtt_s: Smoothed round-trip times in seconds; NaN before the first.
        delivered_bytes: Payload delivered, counted from anywhere.
        retransmitted: Segments sent again after the first slow start.
    """

    t_s: Floats
    cwnd: Floats
    ssthresh: Floats
    srtt_s: Floats
    delivered_bytes: Floats
    retransmitted: int

    @property
    def step_s(self) -> float:
        """Time between samples, in seconds."""
        return float(np.median(np.diff(self.t_s)))


@dataclass(frozen=True)
class Exit:
    """The end of the first slow start.

    Attributes:
        t_s: Time of the first sample with a threshold, in seconds.
        window: That threshold, in segments.
        largest: The largest window that any sample had seen by then, in segments.
    """

    t_s: float
    window: float
    largest: float


def reductions(trace: Trace) -> list[float]:
    """When the window was reduced: the time of the first sample that shows each reduction.

    A reduction is a fall by more than `REDUCTION` within one round trip, as far as samples tell:
    below the highest window of the last smoothed round-trip time and one sampling interval, though
    of none before the end of the last reduction. It ends where the window stops falling, and there
    is at most one a round trip, because a sender reduces its window once for a window of data (RFC
    5681, section 4.3; RFC 3168, section 6.1.2). A window that falls over several samples, as
    proportional rate reduction has it (RFC 6937), is one reduction.

    Vegas and NV take back one segment a round trip, which are steps and no reductions: a fall has
    to be larger than that, unless it is a quarter of the window.

    `ssthresh` is not asked. A sawtooth that comes to the same height sets it to the same value
    each time, Vegas sets it at every step, and BBR sets it for its own ends. BBR's windows of four
    segments while it probes for the round-trip time count as reductions.
    """
    t, window, step = trace.t_s, trace.cwnd, trace.step_s
    rtt = np.nan_to_num(trace.srtt_s)
    found: list[float] = []
    falling, since = False, 0
    # Half an interval more, because times of samples are not exact.
    earliest = np.searchsorted(t, t - rtt - 1.5 * step)
    for i in range(1, len(t)):
        if falling and window[i] < window[i - 1]:
            continue
        if falling:
            falling, since = False, i - 1
        first = max(since, int(earliest[i]))
        highest = window[first : i + 1].max()
        fall = highest - window[i]
        # One step more than round trips fit in, because the first may have just been due.
        steps = 1 + (t[i] - t[first]) / rtt[i] if rtt[i] > 0 else 0.0
        if fall > REDUCTION * highest and (fall > steps or fall >= _LARGE * highest):
            falling = True
            if not found or t[i] - found[-1] > rtt[i]:
                found.append(float(t[i]))
    return found


def slow_start_exit(trace: Trace) -> Exit | None:
    """The end of the first slow start: the first sample with a threshold; none if there is none.

    The window is the threshold that was set then: where a loss ends slow start, what the
    algorithm makes of the window (half of it, with Reno); where HyStart does, the window itself. It
    stays for many samples, so that it does not matter when they are taken. The sampled window
    does not: in slow start it doubles every round trip, and a sampling interval may be several.

    BBR has no threshold, but Linux sets it, to one bandwidth-delay product, when BBR has filled the
    path and leaves its startup (`bbr_check_drain`), so that it stands for the same moment.
    """
    known = np.flatnonzero(np.isfinite(trace.ssthresh))
    if not len(known):
        return None
    first = known[0]
    largest = trace.cwnd[: first + 1].max()
    return Exit(float(trace.t_s[first]), float(trace.ssthresh[first]), float(largest))
