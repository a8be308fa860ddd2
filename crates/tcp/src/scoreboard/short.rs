//! Segments shorter than full ones: in a window counted in packets each takes as much as any other.

use super::{LOST, RETRANSMITTED, SACKED, Scoreboard};

impl Scoreboard {
    /// Note that the last segment is a short one.
    #[inline(never)]
    pub(super) fn note_short(&mut self) {
        while self.short.front().is_some_and(|index| *index < self.first) {
            self.short.pop_front();
        }
        self.short.push_back(self.first + self.sent.len() as u64 - 1);
    }

    /// Packets believed to be in the network, full ones of `mss` bytes (Linux
    /// `tcp_packets_in_flight`).
    pub(crate) fn packets_in_flight(&self, mss: u64) -> u64 {
        let missing: u64 = self.short.iter().map(|index| self.missing_of(*index, mss)).sum();
        (self.pipe() + missing).div_ceil(mss)
    }

    /// What a segment in the network lacks of a full one; nothing if it is not there.
    fn missing_of(&self, index: u64, mss: u64) -> u64 {
        let known = index.checked_sub(self.first).and_then(|place| self.sent.get(place as usize));
        let Some(sent) = known else { return 0 };
        if sent.is(SACKED) || (sent.is(LOST) && !sent.is(RETRANSMITTED)) {
            return 0;
        }
        mss.saturating_sub(self.range(index).bytes())
    }
}

#[cfg(test)]
mod tests {
    use fairway_units::Time;

    use crate::LossDetection;
    use crate::scoreboard::{AckSummary, Scoreboard};

    #[test]
    fn a_short_segment_is_a_packet_until_it_is_acknowledged() {
        let mut board = Scoreboard::new(LossDetection::Rack, 3, 1000);
        // 1000, 200 and 1000 bytes: three packets, though no more bytes than two and a fifth.
        for end in [1000, 1200, 2200, 2500] {
            board.sent(end, Time::ZERO);
        }
        assert_eq!((board.pipe(), board.packets_in_flight(1000)), (2500, 4));
        let mut summary = AckSummary::default();
        board.acknowledge(1200, &mut summary);
        assert_eq!((board.pipe(), board.packets_in_flight(1000)), (1300, 2));
        board.acknowledge(2500, &mut summary);
        assert_eq!(board.packets_in_flight(1000), 0);
    }
}
