//! Many datagrams with one system call: `sendmmsg(2)` and `recvmmsg(2)` on a connected socket.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use crate::checked;
use crate::control::{CONTROL_BYTES, arrival, message};
use crate::packets::{NO_NAME, Passed, passed, whole_length};

/// Room for datagrams of one size that are sent or received together.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    size: usize,
    control: Vec<[u8; CONTROL_BYTES]>,
    arrived: Vec<Arrived>,
    names: Vec<libc::sockaddr_ll>,
    // Filled anew by every call: no pointer in them outlives it.
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `parts` and `headers` are filled anew by every call before the kernel
// sees them, and nothing else reads them.
unsafe impl Send for Batch {}

/// What is known of a received datagram besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Arrived {
    length: usize,
    kept: usize,
    at: Option<Duration>,
    passed: Option<Passed>,
}

/// A datagram of a [`Batch`].
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// As much of it as there was room for.
    pub bytes: &'a [u8],
    /// How long it was when it came.
    pub length: usize,
    /// When the kernel had it, since 1970; none unless [`stamp_arrivals`] was asked for.
    pub at: Option<Duration>,
    /// Where it passed; none unless [`Batch::receive_packets`] has received it.
    pub passed: Option<Passed>,
}

impl Batch {
    /// Room for `count` datagrams of `size` bytes.
    pub fn new(count: usize, size: usize) -> Self {
        Batch {
            bytes: vec![0; count * size],
            size,
            control: vec![[0; CONTROL_BYTES]; count],
            arrived: vec![Arrived::default(); count],
            names: Vec::new(),
            parts: Vec::with_capacity(2 * count),
            headers: Vec::with_capacity(count),
        }
    }

    /// How many datagrams there is room for.
    pub fn count(&self) -> usize {
        self.control.len()
    }

    /// The bytes of a datagram to be sent.
    pub fn bytes_mut(&mut self, number: usize) -> &mut [u8] {
        &mut self.bytes[number * self.size..(number + 1) * self.size]
    }

    /// A datagram that was received by the last call.
    pub fn datagram(&self, number: usize) -> Datagram<'_> {
        let Arrived { length, kept, at, passed } = self.arrived[number];
        let start = number * self.size;
        Datagram { bytes: &self.bytes[start..start + kept], length, at, passed }
    }

    /// Sends the first `count` datagrams, every one with `tail` behind its own bytes, without
    /// waiting; how many went.
    pub fn send(&mut self, socket: BorrowedFd, count: usize, tail: &[u8]) -> io::Result<usize> {
        let count = count.min(self.count());
        self.prepare(count, tail);
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the headers point to `count` times two parts, and those to bytes of `self` and
        // `tail`, which the kernel only reads, until this call returns.
        let sent = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                flags,
            )
        };
        checked(sent).map(|sent| sent as usize)
    }

    /// Receives what has come, up to as many as there is room for, without waiting; how many.
    /// Of a longer datagram than there is room for the rest is lost, but its length is told.
    pub fn receive(&mut self, socket: BorrowedFd) -> io::Result<usize> {
        self.receive_with(socket, false)
    }

    /// Receives as [`Batch::receive`] does, from a socket that [`crate::see_all_devices`] has made
    /// see packets. The length of one is that on the wire, whatever a filter has left of it.
    pub fn receive_packets(&mut self, socket: BorrowedFd) -> io::Result<usize> {
        self.receive_with(socket, true)
    }

    fn receive_with(&mut self, socket: BorrowedFd, are_packets: bool) -> io::Result<usize> {
        let count = self.count();
        self.prepare(count, &[]);
        if are_packets {
            self.names.resize(count, NO_NAME);
            for (header, name) in self.headers.iter_mut().zip(&mut self.names) {
                header.msg_hdr.msg_name = ptr::from_mut(name).cast();
                header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            }
        }
        for (header, control) in self.headers.iter_mut().zip(&mut self.control) {
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the headers point to `count` parts, control buffers and names of `self` that are
        // as long as they say, and nothing else refers to them until this call returns.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                flags,
                ptr::null_mut(),
            )
        };
        let received = checked(received)? as usize;
        for number in 0..received {
            let header = &self.headers[number];
            let length = header.msg_len as usize;
            let filled = header.msg_hdr.msg_controllen.min(CONTROL_BYTES);
            let control = &self.control[number][..filled];
            self.arrived[number] =
                Arrived { length, kept: length.min(self.size), at: arrival(control), passed: None };
            if are_packets {
                let arrived = &mut self.arrived[number];
                arrived.passed = Some(passed(&self.names[number]));
                let told = message(control, libc::SOL_PACKET, libc::PACKET_AUXDATA);
                arrived.length = told.map_or(length, whole_length);
            }
        }
        Ok(received)
    }

    /// Points the headers at the first `count` datagrams and at `tail`, if there is one.
    fn prepare(&mut self, count: usize, tail: &[u8]) {
        let parts_each = if tail.is_empty() { 1 } else { 2 };
        self.parts.clear();
        for own in self.bytes.chunks_exact_mut(self.size.max(1)).take(count) {
            self.parts.push(part(own.as_mut_ptr(), own.len()));
            if parts_each == 2 {
                self.parts.push(part(tail.as_ptr().cast_mut(), tail.len()));
            }
        }
        self.headers.clear();
        for parts in self.parts.chunks_exact_mut(parts_each) {
            // SAFETY: a `struct mmsghdr` of zeros is one without address, parts and control.
            let mut header: libc::mmsghdr = unsafe { zeroed() };
            header.msg_hdr.msg_iov = parts.as_mut_ptr();
            header.msg_hdr.msg_iovlen = parts.len() as _;
            self.headers.push(header);
        }
    }
}

/// Has the kernel note when each datagram arrives (`SO_TIMESTAMPNS` of socket(7)).
pub fn stamp_arrivals(socket: BorrowedFd) -> io::Result<()> {
    crate::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

fn part(at: *mut u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: at.cast(), iov_len: length }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::SystemTime;

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        (near, far)
    }

    #[test]
    fn datagrams_go_and_come_together_with_their_lengths_and_times() {
        let (near, far) = pair();
        stamp_arrivals(far.as_fd()).unwrap();
        let mut batch = Batch::new(3, 2);
        for number in 0..3 {
            batch.bytes_mut(number).copy_from_slice(&[number as u8, 7]);
        }
        assert_eq!(batch.send(near.as_fd(), 3, b"tail").unwrap(), 3);
        assert_eq!(batch.send(near.as_fd(), 1, &[]).unwrap(), 1);
        let mut came = Batch::new(8, 4);
        assert_eq!(came.receive(far.as_fd()).unwrap(), 4);
        for number in 0..3 {
            let datagram = came.datagram(number);
            assert_eq!((datagram.bytes, datagram.length), (&[number as u8, 7, b't', b'a'][..], 6));
            let ago = SystemTime::UNIX_EPOCH.elapsed().unwrap().abs_diff(datagram.at.unwrap());
            assert!(ago < Duration::from_secs(3600), "{ago:?}");
        }
        assert_eq!(came.datagram(3).bytes, [0, 7]);
        let nothing = came.receive(far.as_fd()).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn without_being_asked_for_there_is_no_time() {
        let (near, far) = pair();
        near.send(b"x").unwrap();
        let mut came = Batch::new(1, 4);
        assert_eq!(came.receive(far.as_fd()).unwrap(), 1);
        assert_eq!(came.datagram(0).at, None);
    }
}
