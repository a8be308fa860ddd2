//! One session of a collector, from proposal to report.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pending::PendingSessions;
use crate::load::dialogue::{Dialogue, unexpected};
use crate::load::messages::{
    FLOWS_PER_PAGE, Message, SAMPLES_PER_PAGE, is_one_clock, name_of_clock,
};
use crate::load::plan::{Flow, Plan};
use crate::load::seen::Seen;
use crate::load::session::{End, Outcome, Session};
use crate::measure::Subject;
use crate::rt::{Condvar, Mutex, spawn};
use crate::wire::Channel;
use crate::{Control, Error, Sessions};
use serde::Serialize;

/// What all sessions of a collector share.
pub struct Server {
    pub is_once: bool,
    pub most_flows: u32,
    pub most_sessions: u32,
    /// How long a generator may be silent before there is a plan that says so.
    pub timeout: Duration,
    /// What records are of; generators say how often samples are taken.
    pub subject: Subject,
    pub control: Control,
    pub sessions: Sessions,
    pub pending: Arc<PendingSessions>,
    pub tally: Tally,
}

/// How many sessions there are and were.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    threads: u32,
    flows: u64,
    well: u64,
    failed: u64,
    /// Sessions that have begun: of a collector that serves one, no other may.
    begun: u64,
}

/// What a collector says of a session.
#[derive(Clone, Debug, Serialize)]
struct About<'a> {
    peer: &'a str,
    /// Whether the amount of payload was given, and not a time.
    is_bounded: bool,
    plan: &'a Plan,
    report: Vec<SeenHere<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct SeenHere<'a> {
    id: &'a str,
    #[serde(flatten)]
    seen: &'a Seen,
}

impl Tally {
    pub fn ended(&self) -> (u64, u64) {
        let counts = self.counts.lock();
        (counts.well, counts.failed)
    }
}

/// Takes back from the tally what was counted, whatever happens.
struct Counted<'a> {
    tally: &'a Tally,
    give_back: fn(&mut Counts, u64),
    amount: u64,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        (self.give_back)(&mut self.tally.counts.lock(), self.amount);
        self.tally.changed.notify_all();
    }
}

impl Server {
    pub fn is_open(&self) -> bool {
        let counts = self.tally.counts.lock();
        !(self.is_once && counts.well + counts.failed > 0)
    }

    pub fn wait(&self) {
        let mut counts = self.tally.counts.lock();
        while counts.threads > 0 {
            counts = self.tally.changed.wait(counts);
        }
    }

    pub fn serve(server: &Arc<Self>, channel: Channel) {
        let peer = channel.peer().to_owned();
        server.tally.counts.lock().threads += 1;
        let this = Arc::clone(server);
        let work = move || {
            let give_back = |counts: &mut Counts, one| counts.threads -= one as u32;
            let _counted = Counted { tally: &this.tally, give_back, amount: 1 };
            if let Err(error) = this.dialogue(channel) {
                this.control.warn(format!("{peer}: {error}"));
            }
        };
        if let Err(error) = spawn("load-session", work) {
            server.tally.counts.lock().threads -= 1;
            server.control.warn(format!("a generator was refused: {error}"));
        }
    }

    fn dialogue(&self, channel: Channel) -> Result<(), Error> {
        let here = channel.socket().local_addr().ok().and_then(|here| here.as_socket());
        let from = channel.socket().peer_addr().ok().and_then(|peer| peer.as_socket());
        let mut dialogue = Dialogue::new(channel, self.timeout)?;
        let gone = || Error::failed("serving a generator", "the connection is gone");
        let (here, from) = (here.ok_or_else(gone)?, from.ok_or_else(gone)?);
        let (plan, clock) = match dialogue.receive()? {
            Message::Propose { plan, clock } => (plan, clock),
            _ => return Err(unexpected(dialogue.peer())),
        };
        let result = self.accept(&plan, &clock, here, from, &mut dialogue);
        if let Err(error) = &result {
            // The generator may be gone, and that may be the reason.
            let _ = dialogue.send(&Message::Refuse(error.to_string()));
        }
        result
    }

