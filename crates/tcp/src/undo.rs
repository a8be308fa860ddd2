//! Whether a reduction of the window was for nothing: the data had only been delayed.
//!
//! Eifel detection by timestamps (RFC 3522) and by duplicate SACKs (RFC 3708), in the form of Linux 6.1
//! (`net/ipv4/tcp_input.c`, `tcp_may_undo`, `tcp_packet_delayed`).

use fairway_units::Time;

/// What an episode may be taken back for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// First unacknowledged byte when the episode began; none if nothing can be undone.
    marker: Option<u64>,
    /// Retransmissions that have not been reported as duplicates; none before the first.
    unreported: Option<u32>,
    /// When the first retransmission left.
    first_at: Option<Time>,
    /// Whether the window stays reduced all the same: a mark asked for it too.
    reduction_stands: bool,
}

impl Undo {
    /// An episode begins; `outstanding` retransmissions are on their way from before.
    pub fn begin(&mut self, una: u64, outstanding: u32) {
        self.marker = Some(una);
        self.unreported = (outstanding > 0).then_some(outstanding);
        self.reduction_stands = false;
    }

    /// Whether there is anything to undo.
    #[inline]
    pub fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// Nothing can be undone any more.
    pub fn give_up(&mut self) {
        self.marker = None;
    }

    /// Nothing that was sent again is on its way any more, and no episode under way.
    pub fn settle(&mut self) {
        self.first_at = None;
    }

    /// The network asked for the reduction: it stands.
    pub fn reduction_stands(&mut self) {
        self.reduction_stands = true;
    }

    /// Whether an undo gives back the window.
    pub fn gives_back(&self) -> bool {
        !self.reduction_stands
    }

    /// A segment was sent again.
    pub fn sent_again(&mut self, now: Time) {
        self.first_at.get_or_insert(now);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// A duplicate of `segments` segments that end at `end` was reported, by an acknowledgement of
    /// everything below `una`.
    pub fn duplicate(&mut self, end: u64, una: u64, segments: u32) {
        if self.marker.is_some_and(|marker| end > marker) && end <= una {
            self.unreported = self.unreported.map(|left| left.saturating_sub(segments));
        }
    }

    /// Whether every retransmission was reported as a duplicate.
    pub fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.unreported == Some(0)
    }

    /// Whether what is acknowledged was sent before the first retransmission. `echo_ms` is the time
    /// that the acknowledgement echoes, by the sender's clock of whole milliseconds.
    pub fn was_delayed(&self, echo_ms: Option<u64>) -> bool {
        self.marker.is_some()
            && match (self.first_at, echo_ms) {
                (None, _) => true,
                (Some(first), Some(echo)) => echo < first.as_millis(),
                (Some(_), None) => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_says_that_it_was_for_nothing() {
        let mut undo = Undo::default();
        assert!(!undo.was_delayed(Some(0)));
        undo.begin(5_000, 0);
        undo.sent_again(at(60));
        undo.sent_again(at(70));
        assert!(undo.was_delayed(Some(59)) && !undo.was_delayed(Some(60)));
        assert!(!undo.was_delayed(None));
        undo.give_up();
        assert!(!undo.was_delayed(Some(59)));
    }

    #[test]
    fn as_many_duplicates_as_retransmissions_say_so_too() {
        let mut undo = Undo::default();
        undo.begin(5_000, 0);
        assert!(!undo.all_were_duplicates());
        undo.sent_again(at(60));
        undo.sent_again(at(61));
        // One from before the episode, and one beyond what is acknowledged, do not count.
        undo.duplicate(5_000, 9_000, 1);
        undo.duplicate(10_000, 9_000, 1);
        undo.duplicate(6_000, 9_000, 1);
        assert!(!undo.all_were_duplicates());
        undo.duplicate(8_000, 9_000, 1);
        assert!(undo.all_were_duplicates());
    }
}
