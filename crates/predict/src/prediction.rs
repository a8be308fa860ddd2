//! What models say of an experiment, in the words of a summary.

use fairway_schema::{Metrics, asymmetry, jain_index, unfairness};
use fairway_spec::Experiment;
use serde::Serialize;

use crate::case::{Case, Stream};
use crate::models::{Answer, FlowAnswer};

/// Which model, and whether it may be believed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Basis {
    /// Its name.
    pub name: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether it holds here, as far as its source and its own conditions say.
    pub in_range: bool,
    /// Why not, in a few words.
    pub outside: Option<String>,
}

impl Basis {
    pub(crate) fn new(name: &'static str, source: &'static str, outside: Option<String>) -> Self {
        Basis { name, source, in_range: outside.is_none(), outside }
    }
}

/// What models say of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// One entry for each flow, in the order of a summary.
    pub flows: Vec<FlowPrediction>,
    /// One entry for each application whose data several connections carry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationPrediction>,
    /// One entry for each bottleneck.
    pub links: Vec<LinkPrediction>,
    /// Figures over all flows.
    pub metrics: Metrics,
}

impl Prediction {
    /// Without what it says of links: those of a medium that all share are no links.
    pub(crate) fn without_links(mut self) -> Self {
        self.links.clear();
        self.metrics.utilisation = None;
        self
    }
}

/// What a model says of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowPrediction {
    /// Name of the flow.
    pub id: String,
    /// Its congestion control; none of a datagram flow.
    pub cc: Option<String>,
    /// Kind of a datagram flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Payload delivered, in bit/s.
    pub goodput_bps: f64,
    /// Bits of its packets that arrive, IP headers included, in bit/s.
    pub throughput_bps: f64,
    /// Mean congestion window.
    pub mean_cwnd_segments: Option<f64>,
    /// Mean round-trip time.
    pub mean_srtt_s: Option<f64>,
    /// Mean time of a packet on its way.
    pub mean_one_way_delay_s: Option<f64>,
    /// From its start to the arrival of its last byte.
    pub fct_s: Option<f64>,
    /// Packets dropped or lost over packets sent.
    pub loss_ratio: Option<f64>,
    /// Which model.
    pub model: Basis,
}

/// What models say of the connections of an application together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationPrediction {
    /// Name of the application.
    pub id: String,
    /// What it does.
    pub kind: &'static str,
    /// Its connections.
    pub connections: u64,
    /// Payload delivered, in bit/s.
    pub goodput_bps: f64,
    /// Bits of its packets that arrive, in bit/s.
    pub throughput_bps: f64,
    /// Sum of the mean windows.
    pub mean_cwnd_segments: Option<f64>,
    /// From its start to its end.
    pub fct_s: Option<f64>,
}

/// What a model says of a bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkPrediction {
    /// Name of the link.
    pub id: String,
    /// Share of the time in which it transmits.
    pub utilisation: f64,
    /// Mean of the packets that wait.
    pub mean_backlog_packets: Option<f64>,
    /// Mean time that a packet waits.
    pub mean_sojourn_s: Option<f64>,
    /// Which model.
    pub model: Basis,
}

/// The answers of all groups, in the words of a summary.
pub(crate) fn assemble(experiment: &Experiment, case: &Case, answers: &[Answer]) -> Prediction {
    let mut flows: Vec<Option<FlowPrediction>> = vec![None; experiment.flows.len()];
    let mut loads: Vec<Option<FlowPrediction>> = vec![None; experiment.datagrams.len()];
    let mut links = Vec::new();
    for (group, answer) in case.groups.iter().zip(answers) {
        for (stream, found) in group.flows.iter().zip(&answer.streams) {
            let flow = &experiment.flows[stream.place];
            let share = share_of(stream, found, case.window_s);
            flows[stream.place] = Some(FlowPrediction {
                id: flow.id.clone(),
                cc: Some(flow.cc.name.clone()),
                ..words(found, stream.payload_bytes, stream.packet_bytes, share)
            });
        }
        for (load, found) in group.datagrams.iter().zip(&answer.loads) {
            let flow = &experiment.datagrams[load.place];
            loads[load.place] = Some(FlowPrediction {
                id: flow.id.clone(),
                kind: Some(flow.pattern.name()),
                ..words(found, load.payload_bytes, load.packet_bytes, 1.0)
            });
        }
        links.push(LinkPrediction {
            id: group.bottleneck.id.clone(),
            utilisation: answer.link.utilisation,
            mean_backlog_packets: answer.link.backlog_packets,
            mean_sojourn_s: answer.link.sojourn_s,
            model: answer.link.basis.clone(),
        });
    }
    let connections: Vec<FlowPrediction> = flows.into_iter().flatten().collect();
    let datagrams: Vec<FlowPrediction> = loads.into_iter().flatten().collect();
    let compared = if connections.is_empty() { &datagrams } else { &connections };
    let metrics = metrics(compared, case, &links);
    let applications = applications(experiment, &connections);
    let flows = in_order(experiment, connections, datagrams);
    Prediction { flows, applications, links, metrics }
}

