//! One run: events in order, until the experiment's time is over.

use std::sync::Arc;

use fairway_cc::CcError;
use fairway_net::{Offer, Packet};
use fairway_tcp::{Endpoint, Stack};
use fairway_trace::{FlowBooks, LinkBooks, QueueSeries, Series, Summary, Violation};
use fairway_units::{Duration, Time};

use crate::connection::{Connection, Mark};
use crate::control::Control;
use crate::event::{Component, EventQueue};
use crate::experiment::Experiment;
use crate::network::Network;
use crate::parcel::{Parcel, Parcels};
use crate::sampler::Sampler;
use crate::summary::summarise;

/// Events between two looks at the control.
const CONTROL_PERIOD: u64 = 1 << 14;

/// What a run gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
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
}

/// Simulate `experiment`.
///
/// # Errors
/// [`RunError`] if it was cancelled through `control`, or if the verifier found a fault.
pub fn run(experiment: &Experiment, control: &Control) -> Result<Run, RunError> {
    let mut simulation = Simulation::new(experiment)?;
    simulation.run(control)?;
    simulation.close_books()?;
    Ok(simulation.into_run())
}

/// The connections; neighbours with equal stacks share one.
fn connections(experiment: &Experiment) -> Result<Vec<Connection>, CcError> {
    let mut shared: Option<Arc<Stack>> = None;
    let mut connections = Vec::with_capacity(experiment.flows.len());
    for (i, flow) in experiment.flows.iter().enumerate() {
        let stack = match shared {
            Some(stack) if *stack == flow.stack => stack,
            _ => Arc::new(flow.stack.clone()),
        };
        connections.push(Connection::new(i as u32, flow, &stack, experiment.seed)?);
        shared = Some(stack);
    }
    Ok(connections)
}

struct Simulation<'a> {
    experiment: &'a Experiment,
    events: EventQueue,
    network: Network,
    connections: Vec<Connection>,
    parcels: Parcels,
    sampler: Sampler,
    window: [Vec<Mark>; 2],
    /// Latest departure onto each link from a host that delays its departures.
    departed: Vec<Time>,
    end: Time,
    now: Time,
    /// Data packets that have reached a sink.
    delivered: u64,
}

impl<'a> Simulation<'a> {
    fn new(experiment: &'a Experiment) -> Result<Self, RunError> {
        let network = Network::new(experiment);
        let connections = connections(experiment)?;
        let end = Time::ZERO + experiment.duration;
        let mut events = EventQueue::default();
        for (i, flow) in experiment.flows.iter().enumerate() {
            events.push(flow.start, Component::Open(i as u32));
            if let Some(stop) = flow.stop {
                events.push(stop, Component::Stop(i as u32));
            }
        }
        events.push(experiment.measure.from, Component::WindowBegins);
        events.push(experiment.measure.to, Component::WindowEnds);
        events.push(Time::ZERO + experiment.measure.sample, Component::Sample);
        Ok(Simulation {
            sampler: Sampler::new(experiment, connections.len(), network.reported.len()),
            departed: vec![Time::ZERO; network.links.len()],
            window: [Vec::new(), Vec::new()],
            experiment,
            events,
            network,
            connections,
            parcels: Parcels::default(),
            end,
            now: Time::ZERO,
            delivered: 0,
        })
    }

    fn run(&mut self, control: &Control) -> Result<(), RunError> {
        let mut until_control = 0;
        while let Some((at, component)) = self.events.next() {
            if at > self.end {
                break;
            }
            if at < self.now {
                let what = format!("time ran backwards: {component:?} was due then");
                return Err(Violation::new(at, what).into());
            }
            if until_control == 0 {
                until_control = CONTROL_PERIOD;
                self.consult(control)?;
            }
            until_control -= 1;
            self.now = at;
            self.handle(component)?;
        }
        self.now = self.end;
        self.consult(control)
    }

    fn consult(&self, control: &Control) -> Result<(), RunError> {
        control.report(self.now, self.end, self.delivered);
        if control.is_cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
    }

    fn handle(&mut self, component: Component) -> Result<(), Violation> {
        match component {
            Component::Link(link) => return self.link_delivers(link),
            Component::Timer(endpoint) => return self.timer_expires(endpoint),
            _ => self.events.pop(),
        }
        match component {
            Component::Open(i) => {
                let again = self.connections[i as usize].open(self.now);
                self.schedule_write(i, again);
                self.pump(i, true)
            }
            Component::Write(i) => {
                let again = self.connections[i as usize].write(self.now);
                self.schedule_write(i, again);
                self.pump(i, true)
            }
            Component::Stop(i) => {
                self.connections[i as usize].stop(self.now);
                self.pump(i, true)
            }
            Component::WindowBegins => {
                self.window[0] = self.connections.iter().map(Connection::mark).collect();
                Ok(())
            }
            Component::WindowEnds => {
                self.window[1] = self.connections.iter().map(Connection::mark).collect();
                Ok(())
            }
            Component::Sample => {
                self.sampler.sample(self.now, &self.connections, &mut self.network);
                self.events.push(self.now + self.experiment.measure.sample, Component::Sample);
                Ok(())
            }
            Component::Link(_) | Component::Timer(_) => Ok(()),
        }
    }

    fn schedule_write(&mut self, connection: u32, at: Option<Time>) {
        if let Some(at) = at {
            self.events.push(at, Component::Write(connection));
        }
    }

