//! Stack presets: tables of switches that make the one endpoint behave like a particular stack.
//!
//! To add a preset, write it beside its relatives and name it in [`PRESETS`]. To add a switch, add a
//! field to [`Stack`], a value with its source to every preset (the compiler and a test name those
//! that lack one), and a line to the table of switches in experiment files.

mod full_tcp;
mod linux;
mod linux_2_6;
mod ns2;
mod ns3;
mod rfc;
#[cfg(test)]
mod tests;

use fairway_cc::{Init, SlowStart, Variant};
use fairway_units::Duration;

use crate::sender::{Policy, RecoveryPolicy};
use crate::{EcnMode, Recovery, TimerWheel};

/// How the sender concludes that a segment is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
    /// RFC 6675 IsLost: more than two segments' worth SACKed above it, or three separate ranges;
    /// or three duplicate acknowledgements, for the first outstanding one (section 5 step 1).
    Rfc6675,
    /// Forward acknowledgement: everything more than `reordering` segments below the highest
    /// SACKed one; a retransmission is lost when something sent after it is SACKed, or when a
    /// retransmission more than `reordering` + 1 later is acknowledged
    /// (ns-2.35 `tcp/scoreboard1.cc`, `UpdateScoreBoard`).
    Fack,
    /// Forward acknowledgement as Linux had it before 4.15: everything `reordering` segments or more
    /// below the highest SACKed one; a retransmission is lost when something sent after it is SACKed.
    /// Ends when reordering is seen: then as `Rfc6675` (Linux 2.6.27 `net/ipv4/tcp_input.c`,
    /// `tcp_update_scoreboard`, `tcp_mark_lost_retrans`, `tcp_disable_fack`).
    LinuxFack,
    /// Whatever was sent before something that has arrived, once the time for reordering is over
    /// (RFC 8985; Linux 6.1 `net/ipv4/tcp_recovery.c`). Without SACK as in RFC 6582.
    Rack,
}

/// When the receiver acknowledges in-order data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayedAck {
    /// Every segment at once.
    Off,
    /// One for every [`Stack::ack_every`] full segments, or after the timeout (RFC 1122 section
    /// 4.2.3.2, RFC 5681 section 4.2: for every second).
    Counted {
        /// Longest delay of an acknowledgement.
        timeout: Duration,
    },
    /// As Linux does: at once while a connection is young, while the window opens and when the
    /// sender pauses; otherwise every second segment, or after 40 ms or more
    /// (`net/ipv4/tcp_input.c`, `tcp_event_data_recv` and `__tcp_ack_snd_check`).
    Linux,
}

/// What keeps small segments of a slow application back while data is outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nagle {
    /// Nothing: they leave at once (the socket option `TCP_NODELAY`).
    Off,
    /// Whatever is outstanding (RFC 9293 section 3.7.4, Nagle's algorithm).
    Rfc,
    /// Another small segment that is outstanding (Minshall's variant: Linux 6.1
    /// `net/ipv4/tcp_output.c`, `tcp_minshall_check`).
    Minshall,
}

impl Nagle {
    /// Every value with its name.
    pub const NAMES: &'static [(&'static str, Nagle)] =
        &[("off", Nagle::Off), ("rfc", Nagle::Rfc), ("minshall", Nagle::Minshall)];
}

/// Retransmission timeout policy (RFC 6298).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoPolicy {
    /// Before the first round-trip time sample.
    pub initial: Duration,
    /// Lower bound.
    pub min: Duration,
    /// Upper bound, backed off or not.
    pub max: Duration,
    /// Clock granularity G of RFC 6298.
    pub granularity: Duration,
    /// Linux's form: the variance term, not the sum, has the lower bound
    /// (`tcp_input.c`, `tcp_rtt_estimator`), so the timeout is srtt + max(4·rttvar, min).
    pub min_bounds_variance: bool,
    /// ns-2's form: round trips in whole ticks of the granularity (`tcp/tcp.cc`, `rtt_update`).
    pub in_ticks: bool,
}

