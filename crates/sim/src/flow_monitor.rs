//! What ns-3's FlowMonitor counts of the data of a connection: every IP packet from the source to the
//! sink, SYN, acknowledgements and FIN included, over the whole run (`flow-monitor.cc`).

use std::collections::VecDeque;

use fairway_schema::{Cause, FlowMonitorSummary};
use fairway_tcp::{Flags, IP_HEADER_BYTES, Segment, TCP_HEADER_BYTES};
use fairway_units::{Duration, Time};

/// A packet that no queue dropped is lost if it has not arrived after this (`flow-monitor.cc`,
/// attribute `MaxPerHopDelay`).
const MAX_PER_HOP_DELAY: Duration = Duration::from_secs(10);

/// The counters of one connection.
#[derive(Default)]
pub(crate) struct FlowMonitor {
    first_sent: Option<Time>,
    last_sent: Time,
    sent_packets: u64,
    sent_bytes: u64,
    last_arrived: Time,
    arrived_packets: u64,
    arrived_bytes: u64,
    delay_nanos: u128,
    lost: u64,
    /// When packets were lost on a wire that are not yet lost to ns-3.
    awaited: VecDeque<Time>,
}

impl FlowMonitor {
    /// A packet leaves the source (`FlowMonitor::ReportFirstTx`).
    pub(crate) fn send(&mut self, segment: &Segment, now: Time) {
        self.first_sent.get_or_insert(now);
        self.last_sent = now;
        self.sent_packets += 1;
        self.sent_bytes += ip_bytes(segment);
    }

    /// A packet reaches the sink (`FlowMonitor::ReportLastRx`).
    pub(crate) fn arrive(&mut self, segment: &Segment, now: Time) {
        self.last_arrived = now;
        self.arrived_packets += 1;
        self.arrived_bytes += ip_bytes(segment);
        self.delay_nanos += u128::from(now.since(segment.sent_at).as_nanos());
    }

    /// A packet will not arrive. ns-3 reports what a queue drops at once (`FlowMonitor::ReportDrop`),
    /// and finds out later about the rest (`FlowMonitor::CheckForLostPackets`).
    pub(crate) fn miss(&mut self, cause: Cause, now: Time) {
        if cause == Cause::Dropped {
            self.lost += 1;
            return;
        }
        let known = self.awaited.partition_point(|at| is_given_up(*at, now));
        self.lost += known as u64;
        self.awaited.drain(..known);
        self.awaited.push_back(now);
    }

    /// Adds what was counted of the same connection elsewhere.
    pub(crate) fn absorb(&mut self, other: FlowMonitor) {
        self.first_sent = self.first_sent.or(other.first_sent);
        self.last_sent = self.last_sent.max(other.last_sent);
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.last_arrived = self.last_arrived.max(other.last_arrived);
        self.arrived_packets += other.arrived_packets;
        self.arrived_bytes += other.arrived_bytes;
        self.delay_nanos += other.delay_nanos;
        self.lost += other.lost;
        self.awaited.extend(other.awaited);
    }

    /// The figures at the end of the run.
    pub(crate) fn summary(&self, end: Time) -> FlowMonitorSummary {
        let given_up = self.awaited.iter().filter(|at| is_given_up(**at, end)).count();
        let since_first = |at: Time| {
            let first = self.first_sent?;
            (at > first).then(|| at.since(first).as_secs_f64())
        };
        let ctt_s = since_first(self.last_arrived);
        let kbps = |bytes: u64, seconds: f64| bytes as f64 * 8.0 / seconds / 1000.0;
        let delay_ms = self.delay_nanos as f64 / 1e6;
        FlowMonitorSummary {
            tx_kbps: since_first(self.last_sent).map(|seconds| kbps(self.sent_bytes, seconds)),
            rx_kbps: ctt_s.map(|seconds| kbps(self.arrived_bytes, seconds)),
            ctt_s,
            mean_delay_ms: (self.arrived_packets > 0)
                .then(|| delay_ms / self.arrived_packets as f64),
            lost: self.lost + given_up as u64,
            tx_packets: self.sent_packets,
        }
    }
}

