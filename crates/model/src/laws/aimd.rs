//! Additive increase, multiplicative decrease, with losses after each `1/p` packets.

use super::quantity::parameters;
use super::{Law, Mean, without_timeouts};
use crate::answer::Answer;

parameters! {
    /// Reno's square-root law: Mathis, Semke, Mahdavi, Ott 1997 ("The Macroscopic Behavior of the TCP
    /// Congestion Avoidance Algorithm"), equation 3; with b = 1 it is the 1.2/√p of RFC 5166.
    Mathis {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Packets for each acknowledgement by which the window grows.
        packets_per_ack: Positive = 1.0,
    }
}

impl Law for Mathis {
    const NAME: &'static str = "mathis";
    const TITLE: &'static str = "Reno without timeouts: the square-root law";
    const EQUATION: &'static str = "w = √(3 / (2·b·p))";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window";
    const SOURCE: &'static str = "Mathis, Semke, Mahdavi, Ott, ACM CCR 27(3), 1997, equation 3";
    type Value = Mean;

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        let window = mathis_window(self.loss, self.packets_per_ack);
        Answer::new(Mean::of(window, self.rtt_s), without_timeouts(self.loss))
    }
}

parameters! {
    /// Any AIMD: `AVG_AIMD` of RFC 9438, section 4.3.
    Aimd {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Additive increase per round trip.
        increase_packets: Positive = 1.0,
        /// Share of the window kept after a loss.
        retention: Probability = 0.5,
    }
}

impl Law for Aimd {
    const NAME: &'static str = "aimd";
    const TITLE: &'static str = "Any additive increase and multiplicative decrease";
    const EQUATION: &'static str = "w = √(a·(1+r) / (2·(1−r)·p))";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window";
    const SOURCE: &'static str = "RFC 9438, section 4.3 (AVG_AIMD)";
    type Value = Mean;

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        let window = aimd_window(self.loss, self.increase_packets, self.retention);
        Answer::new(Mean::of(window, self.rtt_s), without_timeouts(self.loss))
    }
}

/// [`Mathis`]: `sqrt(3 / (2·b·p))` with `b` packets for each acknowledgement. Linux counts packets, not
/// acknowledgements (`tcp_reno_cong_avoid`): `b = 1`.
pub fn mathis_window(p: f64, packets_per_ack: f64) -> f64 {
    libm::sqrt(1.5 / (packets_per_ack * p))
}

/// [`Aimd`]: increase of `a` packets a round trip, retention `r`: `sqrt(a(1+r) / (2(1-r)p))`.
pub fn aimd_window(p: f64, a: f64, r: f64) -> f64 {
    libm::sqrt(a * (1.0 + r) / (2.0 * (1.0 - r) * p))
}

/// The loss at which [`aimd_window`] is `w`.
pub fn aimd_loss(w: f64, a: f64, r: f64) -> f64 {
    a * (1.0 + r) / (2.0 * (1.0 - r) * w * w)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn mathis_by_hand() {
        // sqrt(150) = 12.2474, by 0.1 s; sqrt(15000) = 122.474, by 0.05 s; sqrt(750) = 27.3861, by 0.04 s.
        for (loss, rtt_s, packets_per_ack, window, rate) in [
            (1e-2, 0.1, 1.0, 12.2474, 122.474),
            (1e-4, 0.05, 1.0, 122.474, 2449.49),
            (1e-3, 0.04, 2.0, 27.3861, 684.653),
        ] {
            let found = Mathis { loss, rtt_s, packets_per_ack }.evaluate().unwrap();
            near(found.value.window_packets, window);
            near(found.value.rate_pps, rate);
            assert!(found.in_range());
        }
        let lossy = Mathis { loss: 0.021, rtt_s: 0.1, packets_per_ack: 1.0 }.evaluate().unwrap();
        assert_eq!(lossy.outside, Some(crate::laws::MUCH_LOSS));
    }

    #[test]
    fn aimd_by_hand() {
        // AIMD(1, 1/2): sqrt(1.5 / (2 * 0.5 * p)) is Reno's.
        near(aimd_window(1e-2, 1.0, 0.5), 12.2474);
        near(aimd_loss(12.2474, 1.0, 0.5), 1e-2);
        // a = 4, r = 3/4: sqrt(4 * 1.75 / 0.5 / 1e-3) = sqrt(14000) = 118.322.
        let law = Aimd { loss: 1e-3, rtt_s: 0.1, increase_packets: 4.0, retention: 0.75 };
        near(law.evaluate().unwrap().value.window_packets, 118.322);
    }
}
