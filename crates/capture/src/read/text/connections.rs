//! Sequence numbers as tcpdump prints them, made absolute again.
//!
//! tcpdump prints the first numbers of a connection as they are, and those of every SYN; the
//! others less the first ones, unless `-S` was given. A text whose beginning was cut off has only
//! relative ones. Which it is shows in the second segment: its numbers are near those that are
//! known either as they stand or with the base added.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::segment::Segment;
use crate::packet::{Options, Tcp, flags};

/// Connections that are kept in each of two generations; those of the older one that are not met
/// again are forgotten.
const MOST_OF_A_GENERATION: usize = 32_768;

/// How the numbers of a connection are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Numbers {
    NotKnownYet,
    Absolute,
    Relative,
}

/// A connection: everything twice, by which end is lower in order.
#[derive(Clone, Copy, Debug)]
struct Connection {
    numbers: Numbers,
    /// Base of the relative numbers of either direction.
    base: [u32; 2],
    /// The next sequence number of either direction.
    next: [Option<u32>; 2],
}

type Key = (SocketAddr, SocketAddr);

/// Connections of a text.
#[derive(Default)]
pub struct Connections {
    younger: BTreeMap<Key, Connection>,
    older: BTreeMap<Key, Connection>,
}

impl Connections {
    /// The header of a segment with numbers as they were on the wire.
    pub fn absolute(&mut self, source: SocketAddr, destination: SocketAddr, read: &Segment) -> Tcp {
        let (key, way) = if source <= destination {
            ((source, destination), 0)
        } else {
            ((destination, source), 1)
        };
        let is_syn = read.flags & flags::SYN != 0;
        let known = self.younger.get(&key).copied().or_else(|| self.older.remove(&key));
        let mut connection = match known {
            Some(mut connection) if !is_syn => {
                connection.find_out(read, way);
                connection
            }
            known => Connection::begin(known, read, way),
        };
        let tcp = connection.take(read, way);
        if self.younger.len() == MOST_OF_A_GENERATION && !self.younger.contains_key(&key) {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(key, connection);
        tcp
    }
}

impl Connection {
    /// By a segment whose numbers are printed as they are: the first, or a SYN.
    fn begin(known: Option<Connection>, read: &Segment, way: usize) -> Connection {
        let from = read.seq.map(|(from, _)| from);
        let mut base = [0; 2];
        base[way] = from.unwrap_or(0);
        base[1 - way] = read.ack.map_or(0, |ack| ack.wrapping_sub(1));
        let mut next = [None; 2];
        next[way] = from;
        next[1 - way] = read.ack;
        // The answer to a SYN settles nothing that the SYN did not.
        let is_answer = read.flags & flags::ACK != 0;
        let numbers = match known {
            Some(known) if is_answer && known.next[1 - way] == read.ack => known.numbers,
            _ => Numbers::NotKnownYet,
        };
        Connection { numbers, base, next }
    }

    fn take(&mut self, read: &Segment, way: usize) -> Tcp {
        let is_syn = read.flags & flags::SYN != 0;
        let seq = match read.seq {
            Some((from, _)) if is_syn => from,
            Some((from, _)) => self.number(from, way),
            None => self.next[way].unwrap_or(self.base[way]),
        };
        let ack = match read.ack {
            Some(ack) if is_syn => ack,
            Some(ack) => self.number(ack, 1 - way),
            None => 0,
        };
        let consumed = u32::from(is_syn) + u32::from(read.flags & flags::FIN != 0);
        let end = seq.wrapping_add(read.payload_bytes).wrapping_add(consumed);
        if self.next[way].is_none_or(|next| end.wrapping_sub(next).cast_signed() > 0) {
            self.next[way] = Some(end);
        }
        // What is acknowledged was sent, seen or not.
        if let (true, Some(next)) = (read.ack.is_some(), self.next[1 - way].or(Some(ack)))
            && (self.next[1 - way].is_none() || ack.wrapping_sub(next).cast_signed() > 0)
        {
            self.next[1 - way] = Some(ack);
        }
        let mut sack = read.options.sack;
        for edges in sack.iter_mut().take(usize::from(read.options.sack_count)) {
            *edges = (self.number(edges.0, 1 - way), self.number(edges.1, 1 - way));
        }
        Tcp {
            seq,
            ack,
            flags: read.flags,
            window: read.window,
            payload_bytes: read.payload_bytes,
            options: Options { sack, bytes: (read.header_bytes() - 20) as u8, ..read.options },
            // What tcpdump finds wrong may only have been left to the card.
            is_checksum_wrong: false,
        }
    }

