//! How a direction went over time, in as many intervals as a diagram has room for.

use fairway_units::{Duration, Time};

use crate::event::{Acked, Flow, Observer, Sent, SentKind};

/// Intervals of a direction: two for each pixel of a wide diagram.
pub const MAX_INTERVALS: usize = 2048;

/// The shortest interval. What takes no longer than [`MAX_INTERVALS`] of them has these.
const SHORTEST: Duration = Duration::from_millis(1);

/// One interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Interval {
    /// Bytes of data that were sent, again or not.
    pub sent_bytes: u64,
    /// Bytes that the receiver says that it has, for the first time.
    pub delivered_bytes: u64,
    /// Segments that were sent again.
    pub retransmitted_segments: u64,
    /// Largest number of bytes in flight.
    pub most_flight_bytes: Option<u64>,
    /// Smallest receive window.
    pub least_window_bytes: Option<u64>,
    /// Smallest round trip.
    pub least_rtt: Option<Duration>,
    /// Largest round trip.
    pub most_rtt: Option<Duration>,
    /// Smoothed round trip at its end (RFC 6298 section 2).
    pub srtt: Option<Duration>,
}

impl Interval {
    fn and(self, next: Interval) -> Interval {
        Interval {
            sent_bytes: self.sent_bytes + next.sent_bytes,
            delivered_bytes: self.delivered_bytes + next.delivered_bytes,
            retransmitted_segments: self.retransmitted_segments + next.retransmitted_segments,
            most_flight_bytes: self.most_flight_bytes.max(next.most_flight_bytes),
            least_window_bytes: least(self.least_window_bytes, next.least_window_bytes),
            least_rtt: least(self.least_rtt, next.least_rtt),
            most_rtt: self.most_rtt.max(next.most_rtt),
            srtt: next.srtt.or(self.srtt),
        }
    }
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Intervals of one direction, of equal length. It doubles when there would be too many.
#[derive(Clone, Debug)]
pub struct Series {
    most_intervals: usize,
    length: Duration,
    /// Number of the first interval, counted from time zero.
    first: Option<u64>,
    intervals: Vec<Interval>,
    /// Start in nanoseconds and place of the last one: most events are in the same.
    last: (u64, usize),
}

impl Default for Series {
    fn default() -> Series {
        Series::new(MAX_INTERVALS)
    }
}

impl Series {
    /// A series of no more intervals than this; of two at least.
    pub fn new(most_intervals: usize) -> Series {
        let most_intervals = most_intervals.clamp(2, MAX_INTERVALS);
        Series {
            most_intervals,
            length: SHORTEST,
            first: None,
            intervals: Vec::new(),
            last: (0, usize::MAX),
        }
    }

    /// Length of an interval.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Intervals with their ends, without a gap.
    pub fn iter(&self) -> impl Iterator<Item = (Time, &Interval)> {
        let first = self.first.unwrap_or(0);
        let length = self.length.as_nanos();
        self.intervals.iter().enumerate().map(move |(index, interval)| {
            let end = (first + index as u64 + 1).saturating_mul(length);
            (Time::from_nanos(end), interval)
        })
    }

    /// Makes it one of no more intervals than this.
    pub(crate) fn shorten(&mut self, most_intervals: usize) {
        self.most_intervals = most_intervals.clamp(2, MAX_INTERVALS);
        while self.intervals.len() > self.most_intervals {
            self.halve();
        }
    }

    /// The interval of a time; one before the first counts as the first.
    #[inline]
    fn at(&mut self, at: Time) -> &mut Interval {
        let (start, place) = self.last;
        let is_last = at.as_nanos().wrapping_sub(start) < self.length.as_nanos();
        let place = if is_last && place < self.intervals.len() { place } else { self.find(at) };
        &mut self.intervals[place]
    }

    /// Where the interval of a time is, made if it is not there.
    fn find(&mut self, at: Time) -> usize {
        let mut place = self.place(at);
        while place >= self.most_intervals {
            self.halve();
            place = self.place(at);
        }
        if place >= self.intervals.len() {
            self.intervals.resize(place + 1, Interval::default());
        }
        self.last = (at.as_nanos() - at.as_nanos() % self.length.as_nanos(), place);
        place
    }

    fn place(&mut self, at: Time) -> usize {
        let number = at.as_nanos() / self.length.as_nanos();
        let first = *self.first.get_or_insert(number);
        usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX)
    }

