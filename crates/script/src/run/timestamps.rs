//! Timestamps that a script writes, and those that the endpoint's clock has.

use std::collections::BTreeMap;

use fairway_units::Duration;

/// Values that the script expects, each with what was sent.
pub struct Timestamps {
    sent: BTreeMap<u32, u32>,
    first: Option<(u32, u32)>,
    /// Time between two values of the script, if it says.
    tick: Option<Duration>,
}

impl Timestamps {
    /// None yet.
    pub fn new(tick: Option<Duration>) -> Self {
        Timestamps { sent: BTreeMap::new(), first: None, tick }
    }

    /// The endpoint sent `sent` where the script expects `expected`. Where the script says how
    /// long its ticks are, tells the value that was expected if it is not within `tolerance`.
    pub fn compare(&mut self, expected: u32, sent: u32, tolerance: Duration) -> Option<u32> {
        self.sent.insert(expected, sent);
        let (first_expected, first_sent) = *self.first.get_or_insert((expected, sent));
        self.tick?;
        let wanted = first_sent.wrapping_add(self.millis(expected.wrapping_sub(first_expected)));
        let away = u64::from((wanted.wrapping_sub(sent) as i32).unsigned_abs());
        // One more for the rounding of both.
        (away > tolerance.as_millis() + 1).then_some(wanted)
    }

    /// What the endpoint sent where the script writes `value`.
    pub fn sent_as(&self, value: u32) -> u32 {
        if let Some(sent) = self.sent.get(&value) {
            return *sent;
        }
        // By the last one before it: they may lie a little beside the script's, each for itself.
        let before =
            self.sent.range(..value).next_back().map(|(expected, sent)| (*expected, *sent));
        before.or(self.first).map_or(value, |(expected, sent)| {
            sent.wrapping_add(self.millis(value.wrapping_sub(expected)))
        })
    }

    /// Ticks of the endpoint's clock, which are milliseconds; without a word of the script, its own
    /// ticks are so too.
    fn millis(&self, ticks: u32) -> u32 {
        let micros = self.tick.map_or(1000, Duration::as_micros);
        (i64::from(ticks as i32).saturating_mul(micros as i64) / 1000) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_script_become_those_that_were_sent() {
        let mut timestamps = Timestamps::new(None);
        assert_eq!(timestamps.sent_as(7), 7);
        let tolerance = Duration::from_millis(4);
        assert_eq!(timestamps.compare(100, 3000, tolerance), None);
        // Without ticks, any value is right.
        assert_eq!(timestamps.compare(200, 3010, tolerance), None);
        assert_eq!(timestamps.sent_as(200), 3010);
        assert_eq!(timestamps.sent_as(150), 3050);
        assert_eq!(timestamps.sent_as(250), 3060);
        assert_eq!(timestamps.sent_as(90), 2990);
    }

    #[test]
    fn with_ticks_they_are_compared() {
        let mut timestamps = Timestamps::new(Some(Duration::from_millis(10)));
        let tolerance = Duration::from_millis(4);
        assert_eq!(timestamps.compare(100, 3000, tolerance), None);
        assert_eq!(timestamps.compare(110, 3105, tolerance), None);
        assert_eq!(timestamps.compare(120, 3206, tolerance), Some(3200));
    }
}
