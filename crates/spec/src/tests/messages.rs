//! What a user is told about a wrong file.

use super::{assert_refused, refusal, with, with_end};
use crate::from_document;

#[test]
fn wrong_limits() {
    let limit = |text: &str| with("\"42 packets\"", text);
    let like = "it like \"50 packets\"";
    for (written, shown, example) in [
        ("\"50 miles\"", "\"50 miles\"", like),
        ("50", "50", "\"50 packets\""),
        ("\"-3 packets\"", "\"-3 packets\"", like),
        ("true", "true", like),
        ("[1, 2]", "a list of 2", like),
        ("\"\"", "\"\"", like),
        ("\"1e3 packets\"", "\"1e3 packets\"", "\"1000 packets\""),
        ("\"1.5 BDP\"", "\"1.5 BDP\"", "\"1.5 bdp\""),
        ("\"100 KB\"", "\"100 KB\"", "\"100 kB\""),
        ("\"20 msec\"", "\"20 msec\"", "\"20 ms\""),
    ] {
        assert_refused(
            &limit(written),
            &format!(
                "topology.bottleneck.queue.limit: expected packets, bytes, time or bdp, \
                 got {shown}; write {example}"
            ),
        );
    }
    assert_refused(
        &limit("\"1.5 packets\""),
        "topology.bottleneck.queue.limit: expected whole packets, got \"1.5 packets\"",
    );
    assert_refused(
        &limit("\"0 packets\""),
        "topology.bottleneck.queue.limit: expected at least one packet, got 0; try \"1 packet\"",
    );
    // 1448 bytes of payload, 40 of headers and 12 of timestamps.
    assert_refused(
        &limit("\"0.5 ms\""),
        "topology.bottleneck.queue.limit: 625 bytes cannot hold one packet of 1500 bytes; \
         try limit = \"50 packets\"",
    );
}

#[test]
fn unknown_keys() {
    assert_refused(
        &with("[measure]", "[topology.bottlneck]\n[measure]"),
        "topology.bottlneck: unknown key; did you mean \"bottleneck\"?",
    );
    assert_refused(
        &with("duration", "bandwidth = 1\nduration"),
        "bandwidth: unknown key; an experiment has title, duration, seed, stack, topology, flow, \
         measure, capture, linux, sweep",
    );
    assert_refused(
        &with_end("byts = \"1 MB\""),
        "flow.main.byts: unknown key; did you mean \"bytes\"?",
    );
    assert_refused(
        &with("preset = ", "sacks = true\npreset = "),
        "stack.sacks: unknown key; did you mean \"sack\"?",
    );
    assert_refused(
        &with("duration", "send_jitter = \"1 ms\"\nduration"),
        "send_jitter: unknown key; send_jitter belongs in [stack], [[flow]]",
    );
    assert_refused(
        &with("duration", "sack = false\nduration"),
        "sack: unknown key; did you mean \"stack\"? sack belongs in [stack], [[flow]]",
    );
    // The tables below the one that it is written in come first.
    assert_refused(
        &with("rate = \"10", "limit = \"5 packets\"\nrate = \"10"),
        "topology.bottleneck.limit: unknown key; limit belongs in [topology.bottleneck.queue], \
         [topology.bottleneck.queue.queue]",
    );
    assert_refused(
        &with_end("deviation = \"1 ms\""),
        "flow.main.deviation: unknown key; deviation belongs in [flow.size], [flow.think], \
         [topology.bottleneck.jitter] and others",
    );
    assert_refused(
        &with("rate = \"10", "mean = \"1 ms\"\nrate = \"10"),
        "topology.bottleneck.mean: unknown key; mean belongs in [topology.bottleneck.jitter], \
         [topology.bottleneck.reverse.jitter], [flow.size] and others",
    );
}

