//! RED whose maximal drop probability adapts itself.

use fairway_units::{Duration, Time};

use super::Red;

/// How the maximal drop probability is kept where the average queue stays near the middle between
/// the thresholds.
///
/// Source: S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing the
/// Robustness of RED's Active Queue Management", 2001, figure 1; the defaults are its values, which
/// are also those of ns-2.35 (`tcl/lib/ns-default.tcl`) and of Linux (`include/net/red.h`).
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveRed {
    /// Time between two adaptations. ns-2 makes one at the first arrival at which this time has
    /// passed since the last change, Linux by a timer, as here.
    pub interval: Duration,
    /// What is added to the probability if the average is too long, but never more than a quarter
    /// of it.
    pub increment: f64,
    /// What the probability is multiplied by if the average is too short.
    pub decrease_factor: f64,
    /// A probability below this does not decrease.
    pub bottom: f64,
    /// A probability above this does not increase.
    pub top: f64,
}

impl Default for AdaptiveRed {
    fn default() -> Self {
        AdaptiveRed {
            interval: Duration::from_millis(500),
            increment: 0.01,
            decrease_factor: 0.9,
            bottom: 0.01,
            top: 0.5,
        }
    }
}

/// The target of the average: this share of the way between the thresholds, from either end (section
/// 3 of the paper).
const TARGET_MARGIN: f64 = 0.4;

impl Red {
    /// Make the adaptations that are due by `now`. Nothing has arrived since the call before, so the
    /// average has only changed if the link has been idle.
    pub(super) fn adapt_until(&mut self, now: Time, idle_since: Option<Time>) {
        let Some(adaptive) = self.config.adaptive.clone() else { return };
        let interval = adaptive.interval.as_nanos().max(1);
        while self.next_adaptation <= now {
            let at = self.next_adaptation;
            let average = match idle_since {
                Some(idle_since) if idle_since < at => self.decayed(idle_since, at),
                _ => self.average,
            };
            let settled = self.adapt(&adaptive, average);
            // From here on the average only falls, and there is nothing more that this changes.
            let remains = settled && (idle_since.is_none() || average < self.target().0);
            let skipped = if remains { now.since(at).as_nanos() / interval } else { 0 };
            self.next_adaptation =
                at + Duration::from_nanos(interval.saturating_mul(skipped.saturating_add(1)));
        }
    }

    /// Adapt once. Returns whether that changes nothing.
    fn adapt(&mut self, adaptive: &AdaptiveRed, average: f64) -> bool {
        let (low, high) = self.target();
        let before = self.max_probability;
        if average > high && before <= adaptive.top {
            self.max_probability += adaptive.increment.min(before / 4.0);
        } else if average < low && before >= adaptive.bottom {
            self.max_probability *= adaptive.decrease_factor;
        }
        self.max_probability == before
    }

    fn target(&self) -> (f64, f64) {
        let margin = TARGET_MARGIN * (self.config.max_threshold - self.config.min_threshold);
        (self.config.min_threshold + margin, self.config.max_threshold - margin)
    }
}

#[cfg(test)]
mod tests {
    use fairway_units::random::Stream;

    use super::*;
    use crate::RedConfig;

    fn red(average: f64, max_probability: f64) -> Red {
        let adaptive = Some(AdaptiveRed::default());
        let config = RedConfig { adaptive, max_probability, weight: 0.5, ..RedConfig::default() };
        let mut red = Red::new(config, Stream::new(1, "red"));
        red.average = average;
        red
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    }

    #[test]
    fn the_target_is_the_middle_fifth() {
        // 5 + 0.4 · 10 = 9 and 15 − 0.4 · 10 = 11.
        let (low, high) = red(0.0, 0.1).target();
        close(low, 9.0);
        close(high, 11.0);
    }

    #[test]
    fn a_long_average_adds_a_hundredth_each_half_second() {
        let mut red = red(12.0, 0.1);
        red.adapt_until(ms(499), None);
        close(red.max_probability, 0.1);
        red.adapt_until(ms(500), None);
        close(red.max_probability, 0.11);
        // At 1, 1.5 and 2 s.
        red.adapt_until(ms(2_499), None);
        close(red.max_probability, 0.14);
    }

    #[test]
    fn what_is_added_is_at_most_a_quarter() {
        // 0.02 + 0.005 + 0.00625 + 0.0078125 = 0.0390625, a quarter of which is 0.0098.
        let mut red = red(12.0, 0.02);
        red.adapt_until(ms(1_500), None);
        close(red.max_probability, 0.039_062_5);
    }

    #[test]
    fn a_short_average_takes_away_a_tenth() {
        // 0.1 · 0.9³ = 0.0729.
        let mut red = red(8.0, 0.1);
        red.adapt_until(ms(1_500), None);
        close(red.max_probability, 0.0729);
    }

    #[test]
    fn the_probability_stops_just_outside_its_bounds() {
        // Down: 0.1 · 0.9²¹ = 0.01094 ≥ 0.01, so once more: 0.1 · 0.9²² = 0.009847709.
        let mut low = red(8.0, 0.1);
        low.adapt_until(ms(1_000_000_000), None);
        assert!((low.max_probability - 0.009_847_709).abs() < 1e-9, "{}", low.max_probability);
        // Up: 0.495 ≤ 0.5, so once more: 0.505.
        let mut high = red(20.0, 0.495);
        high.adapt_until(ms(1_000_000_000), None);
        close(high.max_probability, 0.505);
        // The next one is due at its own time: 1,000,000.5 s.
        assert_eq!(high.next_adaptation, ms(1_000_000_500));
    }

    #[test]
    fn while_the_link_is_idle_the_average_falls_between_adaptations() {
        // The average of 16 halves with each 800 µs of idleness that begins at 999.2 ms: at 500 ms
        // it is 16: 0.11; at 1000 ms 8: 0.11 · 0.9 = 0.099; at 1500 ms almost 0: 0.0891.
        let mut red = red(16.0, 0.1);
        red.adapt_until(ms(1_600), Some(Time::from_nanos(999_200_000)));
        close(red.max_probability, 0.0891);
    }

    #[test]
    fn catching_up_late_is_the_same_as_keeping_up() {
        let idle = Some(ms(700));
        let mut late = red(14.0, 0.3);
        let mut prompt = late.clone();
        late.adapt_until(ms(300_000), idle);
        for half_second in 1..=600 {
            prompt.adapt_until(ms(500 * half_second), idle);
        }
        assert_eq!(late.max_probability, prompt.max_probability);
        assert_eq!(late.next_adaptation, prompt.next_adaptation);
    }
}
