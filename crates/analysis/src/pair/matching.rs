//! Finds every packet of one capture in the other.
//!
//! A packet that was sent waits until it is seen to arrive. Packets are found by all that the
//! network leaves alone, so each transmission of the same bytes is told apart; where cards cut and
//! join segments, they are found by the bytes they hold. What has not come after
//! [`super::giving_up::LOST_AFTER_NS`] is lost. Memory holds what is on its way, and what was lost a while ago.

use std::collections::{BTreeMap, VecDeque};

use super::identity::Side;
use super::slab::{Item, Repair, Slab, State};
use super::watch::{Arrival, Coverage, Look, Watcher};
use crate::direction::ranges::Seen;

/// Copies of a packet come no later after it: a network has no reason to keep one.
pub(super) const COPIES_NS: i64 = 1_000_000_000;

/// A direction across the network.
pub(super) struct PairDirection {
    pub(super) source: Side,
    /// Sequence number of offset 0.
    pub(super) base: Option<u32>,
    pub(super) highest: i64,
    /// End of what was sent.
    pub(super) sent_end: Option<i64>,
    pub(super) order: u64,
    pub(super) latest_arrival: u64,
    pub(super) longest: u32,
    /// Data at the receiver.
    pub(super) seen: Seen,
    pub(super) most_delay_ns: i64,
    /// Whether segments were found that were cut otherwise.
    pub(super) is_cut: bool,
    /// Packets whose bytes wait to be sent again.
    pub(super) unrepaired: usize,
    /// What takes bytes of the stream and has not arrived, by its first.
    pub(super) open: BTreeMap<(i64, u64), u32>,
    /// Packets with bytes that were sent before, by order: how many others they wait for, and
    /// whether one of them was lost.
    pub(super) again: BTreeMap<u64, (u32, bool)>,
}

impl PairDirection {
    /// The offset of a number: the one nearest to the highest so far.
    fn offset(&mut self, seq: u32, has_syn: bool) -> i64 {
        let base = *self.base.get_or_insert(if has_syn { seq.wrapping_add(1) } else { seq });
        let nearest = base.wrapping_add(self.highest as u32);
        self.highest.saturating_add(i64::from(seq.wrapping_sub(nearest) as i32))
    }
}

/// A packet in a queue: its place, which one there, and until when.
pub(super) type Entry = (u32, u32, i64);

/// Packets on their way.
pub(super) struct Matcher {
    pub(super) directions: Vec<PairDirection>,
    pub(super) slab: Slab,
    pub(super) coverage: Coverage,
    /// Younger than [`COPIES_NS`].
    pub(super) young: VecDeque<Entry>,
    /// Older, and not found yet.
    pub(super) old: VecDeque<Entry>,
    pub(super) arrived: VecDeque<Entry>,
    /// Whether packets were given up early for want of room.
    pub(super) is_crowded: bool,
}

impl Matcher {
    pub(super) fn new(coverage: Coverage) -> Matcher {
        Matcher {
            directions: Vec::new(),
            slab: Slab::new(),
            coverage,
            young: VecDeque::new(),
            old: VecDeque::new(),
            arrived: VecDeque::new(),
            is_crowded: false,
        }
    }

    /// A direction more; its sender is near this side.
    pub(super) fn add_way(&mut self, source: Side) {
        self.directions.push(PairDirection {
            source,
            base: None,
            highest: 0,
            sent_end: None,
            order: 0,
            latest_arrival: 0,
            longest: 0,
            seen: Seen::default(),
            most_delay_ns: 0,
            is_cut: false,
            unrepaired: 0,
            open: BTreeMap::new(),
            again: BTreeMap::new(),
        });
    }

    /// How many directions there are.
    pub(super) fn directions(&self) -> usize {
        self.directions.len()
    }

    /// The next packet of either capture.
    pub(super) fn packet(
        &mut self,
        side: Side,
        direction: usize,
        look: &Look,
        watcher: &mut impl Watcher,
    ) {
        self.expire(look.now_ns, watcher);
        let offset = match look.seq {
            Some(seq) => {
                let offset = self.directions[direction].offset(seq, look.has_syn);
                let direction = &mut self.directions[direction];
                direction.highest =
                    direction.highest.max(offset.saturating_add(i64::from(look.length)));
                offset
            }
            None => 0,
        };
        if side == self.directions[direction].source {
            self.send(side, direction, look, offset, watcher);
        } else {
            let end = offset.saturating_add(i64::from(look.length));
            let new =
                if offset < end { self.directions[direction].seen.add((offset, end)) } else { 0 };
            let again = u64::from(look.length).saturating_sub(new).min(look.payload_bytes.into());
            let has_stream = look.seq.is_some();
            watcher.received(direction, look, if has_stream { again as u32 } else { 0 });
            self.receive(side, direction, look, offset, watcher);
        }
    }

