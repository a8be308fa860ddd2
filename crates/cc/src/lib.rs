//! Congestion control: the algorithms and the components they share.
//!
//! The TCP endpoint does everything on the wire (loss detection, recovery, timers, pacing); an
//! algorithm decides how the congestion window grows and how far it backs off. It sees two plain
//! structs, [`Flow`] and [`Ack`], and never a packet or a clock; its random numbers follow from a
//! seed. So the same code runs in the simulator, in a unit test and in a notebook.
//!
//! Loss- and delay-based algorithms are a [`Rule`]: growth and back-off. The shared wrapper
//! [`Windowed`] adds slow start, undo and the minimum window.

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

pub use catalogue::{Catalogue, Foreign, OF_KERNEL};
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

/// State of loss recovery, named as in Linux's `tcp_ca_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// Normal operation.
    #[default]
    Open,
    /// Duplicate or selective acknowledgements have arrived, but nothing is marked lost yet.
    Disorder,
    /// The window is being reduced for a congestion mark, not a loss.
    Cwr,
    /// Fast retransmit and recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// State of the connection that an algorithm sees at each event.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Simulated time of the event.
    pub now: Time,
    /// Sender maximum segment size in bytes (RFC 5681 SMSS).
    pub mss: u32,
    /// Bytes sent and not known to have left the network, before this event (RFC 6675 pipe).
    pub pipe: u64,
    /// The pipe after this event.
    pub in_flight: u64,
    /// Smoothed round-trip time, if there has been a sample.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// First unacknowledged byte of the stream, after this event.
    pub snd_una: u64,
    /// Next byte of the stream to be sent.
    pub snd_nxt: u64,
    /// End of the data sent. Differs from `snd_nxt` only in stacks that move that back for
    /// retransmissions (RFC 793's highest sequence number).
    pub snd_max: u64,
    /// Bytes delivered to the receiver so far, in order or not.
    pub delivered: u64,
    /// Bytes marked lost so far, counted each time.
    pub lost: u64,
    /// Time until pacing allows the next segment.
    pub pacing_delay: Duration,
    /// State of loss recovery.
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
    /// Bytes newly delivered: acknowledged and not SACKed before, or newly SACKed.
    pub delivered: u64,
    /// Bytes newly marked lost by this acknowledgement.
    pub lost: u64,
    /// Newly delivered bytes whose acknowledgement echoed a congestion mark. Exact only if the
    /// receiver echoes each mark ([`EcnFeedback::Accurate`]).
    pub ce: u64,
    /// Round-trip time measured by this acknowledgement. In ns-2.35's TCP-Linux, for algorithms
    /// with [`Needs::send_times`], the time since the highest segment acknowledged was last sent,
    /// even if that was SACKed a round trip ago.
    pub rtt: Option<Duration>,
    /// One-way delay of the acknowledged data from the timestamp option (RFC 7323): the receiver's
    /// clock minus the sender's, in milliseconds. The clocks are not synchronised, so only
    /// differences of two such values are meaningful; compute them with `wrapping_sub`. Only
    /// acknowledgements of new data have it: others echo an old timestamp.
    pub one_way_delay_ms: Option<u32>,
    /// The timestamp option as received, if in use, even if it echoes an old timestamp.
    pub timestamps: Option<Timestamps>,
    /// Delivery-rate sample, if the algorithm asks for it ([`Needs::rate_samples`]) and this
    /// acknowledgement gives one.
    pub rate: Option<RateSample>,
    /// Whether the phase behind this acknowledgement lets the data grow the window that it acknowledges;
    /// in Linux also the data that it SACKs, on a path known to reorder (`tcp_may_raise_cwnd`).
    pub may_raise: bool,
    /// Whether the window grows: it may be raised, and was used (RFC 7661).
    pub may_grow: bool,
    /// Whether it acknowledges data and says nothing else: the same window as the one before, no SACK
    /// blocks, no mark (Linux's header prediction; all others go through its slow path).
    pub is_plain: bool,
}

