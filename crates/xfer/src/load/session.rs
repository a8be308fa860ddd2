//! The part of a session that is the same at both ends: from the start of its clock to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::Socket;

use super::engine::{
    Counts, Engine, Lane, Schedule, TcpSink, TcpSource, UdpSink, UdpSource, Wake, locked,
};
use super::gaps::Draws;
use super::messages::{FLOWS_PER_PAGE, Said, Sent};
use super::pattern;
use super::plan::{Direction, Flow, Plan, Transport};
use super::seen::{Figures, Seen};
use super::talk::{Talk, unexpected};
use crate::measure::{Goal, Meter, Payload, Record, Subject, Watched};
use crate::{Control, Error};

/// How long datagrams may be on their way after the last one that came: what is later is lost.
const STRAGGLERS: Duration = Duration::from_secs(1);
/// How often it is looked whether all datagrams have come, when nothing more is sent.
const LOOK: Duration = Duration::from_millis(50);

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that has asked for the session.
    Generator,
    /// The other one.
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
    /// Which end this is.
    pub end: End,
    /// What is agreed on.
    pub plan: &'a Plan,
    /// Its flows.
    pub flows: &'a [Flow],
    /// Their sockets, in that order.
    pub sockets: Vec<Arc<Socket>>,
    /// Its number.
    pub number: u64,
    /// Whether both ends have one clock.
    pub has_one_clock: bool,
    /// What the record is of.
    pub subject: Subject,
}

/// What has become of it at this end.
pub struct Outcome {
    /// Of every flow, in their order.
    pub seen: Vec<Seen>,
    /// As it was measured.
    pub record: Record,
    /// Why it did not end well.
    pub failure: Option<Error>,
}

/// One flow at this end.
struct Local {
    counts: Arc<Counts>,
    is_source: bool,
    transport: Transport,
    watched: Option<Watched>,
    /// What the other end says of it, if it sends it.
    sent: Option<Sent>,
}

