//! One experiment as a document, read and validated.

use fairway_cc::Catalogue;
use fairway_units::Duration;
use serde_json::Value;

use super::error::Report;
use super::keys::EXPERIMENT;
use super::reader::{Table, Window};
use super::stack::{HEADERS, StackText};
use super::traffic::{self, FlowText};
use super::{
    Experiment, ExperimentErrors, Measure, Resolved, Shape, Topology, capture, linux, topology,
};

/// Longest run: far beyond any experiment, far below what 64-bit nanoseconds hold.
const MAX_DURATION: Duration = Duration::from_secs(1_000_000 * 3600);
/// Samples of one flow.
const MAX_SAMPLES: u64 = 1_000_000;
/// Samples of all flows and links together: at some 60 bytes each, what a run can hold in memory.
const MAX_ALL_SAMPLES: u64 = 20_000_000;

/// Reads and validates one experiment: the JSON form of an experiment file without a sweep.
///
/// # Errors
/// [`ExperimentErrors`] with everything that is wrong: for each, the key, what was found and what
/// to write instead.
pub fn from_document(document: &Value) -> Result<Experiment, ExperimentErrors> {
    from_document_with(document, &Catalogue::default())
}

/// As [`from_document`], where flows may name the algorithms of `catalogue`.
///
/// # Errors
/// The same.
pub fn from_document_with(
    document: &Value,
    catalogue: &Catalogue,
) -> Result<Experiment, ExperimentErrors> {
    Ok(resolve(document, catalogue)?.expand(catalogue))
}

/// Reads and validates an experiment without copying out its flows.
///
/// # Errors
/// As [`from_document`].
pub fn resolve(document: &Value, catalogue: &Catalogue) -> Result<Resolved, ExperimentErrors> {
    let report = Report::default();
    let resolved = read(document, catalogue, &report);
    report.finish(resolved).map_err(|mut errors| {
        errors.sort_by_key(|error| place(&error.path));
        ExperimentErrors { source: None, errors }
    })
}

/// The place of a path's first key in the documentation, which is the order errors are listed in;
/// unknown keys come first.
fn place(path: &str) -> Option<usize> {
    let first = path.split('.').next();
    EXPERIMENT.keys().position(|key| Some(key.name) == first)
}

fn read(document: &Value, catalogue: &Catalogue, report: &Report) -> Option<Resolved> {
    let table = Table::open("experiment".to_owned(), document, &EXPERIMENT, report)?;
    // Keys at the top have no path before them.
    let table = table.renamed(String::new());
    table.refuse_unknown_keys();
    if table.has("sweep") {
        table.refuse("sweep", "a single experiment has no sweep; plan the file to get every point");
    }
    let title = table.read("title").unwrap_or_else(|| "untitled".to_owned());
    let seed = table.read("seed").unwrap_or(1);
    let duration = table.require::<Duration>("duration");
    if duration == Some(Duration::ZERO) {
        table.refuse("duration", "expected more than zero, got \"0 s\"; try \"100 s\"");
    }
    if duration.is_some_and(|duration| duration > MAX_DURATION) {
        table.refuse("duration", format!("is longer than {MAX_DURATION}; write a shorter run"));
    }
    // With a wrong duration, nothing can be said about what lies within it.
    let run = duration
        .filter(|run| (Duration::from_nanos(1)..=MAX_DURATION).contains(run))
        .unwrap_or(Duration::MAX);
    let stack_table = table.table("stack");
    let stack = StackText::read(stack_table.as_ref());
    let flows = traffic::read(&table, &stack, catalogue, run);
    let packet = flows.iter().map(FlowText::packet).max().unwrap_or(HEADERS);
    if !table.has("topology") {
        table.refuse("topology", "missing; write [topology] with kind = \"dumbbell\"");
    }
    let topology = table.table("topology").and_then(|table| topology::read(&table, packet));
    if let Some(topology) = &topology {
        traffic::refuse_places(&table, &flows, topology);
    }
    let series = series(&flows, topology.as_ref());
    let measure = read_measure(&table, run, series);
    let capture = capture::read(&table);
    let linux = linux::read(&table);
    if !report.is_empty() {
        return None;
    }
    let (duration, topology) = (duration?, topology?);
    Some(Resolved { title, duration, seed, topology, flows, measure, capture, linux })
}

/// Time series that a run takes: one a connection, and one a link direction that is reported.
fn series(flows: &[FlowText], topology: Option<&Topology>) -> u64 {
    let links = match topology.map(|topology| &topology.shape) {
        Some(Shape::Chain { links }) => links.len() as u64,
        Some(Shape::Graph(graph)) => graph.links.len() as u64,
        // The access point, the wire to the server, and stations that send.
        Some(Shape::Wlan(wlan)) => wlan.cell.stations.len() as u64 + 2,
        Some(Shape::Dumbbell { .. }) | None => 1,
    };
    flows.iter().map(FlowText::sampled).fold(2 * links, u64::saturating_add)
}

fn read_measure(experiment: &Table, run: Duration, series: u64) -> Measure {
    let mut measure = Measure {
        from: fairway_units::Time::ZERO,
        to: fairway_units::Time::ZERO + run,
        // Of the shortest runs there are ten samples: one alone makes no line.
        sample: Duration::from_millis(100).min(Duration::from_nanos((run.as_nanos() / 10).max(1))),
        losses: false,
    };
    let table = experiment.table("measure");
    if let Some(table) = &table {
        table.refuse_unknown_keys();
        // "auto" is of several runs, and so for who runs them: here it is the whole run.
        if let Some(Window::Between(from, to)) = table.read("window") {
            if from >= to || to > run {
                let message = format!(
                    "expected a start before the end, and the end within the run of {run}, got \
                     [\"{from}\", \"{to}\"]; move the window or change duration"
                );
                table.refuse("window", message);
            }
            measure.from = fairway_units::Time::ZERO + from;
            measure.to = fairway_units::Time::ZERO + to;
        }
        measure.sample = table.read("sample").unwrap_or(measure.sample);
        measure.losses = table.read("losses").unwrap_or(measure.losses);
    }
    if run != Duration::MAX {
        refuse_samples(experiment, measure.sample, run, series);
    }
    measure
}

/// Refuses a sampling period that is no period of this run, or makes more samples than memory holds.
fn refuse_samples(experiment: &Table, sample: Duration, run: Duration, series: u64) {
    let path = "measure.sample";
    if sample == Duration::ZERO {
        let message = "expected more than zero, got \"0 s\"; try \"100 ms\"";
        return experiment.refuse(path, message);
    }
    if sample > run {
        let message =
            format!("{sample} is longer than the run of {run}; write a shorter measure.sample");
        return experiment.refuse(path, message);
    }
    let samples = run.as_nanos() / sample.as_nanos();
    if samples > MAX_SAMPLES || samples.saturating_mul(series) > MAX_ALL_SAMPLES {
        let message = format!(
            "{run} in steps of {sample} are {samples} samples of each of {series} connections and link \
             directions, above the limit of {MAX_SAMPLES} each and {MAX_ALL_SAMPLES} in all; \
             write a longer measure.sample"
        );
        experiment.refuse(path, message);
    }
}
