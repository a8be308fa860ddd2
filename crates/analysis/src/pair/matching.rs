//! Finds every packet of one capture in the other.
//!
//! A packet that was sent waits until it is seen to arrive. Packets are found by all that the
//! network leaves alone, so each transmission of the same bytes is told apart; where cards cut and
//! join segments, they are found by the bytes they hold. What has not come after
//! [`LOST_AFTER_NS`] is lost. Memory holds what is on its way, and what was lost a while ago.

use std::collections::{BTreeMap, VecDeque};

use super::identity::Side;
use super::slab::{Item, Repair, Slab, State, item};
use crate::direction::ranges::Seen;

/// Copies of a packet come no later after it: a network has no reason to keep one.
const COPIES_NS: i64 = 1_000_000_000;

/// What is on its way longer is lost. Queues of seconds are known from mobile networks; RFC 9293
/// lets a segment live for two minutes, which none does.
const LOST_AFTER_NS: i64 = 30_000_000_000;

/// Packets that are kept in all: what a link of 100 Gbit/s carries in a fifth of a second, and
/// some 400 MB. The oldest go first.
const MOST_ITEMS: usize = 2 << 20;

/// Packets whose bytes wait to be sent again, of one direction.
const MOST_UNREPAIRED: usize = 4096;

/// A packet as a capture shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) number: u64,
    /// By the clock of its capture.
    pub(super) at_ns: i64,
    /// By the clock of the first capture.
    pub(super) now_ns: i64,
    pub(super) key: u64,
    /// Sequence number, if it has one.
    pub(super) seq: Option<u32>,
    /// Bytes of stream that it takes, SYN and FIN included.
    pub(super) length: u32,
    pub(super) payload_bytes: u32,
    pub(super) has_syn: bool,
    pub(super) stamp: Option<u32>,
    pub(super) size_bytes: u32,
    pub(super) is_annotated: bool,
}

/// A packet, or a part of one, that has arrived.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Arrival {
    /// By the clock of the capture at the sender.
    pub(super) sent_at_ns: i64,
    /// By the clock of the capture at the receiver.
    pub(super) at_ns: i64,
    /// When it arrived, and how long it took, by the clock of the first capture.
    pub(super) now_ns: i64,
    pub(super) delay_ns: i64,
    pub(super) order: u64,
    pub(super) size_bytes: u32,
    /// Whether nothing of the packet had arrived before.
    pub(super) is_first: bool,
    pub(super) is_annotated: bool,
}

/// A packet that was sent.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Departure {
    pub(super) now_ns: i64,
    pub(super) payload_bytes: u32,
    /// Whether it holds bytes that were sent before, SYN and FIN included; and how many of them
    /// are data.
    pub(super) is_again: bool,
    pub(super) again_bytes: u32,
    pub(super) is_annotated: bool,
}

/// A packet that has not arrived.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Loss {
    pub(super) number: u64,
    /// By the clock of the first capture.
    pub(super) now_ns: i64,
    pub(super) offset: i64,
    pub(super) payload_bytes: u32,
    /// Stream bytes of it that have not arrived.
    pub(super) missing_bytes: u64,
    pub(super) repair: Option<Repair>,
    pub(super) is_annotated: bool,
}

/// Looks on while packets are found.
pub(super) trait Watcher {
    /// A packet was sent.
    fn sent(&mut self, _way: usize, _departure: &Departure) {}
    /// Any packet was seen at its receiver, and so many bytes of its data had been there before.
    fn received(&mut self, _way: usize, _look: &Look, _again_bytes: u32) {}
    /// A packet was found at its receiver.
    fn arrived(&mut self, _way: usize, _source: Side, _arrival: &Arrival) {}
    /// A packet has arrived once more.
    fn copied(&mut self, _way: usize) {}
    /// A packet is lost; its repair is known, if there is one.
    fn lost(&mut self, _way: usize, _loss: &Loss) {}
    /// A packet was sent again: whether any of it was lost.
    fn sent_again(&mut self, _way: usize, _is_needed: bool) {}
    /// A packet was not seen to arrive, and could not have been.
    fn undecided(&mut self, _way: usize) {}
    /// A packet has arrived that was not seen sent; whether it should have been.
    fn unsent(&mut self, _way: usize, _is_covered: bool) {}
}

/// What time the captures cover, by the clock of the first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Coverage {
    pub(super) from_ns: [i64; 2],
    pub(super) until_ns: [i64; 2],
    /// Least delay from each side.
    pub(super) least_delay_ns: [i64; 2],
}

