//! What links do to packets, and how they change: through the experiment format, against arithmetic.

use std::path::Path;

use crate::common::run_text;
use fairway_schema::{DatagramSummary, FlowSummary};
use fairway_sim::{Control, Run, run};
use fairway_spec::{from_document, plan};

/// 20 000 datagrams of 1000 bytes, one a millisecond, over one link of 80 Mbit/s (0.1 ms each) with
/// 10 ms of propagation; measured until all have arrived.
fn datagrams(link: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "25 s"
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "80 Mbit/s"
        delay = "10 ms"
        queue = {{ limit = "10000 packets" }}
        {link}
        [[flow]]
        kind = "cbr"
        rate = "7.776 Mbit/s"
        packet = "1000 bytes"
        stop = "20 s"
        "#
    ))
}

fn of(run: &Run) -> (&FlowSummary, &DatagramSummary) {
    let flow = &run.summary.flows[0];
    (flow, flow.datagrams.as_ref().unwrap())
}

fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{what}: measured {measured}, expected {expected} ± {tolerance}"
    );
}

#[test]
fn gilbert_elliott_loses_its_share() {
    // 0.02·0.8/(0.02 + 0.2) + 0.2·0.01/0.22 = 0.081818. Variance of the state's mean with λ = 0.78:
    // √(0.0826/20000·8.09) = 0.0058, times 0.79; the draws' own 0.0014: 0.0048. Four of it.
    let link = "loss = { kind = \"gilbert-elliott\", p = 0.02, r = 0.2, loss_in_bad = 0.8, \
                loss_in_good = 0.01 }";
    let run = datagrams(link);
    let (_, received) = of(&run);
    assert_near("loss", received.loss_ratio.unwrap(), 0.081_818, 0.0192);
}

#[test]
fn losses_by_count_are_exact() {
    // Of 20 000: two listed; every 400th from the 100th, 50; three from each of two times.
    for (loss, lost) in [
        ("kind = \"list\", packets = [1, 20000, 20001]", 2),
        ("kind = \"periodic\", every = 400, first = 100", 50),
        // The share 0.003 is one in 333: 60 · 333 = 19 980.
        ("kind = \"periodic\", probability = 0.003", 60),
        ("kind = \"burst\", length = 3, at = [\"5 s\", \"7 s\"]", 6),
        ("kind = \"list\", packets = [1, 2, 3], direction = \"reverse\"", 0),
    ] {
        let run = datagrams(&format!("loss = {{ {loss} }}"));
        let (flow, received) = of(&run);
        assert_eq!((flow.sent_segments, flow.lost_segments), (20_000, lost), "{loss}");
        assert_eq!(received.received_packets, 20_000 - lost, "{loss}");
        assert_eq!(run.summary.links[0].losses, lost, "{loss}");
    }
}

#[test]
fn damaged_packets_cross_the_link_and_are_thrown_away() {
    let run = datagrams("corruption = { probability = 0.1 }");
    let (flow, received) = of(&run);
    // 2000 ± 4·√(20000·0.09).
    let damaged = 20_000 - received.received_packets;
    assert_near("damaged", damaged as f64, 2000.0, 170.0);
    assert_eq!((flow.lost_segments, run.summary.links[0].losses), (damaged, 0));
}

#[test]
fn doubled_packets_arrive_twice() {
    let run = datagrams("duplication = { probability = 0.1 }");
    let (_, received) = of(&run);
    assert_eq!(received.received_packets, 20_000);
    assert_near("copies", received.duplicated_packets as f64, 2000.0, 170.0);
}

