//! How long a short transfer takes: Cardwell, Savage, Anderson 2000 ("Modeling TCP Latency"), whose
//! sections are named below.

use super::pftk::{backoffs, timeout_share};
use super::quantity::{parameters, quantities};
use super::{Law, Pftk};
use crate::answer::Answer;
use crate::error::Error;

const MORE_LOSS: &str = "loss above 30 %: beyond what the model was held against";

parameters! {
    /// A transfer over a new connection of Reno.
    Cardwell {
        /// Packets to transfer.
        data_packets: OneOrMore,
        /// Probability of a loss event for a packet.
        loss: Share,
        /// Round-trip time.
        rtt_s: Positive,
        /// First retransmission timeout of data.
        rto_s: Positive,
        /// Packets for each acknowledgement by which the window grows.
        packets_per_ack: Positive = 1.0,
        /// Initial window.
        initial_window_packets: OneOrMore = 10.0,
        /// Limit of the window: the receiver's, or the send buffer.
        window_limit_packets: LimitOfOne = f64::INFINITY,
        /// Probability that a SYN is lost.
        syn_loss: Between(0.0, 0.45) = 0.0,
        /// Probability that a SYN-ACK is lost.
        syn_ack_loss: Between(0.0, 0.45) = 0.0,
        /// First retransmission timeout of a SYN: 1 s (RFC 6298), before that 3 s (RFC 2988).
        syn_timeout_s: NotNegative = 1.0,
        /// Delay of the first packet's acknowledgement: 0.1 s to 0.15 s on average where the
        /// initial window is one packet.
        ack_delay_s: NotNegative = 0.0,
    }
}

quantities! {
    /// Latency of the transfer, and its parts.
    Latency {
        /// Latency of the whole transfer.
        latency_s,
        /// Packets over that time.
        rate_pps,
        /// The handshake (section II-B).
        handshake_s,
        /// Packets that slow start is expected to send (section II-C).
        slow_start_packets,
        /// Slow start until its first loss, or the end.
        slow_start_s,
        /// The recovery from that loss (section II-D).
        first_loss_s,
        /// The rest, in congestion avoidance (section II-E).
        avoidance_s,
    }
}

impl Law for Cardwell {
    const NAME: &'static str = "cardwell";
    const TITLE: &'static str = "Latency of a transfer: handshake, slow start, losses, the rest";
    const EQUATION: &'static str =
        "Lh + T·log_g(E·(g−1)/w1 + 1) + l·(Q·T0·G/(1−p) + (1−Q)·T) + (d−E)/R";
    const RANGE: &'static str = "loss up to 30 %";
    const SOURCE: &'static str = "Cardwell, Savage, Anderson, INFOCOM 2000, section II";
    type Value = Latency;

    fn consistent(&self) -> Result<(), Error> {
        if self.initial_window_packets <= self.window_limit_packets {
            return Ok(());
        }
        Err(Error {
            quantity: "initial_window_packets",
            expected: "no more than window_limit_packets",
            found: self.initial_window_packets,
        })
    }

    #[inline]
    fn answer(&self) -> Answer<Latency> {
        Answer::new(latency(self), (self.loss > 0.3).then_some(MORE_LOSS))
    }
}

fn latency(asked: &Cardwell) -> Latency {
    let Cardwell { data_packets: d, loss: p, rtt_s, rto_s, packets_per_ack, .. } = *asked;
    let handshake_s = handshake_s(asked);
    // ln of the probability that no packet is lost.
    let none_lost = d * libm::log1p(-p);
    let is_lossy = -libm::expm1(none_lost);
    let slow_start_packets = slow_start_packets(d, p, is_lossy);
    let growth = 1.0 + 1.0 / packets_per_ack;
    let window =
        slow_start_packets * (growth - 1.0) / growth + asked.initial_window_packets / growth;
    let slow_start_s = rtt_s * slow_start_rounds(asked, slow_start_packets, window, growth);
    let timeouts = if p > 0.0 { timeout_share(p, window) } else { 0.0 };
    let timeout_s = backoffs(p) * rto_s / (1.0 - p);
    let first_loss_s = is_lossy * (timeouts * timeout_s + (1.0 - timeouts) * rtt_s);
    let avoidance_s = if slow_start_packets < d {
        let window_limit_packets = asked.window_limit_packets;
        let rest = Pftk { loss: p, rtt_s, rto_s, packets_per_ack, window_limit_packets };
        (d - slow_start_packets) / rest.answer().value.throughput_pps
    } else {
        0.0
    };
    let latency_s = handshake_s + slow_start_s + first_loss_s + avoidance_s + asked.ack_delay_s;
    Latency {
        latency_s,
        rate_pps: d / latency_s,
        handshake_s,
        slow_start_packets,
        slow_start_s,
        first_loss_s,
        avoidance_s,
    }
}

