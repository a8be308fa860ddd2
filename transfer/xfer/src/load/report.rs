//! The report of a session, joined from what both ends measured.

use std::collections::BTreeSet;

use fairway_schema::FlowSummary;
use serde::Serialize;

use super::plan::{Direction, Flow, Plan, Transport};
use super::seen::Seen;
use crate::measure::{Carried, Record, Samples, most_bps};

/// One flow as both ends saw it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    pub id: String,
    pub transport: Transport,
    pub direction: Direction,
    pub sent_bytes: u64,
    /// Payload that its receiver read; of datagrams without the copies.
    pub received_bytes: u64,
    pub sent_messages: u64,
    pub goodput_bps: f64,
    /// From its start to its last byte at the receiver.
    pub fct_s: Option<f64>,
    /// Pieces or datagrams whose content was not as it was made; none if nobody looked.
    pub corrupt: Option<u64>,
    /// Why it broke, if it did.
    pub failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
}

/// Datagrams of a flow, over the whole session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatagramReport {
    pub sent: u64,
    pub received: u64,
    pub lost: u64,
    /// Lost over sent; none if none was sent.
    pub loss_ratio: Option<f64>,
    /// Those that came after one that was sent later (RFC 4737 section 3.3).
    pub reordered: u64,
    pub duplicated: u64,
    pub foreign: u64,
    /// Interarrival jitter (RFC 3550 section 6.4.1).
    pub jitter_s: Option<f64>,
    /// Mean one-way delay; none where the ends have two clocks.
    pub mean_one_way_delay_s: Option<f64>,
    pub p50_one_way_delay_s: Option<f64>,
    /// Its 95th percentile.
    pub p95_one_way_delay_s: Option<f64>,
    /// Its 99th percentile.
    pub p99_one_way_delay_s: Option<f64>,
}

/// All flows that go one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Total {
    pub flows: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub goodput_bps: f64,
    pub sent_datagrams: u64,
    pub lost_datagrams: u64,
    pub intervals: Vec<Interval>,
}

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its end, in seconds from the beginning of the measuring window.
    pub to_s: f64,
    pub goodput_bps: f64,
}

/// A session as both ends saw it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub peer: String,
    pub seed: u64,
    pub omit_s: f64,
    pub window_s: f64,
    /// Whether both ends have one clock, so that one-way delays are known.
    pub has_one_clock: bool,
    pub forward: Total,
    pub reverse: Total,
    pub flows: Vec<FlowReport>,
}

/// What the two ends have to say.
pub struct Ends<'a> {
    pub plan: &'a Plan,
    pub flows: &'a [Flow],
    pub here: &'a [Seen],
    pub there: &'a [Seen],
    pub samples: Samples,
    pub peer: String,
    pub has_one_clock: bool,
}

impl Ends<'_> {
    /// The report, and `record`, which is the generator's, made to say what both ends saw: of a
    /// flow what its sender knows, and how much arrived where it arrived.
    pub fn join(self, record: &mut Record) -> Report {
        let window_s = record.taken.duration_s;
        let mut flows = Vec::new();
        let mut of_collector = BTreeSet::new();
        let receiver_samples = (record.samples.clone(), self.samples.clone());
        for (flow, (here, there)) in self.flows.iter().zip(self.here.iter().zip(self.there)) {
            let group = &self.plan.groups[flow.group];
            let (sender, receiver) = match group.direction {
                Direction::Forward => (here, there),
                Direction::Reverse => (there, here),
            };
            let report = flow_report(self.plan, flow, sender, receiver);
            let teller = if group.transport == Transport::Tcp { sender } else { receiver };
            if std::ptr::eq(teller, there) {
                of_collector.insert(flow.id.clone());
            }
            if let Some(summary) = record.summary.flows.iter_mut().find(|f| f.id == flow.id) {
                teller.figures.put(summary);
                summary.goodput_bps = report.goodput_bps;
                let is_complete = flow.bytes.is_some_and(|bytes| report.received_bytes >= bytes);
                summary.fct_s = report.fct_s.filter(|_| is_complete);
                if let Some(datagrams) = &report.datagrams {
                    tell_datagrams(summary, datagrams, self.plan.omit.is_zero());
                }
            }
            if let Some(taken) = record.taken.flows.get_mut(flow.number as usize) {
                taken.is_received = group.direction == Direction::Reverse;
                taken.payload_bytes = receiver.window_bytes;
            }
            flows.push(report);
        }
        record.samples.take_over(self.samples, &of_collector);
        let total = |direction| {
            let samples = match direction {
                Direction::Forward => &receiver_samples.1,
                Direction::Reverse => &receiver_samples.0,
            };
            total(&flows, direction, samples)
        };
        let (forward, reverse) = (total(Direction::Forward), total(Direction::Reverse));
        tell_all(record, [&forward, &reverse]);
        Report {
            peer: self.peer,
            seed: self.plan.seed,
            omit_s: self.plan.omit.as_secs_f64(),
            window_s,
            has_one_clock: self.has_one_clock,
            forward,
            reverse,
            flows,
        }
    }
}