#[test]
fn late_packets_are_overtaken_and_jitter_keeps_the_order_or_not() {
    // Late by 5.5 ms, a packet is overtaken by those behind it.
    let run = datagrams("reordering = { probability = 0.05, delay = \"5.5 ms\" }");
    let reordered = of(&run).1.reordered_packets;
    // 1000 ± 4·√950; the last ones of the run hardly matter, and no late one overtakes another.
    assert_near("reordered", reordered as f64, 1000.0, 124.0);

    let jitter = |keep_order: bool| {
        let jitter = "mean = \"5 ms\", deviation = \"5 ms\"";
        datagrams(&format!("jitter = {{ {jitter}, keep_order = {keep_order} }}"))
    };
    assert_eq!(of(&jitter(true)).1.reordered_packets, 0);
    let free = jitter(false);
    assert!(of(&free).1.reordered_packets > 5000);
    // 10.1 ms and 5 ± 4·2.89/√20000.
    assert_near("delay", of(&free).0.mean_one_way_delay_s.unwrap(), 0.0151, 0.000_082);
}

#[test]
fn a_link_that_is_down_holds_packets_back_or_loses_them() {
    // Down from 5.00005 s to 6 s: the packet of 5 s is half sent. 1000 wait, and leave within
    // 1 s/(10 − 1) after.
    let outage = |in_flight: &str| {
        format!(
            r#"
            [[topology.bottleneck.change]]
            at = "5000050 us"
            rate = "down"
            in_flight = "{in_flight}"
            [[topology.bottleneck.change]]
            at = "6 s"
            rate = "80 Mbit/s"
            "#
        )
    };
    let kept = datagrams(&outage("kept"));
    assert_eq!(of(&kept).1.received_packets, 20_000);
    // Lost are the packet in transmission and those on the wire: who left from 4.99005 s on, which
    // are the ten of 4.991 s to 5 s; that of 4.990 s leaves at 4.9901 s, and is one of them.
    let lost = datagrams(&outage("lost"));
    assert_eq!(of(&lost).1.received_packets, 20_000 - 11);
    assert_eq!(run_losses(&lost), 11);
}

fn run_losses(run: &Run) -> u64 {
    run.summary.links[0].losses
}

#[test]
fn a_handover_changes_the_delay() {
    // From 10 s on 30 ms: half the packets 10.1 ms, half 30.1 ms.
    let run = datagrams("[[topology.bottleneck.change]]\nat = \"10 s\"\ndelay = \"30 ms\"");
    assert_near("delay", of(&run).0.mean_one_way_delay_s.unwrap(), 0.0201, 1e-5);
    // Back to 10 ms at 15 s: who leaves then overtakes those of the 20 ms before.
    let back = "[[topology.bottleneck.change]]\nat = \"10 s\"\ndelay = \"30 ms\"\n\
                [[topology.bottleneck.change]]\nat = \"15 s\"\ndelay = \"10 ms\"";
    let free = datagrams(&format!("change_keeps_order = false\n{back}"));
    assert!((19..=21).contains(&of(&free).1.reordered_packets));
    assert_eq!(of(&datagrams(back)).1.reordered_packets, 0);
}

#[test]
fn a_backlogged_link_carries_what_its_trace_offers() {
    // 1500 bytes and four of Mahimahi's make an opportunity. Per period of 40 ms eight opportunities:
    // 200 a second; 20 ms of propagation do not matter over 10 s to 30 s.
    let run = run_text(
        r#"
        duration = "30 s"
        [topology]
        kind = "dumbbell"
        frame_overhead = "4 bytes"
        [topology.bottleneck]
        trace = "opportunities 5 1x3 4 20x2 10"
        delay = "20 ms"
        queue = { limit = "50 packets" }
        [[flow]]
        kind = "cbr"
        rate = "5 Mbit/s"
        packet = "1500 bytes"
        [measure]
        window = ["10 s", "30 s"]
        "#,
    );
    assert_eq!(of(&run).1.received_packets, 4000);
    assert_near("rate", run.summary.flows[0].throughput_bps, 200.0 * 1500.0 * 8.0, 1.0);
}

