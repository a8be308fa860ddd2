//! A link as it is written: rate, delay, queue and losses, in both directions.

use fairway_units::{Duration, Rate};

use super::queues::{self, Path};
use super::reader::{LimitText, Name, Table};
use super::{Link, Loss};

/// A link whose queues have not been sized yet.
pub(super) struct LinkText<'a> {
    table: Table<'a>,
    pub(super) id: String,
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    loss: Option<Loss>,
    /// What differs in the direction towards the sources.
    reverse: Option<ReverseText<'a>>,
}

/// The other direction of a link.
struct ReverseText<'a> {
    table: Table<'a>,
    rate: Rate,
    delay: Duration,
    loss: Option<Loss>,
}

impl<'a> LinkText<'a> {
    pub(super) fn read(table: Table<'a>, id: String) -> Option<Self> {
        table.refuse_unknown_keys();
        let rate = table.require("rate");
        let delay = table.require("delay");
        let loss = read_loss_of(&table, false);
        let (rate, delay, loss) = (rate?, delay?, loss?);
        let reverse = match table.table("reverse") {
            Some(reverse) => Some(ReverseText::read(reverse, rate, delay)?),
            None if table.has("reverse") => return None,
            None => None,
        };
        Some(LinkText { table, id, rate, delay, loss, reverse })
    }

    /// Rate of the slower direction.
    pub(super) fn slowest(&self) -> Rate {
        self.reverse.as_ref().map_or(self.rate, |reverse| self.rate.min(reverse.rate))
    }

    /// Propagation delay there and back.
    pub(super) fn round_trip(&self) -> Duration {
        self.delay + self.reverse.as_ref().map_or(self.delay, |reverse| reverse.delay)
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
            Some(text) => {
                let written = if text.table.has("queue") { &text.table } else { &self.table };
                let queue = queues::read_of_link(written, default(text.rate), text.rate, path)?;
                Some(Box::new(Link {
                    id: self.id.clone(),
                    rate: text.rate,
                    delay: text.delay,
                    queue,
                    loss: text.loss,
                    reverse: None,
                }))
            }
        };
        Some(Link {
            id: self.id.clone(),
            rate: self.rate,
            delay: self.delay,
            queue,
            loss: self.loss,
            reverse,
        })
    }
}

impl<'a> ReverseText<'a> {
    fn read(table: Table<'a>, rate: Rate, delay: Duration) -> Option<Self> {
        table.refuse_unknown_keys();
        let loss = read_loss_of(&table, true)?;
        Some(ReverseText {
            rate: if table.has("rate") { table.read("rate")? } else { rate },
            delay: if table.has("delay") { table.read("delay")? } else { delay },
            loss,
            table,
        })
    }
}

/// The loss of a link, if it has one; nothing if that is wrong.
fn read_loss_of(table: &Table, one_way: bool) -> Option<Option<Loss>> {
    match table.table("loss") {
        Some(loss) => Some(Some(read_loss(&loss, one_way)?)),
        None => Some(None),
    }
}

fn read_loss(table: &Table, one_way: bool) -> Option<Loss> {
    if table.has("kind") {
        table.read::<Name>("kind")?;
    }
    table.refuse_unknown_keys();
    if table.has("unit") {
        table.read::<Name>("unit")?;
    }
    let direction = match table.has("direction") && !one_way {
        true => table.read::<Name>("direction")?.0,
        false => "forward",
    };
    Some(Loss {
        probability: table.require("probability")?,
        forward: direction != "reverse",
        reverse: direction != "forward",
    })
}
