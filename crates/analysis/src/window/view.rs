//! What the sender of the data knew when it sent: acknowledgements reach it later than they pass
//! a capture that stands elsewhere.

use std::collections::VecDeque;

use fairway_units::{Duration, Time};

use crate::event::{Acked, Flow, Sent, SentKind};
use crate::window::vantage::{Finder, Position, Vantage};

/// Acknowledgements that wait at the most: more than 64 Ki in half a round trip would be a
/// gigabit per second of single segments over 750 ms. What is beyond that is let go early.
const MAX_WAITING: usize = 1 << 16;

/// An acknowledgement as it reaches the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard<'a> {
    /// When it is reckoned to have reached the sender, on the clock by which the sender's segments
    /// reach the capture.
    pub at: Time,
    /// Acknowledgements that have passed the capture.
    pub acked: &'a Acked,
}

/// Delays acknowledgements by the round trip between the capture and the sender.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    finder: Finder,
    waiting: VecDeque<Acked>,
    last_echo: Option<u32>,
}

impl View {
    pub(super) fn vantage(&self, flow: &Flow) -> Vantage {
        self.finder.vantage(flow)
    }

    /// Round trip between capture and sender if acknowledgements have to wait for it.
    pub(super) fn delay(&self, flow: &Flow) -> Option<Duration> {
        match self.finder.position(flow) {
            Position::Middle | Position::Receiver => self.finder.sender_rtt(flow),
            Position::Sender | Position::Unknown => None,
        }
    }

    /// Takes an acknowledgement in, which [`View::wait`] then has to wait if there is a delay.
    pub(super) fn acked(&mut self, acked: &Acked) {
        self.finder.acked(acked);
    }

    /// Has an acknowledgement wait until the sender hears it.
    pub(super) fn wait(&mut self, acked: &Acked) {
        self.waiting.push_back(*acked);
    }

    /// Takes a segment in; [`View::next`] then gives what its sender had heard before it. Tells
    /// whether it is the first to echo a timestamp.
    pub(super) fn sent(&mut self, sent: &Sent) -> bool {
        self.finder.sent(sent);
        let echo = sent.timestamps.map(|(_, echo)| echo);
        let is_first = echo.is_some() && echo != self.last_echo;
        self.last_echo = echo;
        is_first
    }

    /// The next acknowledgement that the sender has heard by `now`, and when, where it is `delay`
    /// away; by `sent`, if that is what happened: a segment that echoes a timestamp tells of
    /// acknowledgements that carried it.
    pub(super) fn next(
        &mut self,
        now: Time,
        sent: Option<&Sent>,
        delay: Option<Duration>,
    ) -> Option<(Time, Acked)> {
        let first = self.waiting.front()?;
        let Some(delay) = delay else { return self.rest() };
        let due = first.at.as_nanos().saturating_add(delay.as_nanos());
        let by_time = due <= now.as_nanos();
        let echo = sent.and_then(|sent| sent.timestamps).map(|(_, echo)| echo);
        let by_echo = match (first.timestamps, echo) {
            // Sequence arithmetic of RFC 7323 section 4.
            (Some((value, _)), Some(echo)) => match echo.wrapping_sub(value) as i32 {
                0 => by_time,
                ahead => ahead > 0,
            },
            _ => by_time,
        };
        if !by_echo && self.waiting.len() < MAX_WAITING {
            return None;
        }
        let acked = self.waiting.pop_front()?;
        Some((Time::from_nanos(due.min(now.as_nanos())), acked))
    }

    /// The next that still waits, when it passed the capture.
    pub(super) fn rest(&mut self) -> Option<(Time, Acked)> {
        self.waiting.pop_front().map(|acked| (acked.at, acked))
    }
}

/// Loss recovery, as far as the window is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Mode {
    /// Nothing.
    #[default]
    Open,
    /// It repairs losses until everything below `point` is acknowledged (RFC 6675, RFC 6582).
    Recovery { point: i64 },
    /// It has timed out, and begins again until everything below `point` is acknowledged.
    Loss { point: i64 },
}

/// The state of the sequence space as the sender knows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Highest offset that was sent, exclusive.
    pub highest: i64,
    /// Everything below is acknowledged.
    pub acked: i64,
    /// Bytes above that are selectively acknowledged.
    pub sacked: u64,
    /// End of the highest of them; `acked` if there are none.
    pub highest_sacked: i64,
    /// The receive window.
    pub window: u64,
    /// Whether a receive window was announced.
    pub has_window: bool,
    /// Bytes sent again that are not acknowledged.
    pub resent: u64,
    /// Duplicates of the last acknowledgement.
    pub duplicates: u32,
    /// State of its loss recovery.
    pub mode: Mode,
    /// When it heard last, and when anything new was acknowledged.
    pub last_heard: Option<Time>,
    /// When anything new was acknowledged cumulatively.
    pub last_advance: Option<Time>,
    /// When it sent last.
    pub last_sent: Option<Time>,
    /// When it sent anything again last, and whether what it heard last is of something like that.
    pub last_resent: Option<Time>,
    /// The latter.
    pub has_delivered_again: bool,
    /// Whether it has heard since it sent.
    pub has_heard: bool,
}

