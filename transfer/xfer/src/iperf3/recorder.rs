//! Counts of a test: per interval, and in total without the omitted time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::stream::{Seen, Stream, TcpSeen};

/// Most rows, one per stream and interval: some 10 MB. Beyond it, pairs of intervals are merged.
const MOST_ROWS: usize = 1 << 16;
/// A last interval shorter than this share of the others is counted to the one before.
const SHORTEST: f64 = 0.1;

/// One interval.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
    pub(super) omitted: bool,
    pub(super) rows: Vec<Row>,
}

/// What happened to a stream in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) bytes: u64,
    pub(super) packets: u64,
    pub(super) lost: u64,
    pub(super) jitter_s: f64,
    pub(super) retransmits: u64,
    pub(super) tcp: Option<TcpSeen>,
}

/// A stream over the time that counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Total {
    pub(super) bytes: u64,
    pub(super) retransmits: Option<u64>,
    pub(super) seen: Seen,
    pub(super) most: TcpSeen,
    pub(super) min_rtt_us: u64,
    pub(super) mean_rtt_us: u64,
}

/// Everything that was counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) intervals: Vec<Interval>,
    pub(super) streams: Vec<Total>,
}

#[derive(Debug)]
pub(super) struct Recorder {
    streams: Vec<StreamRecord>,
    intervals: Vec<Interval>,
    length: Duration,
    began: Instant,
    latest: Instant,
    is_omitting: bool,
}

#[derive(Debug)]
struct StreamRecord {
    stream: Arc<Stream>,
    first: Seen,
    last: Seen,
    total: Total,
    rtt_sum_us: u64,
    rtt_count: u64,
}

impl Recorder {
    pub(super) fn new(
        streams: &[Arc<Stream>],
        length: Duration,
        omits: bool,
        now: Instant,
    ) -> Self {
        let kept = |stream: &Arc<Stream>| {
            let first = stream.see();
            let (last, total) = (first.clone(), Total::default());
            StreamRecord {
                stream: Arc::clone(stream),
                first,
                last,
                total,
                rtt_sum_us: 0,
                rtt_count: 0,
            }
        };
        Recorder {
            streams: streams.iter().map(kept).collect(),
            intervals: Vec::new(),
            length,
            began: now,
            latest: now,
            is_omitting: omits,
        }
    }

    pub(super) fn due(&self) -> Instant {
        self.latest + self.length
    }

    pub(super) fn sample(&mut self, now: Instant) {
        let since = |at: Instant| at.saturating_duration_since(self.began).as_secs_f64();
        let (start_s, end_s) = (since(self.latest), since(now));
        let rows = self.streams.iter_mut().map(StreamRecord::row).collect();
        self.intervals.push(Interval { start_s, end_s, omitted: self.is_omitting, rows });
        self.latest = now;
        if self.intervals.len() * self.streams.len() > MOST_ROWS && self.intervals.len() > 2 {
            self.intervals = halved(std::mem::take(&mut self.intervals));
            self.length *= 2;
        }
    }

    /// Everything so far was for warming up.
    pub(super) fn restart(&mut self, now: Instant) {
        self.sample_rest(now);
        (self.began, self.latest, self.is_omitting) = (now, now, false);
        for kept in &mut self.streams {
            kept.stream.restart();
            kept.first = kept.stream.see();
            kept.last = kept.first.clone();
            kept.total = Total::default();
            (kept.rtt_sum_us, kept.rtt_count) = (0, 0);
        }
    }

    pub(super) fn all_bytes(&self) -> u64 {
        self.streams.iter().map(|kept| kept.stream.see_bytes()).sum()
    }

    pub(super) fn finish(mut self, now: Instant) -> Measured {
        self.sample_rest(now);
        let seconds = now.saturating_duration_since(self.began).as_secs_f64();
        let streams = self.streams.into_iter().map(StreamRecord::finish).collect();
        Measured { seconds, intervals: self.intervals, streams }
    }

    fn sample_rest(&mut self, now: Instant) {
        let took = now.saturating_duration_since(self.latest);
        self.sample(now);
        let is_short = took < self.length.mul_f64(SHORTEST);
        if let [.., before, last] = &mut self.intervals[..]
            && is_short
            && before.omitted == last.omitted
        {
            before.join(last);
            self.intervals.pop();
        }
    }
}

