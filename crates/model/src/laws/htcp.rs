//! H-TCP.

use super::quantity::{parameters, quantities};
use super::{Law, without_timeouts};
use crate::answer::Answer;
use crate::constants::HTCP_RETENTIONS;
use crate::search;

/// Steps of Newton's method: the fourth or fifth is exact.
const STEPS: usize = 8;
/// Epochs between which [`htcp_loss`] looks, in seconds, and the least loss that it gives.
const EPOCHS_S: (f64, f64) = (1e-9, 1e6);
const LEAST_LOSS: f64 = 1e-15;

parameters! {
    /// H-TCP with losses after each `1/p` packets, at a constant round-trip time.
    Htcp {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Share of the window kept: least round-trip time ÷ greatest, or half if the
        /// throughput has changed by a fifth, as among random losses.
        retention: Between(0.5, 0.8) = HTCP_RETENTIONS.0,
    }
}

quantities! {
    /// One epoch of H-TCP between two losses.
    HtcpEpoch {
        /// Mean congestion window.
        window_packets,
        /// Mean rate.
        rate_pps,
        /// Window at its end.
        peak_packets,
        /// Time between the losses.
        epoch_s,
    }
}

impl Law for Htcp {
    const NAME: &'static str = "htcp";
    const TITLE: &'static str = "H-TCP: an epoch of its growth that carries 1/p packets";
    const EQUATION: &'static str = "D with (r·Wmax·D + 2(1−r)·∬α/T)/T = 1/p; w = T/(p·D)";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window, constant RTT";
    const SOURCE: &'static str = "draft-leith-tcp-htcp-06, section 2; epoch derived";
    type Value = HtcpEpoch;

    #[inline]
    fn answer(&self) -> Answer<HtcpEpoch> {
        Answer::new(htcp_epoch(self.loss, self.rtt_s, self.retention), without_timeouts(self.loss))
    }
}

/// The integral over time of `α(Δ)` up to `d`, its own integral, and `α(d)`.
///
/// `α = 1` up to 1 s after a loss, and then `1 + 10(Δ-1) + ((Δ-1)/2)²` (draft-leith-tcp-htcp-06,
/// section 2), so with `x = max(0, d-1)`: `d + 5x² + x³/12`, and `d²/2 + 5x³/3 + x⁴/48`.
#[inline]
fn growth(d: f64) -> (f64, f64, f64) {
    let x = (d - 1.0).max(0.0);
    let first = d + x * x * (5.0 + x / 12.0);
    let second = d * d / 2.0 + x * x * x * (5.0 / 3.0 + x / 48.0);
    (first, second, 1.0 + x * (10.0 + x / 4.0))
}

/// The epoch that lasts `d` seconds. H-TCP adds `2(1-r)·α(Δ)` packets a round trip.
#[inline]
fn lasting(d: f64, t: f64, r: f64) -> HtcpEpoch {
    let (first, second, _) = growth(d);
    let peak_packets = 2.0 * first / t;
    let window_packets = r * peak_packets + 2.0 * (1.0 - r) * second / (t * d);
    HtcpEpoch { window_packets, rate_pps: window_packets / t, peak_packets, epoch_s: d }
}

/// The epoch of [`Htcp`] that carries `1/p` packets, at a round-trip time of `t` seconds and retention `r`.
#[inline]
pub fn htcp_epoch(p: f64, t: f64, r: f64) -> HtcpEpoch {
    // Packets of an epoch, times T²: 2r·d·A(d) + 2(1-r)·A₂(d), which has to be T²/p.
    let target = t * (t / p);
    // Exact up to a second; the growth beyond it only makes epochs shorter.
    let mut d = libm::sqrt(target / (1.0 + r));
    if d > 1.0 {
        // Each term alone would need longer than all together: Newton's method then comes down to the
        // solution of what is convex.
        let cubic = 1.0 + libm::cbrt(target / (10.0 * r + 10.0 / 3.0 * (1.0 - r)));
        let quartic = 1.0 + libm::sqrt(libm::sqrt(target / (r / 6.0 + (1.0 - r) / 24.0)));
        d = d.min(cubic).min(quartic);
        for _ in 0..STEPS {
            let (first, second, alpha) = growth(d);
            let over = 2.0 * r * d * first + 2.0 * (1.0 - r) * second - target;
            let slope = 2.0 * r * (first + d * alpha) + 2.0 * (1.0 - r) * first;
            let step = over / slope;
            d -= step;
            // What is left after a step is about its square.
            if step < 1e-8 * d {
                break;
            }
        }
    }
    lasting(d, t, r)
}

/// The loss at which the mean window of [`htcp_epoch`] is `w`.
pub fn htcp_loss(w: f64, t: f64, r: f64) -> f64 {
    let d = search::rising(w, EPOCHS_S.0, EPOCHS_S.1, |d| lasting(d, t, r).window_packets);
    (t / (w * d)).clamp(LEAST_LOSS, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn epochs() {
        // The first by hand: x = 0.73807, so A = 1.73807 + 5·0.544747 + 0.402061/12 = 4.49531 and
        // A₂ = 1.510443 + 5·0.402061/3 + 0.296749/48 = 2.186727; the peak is 2·A/0.1 = 89.906, and the
        // epoch has (0.5·89.906·1.73807 + 2.186727/0.1)/0.1 = 781.3 + 218.7 = 1000.0 packets.
        for (loss, retention, duration, peak, mean) in [
            (1e-3, 0.5, 1.738_07, 89.907, 57.535),
            (1e-5, 0.5, 5.855_67, 2665.68, 1707.75),
            (1e-6, 0.8, 10.6228, 10_957.5, 9413.7),
        ] {
            let found = Htcp { loss, rtt_s: 0.1, retention }.evaluate().unwrap().value;
            near(found.epoch_s, duration);
            near(found.peak_packets, peak);
            near(found.window_packets, mean);
            near(htcp_loss(mean, 0.1, retention), loss);
        }
    }

    #[test]
    fn up_to_a_second_it_is_aimd() {
        // AIMD(2(1-r), r) has sqrt((1+r)/p): sqrt(1.8/0.01) = 13.4164.
        let found = Htcp { loss: 1e-2, rtt_s: 0.1, retention: 0.8 }.evaluate().unwrap().value;
        near(found.window_packets, 13.4164);
    }

    #[test]
    fn epochs_carry_their_packets() {
        for exponent in [-1.0, -2.5, -4.0, -6.0, -9.0, -12.0, -15.0, -300.0] {
            for t in [1e-6, 1e-3, 0.1, 1.0, 1e3] {
                for r in [0.5, 0.65, 0.8] {
                    let p = libm::pow(10.0, exponent);
                    let found = htcp_epoch(p, t, r);
                    let packets = found.window_packets * found.epoch_s / t;
                    assert!((packets * p - 1.0).abs() < 1e-12, "{p} {t} {r}: {found:?}");
                }
            }
        }
    }
}
