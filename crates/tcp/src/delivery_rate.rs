//! Delivery-rate samples, one for each acknowledgement that delivers data (draft-ietf-ccwg-bbr
//! section 4.1; Linux 6.1 `net/ipv4/tcp_rate.c`).
//!
//! A sample counts the data delivered since the last delivery before the newest delivered segment
//! was sent. Compressed acknowledgements would overestimate the rate, so the interval is the longer
//! of the ACK phase and the send phase of that data, in whole microseconds.

use std::collections::VecDeque;

use fairway_cc::RateSample;
use fairway_units::{Duration, Time};

/// State of the connection when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Departure {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
}

/// The delivered segment that was sent last.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Time,
    end: u64,
    departure: Departure,
}

/// The delivery rate of a connection, measured only for algorithms that ask for it.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    /// One for each outstanding segment, oldest first.
    departures: VecDeque<Departure>,
    newest: Option<Newest>,
    delivered: u64,
    delivered_at: Time,
    /// Start of the send phase: when the newest delivered segment was sent.
    first_sent_at: Time,
    lost: u64,
    /// Segments sent before more than this is delivered give application-limited samples. Zero if
    /// the connection is not application-limited.
    app_limited_until: u64,
}

impl DeliveryRate {
    /// New data was sent. `in_flight` includes it; `alone`: nothing was outstanding before.
    pub fn sent(&mut self, in_flight: u64, alone: bool, now: Time) {
        if alone {
            // Both phases restart after an idle period. A pipe of zero would not do: after a
            // spurious timeout data is still outstanding, and the sample would be too short.
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let departure = self.departure(in_flight);
        self.departures.push_back(departure);
    }

    /// The `at`th outstanding segment was sent again.
    pub fn sent_again(&mut self, at: usize, in_flight: u64) {
        self.departures[at] = self.departure(in_flight);
    }

    /// The `at`th outstanding segment, which ends at `end` and was last sent at `sent_at`, was
    /// delivered.
    pub fn arrived(&mut self, at: usize, end: u64, sent_at: Time) {
        if self.newest.is_none_or(|newest| (newest.sent_at, newest.end) < (sent_at, end)) {
            self.newest = Some(Newest { sent_at, end, departure: self.departures[at] });
        }
    }

    /// The first outstanding segment was acknowledged.
    pub fn remove_first(&mut self) {
        self.departures.pop_front();
    }

    /// Bytes were marked lost other than by an acknowledgement.
    pub fn lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// The window allows more data, but the application has none.
    pub fn app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// Whether the connection is application-limited.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Sample of an acknowledgement that delivered and marked lost so many bytes; none if it
    /// delivered no segment.
    pub fn sample(
        &mut self,
        delivered: u64,
        lost: u64,
        min_rtt: Option<Duration>,
        now: Time,
    ) -> Option<RateSample> {
        self.delivered += delivered;
        self.lost += lost;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let Newest { sent_at, departure, .. } = self.newest.take()?;
        self.first_sent_at = sent_at;
        let sending = sent_at.micros_since(departure.first_sent_at);
        let acknowledging = now.micros_since(departure.delivered_at);
        let interval = sending.max(acknowledging);
        // An interval below the minimum RTT means that an earlier transmission was delivered.
        let too_short = min_rtt.is_some_and(|min_rtt| interval < min_rtt);
        Some(RateSample {
            delivered: self.delivered - departure.delivered,
            interval: if too_short { Duration::ZERO } else { interval },
            prior_delivered: departure.delivered,
            sent_at,
            prior_in_flight: departure.in_flight,
            lost: self.lost - departure.lost,
            app_limited: departure.app_limited,
        })
    }

    fn departure(&self, in_flight: u64) -> Departure {
        Departure {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight,
            lost: self.lost,
            app_limited: self.app_limited_until > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Segments of 1000 bytes sent at these times in milliseconds, none acknowledged.
    fn sent(times: &[u64]) -> DeliveryRate {
        let mut rate = DeliveryRate::default();
        for (n, ms) in times.iter().enumerate() {
            rate.sent((n as u64 + 1) * 1000, n == 0, at(*ms));
        }
        rate
    }

    /// Acknowledge the first outstanding segment, the `n`th of all.
    fn acknowledge(rate: &mut DeliveryRate, n: u64, sent_ms: u64, now_ms: u64) -> RateSample {
        rate.arrived(0, (n + 1) * 1000, at(sent_ms));
        rate.remove_first();
        rate.sample(1000, 0, MIN_RTT, at(now_ms)).expect("a segment was delivered")
    }

    /// Bytes and milliseconds.
    fn figures(sample: RateSample) -> (u64, u64) {
        (sample.delivered, sample.interval.as_millis())
    }

    #[test]
    fn a_sample_counts_data_delivered_since_the_segment_was_sent() {
        // A segment every 10 ms, from 0 to 100. Nothing had been delivered when they were sent,
        // so the nth sample is n + 1 segments in the 100 + 10·n ms since the start.
        let times: Vec<u64> = (0..=10).map(|n| 10 * n).collect();
        let mut rate = sent(&times);
        assert_eq!(figures(acknowledge(&mut rate, 0, 0, 100)), (1000, 100));
        rate.sent(11_000, false, at(110));
        for n in 1..=10 {
            let sample = acknowledge(&mut rate, n, 10 * n, 100 + 10 * n);
            assert_eq!(figures(sample), ((n + 1) * 1000, 100 + 10 * n));
        }
        // The next was sent at 110, after 1000 were delivered at 100. By 210 eleven more segments
        // are delivered, in 110 ms: 100 kB/s.
        let sample = acknowledge(&mut rate, 11, 110, 210);
        assert_eq!((figures(sample), sample.prior_delivered), ((11_000, 110), 1000));
        assert_eq!((sample.sent_at, sample.prior_in_flight), (at(110), 11_000));
        assert_eq!(sample.bytes_per_s(), Some(100_000.0));
    }

    #[test]
    fn compressed_acknowledgements_give_no_rate_above_the_send_rate() {
        // Four segments sent 50 ms apart, from 0, are all acknowledged at 250.
        let mut rate = sent(&[0, 50, 100, 150]);
        for n in 0..3 {
            acknowledge(&mut rate, n, 50 * n, 250);
        }
        // The fifth is sent at 250 after the third is acknowledged: 3000 delivered, the last of
        // them sent at 100.
        rate.sent(2000, false, at(250));
        acknowledge(&mut rate, 3, 150, 250);
        // Both are delivered by 350: 2000 bytes in an ACK phase of 100 ms, but the send phase from
        // 100 to 250 took 150.
        assert_eq!(figures(acknowledge(&mut rate, 4, 250, 350)), (2000, 150));
    }

    #[test]
    fn of_several_segments_the_last_sent_one_counts() {
        let mut rate = sent(&[0, 1, 2, 3]);
        // One acknowledgement of all four; the second segment was sent last.
        rate.delivered = 500;
        rate.sent_again(1, 4000);
        for (segment, sent_ms) in [(2, 2), (3, 3), (1, 50), (0, 0)] {
            rate.arrived(segment, (segment as u64 + 1) * 1000, at(sent_ms));
        }
        let sample = rate.sample(4000, 0, MIN_RTT, at(150)).unwrap();
        assert_eq!((sample.sent_at, sample.prior_delivered, sample.delivered), (at(50), 500, 4000));
        // An acknowledgement that delivers nothing measures nothing.
        assert_eq!(rate.sample(0, 0, MIN_RTT, at(151)), None);
    }

    #[test]
    fn an_interval_below_the_minimum_rtt_gives_no_rate() {
        // The second and the third segment are retransmitted at 150 and 165 spuriously; the
        // acknowledgements at 160 and 170 are for the originals.
        let mut rate = sent(&[0, 60, 70]);
        acknowledge(&mut rate, 0, 0, 100);
        rate.sent_again(0, 2000);
        // 1000 bytes; send phase from 0 to 150, ACK phase from 100 to 160.
        assert_eq!(figures(acknowledge(&mut rate, 1, 150, 160)), (1000, 150));
        rate.sent_again(0, 1000);
        // Send phase from 150 to 165, ACK phase from 160 to 170: both below the minimum RTT.
        let sample = acknowledge(&mut rate, 2, 165, 170);
        assert_eq!((sample.interval, sample.bytes_per_s()), (Duration::ZERO, None));
    }

    #[test]
    fn losses_are_counted_since_the_segment_was_sent() {
        let mut rate = sent(&[0, 1, 2]);
        rate.lost(700);
        rate.sent(1000, false, at(3));
        assert_eq!(acknowledge(&mut rate, 0, 0, 100).lost, 700);
        rate.remove_first();
        rate.remove_first();
        rate.arrived(0, 4000, at(3));
        assert_eq!(rate.sample(1000, 200, MIN_RTT, at(103)).unwrap().lost, 200);
    }

    #[test]
    fn samples_are_application_limited_until_the_gap_is_delivered() {
        let mut rate = DeliveryRate::default();
        // Nothing to send at the start: application-limited until anything is delivered.
        rate.app_limited(0);
        rate.sent(1000, true, at(0));
        rate.sent(2000, false, at(0));
        assert!(acknowledge(&mut rate, 0, 0, 100).app_limited);
        rate.sent(2000, false, at(100));
        assert!(acknowledge(&mut rate, 1, 0, 100).app_limited);
        // A gap with 1000 in flight and 2000 delivered: over when more than 3000 are delivered.
        rate.app_limited(1000);
        rate.sent(2000, false, at(110));
        assert!(!acknowledge(&mut rate, 2, 100, 200).app_limited);
        rate.sent(2000, false, at(205));
        assert!(acknowledge(&mut rate, 3, 110, 210).app_limited);
        rate.sent(2000, false, at(215));
        assert!(acknowledge(&mut rate, 4, 205, 305).app_limited);
        assert!(!acknowledge(&mut rate, 5, 215, 315).app_limited);
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut rate = sent(&[0]);
        acknowledge(&mut rate, 0, 0, 100);
        rate.sent(1000, true, at(900));
        assert_eq!(figures(acknowledge(&mut rate, 1, 900, 1000)), (1000, 100));
    }
}
