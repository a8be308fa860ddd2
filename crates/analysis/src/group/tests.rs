use std::net::{Ipv4Addr, SocketAddr};

use super::{Track, members, side_by_side};
use crate::window::{Phase, WindowSeries};

/// A series of one-second intervals from `first_s`, in each of which as much is delivered and in
/// flight, with a window of ten times that.
fn series(first_s: f64, bytes: &[u64]) -> WindowSeries {
    WindowSeries {
        interval_s: 1.0,
        t_s: (0..bytes.len()).map(|i| first_s + i as f64).collect(),
        flight_bytes: bytes.to_vec(),
        delivered_bytes: bytes.to_vec(),
        cwnd_bytes: bytes.iter().map(|bytes| Some(10 * bytes)).collect(),
        receive_window_bytes: vec![None; bytes.len()],
        phase: vec![Phase::CongestionAvoidance; bytes.len()],
    }
}

fn track(connection: u64, series: &WindowSeries) -> Track<'_> {
    let end = SocketAddr::from((Ipv4Addr::LOCALHOST, 80));
    Track {
        connection,
        from: end,
        to: end,
        unique_bytes: series.delivered_bytes.iter().sum(),
        series,
        first_s: series.t_s[0],
        last_s: series.t_s[series.t_s.len() - 1] + series.interval_s,
    }
}

#[test]
fn two_connections_share_while_both_are_there() {
    // 300 against 100 bytes a second from 2 s to 5 s; the first alone before and after.
    let (a, b) = (series(0.0, &[400, 400, 300, 300, 300, 400]), series(2.0, &[100, 100, 100]));
    let group = side_by_side(&[track(1, &a), track(2, &b)]);
    assert_eq!((group.from_s, group.until_s, group.is_together), (2.0, 5.0, true));
    assert_eq!(group.goodput_bps, 3200.0);
    assert_eq!(group.members[0].goodput_bps, 2400.0);
    assert_eq!((group.members[0].share, group.members[1].share), (Some(0.75), Some(0.25)));
    // (300 + 100)² / (2 (300² + 100²)) = 160000 / 200000; (300 − 100) / 400; (300 − 100) / 100.
    assert_eq!(group.jain_index, Some(0.8));
    assert_eq!((group.asymmetry, group.unfairness), (Some(0.5), Some(2.0)));
    let over_time = group.series;
    assert_eq!(over_time.t_s, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(over_time.cwnd_bytes, [4000, 4000, 4000, 4000, 4000, 4000]);
    assert_eq!(over_time.goodput_bps, [3200.0; 6]);
    assert_eq!(over_time.jain_index[0], Some(1.0));
    assert_eq!(over_time.jain_index[2], Some(0.8));
    assert_eq!(over_time.shares[1][..3], [Some(0.0), Some(0.0), Some(0.25)]);
}

#[test]
fn connections_that_never_meet_are_compared_over_all_of_the_time() {
    let (a, b) = (series(0.0, &[100, 100]), series(10.0, &[200]));
    let group = side_by_side(&[track(1, &a), track(2, &b)]);
    assert_eq!((group.from_s, group.until_s, group.is_together), (0.0, 11.0, false));
    assert_eq!(group.jain_index, Some(1.0));
    // Nobody is there in between.
    assert_eq!(group.series.cwnd_bytes[5], 0);
    assert_eq!(group.series.jain_index[5], None);
}

#[test]
fn a_member_that_pauses_keeps_its_window() {
    let mut a = series(0.0, &[100, 100, 100]);
    a.t_s = vec![0.0, 1.0, 4.0];
    let b = series(0.0, &[100, 100, 100, 100, 100]);
    let group = side_by_side(&[track(1, &a), track(2, &b)]);
    assert_eq!(group.series.cwnd_bytes, [2000; 5]);
}

#[test]
fn who_carries_next_to_nothing_is_no_member() {
    let (control, data, starved) =
        (series(0.0, &[999]), series(0.0, &[1_000_000]), series(0.0, &[1000]));
    let (tracks, left_out) = members(vec![track(1, &control), track(2, &data), track(3, &starved)]);
    assert_eq!(tracks.iter().map(|track| track.connection).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(left_out, 1);
}