impl Coverage {
    /// For when nothing is known yet.
    pub(super) const ALL: Coverage =
        Coverage { from_ns: [i64::MIN; 2], until_ns: [i64::MAX; 2], least_delay_ns: [0; 2] };
}

/// A direction across the network.
struct Way {
    source: Side,
    /// Sequence number of offset 0.
    base: Option<u32>,
    highest: i64,
    /// End of what was sent.
    sent_end: Option<i64>,
    order: u64,
    latest_arrival: u64,
    longest: u32,
    /// What the receiver has.
    seen: Seen,
    most_delay_ns: i64,
    /// Whether segments were found that were cut otherwise.
    is_cut: bool,
    /// Packets whose bytes wait to be sent again.
    unrepaired: usize,
    /// What takes bytes of the stream and has not arrived, by its first.
    open: BTreeMap<(i64, u64), u32>,
    /// Packets with bytes that were sent before, by order: how many others they wait for, and
    /// whether one of them was lost.
    again: BTreeMap<u64, (u32, bool)>,
}

impl Way {
    /// The offset of a number: the one nearest to the highest so far.
    fn offset(&mut self, seq: u32, has_syn: bool) -> i64 {
        let base = *self.base.get_or_insert(if has_syn { seq.wrapping_add(1) } else { seq });
        let nearest = base.wrapping_add(self.highest as u32);
        self.highest.saturating_add(i64::from(seq.wrapping_sub(nearest) as i32))
    }
}

/// A packet in a queue: its place, which one there, and until when.
type Entry = (u32, u32, i64);

/// Packets on their way.
pub(super) struct Matcher {
    ways: Vec<Way>,
    slab: Slab,
    coverage: Coverage,
    /// Younger than [`COPIES_NS`].
    young: VecDeque<Entry>,
    /// Older, and not found yet.
    old: VecDeque<Entry>,
    arrived: VecDeque<Entry>,
    /// Whether packets were given up early for want of room.
    pub(super) is_crowded: bool,
}

