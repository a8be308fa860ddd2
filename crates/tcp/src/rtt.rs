//! Round-trip time estimation and the retransmission timeout (RFC 6298).

use fairway_units::{Duration, Time};

use crate::preset::Rto;

/// An RTT not yet measured. An `Option` would be written in two halves and soon copied as a whole,
/// which stalls the processor until both halves reach the cache: 2 % of a simulation's time.
const UNKNOWN: Duration = Duration::MAX;

/// Smoothed RTT, its variation, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    policy: Rto,
    /// Or [`UNKNOWN`].
    srtt: Duration,
    /// Four times the variation, the variance term of the timeout.
    variance: Duration,
    linux: LinuxVariance,
    ticks: Ticks,
    /// Or [`UNKNOWN`].
    min_rtt: Duration,
    /// Consecutive timeouts, each of which doubles the timeout (RFC 6298 rule 5.5).
    backoffs: u32,
}

/// Linux's variance term (`net/ipv4/tcp_input.c`, `tcp_rtt_estimator`), in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxVariance {
    /// Eight times the smoothed round-trip time.
    srtt_8: u64,
    /// Four times the mean deviation.
    mdev_4: u64,
    /// Four times the largest deviation of this round trip (`mdev_max_us`).
    largest: u64,
    /// Variance term (`rttvar_us`): rises to the largest deviation at once and falls a quarter of
    /// the way once per round trip.
    variance: u64,
    /// The round trip is over when this offset is acknowledged.
    round_end: u64,
}

impl LinuxVariance {
    fn first(sample: u64, floor: u64, nxt: u64) -> Self {
        let mdev_4 = 2 * sample;
        let variance = mdev_4.max(floor);
        LinuxVariance { srtt_8: 8 * sample, mdev_4, largest: variance, variance, round_end: nxt }
    }

    fn update(&mut self, sample: u64, floor: u64, una: u64, nxt: u64) {
        let srtt = self.srtt_8 / 8;
        let deviation = sample.abs_diff(srtt);
        let quarter = self.mdev_4 / 4;
        if sample < srtt {
            self.srtt_8 -= deviation;
            // A decrease of the RTT by more than the deviation counts only an eighth.
            let rise = deviation.saturating_sub(quarter) / 8;
            let fall = quarter.saturating_sub(deviation);
            self.mdev_4 = self.mdev_4 + rise - fall;
        } else {
            self.srtt_8 += deviation;
            self.mdev_4 = self.mdev_4 + deviation - quarter;
        }
        if self.mdev_4 > self.largest {
            self.largest = self.mdev_4;
            self.variance = self.variance.max(self.largest);
        }
        if una > self.round_end {
            if self.largest < self.variance {
                self.variance -= (self.variance - self.largest) / 4;
            }
            self.round_end = nxt;
            self.largest = floor;
        }
    }
}

/// ns-2's averages, in ticks (ns-2.35 `tcp/tcp.cc`, `rtt_update`; 4.3BSD).
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    /// Eight times the smoothed round-trip time.
    srtt_8: u64,
    /// Four times the variation.
    variance_4: u64,
}

