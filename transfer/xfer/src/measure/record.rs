//! Makes the record of a transfer from counts and samples.

use std::time::Duration as WallDuration;

use fairway_schema::tcp_info::{Field, series as field};
use fairway_schema::{
    ApplicationSummary, DatagramSummary, FlowCounts, FlowSummary, Metrics, Summary,
};
use fairway_units::Duration;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;

use super::flow::{Flow, Watch};
use super::observe::share;
use super::rows::{Carried, Row, Samples, most_bps};
use super::state::State;
use super::{Counts, DatagramCounts, Subject};

/// What a transfer has measured, in the schema of every backend.
#[derive(Clone, Debug)]
pub struct Record {
    /// Figures over the whole transfer.
    pub summary: Summary,
    /// The samples.
    pub samples: Samples,
    /// How it was measured, and what it saw of the path.
    pub taken: Taken,
}

/// How a record was taken, and what it saw of the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Taken {
    /// What it is a record of, in one word.
    pub kind: &'static str,
    /// "sender", "receiver", or "both" where some flows go the other way.
    pub end: &'static str,
    /// From the first connection to the last sample.
    pub duration_s: f64,
    pub interval_s: f64,
    pub payload_bytes: u64,
    /// Connections, those that took the place of broken ones included.
    pub connections: u64,
    pub cpu: Cpu,
    pub path: PathSeen,
    /// Payload, start and end of every flow.
    pub flows: Vec<FlowTaken>,
}

/// One flow of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowTaken {
    pub id: String,
    pub is_received: bool,
    pub payload_bytes: u64,
    pub connections: u64,
    pub start_s: f64,
    pub end_s: f64,
}

/// What connections tell of their path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathSeen {
    pub min_rtt_s: Option<f64>,
    pub most_srtt_s: Option<f64>,
    pub most_receive_window_bytes: u64,
    /// Share of the time with data to send in which the receive window held it back.
    pub receive_window_limited: Option<f64>,
    /// Most that all connections together had delivered in one interval, with headers, in bit/s.
    pub most_throughput_bps: f64,
    pub most_throughput_interval_s: f64,
    /// Most that the latest delivery rates of all connections summed up to, in bit/s.
    pub most_delivery_rate_bps: f64,
    pub mss_bytes: u64,
    pub mtu_bytes: u64,
    pub rate_bps: Option<u64>,
}

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cpu {
    pub user_s: f64,
    pub system_s: f64,
}

impl Record {
    /// Makes the figures over all flows say what the flows say by now: the other end may have told
    /// what this one does not see.
    pub fn sum_up(&mut self) {
        let summary = &mut self.summary;
        summary.metrics = metrics(&summary.flows, self.taken.path.rate_bps);
        let flows: Vec<&FlowSummary> = summary.flows.iter().collect();
        for application in &mut summary.applications {
            let of_flows = ApplicationSummary::of_flows(&application.id, application.kind, &flows);
            let figures = std::mem::take(&mut application.figures);
            *application = ApplicationSummary { fct_s: application.fct_s, figures, ..of_flows };
        }
    }
}

impl Cpu {
    /// What the process has used so far; nothing where the kernel does not say.
    pub fn now() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Cpu::default() };
        let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
        Cpu { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) }
    }

    fn since(self, before: Cpu) -> Self {
        let clamp = |value: f64| value.max(0.0);
        Cpu {
            user_s: clamp(self.user_s - before.user_s),
            system_s: clamp(self.system_s - before.system_s),
        }
    }
}

