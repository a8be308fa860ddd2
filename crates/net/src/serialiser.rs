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
    /// Whether times are those of ns-3.
    is_ns3: bool,
}

impl Serialiser {
    /// A serialiser at this rate.
    pub fn new(rate: Rate) -> Self {
        Serialiser {
            rate_bps: rate.as_bps(),
            carry: 0,
            last_bytes: 0,
            last_nanos: 0,
            last_rest: 0,
            is_ns3: false,
        }
    }

    /// A serialiser whose packets take as long as in ns-3, which rounds each time by itself.
    pub fn of_ns3(rate: Rate) -> Self {
        Serialiser { is_ns3: true, ..Serialiser::new(rate) }
    }

    /// Time on the wire of the next packet, of `bytes` bytes.
    pub fn transmit(&mut self, bytes: u32) -> Duration {
        if self.rate_bps == u64::MAX {
            return Duration::ZERO;
        }
        if bytes != self.last_bytes && self.is_ns3 {
            self.last_bytes = bytes;
            self.last_nanos = nanos_of_ns3(bytes, self.rate_bps);
        } else if bytes != self.last_bytes {
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

/// Nanoseconds that ns-3 takes for a packet: the seconds as a double (`data-rate.cc`,
/// `CalculateBytesTxTime`), rounded to a fixed-point number with 64 bits behind the point
/// (`int64x64-128.h`), of which times 10^9 the whole part remains (`nstime.h`, `Time::From`).
fn nanos_of_ns3(bytes: u32, rate_bps: u64) -> u64 {
    const ONE: f64 = 18_446_744_073_709_551_616.0;
    let seconds = f64::from(bytes) * 8.0 / rate_bps as f64;
    let fixed = (seconds * ONE).round() as u128;
    u64::try_from(fixed.saturating_mul(u128::from(NANOS_PER_SEC)) >> 64).unwrap_or(u64::MAX)
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
    fn times_of_ns3_are_those_of_its_traces() {
        // As ns-3.29 sends a SYN, an acknowledgement and a segment over a point-to-point link.
        for (mbit, times) in [(1000, [463, 432, 11_952]), (100, [4639, 4319, 119_520])] {
            let mut s = Serialiser::of_ns3(Rate::from_bps(mbit * 1_000_000));
            assert_eq!([58, 54, 1494].map(|bytes| s.transmit(bytes).as_nanos()), times);
        }
        // 8 bits at 1 bit/s: 8 s.
        let mut slow = Serialiser::of_ns3(Rate::from_bps(1));
        assert_eq!(slow.transmit(1), Duration::from_secs(8));
        assert_eq!(slow.transmit(65_535), Duration::from_secs(524_280));
    }

    #[test]
    fn unlimited_takes_no_time() {
        assert_eq!(Serialiser::new(Rate::UNLIMITED).transmit(9000), Duration::ZERO);
    }
}
