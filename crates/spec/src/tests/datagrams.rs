//! Datagram flows as files have them.

use fairway_units::{Bytes, Duration, Rate, Time};

use super::{assert_refused, experiment, with_end};
use crate::{DatagramFlow, Pattern, Periods};

/// The base experiment with a datagram flow "u" of these keys.
fn with_datagrams(keys: &str) -> String {
    with_end(&format!("[[flow]]\nid = \"u\"\n{keys}"))
}

fn datagrams(keys: &str) -> DatagramFlow {
    experiment(&with_datagrams(keys)).datagrams.remove(0)
}

#[test]
fn every_key() {
    let flow = datagrams(
        "kind = \"cbr\"\nrate = \"2 Mbit/s\"\npacket = \"200 bytes\"\nbytes = \"1 MB\"\n\
         start = \"1 s\"\nstop = \"2 s\"\nstart_jitter = \"5 ms\"\nprecedence = 5\n\
         send_buffer = \"212992 bytes\"",
    );
    let expected = DatagramFlow {
        id: "u".to_owned(),
        behind: 1,
        pattern: Pattern::Constant,
        rate: Rate::from_bps(2_000_000),
        packet_bytes: 200,
        bytes: Some(Bytes::new(1_000_000)),
        start: Time::from_nanos(1_000_000_000),
        stop: Some(Time::from_nanos(2_000_000_000)),
        start_jitter: Duration::from_millis(5),
        precedence: 5,
        send_buffer: Some(Bytes::new(212_992)),
        hosts: [1, 1],
        reversed: false,
    };
    assert_eq!(flow, expected);
}

#[test]
fn patterns_and_their_defaults() {
    let vbr = datagrams("kind = \"vbr\"\nrate = \"2 Mbit/s\"\nrate_deviation = \"1 Mbit/s\"");
    let deviation = Rate::from_bps(1_000_000);
    assert_eq!(vbr.pattern, Pattern::Variable { deviation, period: Duration::from_millis(40) });
    let half = Duration::from_millis(500);
    let on_off = |keys: &str| datagrams(&format!("kind = \"onoff\"\nrate = \"2 Mbit/s\"\n{keys}"));
    let expected = |periods| Pattern::OnOff { on: half, off: half, periods };
    assert_eq!(on_off("").pattern, expected(Periods::Exponential));
    assert_eq!(on_off("periods = \"pareto\"").pattern, expected(Periods::Pareto { shape: 1.5 }));
    assert_eq!(
        on_off("periods = \"pareto\"\npareto_shape = 1.2\non_time = \"1 s\"").pattern,
        Pattern::OnOff {
            on: Duration::from_secs(1),
            off: half,
            periods: Periods::Pareto { shape: 1.2 }
        }
    );
}

#[test]
fn flows_keep_the_order_of_the_file() {
    let text = "[[flow]]\nid = \"first\"\nkind = \"poisson\"\nrate = \"1 Mbit/s\"\ncount = 2\n\
                stagger = \"1 s\"\n[[flow]]\ncc = \"reno\"\n[[flow]]\nkind = \"cbr\"\n\
                rate = \"1 Mbit/s\"";
    let found = experiment(&with_end(text));
    let datagrams: Vec<_> = found.datagrams.iter().map(|f| (f.id.as_str(), f.behind)).collect();
    assert_eq!(datagrams, [("first/0", 1), ("first/1", 1), ("cbr#3", 2)]);
    assert_eq!(found.datagrams[1].start, Time::from_nanos(1_000_000_000));
    let hosts: Vec<_> = found.datagrams.iter().map(|flow| flow.hosts[0]).collect();
    assert_eq!((hosts, found.flows[1].hosts[0]), (vec![1, 2, 4], 3));
}

#[test]
fn datagrams_that_go_back() {
    let flow = datagrams("kind = \"cbr\"\nrate = \"1 Mbit/s\"\ndirection = \"reverse\"");
    assert!(flow.reversed, "{flow:?}");
}

#[test]
fn a_send_buffer_is_one_that_a_socket_can_have() {
    let with =
        |buffer: &str| format!("kind = \"cbr\"\nrate = \"1 Mbit/s\"\nsend_buffer = \"{buffer}\"");
    assert_eq!(datagrams(&with("4608 bytes")).send_buffer, Some(Bytes::new(4608)));
    assert_refused(
        &with_datagrams(&with("4607 bytes")),
        "flow.u.send_buffer: expected the 4608 bytes that Linux gives every socket, or more, got 4607 bytes; \
         try \"4608 bytes\"",
    );
}

