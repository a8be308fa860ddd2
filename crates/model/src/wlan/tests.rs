//! Cells against an independent computation and against sums over all their states.

use super::chain;
use super::success::Rounds;
use super::*;

/// Without rounding to whole microseconds, as in what expected values were computed from.
pub(super) const B: Times = Times {
    slot_us: 20.0,
    data_us: 1617.09,
    ack_us: 555.27,
    data_collision_us: 1617.09,
    ack_collision_us: 555.27,
};
const B_SHORT: Times = Times {
    slot_us: 20.0,
    data_us: 1425.09,
    ack_us: 363.27,
    data_collision_us: 1425.09,
    ack_collision_us: 363.27,
};
pub(super) const G: Times = Times {
    slot_us: 9.0,
    data_us: 326.0,
    ack_us: 110.0,
    data_collision_us: 326.0,
    ack_collision_us: 110.0,
};

fn cell(times: Times, downloads: &[u32], uploads: &[u32], packets_per_ack: u32) -> Cell {
    let cw_min = if times == G { 15 } else { 31 };
    let of = |direction| move |window: &u32| Flow { direction, window_packets: *window };
    let downloads = downloads.iter().map(of(Direction::Download));
    Cell {
        times,
        backoff: Backoff { cw_min, cw_max: 1023, attempts: Some(7) },
        flows: downloads.chain(uploads.iter().map(of(Direction::Upload))).collect(),
        packets_per_ack,
        ack_timer_s: 0.0,
        wire_rtt_s: 0.0,
    }
}

fn predict(cell: &Cell) -> Prediction {
    let answer = cell.predict().unwrap();
    assert!(answer.in_range(), "{answer:?}");
    answer.value
}

/// Payload of 1460 bytes.
fn mbit(packets_per_s: f64) -> f64 {
    packets_per_s * 1460.0 * 8.0 / 1e6
}

fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

#[test]
fn two_downloads_with_windows_of_one_and_two_by_hand() {
    // x: weight M!/∏m!, contenders, mean time in 802.11b and in g:
    // 0,0: 3!/(1!2!) = 3, 1, 1927.09, 393.50    0,1: 2, 2, 1300.40, 275.56    0,2: 1, 2
    // 1,0: 2!/2! = 1, 2, 1300.40                1,1: 1, 3, 1100.09, 238.44
    // 1,2: 1, 2 without the access point, 737.37, 154.94.
    // Weights 9; with contenders 3 + 4 + 2 + 2 + 3 + 2 = 16. Cycle: (3·1927.09 + 8·1300.40 + 3·1100.09
    // + 2·737.37)/16 = 1309.97; g (3·393.50 + 8·275.56 + 3·238.44 + 2·154.94)/16 = 275.64.
    // Weights with x1 > 0: 3, with x2 > 0: 5. Rates 3/(16·1309.97 µs) = 143.13/s and 5/3 of it.
    for (times, cycle_us, rates) in
        [(B, 1309.966, [143.133, 238.556]), (G, 275.635, [680.247, 1133.744])]
    {
        let found = predict(&cell(times, &[1, 2], &[], 1));
        assert_near(found.success_us, cycle_us, 1e-5);
        for (flow, rate) in found.flows.iter().zip(rates) {
            assert_near(flow.packets_per_s, rate, 1e-5);
        }
        assert_near(found.flows[0].share, 0.375, 1e-12);
        assert_near(found.flows[0].active, 3.0 / 9.0, 1e-12);
        assert_near(found.flows[1].active, 5.0 / 9.0, 1e-12);
        // Weights with m1 on top: 3·1/3 + 2·1/2 + 1·1 = 3 of 8.
        assert_near(found.flows[0].access_point_share, 3.0 / 8.0, 1e-12);
        assert_near(found.flows[1].rtt_s, 2.0 / rates[1], 1e-5);
        // The access point contends in weights of 8, and has each c-th success: 8/16.
        assert_near(found.access_point_share, 0.5, 1e-12);
        // None: 3; one: 2·(2 + 1 + 1) = 8; two: 3 + 2: of 16.
        for (found, expected) in found.active_at_successes.iter().zip([3.0, 8.0, 5.0]) {
            assert_near(*found, expected / 16.0, 1e-12);
        }
        let chain = found.chain.unwrap();
        let embedded = [3.0, 4.0, 2.0, 2.0, 3.0, 2.0];
        assert_eq!(chain.len(), 6);
        for (state, expected) in chain.iter().zip(embedded) {
            assert_near(state.at_successes, expected / 16.0, 1e-12);
        }
        assert_eq!(chain[1].at_station, [0, 1]);
        assert_eq!((chain[4].contenders, chain[5].contenders), (3, 2));
    }
    let found = predict(&cell(B, &[1, 2], &[], 1));
    assert_near(mbit(found.packets_per_s), 4.4581, 1e-4);
    let chain = found.chain.unwrap();
    for (state, expected) in chain.iter().zip([1927.09, 1300.40, 1300.40, 1300.40, 1100.09, 737.37])
    {
        assert_near(state.success_us, expected, 1e-5);
    }
}

