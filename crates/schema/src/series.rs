//! Time series, column by column.

use fairway_units::Time;

use crate::column::series;
use crate::tcp_info::{Field, series as field};

series! {
    /// One row for each flow and sample.
    pub struct Series {
        /// Time of the sample.
        t_s: f64,
        /// Name of the flow.
        flow: u32,
        /// Congestion window.
        cwnd_segments: f64 [nullable()],
        /// Congestion window with the inflation of fast recovery: a segment for each duplicate (RFC 5681
        /// section 3.2), or what TCP-Linux still allows in flight; `cwnd_` of ns-2. Only where the stack
        /// of a flow inflates its window: `ns2-tcp-linux`, `full-tcp`, and presets of RFCs and of ns-2
        /// without SACK.
        inflated_cwnd_segments: f64 [nullable(), optional()],
        /// Slow-start threshold; null while infinite.
        ssthresh_segments: f64 [nullable()],
        /// Smoothed round-trip time; null before the first sample.
        srtt_s: f64 [nullable()],
        /// Segments believed to be in the network (RFC 6675 pipe).
        pipe_segments: f64 [nullable()],
        /// Payload delivered in order since the sample before; above the rate of the link where a gap
        /// was filled.
        goodput_bps: f64 [nullable()],
    }
}

impl Series {
    /// Adds a row: what a record of `struct tcp_info` says of a flow, and its goodput.
    pub fn push(&mut self, t_s: f64, flow: u32, record: &[u8], goodput_bps: f64) {
        let segments = |field: &Field| field.raw(record).unwrap_or(0) as f64;
        let srtt_s = field::RTT.real(record);
        // tcp_packets_in_flight of include/net/tcp.h.
        let left = segments(field::SACKED) + segments(field::LOST);
        let pipe = segments(field::UNACKED) - left + segments(field::RETRANS);
        self.t_s.push(t_s);
        self.flow.push(flow);
        self.cwnd_segments.push(field::CWND.real(record));
        self.ssthresh_segments.push(field::SSTHRESH.real(record));
        self.srtt_s.push(if srtt_s > 0.0 { srtt_s } else { f64::NAN });
        self.pipe_segments.push(pipe.max(0.0));
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
        self.pipe_segments.push(f64::NAN);
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

series! {
    /// One row for each link direction and sample.
    pub struct QueueSeries {
        /// Time of the sample.
        t_s: f64,
        /// Name of the link; the direction towards the sources ends in `/reverse`.
        link: u32,
        /// Packets waiting, without the one in transmission.
        backlog_packets: f64 [nullable()],
        /// Bytes waiting, framing included.
        backlog_bytes: f64 [nullable()],
        /// Packets dropped by the queue since the start.
        drops: u64 [unit("packets")],
        /// Packets lost on the wire since the start.
        losses: u64 [unit("packets")],
        /// Bits of packets whose transmission began since the sample before, framing included.
        throughput_bps: f64 [nullable()],
    }
}
