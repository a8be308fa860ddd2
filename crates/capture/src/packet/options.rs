//! Options of a TCP segment (RFC 9293 section 3.1), as far as they were captured.

use super::{MAX_SACK_BLOCKS, Options};

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// No operation twice, then timestamps of ten bytes: how nearly every segment begins (RFC 7323
/// appendix A).
const USUAL: [u8; 4] = [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10];

impl Options {
    /// Reads what was captured of the `bytes` of options that a header says it has. An option of a
    /// wrong length is passed over; one that runs beyond the end stops the reading.
    #[inline]
    pub(crate) fn read(captured: &[u8], bytes: u8) -> Options {
        let mut options = Options { bytes, ..Options::default() };
        let mut rest = captured;
        if rest.len() >= 12 && rest[..4] == USUAL {
            options.timestamps = Some((be32(rest, 4), be32(rest, 8)));
            rest = &rest[12..];
        }
        while let Some((&kind, after)) = rest.split_first() {
            rest = match kind {
                END => break,
                NO_OPERATION => after,
                _ => {
                    let Some(length) = after.first().map(|&length| usize::from(length)) else {
                        break;
                    };
                    if length < 2 || length > rest.len() {
                        break;
                    }
                    options.take(kind, &rest[2..length]);
                    &rest[length..]
                }
            };
        }
        options
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value.len()) {
            (MSS, 2) => self.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (WINDOW_SCALE, 1) => self.window_scale = Some(value[0]),
            (SACK_PERMITTED, 0) => self.sack_permitted = true,
            (TIMESTAMPS, 8) => self.timestamps = Some((be32(value, 0), be32(value, 4))),
            (SACK, _) => {
                for block in value.chunks_exact(8) {
                    let used = usize::from(self.sack_count);
                    if used == MAX_SACK_BLOCKS {
                        break;
                    }
                    self.sack[used] = (be32(block, 0), be32(block, 4));
                    self.sack_count += 1;
                }
            }
            _ => {}
        }
    }
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options of a SYN as Linux sends them: MSS 1460, SACK permitted, timestamps 1 and 0,
    /// a NOP, window scale 7.
    #[test]
    fn options_of_a_syn() {
        let bytes = [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        let options = Options::read(&bytes, 20);
        assert_eq!(options.mss, Some(1460));
        assert!(options.sack_permitted);
        assert_eq!(options.timestamps, Some((1, 0)));
        assert_eq!(options.window_scale, Some(7));
        assert_eq!(options.bytes, 20);
        assert!(options.sack_blocks().is_empty());
    }

    #[test]
    fn selective_acknowledgements_after_timestamps() {
        let mut bytes = vec![1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8, 1, 1, 5, 18];
        for edge in [1000_u32, 2000, 3000, 4000] {
            bytes.extend(edge.to_be_bytes());
        }
        let options = Options::read(&bytes, 32);
        assert_eq!(options.timestamps, Some((9, 8)));
        assert_eq!(options.sack_blocks(), [(1000, 2000), (3000, 4000)]);
    }

    #[test]
    fn an_option_that_runs_beyond_the_end_stops_the_reading() {
        let options = Options::read(&[3, 3, 5, 8, 10, 0, 0], 8);
        assert_eq!(options.window_scale, Some(5));
        assert_eq!(options.timestamps, None);
        assert_eq!(Options::read(&[2, 0, 0, 0], 4), Options { bytes: 4, ..Options::default() });
        assert_eq!(Options::read(&[8], 4), Options { bytes: 4, ..Options::default() });
    }
}
