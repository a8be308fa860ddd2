//! Reno with timeouts and a limit of the window: Padhye, Firoiu, Towsley, Kurose 1998 ("Modeling TCP
//! Throughput: A Simple Model and its Empirical Validation"), whose equations are numbered below.

use super::quantity::{parameters, quantities};
use super::{Law, Parameters};
use crate::answer::Answer;
use crate::error::{Error, positive};
use crate::search;

const MORE_LOSS: &str = "loss above 30 %: beyond what the model was held against";

parameters! {
    /// Where a stream runs. Losses within a round trip come together, and no SACK repairs them.
    Pftk {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// First retransmission timeout.
        rto_s: Positive,
        /// Packets for each acknowledgement by which the window grows.
        packets_per_ack: Positive = 1.0,
        /// Limit of the window: the receiver's, or the send buffer.
        window_limit_packets: LimitOfOne = f64::INFINITY,
    }
}

quantities! {
    /// What the model says of it.
    PftkRates {
        /// Packets received a second (equation 38).
        throughput_pps,
        /// Packets sent a second (equation 32).
        send_pps,
        /// Sending rate by the well-known approximation (equation 33).
        approximate_pps,
        /// Mean window at a loss event, where nothing but loss limits it (equation 13).
        unlimited_window_packets,
        /// Mean window at a loss event, not more than the limit.
        window_packets,
        /// Share of the loss events that end in a timeout (equation 24).
        timeouts,
    }
}

impl Law for Pftk {
    const NAME: &'static str = "pftk";
    const TITLE: &'static str = "Reno with timeouts and a limit of the window";
    const EQUATION: &'static str = "((1−p)/p + w/2 + Q) / (T·(b·w/2 + 1) + Q·T0·G(p)/(1−p))";
    const RANGE: &'static str = "loss up to 30 %";
    const SOURCE: &'static str =
        "Padhye, Firoiu, Towsley, Kurose, SIGCOMM 1998, equations 13, 24, 27, 32, 33, 38";
    type Value = PftkRates;

    #[inline]
    fn answer(&self) -> Answer<PftkRates> {
        Answer::new(rates(self), (self.loss > 0.3).then_some(MORE_LOSS))
    }
}

fn rates(asked: &Pftk) -> PftkRates {
    let Pftk { loss: p, rtt_s, rto_s, packets_per_ack: b, window_limit_packets: limit } = *asked;
    let base = (2.0 + b) / (3.0 * b);
    let unlimited = base + libm::sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + base * base);
    let (window, round_trips) = if unlimited < limit {
        (unlimited, b * unlimited / 2.0 + 1.0)
    } else {
        (limit, b * limit / 8.0 + (1.0 - p) / (p * limit) + 2.0)
    };
    let timeouts = timeout_share(p, window);
    let time_s = rtt_s * round_trips + timeouts * rto_s * backoffs(p) / (1.0 - p);
    let between = (1.0 - p) / p;
    let slow = libm::sqrt(2.0 * b * p / 3.0) * rtt_s;
    let waits =
        rto_s * f64::min(1.0, 3.0 * libm::sqrt(3.0 * b * p / 8.0)) * p * (1.0 + 32.0 * p * p);
    PftkRates {
        throughput_pps: (between + window / 2.0 + timeouts) / time_s,
        send_pps: (between + window + timeouts / (1.0 - p)) / time_s,
        approximate_pps: f64::min(limit / rtt_s, 1.0 / (slow + waits)),
        unlimited_window_packets: unlimited,
        window_packets: window,
        timeouts,
    }
}

