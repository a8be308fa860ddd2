//! HighSpeed TCP of ns-3.29 (`tcp-highspeed.cc`, `TcpHighSpeed`).

use super::{ROWS, Response, TABLE};
use crate::Vector;
use crate::ns3::{CongestionOps, Tcb, to_u32};

pub(super) const KEPT: Vector = Vector::new(
    "ns-3.29, W = 1000 at a loss: 1 − 0.33 is less than 0.67 as a double, so ⌊669.99…⌋",
    669.0,
    || f64::from(after_back_off(1_000)),
);

pub(super) const LAST: Vector =
    Vector::new("RFC 3649 appendix B, its last row: b = 0.09 beyond 89053", 0.09, || b(89_054));

/// RFC 3649 appendix B: the window of the last row, which Linux omits.
const LAST_ROW: u32 = 94_717;

/// Index of the RFC's row for a window of `w` segments.
fn row(w: u32) -> usize {
    TABLE.partition_point(|row| row.cwnd < w)
}

/// `TableLookupA`.
fn a(w: u32) -> u32 {
    row(w) as u32 + 1
}

/// `TableLookupB`: as the RFC prints it, in two decimals.
fn b(w: u32) -> f64 {
    let index = row(w);
    let of_row = if index < ROWS { TABLE[index].cwnd } else { LAST_ROW };
    (Response::rfc().decrease(f64::from(of_row)) * 100.0).round() / 100.0
}

/// The window after back-off with `segments` in flight.
fn after_back_off(segments: u32) -> u32 {
    to_u32((f64::from(segments) * (1.0 - b(segments))).max(2.0))
}

#[derive(Default)]
pub(super) struct HighSpeed {
    /// `m_ackCnt`.
    count: u32,
}

impl CongestionOps for HighSpeed {
    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        if segments > 0 {
            self.count = self.count.wrapping_add(segments.wrapping_mul(a(tcb.cwnd_segments())));
        }
        tcb.grow_by_count(&mut self.count);
    }

    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        after_back_off(in_flight / tcb.segment_size).wrapping_mul(tcb.segment_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    #[test]
    fn the_table_is_the_printed_one() {
        // Rows of RFC 3649 appendix B: w, a(w), b(w).
        for (w, row_a, row_b) in
            [(38, 1, 0.5), (118, 2, 0.44), (1_058, 8, 0.33), (10_661, 30, 0.21), (89_053, 72, 0.1)]
        {
            assert_eq!((a(w), b(w)), (row_a, row_b), "{w}");
            assert_eq!(a(w + 1), row_a + 1);
        }
        assert_eq!((a(94_718), b(94_718)), (73, 0.09));
    }

    #[test]
    fn segments_count_by_their_row_and_the_rest_is_carried_over() {
        // At 100 each counts 2: 49 make 98, two more 102: a segment, and 2 are left.
        let mut rule = HighSpeed::default();
        let mut tcb = tcb(100 * MSS + 7, 2 * MSS);
        rule.congestion_avoidance(&mut tcb, 49);
        assert_eq!((tcb.cwnd, rule.count), (100 * MSS + 7, 98));
        rule.congestion_avoidance(&mut tcb, 2);
        assert_eq!((tcb.cwnd, rule.count), (101 * MSS, 2));
    }
}
