//! Units of an interface's time stamps.

use fairway_units::{NANOS_PER_SEC, Time};

/// The unit of an interface's time stamps, and what has to be added to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// Nanoseconds of one tick, if they are whole and nothing is to be added.
    whole_ns: Option<u64>,
    resolution: u8,
    offset_s: i64,
}

/// Microseconds: the resolution of an interface that does not tell one.
pub const DEFAULT_RESOLUTION: u8 = 6;
/// Set in a resolution that is a power of 2 and not of 10.
const IS_BINARY: u8 = 0x80;
/// The last time that is one; beyond is [`Time::NEVER`].
const LAST_NS: u64 = u64::MAX - 1;

impl Default for Clock {
    fn default() -> Self {
        Clock::new(DEFAULT_RESOLUTION, 0)
    }
}

impl Clock {
    /// By the options if_tsresol and if_tsoffset of an interface.
    pub fn new(resolution: u8, offset_s: i64) -> Self {
        let whole_ns =
            (resolution <= 9 && offset_s == 0).then(|| 10_u64.pow(9 - u32::from(resolution)));
        Clock { whole_ns, resolution, offset_s }
    }

    /// When this many ticks have passed. Times that nanoseconds since 1970 cannot express are the
    /// first or the last that they can.
    #[inline]
    pub fn time(&self, ticks: u64) -> Time {
        let ns = match self.whole_ns.and_then(|ns| ns.checked_mul(ticks)) {
            Some(ns) => ns.min(LAST_NS),
            None => self.time_ns_of_any(ticks),
        };
        Time::from_nanos(ns)
    }

    #[cold]
    fn time_ns_of_any(&self, ticks: u64) -> u64 {
        let scaled = u128::from(ticks) * u128::from(NANOS_PER_SEC);
        let exponent = u32::from(self.resolution & !IS_BINARY);
        let since_ns = if self.resolution & IS_BINARY == 0 {
            10_u128.checked_pow(exponent).map_or(0, |ticks_per_s| scaled / ticks_per_s)
        } else {
            scaled >> exponent
        };
        // At most 2^94, so that it fits; so does an offset, which is below 2^63 × 2^30.
        let ns = since_ns as i128 + i128::from(self.offset_s) * i128::from(NANOS_PER_SEC);
        ns.clamp(0, i128::from(LAST_NS)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(resolution: u8, offset_s: i64, ticks: u64) -> u64 {
        Clock::new(resolution, offset_s).time(ticks).as_nanos()
    }

    #[test]
    fn powers_of_ten_and_of_two() {
        assert_eq!(Clock::default().time(1_500_000), Time::from_nanos(1_500_000_000));
        assert_eq!(ns(9, 0, 42), 42);
        assert_eq!(ns(0, 0, 3), 3_000_000_000);
        assert_eq!(ns(12, 0, 5_999), 5);
        // 2^-10 s: 1 tick is 976562.5 ns.
        assert_eq!(ns(0x80 | 10, 0, 3), 2_929_687);
        assert_eq!(ns(0x80 | 32, 0, 1 << 31), 500_000_000);
        assert_eq!(ns(0x80, 0, 7), 7_000_000_000);
    }

    #[test]
    fn offsets_go_either_way_and_nothing_overflows() {
        assert_eq!(ns(6, 100, 1), 100_000_001_000);
        assert_eq!(ns(6, -100, 1), 0);
        assert_eq!(ns(9, -1, 1_000_000_007), 7);
        assert_eq!(ns(0, i64::MAX, u64::MAX), LAST_NS);
        assert_eq!(ns(127, 0, u64::MAX), 0);
        assert_eq!(ns(0xff, 0, u64::MAX), 0);
        assert_eq!(ns(6, i64::MIN, u64::MAX), 0);
    }
}
