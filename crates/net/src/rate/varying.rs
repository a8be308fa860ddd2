//! A rate that changes while packets are sent, in integers.
//!
//! Work is counted in nano-bits (10⁻⁹ bit), of which a line of r bit/s does r in each nanosecond. A
//! transmission ends when its work is done, rounded down to a nanosecond; what is left to do then is
//! done before the next packet. So a busy line takes as long for a million packets as their bits
//! take, whatever its rate does in between.

use std::fmt::Debug;

use fairway_units::{NANOS_PER_SEC, Rate, Time};

use super::RateModel;
use crate::pieces::{Course, Piece};

/// Rates over time, piece by piece.
pub(super) trait Pieces: Debug + Send {
    /// The rate in bit/s in force at `at`, which never goes back.
    fn at(&mut self, at: Time) -> Piece;
}

/// A packet that takes more pieces than this never ends: at a thousand pieces a second, hours.
const MOST_PIECES: u32 = 10_000_000;

/// The line with such a rate.
#[derive(Debug)]
pub(super) struct Varying<P> {
    pieces: P,
    now: Piece,
    /// When the last transmission ended.
    ended: Time,
    /// Nano-bits of the last packet that rounding has left.
    owed: u128,
    cut: bool,
}

impl<P: Pieces> Varying<P> {
    pub(super) fn new(mut pieces: P) -> Self {
        let now = pieces.at(Time::ZERO);
        Varying { pieces, now, ended: Time::ZERO, owed: 0, cut: false }
    }

    /// The end of a transmission at `at` that leaves `owed` to do.
    fn end(&mut self, at: Time, owed: u128) -> Time {
        self.ended = at;
        self.owed = owed;
        at
    }
}

impl<P: Pieces> RateModel for Varying<P> {
    fn transmit(&mut self, bytes: u32, start: Time) -> Time {
        self.cut = false;
        if start == Time::NEVER {
            return Time::NEVER;
        }
        let mut at = start;
        if at >= self.now.until {
            self.now = self.pieces.at(at);
        }
        if start > self.ended {
            // It was idle: what was owed is less than a nanosecond's work, whatever the rate is now.
            self.owed = self.owed.min(u128::from(self.now.value(start)));
        }
        let mut left = u128::from(bytes) * 8 * u128::from(NANOS_PER_SEC) + self.owed;
        let mut begun = false;
        for _ in 0..MOST_PIECES {
            if self.now.first == Rate::UNLIMITED.as_bps() {
                return self.end(at, 0);
            }
            let before = self.now.sum(at);
            let rest = self.now.sum(self.now.until) - before;
            if rest >= left {
                let end = self.now.when(before + left);
                return self.end(end, left - (self.now.sum(end) - before));
            }
            left -= rest;
            begun |= rest > 0;
            at = self.now.until;
            if at == Time::NEVER {
                break;
            }
            self.now = self.pieces.at(at);
            if begun && self.now.breaks {
                self.cut = true;
                return self.end(at, 0);
            }
        }
        self.end(Time::NEVER, 0)
    }

    fn cuts(&self) -> bool {
        self.cut
    }
}

/// Rates by a schedule.
impl Pieces for Course {
    fn at(&mut self, at: Time) -> Piece {
        Course::at(self, at)
    }
}

#[cfg(test)]
mod tests {
    use fairway_units::Duration;

    use super::*;
    use crate::{Change, InFlight, Schedule, Serialiser};

    const MBIT: u64 = 1_000_000;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    fn step(millis: u64, bps: u64) -> Change {
        Change { at: ms(millis), rate: Some(Rate::from_bps(bps)), ..Change::default() }
    }

    fn line(bps: u64, changes: &[Change], period: Option<Duration>) -> Varying<Course> {
        let schedule = Schedule {
            changes: changes.to_vec(),
            period,
            ..Schedule::constant(Rate::from_bps(bps), Duration::ZERO)
        };
        schedule.check().unwrap();
        Varying::new(schedule.rates())
    }

    #[test]
    fn without_a_change_it_is_the_serialiser() {
        // Rates whose nanoseconds are odd, and a change that never matters.
        for bps in [622 * MBIT, 7, 999_999_937, 44_736_000] {
            let mut line = line(bps, &[step(18_000_000_000_000, 1)], None);
            let mut serialiser = Serialiser::new(Rate::from_bps(bps));
            let mut time = Time::ZERO;
            for i in 0..10_000u32 {
                let bytes = 40 + (i % 7) * 211;
                // Idle now and then.
                time = time + Duration::from_nanos(u64::from(i % 3) * 1000);
                let expected = time + serialiser.transmit(bytes);
                time = line.transmit(bytes, time);
                assert_eq!(time, expected);
            }
        }
    }