    fn accept(
        &self,
        plan: &Plan,
        clock: &str,
        here: SocketAddr,
        from: SocketAddr,
        dialogue: &mut Dialogue,
    ) -> Result<(), Error> {
        plan.check(self.most_flows)?;
        let _reserved = self.reserve(plan.flow_count())?;
        let number = random()?;
        let peer = from.ip().to_canonical();
        let session = self.pending.open(number, plan, peer, here);
        let own = name_of_clock();
        let gathered =
            dialogue.send(&Message::Accept { session: number, clock: own.clone() }).and_then(
                |()| session.wait(Instant::now() + plan.timeout.min(self.timeout), &self.control),
            );
        self.pending.forget(number);
        let sockets = gathered?;
        dialogue.send(&Message::Ready)?;
        match dialogue.receive()? {
            Message::Begin => {}
            _ => return Err(unexpected(dialogue.peer())),
        }
        self.begin()?;
        let flows = plan.flows();
        self.control.note(format!("{}: {}", dialogue.peer(), described(plan)));
        let session = Session {
            end: End::Collector,
            plan,
            flows: &flows,
            sockets,
            number,
            has_one_clock: is_one_clock(clock, &own),
            subject: Subject { interval: plan.interval, ..self.subject.clone() },
        };
        // One of many sessions is not the progress of the collector.
        let ran = session.run(dialogue, &self.control, &Control::new());
        self.end(plan, &flows, ran, dialogue)
    }

    fn end(
        &self,
        plan: &Plan,
        flows: &[Flow],
        ran: Result<Outcome, Error>,
        dialogue: &mut Dialogue,
    ) -> Result<(), Error> {
        let told = ran.and_then(|outcome| {
            let Outcome { seen, mut record, failure, broken } = outcome;
            record.summary.seed = plan.seed;
            let failure = failure.or_else(|| {
                // Flows that broke are in what was seen: the generator has them told.
                let told = tell(&seen, &record.samples, dialogue);
                broken.or(told.err())
            });
            let name = |seen| SeenHere { id: &flows[(seen as &Seen).flow as usize].id, seen };
            let about = About {
                peer: dialogue.peer(),
                is_bounded: plan.is_bounded(),
                plan,
                report: seen.iter().map(name).collect(),
            };
            self.control.note(summed_up(dialogue.peer(), &record.taken));
            self.sessions.ended(&about, record, failure.as_ref());
            failure.map_or(Ok(()), Err)
        });
        let mut counts = self.tally.counts.lock();
        match told {
            Ok(()) => counts.well += 1,
            Err(_) => counts.failed += 1,
        }
        told
    }

    /// Makes place for a session and its flows, as long as what is returned lives.
    fn reserve(&self, flows: u64) -> Result<Counted<'_>, Error> {
        let mut counts = self.tally.counts.lock();
        if counts.threads > self.most_sessions {
            let most = self.most_sessions;
            let why = format!("the collector serves {most} sessions already, and may not more");
            return Err(Error::Refused(why));
        }
        let left = u64::from(self.most_flows).saturating_sub(counts.flows);
        if flows > left {
            let why = format!(
                "{flows} connections are more than the {left} that are left of {}",
                self.most_flows
            );
            return Err(Error::Refused(why));
        }
        counts.flows += flows;
        let give_back = |counts: &mut Counts, flows| counts.flows -= flows;
        Ok(Counted { tally: &self.tally, give_back, amount: flows })
    }

    fn begin(&self) -> Result<(), Error> {
        let mut counts = self.tally.counts.lock();
        if self.is_once && counts.begun > 0 {
            return Err(Error::Refused(
                "the collector serves one session, which is running".into(),
            ));
        }
        counts.begun += 1;
        Ok(())
    }
}

fn tell(
    seen: &[Seen],
    samples: &crate::measure::Samples,
    dialogue: &mut Dialogue,
) -> Result<(), Error> {
    for page in seen.chunks(FLOWS_PER_PAGE) {
        dialogue.send(&Message::Seen(page.to_vec()))?;
    }
    let samples = postcard::to_allocvec(samples)
        .map_err(|error| Error::failed("packing the samples", error))?;
    for page in samples.chunks(SAMPLES_PER_PAGE) {
        dialogue.send(&Message::Samples(page.to_vec()))?;
    }
    dialogue.send(&Message::End)?;
    match dialogue.receive()? {
        Message::End => Ok(()),
        _ => Err(unexpected(dialogue.peer())),
    }
}

fn described(plan: &Plan) -> String {
    let flows = plan.flow_count();
    let s = if flows == 1 { "" } else { "s" };
    match plan.end() {
        Some(end) => format!("{flows} flow{s} for {} s", end.as_secs_f64()),
        None => format!("{flows} flow{s}"),
    }
}

fn summed_up(peer: &str, taken: &crate::measure::Taken) -> String {
    let (bytes, seconds) = (taken.payload_bytes, taken.duration_s);
    let rate = fairway_units::Rate::from_bps((bytes as f64 * 8.0 / seconds.max(1e-9)) as u64);
    format!("{peer}: {bytes} bytes in {seconds:.1} s, {rate}")
}

fn random() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| Error::failed("drawing a random number", error))?;
    Ok(u64::from_ne_bytes(bytes))
}
