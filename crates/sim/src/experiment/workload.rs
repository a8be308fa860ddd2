//! What a flow's application does, where it is more than to write to one connection: the kinds of
//! traffic over TCP, and the keys that only some of them have.

use fairway_random::Stream;
use fairway_units::{Bytes, Duration, NANOS_PER_SEC, Rate, Time};

use super::distribution::{self, Distribution, SIZES};
use super::keys::{Absent::Explained, Key, Kind, MAX_CONNECTIONS, key};
use super::reader::{Name, Table};
use super::{Dealing, Source, Striping};
use crate::application::share;

/// Kinds of traffic over TCP; the first is what a flow is without one.
pub(super) const KINDS: [&str; 2] = ["bulk", "arrivals"];

/// Keys of flows whose application does more than to write to one connection.
pub(super) static KEYS: &[Key] = &[
    key(
        "connections",
        Kind::Count { min: 1, max: MAX_CONNECTIONS },
        Explained,
        "10",
        "Connections to which the application deals its data in chunks, and behind which it puts them in order: connections id/0, id/1 and so on, and the application itself among the results' applications. app_rate and read_rate are divided among them. Without it, one connection, and nothing is dealt.",
    ),
    key(
        "chunk",
        Kind::Size,
        Explained,
        r#""64 KiB""#,
        "With connections: bytes that are dealt at a time; without it, 64 KiB, or bytes divided by connections where that is less.",
    ),
    key(
        "striping",
        Kind::Choice { thing: "striping", names: || vec!["static", "dynamic"] },
        Explained,
        r#""dynamic""#,
        "With connections: static deals every chunk beforehand, to one connection after the other, round and round; dynamic gives the next chunk to a connection of whose data less than a chunk waits to be sent. Static unless written.",
    ),
    key(
        "size",
        Kind::Distribution(&SIZES),
        Explained,
        r#""20 kB""#,
        "Of kind \"arrivals\", which needs it: the size of each transfer, one for all or a distribution.",
    ),
    key(
        "flow_rate",
        Kind::Number { min: 0.0, max: 1e9 },
        Explained,
        "50",
        "Of kind \"arrivals\": how many transfers begin in a second, on average. The times between them are exponential.",
    ),
    key(
        "offered_load",
        Kind::Rate,
        Explained,
        r#""8 Mbit/s""#,
        "Of kind \"arrivals\", in place of flow_rate: payload that arrives on average; the mean size decides how many transfers begin in a second.",
    ),
    key(
        "transfers",
        Kind::Count { min: 1, max: MAX_CONNECTIONS },
        Explained,
        "1000",
        "Of kind \"arrivals\": how many there are at the most; without it, as many as begin until stop or the end of the run.",
    ),
];

/// Keys of each kind that others have not.
const KEYS_OF_KINDS: [(&str, &[&str]); 2] = [
    ("bulk", &["connections", "chunk", "striping", "bytes", "app_rate", "both_ways", "read_rate"]),
    ("arrivals", &["size", "flow_rate", "offered_load", "transfers", "read_rate"]),
];

/// Refuses, in a flow of one kind, what only others have.
pub(super) fn refuse_keys_of_others(table: &Table, kind: &str) {
    let of =
        |kind: &str| KEYS_OF_KINDS.iter().find(|(name, _)| *name == kind).map(|(_, keys)| keys);
    let Some(own) = of(kind) else { return };
    let keys = KEYS_OF_KINDS.iter().flat_map(|(_, keys)| keys.iter());
    let mut seen: Vec<&str> = Vec::new();
    for name in keys.filter(|name| table.has(name) && !own.contains(name)) {
        if seen.contains(name) {
            continue;
        }
        seen.push(name);
        let kinds = KEYS_OF_KINDS.iter().filter(|(_, keys)| keys.contains(name));
        let kinds: Vec<_> = kinds.map(|(kind, _)| format!("\"{kind}\"")).collect();
        let message = format!(
            "is nothing of kind = \"{kind}\"; write kind = {} or remove it",
            kinds.join(" or ")
        );
        table.refuse(name, message);
    }
}

/// What the application of a flow does.
#[derive(Clone, Debug)]
pub(super) enum WorkText {
    /// It writes to one connection.
    One,
    /// It deals its data to several.
    Striped(StripingText),
    /// Transfers come by themselves.
    Arrivals(ArrivalsText),
}

impl WorkText {
    /// Connections that it may make at the most.
    pub(super) fn connections(&self) -> u64 {
        match self {
            WorkText::One => 1,
            WorkText::Striped(text) => text.connections,
            WorkText::Arrivals(text) => text.expected(),
        }
    }

    /// Connections of which there are time series.
    pub(super) fn sampled(&self) -> u64 {
        match self {
            WorkText::Arrivals(_) => 0,
            _ => self.connections(),
        }
    }
}

/// Reads what the application does.
pub(super) fn read(
    table: &Table,
    kind: &str,
    source: Source,
    [start, until]: [Time; 2],
) -> Option<WorkText> {
    match kind {
        "arrivals" => read_arrivals(table, [start, until]).map(WorkText::Arrivals),
        _ if has_striping(table) => read_striping(table, source).map(WorkText::Striped),
        _ => Some(WorkText::One),
    }
}

/// Transfers that begin at random.
#[derive(Clone, Debug)]
pub(super) struct ArrivalsText {
    pub(super) size: Distribution,
    /// Mean time between two, in nanoseconds.
    mean_gap: f64,
    most: Option<u64>,
    /// How long they come.
    length: Duration,
}

