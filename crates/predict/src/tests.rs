//! Experiments and what models say of them, worked by hand.

use fairway_spec::{Experiment, ExperimentErrors, from_document, plan};

use proptest::prelude::*;
use proptest::sample;

use super::{Prediction, predict};

/// A dumbbell: one kind of flow, 8 Mbit/s, 1000-byte packets with headers, 50 ms there and back but for
/// transmissions.
fn text(queue: &str, link: &str, flow: &str, rest: &str) -> String {
    format!(
        "duration = \"1000 s\"\n\
         [stack]\npreset = \"rfc5681\"\ntimestamps = false\nmss = \"960 bytes\"\n{rest}\n\
         [topology]\nkind = \"dumbbell\"\n\
         [topology.bottleneck]\nrate = \"8 Mbit/s\"\ndelay = \"25 ms\"\nqueue = {queue}\n{link}\n\
         [measure]\nwindow = [\"500 s\", \"1000 s\"]\n\
         [[flow]]\n{flow}\n"
    )
}

fn experiment(text: &str) -> Experiment {
    let plan = plan(text, "test.toml").unwrap();
    from_document(&plan.points[0].document).unwrap()
}

fn answer(text: &str) -> Result<Prediction, ExperimentErrors> {
    predict(&experiment(text))
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} is not {expected}");
}

const TAIL: &str = "{ kind = \"droptail\", limit = \"51 packets\" }";
/// Propagation, 1 ms for 1000 bytes there and 40 µs for 40 bytes back.
const RTT_S: f64 = 0.051_04;

#[test]
fn a_window_is_a_window_each_round_trip() {
    let found =
        answer(&text(TAIL, "", "cc = \"vegas\"\nreceive_buffer = \"9600 bytes\"", "")).unwrap();
    let [flow] = &found.flows[..] else { panic!("one flow") };
    // Ten packets of 960 bytes in 51.04 ms.
    near(flow.goodput_bps, 10.0 * 7680.0 / RTT_S);
    near(flow.throughput_bps, 10.0 * 8000.0 / RTT_S);
    assert_eq!((flow.model.name, flow.model.in_range), ("window limit", true));
    near(found.links[0].utilisation, 10.0 * 8000.0 / RTT_S / 8e6);
    near(found.metrics.goodput_bps, flow.goodput_bps);
}

#[test]
fn windows_that_fill_the_path_wait() {
    let found =
        answer(&text(TAIL, "", "cc = \"cubic\"\ncount = 4\nreceive_buffer = \"19200 bytes\"", ""));
    let found = found.unwrap();
    // 4 windows of 20 on 1000 packets a second: a round trip of 80 ms.
    assert_eq!(found.flows[0].model.name, "windows fill the path");
    near(found.flows[3].goodput_bps, 250.0 * 7680.0);
    near(found.flows[3].mean_srtt_s.unwrap(), 0.08);
    near(found.links[0].mean_sojourn_s.unwrap(), 0.08 - RTT_S);
    near(found.metrics.jain_index.unwrap(), 1.0);
}

#[test]
fn an_application_that_writes_little() {
    let found = answer(&text(TAIL, "", "cc = \"bbr\"\napp_rate = \"1 Mbit/s\"", "")).unwrap();
    assert_eq!(found.flows[0].model.name, "application limit");
    near(found.flows[0].goodput_bps, 1e6);
    near(found.links[0].utilisation, 1e6 * 1000.0 / 960.0 / 8e6);
}

#[test]
fn random_loss_is_a_law_of_the_algorithm() {
    let loss = "loss = { kind = \"bernoulli\", probability = 0.004 }";
    let found = answer(&text(TAIL, loss, "cc = \"reno\"", "")).unwrap();
    // sqrt(1.5/0.004) = 19.3649 packets each round trip, of which 4 in 1000 are lost.
    let flow = &found.flows[0];
    assert_eq!((flow.model.name, flow.model.in_range), ("mathis", true));
    near(flow.mean_cwnd_segments.unwrap(), 19.364_917);
    near(flow.goodput_bps, 19.364_917 * 0.996 * 7680.0 / RTT_S);
    near(flow.loss_ratio.unwrap(), 0.004);
}

