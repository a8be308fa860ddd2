//! The sending half of ns-3.29, event for event (`src/internet/model/tcp-socket-base.cc`, whose
//! functions are named here; applications write as its `BulkSendApplication` does).
//!
//! It has its own buffer, round trips and order of steps, so that a run meets ns-3's packet by packet.
//! Not followed: segments merged when they are sent again, the answer to a handshake segment that comes
//! twice, a closed window, for which the sender asks as other stacks do, and data sent beyond it.

mod buffer;
mod round_trips;

use std::collections::VecDeque;

use fairway_cc::{Ack, Flow, Phase, Signal};
use fairway_units::{Duration, Time};

use super::{AckInfo, Outstanding, Sender, Transmission};
use crate::ranges::Range;
use crate::timer::Expiry;
use crate::{Nagle, RtoPolicy, Stack};
use buffer::Buffer;
use round_trips::RoundTrips;

/// What an application writes leaves this much later (`Send`: `TimeStep (1)`).
const AFTER_WRITING: Duration = Duration::from_nanos(1);

/// Timeouts in a row after which the connection is given up (`tcp-socket.cc`, `DataRetries`).
const DATA_RETRIES: u32 = 6;

/// What `TcpSocketBase` keeps besides what every sender does.
pub(super) struct Ns3 {
    buffer: Buffer,
    pub(super) round_trips: RoundTrips,
    /// Duplicate acknowledgements; one that also acknowledges new data does not reset it
    /// (`m_dupAckCount`).
    duplicates: u32,
    /// The segment to be sent next, which goes back when one is sent again (`m_nextTxSequence`).
    next: u64,
    /// First offset that was never sent, the FIN not counted (`m_highTxMark`).
    high: u64,
    /// End of what was sent when the last episode began (`m_recover`).
    recover: u64,
    /// Whether no acknowledgement of part of an episode's data has come (`m_isFirstPartialAck`).
    awaits_partial_ack: bool,
    /// Acknowledged bytes that make no whole segment yet (`m_bytesAckedNotProcessed`).
    rest: u64,
    /// The peer's window in bytes (`m_rWnd`).
    window: u64,
    /// What the application has put into the buffer.
    written: u64,
    /// Whether the FIN has left.
    fin_sent: bool,
    /// Whether the other end closed first.
    pub(super) closes_second: bool,
    /// When what the application wrote leaves.
    send_at: Time,
    /// From when on this end is no longer there.
    gone_at: Time,
    /// Whether the application has written or closed since.
    wrote: bool,
    /// Segments that leave at this instant.
    ready: VecDeque<Transmission>,
    /// Whether one of them leaves whatever the window says.
    is_forced: bool,
}

impl Ns3 {
    pub(super) fn new(stack: &Stack, rto: RtoPolicy) -> Self {
        Ns3 {
            buffer: Buffer::new(stack.reordering),
            round_trips: RoundTrips::new(rto),
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
        }
    }

    pub(super) fn una(&self) -> u64 {
        self.buffer.una()
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.buffer.in_flight()
    }

    /// Whether a retransmission leaves whatever the window says.
    pub(super) fn is_forced(&self) -> bool {
        self.is_forced
    }

    /// Whether the connection is over at this end, which answers nothing any more.
    pub(super) fn is_gone(&self, now: Time) -> bool {
        now >= self.gone_at
    }

    /// When what was written leaves.
    pub(super) fn send_at(&self) -> Time {
        self.send_at
    }

    /// The application has written or closed, or the connection is there.
    pub(super) fn wrote(&mut self, stream_end: u64) {
        self.wrote = true;
        self.written = self.written.min(stream_end);
    }

    /// The peer's window allows data up to `right_edge`.
    pub(super) fn allow(&mut self, right_edge: u64) {
        self.window = right_edge.saturating_sub(self.una());
    }

    pub(super) fn outstanding(&self) -> Outstanding {
        let [segments, sacked, lost, retransmitted] = self.buffer.counts();
        Outstanding { segments, sacked, lost, retransmitted }
    }
}

