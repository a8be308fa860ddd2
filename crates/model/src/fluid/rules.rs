//! Window rules as a fluid sees them: what a window grows by in a round trip, and what a loss leaves of it.

use fairway_cc::Variant::Paper;
use fairway_cc::default_of;
use fairway_cc::equations::{cubic, htcp, hybla, multcp, veno};

use crate::constants::{
    BIC_LEAST_STEP_PACKETS, BIC_LOW_WINDOW_PACKETS, BIC_MOST_STEP_PACKETS, BIC_REDUCTION,
    CUBIC_RETENTION, HYBLA_REFERENCE_RTT_S, LEDBAT_TARGET_S, SCALABLE_INCREASE,
    SCALABLE_LOW_WINDOW_PACKETS, SCALABLE_REDUCTION,
};
use crate::laws;

/// What a rule looks at. Windows are in packets, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment {
    /// The window.
    pub(super) window: f64,
    /// What the last reduction left of it.
    pub(super) after_loss: f64,
    /// Since the last reduction.
    pub(super) since_loss_s: f64,
    /// Since it may grow again: recovery takes a round trip.
    pub(super) growing_s: f64,
    /// The round-trip time, and without queues.
    pub(super) rtt_s: f64,
    pub(super) base_rtt_s: f64,
    pub(super) memory: Memory,
}

/// What a rule remembers beyond a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    /// The window that it heads for, in packets: CUBIC's and BIC's last maximum.
    pub(super) maximum: f64,
    /// The share that H-TCP kept, and its window at the last loss.
    kept: f64,
    at_last_loss: f64,
    /// The window, smoothed over round trips: Westwood+'s estimate times the round-trip time.
    smoothed: f64,
}

impl Memory {
    pub(super) fn of(window: f64) -> Self {
        Memory { maximum: window, kept: 0.5, at_last_loss: 0.0, smoothed: window }
    }

    /// After `rounds` round trips at this window.
    pub(super) fn see(&mut self, window: f64, rounds: f64) {
        self.smoothed += (1.0 - libm::pow(WESTWOOD_FILTER, rounds)) * (window - self.smoothed);
    }
}

/// A window rule.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "String")]
pub enum Rule {
    /// One packet a round trip, half at a loss (RFC 5681).
    Reno,
    /// As `n` Renos in one: `n` packets a round trip, `1/2n` at a loss (Crowcroft and Oechslin, "Differentiated
    /// End-to-End Internet Services using a Weighted Proportional Fair Sharing TCP", ACM CCR 28(3), 1998).
    MulTcp {
        /// Connections that it stands for.
        n: f64,
    },
    /// A hundredth of the window, an eighth at a loss (Kelly, "Scalable TCP", ACM CCR 33(2), 2003); up to 16
    /// packets Reno.
    Scalable,
    /// HighSpeed TCP (RFC 3649, section 5).
    HighSpeed,
    /// CUBIC (RFC 9438).
    Cubic,
    /// H-TCP (Shorten and Leith, PFLDnet 2004), without scaling by the round-trip time.
    Htcp,
    /// BIC (Xu, Harfoush and Rhee, INFOCOM 2004).
    Bic,
    /// Hybla (Caini and Firrincieli, IJSCN 22, 2004), reference 25 ms.
    Hybla,
    /// Westwood+ (Grieco and Mascolo, ACM CCR 34(2), 2004).
    WestwoodPlus,
    /// Veno (Fu and Liew, IEEE JSAC 21(2), 2003), backlog of 3 packets.
    Veno,
    /// Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995), 2 to 4 packets.
    Vegas,
    /// FAST (Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006), 100 packets, half of the way a round trip.
    Fast,
    /// LEDBAT (RFC 6817), target 100 ms, gain 1.
    Ledbat,
}

