//! From counters at both ends of the measuring window to the summary.

use fairway_trace::{
    ApplicationSummary, FlowCounts, FlowSummary, LinkSummary, Metrics, Series, Summary,
    WlanNodeSummary, WlanSummary,
};
use fairway_units::Duration;

use crate::application::{self, Driver, Report};
use crate::connection::Connection;
use crate::datagrams::Datagrams;
use crate::direction::Way;
use crate::experiment::{Application, Experiment, Measure};
use crate::network::Network;
use crate::traced::Traced;

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
    let flows: Vec<FlowSummary> = traced
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let counts = window[1][place].since(&window[0][place]);
            let mean = |column: &[f64]| series.mean(column, place, traced.len(), period);
            let name = row.name(experiment);
            match row {
                Traced::Data(i, way) => FlowSummary {
                    mean_cwnd_segments: mean(&series.cwnd_segments),
                    mean_srtt_s: mean(&series.srtt_s),
                    fct_s: connections[*i].completion_time().map(Duration::as_secs_f64),
                    route: network.routes[*i].clone().filter(|_| *way == Way::Forward),
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
        links,
        wlan,
        metrics,
    }
}

/// What the applications say of themselves.
pub(crate) fn applications(
    experiment: &Experiment,
    traced: &[Traced],
    flows: &[FlowSummary],
    drivers: &[Box<dyn Driver>],
) -> Vec<ApplicationSummary> {
    let length = experiment.measure.to.since(experiment.measure.from);
    let summary = |(application, report): (&Application, Report)| {
        let is_own = |row: &Traced| matches!(row, Traced::Data(i, Way::Forward) if application.connections.contains(i));
        let own = flows.iter().zip(traced).filter(|(_, row)| is_own(row));
        let own: Vec<&FlowSummary> = own.map(|(flow, _)| flow).collect();
        application::summary(application, report, &own, length)
    };
    let reports = drivers.iter().map(|driver| driver.report(length));
    experiment.applications.iter().zip(reports).map(summary).collect()
}

fn link_summary(network: &Network, index: u32, measure: &Measure) -> Option<LinkSummary> {
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
        p99_sojourn_s: figures.sojourn.quantile(0.99).map(Duration::as_secs_f64),
    })
}

/// The cell, with the nodes that are reported.
fn wlan_summary(network: &Network, measure: &Measure) -> Option<WlanSummary> {
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
