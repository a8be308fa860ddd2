//! Round trips of a direction, by sequence numbers and by timestamps.

use std::collections::VecDeque;

use fairway_units::{Duration, Time};

use super::outstanding::{Removed, Sample};
use crate::event::Flow;
use crate::histogram::{Distribution, Moments};

/// Timestamps that wait for their echo: ten seconds of a millisecond clock.
const MAX_TIMESTAMPS: usize = 10_000;

/// The same while nothing was ever echoed.
const MAX_UNHEARD_TIMESTAMPS: usize = 64;

/// Samples of both kinds, and acknowledgements that give none.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrips {
    /// In nanoseconds, as all of them.
    pub(crate) by_sequence: Distribution,
    pub(crate) by_timestamp: Distribution,
    /// Of segments as long as the longest.
    pub(crate) full_size: Moments,
    full_size_bytes: u64,
    /// Since the last transmission, of segments that were sent more than once.
    pub(crate) ambiguous: Moments,
    pub(crate) after_loss: u64,
    /// Segments that were acknowledged together with a later one.
    pub(crate) cumulative: u64,
    /// First time that each timestamp went by, in order.
    waiting: VecDeque<(u32, Time)>,
}

impl RoundTrips {
    /// What an acknowledgement tells.
    #[inline]
    pub(super) fn acknowledge(&mut self, removed: &Removed, at: Time) -> Option<Duration> {
        if removed.segments == 0 {
            return None;
        }
        self.cumulative += removed.segments - u64::from(removed.sample != Sample::None);
        match removed.sample {
            Sample::None | Sample::Sacked => None,
            Sample::AfterLoss => {
                self.after_loss += 1;
                None
            }
            Sample::Ambiguous(last_at) => {
                self.ambiguous.add(at.since(last_at).as_nanos());
                None
            }
            Sample::Clear(sent_at) => {
                let rtt = at.since(sent_at);
                self.by_sequence.add(rtt.as_nanos());
                self.add_full_size(removed.sample_bytes, rtt);
                Some(rtt)
            }
        }
    }

    fn add_full_size(&mut self, bytes: u64, rtt: Duration) {
        if bytes > self.full_size_bytes {
            self.full_size_bytes = bytes;
            self.full_size = Moments::default();
        }
        if bytes == self.full_size_bytes {
            self.full_size.add(rtt.as_nanos());
        }
    }

    /// A timestamp goes out with data.
    #[inline]
    pub(super) fn stamp(&mut self, value: u32, at: Time, is_heard: bool) {
        let is_new = self.waiting.back().is_none_or(|&(last, _)| is_later(value, last));
        if !is_new {
            return;
        }
        let limit = if is_heard { MAX_TIMESTAMPS } else { MAX_UNHEARD_TIMESTAMPS };
        if self.waiting.len() >= limit {
            self.waiting.pop_front();
        }
        self.waiting.push_back((value, at));
    }

    /// A timestamp comes back with an acknowledgement. A sample only if that acknowledges
    /// something (RFC 7323 section 4.1).
    #[inline]
    pub(super) fn echo(&mut self, value: u32, at: Time, acknowledges: bool) -> Option<Duration> {
        while self.waiting.front().is_some_and(|&(first, _)| is_later(value, first)) {
            self.waiting.pop_front();
        }
        let &(first, sent_at) = self.waiting.front()?;
        if first != value || !acknowledges {
            return None;
        }
        let rtt = at.since(sent_at);
        self.by_timestamp.add(rtt.as_nanos());
        Some(rtt)
    }

    pub(super) fn fold(&mut self) {
        self.waiting = VecDeque::new();
    }
}

/// Whether a timestamp is later than another (RFC 7323 section 5.2).
fn is_later(value: u32, than: u32) -> bool {
    value.wrapping_sub(than) as i32 > 0
}

/// Smooths a round trip (RFC 6298 section 2).
pub(super) fn smooth(flow: &mut Flow, rtt: Duration) {
    flow.min_rtt = Some(flow.min_rtt.map_or(rtt, |min| min.min(rtt)));
    let nanos = rtt.as_nanos();
    let (srtt, rttvar) = match (flow.srtt, flow.rttvar) {
        (Some(srtt), Some(rttvar)) => {
            let (srtt, rttvar) = (srtt.as_nanos(), rttvar.as_nanos());
            let difference = srtt.abs_diff(nanos);
            (srtt - srtt / 8 + nanos / 8, rttvar - rttvar / 4 + difference / 4)
        }
        _ => (nanos, nanos / 2),
    };
    flow.srtt = Some(Duration::from_nanos(srtt));
    flow.rttvar = Some(Duration::from_nanos(rttvar));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn an_echo_is_of_the_first_segment_with_its_timestamp() {
        let mut trips = RoundTrips::default();
        trips.stamp(u32::MAX, ms(0), true);
        trips.stamp(u32::MAX, ms(1), true);
        trips.stamp(3, ms(5), true);
        assert_eq!(trips.echo(u32::MAX, ms(50), true), Some(Duration::from_millis(50)));
        assert_eq!(trips.echo(2, ms(51), true), None, "never sent");
        assert_eq!(trips.echo(3, ms(60), false), None, "acknowledges nothing");
        assert_eq!(trips.echo(3, ms(60), true), Some(Duration::from_millis(55)));
    }

    #[test]
    fn smoothed_by_hand() {
        let mut flow = Flow::default();
        smooth(&mut flow, Duration::from_millis(80));
        assert_eq!(flow.rttvar, Some(Duration::from_millis(40)));
        smooth(&mut flow, Duration::from_millis(120));
        // 80 * 7/8 + 120/8; 40 * 3/4 + 40/4.
        assert_eq!(flow.srtt, Some(Duration::from_millis(85)));
        assert_eq!(flow.rttvar, Some(Duration::from_millis(40)));
        assert_eq!(flow.min_rtt, Some(Duration::from_millis(80)));
    }
}
