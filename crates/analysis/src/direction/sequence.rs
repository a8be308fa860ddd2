//! Sequence numbers of 32 bits as offsets in a stream of any length.

/// Where offset 0 is, and how far the stream has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sequence {
    /// Sequence number of offset 0, and whether the sender itself has told it.
    base: Option<(u32, bool)>,
    /// Highest offset so far: a number means the offset nearest to it.
    highest: i64,
}

impl Sequence {
    /// Takes the number of the first byte from a packet of the sender, unless it is known already.
    /// Says by how much offsets grow that were counted from acknowledgements before.
    pub(super) fn begin_sent(&mut self, seq: u32) -> i64 {
        match self.base {
            Some((_, true)) => 0,
            Some((base, false)) => {
                self.base = Some((seq, true));
                self.highest = 0;
                i64::from(base.wrapping_sub(seq) as i32)
            }
            None => {
                self.base = Some((seq, true));
                0
            }
        }
    }

    /// Takes the number of the first byte from an acknowledgement, if nothing was sent yet.
    pub(super) fn begin_acked(&mut self, ack: u32) {
        if self.base.is_none() {
            self.base = Some((ack, false));
        }
    }

    /// The offset that a number means.
    #[inline]
    pub(super) fn offset(&self, number: u32) -> i64 {
        let base = self.base.map_or(0, |(base, _)| base);
        let nearest = base.wrapping_add(self.highest as u32);
        self.highest + i64::from(number.wrapping_sub(nearest) as i32)
    }

    /// Follows the stream to an offset.
    #[inline]
    pub(super) fn advance(&mut self, offset: i64) {
        self.highest = self.highest.max(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_longer_than_its_numbers() {
        let mut sequence = Sequence::default();
        let first = u32::MAX - 9;
        sequence.begin_sent(first);
        let mut number = first;
        // 20 steps of 2^30 bytes: five times around.
        for step in 1..=20_i64 {
            number = number.wrapping_add(1 << 30);
            assert_eq!(sequence.offset(number), step << 30);
            sequence.advance(step << 30);
        }
        assert_eq!(sequence.offset(number.wrapping_sub(1448)), (20 << 30) - 1448);
    }

    #[test]
    fn what_was_sent_before_the_capture_lies_below_zero() {
        let mut sequence = Sequence::default();
        sequence.begin_sent(5000);
        assert_eq!(sequence.offset(4000), -1000);
    }

    #[test]
    fn acknowledgements_before_the_first_segment() {
        let mut sequence = Sequence::default();
        sequence.begin_acked(1000);
        assert_eq!(sequence.offset(1500), 500);
        // The sender is at 4000: what was offset 0 is now 3000 below.
        assert_eq!(sequence.begin_sent(4000), -3000);
        assert_eq!(sequence.offset(1000), -3000);
        assert_eq!(sequence.begin_sent(9000), 0, "it begins only once");
    }
}
