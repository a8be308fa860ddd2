//! Losses, by how full the queue was: a full queue drops at its limit, a bad link loses anywhere.

use std::collections::BTreeMap;

use fairway_units::Duration;

use crate::event::{Acked, Flow, Sent, SentKind};

/// Bits after the first that round trips are told apart by: 0.8 % at the most.
const PARTS_BITS: u32 = 7;

/// Losses that follow from one another: from the first sign to the acknowledgement of all that had
/// been sent by then.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// Round trip of the segment in front of the first hole.
    rtt: Duration,
    /// It ends here.
    until: i64,
    retransmissions: u64,
}

/// Episodes whose queues were alike.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// The longest of their round trips.
    pub(super) rtt: Duration,
    pub(super) episodes: u64,
    /// Segments that were lost in them.
    pub(super) losses: u64,
    /// Most of them in one episode.
    pub(super) most_losses: u64,
}

/// Follows losses. Memory is bounded by how many round trips can be told apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    last_rtt: Option<Duration>,
    episode: Option<Episode>,
    levels: BTreeMap<u64, Level>,
    /// Segments that arrived twice: their retransmissions were for nothing.
    needless: u64,
}

impl Losses {
    /// Whether what was lost is not acknowledged yet.
    pub(super) fn is_recovering(&self) -> bool {
        self.episode.is_some()
    }

    pub(super) fn sent(&mut self, sent: &Sent, flow: &Flow) {
        if sent.kind != SentKind::Retransmission || sent.is_same_packet {
            return;
        }
        if self.episode.is_none() {
            self.begin(flow);
        }
        if let Some(episode) = &mut self.episode {
            episode.retransmissions += 1;
        }
    }

    pub(super) fn acked(&mut self, acked: &Acked, rtt: Option<Duration>, flow: &Flow) {
        self.needless += u64::from(acked.dsack.is_some());
        if self.episode.is_some_and(|episode| acked.offset >= episode.until) {
            self.end();
        }
        if self.episode.is_some() {
            return;
        }
        self.last_rtt = rtt.or(self.last_rtt);
        if acked.sacked_bytes > 0 || acked.is_duplicate && !flow.has_sack {
            self.begin(flow);
        }
    }

    fn begin(&mut self, flow: &Flow) {
        if let Some(rtt) = self.last_rtt {
            let until = flow.highest_offset;
            self.episode = Some(Episode { rtt, until, retransmissions: 0 });
        }
    }

    /// Reordering repairs itself; a loss is sent again.
    fn end(&mut self) {
        let Some(episode) = self.episode.take().filter(|episode| episode.retransmissions > 0)
        else {
            return;
        };
        let level = self.levels.entry(key(episode.rtt)).or_default();
        level.rtt = level.rtt.max(episode.rtt);
        level.episodes += 1;
        level.losses += episode.retransmissions;
        level.most_losses = level.most_losses.max(episode.retransmissions);
    }

    /// Levels by their round trips, the shortest first.
    pub(super) fn levels(mut self) -> (Vec<Level>, u64) {
        self.end();
        (self.levels.into_values().collect(), self.needless)
    }
}

/// The first bits of a round trip.
fn key(rtt: Duration) -> u64 {
    let nanos = rtt.as_nanos();
    let bits = u64::BITS - nanos.leading_zeros();
    let unused = bits.saturating_sub(PARTS_BITS + 1);
    nanos >> unused << unused
}
