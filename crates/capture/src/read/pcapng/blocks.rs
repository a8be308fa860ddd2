//! Contents of the blocks.

use fairway_units::Time;

use super::super::bytes::Order;
use super::super::{Found, Interface, MAX_FRAME_BYTES};
use super::clock::{Clock, DEFAULT_RESOLUTION};
use super::{
    ENHANCED_PACKET, INTERFACE_DESCRIPTION, INTERFACE_STATISTICS, OBSOLETE_PACKET, SIMPLE_PACKET,
};
use super::{Pcapng, options};
use crate::packet::Fate;

/// Options of an interface description and of interface statistics.
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const ISB_IFDROP: u16 = 5;
/// Of a name or description no more is kept.
const MAX_NAME_BYTES: usize = 256;
/// Interfaces that are kept, of all sections together; the format has 32 bits for their number.
const MAX_INTERFACES: usize = 65_536;

/// What a block was. A packet's `start` counts from the beginning of the body.
pub enum Block {
    Packet(Found),
    Other,
}

/// Errors of a block.
#[derive(Debug, thiserror::Error)]
pub enum BadBlock {
    #[error("a block of type {0} is too short to be one, and is left out")]
    TooShort(u32),
    #[error("a packet claims {0} captured bytes, more than its block has, and is left out")]
    LongerThanBlock(u32),
    #[error("a packet of {0} captured bytes is left out: no more than {MAX_FRAME_BYTES} are read")]
    TooLong(u32),
    #[error("a packet is of interface {0}, which is not described, and is left out")]
    NoInterface(u32),
    #[error("an interface is left out: {MAX_INTERFACES} are as many as are read")]
    TooManyInterfaces,
}

/// The fields of a packet block.
struct Fields {
    interface: u32,
    ticks: u64,
    captured_bytes: u32,
    wire_bytes: u32,
    /// Where the packet begins in the body.
    start: usize,
}

impl Pcapng {
    #[inline]
    pub(super) fn block(
        &mut self,
        kind: u32,
        body: &[u8],
        interfaces: &mut Vec<Interface>,
    ) -> Result<Block, BadBlock> {
        let order = self.order;
        match kind {
            ENHANCED_PACKET | OBSOLETE_PACKET => {
                let head = body.first_chunk::<20>().ok_or(BadBlock::TooShort(kind))?;
                let fields = Fields {
                    interface: match kind {
                        ENHANCED_PACKET => order.u32(head, 0),
                        _ => u32::from(order.u16(head, 0)),
                    },
                    ticks: u64::from(order.u32(head, 4)) << 32 | u64::from(order.u32(head, 8)),
                    captured_bytes: order.u32(head, 12),
                    wire_bytes: order.u32(head, 16),
                    start: 20,
                };
                self.packet(&fields, body, interfaces)
            }
            SIMPLE_PACKET => {
                let head = body.first_chunk::<4>().ok_or(BadBlock::TooShort(kind))?;
                self.simple_packet(order.u32(head, 0), body, interfaces)
            }
            INTERFACE_DESCRIPTION => {
                if interfaces.len() == MAX_INTERFACES {
                    return Err(BadBlock::TooManyInterfaces);
                }
                interfaces.push(interface(order, body).ok_or(BadBlock::TooShort(kind))?);
                Ok(Block::Other)
            }
            INTERFACE_STATISTICS => {
                self.statistics(body, interfaces);
                Ok(Block::Other)
            }
            _ => Ok(Block::Other),
        }
    }

    #[inline]
    fn packet(
        &mut self,
        fields: &Fields,
        body: &[u8],
        interfaces: &[Interface],
    ) -> Result<Block, BadBlock> {
        let number = self.earlier_interfaces + fields.interface as usize;
        let Some(interface) = interfaces.get(number) else {
            return Err(BadBlock::NoInterface(fields.interface));
        };
        let captured_bytes = fields.captured_bytes as usize;
        if fields.captured_bytes > MAX_FRAME_BYTES {
            return Err(BadBlock::TooLong(fields.captured_bytes));
        }
        if captured_bytes > body.len() - fields.start {
            return Err(BadBlock::LongerThanBlock(fields.captured_bytes));
        }
        let options = body.get(fields.start + captured_bytes.next_multiple_of(4)..);
        let at = interface.clock.time(fields.ticks);
        self.last_ns = at.as_nanos();
        Ok(Block::Packet(Found {
            start: fields.start,
            captured_bytes,
            pass_bytes: 0,
            wire_bytes: fields.wire_bytes,
            at,
            interface: number as u32,
            fate: match options {
                None | Some([]) => Fate::Unknown,
                Some(options) => options::fate(self.order, options),
            },
            has_time: true,
        }))
    }

    /// A packet without a time, which gets that of the one before it, of the first interface.
    fn simple_packet(
        &self,
        wire_bytes: u32,
        body: &[u8],
        interfaces: &[Interface],
    ) -> Result<Block, BadBlock> {
        let number = self.earlier_interfaces;
        let interface = interfaces.get(number).ok_or(BadBlock::NoInterface(0))?;
        let there_bytes = (body.len() - 4) as u32;
        let captured_bytes = wire_bytes.min(interface.snap_or_most()).min(there_bytes);
        if captured_bytes > MAX_FRAME_BYTES {
            return Err(BadBlock::TooLong(captured_bytes));
        }
        Ok(Block::Packet(Found {
            start: 4,
            captured_bytes: captured_bytes as usize,
            pass_bytes: 0,
            wire_bytes,
            at: Time::from_nanos(self.last_ns),
            interface: number as u32,
            fate: Fate::Unknown,
            has_time: false,
        }))
    }

    fn statistics(&self, body: &[u8], interfaces: &mut [Interface]) {
        let Some(head) = body.first_chunk::<12>() else { return };
        let number = self.earlier_interfaces + self.order.u32(head, 0) as usize;
        let Some(interface) = interfaces.get_mut(number) else { return };
        for (code, value) in options::each(self.order, &body[12..]) {
            if code == ISB_IFDROP && value.len() == 8 {
                interface.missed_packets = Some(self.order.u64(value, 0));
            }
        }
    }
}

fn interface(order: Order, body: &[u8]) -> Option<Interface> {
    let head = body.first_chunk::<8>()?;
    let mut interface = Interface::new(order.u16(head, 0), order.u32(head, 4));
    let (mut resolution, mut offset_s) = (DEFAULT_RESOLUTION, 0);
    for (code, value) in options::each(order, &body[8..]) {
        match (code, value.len()) {
            (IF_NAME, _) => interface.name = text(value),
            (IF_DESCRIPTION, _) => interface.description = text(value),
            (IF_TSRESOL, 1) => resolution = value[0],
            (IF_TSOFFSET, 8) => offset_s = order.u64(value, 0).cast_signed(),
            _ => {}
        }
    }
    interface.clock = Clock::new(resolution, offset_s);
    Some(interface)
}

fn text(value: &[u8]) -> String {
    let kept = &value[..value.len().min(MAX_NAME_BYTES)];
    String::from_utf8_lossy(kept).trim_end_matches('\0').to_owned()
}
