//! Flows of datagrams: where they send from, when, and through which queue.

use fairway_guest::plan::{Pattern, Row};

use super::laid_out;

const TEXT: &str = r#"
duration = "10 s"
[topology]
kind           = "dumbbell"
frame_overhead = "38 bytes"
[topology.bottleneck]
rate  = "100 Mbit/s"
delay = "250 us"
queue = { limit = "1000 packets" }

[[flow]]
id   = "first"
kind = "poisson"
rate = "1 Mbit/s"

[[flow]]
id  = "tcp"
cc  = "cubic"
mss = "1000 bytes"

[[flow]]
id    = "last"
kind  = "cbr"
rate  = "100 Mbit/s"
start = "3 s"
count = 2
bytes = "20 MB"
SEND_BUFFER
"#;

#[test]
fn without_a_buffer_they_send_from_their_hosts() {
    let plan = laid_out(&TEXT.replace("SEND_BUFFER", "")).plan;
    let [first, copy, other] = &plan.datagrams[..] else { panic!("three") };
    let rows = [Row::Datagrams(0), Row::Connection(0), Row::Datagrams(1), Row::Datagrams(2)];
    assert_eq!(plan.rows(), rows);
    assert_eq!(
        (first.id.as_str(), &first.pattern, first.start_ns),
        ("first", &Pattern::Poisson, 0)
    );
    assert_eq!(
        (&copy.pattern, copy.bytes, copy.payload_bytes),
        (&Pattern::Constant, Some(20_000_000), 1470)
    );
    // Behind the one connection, whose port is 10000.
    assert_eq!(
        plan.datagrams.iter().map(|flow| flow.port).collect::<Vec<_>>(),
        [10_001, 10_002, 10_003]
    );
    let names: Vec<_> = plan.namespaces.iter().map(|namespace| namespace.name.as_str()).collect();
    assert_eq!(names, ["s", "r1", "r2", "d"]);
    assert_eq!((copy.source, copy.sink, copy.send_buffer), (0, 3, None));
    assert!(copy.address != other.address, "hosts of their own");
    // Copies start within the time of a packet, 117.6 us, and not together.
    for start_ns in [copy.start_ns, other.start_ns] {
        assert!((3_000_000_000..3_000_117_600).contains(&start_ns));
    }
    assert!(copy.start_ns != other.start_ns);
    // Links carry the largest packet of all.
    assert!(plan.links[0].contains("mtu 1498"), "{}", plan.links[0]);
    assert!(plan.namespaces[1].tc[0].contains("netem rate 100mbit 24 limit 1000"));
}

#[test]
fn with_one_they_send_from_the_router_whose_queue_holds_it() {
    let buffer = "send_buffer = \"212992 bytes\"";
    let plan = laid_out(&TEXT.replace("SEND_BUFFER", buffer)).plan;
    let sources: Vec<_> = plan.datagrams.iter().map(|flow| flow.source).collect();
    assert_eq!(sources, [0, 1, 1]);
    assert_eq!(plan.datagrams[2].send_buffer, Some(212_992));
    assert_eq!(
        plan.namespaces[1].tc[..3],
        [
            "qdisc add dev r2 root handle 1: stab overhead 24 linklayer ethernet htb default 1",
            "class add dev r2 parent 1: classid 1:1 htb rate 100mbit burst 1b cburst 1b quantum 1536",
            "qdisc add dev r2 parent 1:1 handle 10: pfifo limit 999",
        ]
    );
    assert!(!plan.queues[0].holds_transmission);
}
