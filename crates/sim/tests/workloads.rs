//! Applications that ask and answer, on paths where their times can be worked out by hand.

use fairway_schema::ApplicationSummary;
use fairway_sim::{Control, Run, run};
use fairway_spec::from_document;
use serde_json::{Value, json};

fn workload(flow: Value, rate: &str, duration: &str) -> Run {
    let document = json!({
        "duration": duration,
        "topology": {
            "kind": "dumbbell",
            "bottleneck": { "rate": rate, "delay": "1 ms", "queue": { "limit": "unlimited" } },
        },
        "flow": [flow],
    });
    let experiment = from_document(&document).unwrap_or_else(|errors| panic!("{errors}"));
    run(&experiment, &Control::default()).unwrap()
}

fn figure(application: &ApplicationSummary, name: &str) -> f64 {
    let found = application.figures.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no {name} in {application:?}")).1.unwrap_or(f64::NAN)
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

/// At 10 Mbit/s a byte takes 0.8 µs; a segment has 52 bytes of headers, a SYN 60.
fn wire_s(bytes: f64) -> f64 {
    bytes * 0.8e-6
}

#[test]
fn requests_by_hand() {
    let flow = json!({
        "id": "r", "kind": "request", "cc": "reno", "request": "500 bytes", "size": "1000 bytes",
        "think": "1 s", "transfers": 5,
    });
    let run = workload(flow, "10 Mbit/s", "20 s");
    let application = &run.summary.applications[0];
    assert_eq!((application.kind, figure(application, "responses")), ("request", 5.0));
    // An exchange on the open connection: 1 ms there and 1 ms back, the request, and the answer, which
    // acknowledges it.
    let exchange = 2e-3 + wire_s(552.0) + wire_s(1052.0);
    assert_near(figure(application, "median_response_time_s"), exchange);
    // The first one waits for the handshake: SYN, answer, and its acknowledgement in front of the request;
    // and Linux acknowledges the first data at once, in front of the answer.
    let first = exchange + 2e-3 + wire_s(60.0 + 60.0 + 52.0 + 52.0);
    assert_near(figure(application, "p99_response_time_s"), first);
    assert_near(application.fct_s.unwrap(), first + 4.0 * (1.0 + exchange));
    // The data goes forward, the requests back.
    let [answers, requests] = &run.summary.flows[..] else { panic!("two rows") };
    assert_eq!((answers.id.as_str(), requests.id.as_str()), ("r", "r/reverse"));
    assert_near(answers.goodput_bps, 5000.0 * 8.0 / 20.0);
    assert_near(requests.goodput_bps, 2500.0 * 8.0 / 20.0);
}

#[test]
fn files_by_hand() {
    let flow = json!({
        "kind": "ftp", "cc": "reno", "size": "1000 bytes", "think": "2 s", "transfers": 3,
    });
    let run = workload(flow, "10 Mbit/s", "20 s");
    // Each with a handshake: 3 ms, and 60 + 60 + 52 + 1052 bytes.
    let file = 3e-3 + wire_s(1224.0);
    let application = &run.summary.applications[0];
    assert_near(figure(application, "mean_file_time_s"), file);
    assert_near(application.fct_s.unwrap(), 3.0 * file + 4.0);
    assert_eq!((run.summary.completions[0].count, run.summary.flows.len()), (3, 3));
    assert_near(run.summary.completions[0].median_s.unwrap(), file);
}

#[test]
fn somebody_types() {
    let flow = json!({ "kind": "telnet", "cc": "reno", "think": "100 ms", "transfers": 50 });
    let run = workload(flow, "10 Mbit/s", "10 s");
    let application = &run.summary.applications[0];
    assert_eq!(figure(application, "writes"), 50.0);
    // One byte on an idle path, each time: also at the start, 100 ms after the handshake began.
    assert_near(figure(application, "mean_delay_s"), 1e-3 + wire_s(53.0));
    assert_near(application.fct_s.unwrap(), 5.0 + 1e-3 + wire_s(53.0));
}

#[test]
fn pauses_between_reads_by_hand() {
    let completion = |reading: Value| {
        let mut flow = json!({ "cc": "reno", "bytes": "7240 bytes" });
        flow.as_object_mut().unwrap().extend(reading.as_object().unwrap().clone());
        workload(flow, "10 Mbit/s", "5 s").summary.flows[0].fct_s.unwrap()
    };
    // Five segments of 1448 bytes in one flight behind a handshake, SYN, answer and acknowledgement: all are
    // there within 6 ms of the first, which is read when it arrives.
    let first = 3e-3 + wire_s(60.0 + 60.0 + 52.0 + 1500.0);
    assert_near(completion(json!({})), first + wire_s(4.0 * 1500.0));
    // One pause, and everything else at once.
    assert_near(completion(json!({ "read_interval": "100 ms" })), first + 0.1);
    // A segment at a time: four more reads. 2000 bytes at a time: of 5792 that are left, three more.
    let reads = |size: &str| json!({ "read_interval": "100 ms", "read_size": size });
    assert_near(completion(reads("1448 bytes")), first + 0.4);
    assert_near(completion(reads("2000 bytes")), first + 0.3);
}

#[test]
fn a_window_is_read_once_a_pause() {
    // 30 segments of window are read, and filled again, every 100 ms: 2.4 Mbit/s of 1000 bytes each.
    let flow = json!({
        "cc": "reno", "read_interval": "100 ms",
        "mss": "1000 bytes", "receive_buffer": "30 kB", "receive_window_tuning": false, "window_divisor": 1,
    });
    let run = workload(flow, "10 Mbit/s", "50 s");
    let goodput = run.summary.flows[0].goodput_bps;
    assert!((goodput / 2.4e6 - 1.0).abs() < 0.02, "{goodput}");
    // A write that comes when the pause is over is read when it arrives.
    let flow = json!({
        "kind": "telnet", "cc": "reno", "think": "100 ms", "transfers": 50,
        "read_interval": "90 ms",
    });
    let run = workload(flow, "10 Mbit/s", "10 s");
    assert_near(figure(&run.summary.applications[0], "mean_delay_s"), 1e-3 + wire_s(53.0));
}

#[test]
fn bursts_by_hand() {
    let flow = json!({
        "kind": "bursts", "cc": "reno", "app_rate": "1 Mbit/s", "burst": "100 ms",
        "pause": "100 ms",
    });
    let run = workload(flow, "10 Mbit/s", "10 s");
    // Pieces of 1448 bytes every 11.584 ms: nine in a burst, 13 032 bytes in each 200 ms.
    let application = &run.summary.applications[0];
    assert_eq!(figure(application, "bursts"), 50.0);
    assert_near(application.goodput_bps, 13_032.0 * 8.0 * 5.0);
    // The last piece leaves 8 · 11.584 ms behind the first.
    let burst = 8.0 * 11.584e-3 + 1e-3 + wire_s(1500.0);
    assert_near(figure(application, "median_burst_time_s"), burst);
}

#[test]
fn an_incast_waits_for_the_last_server() {
    let flow = json!({
        "kind": "incast", "cc": "reno", "servers": 8, "size": "14480 bytes", "transfers": 20,
        "request": "100 bytes",
    });
    let run = workload(flow, "10 Mbit/s", "20 s");
    let application = &run.summary.applications[0];
    assert_eq!((figure(application, "rounds"), application.connections), (20.0, 8));
    // The link carries eight times ten full segments at the least, and it takes a round trip to ask.
    let least = 2e-3 + wire_s(80.0 * 1500.0);
    let median = figure(application, "median_round_time_s");
    assert!((least..least + 3e-3).contains(&median), "{median}, not {least}");
    // Of eight that go on at once, all wait for the last: their rows have had the same number of bytes.
    let bytes = |flow: &fairway_schema::FlowSummary| (flow.goodput_bps * 20.0 / 8.0).round();
    let answers: Vec<f64> = run.summary.flows[..8].iter().map(bytes).collect();
    assert_eq!(answers, [289_600.0; 8]);
    let goodput = figure(application, "mean_round_goodput_bps");
    assert!((goodput / (8.0 * 14_480.0 * 8.0 / median) - 1.0).abs() < 0.05, "{goodput}");
}

#[test]
fn pages_load_faster_over_several_connections() {
    let page = |connections: u64| {
        let flow = json!({
            "kind": "web", "cc": "reno", "size": "1000 bytes", "objects": 13, "transfers": 10,
            "think": "500 ms", "connections": connections,
        });
        let run = workload(flow, "10 Mbit/s", "30 s");
        let application = &run.summary.applications[0];
        assert_eq!(figure(application, "pages"), 10.0);
        assert!(application.fct_s.is_some());
        // 130 objects, whichever way.
        let sum: f64 = run
            .summary
            .flows
            .iter()
            .filter(|f| !f.id.ends_with("/reverse"))
            .map(|flow| flow.goodput_bps * 30.0 / 8.0)
            .sum();
        assert!((sum - 130_000.0).abs() < 1.0, "{sum}");
        figure(application, "median_page_load_time_s")
    };
    // One connection: thirteen round trips; six: one for the first object and two for the twelve others.
    let (one, six) = (page(1), page(6));
    let exchange = 2e-3 + wire_s(352.0 + 1052.0);
    assert!((one / (13.0 * exchange) - 1.0).abs() < 0.05, "{one}");
    assert!((3.0 * exchange..3.0 * exchange + 12.0 * wire_s(1052.0)).contains(&six), "{six}");
}

#[test]
fn a_film_stalls_as_long_as_the_link_is_too_slow() {
    let film = |ladder: Value| {
        let flow = json!({
            "kind": "video", "cc": "cubic", "ladder": ladder, "segment": "2 s", "buffer": "20 s",
        });
        workload(flow, "1 Mbit/s", "400 s")
    };
    // Twice what the link carries, of which headers take 52 in 1500 bytes: the film goes on for
    // 1448/1500/2 of the time, and a little less for the requests.
    let slow = film(json!(["2 Mbit/s"]));
    let application = &slow.summary.applications[0];
    let stalled =
        figure(application, "stalled_s") / (400.0 - figure(application, "start_up_delay_s"));
    let expected = 1.0 - 1448.0 / 1500.0 / 2.0;
    assert!((stalled - expected).abs() < 0.02, "{stalled}, not {expected}");
    // With a rung below the link's rate it does not stall, and uses what there is.
    let fine = film(json!(["200 kbit/s", "400 kbit/s", "800 kbit/s", "2 Mbit/s"]));
    let application = &fine.summary.applications[0];
    assert_eq!(figure(application, "stalls"), 0.0);
    let rate = figure(application, "mean_video_rate_bps");
    assert!((6e5..9.7e5).contains(&rate), "{rate}");
}

#[test]
fn a_stop_ends_every_kind() {
    let kinds = [
        json!({ "kind": "ftp", "size": "100 kB" }),
        json!({ "kind": "telnet" }),
        json!({ "kind": "request", "size": "100 kB" }),
        json!({ "kind": "web", "size": "30 kB" }),
        json!({ "kind": "bursts", "app_rate": "2 Mbit/s" }),
        json!({ "kind": "video", "ladder": ["500 kbit/s"] }),
        json!({ "kind": "incast", "size": "10 kB", "servers": 3 }),
        json!({ "kind": "arrivals", "size": "10 kB", "flow_rate": 10 }),
    ];
    for mut flow in kinds {
        flow["cc"] = json!("cubic");
        flow["stop"] = json!("3 s");
        let run = workload(flow, "10 Mbit/s", "30 s");
        let kind = run.summary.applications[0].kind;
        let last =
            run.series.t_s.iter().zip(&run.series.goodput_bps).filter(|(_, bps)| **bps > 0.0);
        let last = last.map(|(t, _)| *t).fold(0.0, f64::max);
        assert!(last < 4.0, "{kind}: {last}");
        assert!(run.summary.applications[0].goodput_bps > 0.0, "{kind}");
    }
}

#[test]
fn an_application_far_ahead_of_its_connection_costs_no_more_than_an_endless_one() {
    // A write every 12 ns, or every 10 ns of a burst, would be some 10^9 in these seconds.
    let bulk = json!({ "id": "a", "cc": "cubic", "both_ways": true, "stop": "9 s" });
    let endless = workload(bulk.clone(), "39 Mbit/s", "10 s");
    let mut fast = bulk;
    fast["app_rate"] = json!("1 Tbit/s");
    let fast = workload(fast, "39 Mbit/s", "10 s");
    for (fast, endless) in fast.summary.flows.iter().zip(&endless.summary.flows) {
        // They differ in the first segments: what is written when the connection is there. So they
        // lose other packets.
        let share = fast.goodput_bps / endless.goodput_bps;
        assert!((share - 1.0).abs() < 0.02, "{}: {share}", fast.id);
    }
    let bursts = json!({
        "kind": "bursts", "cc": "cubic", "app_rate": "1 Tbit/s", "burst": "900 ms",
        "pause": "100 ms",
    });
    let telnet = json!({ "kind": "telnet", "cc": "cubic", "think": "10 ns", "size": "1 kB" });
    for flow in [bursts, telnet] {
        let run = workload(flow, "39 Mbit/s", "10 s");
        // Payload of 1448 in packets of 1500 bytes, but for the slow start.
        let goodput = run.summary.applications[0].goodput_bps / (39e6 * 1448.0 / 1500.0);
        assert!((0.98..=1.0).contains(&goodput), "{goodput}");
    }
}

#[test]
fn a_burst_that_waited_for_room_is_as_long_as_it_was_to_be() {
    // 100 ms at 100 Mbit/s are 864 pieces of 1448 bytes, each after 115.84 us, and a second holds 10 of
    // them: 10 Mbit/s carry one burst in 1.036 s and more, and the rest waits.
    let flow = json!({
        "kind": "bursts", "cc": "reno", "app_rate": "100 Mbit/s", "burst": "100 ms",
        "pause": "900 ms", "send_buffer": "100 kB", "receive_buffer": "100 kB", "stop": "20 s",
    });
    let run = workload(flow, "10 Mbit/s", "21 s");
    let application = &run.summary.applications[0];
    let piece = wire_s(1500.0);
    let bursts = figure(application, "bursts");
    // 20 s carry 16 666 packets: 19 bursts of 864, and one that is cut off.
    assert_eq!(bursts, 19.0);
    let first = 864.0 * piece;
    let mean = figure(application, "mean_burst_time_s");
    // Burst n of 1 to 19 ends n times that after the first began, and n - 1 seconds before that it did.
    let expected = 10.0 * first - 9.0;
    assert!((mean - expected).abs() < 0.03, "{mean}, not {expected}");
}
