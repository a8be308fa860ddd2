//! Compression of acknowledgements of out-of-order data: one is sent for several.
//!
//! Source: Linux 6.1, `net/ipv4/tcp_input.c` (`__tcp_ack_snd_check`, `tcp_sack_compress_send_ack`).

use fairway_units::{Duration, Time};

/// Slack of the timer, used in full on an idle machine (net.ipv4.tcp_comp_sack_slack_ns).
const SLACK: Duration = Duration::from_micros(100);
/// Largest number of compressed acknowledgements (net.ipv4.tcp_comp_sack_nr).
const MAX_HELD: u32 = 44;
/// Uncompressed acknowledgements after each advance, for fast retransmit (`TCP_FASTRETRANS_THRESH`).
const SENT_AT_ONCE: u32 = 3;
/// The delay is at most 5 % of the round-trip time.
const RTT_DIVISOR: u64 = 20;

/// State of compression.
#[derive(Clone, Debug)]
pub(crate) struct AckCompression {
    /// Longest delay.
    max_delay: Duration,
    held: u32,
    sent_at_once: u32,
    /// Next offset expected at the last acknowledgement.
    rcv_nxt: u64,
    deadline: Time,
    /// Whether the deadline is that of the delayed-ACK timer.
    is_others: bool,
    /// When the last segment held back arrived.
    arrived: Time,
}

impl AckCompression {
    /// Compression with delays up to `max_delay`.
    pub(crate) fn new(max_delay: Duration) -> Self {
        AckCompression {
            max_delay,
            held: 0,
            sent_at_once: 0,
            rcv_nxt: 0,
            deadline: Time::NEVER,
            is_others: false,
            arrived: Time::ZERO,
        }
    }

    /// Hold back an acknowledgement up to `rcv_nxt`, until the time `other` at the latest. Returns
    /// false if it must be sent now.
    pub(crate) fn hold(&mut self, rcv_nxt: u64, rtt: Duration, other: Time, now: Time) -> bool {
        if self.held >= MAX_HELD {
            return false;
        }
        if self.rcv_nxt != rcv_nxt {
            self.rcv_nxt = rcv_nxt;
            self.sent_at_once = 0;
        }
        if self.sent_at_once < SENT_AT_ONCE {
            self.sent_at_once += 1;
            return false;
        }
        if self.held == 0 {
            let part = Duration::from_nanos(rtt.as_nanos() / RTT_DIVISOR);
            self.deadline = now + self.max_delay.min(part) + SLACK;
            self.is_others = now < other && other <= self.deadline;
            if self.is_others {
                self.deadline = other;
            }
        }
        self.held += 1;
        self.arrived = now;
        true
    }

    /// Whether any is held.
    pub(crate) fn holds(&self) -> bool {
        self.held > 0
    }

    /// When the held acknowledgement is sent.
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Time in the timestamp of an acknowledgement that the timer sends at `now`: when the last
    /// segment arrived, since the timer does not read the clock (`tcp_timer.c`,
    /// `tcp_compressed_ack_kick`). The delayed-ACK timer does (`tcp_delack_timer_handler`).
    pub(crate) fn stamp(&self, now: Time) -> Time {
        if self.is_others { now } else { self.arrived }
    }

    /// An acknowledgement was sent.
    pub(crate) fn sent(&mut self) {
        self.held = 0;
        self.deadline = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn three_are_sent_at_once_and_the_next_wait_a_millisecond() {
        // Packets 1.211 ms apart: 5 % of 50 ms is 2.5 ms, so the delay is 1 ms plus 0.1 ms of
        // slack, less than the gap.
        let mut c = AckCompression::new(Duration::from_millis(1));
        for n in 0..3 {
            assert!(!c.hold(0, RTT, Time::NEVER, at(1211 * n)));
        }
        for n in 3..6 {
            assert!(c.hold(0, RTT, Time::NEVER, at(1211 * n)));
            assert_eq!(c.deadline(), at(1211 * n + 1100));
            c.sent();
        }
        // An advance of RCV.NXT starts over.
        assert!(!c.hold(1448, RTT, Time::NEVER, at(8000)));
    }

    #[test]
    fn short_round_trips_wait_less() {
        // 5 % of 4 ms is 0.2 ms.
        let mut c = AckCompression::new(Duration::from_millis(1));
        (0..3).for_each(|_| assert!(!c.hold(0, RTT, Time::NEVER, at(0))));
        assert!(c.hold(0, Duration::from_millis(4), Time::NEVER, at(500)));
        assert_eq!(c.deadline(), at(800));
        // The timer runs from the first acknowledgement held.
        assert!(c.hold(0, Duration::from_millis(4), Time::NEVER, at(600)));
        assert_eq!(c.deadline(), at(800));
    }

    #[test]
    fn a_running_delayed_ack_timer_releases_them() {
        // Observed in Linux: held 0.05 ms before the timer of a delayed ACK that was sent long ago.
        let mut c = AckCompression::new(Duration::from_millis(1));
        (0..3).for_each(|_| assert!(!c.hold(0, RTT, at(950), at(0))));
        assert!(c.hold(0, RTT, at(950), at(900)));
        assert_eq!(c.deadline(), at(950));
        assert_eq!(c.stamp(at(950)), at(950));
        c.sent();
        assert!(c.hold(0, RTT, at(950), at(1000)));
        assert_eq!(c.deadline(), at(2100));
    }

    #[test]
    fn the_timer_stamps_with_the_last_arrival() {
        // Linux 6.1.192 at 10 Mbit/s and 50 ms, 1 % lost: acknowledgements left at 149.08, 150.28
        // and 151.48 ms of a clock that was at 0 at 25.05 ms, and carried 122, 124 and 125: 1.1 ms
        // before, when the segments came.
        let mut c = AckCompression::new(Duration::from_millis(1));
        (0..3).for_each(|_| assert!(!c.hold(0, RTT, Time::NEVER, at(146_000))));
        for (leaves, stamp) in [(149_080, 122), (150_280, 124), (151_480, 125)] {
            assert!(c.hold(0, RTT, Time::NEVER, at(leaves - 1100)));
            assert_eq!(c.deadline(), at(leaves));
            let stamped = c.stamp(at(leaves)).as_nanos() / 1000 - 25_050;
            assert_eq!(stamped / 1000, stamp);
            c.sent();
        }
    }

    #[test]
    fn at_most_forty_four_are_compressed() {
        let mut c = AckCompression::new(Duration::from_millis(1));
        (0..3).for_each(|_| assert!(!c.hold(0, RTT, Time::NEVER, at(0))));
        (0..44).for_each(|n| assert!(c.hold(0, RTT, Time::NEVER, at(0)), "{n}"));
        assert!(!c.hold(0, RTT, Time::NEVER, at(0)));
    }
}
