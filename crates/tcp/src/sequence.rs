//! Sequence numbers: 32 bits on the wire, 64-bit stream offsets inside.
//!
//! Offset 0 is the first byte of data; the SYN is before it and the FIN after the last byte. All
//! arithmetic is on offsets, which never wrap; a number on the wire expands to the offset nearest
//! to the expected one.

/// A sequence or acknowledgement number in a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeqNr(pub u32);

impl SeqNr {
    /// Sequence number of `offset` in a direction with this initial sequence number.
    pub fn of(isn: u32, offset: u64) -> Self {
        SeqNr(isn.wrapping_add(1).wrapping_add(offset as u32))
    }

    /// Stream offset of this number, within 2³¹ of `near`. None if it is before the first byte.
    pub fn offset(self, isn: u32, near: u64) -> Option<u64> {
        let distance = self.0.wrapping_sub(SeqNr::of(isn, near).0) as i32;
        near.checked_add_signed(i64::from(distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_numbers() {
        // The first data byte follows the SYN.
        assert_eq!(SeqNr::of(100, 0), SeqNr(101));
        // 2³² − 1 is the SYN; data starts at 0.
        assert_eq!(SeqNr::of(u32::MAX, 0), SeqNr(0));
        assert_eq!(SeqNr(5).offset(u32::MAX, 0), Some(5));
        // After 4 GiB the number has wrapped.
        assert_eq!(SeqNr(5).offset(u32::MAX, (1 << 32) - 10), Some((1 << 32) + 5));
        // A number before the first byte has no offset.
        assert_eq!(SeqNr(99).offset(100, 0), None);
    }

    proptest! {
        #[test]
        fn expanding_undoes_wrapping(
            isn: u32,
            near in 0u64..1 << 48,
            distance in -(1i64 << 31) + 1..(1i64 << 31),
        ) {
            let offset = near.checked_add_signed(distance);
            if let Some(offset) = offset {
                prop_assert_eq!(SeqNr::of(isn, offset).offset(isn, near), Some(offset));
            }
        }

        #[test]
        fn order_of_offsets_survives_the_wire(isn: u32, a in 0u64..1 << 40, gap in 0u64..1 << 31) {
            let (x, y) = (SeqNr::of(isn, a), SeqNr::of(isn, a + gap));
            prop_assert!(x.offset(isn, a).unwrap() <= y.offset(isn, a).unwrap());
        }
    }
}
