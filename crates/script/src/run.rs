//! A script carried out: its segments and calls go to an endpoint in virtual time, and what the
//! endpoint sends is held against what the script expects.

mod calls;
mod expect;
mod timestamps;

use std::collections::{BTreeMap, VecDeque};

use fairway_tcp::{Endpoint, Flags, Segment as Sent, SeqNr};
use fairway_units::{Duration, Time};

use crate::connection::Connection;
use crate::expression::{Failed, Program, Value, evaluate};
use crate::info::{Beside, ClosedAfterPeer, Info};
use crate::ledger::Ledger;
use crate::position::Problem;
use crate::script::{Action, Event, Options, Script, Segment, When};
use crate::settings::Settings;
use crate::verdict::{Failure, TraceLine, Verdict};
use crate::wire::{arriving, written};
use calls::{Application, Waiting};
use timestamps::Timestamps;

/// Most segments that the endpoint may send, and most times that its timers may expire: a script
/// that people write is far below.
const MAX_STEPS: u32 = 500_000;

/// Why a run stops.
pub(crate) enum Stop {
    /// What the script expects has not happened.
    Failed(Box<Failure>),
    /// The script cannot be carried out.
    Problem(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Problem(problem)
    }
}

/// Carry out a script.
pub(crate) fn run(script: &Script, name: &str, preset: Option<&str>) -> Result<Verdict, Problem> {
    calls::refuse_unknown(script)?;
    let connection = Connection::of(script)?;
    let settings = crate::settings::read(script, preset, connection.is_active())?;
    let mut machine = Machine::new(&settings, &connection)?;
    let mut events = 0;
    let mut failure = None;
    for event in &script.events {
        match machine.carry_out(event) {
            Ok(()) => events += 1,
            Err(Stop::Problem(problem)) => return Err(problem),
            Err(Stop::Failed(found)) => {
                failure = Some(*found);
                break;
            }
        }
    }
    if failure.is_none() {
        match machine.finish(script) {
            Ok(()) => {}
            Err(Stop::Problem(problem)) => return Err(problem),
            Err(Stop::Failed(found)) => failure = Some(*found),
        }
    }
    let mut warnings = settings.warnings.clone();
    warnings.append(&mut machine.warnings);
    Ok(Verdict {
        name: name.to_owned(),
        passed: failure.is_none(),
        failure,
        warnings,
        printed: machine.printed,
        events,
        time_s: machine.now.as_secs_f64(),
        trace: machine.trace,
    })
}

/// A segment that was sent and is not yet expected.
#[derive(Clone, Copy)]
struct Departure {
    at: Time,
    segment: Sent,
    /// Its line in the trace.
    line: usize,
}

struct Machine<'a> {
    settings: &'a Settings,
    connection: &'a Connection,
    endpoint: Endpoint,
    /// Payload of a full segment.
    mss: u32,
    now: Time,
    steps: u32,
    departures: VecDeque<Departure>,
    application: Application,
    waiting: Vec<Waiting>,
    timestamps: Timestamps,
    ledger: Ledger,
    own_syn: Option<Sent>,
    peer_syn: Option<Sent>,
    closed: Option<ClosedAfterPeer>,
    variables: BTreeMap<String, Value>,
    trace: Vec<TraceLine>,
    printed: Vec<String>,
    warnings: Vec<String>,
}