fn flow_report(plan: &Plan, flow: &Flow, sender: &Seen, receiver: &Seen) -> FlowReport {
    let group = &plan.groups[flow.group];
    let broke = |end: &str, seen: &Seen| seen.failure.as_ref().map(|why| format!("{end}: {why}"));
    let datagrams = receiver.datagrams.as_ref().map(|arrivals| {
        let (sent, received) = (sender.messages, arrivals.received);
        let lost = sent.saturating_sub(received);
        let delay = |share| arrivals.delays.quantile_s(share);
        DatagramReport {
            sent,
            received,
            lost,
            loss_ratio: (sent > 0).then(|| lost as f64 / sent as f64),
            reordered: arrivals.reordered,
            duplicated: arrivals.duplicated,
            foreign: receiver.foreign,
            jitter_s: arrivals.jitter_s,
            mean_one_way_delay_s: arrivals.delays.mean_s(),
            p50_one_way_delay_s: delay(0.5),
            p95_one_way_delay_s: delay(0.95),
            p99_one_way_delay_s: delay(0.99),
        }
    });
    FlowReport {
        id: flow.id.clone(),
        transport: group.transport,
        direction: group.direction,
        sent_bytes: sender.bytes,
        received_bytes: receiver.bytes,
        sent_messages: sender.messages,
        goodput_bps: receiver.figures.flow.goodput_bps,
        fct_s: receiver.took_s,
        corrupt: group.is_verified.then_some(receiver.corrupt),
        failure: broke("sender", sender).or_else(|| broke("receiver", receiver)),
        datagrams,
    }
}

/// Puts what was counted over the whole session into a summary whose window is all of it; delays
/// are known only so.
fn tell_datagrams(summary: &mut FlowSummary, report: &DatagramReport, is_whole: bool) {
    let Some(datagrams) = &mut summary.datagrams else { return };
    datagrams.jitter_s = report.jitter_s;
    datagrams.p50_one_way_delay_s = report.p50_one_way_delay_s;
    datagrams.p95_one_way_delay_s = report.p95_one_way_delay_s;
    datagrams.p99_one_way_delay_s = report.p99_one_way_delay_s;
    if is_whole {
        datagrams.received_packets = report.received;
        datagrams.reordered_packets = report.reordered;
        datagrams.duplicated_packets = report.duplicated;
        datagrams.loss_ratio = report.loss_ratio;
        summary.sent_segments = report.sent;
        summary.lost_segments = report.lost;
    }
    summary.mean_one_way_delay_s = report.mean_one_way_delay_s;
}

fn tell_all(record: &mut Record, totals: [&Total; 2]) {
    let taken = &mut record.taken;
    taken.payload_bytes = taken.flows.iter().map(|flow| flow.payload_bytes).sum();
    taken.end = match totals.map(|total| total.flows) {
        [_, 0] => "sender",
        [0, _] => "receiver",
        _ => "both",
    };
    // What went one way in an interval went through the path.
    let nanos = |seconds: f64| (seconds * 1e9) as u64;
    for total in totals {
        let starts_s = std::iter::once(0.0).chain(total.intervals.iter().map(|of| of.to_s));
        let parts: Vec<Carried> = (starts_s.zip(&total.intervals))
            .map(|(from_s, of)| (from_s, of.to_s, of.goodput_bps * (of.to_s - from_s) / 8.0))
            .map(|(from_s, to_s, bytes)| (nanos(from_s), nanos(to_s), bytes))
            .collect();
        let most_bps = most_bps(&parts, nanos(taken.path.most_throughput_interval_s));
        taken.path.most_throughput_bps = taken.path.most_throughput_bps.max(most_bps);
    }
    let payload_bytes = taken.payload_bytes as f64;
    for application in &mut record.summary.applications {
        for (name, value) in &mut application.figures {
            if *name == "payload_bytes" {
                *value = Some(payload_bytes);
            }
        }
    }
    record.sum_up();
}

fn total(flows: &[FlowReport], direction: Direction, received: &Samples) -> Total {
    let going = || flows.iter().filter(|flow| flow.direction == direction);
    let datagrams = |of: fn(&DatagramReport) -> u64| {
        going().filter_map(|flow| flow.datagrams.as_ref()).map(of).sum()
    };
    let ids: BTreeSet<&str> = going().map(|flow| flow.id.as_str()).collect();
    Total {
        flows: going().count() as u64,
        sent_bytes: going().map(|flow| flow.sent_bytes).sum(),
        received_bytes: going().map(|flow| flow.received_bytes).sum(),
        goodput_bps: going().map(|flow| flow.goodput_bps).sum(),
        sent_datagrams: datagrams(|d| d.sent),
        lost_datagrams: datagrams(|d| d.lost),
        intervals: intervals(received, &ids),
    }
}

/// What came to an end in the intervals of its samples.
fn intervals(samples: &Samples, ids: &BTreeSet<&str>) -> Vec<Interval> {
    let is_meant: Vec<bool> =
        samples.flow_ids().iter().map(|id| ids.contains(id.as_str())).collect();
    let series = samples.series();
    let mut intervals: Vec<Interval> = Vec::new();
    for ((to_s, flow), goodput_bps) in series.t_s.iter().zip(&series.flow).zip(&series.goodput_bps)
    {
        if !is_meant.get(*flow as usize).copied().unwrap_or(false) {
            continue;
        }
        match intervals.last_mut() {
            Some(last) if last.to_s == *to_s => last.goodput_bps += goodput_bps,
            _ => intervals.push(Interval { to_s: *to_s, goodput_bps: *goodput_bps }),
        }
    }
    intervals
}
