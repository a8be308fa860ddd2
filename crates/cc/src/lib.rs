//! Congestion control: the algorithms, and the few pieces they share.
//!
//! The TCP endpoint owns everything that happens on the wire (loss detection, recovery, timers,
//! pacing); an algorithm owns how the congestion window grows and how far it backs off. An
//! algorithm sees two plain structs, [`Flow`] and [`Ack`], and never a packet, a clock or a
//! random number, so the same code runs in the simulator, in a unit test and in a notebook.
//!
//! Loss- and delay-based algorithms are a [`Rule`]: growth and back-off, nothing else. The
//! shared wrapper [`Windowed`] adds slow start, undo and the minimum window.

mod algorithms;
mod cube_root;
mod hystart;
mod linux;
mod registry;
mod slow_start;
#[cfg(test)]
mod testing;
mod window;

pub use hystart::HyStart;
pub use registry::{
    Algorithm, CcError, Family, Init, Param, Params, Selection, SignalKind, Variant, algorithms,
    create,
};
pub use slow_start::{SlowStart, SlowStartError};
pub use window::{Rule, Window, Windowed};

use fairway_units::{Duration, Time};

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
    /// Bytes sent and not yet known to have left the network, before this event (RFC 6675 pipe).
    pub flight_size: u64,
    /// Smoothed round-trip time, if there has been a sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// First unacknowledged byte of the stream, after this event.
    pub snd_una: u64,
    /// Next new byte of the stream to be sent.
    pub snd_nxt: u64,
    /// Bytes delivered to the receiver so far, in order or not.
    pub delivered: u64,
    /// What the sender is doing about loss.
    pub phase: Phase,
}

impl Flow {
    /// Bytes sent and not yet acknowledged cumulatively (RFC 5681 FlightSize).
    pub fn unacknowledged(&self) -> u64 {
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
    /// Round-trip time that this acknowledgement measured.
    pub rtt: Option<Duration>,
    /// Whether the stack allows growth on this acknowledgement: its phase permits it and the
    /// window was in use when the acknowledgement arrived.
    pub may_grow: bool,
}

/// Why the window has to be reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A segment was found lost.
    Loss,
    /// The receiver echoed a congestion mark.
    Ecn,
}

/// A congestion-control algorithm. All windows are in bytes.
pub trait CongestionControl: Send {
    /// Congestion window in bytes.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes; `u64::MAX` while it is infinite.
    fn ssthresh(&self) -> u64;

    /// An acknowledgement arrived. Called for every one that is not older than `snd_una`.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow);

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
    fn on_idle(&mut self, idle: Duration, rto: Duration, restart_window: u64, flow: &Flow);
}
