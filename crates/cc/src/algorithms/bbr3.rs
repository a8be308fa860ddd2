//! BBR version 3: BBR with bounds set by losses, on a long and a short time scale.
//!
//! Source: draft-ietf-ccwg-bbr, the editors' copy of 3 August 2026 (commit 4ce5e87, after -06), section 5;
//! names are the draft's. The draft still changes.
//!
//! `max_bw` is the maximum rate of this cycle and the one before, `min_rtt` the minimum RTT of 10
//! s, `bw = min(max_bw, bw_shortterm)`. The pacing rate is `0.99·pacing_gain·bw`; the window grows
//! by the delivered data to `cwnd_gain·bw·min_rtt + extra_acked`, at least three send quanta and 4
//! segments.
//!
//! Startup (gains 2.77 and 2) ends when the rate grows by less than a quarter in three rounds, or
//! at more than 2 % lost in 6 ranges in a round of recovery. Drain (0.5, 2) ends at a BDP in flight
//! or after 3 rounds. Then DOWN (0.9, 2) until at most a BDP and 0.85 of `inflight_longterm` are in
//! flight, CRUISE (1, 2) for 2 to 3 s or `min(bdp, cwnd, 63)` rounds, REFILL (1, 2) for a round, UP
//! (1.25, 2.25) until the rate no longer grows or more than 2 % is lost. ProbeRTT (1, 0.5) for 200
//! ms and a round if there was no new minimum RTT in 5 s.
//!
//! Too many losses in a probe set `inflight_longterm = max(tx_in_flight, 0.7·min(bdp, cwnd))`,
//! where the next probe stops. UP raises it by 1, 2, 4 … segments per round. Other losses, once per
//! round, set `shortterm = max(latest, 0.7·shortterm)`, for rate and volume, until the next REFILL.
//!
//! The draft uses the record of each lost packet; here the losses found by one acknowledgement
//! count as one packet, with the record of the segment that it delivered. Lost ranges are counted
//! as acknowledgements that find losses, as in Linux. State is saved at the first loss of a round,
//! not again when recovery begins, which would overwrite the state to restore. There is no response
//! to ECN, as in the draft, and the connection's choice of slow start is ignored.

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use crate::bbr3_model::{PathModel, Tolerances};
use crate::delivery::LimitedSpan;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Phase, RateSample,
    Signal, Variant, Vector,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "bbr3",
    title: "BBRv3",
    summary: "BBR that bounds rate and volume by the losses it meets.",
    family: Family::Model,
    signal: "delivery rate + delay + loss",
    year: 2023,
    source: "draft-ietf-ccwg-bbr, editors' copy of 3 August 2026",
    variants: &[Variant::Paper],
    params: &[
        Param::new("startup_pacing_gain", "pacing gain in Startup", 2.77, 1.0, 10.0),
        Param::new("drain_pacing_gain", "pacing gain in Drain", 0.5, 0.01, 1.0),
        Param::new("default_cwnd_gain", "window in BDPs", 2.0, 1.0, 10.0),
        Param::new("probe_rtt_cwnd_gain", "window in BDPs, in ProbeRTT", 0.5, 0.01, 1.0),
        Param::new("loss_thresh", "loss rate tolerated by a probe", 0.02, 0.0, 0.5),
        Param::new("beta", "factor of a bound after losses", 0.7, 0.1, 1.0),
        Param::new("headroom", "fraction of the bound left to other flows", 0.15, 0.0, 0.9),
        Param::new("probe_rtt_interval_s", "time between ProbeRTTs, s", 5.0, 0.1, 1e4),
        Param::new("probe_rtt_ms", "time in ProbeRTT, ms", 200.0, 0.0, 1e4),
    ],
    vectors: &[
        Vector::new("300 in flight, 6 lost: 6 > 0.02*300 is false", 0.0, || too_high(6)),
        Vector::new("300 in flight, 7 lost: 7 > 6", 1.0, || too_high(7)),
        Vector::new("bound at 300 in flight, BDP 345, W 690: max(300, 0.7*345)", 300.0, || {
            DRAFT.longterm_after(300.0, 345.0)
        }),
        Vector::new("headroom below 300: 300 - max(1, 45) = 255", 255.0, || {
            DRAFT.with_headroom(300.0, 1.0)
        }),
        Vector::new("short-term bound 100, latest 80: max(80, 70)", 80.0, || {
            DRAFT.shortterm_after(80.0, 100.0)
        }),
        Vector::new("short-term bound 100, latest 60: max(60, 70)", 70.0, || {
            DRAFT.shortterm_after(60.0, 100.0)
        }),
    ],
    build,
};

/// The draft's tolerances.
const DRAFT: Tolerances = Tolerances {
    loss_thresh: 0.02,
    beta: 0.7,
    headroom: 0.15,
    probe_rtt_interval: Duration::from_secs(5),
};

fn too_high(lost: u64) -> f64 {
    f64::from(u8::from(DRAFT.is_too_high(lost, 300)))
}

/// Sections 5.3.3.1 and 5.3.3.4.
const DOWN_PACING_GAIN: f64 = 0.90;
const UP_PACING_GAIN: f64 = 1.25;
/// Increase of the window gain in UP, to 2.25.
const UP_CWND_GAIN: f64 = 0.25;
/// BBR.PacingMarginPercent.
const PACING_MARGIN: f64 = 0.99;
/// BBR.MinPipeCwnd, segments.
const MIN_PIPE_CWND: u64 = 4;
/// BBRStartupFullLossCnt.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
/// CheckDrainDone().
const DRAIN_ROUNDS: u64 = 3;
/// IsRenoCoexistenceProbeTime().
const RENO_ROUNDS: f64 = 63.0;
/// SetSendQuantum(): the data sent in 1 ms, at most this many bytes.
const MAX_SEND_QUANTUM: f64 = 65_536.0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// IsProbingBW().
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// BBR.ack_phase: the phase whose data is being acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

