//! Where the capture stands between the sender of the data and its receiver.

use std::collections::VecDeque;

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Acked, Flow, Sent};

/// Part of the whole round trip on the sender's side below which the capture is the sender's, and
/// above one less this the receiver's. At a tenth, what is in flight can be wrong by a tenth of
/// the window at the most if the order of packets in the capture is taken for the sender's.
const NEAR: f64 = 0.1;
/// Acknowledgements remembered until the side is known: those of a round trip, of which the first
/// with a new timestamp matter.
const REMEMBERED: usize = 256;
/// Segments with an echo after which their smallest delay is taken.
const ECHOES: u32 = 64;

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

/// What a direction's report says of where its capture stands.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Vantage {
    /// Where.
    pub position: Position,
    /// Round trip between the capture and the sender of the data, in milliseconds.
    pub sender_rtt_ms: Option<f64>,
    /// Round trip between the capture and the receiver, in milliseconds.
    pub receiver_rtt_ms: Option<f64>,
}

/// Finds out where the capture stands: by the handshake, or else by how soon data echo the
/// timestamp of an acknowledgement.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    remembered: VecDeque<(u32, Time)>,
    echoes: u32,
    by_echo: Option<Duration>,
}

impl Finder {
    pub(super) fn acked(&mut self, acked: &Acked, flow: &Flow) {
        if flow.sender_rtt.is_some() || self.echoes >= ECHOES {
            self.remembered = VecDeque::new();
            return;
        }
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
        let Some((_, at)) = self.remembered.iter().find(|(value, _)| *value == echo) else {
            return;
        };
        let delay = sent.at.since(*at);
        self.by_echo = Some(self.by_echo.map_or(delay, |least| least.min(delay)));
        self.echoes = self.echoes.saturating_add(1);
    }

    /// Round trip between the capture and the sender of the data.
    pub(super) fn sender_rtt(&self, flow: &Flow) -> Option<Duration> {
        flow.sender_rtt.or(self.by_echo)
    }

    /// What is known so far.
    pub(super) fn vantage(&self, flow: &Flow) -> Vantage {
        let near = self.sender_rtt(flow);
        let far = flow.receiver_rtt.or(flow.min_rtt);
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        let position = match (near, far) {
            (Some(near), Some(far)) if (near + far).as_nanos() > 0 => {
                let part = near.as_nanos() as f64 / (near + far).as_nanos() as f64;
                match part {
                    part if part < NEAR => Position::Sender,
                    part if part > 1.0 - NEAR => Position::Receiver,
                    _ => Position::Middle,
                }
            }
            _ => Position::Unknown,
        };
        Vantage { position, sender_rtt_ms: near.map(ms), receiver_rtt_ms: far.map(ms) }
    }
}
