//! Network path model of BBR version 3 (draft-ietf-ccwg-bbr, editors' copy of 3 August 2026,
//! section 5.5): rates and volumes of data on a long and a short time scale. Names are the draft's;
//! rates are in bytes per second, volumes in bytes, and an unset bound is infinite.

use fairway_units::{Duration, Time};

use crate::filter::MaxFilter;
use crate::{Ack, Flow, RateSample};

/// BBR.ExtraAckedFilterLen, rounds.
const EXTRA_ACKED_FILTER_LEN: u64 = 10;
/// BBR.MinRTTFilterLen.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// Section 5.3.1.2: growth by less than a quarter …
const FULL_BW_GROWTH: f64 = 1.25;
/// … in this many rounds fills the pipe.
const FULL_BW_COUNT: u32 = 3;

/// BBR.LossThresh, BBR.Beta, BBR.Headroom, BBR.ProbeRTTInterval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Tolerances {
    pub(crate) loss_thresh: f64,
    pub(crate) beta: f64,
    pub(crate) headroom: f64,
    pub(crate) probe_rtt_interval: Duration,
}

impl Tolerances {
    /// IsInflightTooHigh(), with selective acknowledgements.
    pub(crate) fn is_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost as f64 > tx_in_flight as f64 * self.loss_thresh
    }

    /// InflightAtLoss(): the volume in flight at which losses crossed the threshold; the last
    /// `size` bytes of `lost` are the last of `tx_in_flight`. At least the volume in flight before
    /// them (Linux v3 `bbr_inflight_hi_from_lost_skb`).
    pub(crate) fn inflight_at_loss(&self, lost: u64, tx_in_flight: u64, size: u64) -> f64 {
        let inflight_prev = tx_in_flight.saturating_sub(size) as f64;
        let lost_prev = lost.saturating_sub(size) as f64;
        let prefix = (self.loss_thresh * inflight_prev - lost_prev) / (1.0 - self.loss_thresh);
        inflight_prev + prefix.max(0.0)
    }

    /// HandleInflightTooHigh(): the long-term bound after losses at `tx_in_flight`.
    pub(crate) fn longterm_after(&self, tx_in_flight: f64, target_inflight: f64) -> f64 {
        tx_in_flight.max(target_inflight * self.beta)
    }

    /// LossLowerBounds(): a short-term bound after a round with losses.
    pub(crate) fn shortterm_after(&self, latest: f64, bound: f64) -> f64 {
        latest.max(self.beta * bound)
    }

    /// InflightWithHeadroom(), without the minimum window.
    pub(crate) fn with_headroom(&self, inflight_longterm: f64, mss: f64) -> f64 {
        inflight_longterm - (self.headroom * inflight_longterm).max(mss)
    }
}

/// Bounds to restore if losses turn out to be spurious.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Undo {
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// The model of the path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PathModel {
    pub(crate) tolerances: Tolerances,
    // Rounds.
    pub(crate) round_count: u64,
    pub(crate) round_start: bool,
    next_round_delivered: u64,
    pub(crate) rounds_since_probe_up: u64,
    /// The last round in which the window was full.
    full_window_round: Option<u64>,
    // Rates: of the previous ProbeBW cycle and this one.
    max_bw_filter: [f64; 2],
    bw_shortterm: f64,
    /// BBR.bw.
    pub(crate) bw: f64,
    bw_latest: f64,
    // Volumes.
    pub(crate) inflight_shortterm: f64,
    pub(crate) inflight_longterm: f64,
    pub(crate) inflight_latest: f64,
    extra_acked_filter: MaxFilter<f64, u64>,
    extra_acked_interval_start: Time,
    extra_acked_delivered: u64,
    // Losses.
    pub(crate) loss_round_start: bool,
    loss_round_delivered: u64,
    pub(crate) is_loss_in_round: bool,
    /// Acknowledgements with losses in this round, one per lost range.
    pub(crate) loss_ranges: u32,
    undo: Undo,
    // The plateau.
    pub(crate) full_bw: f64,
    full_bw_count: u32,
    pub(crate) full_bw_now: bool,
    pub(crate) full_bw_reached: bool,
    // Delay.
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Time,
    pub(crate) probe_rtt_expired: bool,
}