struct Bbr3 {
    mss: u64,
    initial_cwnd: u64,
    startup_pacing_gain: f64,
    drain_pacing_gain: f64,
    default_cwnd_gain: f64,
    probe_rtt_cwnd_gain: f64,
    probe_rtt_duration: Duration,
    random: Stream,
    model: PathModel,
    limited: LimitedSpan,

    state: State,
    /// Bytes.
    cwnd: u64,
    prior_cwnd: u64,
    /// Bytes per second.
    pacing_rate: f64,
    has_seen_rtt: bool,
    phase: Phase,
    idle_restart: bool,
    undo_state: Option<State>,
    drain_start_round: u64,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,

    ack_phase: AckPhase,
    cycle_stamp: Time,
    bw_probe_wait: Duration,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
}

fn build(_variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let mss = u64::from(init.mss.max(1));
    let cwnd = init.initial_window.max(mss);
    let span =
        |name: &str, per_s: f64| Duration::from_nanos((params.get(name) * 1e9 / per_s) as u64);
    let tolerances = Tolerances {
        loss_thresh: params.get("loss_thresh"),
        beta: params.get("beta"),
        headroom: params.get("headroom"),
        probe_rtt_interval: span("probe_rtt_interval_s", 1.0),
    };
    let startup_pacing_gain = params.get("startup_pacing_gain");
    Box::new(Bbr3 {
        mss,
        initial_cwnd: cwnd,
        startup_pacing_gain,
        drain_pacing_gain: params.get("drain_pacing_gain"),
        default_cwnd_gain: params.get("default_cwnd_gain"),
        probe_rtt_cwnd_gain: params.get("probe_rtt_cwnd_gain"),
        probe_rtt_duration: span("probe_rtt_ms", 1e3),
        random: init.random("bbr3"),
        model: PathModel::new(tolerances),
        limited: LimitedSpan::default(),
        state: State::Startup,
        cwnd,
        prior_cwnd: 0,
        // InitPacingRate() before the first RTT: 1 ms.
        pacing_rate: startup_pacing_gain * cwnd as f64 / 1e-3,
        has_seen_rtt: false,
        phase: Phase::Open,
        idle_restart: false,
        undo_state: None,
        drain_start_round: 0,
        probe_rtt_done: None,
        probe_rtt_round_done: false,
        ack_phase: AckPhase::Init,
        cycle_stamp: Time::ZERO,
        bw_probe_wait: Duration::ZERO,
        is_bw_probe_sample: false,
        prev_probe_too_high: false,
        prev_probe_precautionary: false,
        bw_probe_up_rounds: 0,
        bw_probe_up_acked: 0,
        probe_up_acked_per_inc: u64::MAX,
    })
}

impl CongestionControl for Bbr3 {
    fn cwnd(&self) -> u64 {
        (self.cwnd / self.mss).max(1) * self.mss
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps((self.pacing_rate * 8.0).max(8.0) as u64))
    }

    fn answers_loss(&self) -> bool {
        false
    }

    /// Sections 5.2.3 and 5.2.4.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.model.begin(flow);
        self.begin_pacing(flow);
        self.limited.on_ack(flow);
        self.phase = flow.phase;
        let limited = ack.rate.is_some_and(|sample| self.limited.limits(&sample));
        let sample = ack.rate.map(|sample| RateSample { app_limited: limited, ..sample });
        if ack.lost > 0 {
            self.handle_losses(ack.lost, sample.as_ref(), flow);
        }
        self.model.round_start = false;
        self.model.loss_round_start = false;
        if let Some(sample) = &sample {
            self.update_model_and_state(sample, ack, flow);
        }
        self.model.take_rtt(ack, flow);
        self.check_probe_rtt(ack, flow);
        self.model.end_ack(sample.as_ref());
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ack.delivered, flow);
    }

    fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        if signal == Signal::Loss {
            self.save_cwnd();
            self.note_loss(flow);
            self.phase = Phase::Recovery;
        }
    }

    fn on_recovered(&mut self, _cwnd: u64, _flow: &Flow) {
        if matches!(self.phase, Phase::Recovery | Phase::Loss) {
            self.restore_cwnd();
        }
        self.phase = Phase::Open;
    }

    fn on_rto(&mut self, _first: bool, flow: &Flow) {
        self.save_cwnd();
        self.note_loss(flow);
        self.phase = Phase::Loss;
        self.cwnd = self.mss;
    }

    /// HandleSpuriousLossDetection().
    fn on_spurious(&mut self, flow: &Flow) {
        self.phase = Phase::Open;
        self.restore_cwnd();
        self.model.undo_loss();
        let state = self.undo_state.take();
        self.return_to(state, flow);
    }

    /// HandleRestartFromIdle().
    fn on_transmit_start(&mut self, _idle: Duration, app_limited: bool, flow: &Flow) {
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.model.restart_aggregation(flow.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(flow);
        }
    }
}

mod cycle;
mod window;

#[cfg(test)]
#[path = "bbr3_tests.rs"]
mod tests;
