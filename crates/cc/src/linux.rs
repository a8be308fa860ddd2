//! Common parts of the Linux modules: the clock, and the ratio of segments to acknowledgements.

use fairway_units::Duration;

use crate::{Ack, Flow, Phase, window::segments};

/// Kernel ticks per second: 1000 in ns-2.35's TCP-Linux (`tcp/linux/ns-linux-c.h`) and in the Linux
/// 6.1 compared with.
pub(crate) const HZ: u64 = 1_000;

/// The kernel's clock.
pub(crate) fn jiffies(flow: &Flow) -> u64 {
    flow.now.as_millis()
}

/// A span in ticks, rounded up (Linux 6.1 `kernel/time/time.c`, `usecs_to_jiffies`).
pub(crate) fn to_jiffies(span: Duration) -> u64 {
    span.as_micros().div_ceil(1_000)
}

/// The phase in which a module is told of acknowledged segments: the one before the
/// acknowledgement, which `tcp_clean_rtx_queue` reports before `tcp_fastretrans_alert` judges it.
/// So the first duplicate of an episode counts as an acknowledgement of nothing in [`Phase::Open`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseBefore(Phase);

impl PhaseBefore {
    /// At the start of a connection.
    pub(crate) fn new() -> Self {
        PhaseBefore(Phase::Open)
    }

    /// The phase before this acknowledgement.
    pub(crate) fn on_ack(&mut self, flow: &Flow) -> Phase {
        std::mem::replace(&mut self.0, flow.phase)
    }

    /// The phase has changed behind an acknowledgement, or without one.
    pub(crate) fn change(&mut self, phase: Phase) {
        self.0 = phase;
    }
}

/// Segments that an acknowledgement acknowledged cumulatively.
pub(crate) fn packets_acked(ack: &Ack, flow: &Flow) -> u64 {
    u64::from(segments(ack.acked, flow.mss.max(1)))
}

/// Segments per acknowledgement in sixteenths, a moving average with weight 1/16 (`tcp_bic.c`
/// and `tcp_cubic.c`, `bictcp_acked`). The division truncates, so that one segment per
/// acknowledgement settles at 31, not at 16: `cnt` comes out at about half.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct DelayedAckRatio {
    sixteenths: u64,
}

impl DelayedAckRatio {
    /// Two segments per acknowledgement.
    pub(crate) fn new() -> Self {
        DelayedAckRatio { sixteenths: 32 }
    }

    /// Process an acknowledgement of `packets` segments.
    pub(crate) fn sample(&mut self, packets: u64) {
        self.sixteenths = self.sixteenths + packets - (self.sixteenths >> 4);
    }

    /// Acknowledgements expected for `count` segments, at least one.
    pub(crate) fn acknowledgements(self, count: u64) -> u64 {
        // Samples of zero lower it to 15, never to zero.
        ((count << 4) / self.sixteenths).max(1)
    }

    #[cfg(test)]
    pub(crate) fn of_sixteenths(sixteenths: u64) -> Self {
        DelayedAckRatio { sixteenths }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flow;

    #[test]
    fn the_first_duplicate_is_reported_in_the_open_phase() {
        let at = |phase| Flow { phase, ..flow(0, 100, 40) };
        let mut before = PhaseBefore::new();
        assert_eq!(before.on_ack(&at(Phase::Disorder)), Phase::Open);
        assert_eq!(before.on_ack(&at(Phase::Recovery)), Phase::Disorder);
        // The last acknowledgement of recovery, behind which the phase changes.
        assert_eq!(before.on_ack(&at(Phase::Recovery)), Phase::Recovery);
        before.change(Phase::Open);
        assert_eq!(before.on_ack(&at(Phase::Open)), Phase::Open);
    }

    #[test]
    fn one_segment_per_acknowledgement_settles_at_31() {
        // 32 + 1 − ⌊32/16⌋ = 31; 31 + 1 − ⌊31/16⌋ = 31.
        let mut ratio = DelayedAckRatio::new();
        ratio.sample(1);
        assert_eq!(ratio.sixteenths, 31);
        ratio.sample(1);
        assert_eq!(ratio.sixteenths, 31);
        // ⌊100·16/31⌋ = 51.
        assert_eq!(ratio.acknowledgements(100), 51);
    }

    #[test]
    fn three_segments_per_acknowledgement_settle_at_48() {
        // 32 → 33 … → 47 (⌊47/16⌋ = 2, one up each time) → 48, where 3 are added and 3 subtracted.
        let mut ratio = DelayedAckRatio::new();
        for _ in 0..100 {
            ratio.sample(3);
        }
        assert_eq!(ratio.sixteenths, 48);
    }

    #[test]
    fn empty_samples_never_make_it_zero() {
        let mut ratio = DelayedAckRatio::new();
        for _ in 0..1_000 {
            ratio.sample(0);
        }
        // 32, 30, … 16, 15, and then ⌊15/16⌋ = 0.
        assert_eq!(ratio.sixteenths, 15);
    }

    #[test]
    fn microseconds_round_up_to_ticks() {
        assert_eq!(to_jiffies(Duration::from_micros(1)), 1);
        assert_eq!(to_jiffies(Duration::from_micros(40_000)), 40);
        assert_eq!(to_jiffies(Duration::from_micros(40_001)), 41);
    }
}