#[test]
fn the_sawtooth_of_one_flow() {
    // P = 51.04, B = 50, S = 101.04: Reno falls to 50.52, below the path by a hair.
    let found = answer(&text(TAIL, "", "cc = \"reno\"", "")).unwrap();
    let flow = &found.flows[0];
    assert_eq!((flow.model.name, flow.model.in_range), ("sawtooth", true));
    let (p, s, l) = (51.04, 101.04, 50.52);
    let time = p * (p - l) + (s * s - p * p) / 2.0;
    near(found.links[0].utilisation, (s * s - l * l) / 2.0 / time);
    // 1.5/w² at the top of the window.
    near(flow.loss_ratio.unwrap(), 1.5 / (s * s));
}

#[test]
fn datagrams_take_what_they_want() {
    let both = text(
        TAIL,
        "",
        "cc = \"cubic\"\n[[flow]]\nkind = \"cbr\"\nrate = \"972 kbit/s\"\n\
                               packet = \"1000 bytes\"",
        "",
    );
    let found = answer(&both).unwrap();
    // 972 kbit/s of 972 bytes each are 1 Mbit/s of the link's 8, and the rest is the flow's.
    assert_eq!(found.flows.len(), 2);
    near(found.metrics.goodput_bps, 7e6 * 0.96 * (found.flows[0].goodput_bps / 6.72e6));
    assert_eq!((found.flows[1].cc.as_deref(), found.flows[1].kind), (None, Some("cbr")));
    near(found.flows[1].goodput_bps, 972e3 * (1.0 - found.flows[1].loss_ratio.unwrap()));
    // Alone and more than there is: 16 on 8 Mbit/s.
    let alone =
        text(TAIL, "", "kind = \"cbr\"\nrate = \"15.552 Mbit/s\"\npacket = \"1000 bytes\"", "");
    let found = answer(&alone).unwrap();
    near(found.flows[0].goodput_bps, 7.776e6);
    near(found.flows[0].loss_ratio.unwrap(), 0.5);
    near(found.links[0].mean_sojourn_s.unwrap(), 0.05);
}

