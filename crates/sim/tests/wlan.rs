//! TCP through a WLAN cell, against models of it.
//!
//! The models take TCP for a number of tokens, as many as its window has segments, each of which is a
//! data frame on its way there or an acknowledgement on its way back: a closed network of queues whose
//! servers are the access point and the stations. Nothing is lost in them; what a success takes is
//! Bianchi's mean for so many contenders. Their numbers are those of segments of 1460 bytes, 1500 with
//! headers, and acknowledgements of 40.

use crate::common::run_text;
use fairway_sim::{Control, Run, run};
use fairway_spec::{from_document, plan};

/// A cell with flows, each from, to and with a window of so many segments.
fn cell(standard: &str, topology: &str, flows: &[(&str, &str, u32)]) -> String {
    let flows: String = flows
        .iter()
        .map(|(from, to, window)| {
            format!(
                "[[flow]]\ncc = \"newreno\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
                 receive_buffer = \"{window} segments\"\n"
            )
        })
        .collect();
    format!(
        r#"
        duration = "65 s"
        [stack]
        preset = "rfc5681"
        mss = "1460 bytes"
        delayed_ack = false
        initial_ssthresh = "unlimited"
        [topology]
        kind = "wlan"
        standard = "{standard}"
        stations = 10
        server = {{ rate = "1 Gbit/s", delay = "1 us" }}
        {topology}
        [measure]
        window = ["5 s", "65 s"]
        {flows}
        "#
    )
}

fn mbit(run: &Run) -> Vec<f64> {
    run.summary.flows.iter().map(|flow| flow.goodput_bps / 1e6).collect()
}

fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    assert!(error.abs() <= tolerance, "measured {measured}, expected {expected}");
}

#[test]
fn downloads_share_what_does_not_depend_on_their_number() {
    // 1, 3 and 10 downloads with windows of 20: 4.4745, 4.4762 and 4.4718 Mbit/s in 802.11b, 21.155,
    // 21.112 and 21.090 in 802.11g, where the model's slots, of which it has one more after each
    // exchange, are known to say 2.5 % too much.
    let stations: Vec<String> = (0..10).map(|i| format!("sta{i}")).collect();
    for (n, b, g) in [(1, 4.4745, 21.155), (3, 4.4762, 21.112), (10, 4.4718, 21.090)] {
        let flows: Vec<_> = stations[..n].iter().map(|sta| ("server", sta.as_str(), 20)).collect();
        for (standard, expected, tolerance) in [("802.11b", b, 0.012), ("802.11g", g, 0.03)] {
            let goodput = mbit(&run_text(&cell(standard, "", &flows)));
            assert_near(goodput.iter().sum(), expected, tolerance);
            for share in goodput {
                assert_near(share, expected / n as f64, 0.06);
            }
        }
    }
}

#[test]
fn flows_share_by_their_windows() {
    // An upload and a download with windows of 4: 2.2395 Mbit/s each. Three downloads with 5, 10 and
    // 20: 0.6529, 1.2967, 2.5283.
    let flows = [("sta0", "server", 4), ("server", "sta1", 4)];
    for goodput in mbit(&run_text(&cell("802.11b", "", &flows))) {
        assert_near(goodput, 2.2395, 0.03);
    }
    let flows = [("server", "sta0", 5), ("server", "sta1", 10), ("server", "sta2", 20)];
    let goodput = mbit(&run_text(&cell("802.11b", "", &flows)));
    for (goodput, expected) in goodput.into_iter().zip([0.6529, 1.2967, 2.5283]) {
        assert_near(goodput, expected, 0.03);
    }
}

#[test]
fn the_accounts_of_the_cell_balance() {
    let flows = [("sta0", "server", 10), ("server", "sta1", 10)];
    let run = run_text(&cell("802.11b", "", &flows));
    let wlan = run.summary.wlan.expect("a WLAN");
    let ids: Vec<&str> = wlan.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["ap", "sta0", "sta1"]);
    for node in &wlan.nodes {
        // An access ends well, in a collision or with an error, of which there are none here; one at
        // each edge of the window may be in two minds.
        let ended = node.delivered + node.collisions + node.errors;
        assert!(node.accesses.abs_diff(ended) <= 1, "{node:?}");
        assert_eq!((node.errors, node.duplicates, node.given_up), (0, 0, 0));
    }
    // Each data frame has an acknowledgement, through the access point one of each.
    let [ap, up, down] = &wlan.nodes[..] else { panic!() };
    assert!(ap.delivered.abs_diff(up.delivered + down.delivered) < 50);
    // The wire is fast, so the cell is the bottleneck. Stations of other names are not reported.
    assert!(wlan.busy > 0.75 && wlan.busy < 0.95 && wlan.collided < 0.1, "{wlan:?}");
    assert_eq!(run.summary.metrics.utilisation, Some(wlan.busy));
    assert_eq!(run.link_ids, ["ap", "sta0", "sta1", "server", "server/reverse"]);
    let busy: f64 = run.summary.links[..3].iter().map(|link| link.utilisation).sum();
    // Collisions are counted by each that takes part.
    assert!(busy > wlan.busy && busy < wlan.busy + 2.0 * wlan.collided);
}

