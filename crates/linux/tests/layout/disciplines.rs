//! What `tc` is told for each kind of queue, rate, delay and loss. Expected lines are written by hand.

use super::laid_out;

/// The lines of the queue towards the sinks, and of the wires towards sinks and sources, each
/// without "dev" and the device.
struct Lines {
    queue: Vec<String>,
    wires: [Option<String>; 2],
}

/// Of a link with this overhead in bytes.
fn lines(overhead: u32, link: &str) -> Lines {
    let plan = laid_out(&format!(
        "duration = \"10 s\"\n[stack]\nmtu = \"1500 bytes\"\n[topology]\nkind = \"dumbbell\"\n\
         frame_overhead = \"{overhead} bytes\"\n[topology.bottleneck]\n{link}\n\
         [[flow]]\ncc = \"cubic\"\n"
    ))
    .plan;
    let of = |namespace: &str, device: &str| -> Vec<String> {
        let found = plan.namespaces.iter().find(|n| n.name == namespace).expect("a namespace");
        let here = found.tc.iter().filter(|line| line.contains(&format!(" dev {device} ")));
        here.map(|line| line.replace(&format!("dev {device} "), "")).collect()
    };
    let queue = of("r1", "r2");
    assert_eq!(queue, of("r2", "r1"), "both directions have the same queue");
    let wire = |namespace, device| {
        let mut found = of(namespace, device);
        assert!(found.len() <= 1, "{found:?}");
        found.pop()
    };
    Lines { queue, wires: [wire("r2", "d"), wire("r1", "s")] }
}

#[track_caller]
fn check_queue(overhead: u32, link: &str, queue: &[&str], wire: &str) {
    let found = lines(overhead, link);
    assert_eq!(found.queue, queue);
    assert_eq!(found.wires[0].as_deref(), Some(wire));
    assert_eq!(found.wires[0], found.wires[1], "both directions have the same wire");
}

const LINK: &str = "rate = \"10 Mbit/s\"\ndelay = \"25 ms\"";
const WIRE: &str = "qdisc add root handle 1: netem delay 25ms limit 1000000";

#[test]
fn drop_tail_in_packets() {
    check_queue(
        14,
        &format!("{LINK}\nqueue = {{ limit = \"42 packets\" }}"),
        &["qdisc add root handle 1: netem rate 10mbit limit 42"],
        WIRE,
    );
    // 38 bytes are 24 more than the header that Linux counts.
    check_queue(
        38,
        &format!("{LINK}\nqueue = {{ limit = \"42 packets\" }}"),
        &["qdisc add root handle 1: netem rate 10mbit 24 limit 42"],
        WIRE,
    );
    // More than 32 bits hold.
    check_queue(
        14,
        &format!("{LINK}\nqueue = {{ limit = \"5000000000 packets\" }}"),
        &["qdisc add root handle 1: netem rate 10mbit limit 4294967295"],
        WIRE,
    );
}

#[test]
fn drop_tail_without_limit() {
    check_queue(
        0,
        &format!("{LINK}\nqueue = {{ limit = \"unlimited\" }}"),
        &["qdisc add root handle 1: netem rate 10mbit -14 limit 1000000"],
        WIRE,
    );
}

/// What waits is a full packet less than what waits or is in transmission.
#[test]
fn drop_tail_in_bytes() {
    let queue = |stab: &str, quantum: u32, limit: u32| {
        [
            format!("qdisc add root handle 1: {stab}htb default 1"),
            format!(
                "class add parent 1: classid 1:1 htb rate 10mbit burst 1b cburst 1b quantum {quantum}"
            ),
            format!("qdisc add parent 1:1 handle 10: bfifo limit {limit}b"),
        ]
    };
    let check = |overhead, limit: &str, queue: [String; 3], wire| {
        let link = format!("{LINK}\n{limit}");
        check_queue(overhead, &link, &queue.each_ref().map(String::as_str), wire);
    };
    let wire = "qdisc add root handle 1: netem delay 25ms rate 10mbit limit 1000000";
    // 30000 - 1514; 10 Mbit/s times 50 ms are 62500; times 20 ms, 25000.
    check(14, "queue = { limit = \"30000 bytes\" }", queue("", 1514, 28_486), wire);
    check(14, "queue = { limit = \"1.0 bdp\" }", queue("", 1514, 60_986), wire);
    check(14, "", queue("", 1514, 60_986), wire);
    check(14, "queue = { limit = \"20 ms\" }", queue("", 1514, 23_486), wire);
    check(
        38,
        "queue = { limit = \"30000 bytes\" }",
        queue("stab overhead 24 linklayer ethernet ", 1538, 28_462),
        "qdisc add root handle 1: netem delay 25ms rate 10mbit 24 limit 1000000",
    );
    check(
        0,
        "queue = { limit = \"30000 bytes\" }",
        queue("stab overhead -14 linklayer ethernet ", 1500, 28_500),
        "qdisc add root handle 1: netem delay 25ms rate 10mbit -14 limit 1000000",
    );
}

