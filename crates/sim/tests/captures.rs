//! Captures of runs: the same bytes each time, and no run is different for being captured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{experiment, run_text};
use fairway_sim::{Control, Run, check_captures, run_captured};

/// Everything that can happen to a packet: queues that know at once and ports that do not, drops at
/// arrival and at departure, losses, damage, copies, marks, another order, two directions, UDP.
const EVENTFUL: &str = r#"
    duration = "10 s"
    seed = 3
    [stack]
    preset = "linux-6.1"
    ecn = "accurate"
    [topology]
    kind = "chain"
    [[topology.link]]
    id = "first"
    rate = "20 Mbit/s"
    delay = "5 ms"
    queue = { kind = "droptail", limit = "20 packets" }
    loss = { probability = 0.001, direction = "both" }
    [[topology.link]]
    id = "second"
    rate = "10 Mbit/s"
    delay = "20 ms"
    queue = { kind = "codel", limit = "40 packets" }
    corruption = { probability = 0.002 }
    duplication = { probability = 0.002 }
    reordering = { probability = 0.01, delay = "2 ms" }
    loss = { kind = "gilbert-elliott", p = 0.0005, r = 0.2 }
    [[flow]]
    cc = "cubic"
    both_ways = true
    [[flow]]
    cc = "reno"
    send_jitter = "100 us"
    direction = "reverse"
    [[flow]]
    kind = "cbr"
    rate = "3 Mbit/s"
"#;

fn captured(capture: &str, directory: &Path) -> Run {
    let experiment = experiment(&format!("{EVENTFUL}\n[capture]\n{capture}"));
    check_captures(&experiment).unwrap();
    run_captured(&experiment, &Control::default(), directory).unwrap_or_else(|e| panic!("{e}"))
}

fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

/// Comments of a capture with how often each stands there, and how many packets it has; the times
/// of packets are in order.
fn look(file: &[u8]) -> (BTreeMap<String, u64>, u64) {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut packets, mut last, mut comments) = (0, 0, 0, BTreeMap::new());
    while at < file.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        assert_eq!(word(at + length - 4) as usize, length);
        if kind == 6 {
            packets += 1;
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            assert!(last <= time, "packet {packets} at {time} ns is behind {last} ns");
            last = time;
            let options = at + 28 + (word(at + 20) as usize).next_multiple_of(4);
            if word(options) & 0xffff == 1 {
                let text = &file[options + 4..options + 4 + (word(options) >> 16) as usize];
                let text = String::from_utf8(text.to_vec()).unwrap();
                *comments.entry(text).or_default() += 1;
            }
        }
        at += length;
    }
    (comments, packets)
}

#[test]
fn a_captured_run_is_the_same_and_so_are_its_captures() {
    let plain = run_text(EVENTFUL);
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let runs = [&one, &two].map(|place| captured("at = \"everything\"", place.path()));
    // As text, in which a number that is none equals itself.
    let [plain, one_run, two_run] = [&plain, &runs[0], &runs[1]].map(|run| format!("{run:?}"));
    assert!(plain == one_run && plain == two_run, "a run is different for being captured");
    assert!(contents(one.path()) == contents(two.path()), "captures differ");
    let names: Vec<_> = contents(one.path()).into_keys().collect();
    let ends = ["first@left", "first@right", "second@left", "second@right"];
    let hosts = ["d0", "d1", "d2", "s0", "s1", "s2"];
    let mut expected: Vec<String> =
        hosts.iter().chain(&ends).map(|name| format!("{name}.pcapng")).collect();
    expected.sort();
    assert_eq!(names, expected);
}

/// What the run counts over its whole length is what the captures show.
#[test]
fn comments_are_what_the_run_counts() {
    let place = tempfile::tempdir().unwrap();
    let run = captured("at = \"links\"", place.path());
    let files = contents(place.path());
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for file in files.values() {
        for (comment, count) in look(file).0 {
            *found.entry(comment).or_default() += count;
        }
    }
    for link in &run.summary.links {
        for (what, count) in [("dropped by the queue of", link.drops), ("lost on", link.losses)] {
            let comment = format!("fairway: {what} {}", link.id);
            assert_eq!(found.remove(&comment).unwrap_or(0), count, "{comment}");
        }
    }
    // Damaged towards the sinks, and seen where it comes out.
    let corrupted: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(corrupted, ["fairway: corrupted on second"]);
    // What is tested has happened.
    let sum = |count: fn(&fairway_schema::LinkSummary) -> u64| {
        run.summary.links.iter().map(count).sum::<u64>()
    };
    assert!(sum(|link| link.drops) > 50 && sum(|link| link.losses) > 10);
}

#[test]
fn one_file_has_the_packets_of_all_places() {
    let [each, one] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    captured("at = [\"s0\", \"second\"]", each.path());
    captured("at = [\"s0\", \"second\"]\nfiles = \"one\"", one.path());
    let (each, one) = (contents(each.path()), contents(one.path()));
    let names: Vec<_> = each.keys().map(String::as_str).collect();
    assert_eq!(names, ["s0.pcapng", "second@left.pcapng", "second@right.pcapng"]);
    let counts: u64 = each.values().map(|file| look(file).1).sum();
    assert_eq!(look(&one["capture.pcapng"]).1, counts);
}

#[test]
fn places_that_there_are_not_are_refused() {
    let refused = |capture: &str| {
        let experiment = experiment(&format!("{EVENTFUL}\n[capture]\n{capture}"));
        check_captures(&experiment).unwrap_err().to_string()
    };
    assert_eq!(
        refused("at = [\"second\", \"s7\"]"),
        "capture.at: there is no place \"s7\"; there is \"s0\", \"d0\", \"d1\", \"s1\", \"s2\", \
         \"d2\", \"first@left\", \"first@right\" and others"
    );
    let many = "[[flow]]\ncc = \"reno\"\ncount = 200\n[capture]\nat = \"hosts\"";
    let experiment = experiment(&format!("{EVENTFUL}\n{many}"));
    assert_eq!(
        check_captures(&experiment).unwrap_err().to_string(),
        "capture.files: 406 places would be 406 files, and at most 256 are written; write files = \
         \"one\", or name fewer places in capture.at"
    );
}

#[test]
fn what_cannot_be_written_ends_the_run() {
    let experiment = experiment(&format!("{EVENTFUL}\n[capture]\nat = \"hosts\""));
    let nowhere = Path::new("/nowhere/at/all");
    let error = run_captured(&experiment, &Control::default(), nowhere).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /nowhere/at/all/s0.pcapng: "), "{error}");
}
