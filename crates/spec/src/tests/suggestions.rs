//! What messages suggest: a value behind "write" means what was written, and each is accepted.

use fairway_cc::Catalogue;
use fairway_units::{Bytes, Duration, Rate};
use proptest::prelude::*;
use serde_json::Value;

use crate::document::resolve;
use crate::keys::{EXPERIMENT, Kind, Section};
use crate::reader::{
    AckDelay, DurationOrPackets, LimitText, Packets, RateOrDown, Readable, Segments,
    SegmentsOrUnlimited, Size,
};
use crate::specimen;

/// Values in quotes that a message offers.
fn offered(message: &str) -> Vec<String> {
    let Some((_, remedy)) = message.rsplit_once("; ") else { return Vec::new() };
    let is_offer = ["write ", "try "].iter().any(|word| remedy.starts_with(word));
    let is_offer = is_offer && !remedy.contains(['[', '{']);
    let quoted = remedy.split('"').skip(1).step_by(2);
    quoted.filter(|_| is_offer).map(str::to_owned).collect()
}

/// What a reader says of a value, and that it takes what it offers instead.
fn check<T: Readable>(value: &Value, kind: &Kind) -> Result<(), TestCaseError> {
    let Err(message) = T::read(value, kind) else { return Ok(()) };
    for offer in offered(&message) {
        let again = T::read(&Value::String(offer.clone()), kind);
        prop_assert!(again.is_ok(), "{offer:?} for {value}: {message}");
    }
    Ok(())
}

/// Numbers and units as people and programs write them, and others.
fn value() -> impl Strategy<Value = Value> {
    let number = "[-+]?[0-9]{0,5}[.]?[0-9]{0,3}(e-?[0-9])?";
    let unit = proptest::sample::select(vec![
        "",
        "packets",
        "pkts",
        "Packet",
        "segments",
        "MSS",
        "bdp",
        "BDP",
        "ms",
        "msec",
        "seconds",
        "MB",
        "kB",
        "KiB",
        "Mbit",
        "MB/s",
        "mbps",
        "Gbit/s",
        "bytes",
        "B",
        "%",
        "miles",
        "unlimited",
    ]);
    prop_oneof![
        (number, "[ ]?", unit)
            .prop_map(|(number, space, unit)| { Value::String(format!("{number}{space}{unit}")) }),
        any::<u32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::String),
        Just(Value::Bool(true)),
    ]
}

proptest! {
    #[test]
    fn what_is_offered_is_taken(value in value()) {
        check::<Duration>(&value, &Kind::Duration)?;
        check::<Rate>(&value, &Kind::Rate)?;
        check::<RateOrDown>(&value, &Kind::RateOrDown)?;
        check::<Bytes>(&value, &Kind::Size)?;
        check::<Size>(&value, &Kind::SizeOrSegments)?;
        check::<Segments>(&value, &Kind::Segments)?;
        check::<SegmentsOrUnlimited>(&value, &Kind::SegmentsOrUnlimited)?;
        check::<Packets>(&value, &Kind::Packets)?;
        check::<LimitText>(&value, &Kind::Limit)?;
        check::<DurationOrPackets>(&value, &Kind::DurationOrPackets)?;
        check::<AckDelay>(&value, &Kind::AckDelay)?;
    }
}

#[test]
fn a_number_keeps_its_meaning() {
    let limit = |text: &str| LimitText::read(&Value::from(text), &Kind::Limit).unwrap_err();
    let window = |text: &str| Segments::read(&Value::from(text), &Kind::Segments).unwrap_err();
    let threshold = |text: &str| Packets::read(&Value::from(text), &Kind::Packets).unwrap_err();
    for (message, written) in [
        (limit("1e3 packets"), "1000 packets"),
        (limit("1"), "1 packet"),
        (limit("50 Mbit"), "6250 kB"),
        (limit("2x bdp"), "2 bdp"),
        (limit("0 pkts"), "write it like"),
        (window("1e1"), "10 segments"),
        (window("3 MSS"), "3 segments"),
        (window("10 kB"), "write it like"),
        (threshold("7.5"), "7.5 packets"),
        (threshold("5 ms"), "write it like"),
    ] {
        let expected = match written {
            "write it like" => "; write it like \"".to_owned(),
            value => format!("; write \"{value}\""),
        };
        assert!(message.contains(&expected), "{message}, not {expected}");
    }
}

/// A path of every key below a section, without indices, and the sections on the way.
fn paths(
    section: &'static Section,
    above: &str,
    seen: &mut Vec<&'static Section>,
    found: &mut Vec<String>,
) {
    if seen.iter().any(|other| std::ptr::eq(*other, section)) {
        return;
    }
    seen.push(section);
    for key in section.keys() {
        let path = format!("{above}{}", key.name);
        match key.kind {
            Kind::Table(inner) | Kind::List(inner) => {
                paths(inner, &format!("{path}."), seen, found);
            }
            _ => found.push(path),
        }
    }
}

/// Sets the value at a path, in the first table of each list.
fn set(document: &mut Value, path: &str, value: Value) {
    let place = path.split('.').fold(document, |here, name| match here {
        Value::Array(list) => &mut list[0][name],
        table => &mut table[name],
    });
    *place = value;
}

/// Whatever a key is told is wrong with a value, what it offers instead is right there.
#[test]
fn what_every_key_offers_is_right_there() {
    let mut all = Vec::new();
    paths(&EXPERIMENT, "", &mut Vec::new(), &mut all);
    let mut tried = 0;
    let catalogue = Catalogue::default();
    for path in all.iter().filter(|path| *path != "sweep") {
        let Some(document) = specimen(path, None) else { continue };
        let values =
            ["0 s", "0 bytes", "0 packets", "0 segments", "nan s", "10 MB/s", "1e3 ms", "7"];
        let numbers = [Value::from(0), Value::from(7), Value::from(1e7)];
        for value in values.into_iter().map(Value::from).chain(numbers) {
            let mut wrong = document.clone();
            set(&mut wrong, path, value.clone());
            let Err(errors) = resolve(&wrong, &catalogue) else { continue };
            let last = path.rsplit('.').next().unwrap_or(path);
            for error in errors.errors.iter().filter(|error| error.path.ends_with(last)) {
                for offer in offered(&error.message) {
                    let mut right = document.clone();
                    set(&mut right, path, Value::from(offer.clone()));
                    let again =
                        resolve(&right, &catalogue).err().into_iter().flat_map(|e| e.errors);
                    let again: Vec<_> = again.filter(|other| other.path == error.path).collect();
                    let is_form = again.iter().any(|other| {
                        other.message.contains(" in ns, us")
                            || other.message.contains("kbit/s, Mbit/s")
                            || offered(&other.message).contains(&offer)
                    });
                    assert!(!is_form, "{path} = {value}: {error}, but then {again:?}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 200, "{tried} offers tried");
}
