//! The scoreboard: for each outstanding segment whether it is SACKed, lost or retransmitted.
//!
//! One entry per segment, oldest first. An operation costs time in proportion to the segments whose
//! state it changes, plus a binary search. Only a timeout and the end of TCP-Linux's recovery walk
//! over everything outstanding.

use std::collections::VecDeque;

use fairway_units::Time;

use crate::LossDetection;
use crate::delivery_rate::DeliveryRate;
use crate::rack::Rack;
use crate::ranges::{Range, RangeSet};

mod adaptive;
mod buffers;
mod by_time;
mod inspect;
mod short;

pub use buffers::BufferPosition;

const SACKED: u8 = 1;
const LOST: u8 = 1 << 1;
/// A retransmission of the segment is outstanding.
const RETRANSMITTED: u8 = 1 << 2;
/// Retransmitted at least once: its round-trip time is ambiguous (Karn's rule).
const EVER_RETRANSMITTED: u8 = 1 << 3;
/// SACKed at some time, even if forgotten since: its delivery has been counted.
const DELIVERED: u8 = 1 << 4;
/// First segment of its buffer.
const BEGINS: u8 = 1 << 5;
/// Carries PSH when retransmitted.
const PUSHES: u8 = 1 << 6;

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    sent_at: Time,
    /// Sequential number of its last retransmission in the connection.
    retransmission: u32,
    state: u8,
}

impl Sent {
    fn is(self, state: u8) -> bool {
        self.state & state != 0
    }
}

/// An outstanding retransmission; they are listed in the order sent.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    /// Absolute index of the segment.
    index: u64,
    /// SND.NXT when it was sent: data beyond this was sent later.
    snd_nxt: u64,
    number: u32,
}

/// What one acknowledgement newly acknowledges, delivers and marks lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSummary {
    /// Bytes acknowledged cumulatively.
    pub acked: u64,
    /// Bytes newly delivered: acknowledged and not SACKed before, or newly SACKed.
    pub delivered: u64,
    /// Send times of the newly acknowledged segments that were never retransmitted.
    pub acked_sent: Option<SendTimes>,
    /// Send times of the newly SACKed segments that were never retransmitted.
    pub sacked_sent: Option<SendTimes>,
    /// Last send time of the highest segment newly acknowledged.
    pub last_sent: Option<Time>,
    /// Bytes newly marked lost, including those of lost retransmissions.
    pub lost: u64,
    /// Whether a retransmission was found lost.
    pub lost_again: bool,
    /// End of the lowest newly delivered segment that was never retransmitted.
    pub original_end: Option<u64>,
    /// Start of the lowest such segment below the highest SACKed one: it was reordered.
    pub late_from: Option<u64>,
}

/// Earliest and latest send time of some segments.
#[derive(Clone, Copy, Debug)]
pub struct SendTimes {
    /// The earliest.
    pub earliest: Time,
    /// The latest.
    pub latest: Time,
}

impl AckSummary {
    fn add_send_time(times: &mut Option<SendTimes>, sent: Sent) {
        if !sent.is(EVER_RETRANSMITTED | DELIVERED) {
            let at = sent.sent_at;
            let seen = times.get_or_insert(SendTimes { earliest: at, latest: at });
            seen.earliest = seen.earliest.min(at);
            seen.latest = seen.latest.max(at);
        }
    }

    fn add_original(&mut self, start: u64, end: u64, highest_sacked: u64) {
        self.original_end = Some(self.original_end.map_or(end, |lowest| lowest.min(end)));
        if start < highest_sacked {
            self.late_from = Some(self.late_from.map_or(start, |lowest| lowest.min(start)));
        }
    }
}

/// A segment to retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Absolute index, for [`Scoreboard::retransmitted`].
    pub index: u64,
    /// Its bytes.
    pub range: Range,
}

