//! Closed windows. While nothing is outstanding and the peer has no room for what waits, a timer asks
//! it again and again, so that nothing stands still when the segment is lost that opens the window
//! (RFC 9293 section 3.8.6.1; Linux 6.1 `net/ipv4/tcp_timer.c`, `tcp_probe_timer`; `tcp_output.c`,
//! `tcp_send_probe0`, `tcp_write_wakeup`; `tcp_input.c`, `tcp_ack_probe`).

use fairway_units::{Duration, Time};

use super::Sender;
use super::acknowledge::Arrival;
use crate::Nagle;
use crate::timer::Expiry;

/// Least time to the first question (Linux `tcp_probe0_base`: `TCP_RTO_MIN`).
const LEAST_WAIT: Duration = Duration::from_millis(200);
/// Most doublings of the time between two (`tcp_probe0_when`: until 200 ms have become 120 s).
const MOST_DOUBLINGS: u8 = 10;

/// Questions about a closed window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    /// How often the time between two was doubled.
    doublings: u8,
    /// Whether one has to leave now.
    due: bool,
}

impl Sender {
    /// Whether data or the FIN waits to be sent for the first time.
    pub(super) fn has_unsent(&self) -> bool {
        self.snd_nxt < self.stream_end || (self.closed && self.snd_nxt == self.stream_end)
    }

    /// Nothing is outstanding and something waits, though all has left that may: for the peer's
    /// window, or for the moment that pacing appoints.
    #[inline(never)]
    pub(super) fn watch_window(&mut self, now: Time) {
        let idle = self.timer.purpose().is_none() && !self.persist.due;
        if idle && self.pacer.wake_at() == Time::NEVER {
            self.persist.doublings = 0;
            self.timer.start(Expiry::Window, self.time_to_question(), now);
        }
    }

    /// The time has come to ask for a window.
    pub(super) fn question_window(&mut self) {
        self.timer.stop();
        self.persist.due = self.board.is_empty() && self.has_unsent();
    }

    /// Whether a segment without data has to leave now that asks for a window.
    #[inline]
    pub fn takes_question(&mut self, now: Time) -> bool {
        self.persist.due && self.ask(now)
    }

    #[inline(never)]
    fn ask(&mut self, now: Time) -> bool {
        self.persist.due = false;
        if !self.board.is_empty() {
            // The window had room for a little, which has left and asks as well.
            self.persist.doublings = 0;
            return false;
        }
        self.persist.doublings = (self.persist.doublings + 1).min(MOST_DOUBLINGS);
        self.timer.start(Expiry::Window, self.time_to_question(), now);
        self.counters.window_probes += 1;
        true
    }

    fn time_to_question(&self) -> Duration {
        let first = self.rtt.rto().max(LEAST_WAIT);
        first.saturating_mul(1 << self.persist.doublings).min(self.stack.rto.rto_max)
    }

    /// Whether `len` bytes, less than a full segment, may leave of `waiting` that were written.
    pub(super) fn may_send_small(&self, len: u64, waiting: u64) -> bool {
        if len == waiting {
            return self.closed || self.nagle_allows();
        }
        // RFC 9293 section 3.8.6.2.1: no small segment because of a small window, unless that is half
        // of the largest, or has been waited for.
        let ends_at_window = self.right_edge - self.snd_nxt == len;
        self.board.is_empty() && (!ends_at_window || 2 * len >= self.max_window || self.persist.due)
    }

    /// No small segment because the application is slow.
    pub(super) fn nagle_allows(&self) -> bool {
        match self.stack.sending.nagle {
            Nagle::Off => true,
            Nagle::Rfc => self.board.is_empty(),
            Nagle::Minshall => self.small_until <= self.board.una(),
        }
    }

    /// Whether the peer's window has room for what is next.
    fn has_room_for_next(&self) -> bool {
        let waiting = self.stream_end.saturating_sub(self.snd_nxt);
        let len = self.sendable_end().saturating_sub(self.snd_nxt).min(self.segment_bytes);
        match len {
            0 => waiting == 0 && self.snd_nxt < self.right_edge,
            len => len == self.segment_bytes || self.may_send_small(len, waiting),
        }
    }

    /// An acknowledgement arrived though nothing is outstanding (Linux `tcp_ack`, from `no_queue` on).
    #[cold]
    #[inline(never)]
    pub(super) fn handle_ack_of_nothing(&mut self, ack: &Arrival<'_>, now: Time) {
        let twice = self.note_duplicate(ack);
        if twice > 0 {
            self.delivered += twice;
            self.undo_if_spurious(ack, false);
        }
        if self.timer.purpose() == Some(Expiry::Window) {
            if self.has_room_for_next() {
                self.timer.stop();
            } else {
                self.timer.start(Expiry::Window, self.time_to_question(), now);
            }
        }
        self.end_probe(ack);
    }
}
