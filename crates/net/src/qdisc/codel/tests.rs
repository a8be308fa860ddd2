use super::*;
use crate::qdisc::test_packet::{TestPacket, queued};

const MS: u64 = 1_000_000;
/// How often the queue is served.
const STEP: u64 = 10_000;

/// A queue whose packets have always waited as long as the test says.
struct Standing {
    codel: Codel<TestPacket>,
    ecn: Ecn,
    now: u64,
}

impl Standing {
    fn new(config: CodelConfig, ecn: Ecn) -> Self {
        Standing { codel: Codel::new(&config), ecn, now: 1000 * MS }
    }

    /// Serve for a time; when packets were dropped or marked.
    fn serve(&mut self, for_nanos: u64, delay: u64) -> Vec<u64> {
        let mut signals = Vec::new();
        let end = self.now + for_nanos;
        while self.now < end {
            self.codel.queue = Fifo::default();
            for _ in 0..5 {
                self.codel.queue.push(queued(1, 1500, self.ecn, self.now - delay));
            }
            let mut drops = Drops::default();
            let next = self.codel.dequeue(Time::from_nanos(self.now), &mut drops);
            let Next::Packet(next) = next else { panic!("nothing in a full queue") };
            let marked = next.packet.ecn == Ecn::Ce && self.ecn != Ecn::Ce;
            let count = drops.packets.len() + usize::from(marked);
            signals.extend(std::iter::repeat_n(self.now, count));
            self.now += STEP;
        }
        signals
    }
}

fn since(start: u64, times: &[u64]) -> Vec<f64> {
    times.iter().map(|time| (time - start) as f64 / MS as f64).collect()
}

/// Times in milliseconds, seen at a service every 10 µs and worked in units of 1.024 µs.
fn assert_near(times_ms: &[f64], expected_ms: &[f64]) {
    assert!(times_ms.len() >= expected_ms.len(), "{times_ms:?}");
    for (time, expected) in times_ms.iter().zip(expected_ms) {
        assert!((time - expected).abs() < 0.03, "{time} ms instead of {expected} ms");
    }
}

#[test]
fn drops_come_at_the_times_of_the_rfc_with_exact_roots() {
    // RFC 8289, control law: 100 ms above the target, then at steps of 100/√1, 100/√2, 100/√3 …
    let config = CodelConfig { exact_root: true, ..CodelConfig::default() };
    let mut standing = Standing::new(config, Ecn::NotEct);
    let start = standing.now;
    let drops = standing.serve(400 * MS, 10 * MS);
    assert_near(&since(start, &drops), &[100.0, 200.0, 270.71, 328.45, 378.45]);
}

#[test]
fn drops_come_at_the_times_of_linux_with_its_newton_steps() {
    // x₁ = 1, then x ← x/2·(3 − count·x²) once for each drop: x₂ = ½·(3 − 2) = 0.5,
    // x₃ = 0.25·(3 − 3·0.25) = 0.5625, x₄ = 0.28125·(3 − 4·0.31641) = 0.48779,
    // x₅ = 0.24390·(3 − 5·0.23794) = 0.44152: steps of 100, 50, 56.25, 48.78, 44.15 ms.
    let mut standing = Standing::new(CodelConfig::default(), Ecn::NotEct);
    let start = standing.now;
    let drops = standing.serve(450 * MS, 10 * MS);
    assert_near(&since(start, &drops), &[100.0, 200.0, 250.0, 306.25, 355.03, 399.18]);
}

#[test]
fn marks_come_where_drops_would_and_only_where_they_may() {
    let config = CodelConfig { ecn: true, ..CodelConfig::default() };
    for (ecn, marked) in [(Ecn::Ect0, true), (Ecn::Ect1, true), (Ecn::NotEct, false)] {
        let mut standing = Standing::new(config.clone(), ecn);
        let start = standing.now;
        let signals = standing.serve(320 * MS, 10 * MS);
        assert_near(&since(start, &signals), &[100.0, 200.0, 250.0, 306.25]);
        // Five were put in; one came out, and one was dropped unless it was marked.
        let mut again = Standing::new(config.clone(), ecn);
        again.serve(signals[0] - start, 10 * MS);
        assert!(again.serve(STEP, 10 * MS).len() == 1);
        assert_eq!(again.codel.queue.len(), if marked { 4 } else { 3 });
    }
}

