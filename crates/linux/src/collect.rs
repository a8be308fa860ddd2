//! From the records of a guest to what every backend gives.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use fairway_application::Direction;
use fairway_emulator::losses;
use fairway_emulator::message::{LOSSES, MEASURED, Measured, OfLosses, SAMPLES};
use fairway_guest::plan::{Plan, Row};
use fairway_guest::record::{FlowTotals, Totals, transfer_file};
use fairway_schema::{Cause, FlowSummary, Losses, Metrics, QueueSeries, Series, Summary};
use fairway_spec::{Experiment, Flow};
use fairway_units::NANOS_PER_SEC;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::applications;
use crate::commands::{self, Ran};
use crate::emulated;
use crate::figures::summarise;
use crate::programs::by_guest;
use crate::samples;
use crate::transfers::{self, Transfer};
use fairway_schema::tcp_info::TcpInfo;

/// Largest plan and largest totals that are read: far more than any experiment needs.
const MAX_JSON_BYTES: u64 = 64 << 20;
/// A kernel sends a SYN without an answer again after 1 s (RFC 6298 section 2.1; include/net/tcp.h,
/// `TCP_TIMEOUT_INIT`).
const SYN_TIMEOUT_NS: u64 = NANOS_PER_SEC;

/// What a run on a kernel has measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// Figures over the measuring window.
    pub summary: Summary,
    /// Time series of the flows.
    pub series: Series,
    /// Names of the flows, in the order of their indices.
    pub flow_ids: Vec<String>,
    /// Time series of the reported link directions.
    pub queues: QueueSeries,
    /// Names of the reported link directions, in the order of their indices.
    pub link_ids: Vec<String>,
    /// Everything that the kernel says about its connections.
    pub tcp_info: TcpInfo,
    /// Release of the kernel.
    pub kernel: String,
    /// Whether packets were watched one by one; if not, some figures are estimates or missing.
    pub watched: bool,
    /// Packets that the watch has missed: what it counts is too low by about as many.
    pub unseen_packets: u64,
    /// Whether the kernel told of reductions and timeouts; if not, they are all zero.
    pub states_told: bool,
    /// Connections that never came to be, or that the kernel gave up.
    pub broken: Vec<Broken>,
    /// Transfers by a program.
    pub transfers: Vec<Transfer>,
    /// When the run ended, if before its time.
    pub ended_s: Option<f64>,
    /// Programs of this machine that ran.
    pub programs: Vec<Ran>,
    /// What has to be known of the network and its captures.
    pub remarks: Vec<String>,
    /// Packets that did not arrive, one by one, if the experiment asks for them.
    pub losses: Option<ListedLosses>,
}

/// Packets that did not arrive.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedLosses {
    /// One row each.
    pub rows: Losses,
    /// Names of the flows, in the order of their indices.
    pub flow_ids: Vec<String>,
    /// Names of the link directions, in the order of their indices.
    pub link_ids: Vec<String>,
}

/// A connection that was not there from its flow's start to the end: a result as any other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Broken {
    /// Name of the flow.
    pub flow: String,
    /// When its handshake was done; none if it never was.
    pub established_s: Option<f64>,
    /// When the kernel gave it up; none if it was still trying at the end of the run.
    pub given_up_s: Option<f64>,
    /// Which end was told first: "source" or "sink".
    pub end: Option<String>,
    /// What it was told, as errno(3) names it: "ETIMEDOUT".
    pub errno: Option<String>,
}

/// Why the records of a run cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// One of the files cannot be read.
    #[error("{}: cannot read this record of the run: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// One of them is not what the guest writes.
    #[error("{}: damaged record of the run: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The guest could not work a flow.
    #[error("flow {flow}: the guest could not work it: {error}")]
    Connection {
        /// Name of the flow.
        flow: String,
        /// What the guest says about it.
        error: String,
    },
}

