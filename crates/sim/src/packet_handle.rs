//! Segments in flight: they stay in one place while links pass on small packet handles.

use fairway_net::{Ecn, Packet};
use fairway_tcp::{Flags, Segment};
use prefetch_index::prefetch_index;

use crate::emulator::Sent;

/// What a link needs to know of a segment, and where the segment is.
///
/// Two words of two halves each, because two words are handed from function to function in
/// registers. Four small ones are handed over in memory, and a processor that has just written them
/// one by one waits a dozen cycles until it can read them together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketHandle {
    /// The place of the segment, and above it the path.
    slot_and_path: u64,
    /// The size in bytes; above it [`HELD`], [`DATAGRAM`], [`PAYLOAD`], [`ECN_CAPABLE`], [`MARKED`],
    /// [`SCALABLE`], the precedence and [`CORRUPTED`]; above them the position.
    marks_and_position: u64,
}

/// Where the upper half of a word begins.
const UPPER: u32 = 32;
/// Bits of the size: IP packets have at most 16.
const SIZE: u64 = 0x3f_ffff;
/// It takes room in its sender's buffer until it has left its first link.
const HELD: u64 = 1 << 22;
/// It is no segment of a connection.
const DATAGRAM: u64 = 1 << 23;
/// It carries data.
const PAYLOAD: u64 = 1 << 24;
/// It may be marked (RFC 3168 ECT(0)).
const ECN_CAPABLE: u64 = 1 << 25;
/// It is marked (RFC 3168 CE).
const MARKED: u64 = 1 << 26;
/// It may be marked, and its sender answers the share of marks (RFC 9331 ECT(1)).
const SCALABLE: u64 = 1 << 27;
/// Where the three bits of the precedence begin.
const PRECEDENCE: u32 = 28;
/// A link has damaged it.
const CORRUPTED: u64 = 1 << 31;

impl PacketHandle {
    fn new(place: u32, path: u32, marks: u64, position: u32) -> Self {
        PacketHandle {
            slot_and_path: u64::from(place) | u64::from(path) << UPPER,
            marks_and_position: marks | u64::from(position) << UPPER,
        }
    }

    /// That of the segment written to a place, before it is given a position.
    #[inline(always)]
    pub(crate) fn of(segment: &Segment, place: u32, path: u32, precedence: u8) -> Self {
        let payload = if segment.payload_bytes > 0 { PAYLOAD } else { 0 };
        let ecn = match segment.ecn() {
            Ecn::NotEct => 0,
            Ecn::Ect0 => ECN_CAPABLE,
            Ecn::Ect1 => SCALABLE,
            Ecn::Ce => MARKED,
        };
        let precedence = u64::from(precedence) << PRECEDENCE;
        let marks = u64::from(segment.wire_bytes()) | payload | ecn | precedence;
        PacketHandle::new(place, path, marks, 0)
    }

    /// That of a packet whose endpoints are not simulated, at a position.
    pub(crate) fn emulated(place: u32, position: u32, sent: Sent) -> Self {
        let ecn = match sent.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect0 => ECN_CAPABLE,
            Ecn::Ect1 => SCALABLE,
            Ecn::Ce => MARKED,
        };
        let payload = if sent.has_payload { PAYLOAD } else { 0 };
        let held = if sent.is_held { HELD } else { 0 };
        let precedence = u64::from(sent.precedence & 7) << PRECEDENCE;
        let marks = u64::from(sent.wire_bytes) & SIZE | payload | ecn | held | precedence;
        PacketHandle::new(place, sent.path, marks, position)
    }

    /// The place of what it carries.
    pub(crate) fn place(&self) -> usize {
        self.slot_and_path as u32 as usize
    }

    /// Connection · 2, + 1 for what travels from the sink to the source; behind those of all
    /// connections, one for each datagram flow.
    pub(crate) fn path(&self) -> u32 {
        (self.slot_and_path >> UPPER) as u32
    }

    /// The link that it crosses, as a position in the network's paths.
    pub(crate) fn position(&self) -> u32 {
        (self.marks_and_position >> UPPER) as u32
    }

    /// The same at another position.
    pub(crate) fn at(self, position: u32) -> Self {
        let marks = self.marks_and_position & u64::from(u32::MAX);
        PacketHandle { marks_and_position: marks | u64::from(position) << UPPER, ..self }
    }

    /// The same at the next link of its path.
    pub(crate) fn at_next(self) -> Self {
        PacketHandle { marks_and_position: self.marks_and_position + (1 << UPPER), ..self }
    }

    /// Which connection of the run, if it is a segment.
    pub(crate) fn connection(&self) -> usize {
        (self.path() / 2) as usize
    }

    /// Whether it travels from the connection's opener to the other end.
    pub(crate) fn forward(&self) -> bool {
        self.path().is_multiple_of(2)
    }

    /// Whether it carries data.
    pub(crate) fn has_payload(&self) -> bool {
        self.marks_and_position & PAYLOAD != 0
    }

    /// Whether it takes room in its sender's buffer.
    pub(crate) fn is_held(&self) -> bool {
        self.marks_and_position & HELD != 0
    }

    /// The same, and its sender's buffer has its room again.
    pub(crate) fn released(self) -> Self {
        PacketHandle { marks_and_position: self.marks_and_position & !HELD, ..self }
    }

    /// The same, in its sender's buffer.
    pub(crate) fn held(self) -> Self {
        PacketHandle { marks_and_position: self.marks_and_position | HELD, ..self }
    }

    /// The same, damaged.
    pub(crate) fn corrupt(self) -> Self {
        PacketHandle { marks_and_position: self.marks_and_position | CORRUPTED, ..self }
    }

    /// Whether it is a datagram, or damaged.
    pub(crate) fn is_special(&self) -> bool {
        self.marks_and_position & (DATAGRAM | CORRUPTED) != 0
    }

    /// Whether its receiver will throw it away.
    pub(crate) fn is_corrupted(&self) -> bool {
        self.marks_and_position & CORRUPTED != 0
    }
}

