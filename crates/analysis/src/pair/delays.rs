//! Delays of one direction: their distribution, how much they vary, and their course.

use fairway_units::Time;
use serde::Serialize;

use crate::histogram::Distribution;
use crate::report::{NANOS_IN_S, Quantiles, quantiles};

/// Intervals of a course: one for each pixel of a diagram, and a few for each of many connections.
const MOST_INTERVALS: usize = 1024;

/// The shortest interval, in nanoseconds.
const SHORTEST_NS: i64 = 1_000_000;

/// Delays of packets in the order in which they arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    delays: Distribution,
    last_ns: Option<i64>,
    changes: Distribution,
}

impl Delays {
    #[inline]
    pub(super) fn add(&mut self, delay_ns: i64) {
        self.delays.add(u64::try_from(delay_ns).unwrap_or(0));
        if let Some(last) = self.last_ns.replace(delay_ns) {
            self.changes.add(last.abs_diff(delay_ns));
        }
    }

    pub(super) fn in_s(&self) -> Option<Quantiles> {
        quantiles(&self.delays, 0)
    }

    /// Over the least.
    pub(super) fn queueing_in_s(&self) -> Option<Quantiles> {
        quantiles(&self.delays, self.delays.moments.min)
    }

    /// How much delays of packets that follow each other differ, whichever is longer.
    pub(super) fn variation_in_s(&self) -> Option<Quantiles> {
        quantiles(&self.changes, 0)
    }
}

/// One interval of a course.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Interval {
    least_ns: Option<i64>,
    most_ns: i64,
    sum_ns: i128,
    arrived: u64,
    sent: u64,
    lost: u64,
}

impl Interval {
    fn and(self, next: Interval) -> Interval {
        Interval {
            least_ns: match (self.least_ns, next.least_ns) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            most_ns: self.most_ns.max(next.most_ns),
            sum_ns: self.sum_ns + next.sum_ns,
            arrived: self.arrived + next.arrived,
            sent: self.sent + next.sent,
            lost: self.lost + next.lost,
        }
    }
}

/// How delays and losses went over time, by the time of sending and the clock of the first
/// capture. Intervals double when there would be too many.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    start_ns: Option<i64>,
    /// Length as a power of two of the shortest.
    doublings: u32,
    intervals: Vec<Interval>,
}

/// One row of a course.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CourseRow {
    /// End of the interval, in seconds since the first capture's first packet.
    pub t_s: f64,
    /// Least, mean and longest delay of packets that were sent in it and have arrived; none
    /// without one.
    pub least_delay_s: Option<f64>,
    /// Their mean.
    pub mean_delay_s: Option<f64>,
    /// The longest.
    pub most_delay_s: Option<f64>,
    /// Packets that were sent in it.
    pub sent_packets: u64,
    /// Of these, lost.
    pub lost_packets: u64,
}

impl Course {
    pub(super) fn sent(&mut self, sent_ns: i64) {
        self.at(sent_ns).sent += 1;
    }

    pub(super) fn lost(&mut self, sent_ns: i64, packets: u64) {
        self.at(sent_ns).lost += packets;
    }

    pub(super) fn arrived(&mut self, sent_ns: i64, delay_ns: i64) {
        let interval = self.at(sent_ns);
        interval.least_ns = Some(interval.least_ns.map_or(delay_ns, |least| least.min(delay_ns)));
        interval.most_ns = interval.most_ns.max(delay_ns);
        interval.sum_ns += i128::from(delay_ns);
        interval.arrived += 1;
    }

    fn at(&mut self, at_ns: i64) -> &mut Interval {
        let start = *self.start_ns.get_or_insert(at_ns);
        let since = at_ns.saturating_sub(start).max(0);
        let mut place = since / self.length_ns();
        while place >= MOST_INTERVALS as i64 {
            self.doublings += 1;
            self.intervals = self
                .intervals
                .chunks(2)
                .map(|p| p.iter().skip(1).fold(p[0], |a, b| a.and(*b)))
                .collect();
            place = since / self.length_ns();
        }
        let place = place as usize;
        if place >= self.intervals.len() {
            self.intervals.resize(place + 1, Interval::default());
        }
        &mut self.intervals[place]
    }

    fn length_ns(&self) -> i64 {
        SHORTEST_NS.saturating_mul(1_i64.checked_shl(self.doublings).unwrap_or(i64::MAX))
    }

    /// Rows without a packet are left out.
    pub(super) fn rows(&self, zero: Time) -> Vec<CourseRow> {
        let start = self.start_ns.unwrap_or(0).saturating_sub(super::nanos(zero));
        let length = self.length_ns();
        let rows = self.intervals.iter().enumerate().filter(|(_, i)| **i != Interval::default());
        rows.map(|(index, interval)| {
            let end = start.saturating_add(length.saturating_mul(index as i64 + 1));
            let some = |nanos: f64| (interval.arrived > 0).then_some(nanos / NANOS_IN_S);
            CourseRow {
                t_s: end as f64 * 1e-9,
                least_delay_s: interval.least_ns.map(|least| least as f64 / NANOS_IN_S),
                mean_delay_s: some(interval.sum_ns as f64 / interval.arrived.max(1) as f64),
                most_delay_s: some(interval.most_ns as f64),
                sent_packets: interval.sent,
                lost_packets: interval.lost,
            }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_by_hand() {
        let mut delays = Delays::default();
        for ms in [10, 12, 11, 20] {
            delays.add(ms * 1_000_000);
        }
        let all = delays.in_s().expect("four delays");
        assert_eq!((all.min, all.mean, all.max, all.p50), (0.010, 0.013_25, 0.020, 0.011));
        let queueing = delays.queueing_in_s().expect("four delays");
        assert_eq!((queueing.min, queueing.mean, queueing.max), (0.0, 0.003_25, 0.010));
        // 2, 1 and 9 ms.
        let variation = delays.variation_in_s().expect("three changes");
        assert_eq!((variation.count, variation.mean, variation.max), (3, 0.004, 0.009));
    }

    #[test]
    fn a_course_of_any_length_has_a_limit() {
        let mut course = Course::default();
        for at_ns in [5, 6, 2_000_000_000, i64::MAX] {
            course.sent(at_ns);
            course.arrived(at_ns, 1_000_000);
        }
        course.lost(0, 2);
        let rows = course.rows(Time::ZERO);
        assert!(rows.len() <= MOST_INTERVALS);
        assert_eq!(rows.iter().map(|row| row.sent_packets).sum::<u64>(), 4);
        assert_eq!((rows[0].lost_packets, rows[0].mean_delay_s), (2, Some(0.001)));
    }
}
