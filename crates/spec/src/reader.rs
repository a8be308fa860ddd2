//! Reads tables by their keys: refuses what is unknown or of the wrong form, and says where.

use fairway_units::{Bytes, Decimal, Duration, QuantityError, Rate, meant_number, split_unit};
use serde_json::{Map, Value};

use super::error::{Report, did_you_mean};
use super::keys::{Key, Kind, Section, algorithm_names};
use super::program::AUTO;
use super::switch::Switch;
use super::unknown::hint;

/// One table of the experiment being read.
pub(super) struct Table<'a> {
    path: String,
    map: &'a Map<String, Value>,
    section: &'static Section,
    report: &'a Report,
}

impl<'a> Table<'a> {
    /// The table at `path`, if it is one.
    pub(super) fn open(
        path: String,
        value: &'a Value,
        section: &'static Section,
        report: &'a Report,
    ) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Table { path, map, section, report }),
            other => report.wrong(path, format!("expected a table, got {}", show(other))),
        }
    }

    /// Refuses every key that `section` does not have. Called once the kind of the table is
    /// known to be one of this version's, whose keys these are.
    pub(super) fn refuse_unknown_keys(&self) {
        for name in self.map.keys().filter(|name| self.section.key(name).is_none()) {
            let hint = hint(name, self.section, &self.path);
            let hint = if hint.is_empty() {
                let known: Vec<_> = self.section.keys().map(|key| key.name).collect();
                format!("; {} has {}", self.section.name, known.join(", "))
            } else {
                hint
            };
            self.refuse(&excerpt(name), format!("unknown key{hint}"));
        }
    }

    /// The same table under another name in errors.
    pub(super) fn renamed(self, path: String) -> Self {
        Table { path, ..self }
    }

    /// The path of a key, or of the table itself for "".
    pub(super) fn path(&self, name: &str) -> String {
        match (self.path.as_str(), name) {
            ("", name) => name.to_owned(),
            (path, "") => path.to_owned(),
            (path, name) => format!("{path}.{name}"),
        }
    }

    /// Notes that the value of a key is wrong.
    pub(super) fn refuse(&self, name: &str, message: impl Into<String>) {
        self.report.refuse(self.path(name), message);
    }

    /// Notes that the value of a key is wrong, in place of a value.
    pub(super) fn wrong<T>(&self, name: &str, message: impl Into<String>) -> Option<T> {
        self.report.wrong(self.path(name), message)
    }

    /// Whether the key is written.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Whether tables of this kind have the key.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.section.key(name).is_some()
    }

    /// The keys that are written and that the section has, in the order of the documentation.
    pub(super) fn written(&self) -> impl Iterator<Item = &'static str> {
        self.section.keys().map(|key| key.name).filter(|name| self.has(name))
    }

    /// The value of a key as it is written.
    pub(super) fn raw(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name)
    }

    /// The value of a key, if it is written and right.
    pub(super) fn read<T: Readable>(&self, name: &str) -> Option<T> {
        let value = self.map.get(name)?;
        match T::read(value, &self.key(name).kind) {
            Ok(value) => Some(value),
            Err(message) => self.wrong(name, message),
        }
    }

    /// The value of a key, or `default` if it is not written; nothing if it is wrong.
    pub(super) fn read_or<T: Readable>(&self, name: &str, default: T) -> Option<T> {
        if self.has(name) { self.read(name) } else { Some(default) }
    }

    /// The name at a key, or `default` if it is not written; nothing if it is wrong.
    pub(super) fn name_or(&self, name: &str, default: &'static str) -> Option<&'static str> {
        self.read_or(name, Name(default)).map(|Name(name)| name)
    }

    /// The value of a key, if it is written; nothing if it is wrong.
    pub(super) fn read_if_written<T: Readable>(&self, name: &str) -> Option<Option<T>> {
        if self.has(name) { self.read(name).map(Some) } else { Some(None) }
    }

    /// The one value that is written where a distribution may stand.
    pub(super) fn read_single<T: Readable>(&self, name: &str) -> Option<T> {
        let kind = match &self.key(name).kind {
            Kind::Distribution(section) => section.single(),
            kind => kind,
        };
        match T::read(self.map.get(name)?, kind) {
            Ok(value) => Some(value),
            Err(message) => self.wrong(name, message),
        }
    }

    /// The value of a key that has to be written.
    pub(super) fn require<T: Readable>(&self, name: &str) -> Option<T> {
        if !self.has(name) {
            self.refuse_missing(name);
        }
        self.read(name)
    }

    /// Notes that a key is missing.
    pub(super) fn refuse_missing(&self, name: &str) {
        self.refuse(name, format!("missing; write {name} = {}", self.key(name).example));
    }

    /// The table at a key, if it is written and one.
    pub(super) fn table(&self, name: &str) -> Option<Table<'a>> {
        let value = self.map.get(name)?;
        let key = self.key(name);
        let (Kind::Table(section) | Kind::Distribution(section)) = key.kind else {
            unreachable!("{name} is not a table in its section")
        };
        if !value.is_object()
            && let Some(example) = inline_table(key.example)
        {
            let message = format!("expected a table, got {}; write it like {example}", show(value));
            return self.wrong(name, message);
        }
        Table::open(self.path(name), value, section, self.report)
    }

    /// The tables at a key, each named by its `id` or else its index.
    pub(super) fn tables(&self, name: &str) -> Vec<Table<'a>> {
        let Kind::List(section) = self.key(name).kind else {
            unreachable!("{name} is not a list in its section")
        };
        let list = match self.map.get(name) {
            None => return Vec::new(),
            Some(Value::Array(list)) => list,
            Some(other) => {
                let message =
                    format!("expected a list of tables, got {}; write [[{name}]]", show(other));
                self.refuse(name, message);
                return Vec::new();
            }
        };
        let open = |(index, value): (usize, &'a Value)| {
            let path = self.path(name);
            let path = match value.get("id") {
                Some(Value::String(id)) => format!("{path}.{}", excerpt(id)),
                _ => format!("{path}.{index}"),
            };
            Table::open(path, value, section, self.report)
        };
        list.iter().enumerate().filter_map(open).collect()
    }

    /// The switches of the stack that may be written here.
    pub(super) fn switches(&self) -> impl Iterator<Item = &'static Switch> {
        self.section.switches()
    }

    fn key(&self, name: &str) -> &'static Key {
        let Some(key) = self.section.key(name) else {
            unreachable!("{name} is not a key of {}", self.section.name)
        };
        key
    }
}

