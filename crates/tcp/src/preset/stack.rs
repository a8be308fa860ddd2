//! The switches of a stack, grouped by subject. A field has the name of its key in experiment
//! files.

use fairway_cc::{Init, SlowStart, Variant};
use fairway_units::Duration;

use crate::sender::{Policy, RecoveryPolicy};
use crate::{EcnMode, Recovery, TimerWheel};

use super::{DelayedAck, LossDetection, Nagle};

/// Every switch of the endpoint. A preset sets them all; an experiment may set each alone.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    /// The congestion window: how it starts, and when it may grow.
    pub window: Window,
    /// Options of segments, and their size.
    pub options: Options,
    /// Buffers and the window offered.
    pub buffers: Buffers,
    /// When the receiver acknowledges.
    pub acks: Acks,
    /// Loss detection and recovery.
    pub losses: Losses,
    /// Round-trip times and the retransmission timer.
    pub rto: Rto,
    /// Bursts and their timing.
    pub sending: Sending,
}

/// Switches of the congestion window.
#[derive(Clone, PartialEq, Debug)]
pub struct Window {
    /// Version of an algorithm if the experiment names none.
    pub cc_variant: Variant,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold in segments, if not infinite.
    pub initial_ssthresh: Option<u32>,
    /// Exceptions for particular algorithms, by name.
    pub initial_ssthresh_of: &'static [(&'static str, u32)],
    /// Slow start, if not the algorithm's own.
    pub slow_start: Option<SlowStart>,
    /// Reduce the window after an idle period, by half for each RTO (RFC 2861, as Linux does; RFC
    /// 5681 section 4.1 returns to the initial window at once).
    pub slow_start_after_idle: bool,
    /// Grow only if the window was full when sending ended (Linux 6.1 `net/ipv4/tcp_output.c`,
    /// `tcp_cwnd_validate`), instead of when the acknowledgement arrived.
    pub cwnd_validation: bool,
    /// Upper bound of window growth in segments, if limited.
    pub cwnd_clamp: Option<u32>,
    /// Whether the window grows even if it was not filled (as before RFC 2861).
    pub grow_when_unused: bool,
    /// Whether the acknowledgement that ends recovery also grows the window (Linux 6.1 does).
    pub grow_on_exit: bool,
    /// A congestion mark reduces the window less than a loss does (alternative back-off with ECN, RFC
    /// 8511), with algorithms that have a factor for it.
    pub abe: bool,
}

/// Switches of segments.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Payload bytes of a full segment, without options.
    pub mss: u32,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Report duplicate data (D-SACK, RFC 2883).
    pub dsack: bool,
    /// Timestamp option (RFC 7323).
    pub timestamps: bool,
    /// With timestamps, reject segments older than acknowledged ones (PAWS, protection against
    /// wrapped sequence numbers, RFC 7323 section 5).
    pub paws: bool,
    /// Window scale option (RFC 7323).
    pub window_scaling: bool,
    /// Explicit congestion notification, if the peer accepts it.
    pub ecn: EcnMode,
}

/// Switches of buffers.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffers {
    /// Send buffer in bytes: unacknowledged and unsent data; with `write_queue`, its memory.
    pub send_buffer: u64,
    /// Whether the send buffer grows with the congestion window, up to `send_buffer` (Linux
    /// `tcp_sndbuf_expand`).
    pub send_buffer_tuning: bool,
    /// With `tso`, whether data is queued in buffers of limited size (Linux `struct sk_buff`): no
    /// burst spans two of them, and their memory fills the send buffer.
    pub write_queue: bool,
    /// Bytes for headers in a kernel buffer, which depend on the kernel's build (`MAX_TCP_HEADER`).
    pub header_room: u64,
    /// Receive buffer in bytes; the largest window offered is a share of it.
    pub receive_buffer: u64,
    /// Whether the window offered grows with the connection, up to that share
    /// (net.ipv4.tcp_moderate_rcvbuf).
    pub receive_window_tuning: bool,
    /// Divisor of the receive buffer that gives the window (Linux `tcp_adv_win_scale` 1: half).
    pub window_divisor: u32,
    /// With `receive_window_tuning`, whether that share is only the first, and then what full
    /// segments have of their memory (since Linux 6.6, `scaling_ratio`).
    pub receive_scaling: bool,
}

