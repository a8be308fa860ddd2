//! Compares what is read in every capture of `tests/captures` with what tshark reads, field by field.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fairway_capture::packet::Fate;
use fairway_capture::read::Capture;
use fairway_capture::{Packet, Transport};

/// A line of tshark's: values by the names of fields.
type Row = BTreeMap<String, String>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures")
}

fn read(name: &str) -> Vec<Packet> {
    let mut capture = Capture::open(&folder().join(name)).unwrap_or_else(|error| panic!("{error}"));
    let mut packets = Vec::new();
    while let Some(packet) = capture.next() {
        packets.push(*packet);
    }
    assert_eq!(capture.damaged(), [], "{name}");
    packets
}

/// tshark's lines of a capture.
fn rows(capture: &str) -> Vec<Row> {
    let text = fs::read_to_string(folder().join("tshark.tsv")).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t'));
    let names: Vec<_> = lines.next().unwrap().skip(1).map(str::to_owned).collect();
    lines
        .filter_map(|mut values| (values.next() == Some(capture)).then_some(values))
        .map(|values| names.iter().cloned().zip(values.map(str::to_owned)).collect())
        .collect()
}

/// A packet in tshark's words.
fn row(packet: &Packet) -> Row {
    let mut row = Row::new();
    let mut put = |name: &str, value: String| {
        row.insert(name.to_owned(), value);
    };
    let at_ns = packet.at.as_nanos();
    put("frame.number", packet.number.to_string());
    put("frame.time_epoch", format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000));
    put("frame.len", packet.frame_bytes.to_string());
    let (source, destination, ttl) = match packet.source.is_ipv4() {
        true => ("ip.src", "ip.dst", "ip.ttl"),
        false => ("ipv6.src", "ipv6.dst", "ipv6.hlim"),
    };
    put(source, packet.source.ip().to_string());
    put(destination, packet.destination.ip().to_string());
    put(ttl, packet.ttl.to_string());
    match packet.transport {
        Transport::Tcp(tcp) => {
            put("tcp.srcport", packet.source.port().to_string());
            put("tcp.dstport", packet.destination.port().to_string());
            put("tcp.seq_raw", tcp.seq.to_string());
            put("tcp.ack_raw", tcp.ack.to_string());
            put("tcp.flags", format!("0x{:04x}", tcp.flags));
            put("tcp.window_size_value", tcp.window.to_string());
            put("tcp.len", tcp.payload_bytes.to_string());
            let options = &tcp.options;
            if let Some((value, echo)) = options.timestamps {
                put("tcp.options.timestamp.tsval", value.to_string());
                put("tcp.options.timestamp.tsecr", echo.to_string());
            }
            if let Some(mss) = options.mss {
                put("tcp.options.mss_val", mss.to_string());
            }
            if let Some(scale) = options.window_scale {
                put("tcp.options.wscale.shift", scale.to_string());
            }
            let edges = |edge: fn(&(u32, u32)) -> u32| {
                let edges: Vec<_> =
                    options.sack_blocks().iter().map(|block| edge(block).to_string()).collect();
                edges.join(",")
            };
            put("tcp.options.sack_le", edges(|block| block.0));
            put("tcp.options.sack_re", edges(|block| block.1));
        }
        Transport::Udp(udp) => {
            put("udp.srcport", packet.source.port().to_string());
            put("udp.dstport", packet.destination.port().to_string());
            // tshark counts the header.
            put("udp.length", (udp.payload_bytes + 8).to_string());
        }
        Transport::Other(_) => {}
    }
    row
}

/// Holds packets against rows in the fields that `skipped` does not name.
fn compare(name: &str, packets: &[Packet], expected: &[Row], skipped: &[&str]) {
    let packets: Vec<_> =
        packets.iter().filter(|packet| !matches!(packet.transport, Transport::Other(_))).collect();
    for (packet, expected) in packets.iter().zip(expected) {
        let read = row(packet);
        for (field, value) in expected {
            if skipped.contains(&field.as_str()) {
                continue;
            }
            let found = read.get(field).map_or("", String::as_str);
            assert_eq!(found, value, "{field} of packet {} of {name}", packet.number);
        }
    }
    assert_eq!(packets.len(), expected.len(), "packets of {name}");
}

/// tshark takes a checksum that was left to the card for a wrong one: the test below tells of it.
const CHECKSUM: &str = "tcp.checksum.status";

