//! Packets that come at random, and wait.

use crate::answer::Answer;
use crate::error::{Error, positive};

/// Why an answer does not hold where more comes than leaves.
const UNSTABLE: &str = "more comes than leaves: the queue grows without end";

/// Long-run behaviour of a queue.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Waiting {
    /// Share of the time that the server works.
    pub utilisation: f64,
    /// Packets that wait or are served, on average.
    pub packets: f64,
    /// Time from a packet's arrival to its end of service, on average, of those that are let in.
    pub delay_s: f64,
    /// Share of the packets that find no room.
    pub blocked: f64,
}

/// Poisson arrivals, services of one length, room for any number: Pollaczek and Khinchine's formula,
/// `L = rho + rho²/(2(1-rho))` (Kleinrock 1975, "Queueing Systems", volume 1, section 5.6).
///
/// # Errors
/// [`Error`] for rates that are not above zero.
pub fn md1(arrivals_pps: f64, capacity_pps: f64) -> Result<Answer<Waiting>, Error> {
    let (rate, rho) = load(arrivals_pps, capacity_pps)?;
    Ok(endless(rate, rho, rho + rho * rho / (2.0 * (1.0 - rho))))
}

/// Poisson arrivals, exponential services, room for any number: `L = rho/(1-rho)` (the same, section 3.2).
///
/// # Errors
/// [`Error`] for rates that are not above zero.
pub fn mm1(arrivals_pps: f64, capacity_pps: f64) -> Result<Answer<Waiting>, Error> {
    let (rate, rho) = load(arrivals_pps, capacity_pps)?;
    Ok(endless(rate, rho, rho / (1.0 - rho)))
}

fn load(arrivals_pps: f64, capacity_pps: f64) -> Result<(f64, f64), Error> {
    let rate = positive("arrivals in packets a second", arrivals_pps)?;
    Ok((rate, rate / positive("capacity in packets a second", capacity_pps)?))
}

fn endless(rate: f64, rho: f64, packets: f64) -> Answer<Waiting> {
    if rho >= 1.0 {
        let all = f64::INFINITY;
        let value = Waiting { utilisation: 1.0, packets: all, delay_s: all, blocked: 0.0 };
        return Answer::new(value, Some(UNSTABLE));
    }
    let value = Waiting { utilisation: rho, packets, delay_s: packets / rate, blocked: 0.0 };
    Answer::new(value, None)
}

/// Poisson arrivals, exponential services, room for `room` packets with the one that is served: of `n` there
/// is `rho^n (1-rho)/(1-rho^(K+1))` of the time (the same, section 3.6). Exact for any load and room.
///
/// # Errors
/// [`Error`] for rates that are not above zero, or no room.
pub fn mm1k(arrivals_pps: f64, capacity_pps: f64, room: u64) -> Result<Answer<Waiting>, Error> {
    let (rate, rho) = load(arrivals_pps, capacity_pps)?;
    if room == 0 {
        let quantity = "room in packets, with the one that is served";
        return Err(Error { quantity, expected: "one or more", found: 0.0 });
    }
    let k = room as f64;
    // Above 1 the free places are what a queue with the load 1/rho has packets.
    let (blocked, packets) = if rho > 1.0 {
        let free = 1.0 / rho;
        (share_of_none(free, k), k - mean(free, k))
    } else {
        (libm::pow(rho, k) * share_of_none(rho, k), mean(rho, k))
    };
    let idle = if rho > 1.0 {
        libm::pow(1.0 / rho, k) * share_of_none(1.0 / rho, k)
    } else {
        share_of_none(rho, k)
    };
    let accepted = rate * (1.0 - blocked);
    let value = Waiting { utilisation: 1.0 - idle, packets, delay_s: packets / accepted, blocked };
    Ok(Answer::new(value, None))
}

/// `(1-rho)/(1-rho^(K+1))` for `rho` up to 1: how often nobody is there.
fn share_of_none(rho: f64, k: f64) -> f64 {
    let few = 1.0 - rho;
    if few == 0.0 {
        return 1.0 / (k + 1.0);
    }
    // rho^(K+1) - 1 without cancellation near 1.
    few / -libm::expm1((k + 1.0) * libm::log1p(-few))
}