impl Sender {
    /// What is ready to leave.
    pub(super) fn poll_as_ns3(&mut self, now: Time) -> Option<Transmission> {
        let ns3 = self.ns3.as_mut()?;
        if std::mem::take(&mut ns3.wrote) {
            if self.closed && ns3.high == self.stream_end && !ns3.fin_sent {
                self.send_fin(now);
            } else {
                ns3.send_at = ns3.send_at.min(now + AFTER_WRITING);
            }
        }
        let ns3 = self.ns3.as_mut()?;
        let transmission = ns3.ready.pop_front();
        ns3.is_forced &= transmission.is_some();
        transmission
    }

    /// The retransmission timer may have expired, or written data be due.
    pub(super) fn handle_timeout_as_ns3(&mut self, now: Time) {
        let Some(ns3) = &mut self.ns3 else { return };
        if now >= ns3.send_at {
            ns3.send_at = Time::NEVER;
            self.fill();
            self.send_pending(now);
        }
        if now >= self.timer.at() {
            let purpose = self.timer.purpose();
            self.timer.stop();
            match purpose {
                Some(Expiry::Window) => self.question_window(),
                _ => self.time_out_as_ns3(now),
            }
        }
    }

    /// `DoForwardUp`, `ReceivedAck`.
    pub(super) fn handle_ack_as_ns3(&mut self, info: &AckInfo<'_>, now: Time) {
        let with_sack = self.sack;
        let Some(ns3) = &mut self.ns3 else { return };
        let before = ns3.una();
        if info.ack < before {
            return;
        }
        if ns3.window == 0 && self.timer.purpose() == Some(Expiry::Window) {
            self.timer.stop();
        }
        ns3.round_trips.acknowledged(info.ack, info.echo_ms, now);
        self.right_edge = self.right_edge.max(info.right_edge);
        let window = info.right_edge - info.ack;
        if info.ack > before || window > ns3.window {
            ns3.window = window;
        }
        let has_sack = with_sack && ns3.buffer.sack(info.sack);
        ns3.buffer.discard_up_to(info.ack);
        // Without SACK: a repetition while something is outstanding.
        let is_duplicate =
            if with_sack { has_sack } else { info.ack == before && info.ack < ns3.high };
        let duplicates_before = ns3.duplicates;
        if is_duplicate {
            self.count_duplicate(info, now);
        }
        self.process_ack(info, before, is_duplicate, duplicates_before, now);
        self.send_pending(now);
        self.watch_window_as_ns3(now);
    }

    /// `ProcessAck`, from where a duplicate has been counted.
    fn process_ack(
        &mut self,
        info: &AckInfo<'_>,
        before: u64,
        is_duplicate: bool,
        duplicates_before: u32,
        now: Time,
    ) {
        let mss = u64::from(self.stack.mss);
        let Some(ns3) = &mut self.ns3 else { return };
        if info.ack == before {
            if info.ack < ns3.high {
                self.tell(Some(1), None, info, now);
            }
            return;
        }
        let acked = info.ack - before;
        let mut segments = acked / mss;
        ns3.rest += acked % mss;
        if ns3.rest >= mss {
            segments += 1;
            ns3.rest -= mss;
        }
        if !is_duplicate {
            ns3.duplicates = 0;
        }
        self.delivered += acked;
        let beyond = info.ack.saturating_sub(ns3.recover) / mss;
        match self.phase {
            Phase::Recovery if info.ack < ns3.recover => self.process_partial_ack(info, now),
            Phase::Loss if info.ack < ns3.recover => {
                self.tell(Some(segments), Some(segments), info, now);
                self.new_ack(info.ack, true, now);
            }
            Phase::Recovery => {
                ns3.awaits_partial_ack = true;
                ns3.duplicates = 0;
                self.tell(Some(beyond), None, info, now);
                self.phase = Phase::Open;
                let flow = self.flow_as_ns3(now);
                self.cc.on_recovered(self.cc.ssthresh(), &flow);
                self.new_ack(info.ack, true, now);
            }
            Phase::Loss => {
                ns3.awaits_partial_ack = true;
                self.phase = Phase::Open;
                self.tell(Some(beyond), Some(beyond), info, now);
                self.new_ack(info.ack, true, now);
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                let was_disorder = self.phase == Phase::Disorder;
                let counted = if was_disorder {
                    segments.checked_sub(u64::from(duplicates_before))
                } else {
                    Some(segments)
                };
                if !is_duplicate {
                    self.phase = Phase::Open;
                }
                self.tell(counted, Some(segments), info, now);
                self.new_ack(info.ack, true, now);
            }
        }
    }

