//! BBR version 1: paces at the maximum recent delivery rate, keeps about two bandwidth-delay
//! products in flight, and does not reduce its rate for losses.
//!
//! Source: N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016,
//! as in Linux 6.1 (`net/ipv4/tcp_bbr.c`), with its arithmetic: rates in 2⁻²⁴ segments per
//! microsecond, gains in 1/256.
//!
//! `bw` is the maximum sample of 10 rounds; an application-limited sample counts only if it is not
//! lower. `min_rtt` is the minimum RTT of 10 s. The pacing rate is `0.99·gain·bw`, the window
//! `⌈gain·bw·min_rtt⌉ + extra_acked + 3·goal`, rounded up to even, where `goal` is the burst of a
//! host with segmentation offload and `extra_acked` the segments acknowledged in excess of `bw` in
//! the last 5 to 10 rounds.
//!
//! Startup: both gains 2.887, until `bw` grows by less than a quarter in three rounds. Drain:
//! pacing gain 0.344 until at most the BDP is in flight. ProbeBW: window gain 2; pacing gains 1.25,
//! 0.75 and six times 1, each for `min_rtt`, from a random phase other than 0.75. ProbeRTT: when
//! `min_rtt` is 10 s old, 4 segments for 200 ms and a round.
//!
//! After a loss, packet conservation limits the first round of recovery; then the window is
//! restored. Two intervals of at least 4 rounds with a fifth lost at equal rates indicate a
//! policer, whose rate is used for 48 rounds. Congestion marks and the connection's choice of slow
//! start are ignored.
//!
//! Whether the queue has drained or grown depends on the data in flight when the next segments may
//! be sent: after a burst, which is paced as a whole, that is less than now. Before the first RTT
//! sample, 1 ms is assumed.

mod probe_rtt;

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use crate::bbr_model::Model;
use crate::bbr_window::{MIN_CWND, RecoveringWindow};
use crate::delivery::{
    LimitedSpan, Pacer, UNIT, bdp, budget, bytes_per_s, offload_goal, segments_in,
};
use crate::linux::HZ;
use crate::policer::{Event, Policer, Verdict};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Phase, RateSample,
    Signal, Variant, Vector, window::segments,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "bbr",
    title: "BBR",
    summary: "Paces at the measured bandwidth and keeps twice the bandwidth-delay product in flight.",
    family: Family::Model,
    signal: "delivery rate + delay",
    year: 2016,
    source: "Cardwell et al., ACM Queue 14(5), 2016; Linux 6.1 tcp_bbr.c",
    variants: &[Variant::Linux6_1],
    params: &[
        Param::new("bw_rtts", "rounds of the bandwidth filter", 10.0, 2.0, 1e3).whole(),
        Param::new("cwnd_gain", "window in BDPs, in ProbeBW", 2.0, 1.0, 8.0),
        Param::new("min_rtt_win_s", "age at which min_rtt expires, s", 10.0, 1.0, 1e4).whole(),
        Param::new("probe_rtt_ms", "time in ProbeRTT, ms; 0 for never", 200.0, 0.0, 1e4).whole(),
        Param::switch("policer_detection", "whether policers are detected", true),
    ],
    vectors: &[
        Vector::new("Startup gain: floor(256*2885/1000) + 1 = 739", 739.0, || HIGH_GAIN as f64),
        Vector::new("Drain gain: floor(256*1000/2885) = 88", 88.0, || DRAIN_GAIN as f64),
        Vector::new("100 Mbit/s, 40 ms: 8632.6 * 0.04 = 345.3, up to 346", 346.0, || {
            f64::from(bdp(SAMPLE_BW, 40_000, UNIT))
        }),
        Vector::new("the same with gain 2: 690.6, up to 691", 691.0, || {
            f64::from(bdp(SAMPLE_BW, 40_000, 2 * UNIT))
        }),
        Vector::new("sent at once: floor(12374919/1024) = 12084, /1448 = 8", 8.0, || {
            f64::from(offload_goal(bytes_per_s(SAMPLE_BW, 1448, UNIT), 1448))
        }),
        Vector::new("window: 691 + 3*8 = 715, up to 716", 716.0, || {
            f64::from(budget(691, 8, false))
        }),
        Vector::new("window in the 1.25 phase: 716 + 2", 718.0, || f64::from(budget(691, 8, true))),
    ],
    build,
};

/// `bbr_high_gain`.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// `bbr_drain_gain`.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// `bbr_pacing_gain`.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases in which ProbeBW may begin: all but the draining one (`bbr_cycle_rand`).
const CYCLE_RANDOM: u64 = 7;

/// Bandwidth of 500 000 bytes in 40 ms, for the vectors: 345.304/40000 segments per microsecond.
const SAMPLE_BW: u64 = 144_830;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

