//! What a wire does to packets after their transmission: it loses, damages, doubles, delays and
//! reorders them.
//!
//! A [`Wire`] is asked once about each packet that enters it, in the order in which they do. It
//! says how much longer than the propagation delay the packet takes, if it arrives.

#[cfg(test)]
mod bursts_of_losses;
mod chance;
mod counted;
mod four_state;
mod gilbert_elliott;
mod jitter;
mod loss;
mod mrg32k3a;
mod reordering;
mod replay;

use fairway_units::random::Stream;
use fairway_units::{Duration, Time};

pub use chance::{Chance, Unit};
pub use counted::{Counted, LossBurst, LossList, LossPeriod, Starts};
pub use four_state::{FourState, LossBursts};
pub use gilbert_elliott::GilbertElliott;
pub use jitter::{Distribution, Jitter};
pub use loss::LossConfig;
pub use reordering::Reordering;
pub use replay::{Ns3Loss, SharedDraws};

use chance::{Trials, check_probability};
use loss::Loss;
use reordering::{Turn, Turns};

/// What one direction of a link does to packets; nothing by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WireConfig {
    /// Packets lost.
    pub loss: Option<LossConfig>,
    /// Packets damaged: they arrive, and the receiver's checksum tells.
    pub corruption: Option<Chance>,
    /// Probability of each packet that arrives to do so twice.
    pub duplication: f64,
    /// Packets that get out of order.
    pub reordering: Option<Reordering>,
    /// Delay that varies.
    pub jitter: Option<Jitter>,
}

impl WireConfig {
    /// A wire that loses packets with this probability, each by itself, and does nothing else.
    pub fn losing(probability: f64) -> Self {
        let chance = Chance { probability, unit: Unit::Packet };
        let loss = (probability > 0.0).then_some(LossConfig::Bernoulli(chance));
        WireConfig { loss, ..WireConfig::default() }
    }

    /// Whether all packets just pass, and no [`Wire`] is needed.
    pub fn is_clear(&self) -> bool {
        *self == WireConfig::default()
    }

    /// The loss that is replayed from ns-3, if one is.
    pub fn replayed_loss(&self) -> Option<&Ns3Loss> {
        match &self.loss {
            Some(LossConfig::Ns3(loss)) => Some(loss),
            _ => None,
        }
    }

    /// Whether packets arrive in the order in which they entered, whatever happens to them.
    pub fn keeps_order(&self) -> bool {
        self.reordering.is_none()
            && self
                .jitter
                .is_none_or(|jitter| jitter.keep_order || jitter.deviation == Duration::ZERO)
    }

    /// What is wrong with it, if anything: key, what was expected, what was found, what to do.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), String> {
        if let Some(loss) = &self.loss {
            loss.check("loss")?;
        }
        if let Some(corruption) = &self.corruption {
            corruption.check("corruption")?;
        }
        check_probability("duplication.probability", self.duplication)?;
        if let Some(reordering) = &self.reordering {
            reordering.check("reordering")?;
        }
        if let Some(jitter) = &self.jitter {
            jitter.check("jitter")?;
        }
        Ok(())
    }
}

/// How a packet comes to the end of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// What it takes on top of the propagation delay.
    pub extra: Duration,
    /// The receiver's checksum will be wrong.
    pub corrupted: bool,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Its passage; none if it is lost.
    pub packet: Option<Passage>,
    /// That of a copy, if it was doubled.
    pub copy: Option<Passage>,
}

/// One direction of a link behind its transmitter.
#[derive(Clone, Debug)]
pub struct Wire {
    loss: Option<Loss>,
    corruption: Option<Trials>,
    duplication: Option<Trials>,
    turns: Option<Turns>,
    jitter: Option<(Jitter, Stream)>,
    /// When the last packet left jitter that keeps order.
    last: Time,
}

impl Wire {
    /// A wire of this kind, which [`WireConfig::check`] has found right. `seed` and `name` fix its
    /// random streams, one for each thing that it does: to damage packets loses no others.
    pub fn new(config: &WireConfig, seed: u64, name: &str) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("{name}/{what}"));
        let duplication = Chance { probability: config.duplication, unit: Unit::Packet };
        Wire {
            loss: config.loss.as_ref().map(|loss| Loss::new(loss, seed, stream("loss"))),
            corruption: config.corruption.map(|chance| Trials::new(chance, stream("corruption"))),
            duplication: (config.duplication > 0.0)
                .then(|| Trials::new(duplication, stream("duplication"))),
            turns: config.reordering.map(|config| Turns::new(config, stream("reordering"))),
            jitter: config.jitter.map(|jitter| (jitter, stream("jitter"))),
            last: Time::ZERO,
        }
    }

    /// Draws the losses that are replayed from ns-3 from this sequence, not from one of its own.
    pub fn share(&mut self, draws: &SharedDraws) {
        if let Some(Loss::Ns3 { draws: own, .. }) = &mut self.loss {
            *own = draws.clone();
        }
    }

    /// What becomes of a packet of `bytes`, framing included, whose last bit enters the wire `at`,
    /// which is never earlier than that of the packet before. `data` tells if it carries any.
    ///
    /// A copy is a packet of its own, right behind the first; it is not lost or doubled again.
    pub fn pass(&mut self, bytes: u32, data: bool, at: Time) -> Fate {
        if self.loss.as_mut().is_some_and(|loss| loss.loses(bytes, data, at)) {
            return Fate { packet: None, copy: None };
        }
        let doubled = self.duplication.as_mut().is_some_and(|trials| trials.happens(bytes));
        let packet = Some(self.arrive(bytes, at));
        Fate { packet, copy: doubled.then(|| self.arrive(bytes, at)) }
    }

    fn arrive(&mut self, bytes: u32, at: Time) -> Passage {
        let corrupted = self.corruption.as_mut().is_some_and(|trials| trials.happens(bytes));
        let turn = self.turns.as_mut().map_or(Turn::NONE, Turns::next);
        let jitter = if turn.at_once { Duration::ZERO } else { self.jitter(at) };
        Passage { extra: turn.delay + jitter, corrupted }
    }

    /// The jitter of a packet that enters it `at`.
    fn jitter(&mut self, at: Time) -> Duration {
        let Some((jitter, stream)) = &mut self.jitter else { return Duration::ZERO };
        let drawn = jitter.draw(stream);
        if !jitter.keep_order {
            return drawn;
        }
        self.last = self.last.max(at + drawn);
        self.last.since(at)
    }
}

#[cfg(test)]
mod tests;
