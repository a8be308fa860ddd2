//! What windows say for an algorithm: how likely what was seen is, if it is the sender's.

/// Share of rounds that nothing explains: what the capture does not show of the sender.
const OUTLIERS: f64 = 0.03;
/// Density of what nothing explains, over factors from 1/e to e.
const OUTLIER_DENSITY: f64 = 0.5;
/// Scale of the error of a window, as a share of it.
const SCALE: f64 = 0.012;
/// The same in segments: a burst that is not full is put off, and flight falls short of the window.
const SCALE_SEGMENTS: f64 = 0.8;
/// A window matches that is off by no more than this share and a segment.
const MATCH: f64 = 0.03;
/// Rounds of a block. Of algorithms that draw random numbers the seed that matches best counts in
/// each: three of BBR's cycles.
const BLOCK_ROUNDS: u32 = 24;

/// Log likelihoods of the rounds that were judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Sum of those of the block under way.
    block: f64,
    block_rounds: u32,
    /// Rounds of growth.
    pub rounds: u32,
    /// Rounds right after an episode: back-offs.
    pub episodes: u32,
    /// Rounds in which the window matches.
    pub matched: u32,
}

impl Evidence {
    /// A round in which the window was off by a factor of e^`off`, with `segments` in flight. Errors
    /// have a Laplace distribution, or are anything.
    pub fn add(&mut self, off: f64, segments: f64, is_after_episode: bool) {
        let scale = SCALE + SCALE_SEGMENTS / segments;
        // In units of the density of a perfect match, so that small and large windows count alike.
        let explained = (1.0 - OUTLIERS) * libm::exp(-off.abs() / scale);
        let unexplained = OUTLIERS * OUTLIER_DENSITY * 2.0 * scale;
        self.matched += u32::from(off.abs() <= MATCH + 1.0 / segments);
        self.add_log(libm::log(explained + unexplained), is_after_episode);
    }

    /// A round whose log likelihood is known.
    pub fn add_log(&mut self, log: f64, is_after_episode: bool) {
        self.block += log;
        self.block_rounds += 1;
        if is_after_episode {
            self.episodes += 1;
        } else {
            self.rounds += 1;
        }
    }

    /// Whether a block is full.
    pub fn has_block(&self) -> bool {
        self.block_rounds >= BLOCK_ROUNDS
    }

    /// Ends the block and gives its evidence.
    pub fn take_block(&mut self) -> f64 {
        self.block_rounds = 0;
        std::mem::take(&mut self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_costs_little_and_nothing_costs_more_than_an_outlier() {
        let mut evidence = Evidence::default();
        evidence.add(0.0, 100.0, false);
        // 0.97 and something: log 0.97 = -0.030.
        let matched = evidence.take_block();
        assert!((-0.031..0.0).contains(&matched), "{matched}");
        // Scale 0.012 + 0.8/100 = 0.02; 0.03 * 0.5 * 0.04 = 0.0006, log -7.4.
        evidence.add(-1.0, 100.0, false);
        assert!((evidence.take_block() + 7.42).abs() < 0.01);
        evidence.add(-3.0, 100.0, true);
        assert!((evidence.take_block() + 7.42).abs() < 0.01);
        assert_eq!((evidence.rounds, evidence.episodes, evidence.matched), (2, 1, 1));
    }

    #[test]
    fn a_segment_is_much_of_a_small_window() {
        let mut small = Evidence::default();
        small.add(libm::log(11.0 / 10.0), 10.0, false);
        let mut large = Evidence::default();
        large.add(libm::log(1_100.0 / 1_000.0), 1_000.0, false);
        assert!(small.take_block() > large.take_block() + 3.0);
    }

    #[test]
    fn blocks_end_after_24_rounds() {
        let mut evidence = Evidence::default();
        for _ in 0..24 {
            assert!(!evidence.has_block());
            evidence.add_log(-1.0, false);
        }
        assert!(evidence.has_block());
        assert_eq!(evidence.take_block(), -24.0);
        assert!(!evidence.has_block());
    }
}
