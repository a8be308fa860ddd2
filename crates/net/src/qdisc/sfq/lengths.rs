//! Which slots have how many packets.

/// For each length a list of the slots that have it, the one that got it last first
/// (`struct sfq_head` in `net/sched/sch_sfq.c`): the longest is found at once.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    /// Of each slot, then one for each length, which is the beginning and the end of its list.
    links: Vec<Neighbours>,
    length_of: Vec<usize>,
    longest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Neighbours {
    before: usize,
    after: usize,
}

impl Lengths {
    /// So many empty slots, which may have up to `longest` packets.
    pub(super) fn new(slots: usize, longest: usize) -> Self {
        let alone = |place| Neighbours { before: place, after: place };
        let links = (0..=slots + longest).map(alone).collect();
        let mut lengths = Lengths { links, length_of: vec![0; slots], longest: 0 };
        for slot in 0..slots {
            lengths.link(slot);
        }
        lengths
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The slot that got this length last, if any has it.
    pub(super) fn first_of(&self, length: usize) -> Option<usize> {
        let first = self.links[self.list(length)].after;
        (first < self.length_of.len()).then_some(first)
    }

    pub(super) fn longer(&mut self, slot: usize) {
        self.unlink(slot);
        self.length_of[slot] += 1;
        self.longest = self.longest.max(self.length_of[slot]);
        self.link(slot);
    }

    pub(super) fn shorter(&mut self, slot: usize) {
        self.unlink(slot);
        let length = self.length_of[slot];
        if length == self.longest && self.first_of(length).is_none() {
            self.longest -= 1;
        }
        self.length_of[slot] -= 1;
        self.link(slot);
    }

    fn list(&self, length: usize) -> usize {
        self.length_of.len() + length
    }

    fn link(&mut self, slot: usize) {
        let before = self.list(self.length_of[slot]);
        let after = self.links[before].after;
        self.links[slot] = Neighbours { before, after };
        self.links[before].after = slot;
        self.links[after].before = slot;
    }

    fn unlink(&mut self, slot: usize) {
        let Neighbours { before, after } = self.links[slot];
        self.links[before].after = after;
        self.links[after].before = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_the_one_that_became_so_last() {
        let mut lengths = Lengths::new(3, 4);
        assert_eq!((lengths.longest(), lengths.first_of(0)), (0, Some(2)));
        for slot in [0, 1, 0, 1] {
            lengths.longer(slot);
        }
        assert_eq!((lengths.longest(), lengths.first_of(2)), (2, Some(1)));
        lengths.shorter(1);
        assert_eq!((lengths.longest(), lengths.first_of(2)), (2, Some(0)));
        lengths.shorter(0);
        assert_eq!((lengths.longest(), lengths.first_of(1)), (1, Some(0)));
        lengths.shorter(0);
        lengths.shorter(1);
        assert_eq!((lengths.longest(), lengths.first_of(1)), (0, None));
    }
}
