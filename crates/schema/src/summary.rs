//! The summary of a run over its measuring window: the JSON contract of `fairway run --json`.

use crate::completion::CompletionSummary;
use fairway_units::Duration;
use serde::{Serialize, Serializer};

/// A run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Title of the experiment.
    pub title: String,
    /// Which backend answered.
    pub backend: &'static str,
    /// Seed of the run.
    pub seed: u64,
    /// Data packets delivered over the whole run.
    pub packets: u64,
    /// One entry a flow, and behind them one for each flow whose sink sends too: its id ends in
    /// `/reverse`, and the metrics leave it out.
    pub flows: Vec<FlowSummary>,
    /// One entry an application that has several connections or more to do than to write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationSummary>,
    /// Completion times of flows with several transfers, all together and by size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<CompletionSummary>,
    /// One entry a link direction that is reported.
    pub links: Vec<LinkSummary>,
    /// What happened in the WLAN, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wlan: Option<WlanSummary>,
    /// Figures over all flows.
    pub metrics: Metrics,
}

/// One flow over the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Name of the flow.
    pub id: String,
    /// Its congestion control; none of a datagram flow.
    pub cc: Option<String>,
    /// Payload delivered to the application, in order and once, in bit/s.
    pub goodput_bps: f64,
    /// Bits of all its data packets that reached the receiving host, IP headers included, in bit/s.
    pub throughput_bps: f64,
    /// Data segments sent, retransmissions included; or datagrams.
    pub sent_segments: u64,
    /// Retransmitted segments; none of a datagram flow.
    pub retransmitted_segments: Option<u64>,
    /// Data segments or datagrams dropped by a queue or lost by a link.
    pub lost_segments: u64,
    /// Of them, those that a queue dropped; none where nobody told them apart.
    pub dropped_segments: Option<u64>,
    /// Segments that arrived with bytes that had arrived before; none where nobody counted.
    pub duplicate_segments: Option<u64>,
    /// Reductions of the congestion window for a loss or a congestion mark; none of a datagram
    /// flow.
    pub window_reductions: Option<u64>,
    /// Retransmission timeouts; none of a datagram flow.
    pub timeouts: Option<u64>,
    /// Mean of the sampled congestion window; none without a sample.
    pub mean_cwnd_segments: Option<f64>,
    /// Mean of the sampled smoothed round-trip time.
    pub mean_srtt_s: Option<f64>,
    /// Mean over delivered data packets of arrival less departure.
    pub mean_one_way_delay_s: Option<f64>,
    /// From the flow's start to the delivery of its last byte; none for endless or unfinished flows.
    pub fct_s: Option<f64>,
    /// From the flow's start, handshake included, until the sender knows that its last byte has
    /// arrived; none for endless or unfinished flows, and where nobody watched.
    pub ctt_s: Option<f64>,
    /// The links of its way that are not in all ways, where it had a choice among several.
    pub route: Option<String>,
    /// What ns-3's FlowMonitor says of it; of connections alone whose stack is ns-3's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_monitor: Option<FlowMonitorSummary>,
    /// What only the receiver of datagrams measures. Its fields stand among the others.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramSummary>,
}

/// What ns-3's FlowMonitor says of a connection's IP packets from the source to the sink, over the whole
/// run: figures as Khader 2020 makes them of its counters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlowMonitorSummary {
    /// Bits sent from the first packet to the last, in kbit/s; none before the second.
    pub tx_kbps: Option<f64>,
    /// Bits received from the first departure to the last arrival, in kbit/s; none before that.
    pub rx_kbps: Option<f64>,
    /// From the first departure to the last arrival; none before that.
    pub ctt_s: Option<f64>,
    /// Mean over packets of arrival less departure, in milliseconds; none before an arrival.
    pub mean_delay_ms: Option<f64>,
    /// Packets dropped by queues, and those that a wire lost ten seconds ago or earlier.
    pub lost: u64,
    /// Packets sent.
    pub tx_packets: u64,
}

/// What the receiver of a datagram flow says of the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatagramSummary {
    /// Kind of traffic: "cbr", "vbr", "poisson" or "onoff".
    pub kind: &'static str,
    /// Datagrams received, copies not counted.
    pub received_packets: u64,
    /// Of them, those that came after one that was sent later (RFC 4737 section 3.3).
    pub reordered_packets: u64,
    /// Copies of datagrams that had been received before.
    pub duplicated_packets: u64,
    /// Datagrams dropped or lost over datagrams sent; none if none was sent.
    pub loss_ratio: Option<f64>,
    /// Interarrival jitter at the end of the window (RFC 3550 section 6.4.1), which remembers some
    /// sixteen packets; none before the second packet.
    pub jitter_s: Option<f64>,
    /// Median of the one-way delay over datagrams received.
    pub p50_one_way_delay_s: Option<f64>,
    /// 95th percentile of the one-way delay.
    pub p95_one_way_delay_s: Option<f64>,
    /// 99th percentile of the one-way delay.
    pub p99_one_way_delay_s: Option<f64>,
}

