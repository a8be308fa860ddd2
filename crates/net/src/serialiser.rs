//! How long a packet takes to leave at a constant rate, exact over any number of packets.

use fairway_units::{Duration, NANOS_PER_SEC, Rate};

/// Turns packet sizes into transmission times, carrying what integer division leaves over so that
/// a million packets take as long as their bits.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate_bps: u64,
    /// Nano-bits left over so far, less than the rate.
    carry: u64,
    /// Most packets of a link are alike: the last size, and its time and remainder.
    last_bytes: u32,
    last_nanos: u64,
    last_rest: u64,
}

impl Serialiser {
    /// A serialiser at this rate.
    pub fn new(rate: Rate) -> Self {
        Serialiser { rate_bps: rate.as_bps(), carry: 0, last_bytes: 0, last_nanos: 0, last_rest: 0 }
    }

    /// Time on the wire of the next packet, of `bytes` bytes.
    pub fn transmit(&mut self, bytes: u32) -> Duration {
        if self.rate_bps == u64::MAX {
            return Duration::ZERO;
        }
        if bytes != self.last_bytes {
            // At most 2³² · 8 · 10⁹ < 2⁶⁶ nano-bits: one step in 128 bits.
            let work = u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC);
            let rate = u128::from(self.rate_bps);
            self.last_bytes = bytes;
            self.last_nanos = u64::try_from(work / rate).unwrap_or(u64::MAX);
            self.last_rest = (work % rate) as u64;
        }
        // Both are below the rate; the sum needs 65 bits only for rates beyond 9 exabit/s.
        let (mut carry, overflow) = self.carry.overflowing_add(self.last_rest);
        let mut nanos = self.last_nanos;
        if overflow || carry >= self.rate_bps {
            carry = carry.wrapping_sub(self.rate_bps);
            nanos += 1;
        }
        self.carry = carry;
        Duration::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_fractional_nanoseconds() {
        // 1514 B at 10 Mbit/s: 12112 bits / 10⁷ = 1.2112 ms.
        let mut s = Serialiser::new(Rate::from_bps(10_000_000));
        assert_eq!(s.transmit(1514), Duration::from_nanos(1_211_200));
        // 1000 B at 622 Mbit/s: 8000 / 0.622 = 12861.736 ns; three take 38585.209 ns.
        let mut s = Serialiser::new(Rate::from_bps(622_000_000));
        let three: u64 = (0..3).map(|_| s.transmit(1000).as_nanos()).sum();
        assert_eq!(three, 38_585);
    }

    #[test]
    fn nothing_is_lost_over_many_packets_of_mixed_sizes() {
        let mut s = Serialiser::new(Rate::from_bps(622_000_000));
        let mut nanos = 0u64;
        let mut bits = 0u64;
        for i in 0..100_000u32 {
            let bytes = 40 + (i % 7) * 211;
            nanos += s.transmit(bytes).as_nanos();
            bits += u64::from(bytes) * 8;
        }
        // Exact time, rounded down once.
        assert_eq!(nanos, u64::try_from(u128::from(bits) * 1_000_000_000 / 622_000_000).unwrap());
    }

    #[test]
    fn unlimited_takes_no_time() {
        assert_eq!(Serialiser::new(Rate::UNLIMITED).transmit(9000), Duration::ZERO);
    }
}