#[test]
fn parallel_links_are_asked_one_by_one() {
    let text = "duration = \"100 s\"\n[stack]\npreset = \"rfc5681\"\n[topology]\nkind = \"parallel\"\n\
                multipath = \"in-turn\"\n\
                [[topology.link]]\nid = \"a\"\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
                [[topology.link]]\nid = \"b\"\nrate = \"4 Mbit/s\"\ndelay = \"20 ms\"\n\
                [measure]\nwindow = [\"50 s\", \"100 s\"]\n\
                [[flow]]\nid = \"t\"\ncc = \"cubic\"\nconnections = 2\n";
    let found = answer(text).unwrap();
    let ids: Vec<&str> = found.links.iter().map(|link| link.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    near(
        found.flows[0].goodput_bps / found.links[0].utilisation,
        2.0 * found.flows[1].goodput_bps / found.links[1].utilisation,
    );
    assert_eq!(found.applications[0].connections, 2);
    near(found.applications[0].goodput_bps, found.metrics.goodput_bps);
}

#[test]
fn flows_that_keep_a_queue() {
    let found = answer(&text(TAIL, "", "cc = \"vegas\"", "")).unwrap();
    // Three packets, between two and four: 3 ms on 1000 packets a second.
    let flow = &found.flows[0];
    assert_eq!((flow.model.name, flow.model.in_range), ("vegas", true));
    near(flow.goodput_bps, 7.68e6);
    near(flow.mean_srtt_s.unwrap(), RTT_S + 0.003);
    near(flow.mean_cwnd_segments.unwrap(), 54.04);
    near(found.links[0].mean_backlog_packets.unwrap(), 3.0);
    // 100 ms of queue, where there is room for 200 packets; and where there is for 50.
    let long = "{ kind = \"droptail\", limit = \"201 packets\" }";
    let found = answer(&text(long, "", "cc = \"ledbat\"", "")).unwrap();
    assert!(found.flows[0].model.in_range);
    near(found.flows[0].mean_srtt_s.unwrap(), RTT_S + 0.1);
    let short = answer(&text(TAIL, "", "cc = \"ledbat\"", "")).unwrap();
    assert!(!short.flows[0].model.in_range);
}

#[test]
fn bbr_beside_reno() {
    let long = "{ kind = \"droptail\", limit = \"511 packets\" }";
    let flows = "cc = \"reno\"\n[[flow]]\ncc = \"bbr\"";
    let found = answer(&text(long, "", flows, "")).unwrap();
    // X = 510/51.04 = 9.99216: 0.5 - 0.0500392 - 4/510 = 0.442118 of the buffer is Reno's, and BBR probes
    // for (0.51 + 0.2 + 0.05104)/10 = 0.076104 of the time: 0.557882 · 0.923896 = 0.515425.
    let bbr = &found.flows[1];
    assert_eq!((bbr.model.name, bbr.model.in_range), ("bbr-share", true));
    assert!((bbr.goodput_bps / 7.68e6 - 0.515_425).abs() < 1e-5, "{}", bbr.goodput_bps / 7.68e6);
    near(found.flows[0].goodput_bps + bbr.goodput_bps, 7.68e6);
}

#[test]
fn a_transfer_takes_its_time() {
    let flow = "cc = \"cubic\"\nbytes = \"9600 bytes\"\nstart = \"600 s\"";
    let found = answer(&text(TAIL, "", flow, "initial_window = \"2 segments\"")).unwrap();
    // A handshake, and 2, 4 and 4 of 8 packets: log2(10/2 + 1) = 2.584963 round trips.
    let flow = &found.flows[0];
    assert_eq!((flow.model.name, flow.model.in_range), ("cardwell", true));
    near(flow.fct_s.unwrap(), RTT_S * 3.584_962_5);
    // Ten packets in 500 s.
    near(flow.goodput_bps, 76_800.0 / 500.0);
}

#[test]
fn flows_that_differ_share() {
    let pair = "cc = \"reno\"\n[[flow]]\ncc = \"newreno\"";
    let found = answer(&text(TAIL, "", pair, "")).unwrap();
    // The same law: half of the link each, at a full queue of 50 ms.
    assert_eq!(found.flows[0].model.name, "equal losses");
    near(found.flows[0].goodput_bps, found.flows[1].goodput_bps);
    near(found.metrics.goodput_bps, 7.68e6);
    near(found.flows[0].mean_srtt_s.unwrap(), RTT_S + 0.05);
    assert!(!found.flows[0].model.in_range);
    // With a queue for each, whatever they are; one that wants 100 packets a second leaves 900.
    let pair = "cc = \"vegas\"\n[[flow]]\ncc = \"bbr\"\n[[flow]]\ncc = \"cubic\"\napp_rate = \"768 kbit/s\"";
    let found = answer(&text("{ kind = \"fq_codel\" }", "", pair, "")).unwrap();
    assert_eq!(found.flows[0].model.name, "fair queueing");
    near(found.flows[0].goodput_bps, 450.0 * 7680.0);
    near(found.flows[1].goodput_bps, 450.0 * 7680.0);
    near(found.flows[2].goodput_bps, 768e3);
}

#[test]
fn a_cell_of_windows() {
    let flows: String = [(0, 1), (1, 2)]
        .map(|(station, window)| {
            format!(
                "[[flow]]\ncc = \"reno\"\nfrom = \"server\"\nto = \"sta{station}\"\n\
                 receive_buffer = \"{window} segments\"\n"
            )
        })
        .concat();
    let text = format!(
        "duration = \"1000 s\"\n\
         [stack]\npreset = \"rfc5681\"\ntimestamps = false\nmss = \"1460 bytes\"\ndelayed_ack = false\n\
         [topology]\nkind = \"wlan\"\nstandard = \"802.11b\"\nstations = 2\n\
         server = {{ rate = \"unlimited\", delay = \"0 s\" }}\n\
         [measure]\nwindow = [\"500 s\", \"1000 s\"]\n{flows}"
    );
    let found = answer(&text).unwrap();
    // Windows of one and two packets: G = 9, cycle 1309.966 µs; shares 3/8 and 5/8, of which the rates
    // are 143.133 and 238.556 packets a second, to the digits of the times that go into them.
    for (flow, pps) in found.flows.iter().zip([143.133, 238.556]) {
        assert_eq!(flow.model.name, "WLAN cell");
        let found = flow.goodput_bps / 11_680.0;
        assert!((found / pps - 1.0).abs() < 5e-3, "{found} is not {pps}");
    }
    assert!(found.links.is_empty() && found.metrics.utilisation.is_none());
}

/// Everything that is refused, by the key that its refusal names.
#[test]
fn what_no_model_covers_is_refused_by_name() {
    let flows = |flow: &str| text(TAIL, "", flow, "");
    let link = |link: &str| text(TAIL, link, "cc = \"cubic\"", "");
    let queue = |queue: &str| text(queue, "", "cc = \"cubic\"", "");
    let cases = [
        (flows("cc = \"cubic\"\nkind = \"web\"\nsize = \"10 kB\""), "flow.0.kind"),
        (flows("cc = \"cubic\"\nkind = \"ftp\"\nsize = \"10 kB\""), "flow.0.kind"),
        (flows("cc = \"cubic\"\nboth_ways = true"), "flow.0.both_ways"),
        (flows("cc = \"cubic\"\nread_rate = \"1 Mbit/s\""), "flow.0.read_rate"),
        (flows("cc = \"cubic\"\nread_interval = \"10 ms\""), "flow.0.read_interval"),
        (flows("cc = \"veno\""), "flow.0.cc"),
        (link("loss = { kind = \"gilbert-elliott\", p = 0.01, r = 0.2 }"), "topology.bottleneck.loss"),
        (link("loss = { probability = 0.01, replay = \"ns3\" }"), "topology.bottleneck.loss.replay"),
        (link("jitter = { mean = \"1 ms\", deviation = \"1 ms\", distribution = \"normal\" }"),
         "topology.bottleneck.jitter"),
        (link("duplication = { probability = 0.1 }"), "topology.bottleneck.duplication"),
        (link("reordering = { kind = \"early\", probability = 0.1, gap = 5, delay = \"3 ms\" }"),
         "topology.bottleneck.reordering"),
        (link("on_off = { on = \"4 s\", off = \"200 ms\" }"), "topology.bottleneck"),
        (link("loss = { kind = \"bernoulli\", probability = 1.0 }"), "topology.bottleneck"),
        (link("reverse = { rate = \"10 kbit/s\" }"), "topology.bottleneck"),
        (queue("{ kind = \"sfq\" }"), "topology.bottleneck.queue.kind"),
        (flows("cc = \"cubic\"\nconnections = 2\nprogram = \"fairway\""), "flow.0.program"),
        (flows("cc = \"bbr\"\n[[flow]]\ncc = \"vegas\""), "flow.1.cc"),
        (flows("cc = \"cubic\"\nbytes = \"1 MB\"\n[[flow]]\ncc = \"cubic\"\nbytes = \"9 MB\""),
         "flow.1.bytes"),
        (queue("{ kind = \"tbf\", rate = \"5 Mbit/s\", burst = \"15 kB\", limit = \"100 ms\" }"),
         "topology.bottleneck.queue.kind"),
        (queue("{ kind = \"dualpi2\" }"), "topology.bottleneck.queue.kind"),
        (flows("cc = \"cubic\"\n[[flow]]\nkind = \"cbr\"\nrate = \"9 Mbit/s\""), "topology.bottleneck"),
        (flows("cc = \"cubic\"\n[[flow]]\ncc = \"cubic\"\ndirection = \"reverse\""),
         "topology.bottleneck"),
        ("duration = \"1 s\"\n[topology]\nkind = \"wlan\"\nstandard = \"802.11b\"\nstations = 1\n\
             rts_threshold = \"500 bytes\"\nserver = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
          [[flow]]\ncc = \"reno\"\nfrom = \"server\"\nto = \"sta0\"\n".to_owned(), "topology.rts_threshold"),
    ];
    for (text, path) in cases {
        let refused = answer(&text).expect_err(&text);
        assert!(refused.errors.iter().any(|refusal| refusal.path == path), "{path}: {refused}");
        assert!(refused.errors.iter().all(|refusal| !refusal.message.is_empty()));
    }
}

/// What every answer holds, whatever it is of.
fn check(experiment: &Experiment) {
    let found = match predict(experiment) {
        Ok(found) => found,
        Err(refused) => {
            assert!(!refused.errors.is_empty());
            assert!(
                refused.errors.iter().all(|one| !one.path.is_empty() && !one.message.is_empty())
            );
            return;
        }
    };
    assert_eq!(found.flows.len(), experiment.flows.len() + experiment.datagrams.len());
    let text = serde_json::to_string(&found).unwrap();
    let holds = |value: f64| value.is_finite() && value >= 0.0;
    for flow in &found.flows {
        assert!(holds(flow.goodput_bps) && holds(flow.throughput_bps), "{text}");
        assert!(flow.throughput_bps >= flow.goodput_bps, "{text}");
        for value in [
            flow.mean_cwnd_segments,
            flow.mean_srtt_s,
            flow.mean_one_way_delay_s,
            flow.fct_s,
            flow.loss_ratio,
        ] {
            assert!(value.is_none_or(holds), "{text}");
        }
        assert!(flow.loss_ratio.is_none_or(|loss| loss <= 1.0), "{text}");
        assert_eq!(flow.model.in_range, flow.model.outside.is_none());
    }
    for link in &found.links {
        assert!(holds(link.utilisation) && link.utilisation <= 1.0, "{text}");
        assert!(link.mean_backlog_packets.is_none_or(holds), "{text}");
        assert!(link.mean_sojourn_s.is_none_or(holds), "{text}");
    }
    let metrics = &found.metrics;
    assert!(metrics.loss_ratio.is_none_or(|loss| (0.0..=1.0).contains(&loss)), "{text}");
    assert!(holds(metrics.goodput_bps), "{text}");
}

#[test]
fn every_example_is_answered_or_refused() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut points = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // A trace is read, and an algorithm of the user's own is found, by who reads the file.
        let Ok(plan) = plan(&text, "example.toml") else {
            assert!(text.contains("trace =") || text.contains("python:"), "{}", path.display());
            continue;
        };
        for point in &plan.points {
            check(&from_document(&point.document).unwrap());
            points += 1;
        }
    }
    assert!(points > 100, "{points}");
}