/// The scoreboard.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    detection: LossDetection,
    reordering: u32,
    least_reordering: u32,
    /// Whether observed reordering raises the tolerance.
    adapts: bool,
    /// Whether ACK summaries report segments that were never retransmitted.
    watches_originals: bool,
    mss: u64,
    sent: VecDeque<Sent>,
    /// Absolute index of the first entry: how many were removed before it.
    first: u64,
    /// First unacknowledged byte.
    una: u64,
    sacked: RangeSet,
    /// Segments counted as delivered by duplicate acknowledgements, on connections without SACK.
    duplicates: u64,
    /// Bytes believed to be in the network (RFC 6675 pipe), before `duplicates` are subtracted.
    pipe: u64,
    /// Absolute indices of segments shorter than full ones; some may be acknowledged.
    short: VecDeque<u64>,
    /// Absolute index of the first segment not yet examined for loss.
    examined: u64,
    /// Absolute index below which every lost segment has been retransmitted.
    next_lost: u64,
    /// Segments whose retransmission was found lost, oldest first; sent before `next_lost`.
    lost_again: VecDeque<u64>,
    retransmissions: VecDeque<Retransmission>,
    retransmission_count: u32,
    /// Highest number of a retransmission that was acknowledged.
    acked_retransmission: u32,
    /// One entry for each of `sent`, if the algorithm asks for rate samples.
    delivery_rate: Option<Box<DeliveryRate>>,
    /// Outstanding segments that are SACKed.
    sacked_segments: u64,
    /// Outstanding retransmissions.
    retransmitted_segments: u64,
    /// Outstanding segments marked lost, retransmitted or not.
    lost_segments: u64,
    /// Buffers that hold the outstanding segments.
    buffers: u64,
    /// Absolute index of the segment after the last retransmitted one, if that split their buffer.
    cut_at: u64,
    /// State of RACK.
    rack: Rack,
}

impl Scoreboard {
    /// An empty scoreboard.
    pub fn new(detection: LossDetection, reordering: u32, mss: u32) -> Self {
        Scoreboard {
            detection,
            reordering,
            least_reordering: reordering,
            adapts: false,
            watches_originals: detection == LossDetection::Rack,
            mss: u64::from(mss),
            sent: VecDeque::new(),
            first: 0,
            una: 0,
            sacked: RangeSet::default(),
            duplicates: 0,
            pipe: 0,
            short: VecDeque::new(),
            examined: 0,
            next_lost: 0,
            lost_again: VecDeque::new(),
            retransmissions: VecDeque::new(),
            retransmission_count: 0,
            acked_retransmission: 0,
            delivery_rate: None,
            sacked_segments: 0,
            retransmitted_segments: 0,
            lost_segments: 0,
            buffers: 0,
            cut_at: buffers::NONE,
            rack: Rack::new(reordering),
        }
    }

    /// Measure the delivery rate; before anything is sent.
    pub fn measure_delivery_rate(&mut self) {
        self.delivery_rate = Some(Box::default());
    }

    /// The delivery rate, if it is measured.
    pub fn delivery_rate(&mut self) -> Option<&mut DeliveryRate> {
        self.delivery_rate.as_deref_mut()
    }

    /// First unacknowledged byte.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Everything is acknowledged for good: the memory is worth more to other connections.
    #[cold]
    pub fn free_memory(&mut self) {
        self.sent = VecDeque::new();
    }

    /// Bytes believed to be in the network.
    pub fn pipe(&self) -> u64 {
        // Duplicates do not tell which segments arrived, so each counts as a full one.
        self.pipe.saturating_sub(self.duplicates * self.mss)
    }

    /// Whether anything above `una` is SACKed or counted by duplicate acknowledgements.
    pub fn has_holes(&self) -> bool {
        !self.sacked.is_empty() || self.duplicates > 0
    }

    /// Record new data sent, which follows all that was sent before.
    #[inline(always)]
    pub(crate) fn append(&mut self, range: Range, now: Time) {
        let Range { start, end } = range;
        debug_assert!(start == self.sent.back().map_or(self.una, |last| last.end) && end > start);
        self.pipe += end - start;
        self.sent.push_back(Sent { end, sent_at: now, retransmission: 0, state: BEGINS });
        self.buffers += 1;
        if end - start < self.mss {
            self.note_short();
        }
        let (in_flight, alone) = (self.pipe(), self.sent.len() == 1);
        if let Some(rate) = &mut self.delivery_rate {
            rate.sent(in_flight, alone, now);
        }
    }

    /// Record new data sent up to `end`.
    #[cfg(test)]
    pub(crate) fn sent(&mut self, end: u64, now: Time) {
        let start = self.sent.back().map_or(self.una, |last| last.end);
        self.append(Range { start, end }, now);
    }

