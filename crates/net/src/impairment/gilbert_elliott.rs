//! The two-state loss model of Gilbert and Elliott.
//!
//! Sources: E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39, 1960 (no loss in the good
//! state); E. O. Elliott, "Estimates of error rates for codes on burst-noise channels", BSTJ 42,
//! 1963 (losses in both); parameters as NetEm has them (`loss gemodel p r 1-h 1-k`; Linux
//! net/sched/sch_netem.c, `loss_gilb_ell`).

use fairway_units::random::Stream;

use super::chance::check_probability;

/// Parameters of the model.
///
/// Bernoulli loss is `loss_in_bad` = 1, `loss_in_good` = 0, `p` + `r` = 1; the simple Gilbert model
/// is `loss_in_bad` = 1 and `loss_in_good` = 0 alone; Gilbert's own has `loss_in_good` = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability p to go from the good state to the bad one, at each packet.
    pub p: f64,
    /// Probability r to go back.
    pub r: f64,
    /// Probability 1 − h that a packet is lost in the bad state.
    pub loss_in_bad: f64,
    /// Probability 1 − k that a packet is lost in the good state.
    pub loss_in_good: f64,
}

impl GilbertElliott {
    /// What is wrong with the parameters, if anything; `name` is where they were written.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        check_probability(&format!("{name}.p"), self.p)?;
        check_probability(&format!("{name}.r"), self.r)?;
        check_probability(&format!("{name}.loss_in_bad"), self.loss_in_bad)?;
        check_probability(&format!("{name}.loss_in_good"), self.loss_in_good)
    }
}

/// The chain, which begins in its good state as NetEm's does.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    model: GilbertElliott,
    bad: bool,
    stream: Stream,
}

impl Chain {
    pub(super) fn new(model: GilbertElliott, stream: Stream) -> Self {
        Chain { model, bad: false, stream }
    }

    /// Whether the next packet is lost. Its fate is that of the state which it finds; the chain
    /// moves on behind it. Two numbers are drawn for every packet, in NetEm's order.
    pub(super) fn loses(&mut self) -> bool {
        let GilbertElliott { p, r, loss_in_bad, loss_in_good } = self.model;
        let (leaving, loss) = if self.bad { (r, loss_in_bad) } else { (p, loss_in_good) };
        let leaves = self.stream.unit() < leaving;
        let lost = self.stream.unit() < loss;
        self.bad ^= leaves;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::super::bursts_of_losses::{Runs, runs};
    use super::*;

    const PACKETS: u32 = 1_000_000;

    fn observe(model: GilbertElliott, seed: u64) -> Runs {
        let mut chain = Chain::new(model, Stream::new(seed, "wire/loss"));
        runs(PACKETS, || chain.loses())
    }

    #[test]
    fn simple_gilbert_loses_in_geometric_bursts() {
        // p = 0.01, r = 0.25: loss rate 0.01/0.26 = 0.0384615; bursts are as long as stays in the
        // bad state, geometric with mean 1/r = 4.
        let model = GilbertElliott { p: 0.01, r: 0.25, loss_in_bad: 1.0, loss_in_good: 0.0 };
        let seen = observe(model, 1);
        // Variance of a Markov chain's mean: π(1−π)/n·(1+λ)/(1−λ), λ = 1 − p − r = 0.74:
        // √(0.0385·0.9615/10⁶·1.74/0.26) = 0.0005; four of it.
        assert!((seen.loss() - 0.038_461_5).abs() < 0.002, "{}", seen.loss());
        // About 9600 bursts; a geometric length has sd √(1−r)/r = 3.46: error 0.035.
        assert!((seen.mean_length() - 4.0).abs() < 0.14, "{}", seen.mean_length());
        // P(length = k) = 0.25·0.75^(k−1): each within four standard errors √(q(1−q)/bursts).
        seen.assert_lengths(&[0.25, 0.1875, 0.140_625, 0.105_469, 0.079_102, 0.059_326]);
    }

    #[test]
    fn gilbert_with_some_packets_saved_has_shorter_bursts() {
        // p = 0.02, r = 0.1, h = 0.5: loss rate 0.02·0.5/0.12 = 0.083333. After a loss the next
        // packet is lost too if the chain stays and h fails: 0.9·0.5 = 0.45, so bursts are
        // geometric with mean 1/0.55 = 1.818182.
        let model = GilbertElliott { p: 0.02, r: 0.1, loss_in_bad: 0.5, loss_in_good: 0.0 };
        let seen = observe(model, 2);
        // State variance as above with π = 1/6, λ = 0.88: √(0.1389/10⁶·15.67) = 0.00147, halved by
        // h, plus the draws' own √(0.0764/10⁶) = 0.00028: 0.0008. Four of it.
        assert!((seen.loss() - 0.083_333).abs() < 0.0032, "{}", seen.loss());
        // About 45 800 bursts of sd √0.45/0.55 = 1.22: error 0.0057.
        assert!((seen.mean_length() - 1.818_182).abs() < 0.023, "{}", seen.mean_length());
        seen.assert_lengths(&[0.55, 0.2475, 0.111_375, 0.050_119, 0.022_553]);
    }

    #[test]
    fn elliott_loses_in_both_states() {
        // p = 0.05, r = 0.2, 1−h = 0.6, 1−k = 0.01. π_bad = 0.2, so the loss rate is
        // 0.8·0.01 + 0.2·0.6 = 0.128. Two losses in a row, summed over the states of both packets:
        // 0.8·0.01·(0.95·0.01 + 0.05·0.6) + 0.2·0.6·(0.2·0.01 + 0.8·0.6)
        //   = 0.008·0.0395 + 0.12·0.482 = 0.000316 + 0.05784 = 0.058156.
        // A burst begins where a packet is lost and the one before is not: 0.128 − 0.058156 =
        // 0.069844. Mean burst length 0.128/0.069844 = 1.832655.
        let model = GilbertElliott { p: 0.05, r: 0.2, loss_in_bad: 0.6, loss_in_good: 0.01 };
        let seen = observe(model, 3);
        // λ = 0.75: √(0.16/10⁶·7)·0.59 = 0.00062, with the draws' own 0.0003: 0.0007.
        assert!((seen.loss() - 0.128).abs() < 0.0028, "{}", seen.loss());
        // About 69 800 bursts, sd near 1.24: error 0.0047.
        assert!((seen.mean_length() - 1.832_655).abs() < 0.019, "{}", seen.mean_length());
    }

    #[test]
    fn a_chain_of_one_state_is_bernoulli() {
        // No transitions: the good state, where it begins. 0.1 ± 4·√(0.09/10⁶) = 0.1 ± 0.0012.
        let model = GilbertElliott { p: 0.0, r: 0.0, loss_in_bad: 1.0, loss_in_good: 0.1 };
        assert!((observe(model, 5).loss() - 0.1).abs() < 0.0012);
        // p + r = 1: the state has no memory. 0.3 ± 4·√(0.21/10⁶) = 0.3 ± 0.0019; bursts 1/0.7.
        let model = GilbertElliott { p: 0.3, r: 0.7, loss_in_bad: 1.0, loss_in_good: 0.0 };
        let seen = observe(model, 4);
        assert!((seen.loss() - 0.3).abs() < 0.0019);
        seen.assert_lengths(&[0.7, 0.21, 0.063, 0.0189]);
    }
}
