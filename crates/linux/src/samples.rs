//! From the guest's samples to time series.

use fairway_guest::plan::{Plan, Queue};
use fairway_guest::record::{FlowSample, QueueSample};
use fairway_schema::{QueueSeries, Series};
use fairway_spec::Experiment;
use fairway_units::NANOS_PER_SEC;

use crate::collect::{CollectError, Source};
use fairway_schema::tcp_info::TcpInfo;

/// Samples that a run may have beyond one for every period: at its very beginning and end.
const SPARE_SAMPLES: u64 = 2;

/// Time series of so many flows, and all that the kernel says about them.
pub(crate) fn flows(
    experiment: &Experiment,
    count: usize,
    mut source: Source,
) -> Result<(Series, TcpInfo), CollectError> {
    let damaged = source.damage();
    let mut order = Order::new(experiment, count);
    let mut delivered_bytes = vec![0; count];
    let (mut series, mut tcp_info) = (Series::default(), TcpInfo::new());
    let mut sample = FlowSample::default();
    while sample.read(&mut source).map_err(|error| source.failure(error))? {
        let elapsed_s = order.take(sample.flow, sample.t_ns).map_err(&damaged)?;
        let before = &mut delivered_bytes[sample.flow as usize];
        let news = sample.delivered_bytes.checked_sub(*before).ok_or_else(|| {
            damaged(format!("flow {} has delivered less than before", sample.flow))
        })?;
        *before = sample.delivered_bytes;
        let t_s = seconds(sample.t_ns);
        if !sample.tcp_info.is_empty() && !tcp_info.push(t_s, sample.flow, &sample.tcp_info) {
            return Err(damaged("tcp_info does not always have the same length".into()));
        }
        let goodput_bps = bits_per_second(news as f64, elapsed_s);
        series.push(t_s, sample.flow, &sample.tcp_info, goodput_bps);
    }
    order.finish().map_err(&damaged)?;
    Ok((series, tcp_info))
}

/// Time series of the reported link directions.
pub(crate) fn queues(
    experiment: &Experiment,
    plan: &Plan,
    mut source: Source,
) -> Result<QueueSeries, CollectError> {
    let damaged = source.damage();
    let mut order = Order::new(experiment, plan.queues.len());
    let mut bytes_before = vec![0.0; plan.queues.len()];
    let mut series = QueueSeries::default();
    while let Some(sample) =
        QueueSample::read(&mut source).map_err(|error| source.failure(error))?
    {
        let elapsed_s = order.take(sample.queue, sample.t_ns).map_err(&damaged)?;
        let index = sample.queue as usize;
        let queue = &plan.queues[index];
        let (backlog_packets, backlog_bytes) = waiting(queue, &sample);
        let bytes = on_link(queue, sample.packets, sample.bytes);
        series.t_s.push(seconds(sample.t_ns));
        series.link.push(sample.queue);
        series.backlog_packets.push(backlog_packets);
        series.backlog_bytes.push(backlog_bytes);
        series.drops.push(sample.drops);
        series.losses.push(sample.losses);
        series.throughput_bps.push(bits_per_second(bytes - bytes_before[index], elapsed_s));
        bytes_before[index] = bytes;
    }
    order.finish().map_err(&damaged)?;
    Ok(series)
}

/// Bytes that packets have on the link, which the queue counts with another framing.
pub(crate) fn on_link(queue: &Queue, packets: u64, bytes: u64) -> f64 {
    let framing = f64::from(queue.overhead_bytes) - f64::from(queue.counted_overhead_bytes);
    bytes as f64 + framing * packets as f64
}

/// Packets and bytes that wait, the packet in transmission not counted. Its size is not known: it
/// is taken for that of the others.
fn waiting(queue: &Queue, sample: &QueueSample) -> (f64, f64) {
    let inside = sample.backlog_packets;
    let packets = inside.saturating_sub(u32::from(queue.holds_transmission));
    let bytes = on_link(queue, u64::from(inside), sample.backlog_bytes);
    let share = if inside > 0 { f64::from(packets) / f64::from(inside) } else { 0.0 };
    (f64::from(packets), bytes * share)
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / NANOS_PER_SEC as f64
}

fn bits_per_second(bytes: f64, elapsed_s: f64) -> f64 {
    if elapsed_s > 0.0 { bytes * 8.0 / elapsed_s } else { 0.0 }
}

/// Whether samples come as they should: one thing after the other, and all again at a later time.
struct Order {
    things: u32,
    next: u32,
    rows: u64,
    most_rows: u64,
    /// When each thing's last sample was taken.
    last_ns: Vec<u64>,
}

impl Order {
    fn new(experiment: &Experiment, things: usize) -> Self {
        let period = experiment.measure.sample.as_nanos().max(1);
        let samples = experiment.duration.as_nanos() / period + SPARE_SAMPLES;
        Order {
            things: things as u32,
            next: 0,
            rows: 0,
            most_rows: samples.saturating_mul(things as u64),
            last_ns: vec![0; things],
        }
    }

    /// Takes the next sample; returns the time since that thing's last one in seconds.
    fn take(&mut self, index: u32, t_ns: u64) -> Result<f64, String> {
        self.rows += 1;
        if index != self.next {
            let (row, due) = (self.rows, self.next);
            return Err(format!("record {row} has index {index} where {due} was due"));
        }
        if self.rows > self.most_rows {
            return Err(format!("more than {} records", self.most_rows));
        }
        self.next = (index + 1) % self.things.max(1);
        let last_ns = &mut self.last_ns[index as usize];
        let elapsed_ns = t_ns
            .checked_sub(*last_ns)
            .ok_or_else(|| format!("record {} is earlier than the one before", self.rows))?;
        *last_ns = t_ns;
        Ok(seconds(elapsed_ns))
    }

    /// After the last sample: whether nothing is missing.
    fn finish(&self) -> Result<(), String> {
        if self.next == 0 { Ok(()) } else { Err(format!("it ends after index {}", self.next - 1)) }
    }
}
