//! The traffic of an experiment: `[[flow]]` tables, their copies and their hosts.

use fairway_cc::{Catalogue, CcError, OF_KERNEL, Selection, Variant};
use fairway_tcp::Stack;
use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, Rate, Time};
use serde_json::Value;

use super::datagrams::{self, DatagramFlow};
use super::keys::MAX_CONNECTIONS;
use super::linux::Options;
use super::places::{Ends, Places, ResolvedEnds};
use super::reader::{Name, Numbers, Table, excerpt};
use super::stack::{HEADERS, StackText, TIMESTAMP_OPTION};
use super::workload::{self, WorkText};
use super::{Application, Flow, Reading, Source, Topology, Workload, hosts, program};

/// A SYN with every option: 20 bytes of them.
const LARGEST_SYN: u64 = HEADERS + 20;
/// Largest transfer: above it, stream offsets would near 64 bits.
const MAX_TRANSFER: u64 = 1_000_000_000_000_000_000;

/// One `[[flow]]` table: a flow and how often it is there.
pub(super) struct FlowText {
    /// The flow, its hosts not yet assigned.
    pub(super) traffic: Traffic,
    pub(super) ends: Ends,
    /// When it and its copies are there.
    pub(super) timing: Timing,
}

/// What a flow is.
#[derive(Clone)]
pub(super) enum Traffic {
    /// A connection.
    Tcp(Box<Flow>),
    /// An application that does more than to write to one connection.
    Application(Box<Flow>, WorkText),
    /// Datagrams.
    Datagrams(DatagramFlow),
}

impl FlowText {
    /// Its name in results, without the number of a copy.
    pub(super) fn id(&self) -> &str {
        match &self.traffic {
            Traffic::Tcp(flow) | Traffic::Application(flow, _) => &flow.id,
            Traffic::Datagrams(flow) => &flow.id,
        }
    }

    /// Largest IP packet it sends, in bytes: a full segment, or a SYN with all its options.
    pub(super) fn packet(&self) -> u64 {
        let stack = match &self.traffic {
            Traffic::Tcp(flow) | Traffic::Application(flow, _) => &flow.stack,
            Traffic::Datagrams(flow) => return u64::from(flow.packet_bytes),
        };
        let options = if stack.options.timestamps { TIMESTAMP_OPTION } else { 0 };
        (u64::from(stack.options.mss) + HEADERS + options).max(LARGEST_SYN)
    }

    /// Connections or datagram flows it makes.
    pub(super) fn connections(&self) -> u64 {
        self.copies_of(WorkText::connections)
    }

    /// Pairs of hosts that it takes: every server of an incast has its own, while the connections of
    /// other applications share theirs.
    fn pairs(&self) -> u64 {
        match &self.traffic {
            Traffic::Application(_, WorkText::Driven(Workload::Incast(_), _)) => self.connections(),
            _ => self.timing.count.unwrap_or(1),
        }
    }

    /// Those of which there are time series.
    pub(super) fn sampled(&self) -> u64 {
        self.copies_of(WorkText::sampled)
    }

    fn copies_of(&self, count: fn(&WorkText) -> u64) -> u64 {
        let each = match &self.traffic {
            Traffic::Application(_, work) => count(work),
            Traffic::Tcp(_) | Traffic::Datagrams(_) => 1,
        };
        self.timing.count.unwrap_or(1).saturating_mul(each)
    }
}

/// When a flow begins and ends, and those of its copies.
#[derive(Clone, Copy)]
pub(super) struct Timing {
    /// When the first copy starts.
    pub(super) start: Duration,
    /// When all copies stop.
    pub(super) stop: Option<Duration>,
    /// Number of copies, if copies are asked for.
    pub(super) count: Option<u64>,
    /// Between the starts of two copies.
    stagger: Duration,
}

