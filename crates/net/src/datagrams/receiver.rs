//! What the receiver of a datagram flow measures.

use std::collections::VecDeque;

use fairway_units::{Duration, Time};

use crate::{Histogram, Window};

/// Gaps in the sequence numbers that are remembered, to tell a late packet from a copy. What is
/// missing longer than that many further gaps counts as late when it comes, even if it is a copy.
const GAPS: usize = 1 << 12;

/// The receiving end of a datagram flow. Counters are from the start of the run.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// One more than the largest sequence number that has arrived.
    expected: u64,
    /// Numbers below that have not arrived, first and end of each gap, ascending.
    gaps: VecDeque<(u64, u64)>,
    /// Below this, what is missing is not known any more.
    known_from: u64,
    /// Packets that have arrived, copies not counted.
    pub received: u64,
    /// Of them, those that came after one with a larger number (RFC 4737 section 3.3).
    pub reordered: u64,
    /// Packets that had arrived before.
    pub duplicated: u64,
    /// Payload bytes that have arrived, once each.
    pub payload_bytes: u64,
    /// Bytes of all that has arrived, headers included.
    pub wire_bytes: u64,
    /// One-way delays of the packets received, added up.
    pub delay_nanos: u128,
    /// Interarrival jitter in nanoseconds.
    pub jitter_nanos: f64,
    last_delay: Option<Duration>,
    window: Window,
    /// One-way delays of packets that arrived in the measuring window.
    pub delays: Histogram,
}

/// A packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its number: packets are numbered in the order in which they leave.
    pub sequence: u64,
    /// When it left.
    pub sent_at: Time,
    /// Its payload.
    pub payload_bytes: u32,
    /// Its IP packet.
    pub wire_bytes: u32,
}

/// What a packet is to those that came before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Next,
    Late,
    Copy,
}

impl Receiver {
    /// A receiver that keeps delays of this measuring window.
    pub fn new(window: Window) -> Self {
        Receiver {
            expected: 0,
            gaps: VecDeque::new(),
            known_from: 0,
            received: 0,
            reordered: 0,
            duplicated: 0,
            payload_bytes: 0,
            wire_bytes: 0,
            delay_nanos: 0,
            jitter_nanos: 0.0,
            last_delay: None,
            window,
            delays: Histogram::default(),
        }
    }

    /// A packet arrives.
    pub fn receive(&mut self, arrival: Arrival, now: Time) {
        self.wire_bytes += u64::from(arrival.wire_bytes);
        match self.place(arrival.sequence) {
            Order::Next => {}
            Order::Late => self.reordered += 1,
            Order::Copy => {
                self.duplicated += 1;
                return;
            }
        }
        self.received += 1;
        self.payload_bytes += u64::from(arrival.payload_bytes);
        let delay = now.since(arrival.sent_at);
        self.delay_nanos += u128::from(delay.as_nanos());
        self.observe_jitter(delay);
        if self.window.contains(now) {
            self.delays.record(delay);
        }
    }

    /// Packets that have not arrived, though one that left later has: lost, or overtaken and still on
    /// their way. Copies that count as late are taken for some of them.
    pub fn missing(&self) -> u64 {
        self.expected.saturating_sub(self.received)
    }

    /// The jitter of RFC 3550 section 6.4.1 and appendix A.8, which iperf reports: a sixteenth of the
    /// difference between the delays of two packets, one behind the other as they arrive, goes into
    /// the mean of those before.
    fn observe_jitter(&mut self, delay: Duration) {
        if let Some(last) = self.last_delay.replace(delay) {
            let difference = delay.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter_nanos += (difference - self.jitter_nanos) / 16.0;
        }
    }

    fn place(&mut self, sequence: u64) -> Order {
        if sequence >= self.expected {
            if sequence > self.expected {
                self.remember((self.expected, sequence));
            }
            self.expected = sequence + 1;
            return Order::Next;
        }
        if sequence < self.known_from {
            return Order::Late;
        }
        let at = self.gaps.partition_point(|(_, end)| *end <= sequence);
        let Some(gap) = self.gaps.get_mut(at).filter(|gap| gap.0 <= sequence) else {
            return Order::Copy;
        };
        let (first, end) = *gap;
        match (first == sequence, sequence + 1 == end) {
            (true, true) => drop(self.gaps.remove(at)),
            (true, false) => gap.0 += 1,
            (false, true) => gap.1 -= 1,
            (false, false) => {
                gap.1 = sequence;
                self.gaps.insert(at + 1, (sequence + 1, end));
            }
        }
        Order::Late
    }

