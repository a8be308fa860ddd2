//! Several connections side by side: how they share what there is, and their window together.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use fairway_schema::{asymmetry, jain_index, unfairness};
use serde::Serialize;

use crate::report::{ConnectionReport, DirectionReport};
use crate::window::WindowSeries;

/// Intervals of a group at the most.
const MAX_INTERVALS: usize = 1024;
/// Members at the most: those that carry most.
const MAX_MEMBERS: usize = 64;
/// A member carries at least this part of what the largest does. Less is no rival, as iperf3's
/// control connection beside its data, and would make every index say that the rest is unfair.
const LEAST_PART: u64 = 1000;

/// Connections side by side, each in the direction that carries most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupReport {
    /// The members, in the order of their first packets.
    pub members: Vec<Member>,
    /// Connections that carry less than they, and are left out.
    pub left_out: u64,
    /// From when all of them carry data until the first of them ends, in seconds on the capture's
    /// clock; if there is no such time, from the first to the last. What follows is of this time.
    pub from_s: f64,
    /// Its end.
    pub until_s: f64,
    /// Whether all of them carry data in it.
    pub is_together: bool,
    /// Goodput of all of them together.
    pub goodput_bps: f64,
    /// Jain's index of their goodputs: 1 is equal, 1/n is all to one.
    pub jain_index: Option<f64>,
    /// (x₁ − x₂)/(x₁ + x₂), for two.
    pub asymmetry: Option<f64>,
    /// (max − min)/min of their goodputs.
    pub unfairness: Option<f64>,
    /// The group over time.
    pub series: GroupSeries,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Member {
    /// Number of the connection in the capture.
    pub connection: u64,
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,
    /// Its goodput.
    pub goodput_bps: f64,
    /// Its part of what all of them deliver; null if nothing is.
    pub share: Option<f64>,
}

/// A group over time, column by column.
#[derive(Clone, Debug, PartialEq, Default, Serialize)]
pub struct GroupSeries {
    /// Length of the intervals, in seconds.
    pub interval_s: f64,
    /// Begin of each, in seconds on the capture's clock.
    pub t_s: Vec<f64>,
    /// Goodput of all of them.
    pub goodput_bps: Vec<f64>,
    /// Sum of the estimated congestion windows of those that carry data.
    pub cwnd_bytes: Vec<u64>,
    /// Sum of what they have in flight, each at its most.
    pub flight_bytes: Vec<u64>,
    /// Jain's index of what those deliver that carry data; null if nothing is delivered.
    pub jain_index: Vec<Option<f64>>,
    /// For each member its part in each interval; null if nothing is delivered.
    pub shares: Vec<Vec<Option<f64>>>,
}

impl GroupReport {
    /// The connections of a capture side by side; none unless two of them carry much.
    pub fn new(connections: &[ConnectionReport]) -> Option<GroupReport> {
        let (tracks, left_out) = members(connections.iter().filter_map(Track::new).collect());
        (tracks.len() >= 2).then(|| GroupReport { left_out, ..side_by_side(&tracks) })
    }
}

/// Those that carry most, in the order of their first packets, and how many others there are.
fn members(mut tracks: Vec<Track<'_>>) -> (Vec<Track<'_>>, u64) {
    let all = tracks.len();
    tracks.sort_by_key(|track| std::cmp::Reverse(track.unique_bytes));
    tracks.truncate(MAX_MEMBERS);
    let most = tracks.first().map_or(0, |track| track.unique_bytes);
    tracks.retain(|track| track.unique_bytes.saturating_mul(LEAST_PART) >= most);
    tracks.sort_by_key(|track| track.connection);
    let left_out = (all - tracks.len()) as u64;
    (tracks, left_out)
}

/// A connection's direction with data.
struct Track<'a> {
    connection: u64,
    from: SocketAddr,
    to: SocketAddr,
    unique_bytes: u64,
    series: &'a WindowSeries,
    first_s: f64,
    last_s: f64,
}

