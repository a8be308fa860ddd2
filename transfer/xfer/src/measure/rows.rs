//! The samples of all flows, bounded in number.

use std::collections::BTreeSet;

use fairway_schema::Series;
use fairway_schema::tcp_info::TcpInfo;
use serde::{Deserialize, Serialize};

/// Most rows that are kept: some 20 MB with their records, and columns made of them.
pub(super) const MAX_ROWS: usize = 1 << 15;

/// What happened to a flow in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Index of the flow.
    pub flow: u32,
    /// Start of the interval, in nanoseconds since the first connection.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Payload delivered in it.
    pub payload_bytes: u64,
    /// `struct tcp_info` at its end; empty for datagrams.
    pub record: Box<[u8]>,
}

impl Row {
    pub(super) fn goodput_bps(&self) -> f64 {
        let nanos = self.to_ns.saturating_sub(self.from_ns);
        if nanos == 0 { 0.0 } else { self.payload_bytes as f64 * 8e9 / nanos as f64 }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }
}

/// All samples of a transfer, as they were taken: half as large as the columns made of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Names of the flows, and whether their window is known here.
    pub(super) flows: Vec<(String, bool)>,
    pub(super) rows: Vec<Row>,
}

impl Samples {
    /// Names of the flows, in the order of their indices.
    pub fn flow_ids(&self) -> Vec<String> {
        self.flows.iter().map(|(id, _)| id.clone()).collect()
    }

    /// What happened to every flow in every interval, in the order of their ends.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Time series of the flows.
    pub fn series(&self) -> Series {
        let mut series = Series::default();
        for row in &self.rows {
            let (t_s, goodput_bps) = (row.to_ns as f64 / 1e9, row.goodput_bps());
            match self.flows.get(row.flow as usize) {
                Some((_, true)) => series.push(t_s, row.flow, &row.record, goodput_bps),
                Some((_, false)) => series.push_goodput(t_s, row.flow, goodput_bps),
                None => {}
            }
        }
        series
    }

    /// Replaces the rows of these flows by those of the other end, whose window began when this one
    /// did: it may know more of them.
    pub fn take_over(&mut self, other: Samples, ids: &BTreeSet<String>) {
        let place = |id: &String| self.flows.iter().position(|(known, _)| known == id);
        let places: Vec<Option<usize>> = other
            .flows
            .iter()
            .map(|(id, _)| if ids.contains(id) { place(id) } else { None })
            .collect();
        let mut is_replaced = vec![false; self.flows.len()];
        for (place, (_, has_window)) in places.iter().zip(&other.flows) {
            if let Some(place) = place {
                is_replaced[*place] = true;
                self.flows[*place].1 = *has_window;
            }
        }
        self.rows.retain(|row| !is_replaced.get(row.flow as usize).copied().unwrap_or(true));
        for row in other.rows {
            if let Some(place) = places.get(row.flow as usize).copied().flatten() {
                self.rows.push(Row { flow: place as u32, ..row });
            }
        }
        self.rows.sort_by_key(|row| row.to_ns);
    }

    /// What the kernel says of their sockets; nothing of datagrams.
    pub fn tcp_info(&self) -> TcpInfo {
        let mut tcp_info = TcpInfo::new();
        let told = |row: &&Row| !row.record.is_empty() && self.flows.len() > row.flow as usize;
        for row in self.rows.iter().filter(told) {
            tcp_info.push(row.to_ns as f64 / 1e9, row.flow, &row.record);
        }
        tcp_info
    }
}

/// Rows in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// Place of the latest row of every flow.
    latest: Vec<Option<usize>>,
    /// Rows at which they are halved; more where there are many flows.
    many: usize,
}

impl Rows {
    pub(super) fn push(&mut self, row: Row) {
        let flow = row.flow as usize;
        if self.latest.len() <= flow {
            self.latest.resize(flow + 1, None);
        }
        self.latest[flow] = Some(self.rows.len());
        self.rows.push(row);
    }

    pub(super) fn has_none_of(&self, flow: u32) -> bool {
        self.latest.get(flow as usize).copied().flatten().is_none()
    }

    /// Gives the latest row of a flow a little more.
    pub(super) fn lengthen(&mut self, flow: u32, to_ns: u64, payload_bytes: u64) {
        if let Some(at) = self.latest.get(flow as usize).copied().flatten() {
            let row = &mut self.rows[at];
            row.to_ns = row.to_ns.max(to_ns);
            row.payload_bytes += payload_bytes;
        }
    }

    pub(super) fn reach(&self, most: usize) -> bool {
        self.rows.len() >= most.max(self.many)
    }

    /// Makes one row of every two that follow each other in a flow.
    pub(super) fn halve(&mut self) {
        let mut kept: Vec<Row> = Vec::with_capacity(self.rows.len() / 2 + self.latest.len());
        let mut waiting: Vec<Option<Row>> = vec![None; self.latest.len()];
        for mut row in self.rows.drain(..) {
            let place = &mut waiting[row.flow as usize];
            match place.take() {
                None => *place = Some(row),
                Some(before) => {
                    row.from_ns = before.from_ns;
                    row.payload_bytes += before.payload_bytes;
                    kept.push(row);
                }
            }
        }
        kept.extend(waiting.into_iter().flatten());
        kept.sort_by_key(|row| row.to_ns);
        self.latest.fill(None);
        for (at, row) in kept.iter().enumerate() {
            self.latest[row.flow as usize] = Some(at);
        }
        // With so many flows that halving does not help, they are halved when they have doubled.
        self.many = kept.len() * 2;
        self.rows = kept;
    }