    fn send(
        &mut self,
        side: Side,
        way_index: usize,
        look: &Look,
        offset: i64,
        watcher: &mut impl Watcher,
    ) {
        let direction = &mut self.directions[way_index];
        direction.order += 1;
        let order = direction.order;
        let length = look.length;
        let end = offset.saturating_add(i64::from(length));
        let is_again = length > 0 && direction.sent_end.is_some_and(|sent| offset < sent);
        let before = direction.sent_end.map_or(0, |sent| sent.min(end).saturating_sub(offset));
        let again_bytes = u32::try_from(before).unwrap_or(0).min(look.payload_bytes);
        if length > 0 {
            direction.sent_end = Some(direction.sent_end.map_or(end, |sent| sent.max(end)));
            direction.longest = direction.longest.max(length);
        }
        watcher.sent(way_index, look, is_again.then_some(again_bytes));
        if is_again {
            self.ask(way_index, order, (offset, end), look, watcher);
        }
        let early =
            self.slab.alike(look.key, side.other()).filter(|(_, i)| i.state == State::Early);
        let early = early.last().map(|(id, item)| (id, (item.look.at_ns, item.look.now_ns)));
        let id = self.slab.insert(Item { order, ..Item::new(side, way_index, look, offset) });
        if let Some((early, at)) = early {
            self.slab.remove(early);
            self.found(id, at, None, watcher);
            return;
        }
        if length > 0 {
            self.directions[way_index].open.insert((offset, order), id);
        }
        let generation = self.slab.get(id).generation;
        self.young.push_back((id, generation, look.now_ns.saturating_add(COPIES_NS)));
    }

    /// A packet was sent with bytes that were sent before: what became of those is its cause.
    fn ask(
        &mut self,
        way_index: usize,
        order: u64,
        (from, to): (i64, i64),
        look: &Look,
        watcher: &mut impl Watcher,
    ) {
        let direction = &self.directions[way_index];
        if direction.seen.has((from, to)) {
            watcher.sent_again(way_index, false);
            return;
        }
        let lowest = from.saturating_sub(i64::from(direction.longest));
        let there = direction.open.range((lowest, 0)..(to, 0)).map(|(_, id)| *id);
        let there: Vec<u32> = there.filter(|id| self.slab.get(*id).end() > from).collect();
        let unrepaired: Vec<u32> =
            there.iter().copied().filter(|id| self.slab.get(*id).repair.is_none()).collect();
        // All of them have a repair: this one stands for the newest of them.
        let newest = there.iter().copied().max_by_key(|id| self.slab.get(*id).order);
        let asked = if unrepaired.is_empty() { newest.into_iter().collect() } else { unrepaired };
        let (mut waits, mut is_needed) = (0, false);
        for id in asked {
            let item = self.slab.get_mut(id);
            item.repair.get_or_insert(Repair { number: look.number, now_ns: look.now_ns });
            if item.state == State::Lost {
                is_needed = true;
                self.settle_lost(id, watcher);
            } else {
                item.asked_by.push(order);
                waits += 1;
            }
        }
        if waits == 0 {
            watcher.sent_again(way_index, is_needed);
        } else {
            self.directions[way_index].again.insert(order, (waits, is_needed));
        }
    }

    fn receive(
        &mut self,
        side: Side,
        way_index: usize,
        look: &Look,
        offset: i64,
        watcher: &mut impl Watcher,
    ) {
        let latest = self.directions[way_index].latest_arrival;
        // The first that keeps the order in which they were sent, or else the last before.
        let (mut next, mut before, mut is_copy) = (None, None, false);
        for (id, item) in self.slab.alike(look.key, side.other()) {
            match item.state {
                State::Waiting if item.order > latest => next = Some(id),
                State::Waiting if before.is_none() => before = Some(id),
                State::Arrived => is_copy = true,
                _ => {}
            }
        }
        if let Some(id) = next.or(before) {
            self.found(id, (look.at_ns, look.now_ns), None, watcher);
        } else if is_copy {
            watcher.copied(way_index);
        } else if !self.find_bytes(way_index, look, offset, watcher) {
            let item = Item::new(side, way_index, look, offset);
            let id = self.slab.insert(Item { state: State::Early, ..item });
            let generation = self.slab.get(id).generation;
            self.young.push_back((id, generation, look.now_ns.saturating_add(COPIES_NS)));
        }
    }

