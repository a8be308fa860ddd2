//! Connections that have not authenticated yet.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use super::admission::Admission;
use crate::rt::{Instant, Socket};

pub(super) struct Pending {
    pub(super) socket: Socket,
    pub(super) from: IpAddr,
    pub(super) until: Instant,
    pub(super) admission: Admission,
}

/// A bounded pool. When it is full, a new connection evicts the oldest one of the network that holds
/// most places.
pub(super) struct Pool {
    places: usize,
    /// By number, in the order of arrival.
    pending: BTreeMap<u64, Pending>,
    of_network: BTreeMap<IpAddr, usize>,
}

impl Pool {
    pub(super) fn new(places: usize) -> Self {
        Pool { places, pending: BTreeMap::new(), of_network: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, number: u64, waiting: Pending) {
        if self.pending.len() >= self.places {
            self.evict();
        }
        *self.of_network.entry(network(waiting.from)).or_default() += 1;
        self.pending.insert(number, waiting);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Pending> {
        let waiting = self.pending.remove(&number)?;
        let network = network(waiting.from);
        if let Some(count) = self.of_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.of_network.remove(&network);
            }
        }
        Some(waiting)
    }

    /// Closes one by the rule above; false if the pool is empty.
    pub(super) fn evict(&mut self) -> bool {
        let most = self.of_network.iter().max_by_key(|(_, count)| **count);
        let Some((&most, &count)) = most else { return false };
        let mut numbers = self.pending.iter();
        // If every network has one, the oldest of all goes.
        let oldest = numbers.find(|(_, one)| count == 1 || network(one.from) == most);
        let oldest = oldest.map(|(number, _)| *number);
        oldest.and_then(|number| self.remove(number)).is_some()
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((&number, waiting)) = self.pending.first_key_value() {
            if waiting.until > now {
                break;
            }
            self.remove(number);
        }
    }
}

/// The addresses that one user may own: of IPv6, a /64 (RFC 6177 gives no site less).
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

    fn waiting(identity: &Identity, from: &str) -> Pending {
        Pending {
            socket: Socket::new(Domain::IPV4, Type::STREAM, None).unwrap(),
            from: from.parse().unwrap(),
            until: Instant::now(),
            admission: Admission::new(identity, Security::Plain),
        }
    }

    fn left_of(identity: &Identity, from: &[&str], places: usize) -> Vec<u64> {
        let mut pool = Pool::new(places);
        for (number, from) in (0..).zip(from) {
            pool.add(number, waiting(identity, from));
        }
        let left = pool.pending.keys().copied().collect();
        pool.expire(Instant::now());
        assert_eq!((pool.pending.len(), pool.of_network.len()), (0, 0));
        left
    }

    #[test]
    fn the_oldest_of_the_largest_crowd_goes_first() {
        let one = Identity::new().unwrap();
        assert_eq!(left_of(&one, &["1.1.1.1", "2.2.2.2", "2.2.2.2", "3.3.3.3"], 3), [0, 2, 3]);
        assert_eq!(left_of(&one, &["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"], 3), [1, 2, 3]);
        assert_eq!(
            left_of(&one, &["::ffff:1.1.1.1", "2.2.2.2", "1.1.1.1", "3.3.3.3"], 3),
            [1, 2, 3]
        );
        assert_eq!(
            left_of(&one, &["fe80::1", "2001:db8::1", "2001:db8::2", "fe80::1"], 3),
            [0, 2, 3]
        );
    }
}