/// A round trip, and a timeout, then twice as long, for each loss in either direction.
fn handshake_s(asked: &Cardwell) -> f64 {
    let tries = |p: f64| (1.0 - p) / (1.0 - 2.0 * p);
    asked.rtt_s + asked.syn_timeout_s * (tries(asked.syn_loss) + tries(asked.syn_ack_loss) - 2.0)
}

/// Packets up to and with the first that is lost, of `d`; no more than all of them, which the paper's sum
/// exceeds by one at a loss of next to none (derived).
fn slow_start_packets(d: f64, p: f64, is_lossy: f64) -> f64 {
    if p == 0.0 {
        return d;
    }
    f64::min(d, is_lossy * (1.0 - p) / p + 1.0)
}

/// Round trips in which slow start sends so many packets; at the limit of the window it stays there.
fn slow_start_rounds(asked: &Cardwell, packets: f64, window: f64, growth: f64) -> f64 {
    let Cardwell { initial_window_packets: first, window_limit_packets: limit, .. } = *asked;
    let rounds = |ratio: f64| libm::log(ratio) / libm::log(growth);
    if window <= limit {
        return rounds(packets * (growth - 1.0) / first + 1.0);
    }
    let until_limit = (growth * limit - first) / (growth - 1.0);
    rounds(limit / first) + 1.0 + (packets - until_limit) / limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    fn transfer(data_packets: f64, loss: f64, rtt_s: f64, rto_s: f64) -> Cardwell {
        Cardwell {
            data_packets,
            loss,
            rtt_s,
            rto_s,
            packets_per_ack: 1.0,
            initial_window_packets: 10.0,
            window_limit_packets: f64::INFINITY,
            syn_loss: loss,
            syn_ack_loss: loss,
            syn_timeout_s: 3.0,
            ack_delay_s: 0.0,
        }
    }

    #[test]
    fn without_loss() {
        // 2 + 4 + 8 packets have 10 in them: 0.1 s of handshake and 0.1·log2(10/2 + 1) = 0.258496 s.
        let asked = Cardwell { initial_window_packets: 2.0, ..transfer(10.0, 0.0, 0.1, 0.3) };
        near(asked.evaluate().unwrap().value.latency_s, 0.358_496);
        // At a limit of 4: 2, 4 and 4 packets. By hand: log2(4/2) + 1 = 2 round trips carry 6, and the
        // other 4 take one more.
        let limited = Cardwell { window_limit_packets: 4.0, ..asked };
        near(limited.evaluate().unwrap().value.slow_start_s, 0.3);
    }

    #[test]
    fn a_hundred_packets() {
        let asked = Cardwell {
            packets_per_ack: 2.0,
            initial_window_packets: 2.0,
            window_limit_packets: 64.0,
            ..transfer(100.0, 0.01, 0.1, 0.3)
        };
        let found = asked.evaluate().unwrap().value;
        // 0.1 + 3·(2·0.99/0.98 − 2) = 0.161224; 0.99^100 = 0.366032, so (1 − 0.366032)·99 + 1 = 63.763;
        // 0.1·ln(63.763·0.5/2 + 1)/ln 1.5 = 0.1·2.829705/0.405465 = 0.697895.
        near(found.handshake_s, 0.161_224);
        near(found.slow_start_packets, 63.763);
        near(found.slow_start_s, 0.697_895);
        near(found.first_loss_s, 0.085_821);
        near(found.avoidance_s, 0.482_579);
        near(found.latency_s, 1.427_527);
        near(found.rate_pps, 100.0 / 1.427_527);
    }

    #[test]
    fn a_thousand_packets() {
        let asked = Cardwell { window_limit_packets: 256.0, ..transfer(1000.0, 0.001, 0.05, 0.2) };
        near(asked.evaluate().unwrap().value.latency_s, 0.891_976);
    }

    #[test]
    fn a_loss_of_next_to_none_is_none() {
        let none = transfer(10.0, 0.0, 0.1, 0.3).evaluate().unwrap().value.latency_s;
        near(transfer(10.0, 1e-300, 0.1, 0.3).evaluate().unwrap().value.latency_s, none);
        near(transfer(10.0, 1e-12, 0.1, 0.3).evaluate().unwrap().value.latency_s, none);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = transfer(10.0, 0.01, 0.1, 0.3);
        let bad = Cardwell { window_limit_packets: 9.0, ..good };
        assert_eq!(bad.evaluate().unwrap_err().quantity, "initial_window_packets");
        let bad = Cardwell { syn_loss: 0.5, ..good }.evaluate().unwrap_err();
        assert_eq!(bad.to_string(), "syn_loss: expected a number from 0.0 to 0.45, got 0.5");
    }
}
