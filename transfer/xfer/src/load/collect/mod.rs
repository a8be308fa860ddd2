//! The collector: admits generators, and receives or sends what they propose.

mod pending;
mod serve;

use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::options::{CollectOptions, seconds};
use super::sockets::datagrams;
use crate::auth::{Acceptor, Identity, Purpose, Security};
use crate::files::most_flows;
use crate::measure::Subject;
use crate::socket::{Wishes, listen_at};
use crate::{Control, Error, Event, Sessions};
use pending::PendingSessions;
use serve::Server;

/// How long who has connected may take to prove itself.
const ADMISSION: Duration = Duration::from_secs(10);

/// What a collector did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    pub sessions: u64,
    pub failed: u64,
    pub foreign_datagrams: u64,
}

/// Serves generators until it is stopped, or has served one; records are of `subject`.
pub fn collect(
    options: &CollectOptions,
    subject: &Subject,
    control: &Control,
    sessions: &Sessions,
) -> Result<Collected, Error> {
    let timeout = seconds("timeout", options.timeout_s)?;
    let identity = match &options.keep_token {
        Some(path) => Identity::keep(Path::new(path))?,
        None => Identity::new()?,
    };
    let listener = listen_at(Some(&options.bind), super::DEFAULT_PORT, &Wishes::default())?;
    let address = listener.local_addr().ok().and_then(|at| at.as_socket());
    let address = address.ok_or_else(|| Error::Input(format!("{}: no address", options.bind)))?;
    let failed = |error| Error::Input(format!("listening for datagrams at {address}: {error}"));
    let hellos = datagrams(address, None).map_err(failed)?;
    control.say(Event::Listening { address: address.to_string() });
    control.say(Event::Token { token: identity.token().to_string() });

    let server = Arc::new(Server {
        is_once: options.once,
        most_flows: options.max_connections.min(most_flows()),
        most_sessions: options.max_sessions,
        timeout,
        subject: subject.clone(),
        control: control.clone(),
        sessions: sessions.clone(),
        pending: Arc::new(PendingSessions::default()),
        tally: serve::Tally::default(),
    });
    let pending = Arc::clone(&server.pending);
    let watcher = thread::Builder::new().name("load-hellos".into()).spawn({
        let hellos = UdpSocket::from(hellos);
        move || pending.watch(&hellos)
    });
    let watcher = watcher.map_err(|error| Error::failed("starting a thread", error))?;

    let security = if options.plain { Security::Plain } else { Security::PlainLoad };
    let acceptor = Acceptor { identity: &identity, security, deadline: ADMISSION };
    let accepted = acceptor.run(
        &listener,
        control,
        || server.is_open(),
        |channel, purpose| match purpose {
            Purpose::Load => Server::serve(&server, channel),
            Purpose::LoadData { session, stream } => {
                server.pending.take_in(session, stream, &channel);
            }
            // Files are received elsewhere: who brings some sees the connection end.
            Purpose::Control | Purpose::Data { .. } => {}
        },
    );
    drop(listener);
    server.wait();
    server.pending.close();
    let foreign_datagrams = watcher.join().unwrap_or_default();
    accepted?;
    let (sessions, failed) = server.tally.ended();
    Ok(Collected { sessions, failed, foreign_datagrams })
}
