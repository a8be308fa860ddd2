//! What the guest writes down: samples as they happen, and totals at the end.
//!
//! The files, all little-endian, in the directory that the guest was given:
//!
//! - `flows.bin`: one [`FlowSample`] for each flow and sample, in the order of time and of
//!   [`crate::plan::Plan::rows`].
//! - `transfer-<index>.bin`: of each transfer, a [`FlowSample`] for each of its connections and samples,
//!   in the order of time; one without `tcp_info` says when the next one's interval begins.
//! - `program-<index>.1` and `.2`: what each program has written to its standard output and error.
//! - `saved.json`: one [`SavedFiles`] for each path that is to be kept, and `saved/<index>`, the file or directory.
//! - `queues.bin`: one [`QueueSample`] for each reported queue and sample.
//! - `totals.json`: [`Totals`], written last: without it the run was not completed.
//! - `progress`: virtual nanoseconds done, as text, written again and again.
//! - `error`: why the guest gave up, as text, if it did.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// Longest `struct tcp_info` that is kept; Linux 6.1 has 232 bytes, 6.12 has 256.
pub const MAX_TCP_INFO: usize = 1024;

/// A connection at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSample {
    /// When, from the beginning of the run.
    pub t_ns: u64,
    /// Index of the flow.
    pub flow: u32,
    /// Bytes that the sink has received in order (`tcpi_bytes_received` of its socket).
    pub delivered_bytes: u64,
    /// `struct tcp_info` of the source as the kernel gives it; empty while there is no socket, and of
    /// datagrams.
    pub tcp_info: Vec<u8>,
}

impl FlowSample {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.t_ns.to_le_bytes())?;
        to.write_all(&self.flow.to_le_bytes())?;
        to.write_all(&(self.tcp_info.len() as u32).to_le_bytes())?;
        to.write_all(&self.delivered_bytes.to_le_bytes())?;
        to.write_all(&self.tcp_info)
    }

    /// Reads the next one into `self`; false at the end of the file.
    ///
    /// # Errors
    /// Those of the reader, and `InvalidData` or `UnexpectedEof` for what is no such record.
    pub fn read(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let mut head = [0; 24];
        if !fill(from, &mut head)? {
            return Ok(false);
        }
        self.t_ns = u64_at(&head, 0);
        self.flow = u32_at(&head, 8);
        self.delivered_bytes = u64_at(&head, 16);
        let length = u32_at(&head, 12) as usize;
        if length > MAX_TCP_INFO {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "tcp_info is too long"));
        }
        self.tcp_info.resize(length, 0);
        from.read_exact(&mut self.tcp_info)?;
        Ok(true)
    }
}

/// A reported queue at one moment: what its root queue discipline has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// When, from the beginning of the run.
    pub t_ns: u64,
    /// Index of the queue.
    pub queue: u32,
    /// Packets in it now; with `plan::Queue::holds_transmission`, the one in transmission counts.
    pub backlog_packets: u32,
    /// Bytes in it now, each packet with `plan::Queue::counted_overhead_bytes`.
    pub backlog_bytes: u64,
    /// Packets it has passed on.
    pub packets: u64,
    /// Bytes it has passed on, counted in the same way.
    pub bytes: u64,
    /// Packets it has dropped.
    pub drops: u64,
    /// Packets lost on the wires behind it.
    pub losses: u64,
}

impl QueueSample {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.t_ns.to_le_bytes())?;
        to.write_all(&self.queue.to_le_bytes())?;
        to.write_all(&self.backlog_packets.to_le_bytes())?;
        for counter in [self.backlog_bytes, self.packets, self.bytes, self.drops, self.losses] {
            to.write_all(&counter.to_le_bytes())?;
        }
        Ok(())
    }

    /// Reads the next one; none at the end of the file.
    ///
    /// # Errors
    /// Those of the reader, and `UnexpectedEof` for part of a record.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut bytes = [0; 56];
        if !fill(from, &mut bytes)? {
            return Ok(None);
        }
        Ok(Some(QueueSample {
            t_ns: u64_at(&bytes, 0),
            queue: u32_at(&bytes, 8),
            backlog_packets: u32_at(&bytes, 12),
            backlog_bytes: u64_at(&bytes, 16),
            packets: u64_at(&bytes, 24),
            bytes: u64_at(&bytes, 32),
            drops: u64_at(&bytes, 40),
            losses: u64_at(&bytes, 48),
        }))
    }
}

