//! From counters at both ends of the measuring window to the summary.

use fairway_trace::{FlowCounts, FlowSummary, LinkSummary, Metrics, Series, Summary};
use fairway_units::Duration;

use crate::connection::Connection;
use crate::direction::Way;
use crate::experiment::{Experiment, Measure};
use crate::network::Network;

/// The name of a connection's data in results.
pub(crate) fn name(experiment: &Experiment, connection: usize, way: Way) -> String {
    experiment.flows[connection].id.clone() + way.suffix()
}

pub(crate) fn summarise(
    experiment: &Experiment,
    ways: &[(usize, Way)],
    connections: &[Connection],
    window: &[Vec<FlowCounts>; 2],
    series: &Series,
    network: &Network,
) -> Summary {
    let measure = &experiment.measure;
    let period = [measure.from, measure.to];
    let length = measure.to.since(measure.from);
    let flows: Vec<FlowSummary> = ways
        .iter()
        .enumerate()
        .map(|(place, (i, way))| {
            let counts = window[1][place].since(&window[0][place]);
            let mean = |column: &[f64]| series.mean(column, place, ways.len(), period);
            let cc = &experiment.flows[*i].cc.name;
            FlowSummary {
                mean_cwnd_segments: mean(&series.cwnd_segments),
                mean_srtt_s: mean(&series.srtt_s),
                fct_s: connections[*i].completion_time().map(Duration::as_secs_f64),
                ..FlowSummary::new(&name(experiment, *i, *way), cc, &counts, length)
            }
        })
        .collect();
    let links: Vec<LinkSummary> =
        network.reported.iter().filter_map(|l| link_summary(network, *l, measure)).collect();
    // Those of what comes back have no part in it.
    let forward = &flows[..connections.len()];
    let metrics = Metrics::new(forward, links.first().map_or(0.0, |l| l.utilisation));
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
