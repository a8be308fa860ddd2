//! What leaves next: retransmissions, then new data, as far as the windows allow.

use fairway_cc::Phase;
use fairway_units::Time;

use super::{Sender, Transmission};
use crate::Recovery;
use crate::ranges::Range;
use crate::scoreboard::Lost;

impl Sender {
    /// A new event has come: a burst may begin.
    pub fn begin_burst(&mut self) {
        self.burst_left = self.stack.max_burst.unwrap_or(u32::MAX);
        if self.stack.recovery == Recovery::TcpLinux && self.conserved_flight > 0 {
            // At most one segment more in flight than there is now.
            self.conserved_flight = self.conserved_flight.min(self.flight_segments() + 1);
        }
    }

    /// What leaves next, if anything may.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmission> {
        if self.burst_left == 0 || !self.pacer.allows(now) {
            return None;
        }
        let transmission = self.next_retransmission(now).or_else(|| self.next_new_data(now))?;
        self.burst_left -= 1;
        self.counters.segments += 1;
        self.counters.retransmissions += u64::from(transmission.retransmission);
        self.last_sent = now;
        if let Some(rate) = self.cc.pacing_rate() {
            let payload = transmission.range.bytes() - u64::from(transmission.fin);
            self.pacer.sent(payload, rate, self.counters.segments, now);
        }
        if self.rto_deadline == Time::NEVER {
            self.start_timer(now);
        }
        Some(transmission)
    }

    fn next_retransmission(&mut self, now: Time) -> Option<Transmission> {
        if !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            return None;
        }
        let lost = match self.board.next_lost() {
            Some(lost) if self.retransmit_first || self.fits(lost.range.bytes()) => lost,
            Some(_) => return None,
            None => self.rescue()?,
        };
        self.retransmit_first = false;
        self.board.retransmitted(lost, self.snd_nxt, now);
        let fin = self.closed && lost.range.end == self.stream_end + 1;
        Some(Transmission { range: lost.range, fin, retransmission: true, cwr: false })
    }

    /// RFC 6675 NextSeg rule 3, once nothing is known lost and nothing new may be sent: a
    /// segment that may be lost, which keeps the acknowledgements coming.
    fn rescue(&mut self) -> Option<Lost> {
        let nothing_new = self.snd_nxt >= self.sendable_end();
        if !self.rescue_allowed || !nothing_new || self.phase != Phase::Recovery {
            return None;
        }
        let segment = self.board.next_unsacked()?;
        if !self.fits(segment.range.bytes()) {
            return None;
        }
        self.rescue_allowed = false;
        Some(segment)
    }

    fn next_new_data(&mut self, now: Time) -> Option<Transmission> {
        let mss = self.segment_bytes;
        let written = self.stream_end.saturating_sub(self.snd_nxt);
        let available = self.sendable_end().saturating_sub(self.snd_nxt);
        if available == 0 {
            return self.next_fin(now);
        }
        let len = available.min(mss);
        if len < mss && !self.board.is_empty() {
            // RFC 9293 section 3.8.6.2.1: no small segment because of a small window; Nagle: nor
            // because the application is slow, unless it has finished.
            let last_of_stream = self.closed && len == written;
            if !last_of_stream {
                return None;
            }
        }
        let limited_transmit_off =
            !self.stack.limited_transmit && self.phase == Phase::Open && self.board.has_holes();
        if limited_transmit_off {
            return None;
        }
        if self.board.is_empty() {
            self.restart_after_idle(now);
        }
        if !self.fits(len) {
            return None;
        }
        Some(self.send_new(len, false, now))
    }

    fn next_fin(&mut self, now: Time) -> Option<Transmission> {
        // The FIN takes up sequence space: it waits for the peer's window like data.
        let fin_due =
            self.closed && self.snd_nxt == self.stream_end && self.snd_nxt < self.right_edge;
        (fin_due && self.fits(1)).then(|| self.send_new(1, true, now))
    }

    fn send_new(&mut self, len: u64, fin: bool, now: Time) -> Transmission {
        let range = Range { start: self.snd_nxt, end: self.snd_nxt + len };
        self.board.sent(range.end, now);
        self.snd_nxt = range.end;
        let cwr = std::mem::take(&mut self.cwr_pending);
        Transmission { range, fin, retransmission: false, cwr }
    }

    /// End of what application, send buffer and peer allow.
    fn sendable_end(&self) -> u64 {
        self.stream_end
            .min(self.board.una().saturating_add(self.stack.send_buffer))
            .min(self.right_edge)
    }

    fn fits(&self, len: u64) -> bool {
        let pipe = self.board.pipe();
        pipe == 0 || pipe + len <= self.flight_allowance()
    }

    fn restart_after_idle(&mut self, now: Time) {
        let idle = now.since(self.last_sent);
        let rto = self.rtt.rto();
        if self.stack.slow_start_after_idle && self.counters.segments > 0 && idle > rto {
            let restart = u64::from(self.stack.initial_window) * u64::from(self.stack.mss);
            let flow = self.flow(0, now);
            self.cc.on_idle(idle, rto, restart, &flow);
        }
    }

    fn flight_segments(&self) -> u64 {
        self.board.pipe().div_ceil(u64::from(self.stack.mss))
    }
}
