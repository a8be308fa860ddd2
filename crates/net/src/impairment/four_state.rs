//! The four-state loss model of NetEm.
//!
//! Sources: Linux net/sched/sch_netem.c, `loss_4state` (`loss state p13 p31 p32 p23 p14`);
//! S. Salsano, F. Ludovici, A. Ordine, D. Giannuzzi, "Definition of a general and intuitive loss
//! model for packet networks and its implementation in the Netem module in the Linux kernel",
//! version 3.1, 2012.
//!
//! States, by the names of the report: 1 received in a gap, 2 received within a burst, 3 lost
//! within a burst, 4 lost alone in a gap. From 4 the chain always goes back to 1.

use fairway_units::random::Stream;

use super::chance::check_probability;

/// Probabilities of going from one state to another, at each packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FourState {
    /// From received in a gap to lost in a burst: a burst begins.
    pub p13: f64,
    /// From lost in a burst to received in a gap: it ends.
    pub p31: f64,
    /// From lost to received within a burst.
    pub p32: f64,
    /// From received to lost within a burst.
    pub p23: f64,
    /// From received in a gap to lost alone.
    pub p14: f64,
}

/// The model by what is seen of it: the five "intuitive" parameters of Salsano et al.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBursts {
    /// Share of packets lost in the long run, P_LOSS.
    pub loss: f64,
    /// Mean packets of a burst from its first loss to its last, E(B).
    pub length: f64,
    /// Share of packets lost within bursts, ρ.
    pub density: f64,
    /// Share of packets in gaps that are lost alone, P_ISOL.
    pub isolated: f64,
    /// Mean packets in a row that are received within a burst, E(GB). Of no effect at density 1.
    pub spared: f64,
}

impl LossBursts {
    /// The same as probabilities of transitions.
    ///
    /// # Errors
    /// If no chain has these figures: which, and how to change it. `name` is where they were
    /// written.
    pub fn transitions(&self, name: &str) -> Result<FourState, String> {
        let LossBursts { loss, length, density, isolated, spared } = *self;
        check_probability(&format!("{name}.loss"), loss)?;
        check_probability(&format!("{name}.density"), density)?;
        check_probability(&format!("{name}.isolated"), isolated)?;
        if !(density > loss && loss >= isolated && isolated < 1.0) {
            return Err(format!(
                "{name}: expected isolated ≤ loss < density, got isolated = {isolated}, \
                 loss = {loss}, density = {density}; losses are denser in bursts than on the whole, \
                 and rarer outside"
            ));
        }
        if !(spared >= 1.0 && spared.is_finite()) {
            return Err(format!(
                "{name}.spared: expected a mean of at least 1 packet, got {spared}"
            ));
        }
        // The lost packets of a burst, at least one, are one more than its stays in state 2.
        if !(length * density >= 1.0 && length.is_finite()) {
            let least = 1.0 / density;
            return Err(format!(
                "{name}.length: expected at least 1/density = {least:.6} packets, so that a burst \
                 has a loss, got {length}; write {least:.6} or more"
            ));
        }
        // Stays in 3 per burst: 1/p31 = ρ·E(B). Flow between 2 and 3: π₂·p23 = π₃·p32 with
        // π₃/(π₂ + π₃) = ρ. In gaps π₄/(π₁ + π₄) = P_ISOL. p13 from π₃ + π₄ = P_LOSS.
        let model = FourState {
            p13: (loss - isolated) / (length * (1.0 - isolated) * (density - loss)),
            p31: 1.0 / (density * length),
            p32: (1.0 - density) / (density * spared),
            p23: 1.0 / spared,
            p14: isolated / (1.0 - isolated),
        };
        model.check(name).map_err(|error| {
            format!("{error} (worked out from {self:?}); write longer bursts or less loss")
        })?;
        Ok(model)
    }
}

impl FourState {
    /// What is wrong with the parameters, if anything; `name` is where they were written.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        let FourState { p13, p31, p32, p23, p14 } = *self;
        for (key, value) in [("p13", p13), ("p31", p31), ("p32", p32), ("p23", p23), ("p14", p14)] {
            check_probability(&format!("{name}.{key}"), value)?;
        }
        for (keys, sum) in [("p13 + p14", p13 + p14), ("p31 + p32", p31 + p32)] {
            // As decimal numbers they may add to one where their binary fractions do not.
            if sum > 1.0 + 1e-9 {
                return Err(format!(
                    "{name}: expected {keys} of at most 1, since both leave the same state, got \
                     {sum}; write smaller ones"
                ));
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    ReceivedInGap,
    ReceivedInBurst,
    LostInBurst,
    LostAlone,
}

/// The chain, which begins in state 1 as NetEm's does.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    model: FourState,
    state: State,
    stream: Stream,
}

impl Chain {
    pub(super) fn new(model: FourState, stream: Stream) -> Self {
        Chain { model, state: State::ReceivedInGap, stream }
    }

