//! The newer format: blocks, in sections that each have a byte order and interfaces of their own
//! (draft-ietf-opsawg-pcapng).

mod blocks;
mod clock;
mod options;

use super::bytes::Order;
use super::damage::Log;
use super::window::{CAPACITY_BYTES, Window};
use super::{Found, Interface};
use blocks::Block;
pub use clock::Clock;

/// Type of the block that begins a section; it reads the same in either byte order.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const NAME_RESOLUTION: u32 = 4;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const JOURNAL: u32 = 9;
const DECRYPTION_SECRETS: u32 = 10;
const CUSTOM: u32 = 0x0bad;
const CUSTOM_NOT_TO_COPY: u32 = 0x4000_0bad;

/// Type and length in front, length again behind.
const FRAME_BYTES: usize = 12;
/// The least of a section header: magic, version and length besides.
const SECTION_HEADER_BYTES: usize = 28;
/// The longest block that is looked at; a packet's is hardly ever half as long. Longer ones hold
/// no packets, or their length is wrong.
const MAX_BLOCK_BYTES: usize = CAPACITY_BYTES / 2;

/// State of a pcapng capture.
pub struct Pcapng {
    order: Order,
    /// Interfaces of earlier sections: those of this one begin behind them.
    earlier_interfaces: usize,
    last_ns: u64,
}

impl Pcapng {
    /// By the first bytes of a stream, if they are those of the format.
    pub fn recognise(head: &[u8]) -> Option<Pcapng> {
        let order = section_order(head)?;
        Some(Pcapng { order, earlier_interfaces: 0, last_ns: 0 })
    }

    /// The next packet. Blocks in front of it are passed, and its own begins the window.
    #[inline]
    pub fn next(
        &mut self,
        window: &mut Window,
        interfaces: &mut Vec<Interface>,
        number: u64,
        log: &mut Log,
    ) -> Option<Found> {
        loop {
            if !window.has(FRAME_BYTES) {
                log.note_end(window, number, "the head of a block");
                return None;
            }
            let kind = self.order.u32(window.bytes(), 0);
            if kind == SECTION_HEADER {
                self.begin_section(window, interfaces.len());
            }
            let Some(length) = self.length(window, number, log) else { continue };
            let block = &window.bytes()[..length];
            match self.block(kind, &block[8..length - 4], interfaces) {
                Ok(Block::Packet(found)) => {
                    // The body stands behind type and length.
                    let start = found.start + 8;
                    return Some(Found { start, pass_bytes: length, ..found });
                }
                Ok(Block::Other) => window.pass(length),
                Err(what) => {
                    log.note(window.offset_bytes(), number, || what.to_string());
                    window.pass(length);
                }
            }
        }
    }

    /// The length of the block at the beginning of the window, which then is all there. Otherwise
    /// goes on to the next block that is.
    #[inline]
    fn length(&self, window: &mut Window, number: u64, log: &mut Log) -> Option<usize> {
        let claimed = self.order.u32(window.bytes(), 4) as usize;
        if !(FRAME_BYTES..=MAX_BLOCK_BYTES).contains(&claimed) {
            self.find_again(window, number, log, || format!("a block claims {claimed} bytes"));
            return None;
        }
        // Some writers do not count the padding.
        let length = claimed.next_multiple_of(4);
        if !window.has(length) {
            let there = window.bytes().len();
            self.find_again(window, number, log, || {
                format!("the file ends {there} bytes into a block of {length}")
            });
            return None;
        }
        let again = self.order.u32(window.bytes(), length - 4) as usize;
        if again != claimed {
            self.find_again(window, number, log, || {
                format!("a block's length is {claimed} in front and {again} behind")
            });
            return None;
        }
        Some(length)
    }

    /// A section header: from here on another byte order may hold, and interfaces count anew.
    #[cold]
    fn begin_section(&mut self, window: &mut Window, interfaces: usize) {
        window.has(SECTION_HEADER_BYTES);
        // One without a magic of either order is in the order of the section before it, if that
        // makes sense of its length.
        if let Some(order) = section_order(window.bytes()) {
            self.order = order;
            self.earlier_interfaces = interfaces;
        }
    }

    /// Looks byte by byte for the next block that is one, and goes there, or to the end.
    #[cold]
    fn find_again(
        &self,
        window: &mut Window,
        number: u64,
        log: &mut Log,
        why: impl FnOnce() -> String,
    ) {
        let from = window.offset_bytes();
        let is_found = window.seek(FRAME_BYTES, |window, at| self.is_block(window, at));
        log.note(from, number, || {
            let skipped = window.offset_bytes() - from;
            let until = if is_found { "up to the next block" } else { "to the end" };
            format!("{}: {skipped} bytes are left out, {until}", why())
        });
    }

    /// Whether a block of a known type begins at `at`, with the same length in front and behind.
    fn is_block(&self, window: &mut Window, at: usize) -> bool {
        let kind = self.order.u32(window.bytes(), at);
        let order = match kind {
            SECTION_HEADER => match window.has(at + SECTION_HEADER_BYTES) {
                true => section_order(&window.bytes()[at..]),
                false => None,
            },
            INTERFACE_DESCRIPTION
            | OBSOLETE_PACKET
            | SIMPLE_PACKET
            | NAME_RESOLUTION
            | INTERFACE_STATISTICS
            | ENHANCED_PACKET
            | JOURNAL
            | DECRYPTION_SECRETS
            | CUSTOM
            | CUSTOM_NOT_TO_COPY => Some(self.order),
            _ => None,
        };
        let Some(order) = order else { return false };
        let length = order.u32(window.bytes(), at + 4) as usize;
        (FRAME_BYTES..=MAX_BLOCK_BYTES).contains(&length)
            && length.is_multiple_of(4)
            && window.has(at + length)
            && order.u32(window.bytes(), at + length - 4) as usize == length
    }
}

/// The byte order that a section header tells.
fn section_order(head: &[u8]) -> Option<Order> {
    if head.len() < FRAME_BYTES || Order::Little.u32(head, 0) != SECTION_HEADER {
        return None;
    }
    [Order::Little, Order::Big].into_iter().find(|order| order.u32(head, 8) == BYTE_ORDER_MAGIC)
}
