//! Detection of spurious window reductions, after which data was only delayed.
//!
//! Eifel detection by timestamps (RFC 3522) and detection by D-SACKs (RFC 3708), as in Linux 6.1
//! (`net/ipv4/tcp_input.c`, `tcp_may_undo`, `tcp_packet_delayed`).

use fairway_units::Time;

/// Evidence for the undo of an episode.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// SND.UNA when the episode began; none if nothing can be undone (`undo_marker`).
    marker: Option<u64>,
    /// Retransmissions not reported as duplicates; none before the first (`undo_retrans`).
    unreported: Option<u32>,
    /// When the first retransmission was sent (`retrans_stamp`).
    first_at: Option<Time>,
    /// Whether the window stays reduced after an undo, because of a congestion mark.
    reduction_stands: bool,
}

impl Undo {
    /// An episode begins with `outstanding` earlier retransmissions in flight.
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

    /// Make undo impossible.
    pub fn give_up(&mut self) {
        self.marker = None;
    }

    /// No retransmission is in flight any more, and the episode is over.
    pub fn settle(&mut self) {
        self.first_at = None;
    }

    /// A congestion mark requires the reduction: it stands.
    pub fn reduction_stands(&mut self) {
        self.reduction_stands = true;
    }

    /// Whether an undo restores the window.
    pub fn gives_back(&self) -> bool {
        !self.reduction_stands
    }

    /// A segment was retransmitted.
    pub fn sent_again(&mut self, now: Time) {
        self.first_at.get_or_insert(now);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// An acknowledgement up to `una` reported `segments` duplicate segments that end at `end`.
    pub fn duplicate(&mut self, end: u64, una: u64, segments: u32) {
        if self.marker.is_some_and(|marker| end > marker) && end <= una {
            self.unreported = self.unreported.map(|left| left.saturating_sub(segments));
        }
    }

    /// Whether every retransmission was reported as a duplicate.
    pub fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.unreported == Some(0)
    }

    /// Whether the acknowledged data was sent before the first retransmission. `echo_ms` is the
    /// echoed timestamp, on the sender's millisecond clock.
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
    fn an_echo_from_before_the_first_retransmission_shows_that_it_was_spurious() {
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
    fn so_do_as_many_duplicates_as_retransmissions() {
        let mut undo = Undo::default();
        undo.begin(5_000, 0);
        assert!(!undo.all_were_duplicates());
        undo.sent_again(at(60));
        undo.sent_again(at(61));
        // One from before the episode and one beyond the acknowledged data do not count.
        undo.duplicate(5_000, 9_000, 1);
        undo.duplicate(10_000, 9_000, 1);
        undo.duplicate(6_000, 9_000, 1);
        assert!(!undo.all_were_duplicates());
        undo.duplicate(8_000, 9_000, 1);
        assert!(undo.all_were_duplicates());
    }
}