/// The rules by their names in experiment files. Where a name has several implementations, it is the one
/// of its source.
const NAMES: [(&str, Rule); 14] = [
    ("reno", Rule::Reno),
    ("newreno", Rule::Reno),
    ("multcp", Rule::MulTcp { n: default_of("multcp", Paper, "n") }),
    ("scalable", Rule::Scalable),
    ("highspeed", Rule::HighSpeed),
    ("cubic", Rule::Cubic),
    ("htcp", Rule::Htcp),
    ("bic", Rule::Bic),
    ("hybla", Rule::Hybla),
    ("westwood+", Rule::WestwoodPlus),
    ("veno", Rule::Veno),
    ("vegas", Rule::Vegas),
    ("fast", Rule::Fast),
    ("ledbat", Rule::Ledbat),
];

const BY_RATE: &str = "it sets a rate from what it measures, not a window from losses";
const BY_LARGEST_DELAY: &str = "its steps are shares of the largest delay that a flow has seen, which a mean over flows has not";
const COUPLED: &str = "it couples the windows of several paths";
const BY_MARKS: &str =
    "it answers to the share of marked packets of a round trip, which has an equation of its own";
const TIMEOUTS: &str = "every loss empties its window, which a mean over flows does not show";
const TWO_WINDOWS: &str = "it adds a window by delay to one by loss, and switches between modes";

/// Those that have no place in a mean window over many flows, and why.
const REFUSED: [(&str, &str); 20] = [
    ("bbr", BY_RATE),
    ("bbr3", BY_RATE),
    ("vivace", BY_RATE),
    ("copa", "its speed depends on the directions that it took before, round trip by round trip"),
    ("westwood", "it averages the gaps between single acknowledgements; westwood+ has a fluid"),
    ("illinois", BY_LARGEST_DELAY),
    ("tcp-lp", BY_LARGEST_DELAY),
    ("cdg", "it backs off at random by the slope of the delay"),
    ("compound", TWO_WINDOWS),
    ("yeah", TWO_WINDOWS),
    ("nv", BY_RATE),
    ("ledbat++", "it empties its window now and then on purpose"),
    ("tahoe", TIMEOUTS),
    ("dctcp", BY_MARKS),
    ("prague", BY_MARKS),
    ("lia", COUPLED),
    ("olia", COUPLED),
    ("balia", COUPLED),
    ("dcm", COUPLED),
    ("hacker", "its connections share one window"),
];

/// RFC 9438, section 4.6: C in packets per cubed second.
const CUBIC_C: f64 = default_of("cubic", Paper, "c");
/// Grieco and Mascolo 2004: the share of the old estimate that a round trip leaves.
const WESTWOOD_FILTER: f64 = default_of("westwood+", Paper, "alpha");
/// Fu and Liew 2003: the backlog in packets that means congestion.
const VENO_BACKLOG: f64 = default_of("veno", Paper, "beta");
/// Brakmo and Peterson 1995: packets in queues.
const VEGAS: (f64, f64) = (default_of("vegas", Paper, "alpha"), default_of("vegas", Paper, "beta"));
/// Wei et al. 2006: packets in queues, the share of the way that an update goes. It updates every other
/// round trip.
const FAST: (f64, f64) = (default_of("fast", Paper, "alpha"), default_of("fast", Paper, "gamma"));
const FAST_UPDATES_A_ROUND: f64 = 0.5;

impl Moment {
    /// Packets that it has in queues.
    fn backlog(&self) -> f64 {
        self.window * (self.rtt_s - self.base_rtt_s) / self.rtt_s
    }

    fn cubic_k_s(&self) -> f64 {
        cubic::time_to_origin((self.memory.maximum - self.after_loss).max(0.0), CUBIC_C)
    }
}

impl TryFrom<String> for Rule {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name)
    }
}

impl Rule {
    /// The rule of a name.
    ///
    /// # Errors
    /// A text that says why there is none, and which there are.
    pub fn named(name: &str) -> Result<Self, String> {
        if let Some((_, rule)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(*rule);
        }
        let known: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        let why = REFUSED.iter().find(|(refused, _)| *refused == name).map_or_else(
            || format!("expected a congestion control that has a fluid model, got \"{name}\""),
            |(_, why)| format!("\"{name}\" has no fluid model: {why}"),
        );
        Err(format!("{why}; write one of {known}"))
    }

    /// Names of all rules.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Whether queueing delay alone stops its growth.
    pub fn is_by_delay(self) -> bool {
        matches!(self, Rule::Vegas | Rule::Fast | Rule::Ledbat)
    }

