//! The summary of a run over its measuring window: the JSON contract of `fairway run --json`.

use std::ops::AddAssign;

use crate::column::record;
use crate::completion::CompletionSummary;
use fairway_units::Duration;
use serde::{Deserialize, Serializer};

/// Of n independent events the count varies by 1/√n: 15 % of 44.
const OTHER: f64 = 0.15;
/// One event more or less may fall on the other side of the measuring window's edge.
const ONE_EVENT: f64 = 1.0;

record! {
    /// A run in numbers.
    pub struct Summary {
        /// Title of the experiment.
        title: String,
        /// Backend that answered.
        backend: &'static str,
        /// Seed of the run.
        seed: u64,
        /// Data packets delivered over the whole run.
        packets: u64,
        /// One entry for each flow, followed by one for each flow whose sink sends too: its id ends in
        /// `/reverse`, and the metrics leave it out.
        flows: Vec<FlowSummary>,
        /// One entry for each application that has several connections, or does more than write.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        applications: Vec<ApplicationSummary> [optional()],
        /// Completion times of flows with several transfers, all together and by size.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        completions: Vec<CompletionSummary> [optional()],
        /// One entry for each link direction that is reported.
        links: Vec<LinkSummary>,
        /// The WLAN, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        wlan: Option<WlanSummary> [optional()],
        /// Metrics over all flows.
        metrics: Metrics,
    }
}

record! {
    /// One flow over the measuring window.
    pub struct FlowSummary {
        /// Name of the flow.
        id: String,
        /// Its congestion control; null for a datagram flow.
        cc: Option<String>,
        /// Payload delivered to the application, in order and once, in bit/s. Data behind a gap counts
        /// when the gap is filled, so a short window that begins within a recovery may hold more than
        /// the link carries in it.
        // Headers are 3.5 % of a packet of 1500 bytes: a backend that miscounts them is found out.
        goodput_bps: f64 [tolerance(0.02, 0.0)],
        /// Bits of all its data packets that reached the receiving host, IP headers included, in bit/s.
        throughput_bps: f64,
        /// Data segments sent, retransmissions included; or datagrams.
        sent_segments: u64,
        /// Segments retransmitted; null for a datagram flow.
        retransmitted_segments: Option<u64> [tolerance(OTHER, ONE_EVENT)],
        /// Data segments or datagrams that a queue dropped or a link lost.
        lost_segments: u64 [tolerance(OTHER, ONE_EVENT)],
        /// Of these, those that a queue dropped; null from a kernel.
        dropped_segments: Option<u64>,
        /// Segments that arrived with bytes that had arrived before; null from a kernel.
        duplicate_segments: Option<u64>,
        /// Reductions of the congestion window for a loss or a congestion mark; null for a datagram
        /// flow.
        window_reductions: Option<u64> [tolerance(OTHER, ONE_EVENT)],
        /// Retransmission timeouts; null for a datagram flow.
        timeouts: Option<u64> [tolerance(OTHER, ONE_EVENT)],
        /// Mean of the sampled congestion window; null without a sample.
        // A sawtooth from βW to W has the mean (1 + β)W/2: 0.7 for 0.5 as β would make 13 %.
        mean_cwnd_segments: Option<f64> [tolerance(0.05, 0.0)],
        /// Mean of the sampled smoothed round-trip time.
        // While a queue is not empty, the round-trip time is the window over the link's rate.
        mean_srtt_s: Option<f64> [tolerance(0.05, 0.0)],
        /// Mean, over delivered data packets, of arrival less departure.
        mean_one_way_delay_s: Option<f64> [tolerance(OTHER, 0.0)],
        /// From the flow's start to the delivery of its last byte, which a `stop` may have made the
        /// last; null for endless or unfinished flows.
        fct_s: Option<f64>,
        /// From the flow's start, handshake included, until the sender knows that its last byte has
        /// arrived; null for endless or unfinished flows, and from a kernel.
        ctt_s: Option<f64>,
        /// Where the flow could take one of several routes, the links of its own that not all of them
        /// have.
        route: Option<String>,
        /// Counts of ns-3's FlowMonitor, for flows whose stack is ns-3's.
        #[serde(skip_serializing_if = "Option::is_none")]
        flow_monitor: Option<FlowMonitorSummary> [optional()],
        ;
        /// Columns that only datagram flows have. They stand among the others.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        datagrams: Option<DatagramSummary>
    }
}