impl State {
    pub(super) fn record(&self) -> Record {
        let window = self.window().1;
        // Rates of nothing at all are zero, and not undefined.
        let window_ns = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX).max(1);
        let span = Duration::from_nanos(window_ns);
        let flows: Vec<FlowSummary> = (0..self.flows.len())
            .map(|index| self.flow_summary(index as u32, &self.flows[index], span))
            .collect();
        let taken = self.taken(window);
        let counts = self.counts();
        let application = application(&self.subject, &flows, &counts, &taken);
        let metrics = metrics(&flows, taken.path.rate_bps);
        let flows_of = self.flows.iter().map(|flow| (flow.id.clone(), flow.has_window()));
        Record {
            samples: Samples { flows: flows_of.collect(), rows: self.rows.all().to_vec() },
            taken,
            summary: Summary {
                title: self.subject.title.clone(),
                backend: "xfer",
                seed: 0,
                packets: counts.delivered_segments,
                flows,
                applications: vec![application],
                completions: Vec::new(),
                links: Vec::new(),
                wlan: None,
                metrics,
            },
        }
    }

    fn flow_summary(&self, index: u32, flow: &Flow, window: Duration) -> FlowSummary {
        let counts = flow.counts();
        let of_flow = FlowCounts {
            delivered_bytes: counts.payload_bytes,
            wire_bytes: counts.wire_bytes,
            segments: counts.sent_segments,
            retransmissions: counts.retransmitted_segments,
            missing: counts.lost_segments(),
            timeouts: counts.timeouts,
            ..FlowCounts::default()
        };
        let cc = match &flow.watch {
            Watch::Tcp { cc } => cc,
            Watch::Datagrams { kind } => {
                let of_flow = FlowCounts { missing: flow.datagrams.lost_packets, ..of_flow };
                let found = datagram_summary(kind, &flow.datagrams);
                return FlowSummary::of_datagrams(&flow.id, &of_flow, window, found);
            }
        };
        let rows = || self.rows.all().iter().filter(|row| row.flow == index);
        let took = self.window().0.zip(flow.closed_at);
        FlowSummary {
            // The kernel does not count them, and timeouts not before Linux 6.7.
            window_reductions: None,
            timeouts: field::TOTAL_RTO.raw(flow.latest()).map(|_| counts.timeouts),
            mean_cwnd_segments: flow.is_sent.then(|| mean(rows(), field::CWND)).flatten(),
            mean_srtt_s: mean(rows(), field::RTT),
            fct_s: took.map(|(_, to)| to.saturating_duration_since(flow.opened).as_secs_f64()),
            ..FlowSummary::new(&flow.id, cc, &of_flow, window)
        }
    }

    fn taken(&self, window: WallDuration) -> Taken {
        let began = self.window().0;
        let since = |at: std::time::Instant| {
            began.map_or(0.0, |began| at.saturating_duration_since(began).as_secs_f64())
        };
        let flows = self.flows.iter().map(|flow| FlowTaken {
            id: flow.id.clone(),
            is_received: !flow.is_sent,
            payload_bytes: flow.counts().payload_bytes,
            connections: flow.connections,
            start_s: since(flow.opened),
            end_s: flow.closed_at.map_or(window.as_secs_f64(), since),
        });
        let sent = self.flows.iter().filter(|flow| flow.is_sent).count();
        Taken {
            kind: self.subject.kind,
            end: match sent {
                0 => "receiver",
                some if some == self.flows.len() => "sender",
                _ => "both",
            },
            duration_s: window.as_secs_f64(),
            interval_s: self.interval().as_secs_f64(),
            payload_bytes: self.delivered_bytes(),
            connections: self.flows.iter().map(|flow| flow.connections).sum(),
            cpu: Cpu::now().since(self.cpu_before),
            path: self.path_seen(),
            flows: flows.collect(),
        }
    }

    fn path_seen(&self) -> PathSeen {
        let rows = self.rows.all();
        let largest =
            |of: &Field| rows.iter().filter_map(|row| of.raw(&row.record)).max().unwrap_or(0);
        let reals = |of: &'static Field| {
            rows.iter().map(move |row| of.real(&row.record)).filter(|value| *value > 0.0)
        };
        let window = if self.flows.iter().any(|flow| flow.is_sent) {
            field::SND_WND
        } else {
            field::RCV_WND
        };
        let counts = self.counts();
        PathSeen {
            min_rtt_s: reals(field::MIN_RTT).reduce(f64::min),
            most_srtt_s: reals(field::RTT).reduce(f64::max),
            most_receive_window_bytes: largest(window),
            receive_window_limited: share(counts.rwnd_limited_us, counts.busy_us),
            most_throughput_bps: self.most_throughput_bps(),
            most_throughput_interval_s: self.rate_interval().as_secs_f64(),
            most_delivery_rate_bps: self.most_delivery_rate_bps(),
            mss_bytes: largest(field::SND_MSS),
            mtu_bytes: largest(field::PMTU),
            rate_bps: self.subject.path_rate_bps,
        }
    }

    /// The most that was delivered in an interval, with the flows' share of headers; of the busier
    /// direction, where there are two.
    fn most_throughput_bps(&self) -> f64 {
        let towards = |is_sent: bool| {
            let flows = self.flows.iter().filter(|flow| flow.is_sent == is_sent);
            let counts = flows.map(Flow::counts).fold(Counts::default(), |sum, of| sum + of);
            if counts.payload_bytes == 0 {
                return 0.0;
            }
            let with_headers = counts.wire_bytes as f64 / counts.payload_bytes as f64;
            let rows = self.rows.all().iter();
            let own = rows.filter(|row| self.flows[row.flow as usize].is_sent == is_sent);
            let parts: Vec<Carried> =
                own.map(|row| (row.from_ns, row.to_ns, row.payload_bytes as f64)).collect();
            let span_ns = u64::try_from(self.rate_interval().as_nanos()).unwrap_or(u64::MAX);
            most_bps(&parts, span_ns) * with_headers.max(1.0)
        };
        towards(true).max(towards(false))
    }

    fn most_delivery_rate_bps(&self) -> f64 {
        most_at_once(self.rows.all(), |row| field::DELIVERY_RATE.real(&row.record).max(0.0))
    }
}

