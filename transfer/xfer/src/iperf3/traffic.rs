//! Sends and receives the payload of streams, one thread each.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::poll::PollFlags;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile;
use socket2::SockRef;

use super::channel::{is_soft, wait_for};
use super::datagram::{Header, answer};
use super::pace::{Amount, Pace, limit_bytes};
use super::stream::Stream;
use super::{Parameters, Transport};
use crate::Error;
use crate::rt::{JoinHandle, Mutex, spawn};
use crate::socket::is_of_the_way;

/// How often a thread that waits for its socket looks whether the test is over.
const TICK: Duration = Duration::from_millis(100);
/// Memory for the buffers of all receiving streams, as far as each has [`LEAST_BUFFER_BYTES`].
const BUFFERS_BYTES: usize = 32 << 20;
const LEAST_BUFFER_BYTES: usize = 8 << 10;
/// What a datagram can hold at most.
const DATAGRAM_BUFFER_BYTES: usize = 64 << 10;
/// How long a receiver empties its socket after the end of a test of an amount.
const DRAIN: Duration = Duration::from_secs(1);
/// Waits before sending again after the device had no room: about what a packet takes at 100 Mbit/s.
const NO_ROOM: Duration = Duration::from_micros(100);

/// What all streams of a test share.
#[derive(Debug)]
pub(super) struct Traffic {
    block_bytes: usize,
    block: Arc<[u8]>,
    bandwidth_bps: Option<u64>,
    burst: u64,
    wide_numbers: bool,
    skip_copy: bool,
    /// The block as a file, for `sendfile`.
    file: Option<OwnedFd>,
    buffer_bytes: usize,
    sending: Amount,
    receiving: Amount,
    /// Whether data that has arrived is counted after the end of the test.
    drains: bool,
    is_over: AtomicBool,
    fault: Mutex<Option<String>>,
}

impl Traffic {
    /// The load of a test; `decides` is whether this end ends a test of an amount.
    pub(super) fn new(parameters: &Parameters, decides: bool) -> Result<Traffic, Error> {
        let block_bytes = parameters.block_bytes as usize;
        // A pattern, so that nothing on the way makes it smaller by much less effort than iperf3's.
        let block: Arc<[u8]> = (0..block_bytes).map(|at| (at % 251) as u8).collect();
        let is_tcp = parameters.protocol == Transport::Tcp;
        let file = match parameters.zero_copy && is_tcp {
            true => Some(in_memory(&block)?),
            false => None,
        };
        let share = BUFFERS_BYTES / parameters.streams.max(1) as usize;
        let buffer_bytes = match is_tcp {
            true => block_bytes.min(share.max(LEAST_BUFFER_BYTES)),
            false => DATAGRAM_BUFFER_BYTES,
        };
        Ok(Traffic {
            block_bytes,
            block,
            bandwidth_bps: parameters.bandwidth_bps,
            burst: u64::from(parameters.burst.unwrap_or(1)),
            wide_numbers: parameters.wide_numbers,
            skip_copy: parameters.skip_copy,
            file,
            buffer_bytes,
            sending: Amount::new(limit_bytes(parameters).filter(|_| decides)),
            receiving: Amount::new(limit_bytes(parameters).filter(|_| decides)),
            drains: limit_bytes(parameters).is_some(),
            is_over: AtomicBool::new(false),
            fault: Mutex::new(None),
        })
    }

    pub(super) fn start(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<JoinHandle<()>, Error> {
        let (traffic, stream) = (Arc::clone(self), Arc::clone(stream));
        spawn(&format!("stream {}", stream.id), move || traffic.carry(&stream))
    }

    /// The test is over: threads end soon.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The omitted time is over: the amount counts from now.
    pub(super) fn restart(&self) {
        self.sending.restart();
        self.receiving.restart();
    }

    pub(super) fn is_done(&self) -> bool {
        self.sending.is_done() || self.receiving.is_done()
    }

    /// Why a stream broke, if one did.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.lock().clone()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn carry(&self, stream: &Stream) {
        let result = match (stream.protocol, stream.sends) {
            (Transport::Tcp, true) => self.send(stream),
            (Transport::Tcp, false) => self.receive(stream),
            (Transport::Udp, true) => self.send_datagrams(stream),
            (Transport::Udp, false) => self.receive_datagrams(stream),
        };
        if let Err(error) = result
            && !self.is_over()
        {
            let (id, what) = (stream.id, if stream.sends { "sending" } else { "receiving" });
            let mut fault = self.fault.lock();
            fault.get_or_insert_with(|| format!("{what} on stream {id}: {error}"));
        }
    }

