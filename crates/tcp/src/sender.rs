//! The sending half: new data, retransmissions and timeouts.

mod acknowledge;
mod episodes;
mod inspect;
mod losses;
mod persist;
mod predicted;
#[cfg(test)]
mod prediction_tests;
mod probe;
mod recovery;
mod send_buffer;
mod spurious;
mod timed;
mod timers;
mod transmit;
mod written;

use std::sync::Arc;

use fairway_cc::{Ack, CongestionControl, Flow, Phase, Timestamps};
use fairway_units::{Duration, Time};

use crate::Stack;
use crate::controller::Controller;
use crate::ecn::ace;
use crate::pacing::Pacer;
use crate::preset::Rto;
use crate::ranges::Range;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::timer::Timer;
use crate::undo::Undo;
use crate::validation::Validation;
use crate::write_queue::WriteQueue;
pub use inspect::Outstanding;
use losses::Detector;
use persist::Persist;
use probe::Probe;
pub use recovery::Recovery;
pub(crate) use recovery::{Policy, RecoveryPolicy};
use timed::Timed;
use written::{Turn, Writer};

/// Whether the usual acknowledgement is handled apart: always, but in the test that compares.
#[cfg(not(test))]
pub(crate) const fn predicts() -> bool {
    true
}

#[cfg(test)]
pub(crate) use prediction_tests::predicts;

/// First timeout for data after a repeated SYN (RFC 6298 rule 5.7; Linux `TCP_TIMEOUT_FALLBACK`).
const RTO_AFTER_REPEATED_SYN: Duration = Duration::from_secs(3);

/// A segment to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// Its offsets; the last is the FIN's if `fin`.
    pub range: Range,
    /// Whether it ends with the FIN.
    pub fin: bool,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether it carries CWR (RFC 3168).
    pub cwr: bool,
    /// Whether it is the last of a burst.
    pub push: bool,
}

/// Totals of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Window reductions for losses and congestion marks, without timeouts.
    pub reductions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
}

/// An arriving acknowledgement, in stream offsets.
#[derive(Clone, Debug)]
pub struct AckInfo<'a> {
    /// Cumulative acknowledgement.
    pub ack: u64,
    /// First offset beyond the receiver's window.
    pub right_edge: u64,
    /// Selective acknowledgements.
    pub sack: &'a [Range],
    /// Whether the segment carries no data, SYN or FIN.
    pub pure: bool,
    /// Echo of a congestion mark.
    pub ece: bool,
    /// Count of marked packets modulo 8, with accurate ECN (RFC 9768).
    pub mark_count: Option<u8>,
    /// The first SACK block if it is a D-SACK (RFC 2883); `sack` has the others.
    pub duplicate: Option<Range>,
    /// Age of the echoed timestamp, if the option is in use.
    pub timestamp_age: Option<Duration>,
    /// The echoed timestamp, in milliseconds of the sender's clock.
    pub echo_ms: Option<u64>,
    /// The peer's timestamp and the echoed one, in milliseconds of unsynchronised clocks.
    pub timestamps: Option<Timestamps>,
}

impl AckInfo<'_> {
    /// One-way delay from the timestamps, relative to the clocks.
    fn one_way_delay_ms(&self) -> Option<u32> {
        self.timestamps.map(|stamps| stamps.value.wrapping_sub(stamps.echo))
    }
}

/// Result of the handshake.
#[derive(Clone, Copy, Debug)]
pub struct Negotiated {
    /// Selective acknowledgements.
    pub sack: bool,
    /// Payload of a full segment: the smaller of both ends'.
    pub mss: u32,
}

/// Segments sent in answer to one event.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    /// Whether anything was sent.
    sent: bool,
    /// Whether a tail loss probe was sent; nothing is sent with it.
    probed: bool,
    /// Whether the last segment was allowed to exceed the window.
    is_forced: bool,
    /// Whether the pass is over.
    ended: bool,
    /// Whether the last segment has filled the window.
    is_full: bool,
    /// Whether nothing but the algorithm's window decides on sending.
    is_calm: bool,
    /// Whether no episode is followed either, so that an acknowledgement in order ends nothing.
    is_settled: bool,
    /// Segments left of the current burst.
    burst_left: u64,
    /// Its end, with a write queue.
    burst_end: u64,
    /// Who acts next, with a write queue.
    turn: Turn,
    /// Whether a waiting application was given memory, after the kernel had acted.
    gave_memory: bool,
    /// Whether the burst has more than one segment.
    pushes: bool,
    /// Whether the congestion window held something back.
    waits_for_cwnd: bool,
}

