//! Datagram flows: what leaves and what arrives, against arithmetic.

use crate::common::run_text;
use fairway_schema::{DatagramSummary, FlowSummary};
use fairway_sim::Run;

/// A run of flows over one link of this rate with a queue of this size; 10 ms each way.
fn over_link(rate: &str, limit: &str, more: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "10 s"
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "{rate}"
        delay = "10 ms"
        queue = {{ limit = "{limit}" }}
        {more}
        "#
    ))
}

fn flow<'a>(run: &'a Run, id: &str) -> (&'a FlowSummary, &'a DatagramSummary) {
    let flow = run.summary.flows.iter().find(|flow| flow.id == id).unwrap();
    (flow, flow.datagrams.as_ref().unwrap())
}

fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{what}: measured {measured}, expected {expected} ± {tolerance}"
    );
}

/// 1000 bytes, of which 972 are payload, every 2 ms: 3.888 Mbit/s. From 1 s until before 2 s these are
/// 500 packets. Each takes 1 ms on a link of 8 Mbit/s and 10 ms of propagation.
#[test]
fn a_constant_rate_by_hand() {
    let run = over_link(
        "8 Mbit/s",
        "10 packets",
        r#"
        [[flow]]
        id = "u"
        kind = "cbr"
        rate = "3.888 Mbit/s"
        packet = "1000 bytes"
        start = "1 s"
        stop = "2 s"
        "#,
    );
    let (flow, datagrams) = flow(&run, "u");
    assert_eq!((flow.sent_segments, flow.lost_segments), (500, 0));
    let counts = [
        datagrams.received_packets,
        datagrams.reordered_packets,
        datagrams.duplicated_packets,
        run.summary.packets,
    ];
    assert_eq!(counts, [500, 0, 0, 500]);
    assert_eq!((datagrams.kind, datagrams.loss_ratio), ("cbr", Some(0.0)));
    assert_eq!((flow.mean_one_way_delay_s, datagrams.jitter_s), (Some(0.011), Some(0.0)));
    for quantile in [
        datagrams.p50_one_way_delay_s,
        datagrams.p95_one_way_delay_s,
        datagrams.p99_one_way_delay_s,
    ] {
        assert_near("delay", quantile.unwrap(), 0.011, 0.011 / 64.0);
    }
    // Over the ten seconds of the run: 500 · 972 · 8 and 500 · 1000 · 8 bits.
    assert_near("goodput", flow.goodput_bps, 388_800.0, 1e-6);
    assert_near("throughput", flow.throughput_bps, 400_000.0, 1e-6);
    assert_near("utilisation", run.summary.links[0].utilisation, 0.05, 1e-9);
    let nothing = (flow.retransmitted_segments, flow.window_reductions, flow.timeouts);
    assert_eq!(nothing, (None, None, None));
    assert_eq!((&flow.cc, flow.mean_cwnd_segments, flow.mean_srtt_s), (&None, None, None));
    // Without connections, metrics are of the datagrams.
    assert_eq!(run.summary.metrics.loss_ratio, Some(0.0));
}

/// 100 000 bytes in packets of 1470: 68 of them and one of 40. The transfer is over when that one,
/// 68 gaps of 11.76 ms behind the first, has taken 68 · 8/10 us and 10 ms.
#[test]
fn the_last_packet_is_as_short_as_what_is_left() {
    let keys = "[[flow]]\nid = \"u\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nbytes = \"100 kB\"";
    let run = over_link("10 Mbit/s", "10 packets", keys);
    let (flow, datagrams) = flow(&run, "u");
    assert_eq!((flow.sent_segments, datagrams.received_packets), (69, 69));
    assert_near("goodput", flow.goodput_bps * 10.0 / 8.0, 100_000.0, 1e-6);
    assert_near("fct", flow.fct_s.unwrap(), 68.0 * 0.011_76 + 0.000_054_4 + 0.01, 1e-9);
}

/// 20 Mbit/s of packets for a link of 10: from when the queue is full every other one is dropped, and
/// each waits for the nine before it: 10 · 0.8 ms and 10 ms.
#[test]
fn a_queue_that_is_full_drops_the_rest() {
    let run = over_link(
        "10 Mbit/s",
        "10 packets",
        r#"
        [[flow]]
        id = "u"
        kind = "cbr"
        rate = "19.44 Mbit/s"
        packet = "1000 bytes"
        [measure]
        window = ["1 s", "9 s"]
        "#,
    );
    let (flow, datagrams) = flow(&run, "u");
    // 8 s of a packet each 0.4 ms.
    assert_eq!(flow.sent_segments, 20_000);
    assert_near("loss", datagrams.loss_ratio.unwrap(), 0.5, 1e-4);
    assert_near("goodput", flow.goodput_bps, 9.72e6, 1e3);
    // At most 10 in the queue, the one in transmission counted: a packet finds nine, of which the
    // first has been in transmission for half its time or for all of it.
    assert_near("delay", flow.mean_one_way_delay_s.unwrap(), 0.0178, 0.0003);
    assert_eq!(flow.fct_s, None);
    // The seven other samples of goodput, too.
    let series = &run.series;
    let samples = (0..series.t_s.len()).filter(|i| series.t_s[*i] > 1.0);
    for i in samples {
        assert_near("goodput of a sample", series.goodput_bps[i], 9.72e6, 1e5);
        assert!(series.cwnd_segments[i].is_nan() && series.srtt_s[i].is_nan());
    }
}