#[test]
fn missing_keys() {
    assert_refused(
        &with("duration = \"100 s\"", ""),
        "duration: missing; write duration = \"100 s\"",
    );
    assert_refused(
        &with("rate = \"10 Mbit/s\"", ""),
        "topology.bottleneck.rate: missing; write rate = \"10 Mbit/s\"",
    );
    assert_refused(&with("cc = \"reno\"", ""), "flow.main.cc: missing; write cc = \"reno\"");
    assert_eq!(
        refusal("duration = \"1 s\""),
        [
            "topology: missing; write [topology] with kind = \"dumbbell\"",
            "flow: missing; write [[flow]] with cc = \"cubic\"",
        ]
    );
    assert_refused(
        "duration = \"1 s\"\nflow = [{ cc = \"reno\" }]\ntopology = { kind = \"dumbbell\" }",
        "topology.bottleneck: missing; write [topology.bottleneck] with rate = \"10 Mbit/s\" and \
         delay = \"25 ms\"",
    );
}

#[test]
fn wrong_quantities() {
    let units = "ns, us, ms, s, min or h";
    let like = "write a number and its unit, such as \"48 ms\"";
    let cases = [
        ("\"-5 s\"", "expected a duration of zero or more, got \"-5 s\"; try \"48 ms\"".to_owned()),
        ("100", format!("expected a duration in {units}, got 100; write \"100 s\" or \"100 ms\"")),
        ("true", format!("expected a duration in {units}, got true; {like}")),
        ("\"0 s\"", "expected more than zero, got \"0 s\"; try \"100 s\"".to_owned()),
        ("{ s = 1 }", format!("expected a duration in {units}, got a table; {like}")),
    ];
    for (written, message) in cases {
        assert_refused(&with("\"100 s\"", written), &format!("duration: {message}"));
    }
    assert_refused(
        &with("\"10 Mbit/s\"", "\"10 mbps\""),
        "topology.bottleneck.rate: expected a rate in bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s, \
         got \"10 mbps\"; write \"10 Mbit/s\"",
    );
    assert_refused(
        &with("\"10 Mbit/s\"", "\"0 Mbit/s\""),
        "topology.bottleneck.rate: expected a rate above zero, got \"0 Mbit/s\"; \
         try \"10 Mbit/s\"",
    );
    assert_refused(
        &with("\"10 Mbit/s\"", "10000000"),
        "topology.bottleneck.rate: expected a rate in bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s, got \
         10000000; write \"10 Mbit/s\"",
    );
    assert_refused(
        &with_end("initial_window = \"15000 bytes\""),
        "flow.main.initial_window: expected segments, a whole number from 1 to 1073741824, got \
         \"15000 bytes\"; write it like \"10 segments\"",
    );
    assert_refused(
        &with_end("initial_window = 10"),
        "flow.main.initial_window: expected segments, a whole number from 1 to 1073741824, got 10; \
         write \"10 segments\"",
    );
    assert_refused(
        &with_end("count = 1.5"),
        "flow.main.count: expected a whole number from 1 to 100000, got 1.5",
    );
    assert_refused(
        &with("queue =", "loss = { probability = 1.5 }\nqueue ="),
        "topology.bottleneck.loss.probability: expected a number from 0 to 1, got 1.5",
    );
    assert_refused(&with("\"base\"", "3"), "title: expected text in quotes, got 3");
}

