//! Pacing rate and window (draft section 5.6).

use fairway_units::Duration;

use super::{
    Bbr3, DOWN_PACING_GAIN, MAX_SEND_QUANTUM, MIN_PIPE_CWND, PACING_MARGIN, State, UP_CWND_GAIN,
    UP_PACING_GAIN,
};
use crate::{Flow, Phase};

impl Bbr3 {
    /// BBR.pacing_gain.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.startup_pacing_gain,
            State::Drain => self.drain_pacing_gain,
            State::Down => DOWN_PACING_GAIN,
            State::Up => UP_PACING_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    /// BBR.cwnd_gain.
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.default_cwnd_gain + UP_CWND_GAIN,
            State::ProbeRtt => self.probe_rtt_cwnd_gain,
            _ => self.default_cwnd_gain,
        }
    }

    /// InitPacingRate(), at the first RTT.
    pub(super) fn begin_pacing(&mut self, flow: &Flow) {
        if let Some(srtt) = flow.srtt.filter(|srtt| *srtt > Duration::ZERO)
            && !self.has_seen_rtt
        {
            self.has_seen_rtt = true;
            let nominal_bandwidth = self.initial_cwnd as f64 / srtt.as_secs_f64();
            self.pacing_rate = self.startup_pacing_gain * nominal_bandwidth;
        }
    }

    /// SetPacingRateWithGain().
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.model.bw * PACING_MARGIN;
        if self.model.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    pub(super) fn min_pipe_cwnd(&self) -> f64 {
        (MIN_PIPE_CWND * self.mss) as f64
    }

    /// BDPMultiple().
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.model.bdp(bw).map_or(self.initial_cwnd as f64, |bdp| gain * bdp)
    }

    /// BBR.bdp.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_multiple(self.model.bw, 1.0)
    }

    /// QuantizationBudget(), with the budget for offload of TCP (section 5.5.8).
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let least = 2.0 * self.mss as f64;
        let send_quantum = (self.pacing_rate * 1e-3).min(MAX_SEND_QUANTUM).max(least);
        let cap = inflight_cap.max(3.0 * send_quantum).max(self.min_pipe_cwnd());
        if self.state == State::Up { cap + least } else { cap }
    }

    /// Inflight(), at `bw` with gain 1.
    pub(super) fn inflight(&self, bw: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, 1.0))
    }

    /// TargetInflight().
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd as f64)
    }

    /// InflightWithHeadroom().
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.model.inflight_longterm;
        if longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        let mss = self.mss as f64;
        self.model.tolerances.with_headroom(longterm, mss).max(self.min_pipe_cwnd())
    }

    /// ProbeRTTCwnd().
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.model.bw, self.probe_rtt_cwnd_gain).max(self.min_pipe_cwnd())
    }

    /// SaveCwnd().
    pub(super) fn save_cwnd(&mut self) {
        let is_held_down =
            matches!(self.phase, Phase::Recovery | Phase::Loss) || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_held_down { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// RestoreCwnd().
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// SetCwnd(), for `newly_acked` bytes.
    pub(super) fn set_cwnd(&mut self, newly_acked: u64, flow: &Flow) {
        let wanted = self.bdp_multiple(self.model.bw, self.cwnd_gain()) + self.model.extra_acked();
        let max_inflight = self.quantization_budget(wanted);
        let grown = self.cwnd.saturating_add(newly_acked);
        if self.model.full_bw_reached {
            self.cwnd = grown.min(max_inflight as u64);
        } else if (self.cwnd as f64) < max_inflight || flow.delivered < self.initial_cwnd {
            self.cwnd = grown;
        }
        let cap = self.volume_cap();
        // The cast turns infinity into the greatest integer.
        self.cwnd = self.cwnd.max(MIN_PIPE_CWND * self.mss).min(cap as u64);
    }

    /// BoundCwndForProbeRTT() and BoundCwndForModel().
    fn volume_cap(&self) -> f64 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.model.inflight_longterm,
            State::Cruise => self.inflight_with_headroom(),
            State::ProbeRtt => self.inflight_with_headroom().min(self.probe_rtt_cwnd()),
            State::Startup | State::Drain => f64::INFINITY,
        };
        longterm.min(self.model.inflight_shortterm).max(self.min_pipe_cwnd())
    }
}
