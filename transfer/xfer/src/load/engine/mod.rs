//! The worker threads: one per core, each with its share of the flows.
//!
//! A thread waits for its sockets and for the next message that is due with `epoll(7)` and
//! `timerfd_create(2)`, so that a flow costs no thread and a quiet one no time.

mod counts;
mod tcp;
mod udp;
mod worker;

use std::io;
use std::net::Shutdown;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use crate::rt::Socket;

pub use counts::{Counts, Delays, Wake};
pub use tcp::{Schedule, TcpSink, TcpSource};
pub use udp::{UdpSink, UdpSource, clock};
pub use worker::Lane;
use worker::Worker;

use crate::{Control, Error, Held};

/// The threads of one session.
#[derive(Debug)]
pub struct Engine {
    threads: Vec<JoinHandle<io::Result<()>>>,
    stops: Vec<UnixStream>,
    _held: Vec<Held>,
}

impl Engine {
    /// Starts to work on the flows; `control` stops it.
    pub fn start(lanes: Vec<Lane>, is_busy: bool, control: &Control) -> Result<Self, Error> {
        let failed =
            |error: io::Error| Error::failed("starting the threads that carry the load", error);
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let count = cores.min(lanes.len());
        let mut shares: Vec<Vec<Lane>> = (0..count).map(|_| Vec::new()).collect();
        for (number, lane) in lanes.into_iter().enumerate() {
            shares[number % count].push(lane);
        }
        let mut engine = Engine { threads: Vec::new(), stops: Vec::new(), _held: Vec::new() };
        for lanes in shares {
            let (near, far) = UnixStream::pair().map_err(failed)?;
            let held = Socket::from(OwnedFd::from(near.try_clone().map_err(failed)?));
            engine._held.push(control.hold(&held).map_err(failed)?);
            engine.stops.push(near);
            let worker = Worker::new(lanes, &far, is_busy).map_err(failed)?;
            let thread = thread::Builder::new().name("load".into()).spawn(move || {
                let result = worker.run();
                drop(far);
                result
            });
            engine.threads.push(thread.map_err(failed)?);
        }
        Ok(engine)
    }

    pub fn stop(mut self) -> Result<(), Error> {
        self.end().map_err(|error| Error::failed("carrying the load", error))
    }

    fn end(&mut self) -> io::Result<()> {
        for stop in &self.stops {
            // One that is done has closed its end already.
            let _ = stop.shutdown(Shutdown::Both);
        }
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let ended =
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread broke off")));
            result = result.and(ended);
        }
        result
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
