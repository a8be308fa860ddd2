//! From counters at both ends of the measuring window to the summary.
//!
//! Where packets were not watched one by one, what needs that is estimated from the sockets and
//! the queues' own counters, or left out.

use fairway_application::Direction;
use fairway_guest::plan::{Plan, Queue, Row};
use fairway_guest::record::{DatagramTotals, FlowMark, QueueTotals, Totals};
use fairway_schema::{
    DatagramSummary, FlowCounts, FlowSummary, LinkSummary, Metrics, QueueSeries, Series, Summary,
};
use fairway_spec::{DatagramFlow, Experiment, Flow};
use fairway_tcp::{IP_HEADER_BYTES, TCP_HEADER_BYTES, TIMESTAMP_OPTION_BYTES};
use fairway_units::{NANOS_PER_SEC, Time};

use crate::applications::started;
use crate::collect::compared;
use crate::samples::on_link;
use fairway_schema::Values;
use fairway_schema::tcp_info::{FIELDS, TcpInfo, series as field};

/// A counter that is lower at the end of the window than at its beginning.
const FALLEN: &str = "a counter falls over the measuring window";

/// The summary of a run.
///
/// # Errors
/// What is wrong with `totals`.
pub(crate) fn summarise(
    experiment: &Experiment,
    guests: &[&Flow],
    plan: &Plan,
    totals: &Totals,
    series: &Series,
    tcp_info: &TcpInfo,
    queues: &QueueSeries,
) -> Result<Summary, &'static str> {
    let window = [experiment.measure.from, experiment.measure.to];
    let rows = plan.rows();
    let count = plan.sampled_rows().len();
    let length = window[1].since(window[0]);
    let mut flows = Vec::with_capacity(rows.len());
    let mut sampled = 0;
    for row in &rows {
        // Its place in the time series, if it has some.
        let place = plan.is_sampled(row).then_some(sampled);
        sampled += usize::from(place.is_some());
        let mean = |column: &[f64]| series.mean(column, place?, count, window);
        flows.push(match *row {
            Row::Connection(i) => {
                let (flow, found) = (guests[i], &totals.flows[i]);
                let mut counts = counts(&found.window)?;
                if !totals.watched {
                    estimate(&mut counts, flow);
                }
                FlowSummary {
                    mean_cwnd_segments: mean(&series.cwnd_segments),
                    mean_srtt_s: mean(&series.srtt_s),
                    fct_s: completion_s(started(flow, found), found.completed_ns)?,
                    ..FlowSummary::new(&flow.id, &flow.cc.name, &counts, length)
                }
            }
            Row::Back(i) => {
                let (flow, found) = (guests[i], &totals.flows[i]);
                let id = flow.id.clone() + Direction::Reverse.suffix();
                FlowSummary {
                    mean_cwnd_segments: mean(&series.cwnd_segments),
                    mean_srtt_s: mean(&series.srtt_s),
                    fct_s: completion_s(started(flow, found), found.completed_ns)?,
                    ..FlowSummary::new(&id, &flow.cc.name, &counts(&found.back)?, length)
                }
            }
            Row::Datagrams(i) => {
                let (flow, found) = (&experiment.datagrams[i], &totals.datagrams[i]);
                let counts = counts(&found.window)?;
                let received = datagram_summary(flow, found, &counts);
                FlowSummary {
                    fct_s: completion_s(flow.start, found.completed_ns)?,
                    ..FlowSummary::of_datagrams(&flow.id, &counts, length, received)
                }
            }
        });
    }
    let mut links = Vec::with_capacity(plan.queues.len());
    for (i, (queue, found)) in plan.queues.iter().zip(&totals.queues).enumerate() {
        let mut link = link_summary(queue, found, window)?;
        if !totals.watched {
            link.mean_backlog_packets = mean_backlog(queues, i, plan.queues.len(), window);
        }
        links.push(link);
    }
    let metrics =
        Metrics::new(&compared(&flows, &rows), links.first().map_or(0.0, |link| link.utilisation));
    let segments = match totals.watched {
        true => totals.flows.iter().map(|flow| flow.arrivals).sum(),
        false => delivered_segments(tcp_info, count),
    };
    let datagrams: u64 = totals.datagrams.iter().map(|flow| flow.arrivals).sum();
    Ok(Summary {
        title: experiment.title.clone(),
        backend: "linux",
        seed: experiment.seed,
        packets: segments + datagrams,
        flows,
        applications: Vec::new(),
        completions: Vec::new(),
        links,
        wlan: None,
        metrics,
    })
}

fn since(from: u64, to: u64) -> Result<u64, &'static str> {
    to.checked_sub(from).ok_or(FALLEN)
}