record! {
    /// Counts of ns-3's FlowMonitor for a connection's IP packets from the source to the sink, over the
    /// whole run, in the figures that Khader 2020 makes of them.
    #[derive(Copy)]
    pub struct FlowMonitorSummary {
        /// Bits of all packets sent over the time from the first departure to the last, in kbit/s.
        tx_kbps: Option<f64>,
        /// Bits of all packets that arrived over `ctt_s`, in kbit/s.
        rx_kbps: Option<f64>,
        /// From the first departure to the last arrival.
        ctt_s: Option<f64>,
        /// Mean, over the packets that arrived, of arrival less departure.
        mean_delay_ms: Option<f64>,
        /// Packets that queues dropped, and those that a wire had lost ten seconds before the end of
        /// the run or earlier.
        lost: u64 [unit("packets")],
        /// Packets sent.
        tx_packets: u64,
    }
}

record! {
    /// Further columns of a datagram flow, from its receiver.
    pub struct DatagramSummary {
        /// Kind of traffic: `cbr`, `vbr`, `poisson` or `onoff`.
        kind: &'static str,
        /// Packets received, copies not counted.
        received_packets: u64,
        /// Of these, those that came after one that was sent later (RFC 4737 section 3.3).
        reordered_packets: u64,
        /// Copies of packets that had arrived before.
        duplicated_packets: u64,
        /// Packets dropped or lost ÷ packets sent; null if none was sent.
        loss_ratio: Option<f64>,
        /// Interarrival jitter (RFC 3550 section 6.4.1) at the end of the window, as iperf reports it: a
        /// running mean over some sixteen packets of how much the delay changes from one to the next.
        jitter_s: Option<f64>,
        /// Median of the one-way delay of packets received in the window, to 1.6 %.
        p50_one_way_delay_s: Option<f64>,
        /// 95th percentile of it.
        p95_one_way_delay_s: Option<f64>,
        /// 99th percentile of it.
        p99_one_way_delay_s: Option<f64>,
    }
}

