//! The sending half: what may leave, what has to leave again, and when to give up waiting.

mod acknowledge;
mod episodes;
mod inspect;
mod losses;
mod persist;
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
use written::Turn;

/// First timeout for data after a repeated SYN (RFC 6298 rule 5.7; Linux `TCP_TIMEOUT_FALLBACK`).
const RTO_AFTER_REPEATED_SYN: Duration = Duration::from_secs(3);

/// A stretch of the stream to put on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// Which bytes; the last offset is the FIN if `fin`.
    pub range: Range,
    /// Whether it ends with the FIN.
    pub fin: bool,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether it carries the sign that the window was reduced (RFC 3168).
    pub cwr: bool,
    /// Whether it is the last of a burst.
    pub push: bool,
}

/// What the sender did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Reductions of the window by loss or congestion mark, timeouts not counted.
    pub reductions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments without data that asked for a window.
    pub window_probes: u64,
}

/// What an arriving acknowledgement says, in stream offsets.
#[derive(Clone, Debug)]
pub struct AckInfo<'a> {
    /// Cumulative acknowledgement.
    pub ack: u64,
    /// First offset that the receiver's window does not allow.
    pub right_edge: u64,
    /// Selective acknowledgements.
    pub sack: &'a [Range],
    /// Whether the segment carries no data, SYN or FIN.
    pub pure: bool,
    /// Echo of a congestion mark.
    pub ece: bool,
    /// The count of marked packets modulo 8, if the ends count them (RFC 9768).
    pub mark_count: Option<u8>,
    /// The first SACK block, if it reports a duplicate (RFC 2883); the others are `sack`.
    pub duplicate: Option<Range>,
    /// Age of the echoed timestamp, if the option is in use.
    pub timestamp_age: Option<Duration>,
    /// The echoed timestamp as a time of the sender's clock, whole milliseconds.
    pub echo_ms: Option<u64>,
    /// The peer's timestamp and the echoed one, milliseconds of two clocks that are not set alike.
    pub timestamps: Option<Timestamps>,
}

/// What both ends agreed on in the handshake.
#[derive(Clone, Copy, Debug)]
pub struct Negotiated {
    /// Selective acknowledgements.
    pub sack: bool,
    /// Payload of a full segment: this end's, or less if the peer takes less.
    pub mss: u32,
}

/// What has left in answer to one event.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    /// Whether anything has left.
    sent: bool,
    /// Whether a probe of the tail has left, which leaves alone.
    probed: bool,
    /// Whether the last segment left whatever the window says.
    is_forced: bool,
    /// Whether nothing more is going to leave.
    ended: bool,
    /// Segments that still belong to the burst under way.
    burst_left: u64,
    /// Where it ends, if the application's data lie in buffers.
    burst_end: u64,
    /// Who is to act next, then.
    turn: Turn,
    /// Whether the burst has more than one segment.
    pushes: bool,
    /// Whether the congestion window is what something waits for.
    waits_for_cwnd: bool,
}

