//! A buffer of received bytes that are not consumed yet.

#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    pub(crate) fn data(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Moves as much as there is and fits.
    pub(crate) fn take(&mut self, into: &mut [u8]) -> usize {
        let count = self.len().min(into.len());
        into[..count].copy_from_slice(&self.data()[..count]);
        self.consume(count);
        count
    }

    /// Room for `count` bytes behind what is there.
    pub(crate) fn reserve(&mut self, count: usize) -> &mut [u8] {
        if self.bytes.len() - self.end < count {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.len());
            let needed = self.end + count;
            if self.bytes.len() < needed {
                self.bytes.resize(needed, 0);
            }
        }
        &mut self.bytes[self.end..self.end + count]
    }

    pub(crate) fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    pub(crate) fn capacity(&self) -> usize {
        self.bytes.len()
    }
}
