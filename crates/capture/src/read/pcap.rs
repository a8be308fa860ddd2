//! The classic format: a header of 24 bytes, and 16 before each packet (draft-ietf-opsawg-pcap).

use fairway_units::{NANOS_PER_SEC, Time};

use super::bytes::Order;
use super::damage::Log;
use super::window::Window;
use super::{Found, MAX_FRAME_BYTES};
use crate::packet::Fate;

pub const HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Kuznetzov's variant, of Red Hat in the 1990s, has eight more.
const LONG_RECORD_HEADER_BYTES: usize = 24;

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const MAGIC_KUZNETZOV: u32 = 0xa1b2_cd34;

/// Headers that have to follow one another before a place counts as the beginning of a packet.
const CHAIN: usize = 3;
/// Neighbours in a file are closer in time than this, where a reader has lost its way.
const NEIGHBOUR_S: u32 = 24 * 3600;
/// No packet on a wire is longer: four times what Linux lets a card cut up (512 KiB).
const MOST_WIRE_BYTES: u32 = 2 << 20;

/// State of a classic capture.
pub struct Pcap {
    order: Order,
    header_bytes: usize,
    /// Nanoseconds in the unit of the fraction of a second.
    fraction_ns: u32,
    /// Link type, without the bits that say what an Ethernet frame ends in.
    pub link_type: u16,
    /// Snap length as the file has it.
    pub snap_bytes: u32,
    last_s: Option<u32>,
}

/// The header of a packet.
#[derive(Clone, Copy)]
struct Record {
    seconds: u32,
    fraction: u32,
    captured_bytes: u32,
    wire_bytes: u32,
}

impl Pcap {
    /// By the first bytes of a stream, if they are those of the format.
    pub fn recognise(head: &[u8]) -> Option<Pcap> {
        let head = head.get(..HEADER_BYTES)?;
        let magics = [MAGIC_MICROSECONDS, MAGIC_NANOSECONDS, MAGIC_KUZNETZOV];
        let order = [Order::Little, Order::Big]
            .into_iter()
            .find(|order| magics.contains(&order.u32(head, 0)))?;
        let magic = order.u32(head, 0);
        Some(Pcap {
            order,
            header_bytes: match magic {
                MAGIC_KUZNETZOV => LONG_RECORD_HEADER_BYTES,
                _ => RECORD_HEADER_BYTES,
            },
            fraction_ns: if magic == MAGIC_NANOSECONDS { 1 } else { 1000 },
            link_type: (order.u32(head, 20) & 0xffff) as u16,
            snap_bytes: order.u32(head, 16),
            last_s: None,
        })
    }

    /// The next packet. Its header begins the window.
    #[inline]
    pub fn next(&mut self, window: &mut Window, number: u64, log: &mut Log) -> Option<Found> {
        loop {
            if !window.has(self.header_bytes) {
                log.note_end(window, number, "the header of a packet");
                return None;
            }
            let record = self.record(window.bytes());
            if self.is_doubtful(&record) && !self.is_followed(window, &record) {
                self.find_again(window, number, log, "the header of a packet cannot be right");
                continue;
            }
            if !window.has(self.header_bytes + record.captured_bytes as usize) {
                let missing =
                    record.captured_bytes as usize + self.header_bytes - window.bytes().len();
                self.find_again(
                    window,
                    number,
                    log,
                    &format!("the file ends {missing} bytes before the packet's end"),
                );
                continue;
            }
            self.last_s = Some(record.seconds);
            return Some(Found {
                start: self.header_bytes,
                captured_bytes: record.captured_bytes as usize,
                pass_bytes: self.header_bytes + record.captured_bytes as usize,
                wire_bytes: record.wire_bytes,
                at: self.time(&record),
                interface: 0,
                fate: Fate::Unknown,
                has_time: true,
            });
        }
    }

    #[inline]
    fn record(&self, bytes: &[u8]) -> Record {
        Record {
            seconds: self.order.u32(bytes, 0),
            fraction: self.order.u32(bytes, 4),
            captured_bytes: self.order.u32(bytes, 8),
            wire_bytes: self.order.u32(bytes, 12),
        }
    }

    #[inline]
    fn time(&self, record: &Record) -> Time {
        let fraction_ns = u64::from(record.fraction) * u64::from(self.fraction_ns);
        Time::from_nanos(u64::from(record.seconds) * NANOS_PER_SEC + fraction_ns)
    }

    /// Whether a header says what few headers say, so that a look at the next one is called for.
    #[inline]
    fn is_doubtful(&self, record: &Record) -> bool {
        record.captured_bytes != record.wire_bytes.min(self.snap_bytes)
            || record.captured_bytes > MAX_FRAME_BYTES
            // A hole in a file reads as zeros.
            || record.captured_bytes == 0
            || u64::from(record.fraction) * u64::from(self.fraction_ns) >= NANOS_PER_SEC
    }

    /// Whether another header, or the end of the file, comes where this one says.
    #[cold]
    fn is_followed(&self, window: &mut Window, record: &Record) -> bool {
        if record.captured_bytes > MAX_FRAME_BYTES {
            return false;
        }
        let next = self.header_bytes + record.captured_bytes as usize;
        if !window.has(next + self.header_bytes) {
            // The last packet, whole or cut off.
            return true;
        }
        self.is_plausible(&self.record(&window.bytes()[next..]), None)
    }

    /// Whether a header says nothing that is impossible, or far from its neighbour in time.
    fn is_plausible(&self, record: &Record, near_s: Option<u32>) -> bool {
        record.captured_bytes <= MAX_FRAME_BYTES
            && record.captured_bytes > 0
            && record.captured_bytes <= record.wire_bytes
            && record.wire_bytes <= MOST_WIRE_BYTES
            && u64::from(record.fraction) * u64::from(self.fraction_ns) < NANOS_PER_SEC
            && near_s.is_none_or(|near_s| near_s.abs_diff(record.seconds) < NEIGHBOUR_S)
    }

    /// Looks byte by byte for the next place where several headers follow one another, and goes
    /// there, or to the end.
    #[cold]
    fn find_again(&mut self, window: &mut Window, number: u64, log: &mut Log, why: &str) {
        let from = window.offset_bytes();
        let is_found = window.seek(self.header_bytes, |window, at| self.begins_a_chain(window, at));
        log.note(from, number, || {
            let skipped = window.offset_bytes() - from;
            match is_found {
                true => format!("{why}: {skipped} bytes are left out, up to the next header"),
                false => format!("{why}: the last {skipped} bytes are left out"),
            }
        });
    }

    fn begins_a_chain(&self, window: &mut Window, mut at: usize) -> bool {
        let mut near_s = self.last_s;
        for link in 0..CHAIN {
            if !window.has(at + self.header_bytes) {
                // The end exactly, or a packet's header cut off behind others that fit.
                return link > 0 && (at == window.bytes().len() || link > 1);
            }
            let record = self.record(&window.bytes()[at..]);
            if !self.is_plausible(&record, near_s) {
                return false;
            }
            near_s = Some(record.seconds);
            at += self.header_bytes + record.captured_bytes as usize;
        }
        true
    }
}
