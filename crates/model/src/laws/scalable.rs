//! Scalable TCP: Kelly 2003 ("Scalable TCP: Improving Performance in Highspeed Wide Area Networks").

use super::aimd::{aimd_loss, aimd_window};
use super::quantity::{parameters, quantities};
use super::{Law, without_timeouts};
use crate::answer::Answer;
use crate::constants::{SCALABLE_INCREASE, SCALABLE_LOW_WINDOW_PACKETS, SCALABLE_REDUCTION};

/// `ln(1/0.875)`.
const FALL: f64 = 0.133_531_392_624_522_57;
/// Kelly 2003, section 2.1: `ln(1/0.875)/ln(1.01)` round trips from a loss back to the window before it.
const RECOVERY_ROUNDS: f64 = 13.419_794_235_485_892;
/// Linux `net/ipv4/tcp_scalable.c`: up to `TCP_SCALABLE_AI_CNT` packets it adds one a round trip.
const LINUX_AI_PACKETS: f64 = 100.0;

parameters! {
    /// Scalable TCP as its paper has it: Reno up to a low window.
    Scalable {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Window up to which it is Reno (Kelly 2003, section 2.2).
        legacy_window_packets: NotNegative = SCALABLE_LOW_WINDOW_PACKETS,
    }
}

parameters! {
    /// Scalable TCP as Linux has it: an eighth off at any window, and one packet a round trip up to 100.
    ScalableLinux {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
    }
}

quantities! {
    /// Results of the laws of Scalable TCP.
    ScalableMean {
        /// Mean congestion window under independent losses.
        window_packets,
        /// Mean rate there.
        rate_pps,
        /// Mean window under periodic losses, one in 1/p packets.
        periodic_window_packets,
        /// Window at a periodic loss.
        periodic_peak_packets,
        /// Time from a loss until the window has recovered.
        recovery_s,
    }
}

impl ScalableMean {
    /// Where growth is in proportion to the window.
    fn scalable(window_packets: f64, loss: f64, rtt_s: f64) -> Self {
        Self {
            window_packets,
            rate_pps: window_packets / rtt_s,
            periodic_window_packets: SCALABLE_INCREASE / (loss * FALL),
            // An epoch from r·W to W carries (1-r)·W/a packets.
            periodic_peak_packets: scalable_mean_field_window(loss),
            recovery_s: RECOVERY_ROUNDS * rtt_s,
        }
    }

    /// Where it adds a packet each round trip, and keeps `r` at a loss.
    fn additive(loss: f64, rtt_s: f64, r: f64) -> Self {
        let window_packets = aimd_window(loss, 1.0, r);
        // The mean of a straight line from r·W to W.
        let peak = 2.0 * window_packets / (1.0 + r);
        Self {
            window_packets,
            rate_pps: window_packets / rtt_s,
            periodic_window_packets: window_packets,
            periodic_peak_packets: peak,
            recovery_s: (1.0 - r) * peak * rtt_s,
        }
    }
}

impl Law for Scalable {
    const NAME: &'static str = "scalable";
    const TITLE: &'static str = "Scalable TCP by its paper: Reno up to 16 packets";
    const EQUATION: &'static str = "w = 0.08/p (single losses); 0.0749/p (periodic ones)";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window";
    const SOURCE: &'static str = "Kelly, ACM CCR 33(2), 2003, section 2; periodic losses derived";
    type Value = ScalableMean;

    #[inline]
    fn answer(&self) -> Answer<ScalableMean> {
        let many = scalable_mean_field_window(self.loss);
        let value = if many > self.legacy_window_packets {
            ScalableMean::scalable(many, self.loss, self.rtt_s)
        } else {
            ScalableMean::additive(self.loss, self.rtt_s, 0.5)
        };
        Answer::new(value, without_timeouts(self.loss))
    }
}

