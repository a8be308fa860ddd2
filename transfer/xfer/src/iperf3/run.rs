//! The running test at either end.

use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::channel::{Channel, Received};
use super::code;
use super::recorder::{Measured, Recorder};
use super::results::{CpuPercent, Results, StreamResult};
use super::stream::Stream;
use super::traffic::Traffic;
use super::{Directions, Parameters, State, Transport};
use crate::measure::{Cpu, Goal, INTERVAL, Meter, Payload, Record, Subject, Watched};
use crate::rt::JoinHandle;
use crate::{Control, Error};

/// How often someone looks whether an amount has been reached.
const AMOUNT_TICK: Duration = Duration::from_millis(5);
/// How often whoever waits for the other side looks around.
const TICK: Duration = Duration::from_millis(100);
/// After a stream broke: how long the other side has to say why.
const LAST_WORD: Duration = Duration::from_secs(2);
/// What a server of iperf3 allows a test beyond its duration: ten changes of state with round trips
/// of 4 s (`create_server_timers`).
const GRACE: Duration = Duration::from_secs(40);

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

/// A test whose streams are open.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) role: Role,
    pub(super) parameters: Parameters,
    /// How long data flows, if time ends the test; a client's need not be whole seconds.
    pub(super) time: Option<Duration>,
    pub(super) omit: Duration,
    /// What the record is called, and how often samples are taken.
    pub(super) subject: Subject,
    /// How long a server waits for data.
    pub(super) silence: Duration,
    pub(super) streams: Vec<Arc<Stream>>,
}

/// What became of a test.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) measured: Measured,
    pub(super) cpu: CpuPercent,
    pub(super) record: Record,
    pub(super) failure: Option<Error>,
}

impl Test {
    /// Lets data flow until the end of the test. The error is that nothing could flow.
    pub(super) fn run(&self, channel: &Channel, control: &Control) -> Result<Outcome, Error> {
        let traffic = Arc::new(Traffic::new(&self.parameters, self.role == Role::Client)?);
        let began = Instant::now();
        let mut flow = Flow {
            test: self,
            channel,
            control,
            recorder: Recorder::new(
                &self.streams,
                self.subject.interval.unwrap_or(INTERVAL),
                !self.omit.is_zero(),
                began,
            ),
            began,
            counting_from: began,
            is_omitting: !self.omit.is_zero(),
            metering: None,
            cpu_before: Cpu::now(),
            heard_data: (began, 0),
            traffic: Arc::clone(&traffic),
        };
        if !flow.is_omitting {
            flow.metering = Some(self.meter(control)?);
        }
        let workers = Workers::start(&traffic, &self.streams)?;
        let failure = flow.until_over().err();
        traffic.end();
        let ended = Instant::now();
        let failure = failure.or_else(|| self.announce_end(channel).err());
        // What a stream still counts belongs to an amount, and not to a time that is over.
        let ends_by_time = self.parameters.bytes == 0 && self.parameters.blocks == 0;
        let record = if ends_by_time { Some(flow.record()?) } else { None };
        drop(workers);
        flow.end(ended, record, failure)
    }

    /// Length of everything; none if time does not end it.
    fn length(&self) -> Option<Duration> {
        self.time.map(|time| time + self.omit)
    }

    fn announce_end(&self, channel: &Channel) -> Result<(), Error> {
        match self.role {
            Role::Client => channel.send(State::TestEnd),
            Role::Server => Ok(()),
        }
    }

    fn meter(&self, control: &Control) -> Result<Metering, Error> {
        let meter = Meter::start(self.subject.clone(), control)?;
        let total_bytes = (self.parameters.bytes > 0).then_some(self.parameters.bytes);
        meter.aim(Goal { total_bytes, duration: self.time, done_bytes: None });
        let mut watched = Vec::new();
        for (stream, id) in self.streams.iter().zip(self.flow_ids()) {
            watched.push(watch(&meter, stream, &id)?);
        }
        Ok(Metering { meter, watched })
    }

    /// Names of the flows: `iperf3/0`, …; those that go back beside others end in `/reverse`.
    fn flow_ids(&self) -> Vec<String> {
        let streams = self.parameters.streams as usize;
        let name = |place: usize| match self.parameters.direction {
            Directions::Both if place >= streams => format!("iperf3/{}/reverse", place - streams),
            _ => format!("iperf3/{place}"),
        };
        (0..self.streams.len()).map(name).collect()
    }

