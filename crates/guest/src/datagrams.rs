//! The two ends of a flow of datagrams: a thread that sends at its times, and a socket that is read
//! whenever the packets are looked at, where the kernel's own times of arrival lie.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use fairway_guest::plan::{Datagrams as Plan, STAMP_BYTES};
use fairway_guest::record::{DatagramTotals, FlowMark};
use fairway_net::Window;
use fairway_net::datagrams::{Arrival, Pattern, Receiver, Schedule, UDP_HEADERS};
use fairway_socket::Batch;
use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;
use crate::setup::Namespaces;
use crate::sys;
use crate::threads::Stacks;

/// Datagrams that are read with one call.
const BATCH: usize = 256;
/// Largest buffer that can be asked for (net/core/sock.c, `__sock_set_rcvbuf`): the kernel doubles it. What
/// comes between two looks has to find room.
const LARGEST_BUFFER: i32 = i32::MAX / 2;

/// A flow of datagrams as the sampler sees it.
pub struct Datagrams {
    ends: Arc<Ends>,
    sink: Socket,
    batch: Batch,
    receiver: Receiver,
    /// The beginning of the run, as the clock has it that arrivals are stamped with.
    begin_wall_ns: u64,
    completed_ns: Option<u64>,
}

struct Ends {
    plan: Plan,
    /// The beginning of the run, as the monotonic clock has it.
    begin_ns: u64,
    source: Socket,
    sent: AtomicU64,
    /// When the last packet left, from the beginning of the run.
    left_ns: AtomicU64,
    error: OnceLock<String>,
}

impl Datagrams {
    /// Makes both ends; the source sends from its start on. The beginning of the run is given as the
    /// monotonic clock has it, and as that of arrivals does.
    pub fn start(
        plan: &Plan,
        window_ns: [u64; 2],
        namespaces: &Namespaces,
        stacks: &mut Stacks,
        [begin_ns, begin_wall_ns]: [u64; 2],
    ) -> Result<Self, Error> {
        let failed = |error| Error::new(format!("making the sockets of flow {}", plan.id), error);
        namespaces.enter(plan.sink)?;
        let sink = listen(plan.port).map_err(failed)?;
        namespaces.enter(plan.source)?;
        let ends = Arc::new(Ends {
            source: connect(plan).map_err(failed)?,
            plan: plan.clone(),
            begin_ns,
            sent: AtomicU64::new(0),
            left_ns: AtomicU64::new(0),
            error: OnceLock::new(),
        });
        let of_source = Arc::clone(&ends);
        let failed = |error| Error::new(format!("starting the thread of flow {}", plan.id), error);
        let send = move || {
            if let Err(error) = of_source.send() {
                let _ = of_source.error.set(error.to_string());
            }
        };
        stacks.start(send).map_err(failed)?;
        let [from, to] = window_ns.map(Time::from_nanos);
        Ok(Datagrams {
            ends,
            sink,
            batch: Batch::new(BATCH, STAMP_BYTES as usize),
            receiver: Receiver::new(Window { from, to }),
            begin_wall_ns,
            completed_ns: None,
        })
    }

    pub fn catch_up(&mut self) -> io::Result<()> {
        loop {
            let count = match self.batch.receive(self.sink.as_fd()) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            for number in 0..count {
                self.receive(number);
            }
            if count < self.batch.count() {
                return Ok(());
            }
        }
    }

    fn receive(&mut self, number: usize) {
        let datagram = self.batch.datagram(number);
        let (sequence, left_ns) = read_stamp(datagram.bytes).unwrap_or_else(|| {
            // One without room for it is the last of a flow with an end.
            let sent = self.ends.sent.load(Ordering::Relaxed);
            (sent.saturating_sub(1), self.ends.left_ns.load(Ordering::Relaxed))
        });
        let at_ns = datagram.at.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(0));
        let at = Time::from_nanos(at_ns.saturating_sub(self.begin_wall_ns));
        let payload_bytes = datagram.length as u32;
        let arrival = Arrival {
            sequence,
            sent_at: Time::from_nanos(left_ns),
            payload_bytes,
            wire_bytes: payload_bytes + UDP_HEADERS,
        };
        self.receiver.receive(arrival, at);
        if self.ends.plan.bytes == Some(self.receiver.payload_bytes) {
            self.completed_ns.get_or_insert(at.as_nanos());
        }
    }

    pub fn mark(&self) -> FlowMark {
        FlowMark {
            delivered_bytes: self.receiver.payload_bytes,
            segments: self.ends.sent.load(Ordering::Relaxed),
            arrivals: self.receiver.received,
            wire_bytes: self.receiver.wire_bytes,
            delay_ns: u64::try_from(self.receiver.delay_nanos).unwrap_or(u64::MAX),
            missing: self.receiver.missing(),
            reordered: self.receiver.reordered,
            duplicated: self.receiver.duplicated,
            ..FlowMark::default()
        }
    }

    /// The jitter now, if it can be told.
    pub fn jitter_ns(&self) -> Option<u64> {
        (self.receiver.received > 1).then(|| self.receiver.jitter_nanos.round() as u64)
    }

    /// Writes down what is known at the end of the run.
    pub fn finish(&self, totals: &mut DatagramTotals) {
        totals.arrivals = self.receiver.received;
        totals.completed_ns = self.completed_ns;
        totals.delays_ns =
            [0.5, 0.95, 0.99].map(|q| self.receiver.delays.quantile(q).map(Duration::as_nanos));
        totals.error = self.ends.error.get().cloned();
    }
}

