//! Single exchanges, worked out by hand.

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use super::*;

const PACKET: Sized = Sized { bytes: 1500, number: 0 };

/// All events up to `end`, and when packets arrived.
fn run(cell: &mut Cell<Sized>, end: Time) -> (Vec<(u64, Arrival<Sized>)>, Outcome<Sized>) {
    let mut out = Outcome::default();
    let mut arrivals = Vec::new();
    while cell.next_event() <= end {
        let now = cell.next_event();
        cell.handle(now, &mut out);
        arrivals.extend(out.arrivals.drain(..).map(|arrival| (now.as_nanos() / 1000, arrival)));
    }
    (arrivals, out)
}

fn send(cell: &mut Cell<Sized>, from: NodeId, station: u32, at: u64) {
    let mut out = Outcome::default();
    cell.enqueue(from, station, PACKET, micros(at), &mut out);
    assert!(out.drops.packets.is_empty());
}

fn stations(count: usize) -> CellConfig {
    let station = StationConfig::at(Rate::from_bps(11_000_000));
    CellConfig { stations: vec![station; count], ..CellConfig::default() }
}

#[test]
fn a_frame_on_an_idle_medium_goes_at_once() {
    // A packet of 1500 bytes takes 1310 µs (see phy.rs); SIFS 10 and ACK 248 follow.
    let mut cell = cell(&stations(1));
    send(&mut cell, NodeId::AccessPoint, 0, 100);
    let (arrivals, _) = run(&mut cell, micros(10_000));
    assert_eq!(arrivals.len(), 1);
    let (at, arrival) = &arrivals[0];
    assert_eq!((*at, arrival.from, arrival.station), (1410, NodeId::AccessPoint, 0));
    assert_eq!(cell.totals().busy, Duration::from_micros(1310 + 10 + 248));
    assert_eq!(cell.next_event(), Time::NEVER);
}

#[test]
fn a_second_frame_waits_for_difs_and_a_whole_number_of_slots() {
    // The first is acknowledged at 1568 µs; + DIFS 50 + k slots of 20, k up to 31, + 1310.
    let mut cell = cell(&stations(1));
    send(&mut cell, NodeId::Station(0), 0, 0);
    send(&mut cell, NodeId::Station(0), 0, 0);
    let (arrivals, _) = run(&mut cell, micros(10_000));
    assert_eq!(arrivals[0].0, 1310);
    let slots = arrivals[1].0 - (1568 + 50 + 1310);
    assert!(slots.is_multiple_of(20) && slots / 20 <= 31, "{slots}");
}

#[test]
fn a_back_off_follows_a_frame_even_if_no_other_waits() {
    // Enqueued just after the acknowledgement at 1568: not sent before 1568 + 50 and, but for one
    // seed of 32, not at once. Long after it, it is.
    let later: Vec<u64> = (1..=20)
        .map(|seed| {
            let mut cell = cell_with(&stations(1), 10, seed);
            send(&mut cell, NodeId::Station(0), 0, 0);
            run(&mut cell, micros(1570));
            send(&mut cell, NodeId::Station(0), 0, 1570);
            let (arrivals, _) = run(&mut cell, micros(5000));
            send(&mut cell, NodeId::Station(0), 0, 9000);
            assert_eq!(run(&mut cell, micros(20_000)).0[0].0, 9000 + 1310);
            arrivals[0].0 - (1568 + 50 + 1310)
        })
        .collect();
    assert!(later.iter().all(|micros| micros.is_multiple_of(20) && *micros <= 31 * 20));
    assert!(later.iter().filter(|micros| **micros > 0).count() >= 17);
}

#[test]
fn a_frame_that_finds_the_medium_idle_waits_for_difs_alone() {
    // Station 0's frame is acknowledged at 1568. Station 1 has a frame 10 µs later: it is sent when
    // DIFS is over, at 1618, as 10.3.4.2 has it, unless station 0's back-off matters: it has no
    // frame.
    let mut cell = cell(&stations(2));
    send(&mut cell, NodeId::Station(0), 0, 0);
    run(&mut cell, micros(1578));
    send(&mut cell, NodeId::Station(1), 1, 1578);
    let (arrivals, _) = run(&mut cell, micros(10_000));
    assert_eq!(arrivals[0].0, 1618 + 1310);
}

#[test]
fn a_frame_that_finds_the_medium_busy_backs_off() {
    let mut cell = cell(&stations(2));
    send(&mut cell, NodeId::Station(0), 0, 0);
    run(&mut cell, micros(500));
    send(&mut cell, NodeId::Station(1), 1, 500);
    let (arrivals, _) = run(&mut cell, micros(10_000));
    let slots = arrivals[1].0 - (1618 + 1310);
    assert!(slots.is_multiple_of(20) && slots / 20 <= 31);
}