#[test]
fn uploads_win_where_the_access_point_has_a_short_queue() {
    // S. Pilosof et al., "Understanding TCP fairness over wireless LAN", INFOCOM 2003: the queue of the
    // access point drops data of downloads and acknowledgements of uploads alike, but those are
    // cumulative. With room for the windows of both there is no difference.
    let flows = [("sta0", "server", 40), ("server", "sta1", 40)];
    let goodput = |queue: u32| {
        let queue = format!("ap_queue = {{ limit = \"{queue} packets\" }}");
        mbit(&run_text(&cell("802.11b", &queue, &flows)))
    };
    let [fair, unfair] = [200, 15].map(goodput);
    assert_near(fair[0], fair[1], 0.05);
    assert!(unfair[0] > 3.0 * unfair[1], "{unfair:?}");
}

#[test]
fn one_slow_station_pulls_all_down() {
    // M. Heusse et al., "Performance anomaly of 802.11b", INFOCOM 2003, with TCP: three uploads have
    // equal shares whatever their rates, and one at 1 Mbit/s leaves less than that to each.
    let flows = [("sta0", "server", 10), ("sta1", "server", 10), ("sta2", "server", 10)];
    let fast = mbit(&run_text(&cell("802.11b", "", &flows)));
    let slow_station = "station = [{ id = \"sta2\", rate = \"1 Mbit/s\" }]";
    let mixed = mbit(&run_text(&cell("802.11b", slow_station, &flows)));
    for goodput in fast {
        assert_near(goodput, 4.476 / 3.0, 0.05);
    }
    for goodput in &mixed {
        assert!((0.4..0.8).contains(goodput), "{mixed:?}");
        assert_near(*goodput, mixed[0], 0.1);
    }
}

#[test]
fn between_stations_everything_is_sent_twice() {
    let [near] = mbit(&run_text(&cell("802.11b", "", &[("server", "sta0", 20)])))[..] else {
        panic!()
    };
    let [far] = mbit(&run_text(&cell("802.11b", "", &[("sta1", "sta0", 20)])))[..] else {
        panic!()
    };
    // Data and acknowledgement have two exchanges instead of one; with one more contender, for each
    // of which back-off is shorter.
    assert!(far > 0.45 * near && far < 0.6 * near, "{near} and {far}");
}

#[test]
fn frames_that_cannot_be_read_are_sent_again() {
    let errors = "station = [{ id = \"sta0\", frame_error_rate = 0.3, control_error_rate = 0.05 }]";
    let flows = [("server", "sta0", 20), ("sta0", "server", 20)];
    let run = run_text(&cell("802.11b", errors, &flows));
    let wlan = run.summary.wlan.expect("a WLAN");
    for node in &wlan.nodes {
        // Of the accesses without collision 0.3 have an unreadable frame, and of the others 0.05 an
        // unreadable acknowledgement, which makes one duplicate: 0.3 + 0.7 · 0.05 and 0.7 · 0.05. Of
        // n accesses the first is known to √(0.22 / n): 0.5 % of 8000.
        let alone = (node.accesses - node.collisions) as f64;
        assert!(alone > 8000.0);
        assert!((node.errors as f64 / alone - 0.335).abs() < 0.02, "{node:?}");
        assert!((node.duplicates as f64 / alone - 0.035).abs() < 0.005, "{node:?}");
    }
    // TCP hardly ever hears of it: seven failures in a row are one in 2000.
    assert!(run.summary.flows.iter().all(|flow| flow.goodput_bps > 0.5e6));
}

