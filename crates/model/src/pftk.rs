//! Reno with timeouts and a limit of the window: Padhye, Firoiu, Towsley, Kurose 1998 ("Modeling TCP
//! Throughput: A Simple Model and its Empirical Validation"), whose equations are numbered below.

use crate::error::{Error, inside, positive};
use crate::search;

/// Where a stream runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Probability of a loss event for a packet.
    pub loss: f64,
    /// Round-trip time.
    pub rtt_s: f64,
    /// First retransmission timeout.
    pub rto_s: f64,
    /// Data packets for each acknowledgement.
    pub packets_per_ack: f64,
    /// Limit of the window in packets; infinite if there is none.
    pub window_packets: f64,
}

/// What the model says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Mean window when nothing but loss limits it, in packets (equation 13).
    pub unlimited_window: f64,
    /// Share of the loss events that end in a timeout (equation 24).
    pub timeouts: f64,
    /// Packets sent a second (equation 32).
    pub send_pps: f64,
    /// Packets received a second (equation 38).
    pub throughput_pps: f64,
    /// The well-known approximation of what is sent (equation 33).
    pub approximate_pps: f64,
}

/// Evaluates the model.
///
/// # Errors
/// [`Error`] for a probability outside of (0, 1) and for times or windows that are not above zero.
pub fn rates(conditions: &Conditions) -> Result<Rates, Error> {
    inside("loss", conditions.loss)?;
    positive("round-trip time in seconds", conditions.rtt_s)?;
    positive("retransmission timeout in seconds", conditions.rto_s)?;
    positive("packets for each acknowledgement", conditions.packets_per_ack)?;
    if conditions.window_packets.is_nan() || conditions.window_packets < 1.0 {
        return Err(Error {
            quantity: "window limit in packets",
            expected: "one or more",
            found: conditions.window_packets,
        });
    }
    Ok(evaluate(conditions))
}

fn evaluate(conditions: &Conditions) -> Rates {
    let Conditions { loss: p, rtt_s, rto_s, packets_per_ack: b, window_packets } = *conditions;
    let base = (2.0 + b) / (3.0 * b);
    let unlimited_window = base + libm::sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + base * base);
    let (window, round_trips) = if unlimited_window < window_packets {
        (unlimited_window, b * unlimited_window / 2.0 + 1.0)
    } else {
        (window_packets, b * window_packets / 8.0 + (1.0 - p) / (p * window_packets) + 2.0)
    };
    let timeouts = timeout_share(p, window);
    let time_s = rtt_s * round_trips + timeouts * rto_s * backoffs(p) / (1.0 - p);
    let between = (1.0 - p) / p;
    let slow = libm::sqrt(2.0 * b * p / 3.0) * rtt_s;
    let waits =
        rto_s * f64::min(1.0, 3.0 * libm::sqrt(3.0 * b * p / 8.0)) * p * (1.0 + 32.0 * p * p);
    Rates {
        unlimited_window,
        timeouts,
        send_pps: (between + window + timeouts / (1.0 - p)) / time_s,
        throughput_pps: (between + window / 2.0 + timeouts) / time_s,
        approximate_pps: f64::min(window_packets / rtt_s, 1.0 / (slow + waits)),
    }
}

/// Timeouts in units of the first, weighted by how often they double (equation 27).
fn backoffs(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

/// The probability that a loss event at a window of `w` ends in a timeout (equation 24).
fn timeout_share(p: f64, w: f64) -> f64 {
    if w <= 3.0 {
        return 1.0;
    }
    let kept = 1.0 - p;
    let three = kept * kept * kept;
    let rest = 1.0 + three * (1.0 - libm::pow(kept, w - 3.0));
    f64::min(1.0, (1.0 - three) * rest / (1.0 - libm::pow(kept, w)))
}

/// The loss at which [`Rates::throughput_pps`] is `throughput_pps`, all else as in `conditions`.
///
/// # Errors
/// As [`rates`]; a throughput that is not above zero.
pub fn loss_at(throughput_pps: f64, conditions: &Conditions) -> Result<f64, Error> {
    positive("throughput in packets a second", throughput_pps)?;
    rates(conditions)?;
    let throughput = |loss| evaluate(&Conditions { loss, ..*conditions }).throughput_pps;
    Ok(search::falling(throughput_pps, 1e-12, 0.99, throughput))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 2e-5, "{found} is not {expected}");
    }

    #[test]
    fn worked_examples() {
        let infinite = f64::INFINITY;
        for (given, expected) in [
            ([0.02, 0.1, 0.4, 2.0, infinite], [8.77702, 0.399447, 50.8546, 47.0118, 51.7948]),
            ([0.001, 0.2, 1.0, 2.0, 20.0], [37.1693, 0.153822, 88.2833, 87.4170, 100.0]),
            ([0.05, 0.05, 0.2, 1.0, 64.0], [8.18795, 0.499193, 75.7962, 64.5273, 73.7177]),
        ] {
            let [loss, rtt_s, rto_s, packets_per_ack, window_packets] = given;
            let conditions = Conditions { loss, rtt_s, rto_s, packets_per_ack, window_packets };
            let found = rates(&conditions).unwrap();
            near(found.unlimited_window, expected[0]);
            near(found.timeouts, expected[1]);
            near(found.send_pps, expected[2]);
            near(found.throughput_pps, expected[3]);
            near(found.approximate_pps, expected[4]);
        }
    }

    #[test]
    fn newreno_of_a_published_simulation() {
        // khader2020, table C-1, as far as the model follows it: kbit/s of 1500-byte packets.
        for (loss, kbps) in [(0.001, 3454.0), (0.01, 856.0), (0.05, 208.0)] {
            let conditions = Conditions {
                loss,
                rtt_s: 0.0904,
                rto_s: 1.0,
                packets_per_ack: 2.0,
                window_packets: f64::INFINITY,
            };
            let found = rates(&conditions).unwrap().throughput_pps * 12.0;
            assert!((found - kbps).abs() < 1.0, "{found} is not {kbps}");
        }
    }

    #[test]
    fn the_inverse_is_one() {
        let conditions = Conditions {
            loss: 0.03,
            rtt_s: 0.1,
            rto_s: 0.3,
            packets_per_ack: 1.0,
            window_packets: f64::INFINITY,
        };
        let found = rates(&conditions).unwrap().throughput_pps;
        near(loss_at(found, &conditions).unwrap(), 0.03);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = Conditions {
            loss: 0.01,
            rtt_s: 0.1,
            rto_s: 0.2,
            packets_per_ack: 1.0,
            window_packets: 10.0,
        };
        for (bad, quantity) in [
            (Conditions { loss: 0.0, ..good }, "loss"),
            (Conditions { loss: 1.0, ..good }, "loss"),
            (Conditions { loss: f64::NAN, ..good }, "loss"),
            (Conditions { rtt_s: 0.0, ..good }, "round-trip time in seconds"),
            (Conditions { rto_s: -1.0, ..good }, "retransmission timeout in seconds"),
            (Conditions { packets_per_ack: 0.0, ..good }, "packets for each acknowledgement"),
            (Conditions { window_packets: 0.5, ..good }, "window limit in packets"),
        ] {
            assert_eq!(rates(&bad).unwrap_err().quantity, quantity);
        }
        assert!(loss_at(0.0, &good).is_err());
    }
}
