//! Sessions waiting for their flows; connections and datagrams name their session by number.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::rt::{Condvar, Mutex, Socket};

use crate::load::header::{self, Header, Kind};
use crate::load::plan::{Flow, Plan, Transport};
use crate::load::session::End;
use crate::load::sockets::{datagrams, prepare, wishes};
use crate::socket::wish;
use crate::wire::Channel;
use crate::{Control, Error};

/// How often a waiting session looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(250);
/// How long a read of the socket of first datagrams waits: it is asked so often whether it is over.
const READ: Duration = Duration::from_millis(250);

/// All sessions that wait.
#[derive(Debug, Default)]
pub struct PendingSessions {
    waiting: Mutex<BTreeMap<u64, Arc<PendingSession>>>,
    is_closed: AtomicBool,
}

/// One that waits.
#[derive(Debug)]
pub struct PendingSession {
    plan: Plan,
    flows: Vec<Flow>,
    /// Address of the generator: datagrams from elsewhere are not its own.
    peer: IpAddr,
    /// Own address, at which the generator has reached this end.
    here: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    sockets: Vec<Option<Arc<Socket>>>,
    missing: usize,
    failure: Option<Error>,
}

impl PendingSessions {
    pub fn open(
        &self,
        number: u64,
        plan: &Plan,
        peer: IpAddr,
        here: SocketAddr,
    ) -> Arc<PendingSession> {
        let flows = plan.flows();
        let (sockets, missing) = (vec![None; flows.len()], flows.len());
        let state = Mutex::new(State { sockets, missing, failure: None });
        let changed = Condvar::default();
        let session =
            Arc::new(PendingSession { plan: plan.clone(), flows, peer, here, state, changed });
        self.waiting.lock().insert(number, Arc::clone(&session));
        session
    }

    pub fn forget(&self, session: u64) {
        self.waiting.lock().remove(&session);
    }

    /// Gives a connection to the session that it names; none has it otherwise, and it is closed.
    pub fn take_in(&self, session: u64, flow: u32, channel: &Channel) {
        let session = self.waiting.lock().get(&session).cloned();
        if let (Some(session), Ok(socket)) = (session, channel.socket().try_clone()) {
            session.put(flow, Transport::Tcp, || Ok(socket));
        }
    }

    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Finds the flows of datagrams by their first ones, until it is closed; returns how many
    /// datagrams were of no session.
    pub fn watch(&self, hellos: &UdpSocket) -> u64 {
        let mut foreign = 0;
        let mut buffer = [0; 2 * header::BYTES];
        if hellos.set_read_timeout(Some(READ)).is_err() {
            return 0;
        }
        while !self.is_closed.load(Ordering::Acquire) {
            let (length, from) = match hellos.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                // What others sent back for a datagram.
                Err(_) => continue,
            };
            let header =
                Header::read(&buffer[..length]).filter(|header| header.kind == Kind::Hello);
            let is_known = header.is_some_and(|header| self.show(header, from));
            foreign += u64::from(!is_known);
        }
        foreign
    }

    /// A flow shows where it comes from; returns whether it is one that is waited for.
    fn show(&self, header: Header, from: SocketAddr) -> bool {
        let Some(session) = self.waiting.lock().get(&header.session).cloned() else {
            return false;
        };
        // What goes back goes to the generator's own address and to no other.
        if from.ip().to_canonical() != session.peer {
            return false;
        }
        let here = session.here;
        session.put(header.flow, Transport::Udp, || datagrams(here, Some(from)));
        true
    }
}

impl PendingSession {
    /// Puts a flow's socket into its place, if that is empty and of this kind.
    fn put(
        &self,
        flow: u32,
        transport: Transport,
        socket: impl FnOnce() -> std::io::Result<Socket>,
    ) {
        let mut state = self.state.lock();
        let Some(planned) = self.flows.get(flow as usize) else { return };
        let group = &self.plan.groups[planned.group];
        if group.transport != transport || state.sockets[flow as usize].is_some() {
            return;
        }
        let is_source = End::Collector.sends(group.direction);
        let opened = socket()
            .map_err(|error| Error::failed(format!("opening {}", planned.id), error))
            .and_then(|socket| {
                wish(&socket, &wishes(&group.sockets, is_source, None))?;
                prepare(&socket, group, is_source)?;
                Ok(socket)
            });
        match opened {
            Ok(socket) => {
                state.sockets[flow as usize] = Some(Arc::new(socket));
                state.missing -= 1;
            }
            Err(error) => state.failure = Some(error),
        }
        if state.missing == 0 || state.failure.is_some() {
            self.changed.notify_all();
        }
    }

    pub fn wait(&self, until: Instant, control: &Control) -> Result<Vec<Arc<Socket>>, Error> {
        let mut state = self.state.lock();
        while state.missing > 0 && state.failure.is_none() {
            if control.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let (missing, all) = (state.missing, self.flows.len());
                let why = format!("{missing} of {all} have not come in time");
                return Err(Error::failed("waiting for the flows of the session", why));
            }
            state = self.changed.wait_timeout(state, left.min(LOOK));
        }
        match state.failure.take() {
            Some(error) => Err(error),
            None => Ok(state.sockets.drain(..).flatten().collect()),
        }
    }
}
