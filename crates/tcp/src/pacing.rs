//! Pacing: segments are sent no faster than at the algorithm's rate.
//!
//! As in Linux 6.1 without a pacing qdisc (`net/ipv4/tcp_output.c`, `tcp_update_skb_after_send` and
//! `tcp_pacing_check`): only payload counts, the first segments are not paced, and a late sender
//! catches up by at most half the time of a burst.

use fairway_units::{Duration, NANOS_PER_SEC, Rate, Time};

/// Segments that a connection sends unpaced at its start.
const FREE_SEGMENTS: u64 = 10;

/// When the next segment may be sent; without a rate, always.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    next_departure: Time,
    /// Deadline of a segment that was held back.
    wake_at: Time,
    /// Payload of the burst that is being sent.
    burst_bytes: u64,
}

impl Pacer {
    /// A pacer before the first segment.
    pub fn new() -> Self {
        Pacer { next_departure: Time::ZERO, wake_at: Time::NEVER, burst_bytes: 0 }
    }

    /// Whether a segment may be sent now.
    #[inline(always)]
    pub fn is_open(&self, now: Time) -> bool {
        now >= self.next_departure
    }

    /// Whether a segment may be sent now. If not, sets the deadline.
    pub fn allows(&mut self, now: Time) -> bool {
        let allowed = self.is_open(now);
        if !allowed {
            self.wake_at = self.next_departure;
        }
        allowed
    }

    /// The deadline.
    pub fn wake_at(&self) -> Time {
        self.wake_at
    }

    /// When the last burst ends at its rate (Linux `tcp_wstamp_ns`).
    pub fn burst_end(&self) -> Time {
        self.next_departure
    }

    /// Clear a deadline that has passed.
    pub fn wake(&mut self, now: Time) {
        if now >= self.wake_at {
            self.wake_at = Time::NEVER;
        }
    }

    /// Delay of the next segment.
    pub fn delay(&self, now: Time) -> Duration {
        self.next_departure.since(now)
    }

    /// A segment of `payload` bytes continues a burst.
    pub fn continues(&mut self, payload: u64) {
        self.burst_bytes += payload;
    }

    /// A burst ends with the connection's `count`th segment, of `payload` bytes, and was sent at `rate`.
    pub fn sent(&mut self, payload: u64, rate: Rate, count: u64, now: Time) {
        let payload = payload + std::mem::take(&mut self.burst_bytes);
        let late = now.since(self.next_departure);
        self.next_departure = self.next_departure.max(now);
        self.wake_at = Time::NEVER;
        // As in Linux, a rate of zero means no pacing.
        if count >= FREE_SEGMENTS && rate.as_bps() > 0 {
            let nanos = payload.saturating_mul(8 * NANOS_PER_SEC) / rate.as_bps();
            let made_up = late.as_nanos().min(nanos / 2);
            self.next_departure = self.next_departure + Duration::from_nanos(nanos - made_up);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes take 8 ms.
    const RATE: Rate = Rate::from_bps(1_000_000);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// When the next segment may be sent after each departure of 1000 bytes.
    fn next(departures: &[u64], already_sent: u64) -> Vec<u64> {
        let mut pacer = Pacer::new();
        let mut count = already_sent;
        let mut next = |ms: &u64| {
            assert!(pacer.allows(at(*ms)), "at {ms} ms");
            count += 1;
            pacer.sent(1000, RATE, count, at(*ms));
            pacer.next_departure.as_millis()
        };
        departures.iter().map(&mut next).collect()
    }

    #[test]
    fn the_first_ten_segments_are_not_paced() {
        // The tenth is the first to be counted; it is not late, as the ninth was sent just before.
        assert_eq!(next(&[5; 10], 0), [5, 5, 5, 5, 5, 5, 5, 5, 5, 13]);
        assert_eq!(next(&[5; 10][..3], 0), [5, 5, 5]);
    }

    #[test]
    fn a_late_burst_catches_up_by_half_of_all_its_segments() {
        // Due at 0 and sent at 100: 8 of the 16 ms that two segments take are left.
        let mut pacer = Pacer::new();
        pacer.continues(1000);
        pacer.sent(1000, RATE, 20, at(100));
        assert_eq!(pacer.next_departure, at(108));
    }

    #[test]
    fn a_late_sender_catches_up_by_at_most_half_a_segment() {
        // Due at 0 and sent at 100: 4 ms of 8 are left. Due at 104 and sent then: 112. Due then
        // and sent 3 late: 115 + 8 − 3.
        assert_eq!(next(&[100, 104, 115], 20), [104, 112, 120]);
    }

    #[test]
    fn it_wakes_only_if_it_held_a_segment_back() {
        let mut pacer = Pacer::new();
        pacer.sent(1000, RATE, 20, at(0));
        pacer.sent(1000, RATE, 21, at(8));
        assert_eq!((pacer.wake_at(), pacer.delay(at(10))), (Time::NEVER, Duration::from_millis(6)));
        assert!(!pacer.allows(at(15)));
        assert_eq!(pacer.wake_at(), at(16));
        pacer.wake(at(15));
        assert_eq!(pacer.wake_at(), at(16));
        pacer.wake(at(16));
        assert_eq!(pacer.wake_at(), Time::NEVER);
        assert!(pacer.allows(at(16)));
    }

    #[test]
    fn no_rate_is_too_high_or_too_low() {
        let mut pacer = Pacer::new();
        pacer.sent(1000, Rate::UNLIMITED, 20, at(1));
        pacer.sent(u64::MAX, Rate::from_bps(0), 21, at(1));
        assert!(pacer.allows(at(1)));
        pacer.sent(u64::MAX, Rate::from_bps(1), 22, at(1));
        assert!(!pacer.allows(at(1_000_000)));
    }
}