impl Timing {
    /// Reads and checks it against the length of the run.
    pub(super) fn read(table: &Table, run: Duration) -> Timing {
        let stagger: Option<Duration> = table.read("stagger");
        let timing = Timing {
            start: table.read("start").unwrap_or(Duration::ZERO),
            stop: table.read("stop"),
            count: table.read("count"),
            stagger: stagger.unwrap_or(Duration::ZERO),
        };
        if stagger.is_some() && !table.has("count") {
            table
                .refuse("stagger", "needs count, the number of copies; write it or remove stagger");
        }
        let last_start = timing.last_start();
        if last_start >= run {
            let which = if last_start == timing.start { "" } else { "of the last copy, " };
            let message = format!(
                "{which}{last_start} is not before the end of the run, {run}; start earlier"
            );
            table.refuse("start", message);
        }
        if let Some(stop) = timing.stop.filter(|stop| *stop <= last_start) {
            let message = format!("{stop} is not after the start, {last_start}; stop later");
            table.refuse("stop", message);
        }
        timing
    }

    /// When the last copy starts.
    pub(super) fn last_start(&self) -> Duration {
        self.start + self.stagger * (self.count.unwrap_or(1) - 1)
    }

    /// When the first copy starts.
    pub(super) fn start_time(&self) -> Time {
        Time::ZERO + self.start
    }

    /// When all copies stop.
    pub(super) fn stop_time(&self) -> Option<Time> {
        self.stop.map(|stop| Time::ZERO + stop)
    }
}

/// Reads every `[[flow]]`, as far as it is right.
pub(super) fn read(
    experiment: &Table,
    text: &StackText,
    catalogue: &Catalogue,
    run: Duration,
) -> Vec<FlowText> {
    let stack_table = experiment.table("stack");
    let stack = text.build(stack_table.as_ref());
    let tables = experiment.tables("flow");
    if tables.is_empty() && experiment.raw("flow").is_none_or(|v| v.as_array().is_some()) {
        experiment.refuse("flow", "missing; write [[flow]] with cc = \"cubic\"");
    }
    let mut flows: Vec<FlowText> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let Some(flow) = read_flow(table, index, text, &stack, catalogue, run) else { continue };
        refuse_conflicts(table, &flow, &flows);
        flows.push(flow);
    }
    let connections = flows.iter().map(FlowText::connections).fold(0, u64::saturating_add);
    if connections > MAX_CONNECTIONS {
        let message = format!(
            "{connections} connections are too many; lower the counts to {MAX_CONNECTIONS} in all"
        );
        experiment.refuse("flow", message);
    }
    flows
}

/// Refuses flows that have no place in the network.
pub(super) fn refuse_places(experiment: &Table, flows: &[FlowText], topology: &Topology) {
    let mut places = Places::new(&topology.shape);
    for text in flows {
        let assigned = match text.ends.matrix {
            Some(_) => text.ends.check_pairs(&topology.shape, text.pairs()),
            None => places.assign(&text.ends).map(|_| ()),
        };
        if let Err((path, message)) = assigned {
            experiment.refuse(&path, message);
        }
    }
}

/// Every connection, application and datagram flow, in the order of the file.
#[derive(Default)]
pub(super) struct Expanded {
    pub(super) flows: Vec<Flow>,
    pub(super) applications: Vec<Application>,
    pub(super) datagrams: Vec<DatagramFlow>,
    pub(super) sides: hosts::Sides,
}

