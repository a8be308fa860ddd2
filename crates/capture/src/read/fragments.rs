//! Packets that IP has cut into fragments, put together again without their payload.
//!
//! As in other programs, a packet counts where its last missing fragment was captured, with all
//! its bytes; one that is never whole does not count, as its receiver cannot use it either.

use std::net::IpAddr;

use crate::packet::decode::Part;
use crate::packet::{Packet, Transport};

/// Packets that are put together at a time; beyond, the oldest is given up.
const MOST_AT_A_TIME: usize = 256;
/// Stretches of one packet that are known apart from one another; beyond, it is given up.
const MOST_STRETCHES: usize = 64;
/// How long a receiver waits for the rest (RFC 8200 section 4.5; Linux waits 30 s).
const PATIENCE_NS: u64 = 60_000_000_000;

struct Pending {
    source: IpAddr,
    destination: IpAddr,
    id: u32,
    protocol: u8,
    begun_ns: u64,
    /// The packet that the first fragment's headers make.
    first: Option<Packet>,
    first_bytes: u32,
    /// Where the packet ends, known from its last fragment.
    end: Option<u32>,
    /// Bytes that are there: from and to, in order, apart.
    stretches: Vec<(u32, u32)>,
}

/// Packets that wait for fragments.
#[derive(Default)]
pub struct Fragments {
    /// In the order of their first fragments.
    pending: Vec<Pending>,
    given_up: u64,
}

impl Fragments {
    /// Packets of which not all fragments were captured.
    pub fn incomplete(&self) -> u64 {
        self.given_up + self.pending.len() as u64
    }

    /// Takes a fragment; if it is the last of its packet that was missing, makes `packet` the
    /// whole and says so.
    pub fn take(&mut self, part: &Part, packet: &mut Packet) -> bool {
        let now_ns = packet.at.as_nanos();
        self.give_up(now_ns);
        let index = self.find_or_begin(part, packet, now_ns);
        let pending = &mut self.pending[index];
        if part.offset_bytes == 0 {
            pending.first = Some(*packet);
            pending.first_bytes = part.bytes;
        }
        let to = part.offset_bytes + part.bytes;
        if !part.has_more {
            pending.end = Some(to);
        }
        add(&mut pending.stretches, part.offset_bytes, to);
        let is_whole = matches!(
            (pending.end, pending.stretches.as_slice()),
            (Some(end), [(0, to)]) if *to >= end
        );
        if is_whole {
            let pending = self.pending.remove(index);
            return pending.complete(packet);
        }
        if pending.stretches.len() > MOST_STRETCHES {
            self.pending.remove(index);
            self.given_up += 1;
        }
        false
    }

    fn find_or_begin(&mut self, part: &Part, packet: &Packet, now_ns: u64) -> usize {
        let (source, destination) = (packet.source.ip(), packet.destination.ip());
        let found = self.pending.iter().position(|pending| {
            pending.id == part.id
                && pending.protocol == part.protocol
                && pending.source == source
                && pending.destination == destination
        });
        found.unwrap_or_else(|| {
            if self.pending.len() == MOST_AT_A_TIME {
                self.pending.remove(0);
                self.given_up += 1;
            }
            self.pending.push(Pending {
                source,
                destination,
                id: part.id,
                protocol: part.protocol,
                begun_ns: now_ns,
                first: None,
                first_bytes: 0,
                end: None,
                stretches: Vec::new(),
            });
            self.pending.len() - 1
        })
    }

    fn give_up(&mut self, now_ns: u64) {
        let before = self.pending.len();
        self.pending.retain(|pending| now_ns.saturating_sub(pending.begun_ns) < PATIENCE_NS);
        self.given_up += (before - self.pending.len()) as u64;
    }
}

impl Pending {
    /// The whole packet, with number, time and frame of its last fragment.
    fn complete(self, packet: &mut Packet) -> bool {
        let (Some(mut whole), Some(end)) = (self.first, self.end) else { return false };
        let more_bytes = end.saturating_sub(self.first_bytes);
        whole.number = packet.number;
        whole.at = packet.at;
        whole.interface = packet.interface;
        whole.fate = packet.fate;
        whole.frame_bytes = packet.frame_bytes;
        whole.ip_bytes += more_bytes;
        match &mut whole.transport {
            Transport::Tcp(tcp) => tcp.payload_bytes += more_bytes,
            Transport::Udp(udp) => udp.payload_bytes += more_bytes,
            Transport::Other(_) => {}
        }
        *packet = whole;
        true
    }
}

/// Adds a stretch to others, in order, and joins those that touch.
fn add(stretches: &mut Vec<(u32, u32)>, mut from: u32, mut to: u32) {
    stretches.retain(|&(other_from, other_to)| {
        let touches = other_from <= to && from <= other_to;
        if touches {
            from = from.min(other_from);
            to = to.max(other_to);
        }
        !touches
    });
    let index = stretches.partition_point(|&(other_from, _)| other_from < from);
    stretches.insert(index, (from, to));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_join_where_they_touch() {
        let mut stretches = Vec::new();
        for (from, to) in [(80, 120), (0, 40), (200, 240), (40, 80)] {
            add(&mut stretches, from, to);
        }
        assert_eq!(stretches, [(0, 120), (200, 240)]);
        add(&mut stretches, 100, 210);
        assert_eq!(stretches, [(0, 240)]);
    }
}