#[test]
fn two_that_begin_within_a_slot_collide() {
    // The second cannot have noticed the first 19 µs later, but 20 µs later it has.
    for (gap, collisions) in [(0, 1), (19, 1), (20, 0)] {
        let mut cell = cell(&stations(2));
        send(&mut cell, NodeId::Station(0), 0, 100);
        run(&mut cell, micros(100));
        if gap > 0 {
            run(&mut cell, micros(100 + gap));
        }
        send(&mut cell, NodeId::Station(1), 1, 100 + gap);
        let (arrivals, _) = run(&mut cell, micros(60_000));
        assert_eq!(arrivals.len(), 2, "gap {gap}");
        assert_eq!(cell.totals().collisions, collisions, "gap {gap}");
    }
}

#[test]
fn rts_and_cts_go_before_frames_above_the_threshold() {
    // RTS 272 + SIFS 10 + CTS 248 + SIFS 10 + data 1310 + SIFS 10 + ACK 248 = 2108 µs; the packet
    // is received after 1850. A frame of the threshold's own length needs no RTS.
    for (threshold, received, busy) in [(1535, 1850, 2108), (1536, 1310, 1568)] {
        let mut config = stations(1);
        config.mac.rts_threshold = threshold;
        let mut cell = cell(&config);
        send(&mut cell, NodeId::Station(0), 0, 0);
        assert_eq!(run(&mut cell, micros(10_000)).0[0].0, received);
        assert_eq!(cell.totals().busy, Duration::from_micros(busy));
    }
}

#[test]
fn a_frame_that_nobody_reads_is_given_up_after_seven_attempts() {
    let mut config = stations(1);
    config.stations[0].frame_error_rate = 1.0;
    let mut cell = cell(&config);
    send(&mut cell, NodeId::AccessPoint, 0, 0);
    let (arrivals, out) = run(&mut cell, micros(1_000_000));
    assert!(arrivals.is_empty());
    assert_eq!(out.lost, [PACKET]);
    let totals = cell.node_totals(NodeId::AccessPoint);
    assert_eq!((totals.accesses, totals.errors, totals.given_up, totals.lost), (7, 7, 1, 1));
    // Announced by RTS, it is a long frame: four.
    config.mac.rts_threshold = 0;
    let mut cell = super::cell(&config);
    send(&mut cell, NodeId::AccessPoint, 0, 0);
    run(&mut cell, micros(1_000_000));
    assert_eq!(cell.node_totals(NodeId::AccessPoint).accesses, 4);
}

#[test]
fn the_contention_window_doubles_with_every_failure() {
    // CW is 63, 127, 255, 511, 1023, 1023 slots for the second to the seventh attempt: on average
    // half of their sum, 3002 / 2 = 1501 slots, over many frames. Besides slots there are 6 waits
    // of 222 + 50 µs and 6 frames of 1310: the last attempt begins after 9492 µs + 1501·20. The sum's
    // standard deviation is about √(Σ CW²/12) = 453 slots: over 400 frames 23 slots of the mean.
    let mut config = stations(1);
    config.stations[0].frame_error_rate = 1.0;
    let mut sum = 0;
    for seed in 0..400 {
        let mut cell = cell_with(&config, 10, seed);
        send(&mut cell, NodeId::Station(0), 0, 0);
        let mut out = Outcome::default();
        let mut last = Time::ZERO;
        while cell.next_event() < Time::NEVER {
            last = cell.next_event();
            cell.handle(last, &mut out);
        }
        sum += (last.as_nanos() / 1000 - 1310 - 9492) / 20;
    }
    let mean = sum as f64 / 400.0;
    assert!((mean - 1501.0).abs() < 4.0 * 23.0, "{mean}");
}

#[test]
fn a_lost_acknowledgement_makes_a_duplicate_that_arrives_once() {
    let mut config = stations(1);
    config.stations[0].control_error_rate = 0.5;
    let mut cell = cell_with(&config, 1000, 1);
    for _ in 0..500 {
        send(&mut cell, NodeId::Station(0), 0, 0);
    }
    let (arrivals, out) = run(&mut cell, micros(1_000_000_000));
    let totals = cell.node_totals(NodeId::Station(0));
    assert_eq!(arrivals.len(), 500);
    assert_eq!(totals.delivered, 500);
    // Given up after 7 lost acknowledgements, 1 in 128, though all were received: nothing is lost.
    assert!(out.lost.is_empty() && totals.lost == 0);
    // Each frame is repeated with probability ½ after each attempt: 1 + ½ + … + 1/64, less the
    // first, is 63/64 duplicates a frame: 492 ± 4·√(500·1.9).
    assert!((totals.duplicates as f64 - 492.0).abs() < 125.0, "{}", totals.duplicates);
    assert!(totals.given_up > 0 && totals.given_up < 15);
}

