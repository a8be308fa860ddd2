//! Network path model of BBR version 1 (Linux 6.1 `net/ipv4/tcp_bbr.c`): bandwidth, minimum RTT,
//! rounds, full pipe and ACK aggregation.

use fairway_units::{Duration, Time};

use crate::delivery::{BW_UNIT, UNIT, bandwidth, bdp};
use crate::filter::MaxFilter;
use crate::linux::jiffies;
use crate::{Ack, Flow, RateSample};

/// Assumed BDP in segments before the first RTT (`TCP_INIT_CWND`).
pub(crate) const INIT_CWND: u32 = 10;
/// `bbr_full_bw_thresh`, `bbr_full_bw_cnt`.
const FULL_BW_GROWTH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
/// `bbr_extra_acked_win_rtts`.
const EXTRA_ACKED_ROUNDS: u32 = 5;
/// `bbr_extra_acked_max_us`.
const EXTRA_ACKED_MAX_US: u64 = 100_000;
/// `bbr_ack_epoch_acked_reset_thresh`.
const EPOCH_ACKED_MAX: u64 = 1 << 20;

/// Segments acknowledged in excess of the estimated rate (`bbr_update_ack_aggregation`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Aggregation {
    epoch: Time,
    epoch_acked: u64,
    rounds: u32,
    slot: usize,
    /// Maximum of the current rounds and of those before, segments.
    extra: [u32; 2],
}

impl Aggregation {
    fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.epoch_acked = 0;
    }

    /// Process an acknowledgement of `acked` segments; `bw` is the expected rate.
    fn on_ack(&mut self, acked: u32, bw: u64, round_start: bool, cwnd: u32, now: Time) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= EXTRA_ACKED_ROUNDS {
                self.rounds = 0;
                self.slot = 1 - self.slot;
                self.extra[self.slot] = 0;
            }
        }
        let micros = now.since(self.epoch).as_micros();
        let mut expected = (u128::from(bw) * u128::from(micros) / u128::from(BW_UNIT)) as u64;
        let acked = u64::from(acked);
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_ACKED_MAX {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_ACKED_MAX - 1);
        let extra = (self.epoch_acked.saturating_sub(expected) as u32).min(cwnd);
        self.extra[self.slot] = self.extra[self.slot].max(extra.min(u32::from(u16::MAX)));
    }

    /// Segments in flight allowed beyond the BDP (`bbr_ack_aggregation_cwnd`).
    fn extra(&self, bw: u64) -> u32 {
        let most = bw * EXTRA_ACKED_MAX_US / BW_UNIT;
        self.extra[0].max(self.extra[1]).min(most as u32)
    }
}

/// Bandwidth, minimum RTT and rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Model {
    mss: u32,
    bw_rounds: u64,
    min_rtt_window: u64,
    max_bw: MaxFilter<u64, u64>,
    rounds: u64,
    /// Whether the last acknowledgement began a round.
    pub(crate) round_start: bool,
    /// A round ends when data sent after this much was delivered is acknowledged.
    next_round_delivered: u64,
    full_bw: u64,
    full_bw_rounds: u32,
    /// Whether the pipe is estimated to have been full.
    pub(crate) full_bw_reached: bool,
    aggregation: Aggregation,
    min_rtt_us: Option<u64>,
    /// When it was measured, in ticks.
    min_rtt_stamp: u64,
}

impl Model {
    /// A model with a bandwidth filter of `bw_rounds` rounds and a minimum RTT valid for
    /// `min_rtt_window` ticks.
    pub(crate) fn new(mss: u32, bw_rounds: u64, min_rtt_window: u64) -> Self {
        Model {
            mss,
            bw_rounds,
            min_rtt_window,
            max_bw: MaxFilter::new(),
            rounds: 0,
            round_start: false,
            next_round_delivered: 0,
            full_bw: 0,
            full_bw_rounds: 0,
            full_bw_reached: false,
            aggregation: Aggregation::default(),
            min_rtt_us: None,
            min_rtt_stamp: 0,
        }
    }

    /// Maximum bandwidth of the last rounds.
    pub(crate) fn largest_bw(&self) -> u64 {
        self.max_bw.get().unwrap_or(0)
    }

