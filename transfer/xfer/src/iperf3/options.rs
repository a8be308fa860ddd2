//! Options of a client and of a server.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::parameters::{DATAGRAM_BYTES, MOST_BLOCK_BYTES, TCP_BLOCK_BYTES, UDP_BLOCK_BYTES};
use super::{Directions, Parameters, Transport};
use crate::Error;
use crate::socket::Wishes;

/// `DURATION` and `UDP_RATE` of iperf3.
const DURATION_S: f64 = 10.0;
const UDP_BANDWIDTH_BPS: u64 = 1 << 20;
/// Time that the other side has to answer.
const TIMEOUT_S: f64 = 30.0;
/// Longest duration (`MAX_TIME`) and omitted time (60 s in older servers).
const MOST_TIME_S: f64 = 86_400.0;
const MOST_OMIT_S: f64 = 60.0;
/// Shortest duration: less is chance.
const LEAST_TIME_S: f64 = 0.1;
/// Silence after which a server gives up (`DEFAULT_NO_MSG_RCVD_TIMEOUT`).
const SILENCE_S: f64 = 120.0;

/// Which addresses of the server are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    #[default]
    Any,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

options! {
    /// A test that a client asks a server for.
    ClientOptions {
        /// The server: `HOST[:PORT]`; port 5201 if none is given.
        host: String,
        /// Which of its addresses.
        family: Family,
        /// TCP or UDP.
        protocol: Transport,
        /// Seconds that count; 10 if no amount is given either.
        duration_s: Option<f64>,
        /// Payload after which the test ends.
        bytes: Option<u64>,
        /// Blocks after which the test ends.
        blocks: Option<u64>,
        /// Seconds before those that count.
        omit_s: f64,
        /// Parallel streams in each direction.
        streams: u32 = 1,
        /// Where the data goes.
        direction: Directions,
        /// Bytes of a block or datagram; 128 KiB, or what fits into a packet.
        block_bytes: Option<u32>,
        /// Rate of each stream in bit/s; 0 is as fast as it goes. 1 Mibit/s of datagrams if none is given.
        bandwidth_bps: Option<u64>,
        /// Blocks in a row before the rate is looked at.
        burst: Option<u32>,
        /// Socket buffers, which bound the window.
        window_bytes: Option<u32>,
        /// Congestion control, pacing, segment size and own address.
        wishes: Wishes,
        /// `TCP_NODELAY`.
        no_delay: bool,
        /// Type of service or traffic class.
        tos: Option<u8>,
        /// Whether the server's own report is wanted.
        server_output: bool,
        /// Whether datagrams have numbers of 64 bits.
        wide_numbers: bool,
        /// Whether the sender uses `sendfile`.
        zero_copy: bool,
        /// Whether receivers leave the data in the kernel.
        skip_copy: bool,
        /// Whether datagrams must not be fragmented.
        dont_fragment: bool,
        /// A name for the test.
        title: Option<String>,
        /// Text that goes with it.
        extra_data: Option<String>,
        /// Seconds that the server has to answer.
        timeout_s: f64 = TIMEOUT_S,
    }
}

options! {
    /// A server.
    ServerOptions {
        /// Address to listen at, `ADDR[:PORT]`; all of IPv4 and IPv6 at port 5201 if none is given.
        bind: Option<String>,
        /// Whether it ends after the first test.
        once: bool,
        /// Tests at the same time; a further client is turned away, as by iperf3, which has one.
        tests: u32 = 1,
        /// Most parallel streams of a test, in each direction; as many as there are file descriptors
        /// for if none is given.
        most_streams: Option<u32>,
        /// Longest test in seconds, the omitted time included.
        most_duration_s: Option<f64>,
        /// Whether a client that asks for the server's report gets JSON and not lines.
        json_output: bool,
        /// Seconds that a client has for every message.
        timeout_s: f64 = TIMEOUT_S,
        /// Seconds without data after which a test is given up.
        silence_s: f64 = SILENCE_S,
    }
}

impl ClientOptions {
    /// What the server is told; `segment_bytes` is the segment size of the control connection, from
    /// which iperf3 takes the size of datagrams.
    pub fn parameters(&self, segment_bytes: Option<u32>) -> Result<Parameters, Error> {
        if self.host.is_empty() {
            return Err(input("no server is given; write HOST or HOST:PORT"));
        }
        if self.streams == 0 {
            return Err(input("streams: expected at least 1, got 0"));
        }
        let ends = [self.duration_s.is_some(), self.bytes.is_some(), self.blocks.is_some()];
        if ends.iter().filter(|is_given| **is_given).count() > 1 {
            return Err(input("a test ends by duration, bytes or blocks: give one of them"));
        }
        if self.bytes == Some(0) || self.blocks == Some(0) {
            return Err(input(
                "a test of no payload measures nothing; give an amount or a duration",
            ));
        }
        between("the omitted time", self.omit_s, &(0.0..=MOST_OMIT_S))?;
        seconds("the timeout", self.timeout_s)?;
        let is_udp = self.protocol == Transport::Udp;
        let bandwidth_bps = match self.bandwidth_bps {
            None if is_udp => Some(UDP_BANDWIDTH_BPS),
            given => given.filter(|bps| *bps > 0),
        };
        Ok(Parameters {
            protocol: self.protocol,
            omit_s: self.omit_s.ceil() as u32,
            // The client ends the test; the server only has to wait long enough.
            time_s: self.time()?.map_or(0, |time| time.as_secs_f64().ceil() as u32),
            bytes: self.bytes.unwrap_or(0),
            blocks: self.blocks.unwrap_or(0),
            mss_bytes: self.wishes.mss_bytes,
            no_delay: self.no_delay,
            streams: self.streams,
            direction: self.direction,
            window_bytes: self.window_bytes,
            block_bytes: self.block_bytes(segment_bytes)?,
            bandwidth_bps,
            pacing_bps: self.wishes.pacing_bps,
            burst: self.burst,
            tos: self.tos,
            flow_label: None,
            title: self.title.clone(),
            extra_data: self.extra_data.clone(),
            congestion: self.wishes.cc.clone(),
            server_output: self.server_output,
            wide_numbers: self.wide_numbers,
            zero_copy: self.zero_copy,
            dont_fragment: self.dont_fragment,
            skip_copy: self.skip_copy,
            client_version: Some(super::version()),
        })
    }

