//! Captures the packets of a transfer on this host: a packet socket (packet(7)), and a thread that
//! writes its packets to a file.

mod packet;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use fairway_capture::write::{CaptureFile, Direction, Format, Interface, Record};
use fairway_socket::{
    Batch, Datagram, device_name, missed_packets, see_all_devices, stamp_arrivals,
};
use fairway_units::Time;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, Socket, Type};

use crate::rt::{JoinHandle, spawn};
use crate::{Control, Error};

/// Packets that are fetched at once.
const BATCH: usize = 256;
/// Room in the kernel for packets that wait: a second of 30,000 packets, each about a kilobyte of the
/// kernel's memory once it is cut.
const ROOM_BYTES: i32 = 32 << 20;
/// How long nothing may have come for a transfer that is over to be seen to its end: the last
/// acknowledgements are a round trip later.
const QUIET: Duration = Duration::from_millis(200);
/// How long is waited for that at most: other transfers may go on at the same port.
const LONGEST_END: Duration = Duration::from_secs(2);

/// Captures until it is dropped; then the file is there.
pub struct Capturing {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Capturing {
    /// Begins to capture what goes from and to a TCP port, on any device.
    pub fn begin(path: &Path, port: u16, control: &Control) -> Result<Self, Error> {
        let shown = path.display();
        if path.extension().is_none_or(|extension| extension != "pcapng") {
            let why = format!("--capture {shown}: it becomes a pcapng file; give FILE.pcapng");
            return Err(Error::Input(why));
        }
        let socket = open(port).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Error::Input(format!(
                "--capture {shown}: this user may not capture packets, which needs CAP_NET_RAW; \
                 run it as root, or leave out --capture and have root run \
                 `tcpdump -i any -s 128 -w {shown} tcp port {port}`"
            )),
            _ => Error::failed(format!("--capture {shown}: opening a packet socket"), error),
        })?;
        let application = format!("Fairway {}", env!("CARGO_PKG_VERSION"));
        let file = CaptureFile::create(path, Format::Pcapng, &application, &[])
            .map_err(|error| Error::Input(format!("--capture: {error}")))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut writing = Writing { file, interfaces: BTreeMap::new() };
        let (over, control) = (Arc::clone(&is_over), control.clone());
        let thread = spawn("capture", move || {
            let written = writing.write_until(&socket, &over);
            match written.and_then(|()| writing.finish(&socket)) {
                Ok(0) => {}
                Ok(missed) => control.warn(format!(
                    "the kernel had no room for {missed} packets, which the capture lacks"
                )),
                Err(error) => control.warn(format!("there is no capture: {error}")),
            }
        })?;
        Ok(Capturing { is_over, thread: Some(thread) })
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A socket that sees the packets of a port from now on.
fn open(port: u16) -> io::Result<Socket> {
    // Of protocol 0, so that nothing comes before there is a filter.
    let socket = Socket::new(Domain::PACKET, Type::DGRAM, None)?;
    socket.attach_filter(&packet::filter(port))?;
    stamp_arrivals(socket.as_fd())?;
    let room =
        |option| fairway_socket::set_option(socket.as_fd(), libc::SOL_SOCKET, option, ROOM_BYTES);
    // Beyond net.core.rmem_max only with CAP_NET_ADMIN.
    room(libc::SO_RCVBUFFORCE).or_else(|_| room(libc::SO_RCVBUF))?;
    see_all_devices(socket.as_fd())?;
    Ok(socket)
}

/// The file, and the interface in it of each device that has been seen.
struct Writing {
    file: CaptureFile,
    interfaces: BTreeMap<u32, u32>,
}

impl Writing {
    /// Writes what is seen until it is over, and what still comes then.
    fn write_until(&mut self, socket: &Socket, is_over: &AtomicBool) -> io::Result<()> {
        let mut batch = Batch::new(BATCH, packet::SNAP_BYTES as usize);
        let mut over_since = None;
        loop {
            if is_over.load(Ordering::Relaxed) {
                over_since.get_or_insert_with(Instant::now);
            }
            let has_come = wait(socket)?;
            let is_last = over_since.is_some_and(|since| since.elapsed() > LONGEST_END);
            if over_since.is_some() && (!has_come || is_last) {
                return Ok(());
            }
            if has_come {
                self.fetch(socket, &mut batch)?;
            }
        }
    }

    fn fetch(&mut self, socket: &Socket, batch: &mut Batch) -> io::Result<()> {
        match batch.receive_packets(socket.as_fd()) {
            Ok(count) => (0..count).try_for_each(|number| self.write(&batch.datagram(number))),
            // A device that went down is told of once (packet(7)); others go on.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, seen: &Datagram) -> io::Result<()> {
        let Some(passed) = seen.passed else { return Ok(()) };
        let Some(header_bytes) = packet::header_bytes(seen.bytes) else { return Ok(()) };
        let interface = self.interface(passed.device)?;
        let direction = if passed.is_outgoing { Direction::Outbound } else { Direction::Inbound };
        self.file.write(&Record {
            at: seen.at.map_or_else(now, since_1970),
            interface,
            direction: Some(direction),
            frame_bytes: u32::try_from(seen.length).unwrap_or(u32::MAX),
            captured: &seen.bytes[..header_bytes.min(seen.bytes.len())],
            comment: "",
        })
    }

    fn interface(&mut self, device: u32) -> io::Result<u32> {
        if let Some(known) = self.interfaces.get(&device) {
            return Ok(*known);
        }
        let name = device_name(device).unwrap_or_else(|| format!("device {device}"));
        let description = format!("{name}, headers of one TCP port");
        let snap_bytes = packet::SNAP_BYTES;
        let number = self.file.add_ip(&Interface { name, description, speed: None, snap_bytes })?;
        self.interfaces.insert(device, number);
        Ok(number)
    }

    /// Ends the file; how many packets the kernel had no room for.
    fn finish(mut self, socket: &Socket) -> io::Result<u64> {
        let missed = missed_packets(socket.as_fd())?;
        if !self.interfaces.is_empty() {
            // The kernel counts for the socket, and does not say which device they passed.
            let comment = "of all interfaces together";
            self.file.missed(0, now(), missed, comment)?;
        }
        self.file.finish()?;
        Ok(missed)
    }
}

/// Waits for packets; whether there are any.
fn wait(socket: &Socket) -> io::Result<bool> {
    let quiet = PollTimeout::try_from(QUIET).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], quiet) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

fn now() -> Time {
    SystemTime::UNIX_EPOCH.elapsed().map_or(Time::ZERO, since_1970)
}

fn since_1970(time: Duration) -> Time {
    Time::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
