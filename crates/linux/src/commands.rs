//! What programs of this machine have done, and the traffic between their hosts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairway_emulator::message::Measured;
use fairway_guest::plan::Plan;
use fairway_guest::record::{FlowMark, ProgramTotals, output_file};
use fairway_schema::{FlowCounts, FlowSummary};
use fairway_spec::{Experiment, REVERSE};
use fairway_units::{Duration, NANOS_PER_SEC, Time};
use serde::Serialize;

use crate::programs::commands;

/// A program that ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ran {
    /// Name of its flow.
    pub id: String,
    /// Name of its host.
    pub host: String,
    /// Its name and arguments.
    pub command: Vec<String>,
    /// When it started, before zero if before the run; none if it could not be started.
    pub started_s: Option<f64>,
    /// When it ended; none if it was there until the run ended.
    pub ended_s: Option<f64>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub failure: Option<String>,
    /// The number of that error (errno).
    pub errno: Option<i32>,
    /// What it wrote to its standard output, up to a bound, as UTF-8.
    pub stdout: String,
    /// What it wrote to its standard error, up to a bound, as UTF-8.
    pub stderr: String,
    /// Bytes that it wrote to either.
    pub output_bytes: [u64; 2],
}

/// Has an experiment end before its time.
pub(crate) fn end_early(experiment: &mut Experiment, ended_ns: u64) {
    let measure = &mut experiment.measure;
    measure.to = measure.to.min(Time::from_nanos(ended_ns)).max(measure.from);
    experiment.duration = experiment.duration.min(Duration::from_nanos(ended_ns));
}

/// The programs of a plan, with what they wrote.
///
/// # Errors
/// The file that cannot be read, and why.
pub(crate) fn read(
    plan: &Plan,
    totals: &[ProgramTotals],
    directory: &Path,
) -> Result<Vec<Ran>, (PathBuf, io::Error)> {
    let seconds = |nanos: i64| nanos as f64 / NANOS_PER_SEC as f64;
    let programs = plan.programs.iter().zip(totals).enumerate();
    let ran = programs.map(|(index, (program, found))| {
        let output = |stream: u32| match program.most_output_bytes {
            Some(_) => text(&directory.join(output_file(index, stream))),
            // Passed on while it ran.
            None => Ok(String::new()),
        };
        Ok(Ran {
            id: program.id.clone(),
            host: plan.hosts.get(program.host).map_or_else(String::new, |host| host.name.clone()),
            command: program.command.clone(),
            started_s: found.started_ns.map(seconds),
            ended_s: found.ended_ns.map(seconds),
            exit_code: found.exit_code,
            signal: found.signal,
            failure: found.failure.as_ref().map(|(_, why)| why.clone()),
            errno: found.failure.as_ref().map(|(errno, _)| *errno),
            stdout: output(1)?,
            stderr: output(2)?,
            output_bytes: found.output_bytes,
        })
    });
    ran.collect()
}

fn text(path: &Path) -> Result<String, (PathBuf, io::Error)> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        // What could not be started wrote nothing.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err((path.to_owned(), error)),
    }
}

/// The traffic between the hosts of each flow of commands, there and back. The network knows hosts and
/// ports that flows have: of several without one between the same two, the first has it all, and a remark
/// says so.
pub(crate) fn flows(
    measured: &Measured,
    experiment: &Experiment,
    remarks: &mut Vec<String>,
) -> Vec<FlowSummary> {
    let span = experiment.measure.to.since(experiment.measure.from);
    let mut flows = Vec::new();
    let mut first_between: BTreeMap<[&str; 2], &str> = BTreeMap::new();
    for (index, of_flow) in commands(experiment) {
        let flow = &experiment.flows[index];
        let mut hosts = of_flow.hosts.each_ref().map(String::as_str);
        hosts.sort_unstable();
        let first = *first_between.entry(hosts).or_insert(&flow.id);
        if first != flow.id && of_flow.port.is_none() {
            if !of_flow.program.is_empty() {
                remarks.push(format!(
                    "flow {}: its packets are counted as those of flow {first}, which has the same \
                     hosts; for figures of its own, give it hosts of its own, or the port of its \
                     server",
                    flow.id
                ));
            }
            continue;
        }
        let marks = [measured.flows.get(index), measured.back.get(index)];
        let is_quiet = |marks: &[FlowMark; 2]| marks[1].arrivals + marks[1].missing == 0;
        if of_flow.program.is_empty() && marks.iter().flatten().all(|marks| is_quiet(marks)) {
            continue;
        }
        for (marks, suffix) in marks.into_iter().zip(["", REVERSE]) {
            let Some(marks) = marks else { continue };
            flows.push(FlowSummary {
                retransmitted_segments: None,
                window_reductions: None,
                timeouts: None,
                mean_cwnd_segments: None,
                mean_srtt_s: None,
                ..FlowSummary::new(
                    &format!("{}{suffix}", flow.id),
                    &flow.cc.name,
                    &counts(marks),
                    span,
                )
            });
        }
    }
    flows
}

fn counts([from, to]: &[FlowMark; 2]) -> FlowCounts {
    let [arrivals, missing] = [to.arrivals - from.arrivals, to.missing - from.missing];
    FlowCounts {
        delivered_bytes: to.delivered_bytes - from.delivered_bytes,
        wire_bytes: to.wire_bytes - from.wire_bytes,
        segments: arrivals + missing,
        missing,
        arrivals,
        delay_nanos: u128::from(to.delay_ns - from.delay_ns),
        ..FlowCounts::default()
    }
}
