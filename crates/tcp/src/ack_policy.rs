//! When arriving data is acknowledged: the policies of which a stack has one.

use fairway_units::{Duration, Time};

use crate::DelayedAck;
use crate::quick_ack::QuickAck;

/// When data that arrives in order is acknowledged.
#[derive(Clone, Debug)]
pub(crate) enum AckPolicy {
    /// At once.
    Off,
    /// Every second segment, or after a while (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
    EverySecond(EverySecond),
    /// As Linux does it.
    Linux(QuickAck),
}

impl AckPolicy {
    pub(crate) fn new(delayed_ack: DelayedAck, mss: u32) -> Self {
        match delayed_ack {
            DelayedAck::Off => AckPolicy::Off,
            DelayedAck::EverySecond { timeout } => {
                AckPolicy::EverySecond(EverySecond::new(timeout, u64::from(mss)))
            }
            DelayedAck::Linux => AckPolicy::Linux(QuickAck::new(mss)),
        }
    }

    /// When an acknowledgement that waits has to leave.
    pub(crate) fn deadline(&self) -> Time {
        match self {
            AckPolicy::Off => Time::NEVER,
            AckPolicy::EverySecond(policy) => policy.deadline,
            AckPolicy::Linux(policy) => policy.deadline(),
        }
    }

    /// Whether one leaves now because its time has come.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> bool {
        match self {
            AckPolicy::Off => false,
            AckPolicy::EverySecond(policy) => policy.handle_timeout(now),
            AckPolicy::Linux(policy) => policy.handle_timeout(now),
        }
    }

    /// One left.
    pub(crate) fn sent(&mut self) {
        match self {
            AckPolicy::Off => {}
            AckPolicy::EverySecond(policy) => policy.sent(),
            AckPolicy::Linux(policy) => policy.sent(),
        }
    }

    /// The state of Linux, if that is the policy.
    pub(crate) fn linux(&mut self) -> Option<&mut QuickAck> {
        match self {
            AckPolicy::Linux(policy) => Some(policy),
            AckPolicy::Off | AckPolicy::EverySecond(_) => None,
        }
    }
}

/// Every second segment, or after a while.
#[derive(Clone, Debug)]
pub(crate) struct EverySecond {
    timeout: Duration,
    mss: u64,
    unacknowledged: u64,
    deadline: Time,
}

impl EverySecond {
    fn new(timeout: Duration, mss: u64) -> Self {
        EverySecond { timeout, mss, unacknowledged: 0, deadline: Time::NEVER }
    }

    /// `bytes` came in order. Whether they are acknowledged now.
    pub(crate) fn data(&mut self, bytes: u64, now: Time) -> bool {
        self.unacknowledged += bytes;
        if self.unacknowledged >= 2 * self.mss {
            return true;
        }
        if self.deadline == Time::NEVER {
            self.deadline = now + self.timeout;
        }
        false
    }

    fn handle_timeout(&mut self, now: Time) -> bool {
        self.deadline <= now
    }

    fn sent(&mut self) {
        self.unacknowledged = 0;
        self.deadline = Time::NEVER;
    }
}