/// A packet of 1000 bytes takes 256 + 2048 bytes of memory, and 1 ms of the link; one is due every
/// 0.45 ms. With room for two, these leave at 0 and 0.45 ms, and the third waits for both of them: until
/// 2 ms, as the first alone leaves half of the room and not more. So every 2 ms, packets take 1 ms and
/// 1.55 ms of the link, which is never idle. Nothing is dropped.
#[test]
fn a_sender_waits_for_room_in_its_buffer() {
    let run = over_link(
        "8 Mbit/s",
        "2 packets",
        r#"
        [[flow]]
        id = "u"
        kind = "cbr"
        rate = "17.28 Mbit/s"
        packet = "1000 bytes"
        send_buffer = "4608 bytes"
        stop = "1 s"
        "#,
    );
    let (flow, datagrams) = flow(&run, "u");
    assert_eq!((flow.sent_segments, flow.lost_segments), (1000, 0));
    assert_eq!(datagrams.received_packets, 1000);
    assert_near("delay, ms", flow.mean_one_way_delay_s.unwrap() * 1e3, 11.275, 1e-6);
}

/// With room for four packets, a sender goes on when one is left, which has just begun its millisecond on
/// the link: the three that follow at once, 0.05 and 0.1 ms later take 2, 2.95 and 3.9 ms.
#[test]
fn a_sender_goes_on_when_more_than_half_of_its_buffer_is_free() {
    let run = over_link(
        "8 Mbit/s",
        "100 packets",
        r#"
        [[flow]]
        id = "u"
        kind = "cbr"
        rate = "155.52 Mbit/s"
        packet = "1000 bytes"
        send_buffer = "9216 bytes"
        [measure]
        window = ["1 s", "9 s"]
        "#,
    );
    let (flow, datagrams) = flow(&run, "u");
    assert_near("goodput", flow.goodput_bps, 7.776e6, 2e3);
    assert_near("delay, ms", flow.mean_one_way_delay_s.unwrap() * 1e3, 12.95, 1e-3);
    // From each packet to the next the delay varies by 0.95, 0.95 and 1.9 ms: 19/15 ms in the mean, in
    // which the last one weighs a sixteenth more or less.
    assert_near("jitter, ms", datagrams.jitter_s.unwrap() * 1e3, 19.0 / 15.0, 0.95 / 16.0);
}

/// Whatever the rhythm, a sender that waits goes on from there and does not catch up; and it has always
/// something to send, but for a flow that is off now and then.
#[test]
fn senders_of_all_kinds_wait() {
    let kinds = [
        ("kind = \"cbr\"", 1.0),
        ("kind = \"poisson\"", 1.0),
        ("kind = \"vbr\"\nrate_deviation = \"5 Mbit/s\"\nrate_period = \"5 ms\"", 1.0),
        ("kind = \"onoff\"\non_time = \"1 ms\"\noff_time = \"1 ms\"", 0.9),
    ];
    for (keys, least) in kinds {
        let keys = format!(
            "[[flow]]\nid = \"u\"\n{keys}\nrate = \"100 Mbit/s\"\npacket = \"1000 bytes\"\n\
             send_buffer = \"23040 bytes\""
        );
        let run = over_link("8 Mbit/s", "10 packets", &keys);
        let (flow, _) = flow(&run, "u");
        assert_eq!(flow.lost_segments, 0, "{keys}");
        // Of 7.776 Mbit/s of payload that the link carries, but for the first 10 ms or so.
        assert!(flow.goodput_bps > least * 7.75e6, "{keys}: {}", flow.goodput_bps);
        // Ten packets at most are in the queue.
        let delay_s = flow.mean_one_way_delay_s.unwrap();
        assert!((0.011..=0.02).contains(&delay_s), "{keys}: {delay_s}");
    }
}