    pub(super) fn all(&self) -> &[Row] {
        &self.rows
    }
}

/// What was carried from a time to a later one, in nanoseconds, and how many bytes of it.
pub(crate) type Carried = (u64, u64, f64);

/// The most in bit/s that was carried in one of the spans of that length, one after the other, each
/// part evenly over its own time. What is left at the end counts if it is half of a span at least, or
/// all that there is. Spans are longer where there would be more than [`MAX_ROWS`].
pub(crate) fn most_bps(parts: &[Carried], span_ns: u64) -> f64 {
    let first_ns = parts.iter().map(|part| part.0).min().unwrap_or(0);
    let last_ns = parts.iter().map(|part| part.1).max().unwrap_or(0).max(first_ns);
    let span_ns = span_ns.max((last_ns - first_ns) / MAX_ROWS as u64).max(1);
    let spans = (last_ns - first_ns).div_ceil(span_ns);
    let mut bytes = vec![0.0; usize::try_from(spans).unwrap_or(0)];
    for (from_ns, to_ns, carried) in parts.iter().filter(|part| part.1 > part.0) {
        let span = |at_ns: u64| (at_ns - first_ns) / span_ns;
        for span in span(*from_ns)..=span(to_ns - 1) {
            let begins_ns = first_ns + span * span_ns;
            let within_ns = (*to_ns).min(begins_ns + span_ns) - (*from_ns).max(begins_ns);
            bytes[span as usize] += carried * within_ns as f64 / (to_ns - from_ns) as f64;
        }
    }
    let rates = bytes.iter().enumerate().filter_map(|(span, bytes)| {
        let lasted_ns = (last_ns - first_ns - span as u64 * span_ns).min(span_ns);
        let counts = span == 0 || lasted_ns >= span_ns.div_ceil(2);
        counts.then_some(bytes * 8e9 / lasted_ns as f64)
    });
    rates.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_that_of_a_span_and_not_of_a_burst() {
        let second = 1_000_000_000;
        // 100 bytes in the first 10 ms, and as many in the second and in the 0.4 s after it.
        let burst = [(0, second / 100, 100.0), (second, 2 * second, 100.0)];
        let rest = (2 * second, 2 * second + 400_000_000, 100.0);
        assert_eq!(most_bps(&[burst[0], burst[1], rest], second), 800.0);
        // By 10 ms, 100 bytes are 80,000 bit/s.
        assert_eq!(most_bps(&burst, second / 100), 80_000.0);
        // Half of what came in two seconds came in each; what is all there is counts.
        assert_eq!(most_bps(&[(0, 2 * second, 100.0)], second), 400.0);
        assert_eq!(most_bps(&[(5, 5 + second / 4, 100.0)], second), 3200.0);
        // What two flows carried at the same time was carried together.
        assert_eq!(most_bps(&[(0, second, 100.0), (0, second, 50.0)], second), 1200.0);
        assert_eq!(most_bps(&[], second), 0.0);
        assert_eq!(most_bps(&[(7, 7, 100.0)], second), 0.0);
    }

    fn row(flow: u32, from_ns: u64, to_ns: u64, payload_bytes: u64) -> Row {
        Row { flow, from_ns, to_ns, payload_bytes, record: Box::default() }
    }

    #[test]
    fn two_intervals_become_one_with_the_payload_of_both() {
        let mut rows = Rows::default();
        for row in [row(0, 0, 1, 5), row(1, 0, 1, 9), row(0, 1, 2, 7), row(0, 2, 3, 1)] {
            rows.push(row);
        }
        rows.halve();
        assert_eq!(rows.all(), [row(1, 0, 1, 9), row(0, 0, 2, 12), row(0, 2, 3, 1)]);
        rows.lengthen(0, 4, 10);
        assert_eq!(rows.all()[2], row(0, 2, 4, 11));
        assert!(rows.has_none_of(2) && !rows.has_none_of(1));
    }

    #[test]
    fn rows_of_the_other_end_take_the_place_of_these() {
        let samples = |flows: [(&str, bool); 2], rows| Samples {
            flows: flows.map(|(id, has_window)| (id.to_owned(), has_window)).into(),
            rows,
        };
        let mut here = samples([("a", true), ("b", false)], vec![row(0, 0, 2, 5), row(1, 0, 2, 6)]);
        let there = vec![row(0, 0, 1, 1), row(0, 1, 3, 2), row(1, 0, 1, 9), row(7, 0, 1, 9)];
        let ids = BTreeSet::from(["b".to_owned(), "c".to_owned()]);
        here.take_over(samples([("b", true), ("a", false)], there), &ids);
        let expected = vec![row(1, 0, 1, 1), row(0, 0, 2, 5), row(1, 1, 3, 2)];
        assert_eq!(here, samples([("a", true), ("b", true)], expected));
    }

    #[test]
    fn a_rate_is_payload_over_its_interval() {
        assert_eq!(row(0, 500_000_000, 2_500_000_000, 1000).goodput_bps(), 4000.0);
        assert_eq!(row(0, 5, 5, 1000).goodput_bps(), 0.0);
    }
}
