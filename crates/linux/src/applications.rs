//! What the applications of a guest have got done.

use std::collections::BTreeMap;

use fairway_application::{Report, figure_names, summary};
use fairway_guest::plan::{Plan, Row};
use fairway_guest::record::{ApplicationTotals, FlowTotals, Totals};
use fairway_schema::{ApplicationSummary, CompletionSummary, FlowSummary};
use fairway_sim::{FoundTransfer, completions_of_run};
use fairway_spec::{Application, Experiment, Flow, Source, Workload};
use fairway_units::{Bytes, Duration, Time};

use crate::programs::{by_guest, by_program};

/// The rows of the applications that the guest works itself, by their names.
pub(crate) fn summaries(
    experiment: &Experiment,
    plan: &Plan,
    totals: &Totals,
    flows: &[FlowSummary],
) -> BTreeMap<String, ApplicationSummary> {
    let length = experiment.measure.to.since(experiment.measure.from);
    let programs: Vec<&str> = by_program(experiment).map(|p| p.application.id.as_str()).collect();
    let rows = plan.rows();
    let mut found = BTreeMap::new();
    for (index, application) in experiment.applications.iter().enumerate() {
        // What commands do, their own rows tell.
        let is_command = matches!(application.workload, Workload::Program(_));
        if is_command || programs.contains(&application.id.as_str()) {
            continue;
        }
        let is_own = |row: &Row| {
            let Row::Connection(flow) = *row else { return false };
            application.connections.contains(&(plan.flows[flow].place as usize))
        };
        let own = flows.iter().zip(&rows).filter(|(_, row)| is_own(row));
        let own: Vec<&FlowSummary> = own.map(|(flow, _)| flow).collect();
        let report = totals.applications.get(index).map(|totals| report(application, totals));
        let summary = summary(application, report.unwrap_or_default(), &own, length);
        found.insert(application.id.clone(), summary);
    }
    found
}

fn report(application: &Application, totals: &ApplicationTotals) -> Report {
    Report {
        goodput_bytes: totals.goodput_bytes,
        completion: totals.completion_ns.map(Duration::from_nanos),
        figures: figure_names(application).into_iter().zip(totals.figures.clone()).collect(),
    }
}

/// Completion times of every flow of the file that has several transfers.
pub(crate) fn completions(
    experiment: &Experiment,
    flows: &[&Flow],
    totals: &Totals,
) -> Vec<CompletionSummary> {
    let mut found: BTreeMap<usize, FoundTransfer> = BTreeMap::new();
    for (((place, _), flow), totals) in by_guest(experiment).iter().zip(flows).zip(&totals.flows) {
        found.extend(transfer(experiment, flow, totals).map(|transfer| (*place, transfer)));
    }
    completions_of_run(experiment, |place| found.get(&place).copied())
}

fn transfer(experiment: &Experiment, flow: &Flow, totals: &FlowTotals) -> Option<FoundTransfer> {
    let started = started(flow, totals);
    let bytes = match flow.source {
        Source::File { bytes } => Some(bytes),
        Source::Driven => totals.opened_ns.and(totals.transfer_bytes).map(Bytes::new),
        Source::Bulk | Source::Limited { .. } => None,
    };
    let has_begun = started < Time::ZERO + experiment.duration;
    bytes.filter(|_| has_begun).map(|bytes| FoundTransfer {
        started,
        bytes: bytes.get(),
        completion: totals.completed_ns.map(|ns| Time::from_nanos(ns).since(started)),
    })
}

/// When the application of a flow began it.
pub(crate) fn started(flow: &Flow, totals: &FlowTotals) -> Time {
    totals.opened_ns.map_or(flow.start, Time::from_nanos)
}
