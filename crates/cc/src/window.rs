//! The window in segments, and the wrapper that makes an algorithm of a growth and back-off rule.

use fairway_units::Duration;

use crate::{Ack, CongestionControl, Flow, Init, Needs, Phase, Signal, SlowStart};

/// Least congestion window and threshold after a reduction, in segments (RFC 5681 equation 4).
pub const MIN_SSTHRESH_SEGMENTS: u32 = 2;

/// State shared by all window rules, in segments as in Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, whole segments.
    pub cwnd: u32,
    /// Slow-start threshold, whole segments; `u32::MAX` while it is infinite.
    pub ssthresh: u32,
    /// Segments (or acknowledgements) counted towards the next increase (Linux `snd_cwnd_cnt`).
    pub credit: u32,
    /// Fraction of a segment, 0 to 1, of rules with real-valued growth.
    pub fraction: f64,
}

impl Window {
    /// A window of `cwnd` segments with an infinite threshold.
    pub fn new(cwnd: u32) -> Self {
        Window { cwnd, ssthresh: u32::MAX, credit: 0, fraction: 0.0 }
    }

    /// The window with its fraction, in segments.
    pub fn exact(&self) -> f64 {
        f64::from(self.cwnd) + self.fraction
    }

    /// Grow by one segment per `divisor` segments acknowledged, carrying the remainder (Linux 6.1
    /// `net/ipv4/tcp_cong.c`, `tcp_cong_avoid_ai`).
    pub fn additive_increase(&mut self, divisor: u32, acked: u32) {
        if self.credit >= divisor {
            self.credit = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.credit = self.credit.saturating_add(acked);
        if self.credit >= divisor {
            self.cwnd = self.cwnd.saturating_add(self.credit / divisor);
            self.credit %= divisor;
        }
    }

    /// Grow by one segment after `divisor` acknowledgements; the one that finds the counter full is
    /// not counted (Linux 2.6.22, in each module). Returns whether the window grew.
    pub fn count_ack(&mut self, divisor: u32) -> bool {
        if self.credit >= divisor {
            self.cwnd = self.cwnd.saturating_add(1);
            self.credit = 0;
            true
        } else {
            self.credit += 1;
            false
        }
    }

    /// Real-valued growth by `segments`, which may be negative; the window stays at least 1.
    pub fn add(&mut self, segments: f64) {
        // `u32::MAX` stands for infinity.
        let exact = (self.exact() + segments).clamp(1.0, f64::from(u32::MAX - 1));
        self.cwnd = exact as u32;
        self.fraction = exact - f64::from(self.cwnd);
    }

    fn set(&mut self, cwnd: u32) {
        self.cwnd = cwnd;
        self.fraction = 0.0;
    }

    /// Linux 6.1 `tcp_cwnd_restart`: halve the window for each RTO of idle time, down to `floor`
    /// segments, and set the threshold to at least three quarters of the window.
    pub(crate) fn restart_after_idle(&mut self, idle: Duration, rto: Duration, floor: u32) {
        let floor = floor.min(self.cwnd);
        self.ssthresh = self.ssthresh.max((self.cwnd / 2) + (self.cwnd / 4));
        let mut cwnd = self.cwnd;
        let mut left = idle;
        while rto > Duration::ZERO && left > rto && cwnd > floor {
            left = left - rto;
            cwnd /= 2;
        }
        self.set(cwnd.max(floor));
    }
}

/// Growth in congestion avoidance and back-off of a loss- or delay-based algorithm. Windows are in
/// segments.
pub trait Rule: Send {
    /// Whether segments left over by slow start at the threshold count towards growth on the same
    /// acknowledgement.
    const TAKES_REST_OF_SLOW_START: bool = true;

    /// See [`CongestionControl::needs`].
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// See [`CongestionControl::wants_reduction`].
    fn wants_reduction(&self) -> bool {
        false
    }

    /// See [`CongestionControl::restarts_after_loss`].
    fn restarts_after_loss(&self) -> bool {
        false
    }

    /// See [`CongestionControl::min_rto`].
    fn min_rto(&self) -> Option<Duration> {
        None
    }

    /// Whether the window may grow at all, in slow start too.
    fn may_grow(&self) -> bool {
        true
    }

    /// Grow `window` for `acked` newly delivered segments. Called only in congestion avoidance.
    fn growth(&mut self, window: &mut Window, acked: u32, ack: &Ack, flow: &Flow);

    /// New slow-start threshold after `signal`; the wrapper bounds it below by 2.
    fn backoff(&mut self, window: &Window, signal: Signal, flow: &Flow) -> u32;

    /// Factor on FlightSize after a congestion mark if the stack has ABE (RFC 8511 section 4).
    /// `None` treats a mark as a loss.
    fn beta_ecn(&self) -> Option<f64> {
        None
    }

