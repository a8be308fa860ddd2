//! A WLAN cell in an experiment: `kind = "wlan"`.

use fairway_net::QdiscConfig;
use fairway_net::wlan::{CellConfig, MacConfig, Phy, Preamble, Slot, StationConfig};
use fairway_phy::{Standard, cts_to_self};
use fairway_units::{Bytes, Rate};

use super::keys::Absent::{Default, Explained};
use super::keys::{Key, Kind, LINK, Section, keys};
use super::links::LinkText;
use super::queues::{self, Path, QUEUE};
use super::reader::{LimitText, Name, Table, excerpt};
use super::{Limit, Link, Shape, Wlan};

/// Stations of one access point: as many as it has association identifiers for (IEEE 802.11-2016
/// 9.4.1.8).
const MAX_STATIONS: u64 = 2007;
/// Bytes of an IP packet in a frame: an MSDU has 2304 at most (IEEE 802.11-2016 9.2.4.7.1), of which
/// LLC and SNAP are 8.
const MAX_PACKET: u64 = 2304 - 8;
/// Transmit queue of a Linux device (`include/net/pkt_sched.h`, `DEFAULT_TX_QUEUE_LEN`).
const DEFAULT_PACKETS: u64 = 1000;
const DEFAULT_LIMIT: LimitText = LimitText::Packets(DEFAULT_PACKETS);
const DEFAULT_QUEUE: QdiscConfig = queues::drop_tail(Limit::Packets(DEFAULT_PACKETS));
/// Name of the host behind the access point.
pub(super) const SERVER: &str = "server";
/// What the names of stations begin with.
pub(super) const STATION: &str = "sta";

