//! Calls of the kernel that no crate has: clocks, offloads of devices, packet rings.

#![allow(unsafe_code)]

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;

use fairway_socket::set;
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep, clock_settime};
use socket2::{Domain, Protocol, Socket, Type};

/// Frames of a packet ring, and the bytes of each: `struct tpacket2_hdr`, an address and 190 bytes
/// of the packet, which holds every header that is looked at.
const FRAMES: u32 = 1 << 14;
const FRAME_BYTES: u32 = 256;
const FRAMES_OF_BLOCK: u32 = 256;
/// `TPACKET_ALIGN(sizeof(struct tpacket2_hdr))`, where the address begins (`linux/if_packet.h`).
const ADDRESS_AT: usize = 32;

/// Capabilities that root on a host does not have: with them it could mount this machine's files again,
/// writable, or reach the memory of the kernel and of its first process (`linux/capability.h`:
/// CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYS_BOOT, CAP_MKNOD).
const WITHHELD: [libc::c_ulong; 6] = [16, 17, 19, 21, 22, 27];

/// Takes those capabilities from the program that this process executes next.
pub fn withhold_capabilities() -> io::Result<()> {
    for capability in WITHHELD {
        // SAFETY: numbers alone.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Waits until a child has ended. It stays a zombie, whose number nobody else is given.
pub fn wait_without_reaping(child: u32) -> io::Result<ExitStatus> {
    // SAFETY: zeros are a valid `siginfo_t`, which lives longer than the call that writes it.
    let (info, status) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, child, &raw mut info, libc::WEXITED | libc::WNOWAIT) != 0 {
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            }
        }
        (info, info.si_status())
    };
    // The form of wait(2): an exit code above a byte for the signal.
    let is_exit = info.si_code == libc::CLD_EXITED;
    Ok(ExitStatus::from_raw(if is_exit { status << 8 } else { status }))
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
    let mut byte = 0_u8;
    loop {
        // SAFETY: there is room for the one byte that is asked for.
        match unsafe { libc::getrandom((&raw mut byte).cast(), 1, 0) } {
            1 => return Ok(()),
            _ if Errno::last() == Errno::EINTR => {}
            _ => return Err(io::Error::last_os_error()),
        }
    }
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

fn ethtool(any_socket: BorrowedFd, device: &str, command: u32, value: u32) -> io::Result<()> {
    let mut request = interface_request(device)?;
    let mut data = [command, value];
    request.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
    // SAFETY: the request and the two numbers it points to (`struct ethtool_value`) live longer
    // than the call.
    let result =
        unsafe { libc::ioctl(any_socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    checked(result).map(|_| ())
}

/// Index of a device in the namespace of `any_socket`.
pub fn device_index(any_socket: BorrowedFd, device: &str) -> io::Result<i32> {
    let mut request = interface_request(device)?;
    // SAFETY: the request lives longer than the call, which writes its index.
    let result =
        unsafe { libc::ioctl(any_socket.as_raw_fd(), libc::SIOCGIFINDEX as _, &raw mut request) };
    checked(result)?;
    // SAFETY: the call has succeeded, so the index is what the union holds.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex })
}

fn interface_request(device: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a request of zeros is an empty name and a null pointer.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::Error::other(format!("the device name {device} is too long")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
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
        set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let request = libc::tpacket_req {
            tp_block_size: FRAMES_OF_BLOCK * FRAME_BYTES,
            tp_block_nr: FRAMES / FRAMES_OF_BLOCK,
            tp_frame_size: FRAME_BYTES,
            tp_frame_nr: FRAMES,
        };
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
            // SAFETY: frames lie one after another in the mapping, since a block is whole frames.
            let frame = unsafe { self.map.add((self.next * FRAME_BYTES) as usize) };
            let status: *mut u32 = frame.cast();
            // SAFETY: a frame begins with its status, which the kernel sets last.
            if unsafe { status.read_volatile() } & libc::TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: the kernel has filled in the frame and leaves it alone until it is given back.
            each(&unsafe { read_frame(frame) });
            // SAFETY: as above; this gives it back.
            unsafe { status.write_volatile(libc::TP_STATUS_KERNEL) };
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// Packets that found the ring full since the last call.
    pub fn unseen(&self) -> io::Result<u64> {
        fairway_socket::missed_packets(self.socket.as_fd())
    }
}

/// Reads a frame that the kernel has filled in.
///
/// # Safety
/// `frame` points to `FRAME_BYTES` bytes of a ring that the kernel does not write meanwhile.
unsafe fn read_frame<'a>(frame: *const u8) -> Frame<'a> {
    // SAFETY: the frame begins with this header, and an address follows it.
    let (header, address) = unsafe {
        (
            frame.cast::<libc::tpacket2_hdr>().read(),
            frame.add(ADDRESS_AT).cast::<libc::sockaddr_ll>().read(),
        )
    };
    let begin = usize::from(header.tp_mac).min(FRAME_BYTES as usize);
    let length = (header.tp_snaplen as usize).min(FRAME_BYTES as usize - begin);
    Frame {
        wall_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
        device: address.sll_ifindex,
        outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
        length: header.tp_len,
        // SAFETY: within the frame, by the two lines above.
        bytes: unsafe { std::slice::from_raw_parts(frame.add(begin), length) },
    }
}

const _: () = assert!(offset_of!(libc::tpacket2_hdr, tp_nsec) == 20);
const _: () = assert!(size_of::<libc::tpacket2_hdr>() <= ADDRESS_AT);

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::process::Command;

    use super::*;

    proptest! {
        #[test]
        fn a_frame_is_never_read_beyond_its_end(words in vec(any::<u64>(), FRAME_BYTES as usize / 8)) {
            let begin: *const u8 = words.as_ptr().cast();
            // SAFETY: as many bytes as a frame has, aligned as in a ring.
            let frame = unsafe { read_frame(begin) };
            let at = frame.bytes.as_ptr().addr() - begin.addr();
            prop_assert!(at + frame.bytes.len() <= FRAME_BYTES as usize);
        }
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
