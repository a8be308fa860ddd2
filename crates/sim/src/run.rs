//! One run: events in order, until the experiment's time is over.

mod gate;
mod pump;
mod side_by_side;

use std::io;
use std::path::Path;

use fairway_application::{self as application, Context, Driver};
use fairway_cc::CcError;
use fairway_net::Packet;
use fairway_schema::{Cause, Control, FlowCounts, Losses, QueueSeries, Series, Summary, Violation};
use fairway_units::{Duration, Time};

use crate::capture::{NoTap, Recorder, Tap};
use crate::connection::{Connection, connections};
use crate::context::OwnConnections;
use crate::datagrams::Datagrams;
use crate::delivery_queues::Taken;
use crate::direction::Direction;
use crate::event::{Component, EventQueue};
use crate::loss_log::{Forthcoming, LossLog};
use crate::network::{LinkEvent, Network, Passage, Region};
use crate::packet_handle::{PacketHandle, SegmentPool};
use crate::remarks;
use crate::sampler::Sampler;
use crate::summary::{applications, summarise};
use crate::traced::Traced;
use fairway_spec::{Experiment, Source};

pub use side_by_side::run_on;

/// How many packets ahead the memory of a segment and of a connection are asked for.
const SEGMENT_AHEAD: usize = 4;
const CONNECTION_AHEAD: usize = 2;

/// So many connections are in the fast caches anyway.
const FEW_CONNECTIONS: usize = 32;

/// The sides of a connection, as places in pairs and as the parts of a timer's index.
const SOURCE: usize = 0;
const SINK: usize = 1;

/// The least difference between two times.
const TICK: Duration = Duration::from_nanos(1);

/// Events between two looks at the control.
const CONTROL_PERIOD: u64 = 1 << 10;

/// How many packets of a row arrive at a stretch, at most: as many as the fast caches hold.
const STRETCH: u32 = 256;

/// What a run gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Figures over the measuring window.
    pub summary: Summary,
    /// Time series of the flows.
    pub series: Series,
    /// Names of the flows that have time series, in the order of their indices.
    pub flow_ids: Vec<String>,
    /// Time series of the reported link directions.
    pub queues: QueueSeries,
    /// Names of the reported link directions, in the order of their indices.
    pub link_ids: Vec<String>,
    /// Packets that did not arrive, one by one, if the experiment asks for them.
    pub losses: Option<Losses>,
    /// Names of the flows that losses are of, in the order of their indices.
    pub loss_flow_ids: Vec<String>,
    /// Names of all link directions, in the order of the indices that losses have.
    pub loss_link_ids: Vec<String>,
    /// What has to be known besides: of names, captures and losses.
    pub remarks: Vec<String>,
}

/// Why a run gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It was asked to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// It broke a law.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// An algorithm could not be made; a validated experiment never has this.
    #[error(transparent)]
    CongestionControl(#[from] CcError),
    /// A capture could not be written.
    #[error(transparent)]
    Capture(io::Error),
}

/// Simulate `experiment`, without captures.
///
/// # Errors
/// [`RunError`] if it was cancelled through `control`, or if the verifier found a fault.
pub fn run(experiment: &Experiment, control: &Control) -> Result<Run, RunError> {
    simulate(experiment, Network::new(experiment), control)
}

fn simulate(experiment: &Experiment, network: Network, control: &Control) -> Result<Run, RunError> {
    let mut simulation = Simulation::new(experiment, network, None, NoTap)?;
    simulation.run(control)?;
    simulation.check_balance()?;
    Ok(simulation.into_run().0)
}

/// Simulate `experiment` and write its captures, if it asks for any, into a directory.
///
/// # Errors
/// As [`run`], and [`RunError::Capture`].
pub fn run_captured(
    experiment: &Experiment,
    control: &Control,
    directory: &Path,
) -> Result<Run, RunError> {
    if !experiment.capture.is_on() {
        return run(experiment, control);
    }
    let network = Network::new(experiment);
    let recorder = Recorder::create(experiment, &network, directory);
    let recorder = recorder.map_err(RunError::Capture)?;
    let mut simulation = Simulation::new(experiment, network, None, recorder)?;
    simulation.run(control)?;
    simulation.check_balance()?;
    let end = simulation.end;
    let (run, recorder) = simulation.into_run();
    let mut remarks = recorder.finish(end).map_err(RunError::Capture)?;
    remarks.extend_from_slice(&run.remarks);
    Ok(Run { remarks, ..run })
}

