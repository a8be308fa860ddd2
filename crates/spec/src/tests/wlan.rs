//! WLAN cells as they are written.

use fairway_net::wlan::{Phy, Preamble, Slot};
use fairway_net::{DropTailConfig, QdiscConfig};
use fairway_units::{Duration, Rate};

use super::{assert_refused, experiment};
use crate::wlan::host;
use crate::{Limit, Shape, Wlan};

/// A WLAN with two flows, and with more lines in its topology.
fn text(topology: &str) -> String {
    format!(
        r#"
        duration = "10 s"
        [topology]
        kind = "wlan"
        stations = 3
        server = {{ rate = "100 Mbit/s", delay = "0.1 ms" }}
        {topology}
        [[flow]]
        cc = "reno"
        from = "server"
        to = "sta0"
        [[flow]]
        cc = "reno"
        from = "sta2"
        to = "sta0"
        "#
    )
}

fn wlan(topology: &str) -> Wlan {
    match experiment(&text(topology)).topology.shape {
        Shape::Wlan(wlan) => *wlan,
        other => panic!("{other:?}"),
    }
}

fn mbit(tenths: u64) -> Rate {
    Rate::from_bps(tenths * 100_000)
}

#[test]
fn standards_have_their_rates_and_times() {
    let b = wlan("standard = \"802.11b\"");
    assert_eq!(b.cell.phy, Phy::b(Preamble::Long));
    assert_eq!(b.cell.stations.len(), 3);
    assert_eq!(b.cell.stations[2].rate, mbit(110));
    assert_eq!((b.server.id.as_str(), b.server.rate), ("server", mbit(1000)));
    let short = wlan("standard = \"802.11b\"\npreamble = \"short\"\nrate = \"5.5 Mbit/s\"");
    assert_eq!((short.cell.phy, short.cell.stations[0].rate), (Phy::b(Preamble::Short), mbit(55)));
    assert_eq!(wlan("standard = \"802.11a\"").cell.phy, Phy::a());
    let g = wlan("standard = \"802.11g\"\nslot = \"long\"\nprotection = true");
    assert_eq!((&g.cell.phy, g.cell.stations[0].rate), (&Phy::g(Slot::Long), mbit(540)));
    // CTS of 112 bits at 2 Mbit/s behind 192 us of preamble and header, and SIFS: 56 + 192 + 10.
    assert_eq!(g.cell.mac.cts_to_self, Some(Duration::from_micros(258)));
}

#[test]
fn the_access_method_has_the_defaults_of_the_standard() {
    let defaults = wlan("standard = \"802.11b\"").cell.mac;
    assert_eq!((defaults.short_retry_limit, defaults.long_retry_limit), (7, 4));
    assert!(defaults.rts_threshold > 2304 && defaults.cts_to_self.is_none());
    let written = wlan(
        "standard = \"802.11b\"\nrts_threshold = \"500 bytes\"\nshort_retry_limit = 3\n\
         long_retry_limit = 2",
    );
    let mac = written.cell.mac;
    assert_eq!((mac.rts_threshold, mac.short_retry_limit, mac.long_retry_limit), (500, 3, 2));
}

#[test]
fn control_frames_have_a_highest_rate() {
    let rates = |text: &str| wlan(text).cell.phy.basic_rates;
    assert_eq!(rates("standard = \"802.11b\""), [mbit(10), mbit(20)]);
    let b = rates("standard = \"802.11b\"\ncontrol_rate = \"11 Mbit/s\"");
    assert_eq!(b, [10, 20, 55, 110].map(mbit));
    let g = rates("standard = \"802.11g\"\ncontrol_rate = \"18 Mbit/s\"");
    assert_eq!(g, [60, 120, 180].map(mbit));
    assert_eq!(rates("standard = \"802.11a\"\ncontrol_rate = \"6 Mbit/s\""), [mbit(60)]);
}

