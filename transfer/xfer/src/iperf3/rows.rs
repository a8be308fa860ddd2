//! The objects of a report in iperf3's JSON.

use serde_json::{Map, Value, json};

use super::Transport;
use super::json::given;
use super::recorder::{Interval, Row};
use super::results::CpuPercent;
use super::stream::Stream;

pub(super) fn interval_row(
    interval: &Interval,
    row: &Row,
    stream: Option<&Stream>,
    sends: bool,
) -> Value {
    let of_stream = row.tcp.filter(|_| stream.is_some());
    let object = given(json!({
        "socket": stream.map(socket_number),
        "start": interval.start_s,
        "end": interval.end_s,
        "seconds": interval.seconds(),
        "bytes": row.bytes,
        "bits_per_second": rate_bps(row.bytes, interval.seconds()),
        "retransmits": row.tcp.map(|_| row.retransmits),
        "snd_cwnd": of_stream.map(|tcp| tcp.cwnd_bytes),
        "snd_wnd": of_stream.map(|tcp| tcp.window_bytes),
        "rtt": of_stream.map(|tcp| tcp.rtt_us),
        "rttvar": of_stream.map(|tcp| tcp.rttvar_us),
        "pmtu": of_stream.map(|tcp| tcp.mtu_bytes),
        "reorder": of_stream.map(|tcp| tcp.reordering),
        "omitted": interval.omitted,
        "sender": sends,
    }));
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
