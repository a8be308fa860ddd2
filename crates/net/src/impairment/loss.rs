//! Which packets a wire loses.

use fairway_units::Time;
use fairway_units::random::Stream;

use super::chance::{Chance, Trials};
use super::counted::{Bursts, Counted, Listed, LossBurst, LossList, LossPeriod, Periodic};
use super::four_state::{self, FourState};
use super::gilbert_elliott::{self, GilbertElliott};
use super::replay::{Ns3Loss, SharedDraws};

/// How packets are lost.
#[derive(Clone, Debug, PartialEq)]
pub enum LossConfig {
    /// Each by itself.
    Bernoulli(Chance),
    /// Each by itself, with the random numbers of ns-3.
    Ns3(Ns3Loss),
    /// In bursts: two states.
    GilbertElliott(GilbertElliott),
    /// In bursts: four states.
    FourState(FourState),
    /// Those of a list.
    List(LossList),
    /// Every n-th.
    Period(LossPeriod),
    /// In bursts of one length.
    Burst(LossBurst),
}

impl LossConfig {
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        match self {
            LossConfig::Bernoulli(chance) => chance.check(name),
            LossConfig::Ns3(loss) => loss.check(name),
            LossConfig::GilbertElliott(model) => model.check(name),
            LossConfig::FourState(model) => model.check(name),
            LossConfig::List(list) => list.check(name),
            LossConfig::Period(period) => period.check(name),
            LossConfig::Burst(burst) => burst.check(name),
        }
    }
}

/// A loss model at work.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    Bernoulli(Trials),
    Ns3 { probability: f64, draws: SharedDraws },
    GilbertElliott(gilbert_elliott::Chain),
    FourState(four_state::Chain),
    List(Listed, Counted),
    Period(Periodic, Counted),
    Burst(Bursts, Counted),
}

impl Loss {
    /// `seed` is the experiment's, of which replays need more than a stream.
    pub(super) fn new(config: &LossConfig, seed: u64, stream: Stream) -> Self {
        match config {
            LossConfig::Bernoulli(chance) => Loss::Bernoulli(Trials::new(*chance, stream)),
            LossConfig::Ns3(loss) => {
                Loss::Ns3 { probability: loss.probability, draws: loss.draws(seed) }
            }
            LossConfig::GilbertElliott(model) => {
                Loss::GilbertElliott(gilbert_elliott::Chain::new(*model, stream))
            }
            LossConfig::FourState(model) => Loss::FourState(four_state::Chain::new(*model, stream)),
            LossConfig::List(list) => Loss::List(Listed::new(list), list.of),
            LossConfig::Period(period) => Loss::Period(Periodic::new(period), period.of),
            LossConfig::Burst(burst) => Loss::Burst(Bursts::new(burst, stream), burst.of),
        }
    }

    /// Whether a packet of `bytes` is lost that comes to the wire `at`; `data` tells if it carries
    /// any.
    pub(super) fn loses(&mut self, bytes: u32, data: bool, at: Time) -> bool {
        let counts = |of: Counted| data || of == Counted::All;
        match self {
            Loss::Bernoulli(trials) => trials.happens(bytes),
            Loss::Ns3 { probability, draws } => draws.unit() < *probability,
            Loss::GilbertElliott(chain) => chain.loses(),
            Loss::FourState(chain) => chain.loses(),
            Loss::List(listed, of) => counts(*of) && listed.loses(),
            Loss::Period(periodic, of) => counts(*of) && periodic.loses(),
            Loss::Burst(bursts, of) => counts(*of) && bursts.loses(at),
        }
    }
}