    /// An acknowledgement in recovery of part of what was outstanding: the first segment missing is sent
    /// again, though it may be on its way.
    fn process_partial_ack(&mut self, info: &AckInfo<'_>, now: Time) {
        let with_sack = self.sack;
        let Some(ns3) = &mut self.ns3 else { return };
        if with_sack {
            ns3.buffer.forget_retransmission_of_head();
        } else {
            ns3.buffer.mark_head_lost();
        }
        let is_first = std::mem::take(&mut ns3.awaits_partial_ack);
        self.retransmit_as_ns3(now);
        self.tell(Some(1), None, info, now);
        self.new_ack(info.ack, is_first, now);
    }

    /// `DupAck`.
    fn count_duplicate(&mut self, info: &AckInfo<'_>, now: Time) {
        let with_sack = self.sack;
        let mss = u64::from(self.stack.mss);
        let reordering = self.stack.reordering;
        let Some(ns3) = &mut self.ns3 else { return };
        match self.phase {
            Phase::Loss => return,
            Phase::Recovery => {
                if !with_sack {
                    ns3.buffer.add_reno_sack();
                }
                return;
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                ns3.duplicates += 1;
                self.phase = Phase::Disorder;
            }
        }
        let enough = ns3.duplicates == reordering && info.ack >= ns3.recover;
        if enough || ns3.buffer.is_lost(info.ack + mss) {
            self.enter_recovery_as_ns3(now);
        } else if !with_sack && self.stack.limited_transmit {
            ns3.buffer.add_reno_sack();
        }
    }

    /// `EnterRecovery`.
    fn enter_recovery_as_ns3(&mut self, now: Time) {
        let with_sack = self.sack;
        let Some(ns3) = &mut self.ns3 else { return };
        if !with_sack {
            ns3.buffer.add_reno_sack();
        }
        if !with_sack || !ns3.buffer.is_lost(ns3.una()) {
            ns3.buffer.mark_head_lost();
        }
        ns3.recover = ns3.high;
        self.phase = Phase::Recovery;
        self.recover = ns3.recover;
        self.counters.reductions += 1;
        let mut flow = self.flow_as_ns3(now);
        // Without SACK the head counts as in flight.
        flow.flight_size += if with_sack { 0 } else { u64::from(self.stack.mss) };
        self.cc.on_congestion(Signal::Loss, &flow);
        self.retransmit_as_ns3(now);
    }

    /// `ReTxTimeout`.
    fn time_out_as_ns3(&mut self, now: Time) {
        let with_sack = self.sack;
        let Some(ns3) = &mut self.ns3 else { return };
        if ns3.buffer.is_empty() && ns3.written == ns3.una() {
            if ns3.fin_sent && ns3.una() <= self.stream_end && !ns3.is_gone(now) {
                self.send_fin(now);
            }
            return;
        }
        if self.timeouts_in_row >= DATA_RETRIES {
            ns3.gone_at = now;
            return;
        }
        let flow = self.flow_as_ns3(now);
        let Some(ns3) = &mut self.ns3 else { return };
        ns3.duplicates = 0;
        ns3.buffer.mark_all_lost(with_sack);
        ns3.recover = ns3.high;
        ns3.round_trips.back_off();
        self.recover = ns3.recover;
        self.counters.timeouts += 1;
        self.timeouts_in_row += 1;
        self.phase = Phase::Loss;
        self.cc.on_rto(true, &Flow { phase: Phase::Loss, ..flow });
        self.send_pending(now);
    }