/// One application over the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationSummary {
    /// Name of the application.
    pub id: String,
    /// What it does.
    pub kind: &'static str,
    /// Its connections.
    pub connections: u64,
    /// Payload that the receiving application could use, in its own order and once, in bit/s.
    pub goodput_bps: f64,
    /// Sum over its connections of the bits that reached the receiving host, in bit/s.
    pub throughput_bps: f64,
    /// Data segments that its connections sent, retransmissions included.
    pub sent_segments: u64,
    /// Segments that they retransmitted.
    pub retransmitted_segments: u64,
    /// Data segments of theirs that a queue dropped or a link lost.
    pub lost_segments: u64,
    /// Sum of their mean congestion windows; none if one has no sample.
    pub mean_cwnd_segments: Option<f64>,
    /// From its start to its end; none for endless or unfinished applications.
    pub fct_s: Option<f64>,
    /// Figures of its kind, with their units in their names.
    #[serde(serialize_with = "as_map")]
    pub figures: Vec<(&'static str, Option<f64>)>,
}

impl ApplicationSummary {
    /// What the flows of its connections sum up to; what they do not say is left empty.
    pub fn of_flows(id: &str, kind: &'static str, flows: &[&FlowSummary]) -> Self {
        let count = |of: fn(&FlowSummary) -> u64| flows.iter().map(|flow| of(flow)).sum();
        ApplicationSummary {
            id: id.to_owned(),
            kind,
            connections: flows.len() as u64,
            goodput_bps: flows.iter().map(|flow| flow.goodput_bps).sum(),
            throughput_bps: flows.iter().map(|flow| flow.throughput_bps).sum(),
            sent_segments: count(|flow| flow.sent_segments),
            retransmitted_segments: count(|flow| flow.retransmitted_segments.unwrap_or(0)),
            lost_segments: count(|flow| flow.lost_segments),
            mean_cwnd_segments: flows.iter().map(|flow| flow.mean_cwnd_segments).sum(),
            fct_s: None,
            figures: Vec::new(),
        }
    }
}

fn as_map<S: Serializer>(
    figures: &[(&'static str, Option<f64>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(figures.iter().copied())
}

/// What is counted of one flow over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Payload bytes delivered to the application.
    pub delivered_bytes: u64,
    /// Bytes of its data packets that reached the receiving host, IP headers included.
    pub wire_bytes: u64,
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Data packets that a queue dropped or a link lost.
    pub missing: u64,
    /// Of them, those that a queue dropped.
    pub dropped: u64,
    /// Segments that arrived with bytes that had arrived before.
    pub duplicates: u64,
    /// Reductions of the congestion window for a loss or a mark.
    pub reductions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Data packets that reached the receiving host.
    pub arrivals: u64,
    /// Their delays added up, in nanoseconds.
    pub delay_nanos: u128,
    /// Datagrams that came after one that was sent later.
    pub reordered: u64,
    /// Copies of datagrams.
    pub duplicated: u64,
}

impl FlowCounts {
    /// What was counted after `earlier`, if both count from the same moment.
    pub fn since(&self, earlier: &FlowCounts) -> FlowCounts {
        FlowCounts {
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            wire_bytes: self.wire_bytes - earlier.wire_bytes,
            segments: self.segments - earlier.segments,
            retransmissions: self.retransmissions - earlier.retransmissions,
            missing: self.missing - earlier.missing,
            dropped: self.dropped - earlier.dropped,
            duplicates: self.duplicates - earlier.duplicates,
            reductions: self.reductions - earlier.reductions,
            timeouts: self.timeouts - earlier.timeouts,
            arrivals: self.arrivals - earlier.arrivals,
            delay_nanos: self.delay_nanos - earlier.delay_nanos,
            reordered: self.reordered - earlier.reordered,
            duplicated: self.duplicated - earlier.duplicated,
        }
    }
}

impl FlowSummary {
    /// What the counts say about a connection; what samples and its end say is left empty.
    pub fn new(id: &str, cc: &str, counts: &FlowCounts, window: Duration) -> Self {
        let seconds = window.as_secs_f64();
        let delay_s = counts.delay_nanos as f64 / 1e9;
        FlowSummary {
            id: id.to_owned(),
            cc: Some(cc.to_owned()),
            goodput_bps: counts.delivered_bytes as f64 * 8.0 / seconds,
            throughput_bps: counts.wire_bytes as f64 * 8.0 / seconds,
            sent_segments: counts.segments,
            retransmitted_segments: Some(counts.retransmissions),
            lost_segments: counts.missing,
            dropped_segments: None,
            duplicate_segments: None,
            window_reductions: Some(counts.reductions),
            timeouts: Some(counts.timeouts),
            mean_cwnd_segments: None,
            mean_srtt_s: None,
            mean_one_way_delay_s: (counts.arrivals > 0).then(|| delay_s / counts.arrivals as f64),
            fct_s: None,
            ctt_s: None,
            route: None,
            flow_monitor: None,
            datagrams: None,
        }
    }

    /// What the counts and the receiver say about a datagram flow.
    pub fn of_datagrams(
        id: &str,
        counts: &FlowCounts,
        window: Duration,
        datagrams: DatagramSummary,
    ) -> Self {
        FlowSummary {
            cc: None,
            retransmitted_segments: None,
            window_reductions: None,
            timeouts: None,
            datagrams: Some(datagrams),
            ..FlowSummary::new(id, "", counts, window)
        }
    }
}

/// One direction of a link over the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Name of the link; the direction towards the sources ends in `/reverse`.
    pub id: String,
    /// Share of the window in which it transmitted.
    pub utilisation: f64,
    /// Packets dropped by its queue.
    pub drops: u64,
    /// Packets lost on the wire.
    pub losses: u64,
    /// Packets that its queue marked; none if nobody counted.
    pub marks: Option<u64>,
    /// Time average of the packets waiting.
    pub mean_backlog_packets: f64,
    /// Mean over packets of the time in the queue before transmission.
    pub mean_sojourn_s: Option<f64>,
    /// Median of it; none where nobody looked at single packets.
    pub p50_sojourn_s: Option<f64>,
    /// 95th percentile of it.
    pub p95_sojourn_s: Option<f64>,
    /// 99th percentile of it.
    pub p99_sojourn_s: Option<f64>,
}

