//! A WLAN cell: uploads and downloads through one access point.

use fairway_model::wlan::{Backoff, Cell, Direction, Flow, Packets, Times};
use fairway_net::QdiscConfig;
use fairway_phy::OVERHEAD_BYTES;
use fairway_spec::{Experiment, Wlan};
use fairway_units::Duration;

use super::{Answer, FlowAnswer, LinkAnswer, outside};
use crate::case::{Case, Discipline, Group, Stream};
use crate::prediction::Basis;
use crate::refusal::{Refusal, Refusals, refuse};

const NAME: &str = "WLAN cell";
const SOURCE: &str =
    "Kumar, Altman, Miorandi, Goyal 2007; product form derived, after Pradeepa, Kuri 2010";

/// What the model of a cell says of its flows.
pub(crate) fn answer(
    experiment: &Experiment,
    wlan: &Wlan,
    case: &Case,
) -> Result<Vec<Answer>, Refusals> {
    let Some(group) = case.groups.first() else { return Ok(Vec::new()) };
    let mut refused = of_cell(wlan, group);
    let mut stations: Vec<Option<usize>> = Vec::with_capacity(group.flows.len());
    for stream in &group.flows {
        let [from, to] = experiment.flows[stream.place].hosts;
        stations.push(from.max(to).checked_sub(1));
        refused.extend(of_flow(stream, [from, to]));
    }
    refused.extend(of_flows(group, wlan, &stations));
    if !experiment.datagrams.is_empty() {
        refused.push(Refusal::new("flow", "no model knows datagrams in a WLAN cell"));
    }
    refuse(refused)?;
    let cell = cell(experiment, wlan, group, &stations);
    let found = match cell.predict() {
        Ok(found) => found,
        Err(error) => {
            let what = format!("no model knows such a cell: {error}");
            return Err(Refusal::new("topology", what).into());
        }
    };
    let window_s = case.window_s;
    let why = group.flows.iter().find_map(|stream| outside::of_window(stream, window_s));
    let basis = Basis::new(NAME, SOURCE, why.or(found.outside.map(str::to_owned)));
    let flows = found.value.flows.iter().map(|flow| FlowAnswer {
        basis: basis.clone(),
        goodput_pps: flow.packets_per_s,
        window_packets: None,
        rtt_s: Some(flow.rtt_s),
        one_way_s: None,
        loss: Some(0.0),
        completion_s: None,
    });
    let streams = flows.collect();
    let link = LinkAnswer { basis, utilisation: 1.0, backlog_packets: None, sojourn_s: None };
    Ok(vec![Answer { streams, loads: Vec::new(), link }])
}

/// What of the cell the model does not know.
fn of_cell(wlan: &Wlan, group: &Group) -> Vec<Refusal> {
    let mut refused = Vec::new();
    let mut refuse = |key: &str, what: &str| {
        refused.push(Refusal::new(format!("topology.{key}"), what));
    };
    let stations = &wlan.cell.stations;
    if stations.iter().any(|one| one.frame_error_rate > 0.0 || one.control_error_rate > 0.0) {
        refuse("frame_error_rate", "no model knows a cell in which frames cannot be read");
    }
    if stations.iter().any(|one| one.rate != stations[0].rate) {
        refuse("station", "no model knows stations of different rates");
    }
    let largest = group.flows.iter().map(|stream| stream.packet_bytes).fold(0.0, f64::max);
    if largest + f64::from(OVERHEAD_BYTES) > f64::from(wlan.cell.mac.rts_threshold) {
        refuse("rts_threshold", "no model knows frames that RTS announces");
    }
    if group.bottleneck.discipline != Discipline::DropTail {
        refuse("ap_queue.kind", "models know an access point that drops what does not fit alone");
    }
    refused
}

