//! Rows of the tables of a capture: intervals and packets of the connections that were followed.

use fairway_schema::{IntervalSeries, PacketSeries};
use fairway_units::{Duration, Time};

use crate::detail::{Detail, NONE};
use crate::series::Series;
use crate::whole::Whole;
use crate::window::WindowSeries;

/// Intervals and packets of all directions that were followed, one after the other.
#[derive(Default)]
pub struct Rows {
    /// Connections, and which of their directions.
    pub directions: Vec<(u64, usize)>,
    /// The intervals.
    pub intervals: IntervalSeries,
    /// The packets.
    pub packets: PacketSeries,
}

impl Rows {
    /// Takes the rows out of a report, which has none then.
    pub fn taken_out_of(found: &mut Whole) -> Rows {
        let start = Time::from_nanos(found.capture.started_ns.unwrap_or(0));
        let mut rows = Rows::default();
        for connection in &mut found.report.connections {
            for (index, direction) in connection.directions.iter_mut().enumerate() {
                let series = direction.series.take();
                let (Some(series), Some(detail)) = (series, direction.detail.take()) else {
                    // Windows over time are for diagrams, and more than all the rest together.
                    if let Some(window) = &mut direction.window {
                        window.series = WindowSeries::default();
                    }
                    continue;
                };
                let number = rows.directions.len() as u32;
                rows.directions.push((connection.id, index));
                add_intervals(&mut rows.intervals, number, &series, start);
                add_packets(&mut rows.packets, number, *detail, start);
            }
        }
        rows
    }
}

/// Seconds since the capture's first packet; a clock may go back.
fn seconds(at_ns: u64, start: Time) -> f64 {
    let since = i128::from(at_ns) - i128::from(start.as_nanos());
    since as f64 * 1e-9
}

fn add_intervals(rows: &mut IntervalSeries, flow: u32, series: &Series, start: Time) {
    let length_s = series.length().as_secs_f64();
    let bytes = |bytes: Option<u64>| bytes.and_then(|b| i64::try_from(b).ok()).unwrap_or(NONE);
    let span_s = |span: Option<Duration>| span.map_or(f64::NAN, Duration::as_secs_f64);
    for (end, interval) in series.iter() {
        rows.t_s.push(seconds(end.as_nanos(), start));
        rows.flow.push(flow);
        rows.throughput_bps.push(interval.sent_bytes as f64 * 8.0 / length_s);
        rows.goodput_bps.push(interval.delivered_bytes as f64 * 8.0 / length_s);
        rows.retransmitted_segments.push(interval.retransmitted_segments);
        rows.flight_bytes.push(bytes(interval.most_flight_bytes));
        rows.receive_window_bytes.push(bytes(interval.least_window_bytes));
        rows.least_rtt_s.push(span_s(interval.least_rtt));
        rows.most_rtt_s.push(span_s(interval.most_rtt));
        rows.srtt_s.push(span_s(interval.srtt));
    }
}

fn add_packets(rows: &mut PacketSeries, flow: u32, mut detail: Detail, start: Time) {
    rows.t_s.extend(detail.at_ns.iter().map(|at| seconds(*at, start)));
    rows.flow.extend(std::iter::repeat_n(flow, detail.at_ns.len()));
    rows.packet.append(&mut detail.packet);
    rows.what.append(&mut detail.what);
    rows.from_byte.append(&mut detail.from_byte);
    rows.to_byte.append(&mut detail.to_byte);
    rows.window_end_byte.append(&mut detail.window_end_byte);
    rows.flight_bytes.append(&mut detail.flight_bytes);
    rows.rtt_s.append(&mut detail.rtt_s);
    rows.fate.append(&mut detail.fate);
}