struct Simulation<'a, T> {
    experiment: &'a Experiment,
    events: EventQueue,
    network: Network,
    connections: Vec<Connection>,
    datagrams: Datagrams,
    pool: SegmentPool,
    /// Drivers of the applications.
    drivers: Vec<Option<Box<dyn Driver>>>,
    /// Connections that an application has acted on.
    touched: Vec<u32>,
    sampler: Sampler,
    /// What results have a row of, in their order.
    traced: Vec<Traced>,
    /// What has time series.
    sampled: Vec<Traced>,
    losses: Option<LossLog>,
    forthcoming: Forthcoming,
    window: [Vec<FlowCounts>; 2],
    /// Latest departure onto each link, if any host delays its departures.
    departed: Vec<Time>,
    /// By how much each row may run ahead of what it does not meet.
    lookahead: Vec<Duration>,
    end: Time,
    /// What is due then or later happens later.
    limit: Time,
    now: Time,
    /// When the last event was due that was taken from the queue: `now` may be later.
    reached: Time,
    /// Data packets that have reached a sink.
    delivered: u64,
    /// Whether the packet that arrives is followed by another of its connection at this instant.
    brings_more: bool,
    tap: T,
}

impl<'a, T: Tap> Simulation<'a, T> {
    /// A simulation of the whole network, or of a region.
    fn new(
        experiment: &'a Experiment,
        mut network: Network,
        region: Option<Region<'_>>,
        tap: T,
    ) -> Result<Self, RunError> {
        let is_here = |link: u32| region.is_none_or(|region| region.has_beginning_of(link));
        let mut connections = connections(experiment)?;
        let end = Time::ZERO + experiment.duration;
        let delays = connections.iter().any(|connection| connection.jitter.is_some());
        let lookahead = network.lookahead.within(experiment, T::IS_ACTIVE);
        let mut events = match region {
            None => {
                let count = lookahead.by.len() as u32;
                EventQueue::new(count, &lookahead.queues, 0..count)
            }
            Some(region) => {
                for (i, connection) in connections.iter_mut().enumerate() {
                    let [first, last] = network.ends_of(2 * i as u32);
                    connection.is_split = region.has_beginning_of(first) != region.has_end_of(last);
                }
                network.confine(&region, &lookahead)
            }
        };
        let drivers: Vec<_> = {
            let driver = |of| application::driver(of, experiment.seed);
            experiment.applications.iter().map(driver).collect()
        };
        let driven = experiment.applications.iter().zip(&drivers).enumerate();
        for (i, (application, _)) in driven.filter(|(_, (_, driver))| driver.is_some()) {
            events.push(application.start, Component::Begin(i as u32));
            for connection in &mut connections[application.connections.clone()] {
                connection.set_driver(i as u32);
            }
        }
        for (i, flow) in experiment.flows.iter().enumerate() {
            if !is_here(network.ends_of(2 * i as u32)[0]) {
                continue;
            }
            // A driver opens its connections itself.
            if flow.source != Source::Driven {
                events.push(flow.start, Component::Open(i as u32));
            }
            if let Some(stop) = flow.stop {
                events.push(stop, Component::Stop(i as u32));
            }
        }
        events.push(experiment.measure.from, Component::WindowBegins);
        events.push(experiment.measure.to, Component::WindowEnds);
        events.push(Time::ZERO + experiment.measure.sample, Component::Sample);
        let datagrams = Datagrams::new(experiment, &network);
        for (i, at) in datagrams.first_departures() {
            if is_here(network.ends_of(datagrams.path(i))[0]) {
                events.push(at, Component::Datagram(i));
            }
        }
        let traced = Traced::all(experiment, &connections);
        let sampled = traced.iter().filter(|row| row.is_sampled(experiment));
        let sampled: Vec<Traced> = sampled.copied().collect();
        Ok(Simulation {
            losses: experiment.measure.losses.then(|| LossLog::new(connections.len(), &traced)),
            forthcoming: Forthcoming::default(),
            sampler: Sampler::new(experiment, &sampled, network.reported.len()),
            traced,
            sampled,
            departed: vec![Time::ZERO; if delays { network.names.len() } else { 0 }],
            window: [Vec::new(), Vec::new()],
            experiment,
            events,
            network,
            connections,
            datagrams,
            pool: SegmentPool::default(),
            drivers,
            touched: Vec::new(),
            lookahead: lookahead.by,
            end,
            limit: Time::ZERO,
            now: Time::ZERO,
            reached: Time::ZERO,
            delivered: 0,
            brings_more: false,
            tap,
        })
    }

