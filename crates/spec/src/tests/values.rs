//! What the keys mean: every value worked out by hand.

use fairway_cc::{SlowStart, Variant};
use fairway_net::{DropTailConfig, QdiscConfig, RedConfig, RedQueueConfig};
use fairway_tcp::{DelayedAck, EcnMode, PRESETS, Recovery, Stack};
use fairway_units::{Bytes, Duration, Rate, Time};

use super::{BASE, experiment, planned, with, with_end};
use crate::{Limit, Link, Loss, Shape, Source};

fn stack(text: &str) -> Stack {
    experiment(&with("preset = \"linux-6.1\"", text)).flows[0].stack.clone()
}

fn bottleneck(text: &str) -> Link {
    match experiment(text).topology.shape {
        Shape::Dumbbell { bottleneck, .. } => bottleneck,
        _ => panic!("the base experiment is a dumbbell"),
    }
}

fn limit(text: &str) -> Limit {
    match *bottleneck(&with("\"42 packets\"", text)).queue {
        QdiscConfig::DropTail(DropTailConfig { limit })
        | QdiscConfig::Red(RedQueueConfig { limit, .. }) => limit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn limits() {
    assert_eq!(limit("\"42 packets\""), Limit::Packets(42));
    assert_eq!(limit("\"64 KiB\""), Limit::Bytes(65_536));
    assert_eq!(limit("\"unlimited\""), Limit::Unlimited);
    // 10 Mbit/s x 50 ms = 500 000 bits.
    assert_eq!(limit("\"50 ms\""), Limit::Bytes(62_500));
    // 10 Mbit/s x 2 x 25 ms = 500 000 bits.
    assert_eq!(limit("\"1.0 bdp\""), Limit::Bytes(62_500));
    assert_eq!(limit("\"0.25 bdp\""), Limit::Bytes(15_625));
}

#[test]
fn the_bdp_is_of_the_slowest_link_and_the_longest_path() {
    // Access links at both ends: 2 x (25 + 2 x 10) ms = 90 ms; 10 Mbit/s x 90 ms = 900 000 bits.
    let access = "[topology.access]\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n[measure]";
    let text = with("[measure]", access).replace("42 packets", "1 bdp");
    let Shape::Dumbbell { bottleneck, access } = experiment(&text).topology.shape else { panic!() };
    assert_eq!(
        *bottleneck.queue,
        QdiscConfig::DropTail(DropTailConfig { limit: Limit::Bytes(112_500) })
    );
    assert_eq!(
        *access.unwrap().link.queue,
        QdiscConfig::DropTail(DropTailConfig { limit: Limit::Unlimited })
    );
    // With the access links slowest, at 8 Mbit/s: 720 000 bits, and the default queue is theirs.
    let text = text.replace("1 Gbit/s", "8 Mbit/s").replace(", limit = \"1 bdp\"", "");
    let Shape::Dumbbell { bottleneck, access } = experiment(&text).topology.shape else { panic!() };
    assert_eq!(
        *bottleneck.queue,
        QdiscConfig::DropTail(DropTailConfig { limit: Limit::Unlimited })
    );
    assert_eq!(
        *access.unwrap().link.queue,
        QdiscConfig::DropTail(DropTailConfig { limit: Limit::Bytes(90_000) })
    );
    // On one side alone: 2 x (25 + 10) ms = 70 ms; 8 Mbit/s x 70 ms = 560 000 bits.
    for (side, sides) in [("sources", [true, false]), ("sinks", [false, true])] {
        let text = text.replace("[measure]", &format!("side = \"{side}\"\n[measure]"));
        let Shape::Dumbbell { access, .. } = experiment(&text).topology.shape else { panic!() };
        let access = access.unwrap();
        assert_eq!(access.sides, sides);
        assert_eq!(
            *access.link.queue,
            QdiscConfig::DropTail(DropTailConfig { limit: Limit::Bytes(70_000) })
        );
    }
}

#[test]
fn chains() {
    let text = r#"
        duration = "10 s"
        flow = [{ cc = "reno" }]
        [topology]
        kind = "chain"
        [[topology.link]]
        rate = "1 Gbit/s"
        delay = "45 ms"
        [[topology.link]]
        id = "narrow"
        rate = "100 Mbit/s"
        delay = "0.01 ms"
        loss = { probability = 1e-3, direction = "both" }
    "#;
    let Shape::Chain { links } = experiment(text).topology.shape else { panic!("a chain") };
    assert_eq!(links[0].id, "link#0");
    assert_eq!(*links[0].queue, QdiscConfig::DropTail(DropTailConfig { limit: Limit::Unlimited }));
    // 100 Mbit/s x 2 x 45.01 ms = 9 002 000 bits.
    assert_eq!(
        *links[1].queue,
        QdiscConfig::DropTail(DropTailConfig { limit: Limit::Bytes(1_125_250) })
    );
    assert_eq!(links[1].delay, Duration::from_nanos(10_000));
    assert_eq!(links[1].loss, Some(Loss { probability: 1e-3, forward: true, reverse: true }));
}

#[test]
fn losses_have_a_direction() {
    let loss = |text: &str| bottleneck(&with("queue =", &format!("loss = {text}\nqueue ="))).loss;
    let (probability, forward, reverse) = (0.5, true, false);
    assert_eq!(loss("{ probability = 0.5 }"), Some(Loss { probability, forward, reverse }));
    let (forward, reverse) = (false, true);
    assert_eq!(
        loss("{ probability = 0.5, direction = \"reverse\" }"),
        Some(Loss { probability, forward, reverse })
    );
}

#[test]
fn red() {
    let text = with("\"droptail\"", "\"red\"");
    // 1000 bytes at 10 Mbit/s: 0.8 ms.
    let typical_transmission = Duration::from_micros(800);
    let limit = Limit::Packets(42);
    let defaults = RedConfig {
        min_threshold: 5.0,
        max_threshold: 15.0,
        max_probability: 0.1,
        weight: 0.002,
        gentle: true,
        ecn: false,
        typical_transmission,
        ..RedConfig::default()
    };
    assert_eq!(*bottleneck(&text).queue, QdiscConfig::Red(RedQueueConfig { limit, red: defaults }));
    let all = "\"red\", min_threshold = \"7.5 packets\", max_threshold = \"30 packets\", \
               max_probability = 0.02, weight = 0.01, gentle = false, ecn = true";
    let written = RedConfig {
        min_threshold: 7.5,
        max_threshold: 30.0,
        max_probability: 0.02,
        weight: 0.01,
        gentle: false,
        ecn: true,
        typical_transmission,
        ..RedConfig::default()
    };
    let written = QdiscConfig::Red(RedQueueConfig { limit, red: written });
    assert_eq!(*bottleneck(&with("\"droptail\"", all)).queue, written);
}

#[test]
fn segments_follow_from_the_mtu() {
    // 1500 - 20 - 20 - 12 and, without timestamps, 1500 - 20 - 20.
    assert_eq!(stack("mtu = \"1500 bytes\"").options.mss, 1448);
    assert_eq!(stack("mtu = \"1500 bytes\"\ntimestamps = false").options.mss, 1460);
    assert_eq!(stack("mss = \"1000 bytes\"").options.mss, 1000);
    // 30 x 1000.
    let small = stack("mss = \"1000 bytes\"\nreceive_buffer = \"30 segments\"");
    assert_eq!(small.buffers.receive_buffer, 30_000);
}

#[test]
fn every_switch_is_set_alone() {
    let preset = (PRESETS[0].stack)();
    let change = |change: fn(&mut Stack)| {
        let mut stack = preset.clone();
        change(&mut stack);
        stack
    };
    type Case = (&'static str, fn(&mut Stack));
    let cases: [Case; 30] = [
        ("cc_variant = \"paper\"", |s| s.window.cc_variant = Variant::Paper),
        ("initial_window = \"4 segments\"", |s| s.window.initial_window = 4),
        ("send_buffer = \"1 MB\"", |s| s.buffers.send_buffer = 1_000_000),
        ("receive_buffer = \"1 MiB\"", |s| s.buffers.receive_buffer = 1_048_576),
        ("sack = false", |s| s.options.sack = false),
        ("fack = true", |s| s.losses.fack = true),
        ("timestamps = false", |s| s.options.timestamps = false),
        ("window_scaling = false", |s| s.options.window_scaling = false),
        ("delayed_ack = false", |s| s.acks.delayed_ack = DelayedAck::Off),
        ("delayed_ack = \"100 ms\"", |s| {
            s.acks.delayed_ack = DelayedAck::Counted { timeout: Duration::from_millis(100) };
        }),
        ("limited_transmit = false", |s| s.losses.limited_transmit = false),
        ("reordering = \"5 segments\"", |s| s.losses.reordering = 5),
        ("recovery = \"tcp-linux\"", |s| s.losses.recovery = Recovery::TcpLinux),
        ("recovery = \"sack1\"", |s| s.losses.recovery = Recovery::Sack1),
        ("rto_in_ticks = true", |s| s.rto.rto_in_ticks = true),
        ("grow_on_exit = false", |s| s.window.grow_on_exit = false),
        ("rto_min = \"0.5 s\"", |s| s.rto.rto_min = Duration::from_millis(500)),
        ("rto_max = \"60 s\"", |s| s.rto.rto_max = Duration::from_secs(60)),
        ("rto_initial = \"3 s\"", |s| s.rto.rto_initial = Duration::from_secs(3)),
        ("rto_granularity = \"10 ms\"", |s| s.rto.rto_granularity = Duration::from_millis(10)),
        ("rto_min_bounds_variance = false", |s| s.rto.rto_min_bounds_variance = false),
        ("cwnd_clamp = \"50 segments\"", |s| s.window.cwnd_clamp = Some(50)),
        ("max_burst = \"2 segments\"", |s| s.sending.max_burst = Some(2)),
        ("send_jitter = \"8 us\"", |s| s.sending.send_jitter = Duration::from_micros(8)),
        ("initial_ssthresh = \"64 segments\"", |s| s.window.initial_ssthresh = Some(64)),
        ("rto_restart_on_every_ack = true", |s| s.rto.rto_restart_on_every_ack = true),
        ("ecn = true", |s| s.options.ecn = EcnMode::Classic),
        ("ecn = \"accurate\"", |s| s.options.ecn = EcnMode::Accurate),
        ("window_divisor = 4", |s| s.buffers.window_divisor = 4),
        ("slow_start = \"standard\"", |s| s.window.slow_start = Some(SlowStart::Standard)),
    ];
    for (text, expected) in cases {
        let expected = change(expected);
        assert_ne!(expected, preset, "{text} is the preset's own value");
        assert_eq!(stack(text), expected, "{text}");
    }
    let idle = !preset.window.slow_start_after_idle;
    assert_eq!(
        stack(&format!("slow_start_after_idle = {idle}")).window.slow_start_after_idle,
        idle
    );
    assert_eq!(
        stack("preset = \"ns2-tcp-linux\"\nmax_burst = \"unlimited\"").sending.max_burst,
        None
    );
    // The preset delays nothing; 200 ms is the usual delay.
    let usual = DelayedAck::Counted { timeout: Duration::from_millis(200) };
    assert_eq!(stack("preset = \"ns2-tcp-linux\"\ndelayed_ack = true").acks.delayed_ack, usual);
}

#[test]
fn a_flow_overrides_the_stack() {
    let text = with("preset =", "mtu = \"1500 bytes\"\nsack = false\npreset =");
    let text = text
        + "timestamps = false\n[[flow]]\ncc = \"reno\"\n[[flow]]\ncc = \"reno\"\nmss = \"500 bytes\"\n";
    let flows = experiment(&text).flows;
    let found: Vec<_> = flows
        .iter()
        .map(|f| (f.stack.options.mss, f.stack.options.timestamps, f.stack.options.sack))
        .collect();
    assert_eq!(found, [(1460, false, false), (1448, true, false), (500, true, false)]);
}

#[test]
fn limited_slow_start_has_its_recommended_threshold() {
    let limited = |text: &str| stack(text).window.slow_start;
    // RFC 3742 section 2.
    assert_eq!(
        limited("slow_start = \"limited\""),
        SlowStart::from_name("limited", Some(100)).ok()
    );
    assert_eq!(
        limited("slow_start = \"limited\"\nmax_ssthresh = \"50 segments\""),
        SlowStart::from_name("limited", Some(50)).ok()
    );
}

#[test]
fn sources() {
    let source = |text: &str| experiment(&with_end(text)).flows[0].source;
    assert_eq!(source(""), Source::Bulk);
    let bytes = Bytes::new(100_000_000);
    assert_eq!(source("bytes = \"100 MB\""), Source::File { bytes });
    let rate = Rate::from_bps(2_000_000);
    assert_eq!(source("app_rate = \"2 Mbit/s\""), Source::Limited { rate, bytes: None });
    assert_eq!(
        source("app_rate = \"2 Mbit/s\"\nbytes = \"100 MB\""),
        Source::Limited { rate, bytes: Some(bytes) }
    );
}

#[test]
fn copies_and_hosts() {
    let text = with_end(
        "count = 3\nstart = \"1 s\"\nstagger = \"0.5 s\"\nstop = \"9 s\"
         [[flow]]\ncc = \"reno\"\nfrom = \"a\"\nto = \"b\"\ncount = 2
         [[flow]]\ncc = \"reno\"
         [[flow]]\nid = \"again\"\ncc = \"reno\"\nfrom = \"a\"\nto = \"b\"",
    );
    let flows = experiment(&text).flows;
    let found: Vec<_> =
        flows.iter().map(|f| (f.id.as_str(), f.hosts[0], f.start.as_nanos() / 1_000_000)).collect();
    assert_eq!(
        found,
        [
            ("main/0", 0, 1000),
            ("main/1", 1, 1500),
            ("main/2", 2, 2000),
            ("reno#1/0", 3, 0),
            ("reno#1/1", 3, 0),
            ("reno#2", 4, 0),
            ("again", 3, 0),
        ]
    );
    assert_eq!(flows[2].stop, Some(Time::from_nanos(9_000_000_000)));
}

#[test]
fn copies_belong_to_the_application_of_their_flow() {
    let text = with_end(
        "application = \"a\"\ncount = 2
         [[flow]]\ncc = \"reno\"
         [[flow]]\ncc = \"cubic\"\napplication = \"a\"",
    );
    let flows = experiment(&text).flows;
    let found: Vec<_> = flows.iter().map(|flow| flow.application.as_deref()).collect();
    assert_eq!(found, [Some("a"), Some("a"), None, Some("a")]);
}

#[test]
fn algorithms_have_variants_and_parameters() {
    let flow =
        "[[flow]]\ncc = \"cubic\"\ncc_variant = \"linux-2.6.22\"\ncc_params = { beta = 0.8 }";
    let cc = experiment(&with_end(flow)).flows[1].cc.clone();
    assert_eq!(cc.name, "cubic");
    assert_eq!(cc.variant, Some(Variant::Linux2_6_22));
    assert_eq!(cc.params, [("beta".to_owned(), 0.8)]);
}

#[test]
fn a_title_comes_from_the_file() {
    let untitled = BASE.replace("title = \"base\"", "");
    assert_eq!(super::plan(&untitled, "studies/two flows.toml").unwrap().title, "two flows");
    assert_eq!(planned(&untitled).points[0].document["title"], "test");
    assert_eq!(super::plan(&untitled, "").unwrap().title, "untitled");
}

#[test]
fn limits_in_packets_of_a_time_or_a_bdp() {
    let limit = |queue: &str| {
        let text = with("kind = \"droptail\", limit = \"42 packets\"", queue);
        match *bottleneck(&text).queue {
            QdiscConfig::FqCodel(config) => config.codel.limit_packets,
            QdiscConfig::Pie(config) => config.limit_packets,
            other => panic!("{other:?}"),
        }
    };
    // 10 Mbit/s for 50 ms are 62 500 bytes: 41 packets of 1500 and a part of one.
    assert_eq!(limit("kind = \"fq_codel\", limit = \"1.0 bdp\""), 41);
    // For 100 ms 125 000 bytes: 83.
    assert_eq!(limit("kind = \"fq_codel\", limit = \"100 ms\""), 83);
    assert_eq!(limit("kind = \"pie\", limit = \"2 bdp\""), 83);
    assert_eq!(limit("kind = \"pie\", limit = \"unlimited\""), u64::MAX);
}
