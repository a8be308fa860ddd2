//! When a run begins.

use crate::sys;

/// Least time between the end of the preparations and the beginning of the run.
pub const LEAD_NS: u64 = 1_000_000;
/// The kernel's tick (`CONFIG_HZ` 1000), which begins with a millisecond of its clock
/// (`kernel/time/tick-sched.c`, `tick_init_jiffy_update`).
const TICK_NS: u64 = 1_000_000;
/// Timers of up to half a minute expire at multiples of so many ticks or less (`kernel/time/timer.c`).
const TICKS: u64 = 512;

/// Now and then by the monotonic clock: `lead_ns` after now, or, in step with the simulator, the next
/// one at which timers count from zero as there. Otherwise timestamps, which count milliseconds, and
/// timeouts differ by where in their grid a run begins.
pub fn now_and_beginning(is_in_step: bool, lead_ns: u64) -> std::io::Result<[u64; 2]> {
    let list =
        if is_in_step { std::fs::read_to_string("/proc/timer_list")? } else { String::new() };
    let now_ns = sys::now_ns()?;
    let soon_ns = now_ns + lead_ns;
    let begin_ns = ticks_of(&list).map_or(soon_ns, |ticks| in_step(soon_ns, ticks));
    Ok([now_ns, begin_ns])
}

/// A time of the clock, and the tick then, of `/proc/timer_list`.
fn ticks_of(list: &str) -> Option<[u64; 2]> {
    let find = |name: &str| list.lines().find_map(|line| line.trim().strip_prefix(name));
    let now = find("now at ")?.strip_suffix(" nsecs")?;
    Some([now.parse().ok()?, find("jiffies: ")?.parse().ok()?])
}

/// The first time from `soon_ns` on at which a multiple of [`TICKS`] begins, given a tick.
fn in_step(soon_ns: u64, [at_ns, tick]: [u64; 2]) -> u64 {
    let soon = soon_ns.div_ceil(TICK_NS);
    let tick_then = tick + soon.saturating_sub(at_ns / TICK_NS);
    (soon + (TICKS - tick_then % TICKS) % TICKS) * TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_where_timers_count_from_zero() {
        let list =
            "Timer List Version: v0.9\nnow at 1234567890 nsecs\n\ncpu: 0\n  jiffies: 4294667500\n";
        let ticks = ticks_of(list).unwrap();
        assert_eq!(ticks, [1_234_567_890, 4_294_667_500]);
        // 4,294,667,500 = 8,388,022 · 512 + 236, at 1234 ms: 276 ticks later, at 1510 ms.
        assert_eq!(in_step(1_235_567_890, ticks), 1_510_000_000);
        // What begins there already waits for nothing, and a nanosecond later for the next.
        assert_eq!(in_step(1_510_000_000, ticks), 1_510_000_000);
        assert_eq!(in_step(1_510_000_001, ticks), 2_022_000_000);
        assert_eq!(ticks_of("now at soon nsecs"), None);
    }
}
