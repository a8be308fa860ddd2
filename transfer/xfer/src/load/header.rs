//! The header of every datagram.

use std::time::Duration;

/// Bytes of the header: the smallest datagram.
pub const BYTES: usize = 32;
/// "FWLD": no number that other programs send first.
const MAGIC: u32 = 0x4657_4c44;

/// What a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Hello,
    Welcome,
    Data,
}

/// The header of a datagram, in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    pub flow: u32,
    /// The session's number, drawn at random: who does not know it is not heard.
    pub session: u64,
    /// Counted from 0.
    pub number: u64,
    /// When it was sent, by the sender's clock since some moment, in whole nanoseconds.
    pub sent: Duration,
}

impl Header {
    pub fn write(&self, bytes: &mut [u8; BYTES]) {
        let kind_and_flow = (self.kind as u32) << FLOW_BITS | self.flow & FLOW_MASK;
        bytes[..4].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[4..8].copy_from_slice(&kind_and_flow.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.session.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_be_bytes());
        let sent = u64::try_from(self.sent.as_nanos()).unwrap_or(u64::MAX);
        bytes[24..].copy_from_slice(&sent.to_be_bytes());
    }

    /// Reads it; none if the bytes do not begin with one.
    pub fn read(bytes: &[u8]) -> Option<Header> {
        let (header, _) = bytes.split_first_chunk::<BYTES>()?;
        let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| header[at + byte]));
        let (magic, kind_and_flow) = ((word(0) >> 32) as u32, word(0) as u32);
        let kind = match kind_and_flow >> FLOW_BITS {
            0 => Kind::Hello,
            1 => Kind::Welcome,
            2 => Kind::Data,
            _ => return None,
        };
        (magic == MAGIC).then(|| Header {
            kind,
            flow: kind_and_flow & FLOW_MASK,
            session: word(8),
            number: word(16),
            sent: Duration::from_nanos(word(24)),
        })
    }
}

/// Bits that the flow has of the word that it shares with the kind.
const FLOW_BITS: u32 = 24;
const FLOW_MASK: u32 = (1 << FLOW_BITS) - 1;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_header_is_read_as_it_was_written(
            kind in 0..3u32, flow in 0..=FLOW_MASK, session: u64, number: u64, sent: u64
        ) {
            let kind = [Kind::Hello, Kind::Welcome, Kind::Data][kind as usize];
            let sent = Duration::from_nanos(sent);
            let header = Header { kind, flow, session, number, sent };
            let mut bytes = [0; BYTES];
            header.write(&mut bytes);
            prop_assert_eq!(Header::read(&bytes), Some(header));
            prop_assert_eq!(Header::read(&bytes[..BYTES - 1]), None);
        }

        #[test]
        fn anything_is_endured(bytes in vec(any::<u8>(), 0..64)) {
            let _ = Header::read(&bytes);
        }
    }

    #[test]
    fn other_traffic_is_not_taken_for_one() {
        assert_eq!(Header::read(&[0; 64]), None);
        let mut bytes = [0; BYTES];
        let sent = Duration::from_nanos(5);
        Header { kind: Kind::Data, flow: 1, session: 2, number: 3, sent }.write(&mut bytes);
        let by_hand = [
            0x46, 0x57, 0x4c, 0x44, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0,
            0, 0, 0, 0, 0, 0, 5,
        ];
        assert_eq!(bytes, by_hand);
        bytes[4] = 3;
        assert_eq!(Header::read(&bytes), None, "no such kind");
    }
}