/// Every switch of the endpoint. A preset sets them all; an experiment may set each alone, by the
/// name that its field has here.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    /// Whose version of an algorithm is taken where the experiment names none.
    pub cc_variant: Variant,
    /// Payload bytes of a full segment, options already taken off.
    pub mss: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold in segments, if not infinite.
    pub initial_ssthresh: Option<u32>,
    /// The same for particular algorithms, by name, where a preset makes exceptions.
    pub initial_ssthresh_of: &'static [(&'static str, u32)],
    /// Send buffer in bytes: unacknowledged and unsent data of the application; with `write_queue`, the
    /// memory that they take.
    pub send_buffer: u64,
    /// Whether the send buffer grows with the congestion window, up to `send_buffer`, instead of being all
    /// of that at once (Linux `tcp_sndbuf_expand`).
    pub send_buffer_tuning: bool,
    /// With `tso`, whether the application's data lie in buffers of limited size, over whose ends no burst
    /// reaches, and whose memory fills the send buffer (Linux `struct sk_buff`).
    pub write_queue: bool,
    /// Bytes that a buffer of the kernel has for headers, which depend on how it was built
    /// (`MAX_TCP_HEADER`).
    pub header_room: u64,
    /// Receive buffer in bytes, of which the largest window offered is a part.
    pub receive_buffer: u64,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Forward acknowledgement instead of RFC 6675 ([`LossDetection`]).
    pub fack: bool,
    /// Detection of losses by time instead ([`LossDetection::Rack`]).
    pub rack: bool,
    /// Timestamp option (RFC 7323).
    pub timestamps: bool,
    /// With timestamps, refusal of segments that are older than what was acknowledged (RFC 7323
    /// section 5: protection against wrapped sequence numbers).
    pub paws: bool,
    /// Window scale option (RFC 7323).
    pub window_scaling: bool,
    /// Delayed acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Full segments that one acknowledgement is for, where [`DelayedAck::Counted`] counts them.
    pub ack_every: u32,
    /// Whether such an acknowledgement leaves at a multiple of its delay on the clock, as by the
    /// fast timer of BSD, and not the whole delay after its segment.
    pub ack_heartbeat: bool,
    /// Whether the first segment of data is acknowledged at once, where [`DelayedAck::Counted`]
    /// counts them.
    pub ack_first_at_once: bool,
    /// Report of what arrives twice (RFC 2883, D-SACK).
    pub dsack: bool,
    /// Longest time for which acknowledgements of out-of-order data are held back, so that one
    /// speaks for several (net.ipv4.tcp_comp_sack_delay_ns); zero for none.
    pub ack_compression: Duration,
    /// Whether the window offered grows with the connection up to the receive buffer's
    /// (net.ipv4.tcp_moderate_rcvbuf), instead of being all of it at once.
    pub receive_window_tuning: bool,
    /// What keeps small segments of a slow application back.
    pub nagle: Nagle,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Segments of reordering tolerated: the duplicate-acknowledgement threshold (RFC 5681: 3).
    pub reordering: u32,
    /// Whether more is tolerated once it was seen, and forward acknowledgement then ends, as in Linux
    /// before RACK (2.6.27 `net/ipv4/tcp_input.c`, `tcp_update_reordering`). RACK adapts by itself.
    pub adaptive_reordering: bool,
    /// Window during recovery.
    pub recovery: Recovery,
    /// A probe of the tail when acknowledgements stay away (RFC 8985 section 7; Linux 6.1
    /// `net/ipv4/tcp_output.c`, `tcp_schedule_loss_probe`). Needs SACK.
    pub tail_loss_probe: bool,
    /// After a timeout, new data first, to see whether anything was lost at all (RFC 5682; Linux 6.1
    /// `net/ipv4/tcp_input.c`, `tcp_process_loss`). Needs SACK.
    pub frto: bool,
    /// Take a reduction back that was for nothing: by timestamps (RFC 3522) or duplicate SACKs
    /// (RFC 3708), as Linux does.
    pub undo: bool,
    /// Segments leave in bursts of about a millisecond, and wait for one another (Linux 6.1
    /// `net/ipv4/tcp_output.c`, `tcp_tso_autosize`, `tcp_tso_should_defer`).
    pub tso: bool,
    /// Whether those bursts are about a millisecond of the pacing rate (since Linux 3.12,
    /// `tcp_tso_autosize`), instead of whatever a device segments, a third of the window or more.
    pub tso_autosizing: bool,
    /// Growth only if the window was full when sending ended (Linux 6.1 `net/ipv4/tcp_output.c`,
    /// `tcp_cwnd_validate`), instead of when the acknowledgement came.
    pub cwnd_validation: bool,
    /// Timers as coarse as those of Linux ([`TimerWheel`]).
    pub timer_wheel: bool,
    /// Whether the window grows whether it was filled or not (as before RFC 2861).
    pub grow_when_unused: bool,
    /// Whether the acknowledgement that ends recovery also grows the window (Linux 6.1 does).
    pub grow_on_exit: bool,
    /// Whether each timeout lowers the threshold, and not only the first for the same data
    /// (RFC 5681 section 3.1).
    pub reduce_on_every_timeout: bool,
    /// Lower bound of the retransmission timeout (RFC 6298).
    pub rto_min: Duration,
    /// Its upper bound, backed off or not.
    pub rto_max: Duration,
    /// The timeout before the first round-trip time sample.
    pub rto_initial: Duration,
    /// Clock granularity G of RFC 6298.
    pub rto_granularity: Duration,
    /// Linux's form: the variance term, not the sum, has the lower bound
    /// (`tcp_input.c`, `tcp_rtt_estimator`), so the timeout is srtt + max(4·rttvar, min).
    pub rto_min_bounds_variance: bool,
    /// ns-2's form, which is that of 4.3BSD: round trips are measured in whole ticks of
    /// `rto_granularity`, and averages kept in eighths and quarters of one
    /// (ns-2.35 `tcp/tcp.cc`, `rtt_update`). Without `rto_min_bounds_variance`.
    pub rto_in_ticks: bool,
    /// Whether every acknowledgement restarts the retransmission timer (ns-2.35 `tcp-linux.cc`,
    /// `time_processing`), not only those of new data (RFC 6298 rule 5.3).
    pub rto_restart_on_every_ack: bool,
    /// Whether, in recovery, only the first acknowledgement of new data restarts the retransmission
    /// timer, and the fast retransmit does not (RFC 6582 section 4, the Impatient variant).
    pub rto_impatient: bool,
    /// Whether any acknowledgement of new data ends the back-off, and not only one that measures a
    /// round-trip time (RFC 6298 section 5).
    pub backoff_ends_with_any_ack: bool,
    /// Ticks of the clock by which round trips are measured, one at the least; zero for exactly.
    pub rtt_clock: Duration,
    /// Segments up to which acknowledgements let the congestion window grow, if limited.
    pub cwnd_clamp: Option<u32>,
    /// Most segments sent in answer to one event, if limited.
    pub max_burst: Option<u32>,
    /// Each departure is delayed by a uniform random time up to this, order kept
    /// (ns-2 `overhead_`); zero for none.
    pub send_jitter: Duration,
    /// Slow start; none for the algorithm's own.
    pub slow_start: Option<SlowStart>,
    /// Explicit congestion notification, if the other end agrees.
    pub ecn: EcnMode,
    /// A congestion mark reduces the window less than a loss does (alternative back-off with ECN, RFC
    /// 8511), with algorithms that have a factor for it.
    pub abe: bool,
    /// Which share of the receive buffer is offered as window, as a divisor (Linux
    /// `tcp_adv_win_scale` 1: half).
    pub window_divisor: u32,
    /// Reduce the window after an idle period, by half for each timeout's time (RFC 2861, as
    /// Linux does; RFC 5681 section 4.1 would go to the initial window at once).
    pub slow_start_after_idle: bool,
}

