//! Every queue discipline by its configuration.

use std::fmt::Debug;

use fairway_units::random::Stream;

use super::Qdisc;
use super::cobalt::{Cobalt, CobaltConfig};
use super::codel::{Codel, CodelConfig};
use super::drop_head::{DropHead, DropHeadConfig};
use super::drop_tail::{DropTail, DropTailConfig};
use super::drr::{Drr, DrrConfig};
use super::dualpi2::{DualPi2, DualPi2Config};
use super::fq_codel::{FqCodel, FqCodelConfig};
use super::fq_pie::{FqPie, FqPieConfig};
use super::pie::{Pie, PieConfig};
use super::policer::{Policer, PolicerConfig};
use super::red::{RedQueue, RedQueueConfig};
use super::sfq::{Sfq, SfqConfig};
use super::strict_priority::{StrictPriority, StrictPriorityConfig};
use super::token_bucket::{TokenBucket, TokenBucketConfig};
use crate::{Packet, QueueConfig};

/// Which queue discipline, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum QdiscConfig {
    /// First in, first out; arrivals beyond the limit are dropped.
    DropTail(DropTailConfig),
    /// First in, first out; beyond the limit the oldest is dropped.
    DropHead(DropHeadConfig),
    /// Random early detection.
    Red(RedQueueConfig),
    /// Controlled delay (RFC 8289).
    Codel(CodelConfig),
    /// Stochastic fairness queueing.
    Sfq(SfqConfig),
    /// Deficit round robin of flows.
    Drr(DrrConfig),
    /// Bands of strict priority.
    StrictPriority(StrictPriorityConfig),
    /// Token-bucket shaper.
    TokenBucket(TokenBucketConfig),
    /// Policer.
    Policer(PolicerConfig),
    /// CoDel for each flow (RFC 8290).
    FqCodel(FqCodelConfig),
    /// Proportional integral controller, enhanced (RFC 8033).
    Pie(PieConfig),
    /// PIE for each flow.
    FqPie(FqPieConfig),
    /// CoDel with BLUE, as in CAKE.
    Cobalt(CobaltConfig),
    /// A queue for low latency coupled with a classic one (RFC 9332).
    DualPi2(DualPi2Config),
}

impl QdiscConfig {
    /// The queue of a [`Link`](crate::Link), if it decides about packets when they arrive and keeps
    /// their order.
    pub fn on_arrival(&self) -> Option<QueueConfig> {
        match self {
            QdiscConfig::DropTail(config) => Some(QueueConfig::DropTail { limit: config.limit }),
            QdiscConfig::Red(RedQueueConfig { limit, red }) => {
                Some(QueueConfig::Red { limit: *limit, red: red.clone() })
            }
            _ => None,
        }
    }

    /// The discipline, empty; `stream` feeds its random decisions.
    pub fn build<P>(&self, stream: Stream) -> Box<dyn Qdisc<P>>
    where
        P: Packet + Copy + Debug + Send + 'static,
    {
        match self {
            QdiscConfig::DropTail(config) => Box::new(DropTail::new(config)),
            QdiscConfig::DropHead(config) => Box::new(DropHead::new(config)),
            QdiscConfig::Red(config) => Box::new(RedQueue::new(config, stream)),
            QdiscConfig::Codel(config) => Box::new(Codel::new(config)),
            QdiscConfig::Sfq(config) => Box::new(Sfq::new(config, stream)),
            QdiscConfig::Drr(config) => Box::new(Drr::new(config)),
            QdiscConfig::StrictPriority(config) => Box::new(StrictPriority::new(config, stream)),
            QdiscConfig::TokenBucket(config) => Box::new(TokenBucket::new(config, stream)),
            QdiscConfig::Policer(config) => Box::new(Policer::new(config, stream)),
            QdiscConfig::FqCodel(config) => Box::new(FqCodel::new(config, stream)),
            QdiscConfig::Pie(config) => Box::new(Pie::new(config, stream)),
            QdiscConfig::FqPie(config) => Box::new(FqPie::new(config, stream)),
            QdiscConfig::Cobalt(config) => Box::new(Cobalt::new(config, stream)),
            QdiscConfig::DualPi2(config) => Box::new(DualPi2::new(config, stream)),
        }
    }
}
