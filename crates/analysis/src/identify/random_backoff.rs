//! An algorithm that reduces its window by itself, at random: whether it should have, and whether a
//! fall of the window without a loss is one of its own.

use fairway_cc::{Ack, CongestionControl, Flow, Signal};

/// CDG keeps 724/1024 of the window (Linux 6.1 `net/ipv4/tcp_cdg.c`, `backoff_beta`).
const KEPT: f64 = 724.0 / 1024.0;
/// A fall by more than this is one, beside what a segment more or less makes.
const FALL: f64 = 0.12;
/// After a loss it keeps half, or as much as its shadow window says: up to all of it.
const MOST_AFTER_LOSS: f64 = 0.75;

/// Its draws, apart from its window.
pub struct RandomBackoff {
    /// The algorithm as it is: how often it backs off at such round trips.
    sampler: Box<dyn CongestionControl>,
    drawn: u32,
    seen: u32,
    /// The window before a fall that has just begun, segments.
    falls_from: Option<f64>,
    /// Whether it has fallen since the last loss: its shadow window is then above the window.
    has_shadow: bool,
}

/// How a round counts.
pub enum Fall {
    /// Nothing in particular.
    None,
    /// A fall has begun: how far shows in the next round.
    Begins,
    /// It is over: the window before, and by which factor e^`off` it missed what the algorithm keeps.
    Ends { from_segments: f64, off: f64 },
    /// A loss left more than half of the window.
    Shadow,
}

impl RandomBackoff {
    /// With the algorithm as it is.
    pub fn new(sampler: Box<dyn CongestionControl>) -> Self {
        RandomBackoff { sampler, drawn: 0, seen: 0, falls_from: None, has_shadow: false }
    }

    /// The handshake is over.
    pub fn established(&mut self, flow: &Flow) {
        self.sampler.on_established(flow);
    }

    /// An acknowledgement arrived.
    pub fn acked(&mut self, ack: &Ack, flow: &Flow) {
        self.sampler.on_ack(ack, flow);
        if self.sampler.wants_reduction() {
            self.drawn += 1;
            self.sampler.on_congestion(Signal::Delay, flow);
            self.sampler.on_recovered(self.sampler.cwnd(), flow);
        }
    }

    /// A round with `seen` segments where `expected` would be.
    pub fn judge(&mut self, seen: f64, expected: f64, is_after_episode: bool) -> Fall {
        let off = libm::log(seen / expected);
        if is_after_episode {
            self.falls_from = None;
            let has_shadow = std::mem::take(&mut self.has_shadow);
            let is_shadow = has_shadow && off > 0.0 && off < MOST_AFTER_LOSS;
            return if is_shadow { Fall::Shadow } else { Fall::None };
        }
        if let Some(from_segments) = self.falls_from.take() {
            self.seen += 1;
            self.has_shadow = true;
            return Fall::Ends { from_segments, off: libm::log(seen / (KEPT * from_segments)) };
        }
        if off < -FALL - 1.0 / seen {
            self.falls_from = Some(expected);
            return Fall::Begins;
        }
        Fall::None
    }

    /// Log likelihood of the number of falls that were seen, when so many were drawn: of a Poisson
    /// distribution, relative to its most likely number.
    pub fn log_likelihood(&self) -> f64 {
        let (drawn, seen) = (f64::from(self.drawn) + 0.5, f64::from(self.seen) + 0.5);
        // Stirling, with both counts uncertain.
        seen * libm::log(drawn / seen) - drawn + seen
    }
}

#[cfg(test)]
mod tests {
    use fairway_cc::{Init, Selection, Variant, create};

    use super::*;

    fn random() -> RandomBackoff {
        let selection = Selection { name: "cdg".to_owned(), variant: None, params: Vec::new() };
        let init = Init {
            mss: 1_448,
            initial_window: 14_480,
            initial_ssthresh: None,
            slow_start: None,
            seed: 1,
            coupling: None,
            abe: false,
        };
        RandomBackoff::new(create(&selection, Variant::Linux6_1, &init).unwrap())
    }

    #[test]
    fn a_fall_to_seven_tenths_is_its_own() {
        let mut random = random();
        assert!(matches!(random.judge(100.0, 100.0, false), Fall::None));
        assert!(matches!(random.judge(85.0, 100.0, false), Fall::Begins));
        // 724/1024 of 100 is 70.7.
        let Fall::Ends { from_segments, off } = random.judge(70.7, 100.0, false) else {
            panic!("a fall ends in the round after it begins");
        };
        assert!(from_segments == 100.0 && off.abs() < 1e-3, "{off}");
    }

    #[test]
    fn a_loss_may_leave_more_than_half_after_a_fall() {
        let mut random = random();
        assert!(matches!(random.judge(70.0, 50.0, true), Fall::None));
        random.judge(85.0, 100.0, false);
        random.judge(70.7, 100.0, false);
        assert!(matches!(random.judge(70.0, 50.0, true), Fall::Shadow));
        assert!(matches!(random.judge(50.0, 50.0, true), Fall::None));
        assert!(matches!(random.judge(120.0, 50.0, true), Fall::None));
    }

    #[test]
    fn falls_that_were_drawn_and_not_seen_speak_against_it() {
        let mut random = random();
        assert!(random.log_likelihood().abs() < 1e-9);
        random.drawn = 30;
        let none = random.log_likelihood();
        random.seen = 30;
        let all = random.log_likelihood();
        // 0.5 ln(61) - 30 = -27.9, and 0.
        assert!((none + 27.94).abs() < 0.02 && all.abs() < 1e-9, "{none} {all}");
    }
}
