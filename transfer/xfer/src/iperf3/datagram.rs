//! Datagrams of a test over UDP.

/// How a client announces itself: in ASCII since 3.11, as 123456789 in its own order of bytes
/// before.
pub const HELLO: [u8; 4] = *b"9876";
const OLD_HELLO: [u8; 4] = 123_456_789_u32.to_le_bytes();
const OLD_HELLO_BIG_ENDIAN: [u8; 4] = 123_456_789_u32.to_be_bytes();
/// How a server answers; 987654321 before.
pub const WELCOME: [u8; 4] = *b"6789";
const OLD_WELCOME: [u8; 4] = 987_654_321_u32.to_le_bytes();
const OLD_WELCOME_BIG_ENDIAN: [u8; 4] = 987_654_321_u32.to_be_bytes();

/// The answer to a datagram, if it is one by which a client announces itself.
pub fn answer(hello: &[u8]) -> Option<[u8; 4]> {
    match <[u8; 4]>::try_from(hello).ok()? {
        HELLO => Some(WELCOME),
        OLD_HELLO => Some(OLD_WELCOME),
        OLD_HELLO_BIG_ENDIAN => Some(OLD_WELCOME_BIG_ENDIAN),
        _ => None,
    }
}

pub fn is_welcome(datagram: &[u8]) -> bool {
    [WELCOME, OLD_WELCOME, OLD_WELCOME_BIG_ENDIAN].iter().any(|welcome| datagram == welcome)
}

/// What every datagram of data begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub sent_us: u64,
    /// Its number, from 1.
    pub number: u64,
}

impl Header {
    /// Reads it; `wide` is whether numbers have 64 bits. None if the datagram is too short.
    pub fn read(datagram: &[u8], wide: bool) -> Option<Header> {
        let field = |at: usize| -> Option<u64> {
            let bytes = datagram.get(at..at + 4)?.try_into().ok()?;
            Some(u64::from(u32::from_be_bytes(bytes)))
        };
        let sent_us = field(0)? * 1_000_000 + field(4)?;
        let number = match wide {
            false => field(8)?,
            true => field(8)? << 32 | field(12)?,
        };
        Some(Header { sent_us, number })
    }

    /// Writes it at the beginning of a datagram of at least 16 bytes.
    pub fn write(&self, wide: bool, datagram: &mut [u8]) {
        let seconds = (self.sent_us / 1_000_000) as u32;
        let microseconds = (self.sent_us % 1_000_000) as u32;
        datagram[..4].copy_from_slice(&seconds.to_be_bytes());
        datagram[4..8].copy_from_slice(&microseconds.to_be_bytes());
        match wide {
            false => datagram[8..12].copy_from_slice(&(self.number as u32).to_be_bytes()),
            true => datagram[8..16].copy_from_slice(&self.number.to_be_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_version_is_answered_in_its_own_words() {
        assert_eq!(answer(b"9876"), Some(*b"6789"));
        // 123456789 is 0x075bcd15, 987654321 is 0x3ade68b1.
        assert_eq!(answer(&[0x15, 0xcd, 0x5b, 0x07]), Some([0xb1, 0x68, 0xde, 0x3a]));
        assert_eq!(answer(&[0x07, 0x5b, 0xcd, 0x15]), Some([0x3a, 0xde, 0x68, 0xb1]));
        assert_eq!(answer(b"987"), None);
        assert!(is_welcome(b"6789") && is_welcome(&[0xb1, 0x68, 0xde, 0x3a]));
        assert!(!is_welcome(b"9876") && !is_welcome(b"67890"));
    }

    #[test]
    fn a_header_by_hand() {
        let bytes = [0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 7];
        let narrow = Header { sent_us: 2_000_003, number: 1 };
        assert_eq!(Header::read(&bytes, false), Some(narrow));
        let wide = Header { number: (1 << 32) + 7, ..narrow };
        assert_eq!(Header::read(&bytes, true), Some(wide));
        let mut written = [0; 16];
        wide.write(true, &mut written);
        assert_eq!(written, bytes);
        assert_eq!(Header::read(&bytes[..12], true), None);
        assert_eq!(Header::read(&bytes[..11], false), None);
    }

    proptest! {
        #[test]
        fn any_datagram_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..40), wide: bool) {
            let has_header = bytes.len() >= if wide { 16 } else { 12 };
            prop_assert_eq!(Header::read(&bytes, wide).is_some(), has_header);
            let _ = (answer(&bytes), is_welcome(&bytes));
        }
    }
}
