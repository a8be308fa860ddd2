//! The sending half: what may leave, what has to leave again, and when to give up waiting.

mod episodes;
mod inspect;
mod losses;
mod ns3;
mod outdated;
mod persist;
mod probe;
mod sack1;
mod send_buffer;
mod spurious;
mod timed;
mod timers;
mod transmit;
mod written;

use std::sync::Arc;

use fairway_cc::{Ack, CongestionControl, Flow, Phase, Signal, Timestamps};
use fairway_units::{Duration, Time};

use crate::burst;
use crate::ecn::ace;
use crate::pacing::Pacer;
use crate::prr::Progress;
use crate::ranges::Range;
use crate::reduction::Reduction;
use crate::rtt::RttEstimator;
use crate::scoreboard::{News, Scoreboard};
use crate::timer::Timer;
use crate::undo::Undo;
use crate::validation::Validation;
use crate::write_queue::WriteQueue;
use crate::{LossDetection, Recovery, RtoPolicy, Stack};
pub use inspect::Outstanding;
use ns3::Ns3;
use persist::Persist;
use probe::Probe;
use sack1::Sack1;
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
    /// TCP-Linux only: `conserved_flight` when the event came, which `cwnd_` had then.
    allowed: u64,
}

/// The sending half of a connection.
pub struct Sender {
    stack: Arc<Stack>,
    sack: bool,
    cc: Box<dyn CongestionControl>,
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
    /// TCP-Linux only: segments in flight allowed while flight is above the window
    /// (`next_pkts_in_flight_`).
    conserved_flight: u64,
    sack1: Sack1,
    /// The segment that is timed, where one is at a time.
    timed: Option<Timed>,
    /// All of ns-3's sender, if it is that.
    ns3: Option<Box<Ns3>>,
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
    /// The reduction under way, where the window comes down step by step.
    reduction: Option<Reduction>,
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
        let min_rto = cc.min_rto().unwrap_or(stack.rto_min);
        let mut board = Scoreboard::new(stack.loss_detection(), stack.reordering, stack.mss);
        let timer = Timer::new(stack.timers());
        let needs = cc.needs();
        if needs.rate_samples {
            board.measure_delivery_rate();
        }
        if stack.adaptive_reordering && !stack.rack {
            board.adapt_reordering();
        }
        if stack.frto {
            board.watch_originals();
        }
        let ns3 =
            (stack.recovery == Recovery::Ns3).then(|| Box::new(Ns3::new(&stack, stack.rto())));
        let tells_age_of_last = stack.recovery == Recovery::TcpLinux && needs.send_times;
        Sender {
            board,
            rtt: RttEstimator::new(RtoPolicy { min: min_rto, ..stack.rto() }),
            restarts_after_loss: cc.restarts_after_loss(),
            cc,
            segment_bytes: u64::from(stack.mss),
            send_buffer: stack.send_buffer,
            sack: stack.sack,
            queue: (stack.tso && stack.write_queue)
                .then(|| Box::new(WriteQueue::new(stack.header_room))),
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
            conserved_flight: 0,
            sack1: Sack1::default(),
            timed: None,
            ns3,
            tells_age_of_last,
            retransmit_first: false,
            rescue_allowed: false,
            had_partial_ack: false,
            recovers_from_timeout: false,
            cwr_pending: false,
            mark_count: ace::FIRST_COUNT,
            timer,
            timeouts_in_row: 0,
            reduction: None,
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
        self.segment_bytes = u64::from(negotiated.mss);
        (self.right_edge, self.max_window) = (right_edge, right_edge);
        if let Some(ns3) = &mut self.ns3 {
            ns3.allow(right_edge);
        }
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
        if let Some(ns3) = &mut self.ns3 {
            ns3.allow(self.right_edge);
        }
    }

