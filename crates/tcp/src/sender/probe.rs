//! Tail loss probes (RFC 8985 section 7): when acknowledgements stay away, one segment finds out
//! whether the last ones were lost (Linux 6.1 `net/ipv4/tcp_output.c`, `tcp_send_loss_probe`;
//! `tcp_input.c`, `tcp_process_tlp_ack`).

use fairway_cc::{Flow, Phase, Signal};
use fairway_units::Time;

use super::acknowledge::Arrival;
use super::{Sender, Transmission};

/// A probe under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// End of what was outstanding when it left; none without a probe.
    high: Option<u64>,
    /// Whether it was sent before.
    again: bool,
    /// Whether it has to leave now, whatever the window says.
    due: bool,
}

impl Probe {
    /// Whether a segment that was sent before is on its way as a probe.
    pub(super) fn is_retransmission(&self) -> bool {
        self.high.is_some() && self.again
    }

    /// Whether a probe is on its way that ends there.
    pub(super) fn ends_at(&self, end: u64) -> bool {
        self.high == Some(end)
    }

    /// Whatever it says is not waited for.
    pub(super) fn cancel(&mut self) {
        *self = Probe::default();
    }
}

impl Sender {
    /// The time for a probe has come; there is one at a time.
    pub(super) fn probe_tail(&mut self, now: Time) {
        self.probe.due = self.probe.high.is_none();
        if !self.probe.due {
            self.rearm(now);
        }
    }

    /// The probe, if it has to leave: new data if there is any, or else the last segment.
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

    /// The acknowledgement may answer the probe. If that repaired a loss, the window is reduced as for
    /// any other.
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
