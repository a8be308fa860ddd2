//! Calls of the kernel that no crate has: clocks, offloads of devices, packet rings.

#![allow(unsafe_code)]

use std::io;
use std::mem::{align_of, offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use fairway_socket::{set, u32_at};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep, clock_settime};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::rand::{GetRandomFlags, getrandom};
use socket2::{Domain, Protocol, Socket, Type};

/// Frames of a packet ring, and the bytes of each: `struct tpacket2_hdr`, an address and 190 bytes
/// of the packet, which holds every header that is looked at.
const FRAMES: u32 = 1 << 14;
const FRAME_BYTES: u32 = 256;
const FRAMES_OF_BLOCK: u32 = 256;
/// `TPACKET_ALIGN(sizeof(struct tpacket2_hdr))`, where the address begins (`linux/if_packet.h`).
const ADDRESS_AT: usize = 32;

/// Waits until a child has ended. It stays a zombie, whose number nobody else is given.
pub fn wait_without_reaping(child: u32) -> io::Result<ExitStatus> {
    let child =
        i32::try_from(child).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::CHILD)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let ended = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(child), options))?
        .ok_or_else(|| io::Error::other("waitid(2) gives no child"))?;
    // The form of wait(2): an exit code above a byte for the signal.
    let raw = match ended.exit_status() {
        Some(code) => code << 8,
        None => ended.terminating_signal().unwrap_or(0),
    };
    Ok(ExitStatus::from_raw(raw))
}

pub fn now_ns() -> io::Result<u64> {
    nanoseconds(clock_gettime(ClockId::CLOCK_MONOTONIC)?)
}

/// Nanoseconds of the clock that packets are stamped with.
pub fn wall_ns() -> io::Result<u64> {
    nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME)?)
}

/// Sets the clock of [`wall_ns`].
pub fn set_wall_ns(ns: u64) -> io::Result<()> {
    Ok(clock_settime(ClockId::CLOCK_REALTIME, time_spec(ns))?)
}

fn nanoseconds(time: TimeSpec) -> io::Result<u64> {
    let nanos = i128::from(time.tv_sec()) * 1_000_000_000 + i128::from(time.tv_nsec());
    u64::try_from(nanos).map_err(|_| io::Error::other("the clock is out of range"))
}

fn time_spec(ns: u64) -> TimeSpec {
    let seconds = libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX);
    TimeSpec::new(seconds, (ns % 1_000_000_000) as libc::c_long)
}

/// Sleeps until a moment of [`now_ns`]. A thread sleeps to the end of its timer's slack, which is at least
/// a nanosecond (`PR_SET_TIMERSLACK`).
pub fn sleep_until(ns: u64) {
    let until = time_spec(ns.saturating_sub(1));
    let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &until).is_err() {}
}

/// Waits until the kernel has gathered enough randomness to give some.
pub fn wait_for_random_bytes() -> io::Result<()> {
    let mut byte = [0; 1];
    rustix::io::retry_on_intr(|| getrandom(&mut byte, GetRandomFlags::empty()))?;
    Ok(())
}

/// Turns off what would make one packet of several segments, or several of one
/// (`linux/ethtool.h`: generic and TCP segmentation, generic receive).
pub fn offloads_off(any_socket: BorrowedFd, device: &str) -> io::Result<()> {
    const ETHTOOL_STSO: u32 = 0x1f;
    const ETHTOOL_SGSO: u32 = 0x24;
    const ETHTOOL_SGRO: u32 = 0x2c;
    for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO] {
        ethtool(any_socket, device, command, 0)?;
    }
    Ok(())
}

/// Has a device compute checksums before packets leave, so that captures have right ones.
pub fn checksums_in_software(any_socket: BorrowedFd, device: &str) -> io::Result<()> {
    const ETHTOOL_STXCSUM: u32 = 0x17;
    ethtool(any_socket, device, ETHTOOL_STXCSUM, 0)
}

/// `struct ethtool_value`: a command and its value.
type EthtoolValue = [u32; 2];

