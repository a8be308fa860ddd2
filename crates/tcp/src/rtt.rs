//! Round-trip time estimation and the retransmission timeout (RFC 6298).

use fairway_units::Duration;

use crate::RtoPolicy;

/// Smoothed round-trip time, its variation, and the timeout that follows from them.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    policy: RtoPolicy,
    srtt: Option<Duration>,
    rttvar: Duration,
    min_rtt: Option<Duration>,
    /// Timeouts in a row: each doubles the timeout (RFC 6298 rule 5.5).
    backoffs: u32,
}

impl RttEstimator {
    /// No samples yet.
    pub fn new(policy: RtoPolicy) -> Self {
        RttEstimator { policy, srtt: None, rttvar: Duration::ZERO, min_rtt: None, backoffs: 0 }
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Smallest sample.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// A round-trip time was measured on data sent once (Karn's rule is the caller's). Nothing else
    /// ends the back-off (RFC 6298 section 5).
    pub fn sample(&mut self, rtt: Duration) {
        self.backoffs = 0;
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        let r = rtt.as_nanos();
        match self.srtt {
            // RFC 6298 rule 2.2.
            None => {
                self.srtt = Some(rtt);
                self.rttvar = Duration::from_nanos(r / 2);
            }
            // Rule 2.3 with alpha = 1/8 and beta = 1/4.
            Some(srtt) => {
                let s = srtt.as_nanos();
                let var = self.rttvar.as_nanos();
                self.rttvar = Duration::from_nanos(var - var / 4 + s.abs_diff(r) / 4);
                self.srtt = Some(Duration::from_nanos(s - s / 8 + r / 8));
            }
        }
    }

    /// Wait at least this long before the first sample.
    pub fn raise_initial(&mut self, initial: Duration) {
        self.policy.initial = self.policy.initial.max(initial);
    }

    /// The timeout may not be below `min` from now on.
    pub fn bound_below(&mut self, min: Duration) {
        self.policy.min = min;
    }

    /// The timer expired.
    pub fn back_off(&mut self) {
        self.backoffs += 1;
    }

    /// The current timeout, backed off.
    pub fn rto(&self) -> Duration {
        let p = &self.policy;
        let base = match self.srtt {
            None => p.initial,
            Some(srtt) => {
                let variance = (self.rttvar * 4).max(p.granularity);
                if p.min_bounds_variance {
                    srtt + variance.max(p.min)
                } else {
                    (srtt + variance).max(p.min)
                }
            }
        };
        let factor = 1u64.checked_shl(self.backoffs).unwrap_or(u64::MAX);
        base.saturating_mul(factor).min(p.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(min_ms: u64, min_bounds_variance: bool) -> RtoPolicy {
        RtoPolicy {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(min_ms),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            min_bounds_variance,
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
        e.sample(ms(80));
        assert_eq!((e.srtt(), e.rto()), (Some(ms(80)), ms(240)));
        // 120 ms: rttvar 40·¾ + 40/4 = 40; srtt 70 + 15 = 85; RTO 85 + 160.
        e.sample(ms(120));
        assert_eq!((e.srtt(), e.rto()), (Some(ms(85)), ms(245)));
        assert_eq!(e.min_rtt(), Some(ms(80)));
    }

    #[test]
    fn linux_bounds_the_variance_from_below() {
        // Linux with a 50 ms sample: max(2·50, 200) = 200, RTO 250.
        let mut e = RttEstimator::new(policy(200, true));
        e.sample(ms(50));
        assert_eq!(e.rto(), ms(250));
        // The RFC's form with the same bound: max(50 + 100, 200).
        let mut e = RttEstimator::new(policy(200, false));
        e.sample(ms(50));
        assert_eq!(e.rto(), ms(200));
    }

    #[test]
    fn each_timeout_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut e = RttEstimator::new(policy(1000, false));
        e.sample(ms(100));
        let seen: Vec<u64> = (0..8)
            .map(|_| {
                e.back_off();
                e.rto().as_millis()
            })
            .collect();
        assert_eq!(seen, [2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000]);
        (0..100).for_each(|_| e.back_off());
        assert_eq!(e.rto(), Duration::from_secs(60));
        e.sample(ms(100));
        assert_eq!(e.rto(), ms(1000));
    }
}