#[test]
fn tcp_survives_everything_and_the_accounts_balance() {
    for file in ["impairments", "changes", "trace"] {
        let path = format!("{}/../../examples/{file}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        let planned = plan(&text, &path).unwrap_or_else(|error| panic!("{error}"));
        let experiment = from_document(&planned.points[0].document).unwrap();
        let run = run(&experiment, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(run.summary.flows[0].goodput_bps > 500_000.0, "{file}: {:?}", run.summary.flows);
    }
}

#[test]
fn a_trace_file_is_read_when_an_experiment_is_planned() {
    let text = |trace: &str| {
        format!(
            r#"
            duration = "10 s"
            [topology]
            kind = "dumbbell"
            [topology.bottleneck]
            trace = "{trace}"
            delay = "20 ms"
            [[flow]]
            cc = "reno"
            "#
        )
    };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces");
    std::fs::create_dir_all(&directory).unwrap();
    let source = directory.join("it.toml").display().to_string();
    std::fs::write(directory.join("cell.down"), "1\n3\n3\n8\n").unwrap();
    let planned = plan(&text("cell.down"), &source).unwrap();
    let document = &planned.points[0].document;
    assert_eq!(document["topology"]["bottleneck"]["trace"], "opportunities 1 2x2 5");

    std::fs::write(directory.join("wrong"), "1\n3.5\n").unwrap();
    let errors = plan(&text("wrong"), &source).unwrap_err().to_string();
    assert!(errors.contains("topology.bottleneck.trace: \"wrong\": line 2: expected whole"));
    // What may be somebody's secret is not in the message.
    for (content, line) in [("root:$6$salt$hash:19000:0\n", 1), ("1\n99999999999\n", 2)] {
        std::fs::write(directory.join("foreign"), content).unwrap();
        let errors = plan(&text("foreign"), &source).unwrap_err().to_string();
        let expected = format!(
            "{source}: topology.bottleneck.trace: \"foreign\": line {line}: expected whole \
             milliseconds up to 4294967295, and nothing else; write one time on each line, such as \
             \"12\""
        );
        assert_eq!(errors, expected);
    }
    let errors = plan(&text("none"), &source).unwrap_err().to_string();
    assert!(
        errors.contains("topology.bottleneck.trace: cannot read the trace \"none\""),
        "{errors}"
    );
}

#[test]
fn what_a_flow_misses_its_links_have_dropped_by_then() {
    // A SYN leaves its host at some time within an hour, and datagrams of the same host wait behind it
    // until after the run. They will find a queue of one packet, but that is not of this run.
    let run = run_text(
        r#"
        duration = "10 s"
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "10 Mbit/s"
        delay = "10 ms"
        queue = { limit = "1 packets" }
        [[flow]]
        cc = "reno"
        send_jitter = "1 h"
        [[flow]]
        kind = "cbr"
        rate = "1 Mbit/s"
        "#,
    );
    let drops: u64 = run.summary.links.iter().map(|link| link.drops).sum();
    let missing: u64 = run.summary.flows.iter().map(|flow| flow.lost_segments).sum();
    assert!(run.summary.flows[1].sent_segments > 800);
    assert_eq!((missing, drops), (0, 0));
}

/// A transfer of 20 segments over a link without transmission times worth mentioning, 50 ms long, that
/// loses packets as ns-3 does.
fn replayed(loss: &str) -> Run {
    replayed_with_seed(1, loss)
}

fn replayed_with_seed(seed: u64, loss: &str) -> Run {
    run_text(&format!(
        r#"
        seed = {seed}
        duration = "60 s"
        stack = {{ preset = "ns3-3.29" }}
        measure = {{ losses = true }}
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "100 Gbit/s"
        delay = "50 ms"
        loss = {{ replay = "ns3", {loss} }}
        [[flow]]
        cc = "newreno"
        bytes = "10720 bytes"
        "#
    ))
}

#[test]
fn replayed_losses_fall_on_the_packets_that_ns3_loses() {
    let first_loss_ms = |loss: &str| (replayed(loss).losses.unwrap().t_s[0] * 1e3).floor();
    // Of ns-3's draws with seed 1, run 0 and stream 50, the sixth is the first below 0.03, with 0.0210.
    // SYN, SYN-ACK, ACK, first segment, its acknowledgement: sixth is the second segment, at 200 ms.
    assert_eq!(first_loss_ms("probability = 0.03, direction = \"both\""), 200.0);
    // Where the acknowledgements do not draw: SYN, ACK, first, second and third segment, and the
    // sixth is the fourth, which leaves when the two before have been acknowledged, at 300 ms.
    assert_eq!(first_loss_ms("probability = 0.03"), 300.0);
    // The first draw is 0.1291: the SYN is lost, and sent again after 3 s.
    let run = replayed("probability = 0.13, direction = \"both\"");
    assert!(run.summary.flows[0].fct_s.unwrap() > 3.0);
}

#[test]
fn a_replay_begins_anew_with_each_run_and_with_other_draws_in_another_run_of_ns3() {
    let loss = "probability = 0.1, direction = \"both\"";
    let (run, again) = (replayed(loss), replayed(loss));
    assert_eq!((&run.summary, &run.losses), (&again.summary, &again.losses));
    assert_ne!(run.losses, replayed(&format!("{loss}, run = 1")).losses);
    assert_ne!(run.losses, replayed(&format!("{loss}, seed = 2")).losses);
    assert_ne!(run.losses, replayed(&format!("{loss}, stream = 51")).losses);
}

#[test]
fn a_replay_without_a_run_takes_the_one_of_the_experiments_seed() {
    let loss = "probability = 0.1, direction = \"both\"";
    let lost = |seed, loss: &str| replayed_with_seed(seed, loss).losses;
    assert_eq!(lost(1, loss), lost(1, &format!("{loss}, run = 0")));
    assert_eq!(lost(3, loss), lost(1, &format!("{loss}, run = 2")));
    // One that is written stays.
    assert_eq!(lost(3, &format!("{loss}, run = 0")), lost(1, loss));
}

#[test]
fn replayed_losses_of_datagrams_have_the_share_that_ns3_has() {
    // One direction and 20 000 packets: draws 6018 and 9752 are below 1e-4, and the next is 31898.
    let run = datagrams("loss = { replay = \"ns3\", probability = 1e-4 }");
    assert_eq!(run_losses(&run), 2);
}

#[test]
fn the_flow_monitor_counts_every_packet_towards_the_sink() {
    let run = replayed("probability = 0");
    let (flow, monitor) = (&run.summary.flows[0], run.summary.flows[0].flow_monitor.unwrap());
    // SYN, 20 segments, and two packets without data: in ns-3 the handshake's acknowledgement, the FIN
    // being the last segment's, and the acknowledgement of the sink's FIN, which is sent 50 ms after the
    // last byte has arrived and arrives after 50 ms more.
    assert_eq!((monitor.tx_packets, monitor.lost), (23, 0));
    let (bytes, done_s) = (56 + 52 + 20 * (536 + 52) + 52, flow.fct_s.unwrap());
    assert_near("ctt_s", monitor.ctt_s.unwrap(), done_s + 0.1, 1e-6);
    let kbit = f64::from(bytes) * 8.0 / 1000.0;
    assert_near("tx_kbps", monitor.tx_kbps.unwrap(), kbit / (done_s + 0.05), 1e-3);
    assert_near("rx_kbps", monitor.rx_kbps.unwrap(), kbit / (done_s + 0.1), 1e-3);
    assert_near("mean_delay_ms", monitor.mean_delay_ms.unwrap(), 50.0, 1e-3);
    // Draw 1 is below 0.15: a SYN is lost, long before the end, which is no data.
    let lossy = replayed("probability = 0.15, direction = \"both\"");
    let (flow, monitor) = (&lossy.summary.flows[0], lossy.summary.flows[0].flow_monitor.unwrap());
    assert!(monitor.lost > flow.lost_segments);
    assert_eq!(monitor.lost, lossy.summary.links[0].losses);
}

#[test]
fn other_stacks_have_no_flow_monitor() {
    assert_eq!(datagrams("").summary.flows[0].flow_monitor, None);
    let text = include_str!("../../../examples/single.toml");
    let run = run_text(&text.replace("100 s", "20 s"));
    assert_eq!(run.summary.flows[0].flow_monitor, None);
}