impl Stack {
    /// What a connection of this stack tells congestion control `cc` at the start.
    pub fn init(&self, cc: &str) -> Init {
        let segments = |n: u32| u64::from(n) * u64::from(self.mss);
        let exception = self.initial_ssthresh_of.iter().find(|(name, _)| *name == cc);
        Init {
            mss: self.mss,
            initial_window: segments(self.initial_window),
            initial_ssthresh: exception.map(|(_, n)| *n).or(self.initial_ssthresh).map(segments),
            slow_start: self.slow_start.clone(),
            seed: 0,
            coupling: None,
            abe: self.abe,
        }
    }

    /// Whether the congestion window is inflated while losses are repaired, with or without `sack`.
    pub fn inflates(&self, sack: bool) -> bool {
        Policy::new(self).inflates(sack)
    }

    /// How the sender concludes that a segment is lost.
    pub fn loss_detection(&self) -> LossDetection {
        if self.recovery == Recovery::Sack1 {
            return LossDetection::Rfc6675;
        }
        match (self.rack, self.fack) {
            (true, _) => LossDetection::Rack,
            (false, true) if self.adaptive_reordering => LossDetection::LinuxFack,
            (false, true) => LossDetection::Fack,
            (false, false) => LossDetection::Rfc6675,
        }
    }

    /// How precisely timers fire.
    pub fn timers(&self) -> TimerWheel {
        if self.timer_wheel { TimerWheel::Linux } else { TimerWheel::Exact }
    }

    /// The policy of the retransmission timeout.
    pub fn rto(&self) -> RtoPolicy {
        RtoPolicy {
            initial: self.rto_initial,
            min: self.rto_min,
            max: self.rto_max,
            granularity: self.rto_granularity,
            min_bounds_variance: self.rto_min_bounds_variance,
            in_ticks: self.rto_in_ticks,
        }
    }
}

/// A named set of switches.
#[derive(Clone, Copy)]
pub struct Preset {
    /// Name in experiment files.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The switches.
    pub stack: fn() -> Stack,
    /// Where the value of each switch is from: the names of [`Stack`]'s fields, all of them.
    pub sources: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// The preset of that name.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Where the value of a switch is from.
    pub fn source(&self, switch: &str) -> Option<&'static str> {
        self.sources.iter().find(|(name, _)| *name == switch).map(|(_, source)| *source)
    }
}

/// Every preset; the first is the default.
pub const PRESETS: &[Preset] = &[
    linux::LINUX_6_1,
    linux_2_6::LINUX_2_6_27,
    ns2::NS2_TCP_LINUX,
    ns2::NS2_SACK1,
    full_tcp::FULL_TCP,
    ns3::NS3_3_29,
    rfc::RFC_5681,
    rfc::RFC_9438,
];

/// A preset: its name, a sentence, and every switch with its value and where that is from.
macro_rules! preset {
    ($name:literal, $summary:literal, { $($switch:ident: $value:expr, $source:literal;)* }) => {
        Preset {
            name: $name,
            summary: $summary,
            stack: || Stack { $($switch: $value),* },
            sources: &[$((stringify!($switch), $source)),*],
        }
    };
}
use preset;
