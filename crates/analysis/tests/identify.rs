//! Algorithms are told apart on captures of a real kernel, which are named by the algorithm that made
//! them (`tests/captures/identify`).

use std::path::Path;

use fairway_analysis::identify::Identification;
use fairway_analysis::{Analyser, Options};
use fairway_capture::read::Capture;

fn identify(name: &str) -> Identification {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/identify");
    let mut capture = Capture::open(&captures.join(format!("{name}.pcapng.gz"))).unwrap();
    let mut analyser = Analyser::new(Options { identify: true, ..Options::default() });
    while let Some(packet) = capture.next() {
        analyser.packet(packet);
    }
    let connection = analyser.finish().connections.swap_remove(0);
    let directions = connection.directions.into_iter();
    directions.max_by_key(|one| one.data.data_bytes).unwrap().congestion_control.unwrap()
}

/// Where the algorithm stands that has made the capture of its name, from 1.
fn place(name: &str, found: &Identification) -> usize {
    found.ranked.iter().position(|one| one.algorithm == name).unwrap() + 1
}

#[test]
fn what_made_a_capture_is_first() {
    for name in ["bbr", "bic", "cubic", "htcp", "illinois", "reno", "vegas"] {
        let found = identify(name);
        assert_eq!(place(name, &found), 1, "{name}: {}", found.words);
        assert!(found.is_explained && found.words.starts_with(name), "{}", found.words);
    }
}

#[test]
fn marks_in_nearly_every_round_trip_leave_dctcp_among_three() {
    let found = identify("dctcp");
    assert!(place("dctcp", &found) <= 3, "{}", found.words);
}

#[test]
fn the_same_capture_gives_the_same_result() {
    assert_eq!(identify("cubic"), identify("cubic"));
}

#[test]
fn nothing_is_asked_unless_it_is_wanted() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/identify");
    let mut capture = Capture::open(&captures.join("cubic.pcapng.gz")).unwrap();
    let mut analyser = Analyser::new(Options::default());
    while let Some(packet) = capture.next() {
        analyser.packet(packet);
    }
    let report = analyser.finish();
    assert!(report.connections[0].directions.iter().all(|one| one.congestion_control.is_none()));
}
