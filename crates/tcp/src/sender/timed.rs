//! One timed segment at a time, as BSD measured round trips before there were timestamps (ns-2.35
//! `tcp/tcp-full.cc`, `foutput` and `newack`). A retransmission ends the measurement
//! (`reset_rtx_timer`, `dupack_action`).

use fairway_units::{Duration, Time};

use super::Sender;
use super::recovery::RecoveryPolicy;

/// The timed segment (`rtt_active_`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    /// Its first byte (`rtt_seq_`).
    start: u64,
    /// When it was sent (`rtt_ts_`).
    sent: Time,
}

impl Sender {
    /// New data starting at `start` leaves.
    pub(super) fn begin_timing(&mut self, start: u64, now: Time) {
        if self.policy.times_one_segment(self.stack.options.timestamps) && self.timed.is_none() {
            self.timed = Some(Timed { start, sent: now });
        }
    }

    /// The round-trip time that an acknowledgement up to `ack` measures.
    pub(super) fn end_timing(&mut self, ack: u64, now: Time) -> Option<Duration> {
        let timed = self.timed.take_if(|timed| ack > timed.start)?;
        let rtt = self.in_clock_ticks(now.since(timed.sent), now);
        self.rtt.sample_min(rtt);
        self.rtt.sample(rtt, self.board.una(), self.snd_nxt);
        Some(rtt)
    }
}
