//! Finds the connection of a key: open addressing, eight bytes a slot.

use std::hash::{BuildHasher, RandomState};

use super::key::Key;

/// A slot of the table: nothing, or a part of the hash and where the connection is.
#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    index: u32,
}

const EMPTY: Slot = Slot { tag: 0, index: u32::MAX };

/// From keys to indices. The keys themselves stand with the connections.
pub(crate) struct Table {
    slots: Vec<Slot>,
    used: usize,
    seed: [u64; 2],
}

impl Table {
    pub(crate) fn new() -> Table {
        let random = RandomState::new();
        let seed = [random.hash_one(0), random.hash_one(1)];
        Table { slots: vec![EMPTY; 64], used: 0, seed }
    }

    /// The index of a key; `key_at` tells the key of an index.
    #[inline]
    pub(crate) fn find(&self, key: &Key, key_at: impl Fn(u32) -> Key) -> Option<u32> {
        let hash = key.hash(self.seed);
        let mut slot = self.first_place(hash);
        loop {
            let Slot { tag, index } = self.slots[slot];
            if index == EMPTY.index {
                return None;
            }
            if tag == tag_of(hash) && key_at(index) == *key {
                return Some(index);
            }
            slot = self.next_place(slot);
        }
    }

    /// Remembers where a key is, instead of where it was before.
    pub(crate) fn set(&mut self, key: &Key, index: u32, key_at: impl Fn(u32) -> Key) {
        if (self.used + 1) * 2 > self.slots.len() {
            self.grow(&key_at);
        }
        let hash = key.hash(self.seed);
        let mut slot = self.first_place(hash);
        loop {
            let Slot { tag, index: there } = self.slots[slot];
            if there == EMPTY.index {
                self.used += 1;
                break;
            }
            if tag == tag_of(hash) && key_at(there) == *key {
                break;
            }
            slot = self.next_place(slot);
        }
        self.slots[slot] = Slot { tag: tag_of(hash), index };
    }

    fn grow(&mut self, key_at: &impl Fn(u32) -> Key) {
        let doubled = vec![EMPTY; self.slots.len() * 2];
        for old in std::mem::replace(&mut self.slots, doubled) {
            if old.index == EMPTY.index {
                continue;
            }
            let mut slot = self.first_place(key_at(old.index).hash(self.seed));
            while self.slots[slot].index != EMPTY.index {
                slot = self.next_place(slot);
            }
            self.slots[slot] = old;
        }
    }

    fn first_place(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn next_place(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

/// The upper half: the lower one chooses the slot.
fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use super::*;

    fn key(number: u32) -> Key {
        let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::from(number)), 1000);
        Key::of(from, "192.0.2.1:80".parse().expect("an address"), 6, 0).0
    }

    #[test]
    fn finds_what_was_set_and_only_that() {
        let mut table = Table::new();
        for number in 0..10_000 {
            assert_eq!(table.find(&key(number), key), None);
            table.set(&key(number), number, key);
        }
        for number in 0..10_000 {
            assert_eq!(table.find(&key(number), key), Some(number));
        }
        assert_eq!(table.find(&key(10_000), key), None);
    }

    #[test]
    fn a_key_moves_to_its_newest_connection() {
        let mut table = Table::new();
        let same = |_: u32| key(7);
        table.set(&key(7), 0, same);
        table.set(&key(7), 1, same);
        assert_eq!(table.find(&key(7), same), Some(1));
        assert_eq!(table.used, 1);
    }
}
