//! Invariants of iperf3's JSON, for any input.

use serde_json::Value;

use crate::iperf3::parameters::{DATAGRAM_BYTES, MOST_BLOCK_BYTES};
use crate::iperf3::results::Results;
use crate::iperf3::{MOST_STREAMS_OF_IPERF3, Parameters, stream_id};
use crate::load::Transport;

/// Reads bytes as what a client wants of a server, and as what either has measured.
pub fn json(bytes: &[u8]) {
    let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return };
    match Parameters::from_json(&object, MOST_STREAMS_OF_IPERF3) {
        Ok(parameters) => check(&parameters),
        Err(fault) => assert!(!fault.why.is_empty() && fault.code > 0),
    }
    let streams = object.get("streams").and_then(Value::as_array).map_or(0, Vec::len);
    let ids: Vec<u32> = (0..streams).map(stream_id).collect();
    match Results::from_json(&object, &ids) {
        Ok(results) => measured(&results, &ids),
        Err(why) => assert!(!why.is_empty()),
    }
}

fn check(parameters: &Parameters) {
    let most = u64::from(MOST_STREAMS_OF_IPERF3);
    assert!((1..=most).contains(&u64::from(parameters.streams)));
    let block = u64::from(parameters.block_bytes);
    match parameters.protocol {
        Transport::Tcp => assert!((1..=MOST_BLOCK_BYTES).contains(&block)),
        Transport::Udp => assert!(DATAGRAM_BYTES.contains(&block)),
    }
    let texts = [&parameters.title, &parameters.congestion, &parameters.client_version];
    assert!(!texts.into_iter().flatten().any(|text| text.contains(char::is_control)));
    let again = Parameters::from_json(&parameters.to_json(), MOST_STREAMS_OF_IPERF3);
    assert_eq!(again.as_ref(), Ok(parameters));
}

fn measured(results: &Results, ids: &[u32]) {
    for (stream, id) in results.streams.iter().zip(ids) {
        assert_eq!(stream.id, *id);
        assert!(stream.jitter_s.is_finite());
        assert!(stream.seconds().is_none_or(f64::is_finite), "{stream:?}");
    }
    // What an older program does not say is sent as zero, so that it stays so from then on.
    let read = |results: &Results| Results::from_json(&results.to_json(), ids);
    let once = read(results).expect("results that were sent are read");
    assert_eq!(read(&once).as_ref(), Ok(&once));
}
