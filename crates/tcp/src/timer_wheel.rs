//! Linux's timer wheel: the longer a timer, the coarser its expiry.
//!
//! Each level of the wheel is eight times as coarse as the one before (`kernel/time/timer.c`,
//! `calc_wheel_index`); a timer never fires early. Times are ticks of 1 ms (HZ = 1000).

use fairway_units::{Duration, Time};

/// Slots of one level.
const LEVEL_SLOTS: u64 = 64;
/// Ratio of the granularities of two levels, as a power of two.
const LEVEL_SHIFT: u32 = 3;
/// Last level; longer timers are limited to its range of about twelve days.
const LAST_LEVEL: u32 = 8;

/// How precisely timers fire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimerWheel {
    /// Exactly.
    #[default]
    Exact,
    /// As in Linux with 1000 ticks per second.
    Linux,
}

impl TimerWheel {
    /// When a timer set at `now` for `delay` fires.
    #[inline(always)]
    pub fn expiry(self, now: Time, delay: Duration) -> Time {
        match self {
            TimerWheel::Exact => now + delay,
            TimerWheel::Linux => in_linux(now, delay),
        }
    }
}

const TICK: Duration = Duration::from_millis(1);

fn in_linux(now: Time, delay: Duration) -> Time {
    let ticks = delay.as_nanos().div_ceil(TICK.as_nanos());
    tick(fires_at(now.as_millis(), ticks))
}

fn tick(number: u64) -> Time {
    Time::ZERO + TICK.saturating_mul(number)
}

/// Tick at which a timer fires that was set at tick `now` to expire after `ticks`.
fn fires_at(now: u64, ticks: u64) -> u64 {
    // A level holds timers that expire before its last slot.
    let mut level = 0;
    while level < LAST_LEVEL && ticks >= (LEVEL_SLOTS - 1) << (LEVEL_SHIFT * level) {
        level += 1;
    }
    let granule = 1 << (LEVEL_SHIFT * level);
    ((now + ticks) / granule + 1) * granule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_has_its_granularity() {
        // Set at tick 1000: below 63 ticks one tick late, below 504 the next greater multiple of 8,
        // below 4032 of 64, below 32256 of 512.
        let expected = [
            (0, 1001),
            (40, 1041),
            (62, 1063),
            // 1063 / 8 = 132.9
            (63, 1064),
            // 1256 = 157 · 8 is not greater than itself.
            (256, 1264),
            // 1503 / 8 = 187.9
            (503, 1504),
            // 1504 / 64 = 23.5
            (504, 1536),
            (512, 1536),
            // 2000 / 64 = 31.25
            (1000, 2048),
            // 5032 / 512 = 9.8
            (4032, 5120),
        ];
        for (ticks, fires) in expected {
            assert_eq!(fires_at(1000, ticks), fires, "{ticks} ticks");
        }
    }

    #[test]
    fn parts_of_a_tick() {
        // Set 0.56 ms into tick 25 for 40 ms: tick 66, 40.44 ms later. A delay counts in whole
        // ticks, rounded up.
        let now = Time::from_nanos(25_560_000);
        let at = |delay| TimerWheel::Linux.expiry(now, delay);
        assert_eq!(at(Duration::from_millis(40)), Time::from_nanos(66_000_000));
        assert_eq!(at(Duration::from_micros(39_001)), Time::from_nanos(66_000_000));
        let exact = TimerWheel::Exact.expiry(now, Duration::from_millis(40));
        assert_eq!(exact, Time::from_nanos(65_560_000));
    }
}