#[test]
fn what_toml_has_and_an_experiment_has_not() {
    assert_refused(
        &with("queue =", "loss = { probability = nan }\nqueue ="),
        "topology.bottleneck.loss.probability: expected a finite number, got NaN",
    );
    assert_refused(
        &with("\"100 s\"", "2020-01-01"),
        "duration: expected no date, got 2020-01-01; write \"10 s\" for a time",
    );
    assert_refused(
        &with("queue = {", "queue = 5 #"),
        "topology.bottleneck.queue: expected a table, got 5; write it like { kind = \"droptail\", \
         limit = \"42 packets\" }",
    );
    // As `--set topology.bottleneck.queue={kind=red}` gives it: not TOML, therefore text.
    assert_refused(
        &with("{ kind = \"droptail\", limit = \"42 packets\" }", "\"{kind=red}\""),
        "topology.bottleneck.queue: expected a table, got \"{kind=red}\"; write it like \
         { kind = \"droptail\", limit = \"42 packets\" }",
    );
    assert_eq!(
        refusal("title = \"x\"\n[flow]\ncc = \"reno\"\n[flow]\ncc = \"bbr\"\n"),
        ["line 4, column 2: not TOML: duplicate key; write [[flow]] above each of several flows"]
    );
    let error = refusal("title = \"x\"\nduration = = 3\n");
    assert_eq!(error.len(), 1);
    assert!(error[0].starts_with("line 2, column 12: not TOML: "), "{error:?}");
    let error = refusal("seed = 99999999999999999999\n");
    let expected = "line 1, column 8: not TOML: the number is too large; TOML has whole numbers up to \
                    9223372036854775807";
    assert_eq!(error, [expected]);
    assert_refused(
        &" ".repeat((1 << 20) + 1),
        "experiment: the file has 1048577 bytes, more than an experiment file may have, 1048576; \
         give the path of an experiment file, or split it",
    );
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let presets: Vec<_> = fairway_tcp::PRESETS.iter().map(|preset| preset.name).collect();
    let quoted = |names: &[&str]| format!("\"{}\"", names.join("\", \""));
    assert_refused(
        &with_end("kind = \"pink\""),
        &format!(
            "flow.main.kind: unknown traffic \"pink\"; choose from {}",
            quoted(&super::TRAFFIC)
        ),
    );
    assert_refused(
        &with("\"droptail\"", "\"wf2q\""),
        &format!(
            "topology.bottleneck.queue.kind: unknown queue discipline \"wf2q\"; choose from {}",
            quoted(&super::super::queues::names())
        ),
    );
    assert_refused(
        &with("preset = \"linux-6.1\"", "preset = \"freebsd-14\""),
        &format!("stack.preset: unknown stack \"freebsd-14\"; choose from {}", quoted(&presets)),
    );
    assert_refused(
        &with("queue =", "loss = { kind = \"gilbert\", p = 1 }\nqueue ="),
        "topology.bottleneck.loss.kind: unknown loss \"gilbert\"; choose from \"bernoulli\", \
         \"gilbert-elliott\", \"four-state\", \"bursty\", \"list\", \"periodic\", \"burst\"",
    );
    let typo = refusal(&with("\"reno\"", "\"rno\""));
    assert_eq!(typo, ["flow.main.cc: unknown congestion control \"rno\"; did you mean \"reno\"?"]);
}

#[test]
fn what_arrivals_cannot_be() {
    let arrivals = |more: &str| with_end(&format!("kind = \"arrivals\"\n{more}"));
    assert_eq!(
        refusal(&arrivals("")),
        [
            "flow.main.size: missing; write size = \"20 kB\"",
            "flow.main.flow_rate: missing; write flow_rate = 50",
        ]
    );
    assert_refused(
        &arrivals("size = \"20 kB\"\nflow_rate = 1\noffered_load = \"1 Mbit/s\""),
        "flow.main.offered_load: conflicts with flow_rate, which determines it; set only one",
    );
    assert_refused(
        &arrivals("size = \"20 kB\"\nflow_rate = 1\nconnections = 2"),
        "flow.main.connections: does not belong to kind = \"arrivals\"; write kind = \"bulk\" or \"web\" or remove it",
    );
    assert_refused(
        &with_end("size = \"20 kB\""),
        "flow.main.size: does not belong to kind = \"bulk\"; write kind = \"arrivals\" or \"ftp\" or \
         \"telnet\" or \"request\" or \"web\" or \"incast\" or remove it",
    );
    // 100 s of 2000 a second, and five times the root of their number.
    assert_refused(
        &arrivals("size = \"20 kB\"\nflow_rate = 2000"),
        "flow: 202237 connections are too many; lower the counts to 100000 in all",
    );
    let sizes = |size: &str| arrivals(&format!("flow_rate = 1\nsize = {size}"));
    assert_refused(
        &sizes("{ distribution = \"pareto\", mean = \"20 kB\", shape = 0.9 }"),
        "flow.main.size.shape: has no mean with 0.9; write one above 1, or least and most instead of \
         mean",
    );
    assert_refused(
        &sizes("{ distribution = \"empirical\", cdf = \"100 0.5\\n50 1\" }"),
        "flow.main.size.cdf: line 2: expected more than in the line before, and a probability up to 1; \
         write lines such as \"10000 0.5\"",
    );
    assert_refused(
        &sizes("{ distribution = \"exponential\", mean = \"20 kB\", shape = 2 }"),
        "flow.main.size.shape: does not belong to \"exponential\", which has mean; remove it",
    );
    assert_refused(
        &sizes("20"),
        "flow.main.size: expected a size in bytes, kB, KiB, MB, MiB, GB or GiB, got 20; write \
         \"20 bytes\"",
    );
}

