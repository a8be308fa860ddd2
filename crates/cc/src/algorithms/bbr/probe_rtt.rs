//! ProbeRTT of BBR version 1.

use super::{Bbr, Mode};
use crate::bbr_window::MIN_CWND;
use crate::linux::jiffies;
use crate::{Ack, Flow, window::segments};

impl Bbr {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, flow: &Flow) {
        let is_old = self.model.take_rtt(ack, flow);
        let is_due = is_old && self.probe_rtt_span > 0 && !self.idle_restart;
        if is_due && self.mode != Mode::ProbeRtt {
            self.window.save(false);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(flow);
        }
        if ack.rate.is_some_and(|sample| sample.delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, flow: &Flow) {
        self.limited.extend(flow);
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.model.round_start;
            if self.probe_rtt_round_done {
                self.leave_probe_rtt(flow);
            }
        } else if segments(flow.in_flight, self.mss) <= MIN_CWND {
            self.probe_rtt_done = Some(jiffies(flow) + self.probe_rtt_span);
            self.probe_rtt_round_done = false;
            self.model.restart_round(flow);
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn leave_probe_rtt(&mut self, flow: &Flow) {
        if self.probe_rtt_done.is_some_and(|done| jiffies(flow) > done) {
            self.model.renew_min_rtt(flow);
            self.window.restore();
            if self.model.full_bw_reached {
                self.enter_probe_bw();
            } else {
                self.mode = Mode::Startup;
            }
        }
    }
}