impl<'a> Machine<'a> {
    fn new(settings: &'a Settings, connection: &'a Connection) -> Result<Self, Problem> {
        let (mut endpoint, mss) = connection.endpoint(settings)?;
        if settings.reads_by_calls {
            endpoint.keep_unread();
        }
        Ok(Machine {
            settings,
            connection,
            endpoint,
            mss,
            now: Time::ZERO,
            steps: 0,
            departures: VecDeque::new(),
            application: Application::default(),
            waiting: Vec::new(),
            timestamps: Timestamps::new(settings.timestamp_tick),
            ledger: Ledger::new(connection.isn),
            own_syn: None,
            peer_syn: None,
            closed: None,
            variables: BTreeMap::new(),
            trace: Vec::new(),
            printed: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn carry_out(&mut self, event: &Event) -> Result<(), Stop> {
        if let Action::Outbound(segment) = &event.action {
            return self.expect(event, segment);
        }
        let base = self.now;
        self.wait_for(event)?;
        match &event.action {
            Action::Inbound(segment) => self.receive(event, segment),
            Action::Call(call) => self.call(event, call, base),
            Action::Code(program) => self.evaluate(event, program),
            Action::Commands(commands) => {
                let text = "these commands come too late to change the connection: write them before \
                            the first event";
                self.warnings.push(format!("{}: {text}", commands.at));
                Ok(())
            }
            Action::Outbound(_) => Ok(()),
        }
    }

    /// Lets time pass until an event that the script brings about.
    fn wait_for(&mut self, event: &Event) -> Result<(), Stop> {
        let at = match event.when {
            When::Any => return Ok(()),
            When::At(at, _) => at,
            When::After(span, _) => self.now + span,
        };
        let late = self.now.since(at);
        if late > self.settings.tolerance {
            let message = format!(
                "its time, {:.6} s, is {:.6} s ago: what came before took longer",
                at.as_secs_f64(),
                late.as_secs_f64()
            );
            return Err(self.failure(event, message));
        }
        self.advance(at, event)
    }

    /// Lets time pass up to and with `until`.
    fn advance(&mut self, until: Time, event: &Event) -> Result<(), Stop> {
        loop {
            let timer = self.endpoint.poll_timeout();
            let waiting =
                self.waiting.iter().map(|call| call.deadline).min().unwrap_or(Time::NEVER);
            let next = timer.min(waiting);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if timer <= waiting {
                self.expire(event)?;
            } else {
                self.return_from_calls()?;
            }
        }
        self.now = self.now.max(until);
        Ok(())
    }

    /// The endpoint's timer expires.
    fn expire(&mut self, event: &Event) -> Result<(), Stop> {
        self.step(event)?;
        self.endpoint.handle_timeout(self.now);
        self.transmit(event)
    }

    fn step(&mut self, event: &Event) -> Result<(), Problem> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let message = format!(
                "the endpoint has sent or waited {MAX_STEPS} times; let the script end earlier"
            );
            return Err(Problem::new(event.at, message));
        }
        Ok(())
    }

    /// Takes what the endpoint sends now.
    fn transmit(&mut self, event: &Event) -> Result<(), Stop> {
        while let Some(segment) = self.endpoint.poll_transmit(self.now) {
            self.step(event)?;
            if segment.flags.has(Flags::SYN) {
                self.own_syn = Some(segment);
            }
            self.ledger.sent(&segment);
            let line = self.trace.len();
            self.note(format!("> {}", written(&segment, None)), None);
            self.departures.push_back(Departure { at: self.now, segment, line });
        }
        if self.waiting.is_empty() { Ok(()) } else { self.return_from_calls() }
    }

    fn receive(&mut self, event: &Event, segment: &Segment) -> Result<(), Stop> {
        let agreed = self.settings.stack.options.timestamps && self.connection.peer_timestamps;
        let has_timestamp =
            matches!(&segment.options, Options::These(list) if list.timestamp.is_some());
        if agreed && !has_timestamp {
            let message =
                "timestamps are agreed on, so each segment has one; write <TS val … ecr …>";
            return Err(Problem::new(event.at, message).into());
        }
        let from_opener = !self.connection.is_active();
        let mut arrived = arriving(segment, from_opener, |echo| self.timestamps.sent_as(echo));
        let near = self.endpoint.receiver().rcv_nxt();
        let offset = arrived.seq.offset(self.connection.peer_isn, near);
        arrived.payload_offset = offset.unwrap_or(0);
        arrived.sent_at = self.now;
        if arrived.flags.has(Flags::SYN) {
            self.peer_syn = Some(arrived);
        }
        self.note(event.text.clone(), Some(event.at.line));
        self.ledger.received(&arrived);
        self.endpoint.handle_segment(&arrived, self.now);
        self.transmit(event)
    }

    fn evaluate(&mut self, event: &Event, program: &Program) -> Result<(), Stop> {
        let info = self.info();
        let outcome = evaluate(program, &mut self.variables, &info, &mut self.printed);
        match outcome {
            Ok(()) => Ok(()),
            Err(Failed::Problem(problem)) => Err(problem.into()),
            Err(Failed::Assertion { at, text, message, values }) => {
                let mut failure =
                    self.plain_failure(event, "an assertion does not hold".to_owned());
                failure.line = at.line;
                failure.column = at.column;
                failure.event = text;
                failure.found = message.map(|message| format!("message: {message}"));
                failure.differences =
                    values.into_iter().map(|(name, value)| format!("{name} is {value}")).collect();
                Err(Stop::Failed(Box::new(failure)))
            }
        }
    }

    fn info(&self) -> Info {
        let beside = Beside {
            ledger: &self.ledger,
            mss: self.mss,
            own_syn: self.own_syn.as_ref(),
            peer_syn: self.peer_syn.as_ref(),
            closed: self.closed,
        };
        Info::of(&self.endpoint, &beside)
    }

    /// What has to be so when all events have happened.
    fn finish(&mut self, script: &Script) -> Result<(), Stop> {
        let Some(last) = script.events.last() else { return Ok(()) };
        if let Some(until) = self.waiting.iter().map(|call| call.deadline).max() {
            self.advance(until, last)?;
        }
        if self.settings.strict
            && let Some(departure) = self.departures.front()
        {
            let mut failure = self.plain_failure(
                last,
                "the script is at its end, but a segment was sent that it does not expect"
                    .to_owned(),
            );
            failure.event = "nothing more".to_owned();
            failure.found = Some(shown(departure.at, &written(&departure.segment, None)));
            return Err(Stop::Failed(Box::new(failure)));
        }
        Ok(())
    }

    fn note(&mut self, text: String, line: Option<u32>) {
        self.trace.push(TraceLine { t_s: self.now.as_secs_f64(), text, line });
    }

    fn failure(&self, event: &Event, message: String) -> Stop {
        Stop::Failed(Box::new(self.plain_failure(event, message)))
    }

    fn plain_failure(&self, event: &Event, message: String) -> Failure {
        Failure {
            line: event.at.line,
            column: event.at.column,
            event: event.text.clone(),
            message,
            expected: None,
            found: None,
            differences: Vec::new(),
        }
    }

    /// The stream offset behind the payload that a number of the header stands for.
    fn is_after(&self, segment: &Sent, payload: u32, next: &Sent) -> bool {
        next.seq == SeqNr(segment.seq.0.wrapping_add(payload))
    }

    fn tolerance(&self, since: Duration) -> Duration {
        let share = since.as_nanos() / 100 * self.settings.tolerance_percent;
        self.settings.tolerance.max(Duration::from_nanos(share))
    }
}

/// A segment and when it was sent, for a message.
fn shown(at: Time, text: &str) -> String {
    format!("> {text}  (at {:.6} s)", at.as_secs_f64())
}
