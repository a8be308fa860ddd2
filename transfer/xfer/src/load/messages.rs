//! Messages of the control channel.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::seen::Seen;
use crate::words;

/// Flows of one message: each takes up to about a kilobyte.
pub const FLOWS_PER_PAGE: usize = 128;
/// Bytes of one message of samples: below the most that a message may have.
pub const SAMPLES_PER_PAGE: usize = 128 << 10;

/// A message of either end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Generator: what is to be sent, and the name of its clock.
    Propose {
        plan: Plan,
        clock: String,
    },
    /// Collector: connections may come.
    Accept {
        session: u64,
        clock: String,
    },
    /// Collector: not so, or not now.
    Refuse(#[serde(deserialize_with = "words::said")] String),
    /// Collector: all flows are there.
    Ready,
    /// Generator: the clock starts.
    Begin,
    /// What was sent of some flows that this end sends.
    Sent(Vec<Sent>),
    AllSent,
    /// All that came to this end has come.
    Received,
    /// Collector: what it has seen of some flows.
    Seen(Vec<Seen>),
    /// Collector: the next bytes of its samples.
    Samples(Vec<u8>),
    End,
}

/// What the sending end counts of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    pub flow: u32,
    pub bytes: u64,
    pub messages: u64,
    /// Why it broke, if it did.
    pub failure: Option<String>,
}

/// A name that two processes have in common only if they have one clock: that of the start of their
/// kernel, with their time namespace (time_namespaces(7)).
pub fn name_of_clock() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let time = fs::read_link(Path::new("/proc/self/ns/time")).unwrap_or_default();
    match boot.trim() {
        "" => String::new(),
        boot => format!("{boot} {}", time.display()),
    }
}

/// Whether two clocks are one; those without a name are not.
pub fn is_one_clock(a: &str, b: &str) -> bool {
    !a.is_empty() && a == b
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes: Vec<u8>) {
            let _ = postcard::from_bytes::<Message>(&bytes);
        }
    }

    #[test]
    fn a_clock_is_one_with_itself_and_a_nameless_one_with_none() {
        let clock = name_of_clock();
        assert_eq!(clock.contains('-'), is_one_clock(&clock, &clock), "{clock}");
        assert!(!is_one_clock("", ""));
    }
}
