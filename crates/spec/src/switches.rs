//! Every switch of the stack: its name, which is that of its field in [`Stack`], its form, an
//! example and its meaning.
//!
//! Reading, setting, printing, the schema, the paths of a sweep and the documentation all come from
//! this table: group and name, form ([`Field`]), example and meaning.

use fairway_cc::{SlowStart, Variant};
use fairway_tcp::{Nagle, Recovery, Stack};
use serde_json::Value;

use super::keys::{Kind, variant_names};
use super::switch::{Choice, Field, Switch, bytes};

macro_rules! switch {
    // The type has a table `NAMES` of all its values with their names.
    ($group:ident.$name:ident, Choice($thing:literal, $type:ty), $example:literal, $meaning:literal) => {{
        let choice = Choice {
            thing: $thing,
            names: || <$type>::NAMES.iter().map(|(name, _)| *name).collect(),
            get: |stack| {
                let found = <$type>::NAMES.iter().find(|(_, value)| *value == stack.$group.$name);
                found.map_or("", |(name, _)| name)
            },
            set: |stack, name| {
                let found = <$type>::NAMES.iter().find(|(known, _)| *known == name);
                stack.$group.$name = found.map_or(stack.$group.$name, |(_, value)| *value);
            },
        };
        Switch::new(stringify!($name), Field::Choice(choice), $example, $meaning)
    }};
    ($group:ident.$name:ident, Count($min:literal, $max:literal), $example:literal, $meaning:literal) => {{
        let field = Field::Count { min: $min, max: $max, place: |stack| &mut stack.$group.$name };
        Switch::new(stringify!($name), field, $example, $meaning)
    }};
    ($name:ident, Linked($kind:expr, $show:expr), $example:literal, $meaning:literal) => {
        Switch::new(stringify!($name), Field::Linked($kind, $show), $example, $meaning)
    };
    ($group:ident.$name:ident, $form:ident, $example:literal, $meaning:literal) => {
        Switch::new(
            stringify!($name),
            Field::$form(|stack: &mut Stack| &mut stack.$group.$name),
            $example,
            $meaning,
        )
    };
}

macro_rules! switches {
    ($($first:ident $(.$second:ident)?: $form:ident $(($($part:tt)*))?,
        $example:literal => $meaning:literal;)*) => {
        &[$(switch!($first $(.$second)?, $form $(($($part)*))?, $example, $meaning)),*]
    };
}

/// The switches that only a stack has: with flows, the same name means something else.
pub(super) static STACK_SWITCHES: &[Switch] = &[Switch::new(
    "cc_variant",
    Field::Choice(Choice {
        thing: "variant",
        names: variant_names,
        get: |stack| stack.window.cc_variant.name(),
        set: |stack, name| {
            stack.window.cc_variant = Variant::from_name(name).unwrap_or(stack.window.cc_variant);
        },
    }),
    r#""paper""#,
    "Whose version of an algorithm is taken where a flow names none and the algorithm has this one; without it, the preset's.",
)];

/// What is written for the slow start that the algorithm has.
pub(super) const OWN_SLOW_START: &str = "own";

const SLOW_START: Kind = Kind::Choice {
    thing: "slow start",
    names: || [&[OWN_SLOW_START], &SlowStart::NAMES[..]].concat(),
};