    fn run(&mut self, control: &Control) -> Result<(), RunError> {
        self.run_until(self.end + TICK, control)?;
        self.now = self.end;
        self.consult(control)
    }

    /// Everything happens that is due before `limit`.
    fn run_until(&mut self, limit: Time, control: &Control) -> Result<(), RunError> {
        self.limit = limit;
        let mut until_control = 0;
        while let Some((at, component)) = self.events.next() {
            if at >= limit {
                break;
            }
            if at < self.reached {
                let what = format!("time ran backwards: {component:?} was due then");
                return Err(Violation::new(at, what).into());
            }
            self.reached = at;
            if until_control == 0 {
                until_control = CONTROL_PERIOD;
                self.consult(control)?;
            }
            until_control -= 1;
            self.now = at;
            self.events.advance(at);
            self.tap.advance(at);
            self.handle(component)?;
        }
        Ok(())
    }

    fn consult(&mut self, control: &Control) -> Result<(), RunError> {
        self.tap.check().map_err(RunError::Capture)?;
        // An experiment that lasts no time is all done.
        let (now, end) = (self.now.min(self.end).as_nanos(), self.end.as_nanos().max(1));
        control.report(now, end, self.delivered);
        if control.is_cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
    }

    fn handle(&mut self, component: Component) -> Result<(), Violation> {
        match component {
            Component::Delivery(row) => return self.packet_arrives(row),
            Component::Timer(endpoint) => return self.timer_expires(endpoint),
            Component::Datagram(flow) => {
                self.send_datagram(flow);
                return Ok(());
            }
            _ => self.events.pop(),
        }
        match component {
            Component::Port(index) => {
                self.network.wake(index, self.now, &mut self.tap);
                self.take_link_events();
                Ok(())
            }
            Component::Open(i) => {
                let again = self.connections[i as usize].open(self.now);
                self.schedule_write(i, again);
                self.pump_applications(i)
            }
            Component::Write(i) => {
                let again = self.connections[i as usize].write(self.now);
                self.schedule_write(i, again);
                self.pump_applications(i)
            }
            Component::Read(i) => {
                let again = self.connections[i as usize].read(self.now)?;
                self.schedule_read(i, again);
                self.pump_apart::<SINK>(i)?;
                self.tell(i, Direction::Forward)
            }
            Component::Stop(i) => {
                self.connections[i as usize].stop(self.now);
                self.pump_applications(i)
            }
            Component::Begin(i) => self.drive(i, |driver, context| driver.begin(context)),
            Component::Wake(i, token) => {
                self.drive(i, |driver, context| driver.wake(context, token))
            }
            Component::Missing => {
                let missing = self.forthcoming.pop(self.now);
                missing.into_iter().for_each(|(handle, cause)| self.count_missing(handle, cause));
                Ok(())
            }
            Component::WindowBegins => {
                self.window[0] = self.counts();
                self.drivers.iter_mut().flatten().for_each(|driver| driver.window_begins(self.now));
                Ok(())
            }
            Component::WindowEnds => {
                self.window[1] = self.counts();
                self.datagrams.end_window();
                self.drivers.iter_mut().flatten().for_each(|driver| driver.window_ends(self.now));
                Ok(())
            }
            Component::Sample => {
                self.sampler.sample(
                    self.now,
                    &self.sampled,
                    &self.connections,
                    &self.datagrams,
                    &mut self.network,
                );
                self.events.push(self.now + self.experiment.measure.sample, Component::Sample);
                Ok(())
            }
            Component::Delivery(_) | Component::Timer(_) | Component::Datagram(_) => Ok(()),
        }
    }

