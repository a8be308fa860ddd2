//! Random early detection.
//!
//! Source: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM ToN 1(4), 1993, figure 2; the gentle form: S. Floyd, "Recommendation on using the
//! 'gentle_' variant of RED", 2000. Averages are in packets.

use fairway_random::Stream;
use fairway_units::{Duration, Time};

use crate::{Admission, Backlog, Packet};

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq)]
pub struct RedConfig {
    /// Average queue, in packets, below which nothing is dropped.
    pub min_threshold: f64,
    /// Average queue, in packets, at which the drop probability reaches its maximum.
    pub max_threshold: f64,
    /// That maximum.
    pub max_probability: f64,
    /// Weight w_q of a new sample of the queue in its average.
    pub weight: f64,
    /// Whether the probability rises from the maximum to 1 between one and two `max_threshold`,
    /// rather than jumping to 1.
    pub gentle: bool,
    /// Whether packets that allow it are marked where they would be dropped early.
    pub ecn: bool,
    /// Time a typical packet takes to leave, by which the average decays while the link is idle.
    pub typical_transmission: Duration,
}

/// The state of one RED queue.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    average: f64,
    /// Packets admitted since the last early drop; −1 below the lower threshold.
    count: i64,
    stream: Stream,
}

impl Red {
    pub(crate) fn new(config: RedConfig, stream: Stream) -> Self {
        Red { config, average: 0.0, count: -1, stream }
    }

    pub(crate) fn admit(
        &mut self,
        packet: &impl Packet,
        fits: bool,
        backlog: &Backlog,
        now: Time,
    ) -> Admission {
        self.update_average(backlog.packets, backlog.idle_since, now);
        let early = self.wants_early_drop();
        if !fits {
            self.count = 0;
            return Admission::Drop;
        }
        match early {
            Early::Keep => Admission::Enqueue,
            Early::Signal if self.config.ecn && packet.is_ecn_capable() => Admission::Mark,
            Early::Signal | Early::Force => Admission::Drop,
        }
    }

    /// Figure 2 of the paper; as in ns-2.35 (`queue/red.cc`, `estimator`), the arrival after an idle
    /// time counts as a sample too.
    fn update_average(&mut self, backlog_packets: u64, idle_since: Option<Time>, now: Time) {
        if let Some(idle_since) = idle_since {
            let typical = self.config.typical_transmission.as_nanos().max(1) as f64;
            let packets = now.since(idle_since).as_nanos() as f64 / typical;
            self.average *= libm::pow(1.0 - self.config.weight, packets);
        }
        self.average += self.config.weight * (backlog_packets as f64 - self.average);
    }

    fn wants_early_drop(&mut self) -> Early {
        let c = &self.config;
        let probability = if self.average < c.min_threshold {
            self.count = -1;
            return Early::Keep;
        } else if self.average < c.max_threshold {
            c.max_probability * (self.average - c.min_threshold)
                / (c.max_threshold - c.min_threshold)
        } else if c.gentle && self.average < 2.0 * c.max_threshold {
            c.max_probability
                + (1.0 - c.max_probability) * (self.average - c.max_threshold) / c.max_threshold
        } else {
            self.count = 0;
            return Early::Force;
        };
        self.count += 1;
        // Spreads drops evenly: uniform rather than geometric gaps (section 7 of the paper).
        let spread = 1.0 - self.count as f64 * probability;
        if spread <= 0.0 || self.stream.unit() < probability / spread {
            self.count = 0;
            Early::Signal
        } else {
            Early::Keep
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Early {
    Keep,
    Signal,
    Force,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    struct Plain(bool);
    impl Packet for Plain {
        fn wire_bytes(&self) -> u32 {
            1000
        }
        fn ecn(&self) -> Ecn {
            if self.0 { Ecn::Ect0 } else { Ecn::NotEct }
        }
        fn mark_congestion(&mut self) {}
    }

    fn found(packets: u64) -> Backlog {
        Backlog { packets, ..Backlog::default() }
    }

    fn config() -> RedConfig {
        RedConfig {
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: 0.1,
            weight: 1.0,
            gentle: false,
            ecn: false,
            typical_transmission: Duration::from_millis(1),
        }
    }

    fn drop_share(config: RedConfig, backlog: u64, n: u32) -> f64 {
        let mut red = Red::new(config, Stream::new(1, "red"));
        let drops = (0..n)
            .filter(|_| {
                red.admit(&Plain(false), true, &found(backlog), Time::ZERO) == Admission::Drop
            })
            .count();
        drops as f64 / f64::from(n)
    }

    #[test]
    fn thresholds_bound_the_drops() {
        assert_eq!(drop_share(config(), 4, 1000), 0.0);
        assert_eq!(drop_share(config(), 15, 1000), 1.0);
    }

    #[test]
    fn drops_are_spread_evenly_between_thresholds() {
        // Average 10: p_b = 0.1·(10−5)/(15−5) = 0.05. The first packet after a drop has count 1,
        // so the gap n has probability 0.05/0.95 for n = 1..19: uniform, mean 10, share 0.1.
        let share = drop_share(config(), 10, 200_000);
        assert!((share - 0.1).abs() < 0.002, "{share}");
    }

    #[test]
    fn gentle_rises_slowly_to_one() {
        // Average 22: p_b = 0.1 + 0.9·7/15 = 0.52; the first packet after a drop meets
        // 0.52/(1 − 0.52) > 1: every packet is dropped.
        let gentle = RedConfig { gentle: true, ..config() };
        assert!(drop_share(gentle.clone(), 22, 1000) > 0.99);
        // Average 16: p_b = 0.1 + 0.9/15 = 0.16. Gap 1..5 each 0.16/0.84 = 0.1905, gap 6 the
        // rest, 0.0476: mean 0.1905·15 + 0.0476·6 = 3.143, share 0.318.
        let share = drop_share(gentle, 16, 200_000);
        assert!((0.313..0.323).contains(&share), "{share}");
    }

    #[test]
    fn the_average_decays_while_idle() {
        // w = 0.5, average 8 after one sample of 16; idle for three typical packets: 8/8 = 1;
        // then the arrival's own sample of 0: 0.5.
        let mut red = Red::new(RedConfig { weight: 0.5, ..config() }, Stream::new(1, "red"));
        red.update_average(16, None, Time::ZERO);
        assert_eq!(red.average, 8.0);
        red.update_average(0, Some(Time::from_nanos(0)), Time::from_nanos(3_000_000));
        assert_eq!(red.average, 0.5);
    }

    #[test]
    fn ecn_marks_early_but_still_drops_when_full() {
        let ecn = RedConfig { ecn: true, max_probability: 1.0, ..config() };
        let mut red = Red::new(ecn, Stream::new(1, "red"));
        let now = Time::ZERO;
        let mut seen = Vec::new();
        for _ in 0..20 {
            seen.push(red.admit(&Plain(true), true, &found(14), now));
        }
        assert!(seen.contains(&Admission::Mark) && !seen.contains(&Admission::Drop));
        assert_eq!(red.admit(&Plain(true), false, &found(14), now), Admission::Drop);
        assert_eq!(red.admit(&Plain(true), true, &found(15), now), Admission::Drop);
    }
}