/// Timeouts in units of the first, weighted by how often they double (equation 27).
pub(super) fn backoffs(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

/// The probability that a loss event at a window of `w` ends in a timeout (equation 24).
pub(super) fn timeout_share(p: f64, w: f64) -> f64 {
    if w <= 3.0 {
        return 1.0;
    }
    let kept = 1.0 - p;
    let three = kept * kept * kept;
    // By logarithms, so that small losses keep their digits: 1 - (1-p)^n = -expm1(n·log1p(-p)). One
    // power is enough: (1-p)^(w-3) = (1-p)^w / (1-p)^3.
    let lost_of_w = -libm::expm1(w * libm::log1p(-p));
    let lost_of_three = p * (3.0 - p * (3.0 - p));
    let lost_beyond = (lost_of_w - lost_of_three) / three;
    f64::min(1.0, lost_of_three * (1.0 + three * lost_beyond) / lost_of_w)
}

/// The loss at which [`PftkRates::throughput_pps`] is `throughput_pps`, all else as in `asked`.
///
/// # Errors
/// [`Error`] of the first parameter that makes no sense; a throughput that is not above zero.
pub fn pftk_loss(throughput_pps: f64, asked: &Pftk) -> Result<f64, Error> {
    positive("throughput in packets a second", throughput_pps)?;
    asked.check()?;
    let throughput = |loss| rates(&Pftk { loss, ..*asked }).throughput_pps;
    Ok(search::falling(throughput_pps, 1e-12, 0.99, throughput))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    const GOOD: Pftk = Pftk {
        loss: 0.01,
        rtt_s: 0.1,
        rto_s: 0.2,
        packets_per_ack: 1.0,
        window_limit_packets: 10.0,
    };

    #[test]
    fn worked_examples() {
        // The first by hand: (2+2)/6 = 0.666667 and sqrt(8·0.98/0.12 + 0.444444) = sqrt(65.7778) =
        // 8.11035 make 8.77702. 0.98³ = 0.941192 and 0.98^5.77702 = 0.889842 and 0.98^8.77702 =
        // 0.837512, so Q = 0.058808·(1 + 0.941192·0.110158)/0.162488 = 0.399447. G = 1.020833. The epoch
        // takes 0.1·9.77702 + 0.399447·0.4·1.020833/0.98 = 1.144138 s, and sends 49 + 8.77702 + 0.40760.
        let infinite = f64::INFINITY;
        for (given, expected) in [
            ([0.02, 0.1, 0.4, 2.0, infinite], [8.77702, 0.399447, 50.8546, 47.0118, 51.7948]),
            ([0.001, 0.2, 1.0, 2.0, 20.0], [37.1693, 0.153822, 88.2833, 87.4170, 100.0]),
            ([0.05, 0.05, 0.2, 1.0, 64.0], [8.18795, 0.499193, 75.7962, 64.5273, 73.7177]),
        ] {
            let mut given = given.into_iter();
            let found = Pftk::from_numbers(|| given.next().unwrap()).evaluate().unwrap();
            assert!(found.in_range());
            near(found.value.unlimited_window_packets, expected[0]);
            near(found.value.timeouts, expected[1]);
            near(found.value.send_pps, expected[2]);
            near(found.value.throughput_pps, expected[3]);
            near(found.value.approximate_pps, expected[4]);
        }
    }

    #[test]
    fn newreno_of_a_published_simulation() {
        // khader2020, table C-1, as far as the model follows it: kbit/s of 1500-byte packets.
        let path = Pftk { rtt_s: 0.0904, rto_s: 1.0, packets_per_ack: 2.0, ..GOOD };
        for (loss, kbps) in [(0.001, 3454.0), (0.01, 856.0), (0.05, 208.0)] {
            let asked = Pftk { loss, window_limit_packets: f64::INFINITY, ..path };
            let found = asked.evaluate().unwrap().value.throughput_pps * 12.0;
            assert!((found - kbps).abs() < 1.0, "{found} is not {kbps}");
        }
    }

    #[test]
    fn a_loss_that_is_next_to_none_keeps_its_digits() {
        // Three of w packets at the end of a window are lost with 3/w of the probability.
        near(timeout_share(1e-15, 60.0), 0.05);
        assert_eq!(timeout_share(0.5, 3.0), 1.0);
    }

    #[test]
    fn the_inverse_is_one() {
        let asked = Pftk { loss: 0.03, rto_s: 0.3, window_limit_packets: f64::INFINITY, ..GOOD };
        let found = asked.evaluate().unwrap().value.throughput_pps;
        near(pftk_loss(found, &asked).unwrap(), 0.03);
        assert!(pftk_loss(0.0, &GOOD).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (bad, quantity) in [
            (Pftk { loss: 0.0, ..GOOD }, "loss"),
            (Pftk { loss: 1.0, ..GOOD }, "loss"),
            (Pftk { loss: f64::NAN, ..GOOD }, "loss"),
            (Pftk { rtt_s: 0.0, ..GOOD }, "rtt_s"),
            (Pftk { rto_s: -1.0, ..GOOD }, "rto_s"),
            (Pftk { packets_per_ack: 0.0, ..GOOD }, "packets_per_ack"),
            (Pftk { window_limit_packets: 0.5, ..GOOD }, "window_limit_packets"),
        ] {
            assert_eq!(bad.evaluate().unwrap_err().quantity, quantity);
        }
        let lossy = Pftk { loss: 0.31, ..GOOD }.evaluate().unwrap();
        assert_eq!(lossy.outside, Some(MORE_LOSS));
    }
}