    fn counts(&self) -> Vec<FlowCounts> {
        let counts = |row: &Traced| match row {
            Traced::Data(i, direction) => self.connections[*i].counts(*direction),
            Traced::Datagrams(i) => self.datagrams.counts(*i),
        };
        self.traced.iter().map(counts).collect()
    }

    /// Send what applications have written.
    fn pump_applications(&mut self, connection: u32) -> Result<(), Violation> {
        self.pump_apart::<SOURCE>(connection)?;
        if self.connections[connection as usize].is_both_ways() {
            self.pump_apart::<SINK>(connection)?;
        }
        Ok(())
    }

    fn schedule_write(&mut self, connection: u32, at: Option<Time>) {
        if let Some(at) = at {
            self.events.push(at, Component::Write(connection));
        }
    }

    fn schedule_read(&mut self, connection: u32, at: Option<Time>) {
        if let Some(at) = at {
            self.events.push(at, Component::Read(connection));
        }
    }

    /// The next packet of a row arrives.
    fn packet_arrives(&mut self, row: u32) -> Result<(), Violation> {
        if let Some(ahead) = self.lookahead.get(row as usize)
            && *ahead > Duration::ZERO
        {
            return self.packets_arrive(row, self.limit.min(self.now + *ahead));
        }
        let Taken { handle, next } = self.take(row)?;
        if next.at < Time::NEVER {
            self.events.repeat(next);
        } else {
            self.events.pop();
        }
        self.look_behind(row, &handle, next.at);
        self.arrive(row, handle)
    }

    /// See whether another packet of the same connection arrives at this instant.
    fn look_behind(&mut self, row: u32, handle: &PacketHandle, next: Time) {
        self.brings_more = next == self.now && self.network.brings_more(row, handle, next);
    }

    /// The next packet of a row arrives, and those behind it that arrive before `until`, and before
    /// anything else is due that they could meet.
    #[inline(never)]
    fn packets_arrive(&mut self, row: u32, until: Time) -> Result<(), Violation> {
        for place in 1.. {
            let Taken { handle, next } = self.take(row)?;
            self.look_behind(row, &handle, next.at);
            if next.at == Time::NEVER {
                self.events.pop();
                return self.arrive(row, handle);
            }
            self.arrive(row, handle)?;
            if place == STRETCH || next.at >= until.min(self.events.next_of_others()) {
                self.events.put_off(row, next);
                break;
            }
            self.now = next.at;
            self.events.advance(next.at);
        }
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self, row: u32) -> Result<Taken, Violation> {
        let what = "a row had an event but no packet";
        self.network.take(row).ok_or_else(|| Violation::new(self.now, what))
    }

    #[inline(always)]
    fn arrive(&mut self, row: u32, mut handle: PacketHandle) -> Result<(), Violation> {
        if T::IS_ACTIVE {
            self.tap.leaves(&handle, self.network.link_at(handle.position()), self.now);
        }
        if self.network.cross(&mut handle) {
            self.look_ahead(row);
            self.deliver(handle)
        } else {
            self.look_ahead_on_way(row);
            self.offer_here(handle, self.now);
            Ok(())
        }
    }

    /// Give a packet to the link that it is at.
    #[inline(never)]
    fn offer(&mut self, handle: PacketHandle, at: Time) {
        self.offer_here(handle, at);
    }

    /// As [`Self::offer`], without a call: for those that arrive one after the other.
    #[inline(always)]
    fn offer_here(&mut self, handle: PacketHandle, at: Time) {
        match self.network.offer(handle, at, &mut self.tap) {
            Passage::Begins(due, queue) => self.events.push_delivery(due, queue),
            Passage::Behind => {}
            other => self.see_to(handle, other, at),
        }
    }

