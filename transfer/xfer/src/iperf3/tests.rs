//! Both ends against each other.

mod nonsense;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::channel::COOKIE_BYTES;
use super::*;
use crate::measure::Subject;
use crate::{Control, Error, Event, Sessions, Task};

/// For everything that must happen, on a machine that is busy with something else.
const LONG: Duration = Duration::from_secs(600);

/// A server on a port of its own.
fn server(options: ServerOptions) -> (Task, SocketAddr) {
    let options = ServerOptions { bind: Some("127.0.0.1:0".into()), ..options };
    let task = Task::start(Sessions::default(), move |control, sessions| {
        serve(&options, subject("collector"), control, sessions)
    })
    .unwrap();
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        for event in task.control.take_events() {
            if let Event::Listening { address } = event {
                return (task, address.parse().unwrap());
            }
        }
        assert!(!task.wait(Duration::from_millis(5)), "{:?}", task.result());
    }
    panic!("it does not listen");
}

fn subject(kind: &'static str) -> Subject {
    let interval = Some(Duration::from_millis(100));
    Subject { interval, ..Subject::new("a test", "iperf3", kind) }
}

fn once() -> ServerOptions {
    ServerOptions { once: true, ..ServerOptions::default() }
}

fn options(address: SocketAddr) -> ClientOptions {
    ClientOptions { host: address.to_string(), duration_s: Some(0.3), ..ClientOptions::default() }
}

fn run(options: &ClientOptions) -> Result<Value, Error> {
    client(options, subject("generator"), &Control::new(), &Sessions::default())
}

/// Reports of both ends of one test.
fn both(change: impl FnOnce(&mut ClientOptions)) -> [Value; 2] {
    let (task, address) = server(once());
    let mut options = options(address);
    change(&mut options);
    let client = run(&options).unwrap();
    assert!(task.wait(LONG));
    [client, task.result().unwrap().unwrap()]
}

fn number(report: &Value, key: &str) -> f64 {
    report["end"][key]["bytes"].as_f64().unwrap()
}

/// Both ends report the same payload, of which more than nothing has arrived.
fn agree([client, server]: &[Value; 2], ways: &[&str]) {
    for way in ways {
        for end in ["sum_sent", "sum_received"] {
            let key = format!("{end}{way}");
            let counts = [number(client, &key), number(server, &key)];
            assert!(counts[0] > 0.0 && counts[0] == counts[1], "{key}: {counts:?}");
        }
    }
}

#[test]
fn data_goes_forward_back_and_both_ways() {
    for (direction, ways) in [
        (Directions::Forward, &[""][..]),
        (Directions::Reverse, &[""]),
        (Directions::Both, &["", "_bidir_reverse"]),
    ] {
        for streams in [1, 3] {
            let reports = both(|options| {
                (options.direction, options.streams) = (direction, streams);
            });
            agree(&reports, ways);
            let each = streams as usize * ways.len();
            assert_eq!(reports[0]["end"]["streams"].as_array().unwrap().len(), each);
            assert!(reports[0]["end"]["sum_sent"]["retransmits"].is_u64());
            assert!(reports[0]["end"]["sender_tcp_congestion"].is_string());
        }
    }
}

#[test]
fn datagrams_are_counted_at_both_ends() {
    for direction in [Directions::Forward, Directions::Reverse, Directions::Both] {
        for wide_numbers in [false, true] {
            let reports = both(|options| {
                options.protocol = Transport::Udp;
                options.block_bytes = Some(1000);
                options.bandwidth_bps = Some(2_000_000);
                (options.direction, options.wide_numbers) = (direction, wide_numbers);
                options.streams = 2;
            });
            let sums = reports.each_ref().map(|report| report["end"]["sum"].clone());
            // 75 datagrams on each of two streams; fewer on a machine that is busy.
            assert!(sums[0]["packets"].as_u64().unwrap() > 0, "{sums:?}");
            assert_eq!(sums[0]["lost_packets"], sums[1]["lost_packets"], "{sums:?}");
            assert!(sums[0]["jitter_ms"].is_number());
        }
    }
}

