//! Sending files: the source, its blocks, the connections that carry them.
//!
//! As in chapter 3.2.2 of Alrshah's thesis (2009), the main thread cuts the data into numbered chunks,
//! and one thread per connection sends them in any order. The main thread ([`send`]) keeps one control
//! connection at a time ([`control`]), whose threads offer files and receive acknowledgements;
//! [`blocks`] assigns chunks, and the thread of each connection ([`stream`]) sends its blocks
//! ([`block_sender`]). Connections that break are replaced, the control connection included.

mod auto;
mod block_sender;
mod blocks;
mod control;
mod limiter;
mod session;
mod settings;
mod state;
mod stdin;
mod stream;
#[cfg(test)]
mod tests;
mod walk;

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

pub use blocks::Striping;
pub use settings::{Auto, CHUNK_BYTES, PATIENCE, SendOptions, Streams, TIMEOUT};
use state::Counts;

pub(crate) use settings::time;

use session::Session;
use state::End;
use walk::{Count, Walk};

use crate::capture::Capturing;
use crate::measure::{Goal, Meter};
use crate::recv::DEFAULT_PORT;
use crate::rt::Instant;
use crate::socket::resolve;
use crate::{Control, Error};

/// Delay before the control connection is replaced: doubled from the first to the last value.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(3)];

/// A transfer that has ended well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// What was sent.
    pub counts: Counts,
    /// How long it took, with looking at what there is.
    pub duration_s: f64,
}

/// Starts the packet capture of a transfer, if one is asked for.
///
/// # Errors
/// [`Error::Input`] if that cannot be done.
pub(crate) fn capture(
    options: &SendOptions,
    control: &Control,
) -> Result<Option<Capturing>, Error> {
    let Some(path) = &options.capture else { return Ok(None) };
    options.check()?;
    let place = path.parent().filter(|place| !place.as_os_str().is_empty());
    let place = place.unwrap_or(Path::new(".")).canonicalize();
    let sent = options.path.canonicalize();
    if place.is_ok_and(|place| sent.is_ok_and(|sent| place.starts_with(sent))) {
        let (shown, sent) = (path.display(), options.path.display());
        return Err(Error::Input(format!(
            "--capture {shown}: it would be sent itself, as a part of {sent}; give another place"
        )));
    }
    let port = resolve(&options.host, DEFAULT_PORT)?[0].port();
    Capturing::begin(path, port, control).map(Some)
}

/// Sends a file, a directory or standard input; returns when the receiver has confirmed that all of it
/// is on its disk.
///
/// # Errors
/// [`Error::Input`] if it cannot be sent as asked for, [`Error::Refused`] if the receiver does not
/// take it, [`Error::Failed`] if it did not arrive, [`Error::Cancelled`].
pub fn send(options: &SendOptions, control: &Control, meter: &Meter) -> Result<Outcome, Error> {
    let input = match options.path.as_os_str() == "-" {
        true => {
            let input = std::io::stdin().as_fd().try_clone_to_owned();
            Some(input.map_err(|error| Error::failed("reading standard input", error))?)
        }
        false => None,
    };
    send_from(options, input, control, meter)
}

/// As [`send`], with another stream in the place of standard input.
///
/// # Errors
/// As [`send`].
pub fn send_from(
    options: &SendOptions,
    input: Option<OwnedFd>,
    control: &Control,
    meter: &Meter,
) -> Result<Outcome, Error> {
    let from = Instant::now();
    let settings = options.check()?;
    let addresses = resolve(&settings.options.host, DEFAULT_PORT)?;
    let count = match &settings.path {
        Some(path) => Walk::new(path, &settings.name, control.clone(), false).count()?,
        None => Count { entries: 1, ..Count::default() },
    };
    let session = Arc::new(Session::new(settings, input, control.clone(), meter.clone()));
    meter.aim(Goal {
        total_bytes: session.settings.path.is_some().then_some(count.bytes),
        done_bytes: Some(Arc::clone(&session.done_bytes)),
        ..Goal::default()
    });
    let sent = try_until_confirmed(&session, &addresses, count);
    session.give_up();
    sent?;
    let counts = session.state().counts;
    Ok(Outcome { counts, duration_s: from.elapsed().as_secs_f64() })
}

/// Tries one control connection after the other, as long as any data arrives.
fn try_until_confirmed(
    session: &Arc<Session>,
    addresses: &[std::net::SocketAddr],
    count: Count,
) -> Result<(), Error> {
    let mut back_off = BACK_OFF[0];
    let mut latest = Instant::now();
    for number in 0.. {
        let failure = match control::attempt(session, addresses, count, number) {
            End::Confirmed => return Ok(()),
            End::Fatal(error) => return Err(error),
            End::Broken(error) => error,
        };
        let is_first = number == 0 && !session.state().is_known;
        let answered = session.state().patience.latest();
        if answered > latest {
            (latest, back_off) = (answered, BACK_OFF[0]);
        }
        if is_first || latest.elapsed() > session.settings.patience {
            return Err(failure);
        }
        session.control.warn(format!("{failure}; trying to go on"));
        session.state().counts.replaced_sessions += 1;
        if session.control.sleep(back_off) {
            return Err(Error::Cancelled);
        }
        back_off = (2 * back_off).min(BACK_OFF[1]);
    }
    Err(Error::Cancelled)
}
