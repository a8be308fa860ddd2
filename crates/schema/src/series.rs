//! Time series, column by column.

use fairway_units::Time;

use crate::tcp_info::{Field, series as field};

/// One row per flow and sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time of the sample in seconds.
    pub t_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Congestion window in segments.
    pub cwnd_segments: Vec<f64>,
    /// The same with what fast recovery inflates it by; empty where no flow's stack inflates it.
    pub inflated_cwnd_segments: Vec<f64>,
    /// Slow-start threshold in segments; NaN while infinite.
    pub ssthresh_segments: Vec<f64>,
    /// Smoothed round-trip time in seconds; NaN before the first sample.
    pub srtt_s: Vec<f64>,
    /// Segments believed to be in the network.
    pub flight_size_segments: Vec<f64>,
    /// Payload delivered to the application since the sample before, in bit/s.
    pub goodput_bps: Vec<f64>,
}

impl Series {
    /// Adds a row: what a record of `struct tcp_info` says of a flow, and its goodput.
    pub fn push(&mut self, t_s: f64, flow: u32, record: &[u8], goodput_bps: f64) {
        let segments = |field: &Field| field.raw(record).unwrap_or(0) as f64;
        let srtt_s = field::RTT.real(record);
        // tcp_packets_in_flight of include/net/tcp.h.
        let left = segments(field::SACKED) + segments(field::LOST);
        let flight_size = segments(field::UNACKED) - left + segments(field::RETRANS);
        self.t_s.push(t_s);
        self.flow.push(flow);
        self.cwnd_segments.push(field::CWND.real(record));
        self.ssthresh_segments.push(field::SSTHRESH.real(record));
        self.srtt_s.push(if srtt_s > 0.0 { srtt_s } else { f64::NAN });
        self.flight_size_segments.push(flight_size.max(0.0));
        self.goodput_bps.push(goodput_bps);
    }

    /// Adds a row of a flow that has no window here: the receiving end of a connection, or
    /// datagrams.
    pub fn push_goodput(&mut self, t_s: f64, flow: u32, goodput_bps: f64) {
        self.t_s.push(t_s);
        self.flow.push(flow);
        self.cwnd_segments.push(f64::NAN);
        self.ssthresh_segments.push(f64::NAN);
        self.srtt_s.push(f64::NAN);
        self.flight_size_segments.push(f64::NAN);
        self.goodput_bps.push(goodput_bps);
    }

    /// Mean of one flow's samples of a column from `from` to `to`, those without a value left out;
    /// none without a sample. Samples stand in the order of time, those of all `flows` together.
    pub fn mean(
        &self,
        column: &[f64],
        flow: usize,
        flows: usize,
        [from, to]: [Time; 2],
    ) -> Option<f64> {
        let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
        let (mut sum, mut count) = (0.0, 0u64);
        for row in (flow..column.len()).step_by(flows) {
            let (t_s, value) = (self.t_s[row], column[row]);
            if t_s >= from && t_s <= to && !value.is_nan() {
                sum += value;
                count += 1;
            }
        }
        (count > 0).then(|| sum / count as f64)
    }
}

/// One row per link direction and sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueSeries {
    /// Time of the sample in seconds.
    pub t_s: Vec<f64>,
    /// Index of the link direction.
    pub link: Vec<u32>,
    /// Packets waiting, the one in transmission not counted.
    pub backlog_packets: Vec<f64>,
    /// Bytes waiting, framing included.
    pub backlog_bytes: Vec<f64>,
    /// Packets dropped by the queue since the start.
    pub drops: Vec<u64>,
    /// Packets lost on the wire since the start.
    pub losses: Vec<u64>,
    /// Bits transmitted since the sample before, framing included, in bit/s.
    pub throughput_bps: Vec<f64>,
}