/// The largest sum of a value over rows that end at the same time.
fn most_at_once(rows: &[Row], value: impl Fn(&Row) -> f64) -> f64 {
    let together = rows.chunk_by(|a, b| a.to_ns == b.to_ns);
    together.map(|rows| rows.iter().map(&value).sum()).fold(0.0, f64::max)
}

/// Mean of a positive field over rows, weighed with their intervals.
fn mean<'a>(rows: impl Iterator<Item = &'a Row>, of: &Field) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for row in rows {
        let value = of.real(&row.record);
        if value > 0.0 {
            sum += value * row.seconds();
            seconds += row.seconds();
        }
    }
    (seconds > 0.0).then(|| sum / seconds)
}

/// Figures over all flows. As everywhere in the schema, what goes back beside others is not compared
/// with them.
fn metrics(flows: &[FlowSummary], path_rate_bps: Option<u64>) -> Metrics {
    let forward: Vec<&FlowSummary> =
        flows.iter().filter(|flow| !flow.id.ends_with("/reverse")).collect();
    let throughput_bps: f64 = forward.iter().map(|flow| flow.throughput_bps).sum();
    Metrics::new(&forward, path_rate_bps.map(|rate_bps| throughput_bps / rate_bps.max(1) as f64))
}

fn datagram_summary(kind: &'static str, counts: &DatagramCounts) -> DatagramSummary {
    DatagramSummary {
        kind,
        received_packets: counts.received_packets,
        reordered_packets: counts.reordered_packets,
        duplicated_packets: counts.duplicated_packets,
        loss_ratio: share(counts.lost_packets, counts.sent_packets),
        jitter_s: counts.jitter_s,
        // The clocks of the two ends are not the same.
        p50_one_way_delay_s: None,
        p95_one_way_delay_s: None,
        p99_one_way_delay_s: None,
    }
}

fn application(
    subject: &Subject,
    flows: &[FlowSummary],
    counts: &Counts,
    taken: &Taken,
) -> ApplicationSummary {
    let is_sent = taken.end != "receiver";
    let bytes = |count: u64| is_sent.then_some(count as f64);
    ApplicationSummary {
        fct_s: Some(taken.duration_s),
        figures: vec![
            ("payload_bytes", Some(counts.payload_bytes as f64)),
            ("sent_bytes", bytes(counts.sent_bytes)),
            ("retransmitted_bytes", bytes(counts.retransmitted_bytes)),
            ("most_throughput_bps", Some(taken.path.most_throughput_bps)),
            ("min_rtt_s", taken.path.min_rtt_s),
            ("receive_window_limited", share(counts.rwnd_limited_us, counts.busy_us)),
            ("send_buffer_limited", share(counts.sndbuf_limited_us, counts.busy_us)),
            ("cpu_s", Some(taken.cpu.user_s + taken.cpu.system_s)),
        ],
        ..ApplicationSummary::of_flows(
            &subject.name,
            subject.kind,
            &flows.iter().collect::<Vec<_>>(),
        )
    }
}
