//! New data from a write queue: the kernel and the application take turns
//! (Linux 6.1 `net/ipv4/tcp_output.c`, `tcp_write_xmit`; `net/ipv4/tcp.c`, `tcp_sendmsg_locked`).

use fairway_units::Time;

use super::{Sender, Transmission};
use crate::burst::{self, Allowance, Burst};
use crate::write_queue::{Sizes, Written};

/// Default MSS of a peer (RFC 9293; Linux `TCP_MSS_DEFAULT`).
const DEFAULT_MSS: u64 = 536;

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Turn {
    /// The kernel: sends burst after burst.
    #[default]
    Queue,
    /// The kernel, for one burst that is not deferred.
    One,
    /// The application, if it has memory.
    Writer,
}

/// When the application writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Writer {
    /// As soon as it is woken.
    #[default]
    Ready,
    /// Behind other arrivals at this instant: a kernel handles all of them before any process runs.
    Held,
    /// It has been held: the kernel acts first.
    Late,
}

impl Sender {
    /// Whether the application must not write yet, as more arrives at this instant.
    pub(crate) fn hold_writer(&mut self, holds: bool) {
        if self.queue.is_some() {
            self.writer = if holds { Writer::Held } else { Writer::Late };
        }
    }

    /// All data is of one write.
    pub(crate) fn write_at_once(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.write_at_once();
        }
    }

    /// After a write the application continues; after an arrival the kernel acts.
    #[inline]
    pub(super) fn first_turn(&self) -> Turn {
        match &self.queue {
            Some(queue) if !queue.waits() && queue.written() < self.stream_end => {
                if self.writer == Writer::Ready { Turn::Writer } else { Turn::Queue }
            }
            _ => Turn::Queue,
        }
    }

    /// End of the data written to the queue.
    pub(super) fn written(&self) -> u64 {
        self.queue.as_ref().map_or(self.stream_end, |queue| queue.written())
    }

    /// The next segment of the current or of a new burst.
    pub(super) fn next_of_queue(&mut self, now: Time) -> Option<Transmission> {
        let continues = self.pass.burst_left > 0;
        if !continues && !self.begins_burst(now) {
            return self.next_fin(now);
        }
        Some(self.next_of_its_burst(continues, now))
    }

    /// The first segment of a burst, or one that `continues` it.
    #[inline(always)]
    pub(super) fn next_of_its_burst(&mut self, continues: bool, now: Time) -> Transmission {
        self.pass.burst_left -= 1;
        let len = self.segment_bytes.min(self.pass.burst_end - self.snd_nxt);
        let transmission = self.send_new(len, false, now);
        if continues {
            self.board.join_last();
        }
        let is_last = self.pass.burst_left == 0;
        let push = is_last && self.pass.pushes;
        if is_last {
            self.note_sent();
        }
        Transmission { push, ..transmission }
    }

    /// Take turns until a burst begins or both are idle.
    fn begins_burst(&mut self, now: Time) -> bool {
        loop {
            let turn = self.pass.turn;
            if turn != Turn::Writer {
                let at_once = turn == Turn::One;
                let begins = self.sizes_burst(at_once, now);
                if at_once || !begins {
                    self.pass.turn = Turn::Writer;
                }
                if begins {
                    return true;
                }
            }
            self.pass.turn = match self.write_on() {
                Written::Nothing => return false,
                Written::Push => Turn::Queue,
                Written::PushOne => Turn::One,
            };
        }
    }

    /// The application writes although nothing may be sent.
    #[inline]
    pub(super) fn keep_writing(&mut self) {
        if self.queue.is_some() {
            while self.write_on() != Written::Nothing {}
        }
    }

    fn write_on(&mut self) -> Written {
        // Once for each arrival (`tcp_data_snd_check`): what is written then grows nothing more.
        if !std::mem::replace(&mut self.pass.gave_memory, true) {
            self.expand_if_writer_waits(0);
        }
        let una = self.board.una();
        let sizes = self.sizes();
        let (end, next) = (self.stream_end, self.snd_nxt);
        let outstanding = self.board.buffers();
        let Some(queue) = &mut self.queue else { return Written::Nothing };
        if queue.written() >= end || !queue.wakes(una, outstanding) {
            return Written::Nothing;
        }
        if self.writer == Writer::Held {
            return Written::Nothing;
        }
        self.writer = Writer::Ready;
        queue.write(end, next, una, sizes)
    }

    /// A buffer is at most half of the peer's largest window, in whole segments
    /// (`tcp_bound_to_half_wnd`; a small window is not halved).
    fn sizes(&self) -> Sizes {
        let window = self.max_window;
        let half = if window > DEFAULT_MSS { window / 2 } else { window };
        let mss = self.segment_bytes;
        let most = half.min(burst::MAX_BUFFER_BYTES) / mss * mss;
        Sizes { most: most.max(mss), unmarked: window / 2 }
    }

    /// Begin a burst if one may be sent; `at_once` if it is not deferred.
    fn sizes_burst(&mut self, at_once: bool, now: Time) -> bool {
        let Some(queue) = &self.queue else { return false };
        let mss = self.segment_bytes;
        let (written, end_of_first) = (queue.written(), queue.end_of_first());
        let unsent = written.saturating_sub(self.snd_nxt);
        let needed = end_of_first.min(self.right_edge).saturating_sub(self.snd_nxt);
        // A buffer with a successor is complete (`tcp_nagle_test`).
        let is_whole = end_of_first <= self.right_edge && end_of_first < written;
        if needed == 0
            || (needed < mss && !is_whole && !self.may_send_small(needed, unsent))
            || self.holds_new_data()
        {
            return false;
        }
        if self.board.is_empty() {
            self.restart_after_idle(now);
        }
        let mut allowance = self.allowance(unsent, self.right_edge);
        allowance.waits_for_nothing |= at_once;
        let end_of_first = self.filled(end_of_first, &allowance);
        match burst::next(&allowance, end_of_first - self.snd_nxt, now) {
            Burst::Send(segments) => {
                let needed = end_of_first.min(self.right_edge) - self.snd_nxt;
                let is_whole = end_of_first <= self.right_edge && end_of_first < written;
                self.deferred_at = None;
                self.begin_sized(segments, needed, is_whole);
                true
            }
            Burst::Wait { by_cwnd } => {
                self.deferred_at = Some(now);
                self.pass.waits_for_cwnd |= by_cwnd;
                false
            }
            Burst::Full => false,
        }
    }

    /// End of the first buffer, filled up to a whole burst where the stack does so.
    fn filled(&mut self, end_of_first: u64, allowance: &Allowance) -> u64 {
        match &mut self.queue {
            Some(queue) if self.stack.sending.tso_fill => {
                let ideal = burst::ideal(allowance) * self.segment_bytes;
                let missing = ideal.saturating_sub(end_of_first - self.snd_nxt);
                if missing > 0 {
                    queue.fill_first(missing);
                }
                queue.end_of_first()
            }
            _ => end_of_first,
        }
    }

    /// Begin a burst of up to `segments` and `needed` bytes. It ends with a small segment only if
    /// that could be sent alone or ends the buffer (`tcp_mss_split_point`).
    fn begin_sized(&mut self, segments: u64, needed: u64, is_whole: bool) {
        let mss = self.segment_bytes;
        let mut bytes = needed.min(segments.saturating_mul(mss));
        let small = bytes % mss;
        if small > 0 && bytes > mss && !is_whole && !self.closed && !self.nagle_allows() {
            bytes -= small;
        }
        self.pass.burst_left = bytes.div_ceil(mss);
        self.pass.burst_end = self.snd_nxt + bytes;
        let marked = self.queue.as_ref().is_some_and(|queue| {
            queue.marks_first() && queue.end_of_first() == self.pass.burst_end
        });
        self.pass.pushes = self.pass.burst_left > 1 || marked;
        self.expand_if_writer_waits(self.pass.burst_left);
    }

    /// Grow the send buffer for a waiting application if the window has room beyond the `leaving`
    /// segments (`tcp_should_expand_sndbuf`).
    #[inline]
    fn expand_if_writer_waits(&mut self, leaving: u64) {
        let waits = self.queue.as_ref().is_some_and(|queue| queue.waits());
        if waits && self.stack.buffers.send_buffer_tuning {
            let cwnd = self.cwnd() / u64::from(self.stack.options.mss);
            if self.flight_segments() + leaving < cwnd {
                self.expand_for_writer();
            }
        }
    }

    /// A burst was sent: a waiting application may continue before the next takes more memory
    /// (`tcp_event_new_data_sent`).
    #[inline]
    pub(super) fn note_sent(&mut self) {
        let (una, outstanding) = (self.board.una(), self.board.buffers());
        if let Some(queue) = &mut self.queue {
            if queue.marks_first() && queue.end_of_first() == self.snd_nxt {
                self.board.push_last();
            }
            queue.sent(self.snd_nxt, outstanding);
            queue.wakes(una, outstanding);
        }
    }
}
