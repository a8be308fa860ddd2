//! Which devices see the places of a capture.

use fairway_guest::plan::CapturePlace;

use super::laid_out;

const HEAD: &str = r#"
duration = "10 s"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
[[flow]]
cc = "cubic"
"#;

fn places(text: &str) -> Vec<CapturePlace> {
    laid_out(text).plan.capture.map_or_else(Vec::new, |capture| capture.places)
}

/// `s | r1 => r2 | d`: what enters the link comes into r1 from s, and what comes out of it into d
/// from r2, because its wire is behind r2.
#[test]
fn a_link_is_seen_in_front_of_its_queue_and_behind_its_wire() {
    let text = format!("{HEAD}\n[capture]\nat = \"everything\"");
    let namespaces = laid_out(&text).plan.namespaces;
    let seen = |place: &CapturePlace| {
        let taps = place.taps.iter().map(|tap| {
            let namespace = &namespaces[tap.namespace].name;
            let device = if tap.is_outgoing { "to" } else { "from" };
            let way = if tap.is_outbound { "out" } else { "in" };
            let host = tap.host.map_or_else(String::new, |host| format!(" of {host}"));
            format!("{way}: {namespace} {device} {}{host}", tap.device)
        });
        (place.name.clone(), taps.collect::<Vec<_>>().join(", "))
    };
    let found: Vec<_> = places(&text).iter().map(seen).collect();
    let expected = [
        ("s0", "out: s to r1 of 10.0.0.1, in: s from r1 of 10.0.0.1"),
        ("d0", "out: d to r2 of 10.64.0.1, in: d from r2 of 10.64.0.1"),
        ("bottleneck@left", "out: r1 from s, in: s from r1"),
        ("bottleneck@right", "out: r2 from d, in: d from r2"),
    ];
    assert_eq!(found, expected.map(|(name, taps)| (name.to_owned(), taps.to_owned())));
}

#[test]
fn access_links_have_places_of_their_own() {
    let access = "[topology.access]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"";
    let places = places(&format!("{HEAD}\n{access}\n[capture]\nat = \"links\""));
    let names: Vec<_> = places.iter().map(|place| place.name.as_str()).collect();
    let expected = [
        "access/s0@s0",
        "access/s0@left",
        "bottleneck@left",
        "bottleneck@right",
        "access/d0@right",
        "access/d0@d0",
    ];
    assert_eq!(names, expected);
    assert!(places.iter().all(|place| place.taps.len() == 2));
}

#[test]
fn access_links_on_one_side_have_places_there() {
    let names = |side: &str| {
        let access = format!("rate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nside = \"{side}\"");
        let text = format!("{HEAD}\n[topology.access]\n{access}\n[capture]\nat = \"links\"");
        places(&text).into_iter().map(|place| place.name).collect::<Vec<_>>()
    };
    assert_eq!(
        names("sources"),
        ["access/s0@s0", "access/s0@left", "bottleneck@left", "bottleneck@right"]
    );
    assert_eq!(
        names("sinks"),
        ["bottleneck@left", "bottleneck@right", "access/d0@right", "access/d0@d0"]
    );
}

#[test]
fn nothing_is_captured_unless_it_is_asked_for() {
    assert_eq!(laid_out(HEAD).plan.capture, None);
}
