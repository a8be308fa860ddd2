//! The models, and which of them answers.
//!
//! Flows that share a bottleneck are asked about one after the other: whether anything but the
//! bottleneck limits them (`limited`); if not, what they make of its queue (`full`, `controlled`); and
//! where they differ, how they share it (`mixed`). Datagrams come first: they take what they want
//! (`datagrams`).

pub(crate) mod cell;
mod controlled;
mod datagrams;
mod finite;
mod full;
mod keeping;
mod laws;
mod limited;
mod mixed;
mod outside;
mod streams;

use crate::case::{Case, Group};
use crate::prediction::Basis;
use crate::refusal::{Refusal, Refusals, refuse};

/// What a model says of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlowAnswer {
    /// Which model, and whether it may be believed.
    pub basis: Basis,
    /// Packets that arrive in a second, each counted once, while the flow is on.
    pub goodput_pps: f64,
    /// Mean window.
    pub window_packets: Option<f64>,
    /// Mean round-trip time.
    pub rtt_s: Option<f64>,
    /// Mean time of a packet on its way.
    pub one_way_s: Option<f64>,
    /// Packets lost or dropped, as a part of those sent.
    pub loss: Option<f64>,
    /// From its start to the arrival of its last byte, if it has an end.
    pub completion_s: Option<f64>,
}

/// What a model says of a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkAnswer {
    /// Which model, and whether it may be believed.
    pub basis: Basis,
    /// Share of the time in which it transmits.
    pub utilisation: f64,
    /// Mean of the packets that wait.
    pub backlog_packets: Option<f64>,
    /// Mean time that a packet waits.
    pub sojourn_s: Option<f64>,
}

/// What models say of a group: one answer for each of its flows, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub streams: Vec<FlowAnswer>,
    pub loads: Vec<FlowAnswer>,
    pub link: LinkAnswer,
}

/// What models say of a case: one answer for each of its groups, in their order.
pub(crate) fn answer(case: &Case) -> Result<Vec<Answer>, Refusals> {
    let mut answers = Vec::with_capacity(case.groups.len());
    let mut refused = Vec::new();
    for group in &case.groups {
        match answer_group(group, case.window_s) {
            Ok(answer) => answers.push(answer),
            Err(refusal) => refused.push(refusal),
        }
    }
    refuse(refused)?;
    Ok(answers)
}

fn answer_group(group: &Group, window_s: [f64; 2]) -> Result<Answer, Refusal> {
    if group.flows.is_empty() {
        return datagrams::alone(group, window_s);
    }
    let offered = datagrams::offered(group, window_s)?;
    let mut found = streams::answer(group, window_s, &offered)?;
    let loads = datagrams::beside(group, &offered, &found);
    // The link carries the datagrams as well.
    let rest = 1.0 - offered.share;
    found.link.utilisation = (found.link.utilisation * rest + offered.share).min(1.0);
    Ok(Answer { streams: found.streams, loads, link: found.link })
}