    /// What became of a packet that is not simply on its way. Apart, so that what nearly all packets
    /// pass is two branches and no table of jumps.
    #[inline(never)]
    fn see_to(&mut self, handle: PacketHandle, passage: Passage, at: Time) {
        match passage {
            Passage::Dropped => self.will_miss(handle, Cause::Dropped, at),
            Passage::Lost => self.will_miss(handle, Cause::Lost, at),
            Passage::LinkEvent => self.take_link_events(),
            Passage::Begins(..) | Passage::Behind => {}
        }
    }

    /// A packet is dropped or lost at a time that may be still to come: the link counts it then.
    fn will_miss(&mut self, handle: PacketHandle, cause: Cause, at: Time) {
        if at > self.now {
            self.forthcoming.push(at, handle, cause);
            self.events.push(at, Component::Missing);
        } else {
            self.count_missing(handle, cause);
        }
    }

    /// See to what ports have done.
    fn take_link_events(&mut self) {
        let link_events = self.network.take_link_events();
        for link_events in &link_events {
            match *link_events {
                LinkEvent::Event(at, component) => self.events.push(at, component),
                LinkEvent::Left(handle) => self.release(&handle),
                LinkEvent::Dropped(handle) => {
                    self.tap.is_dropped(&handle, self.network.link_at(handle.position()));
                    self.count_missing(handle, Cause::Dropped);
                }
                LinkEvent::Lost(handle) => {
                    self.tap.is_lost(&handle, self.network.link_at(handle.position()));
                    self.count_missing(handle, Cause::Lost);
                }
                LinkEvent::Doubled(handle, port, arrival) => {
                    if self.datagrams.is_datagram(&handle) {
                        self.datagrams.note_copy(&handle);
                    } else {
                        self.connections[handle.connection()].balance.copied += 1;
                    }
                    let copy = self.pool.copy(handle);
                    self.tap.is_copied(&handle, &copy);
                    let event =
                        self.network.propagate(port, copy, arrival, self.now, &mut self.tap);
                    if let Some((at, component)) = event {
                        self.events.push(at, component);
                    }
                }
            }
        }
        self.network.give_back(link_events);
    }

    /// A packet leaves its sender's buffer, where it took room.
    #[inline(never)]
    fn release(&mut self, handle: &PacketHandle) {
        if let Some(flow) = self.datagrams.release(handle, self.now) {
            self.events.push(self.now, Component::Datagram(flow));
        }
    }

    /// A packet will not arrive: its flow counts it.
    fn count_missing(&mut self, handle: PacketHandle, cause: Cause) {
        if handle.is_held() {
            self.release(&handle);
        }
        self.pool.discard(handle);
        let is_datagram = self.datagrams.is_datagram(&handle);
        if let Some(log) = self.losses.as_mut().filter(|_| is_datagram || handle.has_payload()) {
            let link = self.network.link_at(handle.position());
            log.losses.push(self.now, log.rows[handle.path() as usize], link, cause);
        }
        let balance = if is_datagram {
            self.datagrams.miss(&handle)
        } else {
            let connection = &mut self.connections[handle.connection()];
            connection.miss(&handle, cause, self.now);
            &mut connection.balance
        };
        match cause {
            Cause::Dropped => balance.dropped += 1,
            Cause::Lost => balance.lost += 1,
            Cause::Damaged => balance.corrupted += 1,
        }
    }

    /// A packet is at the end of its way.
    #[inline(always)]
    fn deliver(&mut self, handle: PacketHandle) -> Result<(), Violation> {
        self.tap.is_delivered(&handle, self.now);
        if handle.is_special() {
            return self.deliver_special(handle);
        }
        if handle.forward() {
            self.deliver_to::<SINK>(handle)
        } else {
            self.deliver_to::<SOURCE>(handle)
        }
    }

