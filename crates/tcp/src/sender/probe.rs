//! Tail loss probes (RFC 8985 section 7): if no acknowledgement arrives, one segment probes whether
//! the last ones were lost (Linux 6.1 `net/ipv4/tcp_output.c`, `tcp_send_loss_probe`;
//! `tcp_input.c`, `tcp_process_tlp_ack`).

use fairway_cc::{Flow, Phase, Signal};
use fairway_units::Time;

use super::acknowledge::Arrival;
use super::{Sender, Transmission};

/// State of the probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// SND.NXT when it was sent, if one is in flight (`tlp_high_seq`).
    high: Option<u64>,
    /// Whether it was a retransmission.
    again: bool,
    /// Whether it must be sent now, regardless of the window.
    due: bool,
}

impl Probe {
    /// Whether one is in flight.
    #[inline(always)]
    pub(super) fn is_in_flight(&self) -> bool {
        self.high.is_some()
    }

    /// Whether it must be sent now.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Whether a retransmission is in flight as a probe.
    pub(super) fn is_retransmission(&self) -> bool {
        self.high.is_some() && self.again
    }

    /// Whether a probe in flight ends at `end`.
    pub(super) fn ends_at(&self, end: u64) -> bool {
        self.high == Some(end)
    }

    /// Forget the probe.
    pub(super) fn cancel(&mut self) {
        *self = Probe::default();
    }
}

impl Sender {
    /// The probe timer expired; one probe is in flight at a time.
    pub(super) fn probe_tail(&mut self, now: Time) {
        self.probe.due = self.probe.high.is_none();
        if !self.probe.due {
            self.rearm(now);
        }
    }

    /// The probe, if due: new data if possible, otherwise the last segment.
    pub(super) fn next_probe(&mut self, now: Time) -> Option<Transmission> {
        if !std::mem::take(&mut self.probe.due) {
            return None;
        }
        let len = self.sendable_end().saturating_sub(self.snd_nxt).min(self.segment_bytes);
        let transmission = if len > 0 {
            self.probe.again = false;
            let probe = self.send_new(len, false, now);
            self.note_sent();
            Transmission { push: self.board.last_pushes(), ..probe }
        } else {
            let range = self.board.last_segment()?;
            self.board.probed(self.snd_nxt, now);
            self.probe.again = true;
            let fin = self.closed && range.end == self.stream_end + 1;
            let push = fin || self.queue.is_none() || self.board.last_pushes();
            Transmission { range, fin, retransmission: true, cwr: false, push }
        };
        self.probe.high = Some(self.snd_nxt);
        self.start_timer(now);
        Some(transmission)
    }

    /// Handle an acknowledgement of the probe. If the probe repaired a loss, the window is reduced.
    #[inline]
    pub(super) fn end_probe(&mut self, ack: &Arrival<'_>) {
        if let Some(high) = self.probe.high
            && ack.info.ack >= high
        {
            self.end_probe_of(high, ack);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_probe_of(&mut self, high: u64, ack: &Arrival<'_>) {
        let Arrival { info, ref summary, window_moved, .. } = *ack;
        let duplicate = info.duplicate.is_some_and(|range| self.probe.ends_at(range.end));
        let arrived_twice =
            info.pure && summary.acked == 0 && summary.sacked_sent.is_none() && !window_moved;
        if !self.probe.again || duplicate {
            self.probe.cancel();
        } else if info.ack > high {
            self.probe.cancel();
            if matches!(self.phase, Phase::Open | Phase::Disorder) {
                let flow = self.flow(ack.prior_pipe, ack.now);
                self.cc.on_congestion(Signal::Loss, &flow);
                self.counters.reductions += 1;
                self.cwr_pending = true;
                self.undo.give_up();
                self.cc.on_recovered(self.cc.cwnd(), &Flow { phase: Phase::Open, ..flow });
            }
        } else if arrived_twice {
            self.probe.cancel();
        }
    }
}
