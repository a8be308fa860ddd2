//! Datagram traffic of an experiment: `[[flow]]` tables whose `kind` is one of UDP's.

use fairway_net::datagrams::{Pattern, Periods, UDP_HEADERS};
use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, NANOS_PER_SEC, Rate, Time};

use super::keys::{Absent, Key, Kind, keys};
use super::places::Ends;
use super::reader::Table;
use super::traffic::{FlowText, Timing, Traffic, read_bytes, read_id, read_precedence};

/// A packet of iperf 2 with its headers: 1470 bytes of payload (its manual, `-l`).
const DEFAULT_PACKET: u32 = 1470 + UDP_HEADERS;
/// Longest IPv4 packet: its length field has 16 bits.
const MAX_PACKET: u64 = 65_535;
/// On–off traffic as ns-2 has it (`tcl/lib/ns-default.tcl`, Application/Traffic/Exponential and
/// /Pareto: burst_time_ and idle_time_ 500 ms, shape_ 1.5).
const DEFAULT_PERIOD: Duration = Duration::from_millis(500);
const DEFAULT_SHAPE: f64 = 1.5;
/// A variable rate changes with each frame of a film at 25 a second.
const DEFAULT_RATE_PERIOD: Duration = Duration::from_millis(40);
/// Least buffer for sending that Linux gives a socket: two packets of 2048 bytes (include/net/sock.h,
/// `SOCK_MIN_SNDBUF`).
const LEAST_SEND_BUFFER: u64 = 4608;
/// Periods that may pass between two packets, in the mean.
const MAX_PERIODS: u64 = 1000;
/// Largest shape: beyond it a Pareto distribution is all but constant.
const MAX_SHAPE: f64 = 100.0;