/// A value that can be read from an experiment. Errors say what was expected, what was found and
/// what to write, but not where.
pub(super) trait Readable: Sized {
    /// Reads a value in the form of `kind`.
    fn read(value: &Value, kind: &Kind) -> Result<Self, String>;
}

/// Reads a quantity in text, which is also what is asked for where a bare number stands.
fn quantity<T: std::str::FromStr<Err = QuantityError>>(value: &Value) -> Result<T, String> {
    let text = match value {
        Value::String(text) => return text.parse().map_err(|e: QuantityError| e.to_string()),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let found = show(value);
    Err(match text.parse::<T>() {
        Ok(_) => format!("expected a number with its unit in quotes, got {found}"),
        Err(error) => QuantityError { found, ..error }.to_string(),
    })
}

impl Readable for Duration {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        quantity(value)
    }
}

impl Readable for Rate {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        match quantity::<Rate>(value)? {
            rate if rate.as_bps() == 0 => {
                Err(format!("expected a rate above zero, got {}; try \"10 Mbit/s\"", show(value)))
            }
            rate => Ok(rate),
        }
    }
}

impl Readable for Bytes {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        quantity(value)
    }
}

impl Readable for bool {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| format!("expected true or false, got {}", show(value)))
    }
}

impl Readable for f64 {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let (min, max) = match kind {
            Kind::Number { min, max } => (*min, *max),
            _ => (f64::MIN, f64::MAX),
        };
        match value.as_f64() {
            Some(number) if number >= min && number <= max => Ok(number),
            _ => Err(format!("expected a number from {min} to {max}, got {}", show(value))),
        }
    }
}

impl Readable for u64 {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let (min, max) = match kind {
            Kind::Count { min, max } => (*min, *max),
            _ => (0, u64::MAX),
        };
        match value.as_u64() {
            Some(count) if count >= min && count <= max => Ok(count),
            _ => Err(format!("expected a whole number from {min} to {max}, got {}", show(value))),
        }
    }
}

impl Readable for String {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let Some(text) = value.as_str() else {
            return Err(format!("expected text in quotes, got {}", show(value)));
        };
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(format!("expected printable text, got {}", show(value)));
        }
        if text.chars().count() > MAX_TEXT {
            return Err(format!(
                "expected at most {MAX_TEXT} characters, got {}; shorten it",
                text.chars().count()
            ));
        }
        Ok(text.to_owned())
    }
}

/// Characters of a title or name.
pub(super) const MAX_TEXT: usize = 200;