/// The sending half of a connection.
pub struct Sender {
    stack: Arc<Stack>,
    sack: bool,
    cc: Box<dyn CongestionControl>,
    /// What the stack does about losses that the RFCs do otherwise.
    policy: Policy,
    /// How losses are found.
    detector: Detector,
    board: Scoreboard,
    rtt: RttEstimator,
    /// Payload of a full segment: no more than the peer takes. The congestion window counts in
    /// this end's own segments all the same.
    segment_bytes: u64,
    snd_nxt: u64,
    /// End of what the application has written.
    stream_end: u64,
    closed: bool,
    /// The buffers that it lies in, if their ends matter.
    queue: Option<Box<WriteQueue>>,
    /// Most that may be unacknowledged or unsent.
    send_buffer: u64,
    right_edge: u64,
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
    /// Whether the algorithm knows no fast recovery: a loss restarts the connection.
    restarts_after_loss: bool,
    /// Duplicate acknowledgements in a row on a connection with SACK.
    sack_duplicates: u32,
    /// The segment that is timed, where one is at a time.
    timed: Option<Timed>,
    /// Whether the algorithm is told round-trip times as TCP-Linux measures them from its own table
    /// (`bugfix_ts_`).
    tells_age_of_last: bool,
    /// The first retransmission of an episode leaves whatever the window says (RFC 6675 step 4.3).
    retransmit_first: bool,
    /// RFC 6675 NextSeg rule 3 may send in this episode: once, where the RFC sets no limit.
    rescue_allowed: bool,
    /// Whether an acknowledgement of new data has come in this episode that did not end it.
    had_partial_ack: bool,
    /// Whether `recover` was set by a timeout.
    recovers_from_timeout: bool,
    cwr_pending: bool,
    /// The last count of marked packets that was heeded, modulo 8 (RFC 9768 `s.cep`).
    mark_count: u8,
    timer: Timer,
    /// Timeouts since anything was acknowledged.
    timeouts_in_row: u32,
    /// What can be taken back.
    undo: Undo,
    probe: Probe,
    persist: Persist,
    /// End of the last segment that was not full.
    small_until: u64,
    /// Whether the application has written since the last data left, with nothing outstanding.
    wrote_when_idle: bool,
    /// Segments that were reported to have arrived twice.
    reported_twice: u64,
    /// Whether the timeout may have been for nothing, and new data is to tell (RFC 5682).
    frto: bool,
    /// Nothing is sent again in answer to this acknowledgement.
    holds_retransmissions: bool,
    validation: Validation,
    pass: Pass,
    /// When a burst was last put off, where only that tells how long it has waited.
    deferred_at: Option<Time>,
    /// What `max_burst` still allows in answer to this event.
    max_burst_left: u32,
    pacer: Pacer,
    last_sent: Time,
    delivered: u64,
    /// Bytes marked lost, each time they were.
    lost: u64,
    counters: SenderCounters,
}

impl Sender {
    /// Nothing sent, nothing written; `right_edge` comes with the handshake.
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
            cc,
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
            deferred_at: None,
            max_burst_left: 0,
            pacer: Pacer::new(),
            last_sent: Time::ZERO,
            delivered: 0,
            lost: 0,
            counters: SenderCounters::default(),
        }
    }

    /// What was negotiated in the handshake, and the first window.
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

    /// The peer's count of marked packets begins with this (RFC 9768 table 4).
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

    /// The application will write no more; `is_answer` if the other end has closed before.
    pub fn close(&mut self, is_answer: bool) {
        self.closed = true;
        self.policy.close(is_answer);
        self.policy.wrote(self.stream_end);
    }

    /// The application stops now: what it has written but not sent is withdrawn.
    pub fn stop(&mut self) {
        self.stream_end = self.stream_end.min(self.snd_nxt);
        self.closed = true;
        if let Some(queue) = &mut self.queue {
            queue.cut(self.snd_nxt);
        }
        self.policy.wrote(self.stream_end);
    }

    /// The handshake measured a round-trip time.
    pub fn sample_rtt(&mut self, rtt: Duration, now: Time) {
        let rtt = self.as_the_clock_has_it(rtt, now);
        self.rtt.sample(rtt, 0, 0);
        self.rtt.sample_min(rtt);
        self.policy.measured(rtt);
    }

    /// The handshake took more than one try, so that it measured nothing.
    pub fn handshake_was_repeated(&mut self) {
        self.rtt.raise_initial(RTO_AFTER_REPEATED_SYN);
    }

    /// Whether this end of the connection is no longer there.
    pub fn is_gone(&self, now: Time) -> bool {
        self.policy.is_gone(now)
    }

    /// The connection is there.
    pub fn begin(&mut self, now: Time) {
        let flow = self.flow(0, now);
        self.cc.on_established(&flow);
        if self.tells_age_of_last {
            // The SYN is the first packet of TCP-Linux: 40 bytes, whose round trip a packet of data never
            // reaches.
            self.cc.on_ack(&Ack { rtt: self.rtt.min_rtt(), ..Ack::default() }, &flow);
        }
    }

    /// Whether everything, the FIN included, was acknowledged.
    pub fn is_finished(&self) -> bool {
        self.closed && self.una() > self.stream_end
    }

    /// Note for the delivery rate if the application has nothing more to send, though the window
    /// would allow it and no loss waits to be sent again. Looked at when something is about to
    /// change: data written, an acknowledgement, a timeout (draft-cheng-iccrg-delivery-rate-estimation
    /// section 4.2; Linux `tcp_rate_check_app_limited`).
    fn note_app_limit(&mut self) {
        if self.board.delivery_rate().is_some() {
            self.look_for_gap();
        }
    }

    /// Apart from the question, which every acknowledgement asks.
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
            phase: self.policy.phase_told(self),
        }
    }
}