impl Law for ScalableLinux {
    const NAME: &'static str = "scalable-linux";
    const TITLE: &'static str = "Scalable TCP in Linux: AIMD(1, 7/8) up to 100 packets";
    const EQUATION: &'static str = "w = √(7.5/p) below 100 packets, else 0.08/p";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window";
    const SOURCE: &'static str = "Linux 6.1, net/ipv4/tcp_scalable.c; small windows derived";
    type Value = ScalableMean;

    #[inline]
    fn answer(&self) -> Answer<ScalableMean> {
        let window = scalable_linux_window(self.loss);
        let value = if window < LINUX_AI_PACKETS {
            ScalableMean::additive(self.loss, self.rtt_s, 1.0 - SCALABLE_REDUCTION)
        } else {
            ScalableMean::scalable(window, self.loss, self.rtt_s)
        };
        Answer::new(value, without_timeouts(self.loss))
    }
}

/// Kelly's own form: gain `a` for each packet that is acknowledged, loss `(1-r)·w` for each that is lost,
/// so `a / ((1-r)p) = 0.08/p`.
pub fn scalable_mean_field_window(p: f64) -> f64 {
    SCALABLE_INCREASE / (SCALABLE_REDUCTION * p)
}

/// [`ScalableLinux`]: below 100 packets Linux's module adds one packet a round trip, so that small windows
/// are those of `AIMD(1, 0.875)`.
pub fn scalable_linux_window(p: f64) -> f64 {
    let many = scalable_mean_field_window(p);
    let few = aimd_window(p, 1.0, 1.0 - SCALABLE_REDUCTION);
    if few < LINUX_AI_PACKETS { few } else { many.max(LINUX_AI_PACKETS) }
}

/// The loss at which [`scalable_linux_window`] is `w`.
pub fn scalable_linux_loss(w: f64) -> f64 {
    if w < LINUX_AI_PACKETS {
        aimd_loss(w, 1.0, 1.0 - SCALABLE_REDUCTION)
    } else {
        SCALABLE_INCREASE / (SCALABLE_REDUCTION * w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn constants() {
        assert!((FALL - libm::log(8.0 / 7.0)).abs() < 1e-15);
        assert!((RECOVERY_ROUNDS - FALL / libm::log(1.01)).abs() < 1e-12);
    }

    #[test]
    fn by_hand() {
        // 0.01/0.125 = 0.08; 0.01/ln(8/7) = 0.01/0.133531 = 0.0748888.
        for (loss, mean_field, periodic) in
            [(1e-3, 80.0, 74.889), (1e-4, 800.0, 748.89), (1e-6, 80_000.0, 74_888.8)]
        {
            let law = Scalable { loss, rtt_s: 0.1, legacy_window_packets: 16.0 };
            let found = law.evaluate().unwrap().value;
            near(found.window_packets, mean_field);
            near(found.rate_pps, mean_field * 10.0);
            near(found.periodic_window_packets, periodic);
            near(found.periodic_peak_packets, mean_field);
            // 0.133531/0.00995033 = 13.4198 round trips, whatever the window.
            near(found.recovery_s, 1.341_98);
        }
    }

    #[test]
    fn up_to_its_low_window_it_is_reno() {
        let law = Scalable { loss: 5.1e-3, rtt_s: 0.1, legacy_window_packets: 16.0 };
        // 0.08/0.0051 = 15.7, so sqrt(1.5/0.0051) = 17.1499, between 2/3 and 4/3 of it.
        let found = law.evaluate().unwrap().value;
        near(found.window_packets, 17.1499);
        near(found.periodic_peak_packets, 22.8665);
        near(found.recovery_s, 1.143_32);
        let never = Scalable { legacy_window_packets: 0.0, ..law }.evaluate().unwrap().value;
        near(never.window_packets, 15.6863);
    }

    #[test]
    fn linux() {
        // sqrt(7.5 / p) below 100 packets, so at p = 1e-3 sqrt(7500) = 86.6025.
        for (loss, window) in [(1e-3, 86.6025), (1e-4, 800.0)] {
            let found = ScalableLinux { loss, rtt_s: 0.1 }.evaluate().unwrap().value;
            near(found.window_packets, window);
            near(scalable_linux_loss(window), loss);
        }
    }
}
