//! BIC as a patch to ns-2 (`windowOption_` 12). The patch is not public; its parameters are, by the
//! scripts that set them. This is what its authors wrote for Linux at the time (Linux 2.6.22
//! `net/ipv4/tcp_bic.c`, `bictcp_update`), in real numbers and without the count of
//! acknowledgements.

use crate::Flow;
use crate::ns2::Ns2Rule;

pub(super) struct Ns2 {
    /// Factor of the window after a loss.
    pub(super) beta: f64,
    pub(super) max_increment: f64,
    pub(super) smooth_part: f64,
    pub(super) low_window: f64,
    pub(super) fast_convergence: bool,
    /// Window of the last loss.
    pub(super) w_max: Option<f64>,
    pub(super) before_loss: Option<f64>,
}

/// Divisor of the distance in each step (`BICTCP_B`).
const PART: f64 = 4.0;

/// With the parameters of the study's script.
pub(super) fn scripted(w_max: Option<f64>) -> Ns2 {
    Ns2 {
        beta: 0.8,
        max_increment: 32.0,
        smooth_part: 20.0,
        low_window: 14.0,
        fast_convergence: true,
        w_max,
        before_loss: None,
    }
}

impl Ns2 {
    /// Growth in a round trip.
    pub(super) fn step(&self, cwnd: f64) -> f64 {
        let Some(w_max) = self.w_max else { return self.max_increment };
        let smooth = PART / self.smooth_part;
        if cwnd < w_max {
            let part = (w_max - cwnd) / PART;
            if part <= 1.0 { smooth } else { part.min(self.max_increment) }
        } else if cwnd < w_max + PART {
            smooth
        } else {
            // Growth beyond the maximum mirrors that below it.
            ((cwnd - w_max) / (PART - 1.0)).min(self.max_increment)
        }
    }
}

impl Ns2Rule for Ns2 {
    fn increment(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        if cwnd <= self.low_window { 1.0 / cwnd } else { self.step(cwnd) / cwnd }
    }

    fn reduced(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        self.before_loss = self.w_max;
        let falling = self.fast_convergence && self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if falling { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd });
        if cwnd <= self.low_window { cwnd / 2.0 } else { cwnd * self.beta }
    }

    fn on_spurious(&mut self) {
        self.w_max = self.before_loss;
    }
}

#[cfg(test)]
mod tests {
    use super::scripted;
    use crate::ns2::Ns2Rule;
    use crate::testing::flow;

    #[test]
    fn growth_is_slow_near_the_maximum() {
        // 4/20 of a segment in a round trip, from four below the maximum to four above.
        let rule = scripted(Some(1000.0));
        assert_eq!(rule.step(996.0), 0.2);
        assert_eq!(rule.step(1003.0), 0.2);
        assert_eq!(rule.step(995.0), 1.25);
        assert_eq!(rule.step(1200.0), 32.0);
    }

    #[test]
    fn a_falling_maximum_is_lowered() {
        // 900 after 1000: (900 + 720)/2.
        let mut rule = scripted(Some(1000.0));
        assert!((rule.reduced(900.0, &flow(0, 900, 100)) - 720.0).abs() < 1e-9);
        assert!((rule.w_max.unwrap() - 810.0).abs() < 1e-9);
        assert_eq!(rule.reduced(10.0, &flow(0, 10, 100)), 5.0);
    }
}