    fn number(&self, printed: u32, way: usize) -> u32 {
        match self.numbers {
            Numbers::Relative => printed.wrapping_add(self.base[way]),
            Numbers::Absolute | Numbers::NotKnownYet => printed,
        }
    }

    /// By what lies nearer to what is known: numbers as they stand, or with the base added.
    fn find_out(&mut self, read: &Segment, way: usize) {
        if self.numbers != Numbers::NotKnownYet {
            return;
        }
        let printed = [(read.seq.map(|(from, _)| from), way), (read.ack, 1 - way)];
        for (number, way) in printed {
            let (Some(number), Some(next)) = (number, self.next[way]) else { continue };
            let distance = |number: u32| number.wrapping_sub(next).cast_signed().unsigned_abs();
            let as_it_stands = distance(number);
            let with_base = distance(number.wrapping_add(self.base[way]));
            if as_it_stands != with_base {
                self.numbers = match as_it_stands < with_base {
                    true => Numbers::Absolute,
                    false => Numbers::Relative,
                };
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which end sends it (0 or 1), flags, first and last number, acknowledgement.
    type Printed = (usize, u16, Option<(u32, u32)>, u32);

    fn absolute(segments: &[Printed]) -> Vec<(u32, u32)> {
        let ends = ["10.0.0.1:1", "10.0.0.2:2"].map(|end| end.parse().unwrap());
        let mut connections = Connections::default();
        let mut all = Vec::new();
        for &(way, flags, seq, ack) in segments {
            let payload_bytes = seq.map_or(0, |(from, to)| to.wrapping_sub(from));
            let has_ack = flags & flags::ACK != 0;
            let read = Segment {
                flags,
                seq,
                ack: has_ack.then_some(ack),
                payload_bytes,
                ..Segment::default()
            };
            let tcp = connections.absolute(ends[way], ends[1 - way], &read);
            all.push((tcp.seq, tcp.ack));
        }
        all
    }

    const SYN: u16 = flags::SYN;
    const SYN_ACK: u16 = flags::SYN | flags::ACK;
    const ACK: u16 = flags::ACK;

    /// tcpdump prints both SYNs in full, and relative numbers from then on.
    #[test]
    fn relative_numbers_count_from_the_syn() {
        let read = absolute(&[
            (0, SYN, Some((4_294_967_290, 4_294_967_290)), 0),
            (1, SYN_ACK, Some((700, 700)), 4_294_967_291),
            (0, ACK, None, 1),
            (0, ACK, Some((1, 101)), 1),
            (1, ACK, None, 101),
            (0, ACK, Some((101, 201)), 1),
        ]);
        assert_eq!(
            read,
            [
                (4_294_967_290, 0),
                (700, 4_294_967_291),
                (4_294_967_291, 701),
                (4_294_967_291, 701),
                // 4294967290 + 101 = 2^32 + 95.
                (701, 95),
                (95, 701),
            ],
        );
    }

    #[test]
    fn absolute_numbers_stay() {
        let read = absolute(&[
            (0, SYN, Some((5000, 5000)), 0),
            (1, SYN_ACK, Some((9000, 9000)), 5001),
            (0, ACK, None, 9001),
            (0, ACK, Some((5001, 5101)), 9001),
            (1, ACK, None, 5101),
        ]);
        assert_eq!(read[2..], [(5001, 9001), (5001, 9001), (9001, 5101)]);
    }

    /// The beginning was cut off, as in the published example.
    #[test]
    fn a_text_that_begins_with_relative_numbers() {
        let read = absolute(&[
            (0, ACK, Some((1, 1001)), 1),
            (1, ACK, None, 1001),
            (0, ACK, Some((1001, 2449)), 1),
            (1, ACK, None, 2449),
        ]);
        assert_eq!(read, [(1, 1), (1, 1001), (1001, 1), (1, 2449)]);
    }

    /// tcpdump began in the middle: its first line is absolute, the others count from that.
    #[test]
    fn a_capture_that_begins_in_the_middle() {
        let read = absolute(&[
            (0, ACK, Some((80_000, 81_448)), 3000),
            (0, ACK, Some((1448, 2896)), 1),
            (1, ACK, None, 2896),
        ]);
        assert_eq!(read, [(80_000, 3000), (81_448, 3000), (3000, 82_896)]);
    }
}