/// The switches that a flow may set for itself too. Without them, the preset's values.
pub(super) static SWITCHES: &[Switch] = switches! {
    mss: Linked(Kind::Size, |stack| Some(bytes(stack.options.mss.into()))), r#""1000 bytes""# =>
        "Payload of a full segment, options already taken off. Turning timestamps on or off does not change it.";
    mtu: Linked(Kind::Size, |_| None), r#""1500 bytes""# =>
        "Largest IP packet, instead of mss: less 20 bytes of IP header, 20 of TCP header and, with timestamps, 12 of option.";
    window.initial_window: Segments, r#""10 segments""# =>
        "Initial congestion window (RFC 6928 allows 10).";
    window.initial_ssthresh: SegmentsOrUnlimited, r#""64 segments""# =>
        "Slow-start threshold before the first loss.";
    buffers.send_buffer: Buffer, r#""4 MiB""# =>
        "Most data of the application that is unacknowledged or unsent; with write_queue, the memory that they take. Of a flow of datagrams, in its own table: the memory that its packets may take at its first link before the application has to wait (Linux net.core.wmem_default: 212992 bytes); without it, nothing holds it back.";
    buffers.send_buffer_tuning: OnOff, "true" =>
        "Whether the send buffer grows with the congestion window (Linux tcp_sndbuf_expand), up to send_buffer, instead of being all of that at once.";
    buffers.write_queue: OnOff, "true" =>
        "With tso, whether the application's data lie in buffers of 64 KiB at most, over whose ends no burst reaches, and whose memory, not their bytes alone, fills the send buffer (Linux struct sk_buff).";
    buffers.header_room: Buffer, r#""192 bytes""# =>
        "Room for headers in each buffer of the kernel, which is 320 bytes in one with wireless links and tunnels, and 192 in one with neither, as fairway linux builds it (MAX_TCP_HEADER).";
    buffers.receive_buffer: Buffer, r#""30 segments""# => "Largest receive window offered.";
    options.sack: OnOff, "true" => "Selective acknowledgements (RFC 2018).";
    losses.fack: OnOff, "false" =>
        "Forward acknowledgement instead of RFC 6675 loss detection: ns-2's, or Linux's with adaptive_reordering; needs sack.";
    losses.rack: OnOff, "true" => "Losses found by time instead (RACK, RFC 8985); needs sack.";
    options.timestamps: OnOff, "true" => "Timestamp option (RFC 7323).";
    options.paws: OnOff, "true" =>
        "With timestamps, whether segments older than what was acknowledged are refused (RFC 7323 section 5).";
    options.window_scaling: OnOff, "true" =>
        "Window scale option (RFC 7323); without it a window is at most 65535 bytes.";
    acks.delayed_ack: DelayedAck, r#""40 ms""# =>
        "An acknowledgement for every ack_every segments, or after this delay (RFC 5681 section 4.2); \"linux\" for what Linux does, which acknowledges at once while a connection is young, while its window opens and when the sender pauses; false for every segment; true for what the preset does.";
    acks.ack_every: Segments, r#""2 segments""# =>
        "With a delayed_ack that is a time, the full segments that an acknowledgement is for.";
    acks.ack_heartbeat: OnOff, "false" =>
        "With a delayed_ack that is a time, whether acknowledgements that wait leave at its multiples on the clock (BSD's fast timer).";
    acks.ack_first_at_once: OnOff, "false" =>
        "With a delayed_ack that is a time, whether the first segment of data is acknowledged at once.";
    options.dsack: OnOff, "true" => "Report of data that arrives twice (RFC 2883).";
    acks.ack_compression: Duration, r#""1 ms""# =>
        "How long acknowledgements of out-of-order data are held back at the most, so that one speaks for several (net.ipv4.tcp_comp_sack_delay_ns); 0 s for none.";
    buffers.receive_window_tuning: OnOff, "true" =>
        "Whether the receive window grows with the connection (net.ipv4.tcp_moderate_rcvbuf), up to what receive_buffer allows, instead of being all of that at once.";
    sending.nagle: Choice("kind of Nagle's algorithm", Nagle), r#""minshall""# =>
        "What holds a small segment of a slow application back: nothing (\"off\", as TCP_NODELAY does), anything outstanding (\"rfc\": RFC 9293 section 3.7.4), or another small segment that is outstanding (\"minshall\", as in Linux).";
    losses.limited_transmit: OnOff, "true" =>
        "New data on the first duplicate acknowledgements (RFC 3042).";
    losses.reordering: Segments, r#""3 segments""# =>
        "Reordering that is tolerated: the duplicate-acknowledgement threshold.";
    losses.adaptive_reordering: OnOff, "true" =>
        "Whether more reordering is tolerated once it was seen, and forward acknowledgement then ends, as in Linux before RACK; without effect where rack is on.";
    losses.recovery: Choice("recovery", Recovery), r#""rfc""# =>
        "The window during recovery: of the RFCs (6675, 6582), of ns-2's TCP-Linux, of ns-2's TCP/Sack1, in proportion to what arrives (PRR, RFC 6937), a segment for every second acknowledgement (rate halving, Linux before 3.2), or Reno's, which ends with the first acknowledgement of anything new (RFC 5681).";
    losses.tail_loss_probe: OnOff, "true" =>
        "A probe of the tail when acknowledgements stay away (TLP, RFC 8985); needs sack.";
    losses.frto: OnOff, "true" =>
        "New data after a timeout, to see whether anything was lost (F-RTO, RFC 5682); needs sack, unless recovery is rate halving.";
    losses.undo: OnOff, "true" =>
        "Reductions of the window that were for nothing are taken back (RFC 3522, RFC 3708).";
    sending.tso: OnOff, "true" => "Segments leave in bursts, as Linux hands them to its device.";
    sending.tso_autosizing: OnOff, "true" =>
        "Whether the bursts of tso are about a millisecond of the rate (since Linux 3.12), or a third of the window and up to 64 KiB.";
    window.cwnd_validation: OnOff, "true" =>
        "The window grows only if it was full when sending ended, as Linux has it, and not if it was when the acknowledgement came.";
    rto.timer_wheel: OnOff, "true" => "Timers as coarse as those of Linux at 1000 Hz.";
    window.grow_when_unused: OnOff, "false" =>
        "Whether the window grows though it was not full, as before RFC 2861.";
    window.grow_on_exit: OnOff, "true" =>
        "Whether the acknowledgement that ends recovery also grows the window.";
    losses.reduce_on_every_timeout: OnOff, "false" =>
        "Whether each timeout lowers the slow-start threshold, and not only the first for the same data (RFC 5681 section 3.1).";
    rto.rto_min: Duration, r#""200 ms""# => "Lower bound of the retransmission timeout (RFC 6298).";
    rto.rto_max: Duration, r#""120 s""# => "Upper bound of the retransmission timeout.";
    rto.rto_initial: Duration, r#""1 s""# =>
        "Retransmission timeout before the first round-trip time sample.";
    rto.rto_granularity: Duration, r#""1 ms""# => "Clock granularity G of RFC 6298.";
    rto.rto_min_bounds_variance: OnOff, "true" =>
        "Whether rto_min bounds the variance term alone, as in Linux, rather than the sum.";
    rto.rto_in_ticks: OnOff, "false" =>
        "Whether round trips are measured in whole ticks of rto_granularity and averaged in parts of them, as in ns-2; without rto_min_bounds_variance.";
    rto.rto_restart_on_every_ack: OnOff, "false" =>
        "Whether every acknowledgement restarts the retransmission timer, rather than those of new data alone (RFC 6298 rule 5.3).";
    rto.rto_impatient: OnOff, "false" =>
        "Whether, in recovery, only the first acknowledgement of new data restarts the retransmission timer (RFC 6582 section 4).";
    rto.backoff_ends_with_any_ack: OnOff, "false" =>
        "Whether any acknowledgement of new data ends the doubling of the timeout, and not only one that measures a round-trip time (RFC 6298 section 5).";
    rto.rtt_clock: Duration, r#""10 ms""# =>
        "Ticks of the clock by which round trips are measured; 0 s for exactly.";
    window.cwnd_clamp: SegmentsOrUnlimited, r#""100 segments""# =>
        "Congestion window up to which acknowledgements let it grow (snd_cwnd_clamp of Linux, window_ of ns-2's TCP-Linux and FullTcp).";
    sending.max_burst: SegmentsOrUnlimited, r#""2 segments""# =>
        "Most segments sent in answer to one event.";
    sending.send_jitter: Duration, r#""8 us""# =>
        "Each departure is delayed by a uniform random time up to this, order kept; on a first link that several flows share, the others' departures wait too.";
    slow_start: Linked(SLOW_START, |stack| Some(Value::from(stack.window.slow_start.as_ref().map_or(OWN_SLOW_START, SlowStart::name) ))), r#""limited""# =>
        "Slow start: standard (Linux 6.1: a segment for each segment delivered), per-ack (Linux 2.6.22), ns-3 (ns-3.29), limited (RFC 3742), hystart (Ha and Rhee 2011, as in Linux 6.1) or hystart++ (RFC 9406); own for that of the algorithm.";
    max_ssthresh: Linked(Kind::Segments, |_| None), r#""100 segments""# =>
        "Window from which slow start \"limited\" (RFC 3742, which recommends 100 segments) or \"per-ack\" holds back.";
    options.ecn: Ecn, r#""accurate""# =>
        "Explicit congestion notification: true for marks that are echoed (RFC 3168), \"accurate\" for a count of them in every segment (RFC 9768, without its option), which needs both ends and is like true with an end that has true.";
    window.abe: OnOff, "true" =>
        "A congestion mark reduces the window less than a loss (RFC 8511): reno keeps 0.8 of what is in flight, cubic 0.85; other algorithms do as without it.";
    buffers.window_divisor: Count(1, 16), "2" =>
        "What part of the receive buffer is offered as window: the buffer divided by this.";
    buffers.receive_scaling: OnOff, "true" =>
        "With receive_window_tuning, whether window_divisor gives only the first window, and later ones are the share that data have of the memory of full packets (since Linux 6.6).";
    rto.syn_linear_timeouts: Count(0, 16), "4" =>
        "How many timeouts of a SYN do not double the next one (since Linux 6.5, net.ipv4.tcp_syn_linear_timeouts).";
    sending.tso_fill: OnOff, "true" =>
        "With write_queue, whether a burst may take data of the next buffer too (as in Linux 6.12).";
    window.slow_start_after_idle: OnOff, "false" =>
        "Whether the window is halved for each timeout of an idle period, down to the initial window (RFC 2861, as in Linux).";
};
