//! Congestion control: the algorithms, and the few pieces they share.
//!
//! The TCP endpoint owns everything that happens on the wire (loss detection, recovery, timers,
//! pacing); an algorithm owns how the congestion window grows and how far it backs off. An
//! algorithm sees two plain structs, [`Flow`] and [`Ack`], and never a packet or a clock; its random
//! numbers follow from a seed. So the same code runs in the simulator, in a unit test and in a
//! notebook.
//!
//! Loss- and delay-based algorithms are a [`Rule`]: growth and back-off, nothing else. The
//! shared wrapper [`Windowed`] adds slow start, undo and the minimum window.

mod algorithms;
mod bandwidth;
mod base_delay;
mod bbr3_model;
mod bbr_model;
mod bbr_window;
mod catalogue;
mod cdg_hystart;
mod coupled;
mod coupling;
mod cube_root;
mod delivery;
pub mod equations;
pub mod filter;
mod gradient;
mod hystart;
mod hystart_plus_plus;
mod linux;
mod marks;
mod namesakes;
mod ns2;
mod ns3;
mod policer;
pub mod probe;
mod registry;
mod round;
mod shadow;
mod slow_start;
#[cfg(test)]
mod test_path;
#[cfg(test)]
mod testing;
mod window;

pub use catalogue::{Catalogue, Foreign};
pub use coupling::{Coupling, Member, Subflow};
pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;
pub use namesakes::Namesake;
pub use registry::{
    Algorithm, CcError, Family, Init, Param, Params, Selection, Variant, Vector, algorithms,
    create, default_of,
};
pub use slow_start::{SlowStart, SlowStartError};
pub use window::{Rule, Window, Windowed};

use fairway_units::{Duration, Rate, Time};

/// What the sender is doing about loss, in the words of Linux's `tcp_ca_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Duplicate or selective acknowledgements have come, but nothing is marked lost yet.
    Disorder,
    /// The window is being reduced for a congestion mark, not a loss.
    Cwr,
    /// Fast retransmit and recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// What an algorithm may know about its connection when it is told of an event.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Simulated time of the event.
    pub now: Time,
    /// Sender maximum segment size in bytes (RFC 5681 SMSS).
    pub mss: u32,
    /// Bytes sent and not known to have left the network, before this event (RFC 6675 pipe).
    pub pipe: u64,
    /// The same after this event.
    pub in_flight: u64,
    /// Smoothed round-trip time, if there has been a sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// First unacknowledged byte of the stream, after this event.
    pub snd_una: u64,
    /// Next new byte of the stream to be sent.
    pub snd_nxt: u64,
    /// End of what has been sent of the stream (RFC 793's highest sequence number), where a stack takes
    /// `snd_nxt` back for retransmissions; the same where it does not.
    pub snd_max: u64,
    /// Bytes delivered to the receiver so far, in order or not.
    pub delivered: u64,
    /// Bytes marked lost so far, each time they were.
    pub lost: u64,
    /// How long pacing holds the next segment back, from now on; zero if it may leave.
    pub pacing_delay: Duration,
    /// What the sender is doing about loss.
    pub phase: Phase,
}

impl Flow {
    /// Bytes sent and not yet acknowledged cumulatively (RFC 5681 FlightSize).
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt.saturating_sub(self.snd_una)
    }
}

