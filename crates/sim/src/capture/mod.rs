//! Captures of a run: what a program like tcpdump would have seen at hosts and links.
//!
//! A run tells a [`Tap`] what happens to packets. [`NoTap`] does nothing and costs nothing; a
//! [`Recorder`] writes files. A packet is seen where it leaves its host, where it is offered to a
//! link, where it comes out of that, and where it reaches its host. What a queue drops or a wire
//! loses is marked on the packet as it entered the link, and what a wire damages from where it
//! comes out.

mod addresses;
mod places;
mod recorder;

use fairway_tcp::Segment;
use fairway_units::Time;

use crate::packet_handle::PacketHandle;

pub use places::check_captures;
pub(crate) use recorder::Recorder;

/// What is told of the packets of a run. Times are those at which things will have happened, which
/// may be later than now; `link` is a link direction.
pub(crate) trait Tap {
    /// Whether it wants to be told at all.
    const IS_ACTIVE: bool = false;

    /// A packet leaves its host; `segment` is what is in its place.
    #[inline(always)]
    fn sets_out(&mut self, _handle: &PacketHandle, _segment: &Segment, _at: Time) {}

    /// A packet is offered to a link. What becomes of it will be told.
    #[inline(always)]
    fn enters(&mut self, _handle: &PacketHandle, _link: u32, _at: Time) {}

    /// A packet will come out of the link that it has entered last.
    #[inline(always)]
    fn passes(&mut self, _handle: &PacketHandle) {}

    /// The queue of a link drops a packet.
    #[inline(always)]
    fn is_dropped(&mut self, _handle: &PacketHandle, _link: u32) {}

    /// A link loses a packet.
    #[inline(always)]
    fn is_lost(&mut self, _handle: &PacketHandle, _link: u32) {}

    /// A link damages a packet, which will come out of it.
    #[inline(always)]
    fn is_damaged(&mut self, _handle: &PacketHandle, _link: u32) {}

    /// A packet comes out of a link.
    #[inline(always)]
    fn leaves(&mut self, _handle: &PacketHandle, _link: u32, _at: Time) {}

    /// A packet reaches its host.
    #[inline(always)]
    fn is_delivered(&mut self, _handle: &PacketHandle, _at: Time) {}

    /// A packet has become two.
    #[inline(always)]
    fn is_copied(&mut self, _handle: &PacketHandle, _copy: &PacketHandle) {}

    /// Nothing will be told any more of a time before now.
    #[inline(always)]
    fn advance(&mut self, _now: Time) {}

    /// Whether all is well.
    ///
    /// # Errors
    /// Why nothing can be written any more.
    #[inline(always)]
    fn check(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Nobody listens.
pub(crate) struct NoTap;

impl Tap for NoTap {}

/// A recorder that there may be.
impl Tap for Option<Recorder> {
    const IS_ACTIVE: bool = true;

    fn sets_out(&mut self, handle: &PacketHandle, segment: &Segment, at: Time) {
        self.iter_mut().for_each(|tap| tap.sets_out(handle, segment, at));
    }

    fn enters(&mut self, handle: &PacketHandle, link: u32, at: Time) {
        self.iter_mut().for_each(|tap| tap.enters(handle, link, at));
    }

    fn passes(&mut self, handle: &PacketHandle) {
        self.iter_mut().for_each(|tap| tap.passes(handle));
    }

    fn is_dropped(&mut self, handle: &PacketHandle, link: u32) {
        self.iter_mut().for_each(|tap| tap.is_dropped(handle, link));
    }

    fn is_lost(&mut self, handle: &PacketHandle, link: u32) {
        self.iter_mut().for_each(|tap| tap.is_lost(handle, link));
    }

    fn is_damaged(&mut self, handle: &PacketHandle, link: u32) {
        self.iter_mut().for_each(|tap| tap.is_damaged(handle, link));
    }

    fn leaves(&mut self, handle: &PacketHandle, link: u32, at: Time) {
        self.iter_mut().for_each(|tap| tap.leaves(handle, link, at));
    }

    fn is_delivered(&mut self, handle: &PacketHandle, at: Time) {
        self.iter_mut().for_each(|tap| tap.is_delivered(handle, at));
    }

    fn is_copied(&mut self, handle: &PacketHandle, copy: &PacketHandle) {
        self.iter_mut().for_each(|tap| tap.is_copied(handle, copy));
    }

    fn advance(&mut self, now: Time) {
        self.iter_mut().for_each(|tap| tap.advance(now));
    }

    fn check(&mut self) -> std::io::Result<()> {
        self.iter_mut().try_for_each(Tap::check)
    }
}
