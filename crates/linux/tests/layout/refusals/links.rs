//! Links and queues but RED.

use super::*;

fn chain(links: usize) -> String {
    let link = format!("[[topology.link]]\n{LINK}queue = {{ limit = \"50 packets\" }}\n");
    format!(
        "duration = \"10 s\"\n[topology]\nkind = \"chain\"\n{}[[flow]]\ncc = \"cubic\"\n\
         [linux]\nmemory = \"8 GiB\"\n",
        link.repeat(links)
    )
}

#[test]
fn too_many() {
    check(&chain(127), &[]);
    check(
        &chain(128),
        &["topology.link: 128 links are more than the 127 that an IP packet can cross between \
           routers; write fewer, or remove `network = \"tc\"`"],
    );
}

#[test]
fn less_than_a_byte_a_second() {
    let slow = |text: String| text.replace("10 Mbit/s", "7 bit/s");
    check(
        &slow(with_flow("cc = \"cubic\"")),
        &["topology.bottleneck.rate: 7 bit/s is less than a byte a second; write \"8 bit/s\" or \
           more"],
    );
    check(
        &slow(chain(1)),
        &["topology.link.0.rate: 7 bit/s is less than a byte a second; write \"8 bit/s\" or \
           more"],
    );
    check(
        &slow(chain(1)).replace("[[topology.link]]", "[[topology.link]]\nid = \"dsl\""),
        &["topology.link.dsl.rate: 7 bit/s is less than a byte a second; write \"8 bit/s\" or \
           more"],
    );
}

/// 1500 bytes in a minute are 200 bit/s.
#[test]
fn packets_that_take_longer_than_a_minute() {
    let at = |rate: &str| with_queue("limit = \"9000 bytes\"").replace("10 Mbit/s", rate);
    check(&at("200 bit/s"), &[]);
    check(
        &at("199 bit/s"),
        &["topology.bottleneck.rate: 199 bit/s takes longer for a packet of 1500 bytes than the \
           minute that a kernel's htb counts; write \"200 bit/s\" or more, or limit = \"50 \
           packets\" and kind = \"droptail\""],
    );
}

#[test]
fn a_queue_of_bytes_for_less_than_two_packets() {
    check(&with_queue("limit = \"3000 bytes\""), &[]);
    check(
        &with_queue("limit = \"2999 bytes\""),
        &["topology.bottleneck.queue.limit: 2999 bytes hold less than two packets of 1500 bytes, \
           and a kernel's queue of bytes has to; write limit = \"2 packets\" or more"],
    );
}

#[test]
fn delays() {
    let at = |delay: &str| with_flow("cc = \"cubic\"").replace("20 ms", delay);
    check(&at("1 us"), &[]);
    check(
        &at("12.5 us"),
        &["topology.bottleneck.delay: tc counts it in microseconds, got 12.5 us; write \"13 us\""],
    );
    // 2^32 ticks of 64 ns are 274.9 s.
    check(&at("274 s"), &[]);
    check(
        &at("275 s"),
        &["topology.bottleneck.delay: 275 s is longer than the 274 s that tc takes; write less"],
    );
}

#[test]
fn what_a_kernel_is_not_given() {
    let with =
        |more: &str| with_flow("cc = \"cubic\"").replace("delay = ", &format!("{more}\ndelay = "));
    check(
        &with("loss = { kind = \"gilbert-elliott\", p = 0.01, r = 0.2 }"),
        &["topology.bottleneck.loss: tc is given losses of packets each by itself, and these \
           only where nothing else is on the wire; write kind = \"bernoulli\" alone, or remove \
           `network = \"tc\"`"],
    );
    check(
        &with("loss = { probability = 0.01, replay = \"ns3\" }"),
        &["topology.bottleneck.loss: tc draws random numbers of its own and replays none of \
           ns-3's; remove replay, or remove `network = \"tc\"`"],
    );
    check(
        &with(
            "jitter = { mean = \"2 ms\", deviation = \"1 ms\" }\nduplication = { probability = 0.1 }",
        ),
        &[
            "topology.bottleneck.duplication: is not given to tc; remove it, or remove `network = \
             \"tc\"`",
            "topology.bottleneck.jitter: is not given to tc; remove it, or remove `network = \
             \"tc\"`",
        ],
    );
    check(
        &with("on_off = { on = \"2 s\", off = \"1 s\" }"),
        &["topology.bottleneck.on_off: is not given to tc; remove it, or remove `network = \
           \"tc\"`"],
    );
}

#[test]
fn queues_that_a_kernel_has_not_alike() {
    for (queue, message) in [
        (
            "kind = \"codel\", variant = \"rfc\"",
            "variant: a kernel does as Linux does; write \"linux\", or remove `network = \"tc\"`",
        ),
        (
            "kind = \"codel\", target = \"5000500 ns\"",
            "target: tc counts it in microseconds, got 5.0005 ms; write \"5.001 ms\"",
        ),
        (
            "kind = \"pie\", burst_allowance = \"1 ms\"",
            "burst_allowance: a kernel's is always 150 ms; write that, or remove `network = \
             \"tc\"`",
        ),
        (
            "kind = \"pie\", tupdate = \"500 us\"",
            "tupdate: a kernel's timer counts milliseconds, got 500 us; write \"15 ms\"",
        ),
        (
            "kind = \"sfq\", perturb = \"1500 ms\"",
            "perturb: tc counts it in seconds, got 1.5 s; write \"10 s\"",
        ),
        (
            "kind = \"drophead\", limit = \"50 kB\"",
            "limit: a kernel's pfifo_head_drop counts packets; write \"50 packets\"",
        ),
        (
            "kind = \"cobalt\"",
            "kind: this discipline is not given to tc; write \"droptail\", \"drophead\", \"red\", \
             \"codel\", \"fq_codel\", \"pie\", \"fq_pie\" or \"sfq\", or remove `network = \"tc\"`",
        ),
    ] {
        let text = dumbbell("", queue, "cc = \"cubic\"");
        check(&text, &[&format!("topology.bottleneck.queue.{message}")]);
    }
}

#[test]
fn a_list_of_losses() {
    let with = |network: &str| {
        with_flow(&format!(
            "cc = \"cubic\"\n[measure]\nlosses = true\n[linux]\nnetwork = \"{network}\""
        ))
    };
    check(&with("fairway"), &[]);
    check(
        &with("tc"),
        &[
            "measure.losses: Linux's queue disciplines count what they drop and do not list it; remove \
           it, or remove `network = \"tc\"`",
        ],
    );
}
