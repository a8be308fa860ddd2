//! From counters at both ends of the measuring window to the summary.

use fairway_trace::{FlowCounts, FlowSummary, LinkSummary, Metrics, Series, Summary};
use fairway_units::Duration;

use crate::connection::Connection;
use crate::experiment::{Experiment, Measure};
use crate::network::Network;

pub(crate) fn summarise(
    experiment: &Experiment,
    connections: &[Connection],
    window: &[Vec<FlowCounts>; 2],
    series: &Series,
    network: &Network,
) -> Summary {
    let measure = &experiment.measure;
    let period = [measure.from, measure.to];
    let flows: Vec<FlowSummary> = experiment
        .flows
        .iter()
        .enumerate()
        .map(|(i, flow)| {
            let counts = window[1][i].since(&window[0][i]);
            let mean = |column: &[f64]| series.mean(column, i, connections.len(), period);
            FlowSummary {
                mean_cwnd_segments: mean(&series.cwnd_segments),
                mean_srtt_s: mean(&series.srtt_s),
                fct_s: connections[i].completion_time().map(Duration::as_secs_f64),
                ..FlowSummary::new(&flow.id, &flow.cc.name, &counts, measure.to.since(measure.from))
            }
        })
        .collect();
    let links: Vec<LinkSummary> =
        network.reported.iter().filter_map(|l| link_summary(network, *l, measure)).collect();
    let metrics = Metrics::new(&flows, links.first().map_or(0.0, |l| l.utilisation));
    Summary {
        title: experiment.title.clone(),
        backend: "sim",
        seed: experiment.seed,
        packets: connections.iter().map(Connection::arrivals).sum(),
        flows,
        links,
        metrics,
    }
}

fn link_summary(network: &Network, index: u32, measure: &Measure) -> Option<LinkSummary> {
    let figures = network.link(index).figures()?;
    let nanos = measure.to.since(measure.from).as_nanos() as f64;
    Some(LinkSummary {
        id: network.names[index as usize].clone(),
        utilisation: figures.busy_nanos as f64 / nanos,
        drops: figures.dropped,
        losses: figures.lost,
        mean_backlog_packets: figures.waiting_nanos as f64 / nanos,
        p99_sojourn_s: figures.sojourn.quantile(0.99).map(Duration::as_secs_f64),
    })
}
