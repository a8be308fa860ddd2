//! The path that a transfer took, as an experiment describes one: the rate of its bottleneck, its
//! round trip when nobody waits, its queue, and what it loses besides.
//!
//! One pass, in memory that does not grow with the transfer.

mod losses;
mod path;
mod plateau;
mod rate;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use fairway_units::{Duration, Time};

use self::losses::Losses;
use self::rate::Deliveries;
use crate::event::{Acked, Flow, Observer, Sent, SentKind};

pub use path::{Buffer, BufferSource, Fitted, RandomLoss, RateSource, RttSource, Trip};

/// Follows one direction.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    deliveries: Deliveries,
    losses: Losses,
    trips: Trips,
    traffic: Traffic,
    flow: Flow,
    overhead_bytes: u32,
}

/// Receivers hold an acknowledgement back for 40 ms and more (RFC 9293 section 3.8.6.3 allows half
/// a second); a round trip that is suddenly longer by this much tells of that and not of the path.
const HELD_BACK: Duration = Duration::from_millis(30);

/// Short segments that are remembered until they are acknowledged; more in flight are those of an
/// application that sends messages.
const MAX_SHORT: usize = 64;

/// The shortest and the longest round trip of what was neither lost nor behind a hole.
#[derive(Clone, Debug, Default)]
struct Trips {
    /// Of full segments: the time of transmission of one is taken off.
    least_full: Option<Duration>,
    least: Option<Duration>,
    /// Where segments end that are not full.
    short_ends: VecDeque<i64>,
    most: Option<Duration>,
    last: Option<Duration>,
    last_at: Time,
}

/// Data sent, and what held it back.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    bytes: u64,
    segments: u64,
    /// Bytes that left with the receive window as good as full.
    at_window_bytes: u64,
    most_window_bytes: u64,
    /// When everything was acknowledged last.
    idle_since: Option<Time>,
    pauses: u64,
    paused: Duration,
    has_echoes: bool,
    is_marked: bool,
}

impl Fit {
    /// Nothing yet. The bottleneck carries `overhead_bytes` with each IP packet.
    pub fn new(overhead_bytes: u32) -> Fit {
        Fit { overhead_bytes, ..Fit::default() }
    }

    /// The path; `ip_bytes` is the length of an IP header. None if too little was delivered to say
    /// anything.
    pub fn path(self, ip_bytes: u32) -> Option<Fitted> {
        path::fitted(self, ip_bytes)
    }
}

impl Trips {
    fn sent(&mut self, sent: &Sent, flow: &Flow) {
        if sent.bytes < flow.mss_bytes {
            if self.short_ends.len() == MAX_SHORT {
                self.short_ends.pop_front();
            }
            let end = sent.offset.saturating_add(i64::from(sent.bytes));
            self.short_ends.push_back(end.saturating_add(i64::from(sent.has_fin)));
        }
    }

    /// The shortest: of full segments, if there are any.
    fn shortest(&self) -> Option<Duration> {
        self.least_full.or(self.least)
    }

    /// The round trip that an acknowledgement shows of the path, if it shows one.
    fn acked(&mut self, acked: &Acked, flow: &Flow) -> Option<Duration> {
        let gap = acked.at.since(self.last_at);
        self.last_at = acked.at;
        let is_short = self.short_ends.contains(&acked.offset);
        self.short_ends.retain(|end| *end > acked.offset);
        let rtt = acked.rtt.filter(|_| acked.offset > 0 && acked.acked_bytes > 0)?;
        let is_alone = acked.acked_bytes <= u64::from(flow.mss_bytes);
        let is_sudden = self.last.is_some_and(|last| rtt >= last + HELD_BACK);
        if is_alone && is_sudden && gap >= HELD_BACK {
            return None;
        }
        self.last = Some(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        if !is_short {
            self.least_full = Some(self.least_full.map_or(rtt, |least| least.min(rtt)));
        }
        self.most = Some(self.most.map_or(rtt, |most| most.max(rtt)));
        Some(rtt)
    }
}

impl Traffic {
    fn sent(&mut self, sent: &Sent, flow: &Flow) {
        let mss = u64::from(flow.mss_bytes.max(1));
        let bytes = u64::from(sent.bytes);
        self.bytes += bytes;
        // A host that hands its card more than a packet captures more than a packet.
        self.segments += bytes.div_ceil(mss);
        if flow.window_bytes > 0 && sent.flight_bytes.saturating_add(mss) > flow.window_bytes {
            self.at_window_bytes += bytes;
        }
        self.is_marked |= sent.is_marked;
        let idle_since = self.idle_since.take();
        let is_new = sent.kind == SentKind::New && sent.flight_before_bytes == 0;
        if let (Some(since), Some(srtt), true) = (idle_since, flow.srtt, is_new) {
            let gap = sent.at.since(since);
            if gap > srtt + flow.sender_rtt.unwrap_or(Duration::ZERO) {
                self.pauses += 1;
                self.paused += gap;
            }
        }
    }

    fn acked(&mut self, acked: &Acked) {
        self.most_window_bytes = self.most_window_bytes.max(acked.window_bytes);
        self.has_echoes |= acked.has_ece;
        if acked.flight_bytes == 0 {
            self.idle_since = Some(acked.at);
        }
    }
}

impl Observer for Fit {
    fn sent(&mut self, sent: &Sent, flow: &Flow) {
        self.losses.sent(sent, flow);
        self.traffic.sent(sent, flow);
        self.trips.sent(sent, flow);
        self.flow = *flow;
    }

    fn acked(&mut self, acked: &Acked, flow: &Flow) {
        // Behind a hole, nobody knows when a segment has arrived.
        let is_clear = !self.losses.is_recovering() && acked.sack_count == 0;
        let rtt = if is_clear { self.trips.acked(acked, flow) } else { None };
        self.deliveries.acked(acked, rtt, flow);
        self.losses.acked(acked, rtt, flow);
        self.traffic.acked(acked);
        self.flow = *flow;
    }
}
