//! Acknowledgements: immediate, delayed or compressed.

use fairway_units::{Duration, Time};

use super::{AckDue, Receiver};
use crate::ack_compression::AckCompression;
use crate::ack_policy::AckPolicy;

impl Receiver {
    /// Whether an acknowledgement must be sent now.
    pub fn ack_is_due(&self) -> bool {
        self.due != AckDue::Nothing
    }

    /// Whether a delayed acknowledgement waits.
    pub(crate) fn ack_is_delayed(&self) -> bool {
        self.due == AckDue::Nothing && self.acks.deadline() < Time::NEVER
    }

    /// When the delayed acknowledgement is due, or data that was held is read.
    pub fn ack_deadline(&self) -> Time {
        if let Some((_, since)) = self.held {
            return since;
        }
        if self.due != AckDue::Nothing {
            return Time::NEVER;
        }
        let held = self.compression.as_ref().map_or(Time::NEVER, AckCompression::deadline);
        self.acks.deadline().min(held)
    }

    /// An acknowledgement is sent with [`Self::sack_ranges`]. Returns its window field.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self) -> u16 {
        if self.idle {
            return self.window.field();
        }
        if !matches!(self.due, AckDue::Settled | AckDue::Twice) {
            self.settle();
        }
        self.idle = self.due != AckDue::Twice;
        self.due = if self.idle { AckDue::Nothing } else { AckDue::Now };
        self.duplicate.forget();
        if self.next_recent.is_some() {
            self.list_next();
        }
        self.window.field()
    }

    #[inline(never)]
    fn list_next(&mut self) {
        if let Some(range) = self.next_recent.take() {
            self.put_first(range);
        }
    }

    /// Handle a timer, if one has expired.
    pub fn handle_timeout(&mut self, now: Time) {
        self.read_held(now);
        let held = self.compression.as_ref().map_or(Time::NEVER, AckCompression::deadline);
        if self.due == AckDue::Nothing && (self.acks.handle_timeout(now) || held <= now) {
            self.idle = false;
            if held <= now {
                self.stamp = self.compression.as_ref().map(|held| held.stamp(now));
            }
            self.leave();
        }
    }

    /// Time in the timestamp of an acknowledgement sent at `now`.
    #[inline(always)]
    pub(crate) fn stamp(&mut self, now: Time) -> Time {
        self.stamp.take().unwrap_or(now)
    }

    #[inline(always)]
    pub(super) fn acknowledge_in_order(&mut self, bytes: u64, had_gap: bool, fin: bool, now: Time) {
        let leaves = match &mut self.acks {
            AckPolicy::Off => true,
            AckPolicy::Counted(policy) => policy.data(bytes, now) || had_gap || fin,
            AckPolicy::Linux(linux) => {
                // RFC 5681 section 4.2: all gaps are filled.
                if fin || (had_gap && self.out_of_order.is_empty()) {
                    linux.hurry();
                }
                return self.acknowledge_as_linux(now);
            }
        };
        if leaves {
            self.leave();
        }
    }

    /// RFC 5681 section 4.2: at once, unless compressed.
    pub(super) fn acknowledge_out_of_order(&mut self, now: Time) {
        match self.acks {
            AckPolicy::Linux(_) => self.acknowledge_as_linux(now),
            AckPolicy::Off | AckPolicy::Counted(_) => self.compress(Duration::MAX, now),
        }
    }

    fn acknowledge_as_linux(&mut self, now: Time) {
        let AckPolicy::Linux(linux) = &mut self.acks else { return };
        if !linux.is_owed() {
            return;
        }
        let mut leaves = false;
        if self.rcv_nxt - self.window.acknowledged() > u64::from(linux.rcv_mss()) {
            // If the window would shrink, wait until the application has read.
            let (not_less, pressed) = self.window.would_not_shrink();
            if pressed {
                linux.window_is_pressed();
            }
            leaves = not_less;
        }
        leaves |= linux.leaves_at_once();
        let srtt = linux.srtt();
        if !leaves && self.out_of_order.is_empty() {
            leaves = !linux.delay(now);
        } else if !leaves {
            return self.compress(srtt.unwrap_or(Duration::MAX), now);
        }
        if leaves {
            self.leave();
        }
    }

    /// Compress an acknowledgement of out-of-order data, or send it.
    fn compress(&mut self, srtt: Duration, now: Time) {
        let rtt = self.window.rtt().min(srtt);
        let other = self.acks.linux().map_or(Time::NEVER, |linux| linux.timer());
        let held = self.max_sack_blocks > 0
            && self.compression.as_mut().is_some_and(|c| c.hold(self.rcv_nxt, rtt, other, now));
        if !held {
            self.leave();
        }
    }

    /// The application has read: send an acknowledgement that waited for that, or a window update.
    pub(super) fn acknowledge_reading(&mut self) {
        let unacknowledged = self.rcv_nxt - self.window.acknowledged();
        let emptied = self.out_of_order.is_empty() && self.unread() == 0;
        let wanted = self.acks.linux().is_some_and(|linux| {
            linux.is_owed()
                && (unacknowledged > u64::from(linux.rcv_mss())
                    || (emptied && linux.leaves_when_read()))
        });
        if wanted || self.window.is_worth_an_update(self.rcv_nxt) {
            if self.due == AckDue::Settled {
                self.due = AckDue::Twice;
            } else {
                self.leave();
            }
        }
    }

    /// Send an acknowledgement at this instant.
    #[inline(always)]
    pub(super) fn leave(&mut self) {
        self.settle();
        self.due = AckDue::Settled;
    }

    #[inline(always)]
    fn settle(&mut self) {
        let pressed = self.window.offer(self.rcv_nxt);
        if let Some(linux) = self.acks.linux()
            && pressed
        {
            linux.window_is_pressed();
        }
        self.acks.sent();
        if let Some(compression) = &mut self.compression {
            compression.sent();
        }
    }
}