/// The keys that only datagram flows have.
pub(super) static KEYS: &[Key] = keys! {
    "rate": Kind::Rate, Absent::Explained, r#""1 Mbit/s""# =>
        "Of kind \"cbr\", \"vbr\", \"poisson\" and \"onoff\", required: the mean rate of payload without headers, like iperf's -b; of \"onoff\" the rate while it is on.";
    "packet": Kind::Size, Absent::Default(r#""1498 bytes""#), r#""1000 bytes""# =>
        "Of a datagram flow: size of its IP packets, 20 bytes of IP header and 8 of UDP's included; unless written, iperf's 1470 of payload.";
    "start_jitter": Kind::Duration, Absent::Explained, r#""10 ms""# =>
        "Of a datagram flow: a random time up to this is added to its start. Without it, up to one gap between packets for each copy where count is written, so that copies are not in step, and none elsewhere.";
    "rate_deviation": Kind::Rate, Absent::Explained, r#""500 kbit/s""# =>
        "Of kind \"vbr\", required: standard deviation of the rate, which is drawn from a log-normal distribution; at most the rate.";
    "rate_period": Kind::Duration, Absent::Default(r#""40 ms""#), r#""40 ms""# =>
        "Of kind \"vbr\": how long each rate holds; by default a video frame.";
    "on_time": Kind::Duration, Absent::Default(r#""500 ms""#), r#""500 ms""# =>
        "Of kind \"onoff\": mean length of the periods with packets; by default as in ns-2.";
    "off_time": Kind::Duration, Absent::Default(r#""500 ms""#), r#""500 ms""# =>
        "Of kind \"onoff\": mean length of the periods without packets; by default as in ns-2.";
    "periods": Kind::Choice { thing: "distribution of periods", names: || vec!["exponential", "pareto"] },
        Absent::Default(r#""exponential""#), r#""pareto""# =>
        "Of kind \"onoff\": how the lengths of periods are distributed. Many flows with Pareto periods make self-similar traffic (Willinger et al. 1997).";
    "pareto_shape": Kind::Number { min: 1.0, max: MAX_SHAPE }, Absent::Default("1.5"), "1.5" =>
        "Of periods = \"pareto\": shape of the distribution, above 1; below 2 the variance is infinite; by default as in ns-2.";
};

/// Whether datagram flows have this key.
pub(super) fn has_key(name: &str) -> bool {
    SHARED_KEYS.split(' ').any(|key| key == name) || KEYS.iter().any(|key| key.name == name)
}

/// Kinds of datagram traffic.
pub(super) const KINDS: [&str; 4] = ["cbr", "vbr", "poisson", "onoff"];

/// Keys of all flows that a datagram flow has too.
const SHARED_KEYS: &str =
    "id kind start stop bytes count stagger from to direction precedence send_buffer";

/// One datagram flow: UDP packets that no acknowledgement follows.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramFlow {
    /// Its name in results.
    pub id: String,
    /// How many connections of [`Experiment::flows`](super::Experiment::flows) stand before it in
    /// the file.
    pub behind: usize,
    /// When its packets leave.
    pub pattern: Pattern,
    /// Mean rate of the payload; of on–off traffic the rate while it is on.
    pub rate: Rate,
    /// Size of its IP packets, headers included.
    pub packet_bytes: u32,
    /// Payload after which it ends, the last packet shorter if need be; endless without.
    pub bytes: Option<Bytes>,
    /// When its application starts.
    pub start: Time,
    /// No packet leaves then or later.
    pub stop: Option<Time>,
    /// A random time below this is added to the start.
    pub start_jitter: Duration,
    /// Precedence of its packets, 0 to 7.
    pub precedence: u8,
    /// Memory that its packets may take at the first link; without, nothing holds it back.
    pub send_buffer: Option<Bytes>,
    /// Its hosts, as those of a [`super::Flow`].
    pub hosts: [usize; 2],
    /// Whether its source is on the right, and its sink on the left.
    pub reversed: bool,
}

impl DatagramFlow {
    /// The path of one of its keys, by its id or else its index; copies have their flow's.
    pub fn path(&self, key: &str) -> String {
        super::path_of_flow(&self.id, |_| true, key)
    }

    /// When the `index`-th of all datagram flows starts, its jitter drawn. What is random of a flow goes
    /// by its number, not by its name, as with connections.
    pub fn jittered_start(&self, seed: u64, index: usize) -> Time {
        let mut stream = Stream::new(seed, &format!("datagrams/{index}/start"));
        self.start + Duration::from_nanos(stream.below(self.start_jitter.as_nanos()))
    }
}

/// Name of the random stream that the departures of the `index`-th of all datagram flows are drawn from.
pub fn departures_of(index: usize) -> String {
    format!("datagrams/{index}/departures")
}

/// Reads the `[[flow]]` of a datagram flow, of one of [`KINDS`].
pub(super) fn read(
    table: &Table,
    index: usize,
    kind: &'static str,
    run: Duration,
) -> Option<FlowText> {
    table.refuse_unknown_keys();
    refuse_keys_of_tcp(table, kind);
    let id = read_id(table).unwrap_or_else(|| format!("{kind}#{index}"));
    let timing = Timing::read(table, run);
    let packet = read_packet(table);
    let rate = read_rate(table, packet);
    let bytes = read_bytes(table);
    let gap = rate.map(|rate| gap(rate, packet));
    let pattern = read_pattern(table, kind, rate, gap);
    let ends = Ends::read(table);
    let jitter: Option<Duration> = table.read("start_jitter");
    if let Some(jitter) = jitter.filter(|jitter| timing.last_start() + *jitter >= run) {
        let message = format!(
            "{jitter} after the start, {}, can reach the end of the run, {run}; shorten it",
            timing.last_start()
        );
        table.refuse("start_jitter", message);
    }
    let of_copies = timing.count.map_or(Some(Duration::ZERO), |_| gap);
    let flow = DatagramFlow {
        id,
        behind: 0,
        pattern: pattern?,
        rate: rate?,
        packet_bytes: packet,
        bytes,
        start: timing.start_time(),
        stop: timing.stop_time(),
        start_jitter: jitter.or(of_copies)?,
        precedence: read_precedence(table),
        send_buffer: read_send_buffer(table),
        hosts: [0; 2],
        reversed: false,
    };
    Some(FlowText { traffic: Traffic::Datagrams(flow), ends: ends?, timing })
}

/// Refuses, in a flow of TCP, what only datagram flows have.
pub(super) fn refuse_keys_of_datagrams(table: &Table) {
    let kinds = "\"cbr\", \"vbr\", \"poisson\" or \"onoff\"";
    for key in KEYS.iter().filter(|key| table.has(key.name)) {
        let message = match key.name {
            "rate" => format!(
                "belongs to UDP, kind = {kinds}; what an application writes to TCP is app_rate"
            ),
            "packet" => {
                format!("belongs to UDP, kind = {kinds}; the size of TCP's segments is mss")
            }
            _ => format!("belongs to UDP, kind = {kinds}; write one or remove it"),
        };
        table.refuse(key.name, message);
    }
}

fn refuse_keys_of_tcp(table: &Table, kind: &str) {
    for name in table.written().filter(|name| !has_key(name)) {
        let message = match name {
            "cc" | "cc_variant" | "cc_params" => {
                format!("kind = \"{kind}\" is UDP, which has no congestion control; remove it")
            }
            "app_rate" => format!("belongs to TCP; the rate of kind = \"{kind}\" is rate"),
            "mss" | "mtu" => "belongs to TCP; the size of UDP's packets is packet".to_owned(),
            "connections" => "belongs to TCP; for several UDP flows write count".to_owned(),
            _ => format!("belongs to TCP, and kind = \"{kind}\" is UDP; remove it"),
        };
        table.refuse(name, message);
    }
}

fn read_packet(table: &Table) -> u32 {
    let bytes = table.read::<Bytes>("packet").map_or(u64::from(DEFAULT_PACKET), Bytes::get);
    let least = u64::from(UDP_HEADERS) + 1;
    if !(least..=MAX_PACKET).contains(&bytes) {
        let message = format!(
            "expected {least} to {MAX_PACKET} bytes, headers of {UDP_HEADERS} bytes included, got \
             {bytes}; try \"1000 bytes\""
        );
        table.refuse("packet", message);
        return DEFAULT_PACKET;
    }
    bytes as u32
}

fn read_send_buffer(table: &Table) -> Option<Bytes> {
    let buffer: Option<Bytes> = table.read("send_buffer");
    if let Some(buffer) = buffer.filter(|buffer| buffer.get() < LEAST_SEND_BUFFER) {
        let message = format!(
            "expected the {LEAST_SEND_BUFFER} bytes that Linux gives every socket, or more, got {buffer}; \
             try \"{LEAST_SEND_BUFFER} bytes\""
        );
        table.refuse("send_buffer", message);
    }
    buffer
}

/// The time of a full packet's payload at the rate.
fn gap(rate: Rate, packet_bytes: u32) -> Duration {
    let nano_bits = u64::from(packet_bytes - UDP_HEADERS) * 8 * NANOS_PER_SEC;
    Duration::from_nanos(nano_bits / rate.as_bps())
}

fn read_rate(table: &Table, packet_bytes: u32) -> Option<Rate> {
    let rate: Rate = table.require("rate")?;
    if rate == Rate::UNLIMITED || gap(rate, packet_bytes) == Duration::ZERO {
        let message = "exceeds one packet per nanosecond, and nothing slows UDP down; write the rate \
                       that the application has, such as \"100 Mbit/s\"";
        return table.wrong("rate", message);
    }
    Some(rate)
}

/// The pattern of a kind. What belongs to another kind is refused.
fn read_pattern(
    table: &Table,
    kind: &str,
    rate: Option<Rate>,
    gap: Option<Duration>,
) -> Option<Pattern> {
    let of_kinds = [
        ("vbr", &["rate_deviation", "rate_period"][..]),
        ("onoff", &["on_time", "off_time", "periods", "pareto_shape"][..]),
    ];
    for (other, keys) in of_kinds.into_iter().filter(|(other, _)| *other != kind) {
        for name in keys.iter().filter(|name| table.has(name)) {
            table.refuse(name, format!("belongs to kind = \"{other}\"; write that or remove it"));
        }
    }
    match kind {
        "cbr" => Some(Pattern::Constant),
        "poisson" => Some(Pattern::Poisson),
        "vbr" => {
            let deviation: Option<Rate> = table.require("rate_deviation");
            if let (Some(rate), Some(deviation)) = (rate, deviation)
                && deviation > rate
            {
                table.refuse("rate_deviation", format!("is above the rate, {rate}; lower it"));
            }
            let period = read_period(table, "rate_period", DEFAULT_RATE_PERIOD, gap)?;
            Some(Pattern::Variable { deviation: deviation?, period })
        }
        _ => {
            let on = read_period(table, "on_time", DEFAULT_PERIOD, gap);
            let off = read_period(table, "off_time", DEFAULT_PERIOD, gap);
            let periods = read_periods(table)?;
            Some(Pattern::OnOff { on: on?, off: off?, periods })
        }
    }
}

/// A period that is not too short: every packet looks at all that pass between it and the next.
fn read_period(
    table: &Table,
    name: &str,
    default: Duration,
    gap: Option<Duration>,
) -> Option<Duration> {
    let period = table.read(name).unwrap_or(default);
    match gap {
        Some(gap) if period.saturating_mul(MAX_PERIODS) < gap || period == Duration::ZERO => {
            let message = format!(
                "{period} is less than 1/{MAX_PERIODS} of the gap between two packets, {gap}; write a \
                 longer one or a higher rate"
            );
            table.wrong(name, message)
        }
        _ => Some(period),
    }
}

fn read_periods(table: &Table) -> Option<Periods> {
    let distribution = table.name_or("periods", "exponential")?;
    let shape = table.read("pareto_shape");
    if distribution == "exponential" {
        if table.has("pareto_shape") {
            table
                .refuse("pareto_shape", "belongs to periods = \"pareto\"; write that or remove it");
        }
        return Some(Periods::Exponential);
    }
    let shape = shape.unwrap_or(DEFAULT_SHAPE);
    if shape <= 1.0 {
        let message = "expected more than 1, got 1: such periods have no mean; try 1.5";
        return table.wrong("pareto_shape", message);
    }
    Some(Periods::Pareto { shape })
}
