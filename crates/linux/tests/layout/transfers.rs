//! Transfers by a program: what the guest is told of them, beside its own flows.

use fairway_guest::plan::Transfer;

use super::laid_out;

const HEAD: &str = r#"
duration = "10 s"
[stack]
receive_buffer = "64 KiB"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate  = "10 Mbit/s"
delay = "100 ms"
queue = { limit = "300 packets" }
[[flow]]
id = "first"
cc = "reno"
"#;

#[test]
fn a_program_takes_the_place_of_its_connections() {
    let plan = laid_out(&format!(
        "{HEAD}[[flow]]\nid = \"move\"\ncc = \"cubic\"\nconnections = 4\nprogram = \"fairway\"\n\
         bytes = \"5 MB\"\nstart = \"1 s\"\n[[flow]]\nid = \"last\"\ncc = \"reno\"\n"
    ))
    .plan;
    let ids: Vec<_> = plan.flows.iter().map(|flow| (flow.id.as_str(), flow.port)).collect();
    // Ports are those of the experiment's connections, of which the transfer has the second to the fifth.
    assert_eq!(ids, [("first", 10_000), ("last", 10_005)]);
    let [transfer] = &plan.transfers[..] else { panic!("{:?}", plan.transfers) };
    let expected = Transfer {
        id: "move".into(),
        source: 0,
        sink: plan.namespaces.len() - 1,
        address: transfer.address,
        port: 10_001,
        cc: "cubic".into(),
        streams: Some(4),
        bytes: 5_000_000,
        chunk_bytes: None,
        is_static: false,
        is_encrypted: true,
        mss: None,
        start_ns: 1_000_000_000,
        stop_ns: None,
    };
    assert_eq!(*transfer, expected);
    assert!(
        plan.namespaces[0]
            .sysctls
            .iter()
            .any(|(name, value)| { name == "net/ipv4/tcp_rmem" && value == "4096 65536 65536" })
    );
}

#[test]
fn the_number_may_be_left_to_it_and_the_file_is_long_enough() {
    let plan = laid_out(&format!(
        "{HEAD}[[flow]]\ncc = \"cubic\"\nconnections = \"auto\"\nprogram = \"fairway-plain\"\n\
         chunk = \"1 MiB\"\nstop = \"5 s\"\n"
    ))
    .plan;
    let transfer = &plan.transfers[0];
    assert_eq!((transfer.streams, transfer.is_encrypted), (None, false));
    assert_eq!((transfer.chunk_bytes, transfer.stop_ns), (Some(1 << 20), Some(5_000_000_000)));
    // 10 Mbit/s for 10 s are 12.5 MB, a tenth more 13.75 MB, and two chunks for each of 256 connections.
    assert_eq!(transfer.bytes, 13_750_000 + 512 * (1 << 20));
}
