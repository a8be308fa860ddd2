//! One end of a TCP connection, without input or output.
//!
//! The caller hands in segments ([`Endpoint::handle_segment`]) and timer expiries
//! ([`Endpoint::handle_timeout`]); after each, and after the application wrote or closed, it
//! takes segments from [`Endpoint::poll_transmit`] until there is none, and asks
//! [`Endpoint::poll_timeout`] for the next deadline. The application reads everything at once unless
//! [`Endpoint::keep_unread`] is called.

mod predicted;

use std::sync::Arc;

use fairway_cc::{CongestionControl, Phase, Timestamps};
use fairway_units::{Duration, Time};

use crate::ecn::{EchoChange, Ecn};
use crate::ranges::Range;
use crate::receiver::{Arrival, Receiver};
use crate::segment::{Flags, MAX_SACK_BLOCKS, Segment, TIMESTAMP_OPTION_BYTES};
use crate::sender::{AckInfo, Negotiated, Sender, SenderCounters, Transmission};
use crate::sequence::SeqNr;
use crate::{DelayedAck, Stack};

/// Retransmissions of a SYN or SYN-ACK before the connection is given up
/// (Linux `net.ipv4.tcp_syn_retries`; its `tcp_synack_retries` is 5).
const MAX_SYN_RETRIES: u32 = 6;

/// Largest window scale (RFC 7323 section 2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// Minimum time between answers to segments below the window (net.ipv4.tcp_invalid_ratelimit).
const OUTDATED_INTERVAL: Duration = Duration::from_millis(500);

/// Which end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Sends the SYN.
    Active,
    /// Waits for a SYN.
    Passive,
}

/// State of the connection (RFC 9293 section 3.3.2, with the closing states in
/// [`Endpoint::is_closed`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Not yet opened.
    Closed,
    /// A SYN was sent.
    SynSent,
    /// Waits for a SYN.
    Listen,
    /// A SYN was answered with a SYN-ACK.
    SynReceived,
    /// Data may flow.
    Established,
    /// The handshake failed: no answer to any SYN.
    Failed,
}

/// Configuration of an endpoint.
pub struct Config {
    /// Number of the connection in the run, written into each segment.
    pub connection: u32,
    /// Which end.
    pub role: Role,
    /// Switches, shared by connections of the same stack.
    pub stack: Arc<Stack>,
    /// Congestion control of its sending half.
    pub cc: Box<dyn CongestionControl>,
    /// Initial sequence number.
    pub isn: u32,
    /// Offset of its timestamp clock.
    pub timestamp_offset: u32,
}

/// Result of [`Endpoint::transmit_into`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit {
    /// There was nothing to send.
    Nothing,
    /// It wrote a segment; there may be more.
    Segment,
    /// It wrote the last segment for now.
    LastSegment,
}

/// A segment that precedes all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Urgent {
    Nothing,
    /// A SYN or SYN-ACK.
    Handshake,
    /// The acknowledgement of the SYN-ACK, without data.
    EndOfHandshake,
    /// The delayed acknowledgement up to this offset, with its own congestion echo.
    OldEcho(u64),
}

/// One end of a TCP connection.
pub struct Endpoint {
    connection: u32,
    role: Role,
    /// Whether its segments are marked as forward, to tell the directions of a run apart.
    forward: bool,
    stack: Arc<Stack>,
    state: State,
    sender: Sender,
    receiver: Receiver,
    isn: u32,
    peer_isn: u32,
    timestamp_offset: u32,
    /// Options that both ends offered; until the handshake, those this end offers.
    sack: bool,
    timestamps: bool,
    /// Flags of every segment, after the handshake.
    flags: Flags,
    ecn: Ecn,
    /// Payload of a full segment that this end sends.
    mss: u32,
    /// The MSS option of this end's SYN, where it differs from its own segments.
    advertised_mss: Option<u16>,
    /// Whether both ends scale their windows.
    window_scaling: bool,
    peer_window_shift: u8,
    ts_recent: u32,
    last_ack_sent: u64,
    urgent: Urgent,
    handshake_deadline: Time,
    handshake_tries: u32,
    handshake_sent_at: Time,
    /// Whether the application has written or closed. Until then the sending half is idle: most
    /// connections carry data in one direction.
    sends: bool,
    /// First offset beyond the peer's window, while the sending half is idle.
    right_edge: u64,
    /// When a segment without data from below the window was last answered.
    answered_outdated: Option<Time>,
}

