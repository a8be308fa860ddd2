//! The chain of the literature: equal windows, so large that the access point always has a frame to
//! send, and never one for a station that has a frame itself.
//!
//! R. Bruno, M. Conti, E. Gregori ("Throughput analysis and measurements in IEEE 802.11 WLANs with TCP
//! and UDP traffic flows", IEEE Trans. Mobile Computing 7(2), 2008) and Kuriakose et al. 2009. Of uploads
//! and downloads together, as O. Bhardwaj, G. Sharma, M. Panda and A. Kumar have them ("Modeling finite
//! buffer effects on TCP traffic over an IEEE 802.11 infrastructure WLAN", Computer Networks 53, 2009, with
//! an access point's buffer that never overflows), the access point's next frame is any flow's.

use super::dcf::Backoff;
use super::success::{Contenders, Rounds};
use super::timing::Times;
use crate::answer::Answer;
use crate::error::{Error, positive};

/// What the chain says.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Literature {
    /// Probability, at successes, that so many stations have a frame to send, from none to all.
    #[serde(rename = "active_at_successes")]
    pub active: Vec<f64>,
    /// Share of the successes that are the access point's.
    pub access_point_share: f64,
    /// Mean time per success in microseconds.
    pub success_us: f64,
    /// Packets of data a second, of all stations: each direction has them by its number of flows.
    pub packets_per_s: f64,
}

/// Below so many stations the chain cuts off states that matter: the access point has more successes
/// than it gets acknowledgements for.
const FEWEST: u32 = 4;
/// Probabilities (k + 1)/k! beyond this many stations are below what a double adds to one.
const MOST_ACTIVE: u32 = 30;

/// So many flows of either direction, each of a station of its own, an acknowledgement for each packet.
///
/// # Errors
/// [`Error`] if back-off or times make no sense, or without flows.
pub fn literature(
    downloads: u32,
    uploads: u32,
    backoff: Backoff,
    times: &Times,
) -> Result<Answer<Literature>, Error> {
    backoff.check()?;
    times.check()?;
    let stations = downloads.saturating_add(uploads);
    positive("stations", f64::from(stations))?;
    let up = f64::from(uploads) / f64::from(stations);
    let mut rounds = Rounds::new(backoff, *times);
    let (mut active, mut access_point, mut round_us) = (Vec::new(), 0.0, 0.0);
    let mut factorial = 1.0;
    for k in 0..=stations.min(MOST_ACTIVE) {
        // Up with probability 1/(k + 1), down with k/(k + 1): in proportion to (k + 1)/k!.
        factorial *= f64::from(k.max(1));
        let weight = 1.0 / factorial;
        active.push(weight * f64::from(k + 1));
        access_point += weight;
        // Each of the k, and the access point's next frame, is of an upload with the same probability.
        for data in 0..=k {
            let kinds = binomial(k, data, up);
            for (head, is) in [(1, 1.0 - up), (0, up)] {
                let contenders = Contenders { data: data + head, ack: k + 1 - data - head };
                if kinds * is > 0.0 {
                    round_us += weight * kinds * is * rounds.round_us(contenders);
                }
            }
        }
    }
    let successes: f64 = active.iter().sum();
    active.iter_mut().for_each(|weight| *weight /= successes);
    active.resize(stations.min(MOST_ACTIVE) as usize + 1, 0.0);
    let value = Literature {
        active,
        access_point_share: access_point / successes,
        success_us: round_us / successes,
        packets_per_s: access_point * 1e6 / round_us,
    };
    let few = stations < FEWEST;
    Ok(Answer::new(
        value,
        few.then_some("fewer than four stations: states that matter are cut off"),
    ))
}

