//! Policer detection of Linux's BBR: the long-term rate of a path that drops all excess.

use crate::Flow;
use crate::delivery::{UNIT, bandwidth, bytes_per_s};

/// Least rounds of an interval (Linux 6.1 `tcp_bbr.c`, `bbr_lt_intvl_min_rtts`) …
const MIN_ROUNDS: u32 = 4;
/// … and most (`bbr_lt_bw_sampling`).
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Least ratio of lost to delivered in a lossy interval, in 1/256 (`bbr_lt_loss_thresh`).
const LOSSY: u64 = 50;
/// Rates count as equal if they differ by at most this fraction, in 1/256 (`bbr_lt_bw_ratio`) …
const SAME_RATIO: u64 = UNIT / 8;
/// … or by this many bytes per second (`bbr_lt_bw_diff`).
const SAME_BYTES_PER_S: u64 = 4_000 / 8;
/// Rounds for which the long-term rate is used (`bbr_lt_bw_max_rtts`).
const KEPT_ROUNDS: u32 = 48;

/// Change of the estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// No change.
    Unchanged,
    /// The path is policed: use [`Policer::rate`].
    Found,
    /// The rate has been used for long enough.
    GivenUp,
}

/// One acknowledgement, as seen by policer detection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Whether it begins a round.
    pub(crate) round_start: bool,
    /// Whether it found losses.
    pub(crate) has_losses: bool,
    /// Whether its sample is limited by the application.
    pub(crate) app_limited: bool,
    /// Whether the algorithm is cruising, so that rounds count towards giving up.
    pub(crate) is_cruising: bool,
}

impl Event {
    pub(crate) fn new(
        round_start: bool,
        has_losses: bool,
        app_limited: bool,
        is_cruising: bool,
    ) -> Self {
        Event { round_start, has_losses, app_limited, is_cruising }
    }

    /// A timeout counts as a loss that ends a round (`bbr_set_state`).
    pub(crate) fn timeout(is_cruising: bool) -> Self {
        Event { round_start: true, has_losses: true, app_limited: false, is_cruising }
    }
}

/// Detection by two successive lossy intervals of equal rate (`bbr_lt_bw_sampling`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Policer {
    is_sampling: bool,
    is_found: bool,
    rounds: u32,
    /// Rate of the last interval, or the policer's; zero for none.
    bw: u64,
    start_ms: u64,
    start_delivered: u64,
    start_lost: u64,
}

impl Policer {
    /// The policer's rate, if there is one.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.is_found.then_some(self.bw)
    }

    /// Reset.
    pub(crate) fn reset(&mut self, flow: &Flow) {
        *self = Policer::default();
        self.begin_interval(flow);
    }

    fn begin_interval(&mut self, flow: &Flow) {
        self.start_ms = flow.now.as_millis();
        self.start_delivered = flow.delivered;
        self.start_lost = flow.lost;
        self.rounds = 0;
    }

    /// Process an acknowledgement with a sample, or a timeout.
    pub(crate) fn on_event(&mut self, event: Event, flow: &Flow) -> Verdict {
        if self.is_found {
            return self.keep(event, flow);
        }
        if !self.is_sampling {
            // The first loss shows that the policer's token bucket is empty.
            if !event.has_losses {
                return Verdict::Unchanged;
            }
            self.begin_interval(flow);
            self.is_sampling = true;
        }
        if event.app_limited {
            self.reset(flow);
            return Verdict::Unchanged;
        }
        self.rounds += u32::from(event.round_start);
        if self.rounds > MAX_ROUNDS {
            self.reset(flow);
            return Verdict::Unchanged;
        }
        // An interval ends with a loss too.
        if self.rounds < MIN_ROUNDS || !event.has_losses {
            return Verdict::Unchanged;
        }
        self.end_interval(flow)
    }

    fn keep(&mut self, event: Event, flow: &Flow) -> Verdict {
        if event.is_cruising && event.round_start {
            self.rounds += 1;
            if self.rounds >= KEPT_ROUNDS {
                self.reset(flow);
                return Verdict::GivenUp;
            }
        }
        Verdict::Unchanged
    }

    fn end_interval(&mut self, flow: &Flow) -> Verdict {
        let lost = u128::from(flow.lost.saturating_sub(self.start_lost));
        let delivered = flow.delivered.saturating_sub(self.start_delivered);
        let elapsed_ms = flow.now.as_millis().saturating_sub(self.start_ms);
        let is_lossy = lost * u128::from(UNIT) >= u128::from(LOSSY) * u128::from(delivered);
        if delivered == 0 || !is_lossy || elapsed_ms == 0 {
            return Verdict::Unchanged;
        }
        let elapsed = fairway_units::Duration::from_nanos(elapsed_ms.saturating_mul(1_000_000));
        let bw = bandwidth(delivered, flow.mss, elapsed);
        if self.bw > 0 && is_same(bw, self.bw, flow.mss) {
            self.bw = bw.midpoint(self.bw);
            self.is_found = true;
            self.rounds = 0;
            return Verdict::Found;
        }
        self.bw = bw;
        self.begin_interval(flow);
        Verdict::Unchanged
    }
}