    /// New slow-start threshold after a retransmission timeout, if different.
    fn rto_backoff(&mut self, window: &Window, flow: &Flow) -> u32 {
        self.backoff(window, Signal::Loss, flow)
    }

    /// Grow `window` below the threshold by the algorithm's own slow start, and return the segments
    /// left for congestion avoidance; `None` for the wrapper's slow start. Not called if the
    /// connection names a slow start.
    fn slow_start(&mut self, _window: &mut Window, _acked: u32, _flow: &Flow) -> Option<u32> {
        None
    }

    /// See [`CongestionControl::on_established`].
    fn on_established(&mut self, _window: &mut Window, _flow: &Flow) {}

    /// Process an acknowledgement, even if the window may not grow, before it grows.
    fn on_sample(&mut self, _window: &mut Window, _ack: &Ack, _flow: &Flow) {}

    /// The window was free to grow for an acknowledgement, and has grown.
    fn after_growth(&mut self, _window: &mut Window, _flow: &Flow) {}

    /// Window during recovery in stacks without proportional rate reduction.
    fn recovery_window(&self, ssthresh: u32) -> u32 {
        ssthresh
    }

    /// A congestion episode began; the threshold is already set.
    fn on_congestion(&mut self, _flow: &Flow) {}

    /// A congestion episode ended; `window` is the stack's window at its end.
    fn on_recovered(&mut self, _window: &mut Window, _flow: &Flow) {}

    /// The retransmission timer expired; the threshold is already set.
    fn on_rto(&mut self, _flow: &Flow) {}

    /// Window after undo of a reduction from `prior` segments; `window` is the current one, which
    /// the wrapper never lets undo shrink.
    fn undo_window(&self, _window: &Window, prior: u32) -> u32 {
        prior
    }

    /// The last reduction was undone; `window` has its old size.
    fn on_spurious(&mut self, _window: &mut Window, _flow: &Flow) {}

    /// Sending resumes after `idle`.
    fn on_idle(&mut self, _idle: Duration, _flow: &Flow) {}

    /// A segment is about to be sent with nothing in flight, `idle` after the one before.
    fn on_transmit_start(&mut self, _idle: Duration, _flow: &Flow) {}
}

/// Whole segments of a real-valued window. The rounding error of products such as 0.7 · 90 must not
/// cost a segment.
pub(crate) fn whole_segments(window: f64) -> u32 {
    (window + 1e-6) as u32
}

/// Segments of `mss` bytes in `bytes`, rounded up.
pub(crate) fn segments(bytes: u64, mss: u32) -> u32 {
    let mss = u64::from(mss);
    // Most acknowledgements are for one or two segments, and a division is the costliest step of
    // processing one.
    if bytes == mss {
        1
    } else if bytes == 2 * mss {
        2
    } else {
        u32::try_from(bytes.div_ceil(mss)).unwrap_or(u32::MAX)
    }
}

/// FlightSize in whole segments, without data sent by limited transmit beyond the window (RFC 5681
/// section 3.2, step 2).
pub(crate) fn flight(window: &Window, flow: &Flow) -> u32 {
    segments(flow.flight_size(), flow.mss.max(1)).min(window.cwnd)
}

/// A [`Rule`] with slow start, undo and window bounds.
pub struct Windowed<R> {
    rule: R,
    window: Window,
    slow_start: SlowStart,
    /// Whether the connection leaves slow start to the algorithm.
    own_slow_start: bool,
    mss: u32,
    prior: Option<Window>,
    /// Whether marks reduce the window less than losses (ABE, RFC 8511).
    abe: bool,
}

impl<R: Rule> Windowed<R> {
    /// An algorithm at the start of a connection; `own_slow_start` is used unless the connection
    /// names another.
    pub fn new(rule: R, own_slow_start: SlowStart, init: &Init) -> Self {
        let mss = init.mss.max(1);
        let whole = |bytes: u64| u32::try_from(bytes / u64::from(mss)).unwrap_or(u32::MAX).max(1);
        let mut window = Window::new(whole(init.initial_window));
        if let Some(ssthresh) = init.initial_ssthresh {
            window.ssthresh = whole(ssthresh);
        }
        let slow_start = init.slow_start.clone().unwrap_or(own_slow_start);
        Windowed {
            rule,
            window,
            slow_start,
            own_slow_start: init.slow_start.is_none(),
            mss,
            prior: None,
            abe: init.abe,
        }
    }

    fn bytes(&self, segments: u32) -> u64 {
        if segments == u32::MAX { u64::MAX } else { u64::from(segments) * u64::from(self.mss) }
    }