#[test]
fn no_drops_below_the_target_or_within_the_interval() {
    let mut standing = Standing::new(CodelConfig::default(), Ecn::NotEct);
    assert!(standing.serve(1000 * MS, 4_990_000).is_empty());
    // One packet in time within each interval is enough.
    for _ in 0..5 {
        assert!(standing.serve(99 * MS, 50 * MS).is_empty());
        assert!(standing.serve(STEP, 0).is_empty());
    }
}

#[test]
fn a_single_packet_waits_as_long_as_it_likes() {
    let mut codel = Codel::new(&CodelConfig::default());
    let mut drops = Drops::default();
    for n in 1..1000 {
        codel.queue.push(queued(1, 1500, Ecn::NotEct, (n - 1) * 50 * MS));
        codel.queue.push(queued(1, 1500, Ecn::NotEct, (n - 1) * 50 * MS));
        // The one behind is no more than a packet of the largest size.
        codel.dequeue(Time::from_nanos(n * 50 * MS), &mut drops);
        codel.dequeue(Time::from_nanos(n * 50 * MS), &mut drops);
    }
    assert!(drops.packets.is_empty());
}

#[test]
fn re_entry_goes_on_with_the_rate_reached() {
    // Five drops: count 5, of which the first began the state: count − lastcount = 4. Linux's next
    // root is a step from x₅ = 0.44151 for count 4: 0.22076·(3 − 4·0.19493) = 0.49014.
    let mut standing = Standing::new(CodelConfig::default(), Ecn::NotEct);
    assert_eq!(standing.serve(360 * MS, 10 * MS).len(), 5);
    standing.serve(500 * MS, 0);
    let start = standing.now;
    let drops = standing.serve(160 * MS, 10 * MS);
    assert_near(&since(start, &drops), &[100.0, 149.01]);
    assert_eq!(standing.codel.control.last_count, 4);
}

#[test]
fn re_entry_begins_anew_after_sixteen_intervals() {
    let mut standing = Standing::new(CodelConfig::default(), Ecn::NotEct);
    assert_eq!(standing.serve(360 * MS, 10 * MS).len(), 5);
    standing.serve(1600 * MS, 0);
    let start = standing.now;
    let drops = standing.serve(210 * MS, 10 * MS);
    assert_near(&since(start, &drops), &[100.0, 200.0]);
    assert_eq!(standing.codel.control.last_count, 1);
}

#[test]
fn the_root_converges() {
    // Newton's steps stay within 1 % of 1/√count from the sixth drop to the thousandth; with
    // sixteen bits, 1/√1000 = 2072.4/65536 is known to a 2000th.
    let mut control = Control { count: 1, reciprocal_root: u16::MAX, ..Control::default() };
    for count in 2..=1000u32 {
        control.count = count;
        control.newton_step();
        let root = f64::from(control.reciprocal_root) / 65536.0;
        let error = root * libm::sqrt(f64::from(count)) - 1.0;
        assert!(count < 7 || error.abs() < 0.01, "{count}: {error}");
    }
}

#[test]
fn packets_over_the_threshold_are_marked_at_once() {
    let threshold = |only_ect1| CodelConfig {
        ce_threshold: Some(CeThreshold { delay: Duration::from_millis(1), only_ect1 }),
        ..CodelConfig::default()
    };
    let marked = |only_ect1, ecn, delay| {
        let mut standing = Standing::new(threshold(only_ect1), ecn);
        !standing.serve(STEP, delay).is_empty()
    };
    assert!(marked(false, Ecn::Ect0, MS + 2048) && marked(true, Ecn::Ect1, MS + 2048));
    assert!(!marked(true, Ecn::Ect0, MS + 2048) && !marked(false, Ecn::NotEct, MS + 2048));
    assert!(!marked(false, Ecn::Ect0, MS - 2048));
}

#[test]
fn a_full_queue_drops_what_arrives() {
    let config = CodelConfig { limit_packets: 3, ..CodelConfig::default() };
    let mut codel = Codel::new(&config);
    let mut drops = Drops::default();
    for flow in 0..5 {
        let packet = queued(flow, 100, Ecn::NotEct, 0);
        codel.enqueue(packet, &Line::default(), Time::ZERO, &mut drops);
    }
    assert_eq!(codel.waiting(), Waiting { packets: 3, bytes: 300 });
    assert_eq!(drops.for_room, 2);
    let dropped: Vec<u32> = drops.packets.iter().map(|dropped| dropped.packet.flow).collect();
    assert_eq!(dropped, [3, 4]);
}
