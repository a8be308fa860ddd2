//! When a timer really fires: the coarser, the further away it was set.
//!
//! Linux keeps timers in a wheel of levels, each eight times as coarse as the one before
//! (`kernel/time/timer.c`, `calc_wheel_index`); a timer never fires early. Times are ticks of
//! 1 ms (HZ = 1000).

use fairway_units::{Duration, Time};

/// Slots of one level.
const LEVEL_SLOTS: u64 = 64;
/// Each level's granule in terms of the one below, as a power of two.
const LEVEL_SHIFT: u32 = 3;
/// The last of the levels; what is further away is cut to its range of some twelve days.
const LAST_LEVEL: u32 = 8;

/// How precisely timers fire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimerWheel {
    /// To the nanosecond.
    #[default]
    Exact,
    /// As in Linux with 1000 ticks a second.
    Linux,
}

impl TimerWheel {
    /// When a timer set at `now` for `delay` fires.
    pub fn expiry(self, now: Time, delay: Duration) -> Time {
        match self {
            TimerWheel::Exact => now + delay,
            TimerWheel::Linux => {
                let ticks = delay.as_nanos().div_ceil(TICK.as_nanos());
                tick(fires_at(now.as_millis(), ticks))
            }
        }
    }
}

const TICK: Duration = Duration::from_millis(1);

fn tick(number: u64) -> Time {
    Time::ZERO + TICK.saturating_mul(number)
}

/// The tick at which a timer fires that was set at tick `now` for `ticks` from then.
fn fires_at(now: u64, ticks: u64) -> u64 {
    // A level takes what lies less than its last slot ahead.
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
    fn a_granule_each_level() {
        // Set at tick 1000: below 63 ticks one late, below 504 the next multiple of 8 above, below
        // 4032 of 64, below 32256 of 512.
        let expected = [
            (0, 1001),
            (40, 1041),
            (62, 1063),
            // 1063 / 8 = 132.9
            (63, 1064),
            // 1256 = 157 · 8 is not above itself.
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
