//! BIC, as its paper has it: Xu, Harfoush, Rhee 2004 ("Binary Increase Congestion Control (BIC) for Fast
//! Long-Distance Networks"), and its two limits in Khader 2020, equations 3.14 to 3.16.
//!
//! An epoch begins at `(1-β)·Wmax`. Each round trip adds half of what is missing, `Smax` at most; a step
//! that would be below `Smin` goes to `Wmax` at once; a packet of the round trip there is lost.

use super::aimd::mathis_window;
use super::quantity::{parameters, quantities};
use super::{Law, Mean, without_timeouts};
use crate::answer::Answer;
use crate::constants::{
    BIC_LEAST_STEP_PACKETS, BIC_LOW_WINDOW_PACKETS, BIC_MOST_STEP_PACKETS, BIC_REDUCTION,
};
use crate::error::Error;

/// Steps of the search for an epoch; it takes two to five.
const STEPS: usize = 60;
/// More than a number has powers of two.
const MOST_HALVINGS: i32 = 3000;
/// What "much more" is taken for where a law wants one quantity to be much more than another.
const MUCH_MORE: f64 = 10.0;

const NOT_LARGE: &str = "a window that the search, not its largest step, restores";
const NOT_SMALL: &str = "a window that the largest step restores in part";
const TINY: &str = "a reduction of the window below the smallest step";

parameters! {
    /// BIC with losses after each `1/p` packets: an epoch is followed round trip by round trip.
    Bic {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Share of the window given up at a loss; 0.2 in Linux.
        reduction: Probability = BIC_REDUCTION,
        /// Largest step of a round trip, Smax; 16 in Linux.
        max_step_packets: Positive = BIC_MOST_STEP_PACKETS,
        /// Smallest step, Smin: below it the window goes to the maximum at once.
        min_step_packets: Positive = BIC_LEAST_STEP_PACKETS,
        /// Window below which it is Reno.
        low_window_packets: NotNegative = BIC_LOW_WINDOW_PACKETS,
    }
}

quantities! {
    /// An epoch of BIC.
    BicEpoch {
        /// Mean congestion window.
        window_packets,
        /// Mean rate.
        rate_pps,
        /// Window at its end, Wmax.
        peak_packets,
        /// Its duration.
        epoch_s,
    }
}

impl Law for Bic {
    const NAME: &'static str = "bic";
    const TITLE: &'static str = "BIC: an epoch of its search that carries 1/p packets";
    const EQUATION: &'static str = "Wmax with Σ w = 1/p over an epoch; w = 1/(p·rounds)";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window, periodic losses";
    const SOURCE: &'static str = "Xu, Harfoush, Rhee, INFOCOM 2004, section III; epoch derived";
    type Value = BicEpoch;

    fn consistent(&self) -> Result<(), Error> {
        if self.min_step_packets <= self.max_step_packets {
            return Ok(());
        }
        let expected = "no more than max_step_packets";
        Err(Error { quantity: "min_step_packets", expected, found: self.min_step_packets })
    }

    #[inline]
    fn answer(&self) -> Answer<BicEpoch> {
        let (peak, rounds) = self.search();
        let value = if peak < self.low_window_packets {
            BicEpoch::reno(self.loss, self.rtt_s)
        } else {
            BicEpoch::of(peak, rounds, self.loss, self.rtt_s)
        };
        Answer::new(value, without_timeouts(self.loss))
    }
}

impl BicEpoch {
    /// An epoch of so many round trips that carries `1/p` packets.
    pub(super) fn of(peak_packets: f64, rounds: f64, loss: f64, rtt_s: f64) -> Self {
        let window_packets = 1.0 / (loss * rounds);
        let rate_pps = window_packets / rtt_s;
        Self { window_packets, rate_pps, peak_packets, epoch_s: rounds * rtt_s }
    }

    /// An epoch of Reno.
    pub(super) fn reno(loss: f64, rtt_s: f64) -> Self {
        let window = mathis_window(loss, 1.0);
        // The mean of a straight line from half the peak to the peak.
        Self::of(window / 0.75, 1.0 / (loss * window), loss, rtt_s)
    }
}

/// An epoch of so many steps of `Smax`, so many halvings, and two round trips more: the last below `Wmax`,
/// and that at `Wmax`. The paper's log2(d/Smin) + 2, where nothing is rounded.
#[derive(Clone, Copy)]
struct Shape {
    steps: f64,
    halvings: i32,
}

