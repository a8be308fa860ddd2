//! Connections by their key, within bounds: what is followed, what is only counted.
//!
//! A connection of one packet is that packet, and becomes a connection that is followed with its
//! second: a flood of SYNs costs the packets' headers and not the state of connections. Limits are
//! those of lanes, of which each belongs to one thread, so that a report does not depend on how
//! many threads there are.

use fairway_capture::Packet;

use crate::connection::key::Key;
use crate::connection::table::Table;

/// Connections, and flows of datagrams, that are listed: with their report about 12 kB each.
pub(crate) const MAX_LISTED: usize = 1 << 15;

/// Connections that are known at all: about 300 bytes each.
const MAX_KNOWN: usize = 1 << 20;

/// Parts of all keys that have limits of their own.
const LANES: usize = 64;

/// The lane of a key.
#[inline]
pub(crate) fn lane(key: &Key) -> usize {
    key.share() as usize % LANES
}

/// Packets that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) packets: u64,
    /// Bytes of their frames.
    pub(crate) wire_bytes: u64,
}

impl Traffic {
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.wire_bytes += u64::from(packet.frame_bytes);
    }

    pub(crate) fn and(self, other: Traffic) -> Traffic {
        Traffic {
            packets: self.packets + other.packets,
            wire_bytes: self.wire_bytes + other.wire_bytes,
        }
    }
}

/// State of a key.
enum Entry<T> {
    /// Its only packet.
    Single(Box<Packet>),
    Followed(Box<T>),
    /// Counted only, as there was no room: the number of its first packet.
    LeftOut(u64),
}

