//! What a flow's application does, where it is more than to write to one connection.

use fairway_units::{Bytes, Rate};

use super::keys::{Absent::Explained, Key, Kind, MAX_CONNECTIONS, key};
use super::reader::{Name, Table};
use super::{Dealing, Source, Striping};
use crate::application::share;

/// Keys of flows that have several connections.
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
];

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

/// Reads how the data of a flow is dealt to its connections, if it says that it has some.
pub(super) fn read_striping(table: &Table, source: Source) -> Option<StripingText> {
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