/// Share of the measuring window that a flow is there, which scales its mean rate.
fn share_of(stream: &Stream, found: &FlowAnswer, [from, to]: [f64; 2]) -> f64 {
    let ends = found.completion_s.map(|took| stream.start_s + took);
    let until = stream.stop_s.unwrap_or(to).min(ends.unwrap_or(to)).min(to);
    ((until - stream.start_s.max(from)) / (to - from)).clamp(0.0, 1.0)
}

fn words(found: &FlowAnswer, payload: f64, packet: f64, share: f64) -> FlowPrediction {
    let pps = found.goodput_pps * share;
    FlowPrediction {
        id: String::new(),
        cc: None,
        kind: None,
        goodput_bps: 8.0 * payload * pps,
        throughput_bps: 8.0 * packet * pps,
        mean_cwnd_segments: found.window_packets,
        mean_srtt_s: found.rtt_s,
        mean_one_way_delay_s: found.one_way_s,
        fct_s: found.completion_s,
        loss_ratio: found.loss,
        model: found.basis.clone(),
    }
}

/// Flows of TCP and of datagrams as the file has them.
fn in_order(
    experiment: &Experiment,
    connections: Vec<FlowPrediction>,
    datagrams: Vec<FlowPrediction>,
) -> Vec<FlowPrediction> {
    let mut flows = Vec::with_capacity(connections.len() + datagrams.len());
    let mut connections = connections.into_iter().enumerate().peekable();
    for (flow, datagram) in experiment.datagrams.iter().zip(datagrams) {
        while let Some((_, connection)) = connections.next_if(|(place, _)| *place < flow.behind) {
            flows.push(connection);
        }
        flows.push(datagram);
    }
    flows.extend(connections.map(|(_, connection)| connection));
    flows
}

fn applications(experiment: &Experiment, flows: &[FlowPrediction]) -> Vec<ApplicationPrediction> {
    let of = |application: &fairway_spec::Application| {
        let own = flows.get(application.connections.clone())?;
        let longest = |most: Option<f64>, flow: &FlowPrediction| Some(most?.max(flow.fct_s?));
        Some(ApplicationPrediction {
            id: application.id.clone(),
            kind: application.workload.name(),
            connections: own.len() as u64,
            goodput_bps: own.iter().map(|flow| flow.goodput_bps).sum(),
            throughput_bps: own.iter().map(|flow| flow.throughput_bps).sum(),
            mean_cwnd_segments: own.iter().map(|flow| flow.mean_cwnd_segments).sum(),
            fct_s: own.iter().fold(Some(0.0), longest),
        })
    };
    experiment.applications.iter().filter_map(of).collect()
}

fn metrics(flows: &[FlowPrediction], case: &Case, links: &[LinkPrediction]) -> Metrics {
    let goodput: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let rate = |index: &usize| case.groups[*index].bottleneck.rate_bps;
    let slowest = (0..links.len()).min_by(|a, b| rate(a).total_cmp(&rate(b)));
    // What is sent is what arrives and what is lost.
    let sent = |flow: &FlowPrediction| {
        let kept = 1.0 - flow.loss_ratio?;
        (kept > 0.0).then_some((flow.throughput_bps / kept, flow.throughput_bps))
    };
    let all: Option<Vec<(f64, f64)>> = flows.iter().map(sent).collect();
    let loss_ratio = all.and_then(|all| {
        let sent: f64 = all.iter().map(|(sent, _)| sent).sum();
        let came: f64 = all.iter().map(|(_, came)| came).sum();
        (sent > 0.0).then(|| (1.0 - came / sent).max(0.0))
    });
    Metrics {
        goodput_bps: goodput.iter().sum(),
        jain_index: jain_index(&goodput),
        asymmetry: asymmetry(&goodput),
        unfairness: unfairness(&goodput),
        utilisation: slowest.map(|slowest| links[slowest].utilisation),
        loss_ratio,
    }
}
