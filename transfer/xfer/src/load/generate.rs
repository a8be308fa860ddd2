//! The generator: proposes a session, opens its flows, and reports what both ends measured.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::rt::{Mutex, Socket};

use super::dialogue::{Dialogue, unexpected};
use super::engine::{Wake, clock};
use super::header::{self, Header, Kind};
use super::messages::{Message, is_one_clock, name_of_clock};
use super::options::GenerateOptions;
use super::plan::{Flow, Plan, Transport};
use super::report::{Ends, Report};
use super::seen::Seen;
use super::session::{End, Outcome, Session};
use super::sockets::{prepare, towards, wishes};
use crate::auth::{Purpose, Security, Token, greet};
use crate::files::check_flows;
use crate::measure::{Record, Samples, Subject};
use crate::socket::{Wishes, connect, resolve};
use crate::{Control, Error};

/// Connections that are opened at the same time.
const OPENERS: usize = 64;
/// Stack of a thread that opens them.
const STACK_BYTES: usize = 512 << 10;
/// How often a flow of datagrams shows where it comes from until it was seen.
const HELLO_EVERY: Duration = Duration::from_millis(100);
/// Most bytes of the collector's samples.
const MOST_SAMPLES: usize = 64 << 20;

/// What became of a session.
pub struct Generated {
    /// What both ends saw; none if the collector did not tell.
    pub report: Option<Report>,
    /// As it was measured: by this end alone if there is no report.
    pub record: Record,
    pub failure: Option<Error>,
}

/// Sends and receives what the options say; the record is of `subject`.
pub fn generate(
    options: &GenerateOptions,
    subject: Subject,
    control: &Control,
) -> Result<Generated, Error> {
    let plan = options.plan(subject.interval)?;
    let flows = plan.flows();
    check_flows(plan.flow_count())?;
    let token: Token = options.token.parse()?;
    let addresses = resolve(&options.to, super::DEFAULT_PORT)?;
    let caller = Caller { options, plan: &plan, token, timeout: plan.timeout, control };
    let (mut dialogue, peer) = caller.call(&addresses)?;
    dialogue.send(&Message::Propose { plan: plan.clone(), clock: name_of_clock() })?;
    let (number, clock_there) = match dialogue.receive()? {
        Message::Accept { session, clock } => (session, clock),
        Message::Refuse(why) => return Err(Error::Refused(format!("{}: {why}", dialogue.peer()))),
        _ => return Err(unexpected(dialogue.peer())),
    };
    let has_one_clock = is_one_clock(&clock_there, &name_of_clock());
    let sockets = caller.open(&flows, peer, number)?;
    show(&plan, &flows, &sockets, number, &mut dialogue)?;
    dialogue.send(&Message::Begin)?;

    let session = Session {
        end: End::Generator,
        plan: &plan,
        flows: &flows,
        sockets,
        number,
        has_one_clock,
        subject,
    };
    let Outcome { seen, mut record, failure, broken } =
        session.run(&mut dialogue, control, control)?;
    record.summary.seed = plan.seed;
    if failure.is_some() {
        return Ok(Generated { report: None, record, failure });
    }
    match listen(&mut dialogue, flows.len()) {
        Err(error) => Ok(Generated { report: None, record, failure: broken.or(Some(error)) }),
        Ok((there, samples)) => {
            let peer = dialogue.peer().to_owned();
            let (plan, flows) = (&plan, &flows[..]);
            let ends =
                Ends { plan, flows, here: &seen, there: &there, samples, peer, has_one_clock };
            let report = ends.join(&mut record);
            let failure = broken.or_else(|| failed(&report));
            Ok(Generated { report: Some(report), record, failure })
        }
    }
}

/// What the other end saw break, or what is not as it was sent.
fn failed(report: &Report) -> Option<Error> {
    let carrying = |id: &str| format!("carrying {id}");
    report.flows.iter().find_map(|flow| {
        if let Some(why) = &flow.failure {
            return Some(Error::failed(carrying(&flow.id), why));
        }
        if flow.corrupt.is_some_and(|corrupt| corrupt > 0) {
            return Some(Error::failed(carrying(&flow.id), "its content was changed on the way"));
        }
        let (sent, received) = (flow.sent_bytes, flow.received_bytes);
        (flow.transport == Transport::Tcp && sent != received).then(|| {
            let why = format!("{sent} bytes were sent and {received} received");
            Error::failed(carrying(&flow.id), why)
        })
    })
}

/// Who opens connections to the collector.
struct Caller<'a> {
    options: &'a GenerateOptions,
    plan: &'a Plan,
    token: Token,
    timeout: Duration,
    control: &'a Control,
}

