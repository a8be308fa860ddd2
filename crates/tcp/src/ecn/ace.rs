//! The ACE field, formed by the flags AE, CWR and ECE: negotiation in the handshake, then a counter
//! of marked packets (RFC 9768 section 3).

use super::EcnMode;
use crate::segment::Flags;

/// Initial value of both counters (RFC 9768 section 3.2.1), so that a path that clears the flags is
/// detected.
pub const FIRST_COUNT: u8 = 5;
/// Greatest value of the field, after which the counter wraps.
const MASK: u8 = 7;
/// Marks that trigger an acknowledgement while data waits for one (RFC 9768 section 3.2.2.5.1).
const MARKS_WITH_DATA: u8 = 2;
/// Marks that trigger one while no data waits, so that ACKs of ACKs die out (same section).
const MARKS_WITHOUT_DATA: u8 = 3;

/// ACE field of a segment.
pub fn field(flags: Flags) -> u8 {
    let bit = |flag, value| if flags.has(flag) { value } else { 0 };
    bit(Flags::AE, 4) | bit(Flags::CWR, 2) | bit(Flags::ECE, 1)
}

/// Flags that encode the lowest three bits of `field`.
pub fn flags(field: u8) -> Flags {
    Flags::default()
        .with_if(field & 4 != 0, Flags::AE)
        .with_if(field & 2 != 0, Flags::CWR)
        .with_if(field & 1 != 0, Flags::ECE)
}

/// ACE field that reports the IP-ECN codepoint of a SYN or SYN-ACK on arrival (RFC 9768 tables 2
/// and 3).
pub fn arrived_as(ip: Flags) -> u8 {
    if ip.has(Flags::CE) {
        0b110
    } else if ip.has(Flags::ECT) {
        0b100
    } else if ip.has(Flags::ECT1) {
        0b011
    } else {
        0b010
    }
}

/// Feedback that a SYN requests (RFC 9768 table 2; unused codes count as accurate, section 3.1.2).
pub fn asked_for(syn: Flags) -> EcnMode {
    match field(syn) {
        0b000 => EcnMode::Off,
        0b011 => EcnMode::Classic,
        _ => EcnMode::Accurate,
    }
}

/// Feedback that a SYN-ACK accepts after a request for accurate feedback (RFC 9768 table 2; 111
/// comes from a peer that reflects flags, 101 from one with the ECN nonce).
pub fn agreed_to(answer: Flags) -> EcnMode {
    match field(answer) {
        0b000 | 0b111 => EcnMode::Off,
        0b001 | 0b101 => EcnMode::Classic,
        _ => EcnMode::Accurate,
    }
}

/// Initial count of the passive end, from the final ACK of the handshake (RFC 9768 table 4); none
/// if the path or the peer cleared the field.
pub fn first_count(end_of_handshake: Flags) -> Option<u8> {
    match field(end_of_handshake) {
        0b000 => None,
        0b110 => Some(FIRST_COUNT + 1),
        _ => Some(FIRST_COUNT),
    }
}

/// Packets newly reported as marked by an acknowledgement of `packets` packets, whose field went
/// from `before` to `now`. If the counter may have wrapped, the greatest possible number is assumed
/// (RFC 9768 section 3.2.2.5.2, without the option of section 3.2.3).
pub fn newly_marked(now: u8, before: u8, packets: u64) -> u64 {
    let least = u64::from(now.wrapping_sub(before) & MASK);
    if packets <= u64::from(MASK) {
        return least;
    }
    packets - ((packets - least) & u64::from(MASK))
}

/// Count of marked packets received.
#[derive(Clone, Copy, Debug)]
pub struct MarkCount {
    /// Marked packets; only the lowest three bits are sent.
    marked: u8,
    /// Marked packets not yet reported.
    untold: u8,
    /// Whether the last packet was marked.
    last_marked: bool,
}

impl MarkCount {
    /// Count after the SYN-ACK (RFC 9768 table 3).
    pub fn new(answer_was_marked: bool) -> Self {
        let marked = FIRST_COUNT + u8::from(answer_was_marked);
        MarkCount { marked, untold: 0, last_marked: false }
    }

