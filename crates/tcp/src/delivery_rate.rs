//! Samples of the rate at which data is delivered, one with every acknowledgement
//! (draft-ietf-ccwg-bbr section 4.1; Linux 6.1 `net/ipv4/tcp_rate.c`).
//!
//! A sample spans the time from the acknowledgement before the newest segment delivered left to the
//! present one, and counts what was delivered between. Acknowledgements may come bunched, faster
//! than the path delivers; so the time that the sending of the same data took counts if it is longer.

use std::collections::VecDeque;

use fairway_cc::RateSample;
use fairway_units::{Duration, Time};

/// What the connection had delivered when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Departure {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
}

/// The last segment sent of those that an acknowledgement delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Time,
    end: u64,
    departure: Departure,
}

/// The delivery rate of a connection, kept only for algorithms that ask for it.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    /// One for each outstanding segment, oldest first.
    departures: VecDeque<Departure>,
    newest: Option<Newest>,
    delivered: u64,
    delivered_at: Time,
    /// Sending phases begin here: when the newest segment delivered was sent.
    first_sent_at: Time,
    lost: u64,
    /// The application left a gap; samples of what is sent before more than this is delivered
    /// tell its rate, and not the path's. Zero for no gap.
    app_limited_until: u64,
}

impl DeliveryRate {
    /// New data was sent; `in_flight` bytes are in the network with it, and none was
    /// outstanding before if it is `alone`.
    pub fn sent(&mut self, in_flight: u64, alone: bool, now: Time) {
        if alone {
            // Whatever comes back now was delivered between now and then. Data that was only
            // believed lost would not do: after a timeout for nothing the sample would be too short.
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

    /// The first outstanding segment was acknowledged, and is no longer outstanding.
    pub fn remove_first(&mut self) {
        self.departures.pop_front();
    }

    /// Bytes were marked lost without an acknowledgement.
    pub fn lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// The application has nothing to send though the window would allow it.
    pub fn app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// Whether the application had nothing to send of late.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// An acknowledgement has been worked through: it delivered and marked lost so many bytes.
    /// What it says, if it delivered a segment.
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
        let sending = sent_at.since(departure.first_sent_at);
        let acknowledging = now.since(departure.delivered_at);
        let interval = sending.max(acknowledging);
        // Nothing is delivered in less than a round trip: the acknowledgement is for an earlier
        // transmission of the segment.
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

    /// Segments of 1000 bytes sent at these times, in milliseconds, all in flight together.
    fn sent(times: &[u64]) -> DeliveryRate {
        let mut rate = DeliveryRate::default();
        for (n, ms) in times.iter().enumerate() {
            rate.sent((n as u64 + 1) * 1000, n == 0, at(*ms));
        }
        rate
    }

    /// The acknowledgement of the first outstanding segment, the `n`th of all.
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
    fn a_sample_counts_what_was_delivered_while_the_segment_was_under_way() {
        // A segment every 10 ms, from 0 to 100. Nothing had been delivered when they left, so the
        // nth says n + 1 segments in the 100 + 10·n ms since the start.
        let times: Vec<u64> = (0..=10).map(|n| 10 * n).collect();
        let mut rate = sent(&times);
        assert_eq!(figures(acknowledge(&mut rate, 0, 0, 100)), (1000, 100));
        rate.sent(11_000, false, at(110));
        for n in 1..=10 {
            let sample = acknowledge(&mut rate, n, 10 * n, 100 + 10 * n);
            assert_eq!(figures(sample), ((n + 1) * 1000, 100 + 10 * n));
        }
        // The next left at 110, when 1000 had been delivered, at 100. By 210 it is eleven segments
        // more, in 110 ms: 100 kB/s.
        let sample = acknowledge(&mut rate, 11, 110, 210);
        assert_eq!((figures(sample), sample.prior_delivered), ((11_000, 110), 1000));
        assert_eq!((sample.sent_at, sample.prior_in_flight), (at(110), 11_000));
        assert_eq!(sample.bytes_per_s(), Some(100_000.0));
    }

    #[test]
    fn bunched_acknowledgements_do_not_tell_a_higher_rate_than_the_sending() {
        // Four segments 50 ms apart, from 0, are all acknowledged in one bunch at 250.
        let mut rate = sent(&[0, 50, 100, 150]);
        for n in 0..3 {
            acknowledge(&mut rate, n, 50 * n, 250);
        }
        // The fifth leaves at 250 in answer to the third: 3000 delivered, the last sent at 100.
        rate.sent(2000, false, at(250));
        acknowledge(&mut rate, 3, 150, 250);
        // Both are delivered by 350: 2000 bytes in 100 ms by the acknowledgements, but the sending
        // from 100 to 250 took 150.
        assert_eq!(figures(acknowledge(&mut rate, 4, 250, 350)), (2000, 150));
    }

    #[test]
    fn of_several_segments_the_last_sent_one_counts() {
        let mut rate = sent(&[0, 1, 2, 3]);
        // One acknowledgement of all, the last transmission that of the second segment.
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
    fn less_than_a_round_trip_says_nothing() {
        // The second and the third segment are sent again, at 150 and 165, though they were not
        // lost; the acknowledgements, at 160 and 170, are for the first transmissions.
        let mut rate = sent(&[0, 60, 70]);
        acknowledge(&mut rate, 0, 0, 100);
        rate.sent_again(0, 2000);
        // Only it was delivered since it left; sent from 0 to 150, acknowledged from 100 to 160.
        assert_eq!(figures(acknowledge(&mut rate, 1, 150, 160)), (1000, 150));
        rate.sent_again(0, 1000);
        // Sent from 150 to 165, acknowledged from 160 to 170: both shorter than any round trip.
        let sample = acknowledge(&mut rate, 2, 165, 170);
        assert_eq!((sample.interval, sample.bytes_per_s()), (Duration::ZERO, None));
    }

    #[test]
    fn losses_are_counted_from_the_departure_on() {
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
    fn a_gap_of_the_application_marks_what_is_sent_until_it_has_passed() {
        let mut rate = DeliveryRate::default();
        // At the start there was nothing to send: the mark lasts until anything is delivered.
        rate.app_limited(0);
        rate.sent(1000, true, at(0));
        rate.sent(2000, false, at(0));
        assert!(acknowledge(&mut rate, 0, 0, 100).app_limited);
        rate.sent(2000, false, at(100));
        assert!(acknowledge(&mut rate, 1, 0, 100).app_limited);
        // A gap with 1000 in flight and 2000 delivered: gone when more than 3000 are.
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
    fn time_without_anything_outstanding_does_not_count() {
        let mut rate = sent(&[0]);
        acknowledge(&mut rate, 0, 0, 100);
        rate.sent(1000, true, at(900));
        assert_eq!(figures(acknowledge(&mut rate, 1, 900, 1000)), (1000, 100));
    }
}