impl Shape {
    fn rounds(self) -> f64 {
        self.steps + f64::from(self.halvings) + 2.0
    }
}

impl Bic {
    /// The maximum whose epoch carries `1/p` packets, and the round trips of the epoch.
    ///
    /// Within a [`Shape`] the packets are in a straight line with the maximum, so that Newton's method is
    /// exact once it has found the shape. Where there is one halving more, the packets jump by those of a
    /// round trip: what lies in between ends with a part of a round trip.
    fn search(&self) -> (f64, f64) {
        let packets = 1.0 / self.loss;
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut peak = self.large_window(packets) / (1.0 - self.reduction / 2.0);
        for _ in 0..STEPS {
            let shape = self.shape(peak * self.reduction);
            let (slope, fixed) = self.line(shape);
            let exact = (packets - fixed) / slope;
            if libm::fabs(exact - peak) <= 1e-12 * peak {
                return (exact, shape.rounds());
            }
            let is_below = exact < peak;
            if let Some(found) = self.at_a_jump(packets, shape, is_below) {
                return found;
            }
            if is_below {
                high = peak;
            } else {
                low = peak;
            }
            peak = if low < exact && exact < high { exact } else { (low + high) / 2.0 };
        }
        (peak, self.shape(peak * self.reduction).rounds())
    }

    /// The shape of an epoch that begins so far below its maximum.
    fn shape(&self, distance: f64) -> Shape {
        let (most, least) = (self.max_step_packets, self.min_step_packets);
        let steps = libm::ceil(distance / most - 2.0).max(0.0);
        // The fewest halvings after which half of the rest is below the smallest step.
        let halvings = libm::ilogb((distance - steps * most) / least).clamp(0, MOST_HALVINGS);
        Shape { steps, halvings }
    }

    /// What an epoch of that shape carries, as a straight line over its maximum: slope, and value at zero.
    fn line(&self, shape: Shape) -> (f64, f64) {
        let (steps, most) = (shape.steps, self.max_step_packets);
        // Below the maximum by the distance d, d - Smax …, then by the rest, half of it …
        let halved = 2.0 - libm::ldexp(1.0, -shape.halvings);
        let slope = shape.rounds() - self.reduction * (steps + halved);
        (slope, most * steps * ((steps - 1.0) / 2.0 + halved))
    }

    /// The maximum and the number of round trips, if the packets are between those of a shape and of that with
    /// one halving more, or less, at the maximum where the one becomes the other.
    fn at_a_jump(&self, packets: f64, shape: Shape, is_below: bool) -> Option<(f64, f64)> {
        let fewer = Shape { halvings: shape.halvings - i32::from(is_below), ..shape };
        let more = Shape { halvings: fewer.halvings + 1, ..shape };
        let (steps, most) = (shape.steps, self.max_step_packets);
        let rest = libm::ldexp(self.min_step_packets, more.halvings);
        let possible = if steps > 0.0 { most..=2.0 * most } else { 0.0..=2.0 * most };
        if fewer.halvings < 0 || !possible.contains(&rest) {
            return None;
        }
        let peak = (steps * most + rest) / self.reduction;
        let carries = |shape| {
            let (slope, fixed) = self.line(shape);
            slope * peak + fixed
        };
        let (least, greatest) = (carries(fewer), carries(more));
        (least <= packets && packets <= greatest)
            .then(|| (peak, fewer.rounds() + (packets - least) / (greatest - least)))
    }

    fn large_window(&self, packets: f64) -> f64 {
        large_window(packets, self.reduction, self.max_step_packets)
    }
}

/// `sqrt((Smax/2)·((2-β)/β)/p)`.
fn large_window(packets: f64, reduction: f64, max_step_packets: f64) -> f64 {
    libm::sqrt(max_step_packets / 2.0 * ((2.0 - reduction) / reduction) * packets)
}

parameters! {
    /// BIC where the largest step restores nearly all of the window.
    BicLarge {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Share of the window given up at a loss, β.
        reduction: Probability = BIC_REDUCTION,
        /// Largest step of a round trip, Smax.
        max_step_packets: Positive = BIC_MOST_STEP_PACKETS,
    }
}