    fn reduce_to(&mut self, ssthresh: u32) {
        self.prior = Some(self.window);
        self.window.ssthresh = ssthresh.max(MIN_SSTHRESH_SEGMENTS);
        self.window.credit = 0;
    }

    fn sample(&mut self, ack: &Ack, flow: &Flow) {
        self.rule.on_sample(&mut self.window, ack, flow);
        self.slow_start.on_sample(&mut self.window, ack, flow);
    }

    #[inline(always)]
    fn grow(&mut self, ack: &Ack, flow: &Flow) {
        if !ack.may_grow || !self.rule.may_grow() {
            return;
        }
        let mut acked = segments(ack.delivered, self.mss);
        let mut avoids_congestion = true;
        if self.slow_start.is_active(&self.window) {
            acked = self.grow_in_slow_start(acked, flow);
            avoids_congestion = acked > 0 && R::TAKES_REST_OF_SLOW_START;
        }
        if avoids_congestion {
            self.rule.growth(&mut self.window, acked, ack, flow);
        }
        self.rule.after_growth(&mut self.window, flow);
    }

    /// Grow below the threshold. Returns the segments left for congestion avoidance.
    fn grow_in_slow_start(&mut self, acked: u32, flow: &Flow) -> u32 {
        let own = if self.own_slow_start {
            self.rule.slow_start(&mut self.window, acked, flow)
        } else {
            None
        };
        own.unwrap_or_else(|| self.slow_start.grow(&mut self.window, acked))
    }
}

impl<R: Rule> CongestionControl for Windowed<R> {
    fn cwnd(&self) -> u64 {
        self.bytes(self.window.cwnd)
    }

    fn ssthresh(&self) -> u64 {
        self.bytes(self.window.ssthresh)
    }

    fn needs(&self) -> Needs {
        self.rule.needs()
    }

    fn wants_reduction(&self) -> bool {
        self.rule.wants_reduction()
    }

    fn restarts_after_loss(&self) -> bool {
        self.rule.restarts_after_loss()
    }

    fn min_rto(&self) -> Option<Duration> {
        self.rule.min_rto()
    }

    fn on_established(&mut self, flow: &Flow) {
        self.rule.on_established(&mut self.window, flow);
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.sample(ack, flow);
        self.grow(ack, flow);
    }

    fn on_last_ack(&mut self, ack: &Ack, cwnd: u64, next: Phase, flow: &Flow) {
        self.sample(ack, flow);
        let flow = Flow { phase: next, ..*flow };
        self.on_recovered(cwnd, &flow);
        self.grow(ack, &flow);
    }

    fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        let before = self.window.cwnd.max(MIN_SSTHRESH_SEGMENTS);
        let mut ssthresh = self.rule.backoff(&self.window, signal, flow);
        if self.abe
            && signal == Signal::Ecn
            && let Some(beta) = self.rule.beta_ecn()
        {
            ssthresh = ssthresh.max(whole_segments(beta * f64::from(flight(&self.window, flow))));
        }
        self.reduce_to(ssthresh);
        // The threshold may exceed the window, but a reduction never raises the window.
        let held = self.rule.recovery_window(self.window.ssthresh).min(before);
        self.window.set(held.max(1));
        self.rule.on_congestion(flow);
    }

    fn on_recovered(&mut self, cwnd: u64, flow: &Flow) {
        let cwnd = segments(cwnd, self.mss);
        self.window.set(cwnd);
        self.rule.on_recovered(&mut self.window, flow);
    }

    fn on_rto(&mut self, first: bool, flow: &Flow) {
        if first {
            let ssthresh = self.rule.rto_backoff(&self.window, flow);
            self.reduce_to(ssthresh);
        }
        self.window.set(1);
        self.window.credit = 0;
        self.rule.on_rto(flow);
        self.slow_start.on_rto(flow);
    }

    fn on_spurious(&mut self, flow: &Flow) {
        if let Some(prior) = self.prior.take() {
            // Linux 6.1 `tcp_undo_cwnd_reduction`: neither value may fall.
            let undone = self.rule.undo_window(&self.window, prior.cwnd);
            self.window.set(self.window.cwnd.max(undone));
            self.window.ssthresh = self.window.ssthresh.max(prior.ssthresh);
            self.rule.on_spurious(&mut self.window, flow);
        }
    }

    fn on_idle(&mut self, idle: Duration, rto: Duration, restart_window: u64, flow: &Flow) {
        self.window.restart_after_idle(idle, rto, segments(restart_window, self.mss));
        self.rule.on_idle(idle, flow);
    }

    fn on_transmit_start(&mut self, idle: Duration, _app_limited: bool, flow: &Flow) {
        self.rule.on_transmit_start(idle, flow);
    }
}