    /// Whether its mean window at a given loss depends on the round-trip time, and not only on that without queues.
    pub(super) fn depends_on_rtt(self) -> bool {
        matches!(self, Rule::Cubic | Rule::Htcp | Rule::WestwoodPlus | Rule::Veno)
    }

    /// Whether its growth depends on its history, so that it has none at a window alone.
    pub(super) fn has_history(self) -> bool {
        matches!(self, Rule::Cubic | Rule::Htcp | Rule::Bic | Rule::WestwoodPlus)
    }

    /// The longest stretch, in round trips, over which its growth is even.
    pub(super) fn longest_rounds(self) -> f64 {
        if self == Rule::Bic { 1.0 } else { f64::INFINITY }
    }

    /// Packets by which the window grows in a round trip.
    pub(super) fn growth(self, at: &Moment) -> f64 {
        match self {
            Rule::Reno | Rule::WestwoodPlus => 1.0,
            Rule::MulTcp { n } => n,
            Rule::Scalable if libm::floor(at.window) <= SCALABLE_LOW_WINDOW_PACKETS => 1.0,
            Rule::Scalable => SCALABLE_INCREASE * at.window,
            Rule::HighSpeed => laws::highspeed_increase(at.window).max(1.0),
            Rule::Cubic => cubic_growth(at),
            Rule::Htcp => 2.0 * (1.0 - at.memory.kept) * htcp::increase(at.since_loss_s),
            Rule::Bic => bic_growth(at),
            Rule::Hybla => {
                let rho = hybla::rho(at.base_rtt_s, HYBLA_REFERENCE_RTT_S);
                rho * rho
            }
            Rule::Veno => veno::increase(at.backlog() >= VENO_BACKLOG),
            // One up below the lower bound, one down above the upper one. Windows of many flows are spread
            // over a packet at least, which makes each step a ramp of that width.
            Rule::Vegas => {
                let backlog = at.backlog();
                let up = (VEGAS.0 + 0.5 - backlog).clamp(0.0, 1.0);
                up - (backlog - (VEGAS.1 - 0.5)).clamp(0.0, 1.0)
            }
            Rule::Fast => FAST_UPDATES_A_ROUND * FAST.1 * (FAST.0 - at.backlog()),
            Rule::Ledbat => {
                let off = (LEDBAT_TARGET_S - (at.rtt_s - at.base_rtt_s)) / LEDBAT_TARGET_S;
                // A window is never less than what one round trip takes away.
                off.max(-0.5 * at.window)
            }
        }
    }

    /// The share of the window that a loss leaves.
    pub(super) fn beta(self, at: &Moment) -> f64 {
        match self {
            Rule::Reno | Rule::Hybla | Rule::Vegas | Rule::Fast | Rule::Ledbat => 0.5,
            Rule::MulTcp { n } => multcp::retention(n),
            Rule::Scalable if libm::floor(at.window) <= SCALABLE_LOW_WINDOW_PACKETS => 0.5,
            // Of whole packets, an eighth rounded down is taken.
            Rule::Scalable => 1.0 - libm::floor(SCALABLE_REDUCTION * at.window) / at.window,
            Rule::HighSpeed => 1.0 - laws::highspeed_reduction(at.window),
            Rule::Cubic => CUBIC_RETENTION,
            Rule::Htcp => {
                let change = (at.window / at.memory.at_last_loss.max(1.0) - 1.0).abs();
                let is_uneven = change > htcp::THROUGHPUT_CHANGE;
                if is_uneven {
                    htcp::RETENTIONS.0
                } else {
                    htcp::retention(at.base_rtt_s / at.rtt_s)
                }
            }
            Rule::Bic if at.window < BIC_LOW_WINDOW_PACKETS => 0.5,
            Rule::Bic => 1.0 - BIC_REDUCTION,
            // The rate is the window by the round-trip time: of its mean over the last rounds, what fits
            // into a round trip without queues.
            Rule::WestwoodPlus => {
                (at.memory.smoothed / at.window * at.base_rtt_s / at.rtt_s).min(1.0)
            }
            Rule::Veno => veno::retention(at.backlog() >= VENO_BACKLOG),
        }
    }

