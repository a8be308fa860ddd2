//! Where connections wait that have not proved themselves.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use super::admission::Admission;
use crate::rt::{Instant, Socket};

/// One that waits.
pub(super) struct Waiting {
    pub(super) socket: Socket,
    pub(super) from: IpAddr,
    pub(super) until: Instant,
    pub(super) admission: Admission,
}

/// A bounded room. When it is full, whoever comes next takes the place of the one that has waited
/// longest, among those of the network that has taken most of the places.
pub(super) struct Room {
    places: usize,
    /// By number; they are numbered as they come.
    waiting: BTreeMap<u64, Waiting>,
    of_network: BTreeMap<IpAddr, usize>,
}

impl Room {
    pub(super) fn new(places: usize) -> Self {
        Room { places, waiting: BTreeMap::new(), of_network: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, number: u64, waiting: Waiting) {
        if self.waiting.len() >= self.places {
            self.turn_out();
        }
        *self.of_network.entry(network(waiting.from)).or_default() += 1;
        self.waiting.insert(number, waiting);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        let network = network(waiting.from);
        if let Some(count) = self.of_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.of_network.remove(&network);
            }
        }
        Some(waiting)
    }

    /// Closes one; false if there is none.
    pub(super) fn turn_out(&mut self) -> bool {
        let most = self.of_network.iter().max_by_key(|(_, count)| **count);
        let Some((&most, &count)) = most else { return false };
        let mut numbers = self.waiting.iter();
        // Where every network has one, the first to have come goes.
        let oldest = numbers.find(|(_, one)| count == 1 || network(one.from) == most);
        let oldest = oldest.map(|(number, _)| *number);
        oldest.and_then(|number| self.remove(number)).is_some()
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((&number, waiting)) = self.waiting.first_key_value() {
            if waiting.until > now {
                break;
            }
            self.remove(number);
        }
    }
}

/// What one user can have many addresses of: of IPv6, a /64 (RFC 6177 gives no site less).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Type};

    use super::*;
    use crate::auth::{Identity, Security};

    fn waiting(identity: &Identity, from: &str) -> Waiting {
        Waiting {
            socket: Socket::new(Domain::IPV4, Type::STREAM, None).unwrap(),
            from: from.parse().unwrap(),
            until: Instant::now(),
            admission: Admission::new(identity, Security::Plain),
        }
    }

    fn room(identity: &Identity, from: &[&str], places: usize) -> Vec<u64> {
        let mut room = Room::new(places);
        for (number, from) in (0..).zip(from) {
            room.add(number, waiting(identity, from));
        }
        let left = room.waiting.keys().copied().collect();
        room.expire(Instant::now());
        assert_eq!((room.waiting.len(), room.of_network.len()), (0, 0));
        left
    }

    #[test]
    fn the_oldest_of_the_largest_crowd_goes_first() {
        let one = Identity::new().unwrap();
        assert_eq!(room(&one, &["1.1.1.1", "2.2.2.2", "2.2.2.2", "3.3.3.3"], 3), [0, 2, 3]);
        assert_eq!(room(&one, &["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"], 3), [1, 2, 3]);
        assert_eq!(room(&one, &["::ffff:1.1.1.1", "2.2.2.2", "1.1.1.1", "3.3.3.3"], 3), [1, 2, 3]);
        assert_eq!(room(&one, &["fe80::1", "2001:db8::1", "2001:db8::2", "fe80::1"], 3), [0, 2, 3]);
    }
}
