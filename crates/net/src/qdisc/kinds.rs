//! Every queue discipline by its configuration.

use std::fmt::Debug;

use fairway_random::Stream;

use super::Qdisc;
use super::codel::{Codel, CodelConfig};
use crate::Packet;

/// Which queue discipline, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum QdiscConfig {
    /// Controlled delay (RFC 8289).
    Codel(CodelConfig),
}

impl QdiscConfig {
    /// The discipline, empty; `stream` feeds its random decisions.
    pub fn build<P>(&self, stream: Stream) -> Box<dyn Qdisc<P>>
    where
        P: Packet + Copy + Debug + Send + 'static,
    {
        let _ = &stream;
        match self {
            QdiscConfig::Codel(config) => Box::new(Codel::new(config)),
        }
    }
}
