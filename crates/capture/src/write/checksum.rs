//! The checksum of the Internet (RFC 1071).

/// A sum of 16-bit words with end-around carry, as it grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes, of which all but the last to be added come in pairs. Bytes that are zero add
    /// nothing, so a payload of zeros may be left out.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (pairs, odd) = bytes.as_chunks::<2>();
        for pair in pairs {
            self.word(u16::from_be_bytes(*pair));
        }
        if let [last] = odd {
            self.word(u16::from_be_bytes([*last, 0]));
        }
    }

    /// Adds one word.
    pub(super) fn word(&mut self, word: u16) {
        self.0 += u64::from(word);
    }

    /// The checksum.
    pub(super) fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

/// A checksum after one of the words under it has changed (RFC 1624, equation 3).
pub(super) fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = Sum::default();
    sum.word(!checksum);
    sum.word(!before);
    sum.word(after);
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 section 3: 00 01 f2 03 f4 f5 f6 f7 add up to ddf2 with the carries.
    #[test]
    fn the_example_of_rfc_1071() {
        let mut sum = Sum::default();
        sum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
    }

    #[test]
    fn an_odd_byte_is_the_upper_half_of_a_word() {
        let mut sum = Sum::default();
        sum.add(&[0x12, 0x34, 0x56]);
        assert_eq!(sum.finish(), !(0x1234 + 0x5600));
    }

    /// RFC 1624 section 4: a word goes from 5555 to 3285 under a checksum dd2f, which becomes 0000.
    #[test]
    fn the_example_of_rfc_1624() {
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }
}
