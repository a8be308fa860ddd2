//! Counts of a datagram flow.

/// Datagrams among the latest that are known one by one, to tell copies from late ones.
const REMEMBERED: u64 = 1 << 16;
const WORD_BITS: u64 = 64;
/// Gain of the jitter estimate (RFC 3550 section 6.4.1).
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// What is known of a flow of datagrams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatagramCounts {
    /// Datagrams sent, as far as this end knows.
    pub sent_packets: u64,
    pub received_packets: u64,
    /// Payload received, copies not counted; at an end that only sends, payload sent.
    pub payload_bytes: u64,
    pub wire_bytes: u64,
    pub lost_packets: u64,
    /// Datagrams that came after one that was sent later (RFC 4737 section 3.3).
    pub reordered_packets: u64,
    pub duplicated_packets: u64,
    /// Interarrival jitter (RFC 3550 section 6.4.1) in seconds; none before the second datagram.
    pub jitter_s: Option<f64>,
}

impl DatagramCounts {
    /// What was counted after an earlier moment; the jitter is that of now.
    pub(super) fn since(&self, earlier: &DatagramCounts) -> DatagramCounts {
        let since = |of: fn(&DatagramCounts) -> u64| of(self).saturating_sub(of(earlier));
        DatagramCounts {
            sent_packets: since(|counts| counts.sent_packets),
            received_packets: since(|counts| counts.received_packets),
            payload_bytes: since(|counts| counts.payload_bytes),
            wire_bytes: since(|counts| counts.wire_bytes),
            lost_packets: since(|counts| counts.lost_packets),
            reordered_packets: since(|counts| counts.reordered_packets),
            duplicated_packets: since(|counts| counts.duplicated_packets),
            jitter_s: self.jitter_s,
        }
    }
}

/// The receiving end's book of one flow: finds what is lost, late or a copy.
#[derive(Clone, Debug)]
pub struct Datagrams {
    pub counts: DatagramCounts,
    /// One more than the highest number received.
    next: u64,
    /// A bit for each of the latest numbers: whether it came.
    came: Vec<u64>,
    transit_s: Option<f64>,
}

impl Default for Datagrams {
    fn default() -> Self {
        let words = (REMEMBERED / WORD_BITS) as usize;
        let counts = DatagramCounts::default();
        Datagrams { counts, next: 0, came: vec![0; words], transit_s: None }
    }
}

impl Datagrams {
    /// A datagram has come: the number that the sender gave it, counted from 0, how long it was
    /// under way by the two clocks (only differences of it are used), its payload and its headers.
    pub fn receive(&mut self, number: u64, transit_s: f64, payload_bytes: u64, header_bytes: u64) {
        if self.has_come(number) {
            self.counts.duplicated_packets += 1;
            return;
        }
        if number >= self.next {
            self.advance(number);
        } else {
            self.counts.reordered_packets += 1;
        }
        self.mark(number);
        self.counts.received_packets += 1;
        self.counts.payload_bytes += payload_bytes;
        self.counts.wire_bytes += payload_bytes + header_bytes;
        // Until the sender says how many it has sent, those up to the highest number.
        self.counts.sent_packets = self.counts.sent_packets.max(self.next);
        self.counts.lost_packets =
            self.counts.sent_packets.saturating_sub(self.counts.received_packets);
        if let Some(before_s) = self.transit_s {
            let jitter_s = self.counts.jitter_s.unwrap_or(0.0);
            let change_s = (transit_s - before_s).abs();
            self.counts.jitter_s = Some(jitter_s + (change_s - jitter_s) * JITTER_GAIN);
        }
        self.transit_s = Some(transit_s);
    }

    /// The sender says how many it has sent: the last ones may be missing too.
    pub fn sent(&mut self, packets: u64) {
        self.counts.sent_packets = self.counts.sent_packets.max(packets);
        self.counts.lost_packets =
            self.counts.sent_packets.saturating_sub(self.counts.received_packets);
    }

    /// Whether the number came already; what is older than those remembered is taken for late.
    fn has_come(&self, number: u64) -> bool {
        number < self.next
            && self.next - number <= REMEMBERED
            && self.came[word(number)] & bit(number) != 0
    }

    fn mark(&mut self, number: u64) {
        if self.next - number <= REMEMBERED {
            self.came[word(number)] |= bit(number);
        }
    }

    /// Makes `number` the highest one, and forgets what came so many numbers earlier.
    fn advance(&mut self, number: u64) {
        if number - self.next >= REMEMBERED {
            self.came.fill(0);
        } else {
            for skipped in self.next..=number {
                self.came[word(skipped)] &= !bit(skipped);
            }
        }
        self.next = number.saturating_add(1);
    }
}

fn word(number: u64) -> usize {
    (number % REMEMBERED / WORD_BITS) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % WORD_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn jitter_as_the_formula_of_the_rfc_gives_it_by_hand() {
        let mut flow = Datagrams::default();
        for (number, transit_s) in [(0, 1.0), (1, 1.016), (2, 1.0)] {
            flow.receive(number, transit_s, 100, 28);
        }
        // J = 0 + 0.016/16 = 0.001; then 0.001 + (0.016 − 0.001)/16 = 0.0019375.
        assert!((flow.counts.jitter_s.unwrap() - 0.001_937_5).abs() < 1e-12);
        assert_eq!((flow.counts.payload_bytes, flow.counts.wire_bytes), (300, 384));
    }

    #[test]
    fn what_is_lost_late_and_a_copy() {
        let mut flow = Datagrams::default();
        for number in [0, 1, 4, 2, 2, 4, 5] {
            flow.receive(number, 0.0, 10, 0);
        }
        let counts = &flow.counts;
        assert_eq!((counts.received_packets, counts.reordered_packets), (5, 1));
        assert_eq!((counts.duplicated_packets, counts.lost_packets), (2, 1), "number 3");
        flow.sent(8);
        assert_eq!(flow.counts.lost_packets, 3, "and 6 and 7");
    }

    #[test]
    fn far_jumps_and_the_largest_number_are_endured() {
        let mut flow = Datagrams::default();
        for number in [0, 10 * REMEMBERED, 3, u64::MAX, u64::MAX - 1] {
            flow.receive(number, 0.0, 1, 0);
        }
        assert_eq!(flow.counts.received_packets + flow.counts.duplicated_packets, 5);
    }

    proptest! {
        #[test]
        fn the_counts_balance_in_any_order(numbers in vec(0..300u64, 1..200)) {
            let mut flow = Datagrams::default();
            for number in &numbers {
                flow.receive(*number, 0.0, 1, 0);
            }
            let mut distinct = numbers.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let counts = &flow.counts;
            prop_assert_eq!(counts.received_packets, distinct.len() as u64);
            prop_assert_eq!(counts.duplicated_packets, (numbers.len() - distinct.len()) as u64);
            let highest = *distinct.last().unwrap();
            prop_assert_eq!(counts.lost_packets, highest + 1 - distinct.len() as u64);
        }
    }
}