/// The sending half of a connection.
pub struct Sender {
    stack: Arc<Stack>,
    sack: bool,
    cc: Controller,
    /// The stack's own way to recover from losses.
    policy: Policy,
    /// Loss detection.
    detector: Detector,
    board: Scoreboard,
    rtt: RttEstimator,
    /// Payload of a full segment, limited by the peer. The congestion window still counts in this
    /// end's own MSS.
    segment_bytes: u64,
    snd_nxt: u64,
    /// End of what the application has written.
    stream_end: u64,
    closed: bool,
    /// The write queue, if the stack has one.
    queue: Option<Box<WriteQueue>>,
    writer: Writer,
    /// Limit of unacknowledged and unsent bytes.
    send_buffer: u64,
    right_edge: u64,
    /// Window that the peer offers (Linux `snd_wnd`).
    offered: u64,
    /// Whether the last acknowledgement was a plain one (`fairway_cc::Ack`).
    is_plain: bool,
    /// Largest window that the peer has offered.
    max_window: u64,
    phase: Phase,
    /// The episode ends when this offset is acknowledged (RFC 6582 `recover`).
    recover: u64,
    /// Where the last episode of losses ended.
    repaired_until: Option<u64>,
    /// First unacknowledged offset at the last timeout, unless a loss has restarted the connection
    /// since.
    timed_out_at: Option<u64>,
    /// Whether the algorithm has no fast recovery, so that a loss acts as a timeout.
    restarts_after_loss: bool,
    /// Duplicate acknowledgements in a row on a connection with SACK.
    sack_duplicates: u32,
    /// The timed segment, where the stack times one at a time.
    timed: Option<Timed>,
    /// Whether the algorithm gets round-trip times from TCP-Linux's own table (`bugfix_ts_`).
    tells_age_of_last: bool,
    /// Whether the next retransmission may exceed the window (RFC 6675 step 4.3).
    retransmit_first: bool,
    /// Whether RFC 6675 NextSeg rule 3 applies; once in an episode, where the RFC sets no limit.
    rescue_allowed: bool,
    /// Whether this episode has had a partial acknowledgement.
    had_partial_ack: bool,
    /// Whether `recover` was set by a timeout.
    recovers_from_timeout: bool,
    cwr_pending: bool,
    /// Last count of marked packets taken, modulo 8 (RFC 9768 `s.cep`).
    mark_count: u8,
    timer: Timer,
    /// Timeouts since anything was acknowledged.
    timeouts_in_row: u32,
    /// State of undo.
    undo: Undo,
    probe: Probe,
    persist: Persist,
    /// End of the last small segment.
    small_until: u64,
    /// Whether the application has written while idle.
    wrote_when_idle: bool,
    /// Segments reported by D-SACK.
    reported_twice: u64,
    /// Whether F-RTO is testing the last timeout (RFC 5682).
    frto: bool,
    /// Whether this acknowledgement must not cause retransmissions.
    holds_retransmissions: bool,
    validation: Validation,
    pass: Pass,
    /// When a burst was last deferred.
    deferred_at: Option<Time>,
    /// Segments that `max_burst` still allows for this event.
    max_burst_left: u32,
    pacer: Pacer,
    last_sent: Time,
    delivered: u64,
    /// Bytes marked lost, repeatedly where lost repeatedly.
    lost: u64,
    counters: SenderCounters,
}

impl Sender {
    /// A sender before the handshake.
    pub fn new(stack: Arc<Stack>, cc: Box<dyn CongestionControl>) -> Self {
        let min_rto = cc.min_rto().unwrap_or(stack.rto.rto_min);
        let mut board =
            Scoreboard::new(stack.loss_detection(), stack.losses.reordering, stack.options.mss);
        let timer = Timer::new(stack.timers());
        let needs = cc.needs();
        if needs.rate_samples {
            board.measure_delivery_rate();
        }
        if stack.losses.adaptive_reordering && !stack.losses.rack {
            board.adapt_reordering();
        }
        if stack.losses.frto {
            board.watch_originals();
        }
        let policy = Policy::new(&stack);
        Sender {
            tells_age_of_last: needs.send_times && policy.tells_age_of_last(),
            policy,
            detector: Detector::new(&stack, stack.options.sack),
            board,
            rtt: RttEstimator::new(Rto { rto_min: min_rto, ..stack.rto }),
            restarts_after_loss: cc.restarts_after_loss(),
            cc: Controller::new(cc),
            segment_bytes: u64::from(stack.options.mss),
            send_buffer: stack.buffers.send_buffer,
            sack: stack.options.sack,
            queue: (stack.sending.tso && stack.buffers.write_queue)
                .then(|| Box::new(WriteQueue::new(stack.buffers.header_room))),
            stack,
            snd_nxt: 0,
            stream_end: 0,
            closed: false,
            right_edge: 0,
            offered: 0,
            is_plain: false,
            max_window: 0,
            phase: Phase::Open,
            recover: 0,
            repaired_until: None,
            timed_out_at: None,
            sack_duplicates: 0,
            timed: None,
            retransmit_first: false,
            rescue_allowed: false,
            had_partial_ack: false,
            recovers_from_timeout: false,
            cwr_pending: false,
            mark_count: ace::FIRST_COUNT,
            timer,
            timeouts_in_row: 0,
            undo: Undo::default(),
            probe: Probe::default(),
            persist: Persist::default(),
            small_until: 0,
            wrote_when_idle: false,
            reported_twice: 0,
            frto: false,
            holds_retransmissions: false,
            validation: Validation::default(),
            pass: Pass::default(),
            writer: Writer::Ready,
            deferred_at: None,
            max_burst_left: 0,
            pacer: Pacer::new(),
            last_sent: Time::ZERO,
            delivered: 0,
            lost: 0,
            counters: SenderCounters::default(),
        }
    }

