//! When a packet that has not been found is taken for lost, and what is told then.

use super::matching::{COPIES_NS, Matcher};
use super::slab::{Item, State};
use super::watch::{Loss, Watcher};

/// What is on its way longer is lost. Queues of seconds are known from mobile networks; RFC 9293
/// lets a segment live for two minutes, which none does.
pub(super) const LOST_AFTER_NS: i64 = 30_000_000_000;

/// Packets that are kept in all: what a link of 100 Gbit/s carries in a fifth of a second, and
/// some 400 MB. The oldest go first.
const MOST_ITEMS: usize = 2 << 20;

/// Packets whose bytes wait to be sent again, of one direction.
const MOST_UNREPAIRED: usize = 4096;

impl Matcher {
    pub(super) fn expire(&mut self, now_ns: i64, watcher: &mut impl Watcher) {
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
        let way_index = item.direction;
        if !self.must_have_arrived(item) {
            watcher.undecided(way_index);
            self.close(id, false, watcher);
            return;
        }
        if item.look.length > 0 && item.repair.is_none() {
            self.slab.get_mut(id).state = State::Lost;
            self.directions[way_index].unrepaired += 1;
            self.limit_unrepaired(way_index, watcher);
        } else {
            self.settle_lost(id, watcher);
        }
    }

    /// What was seen too early may be cut otherwise at its sender, or was never seen there.
    fn give_up_early(&mut self, id: u32, watcher: &mut impl Watcher) {
        let item = self.slab.get(id);
        let (direction, look, offset, end) = (item.direction, item.look, item.offset, item.end());
        self.slab.remove(id);
        let is_sent = self.directions[direction].sent_end.is_some_and(|sent| end <= sent);
        if self.find_bytes(direction, &look, offset, watcher) {
        } else if self.directions[direction].is_cut && look.length > 0 && is_sent {
            watcher.copied(direction);
        } else {
            let source = self.directions[direction].source.index();
            let coverage = &self.coverage;
            let sent = look.now_ns.saturating_sub(coverage.least_delay_ns[source]);
            let span = coverage.from_ns[source]..=coverage.until_ns[source];
            watcher.unsent(direction, span.contains(&sent));
        }
    }

    /// Whether the other capture would show the packet if it had arrived.
    fn must_have_arrived(&self, item: &Item) -> bool {
        let direction = &self.directions[item.direction];
        let there = direction.source.other().index();
        let least = self.coverage.least_delay_ns[direction.source.index()];
        let begins = item.look.now_ns.saturating_add(least) >= self.coverage.from_ns[there];
        let latest = item.look.now_ns.saturating_add(direction.most_delay_ns.max(least));
        begins && (direction.latest_arrival > item.order || latest <= self.coverage.until_ns[there])
    }

    pub(super) fn settle_lost(&mut self, id: u32, watcher: &mut impl Watcher) {
        let item = self.slab.get(id);
        let loss = Loss {
            number: item.look.number,
            now_ns: item.look.now_ns,
            offset: item.offset,
            payload_bytes: item.look.payload_bytes,
            missing_bytes: item.missing_bytes(),
            repair: item.repair,
            is_annotated: item.look.is_annotated,
        };
        watcher.lost(item.direction, &loss);
        self.close(id, true, watcher);
    }

    fn close(&mut self, id: u32, is_lost: bool, watcher: &mut impl Watcher) {
        let item = self.slab.get_mut(id);
        let way_index = item.direction;
        let asked_by = std::mem::take(&mut item.asked_by);
        self.directions[way_index].unrepaired -= usize::from(item.state == State::Lost);
        self.directions[way_index].open.remove(&(item.offset, item.order));
        self.slab.remove(id);
        self.answer(way_index, &asked_by, is_lost, watcher);
    }

    fn limit_unrepaired(&mut self, way_index: usize, watcher: &mut impl Watcher) {
        let direction = &self.directions[way_index];
        if direction.unrepaired <= MOST_UNREPAIRED {
            return;
        }
        let lost =
            direction.open.values().copied().find(|id| self.slab.get(*id).state == State::Lost);
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
        for direction in 0..self.directions.len() {
            while let Some((_, id)) = self.directions[direction].open.pop_first() {
                self.settle_lost(id, watcher);
            }
        }
    }
}