    /// The application wrote `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closed);
        self.note_app_limit();
        self.wrote_when_idle |= self.board.is_empty();
        self.stream_end = self.stream_end.saturating_add(bytes);
        self.note_writing_as_ns3();
    }

    /// The application will write no more; `is_answer` if the other end has closed before.
    pub fn close(&mut self, is_answer: bool) {
        self.closed = true;
        if let Some(ns3) = &mut self.ns3 {
            ns3.closes_second = is_answer;
        }
        self.note_writing_as_ns3();
    }

    /// The application stops now: what it has written but not sent is withdrawn.
    pub fn stop(&mut self) {
        self.stream_end = self.stream_end.min(self.snd_nxt);
        self.closed = true;
        if let Some(queue) = &mut self.queue {
            queue.cut(self.snd_nxt);
        }
        self.note_writing_as_ns3();
    }

    fn note_writing_as_ns3(&mut self) {
        if let Some(ns3) = &mut self.ns3 {
            ns3.wrote(self.stream_end);
        }
    }

    /// The handshake measured a round-trip time.
    pub fn sample_rtt(&mut self, rtt: Duration, now: Time) {
        let rtt = self.as_the_clock_has_it(rtt, now);
        self.rtt.sample(rtt, 0, 0);
        self.rtt.sample_min(rtt);
        if let Some(ns3) = &mut self.ns3 {
            ns3.round_trips.measure(rtt);
        }
    }

    /// The handshake took more than one try, so that it measured nothing.
    pub fn handshake_was_repeated(&mut self) {
        self.rtt.raise_initial(RTO_AFTER_REPEATED_SYN);
    }

    /// Whether this end of the connection is no longer there.
    pub fn is_gone(&self, now: Time) -> bool {
        self.ns3.as_ref().is_some_and(|ns3| ns3.is_gone(now))
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

    /// An acknowledgement arrived.
    pub fn handle_ack(&mut self, info: &AckInfo<'_>, now: Time) {
        if self.ns3.is_some() {
            return self.handle_ack_as_ns3(info, now);
        }
        if info.ack < self.board.una() {
            return self.handle_old_ack(info, now);
        }
        self.note_app_limit();
        let prior_flight = self.board.pipe();
        let window_moved = info.right_edge > self.right_edge;
        self.right_edge = self.right_edge.max(info.right_edge);
        self.max_window = self.max_window.max(info.right_edge - info.ack);
        if self.board.is_empty() {
            return self.handle_ack_of_nothing(info, now);
        }

        let mut news = News::default();
        let prior_una = self.board.una();
        self.learn(info, window_moved, now, &mut news);
        self.delivered += news.delivered;
        let counted = info.mark_count.map(|count| self.count_marks(count, &news));
        let rtt = self.measure_rtt(info, &news, now);
        let twice = info.duplicate.map_or(0, |range| self.note_duplicate(range, prior_una));
        if self.probe.is_out() {
            let flow = self.flow(prior_flight, now);
            self.end_probe(info, &news, window_moved, &flow);
        }
        let at_end = self.is_at_end_of_episode(info, &news);
        let undone = self.may_undo() && {
            let flow = self.flow(prior_flight, now);
            self.undo_if_spurious(info, &news, prior_una, at_end, &flow)
        };
        let leaving = at_end && !undone;
        let wait = self.find_losses(info, leaving, now, &mut news);
        self.lost += news.lost;
        // What arrived twice has left the network twice (Linux 6.1 `tcp_dsack_seen`).
        news.delivered += twice;
        self.delivered += twice;

        let entering = !leaving && self.enters_recovery(&news);
        let (congested, ce) =
            counted.unwrap_or((info.ece, if info.ece { news.delivered } else { 0 }));
        let marked = congested && !entering && matches!(self.phase, Phase::Open | Phase::Disorder);
        let mut flow = self.flow(prior_flight, now);
        // To Linux the acknowledgement that ends an episode and begins the next is in recovery all
        // along, and grows nothing (`tcp_fastretrans_alert` comes before `tcp_cong_control`).
        let by_prr = self.stack.recovery == Recovery::Prr;
        let goes_on = leaving && by_prr && self.has_further_losses();
        let left_with = (leaving && self.stack.grow_on_exit).then(|| self.leave_recovery());
        let mut ack = Ack {
            acked: news.acked,
            delivered: news.delivered,
            lost: news.lost,
            ce,
            rtt,
            one_way_delay_ms: info
                .timestamps
                .filter(|_| news.acked > 0)
                .map(|stamps| stamps.value.wrapping_sub(stamps.echo)),
            timestamps: info.timestamps,
            rate: None,
            may_grow: news.acked > 0
                && !entering
                && !goes_on
                && !marked
                && self.phase_allows_growth()
                && self.window_was_used(prior_flight),
        };
        if let Some(rate) = self.board.delivery_rate() {
            ack.rate = rate.sample(news.delivered, news.lost, flow.min_rtt, now);
        }
        match left_with {
            Some(cwnd) => {
                if self.stack.recovery == Recovery::Reno {
                    let segment = u64::from(self.stack.mss);
                    ack.acked = ack.acked.min(segment);
                    ack.delivered = ack.delivered.min(segment);
                }
                let next = self.cc_phase();
                self.cc.on_last_ack(&ack, cwnd, next, &flow);
                flow.phase = next;
            }
            None => self.cc.on_ack(&ack, &flow),
        }
        if leaving && !self.stack.grow_on_exit {
            let cwnd = self.leave_recovery();
            let in_flight = self.board.pipe();
            self.cc.on_recovered(cwnd, &Flow { phase: Phase::Open, in_flight, ..flow });
        }
        // Losses that were found in the episode that ends now, or by its last acknowledgement, of
        // data sent after it began, are the next episode's (RFC 6675 section 5).
        let next_episode = goes_on || leaving && !by_prr && self.has_further_losses();
        if entering || next_episode {
            self.react_to_loss(&flow, now);
        } else if marked {
            self.enter_cwr(Signal::Ecn, &flow);
        } else if self.phase == Phase::Open && self.cc.wants_reduction() {
            self.enter_cwr(Signal::Delay, &flow);
            // The algorithm is asked last: the reduction begins with the next acknowledgement.
            self.after_ack(&news, wait, now);
            return;
        }
        if self.reduction.is_some() {
            self.reduce_further(info, &news);
        }
        self.after_ack(&news, wait, now);
    }

    /// Whether losses remain when an episode ends. To Linux 6.1 those count that were sent again in
    /// that episode and have not arrived yet (`tcp_time_to_recover`).
    fn has_further_losses(&mut self) -> bool {
        if matches!(self.stack.recovery, Recovery::Prr | Recovery::RateHalving) {
            self.board.has_losses()
        } else {
            self.board.next_lost().is_some()
        }
    }

    /// What the acknowledgement says of each segment.
    #[inline(always)]
    fn learn(&mut self, info: &AckInfo<'_>, window_moved: bool, now: Time, news: &mut News) {
        let by_time = self.stack.loss_detection() == LossDetection::Rack;
        if by_time {
            let min_rtt = self.rtt.min_rtt();
            self.board.rack().begin(now, min_rtt, info.echo_ms);
        }
        if self.is_sack1() {
            self.learn_as_sack1(info, news);
            return;
        }
        let duplicate = info.ack == self.board.una() && info.pure && !window_moved;
        let highest = self.board.highest_sacked();
        if info.ack > self.board.una() {
            self.timeouts_in_row = 0;
            if self.stack.backoff_ends_with_any_ack {
                self.rtt.end_back_off();
            }
            self.board.acknowledge(info.ack, news);
        }
        if self.sack {
            for block in info.sack {
                self.board.sack(*block, news);
            }
            let counts = by_time || (self.stack.adaptive_reordering && self.phase != Phase::Loss);
            if counts && let Some(low) = news.late_from {
                let highest = highest.max(self.board.highest_sacked());
                self.board.note_reordering(low, highest);
            }
        } else if duplicate && self.duplicates_say_something() {
            self.board.duplicate(news);
        }
    }

    /// Whether duplicate acknowledgements without SACK mean that new data has arrived. Those after an
    /// episode may be of what it sent again (RFC 6582 section 3.2 step 2; Linux
    /// `tcp_is_non_sack_preventing_reopen`); after a timeout everything sent before it is out of the
    /// pipe, and the duplicates that it still brings about take nothing more out. No repair would follow
    /// from them, and a segment sent for each would leave more and more to the next timeout. To Linux
    /// they count in a timeout's episode once new data has left (`tcp_process_loss`).
    fn duplicates_say_something(&self) -> bool {
        match self.phase {
            Phase::Recovery => !self.is_held(),
            Phase::Loss => {
                !matches!(self.stack.recovery, Recovery::Rfc | Recovery::RateHalving)
                    && self.snd_nxt > self.recover
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                self.repaired_until.is_none_or(|end| self.board.una() > end)
                    || (self.stack.recovery == Recovery::Reno && !self.recovers_from_timeout)
            }
        }
    }

    /// Whether a count of marked packets reports new ones, and how many bytes of what was delivered. One
    /// that brings no other news may be late (RFC 9768 section 3.2.2.2).
    #[inline(never)]
    fn count_marks(&mut self, count: u8, news: &News) -> (bool, u64) {
        if news.acked == 0 && news.delivered == 0 {
            return (false, 0);
        }
        let before = std::mem::replace(&mut self.mark_count, count);
        // How many packets they were is not kept: at least so many.
        let packets = news.delivered.div_ceil(self.segment_bytes);
        let marked = ace::newly_marked(count, before, packets);
        if marked > 0 {
            self.undo.reduction_stands();
        }
        (marked > 0, (marked * self.segment_bytes).min(news.delivered))
    }

    fn is_at_end_of_episode(&self, info: &AckInfo<'_>, news: &News) -> bool {
        let ended = match self.phase {
            Phase::Open | Phase::Disorder => false,
            // The receiver has to see the sign of the reduction first (Linux 6.1
            // `tcp_fastretrans_alert`).
            Phase::Cwr if matches!(self.stack.recovery, Recovery::Prr | Recovery::RateHalving) => {
                info.ack > self.recover
            }
            Phase::Recovery if self.stack.recovery == Recovery::Reno => true,
            // Duplicates that the retransmissions brought about must not begin another
            // (`tcp_try_undo_recovery`; RFC 6582 says it with `recover`).
            Phase::Recovery if self.stack.recovery == Recovery::RateHalving && !self.sack => {
                info.ack > self.recover
            }
            Phase::Cwr | Phase::Recovery | Phase::Loss => info.ack >= self.recover,
        };
        ended && news.acked > 0
    }

    /// One step of a reduction under way.
    fn reduce_further(&mut self, info: &AckInfo<'_>, news: &News) {
        if self.is_held() {
            self.board.forget_duplicates();
            let in_flight = self.flight_segments();
            if let Some(Reduction::Halving(halving)) = &mut self.reduction {
                halving.allow_above(in_flight, u64::from(self.board.reordering()));
            }
            return;
        }
        // Without SACK a duplicate is news, too (`tcp_cwnd_down`).
        let duplicate = info.duplicate.is_some() || (!self.sack && info.pure);
        self.step(news, news.acked > 0 || news.delivered > 0 || duplicate);
    }

    /// Whether an episode without SACK goes on only until something sent after it is acknowledged.
    fn is_held(&self) -> bool {
        !self.sack && self.phase == Phase::Recovery && self.board.una() >= self.recover
    }

    fn step(&mut self, news: &News, says_something: bool) {
        let mss = u64::from(self.stack.mss);
        let progress = Progress {
            in_flight: self.flight_segments(),
            delivered: news.delivered.div_ceil(mss),
            advanced_without_loss: news.acked > 0 && news.lost == 0,
        };
        if let Some(reduction) = &mut self.reduction {
            reduction.acknowledged(progress, says_something);
        }
    }

    /// Sample for the timeout (earliest segment newly acknowledged, or else SACKed) and, returned,
    /// for the algorithm (latest; SACKed before acknowledged), as Linux takes them. Segments sent twice
    /// give none (Karn); then the echoed timestamp does (RFC 7323 section 4.2).
    fn measure_rtt(&mut self, info: &AckInfo<'_>, news: &News, now: Time) -> Option<Duration> {
        if self.is_sack1() && !self.measures_as_sack1(info, news) {
            return None;
        }
        if self.times_one_segment() {
            return self.end_timing(info.ack, now);
        }
        let timeout = news.acked_sent.or(news.sacked_sent).map(|sent| now.since(sent.earliest));
        let latest = news.sacked_sent.or(news.acked_sent).map(|sent| now.since(sent.latest));
        let echoed = info.timestamp_age.filter(|_| news.acked > 0);
        let (timeout, latest) = (timeout.or(echoed)?, latest.or(echoed)?);
        let timeout = self.as_the_clock_has_it(timeout, now);
        let latest = self.as_the_clock_has_it(latest, now);
        self.rtt.sample_min(latest);
        self.rtt.sample(timeout, self.board.una(), self.snd_nxt);
        if self.tells_age_of_last {
            // ns-2.35 `tcp/tcp-linux.cc`, `recv`: `tss` of the highest segment acknowledged.
            return news.last_sent.map(|sent| now.since(sent));
        }
        Some(latest)
    }

    /// A round trip that ends now, in whole ticks of a clock that is read at both ends of it.
    fn as_the_clock_has_it(&self, rtt: Duration, now: Time) -> Duration {
        let tick = self.stack.rtt_clock.as_nanos();
        if tick == 0 {
            return rtt;
        }
        let ended = now.as_nanos();
        let began = ended.saturating_sub(rtt.as_nanos());
        Duration::from_nanos((ended / tick - began / tick).max(1) * tick)
    }

    /// Whether the window may grow. RFC 7661 in Linux's form (`tcp_is_cwnd_limited`): a window that was not filled does not
    /// grow, except below the threshold where half of it used is enough.
    fn window_was_used(&self, prior_flight: u64) -> bool {
        let cwnd = self.cwnd();
        if self.stack.cwnd_clamp.is_some_and(|n| cwnd >= u64::from(n) * u64::from(self.stack.mss)) {
            return false;
        }
        if self.stack.grow_when_unused {
            return true;
        }
        if self.stack.cwnd_validation {
            return self.validation.allows_growth(cwnd, self.cc.ssthresh());
        }
        let mss = u64::from(self.stack.mss);
        if self.stack.recovery == Recovery::RateHalving {
            return self.was_nearly_full(prior_flight, cwnd);
        }
        prior_flight + mss > cwnd
            || (self.stack.recovery != Recovery::TcpLinux
                && cwnd < self.cc.ssthresh()
                && cwnd < 2 * prior_flight)
    }

    /// Linux before 3.1 (2.6.27 `net/ipv4/tcp_cong.c`, `tcp_is_cwnd_limited`): a burst is not worth
    /// waiting for.
    fn was_nearly_full(&self, prior_flight: u64, cwnd: u64) -> bool {
        let mss = u64::from(self.stack.mss);
        let left = (cwnd / mss).saturating_sub(prior_flight.div_ceil(mss));
        left <= u64::from(self.board.reordering())
            || (self.stack.tso && 3 * left < cwnd / mss && left * mss < burst::MAX_DEVICE_BYTES)
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

    /// TCP-Linux knows no Disorder.
    fn cc_phase(&self) -> Phase {
        match self.stack.recovery {
            Recovery::TcpLinux => self.phase,
            Recovery::Rfc
            | Recovery::Sack1
            | Recovery::Prr
            | Recovery::RateHalving
            | Recovery::Reno
            | Recovery::Ns3 => self.phase(),
        }
    }

    fn flow(&self, flight_size: u64, now: Time) -> Flow {
        Flow {
            now,
            mss: self.stack.mss,
            flight_size,
            in_flight: self.board.pipe(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            snd_una: self.board.una(),
            snd_nxt: self.snd_nxt,
            snd_max: self.snd_nxt,
            delivered: self.delivered,
            lost: self.lost,
            pacing_delay: self.pacer.delay(now),
            phase: self.cc_phase(),
        }
    }
}