impl Ends {
    /// Sends packets at their times, to the end of the flow or to its stop.
    fn send(&self) -> io::Result<()> {
        let plan = &self.plan;
        let (seed, name) = &plan.random;
        let (mut schedule, mut at) = Schedule::new(
            &Pattern::from(&plan.pattern),
            Rate::from_bps(plan.rate_bps),
            plan.payload_bytes,
            Time::from_nanos(plan.start_ns),
            Stream::new(*seed, name),
        );
        let stop = plan.stop_ns.map_or(Time::NEVER, Time::from_nanos);
        let mut left = plan.bytes.unwrap_or(u64::MAX);
        let mut payload = vec![0; plan.payload_bytes as usize];
        while left > 0 && at < stop {
            sys::sleep_until(self.begin_ns.saturating_add(at.as_nanos()));
            let length = left.min(u64::from(plan.payload_bytes)) as u32;
            let Some(left_at) = self.send_one(&mut payload[..length as usize], at)? else {
                return Ok(());
            };
            left -= if plan.bytes.is_some() { u64::from(length) } else { 0 };
            at = schedule.next(left_at, length);
        }
        Ok(())
    }

    /// Sends a packet at its time, or when its socket has room again; when it left, if it did before the
    /// stop of the flow.
    fn send_one(&self, payload: &mut [u8], due: Time) -> io::Result<Option<Time>> {
        let mut at = due;
        let sequence = self.sent.load(Ordering::Relaxed);
        loop {
            write_stamp(payload, sequence, at);
            self.left_ns.store(at.as_nanos(), Ordering::Relaxed);
            self.sent.store(sequence + 1, Ordering::Relaxed);
            match self.source.send_with_flags(payload, libc::MSG_DONTWAIT) {
                Ok(_) => return Ok(Some(at)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            self.sent.store(sequence, Ordering::Relaxed);
            if !self.wait_for_room()? {
                return Ok(None);
            }
            at = Time::from_nanos(sys::now_ns()?.saturating_sub(self.begin_ns));
        }
    }

    /// Waits until more than half of the socket's buffer is free, as `send` without flags does; false if the stop of
    /// the flow comes first.
    fn wait_for_room(&self) -> io::Result<bool> {
        let mut room = [PollFd::new(self.source.as_fd(), PollFlags::POLLOUT)];
        let left = match self.plan.stop_ns {
            None => None,
            Some(stop_ns) => {
                let left_ns = self.begin_ns.saturating_add(stop_ns).saturating_sub(sys::now_ns()?);
                Some(TimeSpec::from_duration(std::time::Duration::from_nanos(left_ns)))
            }
        };
        Ok(ppoll(&mut room, left, None)? > 0)
    }
}

fn write_stamp(payload: &mut [u8], sequence: u64, at: Time) {
    if let Some(stamp) = payload.first_chunk_mut::<{ STAMP_BYTES as usize }>() {
        stamp[..8].copy_from_slice(&sequence.to_le_bytes());
        stamp[8..].copy_from_slice(&at.as_nanos().to_le_bytes());
    }
}

/// Number and departure of a datagram that has them.
fn read_stamp(payload: &[u8]) -> Option<(u64, u64)> {
    let (sequence, rest) = payload.split_first_chunk::<8>()?;
    let left_ns = rest.first_chunk::<8>()?;
    Some((u64::from_le_bytes(*sequence), u64::from_le_bytes(*left_ns)))
}

fn listen(port: u16) -> io::Result<Socket> {
    let socket = udp_socket()?;
    force(socket.as_fd(), libc::SO_RCVBUFFORCE, LARGEST_BUFFER)?;
    fairway_socket::stamp_arrivals(socket.as_fd())?;
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
    Ok(socket)
}

fn connect(plan: &Plan) -> io::Result<Socket> {
    let socket = udp_socket()?;
    // The kernel doubles it for what packets take besides their bytes, which the experiment's has in it.
    let buffer = plan.send_buffer.map(|bytes| i32::try_from(bytes / 2).unwrap_or(LARGEST_BUFFER));
    force(socket.as_fd(), libc::SO_SNDBUFFORCE, buffer.unwrap_or(LARGEST_BUFFER))?;
    socket.connect(&SocketAddrV4::new(plan.address, plan.port).into())?;
    Ok(socket)
}

fn udp_socket() -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))
}

/// Sets the size of a buffer, whatever bounds there are for users.
fn force(socket: BorrowedFd, option: i32, bytes: i32) -> io::Result<()> {
    fairway_socket::set_option(socket, libc::SOL_SOCKET, option, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let mut payload = [0; 20];
        write_stamp(&mut payload, 7, Time::from_nanos(1 << 40));
        assert_eq!(read_stamp(&payload), Some((7, 1 << 40)));
        // As much as there is room for.
        let mut short = [1; 15];
        write_stamp(&mut short, 7, Time::ZERO);
        assert_eq!((short, read_stamp(&short)), ([1; 15], None));
    }
}