    fn link_delivers(&mut self, index: u32) -> Result<(), Violation> {
        let link = &mut self.network.links[index as usize];
        let received = link.receive();
        match link.next_arrival() {
            Some(at) => self.events.repeat(at),
            None => self.events.pop(),
        }
        let Some(mut parcel) = received else {
            return Err(Violation::new(self.now, "a link had an event but no packet"));
        };
        parcel.hop += 1;
        match self.network.link(parcel.connection, parcel.forward, parcel.hop) {
            Some(next) => self.offer(next, parcel, self.now),
            None => self.deliver(parcel),
        }
    }

    /// Give a packet to a link, and to the next one if it is through at once.
    fn offer(&mut self, mut index: u32, mut parcel: Parcel, mut at: Time) -> Result<(), Violation> {
        loop {
            match self.network.links[index as usize].offer(&mut parcel, at) {
                Offer::First(arrival) => self.events.push(arrival, Component::Link(index)),
                Offer::Behind => {}
                Offer::Dropped => self.books_of_missing(parcel).dropped += 1,
                Offer::Lost => self.books_of_missing(parcel).lost += 1,
                Offer::Through(arrival) => {
                    parcel.hop += 1;
                    at = arrival;
                    match self.network.link(parcel.connection, parcel.forward, parcel.hop) {
                        Some(next) => index = next,
                        None => return Err(Violation::new(at, "an express link led nowhere")),
                    }
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// A packet will not arrive: the books of its flow.
    fn books_of_missing(&mut self, parcel: Parcel) -> &mut FlowBooks {
        self.parcels.discard(parcel);
        let books = &mut self.connections[parcel.connection as usize].books;
        books.data_missing += u64::from(parcel.has_payload);
        books
    }

    fn deliver(&mut self, parcel: Parcel) -> Result<(), Violation> {
        let segment = self.parcels.open(parcel);
        let connection = &mut self.connections[parcel.connection as usize];
        connection.deliver(segment, parcel.wire_bytes(), self.now)?;
        self.parcels.discard(parcel);
        self.delivered += u64::from(parcel.forward && parcel.has_payload);
        self.pump(parcel.connection, !parcel.forward)
    }

    fn timer_expires(&mut self, index: u32) -> Result<(), Violation> {
        self.events.pop();
        let (connection, is_source) = (index / 2, index.is_multiple_of(2));
        let this = &mut self.connections[connection as usize];
        let side = usize::from(!is_source);
        if this.timer_at[side] != self.now {
            // A nearer deadline was scheduled since and has been handled.
            return Ok(());
        }
        this.timer_at[side] = Time::NEVER;
        let endpoint = if is_source { &mut this.source } else { &mut this.sink };
        if endpoint.poll_timeout() <= self.now {
            endpoint.handle_timeout(self.now);
        }
        self.pump(connection, is_source)
    }

    /// Send what an endpoint has to send, and see to its timer.
    fn pump(&mut self, index: u32, is_source: bool) -> Result<(), Violation> {
        let Some(first_link) = self.network.link(index, is_source, 0) else {
            return Err(Violation::new(self.now, "a connection has no link"));
        };
        let place = loop {
            let place = self.parcels.place();
            let segment = self.parcels.segment(place);
            let this = &mut self.connections[index as usize];
            if is_source {
                if !this.source.transmit_into(segment, self.now) {
                    break place;
                }
                this.check_departure(segment, self.now)?;
            } else if !this.sink.transmit_into(segment, self.now) {
                break place;
            }
            this.books.sent += 1;
            let delay = if is_source { this.jitter.as_mut().map(|j| j.next()) } else { None };
            let at = self.departure(first_link, delay);
            let parcel = self.parcels.send(place);
            self.offer(first_link, parcel, at)?;
        };
        self.parcels.give_back(place);
        let this = &mut self.connections[index as usize];
        let side = usize::from(!is_source);
        let endpoint: &Endpoint = if is_source { &this.source } else { &this.sink };
        let deadline = endpoint.poll_timeout();
        if deadline < this.timer_at[side] {
            let at = deadline.max(self.now);
            this.timer_at[side] = at;
            self.events.push(at, Component::Timer(index * 2 + side as u32));
        }
        Ok(())
    }

    /// When a segment reaches its first link: order is kept whatever the delay.
    fn departure(&mut self, link: u32, delay: Option<Duration>) -> Time {
        let last = &mut self.departed[link as usize];
        let at = delay.map_or(self.now, |delay| self.now + delay).max(*last);
        *last = at;
        at
    }

    /// Check that every packet is accounted for.
    fn close_books(&mut self) -> Result<(), Violation> {
        let mut inside = vec![0u64; self.connections.len()];
        for (link, name) in self.network.links.iter().zip(&self.network.names) {
            let totals = link.totals();
            let mut count = 0;
            for parcel in link.packets_inside() {
                inside[parcel.connection as usize] += 1;
                count += 1;
            }
            LinkBooks {
                offered: totals.offered,
                delivered: totals.delivered,
                dropped: totals.dropped,
                lost: totals.lost,
                inside: count,
            }
            .balance(name, self.now)?;
        }
        for ((connection, flow), inside) in
            self.connections.iter().zip(&self.experiment.flows).zip(inside)
        {
            connection.books.balance(&flow.id, inside, self.now)?;
        }
        Ok(())
    }

    fn into_run(self) -> Run {
        let (series, queues) = self.sampler.finish();
        let reported = &self.network.reported;
        let summary =
            summarise(self.experiment, &self.connections, &self.window, &series, &self.network);
        Run {
            summary,
            series,
            flow_ids: self.experiment.flows.iter().map(|f| f.id.clone()).collect(),
            queues,
            link_ids: reported.iter().map(|l| self.network.names[*l as usize].clone()).collect(),
        }
    }
}
