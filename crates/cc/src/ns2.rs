//! The window of ns-2's own TCP agents, shared by their algorithms except for growth and back-off
//! (ns-2.35 `tcp/tcp.cc`, `TcpAgent::reset`, `opencwnd`, `limited_slow_start`, `slowdown`).
//!
//! The window is a real number, of which whole segments are sent. An acknowledgement counts once,
//! however much it acknowledges. The first reduction of a connection halves the window for every
//! algorithm, and so does one below the threshold. A timeout halves the threshold.

use fairway_units::Duration;

use crate::{
    Ack, CongestionControl, Flow, Init, Param, Params, Phase, Signal, SlowStart, Variant, Window,
    window::segments,
};

/// An algorithm of ns-2's agents: growth and back-off of a window in segments.
pub(crate) trait Ns2Rule: Send {
    /// Growth of a window of `cwnd` by one acknowledgement (`opencwnd`, above the threshold).
    fn increment(&mut self, cwnd: f64, flow: &Flow) -> f64;

    /// The window after a loss at `cwnd` (`slowdown`, `decreasewin`). Called at every reduction,
    /// including timeouts and those that halve the window.
    fn reduced(&mut self, cwnd: f64, flow: &Flow) -> f64;

    /// Process an acknowledgement, before the window grows.
    fn on_sample(&mut self, _cwnd: f64, _ack: &Ack, _flow: &Flow) {}

    /// A congestion episode ended.
    fn on_recovered(&mut self, _flow: &Flow) {}

    /// The last reduction is undone, which no agent of ns-2 does.
    fn on_spurious(&mut self) {}
}

/// Cause of the last reduction (`last_cwnd_action_`).
#[derive(Clone, Copy, PartialEq, Debug)]
enum Action {
    Nothing,
    Timeout,
    Signal,
}

/// A [`Ns2Rule`] in the agent's window.
pub(crate) struct Agent<R> {
    rule: R,
    window: Window,
    mss: u32,
    /// Segments; 0 for no limited slow start (`max_ssthresh_`).
    max_ssthresh: u32,
    /// Slow start, if the connection names one.
    slow_start: Option<SlowStart>,
    /// Whether the window has not been reduced yet (`first_decrease_`).
    is_first: bool,
    last: Action,
    prior: Option<Window>,
}

impl<R: Ns2Rule> Agent<R> {
    /// An algorithm with the parameter `max_ssthresh`.
    pub(crate) fn limited(rule: R, params: &Params, init: &Init) -> Self {
        Agent::new(rule, params.get("max_ssthresh") as u32, init)
    }

    /// An algorithm at the start of a connection. Until the first loss, growth above the threshold is
    /// at least that of limited slow start with `max_ssthresh` segments, if not 0 (`opencwnd`).
    pub(crate) fn new(rule: R, max_ssthresh: u32, init: &Init) -> Self {
        let mss = init.mss.max(1);
        let whole = |bytes: u64| u32::try_from(bytes / u64::from(mss)).unwrap_or(u32::MAX).max(1);
        let mut window = Window::new(whole(init.initial_window));
        window.ssthresh = init.initial_ssthresh.map_or(u32::MAX, whole);
        Agent {
            rule,
            window,
            mss,
            max_ssthresh,
            slow_start: init.slow_start.clone(),
            is_first: true,
            last: Action::Nothing,
            prior: None,
        }
    }

    fn bytes(&self, segments: u32) -> u64 {
        if segments == u32::MAX { u64::MAX } else { u64::from(segments) * u64::from(self.mss) }
    }

    fn set(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd as u32;
        self.window.fraction = cwnd.fract();
    }

    /// `opencwnd`.
    fn grow(&mut self, ack: &Ack, flow: &Flow) {
        if let Some(slow_start) = &mut self.slow_start
            && slow_start.is_active(&self.window)
        {
            slow_start.grow(&mut self.window, segments(ack.delivered, self.mss));
            return;
        }
        if self.window.cwnd < self.window.ssthresh {
            self.window.add(1.0);
            return;
        }
        let cwnd = self.window.exact();
        let mut increment = self.rule.increment(cwnd, flow);
        if self.max_ssthresh > 0 && self.last != Action::Signal {
            increment = increment.max(limited_slow_start(cwnd, self.max_ssthresh));
        }
        self.window.add(increment);
    }
}

