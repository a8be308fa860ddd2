//! The client's parameters of a test.

use serde_json::{Value, json};

use super::code;
use super::json::{LARGEST, flag, given, number, text, whole};
use super::{Directions, Transport};

/// Bounds of iperf3 (`iperf.h`): `MAX_TIME`, `MAX_OMIT_TIME`, `MAX_MSS`, `MAX_BURST`,
/// `MAX_TCP_BUFFER`, `MAX_BLOCKSIZE`.
const MOST_TIME_S: u64 = 86_400;
const MOST_OMIT_S: u64 = 600;
const MOST_MSS_BYTES: u64 = 32 * 1024 - 1;
const MOST_BURST: u64 = 1000;
const MOST_BUFFER_BYTES: u64 = 512 << 20;
/// Largest block of a stream.
pub(crate) const MOST_BLOCK_BYTES: u64 = 1 << 20;
/// Datagrams: the longest header, and what an IPv4 packet carries (`MAX_UDP_BLOCKSIZE`).
pub(crate) const DATAGRAM_BYTES: std::ops::RangeInclusive<u64> = 16..=65_507;
/// `DEFAULT_TCP_BLKSIZE` and `DEFAULT_UDP_BLKSIZE`.
pub(crate) const TCP_BLOCK_BYTES: u32 = 128 << 10;
pub(crate) const UDP_BLOCK_BYTES: u32 = 1460;
/// Flow labels have 20 bits (RFC 8200 section 3).
const MOST_FLOW_LABEL: u64 = 0xf_ffff;
/// Characters of a text that are kept; `TCP_CA_NAME_MAX` is 16.
const TITLE_CHARACTERS: usize = 1000;
const NAME_CHARACTERS: usize = 16;

/// The test that a client wants. What is zero or none is not sent, and the server has its own way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    pub protocol: Transport,
    /// Time before the time that counts, in seconds.
    pub omit_s: u32,
    /// Time that counts, in seconds; zero if an amount ends the test, or nothing.
    pub time_s: u32,
    /// Payload after which the test ends; zero if it is not what ends it.
    pub bytes: u64,
    /// Blocks after which the test ends; zero if they do not end it.
    pub blocks: u64,
    /// `TCP_MAXSEG`.
    pub mss_bytes: Option<u32>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    pub streams: u32,
    pub direction: Directions,
    /// `SO_SNDBUF` and `SO_RCVBUF`.
    pub window_bytes: Option<u32>,
    pub block_bytes: u32,
    /// Rate of every stream, in bit/s; none is as fast as it goes.
    pub bandwidth_bps: Option<u64>,
    /// `SO_MAX_PACING_RATE`, in bit/s.
    pub pacing_bps: Option<u64>,
    /// Blocks that are sent in a row before the rate is looked at.
    pub burst: Option<u32>,
    pub tos: Option<u8>,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
    pub title: Option<String>,
    pub extra_data: Option<String>,
    pub congestion: Option<String>,
    pub server_output: bool,
    /// Whether datagrams have numbers of 64 bits.
    pub wide_numbers: bool,
    /// Whether data is sent by `sendfile`.
    pub zero_copy: bool,
    pub dont_fragment: bool,
    /// Whether the receiver leaves the data in the kernel (`MSG_TRUNC`).
    pub skip_copy: bool,
    pub client_version: Option<String>,
}

/// Why parameters are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// iperf3's number for it.
    pub(crate) code: i32,
    pub(crate) why: String,
}

impl Parameters {
    pub fn to_json(&self) -> Value {
        let flag = |is_set: bool| is_set.then_some(true);
        let wish = |is_set: bool| is_set.then_some(1);
        given(json!({
            "tcp": flag(self.protocol == Transport::Tcp),
            "udp": flag(self.protocol == Transport::Udp),
            "omit": self.omit_s,
            "time": self.time_s,
            "num": self.bytes,
            "blockcount": self.blocks,
            "parallel": self.streams,
            "len": self.block_bytes,
            "reverse": flag(self.direction == Directions::Reverse),
            "bidirectional": flag(self.direction == Directions::Both),
            "nodelay": flag(self.no_delay),
            "MSS": self.mss_bytes,
            "window": self.window_bytes,
            "bandwidth": self.bandwidth_bps,
            "fqrate": self.pacing_bps,
            "burst": self.burst,
            "TOS": self.tos,
            "flowlabel": self.flow_label,
            "get_server_output": wish(self.server_output),
            "udp_counters_64bit": wish(self.wide_numbers),
            "zerocopy": wish(self.zero_copy),
            "dont_fragment": wish(self.dont_fragment),
            "skip_rx_copy": wish(self.skip_copy),
            "title": self.title,
            "extra_data": self.extra_data,
            "congestion": self.congestion,
            "client_version": self.client_version,
        }))
    }