/// Keys of `[topology]` that only a WLAN has.
pub(super) const KEYS: &[Key] = keys! {
    "standard": Kind::Choice { thing: "WLAN standard", names: || Standard::ALL.iter().map(|standard| standard.name()).collect() },
        Explained, r#""802.11b""# =>
        "The standard of a WLAN: all its stations share one medium by the distributed coordination function of IEEE 802.11.";
    "stations": Kind::Count { min: 1, max: MAX_STATIONS }, Explained, "5" =>
        "Stations of a WLAN, which are hosts \"sta0\", \"sta1\" and so on.";
    "server": Kind::Table(&LINK), Explained, r#"{"rate": "100 Mbit/s", "delay": "0.1 ms"}"# =>
        "The wire between the access point of a WLAN and the host \"server\". Its queue is unlimited unless written.";
    "rate": Kind::Rate, Explained, r#""11 Mbit/s""# =>
        "Rate of a WLAN's data frames; without it, the highest of the standard, 11 or 54 Mbit/s.";
    "control_rate": Kind::Rate, Explained, r#""2 Mbit/s""# =>
        "Highest rate of a WLAN's RTS, CTS and ACK, which have the highest basic rate up to this and up to that of the data; without it, 2 Mbit/s in 802.11b and 24 in 802.11a and g.";
    "preamble": Kind::Choice { thing: "preamble", names: || vec!["long", "short"] },
        Default(r#""long""#), r#""short""# =>
        "802.11b: preamble of frames at more than 1 Mbit/s.";
    "slot": Kind::Choice { thing: "slot", names: || vec!["short", "long"] },
        Default(r#""short""#), r#""long""# =>
        "802.11g: slots of 9 or of 20 microseconds.";
    "protection": Kind::Switch, Default("false"), "true" =>
        "802.11g: whether each frame goes behind a CTS at 2 Mbit/s of its sender to itself, which 802.11b stations would understand.";
    "rts_threshold": Kind::Size, Explained, r#""500 bytes""# =>
        "Size of a WLAN's frame, headers included, above which it is announced by RTS and CTS; without it, none is.";
    "short_retry_limit": Kind::Count { min: 1, max: 255 }, Default("7"), "7" =>
        "Attempts at a WLAN's frame that no RTS announces, or at the RTS (IEEE 802.11-2016 annex C, dot11ShortRetryLimit).";
    "long_retry_limit": Kind::Count { min: 1, max: 255 }, Default("4"), "4" =>
        "Attempts at a WLAN's frame that an RTS announces (dot11LongRetryLimit).";
    "queue": Kind::Table(&QUEUE), Explained, r#"{"limit": "50 packets"}"# =>
        "The interface queue of each node of a WLAN; without it, drop-tail with 1000 packets, as in Linux. Times and bandwidth-delay products are at the rate of data frames.";
    "ap_queue": Kind::Table(&QUEUE), Explained, r#"{"limit": "100 packets"}"# =>
        "The interface queue of a WLAN's access point, if it differs.";
    "station": Kind::List(&STATIONS), Explained, r#"[{"id": "sta0", "rate": "1 Mbit/s"}]"# =>
        "Stations of a WLAN that differ from the others.";
};

/// Their names.
pub(super) const KEY_NAMES: &str = "standard stations server rate control_rate preamble slot protection \
     rts_threshold short_retry_limit long_retry_limit queue ap_queue station";

/// `[[topology.station]]`.
pub(super) static STATIONS: Section = Section::plain(
    "a station",
    &[keys! {
        "id": Kind::Text, super::keys::Absent::Required, r#""sta0""# => "Which station.";
        "rate": Kind::Rate, Explained, r#""1 Mbit/s""# =>
            "Rate of data frames from it and to it; without it, that of the cell.";
        "frame_error_rate": Kind::Number { min: 0.0, max: 1.0 }, Default("0.0"), "0.1" =>
            "Probability that a data frame from or to it is corrupted, apart from collisions.";
        "control_error_rate": Kind::Number { min: 0.0, max: 1.0 }, Default("0.0"), "0.01" =>
            "The same for RTS, CTS and ACK.";
    }],
);

/// Reads a WLAN. `packet` is the largest IP packet of any flow and `frame` is it on a wire, in
/// bytes.
pub(super) fn read(table: &Table, packet: u64, frame: u64) -> Option<(Shape, Path)> {
    for name in ["standard", "stations"].into_iter().filter(|name| !table.has(name)) {
        table.refuse_missing(name);
    }
    if !table.has("server") {
        let message = "missing; write server = { rate = \"100 Mbit/s\", delay = \"0.1 ms\" }";
        table.refuse("server", message);
    }
    if packet > MAX_PACKET {
        let message = format!(
            "packets of {packet} bytes exceed the {MAX_PACKET} bytes of a frame; \
             lower mss or mtu"
        );
        table.refuse("kind", message);
    }
    let Name(name) = table.read("standard")?;
    let standard = Standard::named(name)?;
    let count: u64 = table.read("stations")?;
    let mac = read_mac(table, standard);
    let phy = read_phy(table, standard);
    let rate = match table.has("rate") {
        true => read_rate(table, "rate", standard)?,
        false => standard.highest_rate(),
    };
    let stations = read_stations(table, count, rate, standard);
    let server = table.table("server").and_then(|server| read_server(server, frame));
    let (mac, server) = (mac?, server?);
    let path = Path {
        slowest: rate,
        base_rtt: server.delay * 2,
        frame: packet + u64::from(mac.overhead_bytes),
    };
    let queue = |name, default: &QdiscConfig| match table.has(name) {
        true => queues::read_at(table, name, DEFAULT_LIMIT, rate, &path),
        false => Some(default.clone()),
    };
    let station_queue = queue("queue", &DEFAULT_QUEUE)?;
    let access_point_queue = queue("ap_queue", &station_queue)?;
    let cell = CellConfig { phy: phy?, mac, stations: stations? };
    Some((Shape::Wlan(Box::new(Wlan { cell, access_point_queue, station_queue, server })), path))
}

fn read_mac(table: &Table, standard: Standard) -> Option<MacConfig> {
    let defaults = MacConfig::default();
    let limit = |name, default: u32| {
        table.read::<u64>(name).map_or(default, |limit| u32::try_from(limit).unwrap_or(default))
    };
    let threshold: Option<Bytes> = table.read("rts_threshold");
    let threshold = threshold.map(|bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX));
    let protection = table.read("protection").unwrap_or(false);
    for name in ["slot", "protection"] {
        if table.has(name) && standard != Standard::G {
            return table.wrong(name, "belongs to standard = \"802.11g\"; write that or remove it");
        }
    }
    Some(MacConfig {
        rts_threshold: threshold.unwrap_or(defaults.rts_threshold),
        short_retry_limit: limit("short_retry_limit", defaults.short_retry_limit),
        long_retry_limit: limit("long_retry_limit", defaults.long_retry_limit),
        cts_to_self: protection.then(cts_to_self),
        ..defaults
    })
}

fn read_phy(table: &Table, standard: Standard) -> Option<Phy> {
    let preamble = match table.read("preamble") {
        Some(Name("short")) => Preamble::Short,
        _ => Preamble::Long,
    };
    let slot = match table.read("slot") {
        Some(Name("long")) => Slot::Long,
        _ => Slot::Short,
    };
    if table.has("preamble") && standard != Standard::B {
        return table
            .wrong("preamble", "belongs to standard = \"802.11b\"; write that or remove it");
    }
    if table.has("control_rate") {
        let highest = read_rate(table, "control_rate", standard)?;
        return Some(standard.phy_with_control(preamble, slot, highest));
    }
    Some(standard.phy(preamble, slot))
}

/// A rate that the standard has.
fn read_rate(table: &Table, name: &str, standard: Standard) -> Option<Rate> {
    let rate: Rate = table.read(name)?;
    if standard.rates().any(|has| has == rate) {
        return Some(rate);
    }
    let rates: Vec<String> =
        standard.rates().map(|rate| (rate.as_bps() as f64 / 1e6).to_string()).collect();
    let (name_of_standard, rates) = (standard.name(), rates.join(", "));
    let message =
        format!("{name_of_standard} has no {rate}; it has {rates} Mbit/s: write one of them");
    table.wrong(name, message)
}

fn read_server(table: Table, frame: u64) -> Option<Link> {
    let link = LinkText::read(table, SERVER.to_owned())?;
    let path = Path { slowest: link.slowest(), base_rtt: link.round_trip(), frame };
    link.finish(&path, false)
}

fn read_stations(
    table: &Table,
    count: u64,
    rate: Rate,
    standard: Standard,
) -> Option<Vec<StationConfig>> {
    let mut stations = vec![StationConfig::at(rate); count as usize];
    let mut named = Vec::new();
    for station in table.tables("station") {
        station.refuse_unknown_keys();
        let id: String = station.require("id")?;
        let host = host(&id, stations.len()).and_then(|host| host.checked_sub(1));
        let Some(index) = host else {
            let (id, hosts) = (excerpt(&id), names(stations.len()));
            return station.wrong("id", format!("there is no station \"{id}\"; there is {hosts}"));
        };
        if named.contains(&index) {
            station.refuse("id", format!("\"{id}\" is there twice; write one table for it"));
        }
        named.push(index);
        let this = &mut stations[index];
        if station.has("rate") {
            this.rate = read_rate(&station, "rate", standard)?;
        }
        this.frame_error_rate = station.read("frame_error_rate").unwrap_or(0.0);
        this.control_error_rate = station.read("control_error_rate").unwrap_or(0.0);
    }
    Some(stations)
}

/// The host of that name in a cell with so many stations: the server is 0, stations follow.
pub(super) fn host(name: &str, stations: usize) -> Option<usize> {
    if name == SERVER {
        return Some(0);
    }
    let digits = name.strip_prefix(STATION)?;
    let index: usize = digits.parse().ok()?;
    // One name for each: no "sta01".
    (index < stations && digits == index.to_string()).then_some(index + 1)
}

/// The names of all hosts.
pub(super) fn names(stations: usize) -> String {
    match stations {
        1 => "\"server\", \"sta0\"".to_owned(),
        _ => format!("\"server\", \"sta0\" to \"sta{}\"", stations - 1),
    }
}
