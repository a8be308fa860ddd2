//! Verifiable payload: each byte follows from the flow's key and its position.

use fairway_units::random::{SPLITMIX64_STEP, splitmix64};

/// Bytes of a word of the pattern.
const WORD: u64 = 8;

/// Writes the pattern of the stream with this key from `position` on.
pub fn fill(bytes: &mut [u8], key: u64, position: u64) {
    each(key, position, bytes.len(), |at, word| {
        bytes[at..at + word.len()].copy_from_slice(word);
    });
}

/// Whether the bytes are those of the stream with this key from `position` on.
pub fn is_intact(bytes: &[u8], key: u64, position: u64) -> bool {
    let mut is_intact = true;
    each(key, position, bytes.len(), |at, word| is_intact &= bytes[at..at + word.len()] == *word);
    is_intact
}

pub fn key(session: u64, flow: u32) -> u64 {
    splitmix64(session ^ splitmix64(u64::from(flow)))
}

/// Calls `with` for the pieces of the pattern: where each goes, and up to a word of it.
fn each(key: u64, position: u64, length: usize, mut with: impl FnMut(usize, &[u8])) {
    let (mut index, skip) = (position / WORD, (position % WORD) as usize);
    let mut at = 0;
    let mut skip = skip;
    while at < length {
        // SplitMix64's output of a counter that starts at the key.
        let word = splitmix64(key.wrapping_add(index.wrapping_mul(SPLITMIX64_STEP))).to_le_bytes();
        let take = (word.len() - skip).min(length - at);
        with(at, &word[skip..skip + take]);
        (at, skip, index) = (at + take, 0, index.wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_pattern_is_the_published_sequence() {
        // The first output of splitmix64.c (Vigna) for the state 1234567.
        let mut bytes = [0; 8];
        fill(&mut bytes, 1_234_567, 0);
        assert_eq!(u64::from_le_bytes(bytes), 6_457_827_717_110_365_317);
    }

    proptest! {
        #[test]
        fn any_cut_of_the_stream_is_recognised_where_it_belongs_and_nowhere_else(
            position in 0..u64::MAX / 2, cut in 1..100usize, shift in 1..100u64, flipped in 0..100usize
        ) {
            let mut whole = vec![0; 200];
            fill(&mut whole, 7, position);
            let rest = &whole[cut..];
            prop_assert!(is_intact(rest, 7, position + cut as u64));
            prop_assert!(!is_intact(rest, 7, position + cut as u64 + shift));
            prop_assert!(!is_intact(rest, 8, position + cut as u64));
            whole[flipped] ^= 1;
            prop_assert!(!is_intact(&whole, 7, position));
        }
    }
}