    /// As a server reads them, if it can do what they ask for.
    pub(crate) fn from_json(object: &Value, most_streams: u32) -> Result<Parameters, Fault> {
        if !object.is_object() {
            return Err(fault(code::PARAMETERS, "they are not a JSON object"));
        }
        if flag(object, "sctp") {
            return Err(fault(code::PROTOCOL, "it wants SCTP"));
        }
        let protocol = if flag(object, "udp") { Transport::Udp } else { Transport::Tcp };
        let streams = bounded(object, "parallel", 1, u64::from(most_streams), code::STREAMS)?;
        let parameters = Parameters {
            protocol,
            omit_s: bounded(object, "omit", 0, MOST_OMIT_S, code::OMIT)?.unwrap_or(0),
            time_s: bounded(object, "time", 0, MOST_TIME_S, code::DURATION)?.unwrap_or(10),
            bytes: amount(object, "num")?.unwrap_or(0),
            blocks: amount(object, "blockcount")?.unwrap_or(0),
            mss_bytes: bounded(object, "MSS", 0, MOST_MSS_BYTES, code::SEGMENT_SIZE)?,
            no_delay: flag(object, "nodelay"),
            streams: streams.unwrap_or(1),
            direction: match (flag(object, "bidirectional"), flag(object, "reverse")) {
                (true, _) => Directions::Both,
                (false, true) => Directions::Reverse,
                (false, false) => Directions::Forward,
            },
            window_bytes: bounded(object, "window", 0, MOST_BUFFER_BYTES, code::BUFFER_SIZE)?,
            block_bytes: block_bytes(object, protocol)?,
            bandwidth_bps: amount(object, "bandwidth")?,
            pacing_bps: amount(object, "fqrate")?,
            burst: bounded(object, "burst", 1, MOST_BURST, code::BURST)?,
            tos: bounded(object, "TOS", 0, 255, code::TOS)?.map(|tos| tos as u8),
            flow_label: bounded(object, "flowlabel", 1, MOST_FLOW_LABEL, code::FLOW_LABEL)?,
            title: text(object, "title", TITLE_CHARACTERS),
            extra_data: text(object, "extra_data", TITLE_CHARACTERS),
            congestion: text(object, "congestion", NAME_CHARACTERS),
            // It is there only if it is wished, whatever its number.
            server_output: number(object, "get_server_output").is_some(),
            wide_numbers: number(object, "udp_counters_64bit").is_some(),
            zero_copy: flag(object, "zerocopy"),
            dont_fragment: flag(object, "dont_fragment"),
            skip_copy: flag(object, "skip_rx_copy"),
            client_version: text(object, "client_version", NAME_CHARACTERS),
        };
        Ok(Parameters {
            mss_bytes: parameters.mss_bytes.filter(|bytes| *bytes > 0),
            window_bytes: parameters.window_bytes.filter(|bytes| *bytes > 0),
            bandwidth_bps: parameters.bandwidth_bps.filter(|bps| *bps > 0),
            pacing_bps: parameters.pacing_bps.filter(|bps| *bps > 0),
            ..parameters
        })
    }

    pub fn all_streams(&self) -> usize {
        self.streams as usize * if self.direction == Directions::Both { 2 } else { 1 }
    }
}

fn block_bytes(object: &Value, protocol: Transport) -> Result<u32, Fault> {
    match protocol {
        Transport::Tcp => bounded(object, "len", 1, MOST_BLOCK_BYTES, code::BLOCK_SIZE)
            .map(|bytes| bytes.unwrap_or(TCP_BLOCK_BYTES)),
        Transport::Udp if whole(object, "len") == Some(0) => Ok(UDP_BLOCK_BYTES),
        Transport::Udp => {
            let (least, most) = (*DATAGRAM_BYTES.start(), *DATAGRAM_BYTES.end());
            bounded(object, "len", least, most, code::DATAGRAM_SIZE)
                .map(|bytes| bytes.unwrap_or(UDP_BLOCK_BYTES))
        }
    }
}

