//! Keys of connections: addresses, ports, protocol, and interface.

use std::net::{IpAddr, SocketAddr};

/// Both ends of a connection, the same for both directions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    low: u128,
    high: u128,
    /// Port of the lower end in the upper half.
    ports: u32,
    interface: u32,
    protocol: u8,
}

impl Key {
    /// The key of a packet, and whether it goes from the lower to the higher end.
    #[inline]
    pub(crate) fn of(
        source: SocketAddr,
        destination: SocketAddr,
        protocol: u8,
        interface: u32,
    ) -> (Key, bool) {
        let from = (number(source.ip()), source.port());
        let to = (number(destination.ip()), destination.port());
        let upwards = from <= to;
        let (low, high) = if upwards { (from, to) } else { (to, from) };
        let ports = u32::from(low.1) << 16 | u32::from(high.1);
        (Key { low: low.0, high: high.0, ports, interface, protocol }, upwards)
    }

    /// A number by which connections are shared out: the same in every process.
    #[inline]
    pub(crate) fn share(&self) -> u64 {
        // Digits of pi: any odd numbers would do.
        self.hash([0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345]) >> 32
    }

    /// Mixed by multiplication, with a seed of the process: who writes a capture cannot choose
    /// addresses that all meet in one place of the table.
    #[inline]
    pub(crate) fn hash(&self, seed: [u64; 2]) -> u64 {
        let fold = |value: u128| value as u64 ^ ((value >> 64) as u64).rotate_left(32);
        let ends = mix(fold(self.low) ^ seed[0], fold(self.high) ^ seed[1]);
        let rest =
            u64::from(self.ports) << 32 ^ u64::from(self.interface) << 8 ^ u64::from(self.protocol);
        mix(ends ^ rest, seed[1] | 1)
    }
}

/// IPv4 as its mapped address (RFC 4291 section 2.5.5.2).
#[inline]
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => 0xffff_0000_0000 | u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn both_directions_have_one_key() {
        let (a, b) = (end("10.0.0.1:5001"), end("10.0.0.2:80"));
        let (there, up) = Key::of(a, b, 6, 0);
        let (back, down) = Key::of(b, a, 6, 0);
        assert_eq!(there, back);
        assert!(up && !down);
    }

    #[test]
    fn ports_protocols_and_interfaces_tell_apart() {
        let (a, b) = (end("[2001:db8::1]:1"), end("[2001:db8::2]:2"));
        let key = Key::of(a, b, 6, 0).0;
        assert_ne!(key, Key::of(a, b, 17, 0).0);
        assert_ne!(key, Key::of(a, b, 6, 1).0);
        let crossed = [end("[2001:db8::1]:2"), end("[2001:db8::2]:1")];
        assert_ne!(key, Key::of(crossed[0], crossed[1], 6, 0).0);
    }

    #[test]
    fn a_connection_with_itself_has_two_directions() {
        let (a, b) = (end("127.0.0.1:1"), end("127.0.0.1:2"));
        assert_ne!(Key::of(a, b, 6, 0).1, Key::of(b, a, 6, 0).1);
    }
}
