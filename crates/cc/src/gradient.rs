//! Delay gradients of CDG: changes of the minimum and maximum RTT from round to round (Hayes and
//! Armitage, IFIP Networking 2011).

use fairway_units::Duration;

use crate::linux::packets_acked;
use crate::{Ack, Flow, Phase};

/// State of the queue inferred from the gradients.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Queue {
    Unknown,
    NotFull,
    Full,
    /// A delay back-off is in progress.
    BackingOff,
}

/// Resolution of gradients, µs (`tcp_cdg_grad`).
const STEP_US: i64 = 64;

/// A value for the minimum RTT of rounds and one for the maximum, µs.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct MinMax {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

impl MinMax {
    fn minus(self, other: MinMax) -> MinMax {
        MinMax { min: self.min - other.min, max: self.max - other.max }
    }

    fn plus(self, other: MinMax) -> MinMax {
        MinMax { min: self.min + other.min, max: self.max + other.max }
    }

    /// Rounded to the nearest step, so that small changes are ignored.
    pub(crate) fn in_steps(self) -> MinMax {
        let steps = |us: i64| (us + us.signum() * STEP_US / 2) / STEP_US;
        MinMax { min: steps(self.min), max: steps(self.max) }
    }

    /// State of the queue: full if the minimum rises and the maximum does not; none without a
    /// trend.
    pub(crate) fn queue(self) -> Option<Queue> {
        if self.min > 0 && self.max <= 0 {
            Some(Queue::Full)
        } else if self.max < 0 || (self.min > 0 && self.max > 0) {
            Some(Queue::NotFull)
        } else {
            None
        }
    }

    /// The gradient used for back-off: of the minima if they rise, otherwise of the maxima.
    pub(crate) fn rising(self) -> i64 {
        if self.min > 0 { self.min } else { self.max }
    }
}

/// Limit of the count of acknowledgements of several segments (`tcp_cdg_acked`).
const MAX_DELAYED: u8 = 5;

/// The gradients of the last rounds.
#[derive(Clone, Debug)]
pub(crate) struct Gradients {
    /// RTTs of this round so far.
    rtt: Option<MinMax>,
    /// RTTs of the round before.
    before: Option<MinMax>,
    round_end: u64,
    has_begun: bool,
    /// Acknowledgements of several segments not yet followed by one of a single segment.
    delayed: u8,
    last: Vec<MinMax>,
    /// Index of the next gradient.
    next: usize,
    is_filled: bool,
    sum: MinMax,
}

impl Gradients {
    /// Gradients over `rounds` rounds.
    pub(crate) fn over(rounds: usize) -> Self {
        Gradients {
            rtt: None,
            before: None,
            round_end: 0,
            has_begun: false,
            delayed: 0,
            last: vec![MinMax::default(); rounds.max(1)],
            next: 0,
            is_filled: false,
            sum: MinMax::default(),
        }
    }