#[test]
fn red() {
    let check = |queue: &str, red: &str| {
        check_queue(
            14,
            &format!("{LINK}\nqueue = {{ kind = \"red\", gentle = false, {queue} }}"),
            &[
                "qdisc add root handle 1: htb default 1",
                "class add parent 1: classid 1:1 htb rate 10mbit burst 1b cburst 1b quantum 1514",
                "qdisc add parent 1:1 handle 10: netem limit 1000000",
                &format!("qdisc add parent 10:1 handle 20: red {red}"),
            ],
            "qdisc add root handle 1: netem delay 25ms rate 10mbit limit 1000000",
        );
    };
    // 59, 5 and 15 packets of 1514 bytes. 0.002 is nearest to 2^-9, and tc finds w = 2^-k for a burst b as
    // the smallest k with b + 1 - 7.57 <= (1 - (1 - w)^b)/w: for 72, 65.43 is above the 62.87 of
    // 2^-8 and below the 67.23 of 2^-9.
    check(
        "limit = \"60 packets\"",
        "limit 89326b min 7570b max 22710b avpkt 1000b burst 72 probability 0.1 bandwidth 10mbit",
    );
    // 0.25 = 2^-2: for 9, 2.43 is above the 2.00 of 2^-1 and below the 3.70 of 2^-2. A probability of
    // 1 has 33 bits.
    check(
        "limit = \"30000 bytes\", weight = 0.25, max_probability = 1, ecn = true",
        "limit 28486b min 7570b max 22710b avpkt 1000b burst 9 probability 0.9999999997671694 \
         bandwidth 10mbit ecn harddrop",
    );
    // In packets of 1000 bytes, those beyond the upper threshold marked too.
    check(
        "limit = \"30000 bytes\", average = \"bytes\", ecn = true, ecn_beyond_max = true, \
         weight = 0.25",
        "limit 28486b min 5000b max 15000b avpkt 1000b burst 6 probability 0.1 bandwidth 10mbit \
         ecn",
    );
    // 2^32 - 1 less a packet; 1000.5 packets.
    check(
        "limit = \"unlimited\", max_threshold = \"1000.5 packets\"",
        "limit 4294965781b min 7570b max 1514757b avpkt 1000b burst 72 probability 0.1 bandwidth \
         10mbit",
    );
}

#[test]
fn red_of_a_mikrotik_router() {
    // Bursts of 17 to 20 have its weight, 2^-4: for 17, 8 is above the 7.17 of 2^-3; for 20, 11 is
    // below the 11.6 of 2^-4, and for 21, 12 is above the 11.9.
    check_queue(
        14,
        &format!("{LINK}\nqueue = {{ kind = \"routeros-red\" }}"),
        &[
            "qdisc add root handle 1: htb default 1",
            "class add parent 1: classid 1:1 htb rate 10mbit burst 1b cburst 1b quantum 1514",
            "qdisc add parent 1:1 handle 10: netem limit 1000000",
            "qdisc add parent 10:1 handle 20: red limit 58486b min 10000b max 50000b avpkt 1000b \
             burst 18 probability 0.02 bandwidth 10mbit",
        ],
        "qdisc add root handle 1: netem delay 25ms rate 10mbit limit 1000000",
    );
}