/// One of the names of a [`Kind::Choice`], or of Fairway's own algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Name(pub(super) &'static str);

impl Readable for Name {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let (thing, names) = match kind {
            Kind::Choice { thing, names } => (*thing, names()),
            Kind::Algorithm => ("congestion control", algorithm_names()),
            Kind::Program { names } => ("program", names()),
            _ => unreachable!("a name is read from a choice"),
        };
        let listed: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
        let listed = listed.join(", ");
        let Some(text) = value.as_str() else {
            return Err(format!("expected one of {listed}, got {}", show(value)));
        };
        names.iter().find(|name| **name == text).map(|name| Name(name)).ok_or_else(|| {
            let hint = did_you_mean(text, names.iter().copied());
            let hint = if hint.is_empty() { format!("; choose from {listed}") } else { hint };
            format!("unknown {thing} {}{hint}", show(value))
        })
    }
}

/// A whole number of segments, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segments(pub(super) u32);

impl Readable for Segments {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let text = as_text(value);
        let (number, unit) = split_unit(&text);
        let count = Decimal::parse(number).and_then(|count| count.times(1).ok());
        match (count, unit) {
            (Some(count), "segments" | "segment") if (1..=MAX_SEGMENTS).contains(&count) => {
                Ok(Segments(u32::try_from(count).unwrap_or(u32::MAX)))
            }
            _ => {
                let names = [&["segment", "segments", "seg", "segs", "mss"], PACKETS].concat();
                let meant = meant_number(&text, &names).and_then(|count| count.times(1).ok());
                let remedy = match meant.filter(|count| (1..=MAX_SEGMENTS).contains(count)) {
                    Some(1) => "write \"1 segment\"".to_owned(),
                    Some(count) => format!("write \"{count} segments\""),
                    None => "write it like \"10 segments\"".to_owned(),
                };
                let found = show(value);
                Err(format!(
                    "expected segments, a whole number from 1 to {MAX_SEGMENTS}, got {found}; {remedy}"
                ))
            }
        }
    }
}

/// Segments that a window or a buffer may hold: no 30-bit window (RFC 7323) holds more.
pub(super) const MAX_SEGMENTS: u64 = 1 << 30;

/// A limit in segments, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SegmentsOrUnlimited(pub(super) Option<u32>);

impl Readable for SegmentsOrUnlimited {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        if value.as_str().map(str::trim) == Some("unlimited") {
            return Ok(SegmentsOrUnlimited(None));
        }
        match Segments::read(value, kind) {
            Ok(Segments(count)) => Ok(SegmentsOrUnlimited(Some(count))),
            Err(message) => Err(format!("{message} or \"unlimited\"")),
        }
    }
}

/// The size of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// In bytes.
    Bytes(u64),
    /// In full segments.
    Segments(u32),
}

impl Readable for Size {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let text = as_text(value);
        if split_unit(&text).1.starts_with("segment") {
            return Segments::read(value, kind).map(|Segments(count)| Size::Segments(count));
        }
        match Bytes::read(value, kind) {
            Ok(bytes) => Ok(Size::Bytes(bytes.get())),
            Err(message) => Err(format!("{message}, or segments, like \"30 segments\"")),
        }
    }
}

/// A number of packets in an average, not necessarily whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Packets(pub(super) f64);

impl Readable for Packets {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let text = as_text(value);
        let (number, unit) = split_unit(&text);
        // The form is checked exactly; the conversion to the nearest f64 is the standard library's.
        let count = Decimal::parse(number).and_then(|_| number.parse::<f64>().ok());
        match (count, unit) {
            (Some(count), "packets" | "packet") if count > 0.0 => Ok(Packets(count)),
            _ => {
                let meant = meant_number(&text, PACKETS).filter(|count| *count != Decimal::ZERO);
                let remedy = match meant {
                    Some(count) => format!("write \"{count} packets\""),
                    None => "write it like \"60 packets\"".to_owned(),
                };
                Err(format!("expected packets, got {}; {remedy}", show(value)))
            }
        }
    }
}

/// The size of a queue as it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum LimitText {
    /// None.
    Unlimited,
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// As many bytes as leave in this time.
    Time(Duration),
    /// A multiple of the bandwidth-delay product.
    Bdp(Decimal),
}

