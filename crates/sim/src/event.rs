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
    /// The time series take a sample.
    Sample,
    /// The measuring window begins.
    WindowBegins,
    /// The measuring window ends.
    WindowEnds,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    /// Time in the upper half, sequence in the lower: one comparison orders both.
    key: u128,
    component: Component,
}

impl Entry {
    fn new(at: Time, sequence: u64, component: Component) -> Self {
        Entry { key: u128::from(at.as_nanos()) << 64 | u128::from(sequence), component }
    }

    fn at(&self) -> Time {
        Time::from_nanos((self.key >> 64) as u64)
    }
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

/// Events to come.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Entry>,
    sequence: u64,
}

impl EventQueue {
    /// Schedule an event; of two at the same time the one scheduled first comes first.
    pub fn push(&mut self, at: Time, component: Component) {
        let sequence = self.next_sequence();
        self.heap.push(Entry::new(at, sequence, component));
    }

    /// The next event, left in the queue.
    pub fn next(&self) -> Option<(Time, Component)> {
        self.heap.peek().map(|entry| (entry.at(), entry.component))
    }

    /// Take the next event away.
    pub fn pop(&mut self) {
        self.heap.pop();
    }

    /// The next event happened and happens again at `at`: cheaper than taking it away and
    /// scheduling it anew.
    pub fn repeat(&mut self, at: Time) {
        let sequence = self.next_sequence();
        if let Some(mut top) = self.heap.peek_mut() {
            *top = Entry::new(at, sequence, top.component);
            drop::<PeekMut<'_, Entry>>(top);
        }
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

#[cfg(test)]
mod tests {
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
    fn a_repeated_event_queues_behind_those_of_the_same_time() {
        let mut queue = EventQueue::default();
        queue.push(Time::from_nanos(1), Component::Row(0));
        queue.push(Time::from_nanos(2), Component::Row(1));
        queue.repeat(Time::from_nanos(2));
        assert_eq!(drain(&mut queue), [(2, Component::Row(1)), (2, Component::Row(0))]);
    }
}
