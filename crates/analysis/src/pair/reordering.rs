//! Packets that arrive after ones that were sent later (RFC 4737).

use std::collections::VecDeque;

/// Arrivals that are remembered: an extent beyond that is told as that.
const MOST_REMEMBERED: usize = 1024;

/// Counts what arrives out of the order of sending.
#[derive(Clone, Debug, Default)]
pub(super) struct Reordering {
    arrivals: u64,
    /// Arrivals of packets later than all before: which arrival, place in the order, and when.
    latest: VecDeque<(u64, u64, i64)>,
    pub(super) packets: u64,
    pub(super) most_extent: u64,
    pub(super) most_late_ns: i64,
}

impl Reordering {
    /// A packet arrives; says whether it is reordered.
    #[inline]
    pub(super) fn arrive(&mut self, order: u64, at_ns: i64) -> bool {
        self.arrivals += 1;
        if self.latest.back().is_none_or(|(_, latest, _)| order > *latest) {
            if self.latest.len() == MOST_REMEMBERED {
                self.latest.pop_front();
            }
            self.latest.push_back((self.arrivals, order, at_ns));
            return false;
        }
        // The first to arrive that was sent later (RFC 4737 sections 4.2.1 and 4.3).
        let first = self.latest.partition_point(|(_, there, _)| *there <= order);
        if let Some((arrival, _, when)) = self.latest.get(first) {
            self.packets += 1;
            self.most_extent = self.most_extent.max(self.arrivals - arrival);
            self.most_late_ns = self.most_late_ns.max(at_ns.saturating_sub(*when));
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_4737() {
        // Section 7.1, table 1: 4 arrives after 5, 6, 7 and 8: extent 4.
        let mut reordering = Reordering::default();
        let sent = [1, 2, 3, 5, 6, 7, 8, 4, 9, 10];
        let late: Vec<u64> = (0..)
            .zip(sent)
            .filter(|(when, order)| reordering.arrive(*order, when * 10))
            .map(|(_, order)| order)
            .collect();
        assert_eq!(late, [4]);
        assert_eq!((reordering.packets, reordering.most_extent), (1, 4));
        assert_eq!(reordering.most_late_ns, 40);
    }

    #[test]
    fn parts_of_one_packet_are_in_order() {
        let mut reordering = Reordering::default();
        assert!(![1, 2, 2, 2, 3].into_iter().any(|order| reordering.arrive(order, 0)));
    }
}
