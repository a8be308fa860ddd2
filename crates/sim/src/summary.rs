//! From counters at both ends of the measuring window to the summary.

use fairway_trace::{FlowSummary, LinkSummary, Metrics, Series, Summary};
use fairway_units::Duration;

use crate::connection::{Connection, Mark};
use crate::experiment::{Experiment, Measure};
use crate::network::Network;

pub(crate) fn summarise(
    experiment: &Experiment,
    connections: &[Connection],
    window: &[Vec<Mark>; 2],
    series: &Series,
    network: &Network,
) -> Summary {
    let measure = &experiment.measure;
    let flows: Vec<FlowSummary> = experiment
        .flows
        .iter()
        .enumerate()
        .map(|(i, flow)| {
            let (a, b) = (&window[0][i], &window[1][i]);
            let seconds = measure.to.since(measure.from).as_secs_f64();
            let arrivals = b.arrivals - a.arrivals;
            let delay_s = (b.delay_nanos - a.delay_nanos) as f64 / 1e9;
            FlowSummary {
                id: flow.id.clone(),
                cc: flow.cc.name.clone(),
                goodput_bps: (b.delivered_bytes - a.delivered_bytes) as f64 * 8.0 / seconds,
                throughput_bps: (b.wire_bytes - a.wire_bytes) as f64 * 8.0 / seconds,
                sent_segments: b.segments - a.segments,
                retransmitted_segments: b.retransmissions - a.retransmissions,
                lost_segments: b.data_missing - a.data_missing,
                window_reductions: b.reductions - a.reductions,
                timeouts: b.timeouts - a.timeouts,
                mean_cwnd_segments: mean(
                    series,
                    &series.cwnd_segments,
                    i,
                    connections.len(),
                    measure,
                ),
                mean_srtt_s: mean(series, &series.srtt_s, i, connections.len(), measure),
                mean_one_way_delay_s: (arrivals > 0).then(|| delay_s / arrivals as f64),
                fct_s: connections[i].completion_time().map(Duration::as_secs_f64),
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

/// Mean of one flow's samples in the measuring window, those without a value left out. Samples
/// stand in the order of time, all flows of a sample together.
fn mean(
    series: &Series,
    column: &[f64],
    flow: usize,
    flows: usize,
    measure: &Measure,
) -> Option<f64> {
    let (from, to) = (measure.from.as_secs_f64(), measure.to.as_secs_f64());
    let (mut sum, mut count) = (0.0, 0u64);
    for row in (flow..column.len()).step_by(flows) {
        let (t_s, value) = (series.t_s[row], column[row]);
        if t_s >= from && t_s <= to && !value.is_nan() {
            sum += value;
            count += 1;
        }
    }
    (count > 0).then(|| sum / count as f64)
}
