//! What is sent and not acknowledged yet: when, how often, and what the receiver says of it.

use std::collections::VecDeque;

use fairway_units::Time;

use super::ranges::{Range, Sacked};

/// Segments that a direction remembers: 1 GiB, the largest window (RFC 7323 section 2.3), is as
/// many full Ethernet segments. What was sent before is forgotten.
const MAX_SEGMENTS: usize = 1 << 20;

/// Segments of a direction whose receiver was never seen: nothing ever acknowledges them.
const MAX_UNHEARD_SEGMENTS: usize = 64;

/// Segments that may be moved to make room for one in the middle; where more would be, it is left
/// out. It bounds the time that one packet takes.
const MAX_MOVED_SEGMENTS: usize = 1 << 15;

/// A run of bytes that were sent together, in sequence numbers: SYN and FIN have one each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) first_at: Time,
    pub(super) last_at: Time,
    pub(super) transmissions: u16,
    pub(super) ip_id: u16,
    /// Whether its first number is a SYN's, which is no data.
    pub(super) has_syn: bool,
    /// Whether its last number is a FIN's.
    pub(super) has_fin: bool,
    pub(super) is_sacked: bool,
    pub(super) is_lost: bool,
}

impl Segment {
    fn bytes(&self) -> u64 {
        (self.end - self.start) as u64 - u64::from(self.has_syn) - u64::from(self.has_fin)
    }

    fn bytes_again(&self) -> u64 {
        if self.transmissions > 1 { self.bytes() } else { 0 }
    }

    /// Takes the part below an offset off.
    fn split_off_below(&mut self, offset: i64) -> Segment {
        let below = Segment { end: offset, has_fin: false, ..*self };
        self.start = offset;
        self.has_syn = false;
        below
    }
}

/// History of bytes that are sent again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Earlier {
    /// When the first of them was sent last.
    pub(super) last_at: Option<Time>,
    /// How often the first of them was sent, this time included.
    pub(super) transmissions: u16,
    /// Whether it is the same IP packet once more.
    pub(super) is_same_packet: bool,
}

/// What an acknowledgement tells of the segment that it ends with.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum Sample {
    /// It ends with none that was not acknowledged before.
    #[default]
    None,
    /// Sent once, and nothing that was acknowledged before or with it was sent later.
    Clear(Time),
    /// Sent more than once; when last.
    Ambiguous(Time),
    /// Something below it was sent later: it has waited for a retransmission.
    AfterLoss,
    /// It was selectively acknowledged before.
    Sacked,
}

/// Segments removed by an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Removed {
    pub(super) bytes: u64,
    /// Bytes that were not selectively acknowledged before.
    pub(super) delivered_bytes: u64,
    /// Of these, sent more than once.
    pub(super) delivered_again_bytes: u64,
    pub(super) segments: u64,
    pub(super) sample: Sample,
    /// Length of the segment that it ends with.
    pub(super) sample_bytes: u64,
    /// Whether the receiver has thrown away what it had selectively acknowledged.
    pub(super) reneged: bool,
}

/// Bytes that are selectively acknowledged for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NewlySacked {
    pub(super) bytes: u64,
    /// Of these, sent more than once.
    pub(super) again_bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    segments: VecDeque<Segment>,
    sacked: Sacked,
    pub(super) sacked_bytes: u64,
    pub(super) flight_bytes: u64,
    lost_bytes: u64,
    /// Everything below that is not selectively acknowledged was marked lost.
    lost_below: i64,
    /// When the newest transmission that was acknowledged was sent.
    newest_acked: Time,
}

impl Outstanding {
    /// RFC 6675 section 4: what is lost and was not sent again is not in the network.
    pub(super) fn pipe_bytes(&self) -> u64 {
        self.flight_bytes - self.lost_bytes
    }

    /// End of the highest selective acknowledgement.
    pub(super) fn highest_sacked(&self) -> Option<i64> {
        self.sacked.highest()
    }