#[test]
fn an_amount_is_sent_to_its_last_byte() {
    let amount = 3_000_000.0;
    for direction in [Directions::Forward, Directions::Reverse] {
        let reports = both(|options| {
            (options.duration_s, options.bytes) = (None, Some(amount as u64));
            (options.direction, options.streams) = (direction, 3);
        });
        // In the other direction it is the client that notices.
        let key = if direction == Directions::Forward { "sum_sent" } else { "sum_received" };
        let bytes = number(&reports[0], key);
        assert!(bytes >= amount && bytes < amount + 3.0 * 131_072.0, "{bytes}");
        if direction == Directions::Forward {
            assert_eq!((bytes, number(&reports[1], "sum_received")), (amount, amount));
        }
    }
    let reports = both(|options| {
        (options.duration_s, options.blocks) = (None, Some(7));
        options.block_bytes = Some(1000);
    });
    assert_eq!(number(&reports[0], "sum_received"), 7000.0);
}

/// Bytes of the intervals that are not omitted, of which there are both kinds.
fn counted_in_rows(report: &Value) -> f64 {
    let rows: Vec<&Value> =
        report["intervals"].as_array().unwrap().iter().map(|interval| &interval["sum"]).collect();
    let counted: Vec<&&Value> = rows.iter().filter(|row| row["omitted"] == false).collect();
    assert!(!counted.is_empty() && counted.len() < rows.len());
    counted.iter().map(|row| row["bytes"].as_f64().unwrap()).sum()
}

#[test]
fn the_omitted_time_does_not_count() {
    let [client, _] = both(|options| (options.omit_s, options.duration_s) = (1.0, Some(0.5)));
    assert_eq!(counted_in_rows(&client), number(&client, "sum_sent"));
    assert_eq!(client["end"]["sum_sent"]["start"], 0);
    let [client, _] = both(|options| {
        (options.omit_s, options.duration_s) = (1.0, Some(0.5));
        (options.protocol, options.bandwidth_bps) = (Transport::Udp, Some(1_000_000));
        options.block_bytes = Some(500);
    });
    // The sums at the end hold the receiver's packets, whose omitted time ends a moment apart.
    for row in client["intervals"].as_array().unwrap() {
        let sum = &row["sum"];
        let (packets, bytes) = (sum["packets"].as_u64().unwrap(), sum["bytes"].as_u64().unwrap());
        assert_eq!(packets * 500, bytes, "{sum}");
    }
    assert_eq!(counted_in_rows(&client), number(&client, "sum"));
}

#[test]
fn every_way_to_send_and_receive_carries_data() {
    type Change = fn(&mut ClientOptions);
    let changes: [Change; 4] = [
        |options| options.zero_copy = true,
        |options| options.skip_copy = true,
        |options| (options.bandwidth_bps, options.burst) = (Some(8_000_000), Some(2)),
        |options| {
            (options.no_delay, options.tos, options.window_bytes) = (true, Some(0x10), Some(65_536))
        },
    ];
    for change in changes {
        agree(&both(change), &[""]);
    }
}

#[test]
fn the_servers_report_comes_along_if_it_is_wanted() {
    let [client, _] = both(|options| options.server_output = true);
    let text = client["server_output_text"].as_str().unwrap();
    assert!(text.contains("Mbit/s"), "{text}");
    let (_task, address) = server(ServerOptions { json_output: true, ..once() });
    let client = run(&ClientOptions { server_output: true, ..options(address) }).unwrap();
    assert!(client["server_output_json"]["end"]["sum_received"]["bytes"].is_u64());
}

