//! HighSpeed TCP.

use fairway_cc::Variant::Paper;
use fairway_cc::default_of;

use super::aimd::{aimd_loss, aimd_window};
use super::quantity::{parameters, quantities};
use super::{Law, without_timeouts};
use crate::answer::Answer;
use crate::constants::HIGHSPEED_LOW_WINDOW_PACKETS;

/// RFC 3649, section 5: Low_Window and Low_P, High_Window and High_P, High_Decrease. The algorithm itself has
/// the RFC's rounded p(w) = 0.078/w^1.2, and so another a(w).
const LOW: (f64, f64) = (HIGHSPEED_LOW_WINDOW_PACKETS, 1e-3);
const HIGH: (f64, f64) =
    (default_of("highspeed", Paper, "high_window"), default_of("highspeed", Paper, "high_p"));
const HIGH_DECREASE: f64 = default_of("highspeed", Paper, "high_decrease");
/// `ln(83000/38)`.
const SPAN: f64 = 7.689_009_727_052_349;
/// RFC 3649, section 5: `S = log(83000/38) / log(1e-7/1e-3)`, the slope in logarithms.
const SLOPE: f64 = -0.834_823_623_939_816;

const BEYOND: &str = "loss below 1e-7: windows beyond High_Window, 83,000 packets";

parameters! {
    /// HighSpeed TCP with losses after each `1/p` packets: RFC 3649, section 5.
    HighSpeed {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
    }
}

quantities! {
    /// Results of HighSpeed TCP's law.
    HighSpeedPoint {
        /// Mean congestion window.
        window_packets,
        /// Mean rate.
        rate_pps,
        /// Increase per round trip at that window, a(w).
        increase_packets,
        /// Share given up at a loss at that window, b(w).
        reduction,
    }
}

impl Law for HighSpeed {
    const NAME: &'static str = "highspeed";
    const TITLE: &'static str = "HighSpeed TCP: a line in logarithms above 38 packets, else Reno";
    const EQUATION: &'static str = "w = 38·(p/0.001)^−0.8348 where p ≤ 0.001";
    const RANGE: &'static str = "loss from 1e-7 to 2 %, no limit of the window";
    const SOURCE: &'static str = "RFC 3649, section 5, with its default parameters";
    type Value = HighSpeedPoint;

    #[inline]
    fn answer(&self) -> Answer<HighSpeedPoint> {
        let window_packets = highspeed_window(self.loss);
        let reduction = highspeed_reduction(window_packets);
        let increase_packets =
            if self.loss < LOW.1 { increase(window_packets, self.loss, reduction) } else { 1.0 };
        let rate_pps = window_packets / self.rtt_s;
        let value = HighSpeedPoint { window_packets, rate_pps, increase_packets, reduction };
        // Rounding puts the window of High_P itself on either side.
        let beyond = (self.loss < HIGH.1 * (1.0 - 1e-9)).then_some(BEYOND);
        Answer::new(value, beyond.or(without_timeouts(self.loss)))
    }
}

/// [`HighSpeed`]: `38·(p/10⁻³)^S` above 38 packets, Reno's window below.
pub fn highspeed_window(p: f64) -> f64 {
    let (window, loss) = LOW;
    if p >= loss {
        // Reno's at Low_P is 38.73: the RFC rounds.
        return aimd_window(p, 1.0, 0.5).min(window);
    }
    window * libm::pow(p / loss, SLOPE)
}

/// The loss at which [`highspeed_window`] is `w`.
pub fn highspeed_loss(w: f64) -> f64 {
    let (window, loss) = LOW;
    if w <= window {
        return aimd_loss(w, 1.0, 0.5);
    }
    loss * libm::pow(w / window, 1.0 / SLOPE)
}

/// The share of its window that HighSpeed TCP gives up at a window of `w`: `b(w)` of RFC 3649, section 5.
pub fn highspeed_reduction(w: f64) -> f64 {
    let along = libm::log(w.clamp(LOW.0, HIGH.0) / LOW.0) / SPAN;
    0.5 + (HIGH_DECREASE - 0.5) * along
}

/// What HighSpeed TCP adds each round trip at a window of `w`: `a(w)` of RFC 3649, section 5.
pub fn highspeed_increase(w: f64) -> f64 {
    if w <= LOW.0 {
        return 1.0;
    }
    increase(w, highspeed_loss(w), highspeed_reduction(w))
}

/// `w²·p(w)·2b/(2-b)`.
fn increase(w: f64, p: f64, b: f64) -> f64 {
    w * w * p * 2.0 * b / (2.0 - b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn constants() {
        assert!((SPAN - libm::log(HIGH.0 / LOW.0)).abs() < 1e-12);
        assert!((SLOPE - libm::log(HIGH.0 / LOW.0) / libm::log(HIGH.1 / LOW.1)).abs() < 1e-12);
    }

    #[test]
    fn windows() {
        // 38·10^0.834824, 38·10^1.669648 and 83000; the RFC's table has 263, 1795 and 83981 of its
        // rounded 0.12/p^0.835.
        for (loss, window) in [(1e-4, 259.78), (1e-5, 1775.95), (1e-7, 83_000.0)] {
            let found = HighSpeed { loss, rtt_s: 0.1 }.evaluate().unwrap();
            near(found.value.window_packets, window);
            assert!(found.in_range(), "{found:?}");
            near(highspeed_loss(window), loss);
        }
        // Reno's up to 38 packets.
        near(highspeed_window(1e-2), 12.2474);
        let beyond = HighSpeed { loss: 9e-8, rtt_s: 0.1 }.evaluate().unwrap();
        assert_eq!(beyond.outside, Some(BEYOND));
    }

    #[test]
    fn increases_and_reductions() {
        // RFC 3649, table in appendix B: w = 118: a 2, b 0.44; 1058: 8, 0.33; 83000 (its 83981): 72,
        // 0.10. By hand at 118: ln(118/38) = 1.13310, by 7.68901 = 0.147366, so b = 0.441054;
        // p = 0.001·(118/38)^−1.19786 = 2.57357e-4; 118²·p·0.882107/1.558946 = 2.02764.
        for (w, a, b) in
            [(118.0, 2.02764, 0.441054), (1058.0, 8.13616, 0.326945), (83e3, 72.516, 0.1)]
        {
            near(highspeed_increase(w), a);
            near(highspeed_reduction(w), b);
            let there = HighSpeed { loss: highspeed_loss(w), rtt_s: 1.0 }.evaluate().unwrap().value;
            near(there.increase_packets, a);
            near(there.reduction, b);
        }
        assert_eq!((highspeed_increase(20.0), highspeed_reduction(20.0)), (1.0, 0.5));
    }
}
