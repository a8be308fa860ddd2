//! The Internet checksum (RFC 1071) of a TCP segment, and what a network card was yet to write.

/// 32 bytes at a time.
const LANES: usize = 8;

/// What the addresses, the protocol and the length add to a checksum.
#[derive(Clone, Copy)]
pub struct PseudoHeader<'a> {
    /// Source and destination as they stand in the IP header.
    pub addresses: &'a [u8],
    /// Protocol number of TCP or UDP.
    pub protocol: u8,
    /// Bytes of the segment, header and payload.
    pub bytes: u32,
}

impl PseudoHeader<'_> {
    fn sum(&self, bytes: u32) -> u64 {
        sum(self.addresses) + u64::from(u16::from(self.protocol).to_be()) + add_u32(bytes)
    }
}

/// Whether a whole segment's checksum, which stands at `at`, is neither right nor one that the
/// sending host left to its card.
///
/// A host that does that writes the sum of the pseudo-header, for which the card needs no
/// addresses (Linux, the BSDs); without the length if the card is to cut the segment up (Windows);
/// or nothing at all.
pub fn is_wrong(segment: &[u8], at: usize, pseudo: &PseudoHeader) -> bool {
    let written = [segment[at], segment[at + 1]];
    let total = pseudo.sum(pseudo.bytes) + sum(segment);
    if fold(total) == 0xffff {
        return false;
    }
    let written = u16::from_ne_bytes(written);
    let is_left_to_the_card =
        written == 0 || written == fold(pseudo.sum(pseudo.bytes)) || written == fold(pseudo.sum(0));
    !is_left_to_the_card
}

/// The sum of 16-bit words in the machine's own order: ones' complement sums do not care, so long
/// as all parts have it (RFC 1071 section 2B).
///
/// Lanes of which the compiler makes vectors; each counts 16-bit words in 32 bits, which do not
/// overflow below 1 MiB.
fn sum(bytes: &[u8]) -> u64 {
    let mut lanes = [0_u32; LANES];
    let mut chunks = bytes.chunks_exact(4 * LANES);
    for chunk in &mut chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk.chunks_exact(4)) {
            let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            *lane += (word & 0xffff) + (word >> 16);
        }
    }
    let mut total = lanes.iter().map(|&lane| u64::from(lane)).sum();
    let mut words = chunks.remainder().chunks_exact(2);
    for word in &mut words {
        total += u64::from(u16::from_ne_bytes([word[0], word[1]]));
    }
    if let [last] = words.remainder() {
        total += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    total
}

fn add_u32(value: u32) -> u64 {
    u64::from(u32::from_ne_bytes(value.to_be_bytes()))
}

fn fold(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 section 3 adds up these eight bytes to ddf2.
    #[test]
    fn the_sum_is_that_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)).to_ne_bytes(), [0xdd, 0xf2]);
    }

    /// A byte that is left over counts as the upper half of a word: 0001 + f200 = f201.
    #[test]
    fn an_odd_byte_is_padded_with_zero() {
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2])).to_ne_bytes(), [0xf2, 0x01]);
    }
}
