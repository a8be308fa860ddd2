"""Reno (RFC 5681) as an algorithm of your own: docs/your-own-algorithm.md explains it."""


class MyReno:
    """One segment more per round trip; `beta` of what is unacknowledged kept at a loss."""

    def __init__(self, init, beta=0.5):
        self.mss = init.mss
        self.beta = beta
        # All counts are of whole segments; a threshold of None is infinite.
        self.window = max(init.initial_window // init.mss, 1)
        self.threshold = None
        if init.initial_ssthresh is not None:
            self.threshold = max(init.initial_ssthresh // init.mss, 1)
        self.credit = 0
        self.before = None

    # What the stack asks for, in bytes.

    def cwnd(self):
        return self.window * self.mss

    def ssthresh(self):
        return None if self.threshold is None else self.threshold * self.mss

    # Growth.

    def on_ack(self, ack, flow):
        if not ack.may_grow or ack.acked == 0:
            return
        acked = self.segments(ack.delivered)
        if self.threshold is None or self.window < self.threshold:
            acked = self.slow_start(acked)
        if acked > 0:
            self.avoid_congestion(acked)

    def slow_start(self, acked):
        """A segment more for each one delivered; returns those beyond the threshold."""
        used = acked if self.threshold is None else min(acked, self.threshold - self.window)
        self.window += used
        return acked - used

    def avoid_congestion(self, acked):
        """A segment more for each window of segments delivered."""
        if self.credit >= self.window:
            self.credit = 0
            self.window += 1
        self.credit += acked
        more, self.credit = divmod(self.credit, self.window)
        self.window += more

    # Back-off.

    def on_congestion(self, signal, flow):
        self.back_off(flow)
        self.window = self.threshold

    def on_rto(self, first, flow):
        if first:
            self.back_off(flow)
        self.window = 1
        self.credit = 0

    def back_off(self, flow):
        """RFC 5681 equation 4: half of what is unacknowledged, two segments at least."""
        self.before = (self.window, self.threshold)
        flight = min(self.segments(flow.unacknowledged()), self.window)
        self.threshold = max(int(self.beta * flight), 2)
        self.credit = 0

    # What else happens to a connection.

    def on_recovered(self, cwnd, flow):
        self.window = self.segments(cwnd)

    def on_spurious(self, flow):
        """Nothing had been lost: back to the windows before, if they were larger."""
        if self.before is not None:
            window, threshold = self.before
            self.window = max(self.window, window)
            self.threshold = None if threshold is None else max(self.threshold, threshold)
            self.before = None

    def on_idle(self, idle, rto, restart_window, flow):
        """Half the window for each timeout of idleness, down to the initial one (RFC 2861)."""
        floor = min(self.segments(restart_window), self.window)
        if self.threshold is not None:
            self.threshold = max(self.threshold, self.window // 2 + self.window // 4)
        while rto > 0 and idle > rto and self.window > floor:
            idle -= rto
            self.window //= 2
        self.window = max(self.window, floor)

    def segments(self, count):
        """Segments in so many bytes, a short last one counted whole."""
        return -(-count // self.mss)
