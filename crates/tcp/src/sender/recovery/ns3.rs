//! The sender of ns-3.29, event by event (`src/internet/model/tcp-socket-base.cc`, whose functions
//! are named here; applications write as its `BulkSendApplication` does).
//!
//! It has its own buffer, RTT estimate and order of steps, so that a run matches ns-3's packet by
//! packet. Not reproduced: merging of retransmitted segments, the answer to a repeated handshake
//! segment, a closed window, which is probed as in other stacks, and data sent beyond the window.

mod buffer;
mod round_trips;

use std::collections::VecDeque;

use fairway_cc::{Ack, Flow, Phase, Signal};
use fairway_units::{Duration, Time};

use super::RecoveryPolicy;
use crate::ranges::Range;
use crate::sender::{AckInfo, Outstanding, Sender, Transmission};
use crate::timer::Expiry;
use crate::{Nagle, Stack};
use buffer::Buffer;
use round_trips::RoundTrips;

/// Delay from an application's write to sending (`Send`: `TimeStep (1)`).
const AFTER_WRITING: Duration = Duration::from_nanos(1);

/// Timeouts in a row after which the connection is given up (`tcp-socket.cc`, `DataRetries`).
const DATA_RETRIES: u32 = 6;

/// State of `TcpSocketBase` that other senders do not have.
pub(crate) struct Ns3 {
    buffer: Buffer,
    round_trips: RoundTrips,
    /// Duplicate acknowledgements; one that also acknowledges new data does not reset it
    /// (`m_dupAckCount`).
    duplicates: u32,
    /// Offset to send next, which goes back for a retransmission (`m_nextTxSequence`).
    next: u64,
    /// First offset never sent, without the FIN (`m_highTxMark`).
    high: u64,
    /// End of the data sent when the last episode began (`m_recover`).
    recover: u64,
    /// Whether no partial acknowledgement has arrived in the episode (`m_isFirstPartialAck`).
    awaits_partial_ack: bool,
    /// Acknowledged bytes short of a whole segment (`m_bytesAckedNotProcessed`).
    rest: u64,
    /// The peer's window in bytes (`m_rWnd`).
    window: u64,
    /// End of the data that the application put into the buffer.
    written: u64,
    /// Whether the FIN was sent.
    fin_sent: bool,
    /// Whether the other end closed first.
    closes_second: bool,
    /// When written data is sent.
    send_at: Time,
    /// When this end goes away.
    gone_at: Time,
    /// Whether the application has written or closed since.
    wrote: bool,
    /// Segments to send at this instant.
    ready: VecDeque<Transmission>,
    /// Whether one of them is sent regardless of the window.
    is_forced: bool,
}

impl From<&Stack> for Box<Ns3> {
    fn from(stack: &Stack) -> Self {
        Box::new(Ns3 {
            buffer: Buffer::new(stack.losses.reordering),
            round_trips: RoundTrips::new(stack.rto),
            duplicates: 0,
            next: 0,
            high: 0,
            recover: 0,
            awaits_partial_ack: true,
            rest: 0,
            window: 0,
            written: 0,
            fin_sent: false,
            closes_second: false,
            send_at: Time::NEVER,
            gone_at: Time::NEVER,
            wrote: false,
            ready: VecDeque::new(),
            is_forced: false,
        })
    }
}

impl Ns3 {
    /// First unacknowledged offset.
    pub(crate) fn una(&self) -> u64 {
        self.buffer.una()
    }

    /// Bytes believed to be in the network.
    pub(crate) fn pipe(&self) -> u64 {
        self.buffer.in_flight()
    }

    /// Smoothed round-trip time.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.round_trips.srtt()
    }

    /// Retransmission timeout, backed off.
    pub(crate) fn rto(&self) -> Duration {
        self.round_trips.rto()
    }

    /// Counts of outstanding segments.
    pub(crate) fn outstanding(&self) -> Outstanding {
        let [segments, sacked, lost, retransmitted] = self.buffer.counts();
        Outstanding { segments, sacked, lost, retransmitted }
    }

    /// When data that only waits for its time is sent.
    pub(crate) fn send_at(&self) -> Time {
        self.send_at
    }

    /// Whether this end of the connection is gone.
    pub(crate) fn is_gone(&self, now: Time) -> bool {
        now >= self.gone_at
    }
}