impl Ticks {
    fn update(&mut self, sample: u64) {
        let srtt = self.srtt_8 / 8;
        let deviation = sample.abs_diff(srtt);
        self.srtt_8 = (self.srtt_8 + sample - srtt).max(1);
        self.variance_4 = (self.variance_4 + deviation - self.variance_4 / 4).max(1);
    }
}

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(policy: Rto) -> Self {
        RttEstimator {
            policy,
            srtt: UNKNOWN,
            variance: Duration::ZERO,
            linux: LinuxVariance::default(),
            ticks: Ticks::default(),
            min_rtt: UNKNOWN,
            backoffs: 0,
        }
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        known(self.srtt)
    }

    /// Smallest sample.
    pub fn min_rtt(&self) -> Option<Duration> {
        known(self.min_rtt)
    }

    /// The time since `earlier` by the sender's clock, which counts microseconds in Linux
    /// (`tcp_stamp_us_delta`).
    #[inline(always)]
    pub fn between(&self, earlier: Time, now: Time) -> Duration {
        if self.policy.rto_min_bounds_variance {
            now.micros_since(earlier)
        } else {
            now.since(earlier)
        }
    }

    /// Add a sample of data sent once (the caller applies Karn's rule), which ends the back-off
    /// (RFC 6298 section 5). `una` and `nxt` are SND.UNA and SND.NXT.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Duration, una: u64, nxt: u64) {
        self.backoffs = 0;
        if self.policy.rto_min_bounds_variance {
            self.sample_as_linux(rtt.as_micros(), una, nxt);
        } else if self.policy.rto_in_ticks {
            self.sample_in_ticks(rtt);
        } else {
            self.sample_as_rfc(rtt);
        }
    }

    /// Update the minimum RTT.
    pub fn sample_min(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    #[inline(always)]
    fn sample_as_rfc(&mut self, rtt: Duration) {
        let r = rtt.as_nanos();
        match self.srtt() {
            // RFC 6298 rule 2.2.
            None => {
                self.srtt = rtt;
                self.variance = Duration::from_nanos(r / 2) * 4;
            }
            // Rule 2.3 with alpha = 1/8 and beta = 1/4.
            Some(srtt) => {
                let s = srtt.as_nanos();
                let var = self.variance.as_nanos() / 4;
                self.variance = Duration::from_nanos(var - var / 4 + s.abs_diff(r) / 4) * 4;
                self.srtt = Duration::from_nanos(s - s / 8 + r / 8);
            }
        }
    }

    fn sample_as_linux(&mut self, micros: u64, una: u64, nxt: u64) {
        let floor = self.policy.rto_min.as_micros();
        match self.srtt() {
            None => self.linux = LinuxVariance::first(micros, floor, nxt),
            Some(_) => self.linux.update(micros, floor, una, nxt),
        }
        self.srtt = Duration::from_nanos(self.linux.srtt_8 * 125);
        self.variance = Duration::from_micros(self.linux.variance);
    }

    /// End the back-off.
    pub fn end_back_off(&mut self) {
        self.backoffs = 0;
    }

    fn sample_in_ticks(&mut self, rtt: Duration) {
        let tick = self.policy.rto_granularity.as_nanos().max(1);
        let sample = ((rtt.as_nanos() + tick / 2) / tick).max(1);
        match self.srtt() {
            None => self.ticks = Ticks { srtt_8: 8 * sample, variance_4: 2 * sample },
            Some(_) => self.ticks.update(sample),
        }
        self.srtt = Duration::from_nanos(self.ticks.srtt_8 * tick / 8);
        // The timeout is a whole number of ticks: (8 · variance_4 + srtt_8) / 8.
        self.variance = Duration::from_nanos(self.ticks.variance_4 * tick);
    }

    /// Raise the timeout before the first sample to at least `initial`.
    pub fn raise_initial(&mut self, initial: Duration) {
        self.policy.rto_initial = self.policy.rto_initial.max(initial);
    }

    /// Set the lower bound of the timeout.
    pub fn bound_below(&mut self, min: Duration) {
        self.policy.rto_min = min;
    }

    /// The timer expired.
    pub fn back_off(&mut self) {
        self.backoffs += 1;
    }

    /// The current timeout, backed off.
    #[inline(always)]
    pub fn rto(&self) -> Duration {
        let p = &self.policy;
        let base = match self.srtt() {
            None => p.rto_initial,
            // In whole ticks, rounded up (`usecs_to_jiffies`).
            Some(srtt) if p.rto_min_bounds_variance => {
                let granule = p.rto_granularity.as_nanos().max(1);
                let exact = (srtt + self.variance.max(p.rto_min)).as_nanos();
                Duration::from_nanos(exact.div_ceil(granule) * granule)
            }
            Some(_) if p.rto_in_ticks => {
                let tick = p.rto_granularity.as_nanos();
                let whole = self.ticks.variance_4 + self.ticks.srtt_8 / 8;
                // At least two ticks (`rtt_timeout`).
                Duration::from_nanos(whole.max(2) * tick).max(p.rto_min)
            }
            Some(srtt) => (srtt + self.variance.max(p.rto_granularity)).max(p.rto_min),
        };
        let factor = 1u64.checked_shl(self.backoffs).unwrap_or(u64::MAX);
        base.saturating_mul(factor).min(p.rto_max)
    }
}

