//! Time series, column by column.

/// One row per flow and sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time of the sample in seconds.
    pub t_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Congestion window in segments.
    pub cwnd_segments: Vec<f64>,
    /// Slow-start threshold in segments; NaN while infinite.
    pub ssthresh_segments: Vec<f64>,
    /// Smoothed round-trip time in seconds; NaN before the first sample.
    pub srtt_s: Vec<f64>,
    /// Segments believed to be in the network.
    pub flight_size_segments: Vec<f64>,
    /// Payload delivered to the application since the sample before, in bit/s.
    pub goodput_bps: Vec<f64>,
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
