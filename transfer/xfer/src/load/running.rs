//! A session whose clock runs: it follows its flows until both ends have sent and received
//! everything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::rt::Socket;

use super::dialogue::{Dialogue, unexpected};
use super::engine::{Counts, Wake};
use super::messages::{FLOWS_PER_PAGE, Message, Sent};
use super::plan::{Plan, Transport};
use crate::Error;
use crate::measure::{Meter, Record, Watched};

/// How long datagrams may be on their way after the last one that came: what is later is lost.
const STRAGGLERS: Duration = Duration::from_secs(1);
/// How often it is looked whether a connection broke whose end has written everything.
const LOOK_AT_REST: Duration = Duration::from_secs(1);
/// How often it is looked whether all datagrams have come, when nothing more is sent.
const LOOK: Duration = Duration::from_millis(50);

/// One flow at this end.
pub(super) struct Local {
    pub(super) socket: Arc<Socket>,
    pub(super) counts: Arc<Counts>,
    pub(super) is_source: bool,
    pub(super) transport: Transport,
    pub(super) watched: Option<Watched>,
    /// What the other end says of it, if it sends it.
    pub(super) sent: Option<Sent>,
}

impl Local {
    /// What is told of it as the flow of that number.
    fn said(&self, number: usize) -> Sent {
        Sent {
            flow: number as u32,
            bytes: self.counts.bytes(),
            messages: self.counts.messages(),
            failure: self.counts.failure(),
        }
    }
}

/// A session whose clock runs.
pub(super) struct Running<'a> {
    pub(super) plan: &'a Plan,
    pub(super) meter: &'a Meter,
    pub(super) record: Option<Record>,
    pub(super) locals: &'a mut [Local],
    /// When the measuring window begins and ends, as long as that is ahead.
    pub(super) window: (Option<Instant>, Option<Instant>),
    pub(super) has_said_sent: bool,
    pub(super) has_said_received: bool,
    pub(super) peer_has_sent: bool,
    pub(super) peer_has_received: bool,
    /// What had come by the latest look at it, and since when it is no more.
    pub(super) latest: (u64, Instant),
}

impl Running<'_> {
    pub(super) fn carry_on(&mut self, dialogue: &mut Dialogue) -> Result<(), Error> {
        let must_move = self.must_move();
        loop {
            let now = Instant::now();
            self.follow_window(now);
            self.look(now);
            if !self.has_said_sent && self.are_sources_done() {
                self.say_sent(dialogue)?;
            }
            if self.has_said_sent && !self.peer_has_received {
                self.say_broken(dialogue)?;
            }
            if !self.has_said_received && self.are_sinks_done(now) {
                self.has_said_received = true;
                dialogue.send(&Message::Received)?;
            }
            let has_said_all = self.has_said_sent && self.has_said_received;
            if has_said_all && self.peer_has_sent && self.peer_has_received {
                return Ok(());
            }
            self.check_stall(now, must_move, dialogue.peer())?;
            match dialogue.next(self.next_look(now))? {
                None => {}
                Some(Wake::Ended(flow)) => self.ended(flow),
                Some(Wake::Message(said)) => self.hear(said, dialogue.peer())?,
                Some(Wake::Lost(error)) => return Err(error),
            }
        }
    }

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
        let look = match (waits_for_datagrams, self.has_said_sent) {
            (true, _) => LOOK,
            (false, true) => LOOK_AT_REST,
            (false, false) => self.plan.timeout / 4,
        };
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
                    let received = local.counts.datagrams.lock().received_packets;
                    let sent = local.sent.as_ref().map(|sent| sent.messages);
                    self.peer_has_sent && (are_late || sent.is_some_and(|sent| received >= sent))
                }
            }
        })
    }

    fn say_sent(&mut self, dialogue: &mut Dialogue) -> Result<(), Error> {
        self.has_said_sent = true;
        let sources = self.locals.iter().enumerate().filter(|(_, local)| local.is_source);
        let sent: Vec<Sent> = sources.map(|(number, local)| local.said(number)).collect();
        for page in sent.chunks(FLOWS_PER_PAGE) {
            dialogue.send(&Message::Sent(page.to_vec()))?;
        }
        dialogue.send(&Message::AllSent)
    }

    /// The kernel may give a connection up that has still to carry what was written.
    fn say_broken(&mut self, dialogue: &mut Dialogue) -> Result<(), Error> {
        for (number, local) in self.locals.iter().enumerate() {
            let is_at_rest = local.is_source && local.transport == Transport::Tcp;
            if !is_at_rest || local.counts.failure().is_some() {
                continue;
            }
            if let Ok(Some(error)) = local.socket.take_error() {
                local.counts.fail(error);
                dialogue.send(&Message::Sent(vec![local.said(number)]))?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, said: Message, peer: &str) -> Result<(), Error> {
        match said {
            Message::Sent(page) => {
                for sent in page {
                    let local = self.locals.get_mut(sent.flow as usize);
                    let local = local.filter(|local| !local.is_source);
                    let local = local.ok_or_else(|| unexpected(peer))?;
                    local.counts.datagrams.lock().sent_packets = sent.messages;
                    local.sent = Some(sent);
                }
            }
            Message::AllSent => {
                self.peer_has_sent = true;
                // What is on its way now has its time from now on.
                self.latest.1 = Instant::now();
            }
            Message::Received => self.peer_has_received = true,
            Message::Refuse(why) => {
                return Err(Error::failed(format!("carrying the load with {peer}"), why));
            }
            _ => return Err(unexpected(peer)),
        }
        Ok(())
    }

    /// From when on something has to come as long as not everything has: the end of the flows, or
    /// the start of the last of those that only their bytes end.
    fn must_move(&self) -> Instant {
        let last = self.plan.flows().into_iter().map(|flow| flow.start).max();
        self.window.1.unwrap_or_else(|| Instant::now() + last.unwrap_or_default())
    }

    /// What is still to come has to come, or it is over. Whether what is sent arrives is for the
    /// other end to say.
    fn check_stall(&self, now: Instant, must_move: Instant, peer: &str) -> Result<(), Error> {
        let is_sending = self.plan.end().is_none();
        let gaps = self.plan.groups.iter().map(|group| group.gaps.longest());
        let gap = if is_sending { gaps.max().unwrap_or_default() } else { Duration::ZERO };
        let since = must_move.max(self.latest.1) + gap;
        let is_stalled = !self.has_said_received && now >= since + self.plan.timeout;
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