#[test]
fn what_workloads_cannot_be() {
    let flow = |kind: &str, more: &str| with_end(&format!("kind = \"{kind}\"\n{more}"));
    for kind in ["ftp", "request", "web"] {
        assert_refused(&flow(kind, ""), "flow.main.size: missing; write size = \"20 kB\"");
    }
    assert_refused(
        &flow("incast", "size = \"20 kB\""),
        "flow.main.servers: missing; write servers = 32",
    );
    assert_refused(
        &flow("bursts", ""),
        "flow.main.app_rate: missing; write the rate within a burst, app_rate = \"2 Mbit/s\"",
    );
    assert_refused(
        &flow("telnet", "think = \"0 s\""),
        "flow.main.think: expected more than zero between two writes; try \"1 s\"",
    );
    assert_refused(
        &flow("video", ""),
        "flow.main.ladder: missing; write ladder = [\"1 Mbit/s\", \"3 Mbit/s\", \"5 Mbit/s\"]",
    );
    assert_refused(
        &flow("video", "ladder = [\"3 Mbit/s\", \"1 Mbit/s\"]"),
        "flow.main.ladder: 1 Mbit/s is not above 3 Mbit/s before it; write them in order",
    );
    assert_refused(
        &flow("video", "ladder = [\"3 Mbit/s\"]\nbuffer = \"3 s\""),
        "flow.main.buffer: 3 s does not hold reservoir, cushion, start_up and a segment, each of \
         which needs 4 s at the most; write more",
    );
    assert_refused(
        &flow("bulk", "read_size = \"20 kB\""),
        "flow.main.read_size: needs read_interval, the pause between reads; write both",
    );
    assert_refused(
        &flow("bulk", "read_rate = \"1 Mbit/s\"\nread_interval = \"10 ms\""),
        "flow.main.read_interval: conflicts with `read_rate`; set only one",
    );
    assert_refused(
        &flow("bulk", "read_size = \"20 kB\"\nread_interval = \"0 s\""),
        "flow.main.read_interval: expected more than zero, got 0 s; try \"10 ms\"",
    );
    assert_refused(
        &flow("request", "size = \"20 kB\"\nboth_ways = true"),
        "flow.main.both_ways: does not belong to kind = \"request\"; write kind = \"bulk\" or remove it",
    );
}

#[test]
fn another_network_of_a_kernel() {
    assert_refused(
        &with_end("[linux]\nnetwork = \"TC\""),
        "linux.network: unknown network \"TC\"; did you mean \"tc\"?",
    );
    assert_refused(
        &with_end("[linux]\nnetwork = \"simulator\""),
        "linux.network: unknown network \"simulator\"; choose from \"fairway\", \"tc\"",
    );
}

#[test]
fn what_cannot_be_dealt_to_connections() {
    assert_refused(
        &with_end("striping = \"dynamic\""),
        "flow.main.striping: needs connections, the number of connections; write both or none",
    );
    assert_refused(
        &with_end("mptcp = true"),
        "flow.main.mptcp: needs connections, the number of subflows, such as 2",
    );
    assert_refused(
        &with_end("connections = 4\nbytes = \"3 bytes\""),
        "flow.main.connections: 4 connections for 3 bytes; use at most one per byte",
    );
    // 100 000 bytes are two chunks.
    assert_refused(
        &with_end("connections = 4\nbytes = \"100 kB\"\nchunk = \"64 KiB\""),
        "flow.main.chunk: 100 kB in chunks of 65536 bytes are too few for 4 connections; \
         write \"25000 bytes\" or less",
    );
    assert_refused(
        &with_end("connections = 4\nboth_ways = true"),
        "flow.main.both_ways: data is striped in one direction only; remove this or connections",
    );
    assert_refused(
        &with_end("connections = 4\nstriping = \"dynamic\"\napp_rate = \"1 Mbit/s\""),
        "flow.main.app_rate: with striping = \"dynamic\", connections take what there is when they \
         can send; remove it or write striping = \"static\"",
    );
    assert_refused(
        &with_end("program = \"fairway\""),
        "flow.main.program: needs connections; write connections = \"auto\", or how many there are",
    );
    assert_refused(
        &with_end("connections = \"auto\""),
        "flow.main.connections: \"auto\": a program decides it while it runs; write program = \
         \"fairway\" and use --backend linux, or write a number",
    );
    assert_refused(
        &with_end("connections = \"many\""),
        "flow.main.connections: expected a whole number from 1 to 100000, or \"auto\", got \"many\"",
    );
    assert_refused(
        &with_end("connections = \"auto\"\nprogram = \"fairway\"\nstriping = \"static\""),
        "flow.main.striping: \"static\" needs a number of connections; write \"dynamic\", or a \
         number in place of \"auto\"",
    );
    let errors = refusal(&with_end("count = 1000\nconnections = 101"));
    let message = "flow: 101000 connections are too many; lower the counts to 100000 in all";
    assert_eq!(errors[0], message);
}