    /// How long the time that counts is; none if an amount ends the test.
    pub fn time(&self) -> Result<Option<Duration>, Error> {
        if self.bytes.is_some() || self.blocks.is_some() {
            return Ok(None);
        }
        let duration_s = self.duration_s.unwrap_or(DURATION_S);
        between("the duration", duration_s, &(LEAST_TIME_S..=MOST_TIME_S))?;
        seconds("the duration", duration_s).map(Some)
    }

    fn block_bytes(&self, segment_bytes: Option<u32>) -> Result<u32, Error> {
        let (range, default) = match self.protocol {
            Transport::Tcp => (1..=MOST_BLOCK_BYTES, TCP_BLOCK_BYTES),
            Transport::Udp => (DATAGRAM_BYTES, segment_bytes.unwrap_or(UDP_BLOCK_BYTES)),
        };
        let (least, most) = range.into_inner();
        match self.block_bytes {
            Some(bytes) if (least..=most).contains(&u64::from(bytes)) => Ok(bytes),
            Some(bytes) => Err(input(&format!(
                "the block size: expected {least} to {most} bytes, got {bytes}"
            ))),
            None => Ok(default.clamp(least as u32, most as u32)),
        }
    }
}

pub(super) fn seconds(what: &str, seconds: f64) -> Result<Duration, Error> {
    match Duration::try_from_secs_f64(seconds) {
        // A year: what is longer cannot be added to the clock for sure.
        Ok(time) if !time.is_zero() && seconds < 3.2e7 => Ok(time),
        _ => Err(input(&format!("{what}: expected seconds above 0, got {seconds}"))),
    }
}

fn between(what: &str, value: f64, range: &std::ops::RangeInclusive<f64>) -> Result<(), Error> {
    let (least, most) = (range.start(), range.end());
    match range.contains(&value) {
        true => Ok(()),
        false => Err(input(&format!("{what}: expected {least} to {most} s, got {value}"))),
    }
}

fn input(text: &str) -> Error {
    Error::Input(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(json: &str) -> ClientOptions {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn defaults_are_those_of_iperf3() {
        let told = options(r#"{"host": "x"}"#).parameters(None).unwrap();
        assert_eq!((told.time_s, told.streams, told.block_bytes), (10, 1, 131_072));
        assert_eq!(told.bandwidth_bps, None);
        let told = options(r#"{"host": "x", "protocol": "udp"}"#).parameters(Some(1448)).unwrap();
        assert_eq!((told.block_bytes, told.bandwidth_bps), (1448, Some(1_048_576)));
        let told = options(r#"{"host": "x", "protocol": "udp", "bandwidth_bps": 0}"#);
        assert_eq!(told.parameters(None).unwrap().bandwidth_bps, None);
    }

    #[test]
    fn an_amount_ends_a_test_instead_of_time() {
        let told = options(r#"{"host": "x", "bytes": 5000}"#).parameters(None).unwrap();
        assert_eq!((told.time_s, told.bytes), (0, 5000));
        let told = options(r#"{"host": "x", "duration_s": 2.5}"#).parameters(None).unwrap();
        assert_eq!(told.time_s, 3);
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (json, said) in [
            ("{}", "no server"),
            (r#"{"host": "x", "streams": 0}"#, "streams"),
            (r#"{"host": "x", "bytes": 0}"#, "no payload"),
            (r#"{"host": "x", "bytes": 1, "duration_s": 1}"#, "give one of them"),
            (r#"{"host": "x", "duration_s": -1}"#, "duration"),
            (r#"{"host": "x", "duration_s": 1e9}"#, "duration"),
            (r#"{"host": "x", "omit_s": 61}"#, "omitted"),
            (r#"{"host": "x", "block_bytes": 2000000}"#, "1048576"),
            (r#"{"host": "x", "protocol": "udp", "block_bytes": 15}"#, "16 to 65507"),
            (r#"{"host": "x", "timeout_s": 0}"#, "timeout"),
        ] {
            let Err(Error::Input(error)) = options(json).parameters(None) else {
                panic!("{json} was taken")
            };
            assert!(error.contains(said), "{json}: {error}");
        }
    }
}