    #[test]
    fn a_packet_in_transmission_goes_on_at_the_new_rate() {
        // 1000 bytes, 8000 bit: 1 ms at 8 Mbit/s. From 500 µs on 4 Mbit/s: the other 4000 bit take
        // 1 ms. The next packet takes 2 ms.
        let change = Change { at: Duration::from_micros(500), ..step(0, 4 * MBIT) };
        let mut line = line(8 * MBIT, &[change], None);
        assert_eq!(line.transmit(1000, at(0)), Time::from_nanos(1_500_000));
        assert_eq!(line.transmit(1000, Time::from_nanos(1_500_000)), Time::from_nanos(3_500_000));
    }

    #[test]
    fn nothing_is_lost_over_a_million_packets_of_a_changing_rate() {
        // Every 10 ms: 622 Mbit/s for 3 ms, down for 2 ms, 7 Mbit/s to 10 ms.
        let mut line = line(622 * MBIT, &[step(3, 0), step(5, 7 * MBIT)], Some(ms(10)));
        let (mut time, mut bits) = (Time::ZERO, 0u64);
        for i in 0..1_000_000u32 {
            let bytes = 40 + (i % 7) * 211;
            time = line.transmit(bytes, time);
            bits += u64::from(bytes) * 8;
        }
        // A period carries 622·3 + 7·5 kbit = 1 901 000 bit. In what is left of the last period,
        // the first 1 866 000 bit take 1/0.622 ns each; the rest 1000/7 ns from 5 ms on.
        let (periods, rest) = (bits / 1_901_000, bits % 1_901_000);
        let nanos = if rest <= 1_866_000 {
            u128::from(rest) * 1000 / 622
        } else {
            5_000_000 + u128::from(rest - 1_866_000) * 1000 / 7
        };
        assert_eq!(u128::from(time.as_nanos()), u128::from(periods) * 10_000_000 + nanos);
    }

    #[test]
    fn a_ramp_carries_its_integral() {
        // From 0 to 16 Mbit/s in 1 s, then constant. t seconds carry 8·10⁶·t² bit: the n-th packet
        // of 1000 bytes ends at √(n/1000) s, the 1000th at 1 s, those behind it each 0.5 ms later.
        let up = Change { over: ms(1000), ..step(0, 16 * MBIT) };
        let mut line = line(0, &[up], None);
        let mut time = Time::ZERO;
        for n in 1..=2000u64 {
            time = line.transmit(1000, time);
            let exact = if n <= 1000 {
                // √(n·10¹⁵) nanoseconds, rounded down; the ramp's sum is rounded by less than a
                // nano-bit, which its slope makes a nanosecond at most.
                (n * 1_000_000_000_000_000).isqrt()
            } else {
                1_000_000_000 + (n - 1000) * 500_000
            };
            assert!(time.as_nanos().abs_diff(exact) <= 1, "{n}: {time} {exact}");
        }
        // Down again: 16 Mbit/s to 0 over a second is as much; the rest never leaves.
        let down = Change { over: ms(1000), ..step(0, 0) };
        let mut line = self::line(16 * MBIT, &[down], None);
        let mut time = Time::ZERO;
        for _ in 0..1000 {
            time = line.transmit(1000, time);
        }
        // The last bit leaves where the line stands: 8·10⁶ bit less at most one nano-bit, for which
        // the line needs its last √(2·10⁻⁹/16·10⁶) s = 11 ns.
        assert!(at(1000).since(time) < Duration::from_nanos(20), "{time}");
        assert_eq!(line.transmit(1000, time), Time::NEVER);
    }

    #[test]
    fn a_link_goes_down_and_up() {
        // Down from 10 ms to 30 ms. 1000 bytes take 1 ms.
        let changes = [step(10, 0), step(30, 8 * MBIT)];
        let mut kept = line(8 * MBIT, &changes, None);
        // Half sent before, half after.
        assert_eq!(kept.transmit(1000, Time::from_nanos(9_500_000)), Time::from_nanos(30_500_000));
        assert!(!kept.cuts());

        let breaks = Change { in_flight: InFlight::Lose, ..changes[0] };
        let mut lost = line(8 * MBIT, &[breaks, changes[1]], None);
        // Ends just in time.
        assert_eq!(lost.transmit(1000, at(9)), at(10));
        assert!(!lost.cuts());
        let mut lost = line(8 * MBIT, &[breaks, changes[1]], None);
        assert_eq!(lost.transmit(1000, Time::from_nanos(9_500_000)), at(10));
        assert!(lost.cuts());
        // The next one waits at a line that is down, and is not cut off by its coming up.
        assert_eq!(lost.transmit(1000, at(10)), at(31));
        assert!(!lost.cuts());
    }

    #[test]
    fn an_unlimited_rate_takes_no_time() {
        let mut line = line(u64::MAX, &[step(1, 8 * MBIT), step(5, u64::MAX)], None);
        assert_eq!(line.transmit(1500, at(0)), at(0));
        assert_eq!(line.transmit(1000, at(3)), at(4));
        // 0.5 ms of it at 8 Mbit/s; at 5 ms the rest leaves at once.
        assert_eq!(line.transmit(1000, Time::from_nanos(4_500_000)), at(5));
        assert_eq!(line.transmit(1000, Time::NEVER), Time::NEVER);
    }
}