/// Copies flows out.
pub(super) fn expand(texts: Vec<FlowText>, topology: &Topology, seed: u64) -> Expanded {
    let mut all = Expanded::default();
    let mut places = Places::new(&topology.shape);
    for (index, text) in texts.into_iter().enumerate() {
        let stream = Stream::new(seed, &format!("flow/{index}/matrix"));
        let mut drawn = text.ends.matrix.map(|matrix| matrix.pairs(&topology.shape, stream));
        // They have been found right.
        let mut place = || match &mut drawn {
            Some(pairs) => pairs.next(),
            None => places.assign(&text.ends).ok(),
        };
        let Timing { count, stagger, .. } = text.timing;
        for copy in 0..count.unwrap_or(1) {
            let Some(ResolvedEnds { hosts, reversed }) = place() else { continue };
            let id = |id: String| if count.is_some() { format!("{id}/{copy}") } else { id };
            let later = stagger * copy;
            match text.traffic.clone() {
                Traffic::Tcp(flow) => {
                    let start = flow.start + later;
                    all.flows.push(Flow {
                        hosts,
                        reversed,
                        start,
                        id: id(flow.id.clone()),
                        ..*flow
                    });
                }
                Traffic::Application(flow, mut work) => {
                    if let WorkText::Driven(Workload::Program(commands), _) = &mut work {
                        commands.hosts = text.ends.host_names(&topology.shape, hosts, reversed);
                    }
                    let start = flow.start + later;
                    let flow = Flow { hosts, reversed, start, id: id(flow.id.clone()), ..*flow };
                    all.add(flow, &work, seed, &mut place);
                }
                Traffic::Datagrams(flow) => all.datagrams.push(DatagramFlow {
                    hosts,
                    reversed,
                    behind: all.flows.len(),
                    start: flow.start + later,
                    id: id(flow.id),
                    ..flow
                }),
            }
        }
    }
    all.sides = hosts::sides(&places);
    all
}

impl Expanded {
    /// Adds an application and its connections.
    fn add(
        &mut self,
        flow: Flow,
        work: &WorkText,
        seed: u64,
        mut place: impl FnMut() -> Option<ResolvedEnds>,
    ) {
        let first = self.flows.len();
        let named = |connection: u64| format!("{}/{connection}", flow.id);
        let workload = match work {
            WorkText::One => return self.flows.push(flow),
            WorkText::Striped(text) => {
                self.flows.extend((0..text.connections).map(|connection| Flow {
                    id: named(connection),
                    source: text.part(flow.source, connection),
                    reading: flow.reading.map(|reading| text.reading(reading)),
                    ..flow.clone()
                }));
                Workload::Striped(text.striping)
            }
            WorkText::Arrivals(text) => {
                let mut stream = Stream::new(seed, &format!("flow/{first}/arrivals"));
                let transfers = (0..).zip(text.draw(&mut stream));
                self.flows.extend(transfers.map(|(connection, (after, bytes))| Flow {
                    id: named(connection),
                    source: Source::File { bytes },
                    start: flow.start + after,
                    stop: None,
                    is_sampled: false,
                    ..flow.clone()
                }));
                Workload::Arrivals
            }
            WorkText::Driven(workload, connections) => {
                let is_asked_for = workload.is_asked_for();
                let is_incast = matches!(workload, Workload::Incast(_));
                let hosts = |connection: u64| match (connection, is_incast) {
                    (1.., true) => place().map_or(flow.hosts, |place| place.hosts),
                    _ => flow.hosts,
                };
                let places: Vec<[usize; 2]> = (0..*connections).map(hosts).collect();
                self.flows.extend((0..*connections).zip(places).map(|(connection, hosts)| Flow {
                    hosts,
                    id: if *connections > 1 { named(connection) } else { flow.id.clone() },
                    source: Source::Driven,
                    both_ways: is_asked_for,
                    sink_opens: is_asked_for,
                    is_sampled: !matches!(workload, Workload::Files(_) | Workload::Program(_)),
                    ..flow.clone()
                }));
                workload.clone()
            }
        };
        self.applications.push(Application {
            id: flow.id,
            connections: first..self.flows.len(),
            start: flow.start,
            workload,
        });
    }
}

