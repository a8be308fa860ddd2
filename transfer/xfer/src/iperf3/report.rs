//! A test's report in iperf3's JSON, so that programs that read iperf3's reports read these.
//!
//! The shape is that of iperf3 3.12 and later: `start`, `intervals` and `end`. Where the other
//! side's results are known, both ends report them; a server of iperf3 leaves them at zero.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::date::http_date;
use super::json::given;
use super::recorder::{Interval, Row, Total};
use super::results::{Results, ServerOutput, StreamResult};
use super::rows::{connected, cpu, interval_row, percent, socket_number, span, with_datagrams};
use super::run::{Outcome, Role, Test};
use super::{Directions, Transport, version};
use crate::Error;
use crate::measure::INTERVAL;

/// What there is to know of the host, and when the test began.
#[derive(Clone, Debug)]
pub(super) struct System {
    text: String,
    epoch_s: u64,
}

impl System {
    pub(super) fn now() -> System {
        let file = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            text.unwrap_or_default().trim().to_owned()
        };
        let text = ["ostype", "hostname", "osrelease", "version"].map(file).join(" ");
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        System { text: format!("{text} {}", std::env::consts::ARCH), epoch_s: since.as_secs() }
    }
}

/// Everything that a report is made of.
pub(super) struct Report<'a> {
    pub(super) test: &'a Test,
    pub(super) outcome: &'a Outcome,
    /// What the other side has measured, if it came.
    pub(super) theirs: Option<&'a Results>,
    pub(super) system: &'a System,
    pub(super) cookie: String,
    pub(super) peer: SocketAddr,
    /// The server as the user has called it; empty at a server.
    pub(super) host: &'a str,
    pub(super) segment_bytes: Option<u32>,
    pub(super) failure: Option<&'a Error>,
}

/// Streams of one direction.
struct Sums<'a> {
    /// What its sums are called besides "sum".
    suffix: &'static str,
    sends: bool,
    places: Vec<usize>,
    report: &'a Report<'a>,
}

/// A stream as both ends have seen it.
#[derive(Default)]
struct Ends {
    sent_bytes: u64,
    received_bytes: u64,
    sent_s: f64,
    received_s: f64,
    retransmits: Option<u64>,
    packets: u64,
    lost: u64,
    jitter_s: f64,
    reordered: u64,
}