/// A number in its bounds, if there is one.
fn bounded(
    object: &Value,
    key: &str,
    least: u64,
    most: u64,
    code: i32,
) -> Result<Option<u32>, Fault> {
    let Some(found) = number(object, key) else { return Ok(None) };
    match whole(object, key).filter(|whole| (least..=most).contains(whole)) {
        Some(whole) => Ok(u32::try_from(whole).ok()),
        None => Err(fault(code, &format!("{key} is {found}; it goes from {least} to {most}"))),
    }
}

/// A number of bytes, blocks or bit/s, if there is one.
fn amount(object: &Value, key: &str) -> Result<Option<u64>, Fault> {
    let Some(found) = number(object, key) else { return Ok(None) };
    let most = LARGEST;
    let none = || fault(code::PARAMETERS, &format!("{key} is {found}; it goes from 0 to {most}"));
    whole(object, key).map(Some).ok_or_else(none)
}

fn fault(code: i32, why: &str) -> Fault {
    Fault { code, why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(object: Value) -> Result<Parameters, Fault> {
        Parameters::from_json(&object, 128)
    }

    #[test]
    fn what_iperf3_sends_is_read() {
        // As iperf3 3.12 shows it with `--debug`.
        let sent = json!({
            "tcp": true, "omit": 1, "time": 2, "num": 0, "blockcount": 0, "parallel": 2,
            "reverse": true, "len": 131072, "pacing_timer": 1000, "client_version": "3.12"
        });
        let expected = Parameters {
            omit_s: 1,
            time_s: 2,
            streams: 2,
            direction: Directions::Reverse,
            block_bytes: 131_072,
            client_version: Some("3.12".into()),
            ..Parameters::default()
        };
        assert_eq!(read(sent), Ok(expected));
    }

    #[test]
    fn old_and_sparse_clients_get_defaults() {
        let expected =
            Parameters { time_s: 10, streams: 1, block_bytes: 131_072, ..Parameters::default() };
        assert_eq!(read(json!({"tcp": true})), Ok(expected));
        assert_eq!(read(json!({"udp": true, "len": 0})).unwrap().block_bytes, 1460);
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_number() {
        for (sent, code) in [
            (json!({"parallel": 129}), 6),
            (json!({"parallel": 0}), 6),
            (json!({"time": 86_401}), 5),
            (json!({"time": -1}), 5),
            (json!({"omit": 601}), 12),
            (json!({"len": 0}), 7),
            (json!({"len": 1_048_577}), 7),
            (json!({"udp": true, "len": 15}), 20),
            (json!({"udp": true, "len": 65_508}), 20),
            (json!({"MSS": 40_000}), 10),
            (json!({"window": 1e12}), 8),
            (json!({"TOS": 256}), 21),
            (json!({"burst": 0}), 15),
            (json!({"flowlabel": 0}), 127),
            (json!({"num": -5}), 114),
            (json!({"bandwidth": 1e300}), 114),
            (json!({"sctp": true}), 131),
            (json!([]), 114),
        ] {
            assert_eq!(read(sent.clone()).unwrap_err().code, code, "{sent}");
        }
    }

    #[test]
    fn what_is_sent_is_read_again() {
        let all = Parameters {
            protocol: Transport::Udp,
            omit_s: 1,
            time_s: 3,
            bytes: 1 << 40,
            blocks: 7,
            mss_bytes: Some(1000),
            no_delay: true,
            streams: 4,
            direction: Directions::Both,
            window_bytes: Some(1 << 20),
            block_bytes: 1200,
            bandwidth_bps: Some(10_000_000_000),
            pacing_bps: Some(1 << 33),
            burst: Some(10),
            tos: Some(0xb8),
            flow_label: Some(9),
            title: Some("a title".into()),
            extra_data: Some("more".into()),
            congestion: Some("cubic".into()),
            server_output: true,
            wide_numbers: true,
            zero_copy: true,
            dont_fragment: true,
            skip_copy: true,
            client_version: Some("x".into()),
        };
        assert_eq!(read(all.to_json()), Ok(all));
    }

    proptest! {
        #[test]
        fn any_numbers_are_endured(
            key in prop::sample::select(vec![
                "parallel", "time", "num", "len", "bandwidth", "TOS", "window", "omit", "burst",
            ]),
            number in any::<f64>(),
            udp: bool,
        ) {
            if let Ok(parameters) = read(json!({"udp": udp, key: number})) {
                prop_assert!((1..=128).contains(&parameters.streams));
                prop_assert!((1..=1 << 20).contains(&parameters.block_bytes));
            }
        }
    }
}