    /// The handshake is complete.
    pub fn negotiate(&mut self, negotiated: Negotiated, right_edge: u64) {
        self.sack = negotiated.sack;
        self.detector = Detector::new(&self.stack, self.sack);
        if !self.sack
            && let Some(policy) = self.policy.without_sack()
        {
            self.policy = policy;
        }
        self.segment_bytes = u64::from(negotiated.mss);
        (self.right_edge, self.max_window) = (right_edge, right_edge);
        self.policy.allow(right_edge);
        self.size_send_buffer();
    }

    /// The peer's initial count of marked packets (RFC 9768 table 4).
    pub fn count_marks_from(&mut self, count: u8) {
        self.mark_count = count;
    }

    /// The peer's window allows data up to `right_edge`.
    pub fn allow(&mut self, right_edge: u64) {
        self.right_edge = self.right_edge.max(right_edge);
        self.max_window = self.max_window.max(self.right_edge);
        self.policy.allow(self.right_edge);
    }

    /// The application wrote `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closed);
        self.note_app_limit();
        self.wrote_when_idle |= self.board.is_empty();
        self.stream_end = self.stream_end.saturating_add(bytes);
        self.policy.wrote(self.stream_end);
    }

    /// The application closes; `is_answer` if the peer closed first.
    pub fn close(&mut self, is_answer: bool) {
        self.closed = true;
        self.policy.close(is_answer);
        self.policy.wrote(self.stream_end);
    }

    /// The application aborts: unsent data is withdrawn.
    pub fn stop(&mut self) {
        self.stream_end = self.stream_end.min(self.snd_nxt);
        self.closed = true;
        if let Some(queue) = &mut self.queue {
            queue.cut(self.snd_nxt);
        }
        self.policy.wrote(self.stream_end);
    }

    /// The handshake measured a round-trip time, from `sent_at` to now.
    pub fn sample_rtt(&mut self, sent_at: Time, now: Time) {
        let rtt = self.in_clock_ticks(self.rtt.between(sent_at, now), now);
        self.rtt.sample(rtt, 0, 0);
        self.rtt.sample_min(rtt);
        self.policy.measured(rtt);
    }

    /// The SYN was retransmitted, so the handshake gives no sample.
    pub fn handshake_was_repeated(&mut self) {
        self.rtt.raise_initial(RTO_AFTER_REPEATED_SYN);
    }

    /// Whether this end has given up the connection.
    pub fn is_gone(&self, now: Time) -> bool {
        self.policy.whole().is_some_and(|whole| whole.is_gone(now))
    }

    /// The connection is established.
    pub fn begin(&mut self, now: Time) {
        let flow = self.flow(0, now);
        self.cc.on_established(&flow);
        if self.tells_age_of_last {
            // TCP-Linux samples its SYN: 40 bytes, with a round trip below that of any data packet.
            self.cc.on_ack(&Ack { rtt: self.rtt.min_rtt(), ..Ack::default() }, &flow);
        }
    }

    /// Whether everything is acknowledged, including the FIN.
    pub fn is_finished(&self) -> bool {
        self.closed && self.una() > self.stream_end
    }

    /// Mark the delivery rate as application-limited if the window is open and nothing waits to be
    /// sent. Called before data is written and before acknowledgements and timeouts
    /// (draft-cheng-iccrg-delivery-rate-estimation section 4.2; Linux `tcp_rate_check_app_limited`).
    fn note_app_limit(&mut self) {
        if self.board.delivery_rate().is_some() {
            self.look_for_gap();
        }
    }

    #[inline(never)]
    fn look_for_gap(&mut self) {
        let pipe = self.board.pipe();
        let nothing_to_send = self.written().saturating_sub(self.snd_nxt) < self.segment_bytes
            && self.board.next_lost().is_none();
        if nothing_to_send
            && pipe < self.cwnd()
            && let Some(rate) = self.board.delivery_rate()
        {
            rate.app_limited(pipe);
        }
    }

    fn mss(&self) -> u64 {
        u64::from(self.stack.options.mss)
    }

    fn flow(&self, pipe: u64, now: Time) -> Flow {
        self.flow_in(self.policy.reported_phase(self), pipe, now)
    }

    #[inline(always)]
    fn flow_in(&self, phase: Phase, pipe: u64, now: Time) -> Flow {
        Flow {
            now,
            mss: self.stack.options.mss,
            pipe,
            in_flight: self.board.pipe(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            snd_una: self.board.una(),
            snd_nxt: self.snd_nxt,
            snd_max: self.snd_nxt,
            delivered: self.delivered,
            lost: self.lost,
            pacing_delay: self.pacer.delay(now),
            phase,
        }
    }
}