#[test]
fn records_are_in_the_schema_of_every_backend() {
    for protocol in [Transport::Tcp, Transport::Udp] {
        let (task, address) = server(once());
        let sessions = Sessions::default();
        let (direction, bandwidth_bps) = (Directions::Both, Some(2_000_000));
        let asked = options(address);
        let asked = ClientOptions { protocol, streams: 2, direction, bandwidth_bps, ..asked };
        client(&asked, subject("generator"), &Control::new(), &sessions).unwrap();
        assert!(task.wait(LONG));
        for (session, end) in
            sessions.take().into_iter().chain(task.sessions.take()).zip(["client", "server"])
        {
            let about: Value = serde_json::from_str(&session.about).unwrap();
            let summary: Value = serde_json::from_str(&session.summary).unwrap();
            let flows = summary["flows"].as_array().unwrap();
            let ids: Vec<&str> = flows.iter().filter_map(|flow| flow["id"].as_str()).collect();
            assert_eq!(ids, ["iperf3/0", "iperf3/1", "iperf3/0/reverse", "iperf3/1/reverse"]);
            let goodput_bps = |of: &Value| of["goodput_bps"].as_f64().unwrap();
            assert!(flows.iter().all(|flow| goodput_bps(flow) > 0.0));
            // What goes back beside others is in the application and not in the metrics.
            let close = |of: &Value, flows: &[Value]| {
                let sum: f64 = flows.iter().map(goodput_bps).sum();
                assert!((goodput_bps(of) / sum - 1.0).abs() < 1e-9, "{protocol:?} {end}");
            };
            close(&summary["metrics"], &flows[..2]);
            close(&summary["applications"][0], flows);
            assert_eq!((about["role"].as_str(), session.failure), (Some(end), None));
        }
    }
}

#[test]
fn a_second_client_is_turned_away_and_several_are_let_in_if_allowed() {
    let (_task, address) = server(ServerOptions::default());
    let mut first = TcpStream::connect(address).unwrap();
    first.write_all(&[b'a'; COOKIE_BYTES]).unwrap();
    let mut state = [0];
    first.read_exact(&mut state).unwrap();
    assert_eq!(state, [9]);
    let refused = run(&options(address)).unwrap_err();
    assert!(matches!(&refused, Error::Refused(why) if why.contains("another test")), "{refused}");
    drop(first);
    let (_task, address) = server(ServerOptions { tests: 3, ..ServerOptions::default() });
    let at_once: Vec<_> = [Transport::Tcp, Transport::Udp, Transport::Udp]
        .map(|protocol| {
            let asked = ClientOptions { protocol, streams: 2, ..options(address) };
            std::thread::spawn(move || run(&asked))
        })
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert!(at_once.iter().all(Result::is_ok), "{at_once:?}");
}

#[test]
fn what_a_server_cannot_do_it_says() {
    let (_task, address) = server(ServerOptions {
        most_streams: Some(2),
        most_duration_s: Some(5.0),
        ..ServerOptions::default()
    });
    let refused = |change: fn(&mut ClientOptions)| {
        let mut asked = options(address);
        change(&mut asked);
        // The server may not yet have seen that the client before has gone.
        let until = Instant::now() + LONG;
        loop {
            let said = run(&asked).unwrap_err().to_string();
            if !said.contains("another test") || Instant::now() > until {
                return said;
            }
        }
    };
    assert!(refused(|options| options.streams = 3).contains("128"));
    assert!(refused(|options| options.duration_s = Some(6.0)).contains("longer than it allows"));
}

#[test]
fn a_stopped_client_and_a_stopped_server_end_the_test_of_the_other() {
    let (task, address) = server(once());
    let asked = ClientOptions { duration_s: Some(1000.0), ..options(address) };
    let client = Task::start(Sessions::default(), {
        let asked = asked.clone();
        move |control, sessions| super::client(&asked, subject("generator"), control, sessions)
    })
    .unwrap();
    let flows = |task: &Task| {
        let until = Instant::now() + LONG;
        while task.control.progress().done_bytes == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    flows(&client);
    client.control.cancel();
    assert!(client.wait(LONG) && task.wait(LONG));
    assert_eq!(client.result(), Some(Err(Error::Cancelled)));
    let said = task.result().unwrap().unwrap_err().to_string();
    assert!(said.contains("client") && said.contains("stopped"), "{said}");
    assert_eq!(task.sessions.take().len(), 1, "what was measured until then is kept");

    let (task, address) = server(once());
    let asked = ClientOptions { host: address.to_string(), ..asked };
    let client = Task::start(Sessions::default(), move |control, sessions| {
        super::client(&asked, subject("generator"), control, sessions)
    })
    .unwrap();
    flows(&client);
    task.control.cancel();
    assert!(client.wait(LONG) && task.wait(LONG));
    let said = client.result().unwrap().unwrap_err().to_string();
    assert!(said.contains("server") && said.contains("stopped"), "{said}");
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let (_task, address) = server(ServerOptions::default());
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    run(&options(address)).unwrap();
    drop(silent);
}
