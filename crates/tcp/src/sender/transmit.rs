//! The next segment: retransmissions, then new data, within the windows.

use fairway_cc::Phase;
use fairway_units::Time;

use super::recovery::{Departure, RecoveryPolicy};
use super::{Pass, Sender, Transmission, predicts};
use crate::burst::{self, Allowance, Burst, Size};
use crate::ranges::Range;
use crate::scoreboard::Lost;
use crate::timer::Expiry;

/// Largest burst in segments without a write queue: 64 KiB of 1448 bytes (Linux
/// `net/ipv4/tcp.c`, `tcp_send_mss`).
const BUFFER_SEGMENTS: u64 = 45;

impl Sender {
    /// Begin the answer to an event.
    pub fn begin_burst(&mut self) {
        let limit = self.policy.burst_limit(self);
        self.policy.begin_burst(&self.board, u64::from(self.stack.options.mss));
        let is_calm = self.phase == Phase::Open && self.policy.is_calm(self);
        // An acknowledgement in order reports no further duplicates that could undo a reduction.
        let may_undo = self.stack.losses.undo && self.undo.all_were_duplicates();
        // A calm policy that interprets acknowledgements itself sees nothing else in one.
        let keeps_back_off =
            self.stack.rto.backoff_ends_with_any_ack && self.policy.learns_itself();
        let is_settled = is_calm && !self.holds_retransmissions && !may_undo && !keeps_back_off;
        self.begin_pass(limit, is_calm, is_settled);
    }

    #[inline(always)]
    pub(super) fn begin_pass(&mut self, limit: u32, is_calm: bool, is_settled: bool) {
        self.max_burst_left = self.stack.sending.max_burst.unwrap_or(u32::MAX).min(limit);
        self.pass = Pass { turn: self.first_turn(), is_calm, is_settled, ..Pass::default() };
    }