    /// Looks for the bytes of a segment in segments that were cut otherwise.
    pub(super) fn find_bytes(
        &mut self,
        way_index: usize,
        look: &Look,
        offset: i64,
        watcher: &mut impl Watcher,
    ) -> bool {
        let (from, to) = (offset, offset.saturating_add(i64::from(look.length)));
        if from >= to {
            return false;
        }
        let direction = &self.directions[way_index];
        let lowest = from.saturating_sub(i64::from(direction.longest));
        let mut there: Vec<(bool, u64, u32)> = Vec::new();
        for ((_, order), id) in direction.open.range((lowest, 0)..(to, 0)) {
            let item = self.slab.get(*id);
            let is_stamped_alike = item.look.stamp.is_none() || item.look.stamp == look.stamp;
            if item.state == State::Waiting && item.end() > from && is_stamped_alike {
                // In the order of sending from the last arrival on, then back from there.
                let is_passed = *order < direction.latest_arrival;
                let place = if is_passed { u64::MAX - order } else { *order };
                there.push((is_passed, place, *id));
            }
        }
        there.sort_unstable();
        let mut rest = vec![(from, to)];
        for (_, _, id) in there {
            let part = take(&mut rest, self.slab.get_mut(id));
            if part > 0 {
                self.found(id, (look.at_ns, look.now_ns), Some(part), watcher);
            }
        }
        let is_found = rest != [(from, to)];
        self.directions[way_index].is_cut |= is_found;
        is_found
    }

    /// A packet has arrived; or a part of it, which has been taken from what is missing.
    fn found(
        &mut self,
        id: u32,
        (at_ns, now_ns): (i64, i64),
        part: Option<u64>,
        watcher: &mut impl Watcher,
    ) {
        let item = self.slab.get_mut(id);
        let (way_index, sent) = (item.direction, item.look);
        let left = part.map_or(0, |_| item.missing_bytes());
        let is_first = part.is_none_or(|part| left + part == u64::from(sent.length));
        let arrival = Arrival {
            sent,
            at_ns,
            now_ns,
            delay_ns: now_ns.saturating_sub(sent.now_ns),
            order: item.order,
            is_first,
        };
        let direction = &mut self.directions[way_index];
        watcher.arrived(way_index, direction.source, &arrival);
        direction.latest_arrival = direction.latest_arrival.max(item.order);
        direction.most_delay_ns = direction.most_delay_ns.max(arrival.delay_ns);
        if left > 0 {
            return;
        }
        item.state = State::Arrived;
        direction.open.remove(&(item.offset, item.order));
        let asked_by = std::mem::take(&mut item.asked_by);
        let generation = item.generation;
        self.arrived.push_back((id, generation, now_ns.saturating_add(COPIES_NS)));
        self.answer(way_index, &asked_by, false, watcher);
    }

    /// Tells those that have asked whether it was lost.
    pub(super) fn answer(
        &mut self,
        way_index: usize,
        asked_by: &[u64],
        is_lost: bool,
        watcher: &mut impl Watcher,
    ) {
        let again = &mut self.directions[way_index].again;
        for order in asked_by {
            let Some((waits, is_needed)) = again.get_mut(order) else { continue };
            *waits -= 1;
            *is_needed |= is_lost;
            if *waits == 0 {
                let is_needed = *is_needed;
                again.remove(order);
                watcher.sent_again(way_index, is_needed);
            }
        }
    }
}

/// Takes what is missing of a packet out of what has arrived; says how much that is.
fn take(arrived: &mut Vec<(i64, i64)>, item: &mut Item) -> u64 {
    let whole = (item.offset, item.end());
    let missing = item.missing.get_or_insert_with(|| vec![whole]);
    let mut taken = 0;
    let (mut arrived_left, mut missing_left) = (Vec::new(), std::mem::take(missing));
    for (from, to) in arrived.drain(..) {
        let mut at = from;
        let mut still = Vec::with_capacity(missing_left.len() + 1);
        for (low, high) in missing_left {
            let (start, end) = (low.max(at), high.min(to));
            if start >= end {
                still.push((low, high));
                continue;
            }
            taken += (end - start) as u64;
            still.extend(Some((low, start)).filter(|(low, start)| low < start));
            still.extend(Some((end, high)).filter(|(end, high)| end < high));
            arrived_left.extend(Some((at, start)).filter(|(at, start)| at < start));
            at = end;
        }
        missing_left = still;
        arrived_left.extend(Some((at, to)).filter(|(at, to)| at < to));
    }
    *arrived = arrived_left;
    *missing = missing_left;
    taken
}
