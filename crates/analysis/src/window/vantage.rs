//! Where the capture stands between the sender of the data and its receiver.

use std::collections::VecDeque;

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Acked, Flow, Sent};

/// A capture is the sender's if less than one of so many parts of the whole round trip lies on the
/// sender's side, and the receiver's if as little lies on the other: what is in flight can be wrong
/// by a tenth of the window at the most if the order of packets in the capture is taken for the
/// sender's.
const PARTS: u64 = 10;
/// Timestamps remembered that no segment has echoed: one for each millisecond of a long round trip.
const REMEMBERED: usize = 1024;

/// Where the capture stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// At the sender of the data, or close to it.
    Sender,
    /// Somewhere on the way.
    Middle,
    /// At its receiver.
    Receiver,
    /// The capture has neither the handshake nor timestamps to tell by; taken for the sender's.
    #[default]
    Unknown,
}

/// Where a direction's capture was taken.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Vantage {
    /// Where.
    pub position: Position,
    /// Round trip between the capture and the sender of the data.
    pub sender_rtt_s: Option<f64>,
    /// Round trip between the capture and the receiver.
    pub receiver_rtt_s: Option<f64>,
}

/// Finds out where the capture stands: by the handshake, and by how soon data echo the timestamp of
/// an acknowledgement. The least counts: queues only add to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    /// Values of acknowledgements that were not echoed yet, and when each was first seen.
    remembered: VecDeque<(u32, Time)>,
    by_echo: Option<Duration>,
}

impl Finder {
    pub(super) fn acked(&mut self, acked: &Acked) {
        let Some((value, _)) = acked.timestamps else { return };
        if self.remembered.back().is_none_or(|(last, _)| *last != value) {
            if self.remembered.len() == REMEMBERED {
                self.remembered.pop_front();
            }
            self.remembered.push_back((value, acked.at));
        }
    }

    pub(super) fn sent(&mut self, sent: &Sent) {
        let Some((_, echo)) = sent.timestamps else { return };
        while let Some((value, at)) = self.remembered.front() {
            // Sequence arithmetic of RFC 7323 section 4.
            let ahead = echo.wrapping_sub(*value) as i32;
            if ahead < 0 {
                return;
            }
            if ahead == 0 {
                let delay = sent.at.since(*at);
                self.by_echo = Some(self.by_echo.map_or(delay, |least| least.min(delay)));
            }
            self.remembered.pop_front();
        }
    }

    /// Round trip between the capture and the sender of the data.
    pub(super) fn sender_rtt(&self, flow: &Flow) -> Option<Duration> {
        match (flow.sender_rtt, self.by_echo) {
            (Some(handshake), Some(echo)) => Some(handshake.min(echo)),
            (handshake, echo) => handshake.or(echo),
        }
    }

    /// Where the capture stands, as far as is known.
    pub(super) fn position(&self, flow: &Flow) -> Position {
        let (Some(near), Some(far)) = (self.sender_rtt(flow), receiver_rtt(flow)) else {
            return Position::Unknown;
        };
        let whole = near + far;
        if whole == Duration::ZERO {
            Position::Unknown
        } else if near.saturating_mul(PARTS) < whole {
            Position::Sender
        } else if far.saturating_mul(PARTS) < whole {
            Position::Receiver
        } else {
            Position::Middle
        }
    }

    /// The estimate so far.
    pub(super) fn vantage(&self, flow: &Flow) -> Vantage {
        Vantage {
            position: self.position(flow),
            sender_rtt_s: self.sender_rtt(flow).map(Duration::as_secs_f64),
            receiver_rtt_s: receiver_rtt(flow).map(Duration::as_secs_f64),
        }
    }
}

/// Round trip between the capture and the receiver of the data.
fn receiver_rtt(flow: &Flow) -> Option<Duration> {
    flow.receiver_rtt.or(flow.min_rtt)
}
