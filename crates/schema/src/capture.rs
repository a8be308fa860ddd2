//! Tables of an analysed capture: packet by packet, and over time.

use crate::column::series;

series! {
    /// One row for each interval of a flow.
    pub struct IntervalSeries {
        /// End of the interval, since the capture's first packet.
        t_s: f64,
        /// Direction that the data goes.
        flow: u32,
        /// Payload that was sent, again or not.
        throughput_bps: f64 [nullable()],
        /// Payload that was acknowledged for the first time, selectively or not.
        goodput_bps: f64 [nullable()],
        /// Segments sent again.
        retransmitted_segments: u64,
        /// Largest number of bytes in flight.
        flight_bytes: i64 [count(), nullable()],
        /// Smallest receive window.
        receive_window_bytes: i64 [count(), nullable()],
        /// Estimated congestion window, from the report.
        cwnd_bytes: i64 [count(), nullable()],
        /// Estimated phase of the sender, from the report.
        phase: u8 [nullable()],
        /// Smallest round-trip time.
        least_rtt_s: f64 [nullable()],
        /// Largest round-trip time.
        most_rtt_s: f64 [nullable()],
        /// Smoothed round-trip time at the end of the interval (RFC 6298 section 2).
        srtt_s: f64 [nullable()],
    }
}

series! {
    /// One row for each segment with data, each acknowledgement and each block of a selective one.
    pub struct PacketSeries {
        /// Since the capture's first packet.
        t_s: f64,
        /// Direction that the data goes.
        flow: u32,
        /// Number of the packet in the capture.
        packet: u64,
        /// Kind of the row.
        what: u8,
        /// Offset of the first byte in the stream of data.
        from_byte: i64 [nullable()],
        /// Offset behind the last byte.
        to_byte: i64 [nullable()],
        /// Offset where the receive window ends, of acknowledgements.
        window_end_byte: i64 [nullable()],
        /// Bytes in flight with it, of segments and acknowledgements.
        flight_bytes: i64 [count(), nullable()],
        /// Round-trip time by sequence numbers, of acknowledgements that give one.
        rtt_s: f64 [nullable()],
        /// Cause of a retransmission, from the report.
        cause: u8 [nullable()],
        /// Whether a retransmission was needless, from the report.
        is_spurious: bool [nullable()],
        /// `dropped`, `lost` or `corrupted`, where a capture of the simulator says so.
        fate: i8 [nullable()],
    }
}