    /// A segment is at the end of its way, and the endpoint there answers it.
    #[inline(never)]
    fn deliver_to<const SIDE: usize>(&mut self, handle: PacketHandle) -> Result<(), Violation> {
        let (index, place) = (handle.connection() as u32, handle.place() as u32);
        let segment = self.pool.open(handle);
        let connection = &mut self.connections[index as usize];
        let has_driver = connection.has_driver;
        if self.brings_more {
            connection.end::<SIDE>().expect_more(true);
        }
        let mut answer = None;
        if SIDE == SINK {
            self.delivered += u64::from(handle.has_payload());
            answer = connection.deliver_to_sink(segment, handle.wire_bytes(), self.now)?;
            if has_driver {
                let read_at = connection.next_read(self.now);
                self.schedule_read(index, read_at);
            }
        } else {
            connection.deliver_to_source(segment, handle.wire_bytes(), self.now)?;
        }
        self.pump::<SIDE>(index, place, answer)?;
        if self.brings_more {
            self.connections[index as usize].end::<SIDE>().expect_more(false);
        }
        if has_driver {
            let direction = if SIDE == SINK { Direction::Forward } else { Direction::Reverse };
            return self.tell(index, direction);
        }
        Ok(())
    }

    /// The next packet of a datagram flow leaves.
    fn send_datagram(&mut self, flow: u32) {
        if self.datagrams.must_wait(flow) {
            self.events.pop();
            return;
        }
        let (mut handle, next) = self.datagrams.send(flow, &mut self.pool, self.now);
        handle = handle.at(self.network.in_turn(handle.position(), handle.path()));
        match next {
            Some(at) => self.events.repeat_at(at),
            None => self.events.pop(),
        }
        let at = self.behind_others(handle.position(), Duration::ZERO);
        if T::IS_ACTIVE {
            self.tap.sets_out(&handle, self.pool.segment(handle.place() as u32), at);
        }
        self.offer(handle, at);
    }

    /// A packet is at the end of its way that is a datagram, or damaged.
    #[inline(never)]
    fn deliver_special(&mut self, handle: PacketHandle) -> Result<(), Violation> {
        if handle.is_corrupted() {
            self.count_missing(handle, Cause::Damaged);
            return Ok(());
        }
        let datagram = self.pool.open(handle);
        self.datagrams.receive(&handle, datagram, self.now)?;
        self.delivered += 1;
        self.pool.discard(handle);
        Ok(())
    }

    /// Something that goes in this direction may have been delivered, and something sent: tell the
    /// connection's application, if it waits for that.
    #[inline(never)]
    fn tell(&mut self, index: u32, direction: Direction) -> Result<(), Violation> {
        let connection = &mut self.connections[index as usize];
        if connection.is_ready_to_write() {
            let again = connection.write(self.now);
            self.schedule_write(index, again);
            self.pump_applications(index)?;
        }
        let Some(application) = self.connections[index as usize].application() else {
            return Ok(());
        };
        let own =
            index as usize - self.experiment.applications[application as usize].connections.start;
        if self.connections[index as usize].takes_delivery(direction) {
            self.drive(application, |driver, context| driver.delivered(context, own, direction))?;
        }
        while self.connections[index as usize].has_room() {
            self.drive(application, |driver, context| driver.has_room(context, own))?;
        }
        Ok(())
    }

    /// Let an application act, and send what it has written.
    fn drive(
        &mut self,
        application: u32,
        act: impl FnOnce(&mut dyn Driver, &mut dyn Context),
    ) -> Result<(), Violation> {
        let mut context = OwnConnections {
            now: self.now,
            application,
            events: &mut self.events,
            own: self.experiment.applications[application as usize].connections.clone(),
            connections: &mut self.connections,
            touched: &mut self.touched,
        };
        if let Some(driver) = &mut self.drivers[application as usize] {
            act(driver.as_mut(), &mut context);
        }
        while let Some(connection) = self.touched.pop() {
            self.pump_applications(connection)?;
        }
        Ok(())
    }

