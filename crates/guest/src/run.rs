//! One run: samples at their times, marks at both ends of the measuring window, totals at the end.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fairway_guest::plan::{Plan, Row};
use fairway_guest::record::{
    DatagramTotals, FlowMark, FlowSample, FlowTotals, MAX_TCP_INFO, QueueMark, QueueSample,
    QueueTotals, Totals,
};

use crate::Error;
use crate::apart::Apart;
use crate::beginning::{LEAD_NS, now_and_beginning};
use crate::connection::{self, Connection};
use crate::counters::{Asker, Counters};
use crate::datagrams::Datagrams;
use crate::driven::{Applications, SINK, SOURCE};
use crate::programs::{self, HEAD_START_NS, Program};
use crate::saved_files;
use crate::setup::{Namespaces, RUN_DIRECTORY, any_socket};
use crate::states::States;
use crate::sys;
use crate::threads::Stacks;
use crate::transfer::{self, Transfer};
use crate::watch::Watch;

/// Time between two looks at the packets: short if there are many, so that no ring overflows.
const SHORTEST_LOOK_NS: u64 = 500_000;
const LONGEST_LOOK_NS: u64 = 50_000_000;
/// Packets at one look that make the next one come earlier or later.
const MANY_PACKETS: usize = 4096;
const FEW_PACKETS: usize = 1024;
/// Times that progress is told, at least.
const PROGRESS_STEPS: u64 = 500;
/// Longest time between two of them: on a fast link even this takes the guest some seconds, and
/// the host takes long silence for the end.
const LONGEST_PROGRESS_NS: u64 = 500_000_000;
/// Offsets in `struct tcp_info` (`include/uapi/linux/tcp.h`).
const BYTES_RECEIVED_AT: usize = 128;
const DATA_SEGS_OUT_AT: usize = 156;

pub fn run(plan: &Plan, namespaces: &Namespaces, hosts: &[Apart]) -> Result<(), Error> {
    let mut run = Run::prepare(plan, namespaces, hosts)?;
    run.go()?;
    run.finish()
}

struct Run<'a> {
    plan: &'a Plan,
    namespaces: &'a Namespaces,
    /// Of each flow; none of those whose application decides as it goes.
    connections: Vec<Option<Connection>>,
    applications: Option<Applications<'a>>,
    datagrams: Vec<Datagrams>,
    /// Those that have time series.
    rows: Vec<Row>,
    transfers: Vec<Transfer>,
    programs: Vec<Program>,
    watch: Watch,
    states: Option<States>,
    places: Vec<QueuePlace>,
    flows: BufWriter<File>,
    queues: BufWriter<File>,
    progress: File,
    begin_ns: u64,
    totals: Totals,
    info: Vec<u8>,
}

/// A namespace with reported queues or wires, and what its devices have counted.
struct QueuePlace {
    asker: Asker,
    /// Queues here: (index of the queue, device).
    queues: Vec<(usize, i32)>,
    /// Wires here: (index of the queue, device).
    wires: Vec<(usize, i32)>,
}

