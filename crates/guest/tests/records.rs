//! Records as they come from outside: whole, cut off, and anything at all.

use std::io;

use fairway_guest::plan::Plan;
use fairway_guest::record::{FlowSample, GivenUp, MAX_TCP_INFO, QueueSample, Totals};
use proptest::collection::vec;
use proptest::prelude::*;

fn flow_sample() -> impl Strategy<Value = FlowSample> {
    (any::<u64>(), any::<u32>(), any::<u64>(), vec(any::<u8>(), 0..=MAX_TCP_INFO)).prop_map(
        |(t_ns, flow, delivered_bytes, tcp_info)| FlowSample {
            t_ns,
            flow,
            delivered_bytes,
            tcp_info,
        },
    )
}

fn queue_sample() -> impl Strategy<Value = QueueSample> {
    (any::<[u64; 6]>(), any::<[u32; 2]>()).prop_map(|(long, short)| QueueSample {
        t_ns: long[0],
        queue: short[0],
        backlog_packets: short[1],
        backlog_bytes: long[1],
        packets: long[2],
        bytes: long[3],
        drops: long[4],
        losses: long[5],
    })
}

/// Every record up to the end or the first that is none.
fn read_flows(mut from: &[u8]) -> (Vec<FlowSample>, io::Result<()>) {
    let (mut samples, mut next) = (Vec::new(), FlowSample::default());
    loop {
        match next.read(&mut from) {
            Ok(true) => samples.push(next.clone()),
            Ok(false) => return (samples, Ok(())),
            Err(error) => return (samples, Err(error)),
        }
    }
}

fn read_queues(mut from: &[u8]) -> (Vec<QueueSample>, io::Result<()>) {
    let mut samples = Vec::new();
    loop {
        match QueueSample::read(&mut from) {
            Ok(Some(sample)) => samples.push(sample),
            Ok(None) => return (samples, Ok(())),
            Err(error) => return (samples, Err(error)),
        }
    }
}

proptest! {
    #[test]
    fn flow_samples_come_back(samples in vec(flow_sample(), 0..8), cut in any::<usize>()) {
        let (mut file, mut ends) = (Vec::new(), vec![0]);
        for sample in &samples {
            sample.write(&mut file).unwrap();
            ends.push(file.len());
        }
        let (read, result) = read_flows(&file);
        prop_assert_eq!(&read, &samples);
        prop_assert!(result.is_ok());
        let cut = cut % (file.len() + 1);
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let (read, result) = read_flows(&file[..cut]);
        prop_assert_eq!(&read, &samples[..whole]);
        let kind = result.map_err(|error| error.kind());
        let expected = if ends.contains(&cut) { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof) };
        prop_assert_eq!(kind, expected);
    }

    #[test]
    fn queue_samples_come_back(samples in vec(queue_sample(), 0..8), cut in any::<usize>()) {
        let mut file = Vec::new();
        for sample in &samples {
            sample.write(&mut file).unwrap();
        }
        let (read, result) = read_queues(&file);
        prop_assert_eq!(&read, &samples);
        prop_assert!(result.is_ok());
        let cut = cut % (file.len() + 1);
        let (read, result) = read_queues(&file[..cut]);
        prop_assert_eq!(&read, &samples[..cut / 56]);
        prop_assert_eq!(result.is_ok(), cut % 56 == 0);
    }

    #[test]
    fn anything_else_is_an_error_or_records(bytes in vec(any::<u8>(), 0..4096)) {
        let (flows, _) = read_flows(&bytes);
        prop_assert!(flows.iter().all(|sample| sample.tcp_info.len() <= MAX_TCP_INFO));
        let read: usize = flows.iter().map(|sample| 24 + sample.tcp_info.len()).sum();
        prop_assert!(read <= bytes.len());
        prop_assert_eq!(read_queues(&bytes).0.len(), bytes.len() / 56);
        prop_assert!(serde_json::from_slice::<Plan>(&bytes).is_err());
        prop_assert!(serde_json::from_slice::<Totals>(&bytes).is_err());
    }
}

#[test]
fn a_record_that_says_it_is_huge_takes_no_memory() {
    let mut head = [0; 24];
    head[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let (_, result) = read_flows(&head);
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[test]
fn totals_come_back_with_how_a_connection_ended() {
    let mut totals = Totals { flows: vec![Default::default(); 2], ..Totals::default() };
    totals.flows[1].given_up =
        Some(GivenUp { at_ns: 7, end: "sink".into(), errno: "ECONNRESET".into() });
    totals.flows[1].established_ns = Some(3);
    let text = serde_json::to_string(&totals).unwrap();
    assert_eq!(serde_json::from_str::<Totals>(&text).unwrap(), totals);
}
