//! A generator and a collector together, over the loopback interface.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::collect::Collected;
use super::report::{Report, Total};
use super::*;
use crate::measure::Subject;
use crate::socket::Wishes;
use crate::{Control, Error, Event, Sessions};

/// Longer than any of these takes.
const LONG: Duration = Duration::from_secs(600);

pub(super) struct House {
    control: Control,
    sessions: Sessions,
    pub(super) address: String,
    pub(super) token: String,
    thread: Option<JoinHandle<Result<Collected, Error>>>,
}

impl House {
    pub(super) fn new(options: CollectOptions) -> Self {
        let control = Control::new();
        let sessions = Sessions::default();
        let options = CollectOptions { bind: "127.0.0.1:0".into(), ..options };
        let (own, of) = (control.clone(), sessions.clone());
        let thread = thread::spawn(move || collect(&options, &subject(), &own, &of));
        let (mut address, mut token) = Default::default();
        let until = Instant::now() + LONG;
        while String::is_empty(&token) && Instant::now() < until {
            for event in control.take_events() {
                match event {
                    Event::Listening { address: at } => address = at,
                    Event::Token { token: text } => token = text,
                    _ => {}
                }
            }
            thread::sleep(Duration::from_millis(5));
        }
        assert!(!token.is_empty(), "{:?}", thread.is_finished());
        House { control, sessions, address, token, thread: Some(thread) }
    }

    fn ask(&self, options: GenerateOptions) -> Result<Generated, Error> {
        let (to, token) = (self.address.clone(), self.token.clone());
        generate(&GenerateOptions { to, token, ..options }, subject(), &Control::new())
    }

    pub(super) fn run(&self, flow: FlowOptions) -> Generated {
        self.ask(options(vec![flow])).unwrap()
    }

