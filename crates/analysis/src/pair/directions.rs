//! The directions of connections, across both captures.
//!
//! A connection is known in a capture by its addresses and ports. They are the same in both
//! unless something between has translated them: then a connection is recognised by the sequence
//! number of its SYN, or by packets that the beginning has found in both.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use fairway_capture::packet::flags::{ACK, SYN};
use fairway_capture::{Packet, Transport};

use super::identity::Side;
use crate::connection::key::Key;
use crate::connection::table::Table;

/// Protocol numbers of IP (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Both directions of a connection, or of a flow of datagrams.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) is_tcp: bool,
    /// Its ends as the first packet has them, in the capture of that.
    pub(super) ends: [SocketAddr; 2],
    /// The same as the other capture has them, if they are others there.
    pub(super) translated: Option<[SocketAddr; 2]>,
    /// Where the first end is.
    pub(super) near: Side,
    pub(super) is_known: [bool; 2],
    /// Number of the SYN of each direction.
    syns: [Option<u32>; 2],
    packets: u64,
}

/// Where packets go that were seen in one capture or the other.
pub(super) struct Directions {
    pub(super) connections: Vec<Connection>,
    /// For each capture: keys, with their connection and whether its first direction goes upwards.
    tables: [Table; 2],
    keys: [Vec<(Key, u32, bool)>; 2],
    /// Connections by the number of their first SYN that the other capture has not shown yet.
    opened: [BTreeMap<u32, u32>; 2],
    /// On which side addresses are, as each capture shows them.
    places: [BTreeMap<IpAddr, Side>; 2],
    /// Keys of the other capture for keys of one, and whether both go the same way.
    translations: [BTreeMap<Key, (Key, bool)>; 2],
}

impl Directions {
    pub(super) fn new(
        places: [BTreeMap<IpAddr, Side>; 2],
        translations: [BTreeMap<Key, (Key, bool)>; 2],
    ) -> Directions {
        Directions {
            connections: Vec::new(),
            tables: [Table::new(), Table::new()],
            keys: [Vec::new(), Vec::new()],
            opened: [BTreeMap::new(), BTreeMap::new()],
            places,
            translations,
        }
    }

    /// The number of the direction of a packet: of connection `n` the first direction is `2 n`, the
    /// other `2 n + 1`. None for what is neither TCP nor UDP.
    pub(super) fn find(&mut self, side: Side, packet: &Packet) -> Option<usize> {
        let (protocol, syn) = match &packet.transport {
            Transport::Tcp(tcp) => (TCP, tcp.has(SYN).then_some((tcp.seq, tcp.has(ACK)))),
            Transport::Udp(_) => (UDP, None),
            Transport::Other(_) => return None,
        };
        let (key, upwards) = Key::of(packet.source, packet.destination, protocol, 0);
        let known = self.get(side, &key).filter(|&(index, first_is_up)| {
            let direction = usize::from(upwards != first_is_up);
            !self.connections[index].is_succeeded(direction, syn)
        });
        let (index, first_is_up) = match known {
            Some(known) => known,
            None => self.meet(side, packet, &key, upwards, syn),
        };
        let direction = usize::from(upwards != first_is_up);
        let connection = &mut self.connections[index];
        connection.packets += 1;
        if let Some((seq, _)) = syn {
            connection.syns[direction] = Some(seq);
        }
        Some(2 * index + direction)
    }

    fn get(&self, side: Side, key: &Key) -> Option<(usize, bool)> {
        let keys = &self.keys[side.index()];
        let place = self.tables[side.index()].find(key, |index| keys[index as usize].0)?;
        let (_, connection, first_is_up) = keys[place as usize];
        Some((connection as usize, first_is_up))
    }

    fn set(&mut self, side: Side, key: &Key, index: usize, first_is_up: bool) {
        let keys = &mut self.keys[side.index()];
        keys.push((*key, index as u32, first_is_up));
        let keys = &self.keys[side.index()];
        let place = keys.len() as u32 - 1;
        self.tables[side.index()].set(key, place, |index| keys[index as usize].0);
        self.connections[index].is_known[side.index()] = true;
    }

    /// A key that this capture has not shown, or that begins anew.
    fn meet(
        &mut self,
        side: Side,
        packet: &Packet,
        key: &Key,
        upwards: bool,
        syn: Option<(u32, bool)>,
    ) -> (usize, bool) {
        if let Some((index, first_is_up)) = self.other_half(side, key, upwards, syn) {
            let ends = [packet.source, packet.destination];
            let connection = &mut self.connections[index];
            let ends = if upwards == first_is_up { ends } else { [ends[1], ends[0]] };
            connection.translated = (ends != connection.ends).then_some(ends);
            self.set(side, key, index, first_is_up);
            return (index, first_is_up);
        }
        let index = self.connections.len();
        let near = self.place(side, packet.source.ip(), packet.destination.ip());
        self.connections.push(Connection {
            is_tcp: matches!(packet.transport, Transport::Tcp(_)),
            ends: [packet.source, packet.destination],
            translated: None,
            near,
            is_known: [false; 2],
            syns: [None; 2],
            packets: 0,
        });
        self.set(side, key, index, upwards);
        if let Some((seq, false)) = syn {
            self.opened[side.index()].insert(seq, index as u32);
        }
        (index, upwards)
    }

    /// The connection that the other capture has shown already.
    fn other_half(
        &mut self,
        side: Side,
        key: &Key,
        upwards: bool,
        syn: Option<(u32, bool)>,
    ) -> Option<(usize, bool)> {
        let other = side.other();
        let same = self.get(other, key);
        let translated = || {
            let (there, is_alike) = self.translations[side.index()].get(key)?;
            let (index, first_is_up) = self.get(other, there)?;
            Some((index, first_is_up == *is_alike))
        };
        let fits = |&(index, first_is_up): &(usize, bool)| {
            let connection = &self.connections[index];
            let direction = usize::from(upwards != first_is_up);
            !connection.is_known[side.index()] && !connection.is_succeeded(direction, syn)
        };
        if let Some(found) = same.or_else(translated).filter(fits) {
            return Some(found);
        }
        let (seq, is_answer) = syn?;
        let index = *self.opened[other.index()].get(&seq).filter(|_| !is_answer)? as usize;
        self.opened[other.index()].remove(&seq);
        // The SYN goes in the first direction of a connection that begins with it.
        let is_free = !self.connections[index].is_known[side.index()];
        is_free.then_some((index, upwards))
    }

    /// On which side the sender of a packet is: as was found out, or where it was seen first.
    fn place(&mut self, side: Side, source: IpAddr, destination: IpAddr) -> Side {
        let places = &mut self.places[side.index()];
        let known = places.get(&source).copied();
        let known = known.or_else(|| places.get(&destination).map(|side| side.other()));
        let place = known.unwrap_or(side);
        if source != destination {
            places.entry(source).or_insert(place);
            places.entry(destination).or_insert(place.other());
        }
        place
    }
}

impl Connection {
    /// Where the sender of a direction is.
    pub(super) fn source(&self, direction: usize) -> Side {
        if direction == 0 { self.near } else { self.near.other() }
    }

    /// Whether a SYN opens another connection between the same ends.
    fn is_succeeded(&self, direction: usize, syn: Option<(u32, bool)>) -> bool {
        let Some((seq, is_answer)) = syn else { return false };
        match self.syns[direction] {
            Some(before) => before != seq,
            None => !is_answer && self.packets > 0,
        }
    }
}