impl Report<'_> {
    pub(super) fn json(&self) -> Value {
        let intervals = self.outcome.measured.intervals.iter();
        let intervals: Vec<Value> = intervals.map(|interval| self.interval(interval)).collect();
        let output = self.theirs.and_then(|results| results.server_output.as_ref());
        let (text, json) = ServerOutput::texts(output);
        given(json!({
            "start": self.start(),
            "intervals": intervals,
            "end": self.end(),
            "server_output_text": text,
            "server_output_json": json,
            "error": self.failure.map(Error::to_string),
        }))
    }

    fn start(&self) -> Value {
        let parameters = &self.test.parameters;
        let connected: Vec<Value> =
            self.test.streams.iter().map(|stream| connected(stream)).collect();
        let is_client = self.test.role == Role::Client;
        let is_tcp = parameters.protocol == Transport::Tcp;
        let default_mss = self.segment_bytes.unwrap_or(0);
        let has_default_mss = is_tcp && parameters.mss_bytes.is_none();
        let port = self.peer.port();
        let host = self.peer.ip().to_canonical().to_string();
        let epoch_s = self.system.epoch_s;
        let socket = self.test.streams.first().map(|stream| &stream.socket);
        given(json!({
            "connected": connected,
            "version": version(),
            "system_info": self.system.text,
            "timestamp": {"time": http_date(epoch_s), "timesecs": epoch_s},
            "connecting_to": is_client.then(|| json!({"host": self.host, "port": port})),
            "accepted_connection": (!is_client).then(|| json!({"host": host, "port": port})),
            "cookie": self.cookie,
            "tcp_mss": parameters.mss_bytes.filter(|_| is_tcp),
            "tcp_mss_default": has_default_mss.then_some(default_mss),
            "target_bitrate": parameters.bandwidth_bps.unwrap_or(0),
            "fq_rate": parameters.pacing_bps.unwrap_or(0),
            "sock_bufsize": parameters.window_bytes.unwrap_or(0),
            "sndbuf_actual": socket.map(|socket| socket.send_buffer_size().unwrap_or(0)),
            "rcvbuf_actual": socket.map(|socket| socket.recv_buffer_size().unwrap_or(0)),
            "title": parameters.title,
            "extra_data": parameters.extra_data,
            "test_start": self.test_start(),
        }))
    }

    fn test_start(&self) -> Value {
        let parameters = &self.test.parameters;
        json!({
            "protocol": match parameters.protocol { Transport::Tcp => "TCP", Transport::Udp => "UDP" },
            "num_streams": parameters.streams,
            "blksize": parameters.block_bytes,
            "omit": parameters.omit_s,
            "duration": parameters.time_s,
            "bytes": parameters.bytes,
            "blocks": parameters.blocks,
            "reverse": u8::from(parameters.direction == Directions::Reverse),
            "tos": parameters.tos.unwrap_or(0),
            "target_bitrate": parameters.bandwidth_bps.unwrap_or(0),
            "bidir": u8::from(parameters.direction == Directions::Both),
            "fqrate": parameters.pacing_bps.unwrap_or(0),
            "interval": self.test.subject.interval.unwrap_or(INTERVAL).as_secs_f64(),
        })
    }

    /// The directions: of two, that from the client comes first.
    fn directions(&self) -> Vec<Sums<'_>> {
        let sends = |place: &usize| self.test.streams[*place].sends;
        let places = 0..self.test.streams.len();
        let is_client = self.test.role == Role::Client;
        let sums = |suffix, sends_here: bool| Sums {
            suffix,
            sends: sends_here,
            places: places.clone().filter(|place| sends(place) == sends_here).collect(),
            report: self,
        };
        match self.test.parameters.direction {
            Directions::Forward => vec![sums("", is_client)],
            Directions::Reverse => vec![sums("", !is_client)],
            Directions::Both => vec![sums("", is_client), sums("_bidir_reverse", !is_client)],
        }
    }

    fn interval(&self, interval: &Interval) -> Value {
        let rows = interval.rows.iter().zip(&self.test.streams);
        let streams: Vec<Value> = rows
            .map(|(row, stream)| interval_row(interval, row, Some(stream), stream.sends))
            .collect();
        let mut all = Map::new();
        all.insert("streams".into(), streams.into());
        for direction in self.directions() {
            let mut sum = Row::default();
            for place in &direction.places {
                let Some(row) = interval.rows.get(*place) else { continue };
                sum.bytes += row.bytes;
                sum.packets = sum.packets.saturating_add(row.packets);
                sum.lost = sum.lost.saturating_add(row.lost);
                sum.retransmits += row.retransmits;
                sum.jitter_s += row.jitter_s / direction.places.len() as f64;
                // Only whether there are retransmissions to tell of.
                sum.tcp = sum.tcp.or(row.tcp);
            }
            let row = self.sum_row(interval, &sum, direction.sends);
            all.insert(format!("sum{}", direction.suffix), row);
        }
        Value::Object(all)
    }

    fn sum_row(&self, interval: &Interval, sum: &Row, sends: bool) -> Value {
        let row = interval_row(interval, sum, None, sends);
        match self.test.parameters.protocol {
            Transport::Tcp => row,
            Transport::Udp => with_datagrams(row, sum, sends),
        }
    }

    fn end(&self) -> Value {
        let directions = self.directions();
        let places = 0..self.test.streams.len();
        let streams: Vec<Value> = places.map(|place| self.stream(place)).collect();
        let mut end = Map::new();
        end.insert("streams".into(), streams.into());
        for direction in &directions {
            direction.sums(&mut end);
        }
        let mine = self.outcome.cpu;
        let theirs = self.theirs.map(|results| results.cpu).unwrap_or_default();
        end.insert("cpu_utilization_percent".into(), cpu(mine, theirs));
        self.congestion(&mut end);
        Value::Object(end)
    }

    fn congestion(&self, end: &mut Map<String, Value>) {
        let mine = self.test.congestion_used();
        let theirs = self.theirs.and_then(|results| results.congestion_used.clone());
        let sends = self.test.streams.first().is_some_and(|stream| stream.sends);
        let [sender, receiver] = if sends { [mine, theirs] } else { [theirs, mine] };
        for (key, name) in
            [("sender_tcp_congestion", sender), ("receiver_tcp_congestion", receiver)]
        {
            if let Some(name) = name {
                end.insert(key.into(), name.into());
            }
        }
    }

    fn ends(&self, place: usize) -> Ends {
        let stream = &self.test.streams[place];
        let none = Total::default();
        let total = self.outcome.measured.streams.get(place).unwrap_or(&none);
        let seconds = self.outcome.measured.seconds;
        let theirs = self.theirs.and_then(|results| results.streams.get(place));
        let of_theirs = |of: fn(&StreamResult) -> u64| theirs.map_or(0, of);
        let counted = |result: &StreamResult| {
            result.packets.saturating_sub(result.omitted_packets.unwrap_or(0))
        };
        let lost = |result: &StreamResult| {
            result.errors.saturating_sub(result.omitted_errors.unwrap_or(0))
        };
        let their_s = theirs.and_then(StreamResult::seconds).unwrap_or(seconds);
        let their_bytes = of_theirs(|result| result.bytes);
        let seen = &total.seen;
        match stream.sends {
            true => Ends {
                sent_bytes: total.bytes,
                received_bytes: their_bytes,
                sent_s: seconds,
                received_s: their_s,
                retransmits: total.retransmits,
                packets: theirs.map_or(seen.packets, counted),
                lost: theirs.map_or(0, lost),
                jitter_s: theirs.map_or(0.0, |result| result.jitter_s),
                reordered: 0,
            },
            false => Ends {
                sent_bytes: their_bytes,
                received_bytes: total.bytes,
                sent_s: their_s,
                received_s: seconds,
                retransmits: theirs.and_then(|result| result.retransmits),
                packets: seen.packets,
                lost: seen.lost,
                jitter_s: seen.jitter_s,
                reordered: seen.reordered,
            },
        }
    }

    fn stream(&self, place: usize) -> Value {
        let (stream, ends) = (&self.test.streams[place], self.ends(place));
        let id = socket_number(stream);
        if self.test.parameters.protocol == Transport::Udp {
            let mut row = span(ends.sent_s, ends.sent_bytes.max(ends.received_bytes));
            row.insert("socket".into(), id.into());
            ends.datagrams(&mut row);
            row.insert("out_of_order".into(), ends.reordered.into());
            row.insert("sender".into(), stream.sends.into());
            return json!({"udp": row});
        }
        let mut sender = span(ends.sent_s, ends.sent_bytes);
        sender.insert("socket".into(), id.into());
        if let Some(count) = ends.retransmits {
            sender.insert("retransmits".into(), count.into());
        }
        if let Some(total) = self.outcome.measured.streams.get(place).filter(|_| stream.sends) {
            for (key, value) in [
                ("max_snd_cwnd", total.most.cwnd_bytes),
                ("max_snd_wnd", total.most.window_bytes),
                ("max_rtt", total.most.rtt_us),
                ("min_rtt", total.min_rtt_us),
                ("mean_rtt", total.mean_rtt_us),
            ] {
                sender.insert(key.into(), value.into());
            }
        }
        sender.insert("sender".into(), stream.sends.into());
        let mut receiver = span(ends.received_s, ends.received_bytes);
        receiver.insert("socket".into(), id.into());
        receiver.insert("sender".into(), stream.sends.into());
        json!({"sender": sender, "receiver": receiver})
    }
}

