//! How the average of Linux's RED decays while the link is idle.

use fairway_units::Duration;

/// The table that `tc` computes (iproute2 `tc/tc_red.c`, `tc_red_eval_idle_damping`) as the kernel
/// uses it (`include/net/red.h`, `red_calc_qavg_from_idle_time`). It is not what either means: `tc`
/// counts in ticks of 64 ns, with natural logarithms; the kernel looks up microseconds, and halves
/// the average as often as it finds there. Up to the first entry it falls by a straight line. So it
/// reaches one half about when it should, and then stays there some twenty times too long.
#[derive(Clone, Debug)]
pub(super) struct IdleDecay {
    /// Microseconds of an entry of the table, as a power of two.
    cell_log: u32,
    /// What each entry is larger than the one before, before it is rounded down.
    step: f64,
}

/// Entries of the table (`RED_STAB_SIZE`), the last of which stands for all that is longer.
const LAST_CELL: u64 = 255;
/// The largest entry.
const MAX_HALVINGS: f64 = 31.0;
/// A tick of the packet schedulers (`include/net/pkt_sched.h`, `PSCHED_SHIFT`).
const TICK_NANOS: f64 = 64.0;

impl IdleDecay {
    pub(super) fn new(weight: f64, typical_transmission: Duration) -> Self {
        let packet_ticks = libm::ceil(typical_transmission.as_nanos() as f64 / TICK_NANOS).max(1.0);
        let per_tick = -libm::log(1.0 - weight) / packet_ticks;
        let ticks_to_last = MAX_HALVINGS / per_tick;
        // The first of 32 that brings the whole time into 512 cells.
        let fits = |log: &u32| ticks_to_last / ((1u64 << log) as f64) < 512.0;
        let cell_log = (0..32).find(fits).unwrap_or(31);
        IdleDecay { cell_log, step: (1u64 << cell_log) as f64 * per_tick }
    }

    /// What has become of an average after this time.
    pub(super) fn after(&self, idle: Duration, average: f64) -> f64 {
        let micros = idle.as_micros().min(LAST_CELL << self.cell_log);
        let cell = micros >> self.cell_log;
        let halvings = match cell {
            LAST_CELL => MAX_HALVINGS,
            cell => libm::floor(cell as f64 * self.step).min(MAX_HALVINGS),
        };
        if halvings >= 1.0 {
            average / (1u64 << halvings as u32) as f64
        } else {
            let lost = average * micros as f64 / (1u64 << self.cell_log) as f64;
            average - lost.min(average / 2.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn down_to_a_half_by_a_straight_line_and_then_by_halves() {
        // W = 1/16; a packet of 800 µs is 12,500 ticks. −ln(15/16)/12500 = 5.16308·10⁻⁶; 31 of it
        // are 6.004·10⁶ ticks, 366 cells of 2¹⁴ (and 733 of 2¹³). A cell is 0.08459: 12 are 1.015,
        // 23 are 1.946 and 24 are 2.030.
        let decay = IdleDecay::new(1.0 / 16.0, Duration::from_micros(800));
        assert_eq!(decay.cell_log, 14);
        let after = |micros| decay.after(Duration::from_micros(micros), 64.0);
        assert_eq!(after(0), 64.0);
        assert_eq!(after(4096), 48.0);
        assert_eq!(after(8192), 32.0);
        assert_eq!(after(24 * 16_384 - 1), 32.0);
        assert_eq!(after(24 * 16_384), 16.0);
        // 0.08459 · 254 = 21.5; the last entry is 31 whatever it should be.
        assert_eq!(after(254 * 16_384), 64.0 / f64::from(1u32 << 21));
        assert_eq!(after(u64::MAX / 1000), 64.0 / f64::from(1u32 << 31));
    }

    #[test]
    fn weights_for_which_there_is_no_table() {
        let all = IdleDecay::new(1.0, Duration::from_micros(800));
        assert_eq!(all.after(Duration::from_micros(2), 64.0), 64.0 / f64::from(1u32 << 31));
        let none = IdleDecay::new(0.0, Duration::from_micros(800));
        assert_eq!(none.after(Duration::ZERO, 64.0), 64.0);
        assert!(none.after(Duration::from_secs(1_000_000), 64.0) > 0.0);
    }
}
