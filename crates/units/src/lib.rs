//! Quantities of the laboratory as types: integer nanoseconds, integer bytes, integer bits per second.
//!
//! Nothing here loses precision silently: arithmetic that could overflow saturates where a
//! saturated value is still meaningful (a time that never comes) and panics in debug builds elsewhere.

mod meaning;
pub mod random;
mod text;

use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

pub use meaning::meant_number;
pub use text::{Decimal, Problem, QuantityError, split_unit};

/// Nanoseconds in one second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A point in simulated time: nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

/// A span of simulated time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Duration(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rate(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// A time that never comes.
    pub const NEVER: Time = Time(u64::MAX);

    /// A time given in nanoseconds since the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Time(nanos)
    }
    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole milliseconds since the start of the run, truncated (a 1000 Hz kernel's jiffies).
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// The span since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// The span since `earlier` by a clock of microseconds, zero if `earlier` is later.
    pub const fn micros_since(self, earlier: Time) -> Duration {
        Duration::from_micros((self.0 / 1_000).saturating_sub(earlier.0 / 1_000))
    }
    /// The time as a clock of microseconds shows it.
    pub const fn in_micros(self) -> Time {
        Time(self.0 / 1_000 * 1_000)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span given in nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }
    /// A span given in microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros * 1_000)
    }
    /// A span given in milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis * 1_000_000)
    }
    /// A span given in seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs * NANOS_PER_SEC)
    }
    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// The span in whole microseconds, truncated.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// The span in whole milliseconds, truncated.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// Half, double … of the span.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Rate {
    /// A link of this rate serialises in no time.
    pub const UNLIMITED: Rate = Rate(u64::MAX);

    /// A rate given in bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bytes that this rate carries in `span`, rounded down.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bits = u128::from(self.0) * u128::from(span.0) / u128::from(NANOS_PER_SEC);
        Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
    /// How long so many bytes take at this rate, rounded up.
    pub fn time_for(self, bytes: u64) -> Duration {
        let nanos = u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC);
        let time = nanos.div_ceil(u128::from(self.0.max(1)));
        Duration(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

impl Bytes {
    /// None.
    pub const ZERO: Bytes = Bytes(0);

    /// A size given in bytes.
    pub const fn new(bytes: u64) -> Self {
        Bytes(bytes)
    }
    /// The size in bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        self.saturating_mul(factor)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}