#[test]
fn contradictions_in_the_stack() {
    assert_refused(
        &with("preset =", "mss = \"1000 bytes\"\nmtu = \"1500 bytes\"\npreset ="),
        "stack.mtu: conflicts with mss, from which it follows; set only one",
    );
    assert_refused(
        &with("preset =", "sack = false\nfack = true\npreset ="),
        "stack.fack: forward acknowledgement needs sack = true",
    );
    assert_refused(
        &with("preset =", "rto_min = \"3 min\"\nrto_initial = \"3 min\"\npreset ="),
        "stack.rto_min: 180 s is above rto_max, 120 s; lower it or raise rto_max",
    );
}

#[test]
fn contradictions_between_tables() {
    assert_refused(
        &with("preset =", "max_ssthresh = \"100 segments\"\npreset ="),
        "stack.max_ssthresh: needs slow_start = \"limited\" or \"per-ack\"; write one or remove it",
    );
    assert_refused(
        &with("preset =", "slow_start = \"own\"\nmax_ssthresh = \"100 segments\"\npreset ="),
        "stack.max_ssthresh: slow_start = \"own\" takes none; remove it",
    );
    assert_refused(
        &with("preset =", "receive_buffer = \"1000 bytes\"\npreset ="),
        "stack.receive_buffer: expected 1448 to 1099511627776 bytes, got 1 kB; set it between them",
    );
    assert_refused(
        &with("sample =", "window = [\"50 s\", \"101 s\"]\nsample ="),
        "measure.window: expected a start before the end, and the end within the run of 100 s, \
         got [\"50 s\", \"101 s\"]; move the window or change duration",
    );
    assert_refused(
        &with("\"100 ms\"", "\"1 us\""),
        "measure.sample: 100 s in steps of 1 us are 100000000 samples of each of 3 connections \
         and link directions, above the limit of 1000000 each and 20000000 in all; write a longer measure.sample",
    );
    assert_refused(
        &with_end("start = \"100 s\""),
        "flow.main.start: 100 s is not before the end of the run, 100 s; start earlier",
    );
    assert_refused(
        &with_end("start = \"10 s\"\nstop = \"10 s\""),
        "flow.main.stop: 10 s is not after the start, 10 s; stop later",
    );
    assert_refused(
        &with_end("count = 3\nstagger = \"50 s\""),
        "flow.main.start: of the last copy, 100 s is not before the end of the run, 100 s; \
         start earlier",
    );
    assert_refused(
        &with_end("from = \"s0\""),
        "flow.main.from: needs to, the host at the other end; write both or none",
    );
    assert_refused(
        &with_end("[[flow]]\nid = \"main\"\ncc = \"reno\""),
        "flow.main.id: \"main\" names another flow too; name each differently",
    );
    assert_refused(
        &with("\"main\"", "\"7\""),
        "flow.7.id: \"7\" cannot be told from an index or a path; use a name without \".\" and \
         \"/\" that is not a number, such as \"upload\"",
    );
    assert_refused(
        &with_end(
            "from = \"s0\"\nto = \"d0\"\n[[flow]]\ncc = \"reno\"\nfrom = \"s1\"\nto = \"s0\"\n\
             direction = \"forward\"",
        ),
        "flow.1.to: \"s0\" is at the other side of the network, as an earlier flow has it; name \
         another host",
    );
    assert_refused(
        &with("\"42 packets\"", "\"42 packets\", gentle = true"),
        "topology.bottleneck.queue.gentle: belongs to kind = \"red\"; write that or remove it",
    );
    assert_refused(
        &with(
            "\"droptail\"",
            "\"red\", min_threshold = \"10 packets\", max_threshold = \"9 packets\"",
        ),
        "topology.bottleneck.queue.max_threshold: 9 packets is not above min_threshold, 10 packets; \
         try \"30 packets\"",
    );
}