    pub(super) fn results(&self, outcome: &Outcome) -> Results {
        let sends = self.streams.iter().any(|stream| stream.sends);
        let measured = &outcome.measured;
        let stream = |(stream, total): (&Arc<Stream>, &super::recorder::Total)| {
            let seen = &total.seen;
            StreamResult {
                id: stream.id,
                bytes: total.bytes,
                retransmits: total.retransmits,
                jitter_s: seen.jitter_s,
                errors: seen.omitted_lost.saturating_add(seen.lost),
                omitted_errors: Some(seen.omitted_lost),
                packets: seen.omitted_packets.saturating_add(seen.packets),
                omitted_packets: Some(seen.omitted_packets),
                time_s: Some([0.0, measured.seconds]),
            }
        };
        Results {
            cpu: outcome.cpu,
            has_retransmits: sends.then_some(self.parameters.protocol == Transport::Tcp),
            congestion_used: self.congestion_used(),
            streams: self.streams.iter().zip(&measured.streams).map(stream).collect(),
            server_output: None,
        }
    }

    pub(super) fn congestion_used(&self) -> Option<String> {
        let name = self.streams.first().map(|stream| stream.congestion.clone());
        name.filter(|name| !name.is_empty())
    }

    pub(super) fn ids(&self) -> Vec<u32> {
        self.streams.iter().map(|stream| stream.id).collect()
    }
}

/// A test in which data flows.
struct Flow<'a> {
    test: &'a Test,
    channel: &'a Channel,
    control: &'a Control,
    recorder: Recorder,
    began: Instant,
    counting_from: Instant,
    is_omitting: bool,
    metering: Option<Metering>,
    cpu_before: Cpu,
    /// When data came last, and how much there was by then.
    heard_data: (Instant, u64),
    traffic: Arc<Traffic>,
}

