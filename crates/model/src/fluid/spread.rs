//! How windows spread around their mean, and what mean they have at a given loss.
//!
//! A mean window `W` at which each packet is lost with probability `p` would balance at `W²·p = 2` for Reno if
//! all windows were equal. They are not: a large window is hit more often, and the mean of squares is more
//! than the square of the mean. Here a flow goes from loss to loss, its losses independent, so that the gaps
//! between them, counted in packets, are geometric. Each stretch is
//!
//! - a round trip of recovery at the reduced window, which may be hit again but does not grow,
//! - growth by the rule until a packet is lost,
//! - one round trip more until the sender knows. What is lost in it belongs to the same reduction.
//!
//! The mean over many stretches depends on nothing else than the rule, the loss and the round-trip time. The
//! gaps are the quantiles of their distribution in an order that is always the same: nothing is random.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::rules::{Memory, Moment, Rule};

/// Stretches: the mean is then good to about half a percent.
const STRETCHES: usize = 2048;
/// Of these, the first are not counted.
const WARM_UP: usize = 64;
/// Losses to be expected within a step, at most, where it is longer than a round trip.
const STEP_LOSSES: f64 = 1.0 / 16.0;
/// RFC 5681, section 3.1: a loss leaves two packets at least.
const SMALLEST_WINDOW: f64 = 2.0;

/// Means over the stretches of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Balance {
    /// Packets sent in a round trip.
    pub(super) window: f64,
    /// What the window grows by in a round trip, recovery included: as much as losses take.
    pub(super) growth: f64,
}

/// The path of a flow: round-trip time, and without queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trip {
    pub(super) rtt_s: f64,
    pub(super) base_rtt_s: f64,
}

/// Gaps between losses in units of their mean: exponential quantiles, shuffled.
fn gaps() -> &'static [f64] {
    static GAPS: OnceLock<Vec<f64>> = OnceLock::new();
    GAPS.get_or_init(|| {
        let count = STRETCHES as f64;
        let quantile = |i: usize| -libm::log(1.0 - (i as f64 + 0.5) / count);
        let mut gaps: Vec<f64> = (0..STRETCHES).map(quantile).collect();
        // Fisher and Yates, by the 64-bit generator of Knuth's MMIX.
        let mut state: u64 = 1;
        for i in (1..STRETCHES).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            gaps.swap(i, (state >> 33) as usize % (i + 1));
        }
        gaps
    })
}

/// Sums over round trips.
#[derive(Default)]
struct Sums {
    rounds: f64,
    packets: f64,
    growth: f64,
}

/// One flow, between its losses.
struct Flow {
    rule: Rule,
    at: Moment,
    /// Round trips since the last reduction.
    rounds: f64,
    sums: Sums,
}

impl Flow {
    fn new(rule: Rule, trip: Trip, window: f64) -> Self {
        let at = Moment {
            window,
            after_loss: window,
            since_loss_s: 0.0,
            growing_s: 0.0,
            rtt_s: trip.rtt_s,
            base_rtt_s: trip.base_rtt_s,
            memory: Memory::of(window),
        };
        Flow { rule, at, rounds: 0.0, sums: Sums::default() }
    }

    /// Round trips of the next step, `most` of them at most; recovery ends a step.
    fn step_length(&self, most: f64) -> f64 {
        if self.rounds < 1.0 { most.min(1.0 - self.rounds) } else { most }
    }

    /// What it sends in a round trip, and grows by, over the next `rounds`.
    fn sends(&self, rounds: f64) -> (f64, f64) {
        if self.rounds < 1.0 {
            return (self.at.window, 0.0);
        }
        let first = self.rule.growth(&self.at);
        let growth = self.rule.growth(&self.after(0.5 * rounds, first));
        // Whole packets are sent: of a window that grows on, half a packet is not there yet.
        (self.at.window + 0.5 * rounds * growth - 0.5, growth)
    }

    /// The moment `rounds` later, with this growth.
    fn after(&self, rounds: f64, growth: f64) -> Moment {
        let since_loss_s = (self.rounds + rounds) * self.at.rtt_s;
        Moment {
            window: self.at.window + rounds * growth,
            since_loss_s,
            growing_s: (since_loss_s - self.at.rtt_s).max(0.0),
            ..self.at
        }
    }