/// Whether a packet that was lost at that time is lost to ns-3 now.
fn is_given_up(lost_at: Time, now: Time) -> bool {
    now.since(lost_at) >= MAX_PER_HOP_DELAY
}

/// Bytes of the IP packet as ns-3 makes it: of options, timestamps have 10 bytes (`tcp-option-ts.cc`),
/// the window scale 3, SACK-permitted 2, SACK 2 and 8 for each block, and all together are filled up
/// to whole words (`tcp-header.cc`, `CalculateHeaderLength`). A SYN names no segment size.
fn ip_bytes(segment: &Segment) -> u64 {
    let has = |flag, bytes| if segment.flags.has(flag) { bytes } else { 0 };
    let sack = if segment.sack_count > 0 { 2 + 8 * u32::from(segment.sack_count) } else { 0 };
    let options = has(Flags::TIMESTAMP, 10)
        + has(Flags::WINDOW_SCALE, 3)
        + has(Flags::SACK_PERMITTED, 2)
        + sack;
    let headers = IP_HEADER_BYTES + TCP_HEADER_BYTES + options.next_multiple_of(4);
    u64::from(headers + segment.payload_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn data(sent: u64) -> Segment {
        let flags = Flags::ACK.with(Flags::TIMESTAMP);
        Segment { payload_bytes: 1440, flags, sent_at: at(sent), ..Segment::default() }
    }

    fn syn() -> Segment {
        let options = Flags::TIMESTAMP.with(Flags::WINDOW_SCALE).with(Flags::SACK_PERMITTED);
        Segment { flags: Flags::SYN.with(options), ..Segment::default() }
    }

    #[test]
    fn packets_have_the_sizes_of_ns3() {
        // Options of 15 bytes make 16, of 10 make 12, of 10 + 2 + 8 make 20.
        assert_eq!(ip_bytes(&syn()), 20 + 20 + 16);
        assert_eq!(ip_bytes(&data(0)), 20 + 20 + 12 + 1440);
        assert_eq!(ip_bytes(&Segment { sack_count: 1, payload_bytes: 0, ..data(0) }), 60);
    }

    #[test]
    fn the_figures_of_a_small_flow() {
        let mut monitor = FlowMonitor::default();
        monitor.send(&syn(), at(0));
        monitor.arrive(&syn(), at(50));
        for sent in [100, 200, 400] {
            monitor.send(&data(sent), at(sent));
        }
        monitor.arrive(&data(100), at(160));
        monitor.miss(Cause::Lost, at(210));
        monitor.arrive(&data(400), at(500));
        // (56 + 3 · 1492) · 8 bit in 0.4 s; (56 + 2 · 1492) · 8 in 0.5 s; (50 + 60 + 100) ms / 3.
        let expected = FlowMonitorSummary {
            tx_kbps: Some(90.64),
            rx_kbps: Some(48.64),
            ctt_s: Some(0.5),
            mean_delay_ms: Some(70.0),
            lost: 0,
            tx_packets: 4,
        };
        assert_eq!(monitor.summary(at(10_209)), expected);
        assert_eq!(monitor.summary(at(10_210)).lost, 1);
    }

    #[test]
    fn losses_of_the_last_ten_seconds_are_not_known() {
        let mut monitor = FlowMonitor::default();
        for second in 0..30 {
            monitor.miss(Cause::Lost, at(1000 * second));
        }
        // Those of 0 s to 20 s, at 30 s.
        assert_eq!(monitor.summary(at(30_000)).lost, 21);
        assert!(monitor.awaited.len() <= 11);
        monitor.miss(Cause::Dropped, at(30_000));
        assert_eq!(monitor.summary(at(30_000)).lost, 22);
    }

    #[test]
    fn a_flow_that_sends_nothing_has_no_figures() {
        let summary = FlowMonitor::default().summary(at(5000));
        assert_eq!((summary.tx_kbps, summary.rx_kbps, summary.ctt_s), (None, None, None));
        assert_eq!((summary.mean_delay_ms, summary.lost, summary.tx_packets), (None, 0, 0));
    }
}
