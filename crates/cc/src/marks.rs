//! Fraction of marks in one window of data, for algorithms that respond to it.

use crate::{Ack, Flow};

/// Bytes delivered and marked since an observation window began.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct ObservationWindow {
    /// First byte sent after the window began.
    end: u64,
    delivered: u64,
    marked: u64,
}

impl ObservationWindow {
    /// Count an acknowledgement.
    pub(crate) fn count(&mut self, ack: &Ack) {
        self.delivered = self.delivered.saturating_add(ack.delivered);
        self.marked = self.marked.saturating_add(ack.ce.min(ack.delivered));
    }

    /// Whether all data outstanding at its start is acknowledged (Linux).
    pub(crate) fn is_acknowledged(&self, flow: &Flow) -> bool {
        flow.snd_una >= self.end
    }

    /// Whether data sent after its start is acknowledged (RFC 8257 section 3.3 step 2).
    pub(crate) fn is_passed(&self, flow: &Flow) -> bool {
        flow.snd_una > self.end
    }

    /// Fraction of marks in units of 1/`scale`, rounded down.
    pub(crate) fn share(&self, scale: u64) -> u64 {
        let share = u128::from(self.marked) * u128::from(scale) / u128::from(self.delivered.max(1));
        // At most the delivered bytes are marked.
        share as u64
    }

    /// Fraction of marks.
    pub(crate) fn fraction(&self) -> f64 {
        self.marked as f64 / self.delivered.max(1) as f64
    }

    /// Begin the next window.
    pub(crate) fn restart(&mut self, flow: &Flow) {
        *self = ObservationWindow { end: flow.snd_nxt, delivered: 0, marked: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack, flow};

    #[test]
    fn fractions_round_down_and_never_exceed_one() {
        // One of three in 1/1024: ⌊341.3⌋.
        let mut window = ObservationWindow::default();
        for segments in [1, 2] {
            window.count(&Ack { ce: u64::from(MSS) * (2 - segments), ..ack(segments, 40) });
        }
        assert_eq!(window.share(1024), 341);
        window.count(&Ack { ce: u64::MAX, ..ack(1, 40) });
        assert_eq!(window.fraction(), 0.5);
    }

    #[test]
    fn it_ends_with_the_data_outstanding_at_its_start() {
        let mut window = ObservationWindow::default();
        let start = flow(0, 10, 40);
        assert!(window.is_acknowledged(&start) && !window.is_passed(&start));
        window.restart(&start);
        let end = Flow { snd_una: 10 * u64::from(MSS), ..start };
        assert!(!window.is_acknowledged(&start));
        assert!(window.is_acknowledged(&end) && !window.is_passed(&end));
        assert_eq!(window.share(1024), 0);
    }
}