#[test]
fn wrong_queues() {
    let queue = |text: &str| with("\"droptail\", limit = \"42 packets\"", text);
    for (text, message) in [
        (
            "\"red\", target = \"5 ms\"",
            "target: belongs to adaptive = true here; write that or remove it",
        ),
        (
            "\"red\", weight = 0.1, allowed_burst = \"20 packets\"",
            "allowed_burst: conflicts with weight; set only one",
        ),
        (
            "\"routeros-red\", allowed_burst = \"9 packets\"",
            "allowed_burst: no weight lets 9 packets pass that is not above min_threshold, 10 packets; \
             try \"11 packets\"",
        ),
        (
            "\"routeros-red\", min_threshold = \"50 packets\"",
            "max_threshold: 50 packets is not above min_threshold, 50 packets; try \"150 packets\"",
        ),
        (
            "\"red\", mean_packet = \"0 bytes\"",
            "mean_packet: expected 1 to 65535 bytes, got 0; try \"1000 bytes\"",
        ),
        ("\"sfq\", divisor = 1000", "divisor: expected a power of two, got 1000; try 1024"),
        ("\"sfq\", perturb = \"1 us\"", "perturb: expected at least 1 ms; try \"10 s\""),
        (
            "\"drr\", quantum = \"1 bytes\"",
            "quantum: expected 256 to 1048576 bytes, got 1; try \"1514 bytes\"",
        ),
        ("\"tbf\", burst = \"9 kB\"", "rate: missing; write rate = \"5 Mbit/s\""),
        (
            "\"policer\", rate = \"1 Mbit/s\", burst = \"999 bytes\"",
            "burst: 999 bytes are less than one packet of 1500 bytes, so none would pass; \
             try \"1500 bytes\" or more",
        ),
        (
            "\"policer\", rate = \"1 Mbit/s\", burst = \"9 kB\", mtu = \"1500 bytes\"",
            "mtu: belongs to peak_rate; write that too or remove it",
        ),
        (
            "\"policer\", rate = \"2 Mbit/s\", burst = \"9 kB\", peak_rate = \"1 Mbit/s\"",
            "peak_rate: 1 Mbit/s is not more than rate, 2 Mbit/s; raise it or remove it",
        ),
        (
            "\"codel\", variant = \"ns2\"",
            "variant: \"ns2\" is not one of this discipline, which has linux and rfc",
        ),
        (
            "\"codel\", limit = \"10 kB\"",
            "limit: this discipline counts packets of any size; write \"6 packets\" for as many of \
             1500 bytes",
        ),
        (
            "\"codel\", interval = \"50 us\"",
            "interval: expected at least 100 us, got 50 us; try \"100 ms\"",
        ),
        ("\"pie\", target = \"61 s\"", "target: expected at most 60 s, got 61 s; write less"),
        (
            "\"pie\", tupdate = \"99 us\"",
            "tupdate: expected at least 100 us, got 99 us; try \"15 ms\"",
        ),
        (
            "\"pie\", alpha = 0.5",
            "alpha: expected a whole number of sixteenths per second, got 0.5; try 2",
        ),
        ("\"fq_pie\", ecn_prob = 20", "ecn_prob: belongs to ecn = true; write that or remove it"),
        (
            "\"fq_codel\", flows = 70000",
            "flows: expected a whole number from 1 to 65536, got 70000",
        ),
        (
            "\"fq_codel\", memory_limit = \"1 kB\"",
            "memory_limit: 1000 bytes hold no packet; try \"32 MiB\"",
        ),
        (
            "\"fq_codel\", ce_threshold_ect1 = true",
            "ce_threshold_ect1: belongs to ce_threshold; write that too or remove it",
        ),
        ("\"sfq\", flows = 65500", "flows: expected at most 65408 for SFQ, got 65500; try 128"),
        (
            "\"dualpi2\", step_thresh = \"5 packets\", ramp = \"400 us\"",
            "ramp: needs a step_thresh that is a time; write step_thresh = \"800 us\"",
        ),
        (
            "\"dualpi2\", step_thresh = \"5 kB\"",
            "step_thresh: expected a time or packets, got \"5 kB\"; write it like \"1 ms\"",
        ),
        (
            "\"dualpi2\", classic_protection = 10, time_shift = \"30 ms\"",
            "time_shift: conflicts with classic_protection; set only one",
        ),
        (
            "\"pie\", perturb = \"10 s\"",
            "perturb: belongs to kind = \"sfq\"; write that or remove it",
        ),
        (
            "\"tbf\", rate = \"1 Mbit/s\", burst = \"9 kB\", limit = \"9 packets\", queue = { }",
            "limit: the inner queue has its own limit; set it there",
        ),
        (
            "\"tbf\", rate = \"1 Mbit/s\", burst = \"9 kB\", queue = { kind = \"prio\" }",
            "queue.kind: unknown inner queue discipline \"prio\"; choose from \"droptail\", \"drophead\", \"red\", \"routeros-red\", \"codel\", \
             \"fq_codel\", \"cobalt\", \"pie\", \"fq_pie\", \"dualpi2\", \"sfq\", \"drr\", \"tbf\", \
             \"policer\"",
        ),
        (
            "\"prio\", bands = 2, band = [{ }]",
            "band: has 1 tables for 2 bands; write one for each, at most 8",
        ),
        (
            "\"prio\", band = [{ }], queue = { }",
            "queue: gives all bands one kind of queue and conflicts with `band`; set only one",
        ),
        (
            "\"prio\", bands = 2, priomap = [0, 1, 2, 0, 0, 0, 0, 0]",
            "priomap: there is no band 2 among 2 bands counted from 0; lower it",
        ),
        (
            "\"prio\", priomap = [0, 1, 2]",
            "priomap: expected a list of 8 whole numbers from 0 to 7, got a list of 3",
        ),
        (
            "\"prio\", band = [{ kind = \"codel\", limit = \"9 kB\" }]",
            "band.0.limit: this discipline counts packets of any size; write \"6 packets\" for as \
             many of 1500 bytes",
        ),
    ] {
        assert_refused(&queue(text), &format!("topology.bottleneck.queue.{message}"));
    }
}

