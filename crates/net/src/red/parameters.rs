//! Parameters of RED that follow from others.

use fairway_units::{Bytes, Duration, Rate};

use super::{RedConfig, RedMeasure, RedVariant};
use crate::{Limit, Serialiser};

/// The weight of the average for a link of this rate and one-way propagation delay: the average
/// answers a change of the queue within ten round trips, which are taken to be three times the way
/// over the link, but at least 100 ms (ns-2.35, `queue/red.cc`, `initialize_params`, `q_weight_`
/// = −1, its default). Without the link's delay it is the 1 − exp(−1/C) of Adaptive RED, with C
/// packets per second (Floyd, Gummadi, Shenker 2001, section 4.1).
pub fn automatic_weight(rate: Rate, delay: Duration, mean_packet: Bytes) -> f64 {
    const SHORTEST_ROUND_TRIP_SECS: f64 = 0.1;
    let packets_per_second = packets_per_second(rate, mean_packet);
    let round_trip = 3.0 * (delay.as_secs_f64() + 1.0 / packets_per_second);
    let packets = 10.0 * round_trip.max(SHORTEST_ROUND_TRIP_SECS) * packets_per_second;
    1.0 - libm::exp(-1.0 / packets)
}

/// Thresholds in packets that let packets wait for about `target_delay` on average: half of what
/// leaves in that time, but at least 5 packets, and three times as much (ns-2.35, `queue/red.cc`,
/// `initialize_params`; Floyd, Gummadi, Shenker 2001, section 4.2; ns-2's target is 5 ms).
pub fn automatic_thresholds(rate: Rate, target_delay: Duration, mean_packet: Bytes) -> (f64, f64) {
    const LOWEST_PACKETS: f64 = 5.0;
    const MAX_OVER_MIN: f64 = 3.0;
    let target = target_delay.as_secs_f64() * packets_per_second(rate, mean_packet);
    let min_threshold = LOWEST_PACKETS.max(target / 2.0);
    (min_threshold, MAX_OVER_MIN * min_threshold)
}

fn packets_per_second(rate: Rate, mean_packet: Bytes) -> f64 {
    rate.as_bps().max(1) as f64 / (8.0 * mean_packet.get().max(1) as f64)
}

/// The largest weight 2⁻ⁿ at which a burst of so many packets does not lift the average from zero
/// beyond the lower threshold (in packets): L + 1 − th_min ≤ (1 − (1−W)^L) / W (Floyd and Jacobson
/// 1993, section 6.2; iproute2 `tc/tc_red.c`, `tc_red_eval_ewma`). None if the burst is shorter
/// than the threshold, where any weight would do.
pub fn weight_of_burst(min_threshold: f64, burst_packets: u32) -> Option<f64> {
    let burst = f64::from(burst_packets);
    let excess = burst + 1.0 - min_threshold;
    if excess < 1.0 {
        return None;
    }
    let mut weight = 0.5;
    // n of 1 to 31, as in tc.
    for _ in 1..32 {
        if excess <= (1.0 - libm::pow(1.0 - weight, burst)) / weight {
            return Some(weight);
        }
        weight /= 2.0;
    }
    None
}

/// The RED of a MikroTik router (RouterOS, `/queue type kind=red`): Linux's, which averages bytes,
/// given in packets of an average size. The default is the router's own (`synchronous-default`).
#[derive(Clone, Debug, PartialEq)]
pub struct RouterOsRed {
    /// `red-limit`: the hard limit, in average packets.
    pub limit_packets: u32,
    /// `red-min-threshold`: average packets below which nothing is dropped.
    pub min_threshold_packets: u32,
    /// `red-max-threshold`: average packets at which the drop probability reaches its maximum.
    pub max_threshold_packets: u32,
    /// `red-burst`: packets that an empty queue takes in a burst without a drop.
    pub burst_packets: u32,
    /// `red-avg-packet`: bytes of an average packet.
    pub average_packet: Bytes,
}

impl Default for RouterOsRed {
    fn default() -> Self {
        // RouterOS manual, "Queue Types"; RouterOS 2.9 has the same without red-avg-packet.
        RouterOsRed {
            limit_packets: 60,
            min_threshold_packets: 10,
            max_threshold_packets: 50,
            burst_packets: 20,
            average_packet: Bytes::new(1000),
        }
    }
}