impl Session<'_> {
    /// Starts the clock, and returns when both ends have sent and received everything, or `control`
    /// stops it. `progress` is told how far it is.
    ///
    /// # Errors
    /// [`Error::Failed`] if it cannot begin. What fails later is in the outcome.
    pub fn run(
        self,
        talk: &mut Talk,
        control: &Control,
        progress: &Control,
    ) -> Result<Outcome, Error> {
        let start = Instant::now();
        let counts: Vec<Arc<Counts>> = self
            .flows
            .iter()
            .map(|flow| Arc::new(Counts::new(talk.waker(), flow.number)))
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
        let failure = running.carry_on(talk).err();
        let record = running.record.take();
        let stopped = engine.stop();
        let record = record.unwrap_or_else(|| meter.finish());
        drop(locals);
        let failure = match failure {
            Some(Error::Failed { .. }) if control.is_cancelled() => Some(Error::Cancelled),
            failure => failure.or(stopped.err()),
        };
        let seen = self.seen(&counts, &record);
        Ok(Outcome { failure: failure.or_else(|| self.broken(&seen)), seen, record })
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
                    let name = socket.tcp_congestion().unwrap_or_default();
                    let cc = String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned();
                    let added = meter.add(&flow.id, &cc, socket, payload);
                    added.map_err(|error| Error::failed(format!("measuring {}", flow.id), error))?
                }
            };
            locals.push(Local {
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

    /// The first flow that broke.
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

/// A session whose clock runs.
struct Running<'a> {
    plan: &'a Plan,
    meter: &'a Meter,
    record: Option<Record>,
    locals: &'a mut [Local],
    /// When the measuring window begins and ends, as long as that is ahead.
    window: (Option<Instant>, Option<Instant>),
    has_said_sent: bool,
    has_said_received: bool,
    peer_has_sent: bool,
    peer_has_received: bool,
    /// What had come by the latest look at it, and since when it is no more.
    latest: (u64, Instant),
}

impl Running<'_> {
    fn carry_on(&mut self, talk: &mut Talk) -> Result<(), Error> {
        let last_start = self.window.1;
        loop {
            let now = Instant::now();
            self.follow_window(now);
            self.look(now);
            if !self.has_said_sent && self.are_sources_done() {
                self.say_sent(talk)?;
            }
            if !self.has_said_received && self.are_sinks_done(now) {
                self.has_said_received = true;
                talk.say(&Said::Received)?;
            }
            let has_said_all = self.has_said_sent && self.has_said_received;
            if has_said_all && self.peer_has_sent && self.peer_has_received {
                return Ok(());
            }
            self.check_stall(now, last_start, talk.peer())?;
            match talk.next(self.next_look(now))? {
                None => {}
                Some(Wake::Ended(flow)) => self.ended(flow),
                Some(Wake::Said(said)) => self.hear(said, talk.peer())?,
                Some(Wake::Lost(error)) => return Err(error),
            }
        }
    }

    /// Begins and ends the measuring window at their times.
    fn follow_window(&mut self, now: Instant) {
        if self.window.0.is_some_and(|begin| now >= begin) {
            self.window.0 = None;
            if !self.plan.omit.is_zero() {
                self.meter.restart();
            }
        }
        if self.window.1.is_some_and(|end| now >= end) {
            self.window.1 = None;
            self.record = Some(self.meter.finish());
        }
    }

    fn look(&mut self, now: Instant) {
        let bytes = self.locals.iter().map(|local| local.counts.bytes()).sum();
        if bytes != self.latest.0 {
            self.latest = (bytes, now);
        }
    }

    fn next_look(&self, now: Instant) -> Instant {
        let waits_for_datagrams = self.peer_has_sent && !self.has_said_received;
        let look = if waits_for_datagrams { LOOK } else { self.plan.timeout / 4 };
        [self.window.0, self.window.1].into_iter().flatten().fold(now + look, Instant::min)
    }

    /// A receiving end is watched no longer than it receives, so that its rate is that of the time.
    fn ended(&mut self, flow: u32) {
        let Some(local) = self.locals.get_mut(flow as usize) else { return };
        if !local.is_source && self.window.1.is_none() && self.record.is_none() {
            local.watched = None;
        }
    }

    fn are_sources_done(&self) -> bool {
        self.locals.iter().all(|local| !local.is_source || local.counts.has_ended())
    }

    fn are_sinks_done(&self, now: Instant) -> bool {
        let are_late = now.saturating_duration_since(self.latest.1) >= STRAGGLERS;
        self.locals.iter().filter(|local| !local.is_source).all(|local| {
            let has_broken = local.sent.as_ref().is_some_and(|sent| sent.failure.is_some());
            match local.transport {
                Transport::Tcp => local.counts.has_ended() || (has_broken && are_late),
                Transport::Udp => {
                    let received = locked(&local.counts.datagrams).received_packets;
                    let sent = local.sent.as_ref().map(|sent| sent.messages);
                    self.peer_has_sent && (are_late || sent.is_some_and(|sent| received >= sent))
                }
            }
        })
    }

    fn say_sent(&mut self, talk: &mut Talk) -> Result<(), Error> {
        self.has_said_sent = true;
        let sources = self.locals.iter().enumerate().filter(|(_, local)| local.is_source);
        let sent: Vec<Sent> = sources
            .map(|(number, local)| Sent {
                flow: number as u32,
                bytes: local.counts.bytes(),
                messages: local.counts.messages(),
                failure: local.counts.failure(),
            })
            .collect();
        for page in sent.chunks(FLOWS_PER_PAGE) {
            talk.say(&Said::Sent(page.to_vec()))?;
        }
        talk.say(&Said::AllSent)
    }

    fn hear(&mut self, said: Said, peer: &str) -> Result<(), Error> {
        match said {
            Said::Sent(page) if !self.peer_has_sent => {
                for sent in page {
                    let local = self.locals.get_mut(sent.flow as usize);
                    let local = local.filter(|local| !local.is_source);
                    let local = local.ok_or_else(|| unexpected(peer))?;
                    locked(&local.counts.datagrams).sent_packets = sent.messages;
                    local.sent = Some(sent);
                }
            }
            Said::AllSent => {
                self.peer_has_sent = true;
                // What is on its way now has its time from now on.
                self.latest.1 = Instant::now();
            }
            Said::Received => self.peer_has_received = true,
            Said::Refuse(why) => {
                return Err(Error::failed(format!("carrying the load with {peer}"), why));
            }
            _ => return Err(unexpected(peer)),
        }
        Ok(())
    }

    /// After the end of the flows' time what is still to come has to come, or it is over. Whether
    /// what is sent arrives is for the other end to say.
    fn check_stall(&self, now: Instant, end: Option<Instant>, peer: &str) -> Result<(), Error> {
        let since = end.map(|end| end.max(self.latest.1)).filter(|_| !self.has_said_received);
        let is_stalled = since.is_some_and(|since| now >= since + self.plan.timeout);
        match is_stalled {
            false => Ok(()),
            true => {
                let patience = self.plan.timeout.as_secs_f64();
                let why = format!("nothing more has come or gone for {patience} s");
                Err(Error::failed(format!("waiting for the rest of the flows with {peer}"), why))
            }
        }
    }
}
