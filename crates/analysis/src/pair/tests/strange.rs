//! What networks, cards and captures do to packets on the path.

use proptest::prelude::*;

use super::network::{MS, Network, Segment, compare};
use crate::pair::report::RecognisedBy;
use crate::pair::{PairError, analyse};

/// The port and address that a translator gives the client.
const OUTSIDE: ([u8; 4], u16) = ([192, 0, 2, 7], 1234);

fn transfer() -> Network {
    let mut network = Network::default();
    network.open(999, 10 * MS);
    for index in 0..20_u32 {
        let sent = (100 + u64::from(index)) * MS;
        let segment = Segment::data(100 + index as u16, 1000 + index * 1000, 1000);
        if index == 12 {
            network.lose(sent, segment);
        } else {
            network.carry(sent, 10 * MS, segment);
            let ack = Segment::ack(100 + index as u16, 2000 + index.min(11) * 1000);
            network.carry(sent + 10 * MS, 10 * MS, ack);
        }
    }
    network.carry(150 * MS, 10 * MS, Segment::data(200, 13_000, 1000));
    network.carry(160 * MS, 10 * MS, Segment::ack(200, 21_000));
    network
}

fn outside(segment: &mut Segment) {
    for end in [&mut segment.from, &mut segment.to] {
        if *end == super::network::CLIENT {
            *end = OUTSIDE;
        }
    }
}

#[test]
fn translated_addresses() {
    let mut network = transfer();
    network.seen[1].iter_mut().for_each(|(_, segment)| outside(segment));
    let report = network.analyse();
    assert_eq!((report.connections.len(), report.only_in), (1, [0, 0]));
    let connection = &report.connections[0];
    let outside = connection.translated.map(|ends| ends[0].to_string());
    assert_eq!(outside.as_deref(), Some("192.0.2.7:1234"));
    assert_eq!(connection.directions[0].lost_packets, 1);
    assert_eq!(connection.directions[0].losses[0].from_byte, 12_000);
    assert_eq!(connection.directions[1].lost_packets, 0);
}

#[test]
fn identifications_are_rewritten_and_options_cut() {
    let mut network = transfer();
    network.seen[1].iter_mut().for_each(|(_, segment)| segment.id = 0);
    let report = network.analyse();
    assert_eq!(report.recognised_by, RecognisedBy::NotIpId);
    assert_eq!(report.connections[0].directions[0].lost_packets, 1);
    network.seen[0].iter_mut().for_each(|(_, segment)| segment.stamps = None);
    let report = network.analyse();
    assert_eq!(report.recognised_by, RecognisedBy::SequenceNumbers);
    let there = &report.connections[0].directions[0];
    // Three packets of the handshake, twelve segments; acknowledgements come later.
    assert_eq!((there.lost_packets, there.losses[0].packet), (1, 16));
}

#[test]
fn the_senders_card_cuts_and_the_receivers_joins() {
    let mut network = Network::default();
    network.open(999, 10 * MS);
    // Ten segments of 1000 bytes go out as one of 10000; the fifth part is lost, and parts seven
    // to ten are joined to one at the receiver.
    network.see(0, 100 * MS, Segment::data(100, 1000, 10_000));
    for part in [0, 1, 2, 3, 5] {
        let segment =
            Segment { id: 100 + part as u16, ..Segment::data(100, 1000 + part * 1000, 1000) };
        let segment = Segment { stamps: Some((100, 1)), ..segment };
        network.see(1, (110 + u64::from(part)) * MS, segment);
    }
    let joined = Segment { stamps: Some((100, 1)), ..Segment::data(106, 7000, 4000) };
    network.see(1, 120 * MS, joined);
    network.carry(120 * MS, 10 * MS, Segment::ack(3, 5000));
    network.carry(140 * MS, 10 * MS, Segment::data(110, 5000, 1000));
    network.carry(150 * MS, 10 * MS, Segment::ack(4, 11_000));
    let there = &network.analyse().connections[0].directions[0];
    assert!(there.is_cut && there.lost_share.is_none());
    assert_eq!(there.lost_data_bytes, 1000);
    assert_eq!((there.losses[0].from_byte, there.losses[0].repaired_by), (0, Some(6)));
    assert_eq!((there.needed_retransmissions, there.unsent_packets), (1, 0));
    assert_eq!(there.loss_ratio.of_sent, Some(1.0 / 11.0));
}

#[test]
fn captures_of_other_transfers_have_nothing_in_common() {
    let one = transfer();
    let mut other = transfer();
    for (_, segment) in &mut other.seen[1] {
        segment.seq = segment.seq.wrapping_add(77_777);
        segment.ack = segment.ack.wrapping_add(99);
    }
    let error = compare([one.file(0), other.file(1)]).expect_err("other numbers");
    let words = error.to_string();
    assert!(words.contains("no packets in common") && words.contains("first and second"));
}

#[test]
fn a_pipe_is_refused_in_words() {
    let dash = std::path::Path::new("-");
    let error = analyse([dash, dash], ["-", "-"], &mut |_| true).expect_err("a pipe");
    assert!(matches!(error, PairError::Pipe { .. }));
    assert!(error.to_string().contains("write it to a file first"));
}

#[test]
fn work_stops_when_it_is_told_to() {
    let mut network = transfer();
    for index in 0..20_000_u32 {
        let segment = Segment::ack(index as u16, 22_000 + index);
        network.carry(200 * MS + u64::from(index) * 1000, 10 * MS, segment);
    }
    let files = [network.file(0), network.file(1)];
    let mut open = |capture: usize| {
        let file = std::io::Cursor::new(files[capture].clone());
        fairway_capture::read::Capture::from_read(Box::new(file), "a test's")
    };
    let result = crate::pair::analyse_streams(&mut open, ["a", "b"], &mut |_| false);
    assert!(matches!(result, Err(PairError::Cancelled)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Bytes of a capture are changed at random: there is an answer or an error.
    #[test]
    fn nothing_that_a_file_says_breaks_it(
        changes in prop::collection::vec((0_usize..2, any::<prop::sample::Index>(), any::<u8>()), 1..60),
        ends in (any::<prop::sample::Index>(), any::<bool>()),
    ) {
        let network = transfer();
        let mut files = [network.file(0), network.file(1)];
        for (file, place, value) in changes {
            // The head of a capture stays: the reader has its own tests.
            let place = 24 + place.index(files[file].len() - 24);
            files[file][place] = value;
        }
        if ends.1 {
            let length = ends.0.index(files[1].len());
            files[1].truncate(length);
        }
        let _ = compare(files);
    }
}