fn known(rtt: Duration) -> Option<Duration> {
    (rtt != UNKNOWN).then_some(rtt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    fn rfc() -> Rto {
        let preset = Preset::named("rfc5681").expect("a preset");
        (preset.stack)().rto
    }

    fn policy(min_ms: u64, min_bounds_variance: bool) -> Rto {
        Rto {
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_millis(min_ms),
            rto_max: Duration::from_secs(60),
            rto_granularity: Duration::from_millis(1),
            rto_min_bounds_variance: min_bounds_variance,
            ..rfc()
        }
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn rfc_6298_by_hand() {
        let mut e = RttEstimator::new(policy(0, false));
        assert_eq!(e.rto(), ms(1000));
        // 80 ms: srtt 80, rttvar 40, RTO 80 + 160.
        e.sample(ms(80), 0, 0);
        e.sample_min(ms(80));
        assert_eq!((e.srtt(), e.rto()), (Some(ms(80)), ms(240)));
        // 120 ms: rttvar 40·¾ + 40/4 = 40; srtt 70 + 15 = 85; RTO 85 + 160.
        e.sample(ms(120), 0, 0);
        e.sample_min(ms(120));
        assert_eq!((e.srtt(), e.rto()), (Some(ms(85)), ms(245)));
        assert_eq!(e.min_rtt(), Some(ms(80)));
    }

    #[test]
    fn linux_bounds_the_variance_from_below() {
        // Linux with a 50 ms sample: max(2·50, 200) = 200, RTO 250.
        let mut e = RttEstimator::new(policy(200, true));
        e.sample(ms(50), 0, 0);
        assert_eq!(e.rto(), ms(250));
        // The RFC's form with the same bound: max(50 + 100, 200).
        let mut e = RttEstimator::new(policy(200, false));
        e.sample(ms(50), 0, 0);
        assert_eq!(e.rto(), ms(200));
    }

    #[test]
    fn bsd_counts_in_ticks() {
        // Ticks of 10 ms. 104 ms are 10: srtt 10, variation 5; 10 + 4 · 5 = 30 ticks.
        let granularity = ms(10);
        let mut e = RttEstimator::new(Rto {
            rto_granularity: granularity,
            rto_in_ticks: true,
            ..policy(0, false)
        });
        e.sample(ms(104), 0, 0);
        assert_eq!((e.srtt(), e.rto()), (Some(ms(100)), ms(300)));
        // Repeated: four times the variation is 20 − 5 = 15, then 15 − 3 = 12: 25, 22 ticks.
        e.sample(ms(104), 0, 0);
        assert_eq!(e.rto(), ms(250));
        e.sample(ms(104), 0, 0);
        assert_eq!(e.rto(), ms(220));
        // 145 ms round to 15: srtt 85/8, whole 10; variation 12 + 5 − 3 = 14: 24 ticks.
        e.sample(ms(145), 0, 0);
        assert_eq!((e.srtt(), e.rto()), (Some(Duration::from_micros(106_250)), ms(240)));
    }

    #[test]
    fn linux_uses_the_largest_deviation_of_a_round_trip() {
        let mut e = RttEstimator::new(policy(200, true));
        let us = Duration::from_micros;
        // 50.06 ms: srtt 50.06, timeout 250.06 in whole ticks.
        e.sample(us(50_060), 0, 10);
        assert_eq!((e.srtt(), e.rto()), (Some(us(50_060)), ms(251)));
        // 90.06 ms: 40 ms more; srtt 55.06; four deviations 100.12 − 25.03 + 40 = 115.09.
        e.sample(us(90_060), 5, 20);
        assert_eq!((e.srtt(), e.linux.mdev_4, e.rto()), (Some(us(55_060)), 115_090, ms(256)));
        // 455.06 ms: 400 more; four deviations 115.09 − 28.772 + 400 = 486.318, above 200.
        e.sample(us(455_060), 6, 20);
        assert_eq!((e.srtt(), e.linux.variance), (Some(us(105_060)), 486_318));
        // Back at 105.06: no deviation. Beyond offset 10 the round trip ends, and its largest
        // deviation is the current variance. In the next the largest is 364.739 less a quarter,
        // 273.555, and at its end the variance falls a quarter of the way to it.
        e.sample(us(105_060), 11, 30);
        assert_eq!(e.linux.variance, 486_318);
        e.sample(us(105_060), 31, 40);
        assert_eq!(e.linux.variance, 486_318 - (486_318 - 273_555) / 4);
    }

    #[test]
    fn each_timeout_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut e = RttEstimator::new(policy(1000, false));
        e.sample(ms(100), 0, 0);
        let seen: Vec<u64> = (0..8)
            .map(|_| {
                e.back_off();
                e.rto().as_millis()
            })
            .collect();
        assert_eq!(seen, [2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000]);
        (0..100).for_each(|_| e.back_off());
        assert_eq!(e.rto(), Duration::from_secs(60));
        e.sample(ms(100), 0, 0);
        assert_eq!(e.rto(), ms(1000));
    }
}