/// The flow of a packet.
pub(crate) enum Found<'a, T> {
    Followed(&'a mut T),
    /// Its key was seen once, in this packet: [`Flows::follow`] goes on.
    Second(&'a Packet),
    /// Its key was not seen: [`Flows::add`] keeps it.
    New,
    /// It is counted, and nothing else is to be done.
    LeftOut,
}

/// Connections or flows in the order of their first packets, and where to find them.
pub(crate) struct Flows<T> {
    /// Boxed, so that a longer list is not all of them copied.
    list: Vec<Entry<T>>,
    /// Their keys side by side: they are compared for every packet.
    keys: Vec<Key>,
    table: Table,
    /// The one of the last packet: the next packet is often of the same.
    last: usize,
    known: [u32; LANES],
    followed: [u32; LANES],
    left_out: Traffic,
}

/// All flows at the end.
pub(crate) struct Flown<T> {
    /// Flows that were followed.
    pub(crate) followed: Vec<T>,
    /// Numbers of the first packets of those that are not.
    pub(crate) others: Vec<u64>,
    /// How many of those have one packet.
    pub(crate) singles: u64,
    /// Packets of those that are not followed, and of those that are not known.
    pub(crate) left_out: Traffic,
}

impl<T> Flown<T> {
    /// The same with reports of what is followed.
    pub(crate) fn reported<R>(self, report: impl Fn(T) -> R) -> Flown<R> {
        let followed = self.followed.into_iter().map(report).collect();
        Flown { followed, others: self.others, singles: self.singles, left_out: self.left_out }
    }
}

impl<T> Flows<T> {
    pub(crate) fn new() -> Flows<T> {
        Flows {
            list: Vec::new(),
            keys: Vec::new(),
            table: Table::new(),
            last: 0,
            known: [0; LANES],
            followed: [0; LANES],
            left_out: Traffic::default(),
        }
    }

    /// How many are known.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// State of the key of a packet.
    #[inline]
    pub(crate) fn find(&mut self, key: &Key, packet: &Packet) -> Found<'_, T> {
        if self.keys.get(self.last) != Some(key) {
            let keys = &self.keys;
            match self.table.find(key, |index| keys[index as usize]) {
                Some(index) => self.last = index as usize,
                None => return Found::New,
            }
        }
        match &mut self.list[self.last] {
            Entry::Followed(flow) => Found::Followed(flow),
            Entry::Single(first) => Found::Second(first),
            Entry::LeftOut(_) => {
                self.left_out.add(packet);
                Found::LeftOut
            }
        }
    }

    /// Keeps the first packet of a key, in place of what had that key; counts it if no more keys
    /// can be known.
    pub(crate) fn add(&mut self, key: &Key, packet: &Packet) {
        let known = &mut self.known[lane(key)];
        if *known as usize >= MAX_KNOWN / LANES {
            self.left_out.add(packet);
            return;
        }
        *known += 1;
        let index = self.list.len();
        self.list.push(Entry::Single(Box::new(*packet)));
        self.keys.push(*key);
        let keys = &self.keys;
        self.table.set(key, index as u32, |index| keys[index as usize]);
        self.last = index;
    }

    /// Follows what was found last, from `packet` on; `begin` makes it of its number, from 0, and
    /// its first packet. If there is no room both packets are counted.
    pub(crate) fn follow(
        &mut self,
        packet: &Packet,
        begin: impl FnOnce(usize, &Packet) -> T,
    ) -> Option<&mut T> {
        let Entry::Single(first) = &self.list[self.last] else { return None };
        let followed = &mut self.followed[lane(&self.keys[self.last])];
        if *followed as usize >= MAX_LISTED / LANES {
            self.left_out.add(first);
            self.left_out.add(packet);
            self.list[self.last] = Entry::LeftOut(first.number);
            return None;
        }
        *followed += 1;
        self.list[self.last] = Entry::Followed(Box::new(begin(self.last, first)));
        match &mut self.list[self.last] {
            Entry::Followed(flow) => Some(flow),
            _ => None,
        }
    }

    /// What became of all of them. Singles are made into flows by `begin` while all that are known
    /// can be listed.
    pub(crate) fn finish(self, mut begin: impl FnMut(usize, &Packet) -> T) -> Flown<T> {
        let lists_singles = self.list.len() <= MAX_LISTED;
        let (mut followed, mut others, mut singles) = (Vec::new(), Vec::new(), 0);
        let mut left_out = self.left_out;
        for (index, entry) in self.list.into_iter().enumerate() {
            match entry {
                Entry::Followed(flow) => followed.push(*flow),
                Entry::Single(first) if lists_singles => followed.push(begin(index, &first)),
                Entry::Single(first) => {
                    left_out.add(&first);
                    others.push(first.number);
                    singles += 1;
                }
                Entry::LeftOut(first) => others.push(first),
            }
        }
        Flown { followed, others, singles, left_out }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use fairway_capture::packet::Fate;
    use fairway_capture::packet::flags::{ACK, SYN};
    use fairway_capture::{Tcp, Transport};
    use fairway_units::Time;

    use super::*;
    use crate::analyser::{Analyser, Options};
    use crate::report::Report;

    const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9)), 80);

    /// A SYN of 54 bytes from a client of that number, or the server's answer.
    fn syn(number: u64, client: u32, is_answer: bool) -> Packet {
        let client = SocketAddr::new(Ipv4Addr::from(0x0a00_0000 + client).into(), 4000);
        let ends = if is_answer { (SERVER, client) } else { (client, SERVER) };
        let flags = if is_answer { SYN | ACK } else { SYN };
        let tcp = Tcp { flags, ..Tcp::default() };
        Packet {
            number,
            at: Time::from_nanos(number * 1000),
            interface: 0,
            source: ends.0,
            destination: ends.1,
            frame_bytes: 54,
            ip_bytes: 40,
            ip_id: 0,
            ttl: 64,
            traffic_class: 0,
            transport: Transport::Tcp(tcp),
            fate: Fate::Unknown,
        }
    }

    /// Results of `threads` threads.
    fn found(packets: &[Packet], threads: usize) -> Report {
        let options = Options::default();
        let mut analysers: Vec<_> = (0..threads).map(|_| Analyser::new(options.clone())).collect();
        for packet in packets {
            analysers[lane(&options.key(packet).0) % threads].packet(packet);
        }
        Report::together(analysers.into_iter().map(Analyser::part).collect(), Options::intervals)
    }

    #[test]
    fn a_flood_of_syns_is_counted_and_the_connection_in_it_listed() {
        // The 20,001st client is answered.
        let mut packets: Vec<_> =
            (0..40_000).map(|index| syn(index + 1, index as u32, false)).collect();
        packets.push(syn(40_001, 20_000, true));
        for threads in [1, 3] {
            let report = found(&packets, threads);
            assert_eq!(report.packets, 40_001);
            let ids: Vec<_> = report.connections.iter().map(|connection| connection.id).collect();
            assert_eq!(ids, [20_001]);
            let left_out = report.left_out.expect("a flood");
            assert_eq!((left_out.connections, left_out.single_packet), (39_999, 39_999));
            assert_eq!((left_out.packets, left_out.wire_bytes), (39_999, 39_999 * 54));
        }
    }

    #[test]
    fn single_packets_are_listed_where_there_is_room() {
        let packets: Vec<_> = (0..100).map(|index| syn(index + 1, index as u32, false)).collect();
        let report = found(&packets, 2);
        assert_eq!(report.connections.len(), 100);
        assert_eq!(report.left_out, None);
    }

    #[test]
    fn too_many_connections_are_counted_and_threads_agree_on_which() {
        let mut packets = Vec::new();
        for client in 0..40_000 {
            let number = packets.len() as u64 + 1;
            packets.extend([syn(number, client, false), syn(number + 1, client, true)]);
        }
        let (one, three) = (found(&packets, 1), found(&packets, 3));
        let listed = one.connections.len() as u64;
        // Lanes are not filled alike, so that it is a little less than there may be.
        assert!((30_000..=32_768).contains(&listed), "{listed}");
        let left_out = one.left_out.expect("too many");
        assert_eq!((left_out.connections + listed, left_out.single_packet), (40_000, 0));
        assert_eq!(left_out.packets + 2 * listed, 80_000);
        assert_eq!(three.left_out, one.left_out);
        let ids = |report: &Report| report.connections.iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(&one), ids(&three));
    }
}
