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
}

impl AckCompression {
    /// Compression with delays up to `max_delay`.
    pub(crate) fn new(max_delay: Duration) -> Self {
        AckCompression { max_delay, held: 0, sent_at_once: 0, rcv_nxt: 0, deadline: Time::NEVER }
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
            if other > now {
                self.deadline = self.deadline.min(other);
            }
        }
        self.held += 1;
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
        c.sent();
        assert!(c.hold(0, RTT, at(950), at(1000)));
        assert_eq!(c.deadline(), at(2100));
    }

    #[test]
    fn at_most_forty_four_are_compressed() {
        let mut c = AckCompression::new(Duration::from_millis(1));
        (0..3).for_each(|_| assert!(!c.hold(0, RTT, Time::NEVER, at(0))));
        (0..44).for_each(|n| assert!(c.hold(0, RTT, Time::NEVER, at(0)), "{n}"));
        assert!(!c.hold(0, RTT, Time::NEVER, at(0)));
    }
}