impl Matcher {
    pub(super) fn new(coverage: Coverage) -> Matcher {
        Matcher {
            ways: Vec::new(),
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
        self.ways.push(Way {
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
    pub(super) fn ways(&self) -> usize {
        self.ways.len()
    }

    /// The next packet of either capture.
    pub(super) fn packet(
        &mut self,
        side: Side,
        way: usize,
        look: &Look,
        watcher: &mut impl Watcher,
    ) {
        self.expire(look.now_ns, watcher);
        let offset = match look.seq {
            Some(seq) => {
                let offset = self.ways[way].offset(seq, look.has_syn);
                let way = &mut self.ways[way];
                way.highest = way.highest.max(offset.saturating_add(i64::from(look.length)));
                offset
            }
            None => 0,
        };
        if side == self.ways[way].source {
            self.send(side, way, look, offset, watcher);
        } else {
            let end = offset.saturating_add(i64::from(look.length));
            let new = if offset < end { self.ways[way].seen.add((offset, end)) } else { 0 };
            let again = u64::from(look.length).saturating_sub(new).min(look.payload_bytes.into());
            let has_stream = look.seq.is_some();
            watcher.received(way, look, if has_stream { again as u32 } else { 0 });
            self.receive(side, way, look, offset, watcher);
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
        let way = &mut self.ways[way_index];
        way.order += 1;
        let order = way.order;
        let length = look.length;
        let end = offset.saturating_add(i64::from(length));
        let is_again = length > 0 && way.sent_end.is_some_and(|sent| offset < sent);
        let before = way.sent_end.map_or(0, |sent| sent.min(end).saturating_sub(offset));
        let again_bytes = if is_again { u32::try_from(before).unwrap_or(0) } else { 0 };
        if length > 0 {
            way.sent_end = Some(way.sent_end.map_or(end, |sent| sent.max(end)));
            way.longest = way.longest.max(length);
        }
        let departure = Departure {
            now_ns: look.now_ns,
            payload_bytes: look.payload_bytes,
            is_again,
            again_bytes: again_bytes.min(look.payload_bytes),
            is_annotated: look.is_annotated,
        };
        watcher.sent(way_index, &departure);
        if is_again {
            self.ask(way_index, order, (offset, end), look, watcher);
        }
        let early =
            self.slab.alike(look.key, side.other()).filter(|(_, i)| i.state == State::Early);
        let early = early.last().map(|(id, item)| (id, (item.at_ns, item.now_ns)));
        let mut item = item_of(side, way_index, look, offset);
        item.order = order;
        let id = self.slab.insert(item);
        if let Some((early, at)) = early {
            self.slab.remove(early);
            self.found(id, at, None, watcher);
            return;
        }
        if length > 0 {
            self.ways[way_index].open.insert((offset, order), id);
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
        let way = &self.ways[way_index];
        if way.seen.has((from, to)) {
            watcher.sent_again(way_index, false);
            return;
        }
        let lowest = from.saturating_sub(i64::from(way.longest));
        let there = way.open.range((lowest, 0)..(to, 0)).map(|(_, id)| *id);
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
            self.ways[way_index].again.insert(order, (waits, is_needed));
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
        let latest = self.ways[way_index].latest_arrival;
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
            let mut item = item_of(side, way_index, look, offset);
            item.state = State::Early;
            let id = self.slab.insert(item);
            let generation = self.slab.get(id).generation;
            self.young.push_back((id, generation, look.now_ns.saturating_add(COPIES_NS)));
        }
    }

    /// Looks for the bytes of a segment in segments that were cut otherwise.
    fn find_bytes(
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
        let way = &self.ways[way_index];
        let lowest = from.saturating_sub(i64::from(way.longest));
        let mut there: Vec<(bool, u64, u32)> = Vec::new();
        for ((_, order), id) in way.open.range((lowest, 0)..(to, 0)) {
            let item = self.slab.get(*id);
            let is_stamped_alike = item.stamp.is_none() || item.stamp == look.stamp;
            if item.state == State::Waiting && item.end() > from && is_stamped_alike {
                // In the order of sending from the last arrival on, then back from there.
                let is_passed = *order < way.latest_arrival;
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
        self.ways[way_index].is_cut |= is_found;
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
        let way_index = item.way as usize;
        let left = part.map_or(0, |_| item.missing_bytes());
        let is_first = part.is_none_or(|part| left + part == u64::from(item.length));
        let arrival = Arrival {
            sent_at_ns: item.at_ns,
            at_ns,
            now_ns,
            delay_ns: now_ns.saturating_sub(item.now_ns),
            order: item.order,
            size_bytes: item.size_bytes,
            is_first,
            is_annotated: item.is_annotated,
        };
        let way = &mut self.ways[way_index];
        watcher.arrived(way_index, way.source, &arrival);
        way.latest_arrival = way.latest_arrival.max(item.order);
        way.most_delay_ns = way.most_delay_ns.max(arrival.delay_ns);
        if left > 0 {
            return;
        }
        item.state = State::Arrived;
        way.open.remove(&(item.offset, item.order));
        let asked_by = std::mem::take(&mut item.asked_by);
        let generation = item.generation;
        self.arrived.push_back((id, generation, now_ns.saturating_add(COPIES_NS)));
        self.answer(way_index, &asked_by, false, watcher);
    }

    /// Tells those that have asked whether it was lost.
    fn answer(
        &mut self,
        way_index: usize,
        asked_by: &[u64],
        is_lost: bool,
        watcher: &mut impl Watcher,
    ) {
        let again = &mut self.ways[way_index].again;
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

    fn expire(&mut self, now_ns: i64, watcher: &mut impl Watcher) {
        let is_full = self.slab.len() >= MOST_ITEMS;
        self.is_crowded |= is_full;
        while let Some((id, generation, until)) = self.arrived.front().copied() {
            if until > now_ns && !is_full {
                break;
            }
            self.arrived.pop_front();
            let item = self.slab.get(id);
            if item.generation == generation && item.state == State::Arrived {
                self.slab.remove(id);
            }
        }
        while let Some((id, generation, until)) = self.young.front().copied() {
            if until > now_ns && !is_full {
                break;
            }
            self.young.pop_front();
            if self.is_waiting(id, generation) {
                self.old.push_back((id, generation, until + LOST_AFTER_NS - COPIES_NS));
            }
        }
        while let Some((id, generation, until)) = self.old.front().copied() {
            if until > now_ns && !is_full {
                break;
            }
            self.old.pop_front();
            if self.is_waiting(id, generation) {
                self.give_up(id, watcher);
            }
        }
    }

    fn is_waiting(&self, id: u32, generation: u32) -> bool {
        let item = self.slab.get(id);
        item.generation == generation && matches!(item.state, State::Waiting | State::Early)
    }

    /// Has waited long enough.
    fn give_up(&mut self, id: u32, watcher: &mut impl Watcher) {
        let item = self.slab.get(id);
        if item.state == State::Early {
            self.give_up_early(id, watcher);
            return;
        }
        let way_index = item.way as usize;
        if !self.must_have_arrived(item) {
            watcher.undecided(way_index);
            self.close(id, false, watcher);
            return;
        }
        if item.length > 0 && item.repair.is_none() {
            self.slab.get_mut(id).state = State::Lost;
            self.ways[way_index].unrepaired += 1;
            self.limit_unrepaired(way_index, watcher);
        } else {
            self.settle_lost(id, watcher);
        }
    }

    /// What was seen too early may be cut otherwise at its sender, or was never seen there.
    fn give_up_early(&mut self, id: u32, watcher: &mut impl Watcher) {
        let item = self.slab.get(id).clone();
        self.slab.remove(id);
        let look = Look {
            number: item.number,
            at_ns: item.at_ns,
            now_ns: item.now_ns,
            key: item.key,
            seq: None,
            length: item.length,
            payload_bytes: item.payload_bytes,
            has_syn: false,
            stamp: item.stamp,
            size_bytes: item.size_bytes,
            is_annotated: false,
        };
        let way = item.way as usize;
        let is_sent = self.ways[way].sent_end.is_some_and(|sent| item.end() <= sent);
        if self.find_bytes(way, &look, item.offset, watcher) {
        } else if self.ways[way].is_cut && item.length > 0 && is_sent {
            watcher.copied(way);
        } else {
            let source = self.ways[way].source.index();
            let coverage = &self.coverage;
            let sent = item.now_ns.saturating_sub(coverage.least_delay_ns[source]);
            let span = coverage.from_ns[source]..=coverage.until_ns[source];
            watcher.unsent(way, span.contains(&sent));
        }
    }

    /// Whether the other capture would show the packet if it had arrived.
    fn must_have_arrived(&self, item: &Item) -> bool {
        let way = &self.ways[item.way as usize];
        let there = way.source.other().index();
        let least = self.coverage.least_delay_ns[way.source.index()];
        let begins = item.now_ns.saturating_add(least) >= self.coverage.from_ns[there];
        let latest = item.now_ns.saturating_add(way.most_delay_ns.max(least));
        begins && (way.latest_arrival > item.order || latest <= self.coverage.until_ns[there])
    }

    fn settle_lost(&mut self, id: u32, watcher: &mut impl Watcher) {
        let item = self.slab.get(id);
        let loss = Loss {
            number: item.number,
            now_ns: item.now_ns,
            offset: item.offset,
            payload_bytes: item.payload_bytes,
            missing_bytes: item.missing_bytes(),
            repair: item.repair,
            is_annotated: item.is_annotated,
        };
        watcher.lost(item.way as usize, &loss);
        self.close(id, true, watcher);
    }

    fn close(&mut self, id: u32, is_lost: bool, watcher: &mut impl Watcher) {
        let item = self.slab.get_mut(id);
        let way_index = item.way as usize;
        let asked_by = std::mem::take(&mut item.asked_by);
        self.ways[way_index].unrepaired -= usize::from(item.state == State::Lost);
        self.ways[way_index].open.remove(&(item.offset, item.order));
        self.slab.remove(id);
        self.answer(way_index, &asked_by, is_lost, watcher);
    }

    fn limit_unrepaired(&mut self, way_index: usize, watcher: &mut impl Watcher) {
        let way = &self.ways[way_index];
        if way.unrepaired <= MOST_UNREPAIRED {
            return;
        }
        let lost = way.open.values().copied().find(|id| self.slab.get(*id).state == State::Lost);
        if let Some(lost) = lost {
            self.settle_lost(lost, watcher);
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, watcher: &mut impl Watcher) {
        while let Some((id, generation, _)) =
            self.old.pop_front().or_else(|| self.young.pop_front())
        {
            if self.is_waiting(id, generation) {
                self.give_up(id, watcher);
            }
        }
        for way in 0..self.ways.len() {
            while let Some((_, id)) = self.ways[way].open.pop_first() {
                self.settle_lost(id, watcher);
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

fn item_of(side: Side, way: usize, look: &Look, offset: i64) -> Item {
    Item {
        number: look.number,
        at_ns: look.at_ns,
        now_ns: look.now_ns,
        offset,
        length: look.length,
        payload_bytes: look.payload_bytes,
        size_bytes: look.size_bytes,
        stamp: look.stamp,
        is_annotated: look.is_annotated,
        ..item(side, way as u32, look.key)
    }
}