/// Switches of acknowledgements.
#[derive(Clone, PartialEq, Debug)]
pub struct Acks {
    /// When data in order is acknowledged.
    pub delayed_ack: DelayedAck,
    /// Full segments per acknowledgement, with [`DelayedAck::Counted`].
    pub ack_every: u32,
    /// Whether such an acknowledgement is sent at a multiple of its delay on the clock, as by BSD's
    /// fast timer, not the whole delay after its segment.
    pub ack_heartbeat: bool,
    /// Whether the first segment of data is acknowledged at once, with [`DelayedAck::Counted`].
    pub ack_first_at_once: bool,
    /// Longest delay of acknowledgements of out-of-order data, so that one is sent for several
    /// (net.ipv4.tcp_comp_sack_delay_ns); zero for none.
    pub ack_compression: Duration,
}

/// Switches of loss detection and recovery.
#[derive(Clone, PartialEq, Debug)]
pub struct Losses {
    /// Recovery policy.
    pub recovery: Recovery,
    /// Forward acknowledgement instead of RFC 6675 ([`LossDetection`]).
    pub fack: bool,
    /// Loss detection by time instead ([`LossDetection::Rack`]).
    pub rack: bool,
    /// Segments of reordering tolerated: the duplicate-acknowledgement threshold (RFC 5681: 3).
    pub reordering: u32,
    /// Whether observed reordering raises the tolerance and ends forward acknowledgement, as in
    /// Linux before RACK (2.6.27 `net/ipv4/tcp_input.c`, `tcp_update_reordering`). RACK adapts by
    /// itself.
    pub adaptive_reordering: bool,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Tail loss probe if no acknowledgement arrives (RFC 8985 section 7; Linux 6.1
    /// `net/ipv4/tcp_output.c`, `tcp_schedule_loss_probe`). Needs SACK.
    pub tail_loss_probe: bool,
    /// F-RTO: send new data after a timeout to detect whether it was spurious (RFC 5682; Linux 6.1
    /// `net/ipv4/tcp_input.c`, `tcp_process_loss`). Needs SACK.
    pub frto: bool,
    /// Undo spurious reductions, detected by timestamps (RFC 3522) or D-SACKs (RFC 3708), as Linux
    /// does.
    pub undo: bool,
    /// Whether every timeout lowers the threshold, not only the first for the same data (RFC 5681
    /// section 3.1).
    pub reduce_on_every_timeout: bool,
}

/// Switches of the retransmission timeout (RFC 6298).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rto {
    /// Lower bound.
    pub rto_min: Duration,
    /// How many timeouts of a SYN do not double the next (since Linux 6.5,
    /// net.ipv4.tcp_syn_linear_timeouts).
    pub syn_linear_timeouts: u32,
    /// Upper bound, backed off or not.
    pub rto_max: Duration,
    /// Timeout before the first RTT sample.
    pub rto_initial: Duration,
    /// Clock granularity G of RFC 6298.
    pub rto_granularity: Duration,
    /// Linux's form: the lower bound applies to the variance term (`tcp_input.c`,
    /// `tcp_rtt_estimator`), so the timeout is srtt + max(4·rttvar, min).
    pub rto_min_bounds_variance: bool,
    /// ns-2's form, that of 4.3BSD: RTTs are measured in whole ticks of `rto_granularity`, and
    /// averages stored in eighths and quarters of a tick (ns-2.35 `tcp/tcp.cc`, `rtt_update`).
    /// Without `rto_min_bounds_variance`.
    pub rto_in_ticks: bool,
    /// Whether every acknowledgement restarts the retransmission timer (ns-2.35 `tcp-linux.cc`,
    /// `time_processing`), not only those of new data (RFC 6298 rule 5.3).
    pub rto_restart_on_every_ack: bool,
    /// Whether, in recovery, only the first acknowledgement of new data restarts the retransmission
    /// timer, and the fast retransmit does not (RFC 6582 section 4, the Impatient variant).
    pub rto_impatient: bool,
    /// Whether any acknowledgement of new data ends the back-off, not only one with an RTT sample
    /// (RFC 6298 section 5).
    pub backoff_ends_with_any_ack: bool,
    /// Tick of the clock that measures RTTs, at least one tick each; zero for exact times.
    pub rtt_clock: Duration,
    /// Timers as coarse as in Linux ([`TimerWheel`]).
    pub timer_wheel: bool,
}