    /// Two intervals become one.
    fn halve(&mut self) {
        let first = self.first.unwrap_or(0);
        let mut halved = Vec::with_capacity(self.most_intervals / 2 + 1);
        // Numbers stay multiples of the length: an odd first one is the second of its pair.
        let odd = usize::from(first % 2 == 1).min(self.intervals.len());
        let (alone, pairs) = self.intervals.split_at(odd);
        halved.extend_from_slice(alone);
        halved.extend(
            pairs
                .chunks(2)
                .map(|pair| pair.iter().skip(1).fold(pair[0], |sum, next| sum.and(*next))),
        );
        self.intervals = halved;
        self.last = (0, usize::MAX);
        self.first = Some(first / 2);
        self.length = Duration::from_nanos(self.length.as_nanos().saturating_mul(2));
    }
}

impl Observer for Series {
    fn sent(&mut self, sent: &Sent, _flow: &Flow) {
        let interval = self.at(sent.at);
        interval.sent_bytes += u64::from(sent.bytes);
        interval.retransmitted_segments += u64::from(sent.kind == SentKind::Retransmission);
        interval.most_flight_bytes = interval.most_flight_bytes.max(Some(sent.flight_bytes));
    }

    fn acked(&mut self, acked: &Acked, flow: &Flow) {
        let rtt = acked.rtt.or(acked.timestamp_rtt);
        let interval = self.at(acked.at);
        interval.delivered_bytes += acked.delivered_bytes;
        interval.most_flight_bytes = interval.most_flight_bytes.max(Some(acked.flight_bytes));
        interval.least_window_bytes = least(interval.least_window_bytes, Some(acked.window_bytes));
        interval.least_rtt = least(interval.least_rtt, rtt);
        interval.most_rtt = interval.most_rtt.max(rtt);
        interval.srtt = flow.srtt.or(interval.srtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn series_of(times_ms: &[u64]) -> Series {
        let mut series = Series::default();
        for ms in times_ms {
            series.sent(&Sent { at: at_ms(*ms), bytes: 100, ..Sent::default() }, &Flow::default());
        }
        series
    }

    #[test]
    fn nothing_has_no_intervals() {
        assert_eq!(Series::default().iter().count(), 0);
    }

    #[test]
    fn a_short_transfer_is_told_by_the_millisecond() {
        let series = series_of(&[1005, 1005, 1007]);
        let told: Vec<_> = series.iter().map(|(end, i)| (end.as_millis(), i.sent_bytes)).collect();
        assert_eq!(told, [(1006, 200), (1007, 0), (1008, 100)]);
    }

    #[test]
    fn a_long_one_in_intervals_that_have_doubled() {
        // 5 and 2052 are 2048 ms apart: one interval more than there may be.
        let series = series_of(&[5, 6, 7, 5 + 2048]);
        assert_eq!(series.length(), Duration::from_millis(2));
        let told: Vec<_> = series.iter().filter(|(_, i)| i.sent_bytes > 0).collect();
        let told: Vec<_> = told.iter().map(|(end, i)| (end.as_millis(), i.sent_bytes)).collect();
        assert_eq!(told, [(6, 100), (8, 200), (2054, 100)]);
    }

    #[test]
    fn any_time_keeps_the_limit() {
        let mut series = series_of(&[1, 2, 3]);
        let last = Time::from_nanos(u64::MAX);
        series.sent(&Sent { at: last, bytes: 7, ..Sent::default() }, &Flow::default());
        series.sent(&Sent { bytes: 1, ..Sent::default() }, &Flow::default());
        assert!(series.iter().count() <= MAX_INTERVALS);
        assert_eq!(series.iter().map(|(_, i)| i.sent_bytes).sum::<u64>(), 308);
    }

    #[test]
    fn extremes_and_the_last_smoothed_round_trip_are_kept() {
        let mut series = Series::default();
        for (ms, rtt_ms, window) in [(0, 30, 5000), (1, 10, 9000), (4000, 20, 7000)] {
            let rtt = Some(Duration::from_millis(rtt_ms));
            let news = Acked {
                at: at_ms(ms),
                rtt,
                window_bytes: window,
                delivered_bytes: 10,
                ..Acked::default()
            };
            series.acked(&news, &Flow { srtt: rtt, ..Flow::default() });
        }
        let (_, first) = series.iter().next().expect("an interval");
        assert_eq!(series.length(), Duration::from_millis(2));
        assert_eq!(first.least_rtt, Some(Duration::from_millis(10)));
        assert_eq!(first.most_rtt, Some(Duration::from_millis(30)));
        assert_eq!(first.srtt, Some(Duration::from_millis(10)));
        assert_eq!((first.least_window_bytes, first.delivered_bytes), (Some(5000), 20));
    }
}