impl Known {
    /// Bytes neither acknowledged nor selectively acknowledged.
    pub(super) fn flight(&self) -> u64 {
        self.unacked().saturating_sub(self.sacked)
    }

    /// Bytes that are not acknowledged cumulatively.
    pub(super) fn unacked(&self) -> u64 {
        u64::try_from(self.highest.saturating_sub(self.acked)).unwrap_or(0)
    }

    /// Bytes believed to be in the network. While losses are repaired, what lies below the highest
    /// selective acknowledgement has left it, but for what was sent again: `awnd` of M. Mathis,
    /// J. Mahdavi, "Forward Acknowledgement", SIGCOMM 1996. Without reordering that is `pipe` of
    /// RFC 6675.
    pub(super) fn pipe(&self) -> u64 {
        let above = |offset: i64| {
            u64::try_from(self.highest.saturating_sub(offset.max(self.acked))).unwrap_or(0)
        };
        match self.mode {
            Mode::Open => self.flight(),
            Mode::Recovery { .. } if self.highest_sacked > self.acked => {
                above(self.highest_sacked).saturating_add(self.resent)
            }
            // Each duplicate tells of a segment that has left the network (RFC 5681 section 3.2),
            // and so is the segment that they ask for.
            Mode::Recovery { .. } => self.flight(),
            Mode::Loss { point } => {
                above(point.max(self.highest_sacked)).saturating_add(self.resent)
            }
        }
    }

    /// Bytes that the receive window allows beyond what was sent.
    pub(super) fn receive_window_left(&self) -> u64 {
        if !self.has_window {
            return u64::MAX;
        }
        let edge = self.acked.saturating_add(i64::try_from(self.window).unwrap_or(i64::MAX));
        u64::try_from(edge.saturating_sub(self.highest)).unwrap_or(0)
    }

    /// Takes in a segment that leaves.
    pub(super) fn sent(&mut self, sent: &Sent) {
        let end = sent.offset.saturating_add(i64::from(sent.bytes));
        if sent.kind == SentKind::Retransmission || sent.kind == SentKind::FillsHole {
            self.resent = self.resent.saturating_add(u64::from(sent.bytes)).min(self.unacked());
            self.last_resent = Some(sent.at);
        }
        self.highest = self.highest.max(end);
        self.last_sent = Some(sent.at);
        self.has_heard = false;
    }

    /// Takes in an acknowledgement that arrives.
    pub(super) fn heard(&mut self, heard: &Heard<'_>, flow: &Flow) {
        let acked = heard.acked;
        let advances = acked.offset > self.acked;
        self.acked = self.acked.max(acked.offset);
        self.highest = self.highest.max(self.acked);
        self.highest_sacked = acked.highest_sacked_offset.max(self.acked);
        self.resent = self.resent.saturating_sub(acked.delivered_again_bytes).min(self.unacked());
        self.window = acked.window_bytes;
        self.has_window = true;
        if advances {
            // Without SACK, a partial acknowledgement is for the segment that was sent again and
            // for some that duplicates had told of (RFC 6582 section 3.2, step 5).
            let told =
                acked.acked_bytes.div_ceil(u64::from(flow.mss_bytes.max(1))).saturating_sub(1);
            self.duplicates = match self.mode {
                Mode::Recovery { .. } if !flow.has_sack => {
                    self.duplicates.saturating_sub(u32::try_from(told).unwrap_or(u32::MAX))
                }
                _ => 0,
            };
            self.last_advance = Some(heard.at);
        } else if acked.delivered_bytes > 0 || (acked.is_duplicate && acked.dsack.is_none()) {
            self.duplicates = self.duplicates.saturating_add(1);
        }
        self.sacked = if flow.has_sack {
            acked.sacked_bytes
        } else {
            u64::from(self.duplicates) * u64::from(flow.mss_bytes)
        };
        self.has_delivered_again = acked.delivered_again_bytes > 0;
        self.last_heard = Some(heard.at);
        self.has_heard = true;
        let (Mode::Recovery { point } | Mode::Loss { point }) = self.mode else { return };
        if self.acked >= point {
            self.mode = Mode::Open;
            self.duplicates = 0;
        }
    }
}