/// Greatest window of unlimited slow start, in the scripts of the time and in RFC 3742.
const MAX_SSTHRESH: f64 = 100.0;

/// The parameter `max_ssthresh` of the algorithms that have it.
pub(crate) const fn max_ssthresh() -> Param {
    Param::new(
        "max_ssthresh",
        "until the first loss, growth above the threshold is at least 1/⌊W/(max_ssthresh/2)⌋ segments per acknowledgement (limited slow start); 0 for none",
        MAX_SSTHRESH,
        0.0,
        1e6,
    )
    .whole()
    .only(&[Variant::Ns2])
}

/// Growth by one acknowledgement in limited slow start: 1/⌊cwnd/(max_ssthresh/2)⌋, or zero below
/// `max_ssthresh`/2.
fn limited_slow_start(cwnd: f64, max_ssthresh: u32) -> f64 {
    let round = (cwnd / (f64::from(max_ssthresh) / 2.0)).floor();
    if round > 0.0 { 1.0 / round } else { 0.0 }
}

impl<R: Ns2Rule> CongestionControl for Agent<R> {
    fn cwnd(&self) -> u64 {
        self.bytes(self.window.cwnd)
    }

    fn ssthresh(&self) -> u64 {
        self.bytes(self.window.ssthresh)
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.rule.on_sample(self.window.exact(), ack, flow);
        if let Some(slow_start) = &mut self.slow_start {
            slow_start.on_sample(&mut self.window, ack, flow);
        }
        if ack.may_grow && ack.acked > 0 {
            self.grow(ack, flow);
        }
    }

    /// FullTcp leaves fast recovery at the threshold, a whole number (`tcp/tcp-full.cc`, `pack_action`,
    /// `ack_action`).
    fn on_last_ack(&mut self, ack: &Ack, cwnd: u64, next: Phase, flow: &Flow) {
        let flow = Flow { phase: next, ..*flow };
        self.set(f64::from(segments(cwnd, self.mss)));
        self.rule.on_recovered(&flow);
        self.on_ack(ack, &flow);
    }

    fn on_congestion(&mut self, _signal: Signal, flow: &Flow) {
        let cwnd = self.window.exact();
        let halves = self.is_first || self.window.cwnd < self.window.ssthresh;
        let reduced = self.rule.reduced(cwnd, flow);
        let reduced = if halves { cwnd / 2.0 } else { reduced };
        self.prior = Some(self.window);
        self.window.ssthresh = (reduced as u32).max(2);
        self.set(reduced.max(1.0));
        self.is_first = false;
        self.last = Action::Signal;
    }

    fn on_recovered(&mut self, cwnd: u64, flow: &Flow) {
        // ns-2 does not change the window, so its fraction stays. Other stacks may change it.
        let cwnd = segments(cwnd, self.mss);
        if cwnd != self.window.cwnd {
            self.set(f64::from(cwnd));
        }
        self.rule.on_recovered(flow);
    }

    fn on_rto(&mut self, first: bool, flow: &Flow) {
        if first {
            let cwnd = self.window.exact();
            self.rule.reduced(cwnd, flow);
            self.prior = Some(self.window);
            self.window.ssthresh = ((cwnd / 2.0) as u32).max(2);
        }
        self.set(1.0);
        self.is_first = false;
        self.last = Action::Timeout;
        if let Some(slow_start) = &mut self.slow_start {
            slow_start.on_rto(flow);
        }
    }

    fn on_spurious(&mut self, _flow: &Flow) {
        if let Some(prior) = self.prior.take() {
            self.set(self.window.exact().max(prior.exact()));
            self.window.ssthresh = self.window.ssthresh.max(prior.ssthresh);
            self.rule.on_spurious();
        }
    }