/// One arriving acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Bytes newly acknowledged cumulatively.
    pub acked: u64,
    /// Bytes newly delivered: cumulatively acknowledged and not selectively before, or newly SACKed.
    pub delivered: u64,
    /// Bytes newly marked lost by this acknowledgement.
    pub lost: u64,
    /// Of the bytes newly delivered, those whose acknowledgement echoed a congestion mark. Known to the
    /// byte only where the receiver says it for each segment ([`EcnFeedback::Accurate`]).
    pub ce: u64,
    /// Round-trip time that this acknowledgement measured. In ns-2.35's TCP-Linux, for algorithms with
    /// [`Needs::send_times`], it is the time since the last segment acknowledged was last sent, even if
    /// that was SACKed a round trip ago.
    pub rtt: Option<Duration>,
    /// Time the acknowledged data took to the receiver, from the timestamp option (RFC 7323): the
    /// receiver's clock less the sender's, in milliseconds. The clocks are not set alike, so only
    /// differences of two such values mean something; take them with `wrapping_sub`. Only
    /// acknowledgements of new data have it: the others echo an old timestamp.
    pub one_way_delay_ms: Option<u32>,
    /// The timestamp option, if it is in use: as it arrived, whether or not it is an old one.
    pub timestamps: Option<Timestamps>,
    /// Delivery rate, if the algorithm asked for it ([`Needs::rate_samples`]) and this
    /// acknowledgement measured it.
    pub rate: Option<RateSample>,
    /// Whether the stack allows growth on this acknowledgement: its phase permits it and the
    /// window was in use when the acknowledgement arrived.
    pub may_grow: bool,
}

/// The timestamp option of an acknowledgement (RFC 7323 section 3), ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The receiver's clock when it sent the acknowledgement, offset and all.
    pub value: u32,
    /// This end's clock when it sent what is echoed, less the offset that its timestamps have.
    pub echo: u32,
}

/// What one acknowledgement says about the rate of delivery
/// (draft-ietf-ccwg-bbr section 4.1, Linux 6.1 `net/ipv4/tcp_rate.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered between the sending of the latest segment now delivered and now.
    pub delivered: u64,
    /// The longer of the time it took to send them and the time it took to have them
    /// acknowledged; zero if that is shorter than the smallest round-trip time, which means that the
    /// sample says nothing.
    pub interval: Duration,
    /// [`Flow::delivered`] when that segment was sent: a round trip ends when this reaches what
    /// had been delivered at its start.
    pub prior_delivered: u64,
    /// When that segment was sent.
    pub sent_at: Time,
    /// Bytes in flight when it had been sent, itself included.
    pub prior_in_flight: u64,
    /// Bytes marked lost since then.
    pub lost: u64,
    /// Whether the application had nothing to send then, so that the rate may be its own.
    pub app_limited: bool,
}

impl RateSample {
    /// Bytes a second, if the sample says it.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let interval_s = self.interval.as_secs_f64();
        (interval_s > 0.0).then(|| self.delivered as f64 / interval_s)
    }
}

/// What an algorithm asks of its stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Delivery-rate samples with acknowledgements, which cost time and memory for each segment.
    pub rate_samples: bool,
    /// Congestion marks, whatever the stack's own switch says.
    pub ecn: EcnFeedback,
    /// Round-trip times from the times of sending that the stack keeps for the algorithm (Linux 2.6.22
    /// `TCP_CONG_RTT_STAMP`). Only ns-2.35's TCP-Linux makes a difference: see [`Ack::rtt`].
    pub send_times: bool,
}

impl Needs {
    /// [`Needs::send_times`] alone.
    pub const SEND_TIMES: Needs =
        Needs { rate_samples: false, ecn: EcnFeedback::Stack, send_times: true };
}

/// How the receiver echoes congestion marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// As the stack's switch says: not at all, or until the sender says that it reduced (RFC 3168).
    #[default]
    Stack,
    /// Marks are on, and each acknowledgement echoes whether what it acknowledges was marked
    /// (RFC 8257 section 3.2).
    Accurate,
    /// The same; and where both ends count marks (RFC 9768), packets say that their sender answers the
    /// share of marks: they carry ECT(1), which queues of low latency go by (RFC 9331 section 4.1).
    Scalable,
}

impl EcnFeedback {
    /// Whether the algorithm asks for an echo of each mark.
    pub fn is_accurate(self) -> bool {
        self != EcnFeedback::Stack
    }
}

/// Why the window has to be reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A segment was found lost.
    Loss,
    /// The receiver echoed a congestion mark.
    Ecn,
    /// The algorithm itself asked for it ([`CongestionControl::wants_reduction`]).
    Delay,
}

/// A congestion-control algorithm. All windows are in bytes.
pub trait CongestionControl: Send {
    /// Congestion window in bytes.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes; `u64::MAX` while it is infinite.
    fn ssthresh(&self) -> u64;