impl Readable for LimitText {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let text = as_text(value);
        let (number, unit) = split_unit(&text);
        let decimal = Decimal::parse(number);
        let whole = decimal.and_then(|decimal| decimal.times(1).ok());
        let quoted = value.as_str().is_some();
        let limit = match (unit, decimal, whole) {
            ("unlimited", ..) if number.is_empty() => Some(LimitText::Unlimited),
            ("packets" | "packet", _, Some(packets)) => Some(LimitText::Packets(packets)),
            ("packets" | "packet", Some(_), None) => {
                return Err(format!("expected whole packets, got {}", show(value)));
            }
            ("bdp", Some(factor), _) => Some(LimitText::Bdp(factor)),
            _ => {
                let bytes = text.parse::<Bytes>().map(|bytes| LimitText::Bytes(bytes.get()));
                bytes.ok().or_else(|| text.parse().ok().map(LimitText::Time))
            }
        };
        limit.filter(|_| quoted).ok_or_else(|| {
            let remedy = match LimitText::meant(&text) {
                Some(meant) => format!("write \"{meant}\""),
                None => "write it like \"50 packets\"".to_owned(),
            };
            format!("expected packets, bytes, time or bdp, got {}; {remedy}", show(value))
        })
    }
}

impl LimitText {
    /// What is meant by another text, as it is written; a bare number counts packets.
    fn meant(text: &str) -> Option<String> {
        if text.trim().eq_ignore_ascii_case("unlimited") {
            return Some("unlimited".to_owned());
        }
        let count = meant_number(text, PACKETS);
        if let Some(count) = count.and_then(|count| count.times(1).ok()).filter(|n| *n > 0) {
            return Some(packets(count));
        }
        let is_bare = meant_number(text, &[""]).is_some();
        meant_number(text, &["bdp", "bdps", "x bdp"])
            .map(|factor| format!("{factor} bdp"))
            .or_else(|| Bytes::meant(text).map(|bytes| bytes.to_string()))
            .or_else(|| Duration::meant(text).map(|time| time.to_string()))
            .filter(|_| !is_bare)
    }
}

/// What packets are called, also where the unit is left out.
const PACKETS: &[&str] = &["", "packet", "packets", "pkt", "pkts"];

/// So many packets, as they are written.
pub(super) fn packets(count: u64) -> String {
    format!("{count} packet{}", if count == 1 { "" } else { "s" })
}

/// A time, or a number of packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum DurationOrPackets {
    /// So long.
    Duration(Duration),
    /// So many packets.
    Packets(u64),
}

impl Readable for DurationOrPackets {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        match LimitText::read(value, kind) {
            Ok(LimitText::Time(time)) => Ok(DurationOrPackets::Duration(time)),
            Ok(LimitText::Packets(packets)) => Ok(DurationOrPackets::Packets(packets)),
            _ => Err(format!(
                "expected a time or packets, got {}; write it like \"1 ms\"",
                show(value)
            )),
        }
    }
}

/// Whole numbers.
pub(super) struct Bands(pub(super) Vec<u64>);

impl Readable for Bands {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let Kind::Bands { count, max } = *kind else { unreachable!("a key of another form") };
        let found = value.as_array().filter(|list| list.len() == count);
        let counts: Option<Vec<u64>> =
            found.and_then(|list| list.iter().map(|n| n.as_u64().filter(|n| *n <= max)).collect());
        counts.map(Bands).ok_or_else(|| {
            format!("expected a list of {count} whole numbers from 0 to {max}, got {}", show(value))
        })
    }
}

/// How the delay of acknowledgements as in Linux is written.
pub(super) const LINUX: &str = "linux";

/// Whether acknowledgements are delayed, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckDelay {
    /// As the preset does it, or not at all.
    Switch(bool),
    /// For this long.
    Duration(Duration),
    /// As Linux does it.
    Linux,
}

impl Readable for AckDelay {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        match value {
            Value::Bool(on) => Ok(AckDelay::Switch(*on)),
            Value::String(text) if text == LINUX => Ok(AckDelay::Linux),
            other => Duration::read(other, kind)
                .map(AckDelay::Duration)
                .map_err(|message| format!("{message}, \"{LINUX}\", true or false")),
        }
    }
}

/// true, false, or the name that the key has besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SwitchOrName {
    /// One of the two.
    Switch(bool),
    /// The name.
    Name,
}

impl Readable for SwitchOrName {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let Kind::SwitchOr(name) = kind else { unreachable!("a key of another form") };
        match value {
            Value::Bool(on) => Ok(SwitchOrName::Switch(*on)),
            Value::String(text) if text == name => Ok(SwitchOrName::Name),
            other => Err(format!("expected true, false or \"{name}\", got {}", show(other))),
        }
    }
}

