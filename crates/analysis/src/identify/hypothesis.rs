//! One algorithm that might be the sender's: driven by what the sender has seen, it says what the
//! window would be.

use fairway_cc::{Ack, CongestionControl, Flow, Phase, Signal};
use fairway_units::{Duration, Time};

use super::evidence::Evidence;
use super::random_backoff::{Fall, RandomBackoff};

/// A window that is off by more than this right after an episode is set to the one that was seen:
/// the back-off has been judged, and growth is judged from where the sender really is.
const OFF_AFTER_EPISODE: f64 = 0.015;
/// The same in any other round, twice in a row.
const OFF_ELSEWHERE: f64 = 0.04;
/// The same before an episode: what is left of a window follows from the one that was there.
const OFF_BEFORE_EPISODE: f64 = 0.1;
/// Logarithm of the probability that an algorithm which backs off at random does so in a round.
const RANDOM_FALL: f64 = -1.5;

/// An algorithm at work.
pub struct Hypothesis {
    cc: Box<dyn CongestionControl>,
    mss: u32,
    /// Bytes released by pacing since the round began.
    paced_bytes: f64,
    paced_until: Time,
    /// The window at the moment of the round that is looked at, bytes.
    noted_cwnd: u64,
    was_off: bool,
    random: Option<RandomBackoff>,
    /// Whether the algorithm itself says what window an episode ends with, so that it cannot be set.
    ends_by_itself: bool,
    /// What its window is short of the one that was seen, then, bytes.
    correction: f64,
    /// Evidence for it.
    pub evidence: Evidence,
}

/// A round trip as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Most in flight, bytes.
    pub most_bytes: u64,
    /// In flight when it began and when it ended, bytes.
    pub first_bytes: u64,
    /// At its end.
    pub last_bytes: u64,
    /// Delivered meanwhile, bytes.
    pub delivered_bytes: u64,
    /// Whether it is the first after an episode of congestion.
    pub is_after_episode: bool,
    /// Whether the window cannot be seen in it.
    pub is_blind: bool,
}

impl Hypothesis {
    /// An algorithm at the start of the connection; `sampler` is the same once more if falls of the window
    /// without a loss may be its own.
    pub fn new(
        cc: Box<dyn CongestionControl>,
        sampler: Option<Box<dyn CongestionControl>>,
        ends_by_itself: bool,
        mss: u32,
        now: Time,
    ) -> Self {
        Hypothesis {
            cc,
            mss,
            paced_bytes: 0.0,
            paced_until: now,
            noted_cwnd: 0,
            was_off: false,
            random: sampler.map(RandomBackoff::new),
            ends_by_itself,
            correction: 0.0,
            evidence: Evidence::default(),
        }
    }

    /// The handshake is over.
    pub fn established(&mut self, flow: &Flow) {
        if let Some(random) = &mut self.random {
            random.established(flow);
        }
        self.cc.on_established(flow);
    }

    /// Evidence from the number of its random back-offs.
    pub fn random_log_likelihood(&self) -> f64 {
        self.random.as_ref().map_or(0.0, RandomBackoff::log_likelihood)
    }

    /// An acknowledgement arrived; `ends_episode` if recovery or a reduction ends with it.
    pub fn acked(&mut self, ack: &Ack, ends_episode: bool, most_outstanding: u64, flow: &Flow) {
        self.pace(flow.now);
        if let Some(random) = &mut self.random {
            random.acked(ack, flow);
        }
        let mut ack = *ack;
        ack.may_grow &= self.was_used(most_outstanding);
        let ack = &ack;
        if ends_episode {
            let cwnd = if self.cc.controls_recovery() {
                self.cc.cwnd()
            } else {
                // The reduction arrives at the threshold (RFC 6937).
                self.cc.cwnd().min(self.cc.ssthresh())
            };
            self.cc.on_last_ack(ack, cwnd, Phase::Open, flow);
        } else {
            self.cc.on_ack(ack, flow);
        }
    }

    /// Whether a window of its size has been in use, when `most_outstanding` bytes were outstanding at
    /// the most: one that was not does not grow (Linux 6.1 `tcp_is_cwnd_limited`).
    fn was_used(&self, most_outstanding: u64) -> bool {
        let cwnd = self.cc.cwnd();
        if cwnd < self.cc.ssthresh() {
            return cwnd < 2 * most_outstanding;
        }
        // What is put off to leave as a burst counts as used.
        cwnd < most_outstanding + most_outstanding / 4 + 8 * u64::from(self.mss)
    }