    /// What it remembers of a loss at which it kept `kept`.
    pub(super) fn remember(self, at: &Moment, kept: f64) -> Memory {
        let falls = at.window < at.memory.maximum;
        let maximum = match self {
            // RFC 9438, section 4.7, and BIC's fast convergence: halfway between before and after.
            Rule::Bic if at.window < BIC_LOW_WINDOW_PACKETS => at.memory.maximum,
            Rule::Cubic | Rule::Bic if falls => cubic::converged(at.window, kept),
            _ => at.window,
        };
        Memory { maximum, kept, at_last_loss: at.window, smoothed: at.memory.smoothed }
    }
}

/// The slope of the curve, or Reno's where that is above it (RFC 9438, sections 4.2 and 4.3).
fn cubic_growth(at: &Moment) -> f64 {
    let (k, s) = (at.cubic_k_s(), at.growing_s);
    let origin = at.memory.maximum.max(at.after_loss);
    let curve = cubic::window_at(s - k, origin, CUBIC_C);
    // 0.5294 packets a round trip until the window of the last loss, then 1.
    let alpha = cubic::reno_increase(CUBIC_RETENTION);
    let before = at.after_loss / CUBIC_RETENTION;
    let rounds_to = (before - at.after_loss) / alpha;
    let rounds = s / at.rtt_s;
    let (friendly, slope) = if rounds <= rounds_to {
        (at.after_loss + alpha * rounds, alpha)
    } else {
        (before + rounds - rounds_to, 1.0)
    };
    if friendly > curve {
        return slope;
    }
    let growth = 3.0 * CUBIC_C * (s - k) * (s - k) * at.rtt_s;
    growth.min((cubic::MOST_GROWTH - 1.0) * at.window)
}