impl Packet for PacketHandle {
    fn wire_bytes(&self) -> u32 {
        (self.marks_and_position & SIZE) as u32
    }

    fn ecn(&self) -> Ecn {
        if self.marks_and_position & MARKED != 0 {
            Ecn::Ce
        } else if self.marks_and_position & SCALABLE != 0 {
            Ecn::Ect1
        } else if self.marks_and_position & ECN_CAPABLE != 0 {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    fn flow(&self) -> u32 {
        self.path()
    }

    fn precedence(&self) -> u8 {
        (self.marks_and_position >> PRECEDENCE & 7) as u8
    }

    fn carries_data(&self) -> bool {
        self.has_payload()
    }

    fn mark_congestion(&mut self) {
        self.marks_and_position |= MARKED;
    }
}

/// All segments on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentPool {
    segments: Vec<Segment>,
    free: Vec<u32>,
}

impl SegmentPool {
    /// A place for a segment that may set out.
    pub(crate) fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.segments.push(Segment::default());
            (self.segments.len() - 1) as u32
        })
    }

    /// The segment in a place.
    pub(crate) fn segment(&mut self, place: u32) -> &mut Segment {
        &mut self.segments[place as usize]
    }

    /// Ask for the memory of a segment that will soon arrive.
    pub(crate) fn prefetch(&self, handle: PacketHandle) {
        prefetch_index(&self.segments, handle.place());
    }

    /// The place is not needed after all.
    pub(crate) fn give_back(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The datagram that was written to a place sets out on its way from `position` of the paths.
    pub(crate) fn send_datagram(
        &self,
        place: u32,
        path: u32,
        position: u32,
        wire_bytes: u32,
        precedence: u8,
    ) -> PacketHandle {
        let precedence = u64::from(precedence & 7) << PRECEDENCE;
        let marks = u64::from(wire_bytes) | DATAGRAM | PAYLOAD | precedence;
        PacketHandle::new(place, path, marks, position)
    }

    /// The segment of a handle that has arrived, with the mark it may have met. Its place is
    /// free again after [`Self::discard`].
    pub(crate) fn open(&mut self, handle: PacketHandle) -> &mut Segment {
        let segment = &mut self.segments[handle.place()];
        if handle.marks_and_position & MARKED != 0 {
            segment.flags = segment.flags.with(Flags::CE);
        }
        segment
    }

    /// Another packet with the same segment.
    pub(crate) fn copy(&mut self, handle: PacketHandle) -> PacketHandle {
        let segment = self.segments[handle.place()];
        self.put_in(handle, &segment)
    }

    /// A segment goes where another pool is: its place is free again.
    pub(crate) fn take_out(&mut self, handle: PacketHandle) -> Segment {
        self.discard(handle);
        self.segments[handle.place()]
    }

    /// A segment comes from another pool. Returns its handle here.
    pub(crate) fn put_in(&mut self, handle: PacketHandle, segment: &Segment) -> PacketHandle {
        let place = self.place();
        self.segments[place as usize] = *segment;
        let slot_and_path = PacketHandle::new(place, handle.path(), 0, 0).slot_and_path;
        PacketHandle { slot_and_path, ..handle }
    }

    /// A segment was delivered, dropped or lost.
    pub(crate) fn discard(&mut self, handle: PacketHandle) {
        self.free.push(handle.place() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_keeps_size_precedence_and_marks_apart() {
        let mut pool = SegmentPool::default();
        let place = pool.place();
        let segment = pool.segment(place);
        (segment.payload_bytes, segment.flags) = (65_495, Flags::ECT);
        let mut handle = PacketHandle::of(segment, place, 3, 5);
        handle.mark_congestion();
        // 20 bytes of IP's header and 20 of TCP's.
        assert_eq!((handle.wire_bytes(), handle.precedence(), handle.ecn()), (65_535, 5, Ecn::Ce));
        let datagram = pool.send_datagram(place, 7, 3, 29, 7);
        let marks = (datagram.precedence(), datagram.ecn(), datagram.has_payload());
        assert_eq!(
            (datagram.wire_bytes(), datagram.flow(), marks),
            (29, 7, (7, Ecn::NotEct, true))
        );
        let held = datagram.held();
        assert_eq!(
            (held.wire_bytes(), held.is_held(), held.released().is_held()),
            (29, true, false)
        );
    }
}