/// Any link, any queue, any flows.
fn anything() -> impl Strategy<Value = String> {
    let queue = sample::select(vec![
        "{ kind = \"droptail\", limit = \"1 packets\" }",
        "{ kind = \"droptail\", limit = \"1.0 bdp\" }",
        "{ kind = \"droptail\", limit = \"100 packets\" }",
        "{ kind = \"droptail\", limit = \"unlimited\" }",
        "{ kind = \"red\", limit = \"300 packets\" }",
        "{ kind = \"red\", limit = \"300 packets\", adaptive = true }",
        "{ kind = \"codel\" }",
        "{ kind = \"pie\", ecn = true }",
        "{ kind = \"fq_codel\" }",
        "{ kind = \"fq_pie\" }",
        "{ kind = \"cobalt\" }",
    ]);
    let rate = sample::select(vec!["1 bit/s", "64 kbit/s", "10 Mbit/s", "1 Tbit/s", "unlimited"]);
    let delay = sample::select(vec!["0 s", "1 us", "20 ms", "300 s"]);
    let loss = sample::select(vec!["0.0", "1e-12", "0.001", "0.3", "0.999999", "1.0"]);
    let names: Vec<&str> = algorithms();
    let one = (
        sample::select(names),
        1..40u32,
        sample::select(vec![
            "",
            "app_rate = \"1 Mbit/s\"",
            "receive_buffer = \"2 segments\"",
            "bytes = \"1 bytes\"",
            "bytes = \"10 MB\"",
            "start = \"50 s\"",
            "stop = \"30 s\"",
            "ecn = true",
        ]),
        sample::select(vec!["", "preset = \"linux-6.1\"", "preset = \"ns2-tcp-linux\""]),
    );
    let udp = sample::select(vec![
        "",
        "[[flow]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n",
        "[[flow]]\nkind = \"poisson\"\nrate = \"9 Mbit/s\"\ncount = 2\nbytes = \"1 MB\"\n",
        "[[flow]]\nkind = \"onoff\"\nrate = \"1 Mbit/s\"\n",
    ]);
    (queue, rate, delay, loss, proptest::collection::vec(one, 0..3), udp).prop_map(
        |(queue, rate, delay, loss, flows, udp)| {
            let preset = flows.first().map_or("", |(_, _, _, preset)| preset);
            let mut text = format!(
                "duration = \"100 s\"\n[stack]\n{preset}\n[topology]\nkind = \"dumbbell\"\n\
                 [topology.bottleneck]\nrate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {queue}\n\
                 loss = {{ kind = \"bernoulli\", probability = {loss} }}\n"
            );
            for (cc, count, more, _) in flows {
                text += &format!("[[flow]]\ncc = \"{cc}\"\ncount = {count}\n{more}\n");
            }
            text + udp
        },
    )
}

/// Names of every congestion control.
fn algorithms() -> Vec<&'static str> {
    fairway_cc::algorithms().iter().map(|algorithm| algorithm.name).collect()
}

proptest! {
    #[test]
    fn any_experiment_is_answered_or_refused(text in anything()) {
        if let Ok(plan) = plan(&text, "any.toml") {
            check(&from_document(&plan.points[0].document).unwrap());
        }
    }
}
