//! From counters at both ends of the measuring window to the summary.

use fairway_application::{self as application, Driver, Report};
use fairway_schema::{
    ApplicationSummary, CompletionSummary, FlowCounts, FlowSummary, LinkSummary, Metrics, Series,
    Summary, Transfer, WlanNodeSummary, WlanSummary, completions,
};
use fairway_units::{Duration, Time};

use crate::connection::Connection;
use crate::datagrams::Datagrams;
use crate::direction::Direction;
use crate::network::Network;
use crate::traced::Traced;
use fairway_spec::{Application, Experiment, Measure};

pub(crate) fn summarise(
    experiment: &Experiment,
    traced: &[Traced],
    connections: &[Connection],
    datagrams: &Datagrams,
    window: &[Vec<FlowCounts>; 2],
    series: &Series,
    network: &Network,
) -> Summary {
    let measure = &experiment.measure;
    let period = [measure.from, measure.to];
    let length = measure.to.since(measure.from);
    // The places in the time series of rows that have some.
    let mut sampled = 0;
    let place_of = |row: &Traced| {
        let place = row.is_sampled(experiment).then_some(sampled);
        sampled += usize::from(place.is_some());
        place
    };
    let places: Vec<Option<usize>> = traced.iter().map(place_of).collect();
    let flows: Vec<FlowSummary> = traced
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let counts = window[1][place].since(&window[0][place]);
            let sampled_place = places[place];
            let mean = |column: &[f64]| series.mean(column, sampled_place?, sampled, period);
            let name = row.name(experiment);
            match row {
                Traced::Data(i, direction) => FlowSummary {
                    mean_cwnd_segments: mean(&series.cwnd_segments),
                    mean_srtt_s: mean(&series.srtt_s),
                    dropped_segments: Some(counts.dropped),
                    duplicate_segments: Some(counts.duplicates),
                    fct_s: connections[*i].completion_time().map(Duration::as_secs_f64),
                    ctt_s: connections[*i].acknowledged_time().map(Duration::as_secs_f64),
                    route: network.routes[*i].clone().filter(|_| *direction == Direction::Forward),
                    flow_monitor: connections[*i]
                        .flow_monitor(Time::ZERO + experiment.duration)
                        .filter(|_| *direction == Direction::Forward),
                    ..FlowSummary::new(&name, &experiment.flows[*i].cc.name, &counts, length)
                },
                Traced::Datagrams(i) => {
                    let found = datagrams.summary(*i, &experiment.datagrams[*i], &counts);
                    FlowSummary {
                        fct_s: datagrams.completion_time(*i).map(Duration::as_secs_f64),
                        route: network.routes[connections.len() + *i].clone(),
                        ..FlowSummary::of_datagrams(&name, &counts, length, found)
                    }
                }
            }
        })
        .collect();
    let links: Vec<LinkSummary> =
        network.reported.iter().filter_map(|l| link_summary(network, *l, measure)).collect();
    let compared = flows.iter().zip(traced).filter(|(_, row)| row.is_compared(experiment));
    let compared: Vec<&FlowSummary> = compared.map(|(flow, _)| flow).collect();
    let wlan = wlan_summary(network, measure);
    let of_link = links.first().map_or(0.0, |link| link.utilisation);
    let metrics = Metrics::new(&compared, wlan.as_ref().map_or(of_link, |wlan| wlan.busy));
    Summary {
        title: experiment.title.clone(),
        backend: "sim",
        seed: experiment.seed,
        packets: connections.iter().map(Connection::arrivals).sum::<u64>() + datagrams.arrivals(),
        flows,
        applications: Vec::new(),
        completions: completions_of(experiment, network, |i| transfer_of(&connections[i])),
        links,
        wlan,
        metrics,
    }
}

/// What became of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundTransfer {
    /// When its application began.
    pub started: Time,
    /// Its size.
    pub bytes: u64,
    /// From then to its last byte, if that came.
    pub completion: Option<Duration>,
}

/// Completion times of every flow of the file that has several transfers, measured anywhere: what became of
/// the transfer of each connection, if it has begun one.
pub fn completions_of_run(
    experiment: &Experiment,
    found: impl Fn(usize) -> Option<FoundTransfer>,
) -> Vec<CompletionSummary> {
    completions_of(experiment, &Network::new(experiment), found)
}

