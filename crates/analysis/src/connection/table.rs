//! Finds the connection of a key: open addressing, eight bytes a place.

use std::hash::{BuildHasher, RandomState};

use super::key::Key;

/// A place of the table: nothing, or a part of the hash and where the connection is.
#[derive(Clone, Copy)]
struct Place {
    tag: u32,
    index: u32,
}

const EMPTY: Place = Place { tag: 0, index: u32::MAX };

/// From keys to indices. The keys themselves stand with the connections.
pub(crate) struct Table {
    places: Vec<Place>,
    used: usize,
    seed: [u64; 2],
}

impl Table {
    pub(crate) fn new() -> Table {
        let random = RandomState::new();
        let seed = [random.hash_one(0), random.hash_one(1)];
        Table { places: vec![EMPTY; 64], used: 0, seed }
    }

    /// The index of a key; `key_at` tells the key of an index.
    #[inline]
    pub(crate) fn find(&self, key: &Key, key_at: impl Fn(u32) -> Key) -> Option<u32> {
        let hash = key.hash(self.seed);
        let mut place = self.first_place(hash);
        loop {
            let Place { tag, index } = self.places[place];
            if index == EMPTY.index {
                return None;
            }
            if tag == tag_of(hash) && key_at(index) == *key {
                return Some(index);
            }
            place = self.next_place(place);
        }
    }

    /// Remembers where a key is, in place of where it was before.
    pub(crate) fn set(&mut self, key: &Key, index: u32, key_at: impl Fn(u32) -> Key) {
        if (self.used + 1) * 2 > self.places.len() {
            self.grow(&key_at);
        }
        let hash = key.hash(self.seed);
        let mut place = self.first_place(hash);
        loop {
            let Place { tag, index: there } = self.places[place];
            if there == EMPTY.index {
                self.used += 1;
                break;
            }
            if tag == tag_of(hash) && key_at(there) == *key {
                break;
            }
            place = self.next_place(place);
        }
        self.places[place] = Place { tag: tag_of(hash), index };
    }

    fn grow(&mut self, key_at: &impl Fn(u32) -> Key) {
        let doubled = vec![EMPTY; self.places.len() * 2];
        for old in std::mem::replace(&mut self.places, doubled) {
            if old.index == EMPTY.index {
                continue;
            }
            let mut place = self.first_place(key_at(old.index).hash(self.seed));
            while self.places[place].index != EMPTY.index {
                place = self.next_place(place);
            }
            self.places[place] = old;
        }
    }

    fn first_place(&self, hash: u64) -> usize {
        hash as usize & (self.places.len() - 1)
    }

    fn next_place(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }
}

/// The upper half: the lower one chooses the place.
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