/// What was counted over the run and at both ends of the measuring window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Release of the kernel: "6.1.192".
    pub kernel: String,
    /// Whether packets were watched one by one; without it, what needs that is missing.
    pub watched: bool,
    /// Whether the kernel told of the states of its congestion controls; without it, reductions and
    /// timeouts are missing.
    pub states_told: bool,
    /// Changes of state that the kernel could not tell: then reductions and timeouts are too low.
    #[serde(default)]
    pub lost_states: u64,
    /// One entry a flow.
    pub flows: Vec<FlowTotals>,
    /// One entry a flow of datagrams.
    #[serde(default)]
    pub datagrams: Vec<DatagramTotals>,
    /// One entry a reported queue.
    pub queues: Vec<QueueTotals>,
    /// One entry an application of the experiment, if any of them decides as it goes.
    #[serde(default)]
    pub applications: Vec<ApplicationTotals>,
    /// One entry a transfer.
    #[serde(default)]
    pub transfers: Vec<TransferTotals>,
    /// One entry a program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramTotals>,
    /// When the run ended, if before its time.
    #[serde(default)]
    pub ended_ns: Option<u64>,
    /// Packets that the watch missed because the guest could not follow: then `watched` figures
    /// are too low.
    pub unseen_packets: u64,
}

/// The file of what a program writes to its standard output (1) or error (2).
pub fn output_file(program: usize, stream: u32) -> String {
    format!("program-{program}.{stream}")
}

/// Directory of the files that are kept.
pub const SAVED: &str = "saved";
/// List of them.
pub const SAVED_LIST: &str = "saved.json";

/// What was kept under one path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFiles {
    /// Regular files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Links, special files and names that are not UTF-8, which are not kept.
    pub left_out: u64,
    /// Why not all was kept.
    pub failure: Option<String>,
}

/// One program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramTotals {
    /// When it was started, in nanoseconds from the beginning of the run: negative before it. None if
    /// it was not.
    pub started_ns: Option<i64>,
    /// When it ended; none if it was still there at the end of the run.
    pub ended_ns: Option<i64>,
    /// Its exit code, if it has exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one has.
    pub signal: Option<i32>,
    /// Why it could not be started (errno), and in words.
    pub failure: Option<(i32, String)>,
    /// Bytes that it wrote to its standard output and error, kept or not.
    pub output_bytes: [u64; 2],
    /// Which output could not be kept, and why: an error of the run, which has no results then.
    #[serde(skip)]
    pub lost_output: Option<(String, String)>,
}

/// One flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowTotals {
    /// At the beginning and at the end of the measuring window.
    pub window: [FlowMark; 2],
    /// The same of what comes back.
    #[serde(default)]
    pub back: [FlowMark; 2],
    /// Data packets that have reached the sink's host over the whole run.
    pub arrivals: u64,
    /// When its application opened it, from the beginning of the run, if that was not its start.
    #[serde(default)]
    pub opened_ns: Option<u64>,
    /// Bytes of its transfer, of an application that decides as it goes, once they are known.
    #[serde(default)]
    pub transfer_bytes: Option<u64>,
    /// When the sink had the last byte of a transfer with an end, from the beginning of the run.
    pub completed_ns: Option<u64>,
    /// When the source's handshake was done, from the beginning of the run, if it was.
    pub established_ns: Option<u64>,
    /// When and why the kernel gave the connection up, if it did.
    pub given_up: Option<GivenUp>,
    /// Why the guest could not work the connection, if so: the fault of the guest, not of the path.
    pub error: Option<String>,
}

/// One flow of datagrams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramTotals {
    /// At the beginning and at the end of the measuring window; its sent packets are `segments`.
    pub window: [FlowMark; 2],
    /// Packets received over the whole run, copies not counted.
    pub arrivals: u64,
    /// When the sink had the last byte of a flow with an end, from the beginning of the run.
    pub completed_ns: Option<u64>,
    /// Interarrival jitter at the end of the window (RFC 3550 section 6.4.1); none before the second
    /// packet.
    pub jitter_ns: Option<u64>,
    /// Median, 95th and 99th percentile of the one-way delay in the window.
    pub delays_ns: [Option<u64>; 3],
    /// Why the guest could not send or receive it, if so.
    pub error: Option<String>,
}

