//! Saturation throughput against G. Bianchi, "Performance analysis of the IEEE 802.11 distributed
//! coordination function", IEEE JSAC 18(3), 2000, equations 7, 9 and 13.

use fairway_units::{Duration, Rate, Time};

use super::*;

/// Probability that a station transmits in a slot, of `n`, with windows of `w` to `w·2^m` slots
/// and, if there is a limit, `attempts` for each frame.
///
/// Equation 7 is the mean over attempts; with a limit it is that of Kumar et al. (IEEE/ACM ToN
/// 15(3), 2007), equation 1: attempts over slots of back-off, of which an attempt with window W
/// has (W + 1) / 2, the slot of the transmission included.
fn transmission_probability(n: u32, w: f64, m: u32, attempts: Option<u32>) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let tau: f64 = f64::midpoint(low, high);
        let p = 1.0 - libm::pow(1.0 - tau, f64::from(n - 1));
        let (mut tries, mut slots) = (0.0, 0.0);
        for attempt in 0..attempts.unwrap_or(2000) {
            let reached = libm::pow(p, f64::from(attempt));
            tries += reached;
            slots += reached * (w * f64::from(1 << attempt.min(m)) + 1.0) / 2.0;
        }
        if tau < tries / slots { low = tau } else { high = tau }
    }
    low
}

/// Payload bits a second (equation 13), with the durations of slots, successes and collisions in
/// microseconds.
fn throughput(n: u32, tau: f64, payload_bits: f64, [slot, success, collision]: [f64; 3]) -> f64 {
    let idle = libm::pow(1.0 - tau, f64::from(n));
    let alone = f64::from(n) * tau * libm::pow(1.0 - tau, f64::from(n - 1));
    let mean = idle * slot + alone * success + (1.0 - idle - alone) * collision;
    alone * payload_bits / mean * 1e6
}

/// Table II: 1 Mbit/s, header of the physical layer 128 bits, of the access method 272; slot 50,
/// SIFS 28, DIFS 128 µs, propagation 1 µs. CWmin is 31, m is 5. All wait for DIFS after a
/// collision.
fn bianchi(n: u32) -> CellConfig {
    let micros = Duration::from_micros;
    let phy = Phy {
        coding: Coding::Plain { header: micros(128) },
        slot: micros(50),
        sifs: micros(28),
        difs: micros(128),
        eifs: micros(128),
        response_timeout: Duration::ZERO,
        rx_start_delay: micros(128),
        propagation: micros(1),
        cw_min: 31,
        cw_max: 1023,
        basic_rates: vec![Rate::from_bps(1_000_000)],
    };
    let mac = MacConfig {
        overhead_bytes: 34,
        short_retry_limit: u32::MAX,
        long_retry_limit: u32::MAX,
        ..MacConfig::default()
    };
    let stations = vec![StationConfig::at(Rate::from_bps(1_000_000)); n as usize];
    CellConfig { phy, mac, stations }
}

/// Payload of a packet in Bianchi's table: 8184 bits.
const PAYLOAD_BYTES: u32 = 1023;

/// Bits of packets of `bytes` that n stations with never-empty queues send a second.
fn simulated(config: &CellConfig, bytes: u32, successes: u64, seed: u64) -> f64 {
    let mut cell = cell_with(config, 10, seed);
    let mut out = Outcome::default();
    let packet = Sized { bytes, number: 0 };
    for station in 0..config.stations.len() as u32 {
        for _ in 0..2 {
            cell.enqueue(NodeId::Station(station), station, packet, Time::ZERO, &mut out);
        }
    }
    let (mut arrived, mut started, mut now) = (0, Time::ZERO, Time::ZERO);
    while arrived < successes + successes / 10 {
        now = cell.next_event();
        cell.handle(now, &mut out);
        for i in 0..config.stations.len() as u32 {
            if cell.waiting(NodeId::Station(i)) < 2 {
                cell.enqueue(NodeId::Station(i), i, packet, now, &mut out);
            }
        }
        for _ in out.arrivals.drain(..) {
            arrived += 1;
            // The first tenth is not counted.
            if arrived == successes / 10 {
                started = now;
            }
        }
        out.clear();
    }
    successes as f64 * f64::from(bytes) * 8.0 / now.since(started).as_secs_f64()
}

fn assert_within(measured: f64, model: f64, bound: f64, what: &str) {
    let error = measured / model - 1.0;
    println!("{what}: {measured:.0} bit/s, model {model:.0}, {:+.2} %", error * 100.0);
    assert!(error.abs() < bound, "{what}: {measured} instead of {model}");
}

const STATIONS: [u32; 5] = [2, 5, 10, 20, 50];

#[test]
fn the_model_has_its_published_values() {
    // From an independent solution of equations 7 and 9: n = 5, 10, 50 with Ts = 8982 and
    // Tc = 8713 µs: S = 0.810153, 0.757880, 0.610936.
    for (n, tau, s) in [(5, 0.047846, 0.810153), (10, 0.037305, 0.757880), (50, 0.015392, 0.610936)]
    {
        let solved = transmission_probability(n, 32.0, 5, None);
        assert!((solved - tau).abs() < 1e-6, "{solved}");
        let times = [50.0, 8982.0, 8713.0];
        assert!((throughput(n, solved, 8184.0, times) / 1e6 - s).abs() < 1e-6);
    }
    // With a limit of 7 attempts: one to five stations.
    let limited = [0.060606, 0.057044, 0.053722, 0.050655, 0.047851];
    for (n, tau) in (1..).zip(limited) {
        assert!((transmission_probability(n, 32.0, 5, Some(7)) - tau).abs() < 1e-6);
    }
}

