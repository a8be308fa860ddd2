//! The event queue: what happens next, in the order of (time, sequence).

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use fairway_units::Time;

/// What an event concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Component {
    /// The first packet of a row arrives at the end of its link.
    Row(u32),
    /// A port has something to do.
    Port(u32),
    /// A timer of an endpoint is due: connection · 2, + 1 for the sink.
    Timer(u32),
    /// A connection opens.
    Open(u32),
    /// An application stops writing.
    Stop(u32),
    /// An application writes its next piece.
    Write(u32),
    /// An application reads its next piece.
    Read(u32),
    /// The next packet of a datagram flow leaves.
    Datagram(u32),
    /// An application begins.
    Begin(u32),
    /// The time has come that an application asked for, with this token.
    Wake(u32, u32),
    /// The time series take a sample.
    Sample,
    /// The measuring window begins.
    WindowBegins,
    /// The measuring window ends.
    WindowEnds,
}

/// What orders an event: time in the upper half; below it the sequence, and in the last bits the
/// [`Leaf`] it belongs to, which decides nothing because no two sequences are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(u128);

impl Key {
    const NEVER: Key = Key(u128::MAX);

    fn new(at: Time, sequence: u64, leaf: usize) -> Self {
        Key(u128::from(at.as_nanos()) << 64 | u128::from(sequence) << LEAF_BITS | leaf as u128)
    }

    fn at(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    fn leaf(self) -> usize {
        self.0 as usize & (LEAVES - 1)
    }
}

const LEAF_BITS: u32 = 4;
const LEAVES: usize = 1 << LEAF_BITS;
/// The last leaf stands for everything that is in the heap.
const HEAP: usize = LEAVES - 1;

/// The earliest of a few events, one a leaf. Nearly all events are the next packets of a few rows,
/// and which of them is the next is hard to guess: in a heap a processor mispredicts its way at
/// each of them. Here the way is always the same, and nothing on it is a branch.
#[derive(Clone, Debug)]
struct Tournament {
    /// The root at 1, the children of `i` at `2i` and `2i + 1`, the leaves behind all others; each
    /// is the earlier of its children.
    nodes: [Key; 2 * LEAVES],
}

impl Tournament {
    fn set(&mut self, leaf: usize, key: Key) {
        let mut at = LEAVES + leaf;
        let mut earliest = key;
        for _ in 0..LEAF_BITS {
            self.nodes[at % (2 * LEAVES)] = earliest;
            earliest = earliest.min(self.nodes[(at ^ 1) % (2 * LEAVES)]);
            at /= 2;
        }
        self.nodes[1] = earliest;
    }

