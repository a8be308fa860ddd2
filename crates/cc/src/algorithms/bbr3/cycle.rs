//! The state machine (draft sections 5.3 and 5.5.10).

use fairway_units::Duration;

use super::{AckPhase, Bbr3, DRAIN_ROUNDS, RENO_ROUNDS, STARTUP_FULL_LOSS_COUNT, State};
use crate::{Ack, Flow, Phase, RateSample};

impl Bbr3 {
    /// UpdateModelAndState(), the steps that need a sample.
    pub(super) fn update_model_and_state(&mut self, sample: &RateSample, ack: &Ack, flow: &Flow) {
        let (cwnd, is_probing) = (self.cwnd as f64, self.state.is_probing());
        self.model.take_sample(sample, is_probing, cwnd, flow);
        self.model.take_aggregation(ack, cwnd, flow);
        self.model.look_for_plateau(sample);
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.model.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.model.round_count;
        }
        self.check_drain_done(flow);
        self.update_cycle_phase(sample, ack, flow);
    }

    /// CheckStartupHighLoss().
    fn check_startup_high_loss(&mut self, sample: &RateSample) {
        if !self.model.loss_round_start {
            return;
        }
        let is_high = self.phase == Phase::Recovery
            && self.model.loss_ranges >= STARTUP_FULL_LOSS_COUNT
            && self.model.tolerances.is_too_high(sample.lost, sample.prior_in_flight);
        self.model.loss_ranges = 0;
        if is_high && self.state == State::Startup && !self.model.full_bw_reached {
            self.undo_state = Some(State::Startup);
            self.model.full_bw_reached = true;
            self.model.full_bw_now = true;
            self.model.inflight_longterm = self.bdp().max(self.model.inflight_latest);
        }
    }

    /// CheckDrainDone().
    fn check_drain_done(&mut self, flow: &Flow) {
        let has_lasted = self.model.round_count > self.drain_start_round + DRAIN_ROUNDS;
        let is_drained = flow.in_flight as f64 <= self.inflight(self.model.bw);
        if self.state == State::Drain && (has_lasted || is_drained) {
            self.start_down(flow);
        }
    }

    /// StartProbeBW_DOWN().
    fn start_down(&mut self, flow: &Flow) {
        self.model.reset_congestion_signals();
        self.probe_up_acked_per_inc = u64::MAX;
        self.pick_probe_wait();
        self.cycle_stamp = flow.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round(flow);
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL().
    fn start_refill(&mut self, flow: &Flow) {
        self.model.reset_short_term();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.model.start_round(flow);
        self.state = State::Refill;
    }

    /// StartProbeBW_UP().
    fn start_up(&mut self, delivery_rate: f64, flow: &Flow) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round(flow);
        self.model.reset_full_bw(delivery_rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// PickProbeWait().
    fn pick_probe_wait(&mut self) {
        self.model.rounds_since_probe_up = self.random.below(2);
        let wait_s = 2.0 + self.random.unit();
        self.bw_probe_wait = Duration::from_nanos((wait_s * 1e9) as u64);
    }

    /// UpdateProbeBWCyclePhase().
    fn update_cycle_phase(&mut self, sample: &RateSample, ack: &Ack, flow: &Flow) {
        if !self.model.full_bw_reached || self.adapt_long_term(sample, ack, flow) {
            return;
        }
        let delivery_rate = sample.bytes_per_s().unwrap_or(0.0);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(flow) => self.start_refill(flow),
            State::Down if self.is_time_to_cruise(flow) => self.state = State::Cruise,
            State::Refill if self.model.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up(delivery_rate, flow);
            }
            State::Up => self.check_up(delivery_rate, flow),
            _ => {}
        }
    }

    /// IsTimeToProbeBW(), IsRenoCoexistenceProbeTime().
    fn is_time_to_probe(&self, flow: &Flow) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss as f64).min(RENO_ROUNDS);
        flow.now > self.cycle_stamp + self.bw_probe_wait
            || self.model.rounds_since_probe_up as f64 >= reno_rounds
    }

    /// IsTimeToCruise().
    fn is_time_to_cruise(&self, flow: &Flow) -> bool {
        let in_flight = flow.in_flight as f64;
        in_flight <= self.inflight_with_headroom()
            && in_flight <= self.inflight(self.model.max_bw())
    }

    fn check_up(&mut self, delivery_rate: f64, flow: &Flow) {
        if self.is_time_to_go_down(delivery_rate, flow) {
            self.prev_probe_too_high = false;
            self.start_down(flow);
        }
    }

    /// IsTimeToGoDown().
    fn is_time_to_go_down(&mut self, delivery_rate: f64, flow: &Flow) -> bool {
        let longterm = self.model.inflight_longterm;
        if self.prev_probe_too_high && flow.in_flight as f64 >= longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.model.is_cwnd_limited() && self.cwnd as f64 >= longterm {
            // The bound limits the rate, not the path.
            self.model.reset_full_bw(delivery_rate);
            return false;
        }
        self.model.full_bw_now
    }

    /// RaiseInflightLongtermSlope(): 1, 2, 4 … segments per round.
    fn raise_slope(&mut self) {
        let growth_this_round = 1_u64 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(self.mss);
    }

    /// ProbeInflightLongtermUpward().
    fn probe_upward(&mut self, newly_acked: u64) {
        let is_used = self.model.is_cwnd_limited();
        if !is_used || (self.cwnd as f64) < self.model.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked = self.bw_probe_up_acked.saturating_add(newly_acked);
        let delta = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
        self.bw_probe_up_acked %= self.probe_up_acked_per_inc;
        self.model.inflight_longterm += (delta * self.mss) as f64;
        if self.model.round_start {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel(). Returns whether it has decided on a state.
    fn adapt_long_term(&mut self, sample: &RateSample, ack: &Ack, flow: &Flow) -> bool {
        if self.model.round_start && self.ack_phase == AckPhase::ProbeStarting {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        let is_last = self.model.round_start && self.ack_phase == AckPhase::ProbeStopping;
        if is_last && self.end_of_feedback(sample, flow) {
            return true;
        }
        let is_bounded = self.model.inflight_longterm < f64::INFINITY;
        if is_bounded && !self.model.tolerances.is_too_high(sample.lost, sample.prior_in_flight) {
            let longterm = self.model.inflight_longterm;
            self.model.inflight_longterm = longterm.max(sample.prior_in_flight as f64);
            if self.state == State::Up {
                self.probe_upward(ack.delivered);
            }
        }
        false
    }

    /// The last samples of a probe have arrived. Returns whether the next probe begins at once,
    /// because the last one stopped early without excessive loss.
    fn end_of_feedback(&mut self, sample: &RateSample, flow: &Flow) -> bool {
        self.is_bw_probe_sample = false;
        self.ack_phase = AckPhase::Init;
        if !self.state.is_probe_bw() {
            return false;
        }
        if !sample.app_limited {
            self.model.advance_max_bw_filter();
        }
        let probes_on = self.prev_probe_precautionary && !self.prev_probe_too_high;
        if probes_on {
            self.start_refill(flow);
        }
        probes_on
    }

    /// NoteLoss(), with SaveStateUponLoss().
    pub(super) fn note_loss(&mut self, flow: &Flow) {
        if self.model.note_loss(flow) {
            self.save_cwnd();
            self.undo_state = None;
        }
    }

    /// HandleLostPacket(), for all losses found by one acknowledgement.
    pub(super) fn handle_losses(&mut self, lost: u64, sample: Option<&RateSample>, flow: &Flow) {
        self.note_loss(flow);
        self.model.loss_ranges = self.model.loss_ranges.saturating_add(1);
        let Some(sample) = sample.filter(|_| self.is_bw_probe_sample) else { return };
        let tolerances = self.model.tolerances;
        if tolerances.is_too_high(sample.lost, sample.prior_in_flight) {
            let at = tolerances.inflight_at_loss(sample.lost, sample.prior_in_flight, lost);
            self.handle_inflight_too_high(at, sample.app_limited, flow);
        }
    }

    /// HandleInflightTooHigh(), with `tx_in_flight` bytes in flight.
    fn handle_inflight_too_high(&mut self, tx_in_flight: f64, app_limited: bool, flow: &Flow) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            let target = self.target_inflight();
            self.model.inflight_longterm =
                self.model.tolerances.longterm_after(tx_in_flight, target);
        }
        if self.state == State::Up {
            self.undo_state = Some(State::Up);
            self.start_down(flow);
        }
    }

    /// The state restored by HandleSpuriousLossDetection().
    pub(super) fn return_to(&mut self, state: Option<State>, flow: &Flow) {
        let is_elsewhere = state.is_some_and(|state| self.state != state);
        match state {
            Some(State::Startup) if is_elsewhere => {
                self.model.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if is_elsewhere && self.state != State::ProbeRtt => {
                self.start_refill(flow);
            }
            _ => {}
        }
    }

    /// CheckProbeRTT().
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, flow: &Flow) {
        let is_due = self.model.probe_rtt_expired && !self.idle_restart;
        if is_due && self.state != State::ProbeRtt {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round(flow);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(flow);
        }
        if ack.rate.is_some_and(|sample| sample.delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT().
    fn handle_probe_rtt(&mut self, flow: &Flow) {
        self.limited.extend(flow);
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.model.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(flow);
            }
        } else if flow.in_flight as f64 <= self.probe_rtt_cwnd() {
            self.probe_rtt_done = Some(flow.now + self.probe_rtt_duration);
            self.probe_rtt_round_done = false;
            self.model.start_round(flow);
        }
    }

    /// CheckProbeRTTDone() and ExitProbeRTT().
    pub(super) fn check_probe_rtt_done(&mut self, flow: &Flow) {
        if self.probe_rtt_done.is_none_or(|done| flow.now <= done) {
            return;
        }
        self.model.renew_min_rtt(flow);
        self.restore_cwnd();
        self.model.reset_short_term();
        if self.model.full_bw_reached {
            self.start_down(flow);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
