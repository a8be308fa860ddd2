//! Completion times of transfers, by flow and by size.

use crate::column::record;

record! {
    /// Transfers that began in the measuring window: those of one flow, and of one class of sizes.
    pub struct CompletionSummary {
        /// Name of the flow that they are copies or arrivals of.
        flow: String,
        /// Smallest size of the class; null for all sizes together.
        from_bytes: Option<u64>,
        /// Sizes of the class are below this; null where it has no end.
        below_bytes: Option<u64>,
        /// Transfers that ended before the run did.
        count: u64,
        /// Transfers that did not. No other figure has them, so give a run time to end.
        unfinished: u64,
        /// Mean time from a transfer's start to the delivery of its last byte.
        mean_s: Option<f64>,
        /// The smallest time that 50 % do not exceed.
        median_s: Option<f64>,
        /// The smallest time that 95 % do not exceed.
        p95_s: Option<f64>,
        /// The smallest time that 99 % do not exceed.
        p99_s: Option<f64>,
        /// Mean of completion times over the least that the path allows: a handshake, the way to the
        /// sink, and the transmission of all packets with their headers at the slowest link.
        mean_slowdown: Option<f64>,
        /// The smallest slowdown that 99 % do not exceed.
        p99_slowdown: Option<f64>,
    }
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Its size.
    pub bytes: u64,
    /// From its start to its last byte; none if unfinished.
    pub completion_s: Option<f64>,
    /// The least that the path allows: see [`ideal_s`].
    pub ideal_s: f64,
}

/// Bounds of the classes of sizes, which are decades.
const CLASSES: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// The shortest completion time of a transfer on an idle path: the handshake's round trip, the delay of
/// the data, and the transmission of its packets at the slowest link.
pub fn ideal_s(wire_bytes: u64, rate_bps: f64, there_s: f64, back_s: f64) -> f64 {
    2.0 * there_s + back_s + wire_bytes as f64 * 8.0 / rate_bps
}

/// All transfers of a flow, and those of each class, where there are several classes.
pub fn completions(flow: &str, transfers: &[Transfer]) -> Vec<CompletionSummary> {
    let bounds = |class: usize| {
        let from = class.checked_sub(1).map_or(0, |before| CLASSES[before]);
        (from, CLASSES.get(class).copied())
    };
    let is_in = |bytes: u64, (from, below): (u64, Option<u64>)| {
        bytes >= from && below.is_none_or(|below| bytes < below)
    };
    let mut all = vec![summary(flow, [None, None], transfers)];
    for class in (0..=CLASSES.len()).map(bounds) {
        let own: Vec<_> = transfers.iter().filter(|t| is_in(t.bytes, class)).copied().collect();
        if own.len() == transfers.len() {
            break;
        }
        if !own.is_empty() {
            all.push(summary(flow, [Some(class.0), class.1], &own));
        }
    }
    all
}

fn summary(flow: &str, [from, below]: [Option<u64>; 2], of: &[Transfer]) -> CompletionSummary {
    let finished = || of.iter().filter_map(|t| Some((t.completion_s?, t.ideal_s)));
    let mut times: Vec<f64> = finished().map(|(time, _)| time).collect();
    let mut slowdowns: Vec<f64> = finished().map(|(time, ideal)| time / ideal).collect();
    times.sort_unstable_by(f64::total_cmp);
    slowdowns.sort_unstable_by(f64::total_cmp);
    CompletionSummary {
        flow: flow.to_owned(),
        from_bytes: from,
        below_bytes: below,
        count: times.len() as u64,
        unfinished: (of.len() - times.len()) as u64,
        mean_s: mean(&times),
        median_s: quantile(&times, 50),
        p95_s: quantile(&times, 95),
        p99_s: quantile(&times, 99),
        mean_slowdown: mean(&slowdowns),
        p99_slowdown: quantile(&slowdowns, 99),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The smallest of ascending values that `percent` of them do not exceed.
pub fn quantile(ascending: &[f64], percent: usize) -> Option<f64> {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    ascending.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(quantile(&values, 50), Some(100.0));
        assert_eq!(quantile(&values, 99), Some(198.0));
        assert_eq!(quantile(&values[..1], 99), Some(1.0));
        assert_eq!(quantile(&values[..3], 50), Some(2.0));
        assert_eq!(quantile(&[], 50), None);
    }

    #[test]
    fn an_ideal_by_hand() {
        // 10 ms there and 20 ms back: SYN, its answer, and the data take 40 ms; 12 500 bytes at
        // 1 Mbit/s 100 ms.
        assert!((ideal_s(12_500, 1e6, 0.01, 0.02) - 0.14).abs() < 1e-12);
    }

    #[test]
    fn classes_and_unfinished_transfers() {
        let transfer = |bytes, completion_s| Transfer { bytes, completion_s, ideal_s: 0.5 };
        let transfers = [
            transfer(9_999, Some(1.0)),
            transfer(10_000, Some(2.0)),
            transfer(99_999, None),
            transfer(10_000_000, Some(6.0)),
        ];
        let found = completions("short", &transfers);
        let rows: Vec<_> = found
            .iter()
            .map(|row| (row.from_bytes, row.below_bytes, row.count, row.unfinished, row.mean_s))
            .collect();
        assert_eq!(
            rows,
            [
                (None, None, 3, 1, Some(3.0)),
                (Some(0), Some(10_000), 1, 0, Some(1.0)),
                (Some(10_000), Some(100_000), 1, 1, Some(2.0)),
                (Some(10_000_000), None, 1, 0, Some(6.0)),
            ]
        );
        assert_eq!((found[0].mean_slowdown, found[0].p99_slowdown), (Some(6.0), Some(12.0)));
        // Of one class there is no second line.
        assert_eq!(completions("short", &transfers[..1]).len(), 1);
    }
}
