//! Losses that fall on the packets on which they fall in a run of ns-3.

use std::sync::{Arc, Mutex, PoisonError};

use super::chance::check_probability;
use super::mrg32k3a::{M2, Mrg32k3a};

/// Losses as an ns-3 `RateErrorModel` with the unit "packet" has them: one number is drawn for each
/// packet, whatever it carries, and the packet is lost if the number is below the probability
/// (`error-model.cc`, `RateErrorModel::DoCorruptPkt`). Both directions of a link draw from one
/// sequence, as in a program that sets one error model at both of its devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ns3Loss {
    /// The probability of a loss.
    pub probability: f64,
    /// ns-3's `RngSeed`.
    pub seed: u32,
    /// ns-3's `RngRun`; if none, the experiment's seed less one, so that repetitions are further
    /// runs of ns-3.
    pub run: Option<u64>,
    /// Number of the stream that the program has set for the error model's random variable.
    pub stream: u64,
}

impl Ns3Loss {
    /// Largest seed (`rng-stream.cc`, `CheckSeed`: below both moduli).
    pub const MAX_SEED: u64 = M2 - 1;
    /// Largest stream (`random-variable-stream.cc`, `SetStream` takes 63 bits).
    pub const MAX_STREAM: u64 = (1 << 63) - 1;

    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        check_probability(&format!("{name}.probability"), self.probability)?;
        let bounds = [
            ("seed", u64::from(self.seed), 1, Self::MAX_SEED),
            ("stream", self.stream, 0, Self::MAX_STREAM),
        ];
        for (key, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                let expected = format!("expected {least} to {most}, as in ns-3");
                return Err(format!("{name}.{key}: {expected}, got {value}"));
            }
        }
        Ok(())
    }

    /// Its sequence in an experiment with this seed, from the beginning.
    pub fn draws(&self, experiment_seed: u64) -> SharedDraws {
        let Ns3Loss { seed, stream, .. } = *self;
        let run = self.run.unwrap_or(experiment_seed.wrapping_sub(1));
        SharedDraws(Arc::new(Mutex::new(Mrg32k3a::new(seed, run, stream))))
    }
}

/// A sequence of random numbers that the wires of a link share; clones draw from the same.
#[derive(Clone, Debug)]
pub struct SharedDraws(Arc<Mutex<Mrg32k3a>>);

impl SharedDraws {
    /// The next number.
    pub(super) fn unit(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}
