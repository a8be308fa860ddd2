//! The server of tests: lets clients in, and brings their connections together.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::rt::{Mutex, Socket};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};

use super::channel::{COOKIE_BYTES, Cookie, is_soft};
use super::options::seconds;
use super::server_test::ServerTest;
use super::{PORT, ServerOptions, State};
use crate::files::most_flows;
use crate::measure::Subject;
use crate::socket::{Wishes, listen_at};
use crate::{Control, Error, Event, Sessions};

/// How often it looks whether it was asked to stop, and whether tests have ended.
const TICK_MS: u16 = 100;
/// Connections that have not said yet what they are for, and how long they have.
const MOST_WAITING: usize = 256;
const WAITING: Duration = Duration::from_secs(10);
/// Connections that are accepted before others are looked after.
const ACCEPTED_AT_ONCE: usize = 64;
/// How long it waits after a failure to accept, when there is no file descriptor left.
const NO_ROOM: Duration = Duration::from_millis(100);
/// Stack of the thread of a test.
const STACK_BYTES: usize = 512 << 10;

/// What the tests of a server share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) control: Control,
    pub(super) sessions: Sessions,
    pub(super) options: ServerOptions,
    pub(super) patience: Duration,
    pub(super) silence: Duration,
    pub(super) subject: Subject,
    pub(super) most_streams: u32,
    /// Datagrams do not name their test, so only one test at a time opens UDP streams.
    pub(super) datagrams: Mutex<()>,
}

/// How a test gets its data connections.
#[derive(Debug)]
pub(super) struct Arrivals {
    pub(super) wanted: Arc<AtomicUsize>,
    pub(super) sockets: Receiver<Socket>,
}

/// A test that runs.
#[derive(Debug)]
struct Running {
    thread: JoinHandle<Result<Value, Error>>,
    wanted: Arc<AtomicUsize>,
    sockets: Sender<Socket>,
}

/// A connection that has not said what it is for.
#[derive(Debug)]
struct Waiting {
    socket: Socket,
    cookie: Cookie,
    filled: usize,
    since: Instant,
}

/// Serves clients until it is stopped, or one if it is to serve one; `subject` says how tests are
/// measured. Reports and records go to
/// `sessions`. Returns the report of the only test, or how many there were.
pub fn serve(
    options: &ServerOptions,
    subject: Subject,
    control: &Control,
    sessions: &Sessions,
) -> Result<Value, Error> {
    let context = Context {
        control: control.clone(),
        sessions: sessions.clone(),
        options: options.clone(),
        patience: seconds("the timeout", options.timeout_s)?,
        silence: seconds("the time without data", options.silence_s)?,
        subject,
        most_streams: options.most_streams.unwrap_or_else(most_flows),
        datagrams: Mutex::new(()),
    };
    if options.tests == 0 {
        return Err(Error::Input("tests: expected at least 1, got 0".into()));
    }
    let listener = listen_at(options.bind.as_deref(), PORT, &Wishes::default())?;
    let no_address = |error| Error::failed("listening", error);
    listener.set_nonblocking(true).map_err(no_address)?;
    let address = listener.local_addr().map_err(no_address)?.as_socket();
    let address = address.map(|address| address.to_string()).unwrap_or_default();
    control.say(Event::Listening { address });
    Server {
        context: Arc::new(context),
        listener,
        waiting: Vec::new(),
        running: BTreeMap::new(),
        served: 0,
        latest: None,
    }
    .run()
}

struct Server {
    context: Arc<Context>,
    listener: Socket,
    waiting: Vec<Waiting>,
    running: BTreeMap<Cookie, Running>,
    served: u64,
    latest: Option<Result<Value, Error>>,
}

impl Server {
    fn run(mut self) -> Result<Value, Error> {
        while !self.context.control.is_cancelled() {
            self.collect_ended();
            if let Some(latest) = self.latest.take()
                && self.context.options.once
            {
                return latest;
            }
            self.wait()?;
            self.accept()?;
            self.listen_to_waiting();
        }
        for (_, running) in std::mem::take(&mut self.running) {
            let _ = running.thread.join();
            self.served += 1;
        }
        match self.context.options.once {
            true => Err(Error::Cancelled),
            false => Ok(json!({"tests": self.served})),
        }
    }