    pub(super) fn end(mut self) -> Collected {
        self.control.cancel();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

fn subject() -> Subject {
    let subject = Subject::new("a test", "load", "generator");
    Subject { interval: Some(Duration::from_millis(50)), ..subject }
}

fn options(flows: Vec<FlowOptions>) -> GenerateOptions {
    GenerateOptions { flows, ..GenerateOptions::default() }
}

pub(super) fn flow(bytes: u64) -> FlowOptions {
    FlowOptions { bytes: Some(bytes), ..FlowOptions::default() }
}

pub(super) fn report(generated: Generated) -> Report {
    assert_eq!(generated.failure, None);
    generated.report.unwrap()
}

#[test]
fn every_byte_that_is_sent_is_received_and_both_ends_say_so() {
    let house = House::new(CollectOptions::default());
    for ways in [Directions::Forward, Directions::Reverse, Directions::Both] {
        let connections = 3;
        let generated =
            house.run(FlowOptions { ways, connections, verify: true, ..flow(10_000_001) });
        let summary = generated.record.summary.clone();
        let taken = generated.record.taken.clone();
        let report = report(generated);
        let ends = [("sender", 10_000_001), ("receiver", 10_000_001), ("both", 20_000_002)];
        assert_eq!((taken.end, taken.payload_bytes), ends[ways as usize]);
        let expected = |of: bool| if of { (3, 10_000_001, 10_000_001) } else { (0, 0, 0) };
        let told = |total: &Total| (total.flows, total.sent_bytes, total.received_bytes);
        assert_eq!(told(&report.forward), expected(ways != Directions::Reverse));
        assert_eq!(told(&report.reverse), expected(ways != Directions::Forward));
        for (flow, summary) in report.flows.iter().zip(&summary.flows) {
            assert_eq!((flow.corrupt, flow.sent_bytes), (Some(0), flow.received_bytes));
            assert_eq!((&flow.id, flow.goodput_bps), (&summary.id, summary.goodput_bps));
            assert!(flow.fct_s.is_some() && flow.goodput_bps > 0.0);
            // What only the sending end knows, wherever that is.
            assert!(summary.mean_cwnd_segments.is_some() && summary.sent_segments > 0, "{ways:?}");
        }
    }
    // The collector has its own records of the three sessions.
    let sessions = house.sessions.clone();
    assert_eq!(house.end(), Collected { sessions: 3, failed: 0, foreign_datagrams: 0 });
    let sessions = sessions.take();
    assert_eq!(sessions.len(), 3);
    let about: serde_json::Value = serde_json::from_str(&sessions[0].about).unwrap();
    let bytes = |flow: &serde_json::Value| flow["bytes"].as_u64().unwrap();
    let sum: u64 = about["report"].as_array().unwrap().iter().map(bytes).sum();
    assert_eq!((sum, sessions[0].failure.clone()), (10_000_001, None));
}

#[test]
fn messages_come_at_their_intervals_until_the_time_is_over() {
    let house = House::new(CollectOptions::default());
    let timing = Timing::Fixed { interval_s: 0.05 };
    let message = FlowOptions { message_bytes: Some(1000), timing, ..FlowOptions::default() };
    // Due at 0, 50, …, 450 ms: ten messages, whenever the machine gets to them; fewer, or none, if
    // it sleeps beyond the end.
    let report = report(house.run(FlowOptions { stop_s: Some(0.5), connections: 2, ..message }));
    for flow in &report.flows {
        assert!(flow.sent_messages <= 10, "{}", flow.sent_messages);
        assert_eq!((flow.sent_bytes, flow.received_bytes % 1000), (flow.received_bytes, 0));
    }
    house.end();
}

#[test]
fn what_is_omitted_is_sent_and_not_measured() {
    let house = House::new(CollectOptions::default());
    let timing = Timing::Rate { rate_bps: 8e6 };
    let flows = vec![FlowOptions { timing, stop_s: Some(1.0), ..FlowOptions::default() }];
    let generated = house.ask(GenerateOptions { omit_s: 0.5, ..options(flows) }).unwrap();
    let delivered = generated.record.taken.payload_bytes;
    let report = report(generated);
    assert_eq!((report.omit_s, report.forward.sent_bytes), (0.5, report.forward.received_bytes));
    assert!(delivered < report.forward.sent_bytes, "{delivered}");
    house.end();
}

#[test]
fn datagrams_are_counted_one_by_one() {
    let house = House::new(CollectOptions::default());
    for (ways, verify) in
        [(Directions::Forward, true), (Directions::Reverse, false), (Directions::Both, false)]
    {
        let timing = Timing::Poisson { rate_bps: 4e6 };
        let message_bytes = Some(500);
        let udp = FlowOptions { udp: true, timing, verify, message_bytes, ways, ..flow(100_100) };
        let generated = house.run(FlowOptions { connections: 2, ..udp });
        let summary = generated.record.summary.clone();
        let report = report(generated);
        // 50,050 bytes each: 100 datagrams of 500 and one of 50, which goes out whole as well.
        assert_eq!(report.flows.len(), if ways == Directions::Both { 4 } else { 2 });
        for (flow, summary) in report.flows.iter().zip(&summary.flows) {
            let datagrams = flow.datagrams.as_ref().unwrap();
            assert_eq!(datagrams.sent, 101);
            assert_eq!(datagrams.received + datagrams.lost, 101);
            assert_eq!(flow.received_bytes, datagrams.received * 500);
            assert_eq!(flow.corrupt, verify.then_some(0));
            let told = summary.datagrams.as_ref().unwrap();
            assert_eq!((told.kind, told.received_packets), ("poisson", datagrams.received));
            assert_eq!((summary.sent_segments, summary.lost_segments), (101, datagrams.lost));
            // One host, one clock; the buffers hold them all.
            assert!(report.has_one_clock && datagrams.mean_one_way_delay_s.is_some());
            assert!(datagrams.jitter_s.is_some() && datagrams.lost == 0);
        }
    }
    house.end();
}

#[test]
fn datagrams_of_others_are_counted_and_dropped() {
    let house = House::new(CollectOptions::default());
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0, 4, 32, 64] {
        stranger.send_to(&vec![7; length], &house.address).unwrap();
    }
    let sent = header::Header {
        kind: header::Kind::Hello,
        flow: 0,
        session: 1,
        number: 0,
        sent: Duration::ZERO,
    };
    let mut hello = [0; header::BYTES];
    sent.write(&mut hello);
    stranger.send_to(&hello, &house.address).unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(stranger.recv(&mut [0; 64]).is_err(), "a stranger is not answered");
    report(house.run(FlowOptions { udp: true, ..flow(3200) }));
    assert_eq!(house.end().foreign_datagrams, 5);
}

#[test]
fn several_groups_make_one_session() {
    let house = House::new(CollectOptions::default());
    let named = |id: &str, flow: FlowOptions| FlowOptions { id: id.into(), ..flow };
    let reno = Wishes { cc: Some("reno".into()), ..Wishes::default() };
    let udp = FlowOptions { udp: true, timing: Timing::Rate { rate_bps: 1e6 }, ..flow(20_000) };
    let flows = vec![
        named("bulk", FlowOptions { connections: 2, wishes: reno.clone(), ..flow(1_000_000) }),
        named("voice", udp),
        named(
            "back",
            FlowOptions { ways: Directions::Reverse, start_s: 0.1, wishes: reno, ..flow(500_000) },
        ),
    ];
    let generated = house.ask(options(flows)).unwrap();
    let cc: Vec<_> = generated.record.summary.flows.iter().map(|flow| flow.cc.clone()).collect();
    assert_eq!(cc[0].as_deref(), Some("reno"));
    assert_eq!(cc[3].as_deref(), Some("reno"), "as its sending end says");
    assert_eq!(cc[2], None, "datagrams have no congestion control");
    let ids = generated.record.samples.flow_ids();
    let report = report(generated);
    assert_eq!(ids, ["bulk/0", "bulk/1", "voice", "back"]);
    assert_eq!((report.forward.flows, report.reverse.received_bytes), (3, 500_000));
    house.end();
}

#[test]
fn who_may_not_is_told_why() {
    let house = House::new(CollectOptions { max_connections: 4, ..CollectOptions::default() });
    let why = |result: Result<Generated, Error>| match result {
        Err(error @ (Error::Refused(_) | Error::Input(_))) => error.to_string(),
        other => panic!("{:?}", other.map(|generated| generated.failure)),
    };
    let many = house.ask(options(vec![FlowOptions { connections: 5, ..flow(1) }]));
    assert!(why(many).contains("5 are more than the 4 allowed"));
    let wishes = Wishes { cc: Some("no-such".into()), ..Wishes::default() };
    let unknown = FlowOptions { ways: Directions::Reverse, wishes, ..flow(1) };
    assert!(why(house.ask(options(vec![unknown]))).contains("this kernel has"));
    let plain = GenerateOptions { plain: true, ..options(vec![flow(1)]) };
    assert!(why(house.ask(plain)).contains("--plain"));
    let other = House::new(CollectOptions::default());
    let wrong = GenerateOptions {
        to: house.address.clone(),
        token: other.token.clone(),
        ..options(vec![flow(1)])
    };
    assert!(why(generate(&wrong, subject(), &Control::new())).contains("token"));
    report(house.run(flow(1000)));
    house.end();
    other.end();
}

#[test]
fn a_collector_of_one_session_ends_with_it() {
    let once = CollectOptions { once: true, plain: true, ..CollectOptions::default() };
    let mut house = House::new(once);
    let plain = GenerateOptions { plain: true, ..options(vec![flow(1000)]) };
    report(house.ask(plain).unwrap());
    let collected = house.thread.take().unwrap().join().unwrap().unwrap();
    assert_eq!(collected, Collected { sessions: 1, failed: 0, foreign_datagrams: 0 });
}

#[test]
fn either_end_can_be_stopped() {
    let endless = || FlowOptions { stop_s: Some(3600.0), connections: 2, ..FlowOptions::default() };
    // The generator: the collector notes it and goes on.
    let house = Arc::new(House::new(CollectOptions::default()));
    let control = Control::new();
    let (to, token) = (house.address.clone(), house.token.clone());
    let own = control.clone();
    let both = FlowOptions { ways: Directions::Both, ..endless() };
    let asked = GenerateOptions { to, token, ..options(vec![both]) };
    let asking = thread::spawn(move || generate(&asked, subject(), &own));
    let until = Instant::now() + LONG;
    while control.progress().done_bytes == 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    control.cancel();
    let generated = asking.join().unwrap().unwrap();
    assert_eq!(generated.failure, Some(Error::Cancelled));
    assert!(generated.record.taken.payload_bytes > 0);
    report(house.run(flow(1000)));
    house.control.take_events();
    // The collector: the generator says that it is gone.
    let asking = thread::spawn({
        let house = Arc::clone(&house);
        move || house.run(endless())
    });
    let has_begun = |event: &Event| matches!(event, Event::Note { text } if text.contains("3600"));
    while !house.control.take_events().iter().any(has_begun) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    house.control.cancel();
    let failure = asking.join().unwrap().failure.unwrap();
    assert!(matches!(failure, Error::Failed { .. }), "{failure:?}");
    let collected = Arc::into_inner(house).unwrap().end();
    assert_eq!((collected.sessions, collected.failed), (1, 2));
}

#[test]
fn many_connections_are_few_threads() {
    let house = House::new(CollectOptions::default());
    let connections = 300;
    let many = FlowOptions { connections, ..flow(300 * 70_000) };
    let generated = house.run(FlowOptions { ways: Directions::Both, ..many });
    let report = report(generated);
    let bytes: BTreeSet<u64> = report.flows.iter().map(|flow| flow.received_bytes).collect();
    assert_eq!((report.flows.len(), bytes), (600, BTreeSet::from([70_000])));
    house.end();
}
