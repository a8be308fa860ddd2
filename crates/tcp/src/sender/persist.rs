//! Zero-window probes, in case the window update is lost (RFC 9293 section 3.8.6.1;
//! Linux 6.1 `net/ipv4/tcp_timer.c`, `tcp_probe_timer`; `tcp_output.c`, `tcp_send_probe0`,
//! `tcp_write_wakeup`; `tcp_input.c`, `tcp_ack_probe`).

use fairway_units::{Duration, Time};

use super::Sender;
use super::acknowledge::Arrival;
use crate::Nagle;
use crate::timer::Expiry;

/// Minimum delay of the first probe (Linux `tcp_probe0_base`: `TCP_RTO_MIN`).
const LEAST_WAIT: Duration = Duration::from_millis(200);
/// Limit of doublings of the delay (`tcp_probe0_when`: from 200 ms to 120 s).
const MOST_DOUBLINGS: u8 = 10;

/// State of window probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    /// Doublings of the delay so far.
    doublings: u8,
    /// Whether a probe is due.
    due: bool,
}

impl Persist {
    /// Whether a probe must be sent now.
    pub(super) fn is_due(self) -> bool {
        self.due
    }
}

impl Sender {
    /// Whether unsent data or an unsent FIN waits.
    pub(super) fn has_unsent(&self) -> bool {
        self.snd_nxt < self.stream_end || (self.closed && self.snd_nxt == self.stream_end)
    }

    /// Start the probe timer: data waits, nothing is outstanding, and pacing is not the cause.
    #[inline(never)]
    pub(super) fn watch_window(&mut self, now: Time) {
        let idle = self.timer.purpose().is_none() && !self.persist.due;
        if idle && self.pacer.wake_at() == Time::NEVER {
            self.persist.doublings = 0;
            self.timer.start(Expiry::Window, self.window_probe_delay(), now);
        }
    }

    /// The probe timer expired.
    pub(super) fn expire_window_timer(&mut self) {
        self.timer.stop();
        self.persist.due = self.board.is_empty() && self.has_unsent();
    }

    /// Whether a window probe must be sent now.
    #[inline]
    pub fn takes_window_probe(&mut self, now: Time) -> bool {
        self.persist.due && self.ask(now)
    }

    #[inline(never)]
    fn ask(&mut self, now: Time) -> bool {
        self.persist.due = false;
        if !self.board.is_empty() {
            // Data sent into a partly open window serves as the probe.
            self.persist.doublings = 0;
            return false;
        }
        self.persist.doublings = (self.persist.doublings + 1).min(MOST_DOUBLINGS);
        self.timer.start(Expiry::Window, self.window_probe_delay(), now);
        self.counters.window_probes += 1;
        true
    }

    fn window_probe_delay(&self) -> Duration {
        let first = self.rtt.rto().max(LEAST_WAIT);
        first.saturating_mul(1 << self.persist.doublings).min(self.stack.rto.rto_max)
    }

    /// Whether a small segment of `len` bytes may be sent while `waiting` bytes wait.
    pub(super) fn may_send_small(&self, len: u64, waiting: u64) -> bool {
        if len == waiting {
            return self.closed || self.nagle_allows();
        }
        // Silly window avoidance (RFC 9293 section 3.8.6.2.1): a small window must be half of the
        // largest, or have been probed.
        let ends_at_window = self.right_edge - self.snd_nxt == len;
        self.board.is_empty() && (!ends_at_window || 2 * len >= self.max_window || self.persist.due)
    }

    /// Whether Nagle's algorithm allows a small segment.
    pub(super) fn nagle_allows(&self) -> bool {
        match self.stack.sending.nagle {
            Nagle::Off => true,
            Nagle::Rfc => self.board.is_empty(),
            Nagle::Minshall => self.small_until <= self.board.una(),
        }
    }

    /// Whether the peer's window has room for the next segment.
    fn has_room_for_next(&self) -> bool {
        let waiting = self.stream_end.saturating_sub(self.snd_nxt);
        let len = self.sendable_end().saturating_sub(self.snd_nxt).min(self.segment_bytes);
        match len {
            0 => waiting == 0 && self.snd_nxt < self.right_edge,
            len => len == self.segment_bytes || self.may_send_small(len, waiting),
        }
    }

    /// An acknowledgement arrived with nothing outstanding (Linux `tcp_ack`, from `no_queue` on).
    #[cold]
    #[inline(never)]
    pub(super) fn handle_ack_when_idle(&mut self, ack: &Arrival<'_>, now: Time) {
        let twice = self.note_duplicate(ack);
        if twice > 0 {
            self.delivered += twice;
            self.undo_if_spurious(ack, false);
        }
        if self.timer.purpose() == Some(Expiry::Window) {
            if self.has_room_for_next() {
                self.timer.stop();
            } else {
                self.timer.start(Expiry::Window, self.window_probe_delay(), now);
            }
        }
        self.end_probe(ack);
    }
}