impl StreamRecord {
    fn row(&mut self) -> Row {
        let seen = self.stream.see();
        let retransmits = |seen: &Seen| seen.tcp.map_or(0, |tcp| tcp.retransmits);
        let row = Row {
            bytes: seen.bytes.saturating_sub(self.last.bytes),
            packets: seen.packets.saturating_sub(self.last.packets),
            lost: seen.lost.saturating_sub(self.last.lost),
            jitter_s: seen.jitter_s,
            retransmits: retransmits(&seen).saturating_sub(retransmits(&self.last)),
            tcp: seen.tcp,
        };
        if let Some(tcp) = &seen.tcp {
            self.total.most.raise(tcp);
            if tcp.rtt_us > 0 {
                self.rtt_sum_us += tcp.rtt_us;
                self.rtt_count += 1;
                let least = &mut self.total.min_rtt_us;
                *least = if *least == 0 { tcp.rtt_us } else { tcp.rtt_us.min(*least) };
            }
        }
        // A connection that broke has nothing to tell any more.
        let tcp = seen.tcp.or(self.last.tcp);
        self.last = Seen { tcp, ..seen };
        row
    }

    fn finish(self) -> Total {
        let retransmits = self.last.tcp.map(|tcp| {
            tcp.retransmits.saturating_sub(self.first.tcp.map_or(0, |tcp| tcp.retransmits))
        });
        Total {
            bytes: self.last.bytes.saturating_sub(self.first.bytes),
            retransmits,
            seen: self.last,
            mean_rtt_us: self.rtt_sum_us / self.rtt_count.max(1),
            ..self.total
        }
    }
}

impl TcpSeen {
    fn raise(&mut self, other: &TcpSeen) {
        self.cwnd_bytes = self.cwnd_bytes.max(other.cwnd_bytes);
        self.window_bytes = self.window_bytes.max(other.window_bytes);
        self.rtt_us = self.rtt_us.max(other.rtt_us);
        self.reordering = self.reordering.max(other.reordering);
    }
}

impl Interval {
    fn join(&mut self, next: &Interval) {
        self.end_s = next.end_s;
        for (row, next) in self.rows.iter_mut().zip(&next.rows) {
            *row = Row {
                bytes: row.bytes + next.bytes,
                packets: row.packets + next.packets,
                lost: row.lost + next.lost,
                retransmits: row.retransmits + next.retransmits,
                jitter_s: next.jitter_s,
                tcp: next.tcp.or(row.tcp),
            };
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }
}

fn halved(intervals: Vec<Interval>) -> Vec<Interval> {
    let mut kept: Vec<Interval> = Vec::with_capacity(intervals.len() / 2 + 2);
    let mut is_open = false;
    for interval in intervals {
        match kept.last_mut() {
            Some(last) if is_open && last.omitted == interval.omitted => {
                last.join(&interval);
                is_open = false;
            }
            _ => {
                kept.push(interval);
                is_open = true;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_s: f64, bytes: u64, omitted: bool) -> Interval {
        let row = Row { bytes, packets: 1, lost: 1, retransmits: 2, jitter_s: start_s, tcp: None };
        Interval { start_s, end_s: start_s + 1.0, omitted, rows: vec![row] }
    }

    #[test]
    fn two_intervals_become_one_and_the_omitted_stay_apart() {
        let all = [(0.0, 1, true), (0.0, 2, false), (1.0, 4, false), (2.0, 8, false)];
        let halved = halved(all.map(|(s, bytes, omitted)| interval(s, bytes, omitted)).to_vec());
        let bytes: Vec<u64> = halved.iter().map(|interval| interval.rows[0].bytes).collect();
        assert_eq!(bytes, [1, 6, 8]);
        let joined = &halved[1];
        assert_eq!((joined.start_s, joined.end_s, joined.seconds()), (0.0, 2.0, 2.0));
        let row = &joined.rows[0];
        assert_eq!((row.packets, row.lost, row.retransmits, row.jitter_s), (2, 2, 4, 1.0));
    }
}