impl RecoveryPolicy for Ns3 {
    fn is_calm(&self, _: &Sender) -> bool {
        false
    }

    fn flight_allowance(&self, s: &Sender) -> u64 {
        s.cwnd().max(if self.is_forced { self.buffer.in_flight() } else { 0 })
    }

    fn allow(&mut self, right_edge: u64) {
        self.window = right_edge.saturating_sub(self.buffer.una());
    }

    fn wrote(&mut self, stream_end: u64) {
        self.wrote = true;
        self.written = self.written.min(stream_end);
    }

    fn close(&mut self, is_answer: bool) {
        self.closes_second = is_answer;
    }

    fn measured(&mut self, rtt: Duration) {
        self.round_trips.measure(rtt);
    }

    /// The next segment ready to send.
    fn poll_transmit(&mut self, s: &mut Sender, now: Time) -> Option<Transmission> {
        if std::mem::take(&mut self.wrote) {
            if s.closed && self.high == s.stream_end && !self.fin_sent {
                self.send_fin(s, now);
            } else {
                self.send_at = self.send_at.min(now + AFTER_WRITING);
            }
        }
        let transmission = self.ready.pop_front();
        self.is_forced &= transmission.is_some();
        transmission
    }

    /// Handle the retransmission timer and due writes.
    fn handle_timeout(&mut self, s: &mut Sender, now: Time) {
        if now >= self.send_at {
            self.send_at = Time::NEVER;
            self.fill(s);
            self.send_pending(s, now);
        }
        if now >= s.timer.at() {
            let purpose = s.timer.purpose();
            s.timer.stop();
            match purpose {
                Some(Expiry::Window) => s.expire_window_timer(),
                _ => self.retransmission_timeout(s, now),
            }
        }
    }

    /// `DoForwardUp`, `ReceivedAck`.
    fn handle_ack(&mut self, s: &mut Sender, info: &AckInfo<'_>, now: Time) {
        let with_sack = s.sack;
        let before = self.buffer.una();
        if info.ack < before {
            return;
        }
        if self.window == 0 && s.timer.purpose() == Some(Expiry::Window) {
            s.timer.stop();
        }
        self.round_trips.acknowledged(info.ack, info.echo_ms, now);
        s.right_edge = s.right_edge.max(info.right_edge);
        let window = info.right_edge - info.ack;
        if info.ack > before || window > self.window {
            self.window = window;
        }
        let has_sack = with_sack && self.buffer.sack(info.sack);
        self.buffer.discard_up_to(info.ack);
        // Without SACK: a repeated ACK while data is outstanding.
        let is_duplicate =
            if with_sack { has_sack } else { info.ack == before && info.ack < self.high };
        let duplicates_before = self.duplicates;
        if is_duplicate {
            self.count_duplicate(s, info, now);
        }
        self.process_ack(s, info, before, is_duplicate, duplicates_before, now);
        self.send_pending(s, now);
        self.watch_window(s, now);
    }
}