fn ethtool(any_socket: BorrowedFd, device: &str, command: u32, value: u32) -> io::Result<()> {
    let mut data = [command, value];
    let mut request = interface_request(device, &mut data)?;
    // SAFETY: the request and the two numbers it points to live longer than the call, and all commands
    // here take such numbers.
    let result =
        unsafe { libc::ioctl(any_socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    checked(result).map(|_| ())
}

/// Index of a device in the namespace of `any_socket`.
pub fn device_index(any_socket: BorrowedFd, device: &str) -> io::Result<i32> {
    let index = rustix::net::netdevice::name_to_index(any_socket, device)?;
    i32::try_from(index).map_err(|_| io::Error::other("the device has an index out of range"))
}

fn interface_request(device: &str, data: &mut EthtoolValue) -> io::Result<libc::ifreq> {
    let mut name = [0; libc::IFNAMSIZ];
    if device.len() >= name.len() {
        return Err(io::Error::other(format!("the device name {device} is too long")));
    }
    for (to, from) in name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_data: ptr::from_mut(data).cast() };
    Ok(libc::ifreq { ifr_name: name, ifr_ifru })
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A packet as a ring shows it.
pub struct Frame<'a> {
    /// When, as [`wall_ns`].
    pub wall_ns: u64,
    pub device: i32,
    /// Whether it left the device, rather than came in.
    pub outgoing: bool,
    pub length: u32,
    pub bytes: &'a [u8],
}

/// Every packet of every device of a namespace, as the kernel writes them into shared memory
/// (packet(7), `TPACKET_V2`).
pub struct Ring {
    socket: Socket,
    map: *mut u8,
    next: u32,
}

impl Ring {
    /// Begins to watch the namespace that the calling thread is in.
    pub fn open() -> io::Result<Self> {
        let every_protocol = Protocol::from(i32::from((libc::ETH_P_ALL as u16).to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(every_protocol))?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, &version.to_ne_bytes())?;
        // `struct tpacket_req`: size and number of blocks, size and number of frames.
        let request =
            [FRAMES_OF_BLOCK * FRAME_BYTES, FRAMES / FRAMES_OF_BLOCK, FRAME_BYTES, FRAMES];
        let request = request.map(u32::to_ne_bytes).concat();
        set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the ring that the socket has just been given.
        let map = unsafe {
            libc::mmap(
                ptr::null_mut(),
                (FRAMES * FRAME_BYTES) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring { socket, map: map.cast(), next: 0 })
    }

    /// Hands over every packet since the last call, in order.
    pub fn drain(&mut self, mut each: impl FnMut(&Frame)) {
        loop {
            let frame = self.map.wrapping_add((self.next * FRAME_BYTES) as usize);
            // SAFETY: a frame of the mapping, whole and aligned, since `next` is below FRAMES.
            let status = unsafe { AtomicU32::from_ptr(frame.cast()) };
            // What the kernel has written before it gave the frame is seen after this.
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: the kernel leaves a frame alone until it is given back, below.
            let bytes = unsafe { std::slice::from_raw_parts(frame, FRAME_BYTES as usize) };
            each(&read_frame(bytes));
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// Packets that found the ring full since the last call.
    pub fn unseen(&self) -> io::Result<u64> {
        fairway_socket::missed_packets(self.socket.as_fd())
    }
}

/// Reads a frame that the kernel has filled in: `struct tpacket2_hdr`, and an address behind it.
fn read_frame(frame: &[u8]) -> Frame<'_> {
    let header = |at| u32_at(frame, at);
    let address = &frame[ADDRESS_AT.min(frame.len())..];
    let begin = usize::from(u16_at(frame, offset_of!(libc::tpacket2_hdr, tp_mac))).min(frame.len());
    let kept = header(offset_of!(libc::tpacket2_hdr, tp_snaplen)) as usize;
    Frame {
        wall_ns: u64::from(header(offset_of!(libc::tpacket2_hdr, tp_sec))) * 1_000_000_000
            + u64::from(header(offset_of!(libc::tpacket2_hdr, tp_nsec))),
        device: u32_at(address, offset_of!(libc::sockaddr_ll, sll_ifindex)).cast_signed(),
        outgoing: address.get(offset_of!(libc::sockaddr_ll, sll_pkttype))
            == Some(&libc::PACKET_OUTGOING),
        length: header(offset_of!(libc::tpacket2_hdr, tp_len)),
        bytes: &frame[begin..begin + kept.min(frame.len() - begin)],
    }
}

/// The number at an offset; zero beyond the end.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |found| u16::from_ne_bytes([found[0], found[1]]))
}

const _: () = assert!(size_of::<libc::tpacket2_hdr>() <= ADDRESS_AT);
// A ring is of whole frames, each aligned for its status.
const _: () = assert!((FRAME_BYTES as usize).is_multiple_of(align_of::<AtomicU32>()));

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::net::UdpSocket;
    use std::process::Command;

    use super::*;

    proptest! {
        #[test]
        fn a_frame_is_never_read_beyond_its_end(bytes in vec(any::<u8>(), 0..=FRAME_BYTES as usize)) {
            let frame = read_frame(&bytes);
            prop_assert!(bytes.as_ptr_range().contains(&frame.bytes.as_ptr()) || frame.bytes.is_empty());
        }
    }

    #[test]
    fn a_frame_is_read_as_the_kernel_writes_it() {
        let mut bytes = [0; FRAME_BYTES as usize];
        // `struct tpacket2_hdr`: status, lengths on the wire and here, beginnings of the link's and
        // the network's header, seconds, nanoseconds; then `struct sockaddr_ll`.
        for (at, number) in [(0, 1), (4, 1500), (8, 60), (16, 7), (20, 9), (ADDRESS_AT + 4, 3)] {
            bytes[at..at + 4].copy_from_slice(&u32::to_ne_bytes(number));
        }
        bytes[12..14].copy_from_slice(&66_u16.to_ne_bytes());
        bytes[ADDRESS_AT + 10] = 4; // PACKET_OUTGOING
        bytes[66] = 0x45;
        let Frame { wall_ns, device, outgoing, length, bytes } = read_frame(&bytes);
        assert_eq!((wall_ns, device, outgoing, length), (7_000_000_009, 3, true, 1500));
        assert_eq!((bytes.len(), bytes[0]), (60, 0x45));
    }

    #[test]
    fn a_ring_shows_the_datagrams_of_a_device_and_takes_its_frames_back() {
        let mut ring = match Ring::open() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: a packet socket needs CAP_NET_RAW");
                return;
            }
            ring => ring.unwrap(),
        };
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        let [from, to] = [&near, &far].map(|socket| socket.local_addr().unwrap().port());
        let ports = [from.to_be_bytes(), to.to_be_bytes()].concat();
        let loopback = device_index(far.as_fd(), "lo").unwrap();
        // More than once around.
        let datagrams = FRAMES as usize / 2 + 5;
        let mut seen = [0, 0];
        for number in 0..datagrams {
            near.send_to(&[7; 9], far.local_addr().unwrap()).unwrap();
            far.recv(&mut [0; 16]).unwrap();
            if number % 1000 == 0 || number + 1 == datagrams {
                ring.drain(|frame| {
                    // Ethernet's and IP's headers, then the ports.
                    if frame.device == loopback && frame.bytes.get(34..38) == Some(&ports[..]) {
                        assert_eq!((frame.length, &frame.bytes[42..]), (51, &[7; 9][..]));
                        seen[usize::from(frame.outgoing)] += 1;
                    }
                });
            }
        }
        // Each is seen as it leaves and as it comes.
        assert_eq!(seen, [datagrams, datagrams]);
        assert_eq!(ring.unseen().unwrap(), 0);
    }

    #[test]
    fn device_names_that_are_too_long_are_refused() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        assert!(device_index(socket.as_fd(), "lo").unwrap() > 0);
        assert!(device_index(socket.as_fd(), "sixteen-letters-").is_err());
        assert!(device_index(socket.as_fd(), "nowhere").is_err());
    }

    #[test]
    fn the_end_of_a_child_is_known_before_it_is_reaped() {
        for (script, expected) in [
            ("exit 3", (Some(3), None)),
            ("kill -9 $$", (None, Some(9))),
            ("kill -40 $$", (None, Some(40))),
        ] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let status = wait_without_reaping(child.id()).unwrap();
            assert_eq!((status.code(), status.signal()), expected);
            assert_eq!(child.wait().unwrap(), status);
        }
        let error = wait_without_reaping(std::process::id()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECHILD));
    }

    #[test]
    fn sleep_ends_at_its_time() {
        let until = now_ns().unwrap() + 2_000_000;
        sleep_until(until);
        assert!(now_ns().unwrap() >= until);
        sleep_until(0);
        assert!(wall_ns().unwrap() > 0);
    }
}