impl Endpoint {
    /// An endpoint before the handshake.
    pub fn new(config: Config) -> Self {
        let Config { connection, role, stack, cc, isn, timestamp_offset } = config;
        Endpoint {
            connection,
            role,
            forward: role == Role::Active,
            state: match role {
                Role::Active => State::Closed,
                Role::Passive => State::Listen,
            },
            ecn: Ecn::new(stack.options.ecn, cc.needs().ecn),
            sender: Sender::new(Arc::clone(&stack), cc),
            receiver: Receiver::new(&stack),
            isn,
            peer_isn: 0,
            timestamp_offset,
            sack: stack.options.sack,
            timestamps: stack.options.timestamps,
            flags: Flags::ACK,
            mss: stack.options.mss,
            advertised_mss: None,
            window_scaling: stack.options.window_scaling,
            peer_window_shift: 0,
            stack,
            ts_recent: 0,
            last_ack_sent: 0,
            urgent: Urgent::Nothing,
            handshake_deadline: Time::NEVER,
            handshake_tries: 0,
            handshake_sent_at: Time::ZERO,
            sends: false,
            right_edge: 0,
            answered_outdated: None,
        }
    }

    /// Offer another MSS in the SYN than this end sends.
    pub fn advertise_mss(&mut self, mss: u16) {
        self.advertised_mss = Some(mss);
    }

    /// Mark its segments as forward or reverse; by default the active end sends forward. Call before the
    /// connection begins.
    pub fn send_forward(&mut self, forward: bool) {
        self.forward = forward;
    }

    /// Open the connection.
    pub fn connect(&mut self) {
        debug_assert_eq!((self.role, self.state), (Role::Active, State::Closed));
        self.state = State::SynSent;
        self.urgent = Urgent::Handshake;
    }

    /// The application wrote `bytes` more; an endless source writes `u64::MAX` once.
    pub fn write(&mut self, bytes: u64) {
        self.begin_sending();
        self.sender.write(bytes);
        self.sender.begin_burst();
    }

    /// The application will write no more.
    pub fn close(&mut self) {
        self.begin_sending();
        let is_answer = self.receiver.close();
        self.sender.close(is_answer);
        self.sender.begin_burst();
    }

    /// The application stops and closes: an endless source ends here.
    pub fn stop(&mut self) {
        self.begin_sending();
        self.sender.stop();
        self.sender.begin_burst();
    }

    /// Take all that is written for one write, and not for writes of 64 KiB.
    pub fn write_at_once(&mut self) {
        self.sender.write_at_once();
    }

    /// Let the application read by [`Self::read`]: unread data takes room in the receive buffer. Call
    /// before the connection begins.
    pub fn keep_unread(&mut self) {
        self.receiver.keep_unread();
    }

    /// The application reads up to `bytes` of unread data.
    pub fn read(&mut self, bytes: u64, now: Time) {
        self.receiver.read(bytes, now);
    }

    /// Whether more segments arrive at this instant behind the one that is handled next: applications
    /// that read and write at once then do so behind all of them.
    pub fn expect_more(&mut self, expects: bool) {
        self.receiver.expect_more(expects);
        self.sender.hold_writer(expects);
    }

    fn begin_sending(&mut self) {
        if !self.sends {
            self.sends = true;
            self.sender.allow(self.right_edge);
        }
    }

    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receiving half.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether both directions are closed and acknowledged.
    pub fn is_closed(&self) -> bool {
        self.sender.is_finished() && self.receiver.is_finished()
    }

    /// Totals of the sending half.
    pub fn counters(&self) -> SenderCounters {
        self.sender.counters()
    }

    /// Phase of congestion control.
    pub fn phase(&self) -> Phase {
        self.sender.phase()
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, segment: &Segment, now: Time) {
        if !self.takes_data(segment, now) && !self.takes_ack(segment, now) {
            self.handle_any(segment, now);
        }
    }

