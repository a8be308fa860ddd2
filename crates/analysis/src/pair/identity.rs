//! The identity of a packet across two captures.

use std::hash::{BuildHasher, RandomState};

use fairway_capture::packet::flags::{FIN, RST, SYN};
use fairway_capture::{Packet, Transport};

/// Which capture of the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Side {
    First,
    Second,
}

impl Side {
    pub(super) const BOTH: [Side; 2] = [Side::First, Side::Second];

    pub(super) fn index(self) -> usize {
        self as usize
    }

    pub(super) fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// How much of a packet comes through the network unchanged, strictest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    /// All of it.
    WithIpId,
    /// All but IPv4's identification, which something has rewritten.
    WithTimestamps,
    /// Not the timestamps option either: one capture has cut it, or something has removed it.
    Numbers,
}

impl Level {
    pub(super) const ALL: [Level; 3] = [Level::WithIpId, Level::WithTimestamps, Level::Numbers];
}

/// Mixes what tells packets apart into one number, with a seed of the process: who writes a
/// capture cannot choose packets that are all taken for one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixer {
    seed: u64,
}

impl Mixer {
    pub(super) fn new() -> Mixer {
        Mixer { seed: RandomState::new().hash_one(0) | 1 }
    }

    /// Of everything but addresses and ports, which may be translated; `salt` stands for them.
    #[inline]
    pub(super) fn identity(&self, packet: &Packet, level: Level, salt: u64) -> u64 {
        let ip_id = if level == Level::WithIpId { u64::from(packet.ip_id) } else { 0 };
        let (numbers, sizes, stamps) = match &packet.transport {
            Transport::Tcp(tcp) => {
                let numbers = u64::from(tcp.seq) << 32 | u64::from(tcp.ack);
                // PSH moves when cards cut and join segments, and ECN's bits belong to the path.
                let flags = u64::from(tcp.flags & (FIN | SYN | RST));
                let sizes = u64::from(tcp.payload_bytes) << 24 | u64::from(tcp.window) << 8 | flags;
                let stamps = tcp.options.timestamps.filter(|_| level != Level::Numbers);
                let stamps = stamps.map_or(0, |(value, echo)| {
                    (u64::from(value) << 32 | u64::from(echo)).wrapping_add(1)
                });
                (numbers, sizes, stamps)
            }
            Transport::Udp(udp) => (1, u64::from(udp.payload_bytes), 0),
            Transport::Other(protocol) => (2, u64::from(*protocol), 0),
        };
        let head = self.mix(numbers ^ self.seed, sizes.wrapping_add(ip_id << 48));
        self.mix(head ^ stamps, salt.wrapping_add(self.seed))
    }

    /// Never gives up information to a zero: both factors are mixed before.
    #[inline]
    fn mix(&self, a: u64, b: u64) -> u64 {
        // The golden ratio in 64 bits: an odd factor without pattern (Knuth, TAOCP 3, 6.4).
        let a = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.seed.rotate_left(17);
        let b = (b ^ self.seed.rotate_left(41)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let product = u128::from(a ^ a >> 29) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    }
}
