//! Networks of several links: who goes where, and what that gives.

use crate::common::run_text;
use fairway_sim::Run;

fn goodput_mbps(run: &Run) -> Vec<f64> {
    run.summary.flows.iter().map(|flow| flow.goodput_bps / 1e6).collect()
}

/// Links side by side, of 10 Mbit/s and 20 ms.
fn routes(links: usize, multipath: &str, flows: usize) -> Run {
    let link = "[[topology.link]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n".repeat(links);
    let flow = "[[flow]]\ncc = \"reno\"\n".repeat(flows);
    run_text(&format!(
        "duration = \"60 s\"\n[topology]\nkind = \"parallel\"\nmultipath = \"{multipath}\"\n{link}\
         {flow}[measure]\nwindow = [\"10 s\", \"60 s\"]\n"
    ))
}

#[test]
fn connections_take_routes_in_turn() {
    let one = goodput_mbps(&routes(1, "in-turn", 1))[0];
    let run = routes(3, "in-turn", 3);
    let taken: Vec<_> = run.summary.flows.iter().map(|flow| flow.route.as_deref()).collect();
    assert_eq!(taken, [Some("route0"), Some("route1"), Some("route2")]);
    // Each alone on a route like the one.
    let three: f64 = goodput_mbps(&run).iter().sum();
    assert!((three / one - 3.0).abs() < 0.01, "{three} of {one}");
}

#[test]
fn one_connection_takes_one_route_unless_packets_choose() {
    let keeps = routes(3, "hash", 1);
    let used = |run: &Run| run.summary.links.iter().filter(|l| l.utilisation > 0.01).count();
    // Data one way, acknowledgements another or the same: at most one link of each direction.
    assert!(goodput_mbps(&keeps)[0] < 10.0 && used(&keeps) <= 2);
    assert!(keeps.summary.flows[0].route.as_deref().unwrap().starts_with("route"));
    // Equal delays: packets that leave in turn arrive nearly in order, and fill all three.
    let spreads = routes(3, "packet", 1);
    assert_eq!(spreads.summary.flows[0].route.as_deref(), Some("3 routes in turn"));
    assert!(goodput_mbps(&spreads)[0] > 20.0, "{:?}", goodput_mbps(&spreads));
}

#[test]
fn hashes_spread_connections_like_a_coin() {
    // 200 connections over two routes: 100 ± 4·√(200/4) on the first.
    let text = "duration = \"1 s\"\n[topology]\nkind = \"parallel\"\n\
                [[topology.link]]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\
                [[topology.link]]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\
                [[flow]]\ncc = \"reno\"\nbytes = \"10 kB\"\ncount = 200\n";
    let run = run_text(text);
    let first = run.summary.flows.iter().filter(|f| f.route.as_deref() == Some("route0")).count();
    assert!((72..=128).contains(&first), "{first}");
    assert!(run.summary.flows.iter().all(|flow| flow.fct_s.is_some()));
}

#[test]
fn a_parking_lot_gives_the_long_way_less() {
    let run = run_text(include_str!("../../../examples/parking-lot.toml"));
    let [through, first, second, third] = goodput_mbps(&run)[..] else { panic!("four flows") };
    // The long one meets three queues: it has the least, and each hop is full.
    for (hop, other) in [first, second, third].into_iter().enumerate() {
        assert!(through < other, "{through} {other}");
        assert!(run.summary.links[2 * hop].utilisation > 0.95);
    }
}

#[test]
fn an_lte_chain_has_its_radio_links_as_bottlenecks() {
    let run = run_text(include_str!("../../../examples/lte.toml"));
    // 1 Mbit/s of packets of 1500 bytes, of which 1460 are payload.
    for goodput in goodput_mbps(&run) {
        assert!((0.93..0.974).contains(&goodput), "{goodput}");
    }
    assert_eq!(run.link_ids[0], "enb0-ue0");
}

#[test]
fn a_fat_tree_has_four_ways_between_pods() {
    let run = run_text(include_str!("../../../examples/fat-tree.toml"));
    let route = |i: usize| run.summary.flows[i].route.clone();
    // Below one edge switch there is one way; between pods, one of four, which differ in four links.
    assert_eq!(route(0), None);
    let far = route(1).unwrap();
    assert_eq!(far.split(" > ").count(), 4);
    assert!(far.starts_with("edge1.0-aggregation1.") && far.contains("-core"), "{far}");
    assert!(run.summary.flows.iter().all(|flow| flow.fct_s.is_some()));
}

#[test]
fn a_permutation_in_a_fat_tree_completes_and_takes_the_time_of_its_hosts_links() {
    let run = run_text(include_str!("../../../examples/fat-tree-permutation.toml"));
    assert_eq!(run.summary.flows.len(), 128);
    // 500 kB in segments of 1448 bytes: 345 full and one of 440, with 52 bytes of headers each, at
    // 1 Gbit/s. Whose path is shared takes longer.
    let least = (345.0 * 1500.0 + 492.0) * 8.0 / 1e9;
    let times: Vec<f64> = run.summary.flows.iter().map(|flow| flow.fct_s.unwrap()).collect();
    assert!(times.iter().all(|time| *time > least), "{times:?}");
    // Hosts' links carry one connection each, those between switches up to several.
    let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(fastest < 1.1 * least, "{fastest} {least}");
    assert!(times.iter().any(|time| *time > 1.9 * least), "{times:?}");
}