    #[inline(never)]
    fn handle_any(&mut self, segment: &Segment, now: Time) {
        if self.sends && self.sender.is_gone(now) {
            return;
        }
        match self.state {
            State::Listen if segment.flags.has(Flags::SYN) => self.accept(segment),
            State::SynSent if segment.flags.has(Flags::SYN.with(Flags::ACK)) => {
                self.establish_active(segment, now);
            }
            State::SynReceived
                if segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::SYN) =>
            {
                self.establish_passive(segment, now);
                self.handle_established(segment, now);
            }
            // The SYN-ACK was lost.
            State::SynReceived if segment.flags.has(Flags::SYN) => {
                self.urgent = Urgent::Handshake;
            }
            State::Established if segment.flags.has(Flags::SYN) => self.acknowledge_syn(),
            State::Established => self.handle_established(segment, now),
            _ => {}
        }
        if self.sends {
            self.sender.begin_burst();
        }
    }

    /// A SYN or SYN-ACK was repeated on an established connection.
    fn acknowledge_syn(&mut self) {
        if self.role == Role::Active && self.ecn.counts() {
            self.urgent = Urgent::EndOfHandshake;
        } else {
            self.receiver.acknowledge_now();
        }
    }

    /// Handle the timers that have expired.
    pub fn handle_timeout(&mut self, now: Time) {
        if now >= self.handshake_deadline {
            self.retry_handshake(now);
        }
        if self.state == State::Established {
            self.receiver.handle_timeout(now);
            if self.sends && now >= self.sender.deadline() {
                self.sender.handle_timeout(now);
                self.sender.begin_burst();
            }
        }
    }

    /// The next segment to send, if any.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        (self.transmit_into(&mut segment, now) != Transmit::Nothing).then_some(segment)
    }

    /// [`Self::poll_transmit`] in place: copying a segment takes longer than building it.
    #[inline(always)]
    pub fn transmit_into(&mut self, segment: &mut Segment, now: Time) -> Transmit {
        self.transmit_usual(segment, now).unwrap_or_else(|| self.transmit_any(segment, now))
    }

    #[inline(never)]
    fn transmit_any(&mut self, segment: &mut Segment, now: Time) -> Transmit {
        if self.urgent != Urgent::Nothing {
            self.transmit_urgent(segment, now);
            return Transmit::Segment;
        }
        if self.state != State::Established {
            return Transmit::Nothing;
        }
        // ns-3.29 `ReceivedAck`: `ReceivedData` comes before `SendPendingData`.
        let is_acknowledged_first = self.stack.is_ns3() && self.receiver.ack_is_due();
        if self.sends
            && !is_acknowledged_first
            && let Some(transmission) = self.sender.poll_transmit(now)
        {
            self.transmit_data(segment, transmission, now)
        } else if self.sends && !is_acknowledged_first && self.sender.takes_window_probe(now) {
            // An old sequence number makes the peer answer (Linux `tcp_xmit_probe_skb`).
            segment.flags = self.ecn.flags();
            self.acknowledge_without_data(segment, now);
            segment.seq = SeqNr(segment.seq.0.wrapping_sub(1));
            Transmit::Segment
        } else if self.receiver.ack_is_due() {
            segment.flags = self.ecn.flags();
            self.acknowledge_without_data(segment, now);
            let is_last = !(self.receiver.ack_is_due() || is_acknowledged_first && self.sends);
            if is_last { Transmit::LastSegment } else { Transmit::Segment }
        } else {
            Transmit::Nothing
        }
    }

    /// Write a segment of data.
    #[inline(always)]
    fn transmit_data(&mut self, segment: &mut Segment, data: Transmission, now: Time) -> Transmit {
        let Transmission { range, fin, cwr, retransmission, push } = data;
        segment.seq = SeqNr::of(self.isn, range.start);
        segment.payload_offset = range.start;
        segment.payload_bytes = (range.bytes() - u64::from(fin)) as u32;
        segment.flags = self
            .ecn
            .flags()
            .with(self.ecn.data_flags(retransmission, cwr))
            .with_if(push, Flags::PSH)
            .with_if(fin, Flags::FIN);
        self.acknowledge_in(segment, now);
        self.receiver.data_sent(now);
        let is_last = self.sender.has_filled_window() && !self.receiver.ack_is_due();
        if is_last { Transmit::LastSegment } else { Transmit::Segment }
    }

    fn transmit_urgent(&mut self, segment: &mut Segment, now: Time) {
        match std::mem::replace(&mut self.urgent, Urgent::Nothing) {
            Urgent::Nothing => {}
            Urgent::Handshake => *segment = self.handshake_segment(now),
            Urgent::EndOfHandshake => {
                segment.flags = self.ecn.end_of_handshake_flags();
                self.acknowledge_without_data(segment, now);
            }
            Urgent::OldEcho(upto) => {
                segment.flags = self.ecn.flags_before_change();
                self.acknowledge_without_data(segment, now);
                segment.ack = SeqNr::of(self.peer_isn, upto);
                // An acknowledgement of out-of-order data is never delayed: no SACK blocks.
                segment.sack_count = 0;
                self.last_ack_sent = upto;
                self.receiver.acknowledge_now();
            }
        }
    }

    /// When [`Self::handle_timeout`] must be called.
    pub fn poll_timeout(&self) -> Time {
        let resend = if self.sends { self.sender.deadline() } else { Time::NEVER };
        self.handshake_deadline.min(resend).min(self.receiver.ack_deadline())
    }

    fn accept(&mut self, syn: &Segment) {
        self.take_options(syn);
        self.state = State::SynReceived;
        self.urgent = Urgent::Handshake;
    }

    fn establish_active(&mut self, syn_ack: &Segment, now: Time) {
        if syn_ack.ack != SeqNr::of(self.isn, 0) {
            return;
        }
        self.take_options(syn_ack);
        self.establish(syn_ack, 0, now);
        // On Linux the application writes after the handshake. With accurate ECN this acknowledgement
        // reports the marking of the SYN-ACK (RFC 9768 section 3.2.2.1).
        if self.stack.acks.delayed_ack == DelayedAck::Linux || self.ecn.counts() {
            self.urgent = Urgent::EndOfHandshake;
        } else {
            self.receiver.acknowledge_now();
        }
    }

    fn establish_passive(&mut self, ack: &Segment, now: Time) {
        if ack.payload_bytes == 0 && ack.sack_count == 0 && !ack.flags.has(Flags::FIN) {
            self.sender.count_marks_from(self.ecn.end_handshake(ack.flags));
        }
        self.establish(ack, self.peer_window_shift, now);
    }

    fn establish(&mut self, segment: &Segment, shift: u8, now: Time) {
        self.state = State::Established;
        self.flags = Flags::ACK
            .with_if(self.timestamps, Flags::TIMESTAMP)
            .with_if(self.stack.is_ns3(), Flags::PACKED_OPTIONS);
        self.handshake_deadline = Time::NEVER;
        let right_edge = u64::from(segment.window) << shift;
        self.sender.negotiate(Negotiated { sack: self.sack, mss: self.mss }, right_edge);
        let options = if self.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        self.receiver.negotiate(self.sack, self.window_scaling, options, self.mss, now);
        if self.handshake_tries == 1 {
            self.sender.sample_rtt(self.handshake_sent_at, now);
        } else {
            self.sender.handshake_was_repeated();
        }
        self.sender.begin(now);
        self.receiver.observe_path(self.sender.srtt(), self.sender.rto());
    }

    fn take_options(&mut self, syn: &Segment) {
        self.peer_isn = syn.seq.0;
        self.ts_recent = syn.ts_value;
        self.sack &= syn.flags.has(Flags::SACK_PERMITTED);
        self.timestamps &= syn.flags.has(Flags::TIMESTAMP);
        let options = if self.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        self.mss = self.stack.options.mss.min(u32::from(syn.mss).saturating_sub(options)).max(1);
        match self.role {
            Role::Active => self.ecn.take_answer(syn.flags),
            Role::Passive => self.ecn.answer(syn.flags),
        }
        self.window_scaling &= syn.flags.has(Flags::WINDOW_SCALE);
        self.peer_window_shift =
            if self.window_scaling { syn.window_scale.min(MAX_WINDOW_SCALE) } else { 0 };
    }

    /// Timeouts of a SYN that do not double the next; a SYN-ACK's always do.
    fn linear_syn_timeouts(&self) -> u32 {
        if self.role == Role::Active { self.stack.rto.syn_linear_timeouts } else { 0 }
    }

    fn retry_handshake(&mut self, now: Time) {
        if self.handshake_tries <= MAX_SYN_RETRIES + self.linear_syn_timeouts() {
            self.urgent = Urgent::Handshake;
            self.handshake_deadline = now;
            return;
        }
        self.handshake_deadline = Time::NEVER;
        // The passive end only falls silent: there is no RST here to tell an established peer, and the
        // peer's next segment still completes the handshake.
        if self.role == Role::Active {
            self.state = State::Failed;
        }
    }

    fn handle_established(&mut self, segment: &Segment, now: Time) {
        let payload = u64::from(segment.payload_bytes);
        let fin = segment.flags.has(Flags::FIN);
        let carries = payload + u64::from(fin);
        if !segment.flags.has(Flags::ACK) {
            // RFC 9293 section 3.10.7.4, fifth check.
            return;
        }
        if self.acknowledges_unsent(segment) {
            // RFC 9293 section 3.10.7.4 answers it, Linux 6.1 does not (`tcp_ack`).
            if self.stack.acks.delayed_ack != DelayedAck::Linux {
                self.receiver.acknowledge_now();
            }
            return;
        }
        if carries > 0 {
            self.receive_data(segment, carries, fin, now);
        } else {
            if self.ecn.counts() {
                self.receive_marks_of_control(segment.flags);
            }
            match segment.seq.offset(self.peer_isn, self.receiver.rcv_nxt()) {
                Some(start) if start >= self.last_ack_sent => {
                    self.note_timestamp(segment, Range { start, end: start });
                }
                _ => return self.answer_outdated(now),
            }
        }
        self.receive_ack(segment, carries == 0, now);
    }

    /// Whether a segment acknowledges unsent data and must be ignored.
    fn acknowledges_unsent(&self, segment: &Segment) -> bool {
        let sent = if self.sends { self.sender.snd_nxt() } else { 0 };
        segment.ack.offset(self.isn, sent).is_some_and(|ack| ack > sent)
    }

    /// Answer an acknowledgement below the window, of a window probe or a delayed segment (RFC 9293
    /// section 3.10.7.4). Linux limits the rate, as two ends could answer each other forever
    /// (`tcp_oow_rate_limited`).
    #[inline(never)]
    fn answer_outdated(&mut self, now: Time) {
        let is_linux = self.stack.acks.delayed_ack == DelayedAck::Linux;
        if is_linux && self.answered_outdated.is_some_and(|at| now.since(at) < OUTDATED_INTERVAL) {
            return;
        }
        self.answered_outdated = Some(now);
        self.receiver.acknowledge_now();
    }

    /// Update the timestamp to echo: from a segment that covers the last acknowledgement sent (RFC
    /// 7323 section 4.3), with or without data, and not from one below the window (section 5.3,
    /// R2).
    #[inline(always)]
    fn note_timestamp(&mut self, segment: &Segment, range: Range) {
        let is_newer = segment.ts_value.wrapping_sub(self.ts_recent) as i32 >= 0;
        let mut reaches = range.start <= self.last_ack_sent && range.end >= self.last_ack_sent;
        if self.flags.has(Flags::PACKED_OPTIONS) {
            // ns-3.29 `tcp-socket-base.cc`, `ProcessOptionTimestamp`: only data in order.
            reaches &= range.start == self.receiver.rcv_nxt();
        }
        if self.timestamps && is_newer && reaches {
            self.ts_recent = segment.ts_value;
        }
    }

    fn receive_data(&mut self, segment: &Segment, carries: u64, fin: bool, now: Time) {
        let Some(start) = segment.seq.offset(self.peer_isn, self.receiver.rcv_nxt()) else {
            self.receiver.acknowledge_now();
            return;
        };
        let range = Range { start, end: start + carries };
        if self.refuses_as_old(segment) {
            self.receiver.refuse_old(range);
            return;
        }
        self.note_timestamp(segment, range);
        self.receive_marks(segment.flags);
        if range.end > self.receiver.right_edge() {
            // RFC 9293 section 3.10.7.4.
            self.receiver.refuse();
            return;
        }
        if self.sends {
            self.receiver.observe_path(self.sender.srtt(), self.sender.rto());
        }
        let echo = self.echo_for_receiver(segment, now);
        let push = segment.flags.has(Flags::PSH);
        self.receiver.receive(&Arrival { range, fin, push, echo }, now);
    }

    /// The echoed timestamp and its age in milliseconds, if the receiver uses them.
    #[inline(always)]
    fn echo_for_receiver(&self, segment: &Segment, now: Time) -> Option<(u32, u32)> {
        (self.timestamps && self.receiver.adapts()).then(|| {
            let age_ms = self.timestamp(now).wrapping_sub(segment.ts_echo);
            (segment.ts_echo, age_ms)
        })
    }

    /// Whether PAWS rejects a segment (RFC 7323 section 5) as older than an acknowledged one by
    /// more than a tick, Linux's slack (`TCP_PAWS_WINDOW`). Reordering can cause this.
    #[inline(always)]
    pub fn refuses_as_old(&self, segment: &Segment) -> bool {
        let behind = self.ts_recent.wrapping_sub(segment.ts_value) as i32;
        behind > 1 && self.stack.options.paws && self.timestamps
    }

    fn receive_marks(&mut self, flags: Flags) {
        match self.ecn.receive(flags) {
            EchoChange::None => {}
            EchoChange::Changes => {
                // Two acknowledgements, so that each byte gets its own echo (Linux
                // `dctcp_ece_ack_update`).
                if self.receiver.ack_is_delayed() {
                    self.urgent = Urgent::OldEcho(self.receiver.rcv_nxt());
                }
                self.receiver.acknowledge_now();
            }
            EchoChange::Counted => self.receiver.acknowledge_now(),
            EchoChange::Begins => self.receiver.marked(),
            EchoChange::SenderReduced => self.receiver.sender_reduced(),
            EchoChange::BeginsAgain => {
                self.receiver.sender_reduced();
                self.receiver.marked();
            }
        }
    }

    /// Count a marked segment without data. Its acknowledgement must not look like a duplicate: with
    /// SACK, it has no blocks (RFC 9768 section 3.2.2.5.1).
    #[inline(never)]
    fn receive_marks_of_control(&mut self, flags: Flags) {
        let data_waits = self.receiver.ack_is_delayed() || self.receiver.ack_is_due();
        let told = self.ecn.receive_control(flags, data_waits);
        if told && self.sack && !self.receiver.has_blocks() {
            self.receiver.acknowledge_now();
        }
    }

    fn receive_ack(&mut self, segment: &Segment, pure: bool, now: Time) {
        if !self.sends {
            if segment.ack == SeqNr::of(self.isn, 0) {
                let right_edge = u64::from(segment.window) << self.peer_window_shift;
                self.right_edge = self.right_edge.max(right_edge);
            }
            return;
        }
        let una = self.sender.una();
        let Some(ack) = segment.ack.offset(self.isn, una) else { return };
        let info = self.ack_info(segment, ack, pure, now);
        if segment.sack_count == 0 {
            return self.sender.handle_ack(&info, now);
        }
        let mut sack = [Range { start: 0, end: 0 }; MAX_SACK_BLOCKS];
        let mut count = 0;
        for block in segment.sack_blocks() {
            let ends = (block.left.offset(self.isn, una), block.right.offset(self.isn, una));
            if let (Some(start), Some(end)) = ends
                && start < end
            {
                sack[count] = Range { start, end };
                count += 1;
            }
        }
        let blocks = &mut sack[..count];
        // RFC 2883 section 4: a D-SACK is below the cumulative acknowledgement, or inside the second
        // block.
        let duplicate = match *blocks {
            [first, ..] if first.start < ack => Some(first),
            [first, second, ..] if first.start >= second.start && first.end <= second.end => {
                Some(first)
            }
            _ => None,
        };
        let blocks = &mut blocks[usize::from(duplicate.is_some())..];
        // Sorted, so that blocks of one segment do not look reordered.
        blocks.sort_unstable_by_key(|block| block.start);
        self.sender.handle_ack(&AckInfo { sack: blocks, duplicate, ..info }, now);
    }

    /// What a segment acknowledges up to `ack`, without its SACK blocks.
    #[inline(always)]
    fn ack_info(&self, segment: &Segment, ack: u64, pure: bool, now: Time) -> AckInfo<'static> {
        let age_ms = self.timestamps.then(|| self.timestamp(now).wrapping_sub(segment.ts_echo));
        let timestamp_age = age_ms.map(|millis| Duration::from_millis(u64::from(millis).max(1)));
        AckInfo {
            ack,
            right_edge: ack + (u64::from(segment.window) << self.peer_window_shift),
            sack: &[],
            pure,
            ece: self.ecn.echoes() && segment.flags.has(Flags::ECE),
            mark_count: self.ecn.count(segment.flags),
            duplicate: None,
            timestamp_age,
            echo_ms: age_ms.map(|millis| now.as_millis().saturating_sub(u64::from(millis))),
            timestamps: self.timestamps.then(|| Timestamps {
                value: segment.ts_value,
                echo: segment.ts_echo.wrapping_sub(self.timestamp_offset),
            }),
        }
    }

    fn handshake_segment(&mut self, now: Time) -> Segment {
        self.handshake_tries += 1;
        self.handshake_sent_at = now;
        // RFC 6298 section 2.1 and rule 5.5: the initial timeout, doubled each time.
        let rto = self.stack.rto;
        let answer = self.role == Role::Passive;
        let doublings = (self.handshake_tries - 1).saturating_sub(self.linear_syn_timeouts());
        let wait = rto.rto_initial.saturating_mul(1 << doublings.min(16));
        self.handshake_deadline = self.stack.timers().expiry(now, wait.min(rto.rto_max));
        let options = if self.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        // Options of the peer's segments are known in a SYN-ACK, not in a SYN.
        let mss = if answer { self.mss } else { self.stack.options.mss + options };
        let window = self.receiver.window().offer_in_syn(mss);
        let window_scale = self.receiver.window().scale();
        let flags = Flags::SYN
            .with_if(answer, Flags::ACK)
            .with_if(self.sack, Flags::SACK_PERMITTED)
            .with_if(self.timestamps, Flags::TIMESTAMP)
            .with_if(self.window_scaling, Flags::WINDOW_SCALE)
            .with_if(self.stack.is_ns3(), Flags::PACKED_OPTIONS)
            .with(self.ecn.handshake_flags(answer));
        Segment {
            sent_at: now,
            connection: self.connection,
            forward: self.forward,
            seq: SeqNr(self.isn),
            ack: if answer { SeqNr::of(self.peer_isn, 0) } else { SeqNr(0) },
            flags,
            window,
            window_scale,
            // RFC 6691: the MSS option does not subtract other options.
            mss: self
                .advertised_mss
                .unwrap_or(u16::try_from(self.stack.options.mss + options).unwrap_or(u16::MAX)),
            ts_value: self.timestamp(now),
            ts_echo: if answer { self.ts_recent } else { 0 },
            ..Segment::default()
        }
    }

    /// Write a pure acknowledgement. The ECN flags are already set.
    #[inline(always)]
    fn acknowledge_without_data(&mut self, segment: &mut Segment, now: Time) {
        let snd_nxt = if self.sends { self.sender.snd_nxt() } else { 0 };
        segment.seq = SeqNr::of(self.isn, snd_nxt);
        segment.payload_offset = 0;
        segment.payload_bytes = 0;
        self.acknowledge_in(segment, now);
    }

    /// Write acknowledgements, window and timestamps. The other flags are already set.
    #[inline(always)]
    fn acknowledge_in(&mut self, segment: &mut Segment, now: Time) {
        let rcv_nxt = self.receiver.rcv_nxt();
        segment.sent_at = now;
        segment.connection = self.connection;
        segment.forward = self.forward;
        segment.ack = SeqNr::of(self.peer_isn, rcv_nxt);
        segment.flags = segment.flags.with(self.flags);
        segment.mss = 0;
        segment.window_scale = 0;
        (segment.ts_value, segment.ts_echo) = if self.timestamps {
            let stamp = self.receiver.stamp(now);
            (self.timestamp(stamp), self.ts_recent)
        } else {
            (0, 0)
        };
        segment.sack_count = 0;
        if self.receiver.has_blocks() {
            for (block, range) in segment.sack.iter_mut().zip(self.receiver.sack_ranges()) {
                block.left = SeqNr::of(self.peer_isn, range.start);
                block.right = SeqNr::of(self.peer_isn, range.end);
                segment.sack_count += 1;
            }
        }
        segment.window = self.receiver.acknowledge();
        self.last_ack_sent = rcv_nxt;
    }

    /// The timestamp clock: milliseconds (RFC 7323 section 5.4).
    fn timestamp(&self, now: Time) -> u32 {
        (now.as_millis() as u32).wrapping_add(self.timestamp_offset)
    }
}