/// Switches of sending.
#[derive(Clone, PartialEq, Debug)]
pub struct Sending {
    /// When small segments of a slow application are held back.
    pub nagle: Nagle,
    /// Segments are sent in bursts, which may be deferred to grow (Linux 6.1
    /// `net/ipv4/tcp_output.c`, `tcp_tso_autosize`, `tcp_tso_should_defer`).
    pub tso: bool,
    /// Whether bursts are about a millisecond of the pacing rate (since Linux 3.12,
    /// `tcp_tso_autosize`), instead of a device's largest burst or a third of the window.
    pub tso_autosizing: bool,
    /// With `write_queue`, whether a burst may take the data of the next buffer too (Linux 6.12,
    /// `tcp_grow_skb`).
    pub tso_fill: bool,
    /// Most segments sent in answer to one event, if limited.
    pub max_burst: Option<u32>,
    /// Greatest random delay of each departure, uniform and order-preserving (ns-2 `overhead_`);
    /// zero for none.
    pub send_jitter: Duration,
}

impl Stack {
    /// The stack with some switches changed.
    pub fn with(mut self, set: impl FnOnce(&mut Stack)) -> Stack {
        set(&mut self);
        self
    }

    /// Initial values for the algorithm `cc` on a connection of this stack.
    pub fn init(&self, cc: &str) -> Init {
        let mss = self.options.mss;
        let segments = |n: u32| u64::from(n) * u64::from(mss);
        let exception = self.window.initial_ssthresh_of.iter().find(|(name, _)| *name == cc);
        let ssthresh = exception.map(|(_, n)| *n).or(self.window.initial_ssthresh);
        Init {
            mss,
            initial_window: segments(self.window.initial_window),
            initial_ssthresh: ssthresh.map(segments),
            slow_start: self.window.slow_start.clone(),
            seed: 0,
            coupling: None,
            abe: self.window.abe,
        }
    }

    /// Whether the congestion window is inflated while losses are repaired, with or without `sack`.
    pub fn inflates(&self, sack: bool) -> bool {
        Policy::new(self).inflates(sack)
    }

    /// How the sender detects losses.
    pub fn loss_detection(&self) -> LossDetection {
        let Losses { recovery, fack, rack, adaptive_reordering, .. } = self.losses;
        match (rack, fack) {
            _ if recovery == Recovery::Sack1 => LossDetection::Rfc6675,
            (true, _) => LossDetection::Rack,
            (false, true) if adaptive_reordering => LossDetection::LinuxFack,
            (false, true) => LossDetection::Fack,
            (false, false) => LossDetection::Rfc6675,
        }
    }

    /// How precisely timers fire.
    pub fn timers(&self) -> TimerWheel {
        if self.rto.timer_wheel { TimerWheel::Linux } else { TimerWheel::Exact }
    }

    /// Whether the whole endpoint is ns-3.29's.
    pub(crate) fn is_ns3(&self) -> bool {
        self.losses.recovery == Recovery::Ns3
    }
}