/// Senders of one host that wait for its card leave room in its queue for the others; those that
/// do not fill it.
#[test]
fn a_buffer_leaves_room_for_others_on_the_host() {
    let share = |buffer: &str| {
        let ends = "from = \"a\"\nto = \"b\"";
        let run = over_link(
            "10 Mbit/s",
            "100 packets",
            &format!(
                r#"
                [topology.access]
                rate = "10 Mbit/s"
                delay = "10 us"
                queue = {{ limit = "100 packets" }}
                [[flow]]
                id = "tcp"
                cc = "reno"
                {ends}
                [[flow]]
                id = "u"
                kind = "cbr"
                rate = "20 Mbit/s"
                {ends}
                {buffer}
                [measure]
                window = ["5 s", "10 s"]
                "#
            ),
        );
        (run.summary.flows[0].goodput_bps, flow(&run, "u").0.lost_segments)
    };
    let (without, dropped) = share("");
    let (with, few) = share("send_buffer = \"23040 bytes\"");
    assert!(without < 1e6 && dropped > 1000, "{without} {dropped}");
    // Ten packets of UDP beside up to ninety of TCP's, which fills the queue now and then.
    assert!(with > 7e6 && few < 10, "{with} {few}");
}

/// The same on a station of a WLAN, whose medium says when packets have left.
#[test]
fn a_sender_waits_for_its_wlan() {
    let run = run_text(
        r#"
        duration = "5 s"
        [topology]
        kind = "wlan"
        standard = "802.11g"
        stations = 1
        server = { rate = "100 Mbit/s", delay = "0.1 ms" }
        [[flow]]
        id = "u"
        kind = "cbr"
        rate = "100 Mbit/s"
        from = "sta0"
        to = "server"
        send_buffer = "23040 bytes"
        "#,
    );
    let (flow, datagrams) = flow(&run, "u");
    assert_eq!(flow.lost_segments, 0);
    assert!(datagrams.received_packets > 5_000, "{datagrams:?}");
}

/// UDP on Ethernet of 100 Mbit/s: 1470 of 1536 bytes are payload (28 of headers, 38 of framing), so
/// no more than 95.703 Mbit/s arrive whatever is sent; and of that a share of 1 − p where packets
/// are lost. For p = 0.15, 81.35 Mbit/s, Prukpaiboon (2012, experiment 4) measured 82.
#[test]
fn udp_on_a_lossy_ethernet() {
    for (p, expected) in [(0.0, 95.703), (0.15, 81.348), (0.3, 66.992)] {
        let run = run_text(&format!(
            r#"
            duration = "15 s"
            [topology]
            kind = "dumbbell"
            frame_overhead = "38 bytes"
            [topology.bottleneck]
            rate = "100 Mbit/s"
            delay = "0.2 ms"
            queue = {{ limit = "1000 packets" }}
            loss = {{ probability = {p} }}
            [[flow]]
            id = "u"
            kind = "cbr"
            rate = "100 Mbit/s"
            [measure]
            window = ["6 s", "15 s"]
            "#
        ));
        let (flow, datagrams) = flow(&run, "u");
        // The queue is full after 2.8 s. 9 s of 8138 packets a second, each lost with p: four standard errors.
        let error = 4.0 * (p * (1.0 - p) / 73_242.0_f64).sqrt() * 95.7;
        assert_near("Mbit/s", flow.goodput_bps / 1e6, expected, error + 0.02);
        // What the link is offered, 102.4 % of its rate, is dropped or lost.
        let offered = 100.0 * 1536.0 / 1470.0;
        let lost = 1.0 - 100.0 / offered * (1.0 - p);
        assert_near("loss", datagrams.loss_ratio.unwrap(), lost, error / 95.7 + 0.001);
    }
}

/// Packets of a Poisson process that all take the same time to transmit wait as in M/D/1: by
/// Pollaczek and Khinchine, ρ/(2(1 − ρ)) of that time in the mean.
#[test]
fn poisson_traffic_waits_as_pollaczek_and_khinchine_say() {
    for (load, wait, tolerance) in [(0.5, 0.5, 0.01), (0.8, 2.0, 0.05), (0.9, 4.5, 0.25)] {
        // Packets of 1000 bytes take 0.1 ms, and their payload is 97.2 % of them.
        let rate = (load * 77_760_000.0_f64).round();
        let run = run_text(&format!(
            r#"
            duration = "200 s"
            [topology]
            kind = "dumbbell"
            [topology.bottleneck]
            rate = "80 Mbit/s"
            delay = "1 ms"
            queue = {{ limit = "unlimited" }}
            [[flow]]
            id = "u"
            kind = "poisson"
            packet = "1000 bytes"
            rate = "{rate} bit/s"
            [measure]
            sample = "10 s"
            "#
        ));
        let (flow, datagrams) = flow(&run, "u");
        assert!(datagrams.received_packets > 900_000);
        let service = 1e-4;
        let mean = (flow.mean_one_way_delay_s.unwrap() - 1e-3 - service) / service;
        assert_near(&format!("wait at load {load}"), mean, wait, tolerance);
        // The same by Little's law, from the counters of the link: backlog = arrivals a second ·
        // wait.
        let link = &run.summary.links[0];
        assert_near("backlog", link.mean_backlog_packets, load * mean, 0.01);
        assert_near("utilisation", link.utilisation, load, 0.003);
    }
}