struct Bbr {
    mss: u32,
    window: RecoveringWindow,
    random: Stream,
    steady_cwnd_gain: u64,
    /// In ticks.
    probe_rtt_span: u64,
    detects_policers: bool,
    model: Model,
    policer: Policer,
    limited: LimitedSpan,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    pacer: Pacer,
    /// In ticks.
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    cycle: usize,
    cycle_start: Time,
    /// Time of the last delivery.
    delivered_at: Time,
    idle_restart: bool,
}

fn build(_variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let window = RecoveringWindow::new(init);
    let (mss, min_rtt_window) = (window.mss, params.scaled("min_rtt_win_s", HZ as u32));
    Box::new(Bbr {
        mss,
        window,
        random: init.random("bbr"),
        steady_cwnd_gain: params.scaled("cwnd_gain", UNIT as u32),
        probe_rtt_span: params.scaled("probe_rtt_ms", 1),
        detects_policers: params.is_on("policer_detection"),
        model: Model::new(mss, params.scaled("bw_rtts", 1), min_rtt_window),
        policer: Policer::default(),
        limited: LimitedSpan::default(),
        mode: Mode::Startup,
        pacing_gain: HIGH_GAIN,
        cwnd_gain: HIGH_GAIN,
        pacer: Pacer::new(window.cwnd, mss, HIGH_GAIN),
        probe_rtt_done: None,
        probe_rtt_round_done: false,
        cycle: 0,
        cycle_start: Time::ZERO,
        delivered_at: Time::ZERO,
        idle_restart: false,
    })
}

/// The model of the path.
impl Bbr {
    fn bw(&self) -> u64 {
        self.policer.rate().unwrap_or(self.model.largest_bw())
    }

    fn goal(&self) -> u32 {
        offload_goal(self.pacer.bytes_per_s, self.mss)
    }

    fn budget(&self, cwnd: u32) -> u32 {
        budget(cwnd, self.goal(), self.mode == Mode::ProbeBw && self.cycle == 0)
    }

    /// Segments of `in_flight` bytes that will be in flight when the next ones may be sent, plus
    /// those if the queue should grow (`bbr_packets_in_net_at_edt`).
    fn in_flight_at_departure(&self, in_flight: u64, flow: &Flow) -> u32 {
        let burst = if self.pacing_gain > UNIT { self.goal() } else { 0 };
        let with_burst = segments(in_flight, self.mss).saturating_add(burst);
        with_burst.saturating_sub(segments_in(self.bw(), flow.pacing_delay))
    }

    fn inflight(&self, gain: u64) -> u32 {
        self.budget(self.model.bdp(self.model.largest_bw(), gain))
    }

    /// `bbr_update_bw`, `bbr_update_ack_aggregation`.
    fn update_model(&mut self, sample: &RateSample, is_limited: bool, losses: u32, flow: &Flow) {
        self.model.count_round(sample, flow);
        self.window.packet_conservation &= !self.model.round_start;
        let (round_start, is_cruising) = (self.model.round_start, self.mode == Mode::ProbeBw);
        let event = Event::new(round_start, losses > 0, is_limited, is_cruising);
        self.look_for_policer(event, flow);
        self.model.take_bandwidth(sample, is_limited);
        self.model.take_aggregation(self.window.acked, self.bw(), self.window.cwnd, flow.now);
    }

    fn look_for_policer(&mut self, event: Event, flow: &Flow) {
        if !self.detects_policers {
            return;
        }
        match self.policer.on_event(event, flow) {
            Verdict::Unchanged => {}
            Verdict::Found => self.pacing_gain = UNIT,
            Verdict::GivenUp => self.enter_probe_bw(),
        }
    }
}

