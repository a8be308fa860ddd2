//! How long it takes until one of several contenders has sent a frame.

use super::dcf::{Backoff, Contention};
use super::timing::Times;

/// Who contends for the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contenders {
    /// Nodes whose next frame has data.
    pub data: u32,
    /// Nodes whose next frame is TCP's acknowledgement.
    pub ack: u32,
}

impl Contenders {
    /// All of them.
    pub fn all(self) -> u32 {
        self.data.saturating_add(self.ack)
    }

    /// Mean time until each of them has sent a frame, in microseconds: as many times the mean time
    /// per success as there are contenders, as each is as likely as the others to send the next one.
    ///
    /// With attempts at the rate of saturation, as G. Kuriakose, S. Harsha, A. Kumar and V. Sharma have it
    /// ("Analytical models for capacity estimation of IEEE 802.11 WLANs using DCF for internet applications",
    /// Wireless Networks 15(2), 2009). A success takes 1/P(success) slots of saturation, each idle, a
    /// success or one of two kinds of collision.
    pub(super) fn round_us(self, contention: &Contention, times: &Times) -> f64 {
        let attempt = contention.attempt;
        let (data, ack) = (f64::from(self.data), f64::from(self.ack));
        let silent = |nodes: f64| libm::pow(1.0 - attempt, nodes);
        let idle = silent(data + ack);
        // One node of c succeeds; c times as often any.
        let own_success = attempt * silent(data + ack - 1.0);
        // Two or more acknowledgements, and no data.
        let some_acks = 1.0 - silent(ack) - ack * attempt * silent(ack - 1.0);
        let ack_collision = silent(data) * some_acks.max(0.0);
        let success = (data + ack) * own_success;
        let data_collision = (1.0 - idle - success - ack_collision).max(0.0);
        let wasted = idle * times.slot_us
            + data_collision * times.data_collision_us
            + ack_collision * times.ack_collision_us;
        wasted / own_success + data * times.data_us + ack * times.ack_us
    }
}

/// Mean times of contenders, each computed once.
#[derive(Debug)]
pub(super) struct Rounds {
    backoff: Backoff,
    times: Times,
    contention: Vec<Contention>,
}

impl Rounds {
    pub(super) fn new(backoff: Backoff, times: Times) -> Self {
        Rounds { backoff, times, contention: Vec::new() }
    }

    /// Attempts and collisions of one to so many contenders as were asked for.
    pub(super) fn contention(&self) -> &[Contention] {
        &self.contention
    }

    /// [`Contenders::round_us`] of one or more.
    pub(super) fn round_us(&mut self, contenders: Contenders) -> f64 {
        let all = contenders.all().max(1);
        for n in self.contention.len() as u32 + 1..=all {
            self.contention.push(self.backoff.fixed_point(n));
        }
        contenders.round_us(&self.contention[all as usize - 1], &self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::tests::{B, G};

    #[test]
    fn one_with_data_and_others_with_acknowledgements() {
        // From an independent computation: mean time per success with 0 to 4 acknowledgements. By hand
        // the first: 2/33 attempts per slot are 31/2 idle slots before each, 310 + 1617.09; 15/2 · 9 + 326.
        let b = [1927.09, 1300.40, 1100.09, 1005.28, 951.93];
        let g = [393.50, 275.56, 238.44, 220.88, 210.88];
        for (cw_min, times, values) in [(31, B, b), (15, G, g)] {
            let backoff = Backoff { cw_min, cw_max: 1023, attempts: Some(7) };
            let mut rounds = Rounds::new(backoff, times);
            for (ack, expected) in (0..).zip(values) {
                let contenders = Contenders { data: 1, ack };
                let found = rounds.round_us(contenders) / f64::from(contenders.all());
                assert!((found - expected).abs() < 0.01, "{ack}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn acknowledgements_alone() {
        // Two: 737.37 and 154.94 per success.
        let two = Contenders { data: 0, ack: 2 };
        let backoff = Backoff { cw_min: 31, cw_max: 1023, attempts: Some(7) };
        let found = Rounds::new(backoff, B).round_us(two) / 2.0;
        assert!((found - 737.37).abs() < 0.01, "{found}");
        let backoff = Backoff { cw_min: 15, ..backoff };
        let found = Rounds::new(backoff, G).round_us(two) / 2.0;
        assert!((found - 154.94).abs() < 0.01, "{found}");
    }
}
