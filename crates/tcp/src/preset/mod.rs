//! Stack presets: tables of switches that make the endpoint behave like a particular
//! implementation.
//!
//! To add a preset, write it beside its relatives and name it in [`PRESETS`]. To add a switch, add
//! a field to a group of [`Stack`], a value with its source to every preset (the compiler names
//! those that lack one), and a line to the table of switches of experiment files.

mod full_tcp;
mod linux;
mod linux_2_6;
mod ns2;
mod ns3;
mod rfc;
mod stack;
#[cfg(test)]
mod tests;

use fairway_units::Duration;

use crate::{EcnMode, Recovery};
pub(crate) use stack::Rto;
pub use stack::Stack;

/// How the sender detects losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
    /// RFC 6675 IsLost: more than two segments' worth of bytes SACKed above a segment, or three
    /// separate ranges; or three duplicate acknowledgements, for the first outstanding segment
    /// (section 5 step 1).
    Rfc6675,
    /// Forward acknowledgement: every hole more than `reordering` segments below the highest SACKed
    /// one. A retransmission is lost when data sent after it is SACKed, or when a retransmission
    /// more than `reordering` + 1 later is acknowledged (ns-2.35 `tcp/scoreboard1.cc`,
    /// `UpdateScoreBoard`).
    Fack,
    /// Forward acknowledgement as in Linux before 4.15: every hole `reordering` segments or more
    /// below the highest SACKed one. A retransmission is lost when data sent after it is SACKed.
    /// Observed reordering switches to `Rfc6675` (Linux 2.6.27 `net/ipv4/tcp_input.c`,
    /// `tcp_update_scoreboard`, `tcp_mark_lost_retrans`, `tcp_disable_fack`).
    LinuxFack,
    /// Every segment sent before a delivered one, after the reordering window (RFC 8985; Linux 6.1
    /// `net/ipv4/tcp_recovery.c`). Without SACK as in RFC 6582.
    Rack,
}

/// When the receiver acknowledges in-order data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayedAck {
    /// Acknowledge every segment at once.
    Off,
    /// Acknowledge every `ack_every` full segments, or after the timeout (RFC 1122 section 4.2.3.2,
    /// RFC 5681 section 4.2: every second).
    Counted {
        /// Longest delay of an acknowledgement.
        timeout: Duration,
    },
    /// As Linux: at once on a young connection, while the window opens and when the sender pauses;
    /// otherwise every second segment, or after 40 ms or more (`net/ipv4/tcp_input.c`,
    /// `tcp_event_data_recv` and `__tcp_ack_snd_check`).
    Linux,
}

/// When small segments of a slow application are held back while data is outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nagle {
    /// Never (the socket option `TCP_NODELAY`).
    Off,
    /// While any data is outstanding (RFC 9293 section 3.7.4, Nagle's algorithm).
    Rfc,
    /// While another small segment is outstanding (Minshall's variant: Linux 6.1
    /// `net/ipv4/tcp_output.c`, `tcp_minshall_check`).
    Minshall,
}

impl Nagle {
    /// Every value with its name.
    pub const NAMES: &'static [(&'static str, Nagle)] =
        &[("off", Nagle::Off), ("rfc", Nagle::Rfc), ("minshall", Nagle::Minshall)];
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
    /// Source of every switch's value, by the name of its field in [`Stack`]; with a `base`, of
    /// those that differ from it.
    pub sources: &'static [(&'static str, &'static str)],
    /// The preset that this one changes, if any.
    pub base: Option<&'static Preset>,
}

impl Preset {
    /// The preset of this name.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Source of a switch's value.
    pub fn source(&self, switch: &str) -> Option<&'static str> {
        let own = self.sources.iter().find(|(name, _)| *name == switch).map(|(_, source)| *source);
        own.or_else(|| self.base?.source(switch))
    }
}

/// Every preset; the first is the default.
pub const PRESETS: &[Preset] = &[
    linux::LINUX_6_1,
    linux::LINUX_6_12,
    linux_2_6::LINUX_2_6_27,
    ns2::NS2_TCP_LINUX,
    ns2::NS2_SACK1,
    full_tcp::FULL_TCP,
    ns3::NS3_3_29,
    rfc::RFC_5681,
    rfc::RFC_9438,
];

/// A preset: its name, a sentence, and every switch with its value and source.
macro_rules! preset {
    ($name:literal, $summary:literal, {
        $($group:ident: $type:ident { $($switch:ident: $value:expr, $source:literal;)* })*
    }) => {
        Preset {
            name: $name,
            summary: $summary,
            stack: || Stack { $($group: super::stack::$type { $($switch: $value),* }),* },
            sources: &[$($((stringify!($switch), $source)),*),*],
            base: None,
        }
    };
    ($name:literal, $summary:literal, like $base:ident, {
        $($group:ident.$switch:ident: $value:expr, $source:literal;)*
    }) => {
        Preset {
            name: $name,
            summary: $summary,
            stack: || ($base.stack)().with(|stack| { $(stack.$group.$switch = $value;)* }),
            sources: &[$((stringify!($switch), $source)),*],
            base: Some(&$base),
        }
    };
}
use preset;
