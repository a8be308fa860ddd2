//! One connection on both sides.

use std::collections::VecDeque;

use fairway_capture::Packet;
use fairway_units::{Duration, Time};

use super::packet::{Bases, Segment, opening};

/// What one end sends and receives at nearly the same time may come in either order: a kernel's clock
/// moves while it works.
const SWAPPED: Duration = Duration::from_micros(10);

/// How both sides of a connection compare.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum State {
    /// All that is known is the same.
    Same,
    /// One side has this many packets that the other has not shown yet, since then.
    Ahead(Time, usize),
    /// They part: the time of the first packet of both sides that differs.
    Parted(Time),
}

/// A connection of both captures.
pub(super) struct Flow {
    /// Packets of each side that have not been compared.
    waiting: [VecDeque<Segment>; 2],
    bases: [Bases; 2],
    ends: [Option<[String; 2]>; 2],
    same: u64,
    before: VecDeque<Segment>,
    most_before: usize,
    parted: Option<Time>,
}

impl Flow {
    pub(super) fn new(most_before: usize) -> Self {
        Flow {
            waiting: Default::default(),
            bases: Default::default(),
            ends: [None, None],
            same: 0,
            before: VecDeque::new(),
            most_before,
            parted: None,
        }
    }

    /// Whether a packet opens another connection between the same ports.
    pub(super) fn opens_again(&self, side: usize, packet: &Packet) -> bool {
        opening(packet)
            .is_some_and(|seq| self.bases[side].of_opener().is_some_and(|first| first != seq))
    }

    pub(super) fn take(&mut self, side: usize, packet: &Packet, forward: bool) {
        let segment = self.bases[side].segment(packet, forward);
        self.ends[side].get_or_insert_with(|| {
            let ends = [packet.source, packet.destination].map(|end| end.to_string());
            if forward { ends } else { [ends[1].clone(), ends[0].clone()] }
        });
        // What follows a difference far behind is of no use.
        if self.parted.is_none() || self.waiting[side].len() < super::SHOWN_AFTER {
            self.waiting[side].push_back(segment);
        }
    }

    /// Compare as far as both sides are known, until the times `clocks`.
    pub(super) fn compare(&mut self, clocks: [Time; 2]) -> State {
        while self.parted.is_none() {
            let [Some(first), Some(second)] = self.heads() else { return self.ahead() };
            if first.is_same(second) {
                let both = self.waiting.each_mut().map(VecDeque::pop_front);
                self.remember(both);
                continue;
            }
            match self.swapped(clocks) {
                Swap::At(places) => {
                    // The side's first packet is the other's at its place.
                    let [own, others] = places;
                    let [first, second] = &mut self.waiting;
                    let received = [first.remove(own), second.pop_front()];
                    let sent = [first.pop_front(), second.remove(others - 1)];
                    self.remember(sent);
                    self.remember(received);
                }
                Swap::Unknown => return self.ahead(),
                Swap::None => self.parted = Some(first.at().min(second.at())),
            }
        }
        self.parted.map_or(State::Same, State::Parted)
    }

    fn heads(&self) -> [Option<&Segment>; 2] {
        self.waiting.each_ref().map(|waiting| waiting.front())
    }

    fn ahead(&self) -> State {
        let count = self.waiting[0].len().max(self.waiting[1].len());
        self.is_ahead_since().map_or(State::Same, |since| State::Ahead(since, count))
    }

    /// Since when one side has packets that the other lacks.
    pub(super) fn is_ahead_since(&self) -> Option<Time> {
        if self.parted.is_some() {
            return None;
        }
        self.heads().into_iter().flatten().map(Segment::at).min()
    }

    fn remember(&mut self, both: [Option<Segment>; 2]) {
        self.same += 1;
        self.before.extend(both.into_iter().flatten().take(1));
        if self.before.len() > self.most_before {
            self.before.pop_front();
        }
    }

    /// Whether each side's first packet is on the other side the first of its direction, a moment later.
    fn swapped(&self, clocks: [Time; 2]) -> Swap {
        let [Some(first), Some(second)] = self.heads() else { return Swap::Unknown };
        if first.forward == second.forward {
            return Swap::None;
        }
        let mut places = [0; 2];
        for (side, wanted) in [(0, second), (1, first)] {
            let waiting = &self.waiting[side];
            let until = waiting[0].at() + SWAPPED;
            match waiting.iter().position(|segment| segment.forward == wanted.forward) {
                Some(place) if waiting[place].at() <= until && waiting[place].is_same(wanted) => {
                    places[side] = place;
                }
                None if clocks[side] <= until => return Swap::Unknown,
                Some(_) | None => return Swap::None,
            }
        }
        Swap::At(places)
    }

    pub(super) fn ends(&self) -> [Option<[String; 2]>; 2] {
        self.ends.clone()
    }

    pub(super) fn same(&self) -> u64 {
        self.same
    }

    /// Packets of a side that the other has not shown.
    pub(super) fn waiting(&self, side: usize) -> u64 {
        self.waiting[side].len() as u64
    }

    pub(super) fn before(&self) -> Vec<Segment> {
        self.before.iter().cloned().collect()
    }

    /// Whether both sides have this many packets from the difference on.
    pub(super) fn is_shown(&self, count: usize) -> bool {
        self.waiting.iter().all(|waiting| waiting.len() >= count)
    }

    pub(super) fn after(&self, count: usize) -> [Vec<Segment>; 2] {
        self.waiting.each_ref().map(|waiting| waiting.iter().take(count).cloned().collect())
    }
}

/// Where a packet stands on the other side.
enum Swap {
    /// At these places.
    At([usize; 2]),
    /// More has to be read.
    Unknown,
    /// It does not.
    None,
}