/// What of a flow the model does not know.
fn of_flow(stream: &Stream, hosts: [usize; 2]) -> Option<Refusal> {
    let refuse = |key: &str, what: &str| Some(Refusal::new(format!("{}{key}", stream.path), what));
    if !hosts.contains(&0) {
        return refuse("to", "no model knows a flow from station to station");
    }
    if stream.application_pps.is_some() {
        return refuse(
            "app_rate",
            "in a WLAN cell, models know windows that are always full alone",
        );
    }
    if stream.size_packets.is_some() {
        return refuse("bytes", "no model knows transfers with an end in a WLAN cell");
    }
    (stream.loss > 0.0 || stream.ack_loss > 0.0)
        .then(|| Refusal::new("topology.server.loss", "no model knows losses behind a WLAN cell"))
}

/// What the model does not know of flows beside each other.
fn of_flows(group: &Group, wlan: &Wlan, stations: &[Option<usize>]) -> Vec<Refusal> {
    let mut refused = Vec::new();
    let first = &group.flows[0];
    let mut seen: Vec<usize> = stations.iter().flatten().copied().collect();
    seen.sort_unstable();
    if let Some(pair) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
        let what = format!("models know one flow for each station, and sta{} has more", pair[0]);
        refused.push(Refusal::new("flow", what));
    }
    for stream in &group.flows {
        if (stream.packet_bytes - first.packet_bytes).abs() > 0.5 {
            let what = "models know packets of one size in a WLAN cell";
            refused.push(Refusal::new(format!("{}mss", stream.path), what));
        }
        if stream.delays_acks != first.delays_acks {
            let what = "models know one direction of acknowledging in a WLAN cell";
            refused.push(Refusal::new(format!("{}delayed_ack", stream.path), what));
        }
    }
    let windows: f64 = group.flows.iter().map(|stream| stream.window_packets).sum();
    let queue_limit = group.bottleneck.queue_limit.packets(first.frame_bytes);
    let own = match &wlan.station_queue {
        QdiscConfig::DropTail(config) => crate::describe::queue_limit(config.limit),
        _ => crate::case::QueueLimit::Packets(0.0),
    };
    let largest = group.flows.iter().map(|stream| stream.window_packets).fold(0.0, f64::max);
    let fits = |queue_limit: Option<f64>, packets: f64| {
        queue_limit.is_none_or(|queue_limit| packets <= queue_limit)
    };
    if !fits(queue_limit, windows) || !fits(own.packets(first.frame_bytes), largest) {
        let what = format!(
            "windows of {windows:.0} packets overflow the queues of the cell, and models know windows \
             that fit; write a smaller one"
        );
        refused.push(Refusal::new("stack.receive_buffer", what));
    }
    refused
}

fn cell(experiment: &Experiment, wlan: &Wlan, group: &Group, stations: &[Option<usize>]) -> Cell {
    let first = &group.flows[0];
    let mac = &wlan.cell.mac;
    // The cast saturates.
    let packets = Packets {
        data_bytes: first.packet_bytes as u32,
        ack_bytes: (first.packet_bytes - first.payload_bytes) as u32,
        rate: wlan.cell.stations[stations[0].unwrap_or(0)].rate,
        protection: mac.cts_to_self.unwrap_or(Duration::ZERO),
    };
    let times = Times::of(&wlan.cell.phy, &packets);
    let attempts = Some(mac.short_retry_limit);
    let phy = &wlan.cell.phy;
    let backoff = Backoff { cw_min: phy.cw_min, cw_max: phy.cw_max, attempts };
    let flow = |stream: &Stream| {
        let is_download = experiment.flows[stream.place].hosts[0] == 0;
        let direction = if is_download { Direction::Download } else { Direction::Upload };
        Flow { direction, window_packets: stream.window_packets as u32 }
    };
    let wires = group.flows.iter().map(|stream| stream.rtt_s).sum::<f64>();
    Cell {
        times,
        backoff,
        flows: group.flows.iter().map(flow).collect(),
        packets_per_ack: if first.delays_acks { 2 } else { 1 },
        ack_timer_s: DELAYED_ACK_S,
        wire_rtt_s: wires / group.flows.len() as f64,
    }
}

/// A delayed acknowledgement waits for so long (Linux `include/net/tcp.h`, TCP_DELACK_MIN).
const DELAYED_ACK_S: f64 = 0.04;
