//! BIC, as Linux has it (`net/ipv4/tcp_bic.c` of Linux 6.1, `bictcp_update`).
//!
//! The window keeps 819/1024 at a loss. `d` packets below the maximum it adds, each round trip, `⌊d/4⌋`
//! packets, 16 at most, and within eight of the maximum a fifth of a packet. That is multiplied by the
//! packets for each acknowledgement, though packets are counted, of which the kernel believes 31/16 where
//! there is one. Up to 14 packets it is Reno.

use fairway_cc::Variant::Linux6_1;
use fairway_cc::default_of;

use super::bic::BicEpoch;
use super::quantity::parameters;
use super::{Law, without_timeouts};
use crate::answer::Answer;
use crate::constants::BIC_LOW_WINDOW_PACKETS;

/// `beta`, `max_increment`; `BICTCP_B`; and `BICTCP_B / smooth_part`.
const REDUCTION: f64 = 1.0 - default_of("bic", Linux6_1, "beta");
const MOST: usize = default_of("bic", Linux6_1, "max_increment") as usize;
const PART: f64 = 4.0;
const SMOOTH: f64 = PART / default_of("bic", Linux6_1, "smooth_part");
/// What the estimate of packets for each acknowledgement, in sixteenths with rounding down, comes to where
/// there is one of each.
const LEAST_RATIO: f64 = 31.0 / 16.0;
/// Steps of the search; it takes three to six.
const STEPS: usize = 60;

parameters! {
    /// BIC in Linux with losses after each `1/p` packets.
    BicLinux {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Packets for each acknowledgement: 2 if acknowledgements are delayed.
        packets_per_ack: Positive = 1.0,
    }
}

impl Law for BicLinux {
    const NAME: &'static str = "bic-linux";
    const TITLE: &'static str = "BIC in Linux: an epoch of its search that carries 1/p packets";
    const EQUATION: &'static str = "dw per RTT: b·min(⌊(Wmax−w)/4⌋, 16), at the end b/5";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window, periodic losses";
    const SOURCE: &'static str = "Linux 6.1, net/ipv4/tcp_bic.c; epoch derived";
    type Value = BicEpoch;

    #[inline]
    fn answer(&self) -> Answer<BicEpoch> {
        let value = match self.search() {
            Some((peak, rounds)) => BicEpoch::of(peak, rounds, self.loss, self.rtt_s),
            None => BicEpoch::reno(self.loss, self.rtt_s),
        };
        Answer::new(value, without_timeouts(self.loss))
    }
}

/// The approach to the maximum from a distance below it: round trips, packets below it in all of
/// these, and what it grows by each round trip at its beginning.
#[derive(Clone, Copy)]
struct Approach {
    rounds: f64,
    below: f64,
    step: f64,
}

/// The approach from a distance of `4·j` packets, for each `j`, with an acknowledgement for each
/// packet: from `4(j+1)` to `4j` the step is `j`, so that `4/j` round trips are spent `4j + 2`
/// below the maximum.
const MARKS: [(f64, f64); MOST + 1] = {
    let mut marks = [(0.0, 0.0); MOST + 1];
    let mut j = 1;
    while j <= MOST {
        let (rounds, below) = marks[j - 1];
        let from = PART * (j - 1) as f64;
        let spent = PART / if j <= 2 { SMOOTH } else { (j - 1) as f64 };
        marks[j] = (rounds + spent, below + spent * (from + PART / 2.0));
        j += 1;
    }
    marks
};

fn approach(distance: f64) -> Approach {
    // The cast saturates.
    let mark = ((distance / PART) as usize).min(MOST);
    let step = if mark <= 1 { SMOOTH } else { mark as f64 };
    let (rounds, below) = MARKS[mark];
    let rest = distance - PART * mark as f64;
    let spent = rest / step;
    Approach { rounds: rounds + spent, below: below + spent * (distance - rest / 2.0), step }
}

impl BicLinux {
    /// The maximum whose epoch carries `1/p` packets, and its round trips; none if it is below 14 packets.
    fn search(&self) -> Option<(f64, f64)> {
        let ratio = self.packets_per_ack.max(LEAST_RATIO);
        let packets = 1.0 / self.loss;
        let (mut low, mut high) = (BIC_LOW_WINDOW_PACKETS, f64::INFINITY);
        if epoch(low, ratio).0 >= packets {
            return None;
        }
        // By the largest step alone: below the maximum where windows are small, as steps are smaller there.
        let most = MOST as f64 * ratio;
        let guess = libm::sqrt(2.0 * most * packets / (REDUCTION * (2.0 - REDUCTION)));
        let mut peak = guess.max(low);
        for _ in 0..STEPS {
            let (found, slope, rounds) = epoch(peak, ratio);
            let next = peak - (found - packets) / slope;
            if libm::fabs(next - peak) <= 1e-12 * peak {
                return Some((peak, rounds));
            }
            if found > packets {
                high = peak;
            } else {
                low = peak;
            }
            peak = if low < next && next < high { next } else { (low + high) / 2.0 };
        }
        Some((peak, epoch(peak, ratio).2))
    }
}

