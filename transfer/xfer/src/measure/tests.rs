use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;

use super::*;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

fn handle(stream: &TcpStream) -> Socket {
    Socket::from(stream.try_clone().unwrap())
}

fn meter() -> (Meter, Control) {
    let control = Control::new();
    let mut subject = Subject::new("a test", "transfer", "transfer");
    subject.interval = Some(SHORTEST_INTERVAL);
    (Meter::start(subject, &control).unwrap(), control)
}

/// Sends so many bytes and waits until they are acknowledged.
fn move_bytes(near: &mut TcpStream, far: &mut TcpStream, bytes: usize) {
    let mut buffer = vec![0; bytes];
    std::thread::scope(|scope| {
        scope.spawn(|| near.write_all(&vec![7; bytes]).unwrap());
        far.read_exact(&mut buffer).unwrap();
    });
    let socket = handle(near);
    while fairway_socket::unacknowledged(std::os::fd::AsFd::as_fd(&socket)).unwrap() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn both_ends_say_what_was_delivered() {
    let (meter, control) = meter();
    let [(mut a, mut b), (mut c, mut d)] = [pair(), pair()];
    let [written, read] = [(); 2].map(|()| Arc::<AtomicU64>::default());
    let watched = [
        meter.add("up/0", "cubic", &handle(&a), Payload::Written(Arc::clone(&written))).unwrap(),
        meter.add("down/0", "cubic", &handle(&d), Payload::Read(Arc::clone(&read))).unwrap(),
    ];
    move_bytes(&mut a, &mut b, 300_000);
    written.fetch_add(300_000, Ordering::Relaxed);
    move_bytes(&mut c, &mut d, 100_000);
    read.fetch_add(100_000, Ordering::Relaxed);
    drop(watched);
    let record = meter.finish();
    assert_eq!(record.samples.flow_ids(), ["up/0", "down/0"]);
    let bytes: Vec<u64> = record.taken.flows.iter().map(|flow| flow.payload_bytes).collect();
    assert_eq!(bytes, [300_000, 100_000]);
    assert_eq!((record.taken.end, record.taken.connections), ("both", 2));
    assert_eq!((control.progress().done_bytes, control.progress().streams.len()), (400_000, 0));
    let [up, down] = &record.summary.flows[..] else { panic!("two flows") };
    assert!(up.mean_cwnd_segments.is_some_and(|cwnd| cwnd >= 2.0) && up.sent_segments > 0);
    assert_eq!(down.mean_cwnd_segments, None);
    // 3 : 1 over the same window; (3+1)² / (2·(9+1)) = 0.8.
    assert!((up.goodput_bps / down.goodput_bps - 3.0).abs() < 1e-9);
    assert!((record.summary.metrics.jain_index.unwrap() - 0.8).abs() < 1e-9);
    let most_bps = record.taken.path.most_throughput_bps;
    assert!(most_bps > 0.0 && most_bps >= up.throughput_bps, "of one direction");
    assert_eq!(record.samples.series().t_s.len(), record.samples.tcp_info().t_s.len());
    assert_eq!(record.summary.applications[0].figures[0], ("payload_bytes", Some(400_000.0)));
}

#[test]
fn a_connection_in_the_place_of_another_goes_on_as_the_same_flow() {
    let (meter, _) = meter();
    let (mut a, mut b) = pair();
    let (mut c, mut d) = pair();
    let first = meter.add("transfer/0", "reno", &handle(&a), Payload::Acknowledged).unwrap();
    move_bytes(&mut a, &mut b, 50_000);
    let second = meter.add("transfer/0", "reno", &handle(&c), Payload::Acknowledged).unwrap();
    move_bytes(&mut c, &mut d, 20_000);
    drop(first);
    assert_eq!(meter.state().flows[0].connections, 2);
    assert!(meter.state().flows[0].is_open(), "the first one has been replaced");
    drop(second);
    let record = meter.finish();
    assert_eq!(record.taken.flows.len(), 1);
    assert_eq!((record.taken.flows[0].payload_bytes, record.taken.connections), (70_000, 2));
}

#[test]
fn the_peer_sees_the_end_of_the_stream_once_nobody_watches() {
    let (meter, _) = meter();
    let (a, mut b) = pair();
    let watched = meter.add("transfer/0", "reno", &handle(&a), Payload::Acknowledged).unwrap();
    drop(a);
    drop(watched);
    assert_eq!(b.read(&mut [0]).unwrap(), 0);
}

#[test]
fn an_observer_sees_what_happened_since_it_looked_last() {
    let (meter, _) = meter();
    let (mut a, mut b) = pair();
    let mut observer = meter.observer();
    let watched = meter.add("transfer/0", "reno", &handle(&a), Payload::Acknowledged).unwrap();
    move_bytes(&mut a, &mut b, 10_000);
    let seen = observer.take();
    assert_eq!((seen.streams, seen.counts.payload_bytes), (1, 10_000));
    assert!(seen.goodput_bps > 0.0 && seen.cwnd_bytes > 0.0 && seen.srtt_s.is_some());
    assert_eq!((seen.counts.lost_segments(), seen.counts.retransmitted_segments), (0, 0));
    assert_eq!(observer.take().counts.payload_bytes, 0);
    drop(watched);
}

#[test]
fn datagrams_have_their_own_figures() {
    let (meter, _) = meter();
    let counts = Arc::<rt::Mutex<DatagramCounts>>::default();
    let watched = meter.add_datagrams("udp/0", "cbr", Arc::clone(&counts));
    let mut flow = Datagrams::default();
    for number in [0, 1, 3] {
        flow.receive(number, 0.0, 1000, 28);
    }
    *counts.lock() = flow.counts;
    drop(watched);
    let record = meter.finish();
    let summary = &record.summary.flows[0];
    let found = summary.datagrams.as_ref().unwrap();
    assert_eq!((found.received_packets, found.loss_ratio), (3, Some(0.25)));
    assert_eq!((summary.cc.as_deref(), summary.lost_segments), (None, 1));
    assert!((summary.throughput_bps / summary.goodput_bps - 1.028).abs() < 1e-9);
    assert!(record.samples.series().cwnd_segments.iter().all(|cwnd| cwnd.is_nan()));
}

#[test]
fn a_meter_without_anything_to_watch_has_a_record_too() {
    let record = meter().0.finish();
    assert_eq!((record.summary.flows.len(), record.taken.duration_s), (0, 0.0));
    assert_eq!(record.summary.metrics.goodput_bps, 0.0);
}

#[test]
fn what_was_before_the_window_is_not_of_the_record() {
    let (meter, _) = meter();
    let (mut a, mut b) = pair();
    let counts = Arc::<rt::Mutex<DatagramCounts>>::default();
    let watched = [
        meter.add("transfer/0", "reno", &handle(&a), Payload::Acknowledged).unwrap(),
        meter.add_datagrams("udp/0", "cbr", Arc::clone(&counts)),
    ];
    move_bytes(&mut a, &mut b, 10_000);
    counts.lock().payload_bytes = 500;
    meter.restart();
    move_bytes(&mut a, &mut b, 3_000);
    counts.lock().payload_bytes += 700;
    drop(watched);
    let record = meter.finish();
    let bytes: Vec<u64> = record.taken.flows.iter().map(|flow| flow.payload_bytes).collect();
    assert_eq!(bytes, [3_000, 700]);
    assert!(record.taken.flows.iter().all(|flow| flow.start_s == 0.0));
}

#[test]
fn what_the_kernel_holds_at_the_end_is_no_payload_if_all_of_it_has_arrived() {
    let (meter, _) = meter();
    let (mut a, _b) = pair();
    a.set_nonblocking(true).unwrap();
    let written = Arc::<AtomicU64>::default();
    let payload = Payload::Written(Arc::clone(&written));
    let watched = meter.add("transfer/0", "reno", &handle(&a), payload).unwrap();
    while let Ok(bytes) = a.write(&[0; 65536]) {
        written.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    meter.tick();
    assert!(meter.delivered_bytes() < written.load(Ordering::Relaxed), "nobody reads it");
    watched.has_delivered_all();
    assert_eq!(meter.delivered_bytes(), written.load(Ordering::Relaxed));
}

#[test]
fn an_interval_that_adapts_begins_finely_and_doubles_as_time_goes_by() {
    let mut state = State::new(Subject::new("a test", "transfer", "transfer"));
    let counts = Arc::<rt::Mutex<DatagramCounts>>::default();
    let began = Instant::now();
    let mut now = Duration::ZERO;
    let watch = Watch::Datagrams { kind: "cbr" };
    state.open("udp/0", watch, Open::Datagrams(Arc::clone(&counts)), began);
    // A byte every millisecond.
    let mut until = |to_ms: u64, state: &mut State| {
        while now < Duration::from_millis(to_ms) {
            now += state.interval();
            counts.lock().payload_bytes += state.interval().as_millis() as u64;
            state.sample(began + now, false);
        }
        let payload_bytes: u64 = state.rows.all().iter().map(|row| row.payload_bytes).sum();
        (state.interval().as_millis(), state.rows.all().len(), payload_bytes)
    };
    assert_eq!(until(5110, &mut state), (10, 511, 5110));
    assert_eq!(until(5120, &mut state), (20, 256, 5120));
    // 512 rows are full after 5.12, 10.24, 20.48, 40.96 s; from then on a row takes 160 ms.
    assert_eq!(until(64_000, &mut state), (160, 256 + (64_000 - 40_960) / 160, 64_000));
    // A window that begins anew is as finely looked at as the first.
    state.restart(began + Duration::from_secs(64));
    assert_eq!(until(64_200, &mut state), (10, 20, 200));
}
