//! What transfers by a program have measured: their connections, beside the guest's own flows.

use fairway_guest::plan::{Plan, Transfer as TransferPlan};
use fairway_guest::record::{FlowSample, TransferTotals};
use fairway_schema::tcp_info::{Field, TcpInfo, series as field};
use fairway_schema::{ApplicationSummary, FlowCounts, FlowSummary, Series};
use fairway_spec::Experiment;
use fairway_tcp::{IP_HEADER_BYTES, TCP_HEADER_BYTES, TIMESTAMP_OPTION_BYTES};
use fairway_units::NANOS_PER_SEC;
use serde::Serialize;

use crate::collect::{CollectError, Source};

/// Connections and samples of one transfer that are read: more than any has.
const MAX_CONNECTIONS: usize = 10_000;
const MAX_ROWS: usize = 10_000_000;

/// Payload of a full record of TLS 1.3, 2¹⁴ bytes, as a share of it with its header, content type and tag: 5, 1
/// and 16 bytes (RFC 8446, sections 5.1 and 5.2). What frames the blocks is less than a ten-thousandth.
const PAYLOAD_OF_RECORDS: f64 = 16_384.0 / 16_406.0;

/// A transfer by a program, and what it said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// Its name.
    pub id: String,
    /// When the receiver had confirmed the whole; none if it was cut off.
    pub confirmed_s: Option<f64>,
    /// Payload that arrived over the whole run.
    pub payload_bytes: u64,
    /// Connections that carried data at the end of the measuring window.
    pub streams: u64,
    /// What sender and receiver said.
    pub log: Vec<Said>,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Said {
    /// When.
    pub t_s: f64,
    /// What.
    pub text: String,
}

/// Everything that was measured of one transfer.
pub(crate) struct Measured {
    pub(crate) transfer: Transfer,
    pub(crate) connections: Vec<String>,
    pub(crate) flows: Vec<FlowSummary>,
    pub(crate) application: ApplicationSummary,
    rows: Vec<Row>,
}

/// One connection over one interval.
struct Row {
    from_s: f64,
    to_s: f64,
    flow: u32,
    /// Payload that arrived, by what the kernel says was acknowledged: what was written is known only for
    /// each write.
    bytes: f64,
    record: Vec<u8>,
}

/// Reads what one transfer has left.
pub(crate) fn read(
    experiment: &Experiment,
    plan: &Plan,
    (transfer, totals): (&TransferPlan, &TransferTotals),
    source: Source,
) -> Result<Measured, CollectError> {
    let damaged = source.damage();
    if totals.connections.len() > MAX_CONNECTIONS {
        return Err(damaged(format!("more than {MAX_CONNECTIONS} connections")));
    }
    let payload_share = if transfer.is_encrypted { PAYLOAD_OF_RECORDS } else { 1.0 };
    let rows = rows(totals.connections.len(), payload_share, source)?;
    let window = [experiment.measure.from, experiment.measure.to];
    let window_s = window.map(|end| end.as_secs_f64());
    let span = window[1].since(window[0]);
    let mut flows = Vec::new();
    for (index, id) in totals.connections.iter().enumerate() {
        let own = || rows.iter().filter(move |row| row.flow as usize == index);
        let counts = counts(own(), window_s);
        let inside = || own().filter(|row| row.to_s >= window_s[0] && row.to_s <= window_s[1]);
        flows.push(FlowSummary {
            window_reductions: None,
            timeouts: None,
            mean_cwnd_segments: mean(inside().map(|row| field::CWND.real(&row.record))),
            mean_srtt_s: mean(
                inside().map(|row| field::RTT.real(&row.record)).filter(|rtt| *rtt > 0.0),
            ),
            ..FlowSummary::new(id, &transfer.cc, &counts, span)
        });
    }
    let seconds = |nanos: u64| nanos as f64 / NANOS_PER_SEC as f64;
    let confirmed_s = totals.confirmed_ns.map(seconds);
    let last_s = window_s[1] - 2.0 * seconds(plan.sample_ns);
    let at_end = |index: usize| {
        rows.iter().any(|row| row.flow as usize == index && row.to_s > last_s && row.bytes > 0.0)
    };
    let streams = (0..flows.len()).filter(|index| at_end(*index)).count() as u64;
    let fct_s = confirmed_s.map(|confirmed_s| confirmed_s - seconds(transfer.start_ns));
    let application = application(&transfer.id, &flows, streams, totals, fct_s);
    let said = |(t_ns, text): &(u64, String)| Said { t_s: seconds(*t_ns), text: text.clone() };
    Ok(Measured {
        transfer: Transfer {
            id: transfer.id.clone(),
            confirmed_s,
            payload_bytes: totals.payload_bytes,
            streams,
            log: totals.log.iter().map(said).collect(),
        },
        connections: totals.connections.clone(),
        flows,
        application,
        rows,
    })
}