    fn send(&self, stream: &Stream) -> io::Result<()> {
        stream.socket.set_nonblocking(true)?;
        let mut pace = Pace::new(self.bandwidth_bps, self.burst);
        while let Some(bytes) = self.next_block(&mut pace) {
            let mut at = self.block_bytes - bytes;
            while at < self.block_bytes {
                match self.write(stream, at) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        at += written;
                        stream.bytes.fetch_add(written as u64, Ordering::Relaxed);
                    }
                    Err(error) if is_soft(&error) => {
                        wait_for(&stream.socket, PollFlags::POLLOUT, TICK)?;
                    }
                    Err(error) => return Err(error),
                }
                if self.is_over() {
                    return Ok(());
                }
            }
            pace.sent(bytes);
        }
        Ok(())
    }

    /// Writes of the block what lies behind `at`.
    fn write(&self, stream: &Stream, at: usize) -> io::Result<usize> {
        match &self.file {
            None => (&stream.socket).write(&self.block[at..]),
            Some(file) => {
                let mut offset = at as libc::off_t;
                let left = self.block_bytes - at;
                Ok(sendfile(&stream.socket, file, Some(&mut offset), left)?)
            }
        }
    }

    fn receive(&self, stream: &Stream) -> io::Result<()> {
        stream.socket.set_read_timeout(Some(TICK))?;
        let mut buffer = vec![0; self.buffer_bytes];
        while !self.is_over() && !self.receiving.is_done() {
            match self.read(stream, &mut buffer) {
                // The sender has closed it: whether that is right, the control connection says.
                Ok(0) => return Ok(()),
                // What was read while the test ended has arrived before it did.
                Ok(read) if self.drains || !self.is_over() => {
                    stream.bytes.fetch_add(read as u64, Ordering::Relaxed);
                    self.receiving.take(read);
                }
                Ok(_) => {}
                Err(error) if is_soft(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if self.drains { self.drain(stream, &mut buffer) } else { Ok(()) }
    }

    fn read(&self, stream: &Stream, buffer: &mut [u8]) -> io::Result<usize> {
        match self.skip_copy {
            true => fairway_socket::discard(SockRef::from(&stream.socket).as_fd(), buffer.len()),
            false => (&stream.socket).read(buffer),
        }
    }

    /// Counts what had arrived before the end of the test and was not read yet.
    fn drain(&self, stream: &Stream, buffer: &mut [u8]) -> io::Result<()> {
        stream.socket.set_nonblocking(true)?;
        let until = Instant::now() + DRAIN;
        while !self.receiving.is_done() && Instant::now() < until {
            match (&stream.socket).read(buffer) {
                Ok(0) | Err(_) => break,
                Ok(read) => {
                    stream.bytes.fetch_add(read as u64, Ordering::Relaxed);
                    self.receiving.take(read);
                }
            }
        }
        Ok(())
    }

    fn send_datagrams(&self, stream: &Stream) -> io::Result<()> {
        stream.socket.set_write_timeout(Some(TICK))?;
        let mut datagram = self.block.to_vec();
        let mut pace = Pace::new(self.bandwidth_bps, self.burst);
        let mut number = 1;
        while self.next_block(&mut pace).is_some() {
            loop {
                if self.is_over() {
                    return Ok(());
                }
                Header { sent_us: now_us(), number }.write(self.wide_numbers, &mut datagram);
                match stream.socket.send(&datagram) {
                    Ok(_) => break,
                    Err(error) if is_soft(&error) => {}
                    Err(error) if is_of_the_way(&error) => thread::sleep(NO_ROOM),
                    Err(error) => return Err(error),
                }
            }
            number += 1;
            stream.sent_datagram(datagram.len() as u64);
            pace.sent(self.block_bytes);
        }
        Ok(())
    }

    fn receive_datagrams(&self, stream: &Stream) -> io::Result<()> {
        stream.socket.set_read_timeout(Some(TICK))?;
        let mut buffer = vec![0; self.buffer_bytes];
        while !self.is_over() && !self.receiving.is_done() {
            let read = match (&stream.socket).read(&mut buffer) {
                Ok(read) => read,
                Err(error) if is_soft(&error) || is_of_the_way(&error) => continue,
                Err(error) => return Err(error),
            };
            let arrived_us = now_us();
            let Some(header) = Header::read(&buffer[..read], self.wide_numbers) else {
                // A client that did not hear the answer asks again.
                if let Some(welcome) = answer(&buffer[..read]) {
                    let _ = stream.socket.send(&welcome);
                }
                continue;
            };
            if self.is_over() {
                break;
            }
            // The clocks of the two ends differ by more than doubles of seconds tell apart.
            let transit_us = arrived_us as i128 - header.sent_us as i128;
            stream.received_datagram(header.number, transit_us as f64 / 1e6, read as u64);
            self.receiving.take(read);
        }
        Ok(())
    }

    /// Waits until the next block is due; its size, or none if there is none.
    fn next_block(&self, pace: &mut Pace) -> Option<usize> {
        loop {
            if self.is_over() {
                return None;
            }
            match pace.wait() {
                Some(time) => thread::sleep(time.min(TICK)),
                None => return self.sending.take(self.block_bytes),
            }
        }
    }
}

/// Microseconds of a clock that both headers and arrivals are told by.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn in_memory(block: &[u8]) -> Result<OwnedFd, Error> {
    let failed = |error: io::Error| Error::failed("making a file in memory to send from", error);
    let file = memfd_create(c"fairway block", MFdFlags::MFD_CLOEXEC);
    let mut file = std::fs::File::from(file.map_err(|error| failed(error.into()))?);
    file.write_all(block).map_err(failed)?;
    Ok(file.into())
}