fn read_flow(
    table: &Table,
    index: usize,
    text: &StackText,
    stack: &Stack,
    catalogue: &Catalogue,
    run: Duration,
) -> Option<FlowText> {
    let usual = if program::has_command(table) { program::COMMANDS } else { "bulk" };
    let kind = table.name_or("kind", usual)?;
    if datagrams::KINDS.contains(&kind) {
        return datagrams::read(table, index, kind, run);
    }
    table.refuse_unknown_keys();
    workload::refuse_keys_of_others(table, kind);
    datagrams::refuse_keys_of_datagrams(table);
    let id = read_id(table);
    let stack = text.build_for(table, stack);
    let is_command = kind == program::COMMANDS;
    let cc = match is_command && !table.has("cc") {
        true => Some(Selection { name: "cubic".to_owned(), variant: None, params: Vec::new() }),
        false => read_cc(table, &stack, catalogue),
    };
    let timing = Timing::read(table, run);
    let source = read_source(table);
    let ends = Ends::read(table);
    let application = table.read("application");
    let options = table.read("linux_socket").map_or_else(Vec::new, |Options(options)| options);
    let cc = cc?;
    let flow = Flow {
        id: id.unwrap_or_else(|| {
            format!("{}#{index}", if is_command { kind } else { short(&cc.name) })
        }),
        application,
        cc,
        stack,
        start: timing.start_time(),
        stop: timing.stop_time(),
        hosts: [0; 2],
        reversed: false,
        source,
        origin: u32::try_from(index).unwrap_or(u32::MAX),
        sink_opens: false,
        is_sampled: true,
        both_ways: table.read("both_ways").unwrap_or(false),
        precedence: read_precedence(table),
        reading: read_reading(table),
        linux_socket: options,
    };
    let flow = Box::new(flow);
    let until = flow.stop.unwrap_or(Time::ZERO + run);
    let traffic = match workload::read(
        table,
        kind,
        flow.source,
        flow.stack.options.mss,
        [flow.start, until],
    )? {
        WorkText::One => Traffic::Tcp(flow),
        work => Traffic::Application(flow, work),
    };
    Some(FlowText { traffic, ends: ends?, timing })
}

/// The name of an algorithm without that of the module it comes from: a name that paths can hold.
fn short(algorithm: &str) -> &str {
    algorithm.rsplit(['.', ':', '/']).next().unwrap_or(algorithm)
}

/// The `id` of a flow or link, if it is written: a name that the paths of a sweep can hold.
pub(super) fn read_id(table: &Table) -> Option<String> {
    let id: String = table.read("id")?;
    let digits = id.bytes().all(|byte| byte.is_ascii_digit());
    if digits || id.contains(['.', '/']) {
        let message = format!(
            "\"{}\" cannot be told from an index or a path; use a name without \".\" and \"/\" \
             that is not a number, such as \"upload\"",
            excerpt(&id)
        );
        return table.wrong("id", message);
    }
    Some(id)
}

/// Ids are unique.
fn refuse_conflicts(table: &Table, flow: &FlowText, earlier: &[FlowText]) {
    if earlier.iter().any(|other| other.id() == flow.id()) {
        let message = format!("\"{}\" names another flow too; name each differently", flow.id());
        table.refuse("id", message);
    }
}

/// The precedence of a flow's packets.
pub(super) fn read_precedence(table: &Table) -> u8 {
    let precedence = table.read::<u64>("precedence").unwrap_or(0);
    u8::try_from(precedence).unwrap_or(0)
}

/// Size of the transfer.
pub(super) fn read_bytes(table: &Table) -> Option<Bytes> {
    let bytes: Option<Bytes> = table.read("bytes");
    if let Some(bytes) = bytes.filter(|bytes| !(1..=MAX_TRANSFER).contains(&bytes.get())) {
        let message = format!("expected 1 to {MAX_TRANSFER} bytes, got {bytes}");
        table.refuse("bytes", message);
    }
    bytes
}