/// A WLAN cell over the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WlanSummary {
    /// Share of the window in which someone transmitted or an exchange was under way.
    pub busy: f64,
    /// The part of it in which transmissions collided.
    pub collided: f64,
    /// The access point, and then the stations that flows use.
    pub nodes: Vec<WlanNodeSummary>,
}

/// The access point or a station over the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WlanNodeSummary {
    /// `ap`, or the name of the station.
    pub id: String,
    /// Frames of its own that were received, duplicates not counted.
    pub delivered: u64,
    /// Times that it began to transmit, alone or not.
    pub accesses: u64,
    /// Accesses in which others transmitted too.
    pub collisions: u64,
    /// Accesses that failed because a frame could not be read.
    pub errors: u64,
    /// Frames that it gave up after too many retries.
    pub given_up: u64,
    /// Frames of its own that were received once more.
    pub duplicates: u64,
}

/// Figures over all flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Goodputs of all flows together, in bit/s.
    pub goodput_bps: f64,
    /// Jain's fairness index of the goodputs; none if all are zero.
    pub jain_index: Option<f64>,
    /// (x₁ − x₂)/(x₁ + x₂) of the goodputs; none unless there are two flows.
    pub asymmetry: Option<f64>,
    /// (max − min)/min of the goodputs; none if the smallest is zero.
    pub unfairness: Option<f64>,
    /// Utilisation of the bottleneck towards the sinks; none where its rate is not known.
    pub utilisation: Option<f64>,
    /// Data segments dropped or lost over data segments sent; none if none was sent.
    pub loss_ratio: Option<f64>,
}

impl Metrics {
    /// Computes the figures from the parts.
    pub fn new(flows: &[&FlowSummary], utilisation: impl Into<Option<f64>>) -> Self {
        let goodput: Vec<f64> = flows.iter().map(|f| f.goodput_bps).collect();
        let sent: u64 = flows.iter().map(|f| f.sent_segments).sum();
        let lost: u64 = flows.iter().map(|f| f.lost_segments).sum();
        Metrics {
            goodput_bps: goodput.iter().sum(),
            jain_index: jain_index(&goodput),
            asymmetry: asymmetry(&goodput),
            unfairness: unfairness(&goodput),
            utilisation: utilisation.into(),
            loss_ratio: (sent > 0).then(|| lost as f64 / sent as f64),
        }
    }
}

/// Jain's fairness index (Σx)²/(n Σx²) (Jain, Chiu, Hawe, DEC TR-301, 1984), between 1/n and 1;
/// none if there is nothing or all are zero.
pub fn jain_index(x: &[f64]) -> Option<f64> {
    let sum: f64 = x.iter().sum();
    let squares: f64 = x.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (x.len() as f64 * squares))
}

/// Signed asymmetry of two flows (Gelle 2008, section 3); none unless there are two that carry
/// anything.
pub fn asymmetry(x: &[f64]) -> Option<f64> {
    match x {
        [a, b] if a + b > 0.0 => Some((a - b) / (a + b)),
        _ => None,
    }
}

/// Unfairness (max − min)/min (Prukpaiboon 2012); none if the smallest is zero.
pub fn unfairness(x: &[f64]) -> Option<f64> {
    let max = x.iter().copied().fold(f64::NAN, f64::max);
    let min = x.iter().copied().fold(f64::NAN, f64::min);
    (min > 0.0).then(|| (max - min) / min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_by_hand() {
        // (1+2+3+4)² / (4·30) = 100/120.
        assert!((jain_index(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 0.8333).abs() < 1e-4);
        assert_eq!(jain_index(&[5.0, 0.0]), Some(0.5));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
        // The first pair of the published rerun: (296.239 − 295.622)/591.861.
        assert!((asymmetry(&[296.239, 295.622]).unwrap() - 0.0010).abs() < 5e-5);
        assert_eq!(asymmetry(&[1.0]), None);
        assert_eq!(unfairness(&[2.0, 3.0, 5.0]), Some(1.5));
        assert_eq!(unfairness(&[0.0, 1.0]), None);
    }
}
