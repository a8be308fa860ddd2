//! Receiving files: sessions, their connections, their end.
//!
//! As in chapter 3.2.1 of Alrshah's thesis (2009), the main thread ([`receive`]) listens and
//! authenticates every connection; the [`manager`] starts a thread for each; the monitor
//! ([`manager::Manager::monitor`]) tracks sessions that have lost their connections; and the collector
//! thread of each session ([`control`]) finishes its files. Unlike there, blocks are written to their
//! place in the file as they arrive ([`stream`]).

mod control;
mod manager;
mod outbox;
mod receiving;
mod session;
mod settings;
mod stream;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use session::Received;
pub use settings::{DEFAULT_PORT, Limits, ReceiveOptions};

use manager::Manager;
pub use manager::Meters;

use crate::auth::{Acceptor, Identity};
use crate::capture::Capturing;
use crate::rt::spawn;
use crate::socket::listen_at;
use crate::store::Store;
use crate::{Control, Error, Event};

/// Time limit of authentication.
const GREETING: Duration = Duration::from_secs(10);

/// What a receiver has received.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// The transfers that are complete, the last thousand of them.
    pub transfers: Vec<Received>,
}

/// Receives transfers until one is complete, if that is asked for, or until it is stopped.
///
/// # Errors
/// [`Error::Input`] if it cannot receive as asked for; [`Error::Cancelled`] if it was to receive once,
/// and was stopped before.
pub fn receive(
    options: &ReceiveOptions,
    control: &Control,
    meters: Meters,
) -> Result<Outcome, Error> {
    let settings = options.check()?;
    let store = Store::open(&options.out, options.store())?;
    let identity = match &options.keep_token {
        Some(path) => Identity::keep(path)?,
        None => Identity::new()?,
    };
    let listener = listen_at(options.bind.as_deref(), DEFAULT_PORT, &options.wishes)?;
    let address = listener.local_addr().ok().and_then(|address| address.as_socket());
    let port = address.map_or(DEFAULT_PORT, |address| address.port());
    let begin = |path| Capturing::begin(path, port, control);
    let _capturing = options.capture.as_deref().map(begin).transpose()?;
    let address = address.map(|address| address.to_string()).unwrap_or_default();
    control.say(Event::Listening { address });
    control.say(Event::Token { token: identity.token().to_string() });

    let (security, once) = (settings.security, settings.once);
    let manager = Arc::new(Manager::new(settings, control.clone(), meters, store));
    let monitor = {
        let manager = Arc::clone(&manager);
        spawn("monitor", move || manager.monitor())?
    };
    let acceptor = Acceptor { identity: &identity, security, deadline: GREETING };
    let open = || manager.is_open();
    let accepted =
        acceptor.run(&listener, control, open, |channel, purpose| manager.admit(channel, purpose));
    drop(listener);
    let transfers = manager.close();
    let _ = monitor.join();
    accepted?;
    if once && transfers.is_empty() && control.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(Outcome { transfers })
}
