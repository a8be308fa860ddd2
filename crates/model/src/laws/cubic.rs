//! CUBIC.

use super::aimd::{aimd_loss, aimd_window};
use super::quantity::{parameters, quantities};
use super::{Law, without_timeouts};
use crate::answer::Answer;

/// RFC 9438, section 5.1, with C = 0.4 segments per cubed second and a retention of 0.7 (section 4.6):
/// `(C(3+r) / (4(1-r)))^¼` = 1.23333^¼, the factor of RFC 9438, section 5.1 (equation 5).
const FACTOR: f64 = 1.053_828_931_372_250_2;

parameters! {
    /// CUBIC with losses after each `1/p` packets: RFC 9438, section 5.1.
    Cubic {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
    }
}

quantities! {
    /// Results of CUBIC's law.
    CubicRegions {
        /// Mean congestion window: the larger of the two below.
        window_packets,
        /// Mean rate.
        rate_pps,
        /// Window of the cubic regions.
        cubic_packets,
        /// Window of the Reno-friendly region.
        reno_packets,
    }
}

impl Law for Cubic {
    const NAME: &'static str = "cubic";
    const TITLE: &'static str = "CUBIC: the larger of its cubic and its Reno-friendly window";
    const EQUATION: &'static str = "w = max(√(3/(2·p)), 1.0538·(T/p)^¾)";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window";
    const SOURCE: &'static str = "RFC 9438, sections 4.3 and 5.1, with C = 0.4 and 0.7 kept";
    type Value = CubicRegions;

    #[inline]
    fn answer(&self) -> Answer<CubicRegions> {
        let reno_packets = aimd_window(self.loss, 1.0, 0.5);
        let cubic_packets = cubic_region(self.loss, self.rtt_s);
        let window_packets = f64::max(reno_packets, cubic_packets);
        let rate_pps = window_packets / self.rtt_s;
        let value = CubicRegions { window_packets, rate_pps, cubic_packets, reno_packets };
        Answer::new(value, without_timeouts(self.loss))
    }
}

/// `1.0538·(T/p)^¾`.
#[inline]
fn cubic_region(p: f64, t: f64) -> f64 {
    // The power of ¾ by roots: they are exact to the last bit, and faster.
    let root = libm::sqrt(t / p);
    FACTOR * root * libm::sqrt(root)
}

/// [`Cubic`]: the larger of Reno's window, which its Reno-friendly region follows, and that of its cubic
/// regions, at a round-trip time of `t` seconds.
pub fn cubic_window(p: f64, t: f64) -> f64 {
    f64::max(aimd_window(p, 1.0, 0.5), cubic_region(p, t))
}

/// The loss at which [`cubic_window`] is `w`.
pub fn cubic_loss(w: f64, t: f64) -> f64 {
    aimd_loss(w, 1.0, 0.5).max(t * libm::pow(FACTOR / w, 4.0 / 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn by_hand() {
        // 0.4 · 3.7 / 1.2 = 1.233333, and its fourth root.
        let (root, r, c) = (FACTOR * FACTOR, 0.7, 0.4);
        assert!((root * root - c * (3.0 + r) / (4.0 * (1.0 - r))).abs() < 1e-15);
        // 1000^¾ = 177.828, 1e5^¾ = 5623.41, times 1.05383; sqrt(1.5e6) = 1224.745 is Reno's, where the
        // RFC's table has 1200 of its rounded 1.2/√p.
        for (loss, rtt_s, window) in
            [(1e-4, 0.1, 187.40), (1e-6, 0.1, 5926.1), (1e-6, 0.01, 1224.745)]
        {
            let found = Cubic { loss, rtt_s }.evaluate().unwrap();
            near(found.value.window_packets, window);
            near(found.value.rate_pps, window / rtt_s);
            near(cubic_loss(cubic_window(loss, rtt_s), rtt_s), loss);
        }
    }

    #[test]
    fn the_cubic_region_begins_where_reno_is_slower() {
        // (1.5/p)^½ = FACTOR·(T/p)^¾ where p = FACTOR⁴·T³/1.5² = 1.23333/2.25·T³ = 0.548·T³.
        for (share, is_cubic) in [(0.547, true), (0.549, false)] {
            let found = Cubic { loss: share * 0.001, rtt_s: 0.1 }.evaluate().unwrap().value;
            assert_eq!(found.cubic_packets > found.reno_packets, is_cubic);
        }
    }
}
