//! Segments on their way: they stay in one place while links pass on small parcels that name them.

use fairway_net::Packet;
use fairway_tcp::{Flags, Segment};

/// What a link needs to know of a segment, and where the segment is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    place: u32,
    /// Which connection of the run.
    pub(crate) connection: u32,
    wire_bytes: u32,
    /// Links crossed so far.
    pub(crate) hop: u8,
    /// Whether it travels from the connection's opener to the other end.
    pub(crate) forward: bool,
    /// Whether it carries data.
    pub(crate) has_payload: bool,
    /// Whether it may be marked, and whether it is (RFC 3168 ECT and CE).
    ecn: Ecn,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ecn {
    NotCapable,
    Capable,
    Marked,
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn != Ecn::NotCapable
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Marked;
    }
}

/// All segments on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parcels {
    segments: Vec<Segment>,
    free: Vec<u32>,
}

impl Parcels {
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

    /// The place is not needed after all.
    pub(crate) fn give_back(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The segment that was written to a place sets out.
    pub(crate) fn send(&mut self, place: u32) -> Parcel {
        let segment = &self.segments[place as usize];
        Parcel {
            place,
            connection: segment.connection,
            wire_bytes: segment.wire_bytes(),
            hop: 0,
            forward: segment.forward,
            has_payload: segment.payload_bytes > 0,
            ecn: if segment.is_ecn_capable() { Ecn::Capable } else { Ecn::NotCapable },
        }
    }

    /// The segment of a parcel that has arrived, with the mark it may have met. Its place is
    /// free again after [`Self::discard`].
    pub(crate) fn open(&mut self, parcel: Parcel) -> &Segment {
        let segment = &mut self.segments[parcel.place as usize];
        if parcel.ecn == Ecn::Marked {
            segment.flags = segment.flags.with(Flags::CE);
        }
        segment
    }

    /// A segment was delivered, dropped or lost.
    pub(crate) fn discard(&mut self, parcel: Parcel) {
        self.free.push(parcel.place);
    }
}