impl Caller<'_> {
    fn call(&self, addresses: &[SocketAddr]) -> Result<(Dialogue, SocketAddr), Error> {
        let from = self.options.flows.iter().find_map(|flow| flow.wishes.from);
        let wishes = Wishes { from, ..Wishes::default() };
        let connection = connect(addresses, &wishes, self.timeout, self.control)?;
        let peer = connection.socket.peer_addr().ok().and_then(|peer| peer.as_socket());
        let peer = peer.ok_or_else(|| {
            Error::failed(format!("calling {}", self.options.to), "the connection is gone")
        })?;
        let security = self.security();
        let channel = greet(connection, &self.token, security, &Purpose::Load, self.timeout)?;
        Ok((Dialogue::new(channel, self.timeout)?, peer))
    }

    fn security(&self) -> Security {
        if self.options.plain { Security::Plain } else { Security::PlainLoad }
    }

    fn open(
        &self,
        flows: &[Flow],
        peer: SocketAddr,
        number: u64,
    ) -> Result<Vec<Arc<Socket>>, Error> {
        let next = AtomicUsize::new(0);
        let opened = Mutex::new(Vec::new());
        let work = || {
            while let Some(flow) = flows.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = self.open_one(flow, peer, number);
                let has_failed = result.is_err();
                opened.lock().push((flow.number, result));
                if has_failed || self.control.is_cancelled() {
                    next.store(flows.len(), Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..OPENERS.min(flows.len()) {
                let opener = thread::Builder::new().name("load-open".into());
                // Those that there are open all.
                let _ = opener.stack_size(STACK_BYTES).spawn_scoped(scope, work);
            }
        });
        let mut opened = std::mem::take(&mut *opened.lock());
        opened.sort_by_key(|(flow, _)| *flow);
        let sockets: Vec<_> =
            opened.into_iter().map(|(_, result)| result).collect::<Result<_, Error>>()?;
        match sockets.len() == flows.len() {
            true => Ok(sockets),
            false if self.control.is_cancelled() => Err(Error::Cancelled),
            false => Err(Error::failed("opening connections", "no thread can be started for it")),
        }
    }

    fn open_one(&self, flow: &Flow, peer: SocketAddr, number: u64) -> Result<Arc<Socket>, Error> {
        let group = &self.plan.groups[flow.group];
        let is_source = End::Generator.sends(group.direction);
        let from = self.options.flows.iter().find_map(|flow| flow.wishes.from);
        let socket = match group.transport {
            Transport::Udp => towards(peer, group, is_source, from)?,
            Transport::Tcp => {
                let wishes = wishes(&group.sockets, is_source, from);
                let connection = connect(&[peer], &wishes, self.timeout, self.control)?;
                let purpose = Purpose::LoadData { session: number, stream: flow.number };
                let channel =
                    greet(connection, &self.token, self.security(), &purpose, self.timeout)?;
                let socket = channel.socket().try_clone();
                Arc::new(socket.map_err(|error| Error::failed("opening a connection", error))?)
            }
        };
        prepare(&socket, group, is_source)?;
        Ok(socket)
    }
}

/// Has the flows of datagrams seen by the collector, and waits until it has all flows.
fn show(
    plan: &Plan,
    flows: &[Flow],
    sockets: &[Arc<Socket>],
    session: u64,
    dialogue: &mut Dialogue,
) -> Result<(), Error> {
    let until = Instant::now() + plan.timeout;
    while Instant::now() < until {
        for (flow, socket) in flows.iter().zip(sockets) {
            if plan.groups[flow.group].transport == Transport::Udp {
                let mut hello = [0; header::BYTES];
                let (kind, number) = (Kind::Hello, flow.number);
                let header = Header { kind, flow: number, session, number: 0, sent: clock() };
                header.write(&mut hello);
                // One that does not go is followed by others.
                let _ = socket.send(&hello);
            }
        }
        let next = (Instant::now() + HELLO_EVERY).min(until);
        match dialogue.next(next)? {
            Some(Wake::Message(Message::Ready)) => return Ok(()),
            Some(Wake::Message(Message::Refuse(why))) => {
                return Err(Error::Refused(format!("{}: {why}", dialogue.peer())));
            }
            Some(Wake::Message(_)) => return Err(unexpected(dialogue.peer())),
            _ => {}
        }
    }
    let why = "the collector does not see all flows; if there are datagrams, its UDP port may be \
               closed on the way";
    Err(Error::failed(format!("opening flows to {}", dialogue.peer()), why))
}

fn listen(dialogue: &mut Dialogue, flows: usize) -> Result<(Vec<Seen>, Samples), Error> {
    let mut seen: Vec<Seen> = Vec::new();
    let mut samples = Vec::new();
    loop {
        match dialogue.receive()? {
            Message::Seen(page) if seen.len() + page.len() <= flows => seen.extend(page),
            Message::Samples(bytes) if samples.len() + bytes.len() <= MOST_SAMPLES => {
                samples.extend(bytes);
            }
            Message::End => break,
            Message::Refuse(why) => {
                return Err(Error::failed(
                    format!("carrying the load with {}", dialogue.peer()),
                    why,
                ));
            }
            _ => return Err(unexpected(dialogue.peer())),
        }
    }
    let is_whole = seen.len() == flows
        && seen.iter().enumerate().all(|(number, seen)| seen.flow as usize == number);
    let samples = postcard::from_bytes(&samples).ok().filter(|_| is_whole);
    let samples = samples.ok_or_else(|| unexpected(dialogue.peer()))?;
    dialogue.send(&Message::End)?;
    Ok((seen, samples))
}