impl Measured {
    /// Puts its samples behind those that there are, its connections numbered from `first` on.
    pub(crate) fn append(&self, first: u32, series: &mut Series, tcp_info: &mut TcpInfo) -> bool {
        self.rows.iter().all(|row| {
            let goodput_bps = row.bytes * 8.0 / (row.to_s - row.from_s);
            series.push(row.to_s, first + row.flow, &row.record, goodput_bps);
            tcp_info.push(row.to_s, first + row.flow, &row.record)
        })
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Default)]
struct Reached {
    at_s: f64,
    payload: u64,
    acknowledged: u64,
}

fn rows(
    connections: usize,
    payload_share: f64,
    mut source: Source,
) -> Result<Vec<Row>, CollectError> {
    let damaged = source.damage();
    let mut all = vec![Reached::default(); connections];
    let mut rows = Vec::new();
    let mut sample = FlowSample::default();
    while sample.read(&mut source).map_err(|error| source.failure(error))? {
        let to_s = sample.t_ns as f64 / NANOS_PER_SEC as f64;
        let Some(reached) = all.get_mut(sample.flow as usize) else {
            return Err(damaged(format!("there is no connection {}", sample.flow)));
        };
        if rows.len() == MAX_ROWS {
            return Err(damaged(format!("more than {MAX_ROWS} samples")));
        }
        if sample.delivered_bytes < reached.payload || to_s < reached.at_s {
            return Err(damaged(format!("connection {} goes back", sample.flow)));
        }
        if !sample.tcp_info.is_empty() && to_s > reached.at_s {
            let record = std::mem::take(&mut sample.tcp_info);
            let now = field::BYTES_ACKED.raw(&record).unwrap_or(0);
            // A connection that has replaced another counts from zero.
            let news = now.checked_sub(reached.acknowledged).unwrap_or(now);
            reached.acknowledged = now;
            let (from_s, flow) = (reached.at_s, sample.flow);
            rows.push(Row { from_s, to_s, flow, bytes: news as f64 * payload_share, record });
        }
        (reached.at_s, reached.payload) = (to_s, sample.delivered_bytes);
    }
    Ok(rows)
}

/// What one connection has counted within the window: of an interval that is partly in it, as large a
/// part of what it brought.
fn counts<'a>(rows: impl Iterator<Item = &'a Row>, [from_s, to_s]: [f64; 2]) -> FlowCounts {
    let (mut delivered, mut segments, mut retransmitted) = (0.0, 0.0, 0.0);
    let (mut segments_before, mut retransmitted_before) = (0, 0);
    for row in rows {
        let inside_s = row.to_s.min(to_s) - row.from_s.max(from_s);
        let share = (inside_s / (row.to_s - row.from_s)).max(0.0);
        let news = |of: &Field, before: &mut u64| {
            let now = of.raw(&row.record).unwrap_or(0);
            // A connection that has replaced another counts from zero.
            let news = if now >= *before { now - *before } else { now };
            *before = now;
            news as f64 * share
        };
        delivered += row.bytes * share;
        segments += news(field::DATA_SEGS_OUT, &mut segments_before);
        retransmitted += news(field::TOTAL_RETRANS, &mut retransmitted_before);
    }
    let whole = |value: f64| libm::round(value) as u64;
    FlowCounts {
        delivered_bytes: whole(delivered),
        // As many as were sent for the first time arrived with their headers.
        wire_bytes: whole(
            delivered + (segments - retransmitted).max(0.0) * f64::from(HEADER_BYTES),
        ),
        segments: whole(segments),
        retransmissions: whole(retransmitted),
        missing: whole(retransmitted),
        ..FlowCounts::default()
    }
}

/// IPv4 and TCP headers with timestamps.
const HEADER_BYTES: u32 = IP_HEADER_BYTES + TCP_HEADER_BYTES + TIMESTAMP_OPTION_BYTES;

fn application(
    id: &str,
    flows: &[FlowSummary],
    streams: u64,
    totals: &TransferTotals,
    fct_s: Option<f64>,
) -> ApplicationSummary {
    ApplicationSummary {
        fct_s,
        figures: vec![
            ("payload_bytes", Some(totals.payload_bytes as f64)),
            ("streams_at_end", Some(streams as f64)),
        ],
        ..ApplicationSummary::of_flows(id, "transfer", &flows.iter().collect::<Vec<_>>())
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with 100 packets of cwnd would be long; the counters alone do here.
    fn row(from_s: f64, to_s: f64, bytes: f64) -> Row {
        Row { from_s, to_s, flow: 0, bytes, record: Vec::new() }
    }

    #[test]
    fn an_interval_counts_as_far_as_it_is_in_the_window() {
        let rows = [row(0.0, 1.0, 1000.0), row(1.0, 3.0, 4000.0), row(3.0, 4.0, 100.0)];
        // Half of the second, none of the first and the third.
        assert_eq!(counts(rows.iter(), [2.0, 3.0]).delivered_bytes, 2000);
        assert_eq!(counts(rows.iter(), [0.5, 3.5]).delivered_bytes, 500 + 4000 + 50);
    }
}