/// Modes.
impl Bbr {
    fn enter_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() - 1 - self.random.below(CYCLE_RANDOM) as usize;
        self.advance_cycle();
    }

    fn advance_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_start = self.delivered_at;
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, losses: u32, flow: &Flow) -> bool {
        let has_lasted = self.model.exceeds_min_rtt(self.delivered_at.since(self.cycle_start));
        let in_flight = self.in_flight_at_departure(flow.pipe, flow);
        if self.pacing_gain > UNIT {
            has_lasted && (losses > 0 || in_flight >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < UNIT {
            has_lasted || in_flight <= self.inflight(UNIT)
        } else {
            has_lasted
        }
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, flow: &Flow) {
        if self.mode == Mode::Startup && self.model.full_bw_reached {
            self.mode = Mode::Drain;
            self.window.ssthresh = self.inflight(UNIT);
        }
        if self.mode == Mode::Drain {
            let in_flight = self.in_flight_at_departure(flow.in_flight, flow);
            if in_flight <= self.inflight(UNIT) {
                self.enter_probe_bw();
            }
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, self.steady_cwnd_gain),
            Mode::ProbeBw => (CYCLE[self.cycle], self.steady_cwnd_gain),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

/// Window and events.
impl Bbr {
    fn set_pacing_rate(&mut self, gain: u64, flow: &Flow) {
        self.pacer.begin(self.window.cwnd, self.mss, flow);
        let rate = bytes_per_s(self.bw(), self.mss, gain);
        self.pacer.set(rate, self.model.full_bw_reached);
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, losses: u32, flow: &Flow) {
        if self.window.acked > 0 {
            self.window.cwnd = self.window.cwnd.saturating_sub(losses).max(1);
            if self.window.follow(flow.phase, flow) {
                self.model.restart_round(flow);
            }
            if self.window.packet_conservation {
                self.window.conserve(flow);
            } else {
                let target = self.target();
                self.window.approach(target, self.model.full_bw_reached, flow);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.window.cwnd = self.window.cwnd.min(MIN_CWND);
        }
    }

    /// `bbr_update_model` and `bbr_set_pacing_rate`.
    fn observe(&mut self, ack: &Ack, flow: &Flow) {
        self.window.begin_ack(segments(ack.delivered, self.mss));
        let losses = segments(ack.lost, self.mss);
        if self.window.acked > 0 {
            self.delivered_at = flow.now;
        }
        self.model.begin(flow);
        self.limited.on_ack(flow);
        let is_limited = ack.rate.is_some_and(|sample| self.limited.limits(&sample));
        self.model.round_start = false;
        if let Some(sample) = ack.rate.filter(|sample| sample.interval > Duration::ZERO) {
            self.update_model(&sample, is_limited, losses, flow);
        }
        if self.mode == Mode::ProbeBw && self.is_phase_over(losses, flow) {
            self.advance_cycle();
        }
        self.model.look_for_full_pipe(is_limited);
        self.check_drain(flow);
        self.update_min_rtt(ack, flow);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, flow);
    }

    fn target(&self) -> u32 {
        let bw = self.bw();
        self.budget(self.model.bdp(bw, self.cwnd_gain).saturating_add(self.model.extra_acked(bw)))
    }
}

impl CongestionControl for Bbr {
    fn cwnd(&self) -> u64 {
        self.window.cwnd_bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh_bytes()
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacer.rate())
    }

    fn answers_loss(&self) -> bool {
        false
    }

    /// `bbr_sndbuf_expand`.
    fn send_buffer_windows(&self) -> u64 {
        3
    }

    /// `bbr_init`.
    fn on_established(&mut self, flow: &Flow) {
        self.model.begin(flow);
        self.pacer.begin(self.window.cwnd, self.mss, flow);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.observe(ack, flow);
        self.set_cwnd(segments(ack.lost, self.mss), flow);
    }

    fn on_last_ack(&mut self, ack: &Ack, _cwnd: u64, _next: Phase, flow: &Flow) {
        self.observe(ack, flow);
        let losses = segments(ack.lost, self.mss);
        // Further losses may begin a recovery on this acknowledgement, which the kernel treats as
        // the same recovery: the window in that case.
        let before = self.window;
        self.set_cwnd(losses, flow);
        let staying = (self.window.cwnd, self.window.packet_conservation);
        self.window = before;
        let open = Flow { phase: Phase::Open, ..*flow };
        self.window.leave_instead_of(staying, &open);
        self.set_cwnd(losses, &open);
    }

    fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        let phase = if signal == Signal::Loss { Phase::Recovery } else { Phase::Cwr };
        if self.window.enter(phase, self.mode == Mode::ProbeRtt, flow) {
            self.model.restart_round(flow);
        }
    }

    fn on_recovered(&mut self, _cwnd: u64, flow: &Flow) {
        self.window.leave(flow);
    }

    fn on_rto(&mut self, first: bool, flow: &Flow) {
        if first {
            self.window.save(self.mode == Mode::ProbeRtt);
        }
        self.window.time_out();
        self.model.forget_full_bw();
        self.look_for_policer(Event::timeout(self.mode == Mode::ProbeBw), flow);
    }

    fn on_spurious(&mut self, flow: &Flow) {
        self.model.recount_full_bw();
        self.policer.reset(flow);
        self.window.follow(Phase::Open, flow);
    }

    /// `bbr_cwnd_event`.
    fn on_transmit_start(&mut self, _idle: Duration, app_limited: bool, flow: &Flow) {
        match self.mode {
            _ if !app_limited => return,
            Mode::ProbeBw => self.set_pacing_rate(UNIT, flow),
            Mode::ProbeRtt => self.leave_probe_rtt(flow),
            Mode::Startup | Mode::Drain => {}
        }
        self.idle_restart = true;
        self.model.restart_aggregation(flow.now);
    }
}

#[cfg(test)]
#[path = "bbr_tests.rs"]
mod tests;
