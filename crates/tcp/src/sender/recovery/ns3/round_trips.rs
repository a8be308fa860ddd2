//! RTT estimate and retransmission timeout of ns-3.29 (`tcp-socket-base.cc`, `EstimateRtt`;
//! `rtt-estimator.cc`, `RttMeanDeviation`).

use std::collections::VecDeque;

use fairway_units::{Duration, Time};

use crate::preset::Rto;

/// A sent segment, in order of sending (`RttHistory`).
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    end: u64,
    at: Time,
    again: bool,
}

/// The estimator and the segments it times.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips {
    policy: Rto,
    history: VecDeque<Sent>,
    srtt: Option<Duration>,
    variation: Duration,
    min_srtt: Option<Duration>,
    rto: Duration,
}

impl RoundTrips {
    pub(super) fn new(policy: Rto) -> Self {
        RoundTrips {
            rto: policy.rto_initial,
            policy,
            history: VecDeque::new(),
            srtt: None,
            variation: Duration::ZERO,
            min_srtt: None,
        }
    }

    /// Smoothed RTT, the only one that algorithms get (`m_lastRtt`).
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Minimum of the smoothed RTT (`m_minRtt`).
    pub(super) fn min_srtt(&self) -> Option<Duration> {
        self.min_srtt
    }

    /// Retransmission timeout, backed off.
    pub(super) fn rto(&self) -> Duration {
        self.rto
    }

    /// `UpdateRttHistory`.
    pub(super) fn sent(&mut self, start: u64, end: u64, again: bool, now: Time) {
        if !again {
            self.history.push_back(Sent { start, end, at: now, again });
            return;
        }
        let index = self.history.partition_point(|sent| sent.end <= start);
        if let Some(sent) = self.history.get_mut(index).filter(|sent| sent.start <= start) {
            sent.again = true;
            sent.end = end;
        }
    }

    /// Process an acknowledgement with the echoed timestamp `echo_ms`. The first outstanding
    /// segment gives a sample if it was never retransmitted.
    pub(super) fn acknowledged(&mut self, ack: u64, echo_ms: Option<u64>, now: Time) {
        let first = self.history.front().filter(|sent| !sent.again && sent.end <= ack);
        let sample = first.map(|sent| match echo_ms {
            Some(echo) => Duration::from_millis(now.as_millis().saturating_sub(echo)),
            None => now.since(sent.at),
        });
        while self.history.front().is_some_and(|sent| sent.end <= ack) {
            self.history.pop_front();
        }
        if let Some(rtt) = sample.filter(|rtt| *rtt > Duration::ZERO) {
            self.measure(rtt);
        }
    }

    /// `RttMeanDeviation::IntegerUpdate`: shifts by 3 and 2 bits, which round down.
    pub(super) fn measure(&mut self, rtt: Duration) {
        let sample = rtt.as_nanos() as i64;
        let (srtt, variation) = match self.srtt {
            None => (sample, sample / 2),
            Some(srtt) => {
                let (srtt, variation) = (srtt.as_nanos() as i64, self.variation.as_nanos() as i64);
                let delta = sample - srtt;
                let rest = delta.abs() - variation;
                (((srtt << 3) + delta) >> 3, ((variation << 2) + rest) >> 2)
            }
        };
        let srtt = Duration::from_nanos(srtt as u64);
        self.variation = Duration::from_nanos(variation as u64);
        self.srtt = Some(srtt);
        self.min_srtt = Some(self.min_srtt.map_or(srtt, |min| min.min(srtt)));
        self.end_back_off();
    }

    /// Reset the timeout to the estimate (`NewAck`).
    pub(super) fn end_back_off(&mut self) {
        self.rto =
            self.unbounded().map_or(self.policy.rto_initial, |rto| rto.max(self.policy.rto_min));
    }

    /// The timeout without its lower bound, if there is an estimate.
    pub(super) fn unbounded(&self) -> Option<Duration> {
        let variance = (self.variation * 4).max(self.policy.rto_granularity);
        self.srtt.map(|srtt| srtt + variance)
    }

    /// The timer expired: double the timeout and stop timing earlier segments (`ReTxTimeout`).
    pub(super) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.policy.rto_max);
        self.history.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips() -> RoundTrips {
        RoundTrips::new(Rto {
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            rto_granularity: Duration::from_millis(1),
            ..(crate::PRESETS[0].stack)().rto
        })
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn shifts_round_down() {
        let mut rtt = round_trips();
        rtt.measure(ms(90));
        assert_eq!((rtt.srtt(), rtt.variation, rtt.rto()), (Some(ms(90)), ms(45), ms(1000)));
        rtt.measure(ms(91));
        // 90 + 1/8 ms; 45 ms + (1 − 45)/4 ms.
        assert_eq!(rtt.srtt(), Some(Duration::from_nanos(90_125_000)));
        assert_eq!(rtt.variation, ms(34));
        rtt.measure(ms(90));
        // (8·90 125 000 − 125 000)/8 = 90 109 375; 34 ms + (0.125 − 34)/4 ms = 25.53125 ms.
        assert_eq!(rtt.srtt(), Some(Duration::from_nanos(90_109_375)));
        assert_eq!(rtt.variation, Duration::from_nanos(25_531_250));
        assert_eq!(rtt.min_srtt(), Some(ms(90)));
        rtt.measure(ms(90));
        // 720 875 000 − 109 375 = 720 765 625, by 8: 90 095 703.125, rounded down.
        assert_eq!(rtt.srtt(), Some(Duration::from_nanos(90_095_703)));
    }

    #[test]
    fn only_the_first_outstanding_segment_gives_a_sample_if_sent_once() {
        let mut rtt = round_trips();
        let at = |millis: u64| Time::ZERO + ms(millis);
        rtt.sent(0, 10, false, at(0));
        rtt.sent(10, 20, false, at(5));
        rtt.sent(0, 10, true, at(50));
        // The first was retransmitted: no sample, though the second was not.
        rtt.acknowledged(20, None, at(100));
        assert_eq!(rtt.srtt(), None);
        rtt.sent(20, 30, false, at(100));
        rtt.acknowledged(30, Some(130), at(200));
        assert_eq!(rtt.srtt(), Some(ms(70)));
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(2000));
        rtt.end_back_off();
        assert_eq!(rtt.rto(), ms(1000));
    }
}
