//! The payload of a full segment: the path may take less than the receiver.

use fairway_units::{Duration, Time};

use crate::event::{Sent, SentKind};

/// Learns how long the segments of a burst are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Payload {
    largest: u32,
    last: Option<(Time, u32)>,
    /// The largest that two new segments of one burst had both: had there been no more to send,
    /// the first would have been the last.
    repeated: u32,
}

impl Payload {
    pub(super) fn sent(&mut self, sent: &Sent, burst: Duration) {
        if sent.kind != SentKind::New || sent.bytes == 0 {
            return;
        }
        self.largest = self.largest.max(sent.bytes);
        let last = self.last.replace((sent.at, sent.bytes));
        if last.is_some_and(|(at, bytes)| bytes == sent.bytes && sent.at.since(at) <= burst) {
            self.repeated = self.repeated.max(sent.bytes);
        }
    }

    /// Payload of a full segment, where ends have agreed on `mss` at the most.
    pub(super) fn full(&self, mss: u32) -> u64 {
        let is_less = self.repeated > 0 && self.largest < mss;
        u64::from(if is_less { self.largest } else { mss.max(1) })
    }
}