#[test]
fn downloads_with_windows_of_twenty() {
    // From an independent computation: Mbit/s in 802.11b with the long preamble, the same with an
    // acknowledgement for every other packet, with the short preamble, in 802.11g, and delayed; and
    // the mean of active stations.
    let expected = [
        (1, 4.4745, 5.1591, 5.2723, 21.155, 24.730, 0.975),
        (2, 4.4796, 5.1554, 5.2870, 21.129, 24.708, 1.256),
        (3, 4.4762, 5.1542, 5.2842, 21.112, 24.701, 1.339),
        (4, 4.4746, 5.1537, 5.2828, 21.104, 24.698, 1.380),
        (5, 4.4736, 5.1533, 5.2820, 21.099, 24.696, 1.404),
        (6, 4.4730, 5.1531, 5.2815, 21.096, 24.695, 1.420),
        (7, 4.4726, 5.1529, 5.2811, 21.094, 24.694, 1.432),
        (8, 4.4722, 5.1528, 5.2809, 21.093, 24.694, 1.440),
        (9, 4.4720, 5.1527, 5.2806, 21.091, 24.693, 1.447),
        (10, 4.4718, 5.1527, 5.2805, 21.090, 24.693, 1.452),
    ];
    for (n, b, b_delayed, b_short, g, g_delayed, active) in expected {
        let windows = vec![20; n];
        let of = |times, per_ack| mbit(predict(&cell(times, &windows, &[], per_ack)).packets_per_s);
        assert_near(of(B, 1), b, 2e-5);
        assert_near(of(B, 2), b_delayed, 2e-5);
        assert_near(of(B_SHORT, 1), b_short, 2e-5);
        assert_near(of(G, 1), g, 5e-5);
        assert_near(of(G, 2), g_delayed, 5e-5);
        let found = predict(&cell(B, &windows, &[], 1));
        let mean: f64 = (0..).zip(&found.active_at_successes).map(|(k, p)| f64::from(k) * p).sum();
        assert_near(mean, active, 1e-3);
    }
}

#[test]
fn unequal_windows_and_both_directions() {
    // From the same computation, Mbit/s.
    let assert_flows = |cell: &Cell, expected: &[f64]| {
        for (flow, expected) in predict(cell).flows.iter().zip(expected) {
            assert_near(mbit(flow.packets_per_s), *expected, 3e-4);
        }
    };
    assert_flows(&cell(B, &[5, 10, 20], &[], 1), &[0.6529, 1.2967, 2.5283]);
    assert_flows(&cell(B, &[4], &[4], 1), &[2.2395, 2.2395]);
    assert_flows(&cell(B, &[2], &[8], 1), &[1.110, 3.371]);
    assert_flows(&cell(B, &[8], &[8], 2), &[2.917, 2.319]);
    assert_flows(&cell(B, &[20], &[20], 2), &[2.779, 2.463]);
}