/// `bbr_lt_bw_interval_done`.
fn is_same(bw: u64, last: u64, mss: u32) -> bool {
    let difference = bw.abs_diff(last);
    difference * UNIT <= SAME_RATIO * last || bytes_per_s(difference, mss, UNIT) <= SAME_BYTES_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, flow};

    /// The flow after `rounds` rounds of 40 ms, `rate` segments delivered and `lost` lost in each.
    fn after(rounds: u64, rate: u64, lost: u64) -> Flow {
        let segments = |n: u64| n * u64::from(MSS);
        Flow {
            delivered: segments(rounds * rate),
            lost: segments(rounds * lost),
            ..flow(rounds * 40, 10, 40)
        }
    }

    fn run(rounds: std::ops::Range<u64>, policer: &mut Policer, lost: u64) -> Vec<Verdict> {
        rounds.map(|n| policer.on_event(Event::timeout(true), &after(n, 100, lost))).collect()
    }

    #[test]
    fn two_lossy_intervals_of_equal_rate_indicate_a_policer() {
        // 20 of 100 are 51.2/256: lossy. The first loss begins an interval, including its own
        // round, which ends in the fourth; the next ends four rounds later.
        let mut policer = Policer::default();
        let verdicts = run(1..9, &mut policer, 20);
        assert_eq!(verdicts.iter().position(|v| *v == Verdict::Found), Some(7));
        // 100 segments in 40 ms: 2.5 per millisecond, 0.0025·2²⁴ = 41943.
        assert_eq!(policer.rate(), Some(41_943));
        // Given up after 48 rounds.
        let verdicts = run(9..57, &mut policer, 20);
        assert_eq!(verdicts.iter().position(|v| *v == Verdict::GivenUp), Some(47));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn a_low_loss_rate_indicates_none() {
        // 19 of 100 are 48.6/256.
        let mut policer = Policer::default();
        assert!(run(1..40, &mut policer, 19).iter().all(|v| *v == Verdict::Unchanged));
    }

    #[test]
    fn rates_within_an_eighth_are_equal() {
        assert!(is_same(112, 100, MSS) && is_same(88, 100, MSS));
        // 1000 and 1126: 126·256 > 32·1000, but 126 are 10 kB/s, more than 500 B/s.
        assert!(is_same(1_125, 1_000, MSS) && !is_same(1_126, 1_000, MSS));
        // 5 · 2⁻²⁴ segments per microsecond: 5·1448·0.99e6/2²⁴ = 427 bytes per second; 6: 512.
        assert!(is_same(6, 1, MSS) && !is_same(7, 1, MSS));
    }

    #[test]
    fn an_idle_application_resets_it() {
        let mut policer = Policer::default();
        run(1..4, &mut policer, 20);
        policer.on_event(Event { app_limited: true, ..Event::timeout(true) }, &after(4, 100, 20));
        assert!(!policer.is_sampling);
    }
}