/// Half of the way to the last maximum, within bounds; beyond it 1, 2, 4 … packets, which after `n` round
/// trips is `2^n - 1` packets in all. As rates, halving and doubling are `ln 2` of the way that is left, and of
/// one more than what has been gone.
fn bic_growth(at: &Moment) -> f64 {
    let distance = at.memory.maximum - at.window;
    let ln_2 = core::f64::consts::LN_2;
    if at.window < BIC_LOW_WINDOW_PACKETS {
        1.0
    } else if distance > 2.0 * BIC_LEAST_STEP_PACKETS {
        (ln_2 * distance).min(BIC_MOST_STEP_PACKETS)
    } else if distance > 0.0 {
        distance.max(BIC_LEAST_STEP_PACKETS)
    } else {
        (ln_2 * (1.0 - distance)).min(BIC_MOST_STEP_PACKETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(window: f64) -> Moment {
        Moment {
            window,
            after_loss: window,
            since_loss_s: 0.0,
            growing_s: 0.0,
            rtt_s: 0.125,
            base_rtt_s: 0.1,
            memory: Memory::of(window),
        }
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{found} is not {expected}"
        );
    }

    #[test]
    fn names() {
        assert_eq!(Rule::named("newreno"), Ok(Rule::Reno));
        for (name, _) in REFUSED {
            assert!(Rule::named(name).unwrap_err().contains("has no fluid model"), "{name}");
        }
        let unknown = Rule::named("of my own").unwrap_err();
        assert!(unknown.contains("\"of my own\"; write one of reno, newreno"), "{unknown}");
    }

    #[test]
    fn what_a_round_trip_adds() {
        near(Rule::Reno.growth(&at(50.0)), 1.0);
        near(Rule::MulTcp { n: 4.0 }.growth(&at(50.0)), 4.0);
        near(Rule::Scalable.growth(&at(16.9)), 1.0);
        near(Rule::Scalable.growth(&at(17.0)), 0.17);
        near(Rule::Scalable.growth(&at(200.0)), 2.0);
        // RFC 3649, appendix B: 8.14 packets at 1058 before rounding.
        assert!((Rule::HighSpeed.growth(&at(1058.0)) - 8.14).abs() < 0.01);
        // 100 ms are four times 25 ms.
        near(Rule::Hybla.growth(&at(50.0)), 16.0);
        // Of 50 packets in 125 ms, 25 ms are 10 in the queue; of 10, 2.
        near(Rule::Veno.growth(&at(50.0)), 0.5);
        near(Rule::Veno.growth(&at(10.0)), 1.0);
        near(Rule::Vegas.growth(&at(50.0)), -1.0);
        near(Rule::Vegas.growth(&at(15.0)), 0.0);
        near(Rule::Vegas.growth(&at(5.0)), 1.0);
        // A quarter of the way from 10 to 100 packets in the queue.
        near(Rule::Fast.growth(&at(50.0)), 22.5);
        // 25 of 100 ms: three quarters.
        near(Rule::Ledbat.growth(&at(50.0)), 0.75);
    }

    #[test]
    fn what_grows_by_time_since_the_loss() {
        // Two seconds: 1 + 10 + 1/4, times 2(1 - 1/2).
        near(Rule::Htcp.growth(&Moment { since_loss_s: 2.0, ..at(50.0) }), 11.25);
        // 270 packets below a maximum of 900 ... K = (270/0.4)^(1/3) = 8.772 s; a second before K the slope is
        // 3 · 0.4 · 1² packets a second, in 125 ms 0.15.
        let k = libm::cbrt(675.0);
        let memory = Memory { maximum: 900.0, ..Memory::of(900.0) };
        let late = Moment { after_loss: 630.0, growing_s: k - 1.0, memory, ..at(899.0) };
        near(Rule::Cubic.growth(&late), 0.15);
        // Of 7 packets after a loss at 10: Reno's share, then Reno.
        let memory = Memory::of(10.0);
        let small = Moment { after_loss: 7.0, growing_s: 0.01, rtt_s: 0.01, memory, ..at(7.5) };
        near(Rule::Cubic.growth(&small), 0.9 / 1.7);
        // From 7 to 10 in 5.7 round trips.
        near(Rule::Cubic.growth(&Moment { growing_s: 0.07, ..small }), 1.0);
    }

    #[test]
    fn bics_search() {
        let below = |distance: f64| {
            let memory = Memory { maximum: 200.0 + distance, ..Memory::of(200.0) };
            Rule::Bic.growth(&Moment { memory, ..at(200.0) })
        };
        near(below(100.0), 32.0);
        // ln 2 = 0.693147.
        near(below(10.0), 10.0 * core::f64::consts::LN_2);
        near(below(0.015), 0.015);
        near(below(-3.0), 4.0 * core::f64::consts::LN_2);
        near(below(-100.0), 32.0);
        near(Rule::Bic.growth(&at(13.0)), 1.0);
    }

    #[test]
    fn what_a_loss_leaves() {
        near(Rule::Reno.beta(&at(50.0)), 0.5);
        near(Rule::MulTcp { n: 4.0 }.beta(&at(50.0)), 0.875);
        // 6 of 50.
        near(Rule::Scalable.beta(&at(50.0)), 0.88);
        near(Rule::Cubic.beta(&at(50.0)), 0.7);
        near(Rule::Veno.beta(&at(50.0)), 0.5);
        near(Rule::Veno.beta(&at(10.0)), 0.8);
        // 100 of 125 ms; half after a change of throughput by more than a fifth.
        near(Rule::WestwoodPlus.beta(&at(50.0)), 0.8);
        let memory = |at_last_loss| Memory { at_last_loss, ..Memory::of(50.0) };
        near(Rule::Htcp.beta(&Moment { memory: memory(45.0), ..at(50.0) }), 0.8);
        near(Rule::Htcp.beta(&Moment { memory: memory(40.0), ..at(50.0) }), 0.5);
    }

    #[test]
    fn a_falling_maximum_falls_further() {
        let memory = |maximum| Memory { maximum, ..Memory::of(100.0) };
        let remembered = |maximum| {
            Rule::Cubic.remember(&Moment { memory: memory(maximum), ..at(100.0) }, 0.7).maximum
        };
        near(remembered(99.0), 100.0);
        near(remembered(101.0), 85.0);
    }
}