impl Sums<'_> {
    fn sums(&self, end: &mut Map<String, Value>) {
        let all: Vec<Ends> = self.places.iter().map(|place| self.report.ends(*place)).collect();
        let sum = |of: fn(&Ends) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
        let longest = |of: fn(&Ends) -> f64| all.iter().map(of).fold(0.0, f64::max);
        let mut sent = span(longest(|ends| ends.sent_s), sum(|ends| ends.sent_bytes));
        let mut received = span(longest(|ends| ends.received_s), sum(|ends| ends.received_bytes));
        if self.report.test.parameters.protocol == Transport::Udp {
            let together = Ends {
                packets: sum(|ends| ends.packets),
                lost: sum(|ends| ends.lost),
                jitter_s: all.iter().map(|ends| ends.jitter_s).sum::<f64>()
                    / all.len().max(1) as f64,
                ..Ends::default()
            };
            let mut both = sent.clone();
            together.datagrams(&mut both);
            both.insert("sender".into(), self.sends.into());
            together.datagrams(&mut received);
            let sent_only = Ends { lost: 0, jitter_s: 0.0, ..together };
            sent_only.datagrams(&mut sent);
            sent.insert("sender".into(), true.into());
            received.insert("sender".into(), false.into());
            end.insert(format!("sum{}", self.suffix), both.into());
        } else {
            let counts: Vec<u64> = all.iter().filter_map(|ends| ends.retransmits).collect();
            if !counts.is_empty() {
                let count = counts.into_iter().fold(0, u64::saturating_add);
                sent.insert("retransmits".into(), count.into());
            }
            sent.insert("sender".into(), self.sends.into());
            received.insert("sender".into(), self.sends.into());
        }
        end.insert(format!("sum_sent{}", self.suffix), sent.into());
        end.insert(format!("sum_received{}", self.suffix), received.into());
    }
}

impl Ends {
    fn datagrams(&self, row: &mut Map<String, Value>) {
        row.insert("jitter_ms".into(), (self.jitter_s * 1e3).into());
        row.insert("lost_packets".into(), self.lost.into());
        row.insert("packets".into(), self.packets.into());
        row.insert("lost_percent".into(), percent(self.lost, self.packets).into());
    }
}
