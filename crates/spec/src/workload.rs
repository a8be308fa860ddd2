//! What a flow's application does, where it is more than to write to one connection: the kinds of
//! traffic over TCP, and the keys that only some of them have.

use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, NANOS_PER_SEC, Rate, Time};

use super::distribution::{self, Distribution, SIZES, TIMES};
use super::keys::{
    Absent::{Default, Explained, Of},
    Key, Kind, MAX_CONNECTIONS, keys,
};
use super::kinds::{self, KindOf};
use super::reader::{Name, Rates, Table};
use super::{Dealing, Exchanges, Film, OnOff, Reading, Source, Striping, Workload};
use super::{datagrams, program};

/// Kinds of traffic over TCP; the first is what a flow is without one.
pub(super) fn names() -> Vec<&'static str> {
    kinds::names(KINDS_OF_TCP)
}

/// Keys of flows whose application does more than to write to one connection.
pub(super) static KEYS: &[Key] = keys! {
    "connections": Kind::CountOrAuto { min: 1, max: MAX_CONNECTIONS }, Explained, "10" =>
        "Connections over which the application stripes its data in chunks, which the receiver reorders: connections id/0, id/1 and so on, with the application itself among the results' applications. app_rate and read_rate are divided among them. Without it, one connection. \"auto\" leaves the number to the program.";
    "mptcp": Kind::Switch, Default("false"), "true" =>
        "With connections: whether they are the subflows of one MPTCP connection on a Linux kernel, each with an address and a route of its own, whose scheduler deals the data. The simulator's connections stay what they are, and cc may couple them (lia, olia, balia).";
    "chunk": Kind::Size, Explained, r#""64 KiB""# =>
        "With connections: bytes of a chunk; without it, 64 KiB, or bytes divided by connections where that is less.";
    "striping": Kind::Choice { thing: "striping", names: || vec!["static", "dynamic"] },
        Explained, r#""dynamic""# =>
        "With connections: static assigns chunks to connections beforehand, round robin; dynamic gives the next chunk to a connection with less than a chunk waiting to be sent. Static by default, unless a program makes the transfer.";
    "size": Kind::Distribution(&SIZES), Of(&[(&["telnet"], r#""1 bytes""#)]), r#""20 kB""# =>
        "One value or a distribution. Of kind \"arrivals\", \"ftp\", \"request\", \"web\" and \"incast\", required: the size of a transfer, a file, a response, an object, or what each server sends. Of \"telnet\": of each write.";
    "flow_rate": Kind::Number { min: 0.0, max: 1e9 }, Explained, "50" =>
        "Of kind \"arrivals\": transfers started per second, on average, with exponential gaps.";
    "offered_load": Kind::Rate, Explained, r#""8 Mbit/s""# =>
        "Of kind \"arrivals\", instead of flow_rate: payload offered on average; with the mean size it gives the transfers per second.";
    "transfers": Kind::Count { min: 1, max: MAX_CONNECTIONS }, Of(&[(&["ftp"], "10")]), "10" =>
        "Maximum number of transfers, writes, requests, pages, rounds or segments; without it, as many as start before stop or the end of the run.";
    "request": Kind::Distribution(&SIZES), Default(r#""300 bytes""#), r#""500 bytes""# =>
        "Of kind \"request\", \"web\", \"incast\" and \"video\": the size of each request; the client is at the sink.";
    "think": Kind::Distribution(&TIMES),
        Of(&[(&["telnet"], r#"{"distribution": "exponential", "mean": "1 s"}"#)]), r#""2 s""# =>
        "One time or a distribution: between the end of a file, response, page or round and the start of the next, zero by default; of kind \"telnet\", between writes.";
    "objects": Kind::Count { min: 1, max: 10_000 }, Default("10"), "30" =>
        "Of kind \"web\": objects of a page; the first is loaded before the others.";
    "servers": Kind::Count { min: 1, max: MAX_CONNECTIONS }, Explained, "32" =>
        "Of kind \"incast\", required: servers that respond at once, each on its own connection, and each at its own host unless from and to are set. In a graph they need from and to, or matrix = \"incast\".";
    "burst": Kind::Distribution(&TIMES),
        Default(r#"{"distribution": "exponential", "mean": "500 ms"}"#), r#""500 ms""# =>
        "Of kind \"bursts\": how long it writes.";
    "pause": Kind::Distribution(&TIMES),
        Default(r#"{"distribution": "exponential", "mean": "500 ms"}"#), r#""500 ms""# =>
        "Of kind \"bursts\": how long it writes nothing.";
    "ladder": Kind::Rates, Explained, r#"["1 Mbit/s", "3 Mbit/s", "5 Mbit/s"]"# =>
        "Of kind \"video\", required: the rates at which each segment is available, ascending.";
    "segment": Kind::Duration, Default(r#""4 s""#), r#""4 s""# =>
        "Of kind \"video\": length of a segment.";
    "buffer": Kind::Duration, Default(r#""240 s""#), r#""60 s""# =>
        "Of kind \"video\": the client's buffer (Huang et al. 2014).";
    "reservoir": Kind::Duration, Explained, r#""20 s""# =>
        "Of kind \"video\": with less than this in its buffer, the client asks for the lowest rate; without it, 90/240 of the buffer (Huang et al. 2014).";
    "cushion": Kind::Duration, Explained, r#""30 s""# =>
        "Of kind \"video\": buffer above the reservoir that allows the highest rate; without it, 126/240 of the buffer (Huang et al. 2014).";
    "start_up": Kind::Duration, Explained, r#""4 s""# =>
        "Of kind \"video\": the buffer at which the client starts to play, and resumes after a stall; without it, one segment.";
};

/// The kinds over TCP, with the keys that not all of them have.
const KINDS_OF_TCP: &[KindOf<()>] = &[
    KindOf {
        name: "bulk",
        keys: "connections mptcp program chunk striping bytes app_rate both_ways read_rate read_interval \
               read_size",
        read: (),
    },
    KindOf {
        name: "arrivals",
        keys: "size flow_rate offered_load transfers read_rate read_interval read_size",
        read: (),
    },
    KindOf {
        name: "ftp",
        keys: "size think transfers read_rate read_interval read_size",
        read: (),
    },
    KindOf {
        name: "telnet",
        keys: "size think transfers read_rate read_interval read_size",
        read: (),
    },
    KindOf { name: "request", keys: "request size think transfers", read: () },
    KindOf { name: "web", keys: "request size think transfers objects connections", read: () },
    KindOf {
        name: "bursts",
        keys: "app_rate burst pause read_rate read_interval read_size",
        read: (),
    },
    KindOf {
        name: "video",
        keys: "ladder segment buffer reservoir cushion start_up request transfers",
        read: (),
    },
    KindOf { name: "incast", keys: "request size think transfers servers", read: () },
    KindOf { name: program::COMMANDS, keys: "program server keep port", read: () },
];

/// The kinds of flows that have this key, if others have not.
pub(super) fn kinds_with(key: &str) -> Vec<&'static str> {
    let mut found = kinds::with_key(KINDS_OF_TCP, key);
    let is_own = !found.is_empty() || datagrams::KEYS.iter().any(|other| other.name == key);
    if is_own && datagrams::has_key(key) {
        found.extend(datagrams::KINDS);
    }
    found
}

/// Refuses, in a flow of one kind, what only others have.
pub(super) fn refuse_keys_of_others(table: &Table, kind: &str) {
    let Some(own) = KINDS_OF_TCP.iter().find(|known| known.name == kind) else { return };
    for (key, owners) in kinds::foreign(KINDS_OF_TCP, own, table) {
        let message =
            format!("does not belong to kind = \"{kind}\"; write kind = {owners} or remove it");
        table.refuse(key, message);
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
    /// A driver has so many connections.
    Driven(Workload, u64),
}

impl WorkText {
    /// Connections that it may make at the most.
    pub(super) fn connections(&self) -> u64 {
        match self {
            WorkText::One => 1,
            WorkText::Striped(text) => text.connections,
            WorkText::Arrivals(text) => text.expected(),
            WorkText::Driven(_, connections) => *connections,
        }
    }

    /// Connections of which there are time series.
    pub(super) fn sampled(&self) -> u64 {
        match self {
            WorkText::Arrivals(_)
            | WorkText::Driven(Workload::Files(_) | Workload::Program(_), _) => 0,
            // Data goes both ways.
            WorkText::Driven(workload, connections) if workload.is_asked_for() => 2 * connections,
            _ => self.connections(),
        }
    }
}

/// Reads what the application does.
pub(super) fn read(
    table: &Table,
    kind: &str,
    source: Source,
    mss: u32,
    [start, until]: [Time; 2],
) -> Option<WorkText> {
    match kind {
        "arrivals" => read_arrivals(table, [start, until]).map(WorkText::Arrivals),
        "bulk" if has_striping(table) => read_striping(table, source).map(WorkText::Striped),
        "bulk" => Some(WorkText::One),
        "bursts" => read_bursts(table, source, mss).map(|work| WorkText::Driven(work, 1)),
        program::COMMANDS => program::read_commands(table)
            .map(|commands| WorkText::Driven(Workload::Program(commands), 1)),
        "video" => read_film(table).map(|film| WorkText::Driven(Workload::Video(film), 1)),
        kind => read_exchanges(table, kind),
    }
}

/// Bytes of a request, unless they are written: this implementation's choice.
const REQUEST: f64 = 300.0;
/// Files of a kind that knows its connections beforehand, unless they are written.
const FILES: u64 = 10;
/// Objects of a page, and connections over which they are loaded: browsers open six to a host.
const OBJECTS: u64 = 10;
const BROWSER_CONNECTIONS: u64 = 6;
/// Mean of the gaps of somebody who types (ns-2 `tcl/lib/ns-default.tcl`, Application/Telnet interval_).
const TYPING: f64 = 1e9;
/// Mean of periods of writing and of silence (ns-2, Application/Traffic/Exponential burst_time_ and
/// idle_time_).
const PERIOD: f64 = 500e6;
/// A film: the buffer, reservoir and cushion of Huang et al. (2014), in seconds.
const BUFFER: u64 = 240;
const RESERVOIR: u64 = 90;
const CUSHION: u64 = 126;

/// Reads what is asked for and sent one after the other.
fn read_exchanges(table: &Table, kind: &str) -> Option<WorkText> {
    let is_typing = kind == "telnet";
    if !table.has("size") && !is_typing {
        table.refuse_missing("size");
    }
    let or = |read: Option<Distribution>, name: &str, otherwise: Distribution| {
        if table.has(name) { read } else { Some(otherwise) }
    };
    let size = distribution::read::<Bytes>(table, "size");
    let request = distribution::read::<Bytes>(table, "request");
    let think = distribution::read::<Duration>(table, "think");
    let typing = Distribution::Exponential { mean: TYPING };
    let thinking = if is_typing { typing } else { Distribution::Constant(0.0) };
    let usual = if kind == "ftp" { Some(FILES) } else { None };
    let transfers: Option<u64> = table.read("transfers").or(usual);
    let servers: Option<u64> = if kind == "incast" { table.require("servers") } else { Some(1) };
    let connections: u64 = match kind {
        "web" => program::read_count(table).unwrap_or(BROWSER_CONNECTIONS),
        "ftp" => transfers.unwrap_or(FILES),
        _ => servers?,
    };
    let what = Exchanges {
        request: or(request, "request", Distribution::Constant(REQUEST))?,
        size: or(size, "size", Distribution::Constant(1.0))
            .filter(|_| table.has("size") || is_typing)?,
        think: or(think, "think", thinking)?,
        objects: table.read("objects").unwrap_or(OBJECTS),
        transfers,
    };
    if is_typing && what.think == Distribution::Constant(0.0) {
        return table.wrong("think", "expected more than zero between two writes; try \"1 s\"");
    }
    let workload = match kind {
        "ftp" => Workload::Files(what),
        "telnet" => Workload::Writes(what),
        "request" => Workload::Requests(what),
        "web" => Workload::Web(what),
        _ => Workload::Incast(what),
    };
    Some(WorkText::Driven(workload, connections))
}

fn read_bursts(table: &Table, source: Source, mss: u32) -> Option<Workload> {
    let Source::Limited { rate, .. } = source else {
        return table
            .wrong("app_rate", "missing; write the rate within a burst, app_rate = \"2 Mbit/s\"");
    };
    let period = |name: &str| match table.has(name) {
        true => distribution::read::<Duration>(table, name),
        false => Some(Distribution::Exponential { mean: PERIOD }),
    };
    let (burst, pause) = (period("burst"), period("pause"));
    Some(Workload::Bursts(OnOff { rate, piece: u64::from(mss), burst: burst?, pause: pause? }))
}

fn read_film(table: &Table) -> Option<Film> {
    let Rates(ladder) = table.require("ladder")?;
    let time =
        |name: &str, otherwise: Duration| -> Duration { table.read(name).unwrap_or(otherwise) };
    let segment = time("segment", Duration::from_secs(4));
    let buffer = time("buffer", Duration::from_secs(BUFFER));
    let part = |of: u64| Duration::from_nanos(buffer.as_nanos() / BUFFER * of);
    let film = Film {
        segment,
        ladder,
        buffer,
        reservoir: time("reservoir", part(RESERVOIR)),
        cushion: time("cushion", part(CUSHION)),
        start_up: time("start_up", segment),
        request: match table.has("request") {
            true => distribution::read::<Bytes>(table, "request")?,
            false => Distribution::Constant(REQUEST),
        },
        transfers: table.read("transfers"),
    };
    if film.segment == Duration::ZERO {
        return table.wrong("segment", "expected more than zero, got 0 s; try \"4 s\"");
    }
    if film.ladder.contains(&Rate::UNLIMITED) {
        return table.wrong("ladder", "expected finite rates; try \"5 Mbit/s\"");
    }
    let longest = (film.reservoir + film.cushion).max(film.start_up).max(film.segment);
    if longest > film.buffer {
        let message = format!(
            "{} does not hold reservoir, cushion, start_up and a segment, each of which needs {longest} \
             at the most; write more",
            film.buffer
        );
        return table.wrong("buffer", message);
    }
    Some(film)
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
            table.refuse(
                "offered_load",
                "conflicts with flow_rate, which determines it; set only one",
            );
        }
        (false, false) => table.refuse_missing("flow_rate"),
        _ => {}
    }
    let size = size?;
    let flows = flows.or_else(|| Some(load?.as_bps() as f64 / 8.0 / size.mean()))?;
    if flows <= 0.0 || !flows.is_finite() {
        return table
            .wrong("flow_rate", format!("expected more than zero per second, got {flows}"));
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

    /// How the application reads one of its connections: each has a part of a rate, and pauses of its own.
    pub(super) fn reading(&self, reading: Reading) -> Reading {
        match reading {
            Reading::AtRate(rate) => Reading::AtRate(self.rate(rate)),
            Reading::Pausing { .. } => reading,
        }
    }

    /// A connection's part of a rate.
    pub(super) fn rate(&self, rate: Rate) -> Rate {
        Rate::from_bps((rate.as_bps() / self.connections).max(1))
    }
}

/// Whether a flow says how its data is dealt to connections.
fn has_striping(table: &Table) -> bool {
    ["connections", "program", "chunk", "striping"].into_iter().any(|name| table.has(name))
        || is_mptcp(table)
}

fn is_mptcp(table: &Table) -> bool {
    table.read("mptcp").unwrap_or(false)
}

/// Reads how the data of a flow is dealt to its connections.
fn read_striping(table: &Table, source: Source) -> Option<StripingText> {
    let connections = program::read(table);
    let program = connections.and_then(|(_, program)| program);
    let chunk = table.read::<Bytes>("chunk");
    let dealing = match table.read::<Name>("striping") {
        Some(Name("dynamic")) => Dealing::Dynamic,
        Some(_) => Dealing::Static,
        None => program::usual_dealing(program),
    };
    if !table.has("connections") {
        for name in ["chunk", "striping"].into_iter().filter(|name| table.has(name)) {
            table.refuse(name, "needs connections, the number of connections; write both or none");
        }
        if is_mptcp(table) {
            table.refuse("mptcp", "needs connections, the number of subflows, such as 2");
        }
    }
    let (connections, _) = connections?;
    for name in ["both_ways"].into_iter().filter(|name| table.read(name) == Some(true)) {
        table.refuse(name, "data is striped in one direction only; remove this or connections");
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
        return table.wrong("chunk", "expected more than zero, got 0 bytes; try \"64 KiB\"");
    }
    // So that each has something to carry.
    let largest = bytes.map_or(u64::MAX, |bytes| bytes.get() / connections);
    if let (0, Some(bytes)) = (largest, bytes) {
        let message = format!("{connections} connections for {bytes}; use at most one per byte");
        return table.wrong("connections", message);
    }
    let chunk = chunk.map_or(CHUNK.min(largest), Bytes::get);
    if let Some(bytes) = bytes.filter(|bytes| bytes.get().div_ceil(chunk) < connections) {
        let message = format!(
            "{bytes} in chunks of {chunk} bytes are too few for {connections} connections; write \
             \"{largest} bytes\" or less"
        );
        table.refuse("chunk", message);
    }
    let mptcp = is_mptcp(table);
    let striping = Striping { chunk: Bytes::new(chunk), dealing, bytes, program, mptcp };
    Some(StripingText { connections, striping })
}

/// Bytes that one of `connections` carries of `bytes` dealt in turn: chunk k goes to connection
/// k modulo their number.
fn share(bytes: u64, chunk: u64, connections: u64, connection: u64) -> u64 {
    let full = bytes / chunk;
    let whole = full / connections + u64::from(connection < full % connections);
    let rest = if full % connections == connection { bytes % chunk } else { 0 };
    whole * chunk + rest
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_by_hand() {
        // 1000 bytes in chunks of 300 are 300, 300, 300, 100: three connections get the first and the
        // last, the second, the third.
        let shares = |n| (0..n).map(|i| share(1000, 300, n, i)).collect::<Vec<_>>();
        assert_eq!(shares(3), [400, 300, 300]);
        assert_eq!(shares(1), [1000]);
        assert_eq!(shares(2), [600, 400]);
        assert_eq!(shares(4), [300, 300, 300, 100]);
        assert_eq!(shares(5), [300, 300, 300, 100, 0]);
    }
}