    /// What the algorithm asks of its stack. Asked once, at the start.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The rate at which segments leave at most; none for as fast as the window allows. Their
    /// payload counts, their headers do not. Asked whenever a segment leaves.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether to reduce the window now, for a reason of the algorithm's own. Asked after every
    /// [`CongestionControl::on_ack`] outside an episode of congestion; if so,
    /// [`CongestionControl::on_congestion`] follows with [`Signal::Delay`] and an episode begins.
    fn wants_reduction(&self) -> bool {
        false
    }

    /// Whether a loss lowers the window at once, and nothing but acknowledgements raises it. An
    /// algorithm that follows a model of its path may say no: then the conformance suite does not
    /// hold it to that.
    fn answers_loss(&self) -> bool {
        true
    }

    /// Whether the algorithm says itself what the window is while losses are repaired, where others
    /// leave that to the stack (Linux `cong_control`). Asked at every reduction.
    fn controls_recovery(&self) -> bool {
        !self.answers_loss()
    }

    /// Whether a loss throws the connection back to slow start from the first unacknowledged byte,
    /// without fast recovery (Tahoe). The algorithm is then told of it by
    /// [`CongestionControl::on_rto`]. Asked once, at the start.
    fn restarts_after_loss(&self) -> bool {
        false
    }

    /// A lower bound of the retransmission timeout in place of the stack's. Asked at the start, and
    /// whenever the timer starts; none leaves the bound as it is.
    fn min_rto(&self) -> Option<Duration> {
        None
    }

    /// Windows that a send buffer has room for, if it grows with the window (Linux `sndbuf_expand`).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// The handshake is over, before anything is sent: `flow` has the round-trip time that it measured,
    /// if it did (Linux `init`).
    fn on_established(&mut self, _flow: &Flow) {}

    /// An acknowledgement arrived. Called for every one that is not older than `snd_una`.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow);

    /// An acknowledgement arrived that ends an episode, on a stack that lets it grow the window: it is a
    /// sample of the episode, and grows the window that the episode has left. For
    /// [`CongestionControl::on_ack`] with [`CongestionControl::on_recovered`] in between; `flow` has the
    /// phase of the episode, and `next` is what follows: [`Phase::Open`], or [`Phase::Disorder`].
    fn on_last_ack(&mut self, ack: &Ack, cwnd: u64, next: Phase, flow: &Flow) {
        let flow = Flow { phase: next, ..*flow };
        self.on_recovered(cwnd, &flow);
        self.on_ack(ack, &flow);
    }

    /// Congestion was found: once per episode, before anything is retransmitted.
    fn on_congestion(&mut self, signal: Signal, flow: &Flow);

    /// The episode is over; `cwnd` in bytes is the window with which the stack leaves it.
    fn on_recovered(&mut self, cwnd: u64, flow: &Flow);

    /// The retransmission timer expired. `first` is false when the same data times out again
    /// and the stack keeps its threshold (RFC 5681 section 3.1); a stack that asks for a new one
    /// every time, as ns-2.35's TCP-Linux does, always says true.
    fn on_rto(&mut self, first: bool, flow: &Flow);

    /// The last reduction was for nothing: nothing had been lost.
    fn on_spurious(&mut self, flow: &Flow);

    /// Sending resumes after `idle` without anything outstanding; `restart_window` in bytes is
    /// the floor (RFC 5681 section 4.1) and `rto` the current retransmission timeout.
    fn on_idle(&mut self, _idle: Duration, _rto: Duration, _restart_window: u64, _flow: &Flow) {}

    /// A segment is about to leave with nothing in the network, `idle` after the one before: after a
    /// pause of any length, or a timeout (Linux `CA_EVENT_TX_START`). `app_limited`: the application
    /// had nothing to send of late, which is known where rate samples are taken. If the pause was long,
    /// [`CongestionControl::on_idle`] has been called before.
    fn on_transmit_start(&mut self, _idle: Duration, _app_limited: bool, _flow: &Flow) {}
}
