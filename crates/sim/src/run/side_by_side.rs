//! One run on several processors: regions of its network side by side, the same bytes as with one.
//!
//! Conservative windows: what happens in one region reaches another after the delay of a link at
//! least. So from the earliest event anywhere until that time later, each region goes on by itself;
//! then they exchange the packets that have left, and agree on the next window (Nicol, *The cost of
//! conservative synchronization in parallel discrete event simulations*, Journal of the ACM 40(2), 1993).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairway_resources::in_threads;
use fairway_schema::Control;
use fairway_spec::Experiment;
use fairway_tcp::Segment;
use fairway_units::{Duration, Time};

use super::gate::{Gate, Member};
use super::{Run, RunError, Simulation, TICK, simulate};
use crate::capture::NoTap;
use crate::network::{Departure, Network, Region, Regions, happens_apart};
use crate::traced::Traced;

/// Below so many packets in a window, agreeing on windows costs more than it gains.
const LEAST_PACKETS: f64 = 16.0;
/// Bits of the packets that are counted there.
const PACKET_BITS: f64 = 12_000.0;

/// Simulate `experiment`, without captures, on up to `cores` processors: on several where the network
/// is large, its links have delays, and what happens to a connection is seen by it alone. The run is
/// the same on any number.
///
/// # Errors
/// As [`super::run`].
pub fn run_on(experiment: &Experiment, control: &Control, cores: usize) -> Result<Run, RunError> {
    let network = Network::new(experiment);
    if cores < 2 || !happens_apart(experiment) {
        return simulate(experiment, network, control);
    }
    let cores = u32::try_from(cores).unwrap_or(u32::MAX);
    let regions = network.regions.merged(cores);
    let window = network.least_delay_between(&regions);
    if window == Duration::MAX || packets_in(window, &network, experiment) < LEAST_PACKETS {
        return simulate(experiment, network, control);
    }
    let exchange = Exchange::new(&regions, window, Time::ZERO + experiment.duration);
    drop(network);
    side_by_side(experiment, &exchange, control)
}

/// About how many packets leave their hosts in a window, if all flows fill their paths.
fn packets_in(window: Duration, network: &Network, experiment: &Experiment) -> f64 {
    let rates = (0..experiment.flows.len() as u32).map(|i| network.path(i, experiment).rate_bps());
    rates.sum::<f64>() * window.as_secs_f64() / PACKET_BITS
}

fn side_by_side<'e>(
    experiment: &'e Experiment,
    exchange: &Exchange<'e>,
    control: &Control,
) -> Result<Run, RunError> {
    // A region whose thread is refused is simulated by the others.
    let threads = (0..exchange.parts.len()).collect();
    in_threads(threads, |thread| exchange.work(thread, experiment, control));
    if let Some(error) = exchange.first_error() {
        return Err(error);
    }
    let mut parts = exchange.parts.iter().filter_map(|part| lock(part).take()).enumerate();
    let mut last = |(index, mut part)| {
        // What arrives after the end is on its way.
        (0..2).for_each(|turn| exchange.take_in(&mut part, index, turn));
        (index as u32, part)
    };
    let (_, mut whole) = parts.next().map(&mut last).ok_or(RunError::Cancelled)?;
    for (index, part) in parts.map(last) {
        whole.absorb(part, &Region { regions: exchange.regions, index });
    }
    whole.now = whole.end;
    whole.consult(control)?;
    whole.check_balance()?;
    Ok(whole.into_run().0)
}

/// A packet on its way from one region to another, with what it carries.
struct Crossing {
    departure: Departure,
    segment: Segment,
}

/// What regions tell each other. Packets that are sent during a window are taken in during the next
/// one, so each box is there twice.
struct Exchange<'e> {
    regions: &'e Regions,
    window: Duration,
    end: Time,
    /// What happens in each region, from the first window on.
    parts: Vec<Mutex<Option<Simulation<'e, NoTap>>>>,
    /// The window that each region is to go through next.
    claims: Vec<AtomicUsize>,
    /// Windows that regions are through with, all together.
    done: AtomicUsize,
    gate: Gate,
    /// When the window begins, in nanoseconds.
    from: AtomicU64,
    /// When something happens next in each region, or because of it, in nanoseconds.
    next: Vec<AtomicU64>,
    /// Packets from each region to each.
    crossings: [Vec<Mutex<Vec<Crossing>>>; 2],
    /// Data packets that have reached a sink in each region.
    delivered: Vec<AtomicU64>,
    errors: Mutex<Vec<(Time, usize, RunError)>>,
}

