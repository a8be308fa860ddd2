//! Threads that receive whole transfers. Each blocks in the kernel until its transfer is complete; the
//! event loop would be woken at every segment.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};
use socket2::Socket;

use crate::sys;
use crate::threads::Stacks;

/// Most threads. The event loop receives further transfers, at a higher cost for each segment.
const MOST: usize = 256;
/// Smallest transfer that gets a thread.
pub const LEAST_BYTES: u64 = 16 << 10;

/// The threads.
pub struct Collectors {
    stacks: Stacks,
    started: usize,
    jobs: Sender<Job>,
    shared: Arc<Shared>,
}

struct Shared {
    jobs: Mutex<Receiver<Job>>,
    idle: AtomicUsize,
    done: Mutex<Vec<Collected>>,
    /// Readable while `done` has transfers.
    event: EventFd,
}

struct Job {
    pair: usize,
    socket: Socket,
    bytes: u64,
}

/// A transfer that has ended.
pub struct Collected {
    pub pair: usize,
    pub result: io::Result<u64>,
    /// When it ended, as [`sys::now_ns`].
    pub at_ns: u64,
}

impl Collectors {
    pub fn new() -> io::Result<Self> {
        let (jobs, receiver) = channel();
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let shared = Shared {
            jobs: Mutex::new(receiver),
            idle: AtomicUsize::new(0),
            done: Mutex::default(),
            event: EventFd::from_value_and_flags(0, flags)?,
        };
        Ok(Collectors { stacks: Stacks::new(MOST)?, started: 0, jobs, shared: Arc::new(shared) })
    }

    /// Becomes readable when a transfer ends.
    pub fn event(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }

    /// Receives `bytes` from a blocking socket in a thread. False if every thread is busy.
    pub fn collect(&mut self, pair: usize, socket: &Socket, bytes: u64) -> io::Result<bool> {
        if self.shared.idle.load(Ordering::SeqCst) == 0 {
            if self.started == MOST {
                return Ok(false);
            }
            let shared = Arc::clone(&self.shared);
            self.stacks.start(move || shared.work())?;
            self.started += 1;
            self.shared.idle.fetch_add(1, Ordering::SeqCst);
        }
        let socket = socket.try_clone()?;
        self.shared.idle.fetch_sub(1, Ordering::SeqCst);
        self.jobs.send(Job { pair, socket, bytes }).map_err(io::Error::other)?;
        Ok(true)
    }

    /// Transfers that ended since the last call.
    pub fn done(&self) -> io::Result<Vec<Collected>> {
        match self.shared.event.read() {
            Ok(_) | Err(nix::errno::Errno::EAGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        let mut done = self.shared.done.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut done))
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Job { pair, socket, bytes }) = job else { return };
            let result = receive(&socket, bytes);
            drop(socket);
            let at_ns = sys::now_ns().unwrap_or(0);
            let collected = Collected { pair, result, at_ns };
            self.done.lock().unwrap_or_else(PoisonError::into_inner).push(collected);
            self.idle.fetch_add(1, Ordering::SeqCst);
            if self.event.write(1).is_err() {
                return;
            }
        }
    }
}

/// Receives `bytes`, or fewer if the stream ends.
fn receive(socket: &Socket, bytes: u64) -> io::Result<u64> {
    let mut received = 0;
    while received < bytes {
        let wanted = usize::try_from(bytes - received).unwrap_or(usize::MAX).min(1 << 30);
        let got = fairway_socket::discard(socket.as_fd(), wanted)? as u64;
        received += got;
        if got < wanted as u64 {
            break;
        }
    }
    Ok(received)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, Socket) {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let source = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (source, listener.accept().unwrap().0.into())
    }

    fn wait(collectors: &Collectors, count: usize) -> Vec<Collected> {
        let mut done = Vec::new();
        while done.len() < count {
            done.extend(collectors.done().unwrap());
            std::thread::yield_now();
        }
        done
    }

    #[test]
    fn transfers_are_received_to_their_last_byte_or_to_the_end_of_the_stream() {
        let mut collectors = Collectors::new().unwrap();
        let (mut whole, sink) = pair();
        assert!(collectors.collect(3, &sink, 100_000).unwrap());
        let (mut cut, other) = pair();
        assert!(collectors.collect(4, &other, 100_000).unwrap());
        cut.write_all(&[0; 5]).unwrap();
        drop(cut);
        whole.write_all(&[0; 100_001]).unwrap();
        let mut done = wait(&collectors, 2);
        done.sort_by_key(|one| one.pair);
        let found: Vec<_> =
            done.iter().map(|one| (one.pair, *one.result.as_ref().unwrap())).collect();
        assert_eq!(found, [(3, 100_000), (4, 5)]);
        assert_eq!(fairway_socket::unread(sink.as_fd()).unwrap(), 1);
        // The same threads again.
        assert!(collectors.collect(5, &sink, 1).unwrap());
        assert_eq!(wait(&collectors, 1)[0].pair, 5);
        assert_eq!(collectors.started, 2);
    }
}