    /// Segments in flight at `bw` with `gain`.
    pub(crate) fn bdp(&self, bw: u64, gain: u64) -> u32 {
        self.min_rtt_us.map_or(INIT_CWND, |min_rtt_us| bdp(bw, min_rtt_us, gain))
    }

    /// Whether `span` is longer than the minimum RTT.
    pub(crate) fn exceeds_min_rtt(&self, span: Duration) -> bool {
        self.min_rtt_us.is_some_and(|min_rtt_us| span.as_micros() > min_rtt_us)
    }

    /// Start with the RTT of the handshake (`bbr_init`).
    pub(crate) fn begin(&mut self, flow: &Flow) {
        if self.min_rtt_us.is_none() {
            self.min_rtt_us = flow.min_rtt.map(Duration::as_micros);
            self.min_rtt_stamp = jiffies(flow);
        }
    }

    /// Begin a new round now.
    pub(crate) fn restart_round(&mut self, flow: &Flow) {
        self.next_round_delivered = flow.delivered;
    }

    /// Update `round_start`: whether the sample ends a round.
    pub(crate) fn count_round(&mut self, sample: &RateSample, flow: &Flow) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.restart_round(flow);
            self.rounds += 1;
        }
    }

    /// Update the bandwidth; an application-limited sample can only raise it.
    pub(crate) fn take_bandwidth(&mut self, sample: &RateSample, is_limited: bool) {
        let bw = bandwidth(sample.delivered, self.mss, sample.interval);
        if !is_limited || bw >= self.largest_bw() {
            self.max_bw.update(self.rounds, self.bw_rounds, bw);
        }
    }

    /// Update the aggregation of `acked` segments against `bw`, for acknowledgements with a sample.
    pub(crate) fn take_aggregation(&mut self, acked: u32, bw: u64, cwnd: u32, now: Time) {
        if acked > 0 {
            self.aggregation.on_ack(acked, bw, self.round_start, cwnd, now);
        }
    }

    /// Sending resumes after an idle period.
    pub(crate) fn restart_aggregation(&mut self, now: Time) {
        self.aggregation.restart(now);
    }

    /// Segments in flight allowed beyond the BDP, once the pipe has been full.
    pub(crate) fn extra_acked(&self, bw: u64) -> u32 {
        if self.full_bw_reached { self.aggregation.extra(bw) } else { 0 }
    }

    /// `bbr_check_full_bw_reached`.
    pub(crate) fn look_for_full_pipe(&mut self, is_limited: bool) {
        if self.full_bw_reached || !self.round_start || is_limited {
            return;
        }
        let bw = self.largest_bw();
        if bw >= self.full_bw * FULL_BW_GROWTH / UNIT {
            self.full_bw = bw;
            self.full_bw_rounds = 0;
        } else {
            self.full_bw_rounds += 1;
            self.full_bw_reached = self.full_bw_rounds >= FULL_BW_ROUNDS;
        }
    }

    /// A timeout resets the bandwidth of the full-pipe test (`bbr_set_state`).
    pub(crate) fn forget_full_bw(&mut self) {
        self.full_bw = 0;
    }

    /// A spurious loss resets its count of rounds too (`bbr_undo_cwnd`).
    pub(crate) fn recount_full_bw(&mut self) {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
    }

    /// Update the minimum RTT and return whether it had expired (`bbr_update_min_rtt`). An equal
    /// RTT does not renew it, as ProbeRTT would never occur on a path of constant delay.
    pub(crate) fn take_rtt(&mut self, ack: &Ack, flow: &Flow) -> bool {
        let now = jiffies(flow);
        let is_old = now > self.min_rtt_stamp.saturating_add(self.min_rtt_window);
        if let Some(rtt_us) = ack.rtt.map(Duration::as_micros)
            && (is_old || self.min_rtt_us.is_none_or(|min_rtt_us| rtt_us < min_rtt_us))
        {
            self.min_rtt_us = Some(rtt_us);
            self.min_rtt_stamp = now;
        }
        is_old
    }

    /// The minimum RTT has been measured again.
    pub(crate) fn renew_min_rtt(&mut self, flow: &Flow) {
        self.min_rtt_stamp = jiffies(flow);
    }
}
