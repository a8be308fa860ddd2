//! DCM: DCM+ with a bandwidth sample for every acknowledgement. **A reconstruction.**
//!
//! Source: R. Hamamreh, M. Bawatna, "DCM: Protocol for Dynamic Avoiding End-to-End Congestion in
//! MANETs", Journal of Wireless Networking and Communications 4(3), 2014, 67–75, which was not
//! available. According to the texts on its successor, it is meant for mobile ad hoc networks and
//! estimates the bandwidth by Westwood's method, one sample per acknowledgement, while DCM+ uses
//! Westwood+'s (Khader's thesis of 2020, section 4.1; Hamamreh, SCIREA Journal of Electrical
//! Engineering 5(5), 2020, abstract).
//!
//! Everything else is from reading 0 of "dcm+", whose page has the formulas: per acknowledgement
//! `2·rateCA` segments below ssthresh and `2/(rateCA·cwnd)` from it on; a timeout divided by rateCA
//! at each RTT sample; `ssthresh = max(2, BWE·RTTmin)` at a loss. The filter is that of the
//! thesis's algorithm 3-1: `BWE ← 19/21·BWE + 1/21·(b + b_last)`, where b is an acknowledgement's
//! bytes over the time since the last one, of any length. The switches are those of "dcm+"; -1
//! means reading 0. Equation 4.1 (`rto_rule` 1), `RTO_new/RTO_old = RTT_new/RTT_old`, may be the
//! older rule: it is also that of TCP WELCOME, from which, according to the thesis, DCM+ descends.
//!
//! Compressed acknowledgements cause overestimation, as in Westwood. The thesis finds DCM+ 120
//! times faster than DCM without saying how DCM was simulated, so nothing can be checked against
//! it.

use super::dcm_plus::{Dcm, RATIO, RTO_RULE, RTO_STEP, SIGN, SLOW_START, Switches};
use crate::bandwidth::Tustin;
use crate::probe::{Probe, Start};
use crate::{
    Algorithm, CongestionControl, Family, Init, Param, Params, SlowStart, Variant, Vector, Windowed,
};

const PARAMS: &[Param] = &[RATIO, SIGN, SLOW_START, RTO_STEP, RTO_RULE];

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "dcm",
    title: "TCP DCM (reconstruction)",
    summary: "DCM+ with a bandwidth sample for every acknowledgement; reconstructed from its successor.",
    family: Family::Wireless,
    signal: "loss + rate of acknowledgements + delay",
    year: 2014,
    source: "Hamamreh and Bawatna, JWNC 4(3), 2014, by way of Khader's thesis, 2020",
    variants: &[Variant::Paper],
    params: PARAMS,
    vectors: &[
        Vector::new("rateCA = 1, W = 10 below ssthresh, two rounds: 10 · 3 · 3 = 90", 90.0, || {
            let mut probe = probe(Start::slow_start(10, 100));
            probe.rounds(2);
            probe.cwnd() as f64
        }),
        Vector::new("rateCA = 1, W = 100 at ssthresh, a round: √(100² + 4 · 100) = 101.98, whole: 101", 101.0, || {
            let mut probe = probe(Start::avoidance(100, 100));
            probe.round();
            probe.cwnd() as f64
        }),
        Vector::new("samples 10, 10, 10 from 0: 10/21, (19 · 0.4762 + 20)/21, (19 · 1.3832 + 20)/21 = 2.2039", 2.2039, || {
            let mut filter = Tustin::default();
            for _ in 0..3 {
                filter.update(10.0, 19.0 / 21.0);
            }
            filter.value()
        })
        .within(5e-5),
        Vector::new("steady 20 per round, no queue, long enough: a loss keeps BWE·RTTmin = 20", 20.0, || {
            let mut probe = probe(Start::avoidance(20, 100));
            probe.may_grow = false;
            probe.rounds(20);
            probe.loss();
            probe.cwnd() as f64
        }),
        Vector::new("rateCA = 2 at one sample: the timeout's bound of 1 s becomes 0.5 s", 0.5, || {
            let mut probe = probe(Start::avoidance(20, 100));
            probe.ack(1);
            probe.rtt = probe.rtt.saturating_mul(2);
            // Its RTT is the old one at the next sample.
            probe.ack(1);
            probe.ack(1);
            probe.cc.min_rto().map_or(f64::NAN, |timeout| timeout.as_secs_f64())
        }),
    ],
    build,
};

fn probe(start: Start) -> Probe {
    Probe::new("dcm", Variant::Paper, &start)
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let rule = Dcm::new(Switches::PER_ACK.with(PARAMS, params));
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_rtt_may_lengthen_the_timeout() {
        // Equation 4.1: 100 ms, then 200: 1 s · 2; then 200 again: 1 s · 2 · 1.
        let mut probe = probe(Start::avoidance(20, 100).with("rto_rule", 1.0));
        probe.ack(1);
        probe.rtt = probe.rtt.saturating_mul(2);
        for _ in 0..2 {
            probe.ack(1);
            assert_eq!(probe.cc.min_rto().map(|timeout| timeout.as_millis()), Some(2_000));
        }
    }

    #[test]
    fn compressed_acknowledgements_raise_the_estimate() {
        // 20 per round of 100 ms, but all within 20 ms: the gaps show five times the rate, but
        // for the one gap of 80 ms.
        let mut probe = probe(Start::avoidance(20, 100));
        probe.may_grow = false;
        for _ in 0..20 {
            probe.rtt = fairway_units::Duration::from_millis(20);
            probe.acks(20, 1);
            probe.now = probe.now + fairway_units::Duration::from_millis(80);
        }
        // Tested on the threshold, as the window never rises at a loss. RTTmin is 20 ms.
        probe.loss();
        let threshold = probe.ssthresh().unwrap_or(0);
        assert!(threshold >= 15, "{threshold}: 20 segments per 100 ms · 20 ms would be 4");
    }
}
