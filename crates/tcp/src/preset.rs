//! Stack presets: tables of switches that make the one endpoint behave like a particular stack.

use fairway_cc::{Init, SlowStart, Variant};
use fairway_units::Duration;

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
}

/// What the window does during fast recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// RFC 6675 (with SACK) or RFC 6582 (without): the window is the threshold at once, and
    /// segments leave as the pipe falls below it.
    Rfc,
    /// ns-2.35 TCP-Linux: the algorithm's recovery window at once, but while flight is above it
    /// one segment leaves for each acknowledgement, so flight falls only with what is marked
    /// lost (`tcp/tcp-linux.cc`, `send_much`; meant as rate halving, which the delayed send of
    /// `overhead_` undoes). On exit the threshold, no more than flight plus three segments.
    TcpLinux,
}

/// When the receiver acknowledges in-order data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayedAck {
    /// Every segment at once.
    Off,
    /// Every second full segment, or after the timeout (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
    EverySecond {
        /// Longest delay of an acknowledgement.
        timeout: Duration,
    },
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
}

/// Every switch of the endpoint. A preset sets them all; an experiment may set each alone.
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
    /// Send buffer in bytes: unacknowledged and unsent data of the application.
    pub send_buffer: u64,
    /// Receive buffer in bytes: the largest window offered.
    pub receive_buffer: u64,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Timestamp option (RFC 7323).
    pub timestamps: bool,
    /// Window scale option (RFC 7323).
    pub window_scaling: bool,
    /// Loss detection with SACK.
    pub loss_detection: LossDetection,
    /// Segments of reordering tolerated: the duplicate-acknowledgement threshold (RFC 5681: 3).
    pub reordering: u32,
    /// Window during recovery.
    pub recovery: Recovery,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Delayed acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Retransmission timeout.
    pub rto: RtoPolicy,
    /// Most segments sent in answer to one event, if limited.
    pub max_burst: Option<u32>,
    /// Each departure is delayed by a uniform random time up to this, order kept
    /// (ns-2 `overhead_`); zero for none.
    pub send_jitter: Duration,
    /// Slow start; none for the algorithm's own.
    pub slow_start: Option<SlowStart>,
    /// Whether the acknowledgement that ends recovery also grows the window (Linux 6.1 does).
    pub grow_on_exit: bool,
    /// Whether every acknowledgement restarts the retransmission timer (ns-2.35 `tcp-linux.cc`,
    /// `time_processing`), not only those of new data (RFC 6298 rule 5.3).
    pub rto_restart_on_every_ack: bool,
    /// Explicit congestion notification (RFC 3168), if the other end agrees.
    pub ecn: bool,
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
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "linux-6.1",
        summary: "Linux 6.1: initial window 10, SACK, timestamps, 200 ms minimum RTO.",
        stack: linux_6_1,
    },
    Preset {
        name: "ns2-tcp-linux",
        summary: "ns-2.35's TCP-Linux agent with an acknowledgement per packet.",
        stack: ns2_tcp_linux,
    },
    Preset { name: "rfc5681", summary: "The RFCs: 5681, 6675, 6298, 3042.", stack: rfc5681 },
];

fn rfc5681() -> Stack {
    Stack {
        cc_variant: Variant::Paper,
        mss: 1460,
        // RFC 5681 section 3.1: three segments where SMSS is between 1095 and 2190 bytes.
        initial_window: 3,
        initial_ssthresh: None,
        initial_ssthresh_of: &[],
        send_buffer: 256 << 20,
        receive_buffer: 256 << 20,
        sack: true,
        timestamps: false,
        window_scaling: true,
        loss_detection: LossDetection::Rfc6675,
        reordering: 3,
        recovery: Recovery::Rfc,
        limited_transmit: true,
        // RFC 5681 section 4.2: within 500 ms; 200 ms is common practice.
        delayed_ack: DelayedAck::EverySecond { timeout: Duration::from_millis(200) },
        // RFC 6298 sections 2.1, 2.4, 2.5 and 4.
        rto: RtoPolicy {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            min_bounds_variance: false,
        },
        max_burst: None,
        send_jitter: Duration::ZERO,
        slow_start: None,
        grow_on_exit: false,
        rto_restart_on_every_ack: false,
        ecn: false,
        window_divisor: 1,
        slow_start_after_idle: true,
    }
}

fn linux_6_1() -> Stack {
    Stack {
        cc_variant: Variant::Linux6_1,
        // MTU 1500 less 20 (IP), 20 (TCP) and 12 (timestamps).
        mss: 1448,
        // include/net/tcp.h TCP_INIT_CWND.
        initial_window: 10,
        // net.ipv4.tcp_wmem[2] and tcp_rmem[2]; half of the receive buffer is offered as window
        // (tcp_adv_win_scale 1).
        send_buffer: 4 << 20,
        receive_buffer: 6 << 20,
        timestamps: true,
        // include/net/tcp.h TCP_DELACK_MIN.
        delayed_ack: DelayedAck::EverySecond { timeout: Duration::from_millis(40) },
        // include/net/tcp.h TCP_TIMEOUT_INIT, TCP_RTO_MIN, TCP_RTO_MAX; HZ = 1000.
        rto: RtoPolicy {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            granularity: Duration::from_millis(1),
            min_bounds_variance: true,
        },
        grow_on_exit: true,
        window_divisor: 2,
        ..rfc5681()
    }
}

fn ns2_tcp_linux() -> Stack {
    Stack {
        cc_variant: Variant::Linux2_6_22,
        mss: 1000,
        // tcp/tcp-linux.cc, LinuxTcpAgent::LinuxTcpAgent.
        initial_window: 2,
        // Gelle 2008, appendix: max_ssthresh_ 100, which TCP-Linux takes as the first threshold
        // (tcp/tcp.cc, TcpAgent::reset) and not as a limit of slow start.
        initial_ssthresh: Some(100),
        // There: max_ssthresh_ 1 for H-TCP, which so begins in congestion avoidance.
        initial_ssthresh_of: &[("htcp", 1)],
        // The paper's appendix: window_ 67000 packets.
        send_buffer: 67_000_000,
        receive_buffer: 67_000_000,
        timestamps: true,
        loss_detection: LossDetection::Fack,
        recovery: Recovery::TcpLinux,
        // Packets in flight exclude the SACKed ones, so new data leaves on the first SACKs.
        limited_transmit: true,
        rto_restart_on_every_ack: true,
        // TCPSink/Sack1 acknowledges every packet.
        delayed_ack: DelayedAck::Off,
        // tcl/lib/ns-default.tcl rtxcur_init_, minrto_, maxrto_ of Agent/TCP/Linux; select_ca
        // sets a 1 ms tick.
        rto: RtoPolicy {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            granularity: Duration::from_millis(1),
            min_bounds_variance: false,
        },
        // The paper's appendix: maxburst_ 2, overhead_ 8 us.
        max_burst: Some(2),
        send_jitter: Duration::from_micros(8),
        slow_start_after_idle: false,
        ..rfc5681()
    }
}