/// Read what a guest has left in `directory`, where it found its plan.
///
/// # Errors
/// [`CollectError`] if a file is missing or damaged, or if the guest has failed.
pub fn collect(experiment: &Experiment, directory: &Path) -> Result<Collected, CollectError> {
    let mut plan: Plan = Source::open(directory, "plan.json")?.json()?;
    let source = Source::open(directory, "totals.json")?;
    let damaged = source.damage();
    let mut totals: Totals = source.json()?;
    let mut experiment = experiment.clone();
    if let Some(ended_ns) = totals.ended_ns {
        commands::end_early(&mut experiment, ended_ns);
    }
    let experiment = &experiment;
    let flows: Vec<&Flow> = by_guest(experiment).into_iter().map(|(_, flow)| flow).collect();
    let found = [&totals.flows.len(), &totals.datagrams.len(), &totals.queues.len()];
    let planned = [&flows.len(), &experiment.datagrams.len(), &plan.queues.len()];
    let is_planned =
        [plan.flows.len(), plan.datagrams.len()] == [flows.len(), experiment.datagrams.len()];
    if found != planned || totals.transfers.len() != plan.transfers.len() || !is_planned {
        return Err(damaged("it is of another number of flows or queues than the plan".into()));
    }
    refuse_failures(&flows, &plan, &totals)?;
    let source = Source::open(directory, "flows.bin")?;
    let (mut series, mut tcp_info) = samples::flows(experiment, plan.sampled_rows().len(), source)?;
    let measured = match plan.is_emulated {
        true => Some(Source::open(directory, MEASURED)?.json::<Measured>()?),
        false => None,
    };
    if let Some(measured) = &measured {
        emulated::take_over(measured, experiment, &mut plan, &mut totals)
            .map_err(|what| damaged(what.to_string()))?;
    }
    let name = if plan.is_emulated { SAMPLES } else { "queues.bin" };
    let queues = samples::queues(experiment, &plan, Source::open(directory, name)?)?;
    let mut summary = summarise(experiment, &flows, &plan, &totals, &series, &tcp_info, &queues)
        .map_err(|what| damaged(what.to_string()))?;
    let (mut remarks, mut of_commands, mut losses) = (Vec::new(), Vec::new(), None);
    if let Some(measured) = measured {
        if let Some(of) = &measured.losses {
            losses = Some(listed_losses(experiment, of, Source::open(directory, LOSSES)?)?);
            remarks.extend(Losses::remark(of.left_out));
        }
        remarks.extend_from_slice(&measured.remarks);
        if measured.foreign_packets > 0 {
            remarks.push(format!(
                "{} packets belonged to no flow and were dropped",
                measured.foreign_packets
            ));
        }
        of_commands = commands::flows(&measured, experiment, &mut remarks);
        emulated::complete(measured, experiment, &plan.rows(), &mut summary);
    }
    if totals.lost_states > 0 {
        remarks.push(format!(
            "{} changes of congestion state were lost in the kernel's trace buffer: \
             window_reductions and timeouts are too low by at most as many",
            totals.lost_states
        ));
    }
    let broken = broken(experiment, &flows, &totals);
    let id = |row: &Row| match *row {
        Row::Connection(index) => plan.flows[index].id.clone(),
        Row::Back(index) => plan.flows[index].id.clone() + Direction::Reverse.suffix(),
        Row::Datagrams(index) => plan.datagrams[index].id.clone(),
    };
    let mut flow_ids: Vec<String> = plan.sampled_rows().iter().map(id).collect();
    let mut applications = applications::summaries(experiment, &plan, &totals, &summary.flows);
    summary.completions = applications::completions(experiment, &flows, &totals);
    let mut transfers = Vec::new();
    for (index, pair) in plan.transfers.iter().zip(&totals.transfers).enumerate() {
        let source = Source::open(directory, &transfer_file(index))?;
        let damaged = source.damage();
        let measured = transfers::read(experiment, &plan, pair, source)?;
        let first = u32::try_from(flow_ids.len()).unwrap_or(u32::MAX);
        if !measured.append(first, &mut series, &mut tcp_info) {
            return Err(damaged("tcp_info does not always have the same length".into()));
        }
        flow_ids.extend(measured.connections);
        summary.flows.extend(measured.flows);
        applications.insert(measured.application.id.clone(), measured.application);
        transfers.push(measured.transfer);
    }
    let in_order = experiment.applications.iter().filter_map(|of| applications.remove(&of.id));
    summary.applications = in_order.collect();
    let programs = commands::read(&plan, &totals.programs, directory)
        .map_err(|(path, source)| CollectError::Unreadable { path, source })?;
    let compared = match summary.flows.is_empty() {
        true => of_commands.iter().step_by(2).collect(),
        false => compared(&summary.flows, &plan.rows()),
    };
    summary.metrics = Metrics::new(&compared, summary.metrics.utilisation);
    summary.flows.extend(of_commands);
    Ok(Collected {
        summary,
        series,
        flow_ids,
        queues,
        link_ids: plan.queues.into_iter().map(|queue| queue.id).collect(),
        tcp_info,
        kernel: totals.kernel,
        watched: totals.watched,
        unseen_packets: totals.unseen_packets,
        states_told: totals.states_told,
        broken,
        transfers,
        ended_s: totals.ended_ns.map(|nanos| nanos as f64 / NANOS_PER_SEC as f64),
        programs,
        remarks,
        losses,
    })
}

/// The list of losses, with the names of its flows and links.
fn listed_losses(
    experiment: &Experiment,
    of: &OfLosses,
    mut source: Source,
) -> Result<ListedLosses, CollectError> {
    // As the network counts its paths: two for each connection, then the datagram flows.
    let of_connection = |flow: &Flow| {
        [Direction::Forward, Direction::Reverse].map(|way| flow.id.clone() + way.suffix())
    };
    let mut flow_ids: Vec<String> = experiment.flows.iter().flat_map(of_connection).collect();
    flow_ids.extend(experiment.datagrams.iter().map(|flow| flow.id.clone()));
    let below = [flow_ids.len(), of.link_ids.len(), Cause::NAMES.len()].map(|count| count as u32);
    let rows = losses::read(&mut source, below, Losses::MOST as u64)
        .map_err(|error| source.failure(error))?;
    Ok(ListedLosses { rows, flow_ids, link_ids: of.link_ids.clone() })
}

