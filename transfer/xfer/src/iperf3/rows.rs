//! The objects of a report in iperf3's JSON.

use serde_json::{Map, Value, json};

use super::Transport;
use super::recorder::{Interval, Row};
use super::results::CpuPercent;
use super::stream::Stream;

pub(super) fn interval_row(
    interval: &Interval,
    row: &Row,
    stream: Option<&Stream>,
    sends: bool,
) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| {
        object.insert(key.to_owned(), value);
    };
    if let Some(stream) = stream {
        put("socket", socket_number(stream).into());
    }
    put("start", interval.start_s.into());
    put("end", interval.end_s.into());
    put("seconds", interval.seconds().into());
    put("bytes", row.bytes.into());
    put("bits_per_second", rate_bps(row.bytes, interval.seconds()).into());
    if let Some(tcp) = row.tcp {
        put("retransmits", row.retransmits.into());
        if stream.is_some() {
            put("snd_cwnd", tcp.cwnd_bytes.into());
            put("snd_wnd", tcp.window_bytes.into());
            put("rtt", tcp.rtt_us.into());
            put("rttvar", tcp.rttvar_us.into());
            put("pmtu", tcp.mtu_bytes.into());
            put("reorder", tcp.reordering.into());
        }
    }
    put("omitted", interval.omitted.into());
    put("sender", sends.into());
    let object = Value::Object(object);
    match stream.map(|stream| stream.protocol) {
        Some(Transport::Udp) => with_datagrams(object, row, sends),
        _ => object,
    }
}

pub(super) fn with_datagrams(mut object: Value, row: &Row, sends: bool) -> Value {
    if !sends {
        object["jitter_ms"] = (row.jitter_s * 1e3).into();
        object["lost_packets"] = row.lost.into();
        object["lost_percent"] = percent(row.lost, row.packets).into();
    }
    object["packets"] = row.packets.into();
    object
}

pub(super) fn span(seconds: f64, bytes: u64) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("start".into(), 0.into());
    object.insert("end".into(), seconds.into());
    object.insert("seconds".into(), seconds.into());
    object.insert("bytes".into(), bytes.into());
    object.insert("bits_per_second".into(), rate_bps(bytes, seconds).into());
    object
}

pub(super) fn connected(stream: &Stream) -> Value {
    json!({
        "socket": socket_number(stream),
        "local_host": stream.local.ip().to_canonical().to_string(),
        "local_port": stream.local.port(),
        "remote_host": stream.remote.ip().to_canonical().to_string(),
        "remote_port": stream.remote.port(),
    })
}

/// What iperf3 tells streams apart by is the number of their file descriptor; here it is that of
/// the stream.
pub(super) fn socket_number(stream: &Stream) -> u32 {
    stream.id
}

pub(super) fn cpu(mine: CpuPercent, theirs: CpuPercent) -> Value {
    json!({
        "host_total": mine.total,
        "host_user": mine.user,
        "host_system": mine.system,
        "remote_total": theirs.total,
        "remote_user": theirs.user,
        "remote_system": theirs.system,
    })
}

pub(super) fn rate_bps(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 }
}