#[test]
fn rts_and_cts_cost_time_and_save_collisions() {
    let stations: Vec<String> = (0..10).map(|i| format!("sta{i}")).collect();
    let flows: Vec<_> = stations.iter().map(|sta| (sta.as_str(), "server", 10)).collect();
    let plain = run_text(&cell("802.11b", "", &flows)).summary;
    let announced = run_text(&cell("802.11b", "rts_threshold = \"500 bytes\"", &flows)).summary;
    let total = |summary: &fairway_schema::Summary| -> f64 {
        summary.flows.iter().map(|flow| flow.goodput_bps).sum()
    };
    assert!(total(&announced) < total(&plain));
    let collided = |summary: &fairway_schema::Summary| summary.wlan.as_ref().unwrap().collided;
    assert!(collided(&announced) < collided(&plain));
}

#[test]
fn equal_experiments_have_equal_runs() {
    let flows = [("sta0", "server", 10), ("server", "sta1", 10)];
    let text = cell("802.11g", "", &flows).replace("65 s", "8 s");
    let [run, again] = [run_text(&text), run_text(&text)];
    assert!(run.summary == again.summary && run.queues == again.queues);
    let other = run_text(&text.replace("duration", "seed = 2\nduration"));
    assert!(run.summary.flows != other.summary.flows);
}

#[test]
fn datagrams_go_through_a_cell_too() {
    // 1 Mbit/s of payload, 972 bytes a packet, upwards and downwards is far less than a cell carries: all
    // 1286 packets of 10 s arrive, but for those that the end cuts off.
    let text = r#"
        duration = "10 s"
        [topology]
        kind = "wlan"
        standard = "802.11b"
        stations = 2
        server = { rate = "100 Mbit/s", delay = "0.1 ms" }
        [[flow]]
        kind = "cbr"
        rate = "1 Mbit/s"
        packet = "1000 bytes"
        from = "sta0"
        to = "server"
        [[flow]]
        kind = "cbr"
        rate = "1 Mbit/s"
        packet = "1000 bytes"
        from = "server"
        to = "sta1"
    "#;
    let run = run_text(text);
    let wlan = run.summary.wlan.expect("a WLAN");
    for node in &wlan.nodes {
        assert!((1284..=1287).contains(&node.delivered), "{node:?}");
    }
    for flow in &run.summary.flows {
        assert!(flow.throughput_bps > 0.95e6, "{flow:?}");
    }
}

#[test]
fn the_examples_run() {
    let anomaly = include_str!("../../../examples/wlan-anomaly.toml");
    let protection = include_str!("../../../examples/wlan-protection.toml");
    for (text, name) in [(anomaly, "wlan-anomaly.toml"), (protection, "wlan-protection.toml")] {
        let points = plan(text, name).unwrap().points;
        assert_eq!(points.len(), 4);
        let total = |document| {
            let run = run(&from_document(document).unwrap(), &Control::default()).unwrap();
            run.summary.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>()
        };
        let totals: Vec<f64> = points.iter().map(|point| total(&point.document)).collect();
        // Each axis costs: a slow station and RTS; protection and long slots.
        let [first, second, third, fourth] = totals[..] else { panic!() };
        assert!(first > second && first > third && second > fourth, "{name}: {totals:?}");
    }
}

#[test]
fn an_interface_queue_may_be_any_discipline() {
    // A shaper of 1 Mbit/s in the access point: frames of 1536 bytes with 1460 of payload, 0.95 Mbit/s.
    let shaper = "ap_queue = { kind = \"tbf\", rate = \"1 Mbit/s\", burst = \"5 kB\", \
                  limit = \"50 packets\" }";
    let run = run_text(&cell("802.11b", shaper, &[("server", "sta0", 20)]));
    assert_near(mbit(&run)[0], 1460.0 / 1536.0, 0.01);
    // CoDel keeps its target: behind the access point's queue a packet waits little longer.
    let codel = "ap_queue = { kind = \"codel\", target = \"20 ms\" }";
    let [plain, codel] = ["", codel].map(|queue| {
        let run = run_text(&cell("802.11b", queue, &[("server", "sta0", 200)]));
        run.summary.links[0].p99_sojourn_s.unwrap()
    });
    assert!(plain > 0.3 && codel < 0.15, "{plain} and {codel}");
}

#[test]
fn many_stations_take_part() {
    let stations: Vec<String> = (0..100).map(|i| format!("sta{i}")).collect();
    let flows: Vec<_> = stations.iter().map(|sta| (sta.as_str(), "server", 4)).collect();
    let text = cell("802.11g", "", &flows);
    let run = run_text(&text.replace("stations = 10", "stations = 100").replace("65 s", "15 s"));
    // By the same model hardly less than with ten.
    assert_near(mbit(&run).iter().sum(), 21.09, 0.05);
    assert_eq!(run.summary.wlan.unwrap().nodes.len(), 101);
}