/// The flows that metrics compare with each other: those of TCP towards their sinks, or datagrams where there
/// are none. The first ones have these rows; the others are a program's.
pub(crate) fn compared<'a>(flows: &'a [FlowSummary], rows: &[Row]) -> Vec<&'a FlowSummary> {
    let are_datagrams = flows.iter().all(|flow| flow.datagrams.is_some());
    let is_back = |place: usize| matches!(rows.get(place), Some(Row::Back(_)));
    let there = flows.iter().enumerate().filter(|(place, _)| !is_back(*place)).map(|(_, f)| f);
    there.filter(|flow| flow.datagrams.is_none() || are_datagrams).collect()
}

/// Refuses records of connections and transfers that the guest could not work.
fn refuse_failures(flows: &[&Flow], plan: &Plan, totals: &Totals) -> Result<(), CollectError> {
    let flows = flows.iter().map(|flow| &flow.id).zip(totals.flows.iter().map(|flow| &flow.error));
    let transfers = plan.transfers.iter().map(|transfer| &transfer.id);
    let transfers = transfers.zip(totals.transfers.iter().map(|transfer| &transfer.error));
    let datagrams = plan.datagrams.iter().map(|flow| &flow.id);
    let datagrams = datagrams.zip(totals.datagrams.iter().map(|flow| &flow.error));
    for (flow, error) in flows.chain(datagrams).chain(transfers) {
        if let Some(error) = error {
            let (flow, error) = (flow.clone(), error.clone());
            return Err(CollectError::Connection { flow, error });
        }
    }
    Ok(())
}

/// The connections that failed.
///
/// Where the end of a command has ended the run, a handshake may have had no time to fail: one that
/// was not yet to send its SYN again is left out.
fn broken(experiment: &Experiment, flows: &[&Flow], totals: &Totals) -> Vec<Broken> {
    let patience_ns = if totals.ended_ns.is_some() { SYN_TIMEOUT_NS } else { 0 };
    let had_time = |flow: &Flow| {
        flow.start.as_nanos().saturating_add(patience_ns) < experiment.duration.as_nanos()
    };
    let failed = |(flow, found): &(&&Flow, &FlowTotals)| {
        found.given_up.is_some() || (found.established_ns.is_none() && had_time(flow))
    };
    let begun = flows
        .iter()
        .zip(&totals.flows)
        .filter(|(flow, _)| flow.start.as_nanos() < experiment.duration.as_nanos());
    let seconds = |nanos: u64| nanos as f64 / NANOS_PER_SEC as f64;
    let told = begun.filter(failed).map(|(flow, found)| Broken {
        flow: flow.id.clone(),
        established_s: found.established_ns.map(seconds),
        given_up_s: found.given_up.as_ref().map(|given_up| seconds(given_up.at_ns)),
        end: found.given_up.as_ref().map(|given_up| given_up.end.clone()),
        errno: found.given_up.as_ref().map(|given_up| given_up.errno.clone()),
    });
    told.collect()
}

/// A file of the guest's.
pub(crate) struct Source {
    path: PathBuf,
    file: BufReader<File>,
}

impl Source {
    fn open(directory: &Path, name: &str) -> Result<Self, CollectError> {
        let path = directory.join(name);
        match File::open(&path) {
            Ok(file) => Ok(Source { path, file: BufReader::new(file) }),
            Err(source) => Err(CollectError::Unreadable { path, source }),
        }
    }

    /// How damage of this file is reported.
    pub(crate) fn damage(&self) -> impl Fn(String) -> CollectError + use<> {
        let path = self.path.clone();
        move |what| CollectError::Damaged { path: path.clone(), what }
    }

    /// What an error met while reading records means.
    pub(crate) fn failure(&self, error: io::Error) -> CollectError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damage()("it ends within a record".into()),
            io::ErrorKind::InvalidData => self.damage()(error.to_string()),
            _ => CollectError::Unreadable { path: self.path.clone(), source: error },
        }
    }

    fn json<T: DeserializeOwned>(self) -> Result<T, CollectError> {
        let damaged = self.damage();
        let mut text = Vec::new();
        let mut bounded = self.file.take(MAX_JSON_BYTES + 1);
        match bounded.read_to_end(&mut text) {
            Err(source) => Err(CollectError::Unreadable { path: self.path, source }),
            Ok(length) if length as u64 > MAX_JSON_BYTES => {
                Err(damaged(format!("it is larger than {MAX_JSON_BYTES} bytes")))
            }
            Ok(_) => serde_json::from_slice(&text).map_err(|error| damaged(error.to_string())),
        }
    }
}

impl Read for Source {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.file.read(to)
    }
}
