//! A time series of bounded length: intervals double in length when there are too many.

use fairway_units::Time;
use serde::Serialize;

use crate::window::estimate::Phase;

/// Points at the most: twice what a figure can show side by side.
const MAX_POINTS: usize = 2048;
/// The first interval: a millisecond, shorter than the round trips of interest.
const FIRST_NANOS: u64 = 1_000_000;

/// Windows over time, column by column; intervals without a packet are left out.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WindowSeries {
    /// Length of the intervals, in seconds.
    pub interval_s: f64,
    /// Begin of each, in seconds on the capture's clock.
    pub t_s: Vec<f64>,
    /// Most bytes in flight in it: sent, and neither acknowledged nor selectively acknowledged.
    pub flight_bytes: Vec<u64>,
    /// Bytes that were acknowledged in it, selectively or not, for the first time.
    pub delivered_bytes: Vec<u64>,
    /// Estimate of the congestion window at its end; null before the first.
    pub cwnd_bytes: Vec<Option<u64>>,
    /// The receive window at its end, as the sender knew it; null before the first.
    pub receive_window_bytes: Vec<Option<u64>>,
    /// The phase at its end.
    pub phase: Vec<Phase>,
}

/// One interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub flight: u64,
    pub delivered: u64,
    pub cwnd: Option<u64>,
    pub window: Option<u64>,
    pub phase: Phase,
}

impl Point {
    /// Both, of one interval.
    fn and(self, next: Point) -> Point {
        Point {
            flight: self.flight.max(next.flight),
            delivered: self.delivered.saturating_add(next.delivered),
            ..next
        }
    }
}

/// Collects points.
#[derive(Clone, Debug)]
pub(super) struct Series {
    start: Option<Time>,
    interval_nanos: u64,
    /// The last nanosecond of the last interval, after the start.
    last_nanos: u64,
    points: Vec<(u64, Point)>,
}

impl Default for Series {
    fn default() -> Self {
        Series { start: None, interval_nanos: FIRST_NANOS, last_nanos: 0, points: Vec::new() }
    }
}

impl Series {
    /// Takes in how things stand at a time.
    pub(super) fn push(&mut self, at: Time, point: Point) {
        let start = *self.start.get_or_insert(at);
        let since = at.since(start).as_nanos();
        match self.points.last_mut() {
            // A capture's clock may go back: what is late belongs to the last interval.
            Some((_, merged)) if since <= self.last_nanos => *merged = merged.and(point),
            _ => self.begin(since, point),
        }
    }

    /// Begins the interval of a time after the start, which lies behind the last.
    fn begin(&mut self, since: u64, point: Point) {
        let is_full = self.points.len() == self.points.capacity();
        if is_full && self.points.len() > MAX_POINTS / 2 {
            // Twice as many would never be used.
            self.points.reserve_exact(MAX_POINTS + 1 - self.points.len());
        }
        self.points.push((since / self.interval_nanos, point));
        while self.points.len() > MAX_POINTS {
            self.interval_nanos = self.interval_nanos.saturating_mul(2);
            self.points.iter_mut().for_each(|(index, _)| *index /= 2);
            self.points.dedup_by(|(index, point), (last, before)| {
                let is_same = index == last;
                if is_same {
                    *before = before.and(*point);
                }
                is_same
            });
        }
        let last = self.points.last().map_or(0, |(index, _)| *index);
        let first_nanos = last * self.interval_nanos;
        self.last_nanos = first_nanos.saturating_add(self.interval_nanos - 1);
    }

    pub(super) fn report(&self) -> WindowSeries {
        let start_s = self.start.unwrap_or_default().as_secs_f64();
        let interval_s = self.interval_nanos as f64 * 1e-9;
        WindowSeries {
            interval_s,
            t_s: self.points.iter().map(|(i, _)| start_s + *i as f64 * interval_s).collect(),
            flight_bytes: self.points.iter().map(|(_, point)| point.flight).collect(),
            delivered_bytes: self.points.iter().map(|(_, point)| point.delivered).collect(),
            cwnd_bytes: self.points.iter().map(|(_, point)| point.cwnd).collect(),
            receive_window_bytes: self.points.iter().map(|(_, point)| point.window).collect(),
            phase: self.points.iter().map(|(_, point)| point.phase).collect(),
        }
    }
}