/// The mean number for `rho` up to 1: `rho/(1-rho) - (K+1)·rho^(K+1)/(1-rho^(K+1))`.
fn mean(rho: f64, k: f64) -> f64 {
    let few = 1.0 - rho;
    let x = -(k + 1.0) * libm::log1p(-few);
    // With x = -(K+1)·ln(rho): both terms grow as 1/(1-rho), and cancel; their series does not.
    if x < SMALL {
        let n = k + 1.0;
        let log = x / n;
        return k / 2.0 - (n * n - 1.0) * log / 12.0
            + (n * n * n * n - 1.0) * log * log * log / 720.0;
    }
    let tail = if x.is_finite() { (k + 1.0) / libm::expm1(x) } else { 0.0 };
    rho / few - tail
}

/// Up to here the series of [`mean`] is exact to 1e-8 of its value, and beyond it the closed form loses
/// fewer digits than that for rooms of up to a million.
const SMALL: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{found} is not {expected}");
    }

    #[test]
    fn endless_queues() {
        // Load 0.8, 100/s: 0.8 + 0.64/0.4 = 2.4 packets, 30 ms; exponential services: 4 packets, 50 ms.
        let even = md1(80.0, 100.0).unwrap();
        near(even.value.packets, 2.4);
        near(even.value.delay_s, 0.03);
        assert!(even.in_range());
        let uneven = mm1(80.0, 100.0).unwrap();
        near(uneven.value.packets, 4.0);
        near(uneven.value.delay_s, 0.05);
        for found in [md1(100.0, 100.0), mm1(101.0, 100.0)] {
            let found = found.unwrap();
            assert!(!found.in_range() && found.value.packets.is_infinite());
        }
        assert!(md1(0.0, 1.0).is_err() && mm1(1.0, f64::INFINITY).is_err());
    }

    #[test]
    fn buffer_sizes() {
        // Load 1/2, room for 2: weights 1, 1/2, 1/4 of 7/4: blocked 1/7, 4/7 packets, of which 6/7 of 1/s.
        let found = mm1k(1.0, 2.0, 2).unwrap().value;
        near(found.blocked, 1.0 / 7.0);
        near(found.packets, 4.0 / 7.0);
        near(found.delay_s, 2.0 / 3.0);
        near(found.utilisation, 3.0 / 7.0);
        // Load 2: the same with places for packets: blocked 4/7, 10/7 packets.
        let found = mm1k(4.0, 2.0, 2).unwrap().value;
        near(found.blocked, 4.0 / 7.0);
        near(found.packets, 10.0 / 7.0);
        near(found.utilisation, 6.0 / 7.0);
        // Load 1: each of eleven numbers as often: 5 packets, a place missing in one of eleven.
        let found = mm1k(3.0, 3.0, 10).unwrap().value;
        near(found.blocked, 1.0 / 11.0);
        near(found.packets, 5.0);
        assert!(mm1k(1.0, 1.0, 0).is_err());
    }

    #[test]
    fn it_is_what_its_states_add_up_to() {
        for rho in [1e-6, 0.3, 0.9, 0.99, 0.9999, 0.999_999_9, 1.0, 1.000_000_1, 1.001, 1.2, 50.0] {
            for room in [1_u64, 2, 5, 40, 1000] {
                let log = libm::log(rho);
                let top = if rho > 1.0 { room as f64 * log } else { 0.0 };
                let weight = |n: u64| libm::exp(n as f64 * log - top);
                let all: f64 = (0..=room).map(weight).sum();
                let packets: f64 = (0..=room).map(|n| n as f64 * weight(n)).sum::<f64>() / all;
                let found = mm1k(rho, 1.0, room).unwrap().value;
                near(found.packets, packets);
                near(found.blocked, weight(room) / all);
            }
        }
    }

    #[test]
    fn rooms_without_end() {
        // As an endless queue below load 1; at load 1 half of the room; above all of it but rho/(rho-1).
        let most = u64::MAX;
        near(mm1k(0.8, 1.0, most).unwrap().value.packets, 4.0);
        assert_eq!(mm1k(0.8, 1.0, most).unwrap().value.blocked, 0.0);
        near(mm1k(1.0, 1.0, most).unwrap().value.packets, most as f64 / 2.0);
        near(mm1k(1.25, 1.0, 1_000_000).unwrap().value.packets, 1e6 - 4.0);
        near(mm1k(1.25, 1.0, most).unwrap().value.blocked, 0.2);
        for rho in [1e-300, 1e300, 1.0 + 1e-12, 1.0 - 1e-12] {
            let found = mm1k(rho, 1.0, most).unwrap().value;
            assert!(found.packets.is_finite() && (0.0..=1.0).contains(&found.blocked), "{found:?}");
        }
    }
}