impl<'a> Run<'a> {
    fn prepare(plan: &'a Plan, namespaces: &'a Namespaces, hosts: &[Apart]) -> Result<Self, Error> {
        let mut watch = Watch::open(plan, namespaces)?;
        let places = queue_places(plan, namespaces)?;
        namespaces.leave()?;
        let failed = |error| Error::new("reading the clock", error);
        let lead_ns = match plan.programs.is_empty() {
            true => LEAD_NS,
            false => {
                programs::wait_to_start()
                    .map_err(|error| Error::new("waiting for random bytes", error))?;
                HEAD_START_NS
            }
        };
        let [now_ns, begin_ns] = now_and_beginning(plan.is_emulated, lead_ns).map_err(failed)?;
        programs::set_date(plan, begin_ns)
            .map_err(|error| Error::new("setting the date of the plan", error))?;
        if plan.is_emulated {
            tell_network(&format!("begin {begin_ns}"))?;
        }
        let begin_wall_ns = sys::wall_ns().map_err(failed)? + (begin_ns - now_ns);
        watch.begin(begin_wall_ns);
        let mut programs = programs::start(plan, namespaces, hosts, begin_ns, true)?;
        let threaded = plan.flows.iter().filter(|flow| !flow.is_driven).count();
        let threads = connection::THREADS * threaded + plan.datagrams.len();
        let mut stacks =
            Stacks::new(threads).map_err(|error| Error::new("making room for threads", error))?;
        let mut connections: Vec<Option<Connection>> = Vec::with_capacity(plan.flows.len());
        let mut started_at = BTreeMap::new();
        for (index, flow) in plan.flows.iter().enumerate() {
            if flow.is_driven {
                connections.push(None);
                continue;
            }
            if let Some(subflow) = flow.subflow.filter(|subflow| subflow.of < index) {
                let further = connections[subflow.of].as_ref().map(|first| first.further(subflow));
                connections.push(further);
                continue;
            }
            let rank = started_at.entry(flow.start_ns).or_insert(0);
            let connection = Connection::start(flow, *rank, namespaces, &mut stacks, begin_ns)?;
            connections.push(Some(connection));
            *rank += 1;
        }
        let datagrams = plan.datagrams.iter().map(|flow| {
            let begin_ns = [begin_ns, begin_wall_ns];
            Datagrams::start(flow, plan.window_ns, namespaces, &mut stacks, begin_ns)
        });
        let datagrams = datagrams.collect::<Result<_, _>>()?;
        namespaces.leave()?;
        let transfers = transfer::start(plan, namespaces, begin_ns)?;
        programs.extend(programs::start(plan, namespaces, hosts, begin_ns, false)?);
        programs.sort_by_key(|(index, _)| *index);
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")
            .map_err(|error| Error::new("asking for the kernel's release", error))?;
        let states = States::open(plan).ok();
        Ok(Run {
            plan,
            namespaces,
            connections,
            applications: Applications::new(plan, namespaces, begin_ns)?,
            datagrams,
            rows: plan.sampled_rows(),
            transfers,
            programs: programs.into_iter().map(|(_, program)| program).collect(),
            watch,
            places,
            flows: BufWriter::new(create("flows.bin")?),
            queues: BufWriter::new(create("queues.bin")?),
            progress: create("progress")?,
            begin_ns,
            totals: Totals {
                kernel: kernel.trim().to_owned(),
                watched: true,
                states_told: states.is_some(),
                lost_states: 0,
                flows: vec![FlowTotals::default(); plan.flows.len()],
                datagrams: vec![DatagramTotals::default(); plan.datagrams.len()],
                queues: vec![QueueTotals::default(); plan.queues.len()],
                applications: Vec::new(),
                transfers: Vec::new(),
                programs: Vec::new(),
                ended_ns: None,
                unseen_packets: 0,
            },
            states,
            info: vec![0; MAX_TCP_INFO],
        })
    }

    /// From the beginning of the run to its end.
    fn go(&mut self) -> Result<(), Error> {
        let plan = self.plan;
        let [from_ns, to_ns] = plan.window_ns;
        let mut look_ns = SHORTEST_LOOK_NS;
        let mut next_look_ns = 0;
        let mut next_sample_ns = plan.sample_ns;
        let mut next_progress_ns = 0;
        let mut marks = [Some(from_ns), Some(to_ns)];
        let failed = |error| Error::new("measuring", error);
        loop {
            let mark_ns = marks.iter().flatten().copied().min().unwrap_or(u64::MAX);
            let t_ns = next_look_ns.min(next_sample_ns).min(mark_ns).min(plan.duration_ns);
            match &mut self.applications {
                Some(applications) => applications.run_until(t_ns).map_err(failed)?,
                None => sys::sleep_until(self.begin_ns + t_ns),
            }
            let seen = self.watch.catch_up().map_err(failed)?;
            for flow in &mut self.datagrams {
                flow.catch_up().map_err(failed)?;
            }
            if let Some(states) = &mut self.states {
                states.catch_up().map_err(failed)?;
            }
            if seen > MANY_PACKETS {
                look_ns = (look_ns / 2).max(SHORTEST_LOOK_NS);
            } else if seen < FEW_PACKETS && t_ns == next_look_ns {
                look_ns = (look_ns * 2).min(LONGEST_LOOK_NS);
            }
            next_look_ns = t_ns + look_ns;
            for (index, mark) in marks.iter_mut().enumerate() {
                if *mark == Some(t_ns) {
                    *mark = None;
                    self.mark(index).map_err(failed)?;
                }
            }
            if t_ns == next_sample_ns {
                self.sample(t_ns).map_err(failed)?;
                next_sample_ns += plan.sample_ns;
            }
            if t_ns >= next_progress_ns {
                next_progress_ns =
                    t_ns + (plan.duration_ns / PROGRESS_STEPS).min(LONGEST_PROGRESS_NS);
                let text = format!("{t_ns:20}\n");
                self.progress.write_all_at(text.as_bytes(), 0).map_err(failed)?;
            }
            self.programs.iter().try_for_each(Program::check_output)?;
            if t_ns >= plan.duration_ns {
                return self.namespaces.leave();
            }
            if t_ns > 0 && self.programs.iter().any(Program::ends_run) {
                return self.end_early(t_ns, marks).map_err(failed);
            }
        }
    }

