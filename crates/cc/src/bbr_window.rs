//! The window of BBR version 1 (Linux 6.1 `net/ipv4/tcp_bbr.c`): it grows to a target by the
//! segments delivered, follows packet conservation in the first round of recovery, and is restored
//! afterwards.

use crate::bbr_model::INIT_CWND;
use crate::{Flow, Init, Phase, window::segments};

/// Minimum target window, segments (`bbr_cwnd_min_target`).
pub(crate) const MIN_CWND: u32 = 4;

/// The window in segments, and the state of recovery.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RecoveringWindow {
    pub(crate) mss: u32,
    pub(crate) cwnd: u32,
    /// Slow-start threshold, reported but not used; `u32::MAX` while it is infinite.
    pub(crate) ssthresh: u32,
    phase: Phase,
    /// Whether recovery is in its first round.
    pub(crate) packet_conservation: bool,
    /// The last window outside recovery and ProbeRTT.
    prior: u32,
    /// The window before the last acknowledgement.
    before_ack: u32,
    /// Window and packet conservation as they would be if the last acknowledgement had not ended
    /// recovery.
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

    /// Begin processing an acknowledgement of `acked` segments.
    pub(crate) fn begin_ack(&mut self, acked: u32) {
        self.before_ack = self.cwnd;
        self.if_staying = None;
        self.acked = acked;
    }

    /// Save the window to restore (`bbr_save_cwnd`), unless recovery or ProbeRTT limits it.
    pub(crate) fn save(&mut self, is_in_probe_rtt: bool) {
        self.keep(self.cwnd, is_in_probe_rtt);
    }

    fn keep(&mut self, cwnd: u32, is_in_probe_rtt: bool) {
        let is_good = !is_recovering(self.phase) && !is_in_probe_rtt;
        self.prior = if is_good { cwnd } else { self.prior.max(cwnd) };
    }

    /// Restore the saved window.
    pub(crate) fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior);
    }

    /// Follow the stack's phase (`bbr_set_cwnd_to_recover_or_restore`). Returns whether recovery
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

    /// Recovery ended.
    pub(crate) fn leave(&mut self, flow: &Flow) {
        let staying = (self.cwnd, self.packet_conservation);
        self.leave_instead_of(staying, flow);
    }

    /// Recovery ended; `staying` is the window and packet conservation if it had not.
    pub(crate) fn leave_instead_of(&mut self, staying: (u32, bool), flow: &Flow) {
        self.if_staying = is_recovering(self.phase).then_some(staying);
        self.follow(Phase::Open, flow);
    }

    /// Recovery begins. The kernel saves the window before it processes the acknowledgement that
    /// found the loss, and treats recovery that ends and begins on one acknowledgement as one.
    /// Returns whether it is new.
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

    /// Packet conservation: at least the delivered segments may be sent.
    pub(crate) fn conserve(&mut self, flow: &Flow) {
        self.cwnd = self.cwnd.max(self.conserved(flow));
    }

    /// Grow towards `target`; shrink to it only if the pipe has been full (`bbr_set_cwnd`).
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