    fn on_idle(&mut self, idle: Duration, rto: Duration, restart_window: u64, _flow: &Flow) {
        self.window.restart_after_idle(idle, rto, segments(restart_window, self.mss));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack, flow};

    /// Increase by a tenth of a segment, reduction by a fifth.
    struct Tenth;

    impl Ns2Rule for Tenth {
        fn increment(&mut self, _cwnd: f64, _flow: &Flow) -> f64 {
            0.1
        }

        fn reduced(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
            cwnd * 0.8
        }
    }

    fn agent(cwnd: u32, ssthresh: u32, max_ssthresh: u32) -> Agent<Tenth> {
        let bytes = |segments: u32| u64::from(segments) * u64::from(MSS);
        let init = Init {
            mss: MSS,
            initial_window: bytes(cwnd),
            initial_ssthresh: Some(bytes(ssthresh)),
            slow_start: None,
            seed: 0,
            coupling: None,
            abe: false,
        };
        Agent::new(Tenth, max_ssthresh, &init)
    }

    fn acks(agent: &mut Agent<Tenth>, count: u32) {
        for _ in 0..count {
            // Each of two segments, but counted once.
            agent.on_ack(&ack(2, 100), &flow(0, 10, 100));
        }
    }

    #[test]
    fn grows_by_one_below_the_threshold_and_by_the_rule_above() {
        let mut agent = agent(2, 5, 0);
        acks(&mut agent, 3);
        assert_eq!(agent.window.exact(), 5.0);
        acks(&mut agent, 15);
        assert!((agent.window.exact() - 6.5).abs() < 1e-9);
        assert_eq!(agent.cwnd(), 6 * u64::from(MSS));
    }

    #[test]
    fn limited_slow_start_begins_at_the_threshold_and_ends_with_the_first_loss() {
        // ⌊20/10⌋ = 2: a half, until ⌊30/10⌋ = 3: a third.
        let mut agent = agent(20, 20, 20);
        acks(&mut agent, 20);
        assert_eq!(agent.window.exact(), 30.0);
        acks(&mut agent, 3);
        assert!((agent.window.exact() - 31.0).abs() < 1e-9);
        // Half of 31. Then ⌊15.5/10⌋ = 1 would add a segment, the rule does a tenth.
        agent.on_congestion(Signal::Loss, &flow(0, 31, 100));
        assert!((agent.window.exact() - 15.5).abs() < 1e-9 && agent.window.ssthresh == 15);
        acks(&mut agent, 1);
        assert!((agent.window.exact() - 15.6).abs() < 1e-9);
        // After a timeout, it is back: above ⌊15.6/2⌋ = 7, at 10, a whole segment.
        agent.on_rto(true, &flow(0, 15, 100));
        assert_eq!((agent.window.exact(), agent.window.ssthresh), (1.0, 7));
        acks(&mut agent, 6);
        assert_eq!(agent.window.exact(), 7.0);
        agent.set(10.0);
        acks(&mut agent, 1);
        assert_eq!(agent.window.exact(), 11.0);
    }

    #[test]
    fn the_first_reduction_halves_and_the_second_follows_the_rule() {
        let mut agent = agent(100, 50, 0);
        agent.on_congestion(Signal::Loss, &flow(0, 100, 100));
        assert_eq!((agent.window.exact(), agent.window.ssthresh), (50.0, 50));
        agent.on_congestion(Signal::Loss, &flow(0, 50, 100));
        assert_eq!((agent.window.exact(), agent.window.ssthresh), (40.0, 40));
    }

    #[test]
    fn every_timeout_halves_the_window_for_the_threshold() {
        // ⌊9/2⌋ = 4, then ⌊1/2⌋ = 0, at least 2.
        let mut agent = agent(9, 2, 0);
        agent.on_rto(true, &flow(0, 9, 100));
        assert_eq!((agent.window.exact(), agent.window.ssthresh), (1.0, 4));
        agent.on_rto(true, &flow(0, 1, 100));
        assert_eq!((agent.window.exact(), agent.window.ssthresh), (1.0, 2));
    }
}
