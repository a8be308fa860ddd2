//! The event queue: what happens next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use fairway_units::Time;

/// What an event concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Component {
    /// The first packet of a delivery queue arrives at the end of its link.
    Delivery(u32),
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
    /// A packet is missing of which that was known before.
    Missing,
    /// The time series take a sample.
    Sample,
    /// The measuring window begins.
    WindowBegins,
    /// The measuring window ends.
    WindowEnds,
}

/// When an event is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Due {
    /// Its time.
    pub at: Time,
    /// Since when that is known: of a packet's arrival, since it was offered to its link.
    pub since: Time,
}

impl Due {
    pub(crate) const NEVER: Due = Due { at: Time::NEVER, since: Time::NEVER };
}

/// What orders events: when one is due in the upper half; since when that is known in the lower, and
/// in the last bits its leaf. Nothing of that depends on the order in which events happened that
/// cannot meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(u128);

impl Key {
    const NEVER: Key = Key(u128::MAX);

    fn new(due: Due, leaf: usize) -> Self {
        // After 36 years the upper bits of `since` are lost.
        let since = due.since.as_nanos() << LEAF_BITS | leaf as u64;
        Key(u128::from(due.at.as_nanos()) << 64 | u128::from(since))
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
/// How many delivery queues may run ahead of other events: they have the first half of the leaves.
pub(crate) const AHEAD: usize = LEAVES / 2;

/// The earliest of a few events, one a leaf. Nearly all events are the next packets of a few
/// delivery queues, and which of them is the next is hard to guess: in a heap a processor
/// mispredicts its way at each of them. Here the way is always the same, and nothing on it is a
/// branch.
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

    /// The earliest in the second half of the leaves.
    fn earliest_behind(&self) -> Key {
        self.nodes[3]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    key: Key,
    /// Decides where keys are equal: delivery queues come first, and what is not a delivery queue
    /// keeps the order in which it was scheduled.
    order: u64,
    component: Component,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // The standard heap gives the greatest first: earliest is greatest.
        (other.key, other.order).cmp(&(self.key, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events to come. A few delivery queues, which have one event each, have a leaf each; all else is
/// in a heap.
#[derive(Clone, Debug)]
pub struct EventQueue {
    tournament: Tournament,
    /// The leaf of each of the first delivery queues, and [`HEAP`] for those that have none.
    leaves: Vec<u8>,
    /// The delivery queue of each leaf.
    queues: [u32; LEAVES],
    heap: BinaryHeap<Entry>,
    /// How many delivery queues there are; those behind have one packet, and another one the next
    /// time.
    count: u32,
    /// Of what is not a delivery queue.
    sequence: u64,
    now: Time,
}

impl EventQueue {
    /// No events of `count` delivery queues. Those in `ahead`, at most [`AHEAD`], may run ahead of all
    /// other events but their own kind; as many of `others` as there is room for have a leaf, too.
    pub fn new(count: u32, ahead: &[u32], others: impl IntoIterator<Item = u32>) -> Self {
        let others = others.into_iter().filter(|delivery| !ahead.contains(delivery));
        let others = others.zip(AHEAD..HEAP);
        let of_leaf: Vec<(u32, usize)> =
            ahead.iter().copied().zip(0..AHEAD).chain(others).collect();
        let with_leaf = of_leaf.iter().map(|(delivery, _)| delivery + 1).max().unwrap_or(0);
        let mut leaves = vec![HEAP as u8; with_leaf as usize];
        let mut queues = [0; LEAVES];
        for (delivery, leaf) in of_leaf {
            leaves[delivery as usize] = leaf as u8;
            queues[leaf] = delivery;
        }
        EventQueue {
            tournament: Tournament { nodes: [Key::NEVER; 2 * LEAVES] },
            leaves,
            queues,
            heap: BinaryHeap::new(),
            count,
            sequence: 1 << u32::BITS,
            now: Time::ZERO,
        }
    }

    /// What is scheduled from here on is scheduled `now`.
    #[inline(always)]
    pub fn advance(&mut self, now: Time) {
        self.now = now;
    }

    /// Schedule an event; of two at the same time the one scheduled earlier comes first. A delivery
    /// queue has one event at a time.
    pub fn push(&mut self, at: Time, component: Component) {
        match component {
            Component::Delivery(delivery) if delivery < self.count => {
                self.push_delivery(Due { at, since: self.now }, delivery);
            }
            _ => {
                self.sequence += 1;
                self.push_on_heap(Due { at, since: self.now }, self.sequence, component);
            }
        }
    }

    /// Schedule the event of a delivery queue, which has none.
    pub fn push_delivery(&mut self, due: Due, delivery: u32) {
        match self.leaf(delivery) {
            HEAP => self.push_on_heap(due, u64::from(delivery), Component::Delivery(delivery)),
            leaf => self.tournament.set(leaf, Key::new(due, leaf)),
        }
    }

    fn push_on_heap(&mut self, due: Due, order: u64, component: Component) {
        self.heap.push(Entry { key: Key::new(due, HEAP), order, component });
        self.heap_changed();
    }

    fn leaf(&self, delivery: u32) -> usize {
        self.leaves.get(delivery as usize).map_or(HEAP, |leaf| *leaf as usize)
    }

    /// The next event, left in the queue.
    pub fn next(&self) -> Option<(Time, Component)> {
        let key = self.tournament.earliest();
        if key.leaf() == HEAP {
            return self.heap.peek().map(|entry| (entry.key.at(), entry.component));
        }
        Some((key.at(), Component::Delivery(self.queues[key.leaf()])))
    }

    /// When the next event is due that no delivery queue may run ahead of.
    pub fn next_of_others(&self) -> Time {
        self.tournament.earliest_behind().at()
    }

    /// Take the next event away.
    pub fn pop(&mut self) {
        match self.tournament.earliest().leaf() {
            HEAP => {
                self.heap.pop();
                self.heap_changed();
            }
            leaf => self.tournament.set(leaf, Key::NEVER),
        }
    }

    /// The next event happened and happens again: cheaper than taking it away and scheduling it anew.
    #[inline(always)]
    pub fn repeat(&mut self, due: Due) {
        let leaf = self.tournament.earliest().leaf();
        let key = Key::new(due, leaf);
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

    /// As [`Self::repeat`], known since now.
    pub fn repeat_at(&mut self, at: Time) {
        self.repeat(Due { at, since: self.now });
    }

    /// The event of a delivery queue that has run ahead happens again.
    #[inline(always)]
    pub fn put_off(&mut self, delivery: u32, due: Due) {
        let leaf = self.leaf(delivery);
        self.tournament.set(leaf, Key::new(due, leaf));
    }

    fn heap_changed(&mut self) {
        let key = self.heap.peek().map_or(Key::NEVER, |entry| entry.key);
        self.tournament.set(HEAP, key);
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
    fn earliest_first_then_scheduled_first_then_the_first_row() {
        let mut queue = EventQueue::new(50, &[0, 2, 18], 0..50);
        let queues = [(0, 5, 0), (0, 3, 40), (1, 5, 1), (1, 3, 3), (1, 3, 2), (1, 4, 49)];
        for (now, at, delivery) in queues {
            queue.advance(Time::from_nanos(now));
            queue.push(Time::from_nanos(at), Component::Delivery(delivery));
        }
        let order = [(3, 40), (3, 2), (3, 3), (4, 49), (5, 0), (5, 1)];
        assert_eq!(
            drain(&mut queue),
            order.map(|(at, delivery)| (at, Component::Delivery(delivery)))
        );
    }

    #[test]
    fn what_is_no_row_keeps_the_order_in_which_it_was_scheduled() {
        let mut queue = EventQueue::new(4, &[0, 1], 0..4);
        let components = [
            Component::Timer(7),
            // A delivery queue that comes once, and may come again as another one.
            Component::Delivery(4),
            Component::Sample,
            Component::Delivery(3),
        ];
        for component in components {
            queue.push(Time::from_nanos(1), component);
        }
        let order = [components[3], components[0], components[1], components[2]];
        assert_eq!(drain(&mut queue), order.map(|component| (1, component)));
    }

    #[test]
    fn a_repeated_event_queues_behind_those_of_the_same_time() {
        let mut queue = EventQueue::new(2, &[0, 1], 0..2);
        queue.push(Time::from_nanos(1), Component::Delivery(0));
        queue.push(Time::from_nanos(2), Component::Delivery(1));
        queue.advance(Time::from_nanos(1));
        queue.repeat_at(Time::from_nanos(2));
        assert_eq!(drain(&mut queue), [(2, Component::Delivery(1)), (2, Component::Delivery(0))]);
    }

    #[test]
    fn rows_may_run_ahead_of_one_another_only() {
        let mut queue = EventQueue::new(20, &[0, 2], 0..20);
        assert_eq!(queue.next_of_others(), Time::NEVER);
        queue.push(Time::from_nanos(3), Component::Delivery(0));
        queue.push(Time::from_nanos(5), Component::Delivery(2));
        assert_eq!(queue.next_of_others(), Time::NEVER);
        queue.push(Time::from_nanos(9), Component::Delivery(19));
        assert_eq!(queue.next_of_others(), Time::from_nanos(9));
        queue.push(Time::from_nanos(8), Component::Delivery(1));
        assert_eq!(queue.next_of_others(), Time::from_nanos(8));
        let [at, since] = [7, 4].map(Time::from_nanos);
        queue.put_off(0, Due { at, since });
        let order = [(5, 2), (7, 0), (8, 1), (9, 19)];
        assert_eq!(
            drain(&mut queue),
            order.map(|(at, delivery)| (at, Component::Delivery(delivery)))
        );
    }

    proptest! {
        /// Beside a sorted list: delivery queues with a leaf, delivery queues without and other
        /// events, taken away or repeated.
        #[test]
        fn behaves_like_a_sorted_list(
            steps in prop::collection::vec((0u32..40, 0u64..9, prop::bool::ANY), 1..200),
        ) {
            // Leaves 0 to 2; then 8 to 14, which the delivery queues 1, 2, 4, 5, 6, 8 and 9 have.
            let mut queue = EventQueue::new(25, &[0, 3, 7], 0..25);
            let leaves = [0, 3, 7, 1, 2, 4, 5, 6, 8, 9];
            let mut model: Vec<((u64, u64, u64), Component)> = Vec::new();
            let (mut sequence, mut now) = (100, 0);
            for (which, delay, repeats) in steps {
                let is_row = which < 25;
                let component =
                    if is_row { Component::Delivery(which) } else { Component::Timer(which) };
                if !model.iter().any(|(_, known)| *known == component) {
                    sequence += 1;
                    let leaf = leaves.iter().position(|delivery| *delivery == which);
                    let order = match leaf {
                        Some(leaf) => leaf as u64,
                        None if is_row => 10 + u64::from(which),
                        None => sequence,
                    };
                    queue.push(Time::from_nanos(now + delay), component);
                    model.push(((now + delay, now, order), component));
                } else {
                    let ((at, _, order), next) = model.remove(0);
                    prop_assert_eq!(queue.next(), Some((Time::from_nanos(at), next)));
                    now = at;
                    queue.advance(Time::from_nanos(now));
                    if repeats {
                        queue.repeat_at(Time::from_nanos(now + delay));
                        model.push(((now + delay, now, order), next));
                    } else {
                        queue.pop();
                    }
                }
                model.sort_by_key(|(key, _)| *key);
            }
            let left: Vec<_> = model.iter().map(|((at, ..), component)| (*at, *component)).collect();
            prop_assert_eq!(drain(&mut queue), left);
        }
    }
}