    fn go(&mut self, rounds: f64, sends: f64, growth: f64) {
        self.at = self.after(rounds, growth);
        self.at.memory.see(sends, rounds);
        self.rounds += rounds;
        self.sums.rounds += rounds;
        self.sums.packets += rounds * sends;
        self.sums.growth += rounds * growth;
    }

    /// From a reduction to the next, of packets lost with a rate of `hazard` each, after `gap` of them.
    fn stretch(&mut self, hazard: f64, gap: f64) {
        let mut left = gap;
        loop {
            let losses_a_round = hazard * self.at.window.max(1.0);
            let most = (STEP_LOSSES / losses_a_round).clamp(1.0, self.rule.longest_rounds());
            let length = self.step_length(most);
            let (sends, growth) = self.sends(length);
            let losses = hazard * sends * length;
            if losses >= left {
                self.go(length * left / losses, sends, growth);
                break;
            }
            left -= losses;
            self.go(length, sends, growth);
        }
        let mut until_known = 1.0;
        while until_known > 1e-9 {
            let length = self.step_length(until_known);
            let (sends, growth) = self.sends(length);
            self.go(length, sends, growth);
            until_known -= length;
        }
        self.reduce();
    }

    fn reduce(&mut self) {
        self.at.window = libm::floor(self.at.window);
        let beta = self.rule.beta(&self.at);
        self.at.memory = self.rule.remember(&self.at, beta);
        // A whole number may have lost its last digit.
        self.at.window = libm::floor(self.at.window * beta + 1e-9).max(SMALLEST_WINDOW);
        self.at.after_loss = self.at.window;
        self.at.since_loss_s = 0.0;
        self.at.growing_s = 0.0;
        self.rounds = 0.0;
    }
}

/// The balance of a rule where each packet is lost with probability `loss`.
pub(super) fn balance(rule: Rule, loss: f64, trip: Trip) -> Balance {
    let hazard = -libm::log1p(-loss);
    let mut flow = Flow::new(rule, trip, libm::sqrt(1.5 / loss).max(SMALLEST_WINDOW));
    for gap in &gaps()[..WARM_UP] {
        flow.stretch(hazard, *gap);
    }
    flow.sums = Sums::default();
    for gap in gaps() {
        flow.stretch(hazard, *gap);
    }
    let Sums { rounds, packets, growth } = flow.sums;
    Balance { window: packets / rounds, growth: growth / rounds }
}

/// Losses of the table: these for each factor of ten, from the first on; round-trip times: these for each
/// doubling.
const LOSSES_PER_DECADE: f64 = 6.0;
const FIRST_LOSS_LOG10: f64 = -9.0;
const LOSSES: usize = 53;
const RTTS_PER_DOUBLING: f64 = 4.0;

/// The balance of a rule at all losses and round-trip times, computed where it is asked for.
#[derive(Clone, Debug)]
pub(super) struct Response {
    rule: Rule,
    base_rtt_s: f64,
    columns: BTreeMap<u32, Vec<Option<Balance>>>,
}

impl Response {
    pub(super) fn new(rule: Rule, base_rtt_s: f64) -> Self {
        Response { rule, base_rtt_s, columns: BTreeMap::new() }
    }

    fn loss_of(row: usize) -> f64 {
        libm::exp10(FIRST_LOSS_LOG10 + row as f64 / LOSSES_PER_DECADE)
    }

    fn entry(&mut self, column: u32, row: usize) -> Balance {
        let (rule, base_rtt_s) = (self.rule, self.base_rtt_s);
        let rows = self.columns.entry(column).or_insert_with(|| vec![None; LOSSES]);
        *rows[row].get_or_insert_with(|| {
            let rtt_s = base_rtt_s * libm::exp2(f64::from(column) / RTTS_PER_DOUBLING);
            balance(rule, Self::loss_of(row), Trip { rtt_s, base_rtt_s })
        })
    }

    /// The columns beside a round-trip time, and how far it is from the first to the second.
    fn beside(&self, rtt_s: f64) -> (u32, u32, f64) {
        if !self.rule.depends_on_rtt() {
            return (0, 0, 0.0);
        }
        let place = RTTS_PER_DOUBLING * libm::log2((rtt_s / self.base_rtt_s).max(1.0));
        let first = libm::floor(place).min(1e6);
        (first as u32, first as u32 + 1, (place - first).min(1.0))
    }

