//! Packets that are overtaken, or overtake.

use fairway_units::Duration;
use fairway_units::random::Stream;

use super::chance::check_probability;

/// How packets get out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reordering {
    /// Some packets come later by `delay`, and are overtaken by those behind them.
    Late {
        /// Probability of each.
        probability: f64,
        /// By how much.
        delay: Duration,
    },
    /// All packets take `delay` longer but for some, which overtake those before them and are not
    /// held up by jitter either: NetEm's `delay D reorder P gap N` (Linux net/sched/sch_netem.c,
    /// `netem_enqueue`), with D on top of the link's propagation delay.
    Early {
        /// Probability of each that may overtake.
        probability: f64,
        /// At least `gap` − 1 packets are delayed between two that are not; 1 as tc's default.
        gap: u32,
        /// What the others take longer.
        delay: Duration,
    },
}

impl Reordering {
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        let (probability, delay) = match *self {
            Reordering::Late { probability, delay } => (probability, delay),
            Reordering::Early { gap: 0, .. } => {
                return Err(format!(
                    "{name}.gap: expected a number of packets from 1, got 0; write 1 if all may \
                     overtake"
                ));
            }
            Reordering::Early { probability, delay, .. } => (probability, delay),
        };
        check_probability(&format!("{name}.probability"), probability)?;
        if delay == Duration::ZERO {
            return Err(format!(
                "{name}.delay: expected more than 0 s, without which nothing is overtaken; write \
                 \"10 ms\""
            ));
        }
        Ok(())
    }
}

/// What reordering does to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// How much longer it takes.
    pub(super) delay: Duration,
    /// It takes no jitter.
    pub(super) at_once: bool,
}

impl Turn {
    pub(super) const NONE: Turn = Turn { delay: Duration::ZERO, at_once: false };
}

/// Reordering at work.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    config: Reordering,
    /// Packets delayed since the last that was not.
    delayed: u32,
    stream: Stream,
}

impl Turns {
    pub(super) fn new(config: Reordering, stream: Stream) -> Self {
        Turns { config, delayed: 0, stream }
    }

    pub(super) fn next(&mut self) -> Turn {
        match self.config {
            Reordering::Late { probability, delay } => {
                let late = self.stream.unit() < probability;
                Turn { delay: if late { delay } else { Duration::ZERO }, at_once: false }
            }
            Reordering::Early { probability, gap, delay } => {
                let may = self.delayed >= gap.saturating_sub(1);
                if may && self.stream.unit() < probability {
                    self.delayed = 0;
                    return Turn { delay: Duration::ZERO, at_once: true };
                }
                self.delayed = self.delayed.saturating_add(1);
                Turn { delay, at_once: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: Duration = Duration::from_millis(10);

    #[test]
    fn every_gapth_packet_overtakes_if_all_may() {
        // tc's manual: `reorder 100% gap 5` sends the 5th, 10th … at once.
        let config = Reordering::Early { probability: 1.0, gap: 5, delay: D };
        let mut turns = Turns::new(config, Stream::new(1, "wire/reordering"));
        let early: Vec<u32> = (1..=20).filter(|_| turns.next().at_once).collect();
        assert_eq!(early, [5, 10, 15, 20]);
    }

    #[test]
    fn between_two_that_overtake_lie_a_gap_and_a_geometric_number() {
        // gap 3, probability 0.25: 2 delayed, then on average 3 more, then one at once: a share
        // of 1/6. Period sd √0.75/0.25 = 3.46: over n = 600 000 packets 100 000 periods, relative
        // error 3.46/6/√100 000 = 0.0018; four of it on 1/6: 0.0012.
        let config = Reordering::Early { probability: 0.25, gap: 3, delay: D };
        let mut turns = Turns::new(config, Stream::new(2, "wire/reordering"));
        let n = 600_000;
        let early =
            (0..n).filter(|_| turns.next() == Turn { delay: Duration::ZERO, at_once: true });
        assert!((early.count() as f64 / f64::from(n) - 1.0 / 6.0).abs() < 0.0012);
    }

    #[test]
    fn late_packets_are_as_many_as_said() {
        let config = Reordering::Late { probability: 0.1, delay: D };
        let mut turns = Turns::new(config, Stream::new(3, "wire/reordering"));
        let n = 100_000;
        let late = (0..n).filter(|_| turns.next() == Turn { delay: D, at_once: false }).count();
        // 0.1 ± 4·√(0.09/10⁵).
        assert!((late as f64 / f64::from(n) - 0.1).abs() < 0.0038);
    }
}
