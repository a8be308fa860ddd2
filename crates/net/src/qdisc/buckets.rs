//! Buckets of tokens: how much may pass at a rate, and how much of it at once.

use fairway_units::{Bytes, Duration, NANOS_PER_SEC, Rate, Time};

/// A second bucket, which bounds how fast the first may be emptied.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakRate {
    /// The rate, more than that of the first bucket.
    pub rate: Rate,
    /// What may pass at once: the largest packet, for packets to leave at the peak rate one by one
    /// (`mtu` or `minburst` in tc-tbf(8)).
    pub mtu: Bytes,
}

/// One bucket or two, from which each packet takes as many tokens as it has bytes. They are full
/// at first. Exact: a token of a bit is divided into 10⁹ parts, and a bucket gains as many of those
/// in a nanosecond as its rate has bits per second. (Linux counts in nanoseconds of its rate:
/// `net/sched/sch_tbf.c`, `tbf_dequeue`; `net/sched/act_police.c`, `tcf_police_act`.)
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    sustained: Bucket,
    peak: Option<Bucket>,
    filled_at: Time,
}

#[derive(Clone, Debug)]
struct Bucket {
    rate_bps: u64,
    depth_bytes: u64,
    /// In 10⁻⁹ bits.
    tokens: u128,
}

/// In 10⁻⁹ bits.
fn price(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC)
}

impl Bucket {
    fn full(rate: Rate, depth: Bytes) -> Self {
        Bucket { rate_bps: rate.as_bps(), depth_bytes: depth.get(), tokens: price(depth.get()) }
    }

    fn fill(&mut self, time: Duration) {
        let gain = u128::from(time.as_nanos()) * u128::from(self.rate_bps);
        self.tokens = self.tokens.saturating_add(gain).min(price(self.depth_bytes));
    }

    /// Time until there are tokens for so many bytes.
    fn lacks(&self, bytes: u32) -> Duration {
        let missing = price(u64::from(bytes)).saturating_sub(self.tokens);
        let nanos = match (missing, u128::from(self.rate_bps)) {
            (0, _) => 0,
            (_, 0) => u128::MAX,
            (missing, rate) => missing.div_ceil(rate),
        };
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Buckets {
    pub(super) fn new(rate: Rate, burst: Bytes, peak: Option<&PeakRate>) -> Self {
        Buckets {
            sustained: Bucket::full(rate, burst),
            peak: peak.map(|peak| Bucket::full(peak.rate, peak.mtu)),
            filled_at: Time::ZERO,
        }
    }

    /// Whether a packet of so many bytes can ever pass.
    pub(super) fn can_ever_pass(&self, bytes: u32) -> bool {
        self.each().all(|bucket| u64::from(bytes) <= bucket.depth_bytes)
    }

    /// Take the tokens for a packet. If they are not there, none are taken, and this is the time
    /// until they are.
    pub(super) fn take(&mut self, bytes: u32, now: Time) -> Result<(), Duration> {
        let passed = now.since(self.filled_at);
        self.filled_at = now;
        self.sustained.fill(passed);
        if let Some(peak) = &mut self.peak {
            peak.fill(passed);
        }
        let wait = self.each().map(|bucket| bucket.lacks(bytes)).max().unwrap_or_default();
        if wait > Duration::ZERO {
            return Err(wait);
        }
        let price = price(u64::from(bytes));
        self.sustained.tokens -= price;
        if let Some(peak) = &mut self.peak {
            peak.tokens -= price;
        }
        Ok(())
    }

    fn each(&self) -> impl Iterator<Item = &Bucket> {
        std::iter::once(&self.sustained).chain(&self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_fills_to_its_depth_and_no_further() {
        // 1 Mbit/s is 125 bytes in a millisecond.
        let mut buckets = Buckets::new(Rate::from_bps(1_000_000), Bytes::new(1500), None);
        let after = |ms: u64| Time::from_nanos(ms * 1_000_000);
        assert_eq!(buckets.take(1500, after(0)), Ok(()));
        // 8 bits of 10⁶ per second: 8 µs.
        assert_eq!(buckets.take(1, after(0)), Err(Duration::from_micros(8)));
        assert_eq!(buckets.take(1000, after(8)), Ok(()));
        assert_eq!(buckets.take(1500, after(1_000_000)), Ok(()));
        assert_eq!(buckets.take(125, after(1_000_000)), Err(Duration::from_millis(1)));
        assert!(buckets.can_ever_pass(1500) && !buckets.can_ever_pass(1501));
    }

    #[test]
    fn fractions_of_a_token_are_not_lost() {
        // 3 bit/s: one byte takes 2.67 s, three take exactly 8 s, however often one asks.
        let mut buckets = Buckets::new(Rate::from_bps(3), Bytes::new(3), None);
        assert_eq!(buckets.take(3, Time::ZERO), Ok(()));
        for ms in 1..8000 {
            assert!(buckets.take(3, Time::from_nanos(ms * 1_000_000)).is_err());
        }
        assert_eq!(buckets.take(3, Time::from_nanos(7_999_999_999)), Err(Duration::from_nanos(1)));
        assert_eq!(buckets.take(3, Time::from_nanos(8_000_000_000)), Ok(()));
    }

    #[test]
    fn without_a_rate_nothing_comes_back() {
        let mut buckets = Buckets::new(Rate::from_bps(0), Bytes::new(100), None);
        assert_eq!(buckets.take(100, Time::ZERO), Ok(()));
        let never = Err(Duration::from_nanos(u64::MAX));
        assert_eq!(buckets.take(1, Time::from_nanos(1)), never);
        let mut unlimited = Buckets::new(Rate::UNLIMITED, Bytes::new(100), None);
        assert_eq!(unlimited.take(100, Time::ZERO), Ok(()));
        assert_eq!(unlimited.take(100, Time::NEVER), Ok(()));
    }
}
