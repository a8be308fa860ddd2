//! Who gets how much.

use fairway_units::{Rate, Time};

use super::*;

const PACKET: Sized = Sized { bytes: 1500, number: 0 };

fn mbit(mbit: u64) -> StationConfig {
    StationConfig::at(Rate::from_bps(mbit * 1_000_000))
}

/// Packets that were received from the access point and from each station in `seconds`, all with
/// something to send always; the access point for each station in turn.
fn received(config: &CellConfig, access_point_sends: bool, seconds: u64) -> Vec<u64> {
    let mut cell = cell(config);
    let mut out = Outcome::default();
    let stations = config.stations.len() as u32;
    let mut received = vec![0; config.stations.len() + 1];
    let (mut now, mut turn) = (Time::ZERO, 0);
    while now < Time::from_nanos(seconds * 1_000_000_000) {
        for i in 0..stations {
            while cell.waiting(NodeId::Station(i)) < 2 {
                cell.enqueue(NodeId::Station(i), i, PACKET, now, &mut out);
            }
        }
        while access_point_sends && cell.waiting(NodeId::AccessPoint) < 2 {
            cell.enqueue(NodeId::AccessPoint, turn, PACKET, now, &mut out);
            turn = (turn + 1) % stations;
        }
        now = cell.next_event();
        cell.handle(now, &mut out);
        for arrival in out.arrivals.drain(..) {
            match arrival.from {
                NodeId::AccessPoint => received[0] += 1,
                NodeId::Station(i) => received[i as usize + 1] += 1,
            }
        }
        out.clear();
    }
    received
}

#[test]
fn the_access_point_gets_no_more_than_a_station() {
    // DCF shares accesses, and the access point is one of n + 1 that ask for them: with nine
    // stations it carries a tenth of all packets, though all downloads are its own. About 30,000
    // packets: each share is known to 0.1 · 2 % or so.
    let config = CellConfig { stations: vec![mbit(11); 9], ..CellConfig::default() };
    let received = received(&config, true, 60);
    let all: u64 = received.iter().sum();
    for share in received.iter().map(|packets| *packets as f64 / all as f64) {
        assert!((share - 0.1).abs() < 0.006, "{received:?}");
    }
}

#[test]
fn one_slow_station_pulls_all_down() {
    // M. Heusse et al., "Performance anomaly of 802.11b", INFOCOM 2003: all stations have equal
    // shares of the accesses, and so one at 1 Mbit/s leaves the others less than 1 Mbit/s each.
    // Their equations 9 and 10: with frames of T_f and T_s, everyone sends one in (N−1)·T_f + T_s +
    // P_c·t_jam·N. Here T_f = 50 + 1310 + 10 + 248 = 1618 µs and T_s = 50 + 12480 + 10 + 304 =
    // 12844 (12288 bits at 1 Mbit/s and 192 µs). Without collisions and back-off three fast ones
    // and a slow one send 12000 bits each in 3·1618 + 12844 = 17698 µs: 0.678 Mbit/s at most.
    let fast = CellConfig { stations: vec![mbit(11); 4], ..CellConfig::default() };
    let all_fast = received(&fast, false, 60);
    let mut mixed = fast.clone();
    mixed.stations[3] = mbit(1);
    let one_slow = received(&mixed, false, 300);
    let bits = |packets: u64, seconds: f64| packets as f64 * 12_000.0 / seconds / 1e6;
    for packets in &all_fast[1..] {
        assert!(bits(*packets, 60.0) > 1.5, "{all_fast:?}");
    }
    for packets in &one_slow[1..] {
        let each = bits(*packets, 300.0);
        assert!((0.55..0.678).contains(&each), "{one_slow:?}");
    }
}

#[test]
fn two_stations_share_equally() {
    // The paper's figure 3 and section III: two hosts, equal rates, equal shares.
    let config = CellConfig { stations: vec![mbit(11); 2], ..CellConfig::default() };
    let received = received(&config, false, 60);
    let ratio = received[1] as f64 / received[2] as f64;
    assert!((ratio - 1.0).abs() < 0.03, "{received:?}");
}