    /// Record the retransmission of `segment`. Returns its position in its buffer.
    pub fn retransmitted(&mut self, segment: Lost, snd_nxt: u64, now: Time) -> BufferPosition {
        if self.lost_again.front() == Some(&segment.index) {
            self.lost_again.pop_front();
        }
        self.retransmission_count += 1;
        let number = self.retransmission_count;
        self.retransmitted_segments += 1;
        let position = self.split_off((segment.index - self.first) as usize, now);
        let entry = self.entry(segment.index);
        entry.state |= RETRANSMITTED | EVER_RETRANSMITTED;
        entry.sent_at = now;
        entry.retransmission = number;
        self.pipe += segment.range.bytes();
        let in_flight = self.pipe();
        if let Some(rate) = &mut self.delivery_rate {
            rate.sent_again((segment.index - self.first) as usize, in_flight);
        }
        if self.detection != LossDetection::Rfc6675 {
            let index = segment.index;
            self.retransmissions.push_back(Retransmission { index, snd_nxt, number });
        }
        position
    }

    /// Whether `ack` is the end of a segment, nothing above it is reported, and everything below it was
    /// sent once.
    #[inline(always)]
    pub(crate) fn is_in_order(&self, ack: u64) -> bool {
        let plain = |sent: &Sent| sent.state & !(BEGINS | PUSHES) == 0;
        !self.has_holes()
            && self.sent.front().is_some_and(|front| {
                plain(front) && (front.end == ack || (front.end < ack && self.is_plain_up_to(ack)))
            })
    }

    /// [`Self::is_in_order`] for several segments.
    fn is_plain_up_to(&self, ack: u64) -> bool {
        for sent in &self.sent {
            if sent.state & !(BEGINS | PUSHES) != 0 || sent.end >= ack {
                return sent.end == ack && sent.state & !(BEGINS | PUSHES) == 0;
            }
        }
        false
    }

    /// Process a cumulative acknowledgement.
    pub fn acknowledge(&mut self, ack: u64, summary: &mut AckSummary) {
        summary.acked += ack - self.una;
        self.acknowledge_any(ack, summary);
        self.begin_at_front();
    }

    /// What is below the first segment is settled.
    #[inline(always)]
    fn begin_at_front(&mut self) {
        if self.sent.front().is_some_and(|front| !front.is(BEGINS)) {
            self.split(0);
        }
        self.examined = self.examined.max(self.first);
        self.next_lost = self.next_lost.max(self.first);
    }

    /// [`Self::acknowledge`], if [`Self::is_in_order`]: the send times of the segments.
    #[inline(always)]
    pub(crate) fn take_in_order(&mut self, ack: u64) -> SendTimes {
        self.pipe -= ack - self.una;
        let earliest = self.take_first();
        let mut latest = earliest;
        while self.una < ack && !self.sent.is_empty() {
            latest = self.take_first();
        }
        self.begin_at_front();
        SendTimes { earliest, latest }
    }

    /// Remove the first segment, which was sent once. Returns when.
    #[inline(always)]
    fn take_first(&mut self) -> Time {
        let Some(front) = self.sent.pop_front() else { return Time::ZERO };
        if self.detection == LossDetection::Rack {
            self.rack.acknowledged(front.sent_at, front.end, false);
        }
        if let Some(rate) = &mut self.delivery_rate {
            rate.arrived(0, front.end, front.sent_at);
            rate.remove_first();
        }
        self.buffers -= u64::from(front.is(BEGINS));
        self.una = front.end;
        self.first += 1;
        front.sent_at
    }