#[test]
fn no_rate() {
    let rest = "qdisc add root handle 1: netem delay 25ms limit 1000000";
    check_queue(
        38,
        "rate = \"unlimited\"\ndelay = \"25 ms\"",
        &["qdisc add root handle 1: pfifo limit 1000000"],
        rest,
    );
    check_queue(
        38,
        "rate = \"unlimited\"\ndelay = \"25 ms\"\nqueue = { kind = \"red\", limit = \"9 packets\" }",
        &["qdisc add root handle 1: pfifo limit 1000000"],
        rest,
    );
}

#[test]
fn rates_and_delays() {
    for (rate, in_tc, delay, of_wire) in [
        ("1 Gbit/s", "1gbit", "1 s", "1s"),
        ("1.5 Gbit/s", "1500mbit", "1.5 s", "1500ms"),
        ("1.5 Mbit/s", "1500kbit", "1.5 ms", "1500us"),
        ("1234567 bit/s", "1234567bit", "1234567 us", "1234567us"),
    ] {
        check_queue(
            14,
            &format!("rate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {{ limit = \"9 packets\" }}"),
            &[&format!("qdisc add root handle 1: netem rate {in_tc} limit 9")],
            &format!("qdisc add root handle 1: netem delay {of_wire} limit 1000000"),
        );
    }
}

#[test]
fn losses() {
    let wires = |loss: &str| {
        let link = format!("{LINK}\nqueue = {{ limit = \"9 packets\" }}\nloss = {{ {loss} }}");
        lines(14, &link).wires.map(|wire| wire.expect("a delay"))
    };
    let with = |loss: &str| WIRE.replace(" limit", &format!(" loss random {loss}% limit"));
    let without = WIRE.to_owned();
    assert_eq!(wires("probability = 0.001"), [with("0.1"), without.clone()]);
    assert_eq!(
        wires("probability = 0.000001, direction = \"reverse\""),
        [without.clone(), with("0.0001")]
    );
    assert_eq!(wires("probability = 1.0, direction = \"both\""), [with("100"), with("100")]);
    assert_eq!(
        wires("probability = 0.123456789, direction = \"both\""),
        [with("12.3456789"), with("12.3456789")]
    );
    assert_eq!(wires("probability = 0.0"), [without.clone(), without]);
}

#[test]
fn a_link_that_does_nothing() {
    let found = lines(14, "rate = \"unlimited\"\ndelay = \"0 s\"");
    assert_eq!(found.queue, ["qdisc add root handle 1: pfifo limit 1000000"]);
    assert_eq!(found.wires, [None, None]);
}

#[test]
fn queues_that_hold_a_delay_and_that_take_turns() {
    let htb = [
        "qdisc add root handle 1: stab overhead -14 linklayer ethernet htb default 1",
        "class add parent 1: classid 1:1 htb rate 10mbit burst 1b cburst 1b quantum 1500",
    ];
    for (queue, leaf) in [
        ("drophead\", limit = \"42 packets", "pfifo_head_drop limit 41"),
        ("codel", "codel limit 1000 target 5000us interval 100000us noecn"),
        (
            "codel\", ecn = true, ce_threshold = \"1 ms",
            "codel limit 1000 target 5000us interval 100000us ecn ce_threshold 1000us",
        ),
        (
            "fq_codel",
            "fq_codel limit 10240 target 5000us interval 100000us ecn flows 1024 quantum 1514 \
             memory_limit 33554432 drop_batch 64",
        ),
        (
            "pie",
            "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 noecn nobytemode \
             no_dq_rate_estimator",
        ),
        (
            "fq_pie\", ecn = true, ecn_prob = 20, variant = \"linux",
            "fq_pie limit 10240 target 15000us tupdate 15000us alpha 2 beta 20 ecn nobytemode \
             no_dq_rate_estimator flows 1024 quantum 1514 ecn_prob 20",
        ),
        (
            "sfq\", head_drop = true, perturb = \"10 s",
            "sfq limit 127 depth 127 flows 128 divisor 1024 quantum 1514 perturb 10 headdrop",
        ),
    ] {
        let leaf = format!("qdisc add parent 1:1 handle 10: {leaf}");
        check_queue(
            0,
            &format!("{LINK}\nqueue = {{ kind = \"{queue}\" }}"),
            &[htb[0], htb[1], &leaf],
            "qdisc add root handle 1: netem delay 25ms rate 10mbit -14 limit 1000000",
        );
    }
}
