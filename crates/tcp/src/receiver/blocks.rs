//! SACK blocks of acknowledgements: a D-SACK, then out-of-order ranges, most recent first (RFC 2018
//! section 4, RFC 2883).

use super::Receiver;
use crate::ack_compression::AckCompression;
use crate::ack_policy::AckPolicy;
use crate::ranges::Range;
use crate::segment::MAX_SACK_BLOCKS;

/// Blocks that fit beside a D-SACK (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

impl Receiver {
    /// Whether there is anything to report in SACK blocks.
    pub(crate) fn has_blocks(&self) -> bool {
        !self.recent.is_empty() || self.duplicate.pending().is_some()
    }

    /// Blocks to report: a D-SACK, then out-of-order ranges, most recent first.
    pub fn sack_ranges(&self) -> impl Iterator<Item = Range> {
        self.duplicate
            .pending()
            .into_iter()
            .chain(self.recent.iter().copied())
            .take(self.max_sack_blocks)
    }

    /// `range` arrived: list `merged`, which contains it, first. If a compressed acknowledgement
    /// has no room for all blocks, it is sent before that. Returns whether it is.
    pub(super) fn report(&mut self, range: Range, merged: Range) -> bool {
        if let Some(earlier) = self.next_recent.take() {
            self.put_first(earlier);
        }
        let touches = |r: &Range| r.start <= range.end && range.start <= r.end;
        let merged = if self.is_ns3 || matches!(self.acks, AckPolicy::Linux(_)) {
            // A forgotten block is not listed again (ns-3 `UpdateSackList`; Linux
            // `tcp_sack_new_ofo_skb` looks at the four blocks that it keeps, not at the queue).
            let listed = self.recent.iter().filter(|listed| touches(listed));
            listed.fold(range, |all, listed| Range {
                start: all.start.min(listed.start),
                end: all.end.max(listed.end),
            })
        } else {
            merged
        };
        let place = self.recent.iter().position(touches).unwrap_or(self.recent.len());
        let held = self.compression.as_ref().is_some_and(AckCompression::holds);
        if held && place >= BLOCKS_EXPECTED {
            // Its block has grown already, in its old place (Linux `tcp_sack_extend`).
            if let Some(listed) = self.recent.get_mut(place) {
                listed.start = listed.start.min(range.start);
                listed.end = listed.end.max(range.end);
            }
            self.leave();
            self.next_recent = Some(merged);
            return true;
        }
        self.put_first(merged);
        false
    }

    pub(super) fn put_first(&mut self, merged: Range) {
        if merged.start > self.rcv_nxt {
            self.recent.retain(|r| r.end < merged.start || r.start > merged.end);
            self.recent.insert(0, merged);
            self.recent.truncate(MAX_SACK_BLOCKS);
        }
    }
}