#[test]
fn a_queue_inside_a_queue_holds_none() {
    let queue = |text: &str| with("\"droptail\", limit = \"42 packets\"", text);
    let inner = "kind = \"tbf\", rate = \"1 Mbit/s\", burst = \"9 kB\", queue = { }";
    let text = format!("\"tbf\", rate = \"1 Mbit/s\", burst = \"9 kB\", queue = {{ {inner} }}");
    let found = refusal(&queue(&text));
    assert!(
        found[0].starts_with("topology.bottleneck.queue.queue.queue: unknown key; a queue inside"),
        "{found:?}"
    );
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn wrong_algorithm_parameters() {
    assert_refused(
        &with_end("cc_params = { beta = \"half\" }"),
        "flow.main.cc_params: beta: expected a number, got \"half\"",
    );
    let unknown = refusal(&with_end("cc_params = { warp = 1 }"));
    assert!(unknown[0].starts_with("flow.main.cc_params.warp: unknown parameter; reno has "));
    let bad = refusal(&with_end("[[flow]]\nid = \"c\"\ncc = \"cubic\"\ncc_params = { beta = 2 }"));
    assert!(bad[0].starts_with("flow.c.cc_params.beta: expected a number from 0"), "{bad:?}");
}

#[test]
fn too_many_connections() {
    let flows = "count = 60000\n[[flow]]\nid = \"b\"\ncc = \"reno\"\ncount = 60000";
    let text = with_end(flows).replace("sample = \"100 ms\"", "sample = \"10 s\"");
    assert_refused(
        &text,
        "flow: 120000 connections are too many; lower the counts to 100000 in all",
    );
}

#[test]
fn all_errors_are_listed_and_the_file_is_named() {
    let text = with("\"25 ms\"", "25").replace("\"100 s\"", "\"long\"");
    let errors = super::plan(&text, "dir/my.toml").unwrap_err();
    let units = "a duration in ns, us, ms, s, min or h";
    assert_eq!(
        errors.to_string(),
        format!(
            "dir/my.toml: duration: expected {units}, got \"long\"; write a number and its unit, such as \"48 ms\"\n\
             dir/my.toml: topology.bottleneck.delay: expected {units}, got 25; write \"25 s\" or \"25 ms\""
        )
    );
}

#[test]
fn a_document_is_one_experiment() {
    let wrong = from_document(&serde_json::json!([1])).unwrap_err();
    assert_eq!(wrong.to_string(), "experiment: expected a table, got a list of 1");
    let mut document = super::planned(super::BASE).points[0].document.clone();
    document["sweep"] = serde_json::json!({ "repetitions": 2 });
    let wrong = from_document(&document).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "sweep: a single experiment has no sweep; plan the file to get every point"
    );
}