/// How the receiving application reads, if not everything at once.
fn read_reading(table: &Table) -> Option<Reading> {
    let rate = table.read::<Rate>("read_rate").filter(|rate| *rate != Rate::UNLIMITED);
    let interval: Option<Duration> = table.read("read_interval");
    let size: Option<Bytes> = table.read("read_size");
    if table.has("read_size") && !table.has("read_interval") {
        table.refuse("read_size", "needs read_interval, the pause between reads; write both");
    }
    if size == Some(Bytes::new(0)) {
        table.refuse("read_size", "expected more than zero, got 0 bytes; try \"64 KiB\"");
    }
    if table.has("read_rate") && table.has("read_interval") {
        table.refuse("read_interval", "conflicts with `read_rate`; set only one");
    }
    match (rate, interval) {
        (Some(rate), _) => Some(Reading::AtRate(rate)),
        // Without a pause and with room for everything it reads at once.
        (None, Some(interval)) if interval > Duration::ZERO => {
            Some(Reading::Pausing { size, interval })
        }
        (None, Some(_)) if size.is_some() => {
            table.wrong("read_interval", "expected more than zero, got 0 s; try \"10 ms\"")
        }
        _ => None,
    }
}

fn read_source(table: &Table) -> Source {
    let bytes = read_bytes(table);
    let rate: Option<Rate> = table.read("app_rate");
    match (rate.filter(|rate| *rate != Rate::UNLIMITED), bytes) {
        (None, None) => Source::Bulk,
        (None, Some(bytes)) => Source::File { bytes },
        (Some(rate), bytes) => Source::Limited { rate, bytes },
    }
}

/// The algorithm, its variant and its parameters, tried out once so that a wrong one is found here.
fn read_cc(table: &Table, stack: &Stack, catalogue: &Catalogue) -> Option<Selection> {
    let is_foreign = |name: &Value| name.as_str().is_some_and(|name| catalogue.is_foreign(name));
    let name = if table.raw("cc").is_some_and(is_foreign) {
        table.read("cc")
    } else {
        table.require("cc").map(|Name(name)| name.to_owned())
    };
    let variant = table.read::<Name>("cc_variant").map(|Name(name)| name);
    let params = table.read::<Numbers>("cc_params");
    if table.has("cc_params") && params.is_none() {
        return None;
    }
    let selection = Selection {
        name: name?,
        variant: variant.and_then(Variant::from_name),
        params: params.map_or_else(Vec::new, |Numbers(params)| params),
    };
    if let Some(kernel) = selection.name.strip_prefix(OF_KERNEL) {
        return is_kernel_name(kernel, table).then_some(selection);
    }
    match catalogue.create(&selection, stack.window.cc_variant, &stack.init(&selection.name)) {
        Ok(_) => Some(selection),
        Err(error) => {
            refuse_cc(table, &error);
            None
        }
    }
}

/// Whether a kernel's congestion control can have such a name (include/net/tcp.h, `TCP_CA_NAME_MAX`).
fn is_kernel_name(name: &str, table: &Table) -> bool {
    let is_name = (1..=15).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    if !is_name {
        let message = "expected \"linux:\" and the kernel's name of a congestion control, 1 to 15 \
                       letters, digits and signs";
        table.refuse("cc", message.to_owned());
    }
    is_name
}

fn refuse_cc(table: &Table, error: &CcError) {
    match error {
        CcError::UnknownName { name, known } => {
            let message = format!("unknown congestion control \"{name}\"; choose from {known}");
            table.refuse("cc", message);
        }
        CcError::UnknownVariant { name, variant, known } => {
            table.refuse("cc_variant", format!("{name} has no \"{variant}\"; it has {known}"));
        }
        CcError::UnknownParam { name, param, known, .. } => {
            let path = format!("cc_params.{}", excerpt(param));
            table.refuse(&path, format!("unknown parameter; {name} has {known}"));
        }
        CcError::Foreign { name, message } => {
            table.refuse("cc", format!("\"{}\": {message}", excerpt(name)));
        }
        CcError::NotWhole { param, value, .. } => {
            let path = format!("cc_params.{param}");
            table.refuse(&path, format!("expected a whole number, got {value}"));
        }
        CcError::OutOfRange { param, value, min, max, .. } => {
            let path = format!("cc_params.{param}");
            table.refuse(&path, format!("expected a number from {min} to {max}, got {value}"));
        }
    }
}