/// The timestamp option of an acknowledgement (RFC 7323 section 3), ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The receiver's clock when it sent the acknowledgement, including its offset.
    pub value: u32,
    /// This end's clock when it sent the echoed segment, without its offset.
    pub echo: u32,
}

/// Delivery-rate sample of one acknowledgement (draft-ietf-ccwg-bbr section 4.1, Linux 6.1
/// `net/ipv4/tcp_rate.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered since the newest delivered segment was sent.
    pub delivered: u64,
    /// The longer of the send phase and the ACK phase of these bytes; zero, which makes the sample
    /// invalid, if that is shorter than the minimum RTT.
    pub interval: Duration,
    /// [`Flow::delivered`] when that segment was sent: a round trip ends when this reaches the
    /// value of [`Flow::delivered`] at its start.
    pub prior_delivered: u64,
    /// When that segment was sent.
    pub sent_at: Time,
    /// Bytes in flight when it was sent, including itself.
    pub prior_in_flight: u64,
    /// Bytes marked lost since then.
    pub lost: u64,
    /// Whether the sender was application-limited then, so that the rate may be below the path's.
    pub app_limited: bool,
}

impl RateSample {
    /// Bytes per second, if the sample is valid.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let interval_s = self.interval.as_secs_f64();
        (interval_s > 0.0).then(|| self.delivered as f64 / interval_s)
    }
}

/// Requirements of an algorithm on its stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Delivery-rate samples, which cost time and memory for each segment.
    pub rate_samples: bool,
    /// ECN feedback, regardless of the stack's own switch.
    pub ecn: EcnFeedback,
    /// RTTs from send times recorded for the algorithm (Linux 2.6.22 `TCP_CONG_RTT_STAMP`). It
    /// matters only in ns-2.35's TCP-Linux: see [`Ack::rtt`].
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
    /// As set by the stack's switch: none, or ECE until CWR (RFC 3168).
    #[default]
    Stack,
    /// ECN is on, and each acknowledgement echoes whether the acknowledged data was marked (RFC
    /// 8257 section 3.2).
    Accurate,
    /// As [`EcnFeedback::Accurate`]; with accurate ECN at both ends (RFC 9768), packets carry
    /// ECT(1), by which low-latency queues recognise scalable senders (RFC 9331 section 4.1).
    Scalable,
}

impl EcnFeedback {
    /// Whether the algorithm asks for an echo of each mark.
    pub fn is_accurate(self) -> bool {
        self != EcnFeedback::Stack
    }
}

/// Reason to reduce the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A segment was marked lost.
    Loss,
    /// The receiver echoed a congestion mark.
    Ecn,
    /// The algorithm asked for it ([`CongestionControl::wants_reduction`]).
    Delay,
}

/// What an algorithm answers between two events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// See [`CongestionControl::cwnd`].
    pub cwnd: u64,
    /// See [`CongestionControl::ssthresh`].
    pub ssthresh: u64,
    /// See [`CongestionControl::pacing_rate`].
    pub pacing_rate: Option<Rate>,
    /// See [`CongestionControl::wants_reduction`].
    pub wants_reduction: bool,
    /// See [`CongestionControl::min_rto`].
    pub min_rto: Option<Duration>,
}

/// A congestion-control algorithm. All windows are in bytes. Answers may change only at events, so a
/// stack asks for them once after each ([`CongestionControl::answer`]).
pub trait CongestionControl: Send {
    /// Congestion window in bytes.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes; `u64::MAX` while it is infinite.
    fn ssthresh(&self) -> u64;

    /// Requirements on the stack. Called once, at the start.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Pacing rate of payload, without headers; none for no pacing.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether the algorithm wants to reduce the window now. If true after an
    /// [`CongestionControl::on_ack`] outside a congestion episode,
    /// [`CongestionControl::on_congestion`] follows with [`Signal::Delay`] and an episode begins.
    fn wants_reduction(&self) -> bool {
        false
    }

    /// Whether a loss lowers the window at once, and only acknowledgements raise it. The
    /// conformance suite does not require that of model-based algorithms, which return false.
    fn answers_loss(&self) -> bool {
        true
    }