/// Probability of so many of `all`, each with probability `p`.
fn binomial(all: u32, some: u32, p: f64) -> f64 {
    let choices = (0..some).fold(1.0, |c, i| c * f64::from(all - i) / f64::from(i + 1));
    choices * libm::pow(p, f64::from(some)) * libm::pow(1.0 - p, f64::from(all - some))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::tests::{B, G};

    fn of(stations: u32, times: &Times) -> Literature {
        let cw_min = if *times == B { 31 } else { 15 };
        let backoff = Backoff { cw_min, cw_max: 1023, attempts: Some(7) };
        literature(stations, 0, backoff, times).unwrap().value
    }

    #[test]
    fn five_stations() {
        // (k + 1)/k! = 1, 2, 3/2, 2/3, 5/24, 1/20: together 5.425; 1/5.425 = 0.184332.
        let expected = [0.184332, 0.368664, 0.276498, 0.122888, 0.038402, 0.009217];
        let found = of(5, &B);
        for (found, expected) in found.active.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
        }
        // Sum of 1/k! = 2.716667, over 5.425.
        assert!((found.access_point_share - 0.500768).abs() < 1e-6, "{found:?}");
        // From an independent computation.
        assert!((found.success_us - 1307.37).abs() < 0.01, "{found:?}");
        assert!((found.packets_per_s - 383.04).abs() < 0.01, "{found:?}");
        let found = of(5, &G);
        assert!((found.success_us - 277.18).abs() < 0.01, "{found:?}");
        assert!((found.packets_per_s - 1806.66).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn one_to_ten_stations() {
        // Mbit/s of 1460 bytes, from an independent computation.
        let b = [5.1591, 4.7264, 4.5481, 4.4892, 4.4739, 4.4706, 4.4701, 4.4700, 4.4700, 4.4700];
        let g = [24.730, 22.422, 21.487, 21.181, 21.102, 21.085, 21.083, 21.082, 21.082, 21.082];
        for (n, (b, g)) in (1..).zip(b.into_iter().zip(g)) {
            assert!((of(n, &B).packets_per_s * 11_680.0 / 1e6 - b).abs() < 1e-4);
            assert!((of(n, &G).packets_per_s * 11_680.0 / 1e6 - g).abs() < 1e-3);
        }
    }

    #[test]
    fn many_stations_have_a_mean_of_one_and_a_half_active() {
        // (k + 1)/(2·e·k!): the mean of k is (e·2 + e)/(2·e) = 3/2.
        let found = of(2000, &B);
        let mean: f64 = (0..).zip(&found.active).map(|(k, p)| f64::from(k) * p).sum();
        assert!((mean - 1.5).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn uploads_take_the_place_of_downloads() {
        // Data is of the access point or of a station, acknowledgements of the other: with uploads alone the
        // two are exchanged. One station, in µs: with nothing to send the access point is alone, 310 + 555.27
        // (15.5 slots idle, then an acknowledgement); with data, two contend, 2 · 1300.40 as with downloads.
        // Weights 1 and 1: two successes of the access point in 865.27 + 2600.80.
        let backoff = Backoff { cw_min: 31, cw_max: 1023, attempts: Some(7) };
        let found = literature(0, 1, backoff, &B).unwrap().value;
        assert!((found.packets_per_s - 2e6 / (865.27 + 2600.80)).abs() < 0.01, "{found:?}");
        // Many flows of both: the states and the access point's share are those of as many downloads.
        let both = literature(10, 10, backoff, &B).unwrap().value;
        assert_eq!(both.active, of(20, &B).active);
        let other = literature(10, 10, backoff, &G).unwrap().value;
        assert!((both.access_point_share - 0.5).abs() < 1e-9 && other.packets_per_s > 1000.0);
    }

    #[test]
    fn it_knows_where_it_does_not_hold() {
        let backoff = Backoff { cw_min: 31, cw_max: 1023, attempts: Some(7) };
        let one = literature(1, 0, backoff, &B).unwrap();
        // Two of three successes are the access point's: data without acknowledgements.
        assert!((one.value.access_point_share - 2.0 / 3.0).abs() < 1e-12);
        assert!(!one.in_range());
        assert!(literature(4, 0, backoff, &B).unwrap().in_range());
        assert!(literature(0, 0, backoff, &B).is_err());
    }
}