    /// `NewAck`.
    fn new_ack(&mut self, ack: u64, restarts_timer: bool, now: Time) {
        self.timeouts_in_row = 0;
        if restarts_timer {
            let Some(ns3) = &mut self.ns3 else { return };
            ns3.round_trips.end_back_off();
            self.timer.start(Expiry::Retransmit, ns3.round_trips.rto(), now);
        }
        self.fill();
        let Some(ns3) = &mut self.ns3 else { return };
        ns3.next = ns3.next.max(ack);
        let is_done = ns3.written <= ns3.una() && !ns3.fin_sent;
        if is_done || ns3.una() > self.stream_end {
            self.timer.stop();
        }
    }

    /// Tell the algorithm of segments that were acknowledged (`PktsAcked`) and by which the window may
    /// grow (`IncreaseWindow`).
    fn tell(&mut self, counted: Option<u64>, grows: Option<u64>, info: &AckInfo<'_>, now: Time) {
        let mss = u64::from(self.stack.mss);
        let Some(ns3) = &self.ns3 else { return };
        let ack = Ack {
            acked: grows.unwrap_or(0) * mss,
            delivered: counted.unwrap_or(0) * mss,
            rtt: counted.and(ns3.round_trips.srtt()),
            may_grow: grows.is_some(),
            timestamps: info.timestamps,
            ..Ack::default()
        };
        let flow = Flow { snd_una: info.ack, ..self.flow_as_ns3(now) };
        self.cc.on_ack(&ack, &flow);
    }

    fn flow_as_ns3(&self, now: Time) -> Flow {
        let flow = self.flow(0, now);
        let Some(ns3) = &self.ns3 else { return flow };
        let in_flight = ns3.in_flight();
        Flow {
            flight_size: in_flight,
            in_flight,
            srtt: ns3.round_trips.srtt(),
            min_rtt: ns3.round_trips.min_srtt(),
            snd_una: ns3.una(),
            snd_nxt: ns3.next,
            snd_max: ns3.high,
            phase: self.phase,
            ..flow
        }
    }

    /// The application writes a segment's worth at a time, as long as the buffer takes it
    /// (`BulkSendApplication::SendData`).
    fn fill(&mut self) {
        let mss = u64::from(self.stack.mss);
        let Some(ns3) = &mut self.ns3 else { return };
        let room = ns3.una().saturating_add(self.send_buffer).saturating_sub(ns3.written);
        let left = self.stream_end.saturating_sub(ns3.written);
        ns3.written += if left <= room { left } else { room / mss * mss };
    }

    /// Bytes of the next new segment. ns-3 holds what is in flight against the peer's window, and may go
    /// beyond it; here nothing does.
    fn new_bytes(&self, ns3: &Ns3) -> u64 {
        let full = u64::from(self.stack.mss).min(ns3.written - ns3.high);
        let room = self.right_edge.saturating_sub(ns3.high);
        if room < full && !ns3.buffer.is_empty() { 0 } else { full.min(room) }
    }

    /// The next segment by `NextSeg`.
    fn next_segment(&self, in_recovery: bool) -> Option<u64> {
        let ns3 = self.ns3.as_ref()?;
        let new = (self.new_bytes(ns3) > 0).then_some(ns3.high);
        let unmarked = || if in_recovery { ns3.buffer.next_unmarked() } else { None };
        ns3.buffer.next_lost().or(new).or_else(unmarked)
    }

    /// `DoRetransmit`.
    fn retransmit_as_ns3(&mut self, now: Time) {
        let next = self.next_segment(false);
        let Some(ns3) = &mut self.ns3 else { return };
        let start = next.unwrap_or(ns3.una());
        ns3.next = start;
        ns3.is_forced = true;
        self.send_segment(start, now);
    }