impl Law for BicLarge {
    const NAME: &'static str = "bic-large";
    const TITLE: &'static str = "BIC at large windows: additive increase by the largest step";
    const EQUATION: &'static str = "w = √((Smax/2)·((2−β)/β)/p)";
    const RANGE: &'static str = "w·β at least ten times 2·Smax, loss up to 2 %";
    const SOURCE: &'static str = "Khader 2020, equation 3.14; Xu, Harfoush, Rhee, INFOCOM 2004";
    type Value = Mean;

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        let window = large_window(1.0 / self.loss, self.reduction, self.max_step_packets);
        let is_large = window * self.reduction >= MUCH_MORE * 2.0 * self.max_step_packets;
        let outside = if is_large { without_timeouts(self.loss) } else { Some(NOT_LARGE) };
        Answer::new(Mean::of(window, self.rtt_s), outside)
    }
}

parameters! {
    /// BIC where the search by halves restores all of the window.
    BicSmall {
        /// Probability of a loss event for a packet.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
        /// Share of the window given up at a loss, β.
        reduction: Probability = BIC_REDUCTION,
        /// Largest step of a round trip, Smax; not part of the law.
        max_step_packets: Positive = BIC_MOST_STEP_PACKETS,
        /// Smallest step, Smin: below it the window goes to the maximum at once.
        min_step_packets: Positive = BIC_LEAST_STEP_PACKETS,
    }
}

impl Law for BicSmall {
    const NAME: &'static str = "bic-small";
    const TITLE: &'static str = "BIC at small windows: binary search alone";
    const EQUATION: &'static str = "w = 1/((log2(w·β/Smin) + 2·(1−β))·p)";
    const RANGE: &'static str = "w·β from Smin to 2·Smax, loss up to 2 %";
    const SOURCE: &'static str = "Khader 2020, equations 3.15 and 3.16";
    type Value = Mean;

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        let window = self.small_window();
        let reduced_by = window * self.reduction;
        let outside = if reduced_by > 2.0 * self.max_step_packets {
            Some(NOT_SMALL)
        } else if reduced_by < self.min_step_packets {
            Some(TINY)
        } else {
            without_timeouts(self.loss)
        };
        Answer::new(Mean::of(window, self.rtt_s), outside)
    }
}