#[test]
fn bianchis_basic_access() {
    for n in STATIONS {
        let tau = transmission_probability(n, 32.0, 5, None);
        // Ts = header 400 + payload 8184 + SIFS 28 + 1 + ACK 240 + DIFS 128 + 1; Tc = 8584 + 1 + 128.
        let model = throughput(n, tau, 8184.0, [50.0, 8982.0, 8713.0]);
        let mut config = bianchi(n);
        let measured = simulated(&config, PAYLOAD_BYTES, 100_000, 1);
        assert_within(measured, model, 0.02, &format!("basic, {n} stations"));
        // In his model a transmission of others counts as a slot, which changes little.
        config.mac.busy_takes_slot = true;
        let measured = simulated(&config, PAYLOAD_BYTES, 100_000, 1);
        assert_within(measured, model, 0.01, &format!("basic, his slots, {n} stations"));
    }
}

#[test]
fn bianchis_rts_and_cts() {
    for n in STATIONS {
        let tau = transmission_probability(n, 32.0, 5, None);
        // Ts = RTS 288 + 28 + 1 + CTS 240 + 28 + 1 + 8584 + 28 + 1 + 240 + 128 + 1 = 9568;
        // Tc = RTS 288 + 128 + 1 = 417.
        let model = throughput(n, tau, 8184.0, [50.0, 9568.0, 417.0]);
        let mut config = bianchi(n);
        config.mac.rts_threshold = 0;
        let measured = simulated(&config, PAYLOAD_BYTES, 100_000, 2);
        assert_within(measured, model, 0.02, &format!("RTS, {n} stations"));
    }
}

#[test]
fn waiting_for_eifs_after_collisions_costs_little() {
    // As the standard has it and Bianchi's model has not: those who hear a collision wait for EIFS
    // = SIFS 28 + ACK 240 + DIFS 128 = 396 µs, and those in it for his timeout of 300 and DIFS.
    for n in STATIONS {
        let tau = transmission_probability(n, 32.0, 5, None);
        let model = throughput(n, tau, 8184.0, [50.0, 8982.0, 8713.0]);
        let mut config = bianchi(n);
        config.phy.eifs = Duration::from_micros(396);
        config.phy.response_timeout = Duration::from_micros(300);
        let measured = simulated(&config, PAYLOAD_BYTES, 100_000, 3);
        assert_within(measured, model, 0.02, &format!("basic, EIFS, {n} stations"));
    }
}

/// An 802.11b cell as the standard has it, at 11 Mbit/s.
fn cell_of_b(n: u32) -> CellConfig {
    let station = StationConfig::at(Rate::from_bps(11_000_000));
    CellConfig { stations: vec![station; n as usize], ..CellConfig::default() }
}

#[test]
fn saturation_of_802_11b() {
    for n in STATIONS {
        // Seven attempts; Ts = 1310 + 10 + 248 + 50; after a collision all wait as if there was an
        // acknowledgement.
        let tau = transmission_probability(n, 32.0, 5, Some(7));
        let model = throughput(n, tau, 12_000.0, [20.0, 1618.0, 1618.0]);
        let measured = simulated(&cell_of_b(n), 1500, 100_000, 4);
        assert_within(measured, model, 0.02, &format!("802.11b, {n} stations"));
    }
}

#[test]
fn saturation_of_802_11b_with_rts_and_cts() {
    for n in STATIONS {
        let tau = transmission_probability(n, 32.0, 5, Some(7));
        // Ts = 272 + 10 + 248 + 10 + 1310 + 10 + 248 + 50; Tc = 272 + 10 + 248 + 50.
        let model = throughput(n, tau, 12_000.0, [20.0, 2158.0, 580.0]);
        let mut config = cell_of_b(n);
        config.mac.rts_threshold = 500;
        let measured = simulated(&config, 1500, 100_000, 5);
        assert_within(measured, model, 0.02, &format!("802.11b, RTS, {n} stations"));
    }
}

#[test]
fn saturation_as_ns_3_expects_it() {
    // The values that ns-3's `wifi-bianchi.cc` holds its own simulations against: Mbit/s of 1500
    // bytes from 5, 10, 20 and 50 stations without a limit of retries, all of which wait for EIFS.
    let b = [(5, 6.3821), (10, 6.0269), (20, 5.5765), (50, 4.9103)];
    let g = [(5, 29.2861), (10, 27.3763), (20, 25.3325), (50, 22.4162)];
    for (standard, values) in [("b", b), ("g", g)] {
        for (n, mbit) in values {
            let mut config = cell_of_b(n);
            if standard == "g" {
                config.phy = Phy::g(Slot::Short);
                let station = StationConfig::at(Rate::from_bps(54_000_000));
                config.stations = vec![station; n as usize];
            }
            config.mac.short_retry_limit = u32::MAX;
            let measured = simulated(&config, 1500, 100_000, 6);
            assert_within(measured, mbit * 1e6, 0.03, &format!("802.11{standard}, {n} stations"));
        }
    }
}