    /// `SendPendingData`.
    fn send_pending(&mut self, now: Time) {
        let mss = u64::from(self.stack.mss);
        loop {
            let cwnd = self.cc.cwnd();
            let Some(ns3) = &self.ns3 else { return };
            let available = ns3.window.min(cwnd).saturating_sub(ns3.in_flight());
            let is_waiting = self.phase == Phase::Open && ns3.fin_sent;
            if available == 0 || is_waiting || ns3.written <= ns3.una() {
                break;
            }
            let in_recovery = self.sack && self.phase == Phase::Recovery;
            let Some(start) = self.next_segment(in_recovery) else { break };
            if ns3.written - start < available {
                self.fill();
            }
            let Some(ns3) = &mut self.ns3 else { return };
            let written = ns3.written - start;
            // ns-3 asks this of what is sent again, too, which then never leaves.
            let may_wait = self.stack.nagle != Nagle::Off && start == ns3.high;
            let is_small = may_wait && ns3.high > ns3.una() && written < mss;
            if (available < mss && written > available) || is_small {
                break;
            }
            ns3.next = start;
            if ns3.in_flight() == 0 {
                let flow = self.flow_as_ns3(now);
                self.cc.on_transmit_start(now.since(self.last_sent), false, &flow);
            }
            let bytes = self.send_segment(start, now);
            let Some(ns3) = &mut self.ns3 else { return };
            ns3.next += bytes;
        }
        let Some(ns3) = &self.ns3 else { return };
        if self.closed && !ns3.fin_sent && ns3.high == self.stream_end && ns3.una() <= ns3.high {
            self.send_fin(now);
        }
    }

    /// `SendDataPacket`. Returns how many bytes.
    fn send_segment(&mut self, start: u64, now: Time) -> u64 {
        let new = self.ns3.as_ref().map_or(0, |ns3| self.new_bytes(ns3));
        let Some(ns3) = &mut self.ns3 else { return 0 };
        let retransmission = start != ns3.high;
        let range = if retransmission {
            ns3.buffer.retransmit(start)
        } else {
            (new > 0).then(|| ns3.buffer.push(new))
        };
        let Some(mut range) = range else { return 0 };
        let bytes = range.bytes();
        let fin = self.closed && range.end == self.stream_end;
        if self.timer.purpose().is_none() {
            self.timer.start(Expiry::Retransmit, ns3.round_trips.rto(), now);
        }
        ns3.round_trips.sent(range.start, range.end, retransmission, now);
        ns3.high = ns3.high.max(range.end);
        ns3.fin_sent |= fin;
        self.snd_nxt = ns3.high + u64::from(ns3.fin_sent);
        range.end += u64::from(fin);
        self.last_sent = now;
        self.counters.segments += 1;
        self.counters.retransmissions += u64::from(retransmission);
        ns3.ready.push_back(Transmission { range, fin, retransmission, cwr: false, push: fin });
        bytes
    }

    /// A FIN alone (`SendEmptyPacket`).
    fn send_fin(&mut self, now: Time) {
        let Some(ns3) = &mut self.ns3 else { return };
        let retransmission = std::mem::replace(&mut ns3.fin_sent, true);
        self.snd_nxt = self.stream_end + 1;
        let range = Range { start: self.stream_end, end: self.stream_end + 1 };
        if self.timer.purpose().is_none() {
            ns3.round_trips.end_back_off();
            self.timer.start(Expiry::Retransmit, ns3.round_trips.rto(), now);
        }
        if ns3.closes_second {
            // The end that answers is gone before its FIN would be sent again (`DoPeerClose`,
            // `LastAckTimeout`).
            let wait = ns3.round_trips.unbounded().unwrap_or(ns3.round_trips.rto());
            ns3.gone_at = now + wait;
        }
        self.last_sent = now;
        self.counters.segments += 1;
        self.counters.retransmissions += u64::from(retransmission);
        ns3.ready.push_back(Transmission {
            range,
            fin: true,
            retransmission,
            cwr: false,
            push: true,
        });
    }

    /// With nothing outstanding and the peer's window closed, the timer is for asking.
    fn watch_window_as_ns3(&mut self, now: Time) {
        let Some(ns3) = &self.ns3 else { return };
        let is_closed = ns3.window == 0 && ns3.buffer.is_empty();
        if is_closed && self.has_unsent() {
            if self.timer.purpose() == Some(Expiry::Retransmit) {
                self.timer.stop();
            }
            self.watch_window(now);
        }
    }
}