impl BicSmall {
    /// The solution of `w·(log2(w·β/Smin) + 2(1-β)) = 1/p`.
    fn small_window(&self) -> f64 {
        let packets = 1.0 / self.loss;
        let ratio = self.reduction / self.min_step_packets;
        let more = 2.0 * (1.0 - self.reduction);
        // Above the solution, where the bracket is one or more, so that Newton's method comes down to it.
        let mut window = packets.max(libm::exp2(1.0 - more) / ratio);
        for _ in 0..STEPS {
            let rounds = libm::log2(window * ratio) + more;
            let step = (window * rounds - packets) / (rounds + std::f64::consts::LOG2_E);
            window -= step;
            // What is left after a step is less than a tenth of its square.
            if libm::fabs(step) <= 1e-7 * window {
                break;
            }
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    const LAW: Bic = Bic {
        loss: 1e-3,
        rtt_s: 0.1,
        reduction: 0.125,
        max_step_packets: 32.0,
        min_step_packets: 0.01,
        low_window_packets: 0.0,
    };

    /// Packets and round trips of an epoch, one by one.
    fn followed(law: &Bic, peak: f64) -> (f64, f64) {
        let mut window = (1.0 - law.reduction) * peak;
        let (mut packets, mut rounds) = (0.0, 0.0);
        loop {
            packets += window;
            rounds += 1.0;
            let half = (peak - window) / 2.0;
            if half < law.min_step_packets {
                return (packets + peak, rounds + 1.0);
            }
            window += half.min(law.max_step_packets);
        }
    }

    #[test]
    fn an_epoch_by_hand() {
        // From 7/8 of 90: 11.25 is halved (by 5.625, 2.8125, …) until half is below 0.01, that is ten times
        // (11.25/2¹¹ = 0.005), and then goes to 90 at once: 12 round trips of 90 less 11.25, 5.625, …
        // 11.25/2¹⁰ and nothing are 1080 − 22.489 = 1057.511 packets.
        let found = Bic { loss: 1.0 / 1057.511, ..LAW }.evaluate().unwrap().value;
        near(found.window_packets, 1057.511 / 12.0);
        near(found.peak_packets, 90.0);
        near(found.epoch_s, 1.2);
    }

    #[test]
    fn worked_examples() {
        // 10⁷ packets in 210 round trips, 10⁶ in 123, 100 in 9.
        for (law, window, rounds) in [
            (Bic { loss: 1e-7, ..LAW }, 47_619.0, 210.0),
            (Bic { loss: 1e-6, reduction: 0.2, max_step_packets: 16.0, ..LAW }, 8130.08, 123.0),
            (Bic { loss: 1e-2, ..LAW }, 11.1111, 9.0),
        ] {
            let found = law.evaluate().unwrap().value;
            near(found.window_packets, window);
            near(found.epoch_s, rounds * 0.1);
            let (packets, followed_rounds) = followed(&law, found.peak_packets);
            near(packets, 1.0 / law.loss);
            assert_eq!(followed_rounds, rounds);
        }
    }

    #[test]
    fn epochs_carry_their_packets() {
        for index in 0..3000 {
            let loss = libm::pow(10.0, -1.0 - f64::from(index) / 500.0);
            for (reduction, most, least) in
                [(0.125, 32.0, 0.01), (0.2, 16.0, 0.01), (0.5, 64.0, 1.0), (0.3, 1.0, 1.0)]
            {
                let law =
                    Bic { loss, reduction, max_step_packets: most, min_step_packets: least, ..LAW };
                let (peak, rounds) = law.search();
                // At a jump, epochs a little below and a little above the maximum carry less and more.
                let (fewer, least_rounds) = followed(&law, peak * (1.0 - 1e-9));
                let (more, most_rounds) = followed(&law, peak * (1.0 + 1e-9));
                let slack = 1e-7 / loss;
                assert!(fewer - slack < 1.0 / loss && 1.0 / loss < more + slack, "{law:?}");
                assert!(least_rounds <= rounds && rounds <= most_rounds, "{law:?} {rounds}");
            }
        }
    }

    #[test]
    fn below_the_low_window_it_is_reno() {
        let found = Bic { loss: 1e-2, low_window_packets: 14.0, ..LAW }.evaluate().unwrap().value;
        near(found.window_packets, 12.2474);
        // From half of 16.3299 in as many round trips: 8.16497.
        near(found.peak_packets, 16.3299);
        near(found.epoch_s, 0.816_497);
    }

    #[test]
    fn large_windows() {
        // sqrt(16·15/1e-7) = 48989.8; sqrt(8·9/1e-6) = 8485.28.
        for (loss, reduction, max_step_packets, rate) in
            [(1e-7, 0.125, 32.0, 489_898.0), (1e-6, 0.2, 16.0, 84_852.8)]
        {
            let law = BicLarge { loss, rtt_s: 0.1, reduction, max_step_packets };
            let found = law.evaluate().unwrap();
            near(found.value.rate_pps, rate);
            assert!(found.in_range());
        }
        let law = BicLarge { loss: 1e-4, rtt_s: 0.1, reduction: 0.125, max_step_packets: 32.0 };
        assert_eq!(law.evaluate().unwrap().outside, Some(NOT_LARGE));
    }

    #[test]
    fn small_windows() {
        let law = BicSmall {
            loss: 1e-2,
            rtt_s: 0.05,
            reduction: 0.125,
            max_step_packets: 32.0,
            min_step_packets: 0.01,
        };
        // log2(11.2535·12.5) + 1.75 = 7.13613 + 1.75 = 8.88613, and 100/8.88613 = 11.2535.
        let found = law.evaluate().unwrap();
        near(found.value.window_packets, 11.2535);
        near(found.value.rate_pps, 225.07);
        assert!(found.in_range());
        // 10⁵ packets are carried by windows of some 5000, an eighth of which is more than 64.
        assert_eq!(BicSmall { loss: 1e-5, ..law }.evaluate().unwrap().outside, Some(NOT_SMALL));
        // A window of a packet is reduced by less than ten.
        let tiny = BicSmall { loss: 0.9, min_step_packets: 10.0, ..law }.evaluate().unwrap();
        assert_eq!(tiny.outside, Some(TINY));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bad = Bic { min_step_packets: 33.0, ..LAW }.evaluate().unwrap_err();
        assert_eq!(bad.quantity, "min_step_packets");
        // The ends of what a number can be end too.
        for loss in [1e-300, 1e-20, 0.999_999] {
            assert!(Bic { loss, ..LAW }.evaluate().is_ok());
        }
    }
}