    /// Whether the next packet is lost. The chain moves first, by one number drawn, and the
    /// packet's fate is that of the state reached.
    pub(super) fn loses(&mut self) -> bool {
        let FourState { p13, p31, p32, p23, p14 } = self.model;
        let drawn = self.stream.unit();
        self.state = match self.state {
            State::ReceivedInGap if drawn < p14 => State::LostAlone,
            State::ReceivedInGap if drawn < p14 + p13 => State::LostInBurst,
            State::ReceivedInBurst if drawn < p23 => State::LostInBurst,
            State::LostInBurst if drawn < p32 => State::ReceivedInBurst,
            State::LostInBurst if drawn < p32 + p31 => State::ReceivedInGap,
            State::LostAlone => State::ReceivedInGap,
            stays => stays,
        };
        matches!(self.state, State::LostInBurst | State::LostAlone)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bursts_of_losses::runs;
    use super::*;

    fn chain(model: FourState, seed: u64) -> Chain {
        Chain::new(model, Stream::new(seed, "wire/loss"))
    }

    #[test]
    fn losses_and_their_runs_are_those_of_the_chain() {
        // p13 = 0.01, p31 = 0.1, p32 = 0.3, p23 = 0.6, p14 = 0.02. Balance of flows: π₃ = 0.1 π₁,
        // π₂ = 0.3/0.6·π₃ = 0.05 π₁, π₄ = 0.02 π₁, so π₁ = 1/1.17. Loss (0.1 + 0.02)/1.17 =
        // 0.102564.
        // Runs: those in bursts begin by entering 3 from 1 or 2, 0.01 + 0.05·0.6 = 0.04 for each
        // π₁, and go on with 1 − p31 − p32 = 0.6; those alone, 0.02, have length 1. So a share
        // of 2/3 is geometric with mean 2.5: lengths 1: 1/3 + 2/3·0.4 = 0.6; k: 2/3·0.4·0.6^(k−1).
        // Mean 1/3 + 2/3·2.5 = 2.
        let model = FourState { p13: 0.01, p31: 0.1, p32: 0.3, p23: 0.6, p14: 0.02 };
        let mut chain = chain(model, 5);
        let seen = runs(1_000_000, || chain.loses());
        // A burst holds 10 losses in 15 packets on average, both about geometric: the variance of
        // the count is near 8500 bursts·(10² + 10²) + 17 000 alone: sd 1310, 0.0013 of all.
        assert!((seen.loss() - 0.102_564).abs() < 0.0052, "{}", seen.loss());
        // About 51 000 runs with sd √(2/3·(2.5² + 3.75) + 1/3 − 4) = 1.73: error 0.008.
        assert!((seen.mean_length() - 2.0).abs() < 0.031, "{}", seen.mean_length());
        seen.assert_lengths(&[0.6, 0.16, 0.096, 0.0576, 0.034_56, 0.020_736]);
    }

    #[test]
    fn with_p13_alone_it_is_bernoulli_as_netem_has_it() {
        // tc's defaults: p31 = 1 − p13, p32 = 0, p23 = 1, p14 = 0.
        let model = FourState { p13: 0.2, p31: 0.8, p32: 0.0, p23: 1.0, p14: 0.0 };
        let mut chain = chain(model, 6);
        let seen = runs(1_000_000, || chain.loses());
        // 0.2 ± 4·√(0.16/10⁶).
        assert!((seen.loss() - 0.2).abs() < 0.0016);
        seen.assert_lengths(&[0.8, 0.16, 0.032, 0.0064]);
    }

    #[test]
    fn the_intuitive_parameters_are_turned_into_transitions() {
        // The chain above, described: loss 0.12/1.17; bursts of (0.1 + 0.05)/0.01 = 15 packets of
        // which 2/3 are lost; 0.02/1.02 lost alone in gaps; 1/0.6 spared in a row.
        let bursts = LossBursts {
            loss: 0.12 / 1.17,
            length: 15.0,
            density: 2.0 / 3.0,
            isolated: 0.02 / 1.02,
            spared: 1.0 / 0.6,
        };
        let FourState { p13, p31, p32, p23, p14 } = bursts.transitions("loss").unwrap();
        for (found, expected) in [(p13, 0.01), (p31, 0.1), (p32, 0.3), (p23, 0.6), (p14, 0.02)] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn what_no_chain_does_is_refused() {
        let model = FourState { p13: 0.7, p31: 0.1, p32: 0.0, p23: 1.0, p14: 0.4 };
        assert!(model.check("loss").unwrap_err().contains("p13 + p14"));
        let bursts =
            LossBursts { loss: 0.5, length: 9.0, density: 0.4, isolated: 0.0, spared: 1.0 };
        assert!(bursts.transitions("loss").unwrap_err().contains("isolated ≤ loss < density"));
        let bursts = LossBursts { loss: 0.1, density: 0.5, length: 1.5, ..bursts };
        assert!(bursts.transitions("loss").unwrap_err().contains("loss.length"));
    }
}