    /// The next segment, if any may be sent.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmission> {
        if self.policy.whole().is_some() {
            return self.with_policy(|policy, s| policy.poll_transmit(s, now));
        }
        let Some(transmission) = self.next_transmission(now) else {
            self.end_pass(now);
            return None;
        };
        self.note_departure(&transmission, now);
        Some(transmission)
    }

    #[inline(always)]
    pub(super) fn note_departure(&mut self, transmission: &Transmission, now: Time) {
        self.max_burst_left -= 1;
        self.pass.sent = true;
        self.counters.segments += 1;
        self.counters.retransmissions += u64::from(transmission.retransmission);
        if transmission.retransmission {
            self.undo.sent_again(now);
        }
        if !self.pass.is_calm {
            let (phase, is_forced, mss) = (self.phase, self.pass.is_forced, self.mss());
            self.policy.sent(&self.board, Departure { phase, is_forced, mss });
        }
        self.last_sent = now;
        let pacing_rate = self.cc.pacing_rate();
        if let Some(rate) = pacing_rate {
            let payload = transmission.range.bytes() - u64::from(transmission.fin);
            if self.pass.burst_left > 0 {
                self.pacer.continues(payload);
            } else {
                self.pacer.sent(payload, rate, self.counters.segments, now);
            }
        }
        if matches!(self.timer.purpose(), None | Some(Expiry::Window)) {
            self.start_timer(now);
        }
        self.pass.is_full = pacing_rate.is_none() && self.is_full();
        if self.pass.is_full {
            self.end_pass(now);
        }
    }

    /// Whether the segment sent last has filled the window, or was the last that `max_burst` allows, so
    /// that asking for another one gives nothing and changes nothing.
    pub(crate) fn has_filled_window(&self) -> bool {
        self.pass.is_full
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        predicts()
            && self.pass.is_calm
            && !self.stack.sending.tso
            && !self.pass.probed
            && !self.probe.is_due()
            && !self.persist.is_due()
            && (self.max_burst_left == 0
                || (self.sendable_end() >= self.snd_nxt + self.segment_bytes
                    && self.board.pipe() + self.segment_bytes > self.cc.cwnd()
                    && self.board.pipe() > 0))
    }

    fn next_transmission(&mut self, now: Time) -> Option<Transmission> {
        if let Some(probe) = self.next_probe(now) {
            self.pass.is_forced = true;
            self.pass.probed = true;
            return Some(probe);
        }
        if self.pass.probed {
            return None;
        }
        self.pass.is_forced = false;
        // Pacing delays bursts, not the segments inside one.
        if self.max_burst_left == 0 || (self.pass.burst_left == 0 && !self.pacer.allows(now)) {
            self.keep_writing();
            return None;
        }
        self.next_retransmission(now).or_else(|| self.next_new_data(now))
    }

    fn next_retransmission(&mut self, now: Time) -> Option<Transmission> {
        if !matches!(self.phase, Phase::Recovery | Phase::Loss) || self.holds_retransmissions {
            return None;
        }
        let lost = match self.board.next_lost() {
            Some(lost) if self.retransmit_first || self.fits(lost.range.bytes()) => lost,
            Some(_) => return None,
            None => self.rescue()?,
        };
        self.pass.is_forced = std::mem::take(&mut self.retransmit_first);
        if self.board.pipe() == 0 {
            self.begin_transmission(now);
        }
        let position = self.board.retransmitted(lost, self.snd_nxt, now);
        if self.restarts_timer_with_head()
            && lost.range.start == self.board.una()
            && self.timer.purpose() != Some(Expiry::Reordering)
        {
            self.start_timer(now);
        }
        let fin = self.closed && lost.range.end == self.stream_end + 1;
        // PSH on the last of a burst (`__tcp_transmit_skb`), or at the end of a write.
        let ends = position.continues && !(position.has_more && self.fits(self.segment_bytes));
        let push = fin || (self.queue.is_some() && (ends || self.board.pushes(lost.index)));
        Some(Transmission { range: lost.range, fin, retransmission: true, cwr: false, push })
    }

    /// Linux `tcp_xmit_retransmit_queue`.
    fn restarts_timer_with_head(&self) -> bool {
        self.stack.losses.tail_loss_probe || self.policy.restarts_timer_with_head()
    }

    /// RFC 6675 NextSeg rule 3: if nothing is marked lost and no new data may be sent, a segment
    /// that may be lost, to keep the ACK clock running.
    fn rescue(&mut self) -> Option<Lost> {
        let nothing_new = self.snd_nxt >= self.sendable_end();
        if !self.rescue_allowed || !nothing_new || self.phase != Phase::Recovery {
            return None;
        }
        let segment = self.board.next_unsacked()?;
        if !self.fits(segment.range.bytes()) {
            return None;
        }
        self.rescue_allowed = self.policy.rescues_repeatedly();
        Some(segment)
    }

    fn next_new_data(&mut self, now: Time) -> Option<Transmission> {
        if self.queue.is_some() {
            return self.next_of_queue(now);
        }
        let mss = self.segment_bytes;
        let written = self.stream_end.saturating_sub(self.snd_nxt);
        let mut available = self.sendable_end().saturating_sub(self.snd_nxt);
        if available < mss.min(written)
            && self.stack.buffers.send_buffer_tuning
            && self.expand_send_buffer()
        {
            available = self.sendable_end().saturating_sub(self.snd_nxt);
        }
        if available == 0 {
            return self.next_fin(now);
        }
        let len = available.min(mss);
        if len < mss && !self.may_send_small(len, written) {
            return None;
        }
        if self.holds_new_data() {
            return None;
        }
        if self.board.is_empty() {
            self.restart_after_idle(now);
        }
        if self.stack.sending.tso {
            return self.next_of_burst(len, available, now);
        }
        if !self.fits(len) {
            return None;
        }
        Some(self.send_new(len, false, now))
    }

    /// Whether new data waits because something may be lost (no limited transmit).
    pub(super) fn holds_new_data(&self) -> bool {
        !self.stack.losses.limited_transmit && self.phase == Phase::Open && self.board.has_holes()
    }

    /// The next segment of the current or of a new burst.
    fn next_of_burst(&mut self, len: u64, available: u64, now: Time) -> Option<Transmission> {
        if self.pass.burst_left == 0 {
            let window_end = self.board.una().saturating_add(self.send_buffer);
            let allowance = self.allowance(available, window_end.min(self.right_edge));
            match burst::next(&allowance, BUFFER_SEGMENTS * self.segment_bytes, now) {
                Burst::Send(segments) => {
                    self.deferred_at = None;
                    self.pass.burst_left = segments;
                    self.pass.pushes = segments > 1 || available <= len;
                }
                Burst::Wait { by_cwnd } => {
                    self.deferred_at = Some(now);
                    self.pass.waits_for_cwnd |= by_cwnd;
                    return None;
                }
                Burst::Full => return None,
            }
        }
        self.pass.burst_left -= 1;
        let push = self.pass.burst_left == 0 && self.pass.pushes;
        Some(Transmission { push, ..self.send_new(len, false, now) })
    }

    pub(super) fn allowance(&mut self, available: u64, window_end: u64) -> Allowance {
        let mss = self.segment_bytes;
        Allowance {
            mss,
            in_flight: self.flight_segments(),
            cwnd: self.policy.window(self) / self.mss(),
            window_room_bytes: window_end - self.snd_nxt,
            window_bytes: self.right_edge - self.board.una(),
            available: available.div_ceil(mss),
            size: self.burst_size(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            oldest_sent_at: self.board.head_sent_at(),
            last_sent_at: self.last_sent.max(self.pacer.burst_end()),
            waits_for_nothing: self.sends_at_once(),
        }
    }

    fn burst_size(&self) -> Size {
        if self.stack.sending.tso_autosizing {
            return Size::Paced { bytes_per_s: self.pacing_bytes_per_s() };
        }
        Size::Device { tick: self.stack.rto.rto_granularity, deferred_at: self.deferred_at }
    }

    /// Whether bursts are not deferred: in recovery; before Linux 4.1, in any phase but Open
    /// (2.6.27 `tcp_tso_should_defer`).
    fn sends_at_once(&self) -> bool {
        if self.stack.sending.tso_autosizing {
            matches!(self.phase, Phase::Recovery | Phase::Loss)
        } else {
            self.phase() != Phase::Open
        }
    }

    /// The algorithm's pacing rate, or Linux's from the window and the RTT
    /// (`tcp_update_pacing_rate`; net.ipv4.tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
    fn pacing_bytes_per_s(&self) -> Option<u64> {
        if let Some(rate) = self.cc.pacing_rate() {
            return Some(rate.as_bps() / 8);
        }
        let micros = self.rtt.srtt()?.as_micros();
        let cwnd = self.cwnd();
        let percent = if cwnd < self.cc.ssthresh() / 2 { 200 } else { 120 };
        let most = cwnd.max(self.board.outstanding_segments() * self.segment_bytes);
        (most.saturating_mul(percent * 10_000)).checked_div(micros)
    }

    pub(super) fn next_fin(&mut self, now: Time) -> Option<Transmission> {
        // The FIN has sequence space, so the peer's window applies; the congestion window does not
        // (Linux 6.1 `tcp_cwnd_test`).
        let fin_due =
            self.closed && self.snd_nxt == self.stream_end && self.snd_nxt < self.right_edge;
        fin_due.then(|| self.send_new(1, true, now))
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, len: u64, fin: bool, now: Time) -> Transmission {
        let range = Range { start: self.snd_nxt, end: self.snd_nxt + len };
        if self.board.pipe() == 0 {
            self.begin_transmission(now);
        }
        self.board.append(range, now);
        self.snd_nxt = range.end;
        self.begin_timing(range.start, now);
        if len < self.segment_bytes {
            self.small_until = range.end;
        }
        let cwr = std::mem::take(&mut self.cwr_pending);
        Transmission { range, fin, retransmission: false, cwr, push: fin }
    }

    /// End of the data that the application, the send buffer and the peer's window allow.
    pub(super) fn sendable_end(&self) -> u64 {
        if let Some(queue) = &self.queue {
            return queue.written().min(self.right_edge);
        }
        self.stream_end.min(self.board.una().saturating_add(self.send_buffer)).min(self.right_edge)
    }

    #[inline(always)]
    fn fits(&self, len: u64) -> bool {
        let (pipe, window) = (self.board.pipe(), self.policy.window(self));
        if pipe == 0 && !self.policy.counts_pipe_itself(self.phase) {
            return true;
        }
        match self.queue {
            Some(_) => self.flight_segments() < window / u64::from(self.stack.options.mss),
            None => pipe + len <= window,
        }
    }

    /// Data is sent while nothing is in flight (Linux `tcp_event_data_sent`).
    #[inline(never)]
    fn begin_transmission(&mut self, now: Time) {
        if self.counters.segments > 0 {
            let idle = now.since(self.last_sent);
            let app_limited = self.board.delivery_rate().is_some_and(|rate| rate.is_app_limited());
            let flow = self.flow(0, now);
            self.cc.on_transmit_start(idle, app_limited, &flow);
        }
    }

    /// Slow start after an idle period (Linux `tcp_slow_start_after_idle_check`). Waiting for the
    /// peer's window is not idle.
    pub(super) fn restart_after_idle(&mut self, now: Time) {
        if !std::mem::take(&mut self.wrote_when_idle) {
            return;
        }
        let idle = now.since(self.last_sent);
        let rto = self.rtt.rto();
        if self.stack.window.slow_start_after_idle && self.counters.segments > 0 && idle > rto {
            let restart =
                u64::from(self.stack.window.initial_window) * u64::from(self.stack.options.mss);
            let flow = self.flow(0, now);
            self.cc.on_idle(idle, rto, restart, &flow);
        }
    }

    /// Whether the congestion window is in the network.
    #[inline]
    pub(super) fn has_filled_cwnd(&self) -> bool {
        match self.queue {
            Some(_) => self.flight_segments() >= self.cwnd() / u64::from(self.stack.options.mss),
            None => self.board.pipe() >= self.cwnd(),
        }
    }

    /// Segments in the network: with a write queue, as Linux counts them.
    pub(super) fn flight_segments(&self) -> u64 {
        let mss = u64::from(self.stack.options.mss);
        if self.queue.is_some() {
            self.board.packets_in_flight(mss)
        } else {
            self.board.pipe().div_ceil(mss)
        }
    }
}
