//! Common part of the coupled algorithms: slow start, timeouts and undo are per connection; growth
//! and back-off depend on all of them. A single connection is Reno.

use std::marker::PhantomData;

use crate::window::{flight, whole_segments};
use crate::{Ack, Flow, Init, Member, Rule, Signal, Subflow, Window};

/// How connections are linked. `all` are the connections with a window and an RTT, two or more;
/// `own` is one of them.
pub(crate) trait Link: Send {
    /// Increase in segments per segment acknowledged; may be negative.
    fn increase(own: &Subflow, all: &[Subflow]) -> f64;

    /// Fraction of the window by which a loss reduces it.
    fn taken(_own: &Subflow, _all: &[Subflow]) -> f64 {
        0.5
    }
}

/// Segments per second.
pub(crate) fn subflow_rate(subflow: &Subflow) -> f64 {
    subflow.cwnd / subflow.srtt_s
}

/// Segments per second, per second of round trip.
pub(crate) fn rate_per_rtt(subflow: &Subflow) -> f64 {
    subflow_rate(subflow) / subflow.srtt_s
}

/// Segments per second of all connections.
pub(crate) fn total_rate(all: &[Subflow]) -> f64 {
    all.iter().map(subflow_rate).sum()
}

/// This path's part of the growth of one Reno, in segments per segment acknowledged.
pub(crate) fn linked_increase(own: &Subflow, all: &[Subflow]) -> f64 {
    let total = total_rate(all);
    rate_per_rtt(own) / (total * total)
}

/// Maximum of `value` over all connections.
pub(crate) fn largest(all: &[Subflow], value: impl Fn(&Subflow) -> f64) -> f64 {
    all.iter().map(value).fold(0.0, f64::max)
}

/// Window rule of one coupled connection.
pub(crate) struct Coupled<L> {
    member: Member,
    /// Last reports of the connections, stored to reuse the memory.
    all: Vec<Subflow>,
    link: PhantomData<L>,
}

impl<L: Link> Coupled<L> {
    /// The rule at the start of a connection.
    pub(crate) fn new(init: &Init) -> Self {
        let member = init.coupling.clone().unwrap_or_else(Member::alone);
        Coupled { member, all: Vec::new(), link: PhantomData }
    }

    /// Report the window to the others. In recovery that is the threshold, as in RFC 6356 section
    /// 3.
    fn tell(&self, window: &Window, flow: &Flow) {
        if let Some(srtt) = flow.srtt {
            self.member.tell(window.exact(), srtt);
        }
    }

    /// This connection as seen by the others; none while it is alone.
    fn own(&mut self, window: &Window, flow: &Flow) -> Option<Subflow> {
        self.tell(window, flow);
        self.all.clear();
        self.all.extend(self.member.subflows());
        let own = self.all.iter().find(|subflow| subflow.own);
        own.copied().filter(|_| self.all.len() > 1)
    }
}

impl<L: Link> Rule for Coupled<L> {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        match self.own(window, flow) {
            Some(own) => window.add(L::increase(&own, &self.all) * f64::from(acked)),
            None => window.additive_increase(window.cwnd, acked),
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        let flight = f64::from(flight(window, flow));
        let taken = self.own(window, flow).map_or(0.5, |own| L::taken(&own, &self.all));
        whole_segments(flight * (1.0 - taken))
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.tell(window, flow);
        self.member.acknowledged(ack.acked);
    }

    fn on_congestion(&mut self, _flow: &Flow) {
        self.member.lost();
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.member.lost();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Coupling;
    use crate::Variant;
    use crate::probe::{Probe, Start};

    /// Connections with these windows in segments and RTTs in seconds, and with equal loss
    /// intervals; the first is `own`.
    pub(crate) fn subflows(paths: &[(f64, f64)]) -> Vec<Subflow> {
        let subflow = |(index, (cwnd, srtt_s)): (usize, &(f64, f64))| Subflow {
            own: index == 0,
            cwnd: *cwnd,
            srtt_s: *srtt_s,
            loss_interval: 1_000_000,
        };
        paths.iter().enumerate().map(subflow).collect()
    }

    fn trace(name: &str, coupling: Option<Member>) -> Vec<u64> {
        let start = Start { coupling, ..Start::slow_start(10, 40) };
        let mut probe = Probe::new(name, Variant::Paper, &start);
        let mut trace = Vec::new();
        for _ in 0..4 {
            probe.rounds(3);
            trace.push(probe.cwnd());
            probe.loss();
            probe.rounds(20);
            trace.push(probe.cwnd());
        }
        trace
    }

    #[test]
    fn alone_they_are_reno() {
        let reno = trace("reno", None);
        for name in ["lia", "olia", "balia"] {
            assert_eq!(trace(name, None), reno, "{name}, not coupled");
            let of_two = Coupling::members(2).swap_remove(0);
            assert_eq!(trace(name, Some(of_two)), reno, "{name}, the other has not begun");
        }
    }

    #[test]
    fn the_window_in_recovery_and_after_a_timeout_is_reported() {
        let members = Coupling::members(2);
        let start = Start { coupling: Some(members[0].clone()), ..Start::avoidance(20, 100) };
        let mut probe = Probe::new("lia", Variant::Paper, &start);
        let told = || members[1].subflows().next().map(|subflow| subflow.cwnd);
        assert_eq!(told(), None);
        probe.ack(1);
        assert_eq!(told(), Some(20.0));
        probe.congestion(Signal::Loss);
        probe.ack(1);
        assert_eq!(told(), Some(10.0));
        probe.recover();
        probe.rto();
        probe.phase = crate::Phase::Recovery;
        probe.ack(1);
        assert_eq!(told(), Some(1.0));
        assert_eq!(probe.cc.cwnd(), u64::from(crate::probe::MSS));
    }

    #[test]
    fn two_equal_connections_grow_together_by_half_a_segment_per_round() {
        // LIA: a = Σw · w/(Σw)² = 1/2, so Σw segments give a half in total, as a loss halves only
        // one of the two.
        let members = Coupling::members(2);
        let mut probes: Vec<Probe> = members
            .into_iter()
            .map(|member| {
                let start = Start { coupling: Some(member), ..Start::avoidance(20, 100) };
                Probe::new("lia", Variant::Paper, &start)
            })
            .collect();
        let total = |probes: &[Probe]| probes.iter().map(Probe::cwnd).sum::<u64>();
        for _ in 0..42 {
            for probe in &mut probes {
                probe.round();
            }
        }
        // 40 + 42 · 0.5 = 61, minus two fractions.
        let after = total(&probes);
        assert!((59..=61).contains(&after), "{after}");
    }
}