fn completions_of(
    experiment: &Experiment,
    network: &Network,
    found: impl Fn(usize) -> Option<FoundTransfer>,
) -> Vec<CompletionSummary> {
    let mut dealt = vec![false; experiment.flows.len()];
    for application in &experiment.applications {
        if !application.workload.has_transfers() {
            dealt[application.connections.clone()].fill(true);
        }
    }
    let mut transfers: Vec<(u32, &str, Vec<Transfer>)> = Vec::new();
    for (i, flow) in experiment.flows.iter().enumerate().filter(|(i, _)| !dealt[*i]) {
        let is_measured = |found: &FoundTransfer| {
            (experiment.measure.from..experiment.measure.to).contains(&found.started)
        };
        let Some(found) = found(i).filter(is_measured) else { continue };
        let transfer = Transfer {
            bytes: found.bytes,
            completion_s: found.completion.map(Duration::as_secs_f64),
            ideal_s: network.path(i as u32, experiment).ideal_s(found.bytes, &flow.stack),
        };
        match transfers.last_mut() {
            Some((origin, _, of)) if *origin == flow.origin => of.push(transfer),
            _ => {
                let name = flow.id.split('/').next().unwrap_or_default();
                transfers.push((flow.origin, name, vec![transfer]));
            }
        }
    }
    let several = transfers.iter().filter(|(_, _, of)| of.len() > 1);
    several.flat_map(|(_, name, of)| completions(name, of)).collect()
}

fn transfer_of(connection: &Connection) -> Option<FoundTransfer> {
    Some(FoundTransfer {
        started: connection.started(),
        bytes: connection.transfer()?,
        completion: connection.completion_time(),
    })
}

/// What the applications say of themselves.
pub(crate) fn applications(
    experiment: &Experiment,
    traced: &[Traced],
    flows: &[FlowSummary],
    drivers: &[Option<Box<dyn Driver>>],
) -> Vec<ApplicationSummary> {
    let length = experiment.measure.to.since(experiment.measure.from);
    let summary = |(application, report): (&Application, Report)| {
        let is_own = |row: &Traced| matches!(row, Traced::Data(i, Direction::Forward) if application.connections.contains(i));
        let own = flows.iter().zip(traced).filter(|(_, row)| is_own(row));
        let own: Vec<&FlowSummary> = own.map(|(flow, _)| flow).collect();
        application::summary(application, report, &own, length)
    };
    let window = [experiment.measure.from, experiment.measure.to];
    let report = |driver: &dyn Driver| driver.report(window);
    let reports = drivers.iter().map(|d| d.as_deref().map_or_else(Report::default, report));
    experiment.applications.iter().zip(reports).map(summary).collect()
}

pub(crate) fn link_summary(
    network: &Network,
    index: u32,
    measure: &Measure,
) -> Option<LinkSummary> {
    let id = network.names[index as usize].clone();
    let figures = network.figures(index)?;
    let nanos = measure.to.since(measure.from).as_nanos() as f64;
    Some(LinkSummary {
        id,
        utilisation: figures.busy_nanos as f64 / nanos,
        drops: figures.dropped,
        losses: figures.lost,
        marks: Some(figures.marked),
        mean_backlog_packets: figures.waiting_nanos as f64 / nanos,
        mean_sojourn_s: figures.sojourn.mean().map(Duration::as_secs_f64),
        p50_sojourn_s: figures.sojourn.quantile(0.5).map(Duration::as_secs_f64),
        p95_sojourn_s: figures.sojourn.quantile(0.95).map(Duration::as_secs_f64),
        p99_sojourn_s: figures.sojourn.quantile(0.99).map(Duration::as_secs_f64),
    })
}

/// The cell, with the nodes that are reported.
pub(crate) fn wlan_summary(network: &Network, measure: &Measure) -> Option<WlanSummary> {
    let figures = network.cell_figures()?;
    let window = measure.to.since(measure.from).as_secs_f64();
    let nodes = network.reported.iter().filter_map(|device| {
        let totals = figures.nodes.get(network.node_of(*device)?)?;
        Some(WlanNodeSummary {
            id: network.names[*device as usize].clone(),
            delivered: totals.delivered,
            accesses: totals.accesses,
            collisions: totals.collisions,
            errors: totals.errors,
            given_up: totals.given_up,
            duplicates: totals.duplicates,
        })
    });
    Some(WlanSummary {
        busy: figures.busy.as_secs_f64() / window,
        collided: figures.collided.as_secs_f64() / window,
        nodes: nodes.collect(),
    })
}
