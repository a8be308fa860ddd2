//! What Fairway's network has measured, in place of what a guest watches.

use std::collections::BTreeMap;

use fairway_application::Direction;
use fairway_emulator::message::Measured;
use fairway_guest::plan::{Plan, Queue, Row};
use fairway_guest::record::{FlowMark, QueueTotals, Totals};
use fairway_schema::{LinkSummary, Metrics, Summary};
use fairway_spec::{Experiment, Network};

use crate::collect::compared;
use crate::programs::by_guest;

/// The counts of packets go into a guest's totals, and the links into its plan.
///
/// # Errors
/// What is wrong with the measurements.
pub(crate) fn take_over(
    measured: &Measured,
    experiment: &Experiment,
    plan: &mut Plan,
    totals: &mut Totals,
) -> Result<(), &'static str> {
    let connections = experiment.flows.len();
    if measured.flows.len() != connections + experiment.datagrams.len()
        || measured.arrivals.len() != measured.flows.len()
        || measured.back.len() != connections
    {
        return Err("the network has measured another number of flows");
    }
    for (totals, (index, _)) in totals.flows.iter_mut().zip(by_guest(experiment)) {
        totals.arrivals = measured.arrivals[index];
        for (own, found) in totals.window.iter_mut().zip(&measured.flows[index]) {
            take_counts(own, found);
        }
        for (own, found) in totals.back.iter_mut().zip(&measured.back[index]) {
            take_counts(own, found);
        }
    }
    for (index, totals) in totals.datagrams.iter_mut().enumerate() {
        for (own, found) in totals.window.iter_mut().zip(&measured.flows[connections + index]) {
            own.missing = found.missing;
        }
    }
    let rates = Network::of(experiment).directions;
    let queue = |link: &LinkSummary| {
        let direction = rates.iter().find(|direction| direction.id == link.id);
        Queue {
            id: link.id.clone(),
            rate_bps: direction.map(|direction| direction.link.rate.as_bps()),
            ..Queue::default()
        }
    };
    plan.queues = measured.links.iter().map(queue).collect();
    totals.queues = vec![QueueTotals::default(); plan.queues.len()];
    Ok(())
}

fn take_counts(own: &mut FlowMark, found: &FlowMark) {
    own.arrivals = found.arrivals;
    own.wire_bytes = found.wire_bytes;
    own.delay_ns = found.delay_ns;
    own.missing = found.missing;
}

/// Links, the cell and what only a network knows of flows.
pub(crate) fn complete(
    measured: Measured,
    experiment: &Experiment,
    rows: &[Row],
    summary: &mut Summary,
) {
    let connections = experiment.flows.iter().map(|flow| flow.id.clone());
    let back = experiment.flows.iter().map(|flow| flow.id.clone() + Direction::Reverse.suffix());
    let ids = connections.chain(experiment.datagrams.iter().map(|flow| flow.id.clone()));
    let of_network = ids.zip(measured.routes).zip(measured.dropped);
    let mut of_network: BTreeMap<_, _> =
        of_network.map(|((id, route), dropped)| (id, (route, dropped))).collect();
    of_network.extend(back.zip(measured.dropped_back).map(|(id, dropped)| (id, (None, dropped))));
    for flow in &mut summary.flows {
        if let Some((route, dropped)) = of_network.remove(&flow.id) {
            flow.route = route;
            flow.dropped_segments = flow.datagrams.is_none().then_some(dropped);
        }
    }
    summary.links = measured.links;
    summary.wlan = measured.wlan;
    let utilisation = summary.links.first().map_or(0.0, |link| link.utilisation);
    let busy = summary.wlan.as_ref().map_or(utilisation, |wlan| wlan.busy);
    summary.metrics = Metrics::new(&compared(&summary.flows, rows), busy);
}
