//! Small numbers as runs of one value and groups of eight packed bit by bit (`Encodings.md`, RLE).

/// Bits that the largest of so many numbers takes.
pub(crate) fn width(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// The numbers, each of `width` bits at most.
pub(crate) fn encode(numbers: &[u32], width: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut packed: Vec<u32> = Vec::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run = rest.iter().take_while(|one| **one == first).count();
        // A run may begin where a group ends; until there, its numbers fill the group.
        let taken = match packed.len() % 8 {
            0 if run >= 8 => {
                flush(&mut out, &mut packed, width);
                varint(&mut out, (run as u64) << 1);
                let bytes = width.div_ceil(8) as usize;
                out.extend_from_slice(&first.to_le_bytes()[..bytes]);
                run
            }
            begun => {
                let taken = run.min(8 - begun);
                packed.extend(&rest[..taken]);
                taken
            }
        };
        rest = &rest[taken..];
    }
    packed.resize(packed.len().next_multiple_of(8), 0);
    flush(&mut out, &mut packed, width);
    out
}

fn flush(out: &mut Vec<u8>, packed: &mut Vec<u32>, width: u32) {
    if packed.is_empty() {
        return;
    }
    varint(out, (packed.len() as u64 / 8) << 1 | 1);
    let (mut bits, mut held) = (0u64, 0);
    for number in packed.drain(..) {
        bits |= u64::from(number) << held;
        held += width;
        while held >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            held -= 8;
        }
    }
}

pub(crate) fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads `count` numbers of `width` bits; none if there are fewer. The numbers are below 2^`width`.
pub(crate) fn decode(mut data: &[u8], width: u32, count: usize) -> Option<Vec<u32>> {
    if width > 32 {
        return None;
    }
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let header = read_varint(&mut data)?;
        let room = count - found.len();
        if header & 1 == 0 {
            let run = usize::try_from(header >> 1).ok().filter(|run| (1..=room).contains(run))?;
            let (value, rest) = data.split_at_checked(width.div_ceil(8) as usize)?;
            let mut bytes = [0; 4];
            bytes[..value.len()].copy_from_slice(value);
            let value = u32::from_le_bytes(bytes);
            if width < 32 && value >> width != 0 {
                return None;
            }
            found.resize(found.len() + run, value);
            data = rest;
        } else {
            let groups = usize::try_from(header >> 1).ok().filter(|groups| *groups > 0)?;
            let (packed, rest) = data.split_at_checked(groups.checked_mul(width as usize)?)?;
            unpack(packed, width, room.min(groups.saturating_mul(8)), &mut found);
            data = rest;
        }
    }
    Some(found)
}

fn unpack(packed: &[u8], width: u32, count: usize, found: &mut Vec<u32>) {
    let mask = (1u64 << width) - 1;
    let (mut bits, mut held, mut bytes) = (0u64, 0, packed.iter());
    for _ in 0..count {
        while held < width {
            bits |= u64::from(bytes.next().copied().unwrap_or(0)) << held;
            held += 8;
        }
        found.push((bits & mask) as u32);
        bits >>= width;
        held -= width;
    }
}

pub(crate) fn read_varint(data: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = data.split_first()?;
        *data = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
