//! The window of BBR version 1 (Linux 6.1 `net/ipv4/tcp_bbr.c`): it goes up to a target segment by
//! segment, conserves packets in the first round of recovery and returns afterwards.

use crate::bbr_model::INIT_CWND;
use crate::{Flow, Init, Phase, window::segments};

/// Smallest window in the long run, segments (`bbr_cwnd_min_target`).
pub(crate) const MIN_CWND: u32 = 4;

/// The window in segments, and what the stack does about loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RecoveringWindow {
    pub(crate) mss: u32,
    pub(crate) cwnd: u32,
    /// Slow-start threshold, which nothing looks at; `u32::MAX` while it is infinite.
    pub(crate) ssthresh: u32,
    phase: Phase,
    /// Whether recovery is in its first round.
    pub(crate) packet_conservation: bool,
    /// The last window that no recovery or ProbeRTT held down.
    prior: u32,
    /// The window before the last acknowledgement.
    before_ack: u32,
    /// What the window and the conservation of packets would be, had the last acknowledgement not
    /// ended the recovery.
    if_staying: Option<(u32, bool)>,
    /// Segments that the last acknowledgement delivered.
    pub(crate) acked: u32,
}

impl RecoveringWindow {
    pub(crate) fn new(init: &Init) -> Self {
        let mss = init.mss.max(1);
        let cwnd = u32::try_from(init.initial_window / u64::from(mss)).unwrap_or(u32::MAX).max(1);
        RecoveringWindow {
            mss,
            cwnd,
            ssthresh: u32::MAX,
            phase: Phase::Open,
            packet_conservation: false,
            prior: 0,
            before_ack: cwnd,
            if_staying: None,
            acked: 0,
        }
    }

    pub(crate) fn cwnd_bytes(&self) -> u64 {
        u64::from(self.cwnd) * u64::from(self.mss)
    }

    pub(crate) fn ssthresh_bytes(&self) -> u64 {
        let bytes = u64::from(self.ssthresh) * u64::from(self.mss);
        if self.ssthresh == u32::MAX { u64::MAX } else { bytes }
    }

    /// An acknowledgement of `acked` segments begins.
    pub(crate) fn begin_ack(&mut self, acked: u32) {
        self.before_ack = self.cwnd;
        self.if_staying = None;
        self.acked = acked;
    }

    /// The window to return to (`bbr_save_cwnd`); it is good unless something holds it down.
    pub(crate) fn save(&mut self, is_in_probe_rtt: bool) {
        self.keep(self.cwnd, is_in_probe_rtt);
    }

    fn keep(&mut self, cwnd: u32, is_in_probe_rtt: bool) {
        let is_good = !is_recovering(self.phase) && !is_in_probe_rtt;
        self.prior = if is_good { cwnd } else { self.prior.max(cwnd) };
    }

    /// Back to the saved window.
    pub(crate) fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior);
    }

    /// The stack's phase is `phase` (`bbr_set_cwnd_to_recover_or_restore`). Returns whether recovery
    /// begins, and a round with it.
    pub(crate) fn follow(&mut self, phase: Phase, flow: &Flow) -> bool {
        let begins = phase == Phase::Recovery && self.phase != Phase::Recovery;
        if begins {
            self.packet_conservation = true;
            self.cwnd = self.conserved(flow);
        } else if is_recovering(self.phase) && !is_recovering(phase) {
            self.restore();
            self.packet_conservation = false;
        }
        self.phase = phase;
        begins
    }

    /// An episode is over.
    pub(crate) fn leave(&mut self, flow: &Flow) {
        let staying = (self.cwnd, self.packet_conservation);
        self.leave_instead_of(staying, flow);
    }

    /// An episode is over; `staying` is what the window and the conservation of packets would be, were
    /// it not.
    pub(crate) fn leave_instead_of(&mut self, staying: (u32, bool), flow: &Flow) {
        self.if_staying = is_recovering(self.phase).then_some(staying);
        self.follow(Phase::Open, flow);
    }

    /// An episode begins. The kernel saves the window before it makes use of the acknowledgement that
    /// found the loss, and takes recovery that ends and begins on one acknowledgement for the
    /// same. Returns whether it is a new one.
    pub(crate) fn enter(&mut self, phase: Phase, is_in_probe_rtt: bool, flow: &Flow) -> bool {
        if let Some(staying) = self.if_staying.take() {
            (self.cwnd, self.packet_conservation) = staying;
            self.phase = Phase::Recovery;
        }
        self.keep(self.before_ack, is_in_probe_rtt);
        let cwnd = self.cwnd;
        let begins = self.follow(phase, flow);
        self.cwnd = self.cwnd.min(cwnd);
        begins
    }

    /// The retransmission timer expired.
    pub(crate) fn time_out(&mut self) {
        self.phase = Phase::Loss;
        self.cwnd = 1;
    }

    fn conserved(&self, flow: &Flow) -> u32 {
        segments(flow.in_flight, self.mss).saturating_add(self.acked)
    }

    /// As much leaves as arrives, no less.
    pub(crate) fn conserve(&mut self, flow: &Flow) {
        self.cwnd = self.cwnd.max(self.conserved(flow));
    }

    /// Towards `target`, down to it only if the pipe has been full (`bbr_set_cwnd`).
    pub(crate) fn approach(&mut self, target: u32, full_bw_reached: bool, flow: &Flow) {
        let is_new = flow.delivered < u64::from(INIT_CWND) * u64::from(self.mss);
        if full_bw_reached {
            self.cwnd = self.cwnd.saturating_add(self.acked).min(target);
        } else if self.cwnd < target || is_new {
            self.cwnd = self.cwnd.saturating_add(self.acked);
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
    }
}

fn is_recovering(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}