impl Flow<'_> {
    fn until_over(&mut self) -> Result<(), Error> {
        loop {
            let now = Instant::now();
            if self.is_omitting && now >= self.began + self.test.omit {
                self.restart(now)?;
            }
            if now >= self.recorder.due() {
                self.recorder.sample(now);
            }
            if self.test.role == Role::Client && self.has_enough(now) {
                return self.let_it_arrive();
            }
            if let Some(fault) = self.traffic.fault() {
                return self.explain(&fault);
            }
            match self.test.role {
                Role::Server => self.check_patience(now)?,
                // A server that sent the whole amount while it was omitted sends no more.
                Role::Client if self.test.time.is_none() => self.check_silence(now)?,
                Role::Client => {}
            }
            match self.channel.hear(self.next_look(now))? {
                Received::Nothing => {}
                Received::State(state) => return self.heard(state),
            }
        }
    }

    fn next_look(&self, now: Instant) -> Instant {
        let parameters = &self.test.parameters;
        let has_amount = parameters.bytes > 0 || parameters.blocks > 0;
        let client = self.test.role == Role::Client;
        let tick = if client && has_amount { AMOUNT_TICK } else { TICK };
        let mut next = self.recorder.due().min(now + tick);
        if self.is_omitting {
            next = next.min(self.began + self.test.omit);
        }
        match self.test.length() {
            Some(length) if client => next.min(self.began + length),
            _ => next,
        }
    }

    fn restart(&mut self, now: Instant) -> Result<(), Error> {
        self.traffic.restart();
        self.recorder.restart(now);
        self.is_omitting = false;
        self.counting_from = now;
        self.cpu_before = Cpu::now();
        self.metering = Some(self.test.meter(self.control)?);
        Ok(())
    }

    fn has_enough(&self, now: Instant) -> bool {
        let is_late = self.test.length().is_some_and(|length| now >= self.began + length);
        !self.is_omitting && (is_late || self.traffic.is_done())
    }

    /// After an amount: waits until the other side has what was sent, so that both count the same.
    fn let_it_arrive(&self) -> Result<(), Error> {
        if !self.traffic.is_done() {
            return Ok(());
        }
        let until = Instant::now() + self.channel.patience();
        let waits = |stream: &Arc<Stream>| stream.see().tcp.is_some_and(|tcp| tcp.waiting > 0);
        while Instant::now() < until && self.test.streams.iter().any(waits) {
            if self.control.sleep(AMOUNT_TICK) {
                return Err(Error::Cancelled);
            }
            if self.traffic.fault().is_some() {
                break;
            }
        }
        Ok(())
    }

    fn heard(&self, state: State) -> Result<(), Error> {
        match (self.test.role, state) {
            (Role::Server, State::TestEnd) => Ok(()),
            (Role::Server, _) => Err(self.channel.unexpected(state, &[State::TestEnd])),
            (Role::Client, _) => Err(self.channel.unexpected(state, &[])),
        }
    }

    /// A stream broke. The other side may be about to say why, or that the test is over.
    fn explain(&self, fault: &str) -> Result<(), Error> {
        match self.channel.hear(Instant::now() + LAST_WORD) {
            Ok(Received::State(state)) => self.heard(state),
            Err(Error::Cancelled) => Err(Error::Cancelled),
            Ok(Received::Nothing) | Err(_) => Err(self.channel.fails(fault)),
        }
    }

    fn check_patience(&mut self, now: Instant) -> Result<(), Error> {
        if let Some(length) = self.test.length()
            && now >= self.began + length + GRACE
        {
            self.channel.send_error(code::EXPIRED);
            return Err(self.channel.fails("the client did not end the test in time"));
        }
        self.check_silence(now).inspect_err(|_| self.channel.send_error(code::SILENCE))
    }

    fn check_silence(&mut self, now: Instant) -> Result<(), Error> {
        let bytes = self.recorder.all_bytes();
        if bytes != self.heard_data.1 {
            self.heard_data = (now, bytes);
        }
        if now >= self.heard_data.0 + self.test.silence {
            let seconds = self.test.silence.as_secs_f64();
            return Err(self.channel.fails(format!("no data flowed for {seconds} s")));
        }
        Ok(())
    }

    fn record(&mut self) -> Result<Record, Error> {
        let metering = match self.metering.take() {
            Some(metering) => metering,
            // It ended before anything counted.
            None => self.test.meter(self.control)?,
        };
        Ok(metering.finish())
    }

    fn end(
        mut self,
        ended: Instant,
        record: Option<Record>,
        failure: Option<Error>,
    ) -> Result<Outcome, Error> {
        let record = match record {
            Some(record) => record,
            None => self.record()?,
        };
        let seconds = ended.saturating_duration_since(self.counting_from).as_secs_f64();
        let cpu = cpu_percent(self.cpu_before, seconds);
        let measured = self.recorder.finish(ended);
        if self.test.role == Role::Server {
            // As iperf3 does: its client reads until the end of the stream, or of a whole block.
            for stream in &self.test.streams {
                let _ = stream.socket.shutdown(Shutdown::Both);
            }
        }
        Ok(Outcome { measured, cpu, record, failure })
    }
}

/// What makes the record.
struct Metering {
    meter: Meter,
    watched: Vec<Watched>,
}

impl Metering {
    fn finish(self) -> Record {
        drop(self.watched);
        self.meter.finish()
    }
}

fn watch(meter: &Meter, stream: &Stream, id: &str) -> Result<Watched, Error> {
    if stream.protocol == Transport::Udp {
        return Ok(meter.add_datagrams(id, "cbr", stream.shared_datagrams()));
    }
    let count = Arc::clone(&stream.bytes);
    let payload = if stream.sends { Payload::Written(count) } else { Payload::Read(count) };
    let watched = meter.add(id, &stream.congestion, &stream.socket, payload);
    watched.map_err(|error| Error::failed(format!("watching stream {}", stream.id), error))
}

fn cpu_percent(before: Cpu, seconds: f64) -> CpuPercent {
    let now = Cpu::now();
    let percent = |used_s: f64| 100.0 * used_s.max(0.0) / seconds.max(1e-6);
    let (user, system) =
        (percent(now.user_s - before.user_s), percent(now.system_s - before.system_s));
    CpuPercent { total: user + system, user, system }
}

/// The threads of the streams; dropped, they end.
struct Workers {
    traffic: Arc<Traffic>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    fn start(traffic: &Arc<Traffic>, streams: &[Arc<Stream>]) -> Result<Workers, Error> {
        let mut workers = Workers { traffic: Arc::clone(traffic), threads: Vec::new() };
        for stream in streams {
            workers.threads.push(traffic.start(stream)?);
        }
        Ok(workers)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.traffic.end();
        for thread in self.threads.drain(..) {
            // A panic was told by the thread itself.
            let _ = thread.join();
        }
    }
}