    /// Remove all segments up to `ack`.
    #[inline(never)]
    fn acknowledge_any(&mut self, ack: u64, summary: &mut AckSummary) {
        let mut segments = 0;
        let mut left_pipe = 0;
        let mut filled_hole = false;
        let highest_sacked = self.sacked.last().map_or(0, |range| range.end);
        while let Some(&front) = self.sent.front() {
            let len = front.end.min(ack) - self.una;
            if len == 0 {
                break;
            }
            if !front.is(SACKED) {
                summary.delivered += if front.is(DELIVERED) { 0 } else { len };
                left_pipe += if front.is(LOST) { 0 } else { len };
                left_pipe += if front.is(RETRANSMITTED) { len } else { 0 };
            }
            self.una += len;
            if front.end > ack {
                break;
            }
            filled_hole |= front.is(EVER_RETRANSMITTED);
            self.remove_first(front, len, highest_sacked, summary);
            segments += 1;
        }
        if filled_hole {
            // Segments above the hole may have arrived long before, so their RTT is unknown (Linux
            // 6.1 `tcp_clean_rtx_queue`, FLAG_RETRANS_DATA_ACKED).
            summary.acked_sent = None;
        }
        while self.retransmissions.front().is_some_and(|oldest| oldest.index < self.first) {
            self.retransmissions.pop_front();
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
        if self.duplicates > 0 {
            // These segments were counted as delivered when the duplicates arrived (RFC 6937
            // section 3; Linux `tcp_remove_reno_sacks`).
            let counted = self.duplicates * self.mss;
            let least = summary.delivered.min(self.mss);
            summary.delivered = summary.delivered.saturating_sub(counted).max(least);
            // The segment of the hole itself was never counted (Linux `tcp_remove_reno_sacks`).
            self.duplicates = self.duplicates.saturating_sub(segments - u64::from(segments > 0));
            self.limit_duplicates(segments);
        }
        self.pipe -= left_pipe;
    }

    /// Remove the first segment, `front`, of which the last `len` bytes were not acknowledged before.
    #[inline(always)]
    fn remove_first(
        &mut self,
        front: Sent,
        len: u64,
        highest_sacked: u64,
        summary: &mut AckSummary,
    ) {
        if front.is(SACKED) {
            self.sacked_segments -= 1;
        } else {
            self.lost_segments -= u64::from(front.is(LOST));
            AckSummary::add_send_time(&mut summary.acked_sent, front);
            self.acked_retransmission = self.acked_retransmission.max(front.retransmission);
            if self.watches_originals {
                let again = front.is(EVER_RETRANSMITTED);
                if self.detection == LossDetection::Rack {
                    self.rack.acknowledged(front.sent_at, front.end, again);
                }
                if !again {
                    summary.add_original(self.una - len, front.end, highest_sacked);
                }
            }
        }
        if front.is(RETRANSMITTED) && !front.is(SACKED) {
            self.retransmitted_segments -= 1;
        }
        if let Some(rate) = &mut self.delivery_rate {
            if !front.is(SACKED | DELIVERED) {
                rate.arrived(0, front.end, front.sent_at);
            }
            rate.remove_first();
        }
        summary.last_sent = Some(front.sent_at);
        self.buffers -= u64::from(front.is(BEGINS));
        self.sent.pop_front();
        self.first += 1;
    }

    /// Process a SACK block above `una`.
    pub fn sack(&mut self, block: Range, summary: &mut AckSummary) {
        if self.sacked.covers(block) {
            return;
        }
        let Some(aligned) = self.align(block) else { return };
        let mut sacked = std::mem::take(&mut self.sacked);
        let highest = sacked.last().map_or(0, |range| range.end);
        sacked.insert(aligned, |gap| self.mark_sacked(gap, highest, summary));
        self.sacked = sacked;
    }

    /// Process a duplicate acknowledgement on a connection without SACK: one segment was delivered.
    pub fn duplicate(&mut self, summary: &mut AckSummary) {
        if self.duplicates + 1 < self.sent.len() as u64 {
            self.duplicates += 1;
            summary.delivered += self.mss;
        } else {
            self.tolerate(self.sent.len() as u64);
        }
    }

    /// Mark lost segments (RFC 6675 IsLost, or forward acknowledgement).
    pub fn detect_losses(&mut self, summary: &mut AckSummary) {
        self.detect_losses_below(u64::MAX, summary);
    }

    /// Mark lost segments that end at or below `limit`.
    pub fn detect_losses_below(&mut self, limit: u64, summary: &mut AckSummary) {
        if let Some(boundary) = self.loss_boundary() {
            let boundary = boundary.min(self.index_above(limit));
            while self.examined < boundary {
                let index = self.examined;
                self.examined += 1;
                summary.lost += self.mark_lost(index);
            }
        }
        if self.detection == LossDetection::Fack {
            self.detect_lost_retransmissions(summary);
        }
    }

    /// Mark the first outstanding segment lost: on a connection without SACK, the duplicate
    /// threshold was reached or a partial acknowledgement came. Returns the bytes newly lost.
    pub fn mark_head_lost(&mut self) -> u64 {
        if self.sent.is_empty() { 0 } else { self.mark_lost(self.first) }
    }

    /// Reset the count of duplicate acknowledgements; all unacknowledged data counts in the pipe.
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Mark every hole below the highest SACKed segment lost. Returns the bytes newly lost.
    pub fn mark_holes_lost(&mut self) -> u64 {
        let Some(highest) = self.sacked.last() else { return 0 };
        let below = self.sent.partition_point(|s| s.end <= highest.start) as u64;
        let mut lost = 0;
        while self.examined < self.first + below {
            let index = self.examined;
            self.examined += 1;
            lost += self.mark_lost(index);
        }
        lost
    }

    /// Duplicate acknowledgements counted.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The retransmission timer expired: mark everything that is not SACKed lost. Returns the bytes
    /// that were in the pipe, as originals or as retransmissions.
    pub fn mark_all_lost(&mut self) -> u64 {
        let mut lost = 0;
        let mut start = self.una;
        for entry in &mut self.sent {
            if !entry.is(SACKED) {
                if !entry.is(LOST) || entry.is(RETRANSMITTED) {
                    lost += entry.end - start;
                }
                entry.state = (entry.state | LOST) & !RETRANSMITTED;
            }
            start = entry.end;
        }
        self.pipe = 0;
        self.duplicates = 0;
        self.retransmitted_segments = 0;
        self.lost_segments = self.sent.len() as u64 - self.sacked_segments;
        self.next_lost = self.first;
        self.examined = self.first + self.sent.len() as u64;
        self.lost_again.clear();
        self.retransmissions.clear();
        lost
    }

    /// Clear SACKed and lost marks: everything outstanding counts in the pipe again (ns-2.35
    /// `tcp/scoreboard1.cc`, `ClearScoreBoard`).
    pub fn forget_sacks(&mut self) {
        for entry in &mut self.sent {
            entry.state &= EVER_RETRANSMITTED | DELIVERED | BEGINS | PUSHES;
        }
        self.pipe = self.sent.back().map_or(0, |last| last.end - self.una);
        self.sacked.clear();
        self.sacked_segments = 0;
        self.retransmitted_segments = 0;
        self.lost_segments = 0;
        self.examined = self.first;
        self.next_lost = self.first;
        self.lost_again.clear();
        self.retransmissions.clear();
    }

    /// Next segment to retransmit: one whose retransmission was lost, else the lowest lost one.
    pub fn next_lost(&mut self) -> Option<Lost> {
        debug_assert!(self.examined <= self.first + self.sent.len() as u64);
        while let Some(&index) = self.lost_again.front() {
            if index >= self.first && self.is_waiting(index) {
                return Some(Lost { index, range: self.range(index) });
            }
            self.lost_again.pop_front();
        }
        while self.next_lost < self.examined {
            if self.is_waiting(self.next_lost) {
                return Some(Lost { index: self.next_lost, range: self.range(self.next_lost) });
            }
            self.next_lost += 1;
        }
        None
    }

    /// RFC 6675 NextSeg rule 3: the lowest segment that is neither SACKed nor lost nor
    /// retransmitted, below the highest SACKed one.
    pub fn next_unsacked(&self) -> Option<Lost> {
        let highest = self.sacked.last()?.start;
        let mut index = self.examined;
        while index < self.first + self.sent.len() as u64 {
            let range = self.range(index);
            if range.start >= highest {
                return None;
            }
            if !self.sent[(index - self.first) as usize].is(SACKED | RETRANSMITTED | LOST) {
                return Some(Lost { index, range });
            }
            index += 1;
        }
        None
    }

    fn entry(&mut self, index: u64) -> &mut Sent {
        &mut self.sent[(index - self.first) as usize]
    }

    fn range(&self, index: u64) -> Range {
        let at = (index - self.first) as usize;
        let start = if at == 0 { self.una } else { self.sent[at - 1].end };
        Range { start, end: self.sent[at].end }
    }

    fn is_waiting(&self, index: u64) -> bool {
        let entry = self.sent[(index - self.first) as usize];
        entry.is(LOST) && !entry.is(SACKED | RETRANSMITTED)
    }

    /// `block` reduced to whole outstanding segments.
    fn align(&self, block: Range) -> Option<Range> {
        if block.end <= self.una || block.start >= block.end {
            return None;
        }
        let start = block.start.max(self.una);
        let start = if start == self.una {
            start
        } else {
            // First segment boundary at or above the start.
            let at = self.sent.partition_point(|s| s.end < start);
            self.sent.get(at)?.end
        };
        let behind = self.sent.partition_point(|s| s.end <= block.end);
        let end = self.sent.get(behind.checked_sub(1)?)?.end;
        (start < end).then_some(Range { start, end })
    }

    /// Mark the segments of `gap` SACKed; it holds whole segments, none of them SACKed before.
    fn mark_sacked(&mut self, gap: Range, highest_sacked: u64, summary: &mut AckSummary) {
        let from = self.sent.partition_point(|s| s.end <= gap.start);
        let mut at = from;
        let mut start = gap.start;
        while start < gap.end {
            let entry = &mut self.sent[at];
            let len = entry.end - start;
            let before = *entry;
            entry.state |= SACKED | DELIVERED;
            let began = start;
            start = entry.end;
            self.sacked_segments += 1;
            if self.watches_originals {
                let again = before.is(EVER_RETRANSMITTED);
                if self.detection == LossDetection::Rack {
                    self.rack.sacked(before.sent_at, before.end, again);
                }
                if !again {
                    summary.add_original(began, before.end, highest_sacked);
                }
            }
            if let Some(rate) = &mut self.delivery_rate
                && !before.is(DELIVERED)
            {
                rate.arrived(at, before.end, before.sent_at);
            }
            at += 1;
            if before.is(LOST) {
                self.lost_segments -= 1;
            } else {
                self.pipe -= len;
            }
            if before.is(RETRANSMITTED) {
                self.pipe -= len;
                self.retransmitted_segments -= 1;
                self.acked_retransmission = self.acked_retransmission.max(before.retransmission);
            }
            summary.delivered += if before.is(DELIVERED) { 0 } else { len };
            AckSummary::add_send_time(&mut summary.sacked_sent, before);
        }
        self.merge_sacked(from, at);
    }

    /// Absolute index below which every hole is lost.
    fn loss_boundary(&self) -> Option<u64> {
        let highest = self.sacked.last()?;
        match self.detection {
            LossDetection::Rack => None,
            LossDetection::Fack => {
                // Packets up to highest − (reordering + 1) are lost.
                let behind = self.sent.partition_point(|s| s.end <= highest.end) as u64;
                (self.first + behind).checked_sub(u64::from(self.reordering) + 1)
            }
            LossDetection::LinuxFack => {
                // `fackets_out` less `reordering` are lost.
                let behind = self.sent.partition_point(|s| s.end <= highest.end) as u64;
                (self.first + behind).checked_sub(u64::from(self.reordering))
            }
            LossDetection::Rfc6675 => {
                let enough = u64::from(self.reordering.saturating_sub(1)) * self.mss;
                let mut bytes = 0;
                for (count, range) in self.sacked.descending().enumerate() {
                    bytes += range.bytes();
                    if bytes > enough || count as u32 + 1 >= self.reordering {
                        let below = self.sent.partition_point(|s| s.end <= range.start);
                        return Some(self.first + below as u64);
                    }
                }
                None
            }
        }
    }

    /// Mark a segment lost. Returns its bytes, or 0 if it was lost or SACKed before.
    fn mark_lost(&mut self, index: u64) -> u64 {
        let len = self.range(index).bytes();
        let entry = self.entry(index);
        if entry.is(SACKED | LOST) {
            return 0;
        }
        entry.state |= LOST;
        self.lost_segments += 1;
        self.pipe -= len;
        self.examined = self.examined.max(index + 1);
        len
    }

    /// Mark retransmissions lost if later transmissions have been delivered.
    pub fn detect_lost_retransmissions(&mut self, summary: &mut AckSummary) {
        let Some(highest) = self.sacked.last() else { return };
        let by_number = self.detection == LossDetection::Fack;
        while let Some(oldest) = self.retransmissions.front().copied() {
            let current = oldest.index >= self.first && {
                let entry = *self.entry(oldest.index);
                entry.is(RETRANSMITTED)
                    && !entry.is(SACKED)
                    && entry.retransmission == oldest.number
            };
            if current {
                let later_data_arrived = oldest.snd_nxt < highest.end;
                let later_retransmission_arrived =
                    by_number && oldest.number + self.reordering + 1 < self.acked_retransmission;
                if !later_data_arrived && !later_retransmission_arrived {
                    return;
                }
                let len = self.range(oldest.index).bytes();
                self.entry(oldest.index).state &= !RETRANSMITTED;
                self.retransmitted_segments -= 1;
                self.pipe -= len;
                self.lost_again.push_back(oldest.index);
                summary.lost += len;
                summary.lost_again = true;
            }
            self.retransmissions.pop_front();
        }
    }
}