/// Packets of the epoch below a maximum, how many more for a packet more, and its round trips.
fn epoch(peak: f64, ratio: f64) -> (f64, f64, f64) {
    let distance = REDUCTION * peak;
    let above_low = peak - BIC_LOW_WINDOW_PACKETS;
    if above_low < distance {
        // Up to 14 packets it adds one a round trip.
        let (first, later) = (distance - above_low, approach(above_low));
        let rounds = first + later.rounds / ratio;
        let below = first * (distance + above_low) / 2.0 + later.below / ratio;
        let slope =
            rounds + BIC_LOW_WINDOW_PACKETS / (later.step * ratio) + (1.0 - REDUCTION) * distance
                - BIC_LOW_WINDOW_PACKETS;
        return (rounds * peak - below, slope, rounds);
    }
    let whole = approach(distance);
    let (rounds, below) = (whole.rounds / ratio, whole.below / ratio);
    let slope = rounds + REDUCTION * (peak - distance) / (whole.step * ratio);
    (rounds * peak - below, slope, rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn the_way_back_by_hand() {
        // From 100: (100 − 64)/16 = 2.25 round trips, from 64 to 8 with steps of 15 to 2
        // 4·(1/15 + … + 1/2) = 4·2.318229 = 9.272916, and 8/0.2 = 40.
        near(approach(100.0).rounds, 2.25 + 9.272_916 + 40.0);
        // The mean is 82 below the maximum on the first part and 4 on the last; with a step of j it is
        // 4j + 2, so 4/j·(4j + 2) = 16 + 8/j: 14·16 + 8·2.318229 = 242.5458.
        near(approach(100.0).below, 184.5 + 242.5458 + 160.0);
        near(approach(6.0).rounds, 30.0);
    }

    #[test]
    fn large_windows() {
        // 1000 packets less 205/1024 of them, d = 200.195: (200.195 − 64)/16 = 8.51220 round trips 132.098
        // below, and the rest as above: 57.78512 round trips, 1124.446 + 402.546 below. With two packets for
        // each acknowledgement half of both: 28892.56 − 763.496.
        let law = BicLinux { loss: 1.0 / 28_129.06, rtt_s: 0.1, packets_per_ack: 2.0 };
        let found = law.evaluate().unwrap().value;
        near(found.peak_packets, 1000.0);
        near(found.epoch_s, 2.889_256);
        near(found.window_packets, 28_129.06 / 28.892_56);
        // One for each counts as 31/16.
        let law = BicLinux { loss: 1.0 / 29_036.45, rtt_s: 0.1, packets_per_ack: 1.0 };
        near(law.evaluate().unwrap().value.peak_packets, 1000.0);
    }

    #[test]
    fn small_windows() {
        // At 16: d = 3.203125, of which 1.203125 at one a round trip, and 2 at 31/16 of a fifth: 1.203125 +
        // 5.161290 = 6.364415 round trips, 1.203125·2.601563 + 5.161290 = 8.291295 below: 93.53935.
        let law = BicLinux { loss: 1.0 / 93.539_35, rtt_s: 0.1, packets_per_ack: 1.0 };
        let found = law.evaluate().unwrap().value;
        near(found.peak_packets, 16.0);
        near(found.epoch_s, 0.636_441_5);
        // At 14 it is Reno: 2.8 round trips carry 35.3 packets.
        let lossy = BicLinux { loss: 1.0 / 35.0, ..law }.evaluate().unwrap();
        near(lossy.value.window_packets, libm::sqrt(52.5));
        assert!(!lossy.in_range());
    }

    #[test]
    fn epochs_carry_their_packets() {
        for index in 0..3000 {
            let loss = libm::pow(10.0, -1.7 - f64::from(index) / 400.0);
            for ratio in [LEAST_RATIO, 2.0, 5.0] {
                let law = BicLinux { loss, rtt_s: 0.1, packets_per_ack: ratio };
                let (peak, rounds) = law.search().unwrap();
                let (found, slope, again) = epoch(peak, ratio);
                assert!((found * loss - 1.0).abs() < 1e-9, "{law:?} {found}");
                assert_eq!(rounds, again);
                let beyond = epoch(peak * (1.0 + 1e-7), ratio).0;
                let rise = (beyond - found) / (peak * 1e-7);
                assert!((rise / slope - 1.0).abs() < 1e-3, "{law:?} {slope} is not {rise}");
            }
        }
    }
}
