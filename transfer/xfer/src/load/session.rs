//! The part of a session that is the same at both ends: from the start of its clock to its end.

use std::sync::Arc;
use std::time::Instant;

use crate::rt::Socket;

use super::dialogue::Dialogue;
use super::engine::{Counts, Engine, Lane, Schedule, TcpSink, TcpSource, UdpSink, UdpSource};
use super::gaps::Draws;
use super::pattern;
use super::plan::{Direction, Flow, Plan, Transport};
use super::running::{Local, Running};
use super::seen::{Figures, Seen};
use crate::measure::{Goal, Meter, Payload, Record, Subject};
use crate::socket::{UNKNOWN_CC, congestion_control};
use crate::{Control, Error};

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Generator,
    Collector,
}

impl End {
    /// Whether payload that goes this way is sent from here.
    pub fn sends(self, direction: Direction) -> bool {
        (self == End::Generator) == (direction == Direction::Forward)
    }
}

/// A session that is agreed on and whose flows are all there.
pub struct Session<'a> {
    pub end: End,
    pub plan: &'a Plan,
    pub flows: &'a [Flow],
    pub sockets: Vec<Arc<Socket>>,
    pub number: u64,
    pub has_one_clock: bool,
    pub subject: Subject,
}

/// What has become of it at this end.
pub struct Outcome {
    pub seen: Vec<Seen>,
    pub record: Record,
    /// Why it could not go on to its end, so that there is nothing to tell each other.
    pub failure: Option<Error>,
    pub broken: Option<Error>,
}

impl Session<'_> {
    /// Starts the clock, and returns when both ends have sent and received everything, or `control`
    /// stops it. `progress` is told how far it is.
    pub fn run(
        self,
        dialogue: &mut Dialogue,
        control: &Control,
        progress: &Control,
    ) -> Result<Outcome, Error> {
        let start = Instant::now();
        let counts: Vec<Arc<Counts>> = self
            .flows
            .iter()
            .map(|flow| Arc::new(Counts::new(dialogue.waker(), flow.number)))
            .collect();
        let meter = Meter::start(self.subject.clone(), progress)?;
        meter.aim(self.goal());
        let mut locals = self.watch(&meter, &counts)?;
        let lanes = self.lanes(&counts, start);
        let engine = Engine::start(lanes, self.plan.is_busy, control)?;

        let mut running = Running {
            plan: self.plan,
            meter: &meter,
            record: None,
            locals: &mut locals,
            window: (Some(start + self.plan.omit), self.plan.end().map(|end| start + end)),
            has_said_sent: false,
            has_said_received: false,
            peer_has_sent: false,
            peer_has_received: false,
            latest: (0, start),
        };
        let failure = running.carry_on(dialogue).err();
        let record = running.record.take();
        let stopped = engine.stop();
        let record = record.unwrap_or_else(|| meter.finish());
        drop(locals);
        let failure = match failure {
            Some(Error::Failed { .. }) if control.is_cancelled() => Some(Error::Cancelled),
            failure => failure.or(stopped.err()),
        };
        let seen = self.seen(&counts, &record);
        Ok(Outcome { broken: self.broken(&seen), failure, seen, record })
    }

    fn goal(&self) -> Goal {
        let bytes = self.plan.groups.iter().map(|group| group.bytes).sum::<Option<u64>>();
        Goal { total_bytes: bytes, duration: self.plan.end(), ..Goal::default() }
    }

    fn watch(&self, meter: &Meter, counts: &[Arc<Counts>]) -> Result<Vec<Local>, Error> {
        let mut locals = Vec::new();
        for ((flow, socket), counts) in self.flows.iter().zip(&self.sockets).zip(counts) {
            let group = &self.plan.groups[flow.group];
            let is_source = self.end.sends(group.direction);
            let watched = match group.transport {
                Transport::Udp => {
                    meter.add_datagrams(&flow.id, group.gaps.kind(), Arc::clone(&counts.datagrams))
                }
                Transport::Tcp => {
                    let payload = match is_source {
                        true => Payload::Acknowledged,
                        false => Payload::Read(Arc::clone(&counts.bytes)),
                    };
                    // The sending end decides: what this socket would use for itself says nothing.
                    let cc = if is_source {
                        congestion_control(socket)
                    } else {
                        group.sockets.cc.clone()
                    };
                    let cc = cc.unwrap_or_else(|| UNKNOWN_CC.into());
                    let added = meter.add(&flow.id, &cc, socket, payload);
                    added.map_err(|error| Error::failed(format!("measuring {}", flow.id), error))?
                }
            };
            locals.push(Local {
                socket: Arc::clone(socket),
                counts: Arc::clone(counts),
                is_source,
                transport: group.transport,
                watched: Some(watched),
                sent: None,
            });
        }
        Ok(locals)
    }

    fn lanes(&self, counts: &[Arc<Counts>], start: Instant) -> Vec<Lane> {
        let lane = |((flow, socket), counts): ((&Flow, &Arc<Socket>), &Arc<Counts>)| {
            let group = &self.plan.groups[flow.group];
            let (socket, counts) = (Arc::clone(socket), Arc::clone(counts));
            let key = group.is_verified.then(|| pattern::key(self.number, flow.number));
            let name = (self.number, flow.number);
            let begins = start + flow.start;
            counts.start_at(begins);
            if !self.end.sends(group.direction) {
                return match group.transport {
                    Transport::Tcp => Lane::TcpSink(TcpSink { socket, counts, key }),
                    Transport::Udp => {
                        let sink = UdpSink::new(socket, counts, name, key, self.has_one_clock);
                        Lane::UdpSink(Box::new(sink))
                    }
                };
            }
            let draws = Draws::new(group.gaps, self.plan.seed, &flow.id);
            let stop = group.stop.map(|stop| start + stop);
            let schedule =
                Schedule::new(group.gaps, draws, group.is_paused, begins, stop, flow.bytes);
            let message_bytes = group.message_bytes as usize;
            match group.transport {
                Transport::Tcp => Lane::TcpSource(TcpSource {
                    socket,
                    counts,
                    schedule,
                    message_bytes,
                    key,
                    left_in_message: 0,
                }),
                Transport::Udp => Lane::UdpSource(UdpSource::new(
                    socket,
                    counts,
                    schedule,
                    name,
                    message_bytes,
                    key,
                )),
            }
        };
        self.flows.iter().zip(&self.sockets).zip(counts).map(lane).collect()
    }

    fn seen(&self, counts: &[Arc<Counts>], record: &Record) -> Vec<Seen> {
        let figures = record.summary.flows.iter().map(Figures::of);
        let figures = figures.zip(record.taken.flows.iter().map(|flow| flow.payload_bytes));
        let see = |((flow, counts), figures): ((&Flow, &Arc<Counts>), _)| {
            let group = &self.plan.groups[flow.group];
            let is_arriving = group.transport == Transport::Udp && !self.end.sends(group.direction);
            Seen::new(flow.number, counts, figures, is_arriving)
        };
        // The meter has watched the flows in their order.
        self.flows.iter().zip(counts).zip(figures).map(see).collect()
    }

    fn broken(&self, seen: &[Seen]) -> Option<Error> {
        let broken: Vec<&Seen> = seen.iter().filter(|seen| seen.failure.is_some()).collect();
        let first = broken.first()?;
        let id = &self.flows[first.flow as usize].id;
        let others = match broken.len() {
            1 => String::new(),
            count => format!(" ({} others broke, too)", count - 1),
        };
        let why = first.failure.as_deref().unwrap_or_default();
        Some(Error::failed(format!("carrying {id}"), format!("{why}{others}")))
    }
}