/// The same rates from a sum over all states, one by one.
fn enumerated(cell: &Cell) -> Vec<f64> {
    let mut rounds = Rounds::new(cell.backoff, cell.times);
    let states = chain::states(&cell.flows, cell.packets_per_ack, &mut rounds).unwrap();
    let all_us: f64 = states
        .iter()
        .map(|state| state.weight * f64::from(state.contenders) * state.success_us)
        .sum();
    let rate = |(index, flow): (usize, &Flow)| {
        let active = states.iter().filter(|state| state.at_station[index] > 0);
        let per_ack = match flow.direction {
            Direction::Download => cell.packets_per_ack.min(flow.window_packets),
            Direction::Upload => 1,
        };
        active.map(|state| state.weight).sum::<f64>() * f64::from(per_ack) * 1e6 / all_us
    };
    cell.flows.iter().enumerate().map(rate).collect()
}

#[test]
fn integrals_are_sums_over_all_states() {
    let cases: [(&[u32], &[u32], u32); 10] = [
        (&[1], &[], 1),
        (&[], &[1], 1),
        (&[64], &[], 1),
        (&[1, 1, 1, 1, 1, 1], &[], 1),
        (&[3, 7], &[2, 5], 1),
        (&[1, 60], &[30], 1),
        (&[4, 9], &[2, 6], 2),
        (&[], &[64, 2], 2),
        (&[2, 64], &[8], 4),
        // Of 5 and 3 packets 4 and 2 go round.
        (&[5], &[3], 2),
    ];
    for (downloads, uploads, per_ack) in cases {
        for times in [B, G] {
            let cell = cell(times, downloads, uploads, per_ack);
            let found = predict(&cell);
            for (flow, expected) in found.flows.iter().zip(enumerated(&cell)) {
                assert_near(flow.packets_per_s, expected, 1e-11);
            }
            let chain = found.chain.unwrap();
            let all: f64 = chain.iter().map(|state| state.at_successes).sum();
            assert_near(all, 1.0, 1e-12);
            let cycle_us: f64 =
                chain.iter().map(|state| state.at_successes * state.success_us).sum();
            assert_near(found.success_us, cycle_us, 1e-11);
        }
    }
}

#[test]
fn probabilities_add_up_and_flows_balance() {
    let windows: Vec<u32> = (1..=20).map(|i| 1 + i * 64 / 21).collect();
    let found = predict(&cell(G, &windows[..12], &windows[12..], 1));
    let at = |of: fn(&Occupancy) -> f64| found.occupancy.iter().map(of).sum::<f64>();
    assert_near(at(|it| it.at_successes), 1.0, 1e-12);
    assert_near(at(|it| it.at_any_time), 1.0, 1e-12);
    assert_near(found.active_at_successes.iter().sum(), 1.0, 1e-12);
    assert_near(found.active_at_any_time.iter().sum(), 1.0, 1e-12);
    // Every second success is the access point's, and every other one a station's.
    assert_near(found.access_point_share, 0.5, 1e-11);
    assert_near(found.packets_per_s, 1e6 / (2.0 * found.success_us), 1e-11);
    assert_near(found.flows.iter().map(|flow| flow.share).sum(), 1.0, 1e-12);
    assert!(found.chain.is_none());
    // Equal windows: uploads and downloads share equally.
    let found = predict(&cell(G, &[10; 10], &[10; 10], 1));
    assert_near(found.download_packets_per_s, found.upload_packets_per_s, 1e-11);
}

#[test]
fn large_equal_windows_leave_each_station_active_in_one_of_n() {
    for n in [2, 10, 100] {
        let found = predict(&cell(B, &vec![1000; n], &[], 1));
        assert_near(found.flows[0].active, 1.0 / n as f64, 0.01);
    }
}