#[test]
fn a_full_queue_drops() {
    let mut cell = cell_with(&stations(1), 2, 1);
    let mut out = Outcome::default();
    for _ in 0..5 {
        cell.enqueue(NodeId::AccessPoint, 0, PACKET, Time::ZERO, &mut out);
    }
    // One is about to be sent, two wait.
    assert_eq!(out.drops.for_room, 2);
    assert_eq!(cell.waiting(NodeId::AccessPoint), 3);
    assert_eq!(cell.node_totals(NodeId::AccessPoint).dropped, 2);
}

#[test]
fn every_packet_is_accounted_for() {
    // Random traffic both ways over bad links, with small queues and with and without RTS.
    for seed in 1..=10 {
        let mut config = stations(4);
        config.mac.rts_threshold = if seed % 2 == 0 { 0 } else { 1000 };
        config.mac.cts_to_self = (seed % 3 == 0).then_some(Duration::from_micros(258));
        for (i, station) in config.stations.iter_mut().enumerate() {
            station.frame_error_rate = 0.1 * i as f64;
            station.control_error_rate = 0.3;
        }
        let mut cell = cell_with(&config, 5, seed);
        let mut traffic = Stream::new(seed, "traffic");
        let mut out = Outcome::default();
        let (mut arrived, mut dropped, mut lost) = ([0; 5], 0, 0);
        let mut next = Time::ZERO;
        let mut offered = [0; 5];
        while next < micros(20_000_000) {
            let now = next.min(cell.next_event());
            if now == next {
                let (node, station) = match traffic.below(5) {
                    0 => (0, traffic.below(4)),
                    node => (node, node - 1),
                };
                let from = match node {
                    0 => NodeId::AccessPoint,
                    _ => NodeId::Station(station as u32),
                };
                offered[node as usize] += 1;
                let packet = Sized { bytes: 40 + traffic.below(1460) as u32, number: offered[0] };
                cell.enqueue(from, station as u32, packet, now, &mut out);
                next = now + Duration::from_micros(traffic.below(4000));
            } else {
                cell.handle(now, &mut out);
            }
            for arrival in out.arrivals.drain(..) {
                match arrival.from {
                    NodeId::AccessPoint => arrived[0] += 1,
                    NodeId::Station(i) => arrived[i as usize + 1] += 1,
                }
            }
            dropped += out.drops.packets.len() as u64;
            lost += out.lost.len() as u64;
            out.clear();
        }
        let ids = [NodeId::AccessPoint].into_iter().chain((0..4).map(NodeId::Station));
        for (i, node) in ids.enumerate() {
            let totals = cell.node_totals(node);
            let known = totals.delivered + totals.dropped + totals.lost + cell.waiting(node);
            assert_eq!((totals.offered, totals.offered), (offered[i], known), "{totals:?}");
            assert_eq!(totals.delivered, arrived[i]);
            assert!(totals.collisions + totals.errors <= totals.accesses);
            dropped -= totals.dropped;
            lost -= totals.lost;
        }
        assert_eq!((dropped, lost), (0, 0));
        assert!(cell.totals().collisions > 0 && cell.totals().busy < Duration::from_secs(20));
    }
}

#[test]
fn more_stations_do_not_change_the_draws_of_one() {
    // Two frames of station 0 with one station in the cell, and with five that are silent.
    let times = |count| {
        let mut cell = cell(&stations(count));
        send(&mut cell, NodeId::Station(0), 0, 0);
        send(&mut cell, NodeId::Station(0), 0, 0);
        run(&mut cell, micros(10_000)).0.iter().map(|(at, _)| *at).collect::<Vec<_>>()
    };
    assert_eq!(times(1), times(5));
}

#[test]
fn figures_are_of_the_measuring_window() {
    // Two packets at 0 µs: the first is in the air until 1310 and acknowledged at 1568, the second
    // waits until then. The window is from 1000 to 1400: all of it busy, with one delivery, and a
    // packet that waits.
    let window = Window { from: micros(1000), to: micros(1400) };
    let fifo = |_| -> Box<dyn Qdisc<Addressed<Sized>>> {
        Box::new(Fifo { limit: 10, packets: VecDeque::new() })
    };
    let mut cell = Cell::new(&stations(1), window, fifo, 1, "wlan");
    send(&mut cell, NodeId::Station(0), 0, 0);
    send(&mut cell, NodeId::Station(0), 0, 0);
    run(&mut cell, micros(10_000));
    assert_eq!(cell.drain(micros(10_000)), []);
    let figures = cell.figures();
    assert_eq!((figures.busy, figures.collided), (Duration::from_micros(400), Duration::ZERO));
    assert_eq!((figures.nodes[1].delivered, figures.nodes[1].accesses), (1, 0));
    let link = cell.link_figures(NodeId::Station(0));
    assert_eq!((link.busy_nanos, link.waiting_nanos), (400_000, 400_000));
    // 1500 bytes and 36 of overhead, twice.
    assert_eq!(cell.link_totals(NodeId::Station(0)).transmitted_bytes, 3072);
}