    /// An episode begins, with `most` bytes in flight at the most of late; 0 if that is not known.
    pub fn congested(&mut self, signal: Signal, most: u64, flow: &Flow) {
        self.correction = 0.0;
        if most > 0 && self.cc.pacing_rate().is_none() && !self.ends_by_itself {
            let off = libm::log(self.cc.cwnd() as f64 / most as f64);
            if off.abs() > OFF_BEFORE_EPISODE + 2.0 * f64::from(self.mss) / most as f64 {
                self.cc.on_recovered(most, flow);
            }
        }
        self.cc.on_congestion(signal, flow);
    }

    /// The retransmission timer has expired.
    pub fn timed_out(&mut self, first: bool, flow: &Flow) {
        self.pace(flow.now);
        self.correction = 0.0;
        self.cc.on_rto(first, flow);
    }

    /// The last reduction was for nothing.
    pub fn undone(&mut self, flow: &Flow) {
        self.cc.on_spurious(flow);
    }

    /// More was in flight than at any other moment of the round.
    pub fn note(&mut self) {
        self.noted_cwnd = self.cc.cwnd();
    }

    /// A round trip is over.
    pub fn judge(&mut self, round: &Round, flow: &Flow) {
        self.pace(flow.now);
        if !round.is_blind {
            self.compare(round, flow);
        }
        self.begin_round(flow.now);
    }

    /// A round trip begins.
    pub fn begin_round(&mut self, now: Time) {
        self.pace(now);
        self.paced_bytes = 0.0;
        self.noted_cwnd = 0;
    }

    fn compare(&mut self, round: &Round, flow: &Flow) {
        let mss = f64::from(self.mss);
        let is_paced = self.cc.pacing_rate().is_some();
        let (seen, expected) = if is_paced {
            let sent = round.first_bytes as f64 + self.paced_bytes - round.delivered_bytes as f64;
            (round.last_bytes as f64, sent.min(self.cc.cwnd() as f64))
        } else {
            (round.most_bytes as f64, self.noted_cwnd as f64 + self.correction)
        };
        let (seen, expected) = ((seen / mss).max(0.5), (expected / mss).max(0.5));
        let off = libm::log(seen / expected);
        if self.explains_fall(seen, expected, round.is_after_episode, flow) {
            return;
        }
        self.evidence.add(off, seen, round.is_after_episode);
        let limit = if round.is_after_episode { OFF_AFTER_EPISODE } else { OFF_ELSEWHERE };
        let is_off = off.abs() > limit + if round.is_after_episode { 0.5 } else { 0.9 } / seen;
        if is_off && !is_paced && (round.is_after_episode || self.was_off) {
            self.align((seen * mss) as u64, flow);
            self.was_off = false;
        } else {
            self.was_off = is_off;
        }
    }

    /// Whether a round is explained by a back-off at random.
    fn explains_fall(&mut self, seen: f64, expected: f64, after: bool, flow: &Flow) -> bool {
        let Some(random) = &mut self.random else { return false };
        let mss = f64::from(self.mss);
        match random.judge(seen, expected, after) {
            Fall::None => false,
            Fall::Begins => {
                self.evidence.add_log(RANDOM_FALL, false);
                true
            }
            Fall::Ends { from_segments, off } => {
                self.evidence.add(off, seen, false);
                self.cc.on_recovered((from_segments * mss) as u64, flow);
                self.cc.on_congestion(Signal::Delay, flow);
                self.cc.on_recovered((seen * mss) as u64, flow);
                true
            }
            Fall::Shadow => {
                self.evidence.add_log(RANDOM_FALL, true);
                self.align((seen * mss) as u64, flow);
                true
            }
        }
    }

    /// Sets the window to the one that was seen. Where it is below the threshold and falls, slow start
    /// has ended.
    fn align(&mut self, seen: u64, flow: &Flow) {
        if self.ends_by_itself {
            self.correction = seen as f64 - self.noted_cwnd as f64;
            return;
        }
        let is_below = self.cc.ssthresh() != u64::MAX && seen < self.cc.ssthresh();
        if is_below && seen < self.cc.cwnd() {
            self.cc.on_congestion(Signal::Loss, flow);
        }
        self.cc.on_recovered(seen, flow);
    }

    fn pace(&mut self, now: Time) {
        let passed: Duration = now.since(self.paced_until);
        if let Some(rate) = self.cc.pacing_rate() {
            self.paced_bytes += rate.as_bps() as f64 / 8.0 * passed.as_secs_f64();
        }
        self.paced_until = now;
    }
}