record! {
    /// One application over the measuring window.
    pub struct ApplicationSummary {
        /// Name of the application.
        id: String,
        /// What it does.
        kind: &'static str,
        /// Number of its connections; each is a flow of its own.
        connections: u64,
        /// Payload that the receiving application could use, in its own order and once, in bit/s.
        goodput_bps: f64,
        /// Sum over its connections of the bits that reached the receiving host, in bit/s.
        throughput_bps: f64,
        /// Data segments that its connections sent, retransmissions included.
        sent_segments: u64,
        /// Segments that they retransmitted.
        retransmitted_segments: u64,
        /// Data segments of theirs that a queue dropped or a link lost.
        lost_segments: u64,
        /// Sum of their mean congestion windows; null if one has no sample.
        mean_cwnd_segments: Option<f64>,
        /// From its start to its end; null if it has none, or did not reach it.
        fct_s: Option<f64>,
        /// Figures of its kind by name, with their units in their names: see workloads.
        #[serde(serialize_with = "as_map")]
        figures: Vec<(&'static str, Option<f64>)>,
    }
}

record! {
    /// One direction of a link over the measuring window.
    #[derive(Deserialize)]
    pub struct LinkSummary {
        /// Name of the link; the direction towards the sources ends in `/reverse`.
        id: String,
        /// Share of the window in which it transmitted.
        utilisation: f64 [tolerance(OTHER, 0.0)],
        /// Packets dropped by its queue.
        drops: u64 [unit("packets"), tolerance(OTHER, ONE_EVENT)],
        /// Packets lost on the wire, counted when they enter the link.
        losses: u64 [unit("packets")],
        /// Packets that its queue marked (ECN) rather than dropped; null from a kernel.
        marks: Option<u64> [unit("packets")],
        /// Time average of the packets waiting, without the one in transmission; null from models that
        /// do not give it.
        // A packet is in the queue or is not: half of one is as close as counting comes.
        mean_backlog_packets: f64 [tolerance(OTHER, 0.5), nullable()],
        /// Mean, over packets, of the time in the queue before transmission.
        mean_sojourn_s: Option<f64>,
        /// Median of it, to 1.6 %; null from a kernel.
        p50_sojourn_s: Option<f64>,
        /// 95th percentile of it, to 1.6 %; null from a kernel.
        p95_sojourn_s: Option<f64>,
        /// 99th percentile of it.
        // The floor is a tick of a kernel's timer at 1000 Hz.
        p99_sojourn_s: Option<f64> [tolerance(OTHER, 1e-3)],
    }
}

record! {
    /// A WLAN cell over the measuring window.
    #[derive(Deserialize)]
    pub struct WlanSummary {
        /// Share of the window in which a frame, or the exchange that it began, was under way.
        busy: f64,
        /// Of this, the part in which transmissions collided.
        collided: f64,
        /// The access point, `ap`, and each station that sends.
        nodes: Vec<WlanNodeSummary>,
    }
}

record! {
    /// The access point or a station over the measuring window.
    #[derive(Deserialize)]
    pub struct WlanNodeSummary {
        /// `ap`, or the name of the station.
        id: String,
        /// Frames of its own that were received, copies not counted.
        delivered: u64 [unit("frames")],
        /// Times that it began to transmit, alone or not.
        accesses: u64,
        /// Accesses in which others transmitted too.
        collisions: u64,
        /// Accesses that failed because a frame could not be read.
        errors: u64,
        /// Frames that it gave up after too many retries.
        given_up: u64 [unit("frames")],
        /// Frames of its own that were received once more.
        duplicates: u64 [unit("frames")],
    }
}

record! {
    /// Metrics over all flows of TCP, or over the datagram flows where there is no TCP. Goodputs are x₁ … xₙ.
    pub struct Metrics {
        /// Sum of the goodputs, in bit/s.
        goodput_bps: f64,
        /// (Σx)² ÷ (n Σx²): 1 is equal, 1/n is all to one; null if all are zero.
        jain_index: Option<f64> [
            source("Jain, Chiu and Hawe, DEC TR-301, 1984"), tolerance(OTHER, 0.0)
        ],
        /// (x₁ − x₂) ÷ (x₁ + x₂), for two flows: 0 is equal, 1 is all to the first.
        asymmetry: Option<f64> [source("Weigle, Sharma and Freeman, NETWORKING 2006")],
        /// (max − min) ÷ min; null if the smallest is zero.
        unfairness: Option<f64> [source("Prukpaiboon, 2012")],
        /// Utilisation of the bottleneck, towards the sinks; null where its rate is not known.
        utilisation: Option<f64>,
        /// Data segments dropped or lost ÷ data segments sent; null if none was sent.
        loss_ratio: Option<f64>,
    }
}

impl ApplicationSummary {
    /// Sums over the flows of its connections; the rest is left empty.
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

/// Counts of one flow over a time.
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

impl AddAssign for FlowCounts {
    fn add_assign(&mut self, other: FlowCounts) {
        self.delivered_bytes += other.delivered_bytes;
        self.wire_bytes += other.wire_bytes;
        self.segments += other.segments;
        self.retransmissions += other.retransmissions;
        self.missing += other.missing;
        self.dropped += other.dropped;
        self.duplicates += other.duplicates;
        self.reductions += other.reductions;
        self.timeouts += other.timeouts;
        self.arrivals += other.arrivals;
        self.delay_nanos += other.delay_nanos;
        self.reordered += other.reordered;
        self.duplicated += other.duplicated;
    }
}

impl FlowCounts {
    /// The counts since `earlier`, if both began at the same moment.
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
    /// The summary of a connection by its counts; what samples and its end give is left empty.
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

    /// The summary of a datagram flow by its counts and its receiver.
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

impl Metrics {
    /// The metrics of these flows.
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
