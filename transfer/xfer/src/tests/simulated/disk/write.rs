//! Changes of a file's content, and what of them reaches the medium when the power fails.

use fairway_units::random::Stream;

/// What a medium writes as a whole or not at all.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug)]
pub(super) enum Write {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

impl Write {
    pub(super) fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Write::Length(bytes) => to.resize(*bytes, 0),
            Write::Bytes(at, bytes) => {
                to.resize(to.len().max(at + bytes.len()), 0);
                to[*at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
    }
}

/// Some sectors of what was written reach the medium.
pub(super) fn torn(medium: &mut Vec<u8>, unsynced: &[Write], share: f64, random: &mut Stream) {
    for write in unsynced {
        match write {
            Write::Length(_) if random.unit() < share => write.apply(medium),
            Write::Length(_) => {}
            Write::Bytes(at, bytes) => {
                for (index, sector) in bytes.chunks(SECTOR_BYTES).enumerate() {
                    if random.unit() < share {
                        let write = Write::Bytes(at + index * SECTOR_BYTES, sector.to_vec());
                        write.apply(medium);
                    }
                }
            }
        }
    }
}
