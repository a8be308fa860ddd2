//! Where packets were captured.

use serde::Serialize;

use super::pcapng::Clock;
use crate::packet::Link;

/// An interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Interface {
    /// Its name, such as `eth0`; empty if the capture does not say.
    pub name: String,
    /// Its description in the capture.
    pub description: String,
    /// The number of its link type (<https://www.tcpdump.org/linktypes.html>).
    pub link_type: u16,
    /// Most bytes of a packet that were captured; 0 is no limit.
    pub snap_bytes: u32,
    /// Packets that its host could not keep up with, and that are missing from the capture.
    pub missed_packets: Option<u64>,
    #[serde(skip)]
    pub(super) clock: Clock,
    #[serde(skip)]
    pub(super) link: Option<Link>,
    /// Whether it has been told that its link type cannot be read.
    #[serde(skip)]
    pub(super) is_told: bool,
}

impl Interface {
    /// An interface without a name that counts microseconds.
    pub(super) fn new(link_type: u16, snap_bytes: u32) -> Self {
        Interface {
            name: String::new(),
            description: String::new(),
            link_type,
            snap_bytes,
            missed_packets: None,
            clock: Clock::default(),
            link: Link::by_number(link_type),
            is_told: false,
        }
    }

    /// The snap length, or more than any.
    pub(super) fn snap_or_most(&self) -> u32 {
        if self.snap_bytes == 0 { u32::MAX } else { self.snap_bytes }
    }
}