#[test]
fn captures_are_read_as_tshark_reads_them() {
    let mut names: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| [".pcap", ".pcapng", ".gz"].iter().any(|end| name.ends_with(end)))
        .collect();
    names.sort();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        // tshark says nothing of the time of a packet that has none.
        let skipped: &[&str] =
            if name == "ng-simple.pcapng" { &[CHECKSUM, "frame.time_epoch"] } else { &[CHECKSUM] };
        compare(&name, &read(&name), &rows(&name), skipped);
    }
}

/// Wherever a checksum is said to be wrong, tshark says so too; it is in one packet of `lengths`,
/// where a bit of the payload was turned.
#[test]
fn a_wrong_checksum_is_told_from_one_that_was_left_to_the_card() {
    let wrong = |name: &str| -> Vec<u64> {
        read(name)
            .iter()
            .filter(
                |packet| matches!(packet.transport, Transport::Tcp(tcp) if tcp.is_checksum_wrong),
            )
            .map(|packet| packet.number)
            .collect()
    };
    assert_eq!(wrong("lengths.pcap"), [8]);
    assert_eq!(rows("lengths.pcap")[7][CHECKSUM], "0");
    for name in ["whole.pcap", "offloaded.pcap", "v6-extensions.pcap", "fragments-tcp.pcap"] {
        assert_eq!(wrong(name), Vec::<u64>::new(), "{name}");
    }
}

#[test]
fn comments_of_the_project_say_what_became_of_a_packet() {
    let fates: Vec<_> = read("ng-comments.pcapng").iter().map(|packet| packet.fate).collect();
    let mut expected = vec![Fate::Unknown; 9];
    expected[3] = Fate::Dropped;
    expected[4] = Fate::Lost;
    expected[6] = Fate::Corrupted;
    assert_eq!(fates, expected);
}

/// A packet without a time gets that of the one before.
#[test]
fn simple_packets_have_the_time_of_those_before_them() {
    let packets = read("ng-simple.pcapng");
    for pair in packets.chunks(2).filter(|pair| pair.len() == 2) {
        assert_eq!(pair[0].at, pair[1].at);
    }
    let mut capture = Capture::open(&folder().join("ng-simple.pcapng")).unwrap();
    while capture.next().is_some() {}
    assert_eq!(capture.counts().without_time, packets.len() as u64 / 2);
}

/// The text says nothing of frames, and of segments without data no sequence number: those get the
/// next one, which is right but for packets that probe.
#[test]
fn text_is_read_as_the_capture_that_it_was_printed_from() {
    let expected = rows("ethernet.pcap");
    let skipped = [CHECKSUM, "frame.len", "ip.ttl", "ipv6.hlim"];
    for name in ["tt", "tt-absolute", "date", "link"] {
        let name = format!("text-{name}.txt");
        compare(&name, &read(&name), &expected, &skipped);
    }
    for name in ["verbose", "hex"] {
        let name = format!("text-{name}.txt");
        let packets = read(&name);
        assert_eq!(packets.len(), 20, "{name}");
        compare(&name, &packets, &expected[..20], &skipped);
    }
    for name in ["clock", "delta", "first"] {
        let name = format!("text-{name}.txt");
        let packets = read(&name);
        compare(&name, &packets, &expected, &[&skipped[..], &["frame.time_epoch"]].concat());
        let nanoseconds =
            |row: &Row| -> u64 { row["frame.time_epoch"].replace('.', "").parse().unwrap() };
        for (packet, row) in packets.iter().zip(&expected) {
            let since_first = nanoseconds(row) - nanoseconds(&expected[0]);
            assert_eq!(packet.at.since(packets[0].at).as_nanos(), since_first, "{name}");
        }
    }
}

#[test]
fn hosts_that_a_text_names_have_addresses_and_keep_their_names() {
    let mut capture = Capture::open(&folder().join("text-names.txt")).unwrap();
    let (source, destination) = match capture.next() {
        Some(packet) => (packet.source, packet.destination),
        None => panic!("there are packets"),
    };
    assert_eq!(source.ip().to_string(), "240.0.0.1");
    assert_eq!(capture.host_name(source.ip()), Some("localhost"));
    assert_eq!(destination.ip(), source.ip());
    let expected = rows("ethernet.pcap");
    let skipped = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.ttl", "ipv6.hlim"];
    let skipped = [&skipped[..], &[CHECKSUM, "frame.len"]].concat();
    compare("text-names.txt", &read("text-names.txt"), &expected, &skipped);
}
