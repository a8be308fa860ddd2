//! NewReno: Reno that stays in fast recovery until all data outstanding at its start is
//! acknowledged.
//!
//! Source: RFC 6582. Growth and back-off are Reno's: `1/cwnd` segments per segment acknowledged,
//! `ssthresh = max(flight size/2, 2)`. The difference is in recovery, which the stack does:
//! `recover` is the end of the data sent when the loss was detected, an acknowledgement below it
//! retransmits the next hole and does not end recovery, and duplicates below it begin no new one.
//! The stack does so on every connection without SACK; with SACK it knows the holes (RFC 6675), and
//! Reno and NewReno are the same. Set `sack = false` in the stack for the behaviour of the RFC.
//!
//! ns-3.29 calls its growth rule NewReno (`tcp-congestion-ops.cc`, `TcpNewReno`), with or without
//! SACK. It counts bytes per acknowledgement: one segment below the threshold,
//! `max(1, ⌊mss²/cwnd⌋)` bytes above it, however much is acknowledged, so that with delayed
//! acknowledgements growth is half a segment per round trip. Back-off is `max(2·mss, in flight/2)`.

use super::reno::Rfc5681;
use crate::ns3::{Socket, new_reno::NewReno};
use crate::probe::{Probe, Start};
use crate::{
    Algorithm, CongestionControl, Family, Init, Params, SlowStart, Variant, Vector, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "newreno",
    title: "NewReno",
    summary: "Reno's growth and back-off; without SACK, recovery that outlasts several losses.",
    family: Family::Classic,
    signal: "loss",
    year: 1999,
    source: "RFC 6582",
    variants: &[Variant::Paper, Variant::Ns3_29],
    params: &[],
    vectors: &[
        Vector::new("W = 10, one window acknowledged: 10 + 1", 11.0, || {
            after_round(Variant::Paper, 10)
        }),
        Vector::new("W = 20 at a loss: 20/2", 10.0, || after_loss(Variant::Paper, 20)),
        Vector::new(
            "ns-3.29, W = 10, bytes 144, 143, 141, 140, 139, 138, 136, 135, 134, 133 make 15863, not yet 11",
            10.0,
            || after_round(Variant::Ns3_29, 10),
        ),
        Vector::new(
            "ns-3.29, W = 2, a segment each: + 724, + 579 = ⌊1448²/3620⌋, so 2.9; 499 more is 3",
            3.0,
            || {
                Probe::new("newreno", Variant::Ns3_29, &Start::avoidance(2, 100))
                    .acks(3, 1)
                    .window()
            },
        ),
        Vector::new(
            "ns-3.29, slow start, ten acknowledgements of two segments: 10 + 10",
            20.0,
            || {
                Probe::new("newreno", Variant::Ns3_29, &Start::slow_start(10, 100))
                    .acks(10, 2)
                    .window()
            },
        ),
        Vector::new("ns-3.29, 14480 bytes: + ⌊1448²/14480⌋ = 144", 14_624.0, || {
            Probe::new("newreno", Variant::Ns3_29, &Start::avoidance(10, 100)).ack(2).cc.cwnd()
                as f64
        }),
        Vector::new("ns-3.29, 3 in flight at a loss: max(2, ⌊3/2⌋)", 2.0, || {
            after_loss(Variant::Ns3_29, 3)
        }),
    ],
    build,
};

fn after_round(variant: Variant, cwnd: u32) -> f64 {
    Probe::new("newreno", variant, &Start::avoidance(cwnd, 100)).round().window()
}

fn after_loss(variant: Variant, cwnd: u32) -> f64 {
    Probe::new("newreno", variant, &Start::avoidance(cwnd, 100)).loss().window()
}

fn build(variant: Variant, _params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    match variant {
        Variant::Ns3_29 => Box::new(Socket::new(NewReno, init)),
        _ => Box::new(Windowed::new(Rfc5681, SlowStart::of(variant), init)),
    }
}