/// Goodput of TCP without congestion control and delayed acknowledgements, in bit/s: `windows`
/// packets of each flow are always on their way, as data or as acknowledgements, to their station
/// or (for uploads) from it.
fn tokens(config: &CellConfig, windows: &[u32], upload: &[bool], successes: u64) -> Vec<f64> {
    const DATA: Sized = Sized { bytes: 1500, number: 1 };
    const ACK: Sized = Sized { bytes: 40, number: 0 };
    let mut cell = cell(config);
    let mut out = Outcome::default();
    for (station, (window, up)) in (0..).zip(windows.iter().zip(upload)) {
        for _ in 0..*window {
            let from = if *up { NodeId::Station(station) } else { NodeId::AccessPoint };
            cell.enqueue(from, station, DATA, Time::ZERO, &mut out);
        }
    }
    let mut data = vec![0u64; windows.len()];
    let (mut now, mut arrived) = (Time::ZERO, 0);
    let mut arrivals: Vec<Arrival<Sized>> = Vec::new();
    while arrived < successes {
        now = cell.next_event();
        cell.handle(now, &mut out);
        assert!(out.lost.is_empty(), "the loop must stay closed");
        std::mem::swap(&mut arrivals, &mut out.arrivals);
        for arrival in arrivals.drain(..) {
            arrived += 1;
            let is_data = arrival.packet == DATA;
            data[arrival.station as usize] += u64::from(is_data);
            let back = match arrival.from {
                NodeId::AccessPoint => NodeId::Station(arrival.station),
                NodeId::Station(_) => NodeId::AccessPoint,
            };
            let answer = if is_data { ACK } else { DATA };
            cell.enqueue(back, arrival.station, answer, now, &mut out);
        }
    }
    let seconds = now.as_secs_f64();
    data.iter().map(|packets| *packets as f64 * 1460.0 * 8.0 / seconds).collect()
}

#[test]
fn tcp_through_a_cell_hardly_depends_on_the_number_of_stations() {
    // Mbit/s of n downloads with windows of 20: from the closed queueing network of access point
    // and stations (uploads and downloads as tokens, mean times per success from Bianchi's model
    // with seven attempts; n = 1, 2, 5, 10).
    let expected =
        [(1, 4.4745, 21.155), (2, 4.4796, 21.129), (5, 4.4736, 21.099), (10, 4.4718, 21.090)];
    for (n, b, g) in expected {
        let config = CellConfig { stations: vec![mbit(11); n], ..CellConfig::default() };
        let of_g = CellConfig {
            phy: Phy::g(Slot::Short),
            stations: vec![mbit(54); n],
            ..CellConfig::default()
        };
        for (config, expected, bound) in [(config, b, 0.012), (of_g, g, 0.03)] {
            let goodput = tokens(&config, &vec![20; n], &vec![false; n], 100_000);
            let all: f64 = goodput.iter().sum::<f64>() / 1e6;
            assert!((all / expected - 1.0).abs() < bound, "{n}: {all} instead of {expected}");
        }
    }
}

#[test]
fn what_the_model_of_tcp_lacks_is_a_slot_after_each_transmission() {
    // The values of 802.11g, of which the cell above is 2 % short. If a transmission of others counts as
    // a slot, as in the model of attempts, it is not.
    for (n, expected) in [(2, 21.129), (5, 21.099), (10, 21.090)] {
        let mut config = CellConfig {
            phy: Phy::g(Slot::Short),
            stations: vec![mbit(54); n],
            ..CellConfig::default()
        };
        config.mac.busy_takes_slot = true;
        config.mac.short_retry_limit = 20;
        let goodput = tokens(&config, &vec![20; n], &vec![false; n], 200_000);
        let all: f64 = goodput.iter().sum::<f64>() / 1e6;
        assert!((all / expected - 1.0).abs() < 0.004, "{n}: {all} instead of {expected}");
    }
}

#[test]
fn tcp_shares_a_cell_by_windows() {
    // From the same model: an upload and a download with windows of 4 have 2.2395 Mbit/s each;
    // downloads with windows of 5, 10 and 20 have 0.6529, 1.2967 and 2.5283.
    let up_and_down = CellConfig { stations: vec![mbit(11); 2], ..CellConfig::default() };
    let goodput = tokens(&up_and_down, &[4, 4], &[true, false], 100_000);
    for goodput in goodput {
        assert!((goodput / 2.2395e6 - 1.0).abs() < 0.03, "{goodput}");
    }
    let three = CellConfig { stations: vec![mbit(11); 3], ..CellConfig::default() };
    let goodput = tokens(&three, &[5, 10, 20], &[false; 3], 200_000);
    for (goodput, expected) in goodput.iter().zip([0.6529e6, 1.2967e6, 2.5283e6]) {
        assert!((goodput / expected - 1.0).abs() < 0.03, "{goodput} instead of {expected}");
    }
}
