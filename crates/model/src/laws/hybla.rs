//! TCP Hybla: Caini, Firrincieli 2004 ("TCP Hybla: a TCP enhancement for heterogeneous networks").

use fairway_cc::equations::hybla::rho;

use super::aimd::mathis_window;
use super::quantity::{parameters, quantities};
use super::{Law, without_timeouts};
use crate::answer::Answer;
use crate::constants::HYBLA_REFERENCE_RTT_S;

parameters! {
    /// Hybla with losses after each `1/p` packets.
    Hybla {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Round-trip time of the reference connection.
        reference_rtt_s: Positive = HYBLA_REFERENCE_RTT_S,
        /// Packets for each acknowledgement by which the window grows.
        packets_per_ack: Positive = 1.0,
    }
}

quantities! {
    /// Results of Hybla's law.
    HyblaMean {
        /// Mean congestion window.
        window_packets,
        /// Mean rate, which does not depend on the round-trip time.
        rate_pps,
        /// Round-trip time ÷ reference, at least 1.
        rho,
    }
}

impl Law for Hybla {
    const NAME: &'static str = "hybla";
    const TITLE: &'static str = "Hybla: Reno's rate at a reference round-trip time of 25 ms";
    const EQUATION: &'static str = "w = ρ·√(3/(2·b·p)), ρ = max(1, T/T0)";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window";
    const SOURCE: &'static str = "Caini, Firrincieli, IJSCN 22, 2004; periodic losses derived";
    type Value = HyblaMean;

    #[inline]
    fn answer(&self) -> Answer<HyblaMean> {
        let rho = rho(self.rtt_s, self.reference_rtt_s);
        // It adds ρ² packets a round trip and keeps half: AIMD with a = ρ².
        let window_packets = rho * mathis_window(self.loss, self.packets_per_ack);
        let value = HyblaMean { window_packets, rate_pps: window_packets / self.rtt_s, rho };
        Answer::new(value, without_timeouts(self.loss))
    }
}

parameters! {
    /// Hybla's window while nothing is lost.
    HyblaGrowth {
        /// Time since the start of the connection.
        time_s: NotNegative,
        /// Round-trip time.
        rtt_s: Positive,
        /// Slow start threshold of the reference connection; Hybla's own is ρ times that.
        threshold_packets: OneOrMore,
        /// Round-trip time of the reference connection.
        reference_rtt_s: Positive = HYBLA_REFERENCE_RTT_S,
    }
}

quantities! {
    /// Hybla's window at a time.
    HyblaPoint {
        /// Congestion window.
        window_packets,
        /// Rate, which does not depend on the round-trip time.
        rate_pps,
        /// When slow start ends.
        slow_start_s,
    }
}

impl Law for HyblaGrowth {
    const NAME: &'static str = "hybla-growth";
    const TITLE: &'static str = "Hybla's window over time while nothing is lost";
    const EQUATION: &'static str = "ρ·2^(ρt/T) up to tγ = T·log2(γ)/ρ, then ρ·(ρ·(t−tγ)/T + γ)";
    const RANGE: &'static str = "no loss, no limit of the window";
    const SOURCE: &'static str =
        "Caini, Firrincieli, IJSCN 22, 2004; Khader 2020, equations 3.6 to 3.13";
    type Value = HyblaPoint;

    #[inline]
    fn answer(&self) -> Answer<HyblaPoint> {
        let rho = rho(self.rtt_s, self.reference_rtt_s);
        // The reference connection's round trips.
        let rounds = rho * self.time_s / self.rtt_s;
        let until_threshold = libm::log2(self.threshold_packets);
        let window_packets = if rounds <= until_threshold {
            rho * libm::exp2(rounds)
        } else {
            rho * (rounds - until_threshold + self.threshold_packets)
        };
        let value = HyblaPoint {
            window_packets,
            rate_pps: window_packets / self.rtt_s,
            slow_start_s: self.rtt_s * until_threshold / rho,
        };
        Answer::new(value, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn under_losses() {
        // sqrt(1500)/0.025 = 1549.19; sqrt(75)/0.025 = 346.41; below 25 ms Reno: sqrt(15000)/0.02.
        for (loss, rtt_s, packets_per_ack, rate) in
            [(1e-3, 0.3, 1.0, 1549.19), (1e-2, 0.1, 2.0, 346.41), (1e-4, 0.02, 1.0, 6123.72)]
        {
            let law = Hybla { loss, rtt_s, reference_rtt_s: 0.025, packets_per_ack };
            near(law.evaluate().unwrap().value.rate_pps, rate);
        }
    }

    #[test]
    fn over_time() {
        // ρ = 12, and 25 ms·log2(32) = 0.125 s. 12·2² = 48, 12·2⁵ = 384; at 1 s
        // 12·(12·0.875/0.3 + 32) = 12·67 = 804.
        for (time_s, window) in [(0.0, 12.0), (0.05, 48.0), (0.125, 384.0), (1.0, 804.0)] {
            let law =
                HyblaGrowth { time_s, rtt_s: 0.3, threshold_packets: 32.0, reference_rtt_s: 0.025 };
            let found = law.evaluate().unwrap().value;
            near(found.window_packets, window);
            near(found.rate_pps, window / 0.3);
            near(found.slow_start_s, 0.125);
        }
        // Below the reference it is Reno: 2² packets after two round trips of 10 ms.
        let law = HyblaGrowth {
            time_s: 0.02,
            rtt_s: 0.01,
            threshold_packets: 32.0,
            reference_rtt_s: 0.025,
        };
        near(law.evaluate().unwrap().value.window_packets, 4.0);
    }
}