#[test]
fn stations_and_queues_differ_where_that_is_written() {
    let wlan = wlan(
        r#"standard = "802.11b"
        queue = { limit = "20 packets" }
        ap_queue = { kind = "droptail", limit = "100 packets" }
        station = [{ id = "sta1", rate = "1 Mbit/s", frame_error_rate = 0.25, control_error_rate = 0.125 }]"#,
    );
    let rates: Vec<_> = wlan.cell.stations.iter().map(|station| station.rate).collect();
    assert_eq!(rates, [110, 10, 110].map(mbit));
    let [_, slow, fast] = wlan.cell.stations[..] else { panic!("three stations") };
    assert_eq!((slow.frame_error_rate, slow.control_error_rate), (0.25, 0.125));
    assert_eq!((fast.frame_error_rate, fast.control_error_rate), (0.0, 0.0));
    let limit = |packets| QdiscConfig::DropTail(DropTailConfig { limit: Limit::Packets(packets) });
    assert_eq!((wlan.station_queue, wlan.access_point_queue), (limit(20), limit(100)));
    // Without an own one the access point has the queue of all, and that is Linux's.
    let common = self::wlan("standard = \"802.11b\"\nqueue = { limit = \"20 packets\" }");
    assert_eq!(common.access_point_queue, limit(20));
    assert_eq!(self::wlan("standard = \"802.11b\"").station_queue, limit(1000));
}

#[test]
fn hosts_have_one_name_each() {
    assert_eq!(host("server", 3), Some(0));
    assert_eq!(host("sta2", 3), Some(3));
    for wrong in ["sta3", "sta02", "sta", "sta-1", "sta+1", "Server", "ap", ""] {
        assert_eq!(host(wrong, 3), None, "{wrong}");
    }
    let flows = experiment(&text("standard = \"802.11b\"")).flows;
    assert_eq!((flows[0].hosts, flows[1].hosts), ([0, 1], [3, 1]));
}

#[test]
fn what_a_cell_has_not_is_refused() {
    let b = "standard = \"802.11b\"";
    assert_refused(
        &text("standard = \"802.11g\"\nrate = \"11 Mbit/s\""),
        "topology.rate: 802.11g has no 11 Mbit/s; it has 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s: write \
         one of them",
    );
    assert_refused(
        &text(&format!("{b}\nslot = \"long\"")),
        "topology.slot: belongs to standard = \"802.11g\"; write that or remove it",
    );
    assert_refused(
        &text("standard = \"802.11a\"\npreamble = \"short\""),
        "topology.preamble: belongs to standard = \"802.11b\"; write that or remove it",
    );
    let hosts = "\"server\", \"sta0\" to \"sta2\"";
    assert_refused(
        &text(&format!("{b}\nstation = [{{ id = \"sta3\" }}]")),
        &format!("topology.station.sta3.id: there is no station \"sta3\"; there is {hosts}"),
    );
    assert_refused(
        &text(&format!("{b}\nstation = [{{ id = \"sta1\" }}, {{ id = \"sta1\" }}]")),
        "topology.station.sta1.id: \"sta1\" is there twice; write one table for it",
    );
    assert_refused(
        &text(b).replacen("to = \"sta0\"", "to = \"sta7\"", 1),
        &format!("flow.0.to: there is no host \"sta7\"; there is {hosts}"),
    );
    assert_refused(
        &text(b).replacen("from = \"server\"\n", "", 1).replacen("to = \"sta0\"\n", "", 1),
        &format!("flow.0.from: missing; write from and to, of {hosts}"),
    );
    assert_refused(
        &text(b).replacen("cc = \"reno\"", "cc = \"reno\"\ndirection = \"reverse\"", 1),
        "flow.0.direction: belongs to a dumbbell or a chain; use `from` and `to` here",
    );
    assert_refused(
        &text(b).replacen("cc = \"reno\"", "cc = \"reno\"\nmtu = \"9000 bytes\"", 1),
        "topology.kind: packets of 9000 bytes exceed the 2296 bytes of a frame; \
         lower mss or mtu",
    );
}

#[test]
fn what_a_cell_needs_is_missed() {
    let text = "duration = \"1 s\"\ntopology = { kind = \"wlan\" }\n\
                flow = [{ cc = \"reno\", from = \"server\", to = \"sta0\" }]";
    let expected = [
        "topology.standard: missing; write standard = \"802.11b\"",
        "topology.stations: missing; write stations = 5",
        "topology.server: missing; write server = { rate = \"100 Mbit/s\", delay = \"0.1 ms\" }",
    ];
    assert_eq!(super::refusal(text), expected);
}