impl<'a> Track<'a> {
    fn new(connection: &'a ConnectionReport) -> Option<Track<'a>> {
        let most = |a: &&DirectionReport, b: &&DirectionReport| {
            a.data.unique_bytes.cmp(&b.data.unique_bytes)
        };
        let direction = connection.directions.iter().max_by(most)?;
        let series = &direction.window.as_ref()?.series;
        let (first_s, last_s) = (*series.t_s.first()?, *series.t_s.last()? + series.interval_s);
        Some(Track {
            connection: connection.id,
            from: direction.from,
            to: direction.to,
            unique_bytes: direction.data.unique_bytes,
            series,
            first_s,
            last_s,
        })
    }

    /// Bytes that it delivers from one time to another, by the middles of its intervals.
    fn delivered(&self, from_s: f64, until_s: f64) -> f64 {
        let middle = self.series.interval_s / 2.0;
        let inside = |t_s: &f64| (from_s..until_s).contains(&(t_s + middle));
        let both = self.series.t_s.iter().zip(&self.series.delivered_bytes);
        both.filter(|(t_s, _)| inside(t_s)).map(|(_, bytes)| *bytes as f64).sum()
    }
}

/// A member's data in each interval of the group.
struct Column {
    delivered: Vec<f64>,
    cwnd: Vec<u64>,
    flight: Vec<u64>,
    is_there: Vec<bool>,
}

fn side_by_side(tracks: &[Track<'_>]) -> GroupReport {
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    let first = least(&mut tracks.iter().map(|track| track.first_s));
    let last = most(&mut tracks.iter().map(|track| track.last_s));
    let begin = most(&mut tracks.iter().map(|track| track.first_s));
    let end = least(&mut tracks.iter().map(|track| track.last_s));
    let is_together = begin < end;
    let (from_s, until_s) = if is_together { (begin, end) } else { (first, last) };
    let bps = |bytes: f64| bytes * 8.0 / (until_s - from_s);
    let goodputs: Vec<f64> =
        tracks.iter().map(|track| bps(track.delivered(from_s, until_s))).collect();
    let goodput_bps: f64 = goodputs.iter().sum();
    let members = tracks.iter().zip(&goodputs).map(|(track, goodput)| Member {
        connection: track.connection,
        from: track.from,
        to: track.to,
        goodput_bps: *goodput,
        share: (goodput_bps > 0.0).then(|| goodput / goodput_bps),
    });
    GroupReport {
        members: members.collect(),
        left_out: 0,
        from_s,
        until_s,
        is_together,
        goodput_bps,
        jain_index: jain_index(&goodputs),
        asymmetry: asymmetry(&goodputs),
        unfairness: unfairness(&goodputs),
        series: over_time(tracks, first, last),
    }
}

/// The group in intervals as long as the longest of a member, or longer if they would be too many.
fn over_time(tracks: &[Track<'_>], first: f64, last: f64) -> GroupSeries {
    let longest = tracks.iter().map(|track| track.series.interval_s).fold(0.0, f64::max);
    let interval_s = longest.max((last - first) / MAX_INTERVALS as f64);
    if interval_s <= 0.0 {
        return GroupSeries::default();
    }
    let count = (((last - first) / interval_s).ceil() as usize).clamp(1, MAX_INTERVALS);
    let columns: Vec<Column> =
        tracks.iter().map(|track| column(track, first, interval_s, count)).collect();
    let mut series = GroupSeries { interval_s, ..GroupSeries::default() };
    series.shares = vec![Vec::with_capacity(count); tracks.len()];
    for i in 0..count {
        let there = || columns.iter().filter(|column| column.is_there[i]);
        let delivered: Vec<f64> = there().map(|column| column.delivered[i]).collect();
        let sum: f64 = delivered.iter().sum();
        series.t_s.push(first + i as f64 * interval_s);
        series.goodput_bps.push(sum * 8.0 / interval_s);
        series.cwnd_bytes.push(there().map(|column| column.cwnd[i]).fold(0, u64::saturating_add));
        let flight = there().map(|column| column.flight[i]).fold(0, u64::saturating_add);
        series.flight_bytes.push(flight);
        series.jain_index.push(jain_index(&delivered));
        for (share, column) in series.shares.iter_mut().zip(&columns) {
            share.push((sum > 0.0).then(|| column.delivered[i] / sum));
        }
    }
    series
}

/// A member in the intervals of the group: where it says nothing it goes on as it was.
fn column(track: &Track<'_>, first: f64, interval_s: f64, count: usize) -> Column {
    let mut column = Column {
        delivered: vec![0.0; count],
        cwnd: vec![0; count],
        flight: vec![0; count],
        is_there: vec![false; count],
    };
    let series = track.series;
    let index = |t_s: f64| (((t_s - first) / interval_s) as usize).min(count - 1);
    let mut told = vec![false; count];
    for (i, t_s) in series.t_s.iter().enumerate() {
        let at = index(t_s + series.interval_s / 2.0);
        column.delivered[at] += series.delivered_bytes[i] as f64;
        column.flight[at] = column.flight[at].max(series.flight_bytes[i]);
        column.cwnd[at] = series.cwnd_bytes[i].unwrap_or(column.cwnd[at]);
        told[at] = true;
    }
    let middle = series.interval_s / 2.0;
    let (first, last) = (index(track.first_s + middle), index(track.last_s - middle));
    for (i, told) in told.iter().enumerate().take(last + 1).skip(first) {
        column.is_there[i] = true;
        if i > 0 && !told {
            column.cwnd[i] = column.cwnd[i - 1];
        }
    }
    column
}