impl ArrivalsText {
    /// How many come at the most, but for one case in a million.
    fn expected(&self) -> u64 {
        let mean = self.length.as_nanos() as f64 / self.mean_gap;
        let bound = mean + 5.0 * libm::sqrt(mean) + 1.0;
        self.most.unwrap_or(u64::MAX).min(bound as u64)
    }

    /// Each transfer: when it begins after the first may, and its size.
    pub(super) fn draw(&self, stream: &mut Stream) -> Vec<(Duration, Bytes)> {
        let mut transfers = Vec::new();
        let mut at = 0.0;
        let most = self.most.unwrap_or(u64::MAX).min(self.expected().max(1));
        while (transfers.len() as u64) < most {
            at += self.mean_gap * stream.exponential();
            if at >= self.length.as_nanos() as f64 {
                break;
            }
            let bytes = Bytes::new(self.size.draw_bytes(stream));
            transfers.push((Duration::from_nanos(at as u64), bytes));
        }
        transfers
    }
}

fn read_arrivals(table: &Table, [start, until]: [Time; 2]) -> Option<ArrivalsText> {
    if !table.has("size") {
        table.refuse_missing("size");
    }
    let size = distribution::read::<Bytes>(table, "size");
    let flows: Option<f64> = table.read("flow_rate");
    let load: Option<Rate> = table.read("offered_load");
    match (table.has("flow_rate"), table.has("offered_load")) {
        (true, true) => {
            table.refuse("offered_load", "flow_rate is written too, and decides it; remove one");
        }
        (false, false) => table.refuse_missing("flow_rate"),
        _ => {}
    }
    let size = size?;
    let flows = flows.or_else(|| Some(load?.as_bps() as f64 / 8.0 / size.mean()))?;
    if flows <= 0.0 || !flows.is_finite() {
        table.refuse("flow_rate", format!("expected more than zero a second, got {flows}"));
        return None;
    }
    Some(ArrivalsText {
        size,
        mean_gap: NANOS_PER_SEC as f64 / flows,
        most: table.read("transfers"),
        length: until.since(start),
    })
}

/// Chunks in which data is dealt unless a size is written.
const CHUNK: u64 = 64 << 10;

/// One application's data over several connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripingText {
    pub(super) connections: u64,
    pub(super) striping: Striping,
}

impl StripingText {
    /// What one of its connections carries of what the application writes.
    pub(super) fn part(&self, source: Source, connection: u64) -> Source {
        let Striping { chunk, dealing, .. } = self.striping;
        if dealing == Dealing::Dynamic {
            return Source::Driven;
        }
        let of = |bytes: Bytes| {
            Bytes::new(share(bytes.get(), chunk.get(), self.connections, connection))
        };
        match source {
            Source::Bulk | Source::Driven => source,
            Source::File { bytes } => Source::File { bytes: of(bytes) },
            Source::Limited { rate, bytes } => {
                Source::Limited { rate: self.rate(rate), bytes: bytes.map(of) }
            }
        }
    }

    /// A connection's part of a rate.
    pub(super) fn rate(&self, rate: Rate) -> Rate {
        Rate::from_bps((rate.as_bps() / self.connections).max(1))
    }
}

/// Whether a flow says how its data is dealt to connections.
fn has_striping(table: &Table) -> bool {
    ["connections", "chunk", "striping"].into_iter().any(|name| table.has(name))
}

/// Reads how the data of a flow is dealt to its connections.
fn read_striping(table: &Table, source: Source) -> Option<StripingText> {
    let connections = table.read::<u64>("connections");
    let chunk = table.read::<Bytes>("chunk");
    let dealing = match table.read::<Name>("striping") {
        Some(Name("dynamic")) => Dealing::Dynamic,
        _ => Dealing::Static,
    };
    if !table.has("connections") {
        for name in ["chunk", "striping"].into_iter().filter(|name| table.has(name)) {
            table.refuse(name, "needs connections, the number of connections; write both or none");
        }
    }
    let connections = connections?;
    for name in ["both_ways"].into_iter().filter(|name| table.read(name) == Some(true)) {
        table.refuse(name, "data is dealt to connections one way; remove it or connections");
    }
    let bytes = match source {
        Source::File { bytes } => Some(bytes),
        Source::Limited { bytes, .. } => bytes,
        Source::Bulk | Source::Driven => None,
    };
    if dealing == Dealing::Dynamic && matches!(source, Source::Limited { .. }) {
        let message = "with striping = \"dynamic\", connections take what there is when they can \
                       send; remove it or write striping = \"static\"";
        table.refuse("app_rate", message);
    }
    if chunk == Some(Bytes::new(0)) {
        table.refuse("chunk", "expected more than zero, got 0 bytes; write \"64 KiB\"");
        return None;
    }
    // So that each has something to carry.
    let largest = bytes.map_or(u64::MAX, |bytes| bytes.get() / connections);
    if let (0, Some(bytes)) = (largest, bytes) {
        let message = format!("{connections} for {bytes}; write at most one for each byte");
        table.refuse("connections", message);
        return None;
    }
    let chunk = chunk.map_or(CHUNK.min(largest), Bytes::get);
    if let Some(bytes) = bytes.filter(|bytes| bytes.get().div_ceil(chunk) < connections) {
        let message = format!(
            "{bytes} in chunks of {chunk} bytes are too few for {connections} connections; write \
             \"{largest} bytes\" or less"
        );
        table.refuse("chunk", message);
    }
    let striping = Striping { chunk: Bytes::new(chunk), dealing, bytes };
    Some(StripingText { connections, striping })
}