impl PathModel {
    pub(crate) fn new(tolerances: Tolerances) -> Self {
        PathModel {
            tolerances,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            rounds_since_probe_up: 0,
            full_window_round: None,
            max_bw_filter: [0.0; 2],
            bw_shortterm: f64::INFINITY,
            bw: 0.0,
            bw_latest: 0.0,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            inflight_latest: 0.0,
            extra_acked_filter: MaxFilter::new(),
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0,
            loss_round_start: false,
            loss_round_delivered: 0,
            is_loss_in_round: false,
            loss_ranges: 0,
            undo: Undo::default(),
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
        }
    }

    /// BBR.max_bw.
    pub(crate) fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    /// `bw` · BBR.min_rtt, if min_rtt is known.
    pub(crate) fn bdp(&self, bw: f64) -> Option<f64> {
        self.min_rtt.map(|min_rtt| bw * min_rtt.as_secs_f64())
    }

    /// BBR.extra_acked.
    pub(crate) fn extra_acked(&self) -> f64 {
        self.extra_acked_filter.get().unwrap_or(0.0)
    }

    /// C.is_cwnd_limited: whether the window has been full in this round or the last.
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        self.full_window_round.is_some_and(|round| self.round_count <= round + 1)
    }

    /// StartRound().
    pub(crate) fn start_round(&mut self, flow: &Flow) {
        self.next_round_delivered = flow.delivered;
    }

    /// UpdateLatestDeliverySignals() and UpdateCongestionSignals(). `is_probing` is IsProbingBW().
    pub(crate) fn take_sample(
        &mut self,
        sample: &RateSample,
        is_probing: bool,
        cwnd: f64,
        flow: &Flow,
    ) {
        let delivery_rate = sample.bytes_per_s().unwrap_or(0.0);
        self.bw_latest = self.bw_latest.max(delivery_rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered as f64);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = flow.delivered;
        }
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(flow);
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
        if flow.pipe.saturating_add(u64::from(flow.mss)) as f64 > cwnd {
            self.full_window_round = Some(self.round_count);
        }
        if delivery_rate > 0.0 && (delivery_rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw_filter[1] = self.max_bw_filter[1].max(delivery_rate);
        }
        if self.loss_round_start {
            if self.is_loss_in_round && !is_probing {
                self.lower_bounds(cwnd);
            }
            self.is_loss_in_round = false;
        }
    }

    /// InitLowerBounds() and LossLowerBounds().
    fn lower_bounds(&mut self, cwnd: f64) {
        if self.bw_shortterm == f64::INFINITY {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == f64::INFINITY {
            self.inflight_shortterm = cwnd;
        }
        let latest = (self.bw_latest, self.inflight_latest);
        self.bw_shortterm = self.tolerances.shortterm_after(latest.0, self.bw_shortterm);
        self.inflight_shortterm =
            self.tolerances.shortterm_after(latest.1, self.inflight_shortterm);
    }

    /// ResetShortTermModel().
    pub(crate) fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// ResetCongestionSignals().
    pub(crate) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    /// UpdateACKAggregation().
    pub(crate) fn take_aggregation(&mut self, ack: &Ack, cwnd: f64, flow: &Flow) {
        let interval = flow.now.since(self.extra_acked_interval_start);
        let mut expected = self.bw * interval.as_secs_f64();
        if self.extra_acked_delivered as f64 <= expected {
            self.restart_aggregation(flow.now);
            expected = 0.0;
        }
        self.extra_acked_delivered = self.extra_acked_delivered.saturating_add(ack.delivered);
        let extra = (self.extra_acked_delivered as f64 - expected).min(cwnd);
        let length = if self.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        self.extra_acked_filter.update(self.round_count, length, extra);
    }

    /// Restart the interval over which aggregation is measured.
    pub(crate) fn restart_aggregation(&mut self, now: Time) {
        self.extra_acked_delivered = 0;
        self.extra_acked_interval_start = now;
    }

    /// ResetFullBW() to `full_bw`.
    pub(crate) fn reset_full_bw(&mut self, full_bw: f64) {
        self.full_bw = full_bw;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// CheckFullBWReached().
    pub(crate) fn look_for_plateau(&mut self, sample: &RateSample) {
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        let delivery_rate = sample.bytes_per_s().unwrap_or(0.0);
        if delivery_rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw(delivery_rate);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_COUNT;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// AdvanceMaxBwFilter(). Cycles without a sample do not count, so that there is always a
    /// maximum (Linux v3 `bbr_advance_bw_hi_filter`).
    pub(crate) fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter[1] > 0.0 {
            self.max_bw_filter = [self.max_bw_filter[1], 0.0];
        }
    }

    /// UpdateMinRTT().
    pub(crate) fn take_rtt(&mut self, ack: &Ack, flow: &Flow) {
        let interval = self.tolerances.probe_rtt_interval;
        self.probe_rtt_expired = flow.now > self.probe_rtt_min_stamp + interval;
        if let Some(rtt) = ack.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = flow.now;
        }
        let is_old = flow.now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if let Some(delay) = self.probe_rtt_min_delay
            && (is_old || self.min_rtt.is_none_or(|least| delay < least))
        {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// Schedule the next ProbeRTT.
    pub(crate) fn renew_min_rtt(&mut self, flow: &Flow) {
        self.probe_rtt_min_stamp = flow.now;
    }

    /// Start with the RTT of the handshake.
    pub(crate) fn begin(&mut self, flow: &Flow) {
        if self.min_rtt.is_none() && flow.min_rtt.is_some() {
            self.min_rtt = flow.min_rtt;
            self.probe_rtt_min_delay = flow.min_rtt;
            self.min_rtt_stamp = flow.now;
            self.probe_rtt_min_stamp = flow.now;
        }
    }

    /// AdvanceLatestDeliverySignals() and BoundBWForModel().
    pub(crate) fn end_ack(&mut self, sample: Option<&RateSample>) {
        if let Some(sample) = sample.filter(|_| self.loss_round_start) {
            self.bw_latest = sample.bytes_per_s().unwrap_or(0.0);
            self.inflight_latest = sample.delivered as f64;
        }
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// NoteLoss(), without the window. Returns whether it is the first loss of its round, before
    /// which the bounds are saved (SaveStateUponLoss()).
    pub(crate) fn note_loss(&mut self, flow: &Flow) -> bool {
        let is_first = !self.is_loss_in_round;
        if is_first {
            self.loss_round_delivered = flow.delivered;
            self.undo = Undo {
                bw_shortterm: self.bw_shortterm,
                inflight_shortterm: self.inflight_shortterm,
                inflight_longterm: self.inflight_longterm,
            };
        }
        self.is_loss_in_round = true;
        is_first
    }

    /// HandleSpuriousLossDetection(), the model's part.
    pub(crate) fn undo_loss(&mut self) {
        self.is_loss_in_round = false;
        self.reset_full_bw(0.0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    const TOLERANCES: Tolerances = Tolerances {
        loss_thresh: 0.02,
        beta: 0.7,
        headroom: 0.15,
        probe_rtt_interval: Duration::from_secs(5),
    };

    /// A sample of `rate` bytes per second.
    fn sample(rate: u64, app_limited: bool) -> RateSample {
        let interval = Duration::from_secs(1);
        RateSample { delivered: rate, interval, app_limited, ..RateSample::default() }
    }

    #[test]
    fn the_volume_at_which_losses_cross_the_threshold() {
        // Packets of 1 byte with 300 in flight, 7 lost: (0.02·299 − 6)/0.98 < 0: 299. A burst of 10
        // lost completely after 295 without loss: 295 + 0.02·295/0.98 = 301.02.
        assert_eq!(TOLERANCES.inflight_at_loss(7, 300, 1), 299.0);
        assert!((TOLERANCES.inflight_at_loss(10, 305, 10) - 301.0204).abs() < 1e-4);
        assert_eq!(TOLERANCES.inflight_at_loss(u64::MAX, 1, u64::MAX), 0.0);
    }

    #[test]
    fn the_max_bw_filter_spans_two_cycles() {
        let mut model = PathModel::new(TOLERANCES);
        model.advance_max_bw_filter();
        for (rate, largest) in [(100, 100.0), (80, 100.0), (70, 80.0), (90, 90.0)] {
            model.take_sample(&sample(rate, false), true, 1e6, &flow(0, 0, 40));
            assert_eq!(model.max_bw(), largest);
            model.advance_max_bw_filter();
        }
        // Application-limited: counts only above the maximum.
        model.take_sample(&sample(60, true), true, 1e6, &flow(0, 0, 40));
        assert_eq!(model.max_bw_filter[1], 0.0);
        model.take_sample(&sample(95, true), true, 1e6, &flow(0, 0, 40));
        assert_eq!(model.max_bw(), 95.0);
    }

    #[test]
    fn a_plateau_is_three_rounds_without_growth_by_a_quarter() {
        let mut model = PathModel::new(TOLERANCES);
        model.round_start = true;
        for (rate, now) in [(100, false), (125, false), (150, false), (156, false), (155, true)] {
            model.look_for_plateau(&sample(rate, false));
            assert_eq!(model.full_bw_now, now, "{rate}");
        }
        assert!(model.full_bw_reached);
        model.reset_full_bw(0.0);
        assert!(!model.full_bw_now && model.full_bw_reached);
    }

    #[test]
    fn losses_lower_the_short_term_bounds_once_per_round() {
        let mut model = PathModel::new(TOLERANCES);
        let sample = sample(60, false);
        let at = |delivered: u64| Flow { delivered, ..flow(0, 0, 40) };
        model.max_bw_filter = [100.0, 0.0];
        assert!(model.note_loss(&at(10)));
        assert!(!model.note_loss(&at(11)));
        // The round is not over: this segment was sent before the loss.
        model.take_sample(&sample, false, 200.0, &at(12));
        assert_eq!(model.bw_shortterm, f64::INFINITY);
        // 0.7·100 = 70 above the latest 60; of the window 200 · 0.7 = 140.
        let sample = RateSample { prior_delivered: 12, ..sample };
        model.take_sample(&sample, false, 200.0, &at(80));
        assert_eq!((model.bw_shortterm, model.inflight_shortterm), (70.0, 140.0));
        model.end_ack(Some(&sample));
        assert_eq!(model.bw, 70.0);
        model.undo_loss();
        assert_eq!(model.bw_shortterm, f64::INFINITY);
    }

    #[test]
    fn min_rtt_is_the_minimum_of_ten_seconds() {
        let mut model = PathModel::new(TOLERANCES);
        let take = |model: &mut PathModel, millis, rtt_ms| {
            model.take_rtt(&ack(1, rtt_ms), &flow(millis, 1, 40));
            model.min_rtt.map(Duration::as_millis)
        };
        assert_eq!(take(&mut model, 1, 40), Some(40));
        assert_eq!(take(&mut model, 4_000, 50), Some(40));
        assert!(!model.probe_rtt_expired);
        // After 5 s a new minimum of 5 s begins; 40 stays until its 10 s are over.
        assert_eq!(take(&mut model, 5_002, 60), Some(40));
        assert!(model.probe_rtt_expired);
        assert_eq!(take(&mut model, 9_000, 55), Some(40));
        assert_eq!(take(&mut model, 10_002, 70), Some(55));
        assert_eq!(take(&mut model, 10_003, 39), Some(39));
    }

    #[test]
    fn aggregation_spans_one_round_before_the_plateau_and_ten_after() {
        let mut model = PathModel::new(TOLERANCES);
        // The expected volume is so large that every acknowledgement begins a new interval.
        model.bw = 1e9;
        let round = |model: &mut PathModel, n: u64, segments: u64| {
            let flow = Flow { delivered: n * 100, ..flow(n * 1_000, 0, 40) };
            let sample = RateSample { prior_delivered: (n - 1) * 100, ..sample(60, false) };
            model.take_sample(&sample, false, 1e6, &flow);
            model.take_aggregation(&ack(segments, 40), 1e9, &flow);
            model.extra_acked_filter.get().unwrap() / f64::from(flow.mss)
        };
        let rounds: Vec<f64> =
            [5, 2, 2].iter().zip(1..).map(|(s, n)| round(&mut model, n, *s)).collect();
        assert_eq!(rounds, [5.0, 5.0, 2.0]);
        model.full_bw_reached = true;
        assert_eq!(round(&mut model, 4, 5), 5.0);
        for n in 5..=14 {
            assert_eq!(round(&mut model, n, 2), 5.0, "round {n}");
        }
        assert_eq!(round(&mut model, 15, 2), 2.0);
    }
}