impl<'e> Exchange<'e> {
    fn new(regions: &'e Regions, window: Duration, end: Time) -> Self {
        let count = regions.count() as usize;
        let numbers = || (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let boxes = || (0..count * count).map(|_| Mutex::default()).collect();
        Exchange {
            regions,
            window,
            end,
            parts: (0..count).map(|_| Mutex::new(None)).collect(),
            claims: (0..count).map(|_| AtomicUsize::new(0)).collect(),
            done: AtomicUsize::new(0),
            gate: Gate::default(),
            from: AtomicU64::new(0),
            next: numbers(),
            crossings: [boxes(), boxes()],
            delivered: numbers(),
            errors: Mutex::default(),
        }
    }

    /// What a thread does until the run is over: in each window its own region and, if nobody has
    /// begun with them, those of threads for which there is no processor at the moment.
    fn work(&self, thread: usize, experiment: &'e Experiment, control: &Control) {
        let count = self.parts.len();
        while let Some(turn) = self.gate.turn() {
            let from = Time::from_nanos(self.from.load(Ordering::Acquire));
            if turn > 0 && from > self.end {
                return;
            }
            for index in (thread..count).chain(0..thread) {
                let claim = &self.claims[index];
                let (now, later) = (Ordering::AcqRel, Ordering::Relaxed);
                if claim.compare_exchange(turn, turn + 1, now, later).is_err() {
                    continue;
                }
                let member = Member::of(&self.gate);
                if let Err(error) = self.go_on(turn, index, from, experiment, control) {
                    let at = match &error {
                        RunError::Violation(violation) => violation.at,
                        _ => Time::ZERO,
                    };
                    lock(&self.errors).push((at, index, error));
                }
                if self.done.fetch_add(1, Ordering::AcqRel) + 1 == (turn + 1) * count {
                    self.open_window();
                }
                member.leave();
            }
            self.gate.wait(turn);
        }
    }

    /// All regions are through with a window: the next one begins.
    fn open_window(&self) {
        let failed = !lock(&self.errors).is_empty();
        let next = self.next.iter().map(|at| at.load(Ordering::Acquire)).min();
        let from = next.filter(|_| !failed).unwrap_or(u64::MAX);
        self.from.store(from, Ordering::Release);
        self.gate.open();
    }

    /// A region goes through a window. Before the first one it is made.
    fn go_on(
        &self,
        turn: usize,
        index: usize,
        from: Time,
        experiment: &'e Experiment,
        control: &Control,
    ) -> Result<(), RunError> {
        let mut part = lock(&self.parts[index]);
        let Some(simulation) = &mut *part else {
            let region = Region { regions: self.regions, index: index as u32 };
            let network = Network::new(experiment);
            let simulation = Simulation::new(experiment, network, Some(region), NoTap)?;
            self.tell_next(index, &simulation, Time::NEVER);
            *part = Some(simulation);
            return Ok(());
        };
        if index == 0 {
            let delivered = self.delivered.iter().map(|count| count.load(Ordering::Relaxed));
            control.report(from.as_nanos(), self.end.as_nanos().max(1), delivered.sum());
        }
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        self.take_in(simulation, index, turn % 2);
        let until = (from + self.window).min(self.end + TICK);
        simulation.run_until(until, &Control::default())?;
        let sent = self.send_out(simulation, index, (turn + 1) % 2);
        self.delivered[index].store(simulation.delivered, Ordering::Relaxed);
        self.tell_next(index, simulation, sent);
        Ok(())
    }

    fn tell_next(&self, index: usize, simulation: &Simulation<'_, NoTap>, sent: Time) {
        let next = simulation.events.next().map_or(Time::NEVER, |(at, _)| at).min(sent);
        self.next[index].store(next.as_nanos(), Ordering::Release);
    }

    /// Hands over the packets that have left a region. Returns when the first of them arrives.
    fn send_out(&self, simulation: &mut Simulation<'_, NoTap>, index: usize, turn: usize) -> Time {
        let mut first = Time::NEVER;
        for departure in simulation.network.take_departures() {
            first = first.min(departure.due.at);
            let segment = simulation.pool.take_out(departure.handle);
            let to = self.regions.end_of(departure.link) as usize;
            lock(&self.crossings[turn][index * self.parts.len() + to])
                .push(Crossing { departure, segment });
        }
        first
    }

    /// Lets the packets arrive that come from other regions.
    fn take_in(&self, simulation: &mut Simulation<'_, NoTap>, index: usize, turn: usize) {
        for from in 0..self.parts.len() {
            for crossing in lock(&self.crossings[turn][from * self.parts.len() + index]).drain(..) {
                simulation.take_in(crossing);
            }
        }
    }

    /// What broke first, in the time of the simulation.
    fn first_error(&self) -> Option<RunError> {
        let mut errors = std::mem::take(&mut *lock(&self.errors));
        errors.sort_by_key(|(at, index, _)| (*at, *index));
        errors.into_iter().next().map(|(_, _, error)| error)
    }
}

impl Simulation<'_, NoTap> {
    /// A packet comes from another region.
    fn take_in(&mut self, Crossing { mut departure, segment }: Crossing) {
        let handle = self.pool.put_in(departure.handle, &segment);
        if !self.datagrams.is_datagram(&handle) {
            let connection = &mut self.connections[handle.connection()];
            connection.left_elsewhere(&segment, handle.forward());
        }
        departure.handle = handle;
        if let Some(queue) = self.network.join(departure) {
            self.events.push_delivery(departure.due, queue);
        }
    }

    /// Takes over what has become of another region.
    fn absorb(&mut self, other: Self, region: &Region<'_>) {
        let has_end = |link| region.has_end_of(link);
        let has_beginning = |link| region.has_beginning_of(link);
        let network = &self.network;
        let has_ends = |path| {
            let [first, last] = network.ends_of(path);
            (has_beginning(first), has_end(last))
        };
        for (i, (own, elsewhere)) in self.connections.iter_mut().zip(other.connections).enumerate()
        {
            let (has_source, has_sink) = has_ends(2 * i as u32);
            own.absorb(elsewhere, has_source, has_sink);
        }
        let of_row = |row: usize| match self.sampled[row] {
            Traced::Data(i, _) => has_ends(2 * i as u32),
            Traced::Datagrams(i) => has_ends(self.datagrams.path(i as u32)),
        };
        let reported = |row: usize| has_beginning(network.reported[row]);
        self.sampler.absorb(&other.sampler, of_row, reported);
        self.datagrams.absorb(other.datagrams, |path| has_ends(path).0);
        for (own, elsewhere) in self.window.iter_mut().zip(other.window) {
            own.iter_mut().zip(elsewhere).for_each(|(own, elsewhere)| *own += elsewhere);
        }
        self.forthcoming.absorb(other.forthcoming);
        self.delivered += other.delivered;
        self.network.absorb(other.network, region);
    }
}

/// What a lock guards, also after a panic, which ends the run anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