    /// Ask for the memory that the next packets of a row will need at the ends of their paths. With a
    /// thousand connections it is not in the fast caches, and the wait would be as long as the work.
    fn look_ahead(&self, row: u32) {
        if let Some(handle) = self.network.ahead(row, SEGMENT_AHEAD) {
            self.pool.prefetch(handle);
        }
        if self.connections.len() > FEW_CONNECTIONS
            && let Some(handle) = self.network.ahead(row, CONNECTION_AHEAD)
            && let Some(connection) = self.connections.get(handle.connection())
        {
            connection.prefetch(handle.forward());
            self.network.prefetch_back(&handle);
        }
    }

    /// Ask for the memory of the links that the next packets of a row will cross.
    fn look_ahead_on_way(&self, row: u32) {
        if self.connections.len() > FEW_CONNECTIONS
            && let Some(handle) = self.network.ahead(row, CONNECTION_AHEAD)
        {
            self.network.prefetch_on(&handle);
        }
    }

    fn timer_expires(&mut self, index: u32) -> Result<(), Violation> {
        if index.is_multiple_of(2) {
            self.side_times_out::<SOURCE>(index / 2)
        } else {
            self.side_times_out::<SINK>(index / 2)
        }
    }

    fn side_times_out<const SIDE: usize>(&mut self, index: u32) -> Result<(), Violation> {
        let this = &mut self.connections[index as usize];
        if this.timer_at[SIDE] != self.now {
            // A nearer deadline was scheduled since and has been handled.
            self.events.pop();
            return Ok(());
        }
        let endpoint = if SIDE == SOURCE { &mut this.source } else { &mut this.sink };
        let deadline = endpoint.poll_timeout();
        if deadline > self.now {
            // Every acknowledgement moves the deadline; the event follows only when it is due.
            this.timer_at[SIDE] = deadline;
            match deadline {
                Time::NEVER => self.events.pop(),
                at => self.events.repeat_at(at),
            }
            return Ok(());
        }
        this.timer_at[SIDE] = Time::NEVER;
        endpoint.handle_timeout(self.now);
        let has_driver = this.has_driver;
        self.events.pop();
        self.pump_apart::<SIDE>(index)?;
        if has_driver { self.tell(index, Direction::Reverse) } else { Ok(()) }
    }

    /// Check that every packet is accounted for.
    fn check_balance(&mut self) -> Result<(), Violation> {
        let mut inside = vec![0u64; self.connections.len()];
        let mut on_their_way = self.network.drain_and_check(self.now)?;
        on_their_way.extend(self.forthcoming.pool());
        for handle in on_their_way.iter().filter(|handle| !self.datagrams.is_datagram(handle)) {
            inside[handle.connection()] += 1;
        }
        self.datagrams.check_balance(&self.experiment.datagrams, &on_their_way, self.now)?;
        for ((connection, flow), inside) in
            self.connections.iter().zip(&self.experiment.flows).zip(inside)
        {
            connection.balance.balance(&flow.id, inside, self.now)?;
        }
        Ok(())
    }

    fn into_run(self) -> (Run, T) {
        let (series, queues) = self.sampler.finish();
        let mut summary = summarise(
            self.experiment,
            &self.traced,
            &self.connections,
            &self.datagrams,
            &self.window,
            &series,
            &self.network,
        );
        summary.applications =
            applications(self.experiment, &self.traced, &summary.flows, &self.drivers);
        let losses = self.losses.map(|log| log.losses);
        let left_out = losses.as_ref().map_or(0, |losses| losses.left_out);
        let is_asked_for = losses.is_some();
        let name = |link: &u32| self.network.names[*link as usize].clone();
        let names = |names: Vec<String>| if is_asked_for { names } else { Vec::new() };
        let run = Run {
            loss_flow_ids: names(self.traced.iter().map(|row| row.name(self.experiment)).collect()),
            loss_link_ids: names(self.network.names.clone()),
            losses,
            summary,
            series,
            flow_ids: self.sampled.iter().map(|row| row.name(self.experiment)).collect(),
            queues,
            link_ids: self.network.reported.iter().map(name).collect(),
            remarks: remarks::of_run(self.experiment, left_out),
        };
        (run, self.tap)
    }
}