    /// Process an acknowledgement. One of a single segment after some of several may have been
    /// delayed: its RTT counts only if it is the minimum (Hayes, CAIA TR 100219A).
    pub(crate) fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        let micros = |rtt: Option<Duration>| i64::try_from(rtt?.as_micros()).ok();
        let Some(rtt_us @ 1..) = micros(ack.rtt) else { return };
        if !self.has_begun {
            // Linux counts the handshake towards the first round: its RTT is the minimum unless
            // this one is lower.
            self.has_begun = true;
            let first_us = micros(flow.min_rtt).filter(|us| *us > 0).unwrap_or(rtt_us);
            self.rtt = Some(MinMax { min: first_us, max: first_us });
        }
        if flow.phase == Phase::Open {
            let packets = packets_acked(ack, flow);
            if packets == 1 && self.delayed > 0 {
                self.delayed -= 1;
                if let Some(rtt) = &mut self.rtt {
                    rtt.min = rtt.min.min(rtt_us);
                }
                return;
            }
            if packets > 1 && self.delayed < MAX_DELAYED {
                self.delayed += 1;
            }
        }
        self.rtt = Some(match self.rtt {
            Some(rtt) => MinMax { min: rtt.min.min(rtt_us), max: rtt.max.max(rtt_us) },
            None => MinMax { min: rtt_us, max: rtt_us },
        });
    }

    /// Minimum RTT of this round, µs.
    pub(crate) fn min_rtt_us(&self) -> Option<i64> {
        self.rtt.map(|rtt| rtt.min)
    }

    /// Whether the data sent in this round is acknowledged and an RTT was measured.
    pub(crate) fn round_ends(&self, flow: &Flow) -> bool {
        flow.snd_una > self.round_end && self.rtt.is_some()
    }

    /// End the round. Returns its gradient, if there was a round before.
    pub(crate) fn end_round(&mut self, flow: &Flow) -> Option<MinMax> {
        let gradient = self.rtt.zip(self.before).map(|(rtt, before)| rtt.minus(before));
        if let Some(gradient) = gradient {
            self.sum = self.sum.plus(gradient).minus(self.last[self.next]);
            self.last[self.next] = gradient;
            self.next = (self.next + 1) % self.last.len();
            self.is_filled |= self.next == 0;
        }
        self.skip(flow);
        gradient
    }

    /// Begin a round without a gradient of the last one.
    pub(crate) fn skip(&mut self, flow: &Flow) {
        self.before = self.rtt.take();
        self.round_end = flow.snd_nxt;
    }

    /// The next round gives no gradient.
    pub(crate) fn forget_round(&mut self) {
        self.before = None;
    }

    /// Reset.
    pub(crate) fn clear(&mut self, flow: &Flow) {
        *self = Gradients {
            round_end: flow.snd_nxt,
            has_begun: true,
            ..Gradients::over(self.last.len())
        };
    }

    /// Sum of the gradients.
    pub(crate) fn sum(&self) -> MinMax {
        self.sum
    }

    /// Number of rounds summed over.
    pub(crate) fn rounds(&self) -> i64 {
        self.last.len() as i64
    }

    /// Number of gradients known.
    pub(crate) fn known(&self) -> i64 {
        if self.is_filled { self.rounds() } else { self.next as i64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack, flow};

    /// End a round with these RTTs in ms.
    fn round(gradients: &mut Gradients, rtts_ms: &[u64]) -> Option<MinMax> {
        let flow = flow(0, 0, 50);
        for rtt_ms in rtts_ms {
            gradients.on_ack(&ack(1, *rtt_ms), &flow);
        }
        gradients.end_round(&flow)
    }

    #[test]
    fn gradients_are_differences_of_extremes_summed_over_a_window() {
        let mut g = Gradients::over(2);
        assert_eq!(round(&mut g, &[50, 60]), None);
        assert_eq!(round(&mut g, &[51, 58]), Some(MinMax { min: 1_000, max: -2_000 }));
        assert_eq!((g.known(), g.sum()), (1, MinMax { min: 1_000, max: -2_000 }));
        assert_eq!(round(&mut g, &[55, 60]), Some(MinMax { min: 4_000, max: 2_000 }));
        assert_eq!((g.known(), g.sum()), (2, MinMax { min: 5_000, max: 0 }));
        // The first gradient drops out: 4 − 5 = −1 and 2 + 0.
        assert_eq!(round(&mut g, &[50, 60]), Some(MinMax { min: -5_000, max: 0 }));
        assert_eq!(g.sum(), MinMax { min: -1_000, max: 2_000 });
        assert_eq!(g.sum().rising(), 2_000);
        g.forget_round();
        assert_eq!(round(&mut g, &[90]), None);
        assert_eq!(round(&mut g, &[91]), Some(MinMax { min: 1_000, max: 1_000 }));
        g.clear(&flow(0, 0, 50));
        assert_eq!((g.known(), g.sum()), (0, MinMax::default()));
    }

    #[test]
    fn the_handshake_counts_towards_the_first_round() {
        let mut g = Gradients::over(8);
        g.on_ack(&ack(1, 52), &flow(0, 0, 50));
        assert_eq!(g.rtt, Some(MinMax { min: 50_000, max: 52_000 }));
    }

    #[test]
    fn acknowledgements_that_may_be_delayed_lower_the_minimum_only() {
        let flow = flow(0, 0, 50);
        let mut g = Gradients::over(8);
        g.on_ack(&ack(2, 50), &flow);
        g.on_ack(&ack(1, 90), &flow);
        assert_eq!(g.rtt, Some(MinMax { min: 50_000, max: 50_000 }));
        // One of the acknowledgements of several segments is now accounted for.
        g.on_ack(&ack(1, 90), &flow);
        assert_eq!(g.rtt, Some(MinMax { min: 50_000, max: 90_000 }));
        g.on_ack(&ack(2, 70), &flow);
        g.on_ack(&ack(1, 40), &flow);
        assert_eq!(g.min_rtt_us(), Some(40_000));
    }

    #[test]
    fn a_round_ends_when_its_data_is_acknowledged() {
        let mss = u64::from(MSS);
        let at =
            |una: u64, nxt: u64| Flow { snd_una: una * mss, snd_nxt: nxt * mss, ..flow(0, 0, 50) };
        let mut g = Gradients::over(8);
        assert!(!g.round_ends(&at(1, 10)));
        g.on_ack(&ack(1, 50), &at(1, 10));
        assert!(g.round_ends(&at(1, 10)));
        g.end_round(&at(1, 10));
        g.on_ack(&ack(1, 50), &at(10, 20));
        assert!(!g.round_ends(&at(10, 20)));
        assert!(g.round_ends(&at(11, 21)));
    }
}