#[test]
fn rows_stand_in_the_order_of_the_file() {
    let run = over_link(
        "10 Mbit/s",
        "30 packets",
        r#"
        [[flow]]
        id = "first"
        kind = "cbr"
        rate = "1 Mbit/s"
        [[flow]]
        id = "tcp"
        cc = "reno"
        both_ways = true
        [[flow]]
        id = "second"
        kind = "onoff"
        rate = "2 Mbit/s"
        count = 2
        "#,
    );
    let ids: Vec<_> = run.summary.flows.iter().map(|flow| flow.id.as_str()).collect();
    assert_eq!(ids, ["first", "tcp", "second/0", "second/1", "tcp/reverse"]);
    assert_eq!(run.flow_ids, ids);
    let (first, datagrams) = flow(&run, "first");
    assert!(first.lost_segments > 0 && datagrams.jitter_s.unwrap() > 1e-4, "{datagrams:?}");
    // Metrics are of TCP alone: with one connection there is nothing to compare.
    let metrics = &run.summary.metrics;
    assert_eq!((metrics.jain_index, metrics.unfairness), (Some(1.0), Some(0.0)));
    let tcp = &run.summary.flows[1];
    let ratio = tcp.lost_segments as f64 / tcp.sent_segments as f64;
    assert_eq!(metrics.loss_ratio, Some(ratio));
    let received: u64 =
        run.summary.flows.iter().flat_map(|f| &f.datagrams).map(|d| d.received_packets).sum();
    assert!(run.summary.packets > received);
}

/// Copies that start at once and are in step: whenever there is room in a full queue, the same ones
/// come first. So they start at random within a gap, where nothing else is written.
#[test]
fn copies_share_a_link_that_is_too_slow() {
    let copies = "[[flow]]\nid = \"u\"\nkind = \"cbr\"\nrate = \"5 Mbit/s\"\ncount = 8\n";
    let in_step = over_link("10 Mbit/s", "20 packets", &format!("{copies}start_jitter = \"0 s\""));
    let shut_out = in_step.summary.flows.iter().filter(|flow| flow.goodput_bps < 1e4).count();
    assert!(shut_out >= 4, "{shut_out}");
    let run = over_link("10 Mbit/s", "20 packets", copies);
    assert!(run.summary.flows.iter().all(|flow| flow.goodput_bps > 1e4));
    let metrics = &run.summary.metrics;
    assert_near(
        "loss",
        metrics.loss_ratio.unwrap(),
        1.0 - 10.0 / (8.0 * 5.0 * 1498.0 / 1470.0),
        0.01,
    );
}

#[test]
fn datagrams_that_go_back() {
    let keys =
        "[[flow]]\nid = \"u\"\nkind = \"cbr\"\nrate = \"4.9 Mbit/s\"\ndirection = \"reverse\"";
    let run = over_link("10 Mbit/s", "20 packets", keys);
    let used: Vec<_> =
        run.summary.links.iter().map(|link| (link.id.as_str(), link.utilisation)).collect();
    assert_eq!(used[0], ("bottleneck", 0.0));
    assert_eq!(used[1].0, "bottleneck/reverse");
    // Of 1498 bytes, 1470 are payload.
    assert_near("utilisation", used[1].1, 0.49 * 1498.0 / 1470.0, 0.001);
    assert_near("goodput", flow(&run, "u").0.goodput_bps, 4.9e6, 1e4);
}

/// Random numbers of one flow do not depend on another.
#[test]
fn datagram_flows_draw_their_own_numbers() {
    let poisson = "[[flow]]\nid = \"u\"\nkind = \"poisson\"\nrate = \"1 Mbit/s\"\n";
    let other = "[[flow]]\nid = \"v\"\nkind = \"poisson\"\nrate = \"1 Mbit/s\"\n";
    let alone = over_link("1 Gbit/s", "unlimited", poisson);
    let both = over_link("1 Gbit/s", "unlimited", &format!("{poisson}{other}"));
    let sent = |run: &Run, id| flow(run, id).0.sent_segments;
    assert_eq!(sent(&alone, "u"), sent(&both, "u"));
    assert_ne!(sent(&both, "u"), sent(&both, "v"));
}