    /// Bytes above an offset that are selectively acknowledged.
    pub(super) fn sacked_above(&self, offset: i64) -> u64 {
        self.sacked.above(offset)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Sends a segment that nothing acknowledges yet. `is_heard`: acknowledgements may come.
    #[inline]
    pub(super) fn send(&mut self, segment: Segment, is_heard: bool) -> Earlier {
        let limit = if is_heard { MAX_SEGMENTS } else { MAX_UNHEARD_SEGMENTS };
        if self.segments.len() >= limit {
            self.forget_first();
        }
        if self.segments.back().is_none_or(|last| last.end <= segment.start) {
            self.flight_bytes += segment.bytes();
            self.segments.push_back(segment);
            return Earlier { transmissions: 1, ..Earlier::default() };
        }
        self.send_again(segment)
    }

    fn forget_first(&mut self) {
        if let Some(first) = self.segments.pop_front() {
            self.leave(&first);
        }
    }

    /// Takes what a segment counts for out of the sums.
    fn leave(&mut self, segment: &Segment) {
        let bytes = segment.bytes();
        if segment.is_sacked {
            self.sacked_bytes -= bytes;
        } else {
            self.flight_bytes -= bytes;
            self.lost_bytes -= if segment.is_lost { bytes } else { 0 };
        }
    }

    fn send_again(&mut self, new: Segment) -> Earlier {
        let mut earlier = Earlier { transmissions: 1, ..Earlier::default() };
        let mut from = new.start;
        let mut index = self.cut(new.start);
        while from < new.end {
            match self.segments.get(index).copied() {
                Some(old) if old.start <= from => {
                    if old.end > new.end {
                        self.cut(new.end);
                    }
                    self.touch(index, &new, &mut earlier);
                    from = old.end;
                }
                next => {
                    let end = next.map_or(new.end, |next| next.start.min(new.end));
                    let has_syn = new.has_syn && from == new.start;
                    let has_fin = new.has_fin && end == new.end;
                    self.insert(index, Segment { start: from, end, has_syn, has_fin, ..new });
                    from = end;
                }
            }
            index += 1;
        }
        earlier
    }

    /// One segment of those that are there is sent again.
    fn touch(&mut self, index: usize, new: &Segment, earlier: &mut Earlier) {
        let segment = &mut self.segments[index];
        segment.transmissions = segment.transmissions.saturating_add(1);
        if earlier.last_at.is_none() {
            earlier.last_at = Some(segment.last_at);
            earlier.transmissions = segment.transmissions;
            // An IP packet has its own number among those of its connection; 0 is no number.
            earlier.is_same_packet = new.ip_id != 0 && new.ip_id == segment.ip_id;
        }
        segment.last_at = new.last_at;
        segment.ip_id = new.ip_id;
        if segment.is_lost {
            segment.is_lost = false;
            self.lost_bytes -= segment.bytes();
        }
    }

    /// Cuts the segment that an offset is inside of in two; says which one begins there or above.
    fn cut(&mut self, offset: i64) -> usize {
        let index = self.segments.partition_point(|segment| segment.end <= offset);
        match self.segments.get_mut(index) {
            Some(segment) if segment.start < offset => {
                if !is_cheap(index, self.segments.len()) {
                    return index;
                }
                let segment = &mut self.segments[index];
                let below = segment.split_off_below(offset);
                self.segments.insert(index, below);
                index + 1
            }
            _ => index,
        }
    }

    fn insert(&mut self, index: usize, segment: Segment) {
        if segment.start < segment.end && is_cheap(index, self.segments.len()) {
            self.flight_bytes += segment.bytes();
            self.segments.insert(index, segment);
        }
    }

    /// Removes what is acknowledged up to an offset.
    #[inline]
    pub(super) fn acknowledge(&mut self, up_to: i64) -> Removed {
        let mut removed = Removed::default();
        while let Some(first) = self.segments.front_mut() {
            if first.start >= up_to {
                break;
            }
            let (length, segment) = if first.end <= up_to {
                let whole = *first;
                self.segments.pop_front();
                (whole.bytes(), whole)
            } else {
                (first.bytes(), first.split_off_below(up_to))
            };
            self.leave(&segment);
            removed.segments += 1;
            removed.bytes += segment.bytes();
            if !segment.is_sacked {
                removed.delivered_bytes += segment.bytes();
                removed.delivered_again_bytes += segment.bytes_again();
            }
            removed.sample_bytes = length;
            removed.sample = self.sample(&segment, up_to);
            self.newest_acked = self.newest_acked.max(segment.last_at);
        }
        if self.sacked.acknowledge(up_to) {
            removed.reneged = true;
            self.renege();
        }
        removed
    }

    fn sample(&self, segment: &Segment, up_to: i64) -> Sample {
        if segment.end != up_to {
            Sample::None
        } else if self.newest_acked > segment.last_at {
            Sample::AfterLoss
        } else if segment.transmissions > 1 {
            Sample::Ambiguous(segment.last_at)
        } else if segment.is_sacked {
            Sample::Sacked
        } else {
            Sample::Clear(segment.first_at)
        }
    }

    /// The receiver has thrown away what it had selectively acknowledged.
    fn renege(&mut self) {
        self.sacked.clear();
        for segment in self.segments.iter_mut().filter(|segment| segment.is_sacked) {
            segment.is_sacked = false;
            self.sacked_bytes -= segment.bytes();
            self.flight_bytes += segment.bytes();
        }
    }

    /// Marks a range as selectively acknowledged; returns what is newly acknowledged.
    pub(super) fn sack(&mut self, range: Range) -> NewlySacked {
        let mut parts = Vec::new();
        self.sacked.add(range, |part| parts.push(part));
        let mut newly_sacked = NewlySacked::default();
        for part in parts {
            self.mark_sacked(part, &mut newly_sacked);
        }
        newly_sacked
    }

    fn mark_sacked(&mut self, (start, end): Range, newly_sacked: &mut NewlySacked) {
        let first = self.cut(start);
        self.cut(end);
        for segment in self.segments.range_mut(first..) {
            if segment.end > end {
                break;
            }
            if segment.is_sacked {
                continue;
            }
            segment.is_sacked = true;
            let bytes = segment.bytes();
            newly_sacked.bytes += bytes;
            newly_sacked.again_bytes += segment.bytes_again();
            self.flight_bytes -= bytes;
            self.sacked_bytes += bytes;
            if segment.is_lost {
                segment.is_lost = false;
                self.lost_bytes -= bytes;
            }
        }
    }

    /// Marks lost what has to be by the selective acknowledgements above it.
    pub(super) fn mark_lost(&mut self, mss_bytes: u32) {
        let Some(below) = self.sacked.lost_below(2 * u64::from(mss_bytes)) else { return };
        if below <= self.lost_below {
            return;
        }
        let first = self.segments.partition_point(|segment| segment.start < self.lost_below);
        self.lost_below = below;
        for segment in self.segments.range_mut(first..) {
            if segment.start >= below {
                break;
            }
            if !segment.is_sacked && !segment.is_lost && segment.transmissions == 1 {
                segment.is_lost = true;
                self.lost_bytes += segment.bytes();
            }
        }
    }

    /// Marks everything lost that is not selectively acknowledged: a timeout (RFC 6675
    /// section 5.1).
    pub(super) fn mark_all_lost(&mut self) {
        for segment in self.segments.iter_mut().filter(|segment| !segment.is_sacked) {
            segment.is_lost = true;
        }
        self.lost_bytes = self.flight_bytes;
    }

    /// Gives memory back, when nothing is outstanding.
    pub(super) fn fold(&mut self) {
        self.segments.shrink_to_fit();
        self.sacked.clear();
    }
}

/// Whether few enough segments move when one is put at `index`.
fn is_cheap(index: usize, length: usize) -> bool {
    index.min(length - index) <= MAX_MOVED_SEGMENTS
}