#[test]
fn runs_and_windows_that_no_machine_holds() {
    assert_refused(
        &with("duration = \"100 s\"", "duration = \"18446744073709551615 ns\""),
        "duration: is longer than 3600000000 s; write a shorter run",
    );
    assert_refused(
        &with_end("initial_window = \"1073741824 segments\""),
        "flow.main.initial_window: expected at most 100000 segments, got 1073741824; \
         try \"10 segments\"",
    );
    assert_refused(
        &with_end("mss = \"16 bytes\"\nsend_buffer = \"1 GiB\"\nreceive_buffer = \"1 GiB\""),
        "flow.main.receive_buffer: a window of 67108864 segments of 16 bytes is more than a run \
         can hold; write a smaller buffer, or mss, for 20000000 segments",
    );
}

#[test]
fn losses_that_cannot_be_replayed() {
    let with = |more: &str| with("queue =", &format!("{more}\nqueue ="));
    let loss = "probability = 0.1, replay = \"ns3\"";
    let cases = [
        (
            "loss = { probability = 0.1, run = 2 }".to_owned(),
            "loss.run: belongs to replay = \"ns3\"; write that or remove this",
        ),
        (
            format!("loss = {{ {loss}, unit = \"bit\" }}"),
            "loss.unit: a replay draws one number for each packet, whatever its size; remove unit",
        ),
        (
            format!("loss = {{ {loss}, seed = 4294944443 }}"),
            "loss.seed: expected a whole number from 1 to 4294944442, got 4294944443",
        ),
        (
            "loss = { kind = \"list\", packets = [1], replay = \"ns3\" }".to_owned(),
            "loss.replay: belongs to kind = \"bernoulli\"; remove it",
        ),
        (
            format!("loss = {{ {loss} }}\nchange = [{{ at = \"1 s\", delay = \"9 ms\" }}]"),
            "change: a link with replayed losses delays all packets equally; remove this or \
             loss.replay",
        ),
        (
            format!("loss = {{ {loss}, direction = \"both\" }}\nreverse = {{ delay = \"9 ms\" }}"),
            "reverse.delay: with loss.replay, both directions draw from one sequence as packets \
             arrive, and need one delay, got 25 ms and 9 ms; remove this, or write direction = \
             \"forward\" in loss",
        ),
    ];
    for (link, message) in cases {
        assert_refused(&with(&link), &format!("topology.bottleneck.{message}"));
    }
    let reverse = refusal(&with(&format!("reverse = {{ loss = {{ {loss} }} }}")));
    assert!(reverse[0].contains("reverse.loss.replay: "), "{reverse:?}");
    // One direction alone has no other to keep an order with.
    super::experiment(&with(&format!("loss = {{ {loss} }}\nreverse = {{ delay = \"9 ms\" }}")));
}

#[test]
fn sides_are_those_of_a_dumbbell() {
    let access = "{ rate = \"1 Gbit/s\", delay = \"1 ms\", side = \"sinks\" }";
    let text = with("queue =", "queue =")
        .replace("kind = \"dumbbell\"", &format!("kind = \"star\"\nhosts = 3\naccess = {access}"));
    let text = text.replace("[topology.bottleneck]", "[other]");
    let found = refusal(&text);
    let message = "topology.access.side: belongs to kind = \"dumbbell\"; remove it".to_owned();
    assert!(found.contains(&message), "{found:?}");
}
