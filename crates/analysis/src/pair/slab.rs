//! Packets that wait for the other capture, and how they are found again.

use super::identity::Side;
use super::watch::Look;

/// No packet.
pub(super) const NONE: u32 = u32::MAX;

/// Packets with one identity that are looked through: a flood of copies takes no longer.
const MOST_ALIKE: usize = 1024;

/// Where a packet stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Its place is free.
    Free,
    /// Sent, and not seen to arrive.
    Waiting,
    /// Arrived; kept for a while, since copies of it may come.
    Arrived,
    /// Never arrived; kept until its bytes are sent again.
    Lost,
    /// Seen to arrive before it was seen sent: the clocks are not yet known well enough.
    Early,
}

/// A packet of a capture, as the other needs it.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) state: State,
    pub(super) side: Side,
    pub(super) direction: usize,
    pub(super) look: Look,
    /// Place in the order of what its sender sent, from 1.
    pub(super) order: u64,
    /// Offset of its first byte of stream.
    pub(super) offset: i64,
    /// Parts of it that have not arrived, once a part has.
    pub(super) missing: Option<Vec<(i64, i64)>>,
    /// What was sent with the same bytes later, in order: the first of them.
    pub(super) repair: Option<Repair>,
    /// Orders of everything that waits to hear whether this is lost.
    pub(super) asked_by: Vec<u64>,
    /// Tells it from others that had the same place.
    pub(super) generation: u32,
    pub(super) next: u32,
    pub(super) before: u32,
}

/// A packet that was sent in place of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Repair {
    pub(super) number: u64,
    /// By the clock of the first capture.
    pub(super) now_ns: i64,
}

impl Item {
    pub(super) fn new(side: Side, direction: usize, look: &Look, offset: i64) -> Item {
        Item {
            state: State::Waiting,
            side,
            direction,
            look: *look,
            order: 0,
            offset,
            missing: None,
            repair: None,
            asked_by: Vec::new(),
            generation: 0,
            next: NONE,
            before: NONE,
        }
    }

    pub(super) fn end(&self) -> i64 {
        self.offset.saturating_add(i64::from(self.look.length))
    }

    /// Stream bytes of it that have not arrived.
    pub(super) fn missing_bytes(&self) -> u64 {
        match &self.missing {
            None => u64::from(self.look.length),
            Some(parts) => parts.iter().map(|(from, to)| (to - from) as u64).sum(),
        }
    }
}

/// Items by place, and chains of those whose identities share a bucket.
pub(super) struct Slab {
    items: Vec<Item>,
    free: Vec<u32>,
    buckets: Vec<u32>,
    used: usize,
}

impl Slab {
    pub(super) fn new() -> Slab {
        Slab { items: Vec::new(), free: Vec::new(), buckets: vec![NONE; 1024], used: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Item {
        &self.items[id as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Item {
        &mut self.items[id as usize]
    }

    /// Puts an item where it can be found.
    #[inline]
    pub(super) fn insert(&mut self, mut item: Item) -> u32 {
        if self.used * 2 > self.buckets.len() {
            self.grow();
        }
        self.used += 1;
        let id = match self.free.pop() {
            Some(id) => {
                item.generation = self.items[id as usize].generation.wrapping_add(1);
                self.items[id as usize] = item;
                id
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        };
        self.link(id);
        id
    }

    /// Gives its place back.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.unlink(id);
        let item = self.get_mut(id);
        item.state = State::Free;
        item.missing = None;
        item.asked_by = Vec::new();
        self.used -= 1;
        self.free.push(id);
    }

    /// Items of one identity and side, the newest first.
    #[inline]
    pub(super) fn alike(&self, key: u64, side: Side) -> impl Iterator<Item = (u32, &Item)> {
        let mut at = self.buckets[self.bucket(key)];
        std::iter::from_fn(move || {
            let id = (at != NONE).then_some(at)?;
            let item = self.get(id);
            at = item.next;
            Some((id, item))
        })
        .take(MOST_ALIKE)
        .filter(move |(_, item)| item.look.key == key && item.side == side)
    }

    fn bucket(&self, key: u64) -> usize {
        key as usize & (self.buckets.len() - 1)
    }

    fn link(&mut self, id: u32) {
        let bucket = self.bucket(self.get(id).look.key);
        let next = std::mem::replace(&mut self.buckets[bucket], id);
        if next != NONE {
            self.get_mut(next).before = id;
        }
        let item = self.get_mut(id);
        (item.next, item.before) = (next, NONE);
    }

    fn unlink(&mut self, id: u32) {
        let (next, before) = (self.get(id).next, self.get(id).before);
        if next != NONE {
            self.get_mut(next).before = before;
        }
        if before != NONE {
            self.get_mut(before).next = next;
        } else {
            let bucket = self.bucket(self.get(id).look.key);
            self.buckets[bucket] = next;
        }
    }

    #[cold]
    fn grow(&mut self) {
        // Chains keep the newest first: the oldest are put in first.
        let mut ids = Vec::with_capacity(self.used);
        for &head in &self.buckets {
            let mut chain = Vec::new();
            let mut at = head;
            while at != NONE {
                chain.push(at);
                at = self.get(at).next;
            }
            ids.extend(chain.into_iter().rev());
        }
        self.buckets = vec![NONE; self.buckets.len() * 2];
        ids.into_iter().for_each(|id| self.link(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(side: Side, key: u64) -> Item {
        Item::new(side, 0, &Look { key, ..Look::default() }, 0)
    }

    #[test]
    fn items_are_found_newest_first_and_through_growth() {
        let mut slab = Slab::new();
        let first = slab.insert(item(Side::First, 7));
        for key in 100..5000 {
            slab.insert(item(Side::First, key));
        }
        let second = slab.insert(item(Side::First, 7));
        slab.insert(item(Side::Second, 7));
        let found: Vec<u32> = slab.alike(7, Side::First).map(|(id, _)| id).collect();
        assert_eq!(found, [second, first]);
        slab.remove(second);
        let found: Vec<u32> = slab.alike(7, Side::First).map(|(id, _)| id).collect();
        assert_eq!(found, [first]);
        let again = slab.insert(item(Side::First, 9));
        assert_eq!((again, slab.get(again).generation), (second, 1));
        assert_eq!(slab.len(), 4903);
    }
}