    /// The program that the run was for has ended.
    fn end_early(&mut self, t_ns: u64, marks: [Option<u64>; 2]) -> io::Result<()> {
        for (index, _) in marks.iter().enumerate().filter(|(_, mark)| mark.is_some()) {
            self.mark(index)?;
        }
        self.totals.ended_ns = Some(t_ns);
        Ok(())
    }

    fn sample(&mut self, t_ns: u64) -> io::Result<()> {
        for (flow, row) in (0..).zip(self.rows.clone()) {
            let mut sample = FlowSample { t_ns, flow, ..FlowSample::default() };
            match row {
                Row::Connection(index) => {
                    if let Some(delivered) = self.look_at(index, [SOURCE, SINK], t_ns)? {
                        sample.delivered_bytes = delivered;
                        sample.tcp_info.extend_from_slice(&self.info);
                    }
                }
                Row::Back(index) => {
                    if let Some(delivered) = self.look_at(index, [SINK, SOURCE], t_ns)? {
                        sample.delivered_bytes = delivered;
                        sample.tcp_info.extend_from_slice(&self.info);
                    }
                }
                Row::Datagrams(index) => {
                    sample.delivered_bytes = self.datagrams[index].mark().delivered_bytes;
                }
            }
            sample.write(&mut self.flows)?;
        }
        let mut counters = vec![(Counters::default(), 0); self.plan.queues.len()];
        ask(&mut self.places, &mut counters)?;
        for (index, (counters, losses)) in counters.iter().enumerate() {
            let sample = QueueSample {
                t_ns,
                queue: index as u32,
                backlog_packets: counters.backlog_packets,
                backlog_bytes: u64::from(counters.backlog_bytes),
                packets: counters.packets,
                bytes: counters.bytes,
                drops: u64::from(counters.drops),
                losses: *losses,
            };
            sample.write(&mut self.queues)?;
        }
        Ok(())
    }