fn counts([a, b]: &[FlowMark; 2]) -> Result<FlowCounts, &'static str> {
    Ok(FlowCounts {
        delivered_bytes: since(a.delivered_bytes, b.delivered_bytes)?,
        wire_bytes: since(a.wire_bytes, b.wire_bytes)?,
        segments: since(a.segments, b.segments)?,
        retransmissions: since(a.retransmissions, b.retransmissions)?,
        // This one may fall: what was overtaken is missing until it arrives.
        missing: b.missing.saturating_sub(a.missing),
        reductions: since(a.reductions, b.reductions)?,
        timeouts: since(a.timeouts, b.timeouts)?,
        arrivals: since(a.arrivals, b.arrivals)?,
        delay_nanos: u128::from(since(a.delay_ns, b.delay_ns)?),
        reordered: since(a.reordered, b.reordered)?,
        duplicated: since(a.duplicated, b.duplicated)?,
        ..FlowCounts::default()
    })
}

/// What can be told of packets that nobody has watched: each one retransmitted was lost once, and
/// each full segment delivered had its headers.
fn estimate(counts: &mut FlowCounts, flow: &Flow) {
    let stack = &flow.stack;
    let options = if stack.options.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
    let headers = u64::from(IP_HEADER_BYTES + TCP_HEADER_BYTES + options);
    let segments = counts.delivered_bytes.div_ceil(u64::from(stack.options.mss.max(1)));
    counts.wire_bytes = counts.delivered_bytes + segments * headers;
    counts.missing = counts.retransmissions;
}

/// What the receiver of a flow of datagrams says of the measuring window.
fn datagram_summary(
    flow: &DatagramFlow,
    found: &DatagramTotals,
    counts: &FlowCounts,
) -> DatagramSummary {
    let seconds = |nanos: u64| nanos as f64 / NANOS_PER_SEC as f64;
    let [p50, p95, p99] = found.delays_ns.map(|nanos| nanos.map(seconds));
    DatagramSummary {
        kind: flow.pattern.name(),
        received_packets: counts.arrivals,
        reordered_packets: counts.reordered,
        duplicated_packets: counts.duplicated,
        loss_ratio: (counts.segments > 0).then(|| counts.missing as f64 / counts.segments as f64),
        jitter_s: found.jitter_ns.map(seconds),
        p50_one_way_delay_s: p50,
        p95_one_way_delay_s: p95,
        p99_one_way_delay_s: p99,
    }
}

fn completion_s(start: Time, completed_ns: Option<u64>) -> Result<Option<f64>, &'static str> {
    let Some(completed_ns) = completed_ns else { return Ok(None) };
    let took_ns = completed_ns
        .checked_sub(start.as_nanos())
        .ok_or("a flow has ended before its beginning")?;
    Ok(Some(took_ns as f64 / NANOS_PER_SEC as f64))
}

fn link_summary(
    queue: &Queue,
    found: &QueueTotals,
    [from, to]: [Time; 2],
) -> Result<LinkSummary, &'static str> {
    let [a, b] = &found.window;
    let window_s = to.since(from).as_secs_f64();
    let packets = since(a.packets, b.packets)?;
    let bytes = on_link(queue, packets, since(a.bytes, b.bytes)?);
    // A link without a rate takes no time to transmit. Packets are counted whole, so up to one of
    // them belongs to the time before the window.
    let utilisation =
        queue.rate_bps.map_or(0.0, |rate_bps| bytes * 8.0 / (rate_bps as f64 * window_s));
    Ok(LinkSummary {
        id: queue.id.clone(),
        utilisation: utilisation.clamp(0.0, 1.0),
        drops: since(a.drops, b.drops)?,
        losses: since(a.losses, b.losses)?,
        marks: None,
        mean_backlog_packets: found.waiting_ns as f64 / (window_s * NANOS_PER_SEC as f64),
        // Waiting time of those that left, and of some at the edges of the window.
        mean_sojourn_s: (packets > 0)
            .then(|| found.waiting_ns as f64 / NANOS_PER_SEC as f64 / packets as f64),
        p50_sojourn_s: None,
        p95_sojourn_s: None,
        p99_sojourn_s: found.p99_sojourn_ns.map(|nanos| nanos as f64 / NANOS_PER_SEC as f64),
    })
}

/// Mean of a queue's sampled backlogs in the window.
fn mean_backlog(queues: &QueueSeries, queue: usize, count: usize, [from, to]: [Time; 2]) -> f64 {
    let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
    let rows = (queue..queues.t_s.len()).step_by(count);
    let inside: Vec<f64> = rows
        .filter(|row| (from..=to).contains(&queues.t_s[*row]))
        .map(|row| queues.backlog_packets[row])
        .collect();
    inside.iter().sum::<f64>() / inside.len().max(1) as f64
}

/// Segments that were delivered, as the sockets have counted them by their last samples.
fn delivered_segments(tcp_info: &TcpInfo, flows: usize) -> u64 {
    let column = FIELDS.iter().position(|known| known == field::DELIVERED);
    let Some(Values::Count(delivered)) = column.map(|at| &tcp_info.columns[at]) else { return 0 };
    let mut last = vec![0; flows];
    for (flow, delivered) in tcp_info.flow.iter().zip(delivered) {
        last[*flow as usize] = *delivered;
    }
    last.iter().sum()
}