/// One download over 10 Mbit/s and 25 ms, with this way back.
fn download(reverse: &str, more: &str) -> Run {
    run_text(&format!(
        "duration = \"60 s\"\n[stack]\npreset = \"rfc5681\"\nmss = \"1000 bytes\"\n\
         [topology]\nkind = \"dumbbell\"\n[topology.bottleneck]\nrate = \"10 Mbit/s\"\n\
         delay = \"25 ms\"\n{reverse}\n[[flow]]\ncc = \"reno\"\nid = \"down\"\n{more}\n\
         [measure]\nwindow = [\"20 s\", \"60 s\"]\n"
    ))
}

#[test]
fn a_narrow_way_back_paces_the_way_there() {
    // Acknowledgements of 40 bytes at 16 kbit/s: 50 a second, each for two segments of 1000 bytes:
    // 0.8 Mbit/s, as long as none is dropped and the window is constant.
    let narrow = "queue = { limit = \"50 packets\" }\nreverse = { rate = \"16 kbit/s\", \
                  queue = { limit = \"unlimited\" } }";
    let window = "receive_buffer = \"64 segments\"";
    let goodput = goodput_mbps(&download(narrow, window))[0];
    assert!((0.78..0.82).contains(&goodput), "{goodput}");
    let wide = goodput_mbps(&download("reverse = { rate = \"10 Mbit/s\" }", ""))[0];
    assert!(wide > 9.0, "{wide}");
}

#[test]
fn the_other_direction_has_its_own_delay_and_losses() {
    let slow = download("reverse = { delay = \"75 ms\" }", "");
    // 25 + 75 ms and a queue of at most as much again.
    let srtt = slow.summary.flows[0].mean_srtt_s.unwrap();
    assert!((0.1..0.2).contains(&srtt), "{srtt}");
    let lossy = download("reverse = { loss = { probability = 0.3 } }", "");
    let [there, back] = &lossy.summary.links[..] else { panic!("two directions") };
    assert!(there.losses == 0 && back.losses > 100);
}

#[test]
fn flows_may_cross_a_dumbbell_both_ways() {
    let run = download("", "[[flow]]\ncc = \"reno\"\nid = \"up\"\ndirection = \"reverse\"");
    let goodputs = goodput_mbps(&run);
    // Each has a direction of its own, where the other's acknowledgements come in bursts: neither fills
    // its link (Zhang, Shenker, Clark, "Observations on the Dynamics of a Congestion Control
    // Algorithm: The Effects of Two-Way Traffic", SIGCOMM 1991).
    assert!(goodputs.iter().all(|goodput| (5.0..9.0).contains(goodput)), "{goodputs:?}");
    let even = goodputs[0] / goodputs[1];
    assert!((0.8..1.25).contains(&even), "{even}");
}

#[test]
fn hosts_share_their_access_links_whoever_the_partner_is() {
    // One source of 1 Mbit/s, two sinks: together they get what one would.
    let text = "duration = \"40 s\"\n[topology]\nkind = \"dumbbell\"\n\
                bottleneck = { rate = \"100 Mbit/s\", delay = \"5 ms\" }\n\
                access = { rate = \"1 Mbit/s\", delay = \"1 ms\", queue = { limit = \"20 packets\" } }\n\
                [[flow]]\ncc = \"reno\"\nfrom = \"s\"\nto = \"a\"\n\
                [[flow]]\ncc = \"reno\"\nfrom = \"s\"\nto = \"b\"\n";
    let sum: f64 = goodput_mbps(&run_text(text)).iter().sum();
    assert!((0.85..0.97).contains(&sum), "{sum}");
}

#[test]
fn access_links_are_on_the_sides_that_are_written() {
    let delay_ms = |side: &str| {
        let run = run_text(&format!(
            r#"
            duration = "2 s"
            [topology]
            kind = "dumbbell"
            bottleneck = {{ rate = "unlimited", delay = "10 ms" }}
            access = {{ rate = "unlimited", delay = "45 ms", side = "{side}" }}
            [[flow]]
            kind = "cbr"
            rate = "1 Mbit/s"
            [[flow]]
            cc = "reno"
            bytes = "100 bytes"
            [[flow]]
            cc = "reno"
            bytes = "100 bytes"
            direction = "reverse"
            "#
        ));
        let [data, transfer, back] = &run.summary.flows[..] else { panic!("three flows") };
        // SYN, SYN-ACK and the data, one way each.
        let of_transfer = |seconds: Option<f64>| (seconds.unwrap() * 1e3 / 3.0).round();
        let one_way = (data.mean_one_way_delay_s.unwrap() * 1e3).round();
        assert_eq!(of_transfer(transfer.fct_s), one_way);
        assert_eq!(of_transfer(back.fct_s), one_way);
        one_way
    };
    assert_eq!(["both", "sources", "sinks"].map(delay_ms), [100.0, 55.0, 55.0]);
}
