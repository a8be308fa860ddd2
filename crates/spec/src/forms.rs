//! What may be written as the value of a key, in words.

use super::capture::PLACES;
use super::keys::Kind;
use super::program::{AUTO, MAX_PATHS, MAX_WORDS};
use super::reader::{LINUX, MAX_LIST, MAX_RATES, MAX_SEGMENTS, MAX_TEXT};

impl Kind {
    /// In a few words, with bounds, for the reference.
    pub(super) fn takes(&self) -> String {
        let between = |min: &u64, max: &u64| match *max {
            u64::MAX => format!("{min} or more"),
            max => format!("{min} to {max}"),
        };
        let listed = |names: Vec<&str>| {
            let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
            quoted.join(", ")
        };
        match self {
            Kind::Duration => "a duration".to_owned(),
            Kind::Rate => "a rate above zero, or \"unlimited\"".to_owned(),
            Kind::RateOrDown => "a rate above zero, \"unlimited\" or \"down\"".to_owned(),
            Kind::Size => "a size".to_owned(),
            Kind::SizeOr(name) => format!("a size, or \"{name}\""),
            Kind::SizeOrSegments => "a size, or segments".to_owned(),
            Kind::Segments => format!("1 to {MAX_SEGMENTS} segments"),
            Kind::SegmentsOrUnlimited => format!("1 to {MAX_SEGMENTS} segments, or \"unlimited\""),
            Kind::Packets => "packets above zero, not necessarily whole".to_owned(),
            Kind::Limit => "packets, a size, a duration, bdp, or \"unlimited\"".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::AckDelay => format!("true, false, a duration or \"{LINUX}\""),
            Kind::SwitchOr(name) => format!("true, false or \"{name}\""),
            Kind::Number { min, max } => format!("a number from {min} to {max}"),
            Kind::Count { min, max } => format!("a whole number, {}", between(min, max)),
            Kind::CountOrAuto { min, max } => {
                format!("a whole number, {}, or \"{AUTO}\"", between(min, max))
            }
            Kind::Text => format!("text of 1 to {MAX_TEXT} characters"),
            Kind::Choice { names, .. } => format!("one of {}", listed(names())),
            Kind::Program { names } => format!("one of {}, or a command", listed(names())),
            Kind::Command => format!("a command: a list of 1 to {MAX_WORDS} texts"),
            Kind::Paths => format!("a list of 1 to {MAX_PATHS} paths, PATH or HOST:PATH"),
            Kind::Algorithm => {
                "the name of an algorithm, \"python:module.Class\" or \"linux:NAME\"".to_owned()
            }
            Kind::Counts => format!("1 to {MAX_LIST} whole numbers, 1 or more"),
            Kind::Times => format!("1 to {MAX_LIST} durations"),
            Kind::Window => format!("two durations, start and end, or \"{AUTO}\""),
            Kind::Numbers => "names, each with a number".to_owned(),
            Kind::Settings => "names, each with a whole number or text".to_owned(),
            Kind::SocketOptions => "names of socket options, each with a whole number".to_owned(),
            Kind::Table(_) => "a table".to_owned(),
            Kind::List(_) => "a list of tables".to_owned(),
            Kind::Distribution(section) => {
                format!("{}, or a table with a distribution", section.single().takes())
            }
            Kind::Cdf => "a name, or lines of text".to_owned(),
            Kind::DurationOrPackets => "a duration, or whole packets".to_owned(),
            Kind::Bands { count, max } => format!("{count} whole numbers, 0 to {max}"),
            Kind::Rates => format!("1 to {MAX_RATES} rates, ascending"),
            Kind::Places => format!("{}, or a list of places", listed(PLACES.to_vec())),
            Kind::Sweep => "a table of paths".to_owned(),
        }
    }
}