#[test]
fn what_is_tcps() {
    let refused = |keys: &str, message: &str| {
        let keys = format!("kind = \"cbr\"\nrate = \"1 Mbit/s\"\n{keys}");
        assert_refused(&with_datagrams(&keys), &format!("flow.u.{message}"));
    };
    refused(
        "cc = \"cubic\"",
        "cc: kind = \"cbr\" is UDP, which has no congestion control; remove it",
    );
    refused(
        "app_rate = \"1 Mbit/s\"",
        "app_rate: belongs to TCP; the rate of kind = \"cbr\" is rate",
    );
    refused("mss = \"1000 bytes\"", "mss: belongs to TCP; the size of UDP's packets is packet");
    refused("connections = 1", "connections: belongs to TCP; for several UDP flows write count");
    refused("sack = true", "sack: belongs to TCP, and kind = \"cbr\" is UDP; remove it");
    refused(
        "packets = 3",
        "packets: unknown key; did you mean \"packet\"? packets belongs in \
         [topology.bottleneck.loss], [topology.bottleneck.reverse.loss]",
    );
}

#[test]
fn what_is_udps() {
    let kinds = "kind = \"cbr\", \"vbr\", \"poisson\" or \"onoff\"";
    assert_refused(
        &with_end("rate = \"1 Mbit/s\""),
        &format!(
            "flow.main.rate: belongs to UDP, {kinds}; what an application writes to TCP is app_rate"
        ),
    );
    assert_refused(
        &with_end("packet = \"1000 bytes\""),
        &format!("flow.main.packet: belongs to UDP, {kinds}; the size of TCP's segments is mss"),
    );
    assert_refused(
        &with_end("on_time = \"1 s\""),
        &format!("flow.main.on_time: belongs to UDP, {kinds}; write one or remove it"),
    );
}

#[test]
fn values_that_make_no_traffic() {
    let refused = |keys: &str, message: &str| {
        assert_refused(&with_datagrams(keys), &format!("flow.u.{message}"));
    };
    let cbr = |keys: &str| format!("kind = \"cbr\"\nrate = \"1 Mbit/s\"\n{keys}");
    let vbr = |keys: &str| format!("kind = \"vbr\"\nrate = \"1 Mbit/s\"\n{keys}");
    let on_off = |keys: &str| format!("kind = \"onoff\"\nrate = \"1 Mbit/s\"\n{keys}");
    refused("kind = \"cbr\"", "rate: missing; write rate = \"1 Mbit/s\"");
    for rate in ["unlimited", "100 Tbit/s"] {
        refused(
            &format!("kind = \"poisson\"\nrate = \"{rate}\""),
            "rate: exceeds one packet per nanosecond, and nothing slows UDP down; write the rate \
             that the application has, such as \"100 Mbit/s\"",
        );
    }
    refused(
        &cbr("packet = \"28 bytes\""),
        "packet: expected 29 to 65535 bytes, headers of 28 bytes included, got 28; \
         try \"1000 bytes\"",
    );
    refused(&cbr("precedence = 8"), "precedence: expected a whole number from 0 to 7, got 8");
    refused(
        &cbr("start = \"99 s\"\nstart_jitter = \"1 s\""),
        "start_jitter: 1 s after the start, 99 s, can reach the end of the run, 100 s; \
         shorten it",
    );
    refused(
        &cbr("off_time = \"1 s\""),
        "off_time: belongs to kind = \"onoff\"; write that or remove it",
    );
    refused(&vbr(""), "rate_deviation: missing; write rate_deviation = \"500 kbit/s\"");
    refused(
        &vbr("rate_deviation = \"2 Mbit/s\""),
        "rate_deviation: is above the rate, 1 Mbit/s; lower it",
    );
    // 11760 bits at 1 Mbit/s.
    refused(
        &on_off("on_time = \"11 us\""),
        "on_time: 11 us is less than 1/1000 of the gap between two packets, 11.76 ms; write a \
         longer one or a higher rate",
    );
    refused(
        &on_off("pareto_shape = 1.5"),
        "pareto_shape: belongs to periods = \"pareto\"; write that or remove it",
    );
    refused(
        &on_off("periods = \"pareto\"\npareto_shape = 1"),
        "pareto_shape: expected more than 1, got 1: such periods have no mean; try 1.5",
    );
}