    /// The mean window at a loss.
    pub(super) fn window(&mut self, loss: f64, rtt_s: f64) -> f64 {
        let last = (LOSSES - 2) as f64;
        let place = (libm::log10(loss) - FIRST_LOSS_LOG10) * LOSSES_PER_DECADE;
        let row = libm::floor(place).clamp(0.0, last);
        let (first, second, share) = self.beside(rtt_s);
        // Beyond the ends the line goes on.
        let along = |table: &mut Self, column| {
            let low = libm::log(table.entry(column, row as usize).window);
            let high = libm::log(table.entry(column, row as usize + 1).window);
            low + (place - row) * (high - low)
        };
        let one = along(self, first);
        let log = if share > 0.0 { one + share * (along(self, second) - one) } else { one };
        libm::exp(log)
    }

    /// The loss at which the mean window is this, and the mean growth there.
    pub(super) fn at(&mut self, window: f64, rtt_s: f64) -> (f64, f64) {
        let (first, second, share) = self.beside(rtt_s);
        let one = self.in_column(first, window);
        if share == 0.0 {
            return one;
        }
        let two = self.in_column(second, window);
        let between =
            |a: f64, b: f64| libm::exp(libm::log(a) * (1.0 - share) + libm::log(b) * share);
        (between(one.0, two.0), between(one.1, two.1))
    }

    fn in_column(&mut self, column: u32, window: f64) -> (f64, f64) {
        // Windows fall with the row: the last row whose window is not below.
        let (mut low, mut high) = (0, LOSSES - 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.entry(column, middle).window >= window {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (a, b) = (self.entry(column, low), self.entry(column, high));
        let run = libm::log(b.window / a.window);
        let along = if run < 0.0 { libm::log(window / a.window) / run } else { 0.0 };
        // Beyond the ends the line goes on for losses; growth stays.
        let step = core::f64::consts::LN_10 / LOSSES_PER_DECADE;
        let loss = Self::loss_of(low) * libm::exp(along * step);
        let inside = along.clamp(0.0, 1.0);
        (loss, a.growth * libm::pow(b.growth / a.growth, inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Trip = Trip { rtt_s: 0.1, base_rtt_s: 0.1 };

    #[test]
    fn gaps_have_the_mean_of_one() {
        let mean = gaps().iter().sum::<f64>() / STRETCHES as f64;
        assert!((mean - 1.0).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn reno_where_losses_are_rare() {
        // T. Ott, J. Kemperman, M. Mathis, "The stationary behavior of ideal TCP congestion avoidance", 1996:
        // the time average of the window is 1.3098/sqrt(p) where each packet is lost by itself. A round trip
        // of recovery in each stretch, W/2 of them, takes a little, which is 1 % at 1e-5.
        for loss in [1e-6, 1e-7] {
            let found = balance(Rule::Reno, loss, TRIP).window * loss.sqrt();
            assert!((found / 1.3098 - 1.0).abs() < 0.015, "{loss}: {found}");
        }
    }

    #[test]
    fn scalable_is_its_mean_field() {
        // Kelly 2003: gain a for each packet that comes through, loss of b·w for each that does not:
        // 0.01/(0.125·p), whatever the gaps.
        let found = balance(Rule::Scalable, 1e-5, TRIP).window / 8000.0;
        // Known a round trip late (1 % more) and grown one less (1 % less) at 13 round trips a stretch.
        assert!((found - 1.0).abs() < 0.1, "{found}");
    }

    #[test]
    fn the_table_is_what_it_is_made_of() {
        let mut response = Response::new(Rule::Cubic, 0.1);
        for (loss, rtt_s) in [(1e-3, 0.1), (3e-4, 0.13), (2e-5, 0.21)] {
            let exact = balance(Rule::Cubic, loss, Trip { rtt_s, base_rtt_s: 0.1 }).window;
            let found = response.window(loss, rtt_s);
            assert!((found / exact - 1.0).abs() < 0.02, "{loss} {rtt_s}: {found} is not {exact}");
            let back = response.at(found, rtt_s).0;
            assert!((back / loss - 1.0).abs() < 0.02, "{loss} {rtt_s}: {back}");
        }
    }

    #[test]
    fn beyond_the_table_nothing_breaks() {
        let mut response = Response::new(Rule::Reno, 0.1);
        for window in [1e-3, 1.0, 1e6, 1e9] {
            let (loss, growth) = response.at(window, 0.1);
            assert!(loss > 0.0 && loss.is_finite() && growth > 0.0, "{window}: {loss} {growth}");
        }
        assert!(response.window(1e-14, 0.1) > response.window(1e-12, 0.1));
    }
}