    fn collect_ended(&mut self) {
        let ended: Vec<Cookie> = self
            .running
            .iter()
            .filter(|(_, running)| running.thread.is_finished())
            .map(|(cookie, _)| *cookie)
            .collect();
        for running in ended.iter().filter_map(|cookie| self.running.remove(cookie)) {
            let panicked = || Error::failed("a test", "internal error; please report it");
            let result = running.thread.join().unwrap_or_else(|_| Err(panicked()));
            if let Err(error) = &result {
                self.context.control.warn(error.to_string());
            }
            self.served += 1;
            self.latest = Some(result);
        }
    }

    fn wait(&self) -> Result<(), Error> {
        let mut polled = vec![PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        let waiting = self.waiting.iter();
        polled.extend(waiting.map(|one| PollFd::new(one.socket.as_fd(), PollFlags::POLLIN)));
        match poll(&mut polled, PollTimeout::from(TICK_MS)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(Error::failed("waiting for clients", error)),
        }
    }

    fn accept(&mut self) -> Result<(), Error> {
        for _ in 0..ACCEPTED_AT_ONCE {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if is_soft(&error) => return Ok(()),
                // One that has gone again.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) if is_full(&error) => {
                    self.waiting.clear();
                    self.context.control.sleep(NO_ROOM);
                    return Ok(());
                }
                Err(error) => return Err(Error::failed("accepting a connection", error)),
            };
            if socket.set_nonblocking(true).is_err() {
                continue;
            }
            if self.waiting.len() == MOST_WAITING {
                // The newest win: a connection that has been silent for long is the least likely client.
                self.waiting.remove(0);
            }
            let (cookie, since) = ([0; COOKIE_BYTES], Instant::now());
            self.waiting.push(Waiting { socket, cookie, filled: 0, since });
        }
        Ok(())
    }

    fn listen_to_waiting(&mut self) {
        let mut still = Vec::new();
        for mut one in std::mem::take(&mut self.waiting) {
            match one.read() {
                Some(true) => self.place(one.socket, one.cookie),
                Some(false) if one.since.elapsed() < WAITING => still.push(one),
                Some(false) | None => {}
            }
        }
        self.waiting = still;
    }

    /// A connection has shown its cookie: to which test it belongs, or that it begins one.
    fn place(&mut self, socket: Socket, cookie: Cookie) {
        let context = &self.context;
        if let Some(running) = self.running.get(&cookie) {
            let take = |wanted: usize| wanted.checked_sub(1);
            let order = Ordering::SeqCst;
            if running.wanted.fetch_update(order, order, take).is_ok() {
                // If the test has just ended, the connection ends with it.
                let _ = running.sockets.send(socket);
                return;
            }
        } else if self.running.len() < context.options.tests as usize {
            match start(context, socket, cookie) {
                Ok(running) => {
                    self.running.insert(cookie, running);
                }
                Err(error) => context.control.warn(error.to_string()),
            }
            return;
        }
        // The answer to nobody's connection need not arrive.
        let _ = (&socket).write(&[State::AccessDenied.byte()]);
    }
}

impl Waiting {
    /// Reads of the cookie what has come; whether that is all, none if the connection is gone.
    fn read(&mut self) -> Option<bool> {
        while self.filled < COOKIE_BYTES {
            match (&self.socket).read(&mut self.cookie[self.filled..]) {
                Ok(0) => return None,
                Ok(read) => self.filled += read,
                Err(error) if is_soft(&error) => return Some(false),
                Err(_) => return None,
            }
        }
        Some(true)
    }
}

fn start(context: &Arc<Context>, socket: Socket, cookie: Cookie) -> Result<Running, Error> {
    let wanted = Arc::new(AtomicUsize::new(0));
    let (sender, sockets) = channel();
    let arrivals = Arrivals { wanted: Arc::clone(&wanted), sockets };
    let context = Arc::clone(context);
    let thread = thread::Builder::new()
        .name("iperf3 test".into())
        .stack_size(STACK_BYTES)
        .spawn(move || ServerTest::new(&context, socket, cookie)?.run(&arrivals))
        .map_err(|error| Error::failed("starting a test", error))?;
    Ok(Running { thread, wanted, sockets: sender })
}

fn is_full(error: &io::Error) -> bool {
    let full = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
    error.raw_os_error().is_some_and(|number| full.contains(&number))
}