/// What an application says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationTotals {
    /// Bytes that were of use to it in the measuring window; all that was delivered if none.
    pub goodput_bytes: Option<u64>,
    /// From its start to its end, if it has ended.
    pub completion_ns: Option<u64>,
    /// Figures of its kind, in their order.
    pub figures: Vec<Option<f64>>,
}

/// How a connection came to an early end that the network is the reason of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// When an end was told, from the beginning of the run.
    pub at_ns: u64,
    /// Which end was told first: "source" or "sink".
    pub end: String,
    /// What it was told, as errno(3) names it: "ETIMEDOUT".
    pub errno: String,
}

/// One transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferTotals {
    /// When the receiver had confirmed the whole, from the beginning of the run.
    pub confirmed_ns: Option<u64>,
    /// Payload that arrived over the whole run.
    pub payload_bytes: u64,
    /// Names of its connections, in the order of their indices.
    pub connections: Vec<String>,
    /// What sender and receiver said, and when.
    pub log: Vec<(u64, String)>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// The file of a transfer's samples.
pub fn transfer_file(index: usize) -> String {
    format!("transfer-{index}.bin")
}

/// Counters of one flow at one moment, from the end of its handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowMark {
    /// Bytes that the sink has received in order.
    pub delivered_bytes: u64,
    /// Data segments sent, retransmissions included (`tcpi_data_segs_out`).
    pub segments: u64,
    /// Segments retransmitted (`tcpi_total_retrans`).
    pub retransmissions: u64,
    /// Entries into recovery, congestion-window reduction or loss (tracepoint
    /// `tcp:tcp_cong_state_set`).
    pub reductions: u64,
    /// Entries into loss: retransmission timeouts.
    pub timeouts: u64,
    /// Data packets that have reached the sink's host.
    pub arrivals: u64,
    /// Their bytes, IP headers included.
    pub wire_bytes: u64,
    /// Their delays from the source's host, added up.
    pub delay_ns: u64,
    /// Data packets that will not arrive.
    pub missing: u64,
    /// Datagrams that came after one that was sent later.
    #[serde(default)]
    pub reordered: u64,
    /// Copies of datagrams that had come before.
    #[serde(default)]
    pub duplicated: u64,
}

/// One reported queue over the measuring window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueTotals {
    /// Its counters at the beginning and at the end of the measuring window.
    pub window: [QueueMark; 2],
    /// Time that all packets together have waited, those counted that left within the window.
    pub waiting_ns: u64,
    /// 99th percentile over packets of the time in the queue before transmission.
    pub p99_sojourn_ns: Option<u64>,
}

/// Counters of one queue at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMark {
    /// Packets passed on.
    pub packets: u64,
    /// Their bytes, as [`QueueSample::bytes`] counts them.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets lost on the wires behind it.
    pub losses: u64,
}

/// Fills `bytes`; false if there was nothing at all.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    let mut have = 0;
    while have < bytes.len() {
        match from.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The number at an offset that is inside of `bytes`.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// The number at an offset that is inside of `bytes`.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_samples_come_back_as_they_were() {
        let samples = [
            FlowSample { t_ns: 1 << 40, flow: 7, delivered_bytes: u64::MAX, tcp_info: vec![1, 2] },
            FlowSample { t_ns: 2, flow: 0, delivered_bytes: 3, tcp_info: Vec::new() },
        ];
        let mut file = Vec::new();
        for sample in &samples {
            sample.write(&mut file).unwrap();
        }
        let (mut from, mut read) = (file.as_slice(), FlowSample::default());
        for sample in &samples {
            assert!(read.read(&mut from).unwrap());
            assert_eq!(&read, sample);
        }
        assert!(!read.read(&mut from).unwrap());
        assert!(FlowSample::default().read(&mut &file[..25]).is_err(), "a cut record");
    }

    #[test]
    fn queue_samples_come_back_as_they_were() {
        let sample = QueueSample {
            t_ns: 1,
            queue: 2,
            backlog_packets: 3,
            backlog_bytes: 4,
            packets: 5,
            bytes: 6,
            drops: 7,
            losses: 8,
        };
        let mut file = Vec::new();
        sample.write(&mut file).unwrap();
        let mut from = file.as_slice();
        assert_eq!(QueueSample::read(&mut from).unwrap(), Some(sample));
        assert_eq!(QueueSample::read(&mut from).unwrap(), None);
        assert!(QueueSample::read(&mut &file[..55]).is_err());
    }
}