impl Ns3 {
    /// `ProcessAck`, after a duplicate has been counted.
    fn process_ack(
        &mut self,
        s: &mut Sender,
        info: &AckInfo<'_>,
        before: u64,
        is_duplicate: bool,
        duplicates_before: u32,
        now: Time,
    ) {
        let mss = s.mss();
        if info.ack == before {
            if info.ack < self.high {
                self.tell(s, Some(1), None, info, now);
            }
            return;
        }
        let acked = info.ack - before;
        let mut segments = acked / mss;
        self.rest += acked % mss;
        if self.rest >= mss {
            segments += 1;
            self.rest -= mss;
        }
        if !is_duplicate {
            self.duplicates = 0;
        }
        s.delivered += acked;
        match s.phase {
            Phase::Recovery if info.ack < self.recover => {
                return self.process_partial_ack(s, info, now);
            }
            Phase::Loss if info.ack < self.recover => {
                self.tell(s, Some(segments), Some(segments), info, now);
            }
            Phase::Recovery | Phase::Loss => self.end_episode(s, info, now),
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                let was_disorder = s.phase == Phase::Disorder;
                let counted = if was_disorder {
                    segments.checked_sub(u64::from(duplicates_before))
                } else {
                    Some(segments)
                };
                if !is_duplicate {
                    s.phase = Phase::Open;
                }
                self.tell(s, counted, Some(segments), info, now);
            }
        }
        self.new_ack(s, info.ack, true, now);
    }

    /// Everything outstanding when the episode began is acknowledged.
    fn end_episode(&mut self, s: &mut Sender, info: &AckInfo<'_>, now: Time) {
        let beyond = info.ack.saturating_sub(self.recover) / s.mss();
        self.awaits_partial_ack = true;
        if s.phase == Phase::Loss {
            s.phase = Phase::Open;
            return self.tell(s, Some(beyond), Some(beyond), info, now);
        }
        self.duplicates = 0;
        self.tell(s, Some(beyond), None, info, now);
        s.phase = Phase::Open;
        let flow = self.flow(s, now);
        s.cc.on_recovered(s.cc.ssthresh(), &flow);
    }

    /// A partial acknowledgement in recovery: retransmit the first missing segment, even if a
    /// retransmission is in flight.
    fn process_partial_ack(&mut self, s: &mut Sender, info: &AckInfo<'_>, now: Time) {
        if s.sack {
            self.buffer.forget_retransmission_of_head();
        } else {
            self.buffer.mark_head_lost();
        }
        let is_first = std::mem::take(&mut self.awaits_partial_ack);
        self.retransmit(s, now);
        self.tell(s, Some(1), None, info, now);
        self.new_ack(s, info.ack, is_first, now);
    }

    /// `DupAck`.
    fn count_duplicate(&mut self, s: &mut Sender, info: &AckInfo<'_>, now: Time) {
        let with_sack = s.sack;
        let mss = s.mss();
        let reordering = s.stack.losses.reordering;
        match s.phase {
            Phase::Loss => return,
            Phase::Recovery => {
                if !with_sack {
                    self.buffer.add_reno_sack();
                }
                return;
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                self.duplicates += 1;
                s.phase = Phase::Disorder;
            }
        }
        let enough = self.duplicates == reordering && info.ack >= self.recover;
        if enough || self.buffer.is_lost(info.ack + mss) {
            self.enter_recovery(s, now);
        } else if !with_sack && s.stack.losses.limited_transmit {
            self.buffer.add_reno_sack();
        }
    }

    /// `EnterRecovery`.
    fn enter_recovery(&mut self, s: &mut Sender, now: Time) {
        let with_sack = s.sack;
        if !with_sack {
            self.buffer.add_reno_sack();
        }
        if !with_sack || !self.buffer.is_lost(self.buffer.una()) {
            self.buffer.mark_head_lost();
        }
        self.recover = self.high;
        s.phase = Phase::Recovery;
        s.recover = self.recover;
        s.counters.reductions += 1;
        let mut flow = self.flow(s, now);
        // Without SACK the head counts as in flight.
        flow.pipe += if with_sack { 0 } else { s.mss() };
        s.cc.on_congestion(Signal::Loss, &flow);
        self.retransmit(s, now);
    }

    /// `ReTxTimeout`.
    fn retransmission_timeout(&mut self, s: &mut Sender, now: Time) {
        let with_sack = s.sack;
        if self.buffer.is_empty() && self.written == self.buffer.una() {
            if self.fin_sent && self.buffer.una() <= s.stream_end && !self.is_gone(now) {
                self.send_fin(s, now);
            }
            return;
        }
        if s.timeouts_in_row >= DATA_RETRIES {
            self.gone_at = now;
            return;
        }
        let flow = self.flow(s, now);
        self.duplicates = 0;
        self.buffer.mark_all_lost(with_sack);
        self.recover = self.high;
        self.round_trips.back_off();
        s.recover = self.recover;
        s.counters.timeouts += 1;
        s.timeouts_in_row += 1;
        s.phase = Phase::Loss;
        s.cc.on_rto(true, &Flow { phase: Phase::Loss, ..flow });
        self.send_pending(s, now);
    }

    /// `NewAck`.
    fn new_ack(&mut self, s: &mut Sender, ack: u64, restarts_timer: bool, now: Time) {
        s.timeouts_in_row = 0;
        if restarts_timer {
            self.round_trips.end_back_off();
            s.timer.start(Expiry::Retransmit, self.round_trips.rto(), now);
        }
        self.fill(s);
        self.next = self.next.max(ack);
        let is_done = self.written <= self.buffer.una() && !self.fin_sent;
        if is_done || self.buffer.una() > s.stream_end {
            s.timer.stop();
        }
    }

    /// Tell the algorithm of acknowledged segments (`PktsAcked`) and of those that may grow the
    /// window (`IncreaseWindow`).
    fn tell(
        &mut self,
        s: &mut Sender,
        counted: Option<u64>,
        grows: Option<u64>,
        info: &AckInfo<'_>,
        now: Time,
    ) {
        let mss = s.mss();
        let ack = Ack {
            acked: grows.unwrap_or(0) * mss,
            delivered: counted.unwrap_or(0) * mss,
            rtt: counted.and(self.round_trips.srtt()),
            may_raise: grows.is_some(),
            may_grow: grows.is_some(),
            timestamps: info.timestamps,
            ..Ack::default()
        };
        let flow = Flow { snd_una: info.ack, ..self.flow(s, now) };
        s.cc.on_ack(&ack, &flow);
    }

    fn flow(&self, s: &Sender, now: Time) -> Flow {
        let flow = s.flow(0, now);
        let in_flight = self.buffer.in_flight();
        Flow {
            pipe: in_flight,
            in_flight,
            srtt: self.round_trips.srtt(),
            min_rtt: self.round_trips.min_srtt(),
            snd_una: self.buffer.una(),
            snd_nxt: self.next,
            snd_max: self.high,
            phase: s.phase,
            ..flow
        }
    }

    /// The application writes one segment at a time while the buffer has room
    /// (`BulkSendApplication::SendData`).
    fn fill(&mut self, s: &mut Sender) {
        let mss = s.mss();
        let room = self.buffer.una().saturating_add(s.send_buffer).saturating_sub(self.written);
        let left = s.stream_end.saturating_sub(self.written);
        self.written += if left <= room { left } else { room / mss * mss };
    }

    /// Bytes of the next new segment. ns-3 compares the bytes in flight with the peer's window and
    /// may exceed it; here nothing does.
    fn new_bytes(&self, s: &Sender) -> u64 {
        let full = s.mss().min(self.written - self.high);
        let room = s.right_edge.saturating_sub(self.high);
        if room < full && !self.buffer.is_empty() { 0 } else { full.min(room) }
    }

    /// `NextSeg`.
    fn next_segment(&self, s: &Sender, in_recovery: bool) -> Option<u64> {
        let new = (self.new_bytes(s) > 0).then_some(self.high);
        let unmarked = || if in_recovery { self.buffer.next_unmarked() } else { None };
        self.buffer.next_lost().or(new).or_else(unmarked)
    }

    /// `DoRetransmit`.
    fn retransmit(&mut self, s: &mut Sender, now: Time) {
        let next = self.next_segment(s, false);
        let start = next.unwrap_or(self.buffer.una());
        self.next = start;
        self.is_forced = true;
        self.send_segment(s, start, now);
    }

    /// `SendPendingData`.
    fn send_pending(&mut self, s: &mut Sender, now: Time) {
        let mss = s.mss();
        loop {
            let cwnd = s.cc.cwnd();
            let available = self.window.min(cwnd).saturating_sub(self.buffer.in_flight());
            let is_waiting = s.phase == Phase::Open && self.fin_sent;
            if available == 0 || is_waiting || self.written <= self.buffer.una() {
                break;
            }
            let in_recovery = s.sack && s.phase == Phase::Recovery;
            let Some(start) = self.next_segment(s, in_recovery) else { break };
            if self.written - start < available {
                self.fill(s);
            }
            let written = self.written - start;
            // ns-3 applies this to retransmissions too, which are then never sent.
            let may_wait = s.stack.sending.nagle != Nagle::Off && start == self.high;
            let is_small = may_wait && self.high > self.buffer.una() && written < mss;
            if (available < mss && written > available) || is_small {
                break;
            }
            self.next = start;
            if self.buffer.in_flight() == 0 {
                let flow = self.flow(s, now);
                s.cc.on_transmit_start(now.since(s.last_sent), false, &flow);
            }
            let bytes = self.send_segment(s, start, now);
            self.next += bytes;
        }
        if s.closed && !self.fin_sent && self.high == s.stream_end && self.buffer.una() <= self.high
        {
            self.send_fin(s, now);
        }
    }

    /// `SendDataPacket`. Returns the bytes sent.
    fn send_segment(&mut self, s: &mut Sender, start: u64, now: Time) -> u64 {
        let retransmission = start != self.high;
        let range = if retransmission {
            self.buffer.retransmit(start)
        } else {
            let new = self.new_bytes(s);
            (new > 0).then(|| self.buffer.push(new))
        };
        let Some(mut range) = range else { return 0 };
        let bytes = range.bytes();
        let fin = s.closed && range.end == s.stream_end;
        if s.timer.purpose().is_none() {
            s.timer.start(Expiry::Retransmit, self.round_trips.rto(), now);
        }
        self.round_trips.sent(range.start, range.end, retransmission, now);
        self.high = self.high.max(range.end);
        self.fin_sent |= fin;
        s.snd_nxt = self.high + u64::from(self.fin_sent);
        range.end += u64::from(fin);
        s.last_sent = now;
        s.counters.segments += 1;
        s.counters.retransmissions += u64::from(retransmission);
        self.ready.push_back(Transmission { range, fin, retransmission, cwr: false, push: fin });
        bytes
    }

    /// A FIN alone (`SendEmptyPacket`).
    fn send_fin(&mut self, s: &mut Sender, now: Time) {
        let retransmission = std::mem::replace(&mut self.fin_sent, true);
        s.snd_nxt = s.stream_end + 1;
        let range = Range { start: s.stream_end, end: s.stream_end + 1 };
        if s.timer.purpose().is_none() {
            self.round_trips.end_back_off();
            s.timer.start(Expiry::Retransmit, self.round_trips.rto(), now);
        }
        if self.closes_second {
            // The end that closes second is gone before it would retransmit its FIN (`DoPeerClose`,
            // `LastAckTimeout`).
            let wait = self.round_trips.unbounded().unwrap_or(self.round_trips.rto());
            self.gone_at = now + wait;
        }
        s.last_sent = now;
        s.counters.segments += 1;
        s.counters.retransmissions += u64::from(retransmission);
        self.ready.push_back(Transmission {
            range,
            fin: true,
            retransmission,
            cwr: false,
            push: true,
        });
    }

    /// Start the probe timer if nothing is outstanding and the peer's window is closed.
    fn watch_window(&mut self, s: &mut Sender, now: Time) {
        let is_closed = self.window == 0 && self.buffer.is_empty();
        if is_closed && s.has_unsent() {
            if s.timer.purpose() == Some(Expiry::Retransmit) {
                s.timer.stop();
            }
            s.watch_window(now);
        }
    }
}
