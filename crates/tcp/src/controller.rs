//! A congestion-control algorithm with its present answers.
//!
//! What an algorithm answers changes only when it is told of an event, and is read several times for
//! each packet. So it is asked once after each event.

use fairway_cc::{Ack, Answers, CongestionControl, Flow, Phase, Signal};
use fairway_units::{Duration, Rate};

/// An algorithm, and its answers after the last event.
pub(crate) struct Controller {
    cc: Box<dyn CongestionControl>,
    answers: Answers,
}

impl Controller {
    /// A controller at the start of its connection.
    pub(crate) fn new(cc: Box<dyn CongestionControl>) -> Self {
        let mut answers = Answers::default();
        cc.answer(&mut answers);
        Controller { cc, answers }
    }

    /// See [`CongestionControl::cwnd`].
    pub(crate) fn cwnd(&self) -> u64 {
        self.answers.cwnd
    }

    /// See [`CongestionControl::ssthresh`].
    pub(crate) fn ssthresh(&self) -> u64 {
        self.answers.ssthresh
    }

    /// See [`CongestionControl::pacing_rate`].
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        self.answers.pacing_rate
    }

    /// See [`CongestionControl::wants_reduction`].
    pub(crate) fn wants_reduction(&self) -> bool {
        self.answers.wants_reduction
    }

    /// See [`CongestionControl::min_rto`].
    pub(crate) fn min_rto(&self) -> Option<Duration> {
        self.answers.min_rto
    }

    /// See [`CongestionControl::controls_recovery`].
    pub(crate) fn controls_recovery(&self) -> bool {
        self.cc.controls_recovery()
    }

    /// See [`CongestionControl::send_buffer_windows`].
    pub(crate) fn send_buffer_windows(&self) -> u64 {
        self.cc.send_buffer_windows()
    }

    /// See [`CongestionControl::on_ack`].
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.cc.take_ack(ack, flow, &mut self.answers);
    }

    /// Tell the algorithm of an event, and ask it.
    fn tell(&mut self, event: impl FnOnce(&mut dyn CongestionControl)) {
        event(self.cc.as_mut());
        self.cc.answer(&mut self.answers);
    }

    /// See [`CongestionControl::on_established`].
    pub(crate) fn on_established(&mut self, flow: &Flow) {
        self.tell(|cc| cc.on_established(flow));
    }

    /// See [`CongestionControl::on_last_ack`].
    pub(crate) fn on_last_ack(&mut self, ack: &Ack, cwnd: u64, next: Phase, flow: &Flow) {
        self.tell(|cc| cc.on_last_ack(ack, cwnd, next, flow));
    }

    /// See [`CongestionControl::on_congestion`].
    pub(crate) fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        self.tell(|cc| cc.on_congestion(signal, flow));
    }

    /// See [`CongestionControl::on_recovered`].
    pub(crate) fn on_recovered(&mut self, cwnd: u64, flow: &Flow) {
        self.tell(|cc| cc.on_recovered(cwnd, flow));
    }

    /// See [`CongestionControl::on_rto`].
    pub(crate) fn on_rto(&mut self, first: bool, flow: &Flow) {
        self.tell(|cc| cc.on_rto(first, flow));
    }

    /// See [`CongestionControl::on_spurious`].
    pub(crate) fn on_spurious(&mut self, flow: &Flow) {
        self.tell(|cc| cc.on_spurious(flow));
    }

    /// See [`CongestionControl::on_idle`].
    pub(crate) fn on_idle(&mut self, idle: Duration, rto: Duration, restart: u64, flow: &Flow) {
        self.tell(|cc| cc.on_idle(idle, rto, restart, flow));
    }

    /// See [`CongestionControl::on_transmit_start`].
    pub(crate) fn on_transmit_start(&mut self, idle: Duration, app_limited: bool, flow: &Flow) {
        self.tell(|cc| cc.on_transmit_start(idle, app_limited, flow));
    }
}
