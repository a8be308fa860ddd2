//! What Fairway asks of the kernel's sockets and no crate has: `struct tcp_info`, numeric options,
//! receiving without copying, datagrams by the dozen, packets of every device.

#![allow(unsafe_code)]

mod control;
mod datagrams;
mod multipath;
mod packets;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

pub use datagrams::{Batch, Datagram, stamp_arrivals};
pub use multipath::{MPTCP, subflow_info};
pub use packets::{Passed, device_name, missed_packets, see_all_devices};

/// Fills `buffer` with `struct tcp_info` of a socket as far as it goes; how many bytes there are.
pub fn tcp_info(socket: BorrowedFd, buffer: &mut [u8]) -> io::Result<usize> {
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, buffer)
}

/// Fills `buffer` with a socket option as far as it goes; the bytes that the kernel has written.
fn get(socket: BorrowedFd, level: i32, option: i32, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(buffer.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the kernel writes at most `length` bytes into `buffer`, which has as many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            buffer.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    checked(result).map(|_| (length as usize).min(buffer.len()))
}

/// Where `struct tcp_info` has `tcpi_total_retrans` (`include/uapi/linux/tcp.h`).
pub const TOTAL_RETRANS_AT: usize = 100;

/// Segments that a connection has sent again, SYNs among them.
pub fn total_retransmissions(socket: BorrowedFd) -> io::Result<u64> {
    let mut info = [0; TOTAL_RETRANS_AT + 4];
    let length = tcp_info(socket, &mut info)?;
    Ok(u64::from(u32_at(&info[..length.min(info.len())], TOTAL_RETRANS_AT)))
}

/// The number at an offset; zero where an older kernel tells less.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_ne_bytes([a, b, c, d]),
        _ => 0,
    }
}

/// Sets an integer socket option.
pub fn set_option(socket: BorrowedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    set(socket, level, option, &value.to_ne_bytes())
}

/// Sets a socket option to the bytes of a value, in the order of this machine.
pub fn set(socket: BorrowedFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(value.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the kernel reads at most `length` bytes of `value`, which has as many.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length)
    };
    checked(result).map(|_| ())
}

/// Receives up to `bytes` bytes of a TCP stream and throws them away in the kernel, without
/// copying: returns when all of them have come, or the stream has ended.
pub fn discard(socket: BorrowedFd, bytes: usize) -> io::Result<usize> {
    discard_with(socket, bytes, libc::MSG_WAITALL)
}

/// Receives and throws away as [`discard`] does, but only what has come already.
pub fn discard_ready(socket: BorrowedFd, bytes: usize) -> io::Result<usize> {
    discard_with(socket, bytes, libc::MSG_DONTWAIT)
}

/// An address at which no process has memory.
const NOWHERE: usize = 0x1000;

fn discard_with(socket: BorrowedFd, bytes: usize, flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC, TCP writes nothing (tcp(7)), so the buffer only has to look like one.
    // What another protocol writes fails with EFAULT: no process has memory in its second page
    // (`vm.mmap_min_addr` of proc(5)).
    let result = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            ptr::without_provenance_mut(NOWHERE),
            bytes,
            flags | libc::MSG_TRUNC,
        )
    };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Most bytes a second that a socket sends (`SO_MAX_PACING_RATE` of socket(7); a 64-bit value since
/// Linux 5.0, `sk_setsockopt` of net/core/sock.c): TCP paces itself, other protocols need the `fq`
/// queue discipline.
pub fn limit_pacing(socket: BorrowedFd, bytes_per_s: u64) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_s.to_ne_bytes())
}

/// Bytes written to a TCP socket that were not acknowledged yet (`SIOCOUTQ` of tcp(7)).
pub fn unacknowledged(socket: BorrowedFd) -> io::Result<u64> {
    queued(socket, Queue::Sent)
}

/// Bytes that have come on a TCP socket and were not received yet (`SIOCINQ` of tcp(7)).
pub fn unread(socket: BorrowedFd) -> io::Result<u64> {
    queued(socket, Queue::Received)
}

/// Requests of ioctl(2) that write one integer and nothing else.
#[derive(Clone, Copy)]
enum Queue {
    Sent = libc::TIOCOUTQ as isize,
    Received = libc::FIONREAD as isize,
}

fn queued(socket: BorrowedFd, queue: Queue) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: both requests write one integer, for which there is room.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), queue as _, &raw mut bytes) };
    checked(result).map(|_| u64::try_from(bytes).unwrap_or(0))
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_beyond_the_end_are_zero(bytes in vec(1..255u8, 0..16), at in 0..20usize) {
            prop_assert_eq!(u32_at(&bytes, at) == 0, at + 4 > bytes.len());
        }
    }

    #[test]
    fn a_socket_tells_of_itself_and_what_it_receives_is_discarded() {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut source = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (sink, _) = listener.accept().unwrap();
        io::Write::write_all(&mut source, &[1; 5000]).unwrap();
        assert_eq!(discard(sink.as_fd(), 4000).unwrap(), 4000);
        assert_eq!(discard_ready(sink.as_fd(), 300).unwrap(), 300);
        drop(source);
        assert_eq!(discard(sink.as_fd(), 4000).unwrap(), 700, "the stream has ended");
        let mut info = [0; 1024];
        let length = tcp_info(sink.as_fd(), &mut info).unwrap();
        // `tcpi_bytes_received` of the 5000 bytes, or with the FIN's one (`tcp_fin`).
        assert!(length > 136 && (5000..=5001).contains(&u32_at(&info, 128)));
        assert_eq!(total_retransmissions(sink.as_fd()).unwrap(), 0);
    }

    #[test]
    fn a_protocol_that_writes_what_is_discarded_finds_no_memory() {
        let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        far.send_to(b"text", far.local_addr().unwrap()).unwrap();
        let error = discard_ready(far.as_fd(), 4).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }

    #[test]
    fn an_option_that_is_longer_than_its_buffer_leaves_what_is_behind_alone() {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut room = [0xa5; 64];
        assert_eq!(tcp_info(listener.as_fd(), &mut room[..8]).unwrap(), 8);
        assert_eq!(room[8..], [0xa5; 56]);
        assert_eq!(tcp_info(listener.as_fd(), &mut []).unwrap(), 0);
    }

    #[test]
    fn what_the_peer_has_no_room_for_is_not_acknowledged() {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut source = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_sink, _) = listener.accept().unwrap();
        source.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(bytes) = io::Write::write(&mut source, &[0; 65536]) {
            written += bytes as u64;
        }
        let waiting = unacknowledged(source.as_fd()).unwrap();
        assert!(waiting > 0 && waiting < written, "{waiting} of {written}");
    }

    #[test]
    fn a_limit_of_pacing_is_what_the_kernel_says_it_is() {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let source = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        limit_pacing(source.as_fd(), 1_250_000).unwrap();
        let mut info = [0; 256];
        let length = tcp_info(source.as_fd(), &mut info).unwrap();
        // `tcpi_max_pacing_rate`, at offset 112 of the struct.
        assert!(length > 120);
        assert_eq!(u32_at(&info, 112), 1_250_000);
    }
}