    /// Flags of a segment to send.
    pub fn tell(&mut self) -> Flags {
        self.untold = 0;
        flags(self.marked)
    }

    /// Count a packet; `data_waits`: unacknowledged data waits. Returns whether it must be reported
    /// at once (RFC 9768 section 3.2.2.5.1): when marks begin, and then every two or three marks.
    pub fn receive(&mut self, marked: bool, has_data: bool, data_waits: bool) -> bool {
        let begins = marked && !self.last_marked && has_data;
        self.last_marked = marked;
        if !marked {
            return false;
        }
        self.marked = self.marked.wrapping_add(1);
        self.untold = self.untold.saturating_add(1);
        let enough = if has_data || data_waits { MARKS_WITH_DATA } else { MARKS_WITHOUT_DATA };
        begins || self.untold >= enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_the_three_flags() {
        for value in 0..8 {
            assert_eq!(field(flags(value)), value);
        }
        assert!(flags(4).has(Flags::AE) && flags(2).has(Flags::CWR) && flags(1).has(Flags::ECE));
        assert_eq!(flags(13), flags(5));
    }

    #[test]
    fn handshakes() {
        // RFC 9768 table 2, by the three bits.
        use EcnMode::{Accurate, Classic, Off};
        let asked = [Off, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate];
        let agreed = [Off, Classic, Accurate, Accurate, Accurate, Classic, Accurate, Off];
        for (value, (asked, agreed)) in asked.into_iter().zip(agreed).enumerate() {
            let flags = flags(value as u8);
            assert_eq!((asked_for(flags), agreed_to(flags)), (asked, agreed), "{value:03b}");
        }
        // Table 4.
        let counts = [None, Some(5), Some(5), Some(5), Some(5), Some(5), Some(6), Some(5)];
        for (value, count) in counts.into_iter().enumerate() {
            assert_eq!(first_count(flags(value as u8)), count, "{value:03b}");
        }
    }

    #[test]
    fn a_few_packets_are_counted_exactly() {
        for (now, before, packets, marked) in [
            (5, 5, 1, 0),
            (6, 5, 1, 1),
            // The counter wraps.
            (0, 7, 1, 1),
            (1, 6, 2, 3),
            (4, 5, 7, 7),
        ] {
            assert_eq!(newly_marked(now, before, packets), marked, "{now} {before} {packets}");
        }
    }

    #[test]
    fn with_many_packets_the_counter_may_have_wrapped() {
        for (now, before, packets, marked) in [
            // 2 or 10 of 10, 2 of 9.
            (7, 5, 10, 10),
            (7, 5, 9, 2),
            // 0 or 8 of 8 and of 15, 0, 8 or 16 of 16.
            (5, 5, 8, 8),
            (5, 5, 15, 8),
            (5, 5, 16, 16),
            // 7 or 15 of 15, 7 of 14.
            (4, 5, 15, 15),
            (4, 5, 14, 7),
        ] {
            assert_eq!(newly_marked(now, before, packets), marked, "{now} {before} {packets}");
        }
    }

    #[test]
    fn marks_are_reported_when_they_begin_and_then_every_second() {
        let mut count = MarkCount::new(false);
        let data = |count: &mut MarkCount, marked| {
            let leaves = count.receive(marked, true, true);
            (leaves, leaves.then(|| field(count.tell())))
        };
        let seen: Vec<_> = [false, true, true, true, false, true, true, true, false]
            .map(|marked| data(&mut count, marked))
            .into();
        assert_eq!(
            seen,
            [
                (false, None),
                (true, Some(6)),
                (false, None),
                (true, Some(0)),
                (false, None),
                (true, Some(1)),
                (false, None),
                (true, Some(3)),
                (false, None),
            ]
        );
    }

    #[test]
    fn on_pure_acks_every_third_mark_is_reported() {
        let mut count = MarkCount::new(true);
        assert!(!count.receive(true, false, false) && !count.receive(true, false, false));
        assert!(count.receive(true, false, false));
        assert_eq!(field(count.tell()), 1);
        // With data waiting, every second.
        assert!(!count.receive(true, false, true) && count.receive(true, false, true));
    }
}
