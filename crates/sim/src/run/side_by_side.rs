//! One run on several processors: regions of its network side by side, the same bytes as with one.
//!
//! Conservative windows: what happens in one region reaches another after the delay of a link at
//! least. So from the earliest event anywhere until that time later, each region goes on by itself;
//! then they exchange the packets that have left, and agree on the next window (Nicol, *The cost of
//! conservative synchronization in parallel discrete event simulations*, Journal of the ACM 40(2), 1993).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use fairway_schema::Control;
use fairway_spec::Experiment;
use fairway_tcp::Segment;
use fairway_units::{Duration, Time};

use super::barrier::{Barrier, Member};
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

fn side_by_side(
    experiment: &Experiment,
    exchange: &Exchange<'_>,
    control: &Control,
) -> Result<Run, RunError> {
    let results = thread::scope(|scope| {
        let region = |index| scope.spawn(move || exchange.simulate(experiment, index, control));
        let threads: Vec<_> = (0..exchange.regions.count()).map(region).collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let mut simulations = Vec::new();
    for result in results {
        simulations.push(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    }
    if let Some(error) = exchange.first_error() {
        return Err(error);
    }
    let mut parts = simulations.into_iter().flatten();
    let mut whole = parts.next().ok_or(RunError::Cancelled)?;
    for (index, part) in (1..).zip(parts) {
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

/// What regions tell each other. What they tell during a window is read during the next one, so all
/// of it is there twice.
struct Exchange<'a> {
    regions: &'a Regions,
    window: Duration,
    end: Time,
    /// When something happens next in each region, or because of it, in nanoseconds.
    next: [Vec<AtomicU64>; 2],
    /// Packets from each region to each.
    crossings: [Vec<Mutex<Vec<Crossing>>>; 2],
    /// Data packets that have reached a sink in each region.
    delivered: Vec<AtomicU64>,
    barrier: Barrier,
    errors: Mutex<Vec<(Time, u32, RunError)>>,
}

impl<'a> Exchange<'a> {
    fn new(regions: &'a Regions, window: Duration, end: Time) -> Self {
        let count = regions.count() as usize;
        let numbers = || (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let boxes = || (0..count * count).map(|_| Mutex::default()).collect();
        Exchange {
            regions,
            window,
            end,
            next: [numbers(), numbers()],
            crossings: [boxes(), boxes()],
            delivered: numbers(),
            barrier: Barrier::new(count),
            errors: Mutex::default(),
        }
    }

    /// The part of a run that happens in a region; nothing if there is an error in any.
    fn simulate<'e>(
        &self,
        experiment: &'e Experiment,
        index: u32,
        control: &Control,
    ) -> Option<Simulation<'e, NoTap>> {
        let mut member = Member::of(&self.barrier);
        let region = Region { regions: self.regions, index };
        let network = Network::new(experiment);
        let result = Simulation::new(experiment, network, Some(region), NoTap)
            .and_then(|simulation| self.run(simulation, index, control));
        match result {
            Ok(simulation) => {
                member.is_done = simulation.is_some();
                simulation
            }
            Err(error) => {
                let at = match &error {
                    RunError::Violation(violation) => violation.at,
                    _ => Time::ZERO,
                };
                lock(&self.errors).push((at, index, error));
                None
            }
        }
    }

    /// The windows of a region; nothing if another region has failed.
    fn run<'e>(
        &self,
        mut simulation: Simulation<'e, NoTap>,
        index: u32,
        control: &Control,
    ) -> Result<Option<Simulation<'e, NoTap>>, RunError> {
        let own = Control::default();
        let mut sent = Time::NEVER;
        for turn in (0..2).cycle() {
            let next = simulation.events.next().map_or(Time::NEVER, |(at, _)| at).min(sent);
            self.next[turn][index as usize].store(next.as_nanos(), Ordering::Relaxed);
            self.delivered[index as usize].store(simulation.delivered, Ordering::Relaxed);
            if !self.barrier.wait() {
                return Ok(None);
            }
            let next = self.next[turn].iter().map(|at| at.load(Ordering::Relaxed)).min();
            let from = Time::from_nanos(next.unwrap_or(u64::MAX));
            self.take_in(&mut simulation, index, turn);
            if from > self.end {
                return Ok(Some(simulation));
            }
            if index == 0 {
                let delivered = self.delivered.iter().map(|count| count.load(Ordering::Relaxed));
                control.report(from.as_nanos(), self.end.as_nanos().max(1), delivered.sum());
            }
            if control.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            simulation.run_until((from + self.window).min(self.end + TICK), &own)?;
            sent = self.send_out(&mut simulation, index, 1 - turn);
        }
        Ok(None)
    }

    /// Hands over the packets that have left a region. Returns when the first of them arrives.
    fn send_out(&self, simulation: &mut Simulation<'_, NoTap>, index: u32, turn: usize) -> Time {
        let mut first = Time::NEVER;
        for departure in simulation.network.take_departures() {
            first = first.min(departure.due.at);
            let segment = simulation.pool.take_out(departure.handle);
            let to = self.regions.end_of(departure.link);
            let place = (index * self.regions.count() + to) as usize;
            lock(&self.crossings[turn][place]).push(Crossing { departure, segment });
        }
        first
    }

    /// Lets the packets arrive that come from other regions.
    fn take_in(&self, simulation: &mut Simulation<'_, NoTap>, index: u32, turn: usize) {
        let count = self.regions.count();
        for from in 0..count {
            let place = (from * count + index) as usize;
            for crossing in lock(&self.crossings[turn][place]).drain(..) {
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