impl RouterOsRed {
    /// The same in RED's own terms, before a link of this rate. None if the burst is too short for
    /// the lower threshold; one packet more than that threshold always is enough.
    pub fn to_red(&self, rate: Rate) -> Option<(Limit, RedConfig)> {
        let min_threshold = f64::from(self.min_threshold_packets);
        let mean_bytes = u32::try_from(self.average_packet.get()).unwrap_or(u32::MAX);
        let red = RedConfig {
            min_threshold,
            max_threshold: f64::from(self.max_threshold_packets),
            // RouterOS does not offer it; that of `tc` (iproute2, tc/q_red.c), the program that
            // gives Linux its parameters.
            max_probability: 0.02,
            weight: weight_of_burst(min_threshold, self.burst_packets)?,
            gentle: false,
            typical_transmission: Serialiser::new(rate).transmit(mean_bytes),
            measure: RedMeasure::Bytes,
            mean_packet: self.average_packet,
            variant: RedVariant::Linux,
            ..RedConfig::default()
        };
        let limit = u64::from(self.limit_packets).saturating_mul(self.average_packet.get());
        Some((Limit::Bytes(limit), red))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILOBYTE: Bytes = Bytes::new(1000);

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}, expected {expected}");
    }

    #[test]
    fn the_automatic_weight() {
        let rate = Rate::from_bps(10_000_000);
        // C = 1250 packets/s; 3·(10 ms + 0.8 ms) = 32.4 ms, so 100 ms: 1 − exp(−1/1250).
        close(automatic_weight(rate, Duration::from_millis(10), KILOBYTE), 7.996_800_9e-4);
        // 3·(99.2 ms + 0.8 ms) = 300 ms: 1 − exp(−1/3750).
        let slower = automatic_weight(rate, Duration::from_micros(99_200), KILOBYTE);
        close(slower, 2.666_311_1e-4);
    }

    #[test]
    fn the_automatic_thresholds() {
        // 10 Mbit/s: 6.25 packets in 5 ms, half of that is less than 5. 100 Mbit/s: 62.5 / 2.
        let target = Duration::from_millis(5);
        let of =
            |mbps: u64| automatic_thresholds(Rate::from_bps(mbps * 1_000_000), target, KILOBYTE);
        assert_eq!(of(10), (5.0, 15.0));
        assert_eq!(of(100), (31.25, 93.75));
    }

    #[test]
    fn the_weight_of_a_burst_is_that_of_the_table_in_the_kernel() {
        // include/net/red.h, "Upper bound on W": for th_min/S = 32 the longest bursts L of log(W) =
        // −4 to −7 (its others are rounded otherwise). 46: 15 ≤ (1 − (15/16)⁴⁶)·16 = 15.2; 47: 16
        // is more than 15.2.
        for (log, burst) in [(4, 46), (5, 57), (6, 75), (7, 101)] {
            let weight = 1.0 / f64::from(1u32 << log);
            assert_eq!(weight_of_burst(32.0, burst), Some(weight), "{burst}");
            assert_eq!(weight_of_burst(32.0, burst + 1), Some(weight / 2.0), "{burst}");
        }
        assert_eq!(weight_of_burst(32.0, 31), None);
    }

    #[test]
    fn a_router_as_it_comes() {
        // 20 + 1 − 10 = 11. W = 1/8: (1 − 0.875²⁰)·8 = 7.45; W = 1/16: (1 − 0.9375²⁰)·16 = 11.6.
        let (limit, red) = RouterOsRed::default().to_red(Rate::from_bps(10_000_000)).unwrap();
        assert_eq!(limit, Limit::Bytes(60_000));
        assert_eq!(red.weight, 1.0 / 16.0);
        assert_eq!((red.min_threshold, red.max_threshold), (10.0, 50.0));
        // 8000 bits at 10 Mbit/s.
        assert_eq!(red.typical_transmission, Duration::from_micros(800));
        let short = RouterOsRed { burst_packets: 9, ..RouterOsRed::default() };
        assert_eq!(short.to_red(Rate::from_bps(10_000_000)), None);
    }
}