    /// Asks the kernel about one end of a connection, for `info`; returns the bytes that the other one
    /// has received. Nothing if it has not begun by then.
    fn look_at(
        &mut self,
        flow: usize,
        [from, to]: [usize; 2],
        t_ns: u64,
    ) -> io::Result<Option<u64>> {
        self.info.resize(MAX_TCP_INFO, 0);
        let (length, delivered) = match (&self.connections[flow], &self.applications) {
            (Some(connection), _) => {
                if self.plan.flows[flow].start_ns >= t_ns {
                    return Ok(None);
                }
                let Some(length) = connection.source_info(&mut self.info)? else { return Ok(None) };
                (length, delivered_bytes(connection)?)
            }
            (None, Some(applications)) => match applications.of_flow(flow) {
                Some(pair) => (pair.info(from, &mut self.info)?, pair.delivered_to(to)?),
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        self.info.truncate(length);
        Ok(Some(delivered))
    }

    /// The counters of one direction of a connection, if it was ever there.
    fn mark_flow(
        &mut self,
        flow: usize,
        [from, to]: [usize; 2],
        t_ns: u64,
    ) -> io::Result<Option<FlowMark>> {
        // Of a connection that never was, the kernel may have forgotten what it had counted.
        let driven = self.applications.as_ref().and_then(|all| all.of_flow(flow));
        let handshake = match (&self.connections[flow], driven) {
            (Some(connection), _) => connection.established().map(|found| found.retransmissions),
            (None, driven) => {
                driven.filter(|pair| pair.established.is_some()).map(|pair| pair.handshake(from))
            }
        };
        let Some(handshake) = handshake else { return Ok(None) };
        let Some(delivered_bytes) = self.look_at(flow, [from, to], t_ns)? else { return Ok(None) };
        let states = self.states.as_ref();
        let counts = |states: &States| states.counts[flow][from];
        let (reductions, timeouts) = states.map_or((0, 0), counts);
        let count = |at| u64::from(fairway_socket::u32_at(&self.info, at));
        let mark = FlowMark {
            delivered_bytes,
            segments: count(DATA_SEGS_OUT_AT),
            retransmissions: count(fairway_socket::TOTAL_RETRANS_AT).saturating_sub(handshake),
            reductions: reductions.saturating_sub(handshake),
            timeouts: timeouts.saturating_sub(handshake),
            ..FlowMark::default()
        };
        if from == SINK {
            return Ok(Some(mark));
        }
        let watch = self.watch.flow(flow);
        Ok(Some(FlowMark {
            arrivals: watch.arrivals,
            wire_bytes: watch.wire_bytes,
            delay_ns: watch.delay_ns,
            missing: watch.missing,
            ..mark
        }))
    }

    /// Notes the counters at one end of the measuring window.
    fn mark(&mut self, end: usize) -> io::Result<()> {
        if let Some(applications) = &mut self.applications {
            match end {
                0 => applications.window_begins(),
                _ => applications.window_ends(),
            }
        }
        for index in 0..self.plan.flows.len() {
            let t_ns = self.plan.window_ns[end];
            if let Some(mark) = self.mark_flow(index, [SOURCE, SINK], t_ns)? {
                self.totals.flows[index].window[end] = mark;
            }
            if self.plan.flows[index].both_ways
                && let Some(mark) = self.mark_flow(index, [SINK, SOURCE], t_ns)?
            {
                self.totals.flows[index].back[end] = mark;
            }
        }
        for (flow, totals) in self.datagrams.iter().zip(&mut self.totals.datagrams) {
            totals.window[end] = flow.mark();
            totals.jitter_ns = flow.jitter_ns();
        }
        let mut counters = vec![(Counters::default(), 0); self.plan.queues.len()];
        ask(&mut self.places, &mut counters)?;
        for (index, (counters, losses)) in counters.into_iter().enumerate() {
            self.totals.queues[index].window[end] = QueueMark {
                packets: counters.packets,
                bytes: counters.bytes,
                drops: u64::from(counters.drops),
                losses,
            };
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        if self.plan.is_emulated {
            tell_network("finish")?;
        }
        for transfer in self.transfers {
            self.totals.transfers.push(transfer.finish()?);
        }
        saved_files::keep(self.plan)?;
        self.totals.programs.extend(self.programs.iter().map(Program::totals));
        let failed = |error| Error::new("writing the results", error);
        for (index, (flow, connection)) in
            self.totals.flows.iter_mut().zip(&self.connections).enumerate()
        {
            flow.arrivals = self.watch.flow(index).arrivals;
            if let Some(connection) = connection {
                flow.completed_ns = connection.completed_ns();
                flow.established_ns = connection.established().map(|found| found.at_ns);
                flow.given_up = connection.given_up();
                flow.error = connection.error();
            } else if let Some(applications) = &self.applications {
                applications.note(index, flow);
            }
        }
        if let Some(applications) = &self.applications {
            self.totals.applications = applications.reports();
        }
        for (flow, totals) in self.datagrams.iter().zip(&mut self.totals.datagrams) {
            flow.finish(totals);
        }
        for (index, queue) in self.totals.queues.iter_mut().enumerate() {
            let watch = self.watch.queue(index);
            queue.waiting_ns = watch.waiting_ns;
            queue.p99_sojourn_ns = watch.sojourns.quantile(0.99).map(|time| time.as_nanos());
        }
        if self.states.is_some() {
            self.totals.lost_states = States::lost().map_err(failed)?;
        }
        self.totals.unseen_packets = self.watch.unseen().map_err(failed)?;
        self.watch.finish().map_err(failed)?;
        for file in [self.flows, self.queues] {
            let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
            file.sync_all().map_err(failed)?;
        }
        let text = serde_json::to_vec(&self.totals).map_err(|error| failed(error.into()))?;
        let mut file = create("totals.json.partial")?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(path("totals.json.partial"), path("totals.json")).map_err(failed)
    }
}

/// Tells the kernel's device of Fairway's network.
fn tell_network(what: &str) -> Result<(), Error> {
    fs::write("/proc/fairway", what)
        .map_err(|error| Error::new(format!("writing \"{what}\" to /proc/fairway"), error))
}

fn queue_places(plan: &Plan, namespaces: &Namespaces) -> Result<Vec<QueuePlace>, Error> {
    let mut places = Vec::new();
    for index in 0..plan.namespaces.len() {
        let queues = plan.queues.iter().enumerate();
        let of_queues = queues.clone().map(|(queue, text)| (queue, text.namespace, &text.device));
        let of_wires = queues.flat_map(|(queue, text)| {
            text.wires.iter().map(move |(namespace, device)| (queue, *namespace, device))
        });
        namespaces.enter(index)?;
        let socket = any_socket()?;
        let failed = |error| {
            Error::new(format!("asking for the queues of {}", namespaces.name(index)), error)
        };
        let indices = |(queue, _, device): (usize, usize, &String)| {
            sys::device_index(socket.as_fd(), device).map(|device| (queue, device)).map_err(failed)
        };
        let here = |place: &(usize, usize, &String)| place.1 == index;
        let queues: Vec<_> = of_queues.filter(here).map(indices).collect::<Result<_, _>>()?;
        let wires: Vec<_> = of_wires.filter(here).map(indices).collect::<Result<_, _>>()?;
        if !queues.is_empty() || !wires.is_empty() {
            places.push(QueuePlace { asker: Asker::open().map_err(failed)?, queues, wires });
        }
    }
    Ok(places)
}

/// The counters of every reported queue, and the losses on the wires behind it.
fn ask(places: &mut [QueuePlace], counters: &mut [(Counters, u64)]) -> io::Result<()> {
    for QueuePlace { asker, queues, wires } in places {
        asker.ask(|device, found| {
            for (queue, _) in queues.iter().filter(|(_, here)| *here == device) {
                counters[*queue].0 = *found;
            }
            for (queue, _) in wires.iter().filter(|(_, here)| *here == device) {
                counters[*queue].1 += u64::from(found.drops);
            }
        })?;
    }
    Ok(())
}

fn delivered_bytes(connection: &Connection) -> io::Result<u64> {
    let mut info = [0; BYTES_RECEIVED_AT + 8];
    let length = connection.sink_info(&mut info)?;
    Ok(length.map_or(0, |length| bytes_received(&info[..length])))
}

/// Bytes that a socket has received in order.
pub fn received_bytes(sink: BorrowedFd) -> io::Result<u64> {
    let mut info = [0; BYTES_RECEIVED_AT + 8];
    let length = fairway_socket::tcp_info(sink, &mut info)?;
    Ok(bytes_received(&info[..length]))
}

/// What `struct tcp_info` says of it.
fn bytes_received(info: &[u8]) -> u64 {
    match info.get(BYTES_RECEIVED_AT..) {
        Some(&[a, b, c, d, e, f, g, h]) => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

fn path(name: &str) -> PathBuf {
    Path::new(RUN_DIRECTORY).join(name)
}

fn create(name: &str) -> Result<File, Error> {
    File::create(path(name)).map_err(|error| Error::new(format!("making {name}"), error))
}
