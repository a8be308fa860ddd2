//! A link as it is written, in both directions: its queues, and all that is beyond them.

use fairway_net::QdiscConfig;
use fairway_units::{Duration, Rate};

use super::Link;
use super::extras::Beyond;
use super::queues::{self, Path};
use super::reader::{LimitText, Table};

/// A link whose queues have not been sized yet.
pub(super) struct LinkText<'a> {
    table: Table<'a>,
    pub(super) id: String,
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    beyond: Beyond,
    /// What differs in the direction towards the sources.
    reverse: Option<ReverseText<'a>>,
}

/// The other direction of a link.
struct ReverseText<'a> {
    table: Table<'a>,
    beyond: Beyond,
}

impl<'a> LinkText<'a> {
    pub(super) fn read(table: Table<'a>, id: String) -> Option<Self> {
        table.refuse_unknown_keys();
        let beyond = Beyond::read(&table)?;
        let reverse = match table.table("reverse") {
            Some(reverse) => {
                reverse.refuse_unknown_keys();
                let other = beyond.read_reverse(&reverse)?;
                refuse_unequal_delays(&reverse, &beyond, &other)?;
                Some(ReverseText { table: reverse, beyond: other })
            }
            None if table.has("reverse") => return None,
            None => None,
        };
        Some(LinkText { table, id, rate: beyond.rate, delay: beyond.delay, beyond, reverse })
    }

    /// Rate of the slower direction.
    pub(super) fn slowest(&self) -> Rate {
        self.reverse.as_ref().map_or(self.rate, |reverse| self.rate.min(reverse.beyond.rate))
    }

    /// Propagation delay there and back.
    pub(super) fn round_trip(&self) -> Duration {
        self.delay + self.reverse.as_ref().map_or(self.delay, |reverse| reverse.beyond.delay)
    }

    /// The link, its queues sized. Without a limit, that of the slowest link is a bandwidth-delay
    /// product, and others have none.
    pub(super) fn finish(&self, path: &Path, slowest: bool) -> Option<Link> {
        let default = |rate| {
            if slowest && rate != Rate::UNLIMITED {
                queues::DEFAULT_LIMIT
            } else {
                LimitText::Unlimited
            }
        };
        let queue = queues::read_of_link(&self.table, default(self.rate), self.rate, path)?;
        let reverse = match &self.reverse {
            None => None,
            Some(ReverseText { table, beyond }) => {
                let written = if table.has("queue") { table } else { &self.table };
                let rate = beyond.rate;
                let queue = queues::read_of_link(written, default(rate), rate, path)?;
                Some(Box::new(self.link(beyond, queue, None)))
            }
        };
        Some(self.link(&self.beyond, queue, reverse))
    }

    fn link(&self, beyond: &Beyond, queue: QdiscConfig, reverse: Option<Box<Link>>) -> Link {
        Link {
            id: self.id.clone(),
            rate: beyond.rate,
            delay: beyond.delay,
            queue: Box::new(queue),
            loss: beyond.loss,
            extras: beyond.extras.clone(),
            reverse,
        }
    }
}

/// Losses of both directions that are replayed have one order if both have one delay.
fn refuse_unequal_delays(reverse: &Table, there: &Beyond, back: &Beyond) -> Option<()> {
    let replays = [&there.wires[0], &back.wires[1]].map(|wire| wire.replayed_loss().is_some());
    if replays != [true, true] || there.delay == back.delay {
        return Some(());
    }
    let message = format!(
        "with loss.replay, both directions draw from one sequence as packets arrive, and need one \
         delay, got {} and {}; remove this, or write direction = \"forward\" in loss",
        there.delay, back.delay
    );
    reverse.wrong("delay", message)
}
