//! Which connection carries which chunk of an application's data, and where in its own stream.

use std::collections::VecDeque;

/// A chunk in the stream of the connection that carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DealtChunk {
    pub(crate) connection: usize,
    /// Where in that connection's stream it ends.
    pub(crate) end: u64,
}

/// The chunks dealt so far, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Deal {
    chunk: u64,
    /// Bytes of all chunks together.
    bytes: u64,
    /// What every connection has of them: chunk numbers and ends, those that were not taken off first.
    shares: Vec<VecDeque<(u64, u64)>>,
    /// Who has each chunk from `first` on.
    places: VecDeque<DealtChunk>,
    first: u64,
    /// Bytes in each connection's stream.
    dealt: Vec<u64>,
}

impl Deal {
    /// Nothing is dealt yet of `bytes` in chunks of `chunk` bytes, the last may be shorter.
    pub(crate) fn new(connections: usize, chunk: u64, bytes: u64) -> Self {
        Deal {
            chunk,
            bytes,
            shares: vec![VecDeque::new(); connections],
            places: VecDeque::new(),
            first: 0,
            dealt: vec![0; connections],
        }
    }

    /// Bytes of a chunk; none behind the last.
    pub(crate) fn size(&self, number: u64) -> u64 {
        let start = number.saturating_mul(self.chunk);
        self.chunk.min(self.bytes.saturating_sub(start))
    }

    /// Number of the chunk that is dealt next.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.places.len() as u64
    }

    /// Deal the next chunk to a connection. Returns its size, zero if there is none left.
    pub(crate) fn deal(&mut self, connection: usize) -> u64 {
        let number = self.next();
        let size = self.size(number);
        if size > 0 {
            self.dealt[connection] += size;
            let end = self.dealt[connection];
            self.places.push_back(DealtChunk { connection, end });
            self.shares[connection].push_back((number, end));
        }
        size
    }

    /// Where a chunk is, if it is dealt.
    pub(crate) fn place(&self, number: u64) -> Option<DealtChunk> {
        self.places.get((number.checked_sub(self.first)?) as usize).copied()
    }

    /// The next chunk that a connection has delivered with its first `delivered` bytes, each once.
    pub(crate) fn take_completed(&mut self, connection: usize, delivered: u64) -> Option<u64> {
        let (number, end) = *self.shares[connection].front()?;
        if end > delivered {
            return None;
        }
        self.shares[connection].pop_front();
        Some(number)
    }

    /// Chunks before this one are needed no more.
    pub(crate) fn forget_before(&mut self, number: u64) {
        while self.first < number && self.places.pop_front().is_some() {
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deal_by_hand() {
        let mut deal = Deal::new(2, 300, 700);
        assert_eq!([deal.deal(1), deal.deal(0), deal.deal(1), deal.deal(0)], [300, 300, 100, 0]);
        assert_eq!(deal.place(0), Some(DealtChunk { connection: 1, end: 300 }));
        assert_eq!(deal.place(2), Some(DealtChunk { connection: 1, end: 400 }));
        assert_eq!(deal.place(3), None);
        assert_eq!(deal.take_completed(1, 299), None);
        assert_eq!(deal.take_completed(1, 400), Some(0));
        assert_eq!(deal.take_completed(1, 400), Some(2));
        assert_eq!(deal.take_completed(1, 400), None);
        deal.forget_before(1);
        assert_eq!(deal.place(0), None);
        assert_eq!(deal.place(1), Some(DealtChunk { connection: 0, end: 300 }));
    }
}