/// A rate, zero for a link that is down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RateOrDown(pub(super) Rate);

impl Readable for RateOrDown {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        if value.as_str().map(str::trim) == Some("down") {
            return Ok(RateOrDown(Rate::from_bps(0)));
        }
        Rate::read(value, kind).map(RateOrDown).map_err(|message| format!("{message} or \"down\""))
    }
}

/// Elements that a list may have.
pub(super) const MAX_LIST: usize = 100_000;

/// The elements of a list that has some. `example` is a correct one.
fn elements<T>(
    value: &Value,
    example: &str,
    read: impl Fn(&Value) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    match value.as_array() {
        Some(list) if (1..=MAX_LIST).contains(&list.len()) => list.iter().map(read).collect(),
        _ => {
            let found = show(value);
            Err(format!("expected a list of 1 to {MAX_LIST}, got {found}; write it like {example}"))
        }
    }
}

/// Whole numbers from 1.
pub(super) struct Counts(pub(super) Vec<u64>);

impl Readable for Counts {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let count = Kind::Count { min: 1, max: u64::MAX };
        elements(value, "[1, 12, 13]", |value| u64::read(value, &count)).map(Counts)
    }
}

/// Times.
pub(super) struct Times(pub(super) Vec<Duration>);

impl Readable for Times {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        elements(value, "[\"10 s\", \"20 s\"]", |value| Duration::read(value, kind)).map(Times)
    }
}

/// Start and end of a time window.
pub(super) enum Window {
    Auto,
    Between(Duration, Duration),
}

impl Readable for Window {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        if value.as_str() == Some(AUTO) {
            return Ok(Window::Auto);
        }
        match value.as_array().map(Vec::as_slice) {
            Some([from, to]) => {
                Ok(Window::Between(Duration::read(from, kind)?, Duration::read(to, kind)?))
            }
            _ => Err(format!(
                "expected start and end or \"auto\", got {}; write it like [\"10 s\", \"50 s\"]",
                show(value)
            )),
        }
    }
}

/// Rates, each above the one before.
pub(super) struct Rates(pub(super) Vec<Rate>);

/// Rates that may be written.
pub(super) const MAX_RATES: usize = 100;

impl Readable for Rates {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        let list = match value.as_array() {
            Some(list) if (1..=MAX_RATES).contains(&list.len()) => list,
            _ => {
                let found = show(value);
                return Err(format!(
                    "expected 1 to {MAX_RATES} rates, got {found}; write it like [\"1 Mbit/s\", \"3 Mbit/s\"]"
                ));
            }
        };
        let rates: Vec<Rate> =
            list.iter().map(|rate| Rate::read(rate, kind)).collect::<Result<_, _>>()?;
        match rates.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => {
                Err(format!("{} is not above {} before it; write them in order", pair[1], pair[0]))
            }
            None => Ok(Rates(rates)),
        }
    }
}

/// Names with numbers, in order.
pub(super) struct Numbers(pub(super) Vec<(String, f64)>);

impl Readable for Numbers {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let Value::Object(map) = value else {
            return Err(format!(
                "expected a table of numbers, got {}; write it like {{ beta = 0.8 }}",
                show(value)
            ));
        };
        let number = |(name, value): (&String, &Value)| match value.as_f64() {
            Some(number) => Ok((name.clone(), number)),
            None => Err(format!("{}: expected a number, got {}", excerpt(name), show(value))),
        };
        map.iter().map(number).collect::<Result<_, _>>().map(Numbers)
    }
}

/// Text as it stands; a number as it would be written before its unit.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Characters of a value that an error repeats.
const EXCERPT: usize = 40;

/// Characters of a path of keys that an error repeats: more than any right one has.
const PATH_EXCERPT: usize = 120;

/// The first characters of a text.
pub(super) fn excerpt(text: &str) -> String {
    beginning(text, EXCERPT)
}

/// The same of a path of keys.
pub(super) fn path_excerpt(text: &str) -> String {
    beginning(text, PATH_EXCERPT)
}

fn beginning(text: &str, most: usize) -> String {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut short: String = text.chars().take(most).map(printable).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    short
}

/// A key's example as TOML on one line, if it is a table.
fn inline_table(example: &str) -> Option<String> {
    let example: toml::Value = serde_json::from_str(example).ok()?;
    example.is_table().then(|| example.to_string())
}

/// A value as an error shows it.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("\"{}\"", excerpt(text)),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "a table".to_owned(),
    }
}