    /// Whether the algorithm, not the stack, sets the window during recovery (Linux
    /// `cong_control`). Called at every reduction.
    fn controls_recovery(&self) -> bool {
        !self.answers_loss()
    }

    /// Whether a loss restarts slow start from the first unacknowledged byte without fast recovery
    /// (Tahoe). A loss then calls [`CongestionControl::on_rto`]. Called once, at the start.
    fn restarts_after_loss(&self) -> bool {
        false
    }

    /// Lower bound of the retransmission timeout; none for the stack's.
    fn min_rto(&self) -> Option<Duration> {
        None
    }

    /// Write all that holds now.
    fn answer(&self, answers: &mut Answers) {
        *answers = Answers {
            cwnd: self.cwnd(),
            ssthresh: self.ssthresh(),
            pacing_rate: self.pacing_rate(),
            wants_reduction: self.wants_reduction(),
            min_rto: self.min_rto(),
        };
    }

    /// [`CongestionControl::on_ack`] and [`CongestionControl::answer`] in one call.
    fn take_ack(&mut self, ack: &Ack, flow: &Flow, answers: &mut Answers) {
        self.on_ack(ack, flow);
        self.answer(answers);
    }

    /// Size of a self-tuning send buffer in windows (Linux `sndbuf_expand`).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// The connection is established, before any data is sent; `flow` has the RTT of the handshake,
    /// if measured (Linux `init`).
    fn on_established(&mut self, _flow: &Flow) {}

    /// An acknowledgement arrived. Called for every one that is not older than `snd_una`.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow);

    /// An acknowledgement ended an episode, on a stack that lets it grow the window: it is a sample
    /// of the episode, and grows the window after it. It replaces [`CongestionControl::on_ack`]
    /// with [`CongestionControl::on_recovered`] in between; `flow` has the phase of the episode,
    /// and `next` is the phase after it: [`Phase::Open`] or [`Phase::Disorder`].
    fn on_last_ack(&mut self, ack: &Ack, cwnd: u64, next: Phase, flow: &Flow) {
        let flow = Flow { phase: next, ..*flow };
        self.on_recovered(cwnd, &flow);
        self.on_ack(ack, &flow);
    }

    /// Congestion was detected: once per episode, before any retransmission. If an acknowledgement
    /// detected it, [`CongestionControl::on_ack`] had that one first, in the phase before. `flow.lost`
    /// counts the new losses already. A tail loss that its probe repaired (RFC 8985 section 7) marks
    /// nothing lost and is reported before `on_ack`. Before [`CongestionControl::on_rto`] everything
    /// that timed out is marked.
    fn on_congestion(&mut self, signal: Signal, flow: &Flow);

    /// The episode ended; `cwnd` is the stack's window at its end, in bytes.
    fn on_recovered(&mut self, cwnd: u64, flow: &Flow);

    /// The retransmission timer expired. `first` is false if the same data times out again and the
    /// threshold stays (RFC 5681 section 3.1); it is always true in stacks that lower the threshold
    /// at every timeout, as ns-2.35's TCP-Linux.
    fn on_rto(&mut self, first: bool, flow: &Flow);

    /// The last reduction was spurious: nothing was lost.
    fn on_spurious(&mut self, flow: &Flow);

    /// Sending resumes after `idle` without outstanding data; `restart_window` in bytes is the
    /// lower bound (RFC 5681 section 4.1) and `rto` the current retransmission timeout.
    fn on_idle(&mut self, _idle: Duration, _rto: Duration, _restart_window: u64, _flow: &Flow) {}

    /// A segment is about to be sent with nothing in flight, `idle` after the one before: after an
    /// idle period of any length, or a timeout (Linux `CA_EVENT_TX_START`). `app_limited` is known
    /// only if rate samples are taken. After a long idle period [`CongestionControl::on_idle`] was
    /// called before.
    fn on_transmit_start(&mut self, _idle: Duration, _app_limited: bool, _flow: &Flow) {}
}
