//! Policies of delayed acknowledgements.

use fairway_units::{Duration, Time};

use crate::quick_ack::QuickAck;
use crate::{DelayedAck, Stack};

/// Policy for data in order.
#[derive(Clone, Debug)]
pub(crate) enum AckPolicy {
    /// Acknowledge at once.
    Off,
    /// Every N segments, or after a timeout (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2: N =
    /// 2).
    Counted(Counted),
    /// As in Linux.
    Linux(QuickAck),
}

impl AckPolicy {
    pub(crate) fn new(stack: &Stack) -> Self {
        match stack.acks.delayed_ack {
            DelayedAck::Off => AckPolicy::Off,
            DelayedAck::Counted { timeout } => {
                let enough = u64::from(stack.acks.ack_every) * u64::from(stack.options.mss);
                AckPolicy::Counted(Counted {
                    timeout,
                    heartbeat: stack.acks.ack_heartbeat,
                    at_once: stack.acks.ack_first_at_once,
                    enough,
                    // ns-3.29 `tcp-socket-base.cc`, `ReceivedData`: m_delAckCount.
                    each: stack.is_ns3().then_some(u64::from(stack.options.mss)),
                    unacknowledged: 0,
                    deadline: Time::NEVER,
                })
            }
            DelayedAck::Linux => AckPolicy::Linux(QuickAck::new(stack.options.mss)),
        }
    }

    /// When the delayed acknowledgement is due.
    pub(crate) fn deadline(&self) -> Time {
        match self {
            AckPolicy::Off => Time::NEVER,
            AckPolicy::Counted(policy) => policy.deadline,
            AckPolicy::Linux(policy) => policy.deadline(),
        }
    }

    /// Whether the delayed acknowledgement is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> bool {
        match self {
            AckPolicy::Off => false,
            AckPolicy::Counted(policy) => policy.handle_timeout(now),
            AckPolicy::Linux(policy) => policy.handle_timeout(now),
        }
    }

    /// An acknowledgement was sent.
    pub(crate) fn sent(&mut self) {
        match self {
            AckPolicy::Off => {}
            AckPolicy::Counted(policy) => policy.sent(),
            AckPolicy::Linux(policy) => policy.sent(),
        }
    }

    /// Linux's state, if that is the policy.
    pub(crate) fn linux(&mut self) -> Option<&mut QuickAck> {
        match self {
            AckPolicy::Linux(policy) => Some(policy),
            AckPolicy::Off | AckPolicy::Counted(_) => None,
        }
    }
}

/// Every N bytes, or after a timeout.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    timeout: Duration,
    /// Whether the timeout ends at a multiple of its length on the clock.
    heartbeat: bool,
    /// Whether the next segment is acknowledged at once.
    at_once: bool,
    /// Bytes that trigger an acknowledgement.
    enough: u64,
    /// Bytes counted for each segment, instead of its size.
    each: Option<u64>,
    unacknowledged: u64,
    deadline: Time,
}

impl Counted {
    /// `bytes` arrived in order. Returns whether to acknowledge now.
    pub(crate) fn data(&mut self, bytes: u64, now: Time) -> bool {
        self.unacknowledged += self.each.unwrap_or(bytes);
        if self.unacknowledged >= self.enough || std::mem::take(&mut self.at_once) {
            return true;
        }
        if self.deadline == Time::NEVER {
            self.deadline = now + self.delay(now);
        }
        false
    }

    fn delay(&self, now: Time) -> Duration {
        let period = self.timeout.as_nanos();
        if !self.heartbeat || period == 0 {
            return self.timeout;
        }
        Duration::from_nanos(period - now.as_nanos() % period)
    }

    fn handle_timeout(&mut self, now: Time) -> bool {
        self.deadline <= now
    }

    fn sent(&mut self) {
        self.at_once = false;
        self.unacknowledged = 0;
        self.deadline = Time::NEVER;
    }
}
