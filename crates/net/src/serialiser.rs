//! How long a packet takes to leave at a constant rate, exact over any number of packets.

use fairway_units::{Duration, NANOS_PER_SEC, Rate};

/// How transmissions are timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timing {
    /// Times are rounded down, and what is left over counts for the next packet. A packet that arrives
    /// as a transmission ends finds it over.
    #[default]
    Exact,
    /// As in ns-3.29: rounded down, after a detour over binary fractions that makes about half of the
    /// whole numbers one less (`src/network/utils/data-rate.cc`, `CalculateBytesTxTime`;
    /// `src/core/model/nstime.h`, `Time::FromDouble`). A packet that arrives as a transmission ends
    /// comes before that, as it was under way for longer (`src/core/model/scheduler.h`).
    Ns3,
}

/// Turns packet sizes into transmission times, carrying what integer division leaves over so that
/// a million packets take as long as their bits.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate_bps: u64,
    timing: Timing,
    /// Nano-bits left over so far, less than the rate.
    carry: u64,
    /// Most packets of a link are alike: the last size, its time and remainder, and the least carry
    /// with which it takes a nanosecond more, the rate less the remainder.
    last_bytes: u32,
    last_nanos: u64,
    last_rest: u64,
    full: u64,
}

impl Serialiser {
    /// A serialiser at this rate.
    pub fn new(rate: Rate) -> Self {
        Serialiser::timed(rate, Timing::Exact)
    }

    /// A serialiser at this rate with this timing.
    pub fn timed(rate: Rate, timing: Timing) -> Self {
        Serialiser {
            rate_bps: rate.as_bps(),
            timing,
            carry: 0,
            last_bytes: 0,
            last_nanos: 0,
            last_rest: 0,
            full: u64::MAX,
        }
    }

    /// Time on the wire of the next packet, of `bytes` bytes.
    #[inline(always)]
    pub fn transmit(&mut self, bytes: u32) -> Duration {
        if bytes != self.last_bytes {
            self.measure(bytes);
        }
        if self.carry >= self.full {
            self.carry -= self.full;
            return Duration::from_nanos(self.last_nanos + 1);
        }
        self.carry += self.last_rest;
        Duration::from_nanos(self.last_nanos)
    }

    /// The packets from here on have `bytes` bytes.
    #[inline(never)]
    fn measure(&mut self, bytes: u32) {
        self.last_bytes = bytes;
        (self.last_nanos, self.last_rest) = match (self.rate_bps, self.timing) {
            (u64::MAX, _) => (0, 0),
            (rate, Timing::Ns3) => (nanos_as_ns3(bytes, rate), 0),
            (rate, Timing::Exact) => {
                // At most 2³² · 8 · 10⁹ < 2⁶⁶ nano-bits: one step in 128 bits.
                let work = u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC);
                let nanos = work / u128::from(rate);
                (u64::try_from(nanos).unwrap_or(u64::MAX), (work % u128::from(rate)) as u64)
            }
        };
        self.full = self.rate_bps - self.last_rest;
    }
}

/// Seconds as a double, as a fixed-point number with 64 binary places, and as nanoseconds rounded down.
fn nanos_as_ns3(bytes: u32, rate_bps: u64) -> u64 {
    const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
    let seconds = f64::from(bytes) * 8.0 / rate_bps as f64;
    // Exact but for the rounding: the factor is a power of two. The cast saturates.
    let fixed = (seconds * TWO_TO_64).round() as u128;
    let nanos = fixed.saturating_mul(u128::from(NANOS_PER_SEC)) >> 64;
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ns3_takes_a_nanosecond_off_some() {
        // ns-3.29's own `DataRate::CalculateBytesTxTime`, at 1 Gbit/s and at 100 Mbit/s.
        let sizes = [54, 58, 62, 70, 78, 694, 1494];
        let access = [432, 463, 496, 559, 624, 5551, 11_952];
        let bottleneck = [4319, 4639, 4959, 5599, 6240, 55_519, 119_520];
        for (bps, nanos) in [(1_000_000_000, access), (100_000_000, bottleneck)] {
            let mut s = Serialiser::timed(Rate::from_bps(bps), Timing::Ns3);
            assert_eq!(sizes.map(|bytes| s.transmit(bytes).as_nanos()), nanos);
        }
    }

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