    fn earliest(&self) -> Key {
        self.nodes[1]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    key: Key,
    component: Component,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // The standard heap gives the greatest first: earliest is greatest.
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events to come. The first rows, which have one event each, have a leaf each; all else is in a
/// heap.
#[derive(Clone, Debug)]
pub struct EventQueue {
    tournament: Tournament,
    heap: BinaryHeap<Entry>,
    sequence: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        let tournament = Tournament { nodes: [Key::NEVER; 2 * LEAVES] };
        EventQueue { tournament, heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl EventQueue {
    /// Schedule an event; of two at the same time the one scheduled first comes first. A row has
    /// one event at a time.
    pub fn push(&mut self, at: Time, component: Component) {
        let sequence = self.next_sequence();
        match component {
            Component::Row(row) if (row as usize) < HEAP => {
                self.tournament.set(row as usize, Key::new(at, sequence, row as usize));
            }
            _ => {
                self.heap.push(Entry { key: Key::new(at, sequence, HEAP), component });
                self.heap_changed();
            }
        }
    }

    /// The next event, left in the queue.
    pub fn next(&self) -> Option<(Time, Component)> {
        let key = self.tournament.earliest();
        if key.leaf() == HEAP {
            return self.heap.peek().map(|entry| (entry.key.at(), entry.component));
        }
        Some((key.at(), Component::Row(key.leaf() as u32)))
    }

    /// Take the next event away.
    pub fn pop(&mut self) {
        match self.tournament.earliest().leaf() {
            HEAP => {
                self.heap.pop();
                self.heap_changed();
            }
            row => self.tournament.set(row, Key::NEVER),
        }
    }

    /// The next event happened and happens again at `at`: cheaper than taking it away and
    /// scheduling it anew.
    #[inline(always)]
    pub fn repeat(&mut self, at: Time) {
        let sequence = self.next_sequence();
        let leaf = self.tournament.earliest().leaf();
        let key = Key::new(at, sequence, leaf);
        if leaf != HEAP {
            self.tournament.set(leaf, key);
            return;
        }
        if let Some(mut top) = self.heap.peek_mut() {
            top.key = key;
            drop::<PeekMut<'_, Entry>>(top);
        }
        self.heap_changed();
    }

    fn heap_changed(&mut self) {
        let key = self.heap.peek().map_or(Key::NEVER, |entry| entry.key);
        self.tournament.set(HEAP, key);
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drain(queue: &mut EventQueue) -> Vec<(u64, Component)> {
        std::iter::from_fn(|| {
            let (at, component) = queue.next()?;
            queue.pop();
            Some((at.as_nanos(), component))
        })
        .collect()
    }

    #[test]
    fn earliest_first_and_first_scheduled_first() {
        let mut queue = EventQueue::default();
        for (at, row) in [(5, 0), (3, 1), (5, 2), (3, 3), (4, 4)] {
            queue.push(Time::from_nanos(at), Component::Row(row));
        }
        let order: Vec<_> = drain(&mut queue);
        let rows = [(3, 1), (3, 3), (4, 4), (5, 0), (5, 2)];
        assert_eq!(order, rows.map(|(at, row)| (at, Component::Row(row))));
    }

    #[test]
    fn rows_beyond_the_tournament_keep_the_order() {
        let mut queue = EventQueue::default();
        for (at, row) in [(5, 0), (3, 40), (5, 15), (3, 14), (4, 16)] {
            queue.push(Time::from_nanos(at), Component::Row(row));
        }
        let rows = [(3, 40), (3, 14), (4, 16), (5, 0), (5, 15)];
        assert_eq!(drain(&mut queue), rows.map(|(at, row)| (at, Component::Row(row))));
    }

    #[test]
    fn a_repeated_event_queues_behind_those_of_the_same_time() {
        let mut queue = EventQueue::default();
        queue.push(Time::from_nanos(1), Component::Row(0));
        queue.push(Time::from_nanos(2), Component::Row(1));
        queue.repeat(Time::from_nanos(2));
        assert_eq!(drain(&mut queue), [(2, Component::Row(1)), (2, Component::Row(0))]);
    }

    proptest! {
        /// Beside a sorted list: rows in the tournament, rows beyond it and other events, taken
        /// away or repeated.
        #[test]
        fn behaves_like_a_sorted_list(
            steps in prop::collection::vec((0u32..40, 0u64..9, prop::bool::ANY), 1..200),
        ) {
            let mut queue = EventQueue::default();
            let mut model: Vec<(u64, u64, Component)> = Vec::new();
            let (mut sequence, mut now) = (0, 0);
            for (which, delay, repeats) in steps {
                let component =
                    if which < 20 { Component::Row(which) } else { Component::Timer(which) };
                sequence += 1;
                if !model.iter().any(|(_, _, known)| *known == component) {
                    queue.push(Time::from_nanos(now + delay), component);
                    model.push((now + delay, sequence, component));
                } else {
                    let (at, _, next) = model[0];
                    prop_assert_eq!(queue.next(), Some((Time::from_nanos(at), next)));
                    model.remove(0);
                    now = at;
                    if repeats {
                        queue.repeat(Time::from_nanos(now + delay));
                        model.push((now + delay, sequence, next));
                    } else {
                        queue.pop();
                    }
                }
                model.sort_by_key(|(at, sequence, _)| (*at, *sequence));
            }
            let left: Vec<_> = model.iter().map(|(at, _, component)| (*at, *component)).collect();
            prop_assert_eq!(drain(&mut queue), left);
        }
    }
}