#[test]
fn extremes() {
    // A day on the wire, a nanosecond for all else.
    let fast = Times {
        slot_us: 1e-3,
        data_us: 1e-3,
        ack_us: 1e-3,
        data_collision_us: 1e-3,
        ack_collision_us: 1e-3,
    };
    let mut far = cell(fast, &[65_536, 1], &[3], 1);
    far.wire_rtt_s = 86_400.0;
    let found = predict(&far);
    assert_near(found.flows[1].rtt_s, 86_400.0, 1e-9);
    assert_near(found.flows[0].rtt_s, 86_400.0, 1e-9);
    for (downloads, uploads) in
        [(vec![65_536], vec![]), (vec![1; 1000], vec![1; 1007]), (vec![65_536, 1], vec![1])]
    {
        let found = predict(&cell(B, &downloads, &uploads, 1));
        assert_near(found.access_point_share, 0.5, 1e-6);
    }
    let many = cell(B, &[65_536; 30], &[3; 30], 2);
    assert!(predict(&many).packets_per_s > 0.0);
}

#[test]
fn one_packet_at_a_time_over_a_long_wire() {
    // One download with a window of 1: the access point, the station, one after the other, and a second
    // on the wire: 1.002792 s (1927.09 + 865.27 µs, the latter 15.5 slots of 20 and 555.27).
    let mut far = cell(B, &[1], &[], 1);
    far.wire_rtt_s = 1.0;
    assert_near(predict(&far).flows[0].rtt_s, 1.002_792_36, 1e-9);
    // The same for a timer of delayed acknowledgements: a window of 1 never has a second packet.
    let mut delayed = cell(B, &[1], &[], 2);
    delayed.ack_timer_s = 1.0;
    assert_near(predict(&delayed).flows[0].rtt_s, 1.002_792_36, 1e-9);
    // Nor has an upload: its data, the timer, the acknowledgement.
    let mut upload = cell(B, &[], &[1], 2);
    upload.ack_timer_s = 1.0;
    assert_near(predict(&upload).flows[0].rtt_s, 1.002_792_36, 1e-9);
    assert!(predict(&upload).chain.is_none());
    // Larger windows never wait for it.
    let patient = Cell { ack_timer_s: 1.0, ..cell(B, &[2], &[], 2) };
    assert_eq!(predict(&patient).packets_per_s, predict(&cell(B, &[2], &[], 2)).packets_per_s);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let good = cell(B, &[4], &[4], 1);
    let nan = f64::NAN;
    assert!(cell(B, &[], &[], 1).predict().is_err());
    assert!(cell(B, &[0], &[], 1).predict().is_err());
    assert!(cell(B, &[65_537], &[], 1).predict().is_err());
    assert!(cell(B, &[1; 2008], &[], 1).predict().is_err());
    assert!(cell(B, &[1], &[], 0).predict().is_err());
    assert!(Cell { ack_timer_s: -1.0, ..good.clone() }.predict().is_err());
    assert!(Cell { wire_rtt_s: 1e300, ..good.clone() }.predict().is_err());
    assert!(Cell { wire_rtt_s: nan, ..good.clone() }.predict().is_err());
    let infinite = Times { data_us: f64::INFINITY, ..B };
    assert!(Cell { times: infinite, ..good.clone() }.predict().is_err());
    assert!(Cell { times: Times { slot_us: nan, ..B }, ..good.clone() }.predict().is_err());
    let huge = Times { data_us: 1e308, ack_us: 1e308, ..B };
    assert!(Cell { times: huge, ..good }.predict().is_err());
}

#[test]
fn it_knows_where_it_does_not_hold() {
    // One attempt only: every collision is a loss.
    let mut hasty = cell(B, &[4], &[4], 1);
    hasty.backoff.attempts = Some(1);
    assert!(!hasty.predict().unwrap().in_range());
}