    fn remember(&mut self, gap: (u64, u64)) {
        if self.gaps.len() >= GAPS
            && let Some((_, end)) = self.gaps.pop_front()
        {
            self.known_from = end;
        }
        self.gaps.push_back(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALWAYS: Window = Window { from: Time::ZERO, to: Time::NEVER };

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// A receiver of packets with these numbers, one a millisecond, each 10 ms on its way.
    fn after(numbers: &[u64]) -> Receiver {
        let mut receiver = Receiver::new(ALWAYS);
        for (i, sequence) in (0..).zip(numbers) {
            let arrival = Arrival {
                sequence: *sequence,
                sent_at: ms(i),
                payload_bytes: 100,
                wire_bytes: 128,
            };
            receiver.receive(arrival, ms(i + 10));
        }
        receiver
    }

    fn counts(receiver: &Receiver) -> (u64, u64, u64) {
        (receiver.received, receiver.reordered, receiver.duplicated)
    }

    #[test]
    fn packets_in_order_with_some_missing() {
        let receiver = after(&[0, 1, 2, 5, 6, 9]);
        assert_eq!(counts(&receiver), (6, 0, 0));
        assert_eq!(receiver.missing(), 4);
    }

    #[test]
    fn late_packets_and_copies_are_told_apart() {
        // 3 and 4 come late, in either order; 4 and 6 come twice; 2 never comes.
        let receiver = after(&[0, 1, 6, 4, 3, 4, 5, 6, 7]);
        assert_eq!(counts(&receiver), (7, 3, 2));
        assert_eq!(receiver.missing(), 1);
        // RFC 4737 section 3.3: of 1 4 2 3 5, two are reordered.
        assert_eq!(counts(&after(&[1, 4, 2, 3, 5])), (5, 2, 0));
        // A packet in the middle of a gap, then its neighbours.
        assert_eq!(counts(&after(&[9, 4, 3, 5, 4, 0, 8])), (6, 5, 1));
    }

    #[test]
    fn copies_are_no_goodput_but_take_up_the_wire() {
        let receiver = after(&[0, 1, 1]);
        assert_eq!((receiver.payload_bytes, receiver.wire_bytes), (200, 384));
        assert_eq!(receiver.delay_nanos, 20_000_000);
    }

    #[test]
    fn the_memory_of_what_is_missing_is_bounded() {
        // Every other packet is missing.
        let gaps = GAPS as u64 + 10;
        let numbers: Vec<u64> = (0..gaps).map(|i| 2 * i + 1).collect();
        let mut receiver = after(&numbers);
        assert_eq!((receiver.gaps.len(), receiver.known_from), (GAPS, 19));
        for (sequence, place) in [(0, Order::Late), (20, Order::Late), (20, Order::Copy)] {
            assert_eq!(receiver.place(sequence), place, "{sequence}");
        }
        // Of what is forgotten a copy counts as late, however many there are.
        let arrival = Arrival { sequence: 1, sent_at: ms(1), payload_bytes: 1, wire_bytes: 29 };
        (0..2 * gaps).for_each(|_| receiver.receive(arrival, ms(11)));
        assert_eq!((receiver.received, receiver.missing()), (3 * gaps, 0));
    }

    #[test]
    fn jitter_by_hand() {
        // Delays 10, 14, 14 and 6 ms: differences 4, 0 and 8.
        let mut receiver = Receiver::new(ALWAYS);
        let mut jitter = Vec::new();
        for (sequence, delay) in [10, 14, 14, 6].into_iter().enumerate() {
            let sent_at = ms(20 * sequence as u64);
            let sequence = sequence as u64;
            let arrival = Arrival { sequence, sent_at, payload_bytes: 1, wire_bytes: 29 };
            receiver.receive(arrival, sent_at + Duration::from_millis(delay));
            jitter.push(receiver.jitter_nanos / 1e6);
        }
        // 4/16 = 0.25; 0.25 − 0.25/16 = 0.234375; 0.234375 + 7.765625/16 = 0.7197265625.
        assert_eq!(jitter, [0.0, 0.25, 0.234_375, 0.719_726_562_5]);
    }

    #[test]
    fn delays_are_of_the_measuring_window() {
        let mut receiver = Receiver::new(Window { from: ms(100), to: ms(200) });
        for (sequence, at) in [99, 100, 199, 200].into_iter().enumerate() {
            let sent_at = ms(at - sequence as u64);
            let sequence = sequence as u64;
            let arrival = Arrival { sequence, sent_at, payload_bytes: 1, wire_bytes: 29 };
            receiver.receive(arrival, ms(at));
        }
        // Those of 1 and 2 ms.
        let quantile = |q| receiver.delays.quantile(q).unwrap().as_secs_f64() * 1e3;
        assert!((quantile(0.25) - 1.0).abs() < 1.0 / 32.0);
        assert!((quantile(1.0) - 2.0).abs() < 2.0 / 32.0);
    }
}
